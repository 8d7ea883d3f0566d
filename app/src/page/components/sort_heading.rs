//! The head of a column that rows are sorted by.

use std::sync::Arc;

use leptos::prelude::*;

use crate::protocol::Sort;

/// The head of a column: a button that changes the order.
#[derive(Clone)]
pub struct SortHeading {
    /// What stands there.
    pub title: &'static str,
    /// The unit of the numbers, where they do not carry it.
    pub unit: &'static str,
    /// What the order calls the column.
    pub column: &'static str,
    /// Its cells are numbers: the largest come first.
    pub is_number: bool,
    /// What the column means.
    pub doc: Signal<Option<String>>,
    /// The order of the rows.
    pub sort: Signal<Option<Sort>>,
    /// Hears of another order; `None` is the one that the rows have of themselves.
    pub turn: Arc<dyn Fn(Option<Sort>) + Send + Sync>,
}

impl SortHeading {
    /// The cell.
    pub fn view(self) -> AnyView {
        let SortHeading {
            title,
            unit,
            column,
            is_number,
            doc,
            sort,
            turn,
        } = self;
        let is_descending = Memo::new(move |_| {
            sort.with(|sort| {
                let sort = sort.as_ref().filter(|sort| sort.column == column);
                sort.map(|sort| sort.descending)
            })
        });
        let click = move |_| {
            // The useful direction first, then the other one, then the rows' own order.
            let descending = match is_descending.get_untracked() {
                None => Some(is_number),
                Some(now) if now == is_number => Some(!is_number),
                Some(_) => None,
            };
            turn(descending.map(|descending| Sort {
                column: column.to_owned(),
                descending,
            }));
        };
        let said = move || match is_descending.get() {
            None => "none",
            Some(true) => "descending",
            Some(false) => "ascending",
        };
        view! {
            <th scope="col" class:n=is_number aria-sort=said>
                <button type="button" title=move || doc.get() data-sort=column on:click=click>
                    <span>
                        {title}
                        {(!unit.is_empty()).then(|| view! { <small>{unit}</small> })}
                    </span>
                    <i class="arrow" aria-hidden="true"></i>
                </button>
            </th>
        }
        .into_any()
    }
}
