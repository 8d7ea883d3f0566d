//! Operations that are slower than the hardware predicts.

use super::actions::{action, kernels_sentence};
use super::machine;
use super::{Gap, Saving, Subject};
use crate::assess::Thresholds;
use crate::base::format;
use crate::compare::comparison::Comparison;
use crate::compare::expected::{NotJudged, Verdict};
use crate::compare::explained::held_ns;
use crate::compare::names::unnumbered;
use crate::compare::ops::{MatchLevel, MatchedOp};
use crate::compare::pair::Pair;
use crate::compare::words;
use crate::findings::{Priority, Replay, run_time};

pub(crate) fn gaps(comparison: &Comparison) -> Vec<Gap> {
    // Rows of one operator with the same verdict are one finding. Rows are sorted by time: so are
    // groups, by their longest.
    let machine = machine::rows(comparison);
    let mut groups: Vec<(&str, &'static str, Vec<usize>)> = Vec::new();
    for (at, op) in comparison.operations.matched.iter().enumerate() {
        let Some(pattern) = pattern(op).filter(|_| !machine.contains(&at)) else {
            continue;
        };
        let op_name = unnumbered(&op.name);
        let known = groups
            .iter_mut()
            .find(|(name, known, _)| *name == op_name && *known == pattern);
        match known {
            Some((.., rows)) => rows.push(at),
            None => groups.push((op_name, pattern, vec![at])),
        }
    }
    groups
        .into_iter()
        .filter_map(|(_, pattern, rows)| gap(comparison, pattern, rows))
        .collect()
}

/// What is wrong with an operation, as files write it.
fn pattern(op: &MatchedOp) -> Option<&'static str> {
    // Copies and communication are no computation: those that matter are in the findings about
    // what is exposed of them, where their time counts once.
    if !op.sides.target.is_computation() {
        return None;
    }
    match op.judgement.verdict {
        verdict if verdict.is_slower_than_expected() => Some(verdict.key()),
        Verdict::NotJudged(NotJudged::NoShapes | NotJudged::OtherSizes) => None,
        Verdict::NotJudged(_) if op.judgement.is_more_than_twice => Some("slower_not_judged"),
        _ => None,
    }
}

/// What a time saves of an operation of both traces: of the time of the run of the target, which is
/// less than its kernel time where kernels compute at once.
pub(crate) fn saving(op: &MatchedOp) -> Option<Saving> {
    let expected = op.judgement.expected?;
    let target = &op.sides.target;
    let calls = target.timed.calls as f64;
    let won = |left_ns: f64| {
        let left_ns = left_ns.clamp(0.0, target.time_ns as f64).round() as i64;
        let won_ns = target.time_ns.saturating_sub(left_ns);
        run_time::part(won_ns, target.run_ns, target.time_ns)
    };
    let roof = op.judgement.roofs.target;
    let roof_ns = roof.map(|roof| won(roof.us_per_call * 1e3 * calls));
    let matching_ns = won(held_ns(op) * expected);
    Some(Saving {
        matching_ns: roof_ns.map_or(matching_ns, |roof_ns| matching_ns.min(roof_ns)),
        roof_ns,
    })
}

/// What several operations save together; `None` unless something is expected of each.
pub(crate) fn savings(ops: &[&MatchedOp]) -> Option<Saving> {
    let savings: Option<Vec<Saving>> = ops.iter().map(|op| saving(op)).collect();
    savings.map(|savings| Saving {
        matching_ns: crate::base::interval::sum(savings.iter().map(|saving| saving.matching_ns)),
        roof_ns: savings
            .iter()
            .map(|saving| saving.roof_ns)
            .try_fold(0_i64, |all, ns| Some(all.saturating_add(ns?))),
    })
}

fn gap(comparison: &Comparison, pattern: &'static str, rows: Vec<usize>) -> Option<Gap> {
    let matched = &comparison.operations.matched;
    let ops: Vec<&MatchedOp> = rows.iter().filter_map(|at| matched.get(*at)).collect();
    let first = *ops.first()?;
    let times = ops
        .iter()
        .map(|op| op.times())
        .fold(Pair::default(), Pair::plus);
    let percent = words::percent_of(times.target, comparison.compute_ns.target);
    let saving = savings(&ops);
    let verdict = first.judgement.verdict;
    let (model, kernel) = action(comparison, first, verdict);
    Some(Gap {
        number: 0,
        pattern,
        priority: priority(&comparison.thresholds, verdict, percent),
        title: title(first, &ops),
        gap: gap_sentence(comparison, &ops, times),
        model,
        kernel,
        reasoning: reasoning(comparison, &ops, percent),
        times,
        saving,
        replay: replay(comparison, &ops),
        subject: Subject::Operations(rows),
    })
}

