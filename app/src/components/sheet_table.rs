//! A sheet as a table of visible rows: sort, filter, select, copy; by mouse or by keyboard.

use gloo::timers::callback::Timeout;
use leptos::ev::KeyboardEvent;
use leptos::prelude::*;

use super::column_chooser::ColumnChooser;
use super::story;
use super::table_column::{TableColumn, Width, fitting, least_px};
use super::{Category, Details, Gauge, Icon, Name, ROW_PX, Share, VirtualRows};
use crate::engine::Engine;
use crate::protocol::{RowsQuery, Sort, TableCell, TableRow};
use crate::state::AppState;

/// The columns that are shown, as the parts of a table share them.
type Shown = Memo<Vec<&'static TableColumn>>;

/// A sheet as a table. The first column carries the category's colour.
#[component]
pub fn SheetTable(
    /// The sheet's name.
    sheet: &'static str,
    /// What the rows are, in the plural: "operations".
    noun: &'static str,
    /// The columns shown; the details of a selected row show all.
    columns: &'static [TableColumn],
    /// What is said when the trace has no such sheet.
    empty: &'static str,
    /// Stands beside the filter.
    #[prop(optional)]
    tools: Option<AnyView>,
) -> impl IntoView {
    let state = expect_context::<AppState>();
    let engine = expect_context::<Engine>();
    let focus = state.focus();
    let of_all = RwSignal::new(0_usize);
    let order = Memo::new(move |_| {
        focus.with(|focus| Order {
            find: focus.find.clone(),
            only: focus.only.clone(),
            sort: focus.sort.clone(),
        })
    });
    let docs = RwSignal::new(Vec::<Option<String>>::new());
    let cursor = RwSignal::new(None::<usize>);
    // The URL may name a row: its place is known once the first rows are here.
    let wanted = StoredValue::new(focus.with_untracked(|focus| focus.row));

    let accept: StoredValue<Option<VirtualRows<TableRow>>> = StoredValue::new(None);
    let rows = VirtualRows::new(move |list, offset, count| {
        let Order { find, only, sort } = order.get_untracked();
        let query = RowsQuery {
            sheet: sheet.to_owned(),
            columns: columns
                .iter()
                .map(|column| column.label.to_owned())
                .collect(),
            find,
            only,
            sort,
            offset,
            count,
            locate: wanted.get_value().map(|row| row as usize),
        };
        engine.ask(query, move |page| {
            // The view may be gone by now.
            if let Some(Some(rows)) = accept.try_get_value() {
                of_all.set(page.total);
                if docs.with_untracked(|docs| *docs != page.docs) {
                    docs.set(page.docs);
                }
                rows.accept(list, page.matching, page.offset, page.rows);
                wanted.set_value(None);
                if let Some(position) = page.located {
                    cursor.set(Some(position));
                    rows.show_in_middle(position);
                }
            }
        });
    });
    accept.set_value(Some(rows));
    Effect::watch(
        move || (order.get(), state.report.get()),
        move |new, old, _| {
            // Another report of the same trace keeps its place; another order starts at the top.
            match old {
                Some(old) if old.0 != new.0 => rows.restart(),
                _ => rows.renew(),
            }
        },
        false,
    );

    let selected = Memo::new(move |_| focus.with(|focus| focus.row));
    // The selected row has a story beside the view, or its figures below the table.
    let is_told = story::is_told(sheet);
    Effect::watch(move || order.get(), move |_, _, _| cursor.set(None), false);
    rows.keep_in_sight(cursor);
    // The cursor may stand on a row that is still on its way.
    Effect::new(move || {
        if let Some(row) = cursor.get().and_then(|position| rows.row(position)) {
            state.look_at(|focus| focus.row = Some(row.row as u32));
        }
    });
    // A row may be selected elsewhere: a link, a mark in a chart.
    Effect::watch(
        move || selected.get(),
        move |selected, _, _| {
            let here = untrack(|| rows.row(cursor.get()?)).map(|row| row.row as u32);
            if selected.is_some() && *selected != here {
                wanted.set_value(*selected);
                rows.renew();
            }
        },
        false,
    );
    let move_to = move |position: usize| {
        let last = rows.total.get_untracked().saturating_sub(1);
        let position = position.min(last);
        cursor.set(Some(position));
        rows.show(position);
    };
    let on_key = move |event: KeyboardEvent| {
        if event.ctrl_key() || event.meta_key() || event.alt_key() {
            return;
        }
        let here = cursor.get_untracked();
        let screen = rows.rows_per_screen();
        let target = match event.key().as_str() {
            "ArrowDown" => here.map_or(0, |position| position + 1),
            "ArrowUp" => here.map_or(0, |position| position.saturating_sub(1)),
            "PageDown" => here.unwrap_or(0) + screen,
            "PageUp" => here.unwrap_or(0).saturating_sub(screen),
            "Home" => 0,
            "End" => usize::MAX,
            "Enter" if is_told && selected.get_untracked().is_some() => {
                event.prevent_default();
                story::go_in(state);
                return;
            }
            "Escape" => {
                cursor.set(None);
                state.look_at(|focus| focus.row = None);
                return;
            }
            _ => return,
        };
        event.prevent_default();
        move_to(target);
    };

    // Columns that this sheet does not have, such as those of the roof without a GPU, are no choice.
    let known = Memo::new(move |_| {
        docs.with(|docs| {
            let is_known = |position: usize| docs.get(position).is_none_or(Option::is_some);
            let columns = columns.iter().enumerate();
            let known = columns.filter(|(position, _)| is_known(*position));
            known.map(|(_, column)| column).collect::<Vec<_>>()
        })
    });
    let chosen = Memo::new(move |_| state.columns.with(|columns| columns.get(sheet).cloned()));
    let shown: Shown = Memo::new(move |_| match chosen.get() {
        None => fitting(&known.get(), rows.width_px.get()),
        Some(chosen) => {
            let mut known = known.get();
            known.retain(|column| column.rank == 0 || chosen.contains(&column.label));
            known
        }
    });
    let doc_of = move |label: &'static str| {
        let position = columns.iter().position(|column| column.label == label);
        docs.with(|docs| docs.get(position?).cloned().flatten())
    };

    view! {
        <div class="tools">
            <Filter noun of_all matching=rows.total/>
            <span class="grow"></span>
            {tools}
            <ColumnChooser sheet known shown is_chosen=Signal::derive(move || chosen.with(Option::is_some))/>
        </div>
        <div class="scroller" class:last=is_told node_ref=rows.scroller on:scroll=move |_| rows.scrolled()>
            <table
                class="sheet"
                role="grid"
                style:min-width=move || format!("{:.0}px", shown.with(|shown| least_px(shown, rows.width_px.get())))
                tabindex="0"
                aria-label=format!("All {noun}")
                aria-rowcount=move || rows.total.get() + 1
                aria-activedescendant=move || {
                    selected.get().map(|row| format!("{sheet}-{row}"))
                }
                on:keydown=on_key
            >
                <colgroup>
                    {move || shown.get().into_iter().map(|column| view! { <col class=column.width.class()/> }).collect_view()}
                </colgroup>
                <thead>
                    <tr aria-rowindex="1">
                        {move || shown.get()
                            .into_iter()
                            .map(|column| view! { <Heading column order doc=Signal::derive(move || doc_of(column.label))/> })
                            .collect_view()}
                    </tr>
                </thead>
                <tbody>
                    <tr class="space" aria-hidden="true">
                        <td colspan=move || shown.with(Vec::len) style:height=move || rows.space_above()></td>
                    </tr>
                    <For
                        each=move || rows.rows()
                        key=|(position, list, row)| (*position, *list, row.is_some())
                        children=move |(position, _, row)| {
                            view! { <Row sheet columns shown position row selected on_pick=move |position| {
                                cursor.set(Some(position));
                            }/> }
                        }
                    />
                    <tr class="space" aria-hidden="true">
                        <td colspan=move || shown.with(Vec::len) style:height=move || rows.space_below()></td>
                    </tr>
                </tbody>
            </table>
            <Show when=move || rows.arrived.get() && rows.total.get() == 0>
                <p class="none">
                    {move || {
                        if of_all.get() == 0 {
                            empty.to_owned()
                        } else {
                            format!("None of the {} {noun} fits the filter.", of_all.get())
                        }
                    }}
                </p>
            </Show>
        </div>
        {match is_told {
            false => view! { <Details sheet noun selected/> }.into_any(),
            true => view! {
                <Show when=move || selected.get().is_none()>
                    <p class="fine under">"Select a row to read its story. Arrow keys move, Enter goes into the story, Escape lets go."</p>
                </Show>
            }
            .into_any(),
        }}
    }
}

