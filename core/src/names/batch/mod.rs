//! Batches of steps, from the annotation names that serving engines and diffusion runners write around a step.
//!
//! A step computes q_i tokens for each request i, and these attend to k_i tokens: earlier ones and the q_i themselves.
//! A request that decodes one token with 9 in the cache has k = 10. An annotation contains sums over its requests,
//! separately for those in prefill (context) and in decode (generation): sq = Σ q, sk = Σ k, sqsq = Σ q², sqsk = Σ q·k.

mod grammar;

use crate::base::labels::labeled;

pub use grammar::parse;
pub(crate) use grammar::without_own_words;

labeled! {
    /// The engines that write such annotations.
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
    /// The settings that record graph capture, in code font.
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

    /// The settings of the sizes that graphs are captured for, in code font.
    pub(crate) fn graph_sizes_flags(self) -> Option<&'static str> {
        match self {
            Engine::Vllm => Some("`cudagraph_capture_sizes` in `--compilation-config`"),
            Engine::Sglang => Some("`--cuda-graph-bs`, `--cuda-graph-max-bs`"),
            Engine::Atom | Engine::Xdit => None,
        }
    }

    /// The flag that limits the tokens that are prefilled in a step, in code font.
    pub(crate) fn prefill_tokens_flag(self) -> Option<&'static str> {
        match self {
            Engine::Vllm => Some("`--max-num-batched-tokens`"),
            Engine::Sglang => Some("`--chunked-prefill-size`"),
            Engine::Atom | Engine::Xdit => None,
        }
    }

    /// The flag that launches kernels individually, without graphs, in code font.
    pub(crate) fn eager_flag(self) -> Option<&'static str> {
        match self {
            Engine::Vllm | Engine::Atom => Some("`--enforce-eager`"),
            Engine::Sglang => Some("`--disable-cuda-graph`"),
            Engine::Xdit => None,
        }
    }
}

labeled! {
    /// How detailed an annotation is. If a trace has detailed ones, plain ones do not count as steps: an engine may
    /// write both around the same step.
    pub enum Tier {
        /// Only the number of requests, and perhaps of tokens.
        Plain => "plain",
        /// With the sums that the FLOPs of attention depend on.
        Detailed => "detailed",
    }
}

labeled! {
    /// What the requests of a step do.
    pub enum Phase {
        /// All are in prefill: context only.
        Prefill => "prefill" as "prefill",
        /// All are in decode: generation only.
        Decode => "decode" as "decode",
        /// Both, or unknown.
        Mixed => "mixed" as "mixed",
        /// Draft tokens are generated, which another model then verifies.
        Draft => "draft" as "draft",
        /// There are no requests.
        Idle => "idle" as "idle",
        /// Images are generated.
        Diffusion => "diffusion" as "diffusion",
    }
}

/// Sums over the requests of one phase; `None` for values that the annotation does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sums {
    /// Number of requests.
    pub requests: Option<u64>,
    /// Tokens that are computed.
    pub sq: Option<u64>,
    /// Tokens that are attended to, including the new ones.
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

    /// Number of (query, key) pairs with a causal mask.
    fn causal_pairs(&self) -> Option<f64> {
        let [sq, sqsq, sqsk] = [self.sq?, self.sqsq?, self.sqsk?].map(|sum| sum as f64);
        Some(sqsk - (sqsq - sq) / 2.0)
    }
}

/// Images that a diffusion pipeline generates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Images {
    /// Batch size.
    pub batch: u64,
    /// In pixels.
    pub height: u64,
    /// In pixels.
    pub width: u64,
}

/// The batch of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Batch {
    /// The engine that wrote it.
    pub engine: Engine,
    /// How detailed it is.
    pub tier: Tier,
    /// What its requests do.
    pub phase: Phase,
    /// Requests in prefill.
    pub context: Sums,
    /// Requests in decode.
    pub generation: Sums,
    /// Context and generation combined, if the annotation does not separate them.
    pub both: Sums,
    /// The number of requests that the step's graph was captured for, if larger.
    pub padded_to: Option<u64>,
    /// What a diffusion pipeline generates.
    pub images: Option<Images>,
    /// Whether the annotation says that tokens are drafted or verified.
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

    /// Tokens that are attended to, including the new ones.
    pub fn kv_tokens(&self) -> Option<u64> {
        self.sum(|sums| sums.sk)
    }

    /// Average number of tokens that a request in decode attends to.
    pub(crate) fn mean_context(&self) -> Option<f64> {
        let (sk, requests) = (self.generation.sk?, self.generation.requests?);
        (requests > 0).then(|| sk as f64 / requests as f64)
    }

    /// Number of (query, key) pairs that attention computes, for context and for generation.
    pub fn pairs(&self) -> Option<[f64; 2]> {
        let grows_by_one = self.generation.sq? <= self.generation.requests?;
        let generation = match grows_by_one {
            true => self.generation.sqsk.map(|pairs| pairs as f64),
            false => self.generation.causal_pairs(),
        };
        Some([self.context.causal_pairs()?, generation?])
    }

    /// Whether speculative decoding is used, so that fewer tokens are output than computed.
    pub(crate) fn speculates(&self) -> bool {
        let tokens = self.generation.sq.zip(self.generation.requests);
        self.is_speculative || tokens.is_some_and(|(tokens, requests)| tokens > requests)
    }

    /// Whether it has the lengths that the FLOPs of attention depend on.
    pub(crate) fn has_lengths(&self) -> bool {
        self.tier == Tier::Detailed && self.tokens().is_some_and(|tokens| tokens > 0)
    }
}
