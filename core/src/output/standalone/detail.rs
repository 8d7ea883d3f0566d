//! The details: how the time splits, then each category with its operations, figures and findings.

use super::Source;
use super::words::{confidence, detail_heading, more, operations, percent, share, worth};
use crate::base::format;
use crate::findings::finding::projections;
use crate::findings::outcome::Assessed;
use crate::findings::{Estimate, Outcome, RankedFinding, Status, Tier, is_launch_scale, run_time};
use crate::output::document::{DocTable, Document, Span, cell};

/// Operations in the table of a category; the rest is in the sheets.
pub(super) const MAX_ROWS: usize = 12;

pub(super) fn write(document: &mut Document, source: &Source) {
    document.heading(2, "Detailed Analysis");
    let mut number = 1;
    match source.profile.has_gpu_events() {
        true => timeline(document, source, &mut number),
        false => host(document, source, &mut number),
    }
    for tier in [Tier::System, Tier::Compute, Tier::Fusion] {
        let outcomes = source.report.analyses.outcomes.iter();
        for outcome in outcomes.filter(|outcome| outcome.kind.tier == tier) {
            if outcome.status != Status::NoData {
                category(document, source, outcome, number);
                number += 1;
            }
        }
    }
}

fn timeline(document: &mut Document, source: &Source, number: &mut usize) {
    let Some(whole) = &source.report.timelines.whole else {
        return;
    };
    document.heading(3, &format!("{number}. Time of the GPU"));
    *number += 1;
    let mut table = DocTable::new(&["Part", ">Time", ">Share of total"]);
    let rows = [
        ("Computation", whole.computation_ns),
        ("Exposed communication", whole.exposed_comm_ns),
        ("Exposed copies", whole.exposed_memcpy_ns),
        ("Idle", whole.idle_ns),
        ("Total", whole.total_ns()),
        ("Busy: anything runs", whole.busy_ns),
        ("All communication, hidden or not", whole.comm_ns),
        ("All copies, hidden or not", whole.memcpy_ns),
    ];
    for (label, ns) in rows {
        let share = percent(share(ns, Some(whole.total_ns())));
        table.row(&[label, &format::time_ns(ns), &share]);
    }
    document.table(table);
    document.text(
        "The first four parts sum up to the total. All streams and devices are taken together. \
         Exposed is what nothing hides: communication while nothing is computed, copies while \
         nothing is computed or communicated.",
    );
    let mut table = DocTable::new(&["Category", ">GPU time", ">Share of busy time"]);
    for family in &source.report.overview.families {
        table.row(&[
            family.family.label(),
            &format::time_ns(family.ns),
            &format::percent(family.percent),
        ]);
    }
    document.table(table);
    document.text(
        "A category here is the time in which kernels of its kind run: kinds that run at once both \
         count, and copies and communication too, so that shares may sum up to more than 100 %. The \
         sections below are about operations, each of one kind with all of its kernels and those of \
         what it calls, so that a kind may be longer or shorter there and an operation longer than \
         under Top Bottlenecks; their shares are of the kernel time of all that computes.",
    );
    if let Some(unfused) = &source.report.overview.unfused_attention {
        document.text(&unfused.sentence());
    }
}

/// Times on the host, where there are none on the GPU.
fn host(document: &mut Document, source: &Source, number: &mut usize) {
    document.heading(3, &format!("{number}. Time of the host"));
    *number += 1;
    let mut table = DocTable::new(&["Category", ">CPU time", ">Share of operators"]);
    for family in &source.report.overview.families {
        table.row(&[
            family.family.label(),
            &format::time_ns(family.ns),
            &format::percent(family.percent),
        ]);
    }
    document.table(table);
    document.text(&format!(
        "Time in the operators themselves, without what they call. {} So nothing is analysed of how \
         long the GPU takes for them.",
        source.profile.without_gpu()
    ));
}

/// One category with everything that is known of it.
pub(super) fn category(document: &mut Document, source: &Source, outcome: &Outcome, number: usize) {
    document.heading(3, &format!("{number}. {}", outcome.kind.title));
    body(document, source, outcome);
    let findings = source.report.analyses.findings.ranked.iter();
    for ranked in findings.filter(|ranked| ranked.analysis == outcome.kind) {
        finding(document, source, ranked);
    }
    within(source, outcome)
        .iter()
        .for_each(|sentence| document.text(sentence));
}

