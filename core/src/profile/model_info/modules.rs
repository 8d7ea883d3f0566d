//! Classes of modules, from the names of their instances: which model they belong to, which of them is the layer, and
//! which words their names contain.

use super::Inferred;
use crate::base::format::{self, snake_case, without_number};
use crate::base::group::grouped;
use crate::base::sort::{Arrange, Arranged, FirstMax};
use crate::names::MODULE;
use crate::profile::Profile;
use crate::trace::{StringId, Trace};

/// Classes of modules with their number of instances, in order of their first call: the outermost precedes its parts,
/// whatever the file order.
#[derive(Default)]
pub(super) struct Modules {
    classes: Vec<(String, u64)>,
}

/// Classes of the framework, which do not identify the model.
#[rustfmt::skip]
pub(crate) const GENERIC: &[&str] = &[
    "Linear", "Conv1d", "Conv2d", "Conv3d", "ConvTranspose2d", "BatchNorm1d", "BatchNorm2d",
    "BatchNorm3d", "SyncBatchNorm", "LayerNorm", "GroupNorm", "InstanceNorm2d", "RMSNorm",
    "Embedding", "EmbeddingBag", "Dropout", "DropPath", "ReLU", "ReLU6", "GELU", "SiLU", "Tanh",
    "Sigmoid", "Hardswish", "Softmax", "Identity", "ModuleList", "ModuleDict", "Sequential",
    "MaxPool2d", "AvgPool2d", "AdaptiveAvgPool2d", "Flatten", "MultiheadAttention",
    "CrossEntropyLoss", "MSELoss", "Transformer", "TransformerEncoder", "TransformerEncoderLayer",
    "TransformerDecoder", "TransformerDecoderLayer", "LSTM", "GRU",
    "NonDynamicallyQuantizableLinear",
];

/// Classes that wrap a model.
#[rustfmt::skip]
pub(crate) const WRAPPERS: &[&str] = &[
    "DistributedDataParallel", "DataParallel", "FullyShardedDataParallel", "OptimizedModule",
    "DeepSpeedEngine", "Float16Module", "GraphModule", "LogitsProcessor", "Sampler",
];

/// Suffixes of class names that denote a part of a model, longer ones first.
#[rustfmt::skip]
const PARTS: &[&str] = &[
    "ForConditionalGeneration", "ForSequenceClassification", "ForImageClassification",
    "ForVideoClassification", "ForTokenClassification", "ForObjectDetection", "ForMaskedLM",
    "ForCausalLM", "LMHeadModel", "Transformer2DModel", "TransformerBlock", "DecoderLayer",
    "EncoderLayer", "SelfAttention", "FlashAttention2", "SdpaAttention", "SelfOutput",
    "Intermediate", "Attention", "Embeddings", "Embedding", "RotaryEmbedding", "RMSNorm",
    "LayerNorm", "Encoder", "Decoder", "Pooler", "Output", "Block", "Layer", "Model", "MLP", "Head",
];

impl Modules {
    pub(super) fn of(profile: &Profile) -> Modules {
        let trace = &profile.trace;
        // Names are interned: each module instance is one string.
        let instances = trace.strings.iter().filter_map(|(id, name)| {
            let class = without_number(name.strip_prefix(MODULE)?);
            Some((class, id))
        });
        let mut classes = grouped(instances, Vec::push);
        if classes.is_empty() {
            return Modules::default();
        }
        // When each name is first called.
        let mut first_ns = vec![i64::MAX; trace.strings.len()];
        for event in trace.named(|_| true, |name| name.starts_with(MODULE)) {
            let first_ns = &mut first_ns[trace.events.name(event).0 as usize];
            *first_ns = trace.events.ts_ns(event).min(*first_ns);
        }
        let first_of = |ids: &[StringId]| ids.iter().map(|id| first_ns[id.0 as usize]).min();
        classes.arrange_by_cached_key(|(class, ids)| (first_of(ids), *class));
        let counted = classes.into_iter();
        let counted = counted.map(|(class, ids)| (class.to_owned(), ids.len() as u64));
        Modules {
            classes: counted.collect(),
        }
    }

