//! Classes of modules, by the names of their instances: which model they are of, which of them is
//! the layer, and which words stand in their names.

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::Inferred;
use crate::base::format;
use crate::base::sort::Arrange;
use crate::profile::Profile;

/// Classes of modules with how many instances each has, the first to be called first: the outermost
/// stands before its parts, in whatever order a file has them.
pub(super) struct Modules {
    classes: Vec<(String, u64)>,
}

/// A class of modules.
struct Class {
    name: String,
    n_instances: u64,
    /// When one is first called.
    first_ns: i64,
}

/// Classes of the framework: they say nothing about the model.
pub(crate) const GENERIC: &[&str] = &[
    "Linear",
    "Conv1d",
    "Conv2d",
    "Conv3d",
    "ConvTranspose2d",
    "BatchNorm1d",
    "BatchNorm2d",
    "BatchNorm3d",
    "SyncBatchNorm",
    "LayerNorm",
    "GroupNorm",
    "InstanceNorm2d",
    "RMSNorm",
    "Embedding",
    "EmbeddingBag",
    "Dropout",
    "DropPath",
    "ReLU",
    "ReLU6",
    "GELU",
    "SiLU",
    "Tanh",
    "Sigmoid",
    "Hardswish",
    "Softmax",
    "Identity",
    "ModuleList",
    "ModuleDict",
    "Sequential",
    "MaxPool2d",
    "AvgPool2d",
    "AdaptiveAvgPool2d",
    "Flatten",
    "MultiheadAttention",
    "CrossEntropyLoss",
    "MSELoss",
    "Transformer",
    "TransformerEncoder",
    "TransformerEncoderLayer",
    "TransformerDecoder",
    "TransformerDecoderLayer",
    "LSTM",
    "GRU",
    "NonDynamicallyQuantizableLinear",
];

/// Classes around a model.
const WRAPPERS: &[&str] = &[
    "DistributedDataParallel",
    "DataParallel",
    "FullyShardedDataParallel",
    "OptimizedModule",
    "DeepSpeedEngine",
    "Float16Module",
    "GraphModule",
];

/// Ends of class names that say what part of a model it is, the longer ones first.
const PARTS: &[&str] = &[
    "ForConditionalGeneration",
    "ForSequenceClassification",
    "ForImageClassification",
    "ForVideoClassification",
    "ForTokenClassification",
    "ForObjectDetection",
    "ForMaskedLM",
    "ForCausalLM",
    "LMHeadModel",
    "Transformer2DModel",
    "TransformerBlock",
    "DecoderLayer",
    "EncoderLayer",
    "SelfAttention",
    "FlashAttention2",
    "SdpaAttention",
    "SelfOutput",
    "Intermediate",
    "Attention",
    "Embeddings",
    "Embedding",
    "RotaryEmbedding",
    "RMSNorm",
    "LayerNorm",
    "Encoder",
    "Decoder",
    "Pooler",
    "Output",
    "Block",
    "Layer",
    "Model",
    "MLP",
    "Head",
];

impl Modules {
    pub(super) fn of(profile: &Profile) -> Modules {
        let trace = &profile.trace;
        let mut index: HashMap<String, usize, FxBuildHasher> = HashMap::default();
        let mut classes: Vec<Class> = Vec::new();
        // Of each string the class that it is an instance of.
        let mut class_of: Vec<Option<usize>> = vec![None; trace.strings.len()];
        // Names are interned: each instance of a module is one string.
        for (id, name) in trace.strings.iter() {
            let Some(instance) = name.strip_prefix("nn.Module: ") else {
                continue;
            };
            let class = match instance.rsplit_once('_') {
                Some((class, number)) if number.bytes().all(|byte| byte.is_ascii_digit()) => class,
                _ => instance,
            };
            let row = *index.entry(class.to_owned()).or_insert(classes.len());
            if row == classes.len() {
                classes.push(Class {
                    name: class.to_owned(),
                    n_instances: 0,
                    first_ns: i64::MAX,
                });
            }
            classes[row].n_instances += 1;
            class_of[id.0 as usize] = Some(row);
        }
        if !classes.is_empty() {
            for event in trace.events.ids() {
                let name = trace.events.name(event);
                if let Some(Some(row)) = class_of.get(name.0 as usize) {
                    let first_ns = &mut classes[*row].first_ns;
                    *first_ns = trace.events.ts_ns(event).min(*first_ns);
                }
            }
        }
        classes.arrange_by(|a, b| (a.first_ns, &a.name).cmp(&(b.first_ns, &b.name)));
        let classes = classes.into_iter();
        Modules {
            classes: classes.map(|one| (one.name, one.n_instances)).collect(),
        }
    }

