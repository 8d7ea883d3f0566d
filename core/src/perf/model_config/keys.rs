//! Parses the configuration file.

use serde_json::{Map, Value};

use super::{
    DiffusionModel, Experts, LanguageModel, Latent, ModelConfig, ModelKind, Weights, Windows,
    proved,
};
use crate::base::file_error::FileError;

/// Longer documents are not configurations: the longest have a few hundred kilobytes.
pub const MAX_FILE_BYTES: usize = 1 << 22;
/// The maximum of any size.
const MAX_SIZE: u64 = 1 << 32;
/// Classes of diffusion transformers with the blocks whose GEMMs are known.
const KNOWN_BLOCKS: [&str; 3] = ["FluxTransformer2D", DROPS_TEXT, "QwenImageTransformer2D"];
/// The class whose last double-stream block outputs only the image.
const DROPS_TEXT: &str = "SD3Transformer2D";
/// The ratio of an MLP's inner size to the hidden size, for diffusion models that do not specify it.
const MLP_RATIO: f64 = 4.0;
/// Maximum length of a name, in characters.
const MAX_NAME: usize = 80;

/// Whether a file is a model's configuration, by its content. A trace is not.
pub fn is_config(bytes: &[u8]) -> bool {
    let text = (bytes.len() <= MAX_FILE_BYTES)
        .then(|| std::str::from_utf8(bytes).ok())
        .flatten();
    let document = text.and_then(|text| serde_json::from_str(without_mark(text)).ok());
    matches!(document, Some(Value::Object(keys)) if names_model(&keys))
}

fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{FEFF}').unwrap_or(text)
}

fn names_model(keys: &Map<String, Value>) -> bool {
    let has = |key| keys.contains_key(key);
    (has("architectures") || has("model_type") || has("_class_name")) && !has("traceEvents")
}

/// Reads a model's configuration.
pub fn parse(text: &str) -> Result<ModelConfig, FileError> {
    let text = without_mark(text);
    if text.len() > MAX_FILE_BYTES {
        return Err(FileError::whole("too long for a model's configuration"));
    }
    let document: Value = serde_json::from_str(text).map_err(|error| FileError {
        line: Some(error.line()),
        sentence: "not JSON: a model's configuration is its config.json".to_owned(),
    })?;
    let keys = match document {
        Value::Object(keys) if names_model(&keys) => keys,
        _ => {
            return Err(FileError::whole(
                "not a model's configuration: it has neither `architectures` nor `_class_name`",
            ));
        }
    };
    match keys.contains_key("_class_name") {
        true => diffusion(&keys),
        false => language(&keys),
    }
}

/// The keys of one object; some sizes have several names.
struct Keys<'a>(&'a Map<String, Value>);

impl<'a> Keys<'a> {
    fn value(&self, names: &[&str]) -> Option<&'a Value> {
        let mut values = names.iter().filter_map(|name| self.0.get(*name));
        values.find(|value| !value.is_null())
    }

    /// A size; `None` if it is missing, an error if it is not a size.
    fn size(&self, names: &[&'static str]) -> Result<Option<u64>, FileError> {
        let Some(value) = self.value(names) else {
            return Ok(None);
        };
        let size = value.as_u64().filter(|size| *size <= MAX_SIZE);
        size.map(Some).ok_or_else(|| {
            let name = names.iter().find(|name| self.0.contains_key(**name));
            let name = name.copied().unwrap_or_default();
            FileError::whole(format!("`{name}` must be a whole number"))
        })
    }

    /// A required size above 0; `what` cannot be computed without it.
    fn needed(&self, names: &[&'static str], what: &str) -> Result<u64, FileError> {
        self.size(names)?.filter(|size| *size > 0).ok_or_else(|| {
            let name = names.first().copied().unwrap_or_default();
            FileError::whole(format!(
                "`{name}` is missing: without it {what} cannot be computed"
            ))
        })
    }

    fn text(&self, names: &[&str]) -> Option<&'a str> {
        self.value(names)?.as_str()
    }
}

