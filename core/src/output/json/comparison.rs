//! `comparison.json`: what two traces say about each other, for programs.
//!
//! ```text
//! format        1; it changes when a key changes its meaning or goes
//! title         the title of the documents
//! sides         reference and target, each with name, model, platform, gpu (name and source; null: none
//!               is chosen), measure (gpu or host), run (the split of its time; null without GPU
//!               activity), host_ms, gpus (that work ran on), gpu_events, window (step, start_us, end_us; null: the
//!               whole trace), losses (what is missing from its numbers: sentence, count, first_offset)
//! is_same       nothing differs
//! is_same_gpu   both ran on the same hardware: the expected ratio of the same work is 1
//! basis         the figures that are used where they are known: achievable or peak
//! hardware      figures of both GPUs that operations are judged by: figure, reference and target
//!               (value, unit, basis), expected_ratio (of times, target ÷ reference), peak_expected_ratio
//! caveats       sentences to keep in mind
//! amount        how much of the same the target does for what the reference does: ratio, by (steps,
//!               calls, nothing), steps (reference and target; null: not told by steps)
//! parts         the time in parts that sum up to it: total, rest, matched_percent, and rows of kind,
//!               label, reference_ns, target_ns, difference_ns (whole nanoseconds); no rows where one of
//!               the traces has no GPU activity
//! explained     of all operations with a prediction: number, times, the reference's time for as many
//!               calls as the target makes (held_ms), the time that is expected of the target, and the
//!               steps from one trace to the other: what another number of calls accounts for, other
//!               work of each, the hardware, and what lies beyond
//! operations    matched: name, reference_name (null: the same), shapes, level (what is the same:
//!               arguments, shapes, counterpart, name, operator, kernels), reference_shapes (null: the same),
//!               family, is_recompute, reference and target (uid, calls, time_ms, exclusive_ms,
//!               percent_of_compute, kernels, timed_calls: those whose whole time is known),
//!               difference_ms,
//!               change_percent, judgement (actual, expected, excess, peak_expected, peak_excess, verdict,
//!               peak_verdict, why (null unless not judged), is_more_than_twice, work_differs, roofs)
//!               only_reference, only_target: the same of operations without a partner
//! categories modules kernels collectives host
//!               name, reference and target (null: does not occur), difference_ms, change_percent;
//!               of collectives also collective, dtype, in_elements, out_elements, group_size, group
//! findings      in order: number, pattern, subject, priority, title, gap, action (model and kernel),
//!               reasoning, times, saving (when the target takes as long as predicted, and at its roof;
//!               null: nothing tells), replay
//! together_ms   what following all of them saves
//! together_is_at_most   whether it is at most that: of some nothing is predicted
//! n_small       findings that are too small to be listed
//! thresholds    every line that a verdict was drawn by
//! ```
//!
//! Times are in milliseconds unless their key says otherwise; differences are target minus
//! reference; `change_percent` is target ÷ reference − 1, in percent; ratios are target over
//! reference; an unknown is `null`.

use serde_json::{Map, Value as Json, json};

use crate::assess::Thresholds;
use crate::base::value::rounded;
use crate::compare::amount::{Amount, AmountBy};
use crate::compare::collectives::CollectiveDelta;
use crate::compare::comparison::{About, Comparison};
use crate::compare::expected::{Judgement, Roof, Verdict};
use crate::compare::findings::{Gap, Subject};
use crate::compare::hardware::{Figure, HardwareRatio};
use crate::compare::modules::ModuleTally;
use crate::compare::named::{Named, Tally, Timed};
use crate::compare::ops::{KernelUse, LoneOp, MatchedOp, OpSide};
use crate::compare::pair::{Pair, Which};
use crate::compare::parts::{Part, PartKind};
use crate::compare::words::bound;
use crate::output::title::of_comparison as title;
use crate::output::json::report::window;
use crate::report::overview::Measure;

/// The version of the file.
const FORMAT: u32 = 1;

/// The comparison as a JSON value.
pub fn comparison_json(comparison: &Comparison) -> Json {
    let sides = comparison.sides.as_ref().map(about);
    let parts = &comparison.parts;
    let explained = &comparison.explained;
    let lone = comparison
        .operations
        .lone
        .as_ref()
        .map(|ops| array(ops, lone_op));
    json!({
        "format": FORMAT,
        "title": title(comparison),
        "sides": { "reference": sides.reference, "target": sides.target },
        "is_same": comparison.is_same(),
        "is_same_gpu": comparison.is_same_gpu,
        "basis": comparison.basis.label(),
        "hardware": array(&comparison.hardware, hardware),
        "caveats": comparison.caveats(),
        "amount": amount(&comparison.amount),
        "parts": {
            "total": times_ns(parts.total),
            "rest": times_ns(parts.rest),
            "matched_percent": ratio(parts.matched_percent()),
            "rows": array(&parts.parts, part),
        },
        "explained": {
            "operations": explained.n_operations,
            "reference_ms": ms(explained.times.reference),
            "target_ms": ms(explained.times.target),
            "held_ms": ms(explained.held_ns),
            "expected_ms": ms(explained.expected_ns),
            "by_calls_ms": ms(explained.by_calls_ns()),
            "by_work_ms": ms(explained.by_work_ns()),
            "by_hardware_ms": ms(explained.by_hardware_ns()),
            "beyond_ms": ms(explained.beyond_ns()),
        },
        "operations": {
            "matched": array(&comparison.operations.matched, matched_op),
            "only_reference": lone.reference,
            "only_target": lone.target,
        },
        "categories": array(&comparison.categories, |row| named(row.key.label(), row, tally)),
        "modules": array(&comparison.modules, |row| named(&row.key, row, module)),
        "kernels": array(&comparison.kernels, |row| named(&row.key, row, tally)),
        "collectives": array(&comparison.collectives, collective),
        "host": array(&comparison.host, |row| named(&row.key, row, tally)),
        "findings": array(&comparison.gaps.ranked, |gap| finding(comparison, gap)),
        "together_ms": ms(comparison.gaps.together_ns),
        "together_is_at_most": comparison.gaps.is_at_most(),
        "n_small": comparison.gaps.n_small,
        "thresholds": thresholds(&comparison.thresholds),
    })
}

