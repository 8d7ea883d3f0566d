//! Operations that the target calls more often than the reference does for the same amount of work.

use super::rule::{Candidate, GapRule, GapTable, by_operator, matched, times_of};
use super::savings::{has_lost_fusion, is_fusible, of_extra_calls, part_not_fused};
use crate::base::format;
use crate::base::interval::{percent_or_zero, sum};
use crate::compare::amount::AmountBy;
use crate::compare::comparison::Comparison;
use crate::compare::ops::MatchedOp;
use crate::compare::pair::Pair;
use crate::compare::words;
use crate::names::Family;
use crate::names::normalized::unnumbered;

pub(super) const TABLE: GapTable = GapTable {
    title: "More calls",
    rules: &[
        GapRule {
            when: "the target calls nearly all operations more often by one factor",
            applies: |_, candidate| candidate.has_word("nearly_all"),
            title: "{all} the calls in each step",
            issue: "The target calls {operations} {all} as often as the reference in as many steps: they take {time} and {reference}.",
            model: "Compare what a step is in both runs: micro-batches and gradient accumulation, the number of layers, further passes through the model. For the same result, fewer and larger calls take less time.",
            ..MORE_CALLS
        },
        GapRule {
            when: "the target calls most operations more often by one factor",
            applies: |_, candidate| candidate.has_word("all"),
            title: "{operations} called {all} as often in each step",
            issue: "The target calls {operations} {all} as often as the reference in as many steps: they take {time} and {reference}.",
            model: "A part of the model runs more often: compare the number of layers, of iterations in a step, and of passes through that part.",
            ..MORE_CALLS
        },
        MORE_CALLS,
    ],
    candidates,
};

const MORE_CALLS: GapRule = GapRule {
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
};

/// One candidate per operator, longest first. None if the relative amount of work is not certain.
fn candidates(comparison: &Comparison) -> Vec<Candidate> {
    if !comparison.amount.is_certain {
        return Vec::new();
    }
    let alike = called_alike(comparison);
    let is_extra = |at: usize, op: &MatchedOp| {
        (of_extra_calls(comparison, op) > 0 && !alike.contains(&at)).then_some(())
    };
    let single = by_operator(comparison, is_extra, candidate);
    let all = of_all(comparison, alike).into_iter();
    all.chain(single).collect()
}

/// The share of the computation, in percent, that is nearly all of it.
const NEARLY_ALL_PERCENT: f64 = 90.0;

/// The operations that are called more often by one factor, if they are most of the computation; else none.
fn called_alike(comparison: &Comparison) -> Vec<usize> {
    /// Ratios that differ by less are the same.
    const SAME: f64 = 0.02;
    const LEAST_OPERATIONS: usize = 3;
    const LEAST_PERCENT: f64 = 50.0;
    let all = || comparison.operations.matched.iter().enumerate();
    let longest = all().find(|(_, op)| of_extra_calls(comparison, op) > 0);
    let Some((_, longest)) = longest else {
        return Vec::new();
    };
    let factor = factor(comparison, longest);
    let is_alike = |op: &MatchedOp| {
        (self::factor(comparison, op) / factor - 1.0).abs() <= SAME
            && of_extra_calls(comparison, op) > 0
    };
    let rows: Vec<usize> = all()
        .filter(|(_, op)| is_alike(op))
        .map(|(at, _)| at)
        .collect();
    let alike_ns = times_of(&matched(comparison, &rows)).target;
    let percent = percent_or_zero(alike_ns, comparison.compute_ns.target);
    match rows.len() >= LEAST_OPERATIONS && percent >= LEAST_PERCENT {
        true => rows,
        false => Vec::new(),
    }
}

/// By how much an operation is called more often for the same amount of work.
fn factor(comparison: &Comparison, op: &MatchedOp) -> f64 {
    let Pair { reference, target } = op.calls();
    target as f64 / reference.max(1) as f64 / comparison.amount.ratio
}

/// All of them in one candidate.
fn of_all(comparison: &Comparison, rows: Vec<usize>) -> Option<Candidate> {
    let n = rows.len() as u64;
    let first = comparison.operations.matched.get(*rows.first()?)?;
    let mut found = candidate(comparison, rows)?;
    let factor = factor(comparison, first);
    found.words.push(("all", words::times(factor)));
    let compute_ns = comparison.compute_ns.target;
    if percent_or_zero(found.times.target, compute_ns) >= NEARLY_ALL_PERCENT {
        found.words.push(("nearly_all", String::new()));
    }
    found
        .words
        .push(("operations", format::counted(n, "operation")));
    found.words.retain(|(word, _)| *word != "same_calls");
    Some(found)
}

