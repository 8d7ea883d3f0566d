//! The same kernels on the same GPU, all slower by a common factor: none of them is at fault.

use super::GapSubject;
use super::rule::{Candidate, GapRule, GapTable, matched, priority_of_run, times_of};
use super::savings::{all_as_predicted, is_fusible, is_slow_in_single_calls};
use crate::base::format;
use crate::base::interval::{percent_or_zero, sum};
use crate::base::sort::Arranged;
use crate::compare::comparison::Comparison;
use crate::compare::expected::Verdict;
use crate::compare::ops::MatchedOp;
use crate::compare::words;
use crate::hardware::roofline::Bound;
use crate::names::Family;

/// Its key in files.
pub(crate) const KEY: &str = "slower_machine";
/// With fewer operations, there is no common factor.
const LEAST_OPERATIONS: usize = 3;
/// The minimum share of kernel time of the matched computation that they must have.
const LEAST_PERCENT: f64 = 50.0;
/// Factors that differ by less count as equal.
const SAME: f64 = 0.05;
/// Factors from this one on are common ones if they are that of most of the kernel time.
const LEAST_FACTOR: f64 = 1.1;
/// A factor that the usual threshold would let pass has to be that of this share of the kernel time.
const LEAST_PERCENT_OF_SMALL: f64 = 80.0;
/// The least common factor: times of the same kernels vary by less.
const LEAST_SMALL_FACTOR: f64 = 1.02;
/// It has to be that of this share of the kernel time …
const LEAST_PERCENT_OF_LEAST: f64 = 90.0;
/// … and factors are equal that differ from it by this part of what it is above 1.
const SAME_PART: f64 = 1.0 / 3.0;

pub(super) const TABLE: GapTable = GapTable {
    title: "A slower machine",
    rules: &[
        GapRule {
            when: "most of the compute time is in kernels that take longer on the same GPU by one factor, and the target alone slows down during its run",
            applies: |_, candidate| candidate.has_word("slows_down"),
            title: "Kernels slow down during the run: {slows_down} the time",
            ..SLOWER
        },
        GapRule {
            when: "nearly all of the time of element-wise, normalization, reduction and copy kernels is in ones that take longer on the same GPU by one factor, and that of others is not",
            applies: |_, candidate| candidate.has_word("memory_bound"),
            title: "Memory-bound kernels take {factor} the time",
            ..SLOWER
        },
        SLOWER,
    ],
    candidates: |comparison| Vec::from_iter(candidate(comparison)),
};

const SLOWER: GapRule = GapRule {
    key: KEY,
    when: "most of the compute time is in kernels that take longer on the same GPU by one factor",
    applies: |_, _| true,
    title: "The same kernels take {factor} the time",
    issue: "{operations} take {time} on the target; as many calls of the same kernels on the same GPU take {reference} on the reference.",
    model: "{where}",
    kernel: "Both sides run the same kernels, so none of them is at fault: measure again at fixed clocks.",
    notes: &[
        "They take {share} of the compute time of the target, {names} first, and each is slower by about the same factor.",
        "Other operations that run the same kernels, {others} first, take {others_change} time than on the reference.",
        "{others_same}Other operations that run the same kernels, {others} first, take the same time as on the reference.",
        "During its run the target slows down: its kernels take {slows_down} as long in one part of the run as in the rest, as where a clock falls with temperature or power. Those of the reference do not.",
        "Why is not visible in a trace: the clocks of both runs tell.",
    ],
    saves: "what the target takes beyond the reference, up to what it takes beyond its own roofline",
};

/// The operations that are slower by a common factor, longest first; none unless they are most of the computation in
/// both traces, or nearly all that is memory-bound.
pub(super) fn rows(comparison: &Comparison) -> Vec<usize> {
    if !comparison.is_same_gpu {
        return Vec::new();
    }
    let explained = comparison.thresholds.compare_explained_ratio;
    let large = alike(
        comparison,
        |_| true,
        [LEAST_FACTOR, SAME],
        |factor| match factor > explained {
            true => LEAST_PERCENT,
            false => LEAST_PERCENT_OF_SMALL,
        },
    );
    if !large.is_empty() {
        return large;
    }
    let same = (LEAST_FACTOR - 1.0) * SAME_PART;
    let nearly_all = |_: f64| LEAST_PERCENT_OF_LEAST;
    let small = alike(comparison, |_| true, [LEAST_SMALL_FACTOR, same], nearly_all);
    if !small.is_empty() {
        return small;
    }
    let moves_data = |op: &MatchedOp| is_fusible(op.family);
    alike(comparison, moves_data, [LEAST_FACTOR, SAME], nearly_all)
}

