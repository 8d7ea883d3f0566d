//! The working notes (`…_rough.md`): every step of the comparison with its result, for reviewers.

use super::tables::{times, unmatched, verdict_table};
use crate::base::format;
use crate::base::interval::sum;
use crate::base::sort::Arranged;
use crate::compare::comparison::Comparison;
use crate::compare::expected::{NotJudged, RooflineTime, Verdict};
use crate::compare::findings::Gap;
use crate::compare::ops::{MatchedOp, OpSide};
use crate::compare::pair::{Pair, Which};
use crate::compare::properties::TraceProperties;
use crate::compare::words;
use crate::hardware::roofline::Bound;
use crate::output::documents::parts::{Read, TIMELINE};
use crate::output::documents::{Part, part};
use crate::output::markup::{DocTable, Document, Line, code, count, dash, line, text};
use crate::perf::Work;
use crate::report::overview::Measure;

/// Maximum rows of raw tables; the files have all rows.
const MAX_ROWS: usize = 60;
/// Number of operations whose arithmetic is written out.
const N_WORKED: usize = 15;

pub(super) fn steps(comparison: &Comparison) -> Vec<Part> {
    vec![
        part("A report for each trace", |document| {
            document.table(sides(comparison));
        }),
        part("Side by side", |document| matching(document, comparison)),
        part("Overall timing", |document| timing(document, comparison)),
        part("Each operation", |document| {
            document.text("Every operation with its times is below, under Raw Data Exploration.");
        }),
        part("Opportunities", |document| {
            document.table(
                DocTable::of(comparison.operations.verdicts())
                    .text("Verdict", |row| {
                        row.verdict.label_on(comparison.is_same_gpu)
                    })
                    .count(">Operations", |row| row.n_operations)
                    .times(|row| row.times),
            );
        }),
        part("What the hardware explains", |document| {
            let explained = &comparison.explained;
            document.text(&format!(
                "{} with a prediction: {} on the reference, {} expected of the target, {} measured. \
                 Another number of calls accounts for {}, other work of each for {}, the hardware for \
                 {}, what is beyond for {}.",
                format::counted(explained.n_operations as u64, "operation"),
                format::time_ns(explained.times.reference),
                format::time_ns(explained.expected_ns),
                format::time_ns(explained.times.target),
                format::signed_time_ns(explained.by_calls_ns()),
                format::signed_time_ns(explained.by_work_ns()),
                format::signed_time_ns(explained.by_hardware_ns()),
                format::signed_time_ns(explained.beyond_ns()),
            ));
        }),
        part("Priorities", |document| {
            let saving = |gap: &Gap| dash(gap.saving, |saving| format::time_ns(saving.matching_ns));
            let roofline =
                |gap: &Gap| dash(gap.saving.and_then(|one| one.roofline_ns), format::time_ns);
            document.table(
                DocTable::of(&comparison.gaps.ranked)
                    .text(">Rank", |gap| gap.number.to_string())
                    .line("Finding", |gap| line(&gap.title))
                    .text("Severity", |gap| gap.priority.label())
                    .line(">Saves as predicted", |gap| saving(gap))
                    .line(">At roofline", |gap| roofline(gap)),
            );
            let n_small = format::count(comparison.gaps.n_small as u64);
            document.text(&format!("{n_small} too small to show."));
        }),
    ]
}

fn sides(comparison: &Comparison) -> DocTable {
    type Answer = fn(&TraceProperties) -> Line;
    fn known(answer: Option<&str>) -> Line {
        line(answer.unwrap_or("unknown"))
    }
    let questions: [(&str, Answer); 6] = [
        ("Trace", |side| line(&words::quoted(&side.name))),
        ("Model", |side| known(side.model.as_deref())),
        ("Recorded on", |side| known(side.platform.as_deref())),
        ("Roofline of", |side| {
            let gpu = side.gpu.as_deref();
            line(gpu.map_or("nothing", |gpu| &gpu.name))
        }),
        ("Times are of the", |side| match side.measure {
            Measure::Gpu => text("GPU"),
            Measure::Cpu => text("CPU"),
        }),
        ("Kernels, copies and fills", |side| count(side.n_gpu_events)),
    ];
    let sides = &comparison.sides;
    DocTable::of(questions)
        .text("Question", |(question, _)| *question)
        .line("Reference", |(_, answer)| answer(&sides.reference))
        .line("Target", |(_, answer)| answer(&sides.target))
        .into()
}

