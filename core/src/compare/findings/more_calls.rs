//! Operations that the target calls more often than the reference does for as much work.

use super::{Gap, Saving, Subject, priority_of_run};
use crate::base::format;
use crate::base::interval::sum;
use crate::compare::amount::AmountBy;
use crate::compare::comparison::Comparison;
use crate::compare::names::unnumbered;
use crate::compare::ops::MatchedOp;
use crate::compare::pair::Pair;
use crate::compare::words;
use crate::findings::run_time;

/// One finding for each operator, the longest first. None where nothing tells for sure how much of
/// the same both traces do.
pub(crate) fn gaps(comparison: &Comparison) -> Vec<Gap> {
    if !comparison.amount.is_certain {
        return Vec::new();
    }
    let mut groups: Vec<(&str, Vec<usize>)> = Vec::new();
    for (at, op) in comparison.operations.matched.iter().enumerate() {
        if saved_ns(comparison, op) <= 0 {
            continue;
        }
        let name = unnumbered(&op.name);
        match groups.iter_mut().find(|(known, _)| *known == name) {
            Some((_, rows)) => rows.push(at),
            None => groups.push((name, vec![at])),
        }
    }
    let groups = groups.into_iter();
    groups
        .filter_map(|(_, rows)| gap(comparison, rows))
        .collect()
}

/// What the run is shorter by without the calls that the reference does without; what a call takes
/// beyond what is expected is counted where that is found.
fn saved_ns(comparison: &Comparison, op: &MatchedOp) -> i64 {
    let calls = op.calls();
    let extra = calls.target as f64 - calls.reference as f64 * comparison.amount.ratio;
    let target = &op.sides.target;
    if extra <= 0.0 || calls.reference == 0 || !target.is_computation() {
        return 0;
    }
    let per_call = match op.judgement.expected {
        Some(expected) if op.judgement.verdict.is_slower_than_expected() => {
            op.sides.reference.ns_per_call() * expected
        }
        _ => target.ns_per_call(),
    };
    let extra_ns = extra * per_call.min(target.ns_per_call());
    let extra_ns = (extra_ns.round() as i64).min(target.time_ns);
    run_time::part(extra_ns, target.run_ns, target.time_ns)
}

fn gap(comparison: &Comparison, rows: Vec<usize>) -> Option<Gap> {
    let matched = &comparison.operations.matched;
    let ops: Vec<&MatchedOp> = rows.iter().filter_map(|at| matched.get(*at)).collect();
    let first = *ops.first()?;
    let times = ops
        .iter()
        .map(|op| op.times())
        .fold(Pair::default(), Pair::plus);
    let calls = ops
        .iter()
        .map(|op| op.calls())
        .fold(Pair::<u64>::default(), |all, calls| Pair {
            reference: all.reference + calls.reference,
            target: all.target + calls.target,
        });
    let saved_ns = sum(ops.iter().map(|op| saved_ns(comparison, op)));
    let percent = words::percent_of(saved_ns, comparison.parts.total.target);
    let amount = &comparison.amount;
    let evidence = match amount.by {
        AmountBy::Steps(steps) if amount.is_same() => {
            format!(
                "Both traces hold {}.",
                format::counted(steps.target, "step")
            )
        }
        _ if amount.is_same() => {
            "Most other operations are called as often in both traces.".to_owned()
        }
        _ => format!(
            "The target does {}, and calls this more often than that.",
            amount.said()
        ),
    };
    let per_call = first.judgement.actual.map(|actual| {
        let change = (actual - 1.0) * 100.0;
        match change.abs() < 0.05 {
            true => "A call takes the same time on both.".to_owned(),
            false => format!("A call takes {} time on the target.", words::change(change)),
        }
    });
    Some(Gap {
        number: 0,
        pattern: "more_calls",
        priority: priority_of_run(&comparison.thresholds, percent),
        title: format!("{}: more calls than on the reference", words::operations(first, &ops)),
        gap: format!(
            "The target calls {} {}, the reference {}: they take {} and {}.",
            words::quoted(unnumbered(&first.name)),
            format::counted(calls.target, "time"),
            format::counted(calls.reference, "time"),
            format::time_ns(times.target),
            format::time_ns(times.reference)
        ),
        model: "See where the calls come from that the reference does without: work that is done twice, a loop that runs more often, or results that are computed again.".to_owned(),
        kernel: "A faster kernel would not make up for calls that are not needed.".to_owned(),
        reasoning: [Some(evidence), per_call].into_iter().flatten().collect(),
        times,
        saving: Some(Saving {
            matching_ns: saved_ns,
            roof_ns: None,
        }),
        replay: None,
        subject: Subject::Operations(rows),
    })
}

#[cfg(test)]
mod tests {
    use crate::compare::comparison::Comparison;
    use crate::compare::testing::sides;
    use crate::testing::Timetable;

    /// A step of four calls of 100 µs of each operator, and of four more products.
    fn step(more: u32) -> Timetable {
        let mut table = Timetable::new().annotation("ProfilerStep#7", 0..500);
        let ops = ["aten::mm", "aten::add", "aten::_softmax"]
            .iter()
            .zip([4 + more, 4, 4]);
        let calls = ops.flat_map(|(op, n)| (0..n).map(move |_| op));
        for (at, op) in (1_u32..).zip(calls) {
            table = table
                .op(op, at * 10..at * 10 + 9)
                .launch(at, at * 10 + 1..at * 10 + 2)
                .kernel(at, "kernel", 1_000 + at * 100..1_100 + at * 100);
        }
        table
    }

    #[test]
    fn more_calls_in_as_many_steps_are_found_and_counted() {
        sides(&step(0), &step(4), Some(("H100", "H100")), |sides| {
            let comparison = Comparison::new(sides.reference, sides.target);
            let [gap] = &comparison.gaps.ranked[..] else {
                panic!("{:#?}", comparison.gaps.ranked);
            };
            assert_eq!(gap.pattern, "more_calls");
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
            assert_eq!(gap.saving.map(|saving| saving.matching_ns), Some(400_000));
        });
    }
}
