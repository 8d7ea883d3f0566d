//! Kernels that run concurrently on the reference, and one after another on the target.

use super::rule::{Candidate, GapRule, GapTable, matched};
use crate::base::format;
use crate::base::sort::Arrange;
use crate::compare::comparison::Comparison;
use crate::compare::ops::{MatchedOp, OpSide};
use crate::compare::pair::Pair;
use crate::compare::words;

pub(super) const TABLE: GapTable = GapTable {
    title: "Less concurrency",
    rules: &[GapRule {
        key: "less_concurrency",
        when: "kernels of both traces run concurrently on the reference, and less so on the target",
        applies: |_, _| true,
        title: "Fewer kernels run concurrently than on the reference",
        issue: "Kernels run beside others for {overlap} on the target and for {reference_overlap} on the reference, mainly those of {names}.",
        model: "Launch work that does not depend on other work on a stream of its own, as on the reference, and wait for it only where its result is needed.",
        kernel: "The kernels are not slower: when they start decides.",
        notes: &[
            "Computation takes {computation} on the target, {reference_computation} on the reference.",
        ],
        saves: "the time that overlaps on the reference only, up to what computation takes longer",
    }],
    candidates: |comparison| Vec::from_iter(candidate(comparison)),
};

/// Time in which an operation of a trace runs concurrently with others.
fn overlap_ns(side: &OpSide) -> i64 {
    match side.is_computation() {
        true => side.time_ns.saturating_sub(side.exclusive_ns).max(0),
        false => 0,
    }
}

fn candidate(comparison: &Comparison) -> Option<Candidate> {
    let n_gpus = comparison.sides.as_ref().map(|side| side.n_gpus);
    if (n_gpus.reference, n_gpus.target) != (1, 1) {
        return None;
    }
    let overlaps = |op: &MatchedOp| op.sides.as_ref().map(overlap_ns);
    let lost_ns = |op: &MatchedOp| {
        let Pair { reference, target } = overlaps(op);
        comparison.amount.scaled(reference).saturating_sub(target)
    };
    let all = comparison.operations.matched.iter().enumerate();
    let mut rows: Vec<(i64, usize)> = all.map(|(at, op)| (lost_ns(op), at)).collect();
    rows.retain(|(ns, _)| *ns > 0);
    rows.arrange_by_key(|(ns, at)| (std::cmp::Reverse(*ns), *at));
    let rows: Vec<usize> = rows.into_iter().map(|(_, at)| at).collect();
    let ops = matched(comparison, &rows);
    ops.first()?;
    let matched = comparison.operations.matched.iter();
    let overlap = matched.map(overlaps).fold(Pair::default(), Pair::plus);
    let computation = comparison.parts.computation;
    // Kernels that overlap share the time, so that the sum over all of them is what concurrency saves.
    let lost_ns = comparison
        .amount
        .scaled(overlap.reference)
        .saturating_sub(overlap.target);
    let scaled_ns = comparison.scaled_work(computation.reference);
    let saved_ns = lost_ns.min(computation.target.saturating_sub(scaled_ns));
    let words = vec![
        ("overlap", format::time_ns(overlap.target)),
        ("reference_overlap", format::time_ns(overlap.reference)),
        ("names", words::names(ops.iter().map(|op| op.name.as_str()))),
        ("computation", format::time_ns(computation.target)),
        (
            "reference_computation",
            format::time_ns(computation.reference),
        ),
    ];
    (saved_ns > 0).then(|| Candidate::of_operations(comparison, rows, saved_ns, words))
}

#[cfg(test)]
mod tests {
    use crate::compare::testing::{H100, compared, savings};
    use crate::testing::Timetable;

    /// Two GEMMs of 100 µs, of which the second starts this many microseconds after the first.
    fn gemms(after: u32) -> Timetable {
        Timetable::new()
            .work("aten::mm", "gemm", 100..200)
            .stream(8)
            .work("aten::bmm", "gemm", 100 + after..200 + after)
    }

    #[test]
    fn kernels_that_no_longer_overlap_are_found() {
        let ranked = compared(&gemms(0), &gemms(100), H100).gaps.ranked;
        assert_eq!(savings(&ranked), [("less_concurrency", Some(100_000))]);
        let both = compared(&gemms(100), &gemms(100), H100).gaps.ranked;
        assert!(both.is_empty(), "{both:#?}");
        let faster = compared(&gemms(100), &gemms(0), H100).gaps.ranked;
        assert!(faster.is_empty(), "{faster:#?}");
    }
}