fn matching(document: &mut Document, comparison: &Comparison) {
    let matched = &comparison.operations.matched;
    let unmatched = comparison.operations.unmatched.as_ref();
    let unmatched = unmatched.map(|ops| format::count(ops.len() as u64));
    let both = format::counted(matched.len() as u64, "operation");
    let Pair { reference, target } = unmatched;
    document.text(&format!(
        "{both} of both traces; {reference} of the reference alone, {target} of the target alone."
    ));
    let levels = matched.iter().map(|op| op.level).distinct();
    let rows = levels.into_iter().map(|level| {
        let of_level = matched.iter().filter(|op| op.level == level);
        let all: Vec<Pair<i64>> = of_level.map(MatchedOp::times).collect();
        let n = all.len();
        (level, n, all.into_iter().fold(Pair::default(), Pair::plus))
    });
    document.table(
        DocTable::of(rows)
            .text("What is the same", |(level, ..)| level.label())
            .count(">Operations", |(_, n, _)| *n)
            .time(">Reference", |(.., times)| times.reference)
            .time(">Target", |(.., times)| times.target),
    );
}

fn timing(document: &mut Document, comparison: &Comparison) {
    let timelines = comparison.timelines();
    let Some(timelines) = timelines.both() else {
        document.text("One of the traces has no GPU activity, so there is nothing to compare.");
        return;
    };
    let times = |(_, read): &&(&str, Read)| timelines.as_ref().map(read);
    let percent = |row: &&(&str, Read)| words::signed_percent(times(row).change_percent());
    document.table(
        DocTable::of(&TIMELINE)
            .text("Part", |(label, _)| *label)
            .times(times)
            .text(">Δ %", percent),
    );
    let computation = comparison.parts.computation;
    if let Some(change) = computation.change_percent() {
        let bound = main_bound(comparison)
            .map(|bound| format!(" Most of the judged time of the target is {bound}-bound."));
        document.text(&format!(
            "Computation takes {} on the target, {} time than on the reference.{}",
            format::time_ns(computation.target),
            words::change(change),
            bound.unwrap_or_default()
        ));
    }
}

fn main_bound(comparison: &Comparison) -> Option<&'static str> {
    let time = |wanted: Bound| -> i64 {
        let ops = comparison.operations.matched.iter();
        let is_it = |roofline: RooflineTime| roofline.bound == wanted;
        let bound = ops.filter(|op| op.judgment.rooflines.target.is_some_and(is_it));
        sum(bound.map(|op| op.times().target))
    };
    match time(Bound::Compute).cmp(&time(Bound::Memory)) {
        std::cmp::Ordering::Greater => Some(words::bound(Bound::Compute)),
        std::cmp::Ordering::Less => Some(words::bound(Bound::Memory)),
        std::cmp::Ordering::Equal => None,
    }
}

pub(super) fn raw(comparison: &Comparison) -> Vec<Part> {
    let matched = comparison.operations.matched.iter();
    let mut raw = vec![part("Operations of both traces", |document| {
        document.table(verdict_table(matched.take(MAX_ROWS)));
    })];
    raw.extend(unmatched(comparison, MAX_ROWS, None));
    let parts = &comparison.parts;
    let others = parts.parts.iter().skip(MAX_ROWS).map(|part| part.times);
    let others = others.fold(Pair::default(), Pair::plus);
    let shown = parts.parts.iter().take(MAX_ROWS);
    let shown = shown.map(|part| (part.label.as_str(), part.times));
    let sums = [
        ("Others", others),
        ("Rest", parts.rest),
        ("Total", parts.total),
    ];
    raw.push(part("Parts of the time", |document| {
        document.table(
            DocTable::of(shown.chain(sums))
                .line("Part", |(label, _)| code(label, 80))
                .text(">Reference (ns)", |(_, times)| times.reference.to_string())
                .text(">Target (ns)", |(_, times)| times.target.to_string())
                .text(">Δ (ns)", |(_, times)| times.difference().to_string()),
        );
    }));
    raw
}

