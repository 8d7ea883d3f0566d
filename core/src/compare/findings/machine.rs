//! The same kernels on the same GPU, all slower by one factor: that is no matter of any of them.

use super::operations::savings;
use super::{Gap, Subject, priority_of_run};
use crate::base::format;
use crate::base::interval::sum;
use crate::base::sort::Arrange;
use crate::compare::comparison::Comparison;
use crate::compare::explained::held_ns;
use crate::compare::ops::MatchedOp;
use crate::compare::pair::Pair;
use crate::compare::words;

/// Fewer operations than these have no factor in common.
const LEAST_OPERATIONS: usize = 3;
/// Of the kernel time of what computes in both traces, they take this at least.
const LEAST_PERCENT: f64 = 50.0;
/// Factors that differ by less are one.
const SAME: f64 = 0.05;

/// Whether both traces run an operation by the same kernels, each as often a call.
pub(crate) fn runs_same_kernels(op: &MatchedOp) -> bool {
    let Pair { reference, target } = &op.sides;
    let is_run = |name: &str, count: u64| {
        let mut others = reference.kernels.iter();
        others.any(|other| {
            other.name == name && other.count * target.calls == count * reference.calls
        })
    };
    !target.kernels.is_empty()
        && reference.n_kernels == target.n_kernels
        && target
            .kernels
            .iter()
            .all(|kernel| is_run(&kernel.name, kernel.count))
}

/// The operations that are slower by one factor, the longest first; none unless that is most of what
/// both traces compute.
pub(crate) fn rows(comparison: &Comparison) -> Vec<usize> {
    let matched = &comparison.operations.matched;
    if !comparison.is_same_gpu {
        return Vec::new();
    }
    let computes = |op: &&MatchedOp| op.sides.target.is_computation();
    let all_ns = sum(matched.iter().filter(computes).map(|op| op.times().target));
    let mut slower: Vec<(f64, i64, usize)> = matched
        .iter()
        .enumerate()
        .filter(|(_, op)| {
            let judgement = &op.judgement;
            computes(op)
                && judgement.verdict.is_slower_than_expected()
                && !judgement.work_differs
                && runs_same_kernels(op)
        })
        .filter_map(|(at, op)| Some((op.judgement.excess?, op.times().target, at)))
        .collect();
    slower.arrange_by(|a, b| a.0.total_cmp(&b.0));
    // The factor that lies in the middle of their time.
    let half_ns = sum(slower.iter().map(|(_, ns, _)| *ns)) / 2;
    let mut so_far_ns = 0_i64;
    let middle = slower.iter().find(|(_, ns, _)| {
        so_far_ns = so_far_ns.saturating_add(*ns);
        so_far_ns >= half_ns
    });
    let Some(&(middle, ..)) = middle else {
        return Vec::new();
    };
    slower.retain(|(excess, ..)| (excess / middle - 1.0).abs() <= SAME);
    let alike_ns = sum(slower.iter().map(|(_, ns, _)| *ns));
    let mut rows: Vec<usize> = slower.into_iter().map(|(.., at)| at).collect();
    rows.arrange();
    let is_most = words::percent_of(alike_ns, all_ns) >= LEAST_PERCENT;
    match rows.len() >= LEAST_OPERATIONS && is_most {
        true => rows,
        false => Vec::new(),
    }
}

/// The finding about them.
pub(crate) fn gap(comparison: &Comparison) -> Option<Gap> {
    let rows = rows(comparison);
    let matched = &comparison.operations.matched;
    let ops: Vec<&MatchedOp> = rows.iter().filter_map(|at| matched.get(*at)).collect();
    let first = *ops.first()?;
    let times = ops
        .iter()
        .map(|op| op.times())
        .fold(Pair::default(), Pair::plus);
    let saving = savings(&ops)?;
    let percent = words::percent_of(saving.matching_ns, comparison.parts.total.target);
    let factor = words::times(first.judgement.excess?);
    Some(Gap {
        number: 0,
        subject: Subject::Operations(rows),
        pattern: "slower_machine",
        priority: priority_of_run(&comparison.thresholds, percent),
        title: format!("The same kernels take {factor} the time"),
        gap: format!(
            "{} take {} on the target; as many calls of the same kernels on the same GPU take {} on the reference.",
            format::counted(ops.len() as u64, "operation"),
            format::time_ns(times.target),
            format::time_ns(sum(ops.iter().map(|op| held_ns(op).round() as i64)))
        ),
        model: "Look at the machine before the model: clocks, power limit and temperature of the GPU, and what else runs on it.".to_owned(),
        kernel: "Both sides run the same kernels, so none of them is at fault: measure again at fixed clocks.".to_owned(),
        reasoning: vec![
            format!(
                "They are {} of the computation of the target, {} first, and each is slower by about the same factor.",
                format::percent(words::percent_of(times.target, comparison.compute_ns.target)),
                words::names(ops.iter().map(|op| op.name.as_str()))
            ),
            "Why is not visible in a trace: the clocks of both runs tell.".to_owned(),
        ],
        times,
        saving: Some(saving),
        replay: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::testing::sides;
    use crate::testing::Timetable;

    /// Three operations, each by its kernel, for so many microseconds.
    fn run(us: [u32; 3]) -> Timetable {
        let ops = [
            ("aten::mm", "gemm"),
            ("aten::add", "add"),
            ("aten::_softmax", "softmax"),
        ];
        let mut at = 1_000;
        let mut table = Timetable::new();
        for ((op, kernel), us) in ops.iter().zip(us) {
            table = table.work(op, kernel, at..at + us);
            at += us;
        }
        table
    }

    fn found(reference: [u32; 3], target: [u32; 3]) -> Vec<(&'static str, String, Option<i64>)> {
        let gaps = sides(
            &run(reference),
            &run(target),
            Some(("H100", "H100")),
            |sides| Comparison::new(sides.reference, sides.target).gaps.ranked,
        );
        let gaps = gaps.into_iter();
        gaps.map(|gap| {
            let saved_ns = gap.saving.map(|saving| saving.matching_ns);
            (gap.pattern, gap.title, saved_ns)
        })
        .collect()
    }

    #[test]
    fn one_factor_is_one_finding() {
        assert_eq!(
            found([200, 60, 40], [300, 90, 60]),
            [(
                "slower_machine",
                "The same kernels take 1.50× the time".to_owned(),
                Some(150_000)
            )]
        );
        // Several factors are several.
        let several = found([200, 60, 40], [300, 90, 120]);
        let patterns: Vec<&str> = several.iter().map(|(pattern, ..)| *pattern).collect();
        assert_eq!(patterns.len(), 3, "{several:?}");
        assert!(!patterns.contains(&"slower_machine"), "{several:?}");
    }
}
