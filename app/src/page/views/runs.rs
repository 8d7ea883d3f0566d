//! Runs: the content of a log directory, newest first, with buttons to open it. Only if `dormer open` serves the page.

use std::collections::BTreeSet;
use std::sync::Arc;

use gloo::timers::callback::Interval;

use crate::page::components::table_tools::run_filter;
use crate::page::prelude::*;
use crate::page::runs::{LIST, Run, RunTrace, Runs, Together, link, together};
use crate::page::url::toggle;

/// The list is requested again at this interval, in milliseconds, which is shorter than the server's idle timeout.
const EVERY_MS: u32 = 3000;
/// Runs shown before "show all".
const FIRST_RUNS: usize = 20;
/// Traces of a run shown before "show all".
const FIRST_TRACES: usize = 8;

/// The user's changes to the list; they stay while new files come.
#[derive(Clone, Copy)]
struct ListState {
    find: RwSignal<String>,
    /// The addresses of the chosen traces.
    chosen: RwSignal<Vec<String>>,
    /// The lists that are shown whole: of the traces of a run, by its name, and `None` for that of the runs.
    unfolded: RwSignal<BTreeSet<Option<String>>>,
}

impl ListState {
    /// How many of a list are shown, the first few until all are wanted; and the button for that.
    fn first_of(
        self,
        list: Option<String>,
        n_all: impl Fn() -> usize + Copy + Send + 'static,
        n_first: usize,
        noun: &'static str,
    ) -> (impl Fn() -> usize + Copy, impl Fn() -> Option<AnyView>) {
        let (unfolded, list) = (self.unfolded, StoredValue::new(list));
        let n_shown = move || {
            let is_whole = unfolded.with(|all| list.with_value(|list| all.contains(list)));
            if is_whole { usize::MAX } else { n_first }
        };
        let unfold = move || unfolded.update(|all| _ = all.insert(list.get_value()));
        let more = move || {
            let is_cut = n_all() > n_shown();
            is_cut.then(|| show_all(n_all(), noun, unfold).into_any())
        };
        (n_shown, more)
    }
}

/// The runs, watched for new files.
pub fn runs() -> impl IntoView {
    let state = expect_context::<AppState>();
    let shown = ListState {
        find: RwSignal::new(String::new()),
        chosen: RwSignal::new(Vec::new()),
        unfolded: RwSignal::new(BTreeSet::new()),
    };
    // Requests are counted from then on.
    browser::after_paint(move || refresh(state));
    // Dropped with the view.
    StoredValue::new_local(Interval::new(EVERY_MS, move || {
        if browser::is_visible() {
            refresh(state);
        }
    }));
    let listed = Memo::new(move |_| state.runs.with(|runs| runs.as_ref()?.listed.clone()));
    let error = Memo::new(move |_| state.runs.with(|runs| runs.as_ref()?.error.clone()));
    let failed = move || {
        let why = error.get()?;
        Some(
            view! { <p class="wrong" role="alert" data-testid="runs-error">{prose(format::capitalized(&why) + ".")}</p> },
        )
    };
    let content = move || match listed.get() {
        Some(listed) => {
            browser::keep_focus();
            untrack(|| run_list(&listed, shown)).into_any()
        }
        None if error.with(Option::is_some) => ().into_any(),
        None => view! { <section class="lead"><h1>"Reading the folder"</h1></section> }.into_any(),
    };
    view! {
        <article class="overview job run-list" data-testid="runs">
            {failed}
            {content}
        </article>
    }
}

/// Requests the list; an unchanged list is not redrawn.
fn refresh(state: AppState) {
    wasm_bindgen_futures::spawn_local(async move {
        let answer = browser::json_of(LIST).await;
        let _ = state.runs.try_update(|runs| {
            let runs = runs.get_or_insert_default();
            match answer {
                Ok(json) => {
                    let listed = Runs::of(&json);
                    runs.error = None;
                    if runs.listed.as_deref() != Some(&listed) {
                        runs.listed = Some(Arc::new(listed));
                    }
                }
                Err(why) => runs.error = Some(why),
            }
        });
    });
}

fn run_list(listed: &Arc<Runs>, shown: ListState) -> impl IntoView {
    let n_runs = listed.runs.len();
    let headline = match n_runs {
        0 => "No traces yet".to_owned(),
        _ => format!(
            "{} with {}",
            format::counted(n_runs as u64, "run"),
            format::counted(listed.n_traces() as u64, "trace")
        ),
    };
    let others = (listed.n_others > 0).then(|| {
        let files = format::counted(listed.n_others, "file");
        view! { <p class="fine">{format!("{files} named like a trace, without one in it, not listed.")}</p> }
    });
    let all = listed.clone();
    let found = Memo::new(move |_| {
        let find = shown.find.get();
        let runs = all.runs.iter().enumerate();
        let found = runs.filter(|(_, run)| run.has(&find)).map(|(at, _)| at);
        found.collect::<Vec<usize>>()
    });
    let all = listed.clone();
    let n_found = move || found.with(Vec::len);
    let (n_shown, more) = shown.first_of(None, n_found, FIRST_RUNS, "run");
    let cards = move || {
        let found = found.get().into_iter().take(n_shown());
        each(found.filter_map(|at| all.runs.get(at)), |run| {
            card(run, all.name(), shown)
        })
    };
    let none = move || {
        let is_none = n_runs > 0 && found.with(Vec::is_empty);
        is_none.then(|| view! { <p class="soft">"No run or trace matches the filter."</p> })
    };
    let filter = (n_runs > 1).then(|| {
        run_filter(
            "runs-filter",
            "Run, worker, file",
            move || shown.find.get(),
            move |text| shown.find.set(text),
        )
    });
    view! {
        <section class="lead">
            <h1 data-testid="headline">{headline}</h1>
            <p class="mono soft">{listed.folder.clone()}</p>
            <p class="fine">
                "New files appear by themselves: while this view is visible, it asks " <code>"dormer open"</code>
                " every 3 s. The header counts these requests."
            </p>
            {others}
            {filter}
        </section>
        {chosen_bar(listed.clone(), shown)}
        {cards}
        {none}
        {more}
    }
}