/// The arithmetic of the longest operations, line by line.
pub(super) fn arithmetic(comparison: &Comparison) -> Part {
    let amount = |op: &MatchedOp, get: fn(&Work) -> Option<f64>, unit: f64| {
        let amount = op.judgment.work.as_ref().and_then(get);
        dash(amount, |amount| format::number(amount / unit))
    };
    let roofline = |roofline: Option<RooflineTime>| {
        dash(roofline, |roofline| {
            let (time, bound) = (
                format::time_us(roofline.us_per_call),
                words::bound(roofline.bound),
            );
            format!("{time} ({bound}, {})", roofline.basis.label())
        })
    };
    let call = |side: &OpSide| text(format::time_us(side.ns_per_call() / 1e3));
    part("", |document| {
        document.text(
            "Expected is the roofline time of a call on the target over that on the reference: the \
             longer of arithmetic and memory traffic. Excess is actual over expected.",
        );
        document.table(
            DocTable::of(comparison.operations.matched.iter().take(N_WORKED))
                .line("Operation", |op| code(&op.name, 60))
                .text("Shapes", |op| op.shapes.as_str())
                .line(">GFLOP a call", |op| {
                    amount(op, |work| Some(work.flops), 1e9)
                })
                .line(">MB a call", |op| amount(op, |work| work.bytes, 1e6))
                .line(">Roofline, reference", |op| {
                    roofline(op.judgment.rooflines.reference)
                })
                .line(">Roofline, target", |op| {
                    roofline(op.judgment.rooflines.target)
                })
                .line(">Expected", |op| times(op.judgment.expected))
                .line(">Call, reference", |op| call(&op.sides.reference))
                .line(">Call, target", |op| call(&op.sides.target))
                .line(">Actual", |op| times(op.judgment.actual))
                .line(">Excess", |op| times(op.judgment.excess)),
        );
    })
}

pub(super) fn gaps(comparison: &Comparison) -> Document {
    let mut whys: Vec<(NotJudged, u64, i64)> = Vec::new();
    for op in &comparison.operations.matched {
        if let Verdict::NotJudged(why) = op.judgment.verdict {
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
    let mut document = Document::default();
    document.table(
        DocTable::of(whys)
            .text("Not judged, because", |(why, ..)| why.label())
            .count(">Operations", |(_, n, _)| *n)
            .time(">Time of the target", |(.., ns)| *ns),
    );
    document.or_text("Every operation of both traces is judged.");
    document.texts(Which::ALL.into_iter().filter_map(|which| {
        let percent = format::percent(comparison.partners_percent(which)?);
        let side = which.label();
        Some(format!(
            "{percent} of kernel time of the {side} is in operations that have a partner."
        ))
    }));
    document.texts(comparison.caveats());
    document
}

pub(super) fn questions(comparison: &Comparison) -> Vec<String> {
    let gaps = comparison.gaps.ranked.iter();
    let replays = gaps.filter(|gap| gap.replay.is_some());
    let mut items: Vec<String> = replays
        .map(|gap| format!("What do hardware counters say about {}?", gap.title))
        .collect();
    let mut ops = comparison.operations.matched.iter();
    let faster = ops.find(|op| op.judgment.verdict == Verdict::BetterThanPredicted);
    items.extend(faster.map(|op| {
        let name = words::quoted(&op.name);
        format!("Is {name} slow on the reference, or not bound by its roofline there?")
    }));
    let unmatched = &comparison.operations.unmatched;
    if !unmatched.target.is_empty() && !unmatched.reference.is_empty() {
        items.push(
            "Which of the operations without a partner do the same work in another way?".to_owned(),
        );
    }
    items
}
