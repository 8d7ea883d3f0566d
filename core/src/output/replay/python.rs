//! A reproducer as a few lines of Python, to paste into a shell with PyTorch.
//!
//! Made from the same data as the package: the operator, its arguments by name, and how tensors are filled. Names and
//! texts from a trace become literals, never code.

use crate::base::format;
use serde_json::Value;

use super::package::Entry;

/// Longest list of tensors that is written element by element.
const MOST_TENSORS: usize = 4;
/// Words that cannot be variable names.
#[rustfmt::skip]
const RESERVED: &[&str] = &[
    "and", "as", "class", "def", "del", "else", "for", "from", "if", "import", "in", "is", "lambda",
    "not", "or", "pass", "return", "try", "while", "with", "dev", "torch", "Timer", "run",
];

/// Element types as the profiler writes them in C++, and their names in PyTorch.
#[rustfmt::skip]
const DTYPES: &[(&str, &str)] = &[
    ("double", "float64"), ("float", "float32"), ("c10::half", "float16"),
    ("c10::bfloat16", "bfloat16"), ("c10::float8_e4m3fn", "float8_e4m3fn"),
    ("c10::float8_e4m3fnuz", "float8_e4m3fnuz"), ("c10::float8_e5m2", "float8_e5m2"),
    ("c10::float8_e5m2fnuz", "float8_e5m2fnuz"), ("c10::float8_e8m0fnu", "float8_e8m0fnu"),
    ("c10::float4_e2m1fn_x2", "float4_e2m1fn_x2"), ("c10::complex<c10::half>", "complex32"),
    ("c10::complex<float>", "complex64"), ("c10::complex<double>", "complex128"),
    ("long int", "int64"), ("long", "int64"), ("long long", "int64"), ("int", "int32"),
    ("short int", "int16"), ("short", "int16"), ("signed char", "int8"), ("char", "int8"),
    ("unsigned char", "uint8"), ("unsigned short", "uint16"), ("unsigned int", "uint32"),
    ("unsigned long", "uint64"), ("bool", "bool"),
];

/// Element types by PyTorch's number for them, as recorded in arguments.
#[rustfmt::skip]
const DTYPE_CODES: &[(i64, &str)] = &[
    (0, "uint8"), (1, "int8"), (2, "int16"), (3, "int32"), (4, "int64"), (5, "float16"),
    (6, "float32"), (7, "float64"), (8, "complex32"), (9, "complex64"), (10, "complex128"),
    (11, "bool"), (15, "bfloat16"), (23, "float8_e5m2"), (24, "float8_e4m3fn"),
    (25, "float8_e5m2fnuz"), (26, "float8_e4m3fnuz"), (27, "uint16"), (28, "uint32"), (29, "uint64"),
];

#[rustfmt::skip]
const MEMORY_FORMATS: &[(i64, &str)] = &[
    (0, "contiguous_format"), (1, "preserve_format"), (2, "channels_last"), (3, "channels_last_3d"),
];

impl Entry {
    /// A program that creates the arguments, calls the operator and times it; `None` if a type has no Python name, or
    /// the operator cannot be called by name.
    pub fn python(&self) -> Option<String> {
        program(self.json())
    }
}

fn program(entry: &Value) -> Option<String> {
    let op = entry["op_name"].as_str()?;
    let (space, name) = op.split_once("::").filter(|(space, name)| {
        let is_word = |text: &str| {
            let is_letter = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
            !text.is_empty() && text.chars().all(is_letter)
        };
        is_word(space) && is_word(name)
    })?;
    let ir = &entry["replay_ir"];
    let mut lines = vec!["import torch".to_owned()];
    lines.push("from torch.utils.benchmark import Timer".to_owned());
    if space != "aten" {
        lines.push(format!(
            "# Import the module that registers {op} before it is called."
        ));
    }
    lines.push("dev = \"cuda\" if torch.cuda.is_available() else \"cpu\"".to_owned());
    let mut given = Vec::new();
    for (list, is_keyword) in [("list_pos_args", false), ("list_kwargs", true)] {
        for argument in ir[list].as_array()? {
            let name = argument["arg_name"].as_str()?;
            let value = &argument["value"];
            let of_type = argument["arg_type"].as_str().unwrap_or_default();
            let is_tensor = value.is_object() || is_tensors(value);
            let written = match is_tensor {
                true => {
                    let variable = variable(name);
                    lines.push(format!("{variable} = {}", tensors(value)?));
                    variable
                }
                false => literal(value, of_type)?,
            };
            given.push(match is_keyword {
                true => format!("{name}={written}"),
                false => written,
            });
        }
    }
    let overload = match entry["overload"].as_str() {
        None => String::new(),
        Some("") => ".default".to_owned(),
        Some(overload) => format!(".{overload}"),
    };
    let call = format!("torch.ops.{space}.{name}{overload}({})", given.join(", "));
    lines.push(format!("run = lambda: {call}"));
    let mean_us = entry["trace"]["mean_us"].as_f64();
    let mean = mean_us.map_or(String::new(), |us| format!("  # in the trace: {us:.1} µs"));
    lines.push(format!(
        "print(Timer(\"run()\", globals={{\"run\": run}}).blocked_autorange()){mean}"
    ));
    Some(lines.join("\n") + "\n")
}

