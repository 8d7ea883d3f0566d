//! The frame of every long table: it scrolls, has a cursor, handles keys, and renders only the visible rows.
//!
//! The view provides the rest: column widths, the header, the content of a row, and the handling of a [`RowAct`].

use std::sync::Arc;

use leptos::attr::custom::custom_attribute;
use wasm_bindgen::JsCast;

use super::table_layout::TableLayout;
use super::virtual_rows::Slot;
use crate::page::prelude::*;
use crate::protocol::{Branch, Sort};

/// The parts of a long table.
pub struct VirtualTable {
    /// Handles actions on rows and keys.
    pub act: Arc<Act>,
    /// Its label for screen readers.
    pub label: String,
    /// The classes of the table.
    pub class: &'static str,
    /// The prefix of the row ids.
    pub ids: &'static str,
    /// The classes of its columns, which determine their widths. Rows are redrawn when they change.
    pub widths: Signal<Vec<&'static str>>,
    /// The column widths; `None` if the classes determine them.
    pub layout: Option<Signal<TableLayout>>,
    /// The header cells.
    pub head: Box<dyn Fn() -> AnyView + Send + Sync>,
    /// The message if there are no rows.
    pub empty: Signal<String>,
    /// Nothing is attached below it.
    pub is_alone: bool,
}

/// A rendered row.
pub struct Line {
    /// Its classes.
    pub class: String,
    pub cells: Vec<AnyView>,
}

pub enum RowAct<'a> {
    /// The row at this position was clicked.
    Pick(usize),
    /// The fold marker of the row at this position was clicked, or the row double-clicked.
    Toggle(usize),
    /// The row at this position was Ctrl-clicked: it is marked, too.
    Mark(usize),
    /// The row at this position was Shift-clicked: all rows up to it are marked.
    MarkTo(usize),
    /// A key without modifiers was pressed that does not move the cursor.
    Press(&'a KeyboardEvent),
}

/// The row at a position: its id, its position in a tree, and its rendering; `None` while it is loading.
type RowAt = Arc<dyn Fn(usize) -> Option<(u32, Option<Branch>, Line)> + Send + Sync>;

impl VirtualTable {
    /// The table of rows, each rendered by `line`.
    pub fn view<T: VirtualRow>(
        self,
        rows: VirtualRows<T>,
        line: impl Fn(&T) -> Line + Send + Sync + 'static,
    ) -> AnyView {
        let row_at = move |position| {
            let row = rows.drawn(position)?;
            Some((row.id(), row.branch(), line(&row)))
        };
        let slots = Arc::new(move || rows.slots());
        let is_drawn = move |id| rows.is_drawn(id);
        self.frame(rows.window, slots, Arc::new(row_at), is_drawn)
    }