/// The operations, of those that count, that are slower by one factor of at least the first size, with the second as
/// tolerance, if they have a share of the kernel time of those that suffices for the factor.
fn alike(
    comparison: &Comparison,
    counts: impl Fn(&MatchedOp) -> bool,
    [least, same]: [f64; 2],
    least_percent: impl Fn(f64) -> f64,
) -> Vec<usize> {
    let matched = &comparison.operations.matched;
    let computes = |op: &&MatchedOp| op.sides.target.is_computation() && counts(op);
    let all_ns = sum(matched.iter().filter(computes).map(|op| op.times().target));
    let slower = matched.iter().enumerate();
    // Where all kernels are slower in one part of the run, few calls of each are.
    let in_part = slows_down_alone(comparison).is_some();
    let slower = slower.filter(|(_, op)| {
        counts(op) && is_same_on_average(op) && (in_part || !is_slow_in_single_calls(op))
    });
    let mut slower = slower
        .filter_map(|(at, op)| Some((op.judgment.excess?, op.times().target, at)))
        .filter(|(excess, ..)| *excess >= least * (1.0 - same))
        .arranged_by(|a, b| a.0.total_cmp(&b.0));
    // The median factor, weighted by time.
    let half_ns = sum(slower.iter().map(|(_, ns, _)| *ns)) / 2;
    let mut so_far_ns = 0_i64;
    let middle = slower.iter().find(|(_, ns, _)| {
        so_far_ns = so_far_ns.saturating_add(*ns);
        so_far_ns >= half_ns
    });
    let Some(&(middle, ..)) = middle.filter(|(middle, ..)| *middle >= least) else {
        return Vec::new();
    };
    let same = same.min((middle - 1.0) * SAME_PART);
    slower.retain(|(excess, ..)| (excess / middle - 1.0).abs() <= same);
    let alike_ns = sum(slower.iter().map(|(_, ns, _)| *ns));
    let rows = slower.into_iter().map(|(.., at)| at).arranged();
    let is_most = percent_or_zero(alike_ns, all_ns) >= least_percent(middle);
    match rows.len() >= LEAST_OPERATIONS && is_most {
        true => rows,
        false => Vec::new(),
    }
}

/// How many times as long kernels take in one part of the run of the target, if those of the reference are steady.
fn slows_down_alone(comparison: &Comparison) -> Option<f64> {
    let slows_down = comparison.sides.as_ref().map(|side| side.slows_down);
    slows_down.target.filter(|_| slows_down.reference.is_none())
}

/// Whether both traces run an operation with the same kernels on the same work, for a time that can be compared.
pub(super) fn is_same_work(op: &MatchedOp) -> bool {
    op.judgment.verdict != Verdict::TooSmallToJudge && runs_same_work(op)
}

fn runs_same_work(op: &MatchedOp) -> bool {
    op.sides.target.is_computation() && !op.judgment.work_differs && op.runs_same_kernels()
}

/// The same for a time that can be compared on average alone: many short calls.
pub(super) fn is_same_on_average(op: &MatchedOp) -> bool {
    /// What single short calls vary by averages out over as many.
    const MANY: u64 = 16;
    let is_short = op.judgment.verdict == Verdict::TooSmallToJudge;
    let counts = op.sides.as_ref().map(|side| side.timed.count);
    let is_many = counts.reference >= MANY && counts.target >= MANY;
    is_same_work(op) || is_short && is_many && runs_same_work(op)
}

/// Whether all of them are of kinds that move more data than they compute.
fn move_data(ops: &[&MatchedOp]) -> bool {
    ops.iter().all(|op| is_fusible(op.family))
}