fn diffusion(keys: &Map<String, Value>) -> Result<ModelConfig, FileError> {
    let keys = Keys(keys);
    let class = keys.text(&["_class_name"]).unwrap_or_default();
    if class.ends_with("Pipeline") {
        return Err(FileError::whole(
            "the index of a pipeline, which has no sizes: the config.json of its transformer has them",
        ));
    }
    let shapes = "the shapes of its GEMMs and attention";
    let heads = keys.needed(&["num_attention_heads"], shapes)?;
    let head_dim = keys.needed(&["attention_head_dim"], shapes)?;
    let ratio = keys.value(&["mlp_ratio"]).and_then(Value::as_f64);
    let ratio = ratio.filter(|ratio| (0.1..=64.0).contains(ratio));
    let model = DiffusionModel {
        class: one_line(class),
        has_known_blocks: KNOWN_BLOCKS.iter().any(|start| class.starts_with(start)),
        drops_text: class.starts_with(DROPS_TEXT),
        double_blocks: keys.needed(&["num_layers"], "the number of its blocks")?,
        single_blocks: keys.size(&["num_single_layers"])?.unwrap_or(0),
        heads,
        head_dim,
        patch: keys.size(&["patch_size"])?.unwrap_or(1).max(1),
        inner: (heads.saturating_mul(head_dim) as f64 * ratio.unwrap_or(MLP_RATIO)) as u64,
        text_width: keys.size(&["joint_attention_dim", "cross_attention_dim"])?,
        channels: keys.size(&["in_channels"])?,
    };
    let own = keys.text(&["_name_or_path"]).map(last_part);
    let own = own.filter(|name| !name.is_empty());
    Ok(ModelConfig {
        name: proved::name_of_diffusion(&model)
            .map(str::to_owned)
            .or(own)
            .unwrap_or_else(|| model.class.clone()),
        kind: ModelKind::Diffusion(model),
    })
}

fn language(all: &Map<String, Value>) -> Result<ModelConfig, FileError> {
    let own = Keys(all);
    let keys = keys_of_sizes(all);
    let shapes = "the shapes of its GEMMs";
    let hidden = keys.needed(&["hidden_size", "n_embd", "d_model"], shapes)?;
    let heads = keys.needed(
        &["num_attention_heads", "n_head", "num_heads"],
        "the shapes of attention",
    )?;
    let layers = keys.needed(
        &["num_hidden_layers", "n_layer", "num_layers"],
        "the number of its layers",
    )?;
    let vocab = keys.needed(&["vocab_size"], "the shape of the LM head")?;
    let latent = latent(&keys)?;
    let experts = experts(&keys)?;
    let inner = keys.size(&["intermediate_size", "n_inner", "ffn_dim"])?;
    if inner.is_none() && experts.is_none() {
        let name = "intermediate_size";
        return Err(FileError::whole(format!(
            "`{name}` is missing: without it the shapes of its MLP cannot be computed"
        )));
    }
    let family = keys
        .text(&["model_type"])
        .or(own.text(&["model_type"]))
        .unwrap_or_default();
    let family = family.replace('-', "_");
    let quantized = own.value(&["quantization_config", "compression_config"]);
    let quantized = quantized.or(keys.value(&["quantization_config"]));
    let model = LanguageModel {
        is_gated: is_gated(&keys, &family),
        layers,
        hidden,
        inner,
        heads,
        kv_heads: keys
            .size(&["num_key_value_heads", "num_kv_heads"])?
            .filter(|kv_heads| *kv_heads > 0)
            .unwrap_or(heads),
        head_dim: keys
            .size(&["head_dim", "kv_channels"])?
            .filter(|head_dim| *head_dim > 0)
            .unwrap_or(hidden / heads),
        vocab,
        latent,
        window: windows(&keys, layers)?,
        experts,
        dtype: dtype(
            keys.text(&["dtype", "torch_dtype"])
                .or(own.text(&["dtype", "torch_dtype"])),
        ),
        weights: quantized
            .and_then(Value::as_object)
            .and_then(Weights::parse),
        family,
    };
    Ok(ModelConfig {
        name: name_of_language(&own, &model),
        kind: ModelKind::Language(Box::new(model)),
    })
}

/// The keys with the sizes: those of multimodal models are one level down.
fn keys_of_sizes(all: &Map<String, Value>) -> Keys<'_> {
    let inner = ["text_config", "language_config", "llm_config"]
        .iter()
        .find_map(|key| all.get(*key)?.as_object());
    Keys(match inner {
        Some(inner) if !all.contains_key("hidden_size") => inner,
        _ => all,
    })
}

fn name_of_language(own: &Keys, model: &LanguageModel) -> String {
    let path = || {
        let path = own.text(&["_name_or_path"]).map(last_part);
        path.filter(|name| !name.is_empty())
    };
    let class = || {
        let class = own.value(&["architectures"])?.as_array()?.first()?;
        let class = class.as_str()?.trim_end_matches("ForCausalLM");
        Some(one_line(class))
    };
    let known = proved::name_of(model).map(str::to_owned);
    known
        .or_else(path)
        .or_else(class)
        .unwrap_or_else(|| one_line(&model.family))
}

