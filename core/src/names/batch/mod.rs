//! What serving engines and diffusion runners write into the name of the annotation around a step:
//! the batch that it works on.
//!
//! Of each request i of a step q_i tokens are computed, and attend to k_i tokens: earlier ones and
//! those q_i, so that a request that grows by a token and has 9 in the cache has k = 10. An
//! annotation has sums over its requests, for those that are read in (context) and those that
//! grow (generation): sq = Σ q, sk = Σ k, sqsq = Σ q², sqsk = Σ q·k.

mod grammar;

use crate::base::labels::labelled;

pub use grammar::{parse, without_own_words};

labelled! {
    /// Who writes such annotations.
    pub enum Engine {
        /// vLLM.
        Vllm => "vLLM" as "vllm",
        /// SGLang.
        Sglang => "SGLang" as "sglang",
        /// ATOM.
        Atom => "ATOM" as "atom",
        /// Diffusion pipelines.
        Xdit => "xDiT" as "xdit",
    }
}

impl Engine {
    /// What has it record the capture of its graphs, in code font.
    pub(crate) fn capture_flags(self) -> &'static str {
        match self {
            Engine::Vllm => {
                "`--profiler-config.capture_torch_profiler True --profiler-config.detailed_trace_annotation True`"
            }
            Engine::Sglang => "`--enable-profile-cuda-graph`",
            Engine::Atom => "`--mark-trace`, with `ATOM_PROFILER_MORE=1`",
            Engine::Xdit => "`--profile_capture_phase`",
        }
    }

    /// What chooses the sizes that its graphs are captured for, in code font.
    pub(crate) fn graph_sizes_flags(self) -> Option<&'static str> {
        match self {
            Engine::Vllm => Some("`cudagraph_capture_sizes` in `--compilation-config`"),
            Engine::Sglang => Some("`--cuda-graph-bs`, `--cuda-graph-max-bs`"),
            Engine::Atom | Engine::Xdit => None,
        }
    }

    /// What lets it launch kernel by kernel, without graphs, in code font.
    pub(crate) fn eager_flag(self) -> Option<&'static str> {
        match self {
            Engine::Vllm | Engine::Atom => Some("`--enforce-eager`"),
            Engine::Sglang => Some("`--disable-cuda-graph`"),
            Engine::Xdit => None,
        }
    }
}

labelled! {
    /// How much an annotation says. Where a trace has detailed ones, plain ones name no steps: an
    /// engine may write both around the same step.
    pub enum Tier {
        /// Requests, and tokens at most.
        Plain => "plain",
        /// With the sums that the work of attention depends on.
        Detailed => "detailed",
    }
}

labelled! {
    /// What the requests of a step do.
    pub enum Phase {
        /// All are read in: context only.
        Prefill => "prefill" as "prefill",
        /// All grow: generation only.
        Decode => "decode" as "decode",
        /// Some of both, or nothing tells which.
        Mixed => "mixed" as "mixed",
        /// Tokens are drafted, which another model then verifies.
        Draft => "draft" as "draft",
        /// There are none.
        Idle => "idle" as "idle",
        /// Images are made.
        Diffusion => "diffusion" as "diffusion",
    }
}

/// Sums over the requests of one phase; `None` for what the annotation does not say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sums {
    /// How many.
    pub requests: Option<u64>,
    /// Tokens that are computed.
    pub sq: Option<u64>,
    /// Tokens that are attended to, the new ones included.
    pub sk: Option<u64>,
    /// Σ q².
    pub sqsq: Option<u64>,
    /// Σ q·k.
    pub sqsk: Option<u64>,
}

impl Sums {
    /// No requests.
    pub const NONE: Sums = Sums {
        requests: Some(0),
        sq: Some(0),
        sk: Some(0),
        sqsq: Some(0),
        sqsk: Some(0),
    };

    /// Pairs of a query and a key, where each query sees its own token and all before it.
    fn causal_pairs(&self) -> Option<f64> {
        let [sq, sqsq, sqsk] = [self.sq?, self.sqsq?, self.sqsk?].map(|sum| sum as f64);
        Some(sqsk - (sqsq - sq) / 2.0)
    }
}

/// Images that a diffusion pipeline makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Images {
    /// How many at once.
    pub batch: u64,
    /// In pixels.
    pub height: u64,
    /// In pixels.
    pub width: u64,
}

/// The batch of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Batch {
    /// Who wrote it.
    pub engine: Engine,
    /// How much it says.
    pub tier: Tier,
    /// What its requests do.
    pub phase: Phase,
    /// Requests that are read in.
    pub context: Sums,
    /// Requests that grow.
    pub generation: Sums,
    /// Of context and generation together, where the annotation does not tell them apart.
    pub both: Sums,
    /// The number of requests that the step's graph was captured for, where it is larger.
    pub padded_to: Option<u64>,
    /// What a diffusion pipeline makes.
    pub images: Option<Images>,
    /// The annotation says that tokens are drafted or verified.
    pub is_speculative: bool,
}

impl Batch {
    fn sum(&self, of: fn(&Sums) -> Option<u64>) -> Option<u64> {
        let parts = of(&self.context).zip(of(&self.generation));
        let sum = parts.and_then(|(context, generation)| context.checked_add(generation));
        sum.or_else(|| of(&self.both))
    }

    /// All requests.
    pub fn requests(&self) -> Option<u64> {
        self.sum(|sums| sums.requests)
    }

    /// Tokens that are computed.
    pub fn tokens(&self) -> Option<u64> {
        self.sum(|sums| sums.sq)
    }

    /// Tokens that are attended to, the new ones included.
    pub fn kv_tokens(&self) -> Option<u64> {
        self.sum(|sums| sums.sk)
    }

    /// Tokens that are attended to and not computed: of the cache, or of earlier chunks.
    pub fn cached_tokens(&self) -> Option<u64> {
        self.kv_tokens()?.checked_sub(self.tokens()?)
    }

    /// Tokens that a request attends to in the mean, of those that grow.
    pub fn mean_context(&self) -> Option<f64> {
        let (sk, requests) = (self.generation.sk?, self.generation.requests?);
        (requests > 0).then(|| sk as f64 / requests as f64)
    }

    /// Pairs of a query and a key that attention computes, of context and of generation.
    pub fn pairs(&self) -> Option<[f64; 2]> {
        let grows_by_one = self.generation.sq? <= self.generation.requests?;
        let generation = match grows_by_one {
            true => self.generation.sqsk.map(|pairs| pairs as f64),
            false => self.generation.causal_pairs(),
        };
        Some([self.context.causal_pairs()?, generation?])
    }

    /// Whether tokens are drafted and verified, so that fewer are put out than are computed.
    pub fn speculates(&self) -> bool {
        let tokens = self.generation.sq.zip(self.generation.requests);
        self.is_speculative || tokens.is_some_and(|(tokens, requests)| tokens > requests)
    }

    /// Whether it says what the work of attention depends on.
    pub fn has_lengths(&self) -> bool {
        self.tier == Tier::Detailed && self.tokens().is_some_and(|tokens| tokens > 0)
    }
}