/// The GEMMs that are slower than another GPU explains, if nearly all of the time of GEMMs is in those, by one factor:
/// then none of their kernels is at fault.
pub(super) fn alike_gemms(comparison: &Comparison) -> Vec<usize> {
    const LEAST: usize = 3;
    const LEAST_PERCENT: f64 = 90.0;
    /// Factors that differ by less from their mean are the same.
    const SAME: f64 = 0.1;
    if comparison.is_same_gpu {
        return Vec::new();
    }
    let all = comparison.operations.matched.iter().enumerate();
    let gemms = all.filter(|(_, op)| op.family == Family::Gemm && op.sides.target.is_computation());
    let gemms: Vec<(usize, &MatchedOp)> = gemms.collect();
    let slower = gemms
        .iter()
        .filter(|(_, op)| op.judgment.verdict.is_slower_than_expected());
    let slower: Vec<(usize, f64, i64)> = slower
        .filter_map(|(at, op)| Some((*at, op.judgment.excess?, op.times().target)))
        .collect();
    let slower_ns = sum(slower.iter().map(|(.., ns)| *ns));
    let weighted: f64 = slower
        .iter()
        .map(|(_, excess, ns)| excess * *ns as f64)
        .sum();
    let mean = weighted / slower_ns.max(1) as f64;
    let alike = slower
        .iter()
        .filter(|(_, excess, _)| (excess / mean - 1.0).abs() <= SAME);
    let alike: Vec<&(usize, f64, i64)> = alike.collect();
    let alike_ns = sum(alike.iter().map(|(.., ns)| *ns));
    let all_ns = sum(gemms.iter().map(|(_, op)| op.times().target));
    let is_most = percent_or_zero(alike_ns, all_ns) >= LEAST_PERCENT;
    match alike.len() >= LEAST && is_most {
        true => alike.iter().map(|(at, ..)| *at).collect(),
        false => Vec::new(),
    }
}

/// What to look at, by what bounds the kernels that are slower and those that are not.
fn advice(ops: &[&MatchedOp], others: &[&MatchedOp]) -> &'static str {
    let bound = |op: &&MatchedOp| op.judgment.rooflines.target.map(|roofline| roofline.bound);
    let all = |ops: &[&MatchedOp], is: Bound| ops.iter().all(|op| bound(op) == Some(is));
    let only_data = move_data(ops) && !others.iter().any(|op| is_fusible(op.family));
    match others.is_empty() {
        true => {
            "Look at the machine before the model: clocks, power limit and temperature of the GPU, and what else runs on it."
        }
        false if all(ops, Bound::Compute) && all(others, Bound::Memory) => {
            "Look at the machine before the model: only compute-bound kernels are slower, as at a lower clock. See power limit and temperature of the GPU, and what else runs on it."
        }
        false if only_data || all(ops, Bound::Memory) && all(others, Bound::Compute) => {
            "Look at the machine before the model: only memory-bound kernels are slower. See the memory clock, and what else uses the memory of the GPU."
        }
        false => {
            "Not all kernels are slower, so clocks alone do not explain it: see what else runs at that time, and whether strides, alignment or data of the operands differ."
        }
    }
}

/// The operations that run the same kernels and are not slower, longest first.
fn others<'c>(comparison: &'c Comparison, rows: &[usize]) -> Vec<&'c MatchedOp> {
    let matched = comparison.operations.matched.iter().enumerate();
    let is_as_fast = |op: &MatchedOp| {
        let excess = op.judgment.excess;
        excess.is_some_and(|excess| excess < LEAST_FACTOR)
    };
    let others =
        matched.filter(|(at, op)| !rows.contains(at) && is_same_work(op) && is_as_fast(op));
    others.map(|(_, op)| op).collect()
}