    /// The prefix shared by most of the model's own classes, otherwise the class of the whole model.
    pub(super) fn model(&self) -> Inferred {
        let own: Vec<&str> = self
            .classes
            .iter()
            .map(|(class, _)| class.as_str())
            .filter(|class| !GENERIC.contains(class) && !WRAPPERS.contains(class))
            .collect();
        let stems = own.iter().map(|class| (stem(class), ()));
        let stems = grouped(stems, |count: &mut usize, ()| *count += 1).into_iter();
        let stems = stems.filter(|(stem, _)| stem.len() > 1);
        let Some((stem, count)) = stems.first_max_by_key(|one| one.1) else {
            return Inferred::default();
        };
        if count == 1 {
            return called(stem, stem);
        }
        let example = own.iter().find(|class| class.starts_with(stem));
        let (count, example) = (format::count(count as u64), example.unwrap_or(&stem));
        let evidence = format!("{count} of its modules start with it, `{example}` among them.");
        Inferred::new(stem, evidence)
    }

    /// The first class whose name contains one of the given words.
    pub(super) fn has(&self, words: &[&str]) -> Option<&str> {
        let is_it = |class: &str| words.iter().any(|word| has_word(class, word));
        let (class, _) = self.classes.iter().find(|(class, _)| is_it(class))?;
        Some(class)
    }

    /// The repeated layer: the class with the most instances among those named layer or block.
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

/// Case-insensitive word match: true for `dit` in `DiTBlock` and `unet` in `UNet2DModel`, but not for `dit` in
/// `Conditional`. Words start and end at capitals, digits and `_`.
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

/// The name of a model from the Python file that defines it, in a folder of models: code that runs outside of graphs
/// may have no modules.
pub(super) fn of_file(trace: &Trace) -> Inferred {
    /// Files in such folders that do not define a model.
    const SHARED: &[&str] = &["__init__", "utils", "interfaces", "base", "registry"];
    let files = trace.strings.iter().filter_map(|(_, name)| {
        let (_, rest) = name.rsplit_once("/models/")?;
        let (file, rest) = rest.split_once(".py(")?;
        let is_one = !file.contains('/') && !SHARED.contains(&file) && rest.contains("): ");
        is_one.then_some(file)
    });
    let files = grouped(files.map(|file| (file, ())), |count: &mut usize, ()| {
        *count += 1
    });
    let most = files.into_iter().first_max_by_key(|one| one.1);
    most.map_or_else(Inferred::default, |(file, _)| {
        Inferred::new(file, format!("A function of `models/{file}.py` ran."))
    })
}

/// Possible names of the model in code: "gpt_oss", from functions of `models/gpt_oss.py` that ran and from module
/// classes.
pub(crate) fn families(trace: &Trace) -> Vec<String> {
    /// Suffixes of class names that denote a part of a model.
    const PARTS: &[&str] = &["ForCausalLM", "DecoderLayer", "Model"];
    let of_name = |name: &str| {
        if let Some((_, rest)) = name.rsplit_once("/models/") {
            let (file, _) = rest.split_once(".py(")?;
            return (!file.contains('/')).then(|| file.to_owned());
        }
        let class = name.strip_prefix("nn.Module: ")?;
        let (class, _) = class.rsplit_once('_')?;
        let model = PARTS.iter().find_map(|part| class.strip_suffix(part))?;
        Some(snake_case(model))
    };
    trace
        .strings
        .iter()
        .filter_map(|(_, name)| of_name(name))
        .distinct()
}

/// The name of a diffusion model, from the class of one of its modules.
pub(super) fn of_denoiser(class: &str) -> Inferred {
    let stem = Some(stem(class)).filter(|stem| stem.len() > 1);
    called(stem.unwrap_or(class), class)
}

pub(super) fn called(model: &str, class: &str) -> Inferred {
    Inferred::new(model, format!("A module is called `{class}`."))
}

/// A class name without the suffix that denotes a part of a model.
fn stem(class: &str) -> &str {
    let before = |part: &&str| class.find(*part).and_then(|at| class.get(..at));
    PARTS.iter().find_map(before).unwrap_or(class)
}
