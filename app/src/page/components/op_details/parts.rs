//! The sections of the details panel, in order.

use dormer_core::output::markup::slug;
use dormer_core::report::details::{
    FindingLink, OpDetails, OperationLink, PlaceLink, SpreadBar, SpreadFacts, StackLine,
};

use super::subject;
use crate::page::prelude::*;
use crate::page::views::export::saved_name;
use crate::page::views::title_of;
use crate::protocol::{About, Reproducer, ReproducerQuery};

/// The most findings listed; the report has all.
const MAX_FINDINGS: usize = 5;
/// The most characters of a name in the title.
const MAX_TITLE: usize = 120;
/// Width of a histogram bar, and the distance from one to the next.
const BAR: (u32, u32) = (9, 10);
const TALLEST: f64 = 48.0;

/// The title and the headline figures.
pub(super) fn head(details: &OpDetails) -> AnyView {
    // Kernel names can fill a screen; the figures come first.
    let title = format::middle_ellipsis(&details.name, MAX_TITLE);
    let whole = (title != details.name).then(|| {
        let name = details.name.clone();
        view! { <details class="more"><summary>"Full name"</summary><p class="mono">{name}</p></details> }
    });
    view! {
        <header class=format!("op-details-head c-{}", details.family.token())>
            <p class="fine"><i class="dot" aria-hidden="true"></i>{details.kind.clone()} " \u{b7} " {details.family.label()}</p>
            <h2 class="mono">{title} " " {copy_button(details.name.clone(), "Copy")}</h2>
            {pairs("figures", details.figures.clone())}
            {whole}
        </header>
    }
    .into_any()
}

/// Links to where else it is shown: its row, its mark in the chart, and its slowest run.
pub(super) fn links(details: &OpDetails, here: &str) -> AnyView {
    let row = details.row.as_ref();
    let shown = row.and_then(subject::shown_in);
    let on_roofline = row.filter(|_| details.on_roofline).map(|(_, row)| {
        let focus = Focus::at_row(*row);
        ("roofline", focus)
    });
    let slowest = details.places.first();
    let in_tree = slowest.and_then(|place| Some(("tree", Focus::at_event(place.in_tree?))));
    let in_timeline = slowest.map(|place| ("timeline", Focus::at_event(place.in_timeline)));
    let links = [shown, on_roofline, in_tree, in_timeline]
        .into_iter()
        .flatten();
    // A table that shows the row needs no link to it.
    let links = links.filter(|(view, focus)| *view != here || focus.row.is_none());
    let link = |(view, focus): (&'static str, Focus)| {
        let title = title_of(view);
        view! { <li><ViewLink view focus><span class="unseen">"Show in "</span> {title}</ViewLink></li> }
    };
    view! {
        <nav class="op-details-links" aria-label="Show in other views">
            <span class="fine" aria-hidden="true">"Show in"</span>
            <ul>{links.map(link).collect_view()}</ul>
        </nav>
    }
    .into_any()
}

/// Its verdict in a sentence, and what optimizing it can save.
pub(super) fn verdict(details: &OpDetails) -> AnyView {
    let (verdict, savings) = (details.verdict.clone(), details.savings.clone());
    view! { <p class="op-details-verdict" data-testid="verdict"><b>{verdict}</b> " " {savings}</p> }
        .into_any()
}

/// The findings that it is evidence of, as links into the report.
pub(super) fn findings(details: &OpDetails) -> Option<AnyView> {
    let item = |finding: FindingLink| {
        let focus = Focus::at_section(slug(&finding.heading));
        view! {
            <li class=format!("light-{}", finding.light)>
                <span class="rank">{finding.number}</span>
                <ViewLink view="report" focus>{prose(finding.title)}</ViewLink>
            </li>
        }
    };
    let items = details.findings.iter().take(MAX_FINDINGS).cloned();
    let more = details.findings.len().saturating_sub(MAX_FINDINGS);
    let more = (more > 0).then(|| view! { <li class="soft">{format!("and {more} more")}</li> });
    (!details.findings.is_empty()).then(|| {
        view! {
            <section class="op-details-findings">
                <h3>"Findings"</h3>
                <ul>{items.map(item).collect_view()} {more}</ul>
            </section>
        }
        .into_any()
    })
}

/// How its runs differ, where they are, and everything in table form.
pub(super) fn runs_and_tables(details: OpDetails) -> AnyView {
    let times = details.spread.map(|spread| spread_view(spread).into_any());
    let places = details.places.into_iter().map(place_view).collect_view();
    let tables = details.tables.into_iter().map(facts_table);
    let operations = (!details.operations.is_empty()).then(|| operations_view(details.operations));
    let stack = (!details.stack.is_empty()).then(|| stack_view(details.stack));
    view! {
        <div class="op-details">
            <div>
                {times}
                <ul class="op-details-places">{places}</ul>
            </div>
            <div class="op-details-tables">
                {operations}
                {tables.collect_view()}
                {stack}
            </div>
        </div>
    }
    .into_any()
}

