//! How the weights of a model are stored.

use serde_json::{Map, Value};

/// FP8 blocks have one four-byte scale per square with this side length.
const BLOCK: f64 = 128.0;
/// The usual number of weights that share a scale.
const GROUP: f64 = 128.0;

/// Weights that are not stored in the type of activations.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Weights {
    /// Bytes per weight, including its share of the scales.
    pub(crate) bytes: f64,
    /// The type that GEMMs compute in; `None` for the type of activations.
    pub(crate) math: Option<&'static str>,
    /// Whether only expert weights are stored this way.
    is_of_experts: bool,
    /// Parts of names of modules that are not quantized.
    left_out: Vec<String>,
}

impl Weights {
    /// From `quantization_config`; `None` if the method is unknown.
    pub(super) fn parse(keys: &Map<String, Value>) -> Option<Weights> {
        let text = |key: &str| keys.get(key).and_then(Value::as_str);
        let number = |key: &str| keys.get(key).and_then(Value::as_f64);
        let algorithm = text("quant_algo").unwrap_or_default().to_ascii_lowercase();
        let method = text("quant_method")
            .unwrap_or_default()
            .to_ascii_lowercase();
        let group = || {
            let group = number("group_size").or(number("q_group_size"));
            group.filter(|size| *size > 0.0).unwrap_or(GROUP)
        };
        let fp8 = Some("float8_e4m3fn");
        let (bytes, math) = match method.as_str() {
            _ if algorithm.contains("nvfp4") => NVFP4,
            "mxfp4" => MXFP4,
            "fp8" | "fbgemm_fp8" => {
                let is_dynamic = keys.contains_key("weight_block_size");
                (
                    if is_dynamic {
                        1.0 + 4.0 / BLOCK / BLOCK
                    } else {
                        1.0
                    },
                    fp8,
                )
            }
            _ if algorithm.contains("fp8") => (1.0, fp8),
            "awq" | "gptq" | "auto-round" | "gptq_marlin" | "awq_marlin" => {
                let bits = number("bits").or(number("w_bit")).unwrap_or(4.0);
                (bits / 8.0 + 2.0 / group(), None)
            }
            "bitsandbytes" => match keys.get("load_in_4bit") {
                Some(Value::Bool(true)) => (0.5 + 4.0 / 64.0, None),
                _ => (1.0, None),
            },
            "compressed-tensors" | "compressed_tensors" => compressed(keys)?,
            "quark" => quark(keys)?,
            _ => return None,
        };
        let left_out = [
            "modules_to_not_convert",
            "ignored_layers",
            "ignore",
            "exclude",
        ];
        let left_out = left_out.iter().filter_map(|key| keys.get(*key)?.as_array());
        let left_out = left_out.flatten().filter_map(Value::as_str);
        Some(Weights {
            bytes,
            math,
            is_of_experts: method == "mxfp4",
            left_out: left_out.map(str::to_owned).collect(),
        })
    }

    /// Expert weights in blocks of 32 four-bit numbers, multiplied in the type of activations.
    pub(super) fn mxfp4_experts() -> Weights {
        Weights {
            bytes: MXFP4.0,
            math: MXFP4.1,
            is_of_experts: true,
            left_out: Vec::new(),
        }
    }

    /// Whether it applies to the weights of a module: "self_attn", "mlp", "experts".
    pub(crate) fn hold_for(&self, module: &str) -> bool {
        let is_left_out = self.left_out.iter().any(|name| name.contains(module));
        !is_left_out && (!self.is_of_experts || module == "experts")
    }
}

/// A one-byte scale for every 32 four-bit numbers.
const MXFP4: (f64, Option<&str>) = (0.5 + 1.0 / 32.0, None);
/// A one-byte scale for every 16 four-bit numbers.
const NVFP4: (f64, Option<&str>) = (0.5 + 1.0 / 16.0, Some("float4_e2m1fn_x2"));

/// The first group of `config_groups`: bits and kind of weights, and whether activations have the same type.
fn compressed(keys: &Map<String, Value>) -> Option<(f64, Option<&'static str>)> {
    let first = keys.get("config_groups")?.as_object()?.values().next()?;
    let weights = first.get("weights")?;
    let bits = weights.get("num_bits")?.as_f64()?;
    let is_float = weights.get("type").and_then(Value::as_str) == Some("float");
    let group = weights.get("group_size").and_then(Value::as_f64);
    let scales = group.filter(|size| *size > 0.0).map_or(0.0, |size| {
        if is_float && bits < 8.0 {
            1.0 / size
        } else {
            2.0 / size
        }
    });
    let are_inputs_narrow = first
        .get("input_activations")
        .is_some_and(|inputs| !inputs.is_null());
    let math = are_inputs_narrow.then_some(match (is_float, bits as u32) {
        (true, 8) => Some("float8_e4m3fn"),
        (true, 4) => Some("float4_e2m1fn_x2"),
        (false, 8) => Some("int8"),
        _ => None,
    });
    (bits >= 1.0).then(|| (bits / 8.0 + scales, math.flatten()))
}

fn quark(keys: &Map<String, Value>) -> Option<(f64, Option<&'static str>)> {
    let weights = keys.get("global_quant_config")?.get("weight")?;
    let weights = weights
        .as_array()
        .and_then(|all| all.first())
        .unwrap_or(weights);
    match weights.get("dtype")?.as_str()? {
        "fp4" => Some(MXFP4),
        "fp8_e4m3" | "fp8_e5m2" => Some((1.0, Some("float8_e4m3fn"))),
        "int8" => Some((1.0, Some("int8"))),
        "int4" | "uint4" => Some((0.5 + 2.0 / GROUP, None)),
        _ => None,
    }
}