    fn frame(
        self,
        window: RowWindow,
        slots: Arc<dyn Fn() -> Vec<Slot> + Send + Sync>,
        row_at: RowAt,
        is_drawn: impl Fn(u32) -> bool + Send + Sync + 'static,
    ) -> AnyView {
        let state = expect_context::<AppState>();
        let (widths, ids, layout) = (self.widths, self.ids, self.layout);
        let selected = state.of_place(|place| place.focus.row);
        let role = match self.class.contains("tree") {
            true => "treegrid",
            false => "grid",
        };
        // A row that is scrolled out of view is not an element, and `aria-activedescendant` must not refer to it.
        let active = move || {
            let id = selected.get().filter(|id| is_drawn(*id))?;
            Some(format!("{ids}-{id}"))
        };
        let rows = move || {
            let n_columns = widths.with(Vec::len);
            let (slots, row_at) = (slots.clone(), row_at.clone());
            view! {
                <For
                    each=move || slots()
                    key=|slot| *slot
                    children=move |slot| row(slot.position, row_at(slot.position), ids, n_columns, (selected, window))
                />
            }
        };
        let class = move || {
            let n_pinned = layout.map(|layout| layout.with(|layout| layout.n_fixed));
            match n_pinned {
                None => format!("sheet {}", self.class),
                Some(0) => format!("sheet laid {}", self.class),
                Some(n_pinned) => format!("sheet laid pinned pinned-{n_pinned} {}", self.class),
            }
        };
        let of_layout = move |read: fn(&TableLayout) -> f64| {
            layout.map(|layout| layout.with(|layout| format!("{:.2}", read(layout))))
        };
        let [pressed, clicked, double_clicked] = [0; 3].map(|_| self.act.clone());
        view! {
            <div class="scroller" class:last=self.is_alone node_ref=window.scroller on:scroll=move |_| window.scroll()>
                <table
                    class=class
                    role=role
                    style=("--all", move || of_layout(TableLayout::all_px))
                    style=("--left-2", move || of_layout(|layout| layout.left_px(1)))
                    style=("--left-3", move || of_layout(|layout| layout.left_px(2)))
                    style=("--left-4", move || of_layout(|layout| layout.left_px(3)))
                    tabindex="0"
                    aria-label=self.label
                    aria-rowcount=move || window.total.get() + 1
                    aria-activedescendant=active
                    on:keydown=move |event| press(&event, window, &*pressed)
                >
                    <colgroup>{move || columns(widths.get(), layout)}</colgroup>
                    <thead>
                        <tr aria-rowindex="1">{move || (self.head)()}</tr>
                    </thead>
                    // One handler for all rows: rows come and go with every scroll event.
                    <tbody
                        on:click=move |event| click(&event, &*clicked)
                        on:dblclick=move |event| double_click(&event, &*double_clicked)
                    >
                        {space(widths, move || window.drawn.with(|drawn| drawn.above_px))}
                        {rows}
                        {space(widths, move || window.drawn.with(|drawn| drawn.below_px))}
                    </tbody>
                </table>
                <Show when=move || window.arrived.get() && window.total.get() == 0>
                    <div class="none"><p>{move || self.empty.get()}</p>{clear_filter(state, role)}</div>
                </Show>
                <p class="on-paper">{move || printed_rows(window)}</p>
            </div>
        }
        .into_any()
    }
}

/// A button that shows all rows again, where a filter leaves none; the text above a tree only searches it.
fn clear_filter(state: AppState, role: &'static str) -> impl IntoView {
    let is_filtered = state.of_place(move |place| {
        role == "grid" && !(place.focus.find.is_empty() && place.focus.only.is_empty())
    });
    let clear = move |_| {
        state.look_at(|focus| {
            focus.find.clear();
            focus.only.clear();
        });
        browser::focus_on("filter");
    };
    view! {
        <Show when=move || is_filtered.get()>
            <button type="button" id="clear-filter" on:click=clear>"Clear the filter"</button>
        </Show>
    }
}

/// The columns with their widths.
fn columns(widths: Vec<&'static str>, layout: Option<Signal<TableLayout>>) -> impl IntoView {
    each(widths.into_iter().enumerate(), move |(at, width)| {
        let px = move || {
            layout.map(|layout| {
                let px = layout.with(|layout| layout.px.get(at).copied());
                format!("{:.2}", px.unwrap_or_default())
            })
        };
        view! { <col class=width style=("--px", px)/> }
    })
}

/// The space in place of the rows above or below the rendered ones.
fn space(
    widths: Signal<Vec<&'static str>>,
    px: impl Fn() -> f64 + Send + Sync + 'static,
) -> impl IntoView {
    view! {
        <tr class="space" aria-hidden="true">
            <td colspan=move || widths.with(Vec::len) style:height=move || format!("{:.0}px", px())></td>
        </tr>
    }
    .into_any()
}

/// What a printed page says: only the rendered rows are on it.
fn printed_rows(window: RowWindow) -> Option<String> {
    let (all, rows) = (window.total.get(), window.drawn.get().rows);
    (rows.len() < all).then(|| {
        format!(
            "Rows {} to {} of {all}. Export writes all of them.",
            rows.start + 1,
            rows.end
        )
    })
}

/// Handles an action; `true` if a key was handled.
type Act = dyn Fn(RowAct) -> bool;

fn press(event: &KeyboardEvent, window: RowWindow, act: &Act) {
    if browser::has_modifier(event) {
        return;
    }
    let is_done = match moved(event, window) {
        Some(position) => {
            window.go_to(position);
            true
        }
        None => act(RowAct::Press(event)),
    };
    if is_done {
        event.prevent_default();
    }
}

