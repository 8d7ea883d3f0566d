//! A finding: what is slow, what to do about it, and what that is worth.

pub use super::impact::{Estimate, Impact, Projection, projections};
pub use crate::assess::severity::Priority;
use crate::base::labels::labelled;
use crate::base::value::Table;
use crate::trace::EventId;

/// What following a finding changes, beside the time of kernels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Effect {
    /// Kernels get shorter, or do not run.
    #[default]
    KernelTime,
    /// Kernels get fewer, so that the CPU launches them in time.
    FewerLaunches,
    /// All kernels get shorter, whatever they compute.
    FasterGpu,
    /// More is known; no time is saved by that alone.
    FirstStep,
    /// Nothing by itself: it says how much is left to save at most.
    Limit,
}

labelled! {
    /// How sure it is that a pattern is what it is called.
    pub enum Confidence {
        /// Names and operators say so.
        High => "high",
        /// One of both says so.
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
    /// Why, as half a sentence: "12.4 % of compute at 18 % of roofline".
    pub reason: String,
}

/// What is slow, what to do about it, and what that is worth.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Finding {
    /// The pattern, as files write it: "tiny_batched".
    pub pattern: &'static str,
    /// What following it changes, beside the time of kernels.
    pub effect: Effect,
    /// How much it matters.
    pub priority: Priority,
    /// How sure it is; `None` where nothing is left to guess.
    pub confidence: Option<Confidence>,
    /// A few words: "Tiny batched GEMMs".
    pub title: String,
    /// One sentence with the headline figures.
    pub issue: String,
    /// Why the longest of its operations takes longer than its roofline time, as the end of that sentence;
    /// empty where nothing is known.
    pub causes: String,
    /// What to change in the model or in how it is run: one sentence without its subject.
    pub model: String,
    /// What to ask of the kernel: one sentence.
    pub kernel: String,
    /// What the data shows, what it cannot show, sentence by sentence.
    pub reasoning: Vec<String>,
    /// Operations that show it, the longest first: positions in
    /// [`Profile::operations`](crate::Profile::operations).
    pub operations: Vec<usize>,
    /// Calls or GPU events that show it, for what is no operation.
    pub events: Vec<EventId>,
    /// The measured time that it is about: kernel time, of kernels that run at once added up.
    pub time_ns: i64,
    /// The share of the roofline that it reaches, weighted by time.
    pub efficiency_percent: Option<f64>,
    /// The GPU memory that it is about, in bytes; `None` where it is about time alone.
    pub memory_bytes: Option<u64>,
    /// Patterns of findings that count the time that it saves: where there is one, it counts there.
    pub counted_in: &'static [&'static str],
    /// What it saves; `None` where a trace cannot tell.
    pub impact: Option<Impact>,
    /// How much of the middle of the impact comes from which operation.
    pub savings: Vec<(usize, i64)>,
    /// Those of these operations of which it saves a time that other findings leave out.
    pub apart: Vec<usize>,
    /// For kernel engineers.
    pub replay: Option<Replay>,
    /// Evidence beyond the operations.
    pub tables: Vec<Table>,
}

impl Finding {
    /// What is wrong, and why: one sentence.
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

    /// Whether it names what only a program has that is written with PyTorch: its functions, switches and
    /// objects. What another profiler recorded has none of them.
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
        texts.any(|text| WORDS.iter().any(|word| text.contains(word)))
    }

    /// Whether following it saves time: to know FLOPs and bytes is a first step that saves none, and a
    /// limit is what all others save at most.
    pub fn says_what_to_do(&self) -> bool {
        !matches!(self.effect, Effect::FirstStep | Effect::Limit)
    }
}
