//! The rough document: every step of the comparison with what it gave, for those who check.

use super::detail::{lone_table, verdict_table};
use crate::base::format;
use crate::base::sort::Arrange;
use crate::compare::comparison::Comparison;
use crate::compare::expected::{NotJudged, Verdict};
use crate::compare::ops::MatchedOp;
use crate::compare::pair::{Pair, Which};
use crate::compare::words;
use crate::output::document::{DocTable, Document, Span};
use crate::perf::Work;
use crate::profile::timeline::GpuTimeline;
use crate::report::overview::Measure;

/// Rows of raw tables; all are in the files.
const MAX_ROWS: usize = 60;
/// Operations whose arithmetic is written out.
const N_WORKED: usize = 15;

/// All but what checks say, which need the document; up to their heading.
pub(super) fn notes(comparison: &Comparison) -> Document {
    let mut document = Document::new(&format!("{} (Rough)", super::title(comparison)));
    document.heading(2, "Analysis Process Summary");
    steps(&mut document, comparison);
    document.heading(2, "Raw Data Exploration");
    raw(&mut document, comparison);
    document.heading(2, "Expected and Actual");
    arithmetic(&mut document, comparison);
    document.heading(2, "Analysis Gaps");
    gaps(&mut document, comparison);
    document.heading(2, "Questions for Further Investigation");
    questions(&mut document, comparison);
    document.heading(2, "Checks");
    document
}

fn steps(document: &mut Document, comparison: &Comparison) {
    document.heading(3, "Step 1: A report for each trace");
    let mut table = DocTable::new(&["Question", "Reference", "Target"]);
    let sides = comparison.sides.as_ref();
    let mut row = |label: &str, cells: Pair<String>| {
        table.row(&[label, &cells.reference, &cells.target]);
    };
    let or_unknown = |text: Option<&str>| text.unwrap_or("unknown").to_owned();
    row("Trace", sides.map(|side| words::quoted(&side.name)));
    row("Model", sides.map(|side| or_unknown(side.model.as_deref())));
    row(
        "Recorded on",
        sides.map(|side| or_unknown(side.platform.as_deref())),
    );
    let gpu = |name: &crate::hardware::GpuSpec| name.name.to_string();
    row(
        "Judged by the figures of",
        sides.map(|side| side.gpu.as_deref().map_or("nothing".to_owned(), gpu)),
    );
    row(
        "Times are of the",
        sides.map(|side| match side.measure {
            Measure::Gpu => "GPU".to_owned(),
            Measure::Host => "host".to_owned(),
        }),
    );
    row(
        "Kernels, copies and fills",
        sides.map(|side| format::count(side.n_gpu_events)),
    );
    document.table(table);

    document.heading(3, "Step 2: Side by side");
    let matched = &comparison.operations.matched;
    let lone = comparison
        .operations
        .lone
        .as_ref()
        .map(|ops| ops.len() as u64);
    document.text(&format!(
        "{} of both traces; {} of the reference alone, {} of the target alone.",
        format::counted(matched.len() as u64, "operation"),
        format::count(lone.reference),
        format::count(lone.target)
    ));
    let mut table = DocTable::new(&["What is the same", ">Operations", ">Reference", ">Target"]);
    let mut levels: Vec<_> = matched.iter().map(|op| op.level).collect();
    levels.arrange();
    levels.dedup();
    for level in levels {
        let ops = || matched.iter().filter(|op| op.level == level);
        let times = ops()
            .map(MatchedOp::times)
            .fold(Pair::default(), Pair::plus);
        table.row(&[
            level.label(),
            &format::count(ops().count() as u64),
            &format::time_ns(times.reference),
            &format::time_ns(times.target),
        ]);
    }
    document.table(table);

    document.heading(3, "Step 3: Overall timing");
    timing(document, comparison);

    document.heading(3, "Step 4: Each operation");
    document.text("Every operation with its times is below, under Raw Data Exploration.");

    document.heading(3, "Step 5: Opportunities");
    let mut table = DocTable::new(&["Verdict", ">Operations", ">Reference", ">Target", ">Δ"]);
    for count in comparison.operations.verdicts() {
        table.row(&[
            count.verdict.label(),
            &format::count(count.n_operations as u64),
            &format::time_ns(count.times.reference),
            &format::time_ns(count.times.target),
            &format::signed_time_ns(count.times.difference()),
        ]);
    }
    document.table(table);

    document.heading(3, "Step 6: What the hardware explains");
    let explained = &comparison.explained;
    document.text(&format!(
        "{} with a prediction: {} on the reference, {} expected of the target, {} measured. Another number \
         of calls accounts for {}, other work of each for {}, the hardware for {}, what lies beyond for {}.",
        format::counted(explained.n_operations as u64, "operation"),
        format::time_ns(explained.times.reference),
        format::time_ns(explained.expected_ns),
        format::time_ns(explained.times.target),
        format::signed_time_ns(explained.by_calls_ns()),
        format::signed_time_ns(explained.by_work_ns()),
        format::signed_time_ns(explained.by_hardware_ns()),
        format::signed_time_ns(explained.beyond_ns()),
    ));

    document.heading(3, "Step 7: Priorities");
    let mut table = DocTable::new(&[
        ">Rank",
        "Finding",
        "Severity",
        ">Saves as predicted",
        ">At the roof",
    ]);
    for gap in &comparison.gaps.ranked {
        let time = |ns: Option<i64>| ns.map_or("–".to_owned(), format::time_ns);
        table.row(&[
            &gap.number.to_string(),
            &gap.title,
            gap.priority.label(),
            &time(gap.saving.map(|saving| saving.matching_ns)),
            &time(gap.saving.and_then(|saving| saving.roof_ns)),
        ]);
    }
    document.table(table);
    document.text(&format!(
        "{} too small to show.",
        format::count(comparison.gaps.n_small as u64)
    ));
}

