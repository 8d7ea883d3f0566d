//! Tables of a job: rows about a rank open its trace; two selected ranks open their comparison, up to four their
//! timelines.

use std::sync::Arc;

use dormer_core::job::overview::ShownTable;

use super::bandwidth::bandwidth;
use super::read_of;
use crate::page::prelude::*;
use crate::page::ranks::OpenJob;
use crate::page::url::toggle;
use crate::protocol::TraceSide;

/// Rows shown before "show all".
const FIRST_ROWS: usize = 64;

/// The most timelines shown one below the other.
const MOST_PICKED: usize = TraceSide::ALL.len();

/// The numbers of the ranks selected for comparison.
#[derive(Clone, Copy, Default)]
pub(super) struct Picked(RwSignal<Vec<u32>>);

/// All tables of the job: those of ranks, then those of collectives below their chart.
pub(super) fn tables(job: Arc<OpenJob>, picked: Picked) -> impl IntoView {
    let engine = expect_context::<Engine>();
    let all = job.opened.overview.tables.clone();
    // Ranks are selected in the first table about ranks.
    let n_traces = job.has_trace.iter().filter(|has| **has).count();
    let first = all
        .iter()
        .position(|table| n_traces > 1 && !table.ranks.is_empty());
    let of_ranks = all.iter().take_while(|table| !table.ranks.is_empty());
    let n_of_ranks = of_ranks.count();
    let mut tables = each(all.into_iter().enumerate(), |(at, table)| {
        shown_table(&job, table, Some(picked).filter(|_| Some(at) == first))
    });
    let others = tables.split_off(n_of_ranks);
    let chart = bandwidth(&job);
    let has_clocks = !job.opened.moments.is_empty();
    let compare = move || {
        let picked = picked.0.get();
        let ranks: Vec<usize> = picked
            .iter()
            .filter_map(|rank| job.position(*rank))
            .collect();
        let says = match picked.as_slice() {
            [one, other] => format!("Compare rank {one} with rank {other}"),
            _ => "Compare two ranks: check them in the table".to_owned(),
        };
        let (is_pair, has_timelines) = (ranks.len() == 2, ranks.len() > 1);
        let timelines = ranks.clone();
        view! {
            <button type="button" id="compare-ranks" disabled=!is_pair on:click=move |_| engine.open_ranks(&ranks, false)>{says}</button>
            {has_clocks.then(|| view! {
                <button type="button" id="timelines-of-ranks" disabled=!has_timelines on:click=move |_| engine.open_ranks(&timelines, true)>
                    {format!("Show the timelines of up to {MOST_PICKED} on one clock")}
                </button>
            })}
        }
    };
    view! {
        {first.map(|_| view! { <div class="job-compare">{compare}</div> })}
        {tables}
        {chart}
        {others}
    }
}

/// One table; its ranks can be selected if `picked` is given.
pub(super) fn shown_table(
    job: &Arc<OpenJob>,
    table: ShownTable,
    picked: Option<Picked>,
) -> AnyView {
    let ShownTable {
        key,
        title,
        columns,
        rows,
        ranks,
    } = table;
    if rows.is_empty() {
        return ().into_any();
    }
    let has_ranks = !ranks.is_empty();
    let headings = each(columns.iter().zip(0..), |((label, is_number), at)| {
        view! { <th scope="col" class:n=*is_number class:key={at == 0}>{label.clone()}</th> }
    });
    let head = view! {
        {picked.map(|_| view! { <th scope="col">"Compare"</th> })}
        {has_ranks.then(|| view! { <th scope="col"><span class="unseen">"Trace"</span></th> })}
        {headings}
    };
    let columns: Arc<[bool]> = columns.iter().map(|(_, is_number)| *is_number).collect();
    let n_rows = rows.len();
    let rows: Vec<(Vec<String>, Option<u32>)> = rows
        .into_iter()
        .enumerate()
        .map(|(at, cells)| (cells, ranks.get(at).copied().flatten()))
        .collect();
    let (n_shown, more) = first_of(n_rows, FIRST_ROWS, "row");
    let (job, whole) = (job.clone(), job.clone());
    let lines = move || {
        let shown = rows.iter().take(n_shown()).cloned();
        each(shown, |(cells, rank)| {
            line(&job, &columns, cells, rank, has_ranks, picked)
        })
    };
    view! {
        <section class="card flush" data-testid=format!("job-{key}")>
            <h3>{title.clone()} {read_of(&whole)}</h3>
            {list(title, head, lines)}
            {more}
        </section>
    }
    .into_any()
}

fn line(
    job: &Arc<OpenJob>,
    columns: &[bool],
    cells: Vec<String>,
    rank: Option<u32>,
    has_ranks: bool,
    picked: Option<Picked>,
) -> AnyView {
    let engine = expect_context::<Engine>();
    let state = expect_context::<AppState>();
    let cells = cells.into_iter().zip(columns).zip(0..);
    let cells = each(cells, |((cell, is_number), at)| {
        view! { <td class:n=*is_number class:key={at == 0}>{with_units(&cell)}</td> }
    });
    let has_trace = rank.is_some_and(|rank| job.has_trace_of(rank));
    let pick = picked.map(|Picked(picked)| {
        let input = rank.filter(|_| has_trace).map(|rank| {
            view! {
                <input
                    type="checkbox"
                    id=format!("pick-{rank}")
                    aria-label=format!("Compare rank {rank}")
                    prop:checked=move || picked.with(|picked| picked.contains(&rank))
                    on:change=move |_| picked.update(|picked| {
                        toggle(picked, rank);
                        // The oldest selection is dropped.
                        if picked.len() > MOST_PICKED {
                            picked.remove(0);
                        }
                    })
                />
            }
        });
        view! { <td>{input}</td> }
    });
    let at = rank
        .and_then(|rank| job.position(rank))
        .filter(|_| has_trace);
    let way = at.zip(rank).map(|(at, rank)| {
        let label = format!("Open the trace of rank {rank}");
        view! { <button type="button" class="link" aria-label=label on:click=move |_| engine.open_rank(at, None)>"Open"</button> }
    });
    let here = move || {
        let chosen = state.place.with(|place| place.focus.row);
        (rank.is_some() && chosen == rank).then_some("true")
    };
    view! {
        <tr aria-current=here>
            {pick}
            {has_ranks.then(|| view! { <td class="n">{way}</td> })}
            {cells}
        </tr>
    }
    .into_any()
}