/// The filter and the count of what it leaves.
#[component]
fn Filter(
    /// What the rows are, in the plural.
    noun: &'static str,
    /// Rows of the sheet.
    of_all: RwSignal<usize>,
    /// Rows the filter leaves.
    matching: RwSignal<usize>,
) -> impl IntoView {
    let state = expect_context::<AppState>();
    let find = Memo::new(move |_| state.place.with(|place| place.focus.find.clone()));
    let wait = StoredValue::new_local(None::<Timeout>);
    let typed = move |event| {
        let text = event_target_value(&event);
        // Typing is faster than anyone reads.
        wait.set_value(Some(Timeout::new(60, move || {
            state.look_at(|focus| {
                focus.find = text;
                focus.row = None;
            });
        })));
    };
    view! {
            <label class="search">
                <Icon name="search"/>
                <span class="unseen">{format!("Filter {noun}")}</span>
                <input
                    id="filter"
                    type="search"
                    autocomplete="off"
                    spellcheck="false"
                    placeholder=format!("Filter {noun}")
                    prop:value=move || find.get()
                    on:input=typed
                />
            </label>
            <p class="count" role="status" data-testid="count">
                {move || {
                    let (matching, of_all) = (matching.get(), of_all.get());
                    if matching == of_all && find.with(String::is_empty) {
                        format!("{of_all} {noun}")
                    } else {
                        format!("{matching} of {of_all} {noun}")
                    }
                }}
            </p>
    }
}