/// A variable name for an argument.
fn variable(name: &str) -> String {
    match RESERVED.contains(&name) {
        true => format!("{name}_"),
        false => name.to_owned(),
    }
}

fn is_tensors(value: &Value) -> bool {
    let list = value.as_array();
    list.is_some_and(|list| list.iter().any(Value::is_object))
}

/// A tensor, or a list of them.
fn tensors(value: &Value) -> Option<String> {
    let Some(list) = value.as_array() else {
        return tensor(value, None);
    };
    let first = list.iter().find(|one| one.is_object())?;
    let same = |one: &Value| {
        let keys = ["dtype", "init", "high"];
        one.is_object() && is_dense(one) && keys.iter().all(|key| one[key] == first[key])
    };
    if list.len() > MOST_TENSORS && list.iter().all(same) {
        let shapes = list.iter().map(|one| shape(&one["shape"]));
        let shapes = shapes.collect::<Option<Vec<_>>>()?.join(", ");
        return Some(format!(
            "[{} for size in [{shapes}]]",
            tensor(first, Some("size"))?
        ));
    }
    let each = list.iter().map(|one| match one.is_object() {
        true => tensor(one, None),
        false => Some("None".to_owned()),
    });
    Some(format!(
        "[{}]",
        each.collect::<Option<Vec<_>>>()?.join(", ")
    ))
}

/// A tensor, filled as its operator requires; with the size in the variable `size`, if given.
fn tensor(spec: &Value, size: Option<&str>) -> Option<String> {
    let recorded = spec["dtype"].as_str()?.to_ascii_lowercase();
    let (_, dtype) = DTYPES.iter().find(|(known, _)| *known == recorded)?;
    let sizes = integers(&spec["shape"])?;
    let strides = (!is_dense(spec)).then(|| integers(&spec["strides"]));
    let n = match &strides {
        Some(strides) => storage(&sizes, strides.as_deref()?)?,
        None => 0,
    };
    let shape = match (size, &strides) {
        (Some(size), _) => size.to_owned(),
        (None, Some(_)) => format!("({n},)"),
        (None, None) => tuple(&sizes),
    };
    let made = filled(spec, dtype, &sizes, &shape)?;
    Some(match strides {
        Some(strides) => format!(
            "({made}).as_strided({}, {})",
            tuple(&sizes),
            tuple(&strides?)
        ),
        None => made,
    })
}

/// A dense tensor with the values that its operator requires; `shape` is an expression.
fn filled(spec: &Value, dtype: &str, sizes: &[i64], shape: &str) -> Option<String> {
    let high = spec["high"].as_i64().unwrap_or(8);
    let is_real = dtype.starts_with("float") || dtype.starts_with("bfloat");
    let is_narrow = dtype.contains("float8") || dtype.contains("float4");
    // Random numbers are generated in single precision if the type does not support it.
    let as_real = |made: &str, after: &str| match is_narrow {
        true => format!("({made}{shape}, device=dev){after}).to(torch.{dtype})"),
        false => format!("{made}{shape}, device=dev, dtype=torch.{dtype}){after}"),
    };
    Some(match spec["init"].as_str() {
        None if is_narrow => format!("torch.zeros({shape}, device=dev).to(torch.{dtype})"),
        None => format!("torch.zeros({shape}, device=dev, dtype=torch.{dtype})"),
        Some("cumulative") => {
            let n = sizes.first().copied().unwrap_or(1);
            format!("torch.linspace(0, {high}, {n}, device=dev).round().to(torch.{dtype})")
        }
        Some("group_ends") => {
            let ends = group_ends(sizes.first().copied().unwrap_or(1), high)?;
            format!("torch.tensor({ends:?}, device=dev, dtype=torch.{dtype})")
        }
        Some("bernoulli") => format!("(torch.rand({shape}, device=dev) < 0.5).to(torch.{dtype})"),
        _ if dtype == "bool" => format!("torch.rand({shape}, device=dev) < 0.5"),
        _ if dtype.contains("float4") => {
            format!(
                "torch.randint(0, 256, {shape}, device=dev, dtype=torch.uint8).view(torch.{dtype})"
            )
        }
        _ if dtype.starts_with("complex") => {
            format!("torch.randn({shape}, device=dev, dtype=torch.complex64).to(torch.{dtype})")
        }
        _ if !is_real => format!(
            "torch.randint(0, {}, {shape}, device=dev, dtype=torch.{dtype})",
            if dtype.ends_with("int8") {
                high.clamp(1, 127)
            } else {
                high.max(1)
            }
        ),
        Some("uniform") => as_real("torch.rand(", " + 0.5"),
        Some("probability") => as_real("torch.rand(", ""),
        Some(_) => as_real("torch.randn(", ""),
    })
}