/// Reads a part of a timeline.
type Part = fn(&GpuTimeline) -> i64;

fn timing(document: &mut Document, comparison: &Comparison) {
    let timelines = comparison.sides.as_ref().map(|side| side.timeline);
    let Some(timelines) = timelines.both() else {
        document.text("One of the traces has no GPU activity, so there is nothing to hold against each other.");
        return;
    };
    let mut table = DocTable::new(&["Part", ">Reference", ">Target", ">Δ", ">Δ %"]);
    let rows: [(&str, Part); 8] = [
        ("Computation", |whole| whole.computation_ns),
        ("Exposed communication", |whole| whole.exposed_comm_ns),
        ("Exposed copies", |whole| whole.exposed_memcpy_ns),
        ("Idle", |whole| whole.idle_ns),
        ("Total", GpuTimeline::total_ns),
        ("Busy: anything runs", |whole| whole.busy_ns),
        ("All communication, hidden or not", |whole| whole.comm_ns),
        ("All copies, hidden or not", |whole| whole.memcpy_ns),
    ];
    for (label, get) in rows {
        let times = timelines.as_ref().map(get);
        table.row(&[
            label,
            &format::time_ns(times.reference),
            &format::time_ns(times.target),
            &format::signed_time_ns(times.difference()),
            &words::signed_percent(times.change_percent()),
        ]);
    }
    document.table(table);
    let computation = comparison.parts.computation;
    if let Some(change) = computation.change_percent() {
        let bound = main_bound(comparison);
        document.text(&format!(
            "Computation takes {} on the target, {} time than on the reference.{}",
            format::time_ns(computation.target),
            words::change(change),
            bound.map_or(String::new(), |bound| format!(
                " Most of the judged time of the target is bound by {bound}."
            ))
        ));
    }
}

/// What binds most of the time of the target.
fn main_bound(comparison: &Comparison) -> Option<&'static str> {
    use crate::hardware::roofline::Bound;
    let time = |wanted: Bound| -> i64 {
        let ops = comparison.operations.matched.iter();
        let bound = ops.filter(|op| {
            let roof = op.judgement.roofs.target;
            roof.is_some_and(|roof| roof.bound == wanted)
        });
        crate::base::interval::sum(bound.map(|op| op.times().target))
    };
    let (compute, memory) = (time(Bound::Compute), time(Bound::Memory));
    match compute.cmp(&memory) {
        std::cmp::Ordering::Greater => Some(words::bound(Bound::Compute)),
        std::cmp::Ordering::Less => Some(words::bound(Bound::Memory)),
        std::cmp::Ordering::Equal => None,
    }
}

fn raw(document: &mut Document, comparison: &Comparison) {
    let matched = &comparison.operations.matched;
    document.heading(3, "Operations of both traces");
    document.table(verdict_table(matched.iter().take(MAX_ROWS)));
    for which in [Which::Reference, Which::Target] {
        let ops = comparison.operations.lone.get(which);
        if !ops.is_empty() {
            document.heading(3, &format!("Operations of the {} alone", which.label()));
            document.table(lone_table(ops.iter().take(MAX_ROWS)));
        }
    }
    document.heading(3, "Parts of the time");
    let mut table = DocTable::new(&["Part", ">Reference (ns)", ">Target (ns)", ">Δ (ns)"]);
    let parts = &comparison.parts;
    let mut row = |label: &str, times: Pair<i64>| {
        table.rows.push(vec![
            vec![Span::Code(format::middle_ellipsis(label, 80))],
            vec![Span::Text(times.reference.to_string())],
            vec![Span::Text(times.target.to_string())],
            vec![Span::Text(times.difference().to_string())],
        ]);
    };
    for part in parts.parts.iter().take(MAX_ROWS) {
        row(&part.label, part.times);
    }
    let others = parts.parts.iter().skip(MAX_ROWS);
    let others = others
        .map(|part| part.times)
        .fold(Pair::default(), Pair::plus);
    row("Others", others);
    row("Rest", parts.rest);
    row("Total", parts.total);
    document.table(table);
}

