//! The rough document: every step of the comparison with what it gave, for those who check.

use super::SIDES;
use super::tables::{lone_table, times, verdict_table};
use crate::base::format;
use crate::base::interval::sum;
use crate::base::sort::Arrange;
use crate::compare::about::About;
use crate::compare::comparison::Comparison;
use crate::compare::expected::{NotJudged, Roof, Verdict};
use crate::compare::ops::MatchedOp;
use crate::compare::pair::Pair;
use crate::compare::words;
use crate::hardware::roofline::Bound;
use crate::output::document::{DocTable, Document, code, dash, text};
use crate::output::documents::parts::TIMELINE;
use crate::output::documents::{Part, part};
use crate::perf::Work;
use crate::report::overview::Measure;

/// Rows of raw tables; all are in the files.
const MAX_ROWS: usize = 60;
/// Operations whose arithmetic is written out.
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
            let counts = comparison.operations.verdicts().into_iter();
            let rows = counts.map(|count| {
                let [reference, target, change] = times(count.times);
                let n = format::count(count.n_operations as u64);
                [
                    count.verdict.label().to_owned(),
                    n,
                    reference,
                    target,
                    change,
                ]
            });
            document.rows(
                ["Verdict", ">Operations", ">Reference", ">Target", ">Δ"],
                rows,
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
            let rows = comparison.gaps.ranked.iter().map(|gap| {
                let roof_ns = gap.saving.and_then(|saving| saving.roof_ns);
                [
                    gap.number.to_string(),
                    gap.title.clone(),
                    gap.priority.label().to_owned(),
                    dash(gap.saving, |saving| format::time_ns(saving.matching_ns)),
                    dash(roof_ns, format::time_ns),
                ]
            });
            #[rustfmt::skip]
            let heads = [">Rank", "Finding", "Severity", ">Saves as predicted", ">At roofline"];
            document.rows(heads, rows);
            let n_small = format::count(comparison.gaps.n_small as u64);
            document.text(&format!("{n_small} too small to show."));
        }),
    ]
}

fn sides(comparison: &Comparison) -> DocTable {
    type Answer = fn(&About) -> String;
    fn known(text: Option<&str>) -> String {
        text.unwrap_or("unknown").to_owned()
    }
    let questions: [(&str, Answer); 6] = [
        ("Trace", |side| words::quoted(&side.name)),
        ("Model", |side| known(side.model.as_deref())),
        ("Recorded on", |side| known(side.platform.as_deref())),
        ("Judged by the figures of", |side| {
            let gpu = side.gpu.as_deref();
            gpu.map_or("nothing".to_owned(), |gpu| gpu.name.to_string())
        }),
        ("Times are of the", |side| match side.measure {
            Measure::Gpu => "GPU".to_owned(),
            Measure::Host => "CPU".to_owned(),
        }),
        ("Kernels, copies and fills", |side| {
            format::count(side.n_gpu_events)
        }),
    ];
    let rows = questions.map(|(label, answer)| {
        let answers = comparison.sides.as_ref().map(answer);
        [label.to_owned(), answers.reference, answers.target]
    });
    DocTable::of(["Question", "Reference", "Target"], rows)
}

fn matching(document: &mut Document, comparison: &Comparison) {
    let matched = &comparison.operations.matched;
    let lone = comparison.operations.lone.as_ref();
    let lone = lone.map(|ops| format::count(ops.len() as u64));
    document.text(&format!(
        "{} of both traces; {} of the reference alone, {} of the target alone.",
        format::counted(matched.len() as u64, "operation"),
        lone.reference,
        lone.target
    ));
    let mut levels: Vec<_> = matched.iter().map(|op| op.level).collect();
    levels.arrange();
    levels.dedup();
    let rows = levels.into_iter().map(|level| {
        let of_level = matched.iter().filter(|op| op.level == level);
        let all: Vec<Pair<i64>> = of_level.map(MatchedOp::times).collect();
        let n = format::count(all.len() as u64);
        let [reference, target, _] = times(all.into_iter().fold(Pair::default(), Pair::plus));
        [level.label().to_owned(), n, reference, target]
    });
    document.rows(
        ["What is the same", ">Operations", ">Reference", ">Target"],
        rows,
    );
}