fn latent(keys: &Keys) -> Result<Option<Latent>, FileError> {
    let Some(kv_rank) = keys.size(&["kv_lora_rank"])?.filter(|rank| *rank > 0) else {
        return Ok(None);
    };
    let what = "the shapes of attention over its latent";
    Ok(Some(Latent {
        kv_rank,
        q_rank: keys.size(&["q_lora_rank"])?.filter(|rank| *rank > 0),
        nope: keys.needed(&["qk_nope_head_dim"], what)?,
        rope: keys.needed(&["qk_rope_head_dim"], what)?,
        values: keys.needed(&["v_head_dim"], what)?,
    }))
}

fn experts(keys: &Keys) -> Result<Option<Experts>, FileError> {
    let n = keys.size(&["num_local_experts", "num_experts", "n_routed_experts"])?;
    let Some(n) = n.filter(|n| *n > 1) else {
        return Ok(None);
    };
    let what = "the shapes of its experts";
    let inner = keys.needed(
        &[
            "moe_intermediate_size",
            "expert_ffn_hidden_size",
            "intermediate_size",
        ],
        what,
    )?;
    let chosen = keys.needed(
        &["num_experts_per_tok", "experts_per_token", "moe_topk"],
        "the work of its experts",
    )?;
    if chosen > n {
        return Err(FileError::whole(format!(
            "`num_experts_per_tok` is {chosen}, of {n} experts"
        )));
    }
    let shared = keys.size(&["n_shared_experts"])?.unwrap_or(0);
    let shared_inner = keys.size(&["shared_expert_intermediate_size"])?;
    Ok(Some(Experts {
        n,
        chosen,
        inner,
        shared_inner: shared_inner.unwrap_or(shared.saturating_mul(inner)),
        first_dense: keys.size(&["first_k_dense_replace"])?.unwrap_or(0),
    }))
}

/// `layer_types` lists which layers have a window. Without it all layers do, except every `sliding_window_pattern`-th.
fn windows(keys: &Keys, layers: u64) -> Result<Option<Windows>, FileError> {
    let is_off = keys.value(&["use_sliding_window"]) == Some(&Value::Bool(false));
    let size = keys
        .size(&["sliding_window"])?
        .filter(|size| *size > 0 && !is_off);
    let Some(size) = size else {
        return Ok(None);
    };
    let layers = match keys.value(&["layer_types"]).and_then(Value::as_array) {
        Some(kinds) => {
            let sees = |kind: &Value| kind.as_str().is_some_and(|kind| kind.contains("sliding"));
            kinds.iter().map(sees).collect()
        }
        None => match keys.size(&["sliding_window_pattern"])? {
            Some(turn @ 1..=64) => (1..=turn).map(|at| at < turn).collect(),
            _ => vec![true; layers.min(1) as usize],
        },
    };
    Ok(Some(Windows { size, layers }))
}

/// SiLU and similar activations are always gated, GELU in some families.
fn is_gated(keys: &Keys, family: &str) -> Option<bool> {
    const GATED_GELU: [&str; 2] = ["gemma", "glm"];
    const PLAIN: [&str; 9] = [
        "gpt2",
        "opt",
        "bloom",
        "gpt_neox",
        "falcon",
        "starcoder2",
        "mpt",
        "gptj",
        "phi",
    ];
    if PLAIN.contains(&family) {
        return Some(false);
    }
    if GATED_GELU.iter().any(|start| family.starts_with(start)) {
        return Some(true);
    }
    match keys.text(&["hidden_act", "hidden_activation", "activation_function"])? {
        "silu" | "swish" | "swiglu" => Some(true),
        "relu" | "relu2" | "gelu_new" | "gelu_fast" => Some(false),
        _ => None,
    }
}

fn dtype(name: Option<&str>) -> &'static str {
    match name {
        Some("float16" | "torch.float16" | "half") => "c10::Half",
        Some("float32" | "torch.float32" | "float") => "float",
        _ => "c10::BFloat16",
    }
}

/// The last part of a path or of an organization's model.
fn last_part(path: &str) -> String {
    one_line(
        path.trim_end_matches('/')
            .rsplit('/')
            .next()
            .unwrap_or(path),
    )
}

fn one_line(text: &str) -> String {
    let text = text.chars().filter(|one| !one.is_control());
    text.take(MAX_NAME).collect()
}
