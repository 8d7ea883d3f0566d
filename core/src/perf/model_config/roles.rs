//! Roles of kernels in a layer, and their sizes according to a configuration.

use super::LanguageModel;
use crate::base::labels::labeled;

labeled! {
    /// What a kernel computes in its layer.
    pub enum Role {
        /// Queries, keys and values in one GEMM.
        Qkv => "QKV projection" as "qkv",
        /// Queries.
        Query => "query projection" as "query",
        /// Keys.
        Key => "key projection" as "key",
        /// Values.
        Value => "value projection" as "value",
        /// From hidden states to the latents of queries, keys and values.
        LatentDown => "latent down-projection" as "latent_down",
        /// From the latent of queries to queries.
        QueryUp => "query up-projection" as "query_up",
        /// From queries to the key latent, per head.
        KeyAbsorbed => "absorbed key projection" as "key_absorbed",
        /// From the value latent to values, per head.
        ValueAbsorbed => "absorbed value projection" as "value_absorbed",
        /// Attention over the whole context.
        Attention => "attention" as "attention",
        /// Attention over a sliding window.
        WindowedAttention => "attention, sliding window" as "windowed_attention",
        /// From attention to the hidden size.
        Output => "attention output projection" as "output",
        /// Gate and up projection in one GEMM.
        GateUp => "gate-up projection" as "gate_up",
        /// The gate.
        Gate => "gate projection" as "gate",
        /// To the inner size.
        Up => "up projection" as "up",
        /// Back to the hidden size.
        Down => "down projection" as "down",
        /// Gate and up projection of the shared experts.
        SharedGateUp => "shared-expert gate-up projection" as "shared_gate_up",
        /// Their down projection.
        SharedDown => "shared-expert down projection" as "shared_down",
        /// Scores experts.
        Router => "router" as "router",
        /// Gate and up projection of experts.
        ExpertsUp => "MoE gate-up GEMM" as "experts_up",
        /// Down projection of experts.
        ExpertsDown => "MoE down GEMM" as "experts_down",
        /// Both in one kernel.
        ExpertsFused => "MoE GEMMs" as "experts_fused",
        /// Selects experts.
        TopK => "top-k" as "top_k",
        /// Sorts tokens by expert.
        Sort => "MoE token sort" as "sort",
        /// Sums the results of experts.
        Combine => "MoE combine" as "combine",
        /// Pads tokens for experts.
        Pad => "MoE padding" as "pad",
        /// A norm over the hidden size.
        Norm => "norm" as "norm",
        /// Rotary embedding of queries and keys.
        Rope => "RoPE" as "rope",
        /// Writes new keys and values to the cache.
        Store => "KV cache store" as "store",
        /// The activation between gate-up and down projection.
        Activation => "activation" as "activation",
        /// From the hidden size to the vocabulary.
        LmHead => "LM head" as "lm_head",
        /// Queries, keys or values, in separate GEMMs.
        AttentionInput => "query, key or value projection" as "attention_input",
        /// Queries, keys, values and the MLP's inner size in one GEMM.
        QkvAndUp => "QKV and up projection" as "qkv_and_up",
        /// A linear layer on the conditioning, one row per image.
        Modulation => "modulation" as "modulation",
        /// From both the MLP's inner size and attention to the hidden size.
        MlpAndOutput => "MLP and attention output projection" as "mlp_and_output",
        /// A GEMM with an unknown role.
        Linear => "linear layer" as "linear",
    }
}

impl Role {
    /// Whether it moves tokens to experts and back, as opposed to the expert GEMMs.
    pub(crate) fn is_routing(self) -> bool {
        matches!(self, Role::TopK | Role::Sort | Role::Pad | Role::Combine)
    }
}

/// The weights of a GEMM: `batch` matrices of K × N.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Matrix {
    pub(crate) batch: u64,
    pub(crate) n: u64,
    pub(crate) k: u64,
}

impl Matrix {
    fn new(n: u64, k: u64) -> Option<Matrix> {
        Matrix { batch: 1, n, k }.possible()
    }

    fn possible(self) -> Option<Matrix> {
        (self.batch > 0 && self.n > 0 && self.k > 0).then_some(self)
    }
}

/// One GPU's part of an evenly divided size; `None` if it is not divisible.
fn part(size: u64, gpus: u64) -> Option<u64> {
    (gpus > 0 && size.is_multiple_of(gpus)).then(|| size / gpus)
}

impl LanguageModel {
    /// Query heads, and key and value heads, on each of this many GPUs.
    pub(crate) fn heads_of(&self, gpus: u64) -> Option<(u64, u64)> {
        let kv_heads = match self.latent {
            Some(_) => 1,
            // If there are fewer heads than GPUs, they are replicated.
            None => part(self.kv_heads.max(gpus), gpus)?,
        };
        Some((part(self.heads, gpus)?, kv_heads))
    }

