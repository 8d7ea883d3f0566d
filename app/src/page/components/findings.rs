//! The findings, as cards that fold; the largest savings first.

use dormer_core::NoGpu;
use dormer_core::report::cards::{Asides, Savings};
use dormer_core::report::overview::Limit;

use crate::page::components::gap_chart::gap_chart;
use crate::page::prelude::*;
use crate::protocol::{Card, Evidence, Findings as Found};

/// The heading of the findings.
pub const TO_DO: &str = "What to do first";

/// This many cards are initially open; the others are one line each until they are opened.
const OPEN: usize = 1;

/// The findings of a report, and the notes around them.
#[derive(Clone, PartialEq)]
pub struct ShownFindings {
    pub found: Found,
    /// What limits trust in the savings.
    pub of_savings: Vec<Limit>,
    pub has_gpu: bool,
    pub no_gpu: Option<NoGpu>,
}

/// The findings, below what limits trust in their savings. A card is redrawn only when its content changes.
pub fn findings(read: impl Fn() -> ShownFindings + Send + Sync + 'static) -> impl IntoView {
    let shown = Memo::new(move |_| read());
    let n_cards = Memo::new(move |_| shown.with(|of| of.found.cards.len()));
    let cards = move || {
        each(0..n_cards.get(), |at| {
            let card = Memo::new(move |_| shown.with(|of| of.found.cards.get(at).cloned()));
            move || card.get().map(finding_card)
        })
    };
    view! {
        <section class="what-to-do" data-testid="findings">
            <h2>{TO_DO}</h2>
            {move || shown.with(above)}
            <div class="findings">{cards}</div>
            {move || shown.with(|of| asides(&of.found.asides))}
        </section>
    }
}

fn above(shown: &ShownFindings) -> impl IntoView + use<> {
    // A run on the CPU alone has no roofline of a GPU.
    let may_choose = shown.no_gpu.is_none() && !shown.has_gpu;
    let nothing = shown.found.asides.nothing.clone();
    let nothing = nothing.map(|nothing| no_findings(nothing, may_choose, shown.no_gpu));
    let blind = (nothing.is_none() && may_choose).then(|| {
        view! {
            <p class="blind" data-testid="no-gpu">
                "Choose a GPU to see each operation as % of roofline."
                {choose_gpu()}
            </p>
        }
    });
    view! { {limits(shown.of_savings.clone())} {blind} {nothing} }
}

fn asides(asides: &Asides) -> impl IntoView + use<> {
    let lines = [&asides.together, &asides.small].into_iter().flatten();
    let lines = each(lines, |text| view! { <p>{prose(text.clone())}</p> });
    (!lines.is_empty())
        .then(|| view! { <div class="fine asides" data-testid="together">{lines}</div> })
}

/// The line of a card that is always visible.
pub struct CardHead {
    /// Under which the page remembers whether the user opened or folded the card.
    pub key: String,
    pub testid: &'static str,
    /// The color of its severity.
    pub light: String,
    pub number: usize,
    pub title: String,
}

/// A card that folds; the first is initially open. It stays as it is when it is drawn again.
pub fn folding_card(
    head: CardHead,
    note: impl IntoView,
    worth: impl IntoView,
    body: impl IntoView,
) -> AnyView {
    let folds = expect_context::<AppState>().folds;
    let usual = head.number <= OPEN;
    let key = StoredValue::new(head.key);
    let is_open = move || {
        let open = folds.with(|folds| key.with_value(|key| folds.get(key).copied()));
        open.unwrap_or(usual)
    };
    let toggle = move |event: MouseEvent| {
        event.prevent_default();
        let open = !untrack(is_open);
        folds.update(|folds| _ = folds.insert(key.get_value(), open));
    };
    view! {
        <details class=format!("card finding light-{}", head.light) data-testid=head.testid open=is_open>
            <summary on:click=toggle>
                <span class="rank">{head.number}</span>
                <span class="title">
                    <h3>{prose(head.title)}</h3>
                    {note}
                </span>
                {worth}
            </summary>
            {body}
        </details>
    }
    .into_any()
}

/// Why there are no findings, and how to get some.
fn no_findings(nothing: String, may_choose: bool, no_gpu: Option<NoGpu>) -> impl IntoView {
    let choose = may_choose.then(choose_gpu);
    view! {
        <div class="card empty" data-testid="nothing-found">
            <p>{prose(nothing)}</p>
            {no_gpu.map(|none| prose(none.hint().to_owned()))}
            {choose}
        </div>
    }
}

/// A button to choose a GPU.
fn choose_gpu() -> impl IntoView {
    view! {
        <button type="button" class="small" on:click=|_| browser::focus_on("gpu")>"Choose a GPU"</button>
    }
}