/// Slower than expected is what brought it here. Evidence of the kernel is twice what is expected
/// or more; the share is of the target's computation.
fn priority(lines: &Thresholds, verdict: Verdict, percent: f64) -> Priority {
    let has_evidence = matches!(verdict, Verdict::UnexpectedSlowdown | Verdict::KernelIssue);
    let is_named = verdict == Verdict::KernelIssue;
    if has_evidence && percent > lines.critical_percent_of_compute {
        Priority::Critical
    } else if has_evidence && percent > lines.high_percent_of_compute
        || is_named && percent > lines.medium_percent_of_compute
    {
        Priority::High
    } else if percent > lines.medium_percent_of_compute || is_named {
        Priority::Medium
    } else {
        Priority::Low
    }
}

fn title(first: &MatchedOp, ops: &[&MatchedOp]) -> String {
    let what = match first.judgement.verdict {
        Verdict::KernelIssue => "kernel issue",
        Verdict::UnexpectedSlowdown => "slower than the hardware explains",
        Verdict::ModeratelyBeyond => "somewhat slower than the hardware explains",
        _ => "more than twice the time",
    };
    format!("{}: {what}", words::operations(first, ops))
}

/// "The target takes 13.7 ms on …, 2 697 % more than the reference's 0.490 ms; from the hardware
/// 36.8 % less would follow."
fn gap_sentence(comparison: &Comparison, ops: &[&MatchedOp], times: Pair<i64>) -> String {
    let Some(first) = ops.first() else {
        return String::new();
    };
    let name = match ops.len() {
        1 => words::quoted(&first.name),
        _ => words::quoted(unnumbered(&first.name)),
    };
    let (measured, per_call) = match words::same_calls(ops) {
        true => (times.map(format::time_ns), ""),
        false => (
            first
                .sides
                .as_ref()
                .map(|side| format::time_us(side.ns_per_call() / 1e3)),
            " a call",
        ),
    };
    let change = match words::same_calls(ops) {
        true => times.change_percent(),
        false => first.judgement.actual.map(|ratio| (ratio - 1.0) * 100.0),
    };
    let expected = match (comparison.is_same_gpu, expected_change(ops)) {
        (true, Some(change)) if change.abs() < 0.05 => {
            "on the same GPU the same time would follow".to_owned()
        }
        (_, Some(change)) => format!("from the hardware {} would follow", words::change(change)),
        (_, None) => "nothing tells what the hardware explains of it".to_owned(),
    };
    // What the same work is called there, where that is something else.
    let named = first
        .reference_name
        .as_deref()
        .filter(|_| matches!(first.level, MatchLevel::Counterpart | MatchLevel::Operator));
    let on = named.map_or(String::new(), |name| format!(" on {}", words::quoted(name)));
    format!(
        "The target takes {}{per_call} on {}, {} than the reference's {}{on}; {expected}.",
        measured.target,
        name,
        change.map_or("another time".to_owned(), words::change),
        measured.reference,
    )
}

/// What the hardware predicts of several operations together, weighted by the time on the
/// reference, in percent more or less.
fn expected_change(ops: &[&MatchedOp]) -> Option<f64> {
    let (mut expected, mut reference) = (0.0, 0.0);
    for op in ops {
        let ns = held_ns(op);
        expected += ns * op.judgement.expected?;
        reference += ns;
    }
    (reference > 0.0).then(|| (expected / reference - 1.0) * 100.0)
}

