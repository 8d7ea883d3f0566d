//! What model a trace is of, as far as modules, operations and shapes tell; each answer with its
//! evidence.

use std::collections::BTreeMap;

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use crate::category::Family;
use crate::format;
use crate::gpu::Precision;
use crate::operations::Operation;
use crate::profile::Profile;

/// What stands where nothing tells.
pub const UNKNOWN: &str = "Cannot be inferred from trace";

/// An answer, and what it rests on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inferred {
    /// The answer; `None` where nothing tells.
    pub value: Option<String>,
    /// What it rests on, in a sentence; empty without an answer.
    pub evidence: String,
}

impl Inferred {
    fn new(value: impl Into<String>, evidence: impl Into<String>) -> Inferred {
        Inferred {
            value: Some(value.into()),
            evidence: evidence.into(),
        }
    }

    fn unknown() -> Inferred {
        Inferred {
            value: None,
            evidence: String::new(),
        }
    }

    /// The answer, or that there is none.
    pub fn text(&self) -> &str {
        self.value.as_deref().unwrap_or(UNKNOWN)
    }
}

/// What model a trace is of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelInfo {
    /// Its name: "Qwen2".
    pub model: Inferred,
    /// Its kind: "Transformer".
    pub architecture: Inferred,
    /// Its size: layers, hidden size, heads, vocabulary.
    pub scale: Inferred,
    /// The type that most of its arithmetic is in.
    pub precision: Inferred,
}

impl ModelInfo {
    /// Looks at modules, operations and shapes.
    pub fn new(profile: &Profile) -> ModelInfo {
        let modules = Modules::of(profile);
        let architecture = architecture(profile, &modules);
        let denoiser = modules.has(DENOISERS);
        let denoiser = denoiser.filter(|_| architecture.text() == DIFFUSION);
        ModelInfo {
            // The encoders of the prompt have more modules, and are not what the model is.
            model: denoiser.map_or_else(|| modules.model(), of_denoiser),
            scale: scale(profile, &modules, &architecture),
            architecture,
            precision: precision(profile),
        }
    }

    /// For titles.
    pub fn title(&self) -> &str {
        self.model.value.as_deref().unwrap_or("Workload")
    }
}

/// Classes of modules with how many instances each has, in order of appearance.
struct Modules {
    classes: Vec<(String, u64)>,
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
    fn of(profile: &Profile) -> Modules {
        let mut index: HashMap<String, usize, FxBuildHasher> = HashMap::default();
        let mut classes: Vec<(String, u64)> = Vec::new();
        // Names are interned: each instance of a module is one string.
        for (_, name) in profile.trace.strings.iter() {
            let Some(instance) = name.strip_prefix("nn.Module: ") else {
                continue;
            };
            let class = match instance.rsplit_once('_') {
                Some((class, number)) if number.bytes().all(|byte| byte.is_ascii_digit()) => class,
                _ => instance,
            };
            let row = *index.entry(class.to_owned()).or_insert(classes.len());
            if row == classes.len() {
                classes.push((class.to_owned(), 0));
            }
            classes[row].1 += 1;
        }
        Modules { classes }
    }

