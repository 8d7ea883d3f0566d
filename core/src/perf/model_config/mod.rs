//! What a model's configuration says of its sizes: the `config.json` of a language model or of the
//! transformer of a diffusion pipeline, as Hugging Face writes it.
//!
//! ```json
//! {
//!   "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 4096,
//!   "intermediate_size": 14336, "num_hidden_layers": 32, "num_attention_heads": 32,
//!   "num_key_value_heads": 8, "vocab_size": 128256, "hidden_act": "silu", "torch_dtype": "bfloat16"
//! }
//! ```
//!
//! It is recognized by `architectures`, or by `_class_name` for diffusion. Keys that are not known
//! are left alone; one that has to be there and is missing is named, with what cannot be computed
//! without it.

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
    /// What it is called: the name of a known model, else what the file says.
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
    /// As engines name the file of its code: "gpt_oss".
    pub family: String,
    /// Layers.
    pub layers: u64,
    /// Hidden size.
    pub hidden: u64,
    /// Inner size of an MLP; `None` where every layer has experts.
    pub inner: Option<u64>,
    /// Whether a gate stands beside the up projection; `None` where the file does not say.
    pub is_gated: Option<bool>,
    /// Query heads.
    pub heads: u64,
    /// Heads of keys and values.
    pub kv_heads: u64,
    /// Head dimension.
    pub head_dim: u64,
    /// Tokens of the vocabulary.
    pub vocab: u64,
    /// Attention over a compressed latent.
    pub latent: Option<Latent>,
    /// Layers that see a sliding window.
    pub window: Option<Windows>,
    /// Mixture of experts.
    pub experts: Option<Experts>,
    /// The type of activations, as the profiler writes it.
    pub dtype: &'static str,
    /// How weights are stored where that is not the type of activations.
    pub(crate) weights: Option<Weights>,
}

/// Sizes of attention over a compressed latent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Latent {
    /// Width of the latent of keys and values.
    pub kv_rank: u64,
    /// Width of the latent of queries; `None` where queries have none.
    pub q_rank: Option<u64>,
    /// Width of a head without position.
    pub nope: u64,
    /// Width of a head with position.
    pub rope: u64,
    /// Width of a head's values.
    pub values: u64,
}

/// Layers that see a sliding window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Windows {
    /// Keys that a query sees.
    pub size: u64,
    /// By layer; a shorter list starts anew.
    pub layers: Vec<bool>,
}

/// A mixture of experts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Experts {
    /// All of them.
    pub n: u64,
    /// Of a token.
    pub chosen: u64,
    /// Inner size of one.
    pub inner: u64,
    /// Inner size of those that every token has, together; 0 where there are none.
    pub shared_inner: u64,
    /// So many layers at the start have an MLP in place of experts.
    pub first_dense: u64,
}

/// The transformer of a diffusion pipeline: blocks that keep image and text apart, then blocks of both.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiffusionModel {
    /// Its class: "FluxTransformer2DModel".
    pub class: String,
    /// Blocks in which image and text have weights of their own.
    pub double_blocks: u64,
    /// Blocks with one set of weights.
    pub single_blocks: u64,
    /// Heads.
    pub heads: u64,
    /// Head dimension.
    pub head_dim: u64,
    /// Width of the text.
    pub text_width: Option<u64>,
    /// Channels of a token of the image, or of a pixel where the model cuts it into patches.
    pub channels: Option<u64>,
    /// The side of such a patch.
    pub patch: u64,
    /// Inner size of an MLP.
    pub inner: u64,
    /// Whether its blocks have the GEMMs that are known: image and text with an MLP each, then both as one.
    pub has_known_blocks: bool,
    /// Whether the last block of two streams gives the image alone.
    pub drops_text: bool,
}

impl ModelConfig {
    /// The language model, where it is one.
    pub fn language(&self) -> Option<&LanguageModel> {
        match &self.kind {
            ModelKind::Language(model) => Some(model),
            ModelKind::Diffusion(_) => None,
        }
    }

    /// The diffusion model, where it is one.
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
    pub fn experts_of(&self, layer: usize) -> Option<Experts> {
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