/// What an analysis found that goes with a finding of another place, a sentence each.
pub(super) fn within(source: &Source, outcome: &Outcome) -> Vec<String> {
    let within = source.report.analyses.findings.within.iter();
    within
        .filter(|within| within.analysis == outcome.kind)
        .map(|within| format!("{}: goes with P{}.", within.title, within.number))
        .collect()
}

/// What an analysis says beside its findings.
pub(super) fn body(document: &mut Document, source: &Source, outcome: &Outcome) {
    if let Status::Error(why) = &outcome.status {
        document.text(&format!("This analysis failed: {why}"));
        return;
    }
    document.text(&overview(source, outcome));
    tables(document, source, outcome);
    figures(document, outcome);
    for note in &outcome.notes {
        document.text(note);
    }
}

/// The operations of an analysis, and its tables.
pub(super) fn tables(document: &mut Document, source: &Source, outcome: &Outcome) {
    document.table(operations(source, &outcome.rows, MAX_ROWS));
    if outcome.rows.len() > MAX_ROWS {
        document.text(&more(
            outcome.rows.len() - MAX_ROWS,
            "in the sheet of operations",
        ));
    }
    for table in outcome.tables.iter().filter(|table| !table.rows.is_empty()) {
        document.field(&table.title, "");
        document.table(table.into());
    }
}

/// The figures of an analysis.
pub(super) fn figures(document: &mut Document, outcome: &Outcome) {
    let mut figures = DocTable::new(&["Figure", ">Value"]);
    for fact in &outcome.facts {
        figures.rows.push(vec![
            vec![Span::Text(fact.label.to_owned())],
            cell(&fact.value),
        ]);
    }
    document.table(figures);
}

/// "GEMM operations take 12.3 ms, 41.2 % of compute time. Average efficiency: 63 % …"
pub(super) fn overview(source: &Source, outcome: &Outcome) -> String {
    if outcome.kind.tier != Tier::Compute {
        return match outcome.findings.len() as u64 {
            0 => format!(
                "{}: no finding; what there is, is small or as it has to be.",
                outcome.kind.title
            ),
            n => format!("{}: {}.", outcome.kind.title, format::counted(n, "finding")),
        };
    }
    if outcome.time_ns == 0 {
        return "No operation of this kind ran; what is found below is made of other operations."
            .to_owned();
    }
    let share = share(outcome.time_ns, source.report.timelines.compute_ns());
    let mut text = format!(
        "{} operations account for {} of compute time, {} in {}.",
        outcome.kind.title,
        percent(share),
        format::time_ns(outcome.time_ns),
        format::counted(outcome.n_calls, "call")
    );
    if let (Some(weighted), Some(mean)) = (
        outcome.efficiency_percent(),
        outcome.mean_efficiency_percent(),
    ) {
        text.push_str(&format!(
            " Average efficiency{}: {} of the roof, weighted by time ({} when each row counts alike).",
            known(outcome),
            format::percent(weighted),
            format::percent(mean)
        ));
    }
    let input = source.report.analysis_input(source.profile);
    let assessed = outcome.assessment(|row| is_launch_scale(&input, row));
    text.extend(assessed.map(assessment));
    text
}

/// How much of the time an average is of, where that is not all.
fn known(outcome: &Outcome) -> String {
    match outcome.known_percent() {
        Some(percent) if percent < 100.0 => {
            format!(" of the {} whose work is known", format::percent(percent))
        }
        _ => String::new(),
    }
}

/// What to think of a kind of work: nothing, where less than half of it is known.
fn assessment(assessed: Assessed) -> String {
    let Assessed {
        level,
        percent,
        known_percent,
    } = assessed;
    let of = match (known_percent < 50.0, percent > 50.0) {
        (true, _) => {
            return format!(
                " For {} of that time alone the efficiency is known and says anything, too little to assess the whole.",
                format::percent(known_percent)
            );
        }
        (false, true) => "most",
        (false, false) => "the largest part",
    };
    format!(
        " Assessment of {of} of that time ({}): {}; {}.",
        format::percent(percent),
        level.label(),
        level.focus()
    )
}