    /// The word that most of the model's own classes start with; else the class of its whole.
    fn model(&self) -> Inferred {
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
    fn has(&self, words: &[&str]) -> Option<&str> {
        let is_it = |class: &str| words.iter().any(|word| has_word(class, word));
        let (class, _) = self.classes.iter().find(|(class, _)| is_it(class))?;
        Some(class)
    }

    /// The repeated layer: the class with the most instances among those called layer or block.
    fn layers(&self, is_part: impl Fn(&str) -> bool) -> Option<(&str, u64)> {
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
fn has_word(class: &str, word: &str) -> bool {
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

/// Kernel time of operations that a test holds for, as a share of the kernel time of all.
fn share(profile: &Profile, is_it: impl Fn(&Operation) -> bool) -> f64 {
    let (mut part, mut all) = (0.0, 0.0);
    for operation in profile.operations() {
        all += operation.kernel_ns as f64;
        if is_it(operation) {
            part += operation.kernel_ns as f64;
        }
    }
    if all > 0.0 { part / all * 100.0 } else { 0.0 }
}

/// Words in the names of modules that take noise away step by step.
const DENOISERS: &[&str] = &["unet", "dit", "diffusion", "sd3", "flux"];
/// What [`architecture`] calls their models.
const DIFFUSION: &str = "Diffusion model";
/// Starts of the names of modules that encode the prompt for one.
const PROMPT_ENCODERS: &[&str] = &["CLIP", "T5"];

fn of_denoiser(class: &str) -> Inferred {
    Inferred::new(stem(class), format!("A module is called `{class}`."))
}

/// A class name without the part of a model that it says it is.
fn stem(class: &str) -> &str {
    let before = |part: &&str| class.find(*part).and_then(|at| class.get(..at));
    let stem = PARTS.iter().find_map(before);
    stem.filter(|stem| stem.len() > 1).unwrap_or(class)
}

/// What [`architecture`] calls networks whose products are between layers of every width: the inner
/// size of most of them is no size of the model.
const CONVOLUTIONAL: &str = "Convolutional network";
const RECOMMENDATION: &str = "Recommendation model";

/// Whether one width runs through the model from layer to layer.
fn has_hidden_size(architecture: &Inferred) -> bool {
    ![CONVOLUTIONAL, RECOMMENDATION].contains(&architecture.text())
}

/// Words in the names of modules that work on images.
const VISION: &[&str] = &[
    "vit",
    "patchembed",
    "patchembedding",
    "patchembeddings",
    "timesformer",
    "swin",
    "swinv",
    "imageprocessor",
];

fn architecture(profile: &Profile, modules: &Modules) -> Inferred {
    let named = |word: &'static str| {
        move |operation: &Operation| {
            operation
                .short_name(profile)
                .to_ascii_lowercase()
                .contains(word)
        }
    };
    let family = |family| move |operation: &Operation| operation.family == family;
    let has_attention = share(profile, family(Family::Attention)) > 0.0;
    let has_softmax = share(profile, named("softmax")) > 0.0 && share(profile, named("bmm")) > 0.0;
    let convolution = share(profile, family(Family::Convolution));
    let is_transformer = has_attention || has_softmax;
    if let Some(class) = modules.has(DENOISERS)
        && is_transformer
    {
        return Inferred::new(DIFFUSION, format!("A module is called `{class}`."));
    }
    if share(profile, family(Family::Moe)) > 0.0 {
        return Inferred::new(
            "Mixture-of-experts Transformer",
            "Operations route tokens to experts.",
        );
    }
    if let Some(class) = modules.has(&["mamba", "ssm"]) {
        return Inferred::new(
            "State-space model",
            format!("A module is called `{class}`."),
        );
    }
    if is_transformer {
        let evidence = match has_attention {
            true => "Attention operations ran.",
            false => "Softmax stands between batched products: attention in its parts.",
        };
        return match modules.has(VISION) {
            Some(class) => Inferred::new(
                "Vision Transformer",
                format!("{evidence} A module is called `{class}`."),
            ),
            None => Inferred::new("Transformer", evidence),
        };
    }
    if share(profile, named("embedding_bag")) > 0.0 {
        return Inferred::new(RECOMMENDATION, "Bags of embeddings are summed.");
    }
    if share(profile, named("rnn")) + share(profile, named("lstm")) + share(profile, named("gru"))
        > 0.0
    {
        return Inferred::new("Recurrent network", "Recurrent layers ran.");
    }
    /// Below this a convolution may be any model's first layer.
    const MIN_CONVOLUTION_PERCENT: f64 = 10.0;
    if convolution >= MIN_CONVOLUTION_PERCENT {
        return Inferred::new(
            CONVOLUTIONAL,
            format!(
                "Convolutions take {} of the kernel time.",
                format::percent(convolution)
            ),
        );
    }
    Inferred::unknown()
}

/// A parameter of a model's formula as a number.
fn param(operation: &Operation, wanted: &str) -> Option<u64> {
    let params = &operation.modelled.as_ref()?.params;
    let (_, value) = params.iter().find(|(name, _)| *name == wanted)?;
    value.parse().ok()
}

fn scale(profile: &Profile, modules: &Modules, architecture: &Inferred) -> Inferred {
    let has_hidden_size = has_hidden_size(architecture);
    let is_part = |class: &str| {
        let encodes = PROMPT_ENCODERS.iter().any(|start| class.starts_with(start));
        architecture.text() != DIFFUSION || !encodes
    };
    let mut parts = Vec::new();
    let mut evidence = Vec::new();
    if let Some((class, count)) = modules.layers(is_part) {
        // A block of a convolutional network is several layers.
        let noun = if has_hidden_size { "layer" } else { "block" };
        parts.push(format::counted(count, noun));
        evidence.push(format!("`{class}` has {} instances", format::count(count)));
    }
    let products = || {
        let operations = profile.operations().iter();
        operations.filter(|operation| operation.family == Family::Gemm)
    };
    // The inner size of the unbatched products that run most often.
    let mut inner: Vec<(u64, u64)> = Vec::new();
    for operation in products() {
        if param(operation, "B").unwrap_or(1) != 1 {
            continue;
        }
        if let Some(k) = param(operation, "K") {
            match inner.iter_mut().find(|(known, _)| *known == k) {
                Some((_, calls)) => *calls += operation.n_calls(),
                None => inner.push((k, operation.n_calls())),
            }
        }
    }
    let most = inner.iter().map(|(_, calls)| *calls).max().unwrap_or(0);
    let hidden = inner.iter().find(|(_, calls)| *calls == most);
    if let Some((hidden, calls)) = hidden.filter(|_| has_hidden_size) {
        parts.push(format!("hidden size {hidden}"));
        evidence.push(format!(
            "{} have K = {hidden}",
            format::counted(*calls, "product")
        ));
    }
    let heads = profile
        .operations()
        .iter()
        .find_map(|operation| param(operation, "H_Q"));
    if let Some(heads) = heads.filter(|heads| *heads > 0) {
        parts.push(format::counted(heads, "head"));
        evidence.push("the attention with the most time has as many".to_owned());
    }
    if let Some(vocabulary) = vocabulary(products()) {
        parts.push(format!("vocabulary {}", format::count(vocabulary)));
        evidence.push("the wide product that runs least often has as many columns".to_owned());
    }
    match parts.is_empty() {
        true => Inferred::unknown(),
        false => Inferred::new(parts.join(", "), format!("{}.", evidence.join("; "))),
    }
}

/// The columns of the output layer: of the wide products the one that runs least often, the widest
/// of equals. What runs about as often as most is inside the layers.
fn vocabulary<'a>(products: impl Iterator<Item = &'a Operation>) -> Option<u64> {
    /// Output layers narrower than this are no vocabularies.
    const MIN_VOCABULARY: u64 = 20_000;
    /// Of a layer up to four products have one size: those of Q, K, V and of the result.
    const PRODUCTS_ALIKE: u64 = 4;
    let mut calls: BTreeMap<(u64, u64), u64> = BTreeMap::new();
    for product in products {
        if let (Some(n), Some(k)) = (param(product, "N"), param(product, "K")) {
            *calls.entry((n, k)).or_default() += product.n_calls();
        }
    }
    let most = calls.values().copied().max()?;
    let wide = calls.into_iter().filter(|((n, _), calls)| {
        let is_in_layers = calls.saturating_mul(PRODUCTS_ALIKE) >= most && most > 1;
        *n >= MIN_VOCABULARY && !is_in_layers
    });
    let ((n, _), _) = wide.min_by_key(|((n, _), calls)| (*calls, std::cmp::Reverse(*n)))?;
    Some(n)
}

fn precision(profile: &Profile) -> Inferred {
    let matrix = [
        Family::Gemm,
        Family::Attention,
        Family::Convolution,
        Family::Moe,
    ];
    let mut times: Vec<(Precision, i64)> = Vec::new();
    let (mut all_ns, mut by_name_ns) = (0_i64, 0_i64);
    let operations = profile.operations().iter();
    for operation in operations.filter(|operation| matrix.contains(&operation.family)) {
        let ns = operation.kernel_ns;
        all_ns = all_ns.saturating_add(ns);
        let spec = operation.modelled.as_ref().and_then(|one| one.work.compute);
        let by_name = || {
            let kernels = operation.kernels(profile);
            let (longest, ..) = kernels.first()?;
            precision_of_kernel(profile.trace.strings.get(*longest))
        };
        let Some(precision) = spec.map(|spec| spec.precision).or_else(by_name) else {
            continue;
        };
        if spec.is_none() {
            by_name_ns = by_name_ns.saturating_add(ns);
        }
        match times.iter_mut().find(|(known, _)| *known == precision) {
            Some((_, all)) => *all = all.saturating_add(ns),
            None => times.push((precision, ns)),
        }
    }
    let most = times.iter().map(|(_, ns)| *ns).max().unwrap_or(0);
    // Less than half is not what the model is in.
    let is_told = most > 0 && most >= all_ns / 2;
    let Some((precision, ns)) = times.iter().find(|(_, ns)| *ns == most && is_told) else {
        return Inferred::unknown();
    };
    let by_name = match by_name_ns {
        0 => "",
        _ => ", where shapes were not recorded by the names of kernels",
    };
    Inferred::new(
        precision.label(),
        format!(
            "{} of the time of products, attention and convolutions is in it{by_name}.",
            format::percent(*ns as f64 / all_ns as f64 * 100.0)
        ),
    )
}

/// The type that a kernel multiplies in, by its name. A narrow type stands first: kernels name that
/// of their result as well.
fn precision_of_kernel(name: &str) -> Option<Precision> {
    const WORDS: &[(&str, Precision)] = &[
        ("fp4", Precision::Fp4),
        ("e2m1", Precision::Fp4),
        ("fp8", Precision::Fp8),
        ("e4m3", Precision::Fp8),
        ("e5m2", Precision::Fp8),
        ("float8", Precision::Fp8),
        ("_f8", Precision::Fp8),
        ("f16f8", Precision::Fp8),
        ("int8", Precision::Int8),
        ("bf16", Precision::Bf16),
        ("bfloat16", Precision::Bf16),
    ];
    // A type of caches that has a value for 16 bits as well.
    let name = name.to_ascii_lowercase().replace("fp8kvcachedatatype", "");
    let word = WORDS.iter().find(|(word, _)| name.contains(word))?;
    Some(word.1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Timetable;

    #[test]
    fn modules_and_shapes_tell_the_model() {
        let mut timetable = Timetable::new();
        for layer in 0..3 {
            let from = f64::from(layer) * 100.0;
            timetable = timetable
                .frame(&format!("nn.Module: Qwen2DecoderLayer_{layer}"), from..from + 90.0)
                .frame(&format!("nn.Module: Qwen2MLP_{layer}"), from + 1.0..from + 80.0)
                .frame(&format!("nn.Module: Linear_{layer}"), from + 2.0..from + 70.0)
                .op("aten::mm", from + 3.0..from + 60.0)
                .args(r#""Input Dims": [[64, 1024], [1024, 2816]], "Input type": ["c10::BFloat16", "c10::BFloat16"]"#)
                .launch(layer as u32 + 1, from + 4.0..from + 5.0);
        }
        for layer in 0..3_u32 {
            let from = 1000.0 + f64::from(layer) * 10.0;
            timetable = timetable.kernel(layer + 1, "gemm", from..from + 5.0);
        }
        let info = ModelInfo::new(&timetable.profile());
        assert_eq!(info.title(), "Qwen2");
        assert_eq!(
            info.model.evidence,
            "2 of its modules start with it, `Qwen2DecoderLayer` among them."
        );
        assert_eq!(info.scale.text(), "3 layers, hidden size 1024");
        assert_eq!(info.precision.text(), "BF16");
        assert_eq!(info.architecture.text(), UNKNOWN);
    }

    /// The product of 512 × 1 000 is the last layer, whose width says nothing of the others.
    #[test]
    fn a_convolutional_network_has_no_hidden_size() {
        let mut timetable = Timetable::new();
        for block in 0..2_u32 {
            let from = block * 100;
            timetable = timetable
                .frame(&format!("nn.Module: BasicBlock_{block}"), from..from + 50)
                .op("aten::convolution", from + 1..from + 40)
                .launch(block + 1, from + 2..from + 3);
        }
        timetable = timetable
            .op("aten::mm", 200..210)
            .args(r#""Input Dims": [[8, 1000], [1000, 512]], "Input type": ["float", "float"]"#)
            .launch(3, 201..202);
        for kernel in 1..4_u32 {
            let from = 1000 + kernel * 10;
            timetable = timetable.kernel(kernel, "kernel", from..from + 5);
        }
        let info = ModelInfo::new(&timetable.profile());
        assert_eq!(info.architecture.text(), "Convolutional network");
        assert_eq!(info.scale.text(), "2 blocks");
        assert_eq!(info.scale.evidence, "`BasicBlock` has 2 instances.");
    }

    /// Two encoders with layers of their own, and one module that is compiled into one.
    #[test]
    fn a_diffusion_model_is_not_called_after_its_prompt_encoders() {
        let profile = Timetable::new()
            .frame("nn.Module: T5EncoderModel_0", 0..10)
            .frame("nn.Module: T5Stack_0", 1..9)
            .frame("nn.Module: CLIPEncoderLayer_0", 10..20)
            .frame("nn.Module: CLIPEncoderLayer_1", 20..30)
            .frame("nn.Module: SD3Transformer2DModel_0", 30..50)
            .op("aten::_scaled_dot_product_flash_attention", 31..40)
            .launch(1, 32..33)
            .kernel(1, "attn_fwd", 100..200)
            .profile();
        let info = ModelInfo::new(&profile);
        assert_eq!(info.architecture.text(), "Diffusion model");
        assert_eq!(info.title(), "SD3");
        assert_eq!(
            info.model.evidence,
            "A module is called `SD3Transformer2DModel`."
        );
        assert_eq!(info.scale.text(), UNKNOWN);
    }

    /// A run of products, each with a kernel of 10 µs: dims, how often, and the name of the kernel.
    fn products(products: &[(&str, u32, &str)]) -> ModelInfo {
        let (mut timetable, mut n) = (Timetable::new(), 0_u32);
        for (dims, calls, kernel) in products {
            for _ in 0..*calls {
                n += 1;
                let (host, gpu) = (n * 10, 1_000_000 + n * 10);
                let dtype = r#"["c10::BFloat16", "c10::BFloat16"]"#;
                let op = if dims.is_empty() {
                    "my::gemm"
                } else {
                    "aten::mm"
                };
                timetable = timetable
                    .op(op, host..host + 9)
                    .args(&format!(r#""Input Dims": [{dims}], "Input type": {dtype}"#))
                    .launch(n, host + 1..host + 2)
                    .kernel(n, kernel, gpu..gpu + 10);
            }
        }
        ModelInfo::new(&timetable.profile())
    }

    /// Gate and up of one layer are a single product of 57 344 columns.
    #[test]
    fn the_widest_product_of_layers_is_no_vocabulary() {
        let gate_up = ("[64, 8192], [8192, 57344]", 16, "gemm");
        let down = ("[64, 28672], [28672, 8192]", 16, "gemm");
        let head = ("[64, 8192], [8192, 32064]", 1, "gemm");
        let scale = |all: &[(&str, u32, &str)]| products(all).scale.text().to_owned();
        assert_eq!(
            scale(&[gate_up, down, head]),
            "hidden size 8192, vocabulary 32\u{202F}064"
        );
        assert_eq!(scale(&[gate_up, down]), "hidden size 8192");
    }

    #[test]
    fn the_precision_is_that_of_most_of_all_products() {
        let square = "[64, 4096], [4096, 4096]";
        let precision = |all: &[(&str, u32, &str)]| {
            let info = products(all).precision;
            (info.text().to_owned(), info.evidence)
        };
        let (fp8, unknown) = ("void deep_gemm::fp8_gemm_impl", "my_gemm");
        assert_eq!(
            precision(&[(square, 1, "gemm"), ("", 3, fp8)]),
            (
                "FP8".to_owned(),
                "75.0 % of the time of products, attention and convolutions is in it, where \
                 shapes were not recorded by the names of kernels."
                    .to_owned()
            )
        );
        assert_eq!(
            precision(&[(square, 2, "gemm"), ("", 1, unknown)]).0,
            "BF16"
        );
        // A third is known.
        assert_eq!(
            precision(&[(square, 1, "gemm"), ("", 2, unknown)]).0,
            UNKNOWN
        );
    }

    #[test]
    fn words_begin_and_end_where_a_name_can_be_split() {
        let cases = [
            ("DiTBlock", "dit", true),
            ("MMDiTBlock", "dit", true),
            ("dit_block", "dit", true),
            ("T5ForConditionalGeneration", "dit", false),
            ("UNet2DConditionModel", "unet", true),
            ("SD3Transformer2DModel", "sd3", true),
            ("CrossModalityLayer", "ssm", false),
            ("SSMLayer", "ssm", true),
            ("FalconMambaMixer", "mamba", true),
            ("ViTPatchEmbeddings", "vit", true),
            ("ViTPatchEmbeddings", "patchembed", false),
            ("ViTPatchEmbeddings", "patchembeddings", true),
            ("Swinv2Layer", "swinv", true),
            ("Gravity", "vit", false),
            ("größe", "vit", false),
            ("vi", "vit", false),
        ];
        for (class, word, expected) in cases {
            assert_eq!(has_word(class, word), expected, "{class} {word}");
        }
    }

    #[test]
    fn conditional_generation_is_no_diffusion() {
        let attention = |module: &str| {
            let timetable = Timetable::new()
                .frame(module, 0..50)
                .op("aten::scaled_dot_product_attention", 1..40)
                .launch(1, 2..3)
                .kernel(1, "flash_fwd_kernel", 100..200);
            ModelInfo::new(&timetable.profile())
        };
        let text = attention("nn.Module: Qwen2VLForConditionalGeneration_0");
        assert_eq!(text.architecture.text(), "Transformer");
        let image = attention("nn.Module: DiTTransformer2DModel_0");
        assert_eq!(image.architecture.text(), "Diffusion model");
    }

    #[test]
    fn a_trace_without_modules_is_a_workload() {
        let profile = Timetable::new().op("aten::add", 0..10).profile();
        let info = ModelInfo::new(&profile);
        assert_eq!(info.title(), "Workload");
        for answer in [
            &info.model,
            &info.architecture,
            &info.scale,
            &info.precision,
        ] {
            assert_eq!((answer.text(), answer.evidence.as_str()), (UNKNOWN, ""));
        }
    }
}
