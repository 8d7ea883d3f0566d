//! How much of the total difference the hardware explains.

use super::expected::Verdict;
use super::ops::{MatchedOp, Operations};
use super::pair::Pair;

/// The sum of kernel times over all operations with a prediction.
///
/// The difference from the reference's time to the target's has four parts: a different number of calls (counting calls
/// with known times), different work per call, different hardware, and the unexplained rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Explained {
    /// Number of operations with a prediction.
    pub n_operations: usize,
    /// Their measured times.
    pub times: Pair<i64>,
    /// The reference's time, scaled to the target's number of calls.
    pub scaled_ns: i64,
    /// The same for the work of the target's calls, on the reference's hardware.
    pub work_ns: i64,
    /// The expected time of the target: the same on its own hardware.
    pub expected_ns: i64,
}

impl Explained {
    pub(crate) fn of(operations: &Operations) -> Explained {
        let mut explained = Explained::default();
        for op in &operations.matched {
            let Some(expected) = op.judgment.expected.filter(|_| is_timed(op)) else {
                continue;
            };
            let scaled_ns = op.scaled_ns();
            let add = |to: &mut i64, ns: f64| *to = to.saturating_add(ns.round() as i64);
            explained.n_operations += 1;
            explained.times = explained.times.plus(op.times());
            add(&mut explained.scaled_ns, scaled_ns);
            add(&mut explained.work_ns, scaled_ns * op.judgment.work_ratio);
            add(&mut explained.expected_ns, scaled_ns * expected);
        }
        explained
    }

    /// The difference due to the number of calls.
    pub fn by_calls_ns(&self) -> i64 {
        self.scaled_ns.saturating_sub(self.times.reference)
    }

    /// The difference due to the work per call.
    pub fn by_work_ns(&self) -> i64 {
        self.work_ns.saturating_sub(self.scaled_ns)
    }

    /// The difference due to the hardware.
    pub fn by_hardware_ns(&self) -> i64 {
        self.expected_ns.saturating_sub(self.work_ns)
    }

    /// The target's time beyond the expected time; negative if it takes less.
    pub fn beyond_ns(&self) -> i64 {
        self.times.target.saturating_sub(self.expected_ns)
    }
}

/// Whether the time of a call is known in both traces.
fn is_timed(op: &MatchedOp) -> bool {
    let timed = op.sides.as_ref().map(|side| side.timed.count > 0);
    timed.reference && timed.target
}

/// Operations with a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VerdictCount {
    /// The verdict; operations that are not judged are counted together, regardless of the reason.
    pub verdict: Verdict,
    /// Number of operations.
    pub n_operations: usize,
    /// Their kernel times.
    pub times: Pair<i64>,
}

impl Operations {
    /// The number of matched operations for each verdict, most urgent first.
    pub fn verdicts(&self) -> Vec<VerdictCount> {
        use super::expected::NotJudged;
        let all = [
            Verdict::KernelIssue,
            Verdict::UnexpectedSlowdown,
            Verdict::ModeratelyBeyond,
            Verdict::ExplainedByHardware,
            Verdict::BetterThanPredicted,
            Verdict::TooSmallToJudge,
            Verdict::NotJudged(NotJudged::NoWorkModel),
        ];
        let counts = all.into_iter().map(|verdict| {
            let ops = self.matched.iter();
            let ops = ops.filter(|op| op.judgment.verdict.key() == verdict.key());
            VerdictCount {
                verdict,
                n_operations: ops.clone().count(),
                times: ops.map(MatchedOp::times).fold(Pair::default(), Pair::plus),
            }
        });
        counts.filter(|count| count.n_operations > 0).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{compared, run};
    use crate::testing::Timetable;

    /// This many GEMMs of M × 4096 × 4096, each with the given number of microseconds.
    fn products(n: usize, m: u32, us: u32) -> Timetable {
        let args = format!(
            r#""Input Dims": [[{m}, 4096], [4096, 4096]], "Input type": ["c10::BFloat16", "c10::BFloat16"]"#
        );
        run(vec![("aten::mm", args.as_str(), "gemm", us); n])
    }

    /// The parts due to calls, to work and to hardware, and the rest, in microseconds.
    fn steps(reference: &Timetable, target: &Timetable, on: &str) -> [f64; 4] {
        let explained = compared(reference, target, Some(("H100", on))).explained;
        let steps = [
            explained.by_calls_ns(),
            explained.by_work_ns(),
            explained.by_hardware_ns(),
            explained.beyond_ns(),
        ];
        assert_eq!(steps.iter().sum::<i64>(), explained.times.difference());
        steps.map(|ns| (ns as f64 / 100.0).round() / 10.0)
    }

    #[test]
    fn calls_and_work_are_no_hardware() {
        let reference = products(3, 4096, 200);
        for (target, on, expected) in [
            // Two calls fewer.
            (products(1, 4096, 200), "H100", [-400.0, 0.0, 0.0, 0.0]),
            // And 989.4 ÷ 1307.4 TFLOPS by peaks: 200 µs become 151.4.
            (
                products(1, 4096, 280),
                "MI300X",
                [-400.0, 0.0, -48.6, 128.6],
            ),
            // Twice the work per call.
            (products(3, 8192, 420), "H100", [0.0, 600.0, 0.0, 60.0]),
            // Twice the work, on the other GPU.
            (
                products(3, 8192, 560),
                "MI300X",
                [0.0, 600.0, -291.9, 771.9],
            ),
        ] {
            let found = steps(&reference, &target, on);
            let is_near = found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 0.2);
            assert!(is_near, "{found:?} for {expected:?}");
        }
    }
}
