//! Arguments of events.

use std::collections::BTreeMap;

use serde_json::Value;

use super::operators::is_collective;
use super::placeholder::Placeholders;
use crate::base::format::is_digits;
use crate::base::sort::Gather;
use crate::trace::{Dims, OpArgs, ShapeId, StringId, Trace, extra_args};

/// Argument types as PyTorch names them.
#[rustfmt::skip]
const TYPES: &[&str] = &[
    "", "Bool", "Device", "Double", "Float", "GenericList", "Int", "Layout", "None", "Scalar", "ScalarList",
    "ScalarType", "String", "Stream", "Tensor", "TensorList", "bool", "c10::BFloat16", "c10::BFloat16*",
    "c10::Float4_e2m1fn_x2", "c10::Float8_e4m3fn", "c10::Float8_e4m3fnuz", "c10::Float8_e5m2",
    "c10::Float8_e5m2fnuz", "c10::Float8_e8m0fnu", "c10::Half", "c10::complex<double>", "c10::complex<float>",
    "c10::complex<c10::Half>", "c10::qint32", "c10::qint8", "c10::quint8", "char", "double", "float", "int",
    "long", "long int", "short", "short int", "signed char", "unsigned char", "unsigned int", "unsigned long",
    "unsigned short", "unsigned long int", "unsigned short int",
];

/// Words that operators take as values.
#[rustfmt::skip]
const VALUES: &[&str] = &[
    "", "False", "None", "True", "auto", "bf16", "bfloat16", "bicubic", "bilinear", "constant", "fp16",
    "float16", "float32", "fp8", "fp8_e4m3", "fp8_e5m2", "gelu", "inf", "int8", "left", "linear", "max",
    "mean", "nan", "nearest", "none", "relu", "right", "same", "silu", "sum", "tanh", "trunc", "floor",
    "valid", "zeros", "reflect", "replicate", "circular", "-inf", "infinity", "-infinity", "cuda", "cpu",
    "cuda:0",
];

/// Arguments whose values are numbers or lists of numbers.
#[rustfmt::skip]
const NUMBERS: &[&str] = &[
    "Fwd thread id", "Global rank start", "Global rank stride", "Group size", "In msg nelems", "In split size",
    "Out msg nelems", "Out split size", "Process Group Ranks", "Rank", "Seq", "bytes", "block",
    "blocks per SM", "cbid", "cid", "context", "device", "est. achieved occupancy %", "grid",
    "memory bandwidth (GB/s)", "num_stages", "num_warps", "priority", "queue", "queued", "registers per thread",
    "shared memory", "stream", "warps per SM", "warp_size", "finished", "Device Id", "Device Type",
    "Total Allocated", "Total Reserved", "Bytes",
];

/// Element types as collectives name them.
#[rustfmt::skip]
const DTYPES: &[&str] = &[
    "BFloat16", "Bool", "Byte", "Char", "Double", "Float", "Float8_e4m3fn", "Float8_e4m3fnuz", "Float8_e5m2",
    "Float8_e5m2fnuz", "Half", "Int", "Long", "Short",
];

pub(super) fn redacted(
    args: &OpArgs,
    old: &Trace,
    new: &mut Trace,
    placeholders: &mut Placeholders,
) -> OpArgs {
    let shape = |new: &mut Trace, id: ShapeId| new.args.intern_shape(old.args.shape(id));
    let dims = |new: &mut Trace, dims: &[Dims]| -> Box<[Dims]> {
        let all = dims.iter().map(|dims| match dims {
            Dims::One(id) => Dims::One(shape(new, *id)),
            Dims::Many(ids) => Dims::Many(ids.iter().map(|id| shape(new, *id)).collect()),
        });
        all.collect()
    };
    let mut texts = |new: &mut Trace, ids: &[StringId], show: Show| -> Box<[StringId]> {
        let all = ids.iter().map(|id| {
            let shown = show(old.strings.get(*id), placeholders);
            new.strings.intern(&shown)
        });
        all.collect()
    };
    OpArgs {
        dims: args.dims.as_deref().map(|all| dims(new, all)),
        types: args.types.as_deref().map(|all| texts(new, all, type_name)),
        strides: args.strides.as_deref().map(|all| dims(new, all)),
        concrete: args.concrete.as_deref().map(|all| texts(new, all, value)),
    }
}

