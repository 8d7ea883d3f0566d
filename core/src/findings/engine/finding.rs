//! A finding: what is slow, what to do about it, and what that saves.

pub use super::impact::{Estimate, Impact, Projection, projections};
pub use crate::assess::severity::Priority;
use crate::base::labels::labeled;
use crate::base::value::Table;
use crate::names::words::contains_any;
use crate::trace::EventId;

/// What following a finding changes, besides the time of kernels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Effect {
    /// Kernels get shorter, or are eliminated.
    #[default]
    KernelTime,
    /// Fewer kernels, so that the CPU can launch them in time.
    FewerLaunches,
    /// All kernels get shorter, whatever they compute.
    FasterGpu,
    /// More becomes known; that alone saves no time.
    FirstStep,
    /// Nothing by itself: it is an upper bound for what is left to save.
    Limit,
}

labeled! {
    /// How certain it is that a pattern is classified correctly.
    pub enum Confidence {
        /// Names and operators agree.
        High => "high",
        /// Only one of them says so.
        Medium => "medium",
        /// Only order and shapes do.
        Low => "low",
    }
}

/// Whether kernel engineers should get a reproducer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replay {
    /// Recommended, not only offered.
    pub is_recommended: bool,
    /// The reason, as a phrase: "12.4 % of compute at 18 % of roofline".
    pub reason: String,
}

/// What is slow, what to do about it, and what that saves.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Finding {
    /// The name of the pattern in files: "tiny_batched".
    pub pattern: &'static str,
    /// What following it changes, besides the time of kernels.
    pub effect: Effect,
    /// How much it matters.
    pub priority: Priority,
    /// How certain it is; `None` where nothing is uncertain.
    pub confidence: Option<Confidence>,
    /// A few words: "Tiny batched GEMMs".
    pub title: String,
    /// One sentence with the headline figures.
    pub issue: String,
    /// Why the longest of its operations takes longer than its roofline time, as the end of that sentence; empty if
    /// unknown.
    pub causes: String,
    /// What to change in the model or how it is run: a sentence without its subject.
    pub model: String,
    /// What to change in the kernel: one sentence.
    pub kernel: String,
    /// Sentences about what the data shows and what it cannot show.
    pub reasoning: Vec<String>,
    /// The affected operations, longest first, as indices into [`Profile::operations`](crate::Profile::operations).
    pub operations: Vec<usize>,
    /// Affected calls or GPU events that belong to no operation.
    pub events: Vec<EventId>,
    /// The measured time that it is about: the sum of kernel times, including concurrent ones.
    pub time_ns: i64,
    /// The share of the roofline that it reaches, weighted by time.
    pub efficiency_percent: Option<f64>,
    /// The GPU memory that it is about, in bytes; `None` if it is only about time.
    pub memory_bytes: Option<u64>,
    /// Patterns of findings that already count the time that it saves; if one of them exists, only that counts.
    pub counted_in: &'static [&'static str],
    /// What may serve its cause: the pattern of the finding about that, and how much of its time does.
    pub includes: Vec<(&'static str, i64)>,
    /// What it saves; `None` where a trace does not show it, and where it saves no time.
    pub impact: Option<Impact>,
    /// It is known to save no time, as at roofline.
    pub saves_nothing: bool,
    /// How much of the middle of the impact comes from each operation.
    pub savings: Vec<(usize, i64)>,
    /// The operations for which it saves a part of the time that other findings do not touch.
    pub apart: Vec<usize>,
    /// The reproducer for kernel engineers.
    pub replay: Option<Replay>,
    /// Evidence beyond the operations.
    pub tables: Vec<Table>,
}

impl Finding {
    /// The problem and its causes, in one sentence.
    pub fn issue_with_causes(&self) -> String {
        match self.causes.is_empty() {
            true => self.issue.clone(),
            false => format!(
                "{}; causes: {}.",
                self.issue.trim_end_matches('.'),
                self.causes
            ),
        }
    }

    /// Whether it mentions anything specific to PyTorch: its functions, switches or objects. Recordings of other
    /// profilers have none of these.
    pub fn is_about_pytorch(&self) -> bool {
        #[rustfmt::skip]
        const WORDS: &[&str] = &[
            "torch", "Torch", "TORCH", "aten::", "DistributedDataParallel", "DataLoader", "ProfilerActivity",
            "SDPBackend", "expandable_segments", "pin_memory", "non_blocking", "foreach=", "fused=True",
            "reduce-overhead", "max-autotune", "cudagraph_mode", "contiguous()", ".item()", ".cpu()",
            "synchronize()", "zero_grad", "prefetch_factor", "bucket_view", "broadcast_buffers",
            "record_shapes", "with_stack", "attn_implementation", "is_causal",
        ];
        let texts = [
            &self.title,
            &self.issue,
            &self.causes,
            &self.model,
            &self.kernel,
        ];
        let mut texts = texts.into_iter().chain(&self.reasoning);
        texts.any(|text| contains_any(text, WORDS))
    }

    /// Names PyTorch's module for other devices than those of `torch.cuda`, which NVIDIA's and AMD's are.
    pub(crate) fn use_module(&mut self, module: &str) {
        let texts = [&mut self.model, &mut self.kernel].into_iter();
        for text in texts.chain(&mut self.reasoning) {
            for (before, after) in [("torch.", "."), ("device=\"", "\"")] {
                let cuda = format!("{before}cuda{after}");
                if text.contains(&cuda) {
                    *text = text.replace(&cuda, &format!("{before}{module}{after}"));
                }
            }
        }
    }

    /// Whether following it saves time by itself. Finding out FLOPs and bytes is a first step that saves none, and a
    /// limit is an upper bound for all other findings.
    pub fn says_what_to_do(&self) -> bool {
        !matches!(self.effect, Effect::FirstStep | Effect::Limit)
    }
}
