//! Idle & communication: idle time, communication, memory copies.

use dormer_core::report::overview::{Limit, SplitPart};

use crate::page::prelude::*;
use crate::protocol::{OverlapBar, SystemFacts, SystemQuery, SystemSection};

/// What keeps the GPU from computing: the conclusion first, then each kind of time.
pub fn system() -> impl IntoView {
    let facts = expect_context::<Engine>().follow(|| SystemQuery);
    move || {
        let SystemFacts {
            headline,
            how,
            limits: limited_by,
            lead,
            split,
            sections,
        } = facts.get()?;
        let lead = match how {
            Some(how) => nothing_shown("missing", &headline, how).into_any(),
            None => conclusion(&headline, limited_by, lead, split).into_any(),
        };
        let sections = sections.into_iter().map(section).collect_view();
        Some(
            view! { <article class="overview system" data-testid="system">{lead} {sections}</article> },
        )
    }
}

fn conclusion(
    headline: &str,
    limited_by: Vec<Limit>,
    lead: Vec<String>,
    split: Vec<SplitPart>,
) -> impl IntoView + use<> {
    let state = expect_context::<AppState>();
    let lead = each(lead, |sentence| view! { <p>{prose(sentence)}</p> });
    let families = state.overview.with(|overview| overview.families.clone());
    let split = (!split.is_empty()).then(|| split_bar(split, families));
    view! {
        <section class="lead">
            <h1 data-testid="system-headline">{title_line(headline)}</h1>
            {limits(limited_by)}
            {split}
            <div class="sentences">{lead}</div>
        </section>
    }
}

/// One kind of time in which the GPU does not compute.
fn section(section: SystemSection) -> impl IntoView {
    let charts = (!section.charts.is_empty()).then(|| {
        let charts = section.charts.into_iter().map(bars).collect_view();
        view! { <div class="charts">{charts}</div> }
    });
    let gaps = (!section.gaps.is_empty()).then(|| gaps(section.gaps));
    let tables = section.tables.into_iter().map(facts_table).collect_view();
    let notes = each(section.notes, |note| view! { <p class="fine">{note}</p> });
    let title_id = format!("system-{}", section.key);
    let labeled_by = title_id.clone();
    view! {
        <section class="kind" data-section=section.key aria-labelledby=labeled_by>
            <h2 id=title_id>{section.title}</h2>
            {section.missing.map(|missing| view! { <p class="nothing" data-testid="missing">{missing}</p> })}
            {pairs("facts", section.figures)}
            {section.overlap.map(overlap)}
            {charts}
            {gaps}
            {tables}
            {notes}
        </section>
    }
}

/// How much of some time overlaps with other GPU activity.
fn overlap(overlap: OverlapBar) -> impl IntoView {
    let width = format!("{:.2}%", overlap.hidden_percent.clamp(0.0, 100.0));
    let label = format!(
        "{}: {} overlapped, {} exposed",
        overlap.label, overlap.hidden, overlap.exposed
    );
    view! {
        <div class=format!("overlap c-{}", overlap.token)>
            <div class="parts" role="img" aria-label=label><span style:width=width></span></div>
            <p>{dot("")}"Overlapped " <b>{overlap.hidden}</b></p>
            <p><i class="dot open" aria-hidden="true"></i>"Exposed " <b>{overlap.exposed}</b></p>
        </div>
    }
}