/// The arithmetic of the longest operations, line by line.
fn arithmetic(document: &mut Document, comparison: &Comparison) {
    document.text(
        "Expected is the roof of a call on the target over that on the reference; a roof is the \
         longer of arithmetic and memory traffic. Excess is actual over expected.",
    );
    let mut table = DocTable::new(&[
        "Operation",
        "Shapes",
        ">GFLOP a call",
        ">MB a call",
        ">Roof, reference",
        ">Roof, target",
        ">Expected",
        ">Call, reference",
        ">Call, target",
        ">Actual",
        ">Excess",
    ]);
    for op in comparison.operations.matched.iter().take(N_WORKED) {
        let judgement = &op.judgement;
        let text = |text: String| vec![Span::Text(text)];
        let amount = |get: fn(&Work) -> Option<f64>, unit: f64| {
            let amount = judgement.work.as_ref().and_then(get);
            amount.map_or("–".to_owned(), |amount| format::number(amount / unit))
        };
        let roof = judgement.roofs.map(|roof| {
            roof.map_or("–".to_owned(), |roof| {
                format!(
                    "{} ({}, {})",
                    format::time_us(roof.us_per_call),
                    words::bound(roof.bound),
                    roof.basis.label()
                )
            })
        });
        let call = op
            .sides
            .as_ref()
            .map(|side| format::time_us(side.ns_per_call() / 1e3));
        table.rows.push(vec![
            vec![Span::Code(format::middle_ellipsis(&op.name, 60))],
            text(op.shapes.clone()),
            text(amount(|work| Some(work.flops), 1e9)),
            text(amount(|work| work.bytes, 1e6)),
            text(roof.reference),
            text(roof.target),
            text(words::maybe_times(judgement.expected)),
            text(call.reference),
            text(call.target),
            text(words::maybe_times(judgement.actual)),
            text(words::maybe_times(judgement.excess)),
        ]);
    }
    document.table(table);
}

fn gaps(document: &mut Document, comparison: &Comparison) {
    let mut whys: Vec<(NotJudged, u64, i64)> = Vec::new();
    for op in &comparison.operations.matched {
        if let Verdict::NotJudged(why) = op.judgement.verdict {
            let ns = op.times().target;
            match whys.iter_mut().find(|(known, ..)| *known == why) {
                Some(known) => {
                    known.1 += 1;
                    known.2 = known.2.saturating_add(ns);
                }
                None => whys.push((why, 1, ns)),
            }
        }
    }
    let mut table = DocTable::new(&["Not judged, because", ">Operations", ">Time of the target"]);
    for (why, n, ns) in whys {
        table.row(&[why.label(), &format::count(n), &format::time_ns(ns)]);
    }
    match table.rows.is_empty() {
        true => document.text("Every operation of both traces is judged."),
        false => document.table(table),
    }
    for which in [Which::Reference, Which::Target] {
        if let Some(percent) = comparison.partners_percent(which) {
            document.text(&format!(
                "Of the kernel time of the {}, {} is in operations that have a partner.",
                which.label(),
                format::percent(percent)
            ));
        }
    }
    for caveat in comparison.caveats() {
        document.text(&caveat);
    }
}

fn questions(document: &mut Document, comparison: &Comparison) {
    let mut items: Vec<Vec<Span>> = Vec::new();
    for gap in comparison
        .gaps
        .ranked
        .iter()
        .filter(|gap| gap.replay.is_some())
    {
        items.push(crate::output::document::line(&format!(
            "What do hardware counters tell of {}?",
            gap.title
        )));
    }
    let faster = comparison.operations.matched.iter();
    let mut faster = faster.filter(|op| op.judgement.verdict == Verdict::BetterThanPredicted);
    if let Some(op) = faster.next() {
        items.push(crate::output::document::line(&format!(
            "Is {} slow on the reference, or is its roof there not what binds it?",
            words::quoted(&op.name)
        )));
    }
    if !comparison.operations.lone.target.is_empty()
        && !comparison.operations.lone.reference.is_empty()
    {
        items.push(crate::output::document::line(
            "Which of the operations without a partner do the same work in another way?",
        ));
    }
    match items.is_empty() {
        true => document.text("None."),
        false => document.bullets(items),
    }
}