fn candidate(comparison: &Comparison) -> Option<Candidate> {
    let rows = rows(comparison);
    let ops = matched(comparison, &rows);
    let others = others(comparison, &rows);
    let factor = ops.first()?.judgment.excess?;
    let times = times_of(&ops);
    let saving = all_as_predicted(&ops)?;
    let share = percent_or_zero(times.target, comparison.compute_ns.target);
    let reference_ns = sum(ops.iter().map(|op| op.scaled_ns().round() as i64));
    let mut words = vec![
        ("factor", words::times(factor)),
        ("operations", format::counted(ops.len() as u64, "operation")),
        ("time", format::time_ns(times.target)),
        ("reference", format::time_ns(reference_ns)),
        ("share", format::percent(share)),
        ("names", words::names(ops.iter().map(|op| op.name.as_str()))),
        ("where", advice(&ops, &others).to_owned()),
    ];
    if move_data(&ops) && !others.is_empty() {
        words.push(("memory_bound", String::new()));
    }
    if let Some(factor) = slows_down_alone(comparison) {
        words.push(("slows_down", words::times(factor)));
    }
    let scaled_ns = sum(others.iter().map(|op| op.scaled_ns().round() as i64));
    let others_ns = sum(others.iter().map(|op| op.sides.target.timed.ns));
    if let Some(ratio) = (scaled_ns > 0).then(|| others_ns as f64 / scaled_ns as f64) {
        let names = others.iter().map(|op| op.name.as_str());
        words.push(("others", words::names(names)));
        let change = (ratio - 1.0) * 100.0;
        words.push(match change.abs() < 0.05 {
            true => ("others_same", String::new()),
            false => ("others_change", words::change(change)),
        });
    }
    Some(Candidate {
        times,
        saving: Some(saving),
        priority: priority_of_run(comparison, saving.matching_ns),
        floor_ns: None,
        replay: None,
        words,
        subject: GapSubject::Operations(rows),
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
    fn a_target_that_slows_down_is_said_to_do_so() {
        const ARGS: &str =
            r#""Input Dims": [[64, 64], [64, 64]], "Input type": ["float", "float"]"#;
        let step = |percent: u32| {
            [
                ("aten::mm", ARGS, "gemm", 2 * percent),
                ("aten::add", ARGS, "add", percent),
                ("aten::mul", ARGS, "mul", percent),
            ]
        };
        let steps = |percents: [u32; 8]| run(percents.into_iter().flat_map(step));
        let steady = steps([100; 8]);
        let falling = steps([100, 100, 100, 100, 150, 150, 150, 150]);
        let said = |reference, target| {
            let ranked = compared(reference, target, H100).gaps.ranked;
            ranked[0].reasoning.join(" ")
        };
        let slows_down = "take 1.50× as long in one part of the run";
        assert!(said(&steady, &falling).contains(slows_down));
        let slower = steps([150; 8]);
        assert!(!said(&steady, &slower).contains("slows down"));
    }

    #[test]
    fn one_slow_part_of_a_run_is_one_finding() {
        const ARGS: &str =
            r#""Input Dims": [[64, 64], [64, 64]], "Input type": ["float", "float"]"#;
        let steps = |slow: usize| {
            let calls = (0..30).flat_map(|call| {
                let percent = if call / 3 == slow { 200 } else { 100 };
                let ops = [
                    ("aten::mm", "gemm", 4),
                    ("aten::add", "add", 2),
                    ("aten::mul", "mul", 2),
                ];
                ops.map(|(op, kernel, us)| (op, ARGS, kernel, us * percent))
            });
            run(calls)
        };
        // 2.4 ms more in one of ten steps: few calls of each operation, but all of them at one time.
        let ranked = compared(&steps(99), &steps(6), H100).gaps.ranked;
        assert_eq!(savings(&ranked), [("slower_machine", Some(2_400_000))]);
    }

    #[test]
    fn memory_bound_kernels_of_one_factor_are_one_finding() {
        let step = |percent: u32| {
            run([
                ("aten::mm", "", "gemm", 800),
                ("aten::add", "", "add", percent),
                ("aten::mul", "", "mul", percent),
                ("aten::native_layer_norm", "", "norm", percent),
            ])
        };
        let ranked = compared(&step(100), &step(130), H100).gaps.ranked;
        assert_eq!(savings(&ranked), [("slower_machine", Some(90_000))]);
        assert_eq!(ranked[0].title, "Memory-bound kernels take 1.30× the time");
    }

    #[test]
    fn many_short_calls_are_compared_on_average() {
        let kernels = |n: usize, us: u32| {
            let step = [("aten::mm", us), ("aten::add", us), ("aten::mul", us)];
            let calls = (0..n).flat_map(|_| step);
            run(calls.map(|(op, us)| (op, "", "kernel", us)))
        };
        // 48 calls of 4 µs that take 5.
        let ranked = compared(&kernels(16, 4), &kernels(16, 5), H100).gaps.ranked;
        assert_eq!(savings(&ranked), [("slower_machine", Some(48_000))]);
        assert_eq!(
            compared(&kernels(4, 4), &kernels(4, 5), H100).gaps.ranked,
            []
        );
    }

    #[test]
    fn one_factor_is_one_finding() {
        let one = found([200, 60, 40], [300, 90, 60]);
        assert_eq!(savings(&one), [("slower_machine", Some(150_000))]);
        assert_eq!(one[0].title, "The same kernels take 1.50× the time");
        // So is one that the threshold for a single operation lets pass, if nearly all operations have it.
        let small = found([200, 60, 40], [240, 72, 48]);
        assert_eq!(savings(&small), [("slower_machine", Some(60_000))]);
        // Even a small one, if factors hardly differ: single runs vary by less.
        let least = found([2_000, 600, 400], [2_080, 624, 416]);
        assert_eq!(savings(&least), [("slower_machine", Some(120_000))]);
        assert_eq!(least[0].title, "The same kernels take 1.04× the time");
        assert_eq!(found([2_000, 600, 400], [2_100, 600, 416]), []);
        assert_eq!(found([2_000, 600, 400], [2_020, 606, 404]), []);
        // Different factors are separate findings.
        let several = found([200, 60, 40], [300, 90, 120]);
        assert_eq!(several.len(), 3, "{several:?}");
        assert!(several.iter().all(|gap| gap.pattern != "slower_machine"));
    }
}
