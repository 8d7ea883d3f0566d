//! Fleet: many traces on one page. The conclusion first, then what changed between builds, what to fix, where the time
//! goes, and the runs.

mod runs;
mod trend;

use std::sync::Arc;

use dormer_core::report::fact_table::FactTable;

use crate::page::components::findings::{CardHead, folding_card};
use crate::page::fleet::FleetStage;
use crate::page::prelude::*;
use crate::page::views::start::cannot_open;
use crate::protocol::{FleetChange, FleetOpened};
use runs::runs;
use trend::{spark, trends};

/// Changes shown before "show all".
const FIRST_CHANGES: usize = 12;
/// Rows of a table shown before "show all".
const FIRST_ROWS: usize = 12;

/// The open summary, or why it cannot be read.
pub fn fleet() -> impl IntoView {
    let state = expect_context::<AppState>();
    move || match state.fleet.get() {
        FleetStage::Open { opened, .. } => untrack(|| open(&opened)),
        FleetStage::Failed(failure) => {
            let reason = view! { <p class="lede" data-testid="reason">{failure.sentence}</p> };
            cannot_open("This summary cannot be read", reason, "Choose another file").into_any()
        }
        FleetStage::Reading => view! {
            <section class="start loading" aria-busy="true"><h1>"Reading the summary"</h1></section>
        }
        .into_any(),
        FleetStage::Empty => ().into_any(),
    }
}

/// The summary's text in the header.
pub fn header_facts(fleet: &FleetStage) -> Option<(String, String)> {
    let FleetStage::Open { name, opened, ms } = fleet else {
        return None;
    };
    let runs = format::counted(u64::from(opened.n_runs), "run");
    Some((name.clone(), format!("{runs} \u{b7} {:.2} s", ms / 1000.0)))
}

fn open(opened: &Arc<FleetOpened>) -> AnyView {
    let n_changes = opened.changes.len();
    let (n_shown, more) = first_of(n_changes, FIRST_CHANGES, "change");
    let all = opened.clone();
    let changes = move || {
        let shown = all.changes.iter().take(n_shown()).cloned();
        each(shown.zip(1..), change)
    };
    let has_builds = opened.trends.iter().any(|trend| trend.points.len() > 1);
    let changes = (has_builds || n_changes > 0).then(|| view! {
        <section class="what-to-do" data-testid="fleet-changes">
            <header><h2>"What changed between builds"</h2></header>
            {(n_changes == 0).then(|| view! { <p class="card empty">"No build differs from those before it by more than noise, or there are too few runs to tell."</p> })}
            <div class="findings">{changes}</div>
            {more}
        </section>
    });
    let table = |keys: &'static [&'static str]| {
        let all = opened.tables.iter();
        let shown = all.filter(move |(key, _)| keys.contains(&key.as_str()));
        each(shown.cloned(), |(key, table)| cut_table(key, table))
    };
    view! {
        <article class="overview job fleet" data-testid="fleet">
            <section class="lead"><h1 data-testid="headline">{title_line(&opened.sentence)}</h1></section>
            {pairs("facts", opened.facts.clone())}
            {changes.is_none().then(|| view! { <h2 class="unseen">"All runs"</h2> })}
            {changes}
            {table(&["lost", "findings"])}
            {trends(opened.trends.clone(), has_builds)}
            {table(&["ops", "kernels", "slowest", "outliers"])}
            {runs(opened.n_runs)}
            {table(&["weeks", "rejected"])}
        </article>
    }
    .into_any()
}

/// What changed with a build, as a section that folds; the first is open.
fn change((change, number): (FleetChange, usize)) -> AnyView {
    let level = match (change.is_confirmed, change.is_slower) {
        (true, _) => "Confirmed",
        (false, true) => "Alarm",
        (false, false) => "Not confirmed",
    };
    let light = match (change.is_slower, change.is_confirmed) {
        (true, true) => "red",
        (true, false) => "yellow",
        (false, _) => "green",
    };
    let runs = each(
        ["A run of this build", "A run before it"]
            .into_iter()
            .zip(change.runs)
            .filter(|(_, uri)| !uri.is_empty()),
        |(label, uri)| {
            view! { <div><dt>{label}</dt><dd><span class="mono">{uri.clone()}</span> " " {copy_button(uri, "Copy")}</dd></div> }
        },
    );
    let has_runs = !runs.is_empty();
    let head = CardHead {
        key: format!("fleet {number}"),
        testid: "fleet-change",
        light: light.to_owned(),
        number,
        title: change.title,
    };
    let scope = view! { <span class="fine">{change.scope}</span> };
    let worth = view! { <span class="worth"><span class="saves">{level}</span></span> };
    let body = view! {
            <div class="job-body">
                <p class="issue">{prose(change.evidence)}</p>
                {spark(&change.points, change.at.map(|at| at as usize), true)}
                {change.carriers.map(|table| facts_table(table).into_any())}
                {has_runs.then(|| view! {
                    <p class="fine">"To see why, drop both files together: they open as a comparison."</p>
                    <dl class="fleet-runs">{runs}</dl>
                })}
            </div>
    };
    folding_card(head, scope, worth, body)
}

/// A truncated table, with a button to show all rows.
fn cut_table(key: String, table: FactTable) -> AnyView {
    let (n_shown, more) = first_of(table.rows.len(), FIRST_ROWS, "row");
    let shown = move || {
        let mut table = table.clone();
        table.rows.truncate(n_shown());
        facts_table(table).into_any()
    };
    view! { <div data-testid=format!("fleet-{key}")>{shown} {more}</div> }.into_any()
}
