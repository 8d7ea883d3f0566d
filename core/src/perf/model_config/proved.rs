//! Models whose sizes were verified on traces. A row applies if family, hidden size, vocabulary and number of layers
//! all match.

use super::{DiffusionModel, Experts, LanguageModel, ModelConfig, ModelKind, Weights, Windows};

struct Row {
    name: &'static str,
    family: &'static str,
    layers: u64,
    hidden: u64,
    inner: u64,
    /// Number of query heads; of key and value heads.
    heads: [u64; 2],
    head_dim: u64,
    /// Number of experts, and of experts per token; their weights are MXFP4.
    experts: Option<[u64; 2]>,
    /// Every second layer has a window of this size, starting with the first.
    window: Option<u64>,
    vocab: u64,
}

#[rustfmt::skip]
const ROWS: &[Row] = &[
    Row { name: "gpt-oss-20b", family: "gpt_oss", layers: 24, hidden: 2880, inner: 2880, heads: [64, 8], head_dim: 64, experts: Some([32, 4]), window: Some(128), vocab: 201_088 },
    Row { name: "gpt-oss-120b", family: "gpt_oss", layers: 36, hidden: 2880, inner: 2880, heads: [64, 8], head_dim: 64, experts: Some([128, 4]), window: Some(128), vocab: 201_088 },
    Row { name: "Qwen3-8B", family: "qwen3", layers: 36, hidden: 4096, inner: 12_288, heads: [32, 8], head_dim: 128, experts: None, window: None, vocab: 151_936 },
];

/// The verified model with this family, hidden size, vocabulary and number of layers.
pub(crate) fn proved(family: &str, hidden: u64, vocab: u64, layers: u64) -> Option<ModelConfig> {
    let row = ROWS.iter().find(|row| {
        (row.family, row.hidden, row.vocab, row.layers) == (family, hidden, vocab, layers)
    })?;
    let experts = row.experts.map(|[n, chosen]| Experts {
        n,
        chosen,
        inner: row.inner,
        shared_inner: 0,
        first_dense: 0,
    });
    let [heads, kv_heads] = row.heads;
    Some(ModelConfig {
        name: row.name.to_owned(),
        kind: ModelKind::Language(Box::new(LanguageModel {
            family: row.family.to_owned(),
            layers: row.layers,
            hidden: row.hidden,
            inner: experts.is_none().then_some(row.inner),
            is_gated: Some(true),
            heads,
            kv_heads,
            head_dim: row.head_dim,
            vocab: row.vocab,
            latent: None,
            window: row.window.map(|size| Windows {
                size,
                layers: vec![true, false],
            }),
            experts,
            dtype: "c10::BFloat16",
            weights: experts.map(|_| Weights::mxfp4_experts()),
        })),
    })
}

/// The name of the model with these sizes.
pub(super) fn name_of(model: &LanguageModel) -> Option<&'static str> {
    let row = ROWS.iter().find(|row| {
        let sizes = (row.family, row.hidden, row.vocab, row.layers);
        sizes == (&*model.family, model.hidden, model.vocab, model.layers)
    })?;
    Some(row.name)
}

/// The name of a diffusion model.
pub(super) fn name_of_diffusion(model: &DiffusionModel) -> Option<&'static str> {
    let blocks = [model.double_blocks, model.single_blocks];
    let is_flux = model.class.contains("Flux") && blocks == [19, 38] && model.hidden() == 3072;
    is_flux.then_some("FLUX.1")
}