/// A value that is not a tensor, as a Python literal.
fn literal(value: &Value, of_type: &str) -> Option<String> {
    let named = |known: &[(i64, &str)], code: i64| {
        let found = known.iter().find(|(known, _)| *known == code);
        found.map(|(_, name)| format!("torch.{name}"))
    };
    Some(match value {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Number(number) => match number.as_i64() {
            Some(code) if of_type.starts_with("ScalarType") => named(DTYPE_CODES, code)?,
            Some(code) if of_type.starts_with("MemoryFormat") => named(MEMORY_FORMATS, code)?,
            Some(_) if of_type.starts_with("Layout") => "torch.strided".to_owned(),
            Some(whole) if of_type.starts_with("float") => format!("{whole}.0"),
            _ => number.to_string(),
        },
        // Numbers that JSON cannot express are written as text.
        Value::String(text) if !of_type.starts_with("str") => {
            format!("float({})", Value::String(text.clone()))
        }
        Value::String(_) => value.to_string(),
        Value::Array(list) => {
            let element = of_type.trim_end_matches(['?', '[', ']']);
            let items = list.iter().map(|one| literal(one, element));
            format!("[{}]", items.collect::<Option<Vec<_>>>()?.join(", "))
        }
        Value::Object(_) => return None,
    })
}

fn integers(value: &Value) -> Option<Vec<i64>> {
    value.as_array()?.iter().map(Value::as_i64).collect()
}

fn shape(value: &Value) -> Option<String> {
    Some(tuple(&integers(value)?))
}

/// `(2,)`, `(2, 3)`.
fn tuple(sizes: &[i64]) -> String {
    let items = format::joined(sizes.iter(), ", ");
    let end = if sizes.len() == 1 { "," } else { "" };
    format!("({items}{end})")
}

/// Whether a tensor has the memory layout of a new one with its shape.
fn is_dense(spec: &Value) -> bool {
    let (Some(sizes), Some(strides)) = (integers(&spec["shape"]), integers(&spec["strides"]))
    else {
        return true;
    };
    let mut step = 1_i64;
    let along = sizes.iter().zip(&strides).rev();
    sizes.len() != strides.len()
        || along.into_iter().all(|(size, stride)| {
            // The stride of a dimension of size one does not matter.
            let is_so = *size == 1 || *stride == step;
            step = step.saturating_mul((*size).max(1));
            is_so
        })
}

/// The number of elements in a tensor's storage.
fn storage(sizes: &[i64], strides: &[i64]) -> Option<i64> {
    if sizes.contains(&0) {
        return Some(0);
    }
    sizes
        .iter()
        .zip(strides)
        .try_fold(1_i64, |n, (size, stride)| {
            n.checked_add(size.checked_sub(1)?.checked_mul(*stride)?)
        })
}

/// The ends of groups of nearly equal size, aligned to 16 elements if possible.
fn group_ends(n_groups: i64, high: i64) -> Option<Vec<i64>> {
    /// With more groups, the list would be too long.
    const MOST: i64 = 512;
    let n = Some(n_groups).filter(|n| (1..=MOST).contains(n))?;
    let step = if high >= n.checked_mul(16)? { 16 } else { 1 };
    let end = |group: i64| Some(high.checked_mul(group)? / n / step * step);
    let mut ends: Vec<i64> = (1..n).map(end).collect::<Option<_>>()?;
    ends.push(high);
    Some(ends)
}