/// What a table is filtered and sorted by.
#[derive(Debug, Clone, PartialEq)]
struct Order {
    find: String,
    only: Vec<String>,
    sort: Option<Sort>,
}

/// A column's head: a button that changes the order.
#[component]
fn Heading(
    /// The column.
    column: &'static TableColumn,
    /// Filter and order of the table.
    order: Memo<Order>,
    /// What the column means.
    #[prop(into)]
    doc: Signal<Option<String>>,
) -> impl IntoView {
    let state = expect_context::<AppState>();
    let direction = Memo::new(move |_| {
        order.with(|order| {
            let sort = order
                .sort
                .as_ref()
                .filter(|sort| sort.column == column.label)?;
            Some(if sort.descending {
                "descending"
            } else {
                "ascending"
            })
        })
    });
    let first_descending = column.width.is_number();
    // The useful direction first, then the other one, then the sheet's own order.
    let turn = move |_| {
        let next = match direction.get_untracked() {
            None => Some(first_descending),
            Some(now) if (now == "descending") == first_descending => Some(!first_descending),
            Some(_) => None,
        };
        state.look_at(|focus| {
            focus.sort = next.map(|descending| Sort {
                column: column.label.to_owned(),
                descending,
            });
        });
    };
    view! {
        <th
            scope="col"
            class:n=column.width.is_number()
            aria-sort=move || direction.get().unwrap_or("none")
        >
            <button type="button" title=move || doc.get() on:click=turn>
                <span>
                    {column.heading}
                    {(!column.unit.is_empty()).then(|| view! { <small>{column.unit}</small> })}
                </span>
                <i class="arrow" aria-hidden="true"></i>
            </button>
        </th>
    }
}

/// One row; blank while it is on its way.
#[component]
fn Row(
    /// The sheet's name.
    sheet: &'static str,
    /// All columns of the table, in the order of the row's cells.
    columns: &'static [TableColumn],
    /// Those that are shown.
    shown: Shown,
    /// Where the row stands on screen.
    position: usize,
    /// The row.
    row: Option<std::sync::Arc<TableRow>>,
    /// The sheet's row that is selected.
    selected: Memo<Option<u32>>,
    /// To be called when the row is picked.
    on_pick: impl Fn(usize) + 'static,
) -> impl IntoView {
    let Some(row) = row else {
        return view! {
            <tr aria-rowindex=position + 2 class="coming">
                <td colspan=move || shown.with(Vec::len) style:height=format!("{ROW_PX}px")></td>
            </tr>
        }
        .into_any();
    };
    let id = row.row as u32;
    let token = format!("c-{}", row.token);
    let is_selected = move || selected.get() == Some(id);
    let cells = move || {
        let shown = shown.get();
        let pairs = columns.iter().zip(&row.cells);
        pairs
            .filter(|(column, _)| shown.iter().any(|shown| shown.label == column.label))
            .enumerate()
            .map(|(position, (column, cell))| cell_view(column, cell.clone(), position == 0))
            .collect_view()
    };
    view! {
        <tr
            id=format!("{sheet}-{id}")
            class=token
            aria-rowindex=position + 2
            aria-selected=move || is_selected().to_string()
            on:click=move |_| on_pick(position)
        >
            {cells}
        </tr>
    }
    .into_any()
}

fn cell_view(column: &TableColumn, cell: TableCell, is_first: bool) -> AnyView {
    match column.width {
        Width::Share => view! {
            <td class="n share">
                <Share percent=cell.number text=cell.text/>
            </td>
        }
        .into_any(),
        Width::Gauge => view! {
            <td class="n share">
                <Gauge percent=cell.number text=cell.text note=cell.note/>
            </td>
        }
        .into_any(),
        Width::Signed => {
            let (class, sign) = match cell.number {
                Some(number) if number > 0.0 => ("n slower", "+"),
                Some(number) if number < 0.0 => ("n faster", ""),
                _ => ("n", ""),
            };
            view! { <td class=class>{sign}{cell.text}</td> }.into_any()
        }
        Width::Number | Width::Figure | Width::Small => {
            view! { <td class="n">{cell.text}</td> }.into_any()
        }
        Width::Label | Width::Phrase => {
            view! { <td class="soft"><Category text=cell.text note=cell.note/></td> }.into_any()
        }
        Width::Rest | Width::Name => {
            let title = cell.whole.unwrap_or_else(|| cell.text.clone());
            view! {
                <td class="mono" title=title>
                    <span class="line">
                        {is_first.then(|| view! { <i class="dot" aria-hidden="true"></i> })}
                        <Name text=cell.text/>
                    </span>
                </td>
            }
            .into_any()
        }
    }
}