/// A histogram with its numbers.
fn spread_view(spread: SpreadFacts) -> impl IntoView {
    let width = BAR.1 * spread.bars.len() as u32;
    let scale = match spread.is_logarithmic {
        true => ", logarithmic",
        false => "",
    };
    let bar = |(at, bar): (u32, SpreadBar)| {
        // Every nonzero bar is visible.
        let height = match bar.height > 0.0 {
            true => (bar.height * TALLEST).max(1.5),
            false => 0.0,
        };
        view! {
            <g>
                <title>{bar.label}</title>
                <rect class="catch" x=at * BAR.1 y="0" width=BAR.1 height=TALLEST/>
                <rect x=at * BAR.1 y=TALLEST - height width=BAR.0 height=height/>
            </g>
        }
    };
    let chart = (!spread.bars.is_empty()).then(|| {
        view! {
            <svg class="histogram" viewBox=format!("0 0 {width} {TALLEST}") preserveAspectRatio="none" aria-hidden="true">
                {(0..).zip(spread.bars).map(bar).collect_view()}
            </svg>
        }
    });
    let warning = (!spread.warning.is_empty())
        .then(|| view! { <p class="op-details-warning">{spread.warning}</p> });
    view! {
        <h3>"GPU time of " {spread.n_runs} <span class="soft">{scale}</span></h3>
        {chart}
        {pairs("op-details-figures", spread.figures)}
        {warning}
    }
}

/// The links to a run.
fn place_view(place: PlaceLink) -> AnyView {
    let links = [
        ("tree", place.in_tree),
        ("timeline", Some(place.in_timeline)),
    ];
    let links = links
        .into_iter()
        .filter_map(|(view, uid)| Some((view, uid?)));
    let links = links.map(|(view, uid)| {
        let prefix = format!("{} run in ", place.label);
        let title = title_of(view);
        view! { <ViewLink view focus=Focus::at_event(uid)><span class="unseen">{prefix}</span> {title}</ViewLink> }
    });
    let links = links.collect_view();
    view! { <li><span>{place.label}</span> <b>{place.time}</b> <span class="places">{links}</span></li> }.into_any()
}

fn operations_view(operations: Vec<OperationLink>) -> AnyView {
    let line = |operation: OperationLink| {
        let focus = Focus::at_row(operation.row);
        view! {
            <li>
                <ViewLink view="operations" focus>{cut_name(operation.name)}</ViewLink>
                <span class="soft">{operation.shapes}</span>
                <b>{operation.time}</b>
            </li>
        }
    };
    view! {
        <section>
            <h3>"Operations"</h3>
            <ul class="op-details-operations">{operations.into_iter().map(line).collect_view()}</ul>
        </section>
    }
    .into_any()
}

/// The call stack of the slowest run.
fn stack_view(stack: Vec<StackLine>) -> AnyView {
    let line = |line: StackLine| {
        let focus = Focus::at_event(line.uid);
        view! {
            <li class:soft=line.is_framework>
                <ViewLink view="tree" focus><span class="mono">{line.name}</span></ViewLink>
            </li>
        }
    };
    let levels = format::counted(stack.len() as u64, "level");
    view! {
        <details class="more op-details-stack">
            <summary>"Stack of the slowest call: " {levels}</summary>
            <ol>{stack.into_iter().map(line).collect_view()}</ol>
        </details>
    }
    .into_any()
}

/// A button that downloads an operation's reproducer; if it cannot be generated, the reason.
pub(super) fn reproduce(row: u32) -> impl IntoView {
    let state = expect_context::<AppState>();
    let engine = expect_context::<Engine>();
    let offered = RwSignal::new(None::<Reproducer>);
    engine.ask(ReproducerQuery { row, make: false }, move |answer| {
        let _ = offered.try_set(answer);
    });
    let make = move |_| {
        let query = ReproducerQuery { row, make: true };
        engine.ask_for_bytes(query, move |answer, bytes| {
            let made = answer.and_then(|answer| Some((answer.file_name, answer.made?.mime)));
            if let Some(((file_name, mime), bytes)) = made.zip(bytes) {
                let name = saved_name(state, About::Target, false, &file_name);
                browser::download(&name, &mime, &bytes);
            }
        });
    };
    move || {
        let offered = offered.get()?;
        Some(match offered.reason {
            None => view! {
                <p class="reproduce" data-testid="reproduce">
                    <button type="button" class="small" id="reproduce" on:click=make title=offered.file_name>
                        {icon("download")}
                        "Reproducer"
                    </button>
                    {offered.python.map(|python| view! { <span id="copy-python">{copy_button(python, "Copy Python")}</span> })}
                    <span class="fine">"A PyTorch script that runs this operation alone, as a package or as ten lines to paste. It contains only names, shapes, types and scalars."</span>
                </p>
            }
            .into_any(),
            Some(reason) => view! {
                <p class="reproduce fine" data-testid="reproduce">{format!("No reproducer: {reason}.")}</p>
            }
            .into_any(),
        })
    }
}
