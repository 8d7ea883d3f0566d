//! What figures of one basis predict for an operation.

use super::work::ComparedWork;
use super::{Judge, NotJudged, Prediction, RooflineTime, Sizes, Verdict};
use crate::compare::pair::{Pair, Which};
use crate::findings::is_tiny_batched;
use crate::hardware::Basis;
use crate::profile::operations::Operation;

/// An operation of both traces, with what its predictions follow from.
pub(super) struct Case<'a> {
    pub(super) judge: &'a Judge,
    pub(super) work: ComparedWork,
    pub(super) sizes: Sizes,
    /// Time of a call on the target over that on the reference.
    pub(super) actual: Option<f64>,
    pub(super) is_over_link: bool,
    /// Both calls are too short to be judged.
    pub(super) is_small: bool,
    /// The operation on the target.
    pub(super) of_target: Option<&'a Operation>,
}

impl Case<'_> {
    pub(super) fn rooflines(&self, basis: Basis) -> Pair<Option<RooflineTime>> {
        if self.is_over_link || self.sizes == Sizes::Unknown {
            return Pair::default();
        }
        let work = &self.work;
        Pair::of(|which| {
            let (works, n_calls) = (work.works.get(which), *work.n_calls.get(which));
            self.judge.roofline_time(which, works, n_calls, basis)
        })
    }

    pub(super) fn prediction(&self, rooflines: Pair<Option<RooflineTime>>) -> Prediction {
        let is_same = !self.work.differs && matches!(self.sizes, Sizes::Same | Sizes::Least);
        let expected = self.judge.expected_ratio(rooflines, is_same);
        let excess = self.actual.zip(expected);
        let excess = excess.map(|(actual, expected)| actual / expected);
        Prediction {
            expected,
            excess,
            verdict: match excess {
                _ if self.actual.is_none() => Verdict::NotJudged(NotJudged::NoTime),
                None => Verdict::NotJudged(self.reason_without_verdict(rooflines)),
                Some(_) if self.is_small => Verdict::TooSmallToJudge,
                Some(excess) => self.verdict(excess),
            },
        }
    }

    fn verdict(&self, excess: f64) -> Verdict {
        let lines = &self.judge.thresholds;
        let is_tiny = |operation| is_tiny_batched(operation, lines);
        if excess <= lines.compare_better_ratio {
            Verdict::BetterThanPredicted
        } else if excess <= lines.compare_explained_ratio {
            Verdict::ExplainedByHardware
        } else if excess < lines.compare_unexpected_ratio {
            Verdict::ModeratelyBeyond
        } else if excess >= lines.compare_kernel_issue_ratio && self.of_target.is_some_and(is_tiny)
        {
            Verdict::KernelIssue
        } else {
            Verdict::UnexpectedSlowdown
        }
    }

    fn reason_without_verdict(&self, rooflines: Pair<Option<RooflineTime>>) -> NotJudged {
        let has_gpu = self.judge.gpus.as_ref().map(Option::is_some);
        let has_bytes = self.work.works.as_ref().map(|works| {
            let mut all = works.iter();
            !works.is_empty() && all.all(|(work, _)| work.bytes.is_some_and(|bytes| bytes > 0.0))
        });
        match (has_gpu.reference, has_gpu.target) {
            _ if self.sizes == Sizes::Unknown => NotJudged::NoShapes,
            _ if self.is_over_link => NotJudged::OverLink,
            _ if self.sizes == Sizes::Other && self.judge.is_same_gpu => NotJudged::OtherSizes,
            (false, false) => NotJudged::NoProfiles,
            (false, true) => NotJudged::NoProfile(Which::Reference),
            (true, false) => NotJudged::NoProfile(Which::Target),
            _ if !has_bytes.reference || !has_bytes.target => NotJudged::NoWorkModel,
            _ if rooflines.reference.is_none() => NotJudged::NoFigure(Which::Reference),
            _ => NotJudged::NoFigure(Which::Target),
        }
    }
}