    /// The word that most of the model's own classes start with; else the class of its whole.
    pub(super) fn model(&self) -> Inferred {
        let own: Vec<&str> = self
            .classes
            .iter()
            .map(|(class, _)| class.as_str())
            .filter(|class| !GENERIC.contains(class) && !WRAPPERS.contains(class))
            .collect();
        let mut stems: Vec<(&str, usize)> = Vec::new();
        for class in &own {
            let stem = PARTS
                .iter()
                .find_map(|part| class.find(part).and_then(|at| class.get(..at)))
                .unwrap_or(class);
            if stem.len() < 2 {
                continue;
            }
            match stems.iter_mut().find(|(known, _)| *known == stem) {
                Some((_, count)) => *count += 1,
                None => stems.push((stem, 1)),
            }
        }
        let most = stems.iter().map(|(_, count)| *count).max().unwrap_or(0);
        let Some((stem, count)) = stems.iter().find(|(_, count)| *count == most) else {
            return Inferred::unknown();
        };
        if *count > 1 {
            let example = own.iter().find(|class| class.starts_with(stem));
            return Inferred::new(
                *stem,
                format!(
                    "{} of its modules start with it, `{}` among them.",
                    format::count(*count as u64),
                    example.unwrap_or(stem)
                ),
            );
        }
        Inferred::new(*stem, format!("A module is called `{stem}`."))
    }

    /// The first class with one of some words in its name.
    pub(super) fn has(&self, words: &[&str]) -> Option<&str> {
        let is_it = |class: &str| words.iter().any(|word| has_word(class, word));
        let (class, _) = self.classes.iter().find(|(class, _)| is_it(class))?;
        Some(class)
    }

    /// The repeated layer: the class with the most instances among those called layer or block.
    pub(super) fn layers(&self, is_part: impl Fn(&str) -> bool) -> Option<(&str, u64)> {
        let ends = ["DecoderLayer", "EncoderLayer", "Layer", "Block"];
        let is_layer =
            |class: &str| !GENERIC.contains(&class) && ends.iter().any(|end| class.ends_with(end));
        let (class, count) = self
            .classes
            .iter()
            .filter(|(class, _)| is_layer(class) && is_part(class))
            .max_by_key(|(_, count)| *count)?;
        (*count > 1).then_some((class, *count))
    }
}

/// True for `dit` and `DiTBlock`, `unet` and `UNet2DModel`, and not for `dit` and `Conditional`: the
/// word begins and ends where a name can be split, at capitals, digits and `_`. Whatever its case.
pub(super) fn has_word(class: &str, word: &str) -> bool {
    let class = class.as_bytes();
    let is_edge = |at: usize| match (
        at.checked_sub(1).and_then(|at| class.get(at)),
        class.get(at),
    ) {
        (Some(before), Some(after)) => {
            after.is_ascii_uppercase()
                || before.is_ascii_digit() != after.is_ascii_digit()
                || !before.is_ascii_alphanumeric()
                || !after.is_ascii_alphanumeric()
        }
        _ => true,
    };
    let mut parts = class.windows(word.len()).enumerate();
    parts.any(|(at, part)| {
        part.eq_ignore_ascii_case(word.as_bytes()) && is_edge(at) && is_edge(at + word.len())
    })
}

/// The name of a model that takes noise away, by the class of a module of it.
pub(super) fn of_denoiser(class: &str) -> Inferred {
    Inferred::new(stem(class), format!("A module is called `{class}`."))
}

/// A class name without the part of a model that it says it is.
fn stem(class: &str) -> &str {
    let before = |part: &&str| class.find(*part).and_then(|at| class.get(..at));
    let stem = PARTS.iter().find_map(before);
    stem.filter(|stem| stem.len() > 1).unwrap_or(class)
}