fn finding(document: &mut Document, source: &Source, ranked: &RankedFinding) {
    let finding = &ranked.finding;
    document.heading(4, &detail_heading(ranked));
    document.field("Identification", &finding.issue);
    let operations = source.profile.operations();
    let named: Vec<Vec<Span>> = finding
        .operations
        .iter()
        .take(MAX_ROWS)
        .filter_map(|at| operations.get(*at))
        .map(|operation| {
            let name = operation.short_name(source.profile);
            vec![
                Span::Code(format::middle_ellipsis(name, 80)),
                Span::Text(format!(
                    ": {} in {}",
                    format::time_ns(operation.kernel_ns),
                    format::counted(operation.n_calls(), "call")
                )),
            ]
        })
        .collect();
    document.field(
        "Data",
        &format!(
            "{} measured{}.",
            format::time_ns(finding.time_ns),
            finding.efficiency_percent.map_or(String::new(), |percent| {
                format!(", {} of the roof", format::percent(percent))
            })
        ),
    );
    document.bullets(named);
    for table in &finding.tables {
        document.table(table.into());
    }
    kernels(document, source, ranked);
    document.field("Reasoning", &finding.reasoning.join(" "));
    document.field("Model", &finding.model);
    document.field("Kernel", &finding.kernel);
    let worth = finding
        .impact
        .as_ref()
        .map(|impact| format!("{}. {}", worth(source, impact), impact.estimate.label()));
    document.field(
        "Impact estimate",
        &worth.unwrap_or("Not quantifiable from a trace.".to_owned()),
    );
    if let Some(confidence) = confidence(finding) {
        document.field("Confidence", confidence);
    }
    projection(document, source, ranked);
    if !ranked.overlaps.is_empty() {
        let others: Vec<String> = ranked.overlaps.iter().map(|n| format!("P{n}")).collect();
        document.text(&format!(
            "About some of the same operations: {}. What both save is saved once.",
            others.join(", ")
        ));
    }
    if let Some(replay) = &finding.replay {
        let word = match replay.is_recommended {
            true => "recommended",
            false => "offered",
        };
        document.field("Reproducer", &format!("{word}: {}.", replay.reason));
    }
}

/// Kernels of the longest operation of a finding.
fn kernels(document: &mut Document, source: &Source, ranked: &RankedFinding) {
    const MAX_KERNELS: usize = 4;
    let operations = source.profile.operations();
    let first = ranked.finding.operations.first();
    let Some(operation) = first.and_then(|at| operations.get(*at)) else {
        return;
    };
    let mut table = DocTable::new(&["Kernel", ">Count", ">Time"]);
    for (name, n, ns) in operation
        .kernels(source.profile)
        .into_iter()
        .take(MAX_KERNELS)
    {
        let name = format::kernel_name(source.profile.trace.strings.get(name));
        table.rows.push(vec![
            vec![Span::Code(format::middle_ellipsis(&name, 80))],
            vec![Span::Text(format::count(n))],
            vec![Span::Text(format::time_ns(ns))],
        ]);
    }
    if ranked.finding.operations.len() > 1 && !table.rows.is_empty() {
        let name = operation.short_name(source.profile);
        document.text(&format!(
            "Kernels of the longest, `{}`:",
            format::middle_ellipsis(name, 80).replace('`', "'")
        ));
    }
    document.table(table);
}

/// What some efficiencies are worth. Of one efficiency only: several operations have several.
fn projection(document: &mut Document, source: &Source, ranked: &RankedFinding) {
    let finding = &ranked.finding;
    let (Some(efficiency), Some(total_ns)) =
        (finding.efficiency_percent, source.report.overview.total_ns)
    else {
        return;
    };
    let impact = finding.impact.as_ref();
    let gain = match impact.is_some_and(|impact| impact.estimate == Estimate::UpperBound) {
        true => ">Gain of the run, at most",
        false => ">Gain of the run",
    };
    let mut table = DocTable::new(&["Target efficiency", ">Time", gain]);
    let run_ns = run_time::of_finding(source.profile, &source.report.judged, finding);
    for row in projections(finding.time_ns, run_ns, efficiency, total_ns) {
        let target = format!("{} of the roof", format::percent(row.target_percent));
        match row.outcome {
            Some((left_ns, percent)) => table.row(&[
                &target,
                &format::time_ns(left_ns),
                &format::percent(percent),
            ]),
            None => table.row(&[&target, "already met", "–"]),
        }
    }
    document.field("Impact projection", "");
    document.table(table);
}
