//! The same kernels on the same GPU, all slower by a common factor: none of them is at fault.

use super::Subject;
use super::rule::{Candidate, GapRule, GapTable, matched, priority_of_run, times_of};
use super::savings::all_as_predicted;
use crate::base::format;
use crate::base::interval::sum;
use crate::base::sort::Arrange;
use crate::compare::comparison::Comparison;
use crate::compare::ops::MatchedOp;
use crate::compare::words;

/// With fewer operations, there is no common factor.
const LEAST_OPERATIONS: usize = 3;
/// The minimum share of kernel time of the matched computation that they must have.
const LEAST_PERCENT: f64 = 50.0;
/// Factors that differ by less count as equal.
const SAME: f64 = 0.05;

pub(super) const TABLE: GapTable = GapTable {
    title: "A slower machine",
    rules: &[GapRule {
        key: "slower_machine",
        when: "most of the compute time is in kernels that take longer on the same GPU by one factor",
        applies: |_, _| true,
        title: "The same kernels take {factor} the time",
        issue: "{operations} take {time} on the target; as many calls of the same kernels on the same GPU take {reference} on the reference.",
        model: "Look at the machine before the model: clocks, power limit and temperature of the GPU, and what else runs on it.",
        kernel: "Both sides run the same kernels, so none of them is at fault: measure again at fixed clocks.",
        notes: &[
            "They take {share} of the compute time of the target, {names} first, and each is slower by about the same factor.",
            "Why is not visible in a trace: the clocks of both runs tell.",
        ],
        saves: "what the target takes beyond the reference, up to what it takes beyond its own roofline",
    }],
    candidates: |comparison| Vec::from_iter(candidate(comparison)),
};

/// The operations that are slower by a common factor, longest first; none unless they are most of the computation in
/// both traces.
pub(super) fn rows(comparison: &Comparison) -> Vec<usize> {
    let matched = &comparison.operations.matched;
    if !comparison.is_same_gpu {
        return Vec::new();
    }
    let computes = |op: &&MatchedOp| op.sides.target.is_computation();
    let all_ns = sum(matched.iter().filter(computes).map(|op| op.times().target));
    let is_slower = |op: &&MatchedOp| {
        let judgement = &op.judgement;
        computes(op)
            && judgement.verdict.is_slower_than_expected()
            && !judgement.work_differs
            && op.runs_same_kernels()
    };
    let slower = matched.iter().enumerate();
    let slower = slower.filter(|(_, op)| is_slower(op));
    let mut slower: Vec<(f64, i64, usize)> = slower
        .filter_map(|(at, op)| Some((op.judgement.excess?, op.times().target, at)))
        .collect();
    slower.arrange_by(|a, b| a.0.total_cmp(&b.0));
    // The median factor, weighted by time.
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

fn candidate(comparison: &Comparison) -> Option<Candidate> {
    let rows = rows(comparison);
    let ops = matched(comparison, &rows);
    let factor = ops.first()?.judgement.excess?;
    let times = times_of(&ops);
    let saving = all_as_predicted(&ops)?;
    let share = words::percent_of(times.target, comparison.compute_ns.target);
    let reference_ns = sum(ops.iter().map(|op| op.held_ns().round() as i64));
    Some(Candidate {
        times,
        saving: Some(saving),
        priority: priority_of_run(comparison, saving.matching_ns),
        floor_ns: None,
        replay: None,
        words: vec![
            ("factor", words::times(factor)),
            ("operations", format::counted(ops.len() as u64, "operation")),
            ("time", format::time_ns(times.target)),
            ("reference", format::time_ns(reference_ns)),
            ("share", format::percent(share)),
            ("names", words::names(ops.iter().map(|op| op.name.as_str()))),
        ],
        subject: Subject::Operations(rows),
    })
}

#[cfg(test)]
mod tests {
    use crate::compare::Gap;
    use crate::compare::testing::{H100, compared, run, savings};

    /// The findings if three operations, each with one kernel, take this many microseconds.
    fn found(reference: [u32; 3], target: [u32; 3]) -> Vec<Gap> {
        let [reference, target] = [reference, target].map(|[mm, add, softmax]| {
            run([
                ("aten::mm", "", "gemm", mm),
                ("aten::add", "", "add", add),
                ("aten::_softmax", "", "softmax", softmax),
            ])
        });
        compared(&reference, &target, H100).gaps.ranked
    }

    #[test]
    fn one_factor_is_one_finding() {
        let one = found([200, 60, 40], [300, 90, 60]);
        assert_eq!(savings(&one), [("slower_machine", Some(150_000))]);
        assert_eq!(one[0].title, "The same kernels take 1.50× the time");
        // Different factors are separate findings.
        let several = found([200, 60, 40], [300, 90, 120]);
        assert_eq!(several.len(), 3, "{several:?}");
        assert!(several.iter().all(|gap| gap.pattern != "slower_machine"));
    }
}