fn reasoning(comparison: &Comparison, ops: &[&MatchedOp], percent: f64) -> Vec<String> {
    let mut sentences = Vec::new();
    let Some(first) = ops.first() else {
        return sentences;
    };
    sentences.push(format!(
        "It has {} of the computation of the target.",
        format::percent(percent)
    ));
    let sides = || ops.iter().map(|op| &op.sides.target);
    sentences.extend(run_time::said(
        crate::base::interval::sum(sides().map(|side| side.time_ns)),
        crate::base::interval::sum(sides().map(|side| side.run_ns)),
    ));
    let judgement = &first.judgement;
    if let (Some(actual), Some(expected), Some(excess)) =
        (judgement.actual, judgement.expected, judgement.excess)
    {
        sentences.push(format!(
            "A call takes {} the time on the target, {} is expected: {} what the hardware explains.",
            words::times(actual),
            words::times(expected),
            words::times(excess)
        ));
    }
    if let Some(roofs) = judgement.roofs.both() {
        sentences.push(format!(
            "On the target it is bound by {} ({} figure), on the reference by {} ({} figure).",
            words::bound(roofs.target.bound),
            roofs.target.basis.label(),
            words::bound(roofs.reference.bound),
            roofs.reference.basis.label(),
        ));
    }
    if judgement.is_mixed()
        && let (Some(peak), Some(excess)) = (judgement.peak_expected, judgement.peak_excess)
    {
        sentences.push(format!(
            "By peaks on both sides {} is expected, and the target takes {} that.",
            words::times(peak),
            words::times(excess)
        ));
    }
    if judgement.work_differs {
        sentences.push(
            "The models count another amount of work in each trace; each is judged by its own."
                .to_owned(),
        );
    }
    if is_above_roof(comparison, first) {
        sentences.push(
            "The reference is faster than its own roof there: its data is small enough to stay on \
             the chip, or its figures are off, so that less is expected of the target than stands here."
                .to_owned(),
        );
    }
    sentences.extend(kernels_sentence(first));
    sentences.push(
        "Why a kernel is slow is not visible in a trace: a reproducer and hardware counters tell."
            .to_owned(),
    );
    sentences
}

/// Whether the reference runs an operation faster than it can.
fn is_above_roof(comparison: &Comparison, op: &MatchedOp) -> bool {
    let reference_us = op.sides.reference.ns_per_call() / 1e3;
    op.judgement.roofs.reference.is_some_and(|roof| {
        roof.us_per_call / reference_us * 100.0 > comparison.thresholds.anomaly_percent
    })
}

fn replay(comparison: &Comparison, ops: &[&MatchedOp]) -> Option<Replay> {
    let first = ops.first()?;
    let (actual, excess) = (first.judgement.actual?, first.judgement.excess?);
    let verdict = first.judgement.verdict;
    let than = match comparison.is_same_gpu {
        true => String::new(),
        false => format!(", {} what the hardware explains", words::times(excess)),
    };
    matches!(verdict, Verdict::KernelIssue | Verdict::UnexpectedSlowdown).then(|| Replay {
        is_recommended: verdict == Verdict::KernelIssue,
        reason: format!("{} the time of the reference{than}", words::times(actual)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::testing::sides;
    use crate::testing::Timetable;

    /// A product on each of four GPUs, all at once, each for so many milliseconds.
    fn on_four_gpus(ms: u32) -> Timetable {
        let mut table = Timetable::new();
        for gpu in 0..4 {
            let host = gpu * 10;
            table = table
                .op("aten::mm", host..host + 9)
                .launch(gpu + 1, host + 1..host + 2)
                .gpu(gpu)
                .kernel(gpu + 1, "gemm", 1_000..1_000 + ms * 1_000);
        }
        table
    }

    #[test]
    fn what_runs_on_four_gpus_at_once_saves_its_time_once() {
        let gpu = Some(("MI300X", "MI300X"));
        let comparison = sides(&on_four_gpus(1), &on_four_gpus(4), gpu, |sides| {
            Comparison::new(sides.reference, sides.target)
        });
        let gap = &comparison.gaps.ranked[0];
        // 4 ms of kernel time became 16 ms, a run of 1 ms one of 4 ms: 3 ms are won.
        assert_eq!(
            gap.times,
            Pair {
                reference: 4_000_000,
                target: 16_000_000
            }
        );
        assert_eq!(comparison.parts.total.target, 4_000_000);
        assert_eq!(
            gap.saving,
            Some(Saving {
                matching_ns: 3_000_000,
                roof_ns: None
            })
        );
        assert!(gap.reasoning[0].contains("100"), "{}", gap.reasoning[0]);
        assert!(gap.reasoning[1].contains("on other streams or GPUs"));
    }
}
