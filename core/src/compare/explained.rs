//! How much of the whole difference the hardware explains.

use super::expected::Verdict;
use super::ops::{MatchedOp, Operations};
use super::pair::Pair;

/// Kernel times of the operations that something is predicted of, added up.
///
/// From the reference's time to the one that is expected of the target is what the hardware
/// explains; from there to the target's time is what it does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Explained {
    /// How many operations something is predicted of.
    pub n_operations: usize,
    /// Their measured times.
    pub times: Pair<i64>,
    /// The time that is expected of the target, for as many calls as it makes.
    pub expected_ns: i64,
}

impl Explained {
    pub(super) fn of(operations: &Operations) -> Explained {
        let mut explained = Explained::default();
        for op in &operations.matched {
            if let Some(expected_ns) = expected_ns(op) {
                explained.n_operations += 1;
                explained.times = explained.times.plus(op.times());
                explained.expected_ns = explained.expected_ns.saturating_add(expected_ns);
            }
        }
        explained
    }

    /// What the hardware makes of the reference's time.
    pub fn by_hardware_ns(&self) -> i64 {
        self.expected_ns.saturating_sub(self.times.reference)
    }

    /// What the target takes beyond what is expected; negative where it takes less.
    pub fn beyond_ns(&self) -> i64 {
        self.times.target.saturating_sub(self.expected_ns)
    }
}

/// The kernel time that is expected of all calls of the target; `None` where nothing is predicted.
pub(super) fn expected_ns(op: &MatchedOp) -> Option<i64> {
    let expected = op.judgement.expected?;
    let per_call = op.sides.reference.ns_per_call() * expected;
    Some((per_call * op.sides.target.calls as f64).round() as i64)
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
            let mut count = VerdictCount {
                verdict,
                n_operations: 0,
                times: Pair::default(),
            };
            for op in ops {
                count.n_operations += 1;
                count.times = count.times.plus(op.times());
            }
            count
        });
        counts.filter(|count| count.n_operations > 0).collect()
    }
}