fn timing(document: &mut Document, comparison: &Comparison) {
    let timelines = comparison.sides.as_ref().map(|side| side.timeline);
    let Some(timelines) = timelines.both() else {
        document.text("One of the traces has no GPU activity, so there is nothing to compare.");
        return;
    };
    let rows = TIMELINE.iter().map(|(label, read)| {
        let of_part = timelines.as_ref().map(read);
        let [reference, target, change] = times(of_part);
        let percent = words::signed_percent(of_part.change_percent());
        [(*label).to_owned(), reference, target, change, percent]
    });
    document.rows(["Part", ">Reference", ">Target", ">Δ", ">Δ %"], rows);
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

/// What binds most of the time of the target.
fn main_bound(comparison: &Comparison) -> Option<&'static str> {
    let time = |wanted: Bound| -> i64 {
        let ops = comparison.operations.matched.iter();
        let is_it = |roof: Roof| roof.bound == wanted;
        let bound = ops.filter(|op| op.judgement.roofs.target.is_some_and(is_it));
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
    for which in SIDES {
        let ops = comparison.operations.lone.get(which).iter();
        let title = format!("Operations of the {} alone", which.label());
        if ops.len() > 0 {
            raw.push(part(title, |document| {
                document.table(lone_table(ops.take(MAX_ROWS)));
            }));
        }
    }
    let parts = &comparison.parts;
    let others = parts.parts.iter().skip(MAX_ROWS).map(|part| part.times);
    let others = others.fold(Pair::default(), Pair::plus);
    let shown = parts.parts.iter().take(MAX_ROWS);
    let shown = shown.map(|part| (part.label.as_str(), part.times));
    let rows = shown
        .chain([
            ("Others", others),
            ("Rest", parts.rest),
            ("Total", parts.total),
        ])
        .map(|(label, times)| {
            let [reference, target, change] =
                [times.reference, times.target, times.difference()].map(|ns| text(ns.to_string()));
            [code(label, 80), reference, target, change]
        });
    raw.push(part("Parts of the time", |document| {
        document.rows(["Part", ">Reference (ns)", ">Target (ns)", ">Δ (ns)"], rows);
    }));
    raw
}

/// The arithmetic of the longest operations, line by line.
pub(super) fn arithmetic(comparison: &Comparison) -> Part {
    let rows = comparison
        .operations
        .matched
        .iter()
        .take(N_WORKED)
        .map(|op| {
            let judgement = &op.judgement;
            let amount = |get: fn(&Work) -> Option<f64>, unit: f64| {
                let amount = judgement.work.as_ref().and_then(get);
                text(dash(amount, |amount| format::number(amount / unit)))
            };
            let roof = |roof: Roof| {
                let time = format::time_us(roof.us_per_call);
                format!(
                    "{time} ({}, {})",
                    words::bound(roof.bound),
                    roof.basis.label()
                )
            };
            let roofs = judgement.roofs.map(|of_side| text(dash(of_side, roof)));
            let sides = op.sides.as_ref();
            let call = sides.map(|side| text(format::time_us(side.ns_per_call() / 1e3)));
            [
                code(&op.name, 60),
                text(op.shapes.clone()),
                amount(|work| Some(work.flops), 1e9),
                amount(|work| work.bytes, 1e6),
                roofs.reference,
                roofs.target,
                text(words::maybe_times(judgement.expected)),
                call.reference,
                call.target,
                text(words::maybe_times(judgement.actual)),
                text(words::maybe_times(judgement.excess)),
            ]
        });
    #[rustfmt::skip]
    let heads = ["Operation", "Shapes", ">GFLOP a call", ">MB a call", ">Roofline, reference", ">Roofline, target", ">Expected", ">Call, reference", ">Call, target", ">Actual", ">Excess"];
    part("", |document| {
        document.text(
            "Expected is the roofline time of a call on the target over that on the reference: the \
             longer of arithmetic and memory traffic. Excess is actual over expected.",
        );
        document.rows(heads, rows);
    })
}

pub(super) fn gaps(comparison: &Comparison) -> Document {
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
    let mut document = Document::default();
    let rows = whys.into_iter();
    let rows = rows.map(|(why, n, ns)| {
        [
            why.label().to_owned(),
            format::count(n),
            format::time_ns(ns),
        ]
    });
    document.rows(
        ["Not judged, because", ">Operations", ">Time of the target"],
        rows,
    );
    document.or_text("Every operation of both traces is judged.");
    document.texts(SIDES.into_iter().filter_map(|which| {
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
    let faster = ops.find(|op| op.judgement.verdict == Verdict::BetterThanPredicted);
    items.extend(faster.map(|op| {
        let name = words::quoted(&op.name);
        format!("Is {name} slow on the reference, or not bound by its roofline there?")
    }));
    let lone = &comparison.operations.lone;
    if !lone.target.is_empty() && !lone.reference.is_empty() {
        items.push(
            "Which of the operations without a partner do the same work in another way?".to_owned(),
        );
    }
    items
}