fn candidate(comparison: &Comparison, rows: Vec<usize>) -> Option<Candidate> {
    let ops = matched(comparison, &rows);
    let first = *ops.first()?;
    let times = times_of(&ops);
    let calls = Pair::of(|which| {
        let calls = ops.iter().map(|op| *op.calls().get(which));
        format::counted(calls.sum::<u64>(), "time")
    });
    let (part, is_fused) = (part_not_fused(comparison), has_lost_fusion(comparison));
    let saved = ops.iter().map(|op| {
        let ns = of_extra_calls(comparison, op);
        match is_fusible(op.family) {
            // What the reference fuses has a finding of its own.
            true if is_fused => 0,
            true => (ns as f64 * part).round() as i64,
            false => ns,
        }
    });
    let moved_ns = of_less_work(comparison, first);
    let saved_ns = Some(sum(saved).saturating_sub(moved_ns)).filter(|ns| *ns > 0)?;
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
        _ if !amount.is_same() => ("amount", amount.text()),
        AmountBy::Steps(steps) => ("steps", format::counted(steps.target, "step")),
        _ => ("same_calls", String::new()),
    });
    let change = first.judgment.actual.map(|actual| (actual - 1.0) * 100.0);
    words.extend(change.map(|change| match change.abs() < 0.05 {
        true => ("same_call", String::new()),
        false => ("change", words::change(change)),
    }));
    Some(Candidate::of_operations(comparison, rows, saved_ns, words))
}

/// What the reference takes for work that the target does not do, in calls of the same operator, or of GEMMs: calls of
/// one size may stand for those of another.
fn of_less_work(comparison: &Comparison, like: &MatchedOp) -> i64 {
    let is_alike = |op: &&MatchedOp| match like.family {
        Family::Gemm => op.family == Family::Gemm,
        _ => op.name == like.name,
    };
    let less = comparison.operations.matched.iter().filter(is_alike);
    let less = less.filter_map(|op| {
        let Pair { reference, target } = op.calls();
        let calls = target as f64 / reference.max(1) as f64 / comparison.amount.ratio;
        let part = 1.0 - calls * op.judgment.sizes_ratio?;
        let all_ns = comparison.amount.scaled(op.times().reference);
        Some((part.max(0.0) * all_ns as f64).round() as i64)
    });
    sum(less)
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

    #[test]
    fn more_calls_on_smaller_sizes_do_no_more_work() {
        // Four micro-batches of 1024 rows against one of 4096, each row with the same time.
        let batches = |n: usize, rows: u32| {
            let us = rows / 10;
            let x = format!("[{rows}, 4096]");
            let one = |dims: &str, types: &str| {
                format!(r#""Input Dims": [{dims}], "Input type": [{types}]"#)
            };
            let two = r#""float", "float""#;
            let mm = one(&format!("{x}, [4096, 4096]"), two);
            let add = one(&format!("{x}, {x}"), two);
            let softmax = one(&format!("{x}, [], []"), r#""float", "Scalar", "Scalar""#);
            let calls = [
                ("aten::mm", mm.as_str(), "gemm", us),
                ("aten::add", add.as_str(), "add", us),
                ("aten::_softmax", softmax.as_str(), "softmax", us),
            ];
            let calls = calls
                .into_iter()
                .flat_map(|call| std::iter::repeat_n(call, n));
            run(calls).annotation("ProfilerStep#7", 0..500)
        };
        let comparison = compared(&batches(1, 4096), &batches(4, 1024), H100);
        assert_eq!(comparison.operations.matched.len(), 3);
        assert_eq!(savings(&comparison.gaps.ranked), []);
    }

    #[test]
    fn all_operations_called_more_often_by_one_factor_are_one_finding() {
        let all = |n: usize| {
            let ops = ["aten::mm", "aten::add", "aten::_softmax"].into_iter();
            let calls = ops.flat_map(|op| std::iter::repeat_n((op, "", "kernel", 100), n));
            run(calls).annotation("ProfilerStep#7", 0..500)
        };
        let comparison = compared(&all(4), &all(8), H100);
        let ranked = &comparison.gaps.ranked;
        assert_eq!(savings(ranked), [("more_calls", Some(1_200_000))]);
        assert_eq!(ranked[0].title, "2.00× the calls in each step");
        let work = comparison.work.as_ref().unwrap();
        assert_eq!(work.sentence(), "The target does 2.00× the work per step.");
        assert!(compared(&all(8), &all(4), H100).gaps.ranked.is_empty());
        // Not those that are outside the layers.
        let with_head = |n| all(n).work("my::head", "head", 9_000..9_700);
        let most = compared(&with_head(4), &with_head(8), H100).gaps.ranked;
        assert_eq!(savings(&most), [("more_calls", Some(1_200_000))]);
        let title = "3 operations called 2.00× as often in each step";
        assert_eq!(most[0].title, title);
    }
}