fn array<T>(rows: &[T], row: impl Fn(&T) -> Json) -> Json {
    Json::Array(rows.iter().map(row).collect())
}

/// Nanoseconds as milliseconds, exactly.
fn ms(ns: i64) -> f64 {
    rounded(ns as f64 / 1e6, 6)
}

fn ratio(ratio: Option<f64>) -> Json {
    json!(ratio.map(|ratio| rounded(ratio, 4)))
}

fn times_ns(times: Pair<i64>) -> Json {
    json!({
        "reference_ns": times.reference,
        "target_ns": times.target,
        "difference_ns": times.difference(),
    })
}

fn about(side: &About) -> Json {
    let run = side.timeline.map(|whole| {
        json!({
            "total_time_ms": ms(whole.total_ns()),
            "computation_time_ms": ms(whole.computation_ns),
            "exposed_comm_time_ms": ms(whole.exposed_comm_ns),
            "exposed_memcpy_time_ms": ms(whole.exposed_memcpy_ns),
            "idle_time_ms": ms(whole.idle_ns),
        })
    });
    let gpu = side.gpu.as_ref();
    json!({
        "name": side.name,
        "model": side.model,
        "platform": side.platform,
        "gpu": gpu.map(|gpu| json!({ "name": gpu.name, "source": gpu.source })),
        "measure": match side.measure {
            Measure::Gpu => "gpu",
            Measure::Host => "host",
        },
        "run": run,
        "host_ms": ms(side.host_ns),
        "gpus": side.n_gpus,
        "gpu_events": side.n_gpu_events,
        "window": window(side.window.as_ref()),
        "losses": array(&side.losses, |line| json!({
            "sentence": line.sentence,
            "count": line.count,
            "first_offset": line.first_offset,
        })),
    })
}

fn hardware(found: &HardwareRatio) -> Json {
    let unit = match found.figure {
        Figure::Memory => "GB/s",
        Figure::Compute(_) => "TFLOPS",
    };
    let values = found
        .values
        .map(|(value, basis)| json!({ "value": value, "unit": unit, "basis": basis.label() }));
    json!({
        "figure": found.figure.label(),
        "reference": values.reference,
        "target": values.target,
        "expected_ratio": rounded(found.ratio, 4),
        "peak_expected_ratio": ratio(found.peak_ratio),
    })
}

fn part(part: &Part) -> Json {
    let kind = match part.kind {
        PartKind::Matched(_) => "matched",
        PartKind::Lone(Which::Reference, _) => "only_reference",
        PartKind::Lone(Which::Target, _) => "only_target",
        PartKind::ExposedCommunication => "exposed_communication",
        PartKind::ExposedCopies => "exposed_copies",
        PartKind::Idle => "idle",
    };
    json!({
        "kind": kind,
        "label": part.label,
        "reference_ns": part.times.reference,
        "target_ns": part.times.target,
        "difference_ns": part.times.difference(),
    })
}

fn matched_op(op: &MatchedOp) -> Json {
    let sides = op.sides.as_ref().map(op_side);
    let times = op.times();
    json!({
        "name": op.name,
        "reference_name": op.reference_name,
        "shapes": op.shapes,
        "reference_shapes": op.reference_shapes,
        "level": op.level.key(),
        "family": op.family.label(),
        "is_recompute": op.is_recompute,
        "reference": sides.reference,
        "target": sides.target,
        "difference_ms": ms(times.difference()),
        "change_percent": ratio(times.change_percent()),
        "judgement": judgement(&op.judgement),
    })
}

fn lone_op(op: &LoneOp) -> Json {
    json!({
        "name": op.name,
        "shapes": op.shapes,
        "family": op.family.label(),
        "is_recompute": op.is_recompute,
        "side": op_side(&op.side),
    })
}