/// The actions on the selected traces.
fn chosen_bar(listed: Arc<Runs>, shown: ListState) -> impl IntoView {
    move || {
        let urls = shown.chosen.get();
        let chosen = listed.chosen(&urls);
        let (newest, oldest) = (chosen.first()?, chosen.last()?);
        let n_chosen = format::counted(chosen.len() as u64, "trace");
        let (label, subject) = match together(&chosen) {
            Together::One => (Some("Open"), newest.file.clone()),
            Together::Two => (
                Some("Compare"),
                format!("{}, compared with the older {}", newest.file, oldest.file),
            ),
            Together::Job => (
                Some("Analyze as one job"),
                format!("{n_chosen}, of ranks of one job"),
            ),
            Together::Nothing => (
                None,
                format!("{n_chosen}: select one, two to compare, or ranks of one job"),
            ),
        };
        let open = label.map(|label| {
            let link = link(&chosen);
            view! { <button type="button" class="main" id="open-chosen" on:click=move |_| browser::go_to_hash(&link)>{label}</button> }
        });
        Some(view! {
            <section class="card chosen-runs" aria-label="Selected traces" data-testid="chosen-runs">
                <p role="status">{subject}</p>
                {open}
                <button type="button" class="small" on:click=move |_| shown.chosen.set(Vec::new())>"Clear selection"</button>
            </section>
        })
    }
}

/// A run with its traces.
fn card(run: &Run, folder: &str, shown: ListState) -> AnyView {
    let name = match run.name.as_str() {
        "" => folder.to_owned(),
        name => name.to_owned(),
    };
    let ranks = run.ranks();
    let n_ranks = format::counted(ranks.len() as u64, "rank");
    let facts = [
        (!ranks.is_empty()).then(|| n_ranks.clone()),
        Some(format::counted(run.traces.len() as u64, "trace")),
        Some(format::bytes(run.bytes())),
    ];
    let facts: Vec<String> = facts.into_iter().flatten().collect();
    let open_all = (!ranks.is_empty()).then(|| {
        let label = format!("Open the newest of all {n_ranks}");
        let link = link(&ranks);
        view! { <button type="button" data-open-run=name.clone() on:click=move |_| browser::go_to_hash(&link)>{label}</button> }
    });
    view! {
        <section class="card flush" data-testid="run" data-run=name.clone()>
            <header>
                <h2 class="mono">{name.clone()}</h2>
                <span class="fine">{facts.join(" \u{b7} ")}</span>
                <span class="grow"></span>
                {open_all}
            </header>
            {trace_table(run, &name, shown)}
        </section>
    }
    .into_any()
}

/// The traces of a run, the first few until the user asks for all.
fn trace_table(run: &Run, name: &str, shown: ListState) -> impl IntoView + use<> {
    let columns = Columns {
        ranks: run.traces.iter().any(|trace| trace.rank.is_some()),
        nth: run.traces.iter().any(|trace| trace.nth.1 > 1),
    };
    let traces = run.traces.clone();
    let n_traces = traces.len();
    let whole = Some(run.name.clone());
    let (n_shown, more) = shown.first_of(whole, move || n_traces, FIRST_TRACES, "trace");
    let rows = move || {
        each(traces.iter().take(n_shown()), |trace| {
            row(trace, columns, shown.chosen)
        })
    };
    let named = [
        Some(("Worker", false)),
        columns.ranks.then_some(("Rank", true)),
        columns.nth.then_some(("Capture", true)),
        Some(("Recorded", true)),
        Some(("Size", true)),
    ];
    let head = view! {
        <th scope="col"><span class="unseen">"Selected"</span></th>
        {heads(named.into_iter().flatten())}
    };
    view! { {list(format!("Traces of {name}"), head, rows)} {more} }
}

/// The columns that have content for a run.
#[derive(Clone, Copy)]
struct Columns {
    ranks: bool,
    nth: bool,
}

fn row(trace: &RunTrace, columns: Columns, chosen: RwSignal<Vec<String>>) -> AnyView {
    let number = |number: Option<u64>| number.map_or("\u{2013}".to_owned(), format::count);
    let (url, again) = (trace.url.clone(), trace.url.clone());
    let is_chosen = move || chosen.with(|chosen| chosen.contains(&url));
    let (nth, of) = trace.nth;
    let time = browser::local_time(trace.time_ms);
    let (day, hour) = time.split_once(' ').unwrap_or((&time, ""));
    let (day, hour) = (day.to_owned(), hour.to_owned());
    view! {
        <tr>
            <td class="choose">
                <input
                    type="checkbox"
                    id=format!("pick-{again}")
                    aria-label=format!("Select {}", trace.file)
                    prop:checked=is_chosen
                    on:change=move |_| chosen.update(|chosen| toggle(chosen, again.clone()))
                />
            </td>
            <th scope="row"><a class="mono" id=format!("open-{}", trace.url) href=link(&[trace]) title=trace.file.clone()>{cut_name(trace.worker.clone())}</a></th>
            {columns.ranks.then(|| view! { <td class="n">{number(trace.rank)}</td> })}
            {columns.nth.then(|| view! { <td class="n">{format!("{nth} of {of}")}</td> })}
            <td class="n when"><span>{day}</span> " " <span>{hour}</span></td>
            <td class="n">{format::bytes(trace.bytes)}</td>
        </tr>
    }
    .into_any()
}
