//! Model sizes from a configuration: the `config.json` of a language model or of the transformer of a diffusion
//! pipeline, as written by Hugging Face.
//!
//! ```json
//! {
//!   "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 4096,
//!   "intermediate_size": 14336, "num_hidden_layers": 32, "num_attention_heads": 32,
//!   "num_key_value_heads": 8, "vocab_size": 128256, "hidden_act": "silu", "torch_dtype": "bfloat16"
//! }
//! ```
//!
//! It is recognized by `architectures`, or by `_class_name` for diffusion. Unknown keys are ignored; an error for a
//! missing required key says what cannot be computed without it.

mod keys;
mod proved;
mod roles;
#[cfg(test)]
mod tests;
mod weights;

pub use keys::{MAX_FILE_BYTES, is_config, parse};
pub(crate) use proved::proved;
pub(crate) use roles::Matrix;
pub use roles::Role;
pub(crate) use weights::Weights;

/// The sizes of a model.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelConfig {
    /// Its name: that of a known model, else from the file.
    pub name: String,
    /// Its sizes.
    pub kind: ModelKind,
}

/// The sizes of a model, by its kind.
#[derive(Debug, Clone, PartialEq)]
pub enum ModelKind {
    /// A language model: layers of attention, each followed by an MLP or by experts.
    Language(Box<LanguageModel>),
    /// The transformer of a diffusion pipeline.
    Diffusion(DiffusionModel),
}

/// A language model.
#[derive(Debug, Clone, PartialEq)]
pub struct LanguageModel {
    /// The family, named like its source file in serving engines: "gpt_oss".
    pub family: String,
    /// Number of layers.
    pub layers: u64,
    /// Hidden size.
    pub hidden: u64,
    /// Inner size of an MLP; `None` if every layer has experts.
    pub inner: Option<u64>,
    /// Whether the MLP has a gate projection; `None` if the file does not say.
    pub is_gated: Option<bool>,
    /// Number of query heads.
    pub heads: u64,
    /// Number of key and value heads.
    pub kv_heads: u64,
    /// Head dimension.
    pub head_dim: u64,
    /// Vocabulary size.
    pub vocab: u64,
    /// Multi-head latent attention (MLA).
    pub latent: Option<Latent>,
    /// Layers with a sliding window.
    pub window: Option<Windows>,
    /// Mixture of experts.
    pub experts: Option<Experts>,
    /// The type of activations, as the profiler writes it.
    pub dtype: &'static str,
    /// How weights are stored, if not in the type of activations.
    pub(crate) weights: Option<Weights>,
}

/// Sizes of multi-head latent attention.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Latent {
    /// Latent size of keys and values (`kv_lora_rank`).
    pub kv_rank: u64,
    /// Latent size of queries (`q_lora_rank`); `None` if queries have no latent.
    pub q_rank: Option<u64>,
    /// Head dimension of the part without rotary embedding.
    pub nope: u64,
    /// Head dimension of the part with rotary embedding.
    pub rope: u64,
    /// Head dimension of values.
    pub values: u64,
}

/// Layers with a sliding window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Windows {
    /// Number of keys that a query attends to.
    pub size: u64,
    /// By layer; a shorter list repeats.
    pub layers: Vec<bool>,
}

/// A mixture of experts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Experts {
    /// Number of experts.
    pub n: u64,
    /// Number of experts per token.
    pub chosen: u64,
    /// Inner size of an expert.
    pub inner: u64,
    /// Total inner size of shared experts; 0 if there are none.
    pub shared_inner: u64,
    /// This many layers at the start have an MLP instead of experts.
    pub first_dense: u64,
}

/// The transformer of a diffusion pipeline: double-stream blocks, then single-stream blocks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiffusionModel {
    /// Its class: "FluxTransformer2DModel".
    pub class: String,
    /// Number of blocks with separate weights for image and text.
    pub double_blocks: u64,
    /// Number of blocks with one set of weights.
    pub single_blocks: u64,
    /// Number of heads.
    pub heads: u64,
    /// Head dimension.
    pub head_dim: u64,
    /// Hidden size of the text encoder.
    pub text_width: Option<u64>,
    /// Channels of an image token, or of a pixel if the model splits the image into patches.
    pub channels: Option<u64>,
    /// Side length of a patch.
    pub patch: u64,
    /// Inner size of an MLP.
    pub inner: u64,
    /// Whether the GEMMs of its blocks are known: image and text with separate MLPs, then both combined.
    pub has_known_blocks: bool,
    /// Whether the last double-stream block outputs only the image.
    pub drops_text: bool,
}

impl ModelConfig {
    /// The language model, if it is one.
    pub fn language(&self) -> Option<&LanguageModel> {
        match &self.kind {
            ModelKind::Language(model) => Some(model),
            ModelKind::Diffusion(_) => None,
        }
    }

    /// The diffusion model, if it is one.
    pub fn diffusion(&self) -> Option<&DiffusionModel> {
        match &self.kind {
            ModelKind::Language(_) => None,
            ModelKind::Diffusion(model) => Some(model),
        }
    }
}

impl LanguageModel {
    /// The window of a layer, counted from 0.
    pub fn window_of(&self, layer: usize) -> Option<u64> {
        let windows = self.window.as_ref()?;
        let at = layer.checked_rem(windows.layers.len())?;
        windows.layers.get(at).filter(|sees| **sees)?;
        Some(windows.size)
    }

    /// The experts of a layer, counted from 0.
    pub(crate) fn experts_of(&self, layer: usize) -> Option<Experts> {
        self.experts
            .filter(|experts| layer as u64 >= experts.first_dense)
    }
}

impl DiffusionModel {
    /// Hidden size.
    pub fn hidden(&self) -> u64 {
        self.heads.saturating_mul(self.head_dim)
    }
}
