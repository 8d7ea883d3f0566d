//! How much of the whole difference the hardware explains.

use super::expected::Verdict;
use super::ops::{MatchedOp, Operations};
use super::pair::Pair;

/// Kernel times of the operations that something is predicted of, added up.
///
/// From the reference's time to the target's there are four steps: another number of calls (of
/// those whose time is known), another work of each, other hardware; and what is left, which nothing
/// of these explains.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Explained {
    /// How many operations something is predicted of.
    pub n_operations: usize,
    /// Their measured times.
    pub times: Pair<i64>,
    /// The reference's time for as many calls as the target makes.
    pub held_ns: i64,
    /// The same for the work that the target's calls do, on the reference's hardware.
    pub work_ns: i64,
    /// The time that is expected of the target: the same on its hardware.
    pub expected_ns: i64,
}

impl Explained {
    pub(crate) fn of(operations: &Operations) -> Explained {
        let mut explained = Explained::default();
        for op in &operations.matched {
            let Some(expected) = op.judgement.expected.filter(|_| is_timed(op)) else {
                continue;
            };
            let held = op.held_ns();
            let add = |to: &mut i64, ns: f64| *to = to.saturating_add(ns.round() as i64);
            explained.n_operations += 1;
            explained.times = explained.times.plus(op.times());
            add(&mut explained.held_ns, held);
            add(&mut explained.work_ns, held * op.judgement.work_ratio);
            add(&mut explained.expected_ns, held * expected);
        }
        explained
    }

    /// What another number of calls makes of the reference's time.
    pub fn by_calls_ns(&self) -> i64 {
        self.held_ns.saturating_sub(self.times.reference)
    }

    /// What other work of the calls makes of it.
    pub fn by_work_ns(&self) -> i64 {
        self.work_ns.saturating_sub(self.held_ns)
    }

    /// What the hardware makes of it.
    pub fn by_hardware_ns(&self) -> i64 {
        self.expected_ns.saturating_sub(self.work_ns)
    }

    /// What the target takes beyond what is expected; negative where it takes less.
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
    /// The verdict; of those that are not judged, whatever the reason.
    pub verdict: Verdict,
    /// How many.
    pub n_operations: usize,
    /// Their kernel times.
    pub times: Pair<i64>,
}

impl Operations {
    /// How many operations of both traces have which verdict, the most urgent first.
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
            let ops = ops.filter(|op| op.judgement.verdict.key() == verdict.key());
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

    /// So many products of M × 4096 × 4096, each for so many microseconds.
    fn products(n: usize, m: u32, us: u32) -> Timetable {
        let args = format!(
            r#""Input Dims": [[{m}, 4096], [4096, 4096]], "Input type": ["c10::BFloat16", "c10::BFloat16"]"#
        );
        run(vec![("aten::mm", args.as_str(), "gemm", us); n])
    }

    /// By calls, by work, by hardware and beyond, in microseconds.
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
            // Two calls less.
            (products(1, 4096, 200), "H100", [-400.0, 0.0, 0.0, 0.0]),
            // And 989.4 TFLOPS for 1307.4 by peaks: 200 µs become 151.4.
            (
                products(1, 4096, 280),
                "MI300X",
                [-400.0, 0.0, -48.6, 128.6],
            ),
            // Twice the work of each.
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
