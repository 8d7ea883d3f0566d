//! The verdicts, and the reasons for having none.

use crate::compare::pair::Which;

/// Whether the hardware explains a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// As much slower or faster as the hardware predicts.
    ExplainedByHardware,
    /// Slower than the hardware predicts, by less than twice.
    ModeratelyBeyond,
    /// At least twice as slow as the hardware predicts.
    UnexpectedSlowdown,
    /// Many times as slow as predicted, for GEMMs so small that the kernel choice is decisive.
    KernelIssue,
    /// Faster than the hardware predicts: the reference may be slow here.
    BetterThanPredicted,
    /// So short on both sides that the launch overhead dominates.
    TooSmallToJudge,
    /// There is no prediction.
    NotJudged(NotJudged),
}

impl Verdict {
    /// The key in files, the label, and the sentence about a call.
    #[rustfmt::skip]
    fn texts(self) -> [&'static str; 3] {
        match self {
            Verdict::ExplainedByHardware => ["explained_by_hardware", "explained by hardware", "The hardware explains the difference."],
            Verdict::ModeratelyBeyond => ["moderately_beyond", "moderately beyond hardware", "A call is slower than the hardware explains, though by less than twice."],
            Verdict::UnexpectedSlowdown => ["unexpected_slowdown", "unexpected slowdown", "The hardware does not explain the time of a call: the cause is something other than the GPUs' peak rates."],
            Verdict::KernelIssue => ["kernel_issue", "kernel issue very likely", "Far from what the hardware explains, on tiny batched GEMMs: very likely the choice of the kernel."],
            Verdict::BetterThanPredicted => ["better_than_predicted", "better than predicted", "Faster than the hardware predicts from the reference, which may be slow here."],
            Verdict::TooSmallToJudge => ["too_small_to_judge", "too small to judge", "So short on both sides that launch overhead dominates: the ratio is not meaningful."],
            Verdict::NotJudged(_) => ["not_judged", "not judged", "Not judged."],
        }
    }

    /// The key in files.
    pub fn key(self) -> &'static str {
        self.texts()[0]
    }

    /// The label shown to users.
    pub fn label(self) -> &'static str {
        self.texts()[1]
    }

    /// The label where both traces may have run on the same hardware, which then predicts the same time.
    pub fn label_on(self, is_same_gpu: bool) -> &'static str {
        match self {
            Verdict::ExplainedByHardware if is_same_gpu => "about as expected",
            Verdict::ModeratelyBeyond if is_same_gpu => "moderately slower than expected",
            verdict => verdict.label(),
        }
    }

    pub(crate) fn sentence(self) -> &'static str {
        self.texts()[2]
    }

    /// Whether the difference was to be expected; `None` if unknown.
    pub fn is_expected(self) -> Option<bool> {
        match self {
            Verdict::ExplainedByHardware => Some(true),
            Verdict::ModeratelyBeyond
            | Verdict::UnexpectedSlowdown
            | Verdict::KernelIssue
            | Verdict::BetterThanPredicted => Some(false),
            Verdict::TooSmallToJudge | Verdict::NotJudged(_) => None,
        }
    }

    /// Whether the target is slower than the hardware predicts.
    pub fn is_slower_than_expected(self) -> bool {
        use Verdict::{KernelIssue, ModeratelyBeyond, UnexpectedSlowdown};
        matches!(self, ModeratelyBeyond | UnexpectedSlowdown | KernelIssue)
    }
}

/// Why there is no prediction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotJudged {
    /// No GPU profile for either trace.
    NoProfiles,
    /// No GPU profile for one of the traces.
    NoProfile(Which),
    /// No model counts its FLOPs or bytes.
    NoWorkModel,
    /// One of the GPUs has no figure for the arithmetic it needs.
    NoFigure(Which),
    /// It moves data between separate memories: the link is the limit, and there are no figures for links.
    OverLink,
    /// One of the traces was recorded without shapes, so sizes may differ.
    NoShapes,
    /// Sizes or types differ, and no model counts the work.
    OtherSizes,
    /// One of the traces has no time for it.
    NoTime,
}

impl NotJudged {
    /// The reason, to be used within a sentence.
    #[rustfmt::skip]
    pub fn label(self) -> &'static str {
        match self {
            NotJudged::NoProfiles => "no GPU profile is chosen",
            NotJudged::NoProfile(Which::Reference) => "no GPU profile for the reference",
            NotJudged::NoProfile(Which::Target) => "no GPU profile for the target",
            NotJudged::NoWorkModel => "no FLOP/byte model",
            NotJudged::NoFigure(Which::Reference) => "the reference's GPU has no figure for such arithmetic",
            NotJudged::NoFigure(Which::Target) => "the target's GPU has no figure for such arithmetic",
            NotJudged::OverLink => "it copies over a link, which is no figure of the GPU",
            NotJudged::NoShapes => "only one of the traces has its shapes, so that sizes may be other ones",
            NotJudged::OtherSizes => "sizes or types differ, and there is no FLOP/byte model",
            NotJudged::NoTime => "no time was measured",
        }
    }
}