type Show = fn(&str, &mut Placeholders) -> String;

fn type_name(name: &str, placeholders: &mut Placeholders) -> String {
    let mut parts = name.split(|letter: char| "[], ".contains(letter));
    let is_known = TYPES.contains(&name) || parts.all(|part| TYPES.contains(&part));
    placeholders.known_or(is_known, "type", name)
}

fn value(text: &str, placeholders: &mut Placeholders) -> String {
    let mut parts = text.split(|letter: char| "[](), ".contains(letter));
    placeholders.known_or(parts.all(is_value), "text", text)
}

fn is_value(part: &str) -> bool {
    let is_number = part
        .starts_with(|letter: char| letter.is_ascii_digit() || "+-.".contains(letter))
        && part.parse::<f64>().is_ok();
    is_number || VALUES.contains(&part)
}

/// The other arguments of an event, as JSON without its braces; `None` if none of them is known.
pub(super) fn extra(text: &str, placeholders: &mut Placeholders) -> Option<String> {
    let args = extra_args::object(text)?;
    // Sorted, as the order of a `Map` depends on enabled crate features.
    let args: BTreeMap<String, Value> = args.into_iter().gather();
    let mut shown = BTreeMap::new();
    for (key, value) in &args {
        if let Some(value) = argument(key, value, placeholders) {
            shown.insert(key, value);
        }
    }
    if shown.is_empty() {
        return None;
    }
    let text = serde_json::to_string(&shown).ok()?;
    Some(text.strip_prefix('{')?.strip_suffix('}')?.to_owned())
}

fn argument(key: &str, value: &Value, placeholders: &mut Placeholders) -> Option<Value> {
    if NUMBERS.contains(&key) {
        return is_numeric(value).then(|| value.clone());
    }
    let text = match value {
        Value::String(text) => text.as_str(),
        Value::Number(_) if key == "Process Group Name" => return Some(value.clone()),
        _ => return None,
    };
    let shown = match key {
        "Collective name" => placeholders.known_or(is_collective(text), "collective", text),
        "dtype" => placeholders.known_or(DTYPES.contains(&text), "type", text),
        "Process Group Name" => placeholders.known_or(is_digits(text), "group", text),
        "kernel_backend" if text == "triton" => text.to_owned(),
        _ => return None,
    };
    Some(Value::String(shown))
}

/// Numbers and flags, lists of them, and texts that contain nothing else.
fn is_numeric(value: &Value) -> bool {
    match value {
        Value::Number(_) | Value::Bool(_) | Value::Null => true,
        Value::Array(values) => values.iter().all(is_numeric),
        Value::String(text) => {
            let is_fine = |letter: char| letter.is_ascii_digit() || "[](), .-".contains(letter);
            text.chars().all(is_fine)
        }
        Value::Object(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stay_and_texts_go() {
        let cases = [
            ("[1, 2.5, -1]", None),
            ("True", None),
            ("bf16", None),
            ("1e-05", None),
            ("", None),
            ("/home/ada/acme.bin", Some("text_1")),
            ("[1, acme]", Some("text_2")),
            ("bij,bjk->bik", Some("text_3")),
        ];
        let mut placeholders = Placeholders::default();
        for (text, expected) in cases {
            assert_eq!(value(text, &mut placeholders), expected.unwrap_or(text));
        }
        assert_eq!(
            type_name("c10::BFloat16", &mut placeholders),
            "c10::BFloat16"
        );
        assert_eq!(type_name("acme::Type", &mut placeholders), "type_1");
    }

    #[test]
    fn arguments_nobody_knows_go() {
        let mut placeholders = Placeholders::default();
        let args = r#""stream": 7, "grid": [1, 2, 3], "acme": 7, "kernel_file": "/home/ada.py", "dtype": "Float", "Process Group Name": "acme", "bytes": "acme""#;
        assert_eq!(
            extra(args, &mut placeholders).unwrap(),
            r#""Process Group Name":"group_1","dtype":"Float","grid":[1,2,3],"stream":7"#
        );
        assert_eq!(extra(r#""acme": 7"#, &mut placeholders), None);
        assert_eq!(extra(r#""acme"#, &mut placeholders), None);
    }
}
