//! Operations that the target calls more often than the reference does for the same amount of work.

use super::Subject;
use super::rule::{Candidate, GapRule, GapTable, by_operator, matched, times_of};
use super::savings::of_extra_calls;
use crate::base::format;
use crate::base::interval::sum;
use crate::compare::amount::AmountBy;
use crate::compare::comparison::Comparison;
use crate::compare::ops::MatchedOp;
use crate::compare::pair::Pair;
use crate::compare::words;
use crate::names::calls::unnumbered;

pub(super) const TABLE: GapTable = GapTable {
    title: "More calls",
    rules: &[GapRule {
        key: "more_calls",
        when: "the target calls an operation more often for the same number of steps or calls of others",
        applies: |_, _| true,
        title: "{subject}: more calls than on the reference",
        issue: "The target calls {name} {target_calls}, the reference {reference_calls}: they take {time} and {reference}.",
        model: "Find where the extra calls come from: work that is done twice, a loop with more iterations, or results that are recomputed.",
        kernel: "A faster kernel would not make up for calls that are not needed.",
        notes: &[
            "Both traces hold {steps}.",
            "{same_calls}Most other operations are called as often in both traces.",
            "The target does {amount}, and calls this more often than that.",
            "{same_call}A call takes the same time on both.",
            "A call takes {change} time on the target.",
        ],
        saves: "the time of the calls that the reference does without",
    }],
    candidates,
};

/// One candidate per operator, longest first. None if the relative amount of work is not certain.
fn candidates(comparison: &Comparison) -> Vec<Candidate> {
    if !comparison.amount.is_certain {
        return Vec::new();
    }
    let is_extra = |_, op: &MatchedOp| (of_extra_calls(comparison, op) > 0).then_some(());
    by_operator(comparison, is_extra, candidate)
}

fn candidate(comparison: &Comparison, rows: Vec<usize>) -> Option<Candidate> {
    let ops = matched(comparison, &rows);
    let first = *ops.first()?;
    let times = times_of(&ops);
    let calls = Pair::of(|which| {
        let calls = ops.iter().map(|op| *op.calls().get(which));
        format::counted(calls.sum::<u64>(), "time")
    });
    let saved_ns = sum(ops.iter().map(|op| of_extra_calls(comparison, op)));
    let mut words = vec![
        ("subject", words::operations(first, &ops)),
        ("name", words::quoted(unnumbered(&first.name))),
        ("target_calls", calls.target),
        ("reference_calls", calls.reference),
        ("time", format::time_ns(times.target)),
        ("reference", format::time_ns(times.reference)),
    ];
    let amount = &comparison.amount;
    words.push(match amount.by {
        _ if !amount.is_same() => ("amount", amount.said()),
        AmountBy::Steps(steps) => ("steps", format::counted(steps.target, "step")),
        _ => ("same_calls", String::new()),
    });
    let change = first.judgement.actual.map(|actual| (actual - 1.0) * 100.0);
    words.extend(change.map(|change| match change.abs() < 0.05 {
        true => ("same_call", String::new()),
        false => ("change", words::change(change)),
    }));
    let subject = Subject::Operations(rows);
    Some(Candidate::of_saved(
        comparison, subject, times, saved_ns, words,
    ))
}

#[cfg(test)]
mod tests {
    use crate::compare::testing::{H100, compared, run, savings};
    use crate::testing::Timetable;

    /// A step with this many GEMMs of 100 µs, and four calls of two other operators.
    fn step(products: usize) -> Timetable {
        let ops = [
            ("aten::mm", products),
            ("aten::add", 4),
            ("aten::_softmax", 4),
        ];
        let calls = ops.into_iter();
        let calls = calls.flat_map(|(op, n)| std::iter::repeat_n((op, "", "kernel", 100), n));
        run(calls).annotation("ProfilerStep#7", 0..500)
    }

    #[test]
    fn more_calls_in_as_many_steps_are_found_and_counted() {
        let ranked = compared(&step(4), &step(8), H100).gaps.ranked;
        assert_eq!(savings(&ranked), [("more_calls", Some(400_000))]);
        let gap = &ranked[0];
        assert_eq!(gap.title, "`aten::mm`: more calls than on the reference");
        assert_eq!(
            gap.gap,
            "The target calls `aten::mm` 8 times, the reference 4 times: they take 800 µs and 400 µs."
        );
        assert_eq!(
            gap.reasoning,
            [
                "Both traces hold 1 step.",
                "A call takes the same time on both."
            ]
        );
    }
}