fn finding_card(card: Card) -> impl IntoView {
    let in_report = (!card.details.is_empty()).then(|| {
        let focus = Focus::at_section(card.details);
        view! { <ViewLink view="report" focus>"Details in the report"</ViewLink> }
    });
    let in_system = card.is_system.then(|| {
        view! { <ViewLink view="system" focus=Focus::default()>"Idle & communication"</ViewLink> }
    });
    let in_memory = card.is_memory.then(|| {
        view! { <ViewLink view="memory" focus=Focus::default()>"Memory"</ViewLink> }
    });
    let within = (!card.within.is_empty()).then(|| {
        let text = format!("Also resolved: {}.", card.within.join("; "));
        view! { <p class="fine" data-testid="within">{prose(text)}</p> }
    });
    let sure =
        (!card.confidence.is_empty()).then(|| format!(" \u{b7} Confidence: {}", card.confidence));
    let note = view! {
        <span class="fine">
            {card.analysis} " \u{b7} Severity: "
            <b class=format!("severity {}", card.severity.to_lowercase())>{card.severity.clone()}</b>
            {sure}
        </span>
    };
    let body = view! {
            <div class="body">
                <div class="advice">
                    <p class="issue">{prose(card.issue)}</p>
                    <dl>
                        <div><dt>"Model:"</dt><dd>{prose(format::capitalized(&card.model))}</dd></div>
                        <div><dt>"Kernel:"</dt><dd>{prose(format::capitalized(&card.kernel))}</dd></div>
                    </dl>
                </div>
                <div class="shown">
                    {evidence_list(card.evidence, card.n_more)}
                    {card.gap.map(gap_chart)}
                    {within}
                    <p class="fine">{card.basis} " " {in_report} " " {in_system} {in_memory}</p>
                </div>
            </div>
    };
    let head = CardHead {
        key: card.key,
        testid: "finding",
        light: card.light.to_string(),
        number: card.number,
        title: card.title,
    };
    folding_card(head, note, saving_figures(card.savings, card.memory), body)
}

/// What acting on a finding saves.
fn saving_figures(savings: Option<Savings>, memory: Option<String>) -> AnyView {
    let Some(savings) = savings else {
        return match memory {
            Some(memory) => view! {
                <span class="worth">
                    <span class="saves"><b>{with_units(&memory)}</b> " of memory"</span>
                    <span>"no time"</span>
                </span>
            }
            .into_any(),
            None => view! { <span class="worth soft">"Savings unknown"</span> }.into_any(),
        };
    };
    let of_run = savings.of_run.as_ref();
    let bar = of_run.map(|of_run| {
        let (low, high) = of_run.percent;
        let width = |percent: f64| format!("{:.2}%", percent.clamp(0.0, 100.0));
        view! {
            <span class="range" aria-hidden="true">
                <span style:width=width(high)></span>
                <span style:width=width(low)></span>
            </span>
        }
    });
    let run = of_run.map(|of_run| {
        let share = with_units(&format!("{} of the run", of_run.share));
        let faster = format!("{} speedup", of_run.speed_up);
        view! { <span>{share}</span> <span>{faster}</span> }
    });
    let up_to = savings.is_at_most.then_some("up to ");
    view! {
        <span class="worth">
            <span class="saves">"Saves " {up_to}<b>{with_units(&savings.time)}</b></span>
            {run}
            {bar}
        </span>
    }
    .into_any()
}

/// The evidence of a finding; each item opens its details.
pub fn evidence_list(evidence: Vec<Evidence>, n_more: usize) -> AnyView {
    if evidence.is_empty() {
        return ().into_any();
    }
    let items = evidence.into_iter().map(shown).collect_view();
    let more = (n_more > 0).then(|| view! { <li class="soft">{format!("and {n_more} more")}</li> });
    view! { <ul class="evidence" aria-label="Evidence">{items}{more}</ul> }.into_any()
}

/// Links to an event that is evidence, in the call tree and in the timeline.
fn places(
    name: &str,
    uid: u32,
    is_operation: bool,
    in_tree: bool,
    is_after_gap: bool,
) -> impl IntoView + use<> {
    let call = if is_operation {
        "First call"
    } else {
        "Call tree"
    };
    let in_time = match is_after_gap {
        true => Focus::at_gap(uid),
        false => Focus::at_event(uid),
    };
    let spoken = |text| format!("{text}: {name}");
    view! {
        <span class="to-tree">
            {in_tree.then(|| view! { <ViewLink view="tree" focus=Focus::at_event(uid) spoken=spoken(call)>{call}</ViewLink> })}
            " "
            {(!is_operation || !in_tree).then(|| view! { <ViewLink view="timeline" focus=in_time spoken=spoken("Timeline")>"Timeline"</ViewLink> })}
        </span>
    }
}

/// An operation or event that is evidence of a finding, with links to it.
fn shown(evidence: Evidence) -> AnyView {
    let state = expect_context::<AppState>();
    let Evidence {
        name,
        shapes,
        time,
        token,
        row,
        uid,
        in_tree,
        is_after_gap,
        has_runs,
    } = evidence;
    let event = uid.filter(|_| has_runs).map(DetailsOf::Event);
    let details = row.map(DetailsOf::Operation).or(event);
    let is_operation = row.is_some();
    let place = uid.map(|uid| places(&name, uid, is_operation, in_tree, is_after_gap));
    let title = name.clone();
    let name = cut_name(name);
    let name = match details {
        Some(details) => view! {
            <a
                class="mono"
                href=move || state.link_to_details(details)
                data-to="op-details"
                title=title
                on:click=move |event| op_details::opened_by(state, &event)
            >
                {name}
            </a>
        }
        .into_any(),
        None => view! { <span class="mono" title=title>{name}</span> }.into_any(),
    };
    let shapes = (!shapes.is_empty())
        .then(|| view! { <span class="soft shapes" title=shapes.clone()>{shapes.clone()}</span> });
    view! {
        <li class=format!("c-{token}")>
            <span class="line">
                {(!token.is_empty()).then(|| dot(""))}
                {name}
            </span>
            {shapes}
            <span class="soft took">{time}</span>
            {place}
        </li>
    }
    .into_any()
}