fn click(event: &MouseEvent, act: &Act) {
    match clicked_row(event) {
        Some((position, _)) if event.ctrl_key() || event.meta_key() => {
            _ = act(RowAct::Mark(position));
        }
        Some((position, _)) if event.shift_key() => _ = act(RowAct::MarkTo(position)),
        Some((position, true)) => _ = act(RowAct::Toggle(position)),
        Some((position, false)) => _ = act(RowAct::Pick(position)),
        None => {}
    }
}

fn double_click(event: &MouseEvent, act: &Act) {
    if let Some((position, false)) = clicked_row(event) {
        act(RowAct::Toggle(position));
    }
}

/// One row; blank while it is loading.
fn row(
    position: usize,
    drawn: Option<(u32, Option<Branch>, Line)>,
    ids: &'static str,
    n_columns: usize,
    (selected, window): (Memo<Option<u32>>, RowWindow),
) -> AnyView {
    let Some((id, branch, line)) = drawn else {
        return view! {
            <tr class="coming" aria-rowindex=position + 2><td colspan=n_columns></td></tr>
        }
        .into_any();
    };
    let branch = branch.as_ref();
    let is_marked = move || window.marked.with(|marked| marked.contains(&id));
    let is_selected = move || match selected.get() == Some(id) || is_marked() {
        true => "true",
        false => "false",
    };
    view! {
        <tr
            {..custom_attribute("aria-level", branch.map(|branch| branch.depth + 1))}
            id=format!("{ids}-{id}")
            class=line.class
            class:marked=is_marked
            aria-rowindex=position + 2
            aria-posinset=branch.map(|branch| branch.position)
            aria-setsize=branch.map(|branch| branch.siblings)
            aria-expanded=branch.and_then(|branch| branch.open).map(|open| open.to_string())
            aria-selected=is_selected
        >
            {line.cells}
        </tr>
    }
    .into_any()
}

fn moved(event: &KeyboardEvent, window: RowWindow) -> Option<usize> {
    let here = window.cursor.get_untracked();
    let at = here.unwrap_or(0);
    let position = match event.key().as_str() {
        "ArrowDown" => here.map_or(0, |position| position + 1),
        "ArrowUp" => at.saturating_sub(1),
        "PageDown" => at + window.rows_per_screen(),
        "PageUp" => at.saturating_sub(window.rows_per_screen()),
        "Home" => 0,
        "End" => usize::MAX,
        _ => return None,
    };
    Some(position)
}

/// The position of the clicked row, and whether the click was on its fold marker.
fn clicked_row(event: &MouseEvent) -> Option<(usize, bool)> {
    let target: web_sys::Element = event.target()?.dyn_into().ok()?;
    let row = target.closest("tr[id]").ok()??;
    let index: usize = row.get_attribute("aria-rowindex")?.parse().ok()?;
    let is_mark = target.matches(".fold").unwrap_or(false);
    Some((index.checked_sub(2)?, is_mark))
}

/// The heading of a column: a button that changes the sort order. It shows `title` with its unit; `column` is the name
/// in the sort order; numbers sort the largest first. `turn` receives the new order, `None` for the default. The
/// resizing edge follows.
pub fn sort_heading(
    (title, unit): (&'static str, &'static str),
    column: &'static str,
    is_number: bool,
    doc: Signal<Option<String>>,
    sort: Signal<Option<Sort>>,
    turn: impl Fn(Option<Sort>) + 'static,
    edge: Option<AnyView>,
) -> AnyView {
    let is_descending = Memo::new(move |_| {
        sort.with(|sort| {
            let sort = sort.as_ref().filter(|sort| sort.column == column);
            sort.map(|sort| sort.descending)
        })
    });
    let click = move |_| {
        // The useful direction first, then the other one, then the default order.
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
    let label = [title, unit].join(" ").trim_end().to_owned();
    let direction = move || match is_descending.get() {
        None => "none",
        Some(true) => "descending",
        Some(false) => "ascending",
    };
    view! {
        // A screen reader reads the label with each cell: without the width that its edge has.
        <th scope="col" class:n=is_number aria-sort=direction aria-label=label>
            <button type="button" title=move || doc.get() data-sort=column on:click=click>
                <span>
                    {title}
                    {(!unit.is_empty()).then(|| view! { <small>{unit}</small> })}
                </span>
                <i class="arrow" aria-hidden="true"></i>
            </button>
            {edge}
        </th>
    }
    .into_any()
}
