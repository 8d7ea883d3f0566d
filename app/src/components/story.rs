//! The story of the selected row: how far from the roof, how the times differ, what ran, who called.

use leptos::prelude::*;

use super::{FactsTable, Name};
use crate::protocol::{OpStory, OperationLink, PlaceLink, SpreadBar, SpreadFacts, StackLine};
use crate::state::AppState;
use crate::url::Focus;

/// Width of a bar of the histogram, and from one to the next.
const BAR: (u32, u32) = (9, 10);
/// Height of the tallest bar.
const TALLEST: f64 = 48.0;

/// Where it stands, in a sentence, and what getting better is worth.
#[component]
pub fn Verdict(
    /// The sentence.
    verdict: String,
    /// What it is worth; may be empty.
    worth: String,
) -> impl IntoView {
    view! {
        <p class="story-verdict" data-testid="verdict"><b>{verdict}</b> " " {worth}</p>
    }
}

/// All of a story but its verdict.
#[component]
pub fn Story(
    /// The story.
    story: OpStory,
) -> impl IntoView {
    let times = story.spread.map(|spread| spread_view(spread).into_any());
    let places = story.places.into_iter().map(place_view).collect_view();
    let tables = story.tables.into_iter();
    let tables = tables.map(|table| view! { <FactsTable table/> }.into_any());
    let operations = (!story.operations.is_empty()).then(|| operations_view(story.operations));
    let stack = (!story.stack.is_empty()).then(|| stack_view(story.stack));
    view! {
        <div class="story" data-testid="story">
            <div class="story-times">
                {times}
                <ul class="story-places">{places}</ul>
            </div>
            <div class="story-tables">
                {operations}
                {tables.collect_view()}
                {stack}
            </div>
        </div>
    }
}

/// A histogram with its numbers.
fn spread_view(spread: SpreadFacts) -> impl IntoView {
    let width = BAR.1 * spread.bars.len() as u32;
    let scale = match spread.is_logarithmic {
        true => ", logarithmic",
        false => "",
    };
    let bar = |(at, bar): (u32, SpreadBar)| {
        // What is not nothing is seen.
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
    let figures = spread.figures.into_iter();
    let figures = figures.map(|(label, time)| view! { <div><dt>{label}</dt><dd>{time}</dd></div> });
    let warning = (!spread.warning.is_empty())
        .then(|| view! { <p class="story-warning">{spread.warning}</p> });
    view! {
        <h3>"GPU time " <span class="soft">{spread.n_runs} {scale}</span></h3>
        {chart}
        <dl class="story-figures">{figures.collect_view()}</dl>
        {warning}
    }
}

/// The ways to a run.
fn place_view(place: PlaceLink) -> impl IntoView {
    let in_tree = place
        .in_tree
        .map(|uid| event_link("tree", uid, "Show in tree"));
    view! {
        <li>
            {place.label} " " <b>{place.time}</b> " " {in_tree} " "
            {event_link("timeline", place.in_timeline, "Show in timeline")}
        </li>
    }
}

fn event_link(slug: &'static str, uid: u32, text: &'static str) -> AnyView {
    let focus = Focus {
        event: Some(uid),
        ..Focus::default()
    };
    link(slug, focus, text.into_any())
}

fn link(slug: &'static str, focus: Focus, content: AnyView) -> AnyView {
    let state = expect_context::<AppState>();
    let href = move || state.link_into(slug, focus.clone());
    view! { <a href=href data-to=slug>{content}</a> }.into_any()
}

/// The operations that it is a part of.
fn operations_view(operations: Vec<OperationLink>) -> AnyView {
    let line = |operation: OperationLink| {
        let focus = Focus {
            row: Some(operation.row),
            ..Focus::default()
        };
        let name = view! { <Name text=operation.name/> }.into_any();
        view! {
            <li>
                {link("operations", focus, name)}
                <span class="soft">{operation.shapes}</span>
                <b>{operation.time}</b>
            </li>
        }
    };
    view! {
        <section>
            <h3>"Operations"</h3>
            <ul class="story-operations">{operations.into_iter().map(line).collect_view()}</ul>
        </section>
    }
    .into_any()
}

/// What is around the slowest run.
fn stack_view(stack: Vec<StackLine>) -> AnyView {
    let line = |line: StackLine| {
        let name = view! { <span class="mono">{line.name}</span> }.into_any();
        let focus = Focus {
            event: Some(line.uid),
            ..Focus::default()
        };
        view! { <li class:soft=line.is_framework>{link("tree", focus, name)}</li> }
    };
    view! {
        <details class="more story-stack">
            <summary>{format!("Stack of the slowest: {} levels", stack.len())}</summary>
            <ol>{stack.into_iter().map(line).collect_view()}</ol>
        </details>
    }
    .into_any()
}