    /// The weights of a role on each of this many GPUs; `None` if it is not a GEMM of this model.
    pub(crate) fn matrix(&self, role: Role, gpus: u64) -> Option<Matrix> {
        let hidden = self.hidden;
        let (heads, kv_heads) = self.heads_of(gpus)?;
        let wide = |heads: u64| heads.saturating_mul(self.head_dim);
        let inner = || part(self.inner?, gpus);
        let shared = || part(self.experts?.shared_inner, gpus);
        match role {
            Role::Qkv => Matrix::new(wide(heads + 2 * kv_heads), hidden),
            Role::Query => Matrix::new(wide(heads), hidden),
            Role::Key | Role::Value => Matrix::new(wide(kv_heads), hidden),
            Role::LatentDown => {
                let latent = self.latent?;
                let width = latent.q_rank.unwrap_or(0) + latent.kv_rank + latent.rope;
                Matrix::new(width, hidden)
            }
            Role::QueryUp => {
                let latent = self.latent?;
                Matrix::new(heads * (latent.nope + latent.rope), latent.q_rank?)
            }
            Role::KeyAbsorbed => {
                let latent = self.latent?;
                let (batch, n, k) = (heads, latent.kv_rank, latent.nope);
                Matrix { batch, n, k }.possible()
            }
            Role::ValueAbsorbed => {
                let latent = self.latent?;
                let (batch, n, k) = (heads, latent.values, latent.kv_rank);
                Matrix { batch, n, k }.possible()
            }
            Role::Output => {
                let of_head = self.latent.map_or(self.head_dim, |latent| latent.values);
                Matrix::new(hidden, heads.saturating_mul(of_head))
            }
            Role::GateUp => Matrix::new(2 * inner()?, hidden),
            Role::Gate | Role::Up => Matrix::new(inner()?, hidden),
            Role::Down => Matrix::new(hidden, inner()?),
            Role::SharedGateUp => Matrix::new(2 * shared()?, hidden),
            Role::SharedDown => Matrix::new(hidden, shared()?),
            Role::Router => Matrix::new(self.experts?.n, hidden),
            Role::LmHead => Matrix::new(self.vocab.div_ceil(gpus.max(1)), hidden),
            _ => None,
        }
    }

    /// The module of a role's weights, as named in lists of modules that are not quantized; `None` for those that never
    /// are.
    pub(crate) fn module(role: Role) -> Option<&'static str> {
        match role {
            Role::Router | Role::LmHead | Role::KeyAbsorbed | Role::ValueAbsorbed => None,
            Role::ExpertsUp | Role::ExpertsDown | Role::ExpertsFused => Some("experts"),
            Role::GateUp | Role::Gate | Role::Up | Role::Down => Some("mlp"),
            Role::SharedGateUp | Role::SharedDown => Some("shared_expert"),
            _ => Some("attn"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::perf::model_config::{parse, tests::GPT_OSS};

    /// N × K of a role on each of this many GPUs.
    fn sizes(text: &str, role: Role, gpus: u64) -> Option<(u64, u64)> {
        let config = parse(text).unwrap();
        let matrix = config.language().unwrap().matrix(role, gpus)?;
        Some((matrix.n, matrix.k))
    }

    #[test]
    fn weights_are_shared_out() {
        for (role, one, eight) in [
            (Role::Qkv, Some((5120, 2880)), Some((640, 2880))),
            (Role::Output, Some((2880, 4096)), Some((2880, 512))),
            (Role::Router, Some((32, 2880)), Some((32, 2880))),
            (Role::LmHead, Some((201_088, 2880)), Some((25_136, 2880))),
            // Every layer has experts.
            (Role::SharedDown, None, None),
        ] {
            let sizes = [1, 8].map(|gpus| sizes(GPT_OSS, role, gpus));
            assert_eq!(sizes, [one, eight], "{role:?}");
        }
        // Key and value heads are replicated if there are fewer than GPUs: (4 + 2) · 64.
        assert_eq!(sizes(GPT_OSS, Role::Qkv, 16), Some((384, 2880)));
        assert_eq!(sizes(GPT_OSS, Role::Qkv, 3), None);
    }

    #[test]
    fn latents_of_attention() {
        let text = r#"{"architectures": ["DeepseekV3ForCausalLM"], "hidden_size": 7168, "num_hidden_layers": 61,
            "num_attention_heads": 128, "vocab_size": 129280, "intermediate_size": 18432, "kv_lora_rank": 512,
            "q_lora_rank": 1536, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128}"#;
        for (role, expected) in [
            (Role::LatentDown, (2112, 7168)),
            (Role::QueryUp, (3072, 1536)),
            (Role::KeyAbsorbed, (512, 128)),
            (Role::ValueAbsorbed, (128, 512)),
            (Role::Output, (7168, 2048)),
        ] {
            assert_eq!(sizes(text, role, 8), Some(expected), "{role:?}");
        }
    }
}