fn op_side(side: &OpSide) -> Json {
    let kernel = |kernel: &KernelUse| json!({ "name": kernel.name, "count": kernel.count, "time_ms": ms(kernel.ns) });
    json!({
        "uid": side.uid,
        "calls": side.calls,
        "timed_calls": side.timed.calls,
        "time_ms": ms(side.time_ns),
        "exclusive_ms": ms(side.exclusive_ns),
        "percent_of_compute": ratio(side.percent_of_compute),
        "kernels": array(&side.kernels, kernel),
        "n_kernels": side.n_kernels,
    })
}

fn judgement(judgement: &Judgement) -> Json {
    let roof = |roof: Option<Roof>| {
        roof.map(|roof| {
            json!({
                "us_per_call": rounded(roof.us_per_call, 4),
                "bound": bound(roof.bound),
                "basis": roof.basis.label(),
            })
        })
    };
    let why = match judgement.verdict {
        Verdict::NotJudged(why) => Some(why.label()),
        _ => None,
    };
    json!({
        "actual": ratio(judgement.actual),
        "expected": ratio(judgement.expected),
        "excess": ratio(judgement.excess),
        "peak_expected": ratio(judgement.peak_expected),
        "peak_excess": ratio(judgement.peak_excess),
        "verdict": judgement.verdict.key(),
        "peak_verdict": judgement.peak_verdict.key(),
        "why": why,
        "is_more_than_twice": judgement.is_more_than_twice,
        "work_differs": judgement.work_differs,
        "roofs": {
            "reference": roof(judgement.roofs.reference),
            "target": roof(judgement.roofs.target),
        },
    })
}

fn named<K, T: Timed>(name: &str, row: &Named<K, T>, value: impl Fn(&T) -> Json) -> Json {
    let times = row.times();
    let change = times.change_percent().filter(|_| row.is_matched());
    json!({
        "name": name,
        "reference": row.sides.reference.as_ref().map(&value),
        "target": row.sides.target.as_ref().map(&value),
        "difference_ms": ms(times.difference()),
        "change_percent": ratio(change),
    })
}

fn collective(row: &CollectiveDelta) -> Json {
    let key = &row.key;
    let mut json = named(&key.label(), row, tally);
    if let Json::Object(fields) = &mut json {
        fields.extend([
            ("collective".to_owned(), json!(key.name)),
            ("dtype".to_owned(), json!(key.dtype)),
            ("in_elements".to_owned(), json!(key.in_elements)),
            ("out_elements".to_owned(), json!(key.out_elements)),
            ("group_size".to_owned(), json!(key.group_size)),
            ("group".to_owned(), json!(key.group)),
        ]);
    }
    json
}

fn amount(amount: &Amount) -> Json {
    let (by, steps) = match amount.by {
        AmountBy::Steps(steps) => ("steps", Some(steps)),
        AmountBy::Calls => ("calls", None),
        AmountBy::Nothing => ("nothing", None),
    };
    let steps = steps.map(|steps| json!({ "reference": steps.reference, "target": steps.target }));
    json!({ "ratio": rounded(amount.ratio, 4), "by": by, "steps": steps })
}

fn tally(tally: &Tally) -> Json {
    json!({ "count": tally.count, "time_ms": ms(tally.ns) })
}

fn module(tally: &ModuleTally) -> Json {
    json!({
        "calls": tally.calls,
        "own_ms": ms(tally.own_ns),
        "subtree_ms": ms(tally.subtree_ns),
        "kernels": tally.n_kernels,
    })
}

fn finding(comparison: &Comparison, gap: &Gap) -> Json {
    let matched = &comparison.operations.matched;
    let (kind, labels): (&str, Vec<String>) = match &gap.subject {
        Subject::Operations(rows) => {
            let ops = rows.iter().filter_map(|at| matched.get(*at));
            ("operations", ops.map(MatchedOp::label).collect())
        }
        Subject::Lone(rows) => {
            let lone = &comparison.operations.lone.target;
            let ops = rows.iter().filter_map(|at| lone.get(*at));
            ("only_target", ops.map(LoneOp::label).collect())
        }
        Subject::ExposedCommunication => ("exposed_communication", Vec::new()),
        Subject::ExposedCopies => ("exposed_copies", Vec::new()),
        Subject::Idle => ("idle", Vec::new()),
    };
    json!({
        "number": gap.number,
        "pattern": gap.pattern,
        "subject": { "kind": kind, "operations": labels },
        "priority": gap.priority.label(),
        "title": gap.title,
        "gap": gap.gap,
        "action": { "model": gap.model, "kernel": gap.kernel },
        "reasoning": gap.reasoning,
        "times": times_ns(gap.times),
        "saving": gap.saving.map(|saving| json!({
            "matching_ms": ms(saving.matching_ns),
            "roof_ms": saving.roof_ns.map(ms),
        })),
        "replay": gap.replay.as_ref().map(|replay| json!({
            "recommended": replay.is_recommended,
            "reason": replay.reason,
        })),
    })
}

fn thresholds(thresholds: &Thresholds) -> Json {
    let lines = Thresholds::ALL.iter();
    let lines = lines.map(|line| (line.key.to_owned(), json!((line.get)(thresholds))));
    Json::Object(lines.collect::<Map<String, Json>>())
}
