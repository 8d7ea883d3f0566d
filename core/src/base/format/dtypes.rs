//! Names of tensor types.

use std::borrow::Cow;

/// The short name of a tensor type in any spelling (`plain_dtype`); `None` if it is not a tensor type.
pub fn dtype(spelling: &str) -> Option<&'static str> {
    let plain = plain_dtype(spelling);
    let known = DTYPES.iter().find(|(known, ..)| *known == plain);
    known.map(|(_, short, _)| *short)
}

/// PyTorch's name of a type, whatever its namespace, case and language: `bfloat16` for "c10::BFloat16",
/// "torch.bfloat16" and "bf16". An unknown type is only lowercased.
pub(crate) fn plain_dtype(spelling: &str) -> Cow<'static, str> {
    let mut plain = spelling.trim().to_ascii_lowercase();
    let has_namespace = plain.bytes().any(|byte| matches!(byte, b':' | b'.'));
    for namespace in ["c10::", "at::", "torch."].iter().filter(|_| has_namespace) {
        while let Some(at) = plain.find(namespace) {
            plain.replace_range(at..at + namespace.len(), "");
        }
    }
    let mut known = DTYPES.iter();
    let known = known.find(|(name, _, others)| *name == plain || others.contains(&&*plain));
    known.map_or(Cow::Owned(plain), |(name, ..)| Cow::Borrowed(*name))
}

/// PyTorch's names of types, their short names in tables, and other names from C++, NumPy and kernels.
const DTYPES: &[(&str, &str, &[&str])] = &[
    ("float64", "fp64", &["double", "fp64"]),
    ("float32", "fp32", &["float", "fp32"]),
    ("float16", "fp16", &["half", "fp16"]),
    ("bfloat16", "bf16", &["bf16"]),
    ("float8_e4m3fn", "fp8 e4m3", &[]),
    ("float8_e4m3fnuz", "fp8 e4m3", &[]),
    ("float8_e5m2", "fp8 e5m2", &[]),
    ("float8_e5m2fnuz", "fp8 e5m2", &[]),
    ("float4_e2m1fn_x2", "fp4", &[]),
    ("complex32", "complex32", &["complex<half>"]),
    ("complex64", "complex64", &["complex<float>"]),
    ("complex128", "complex128", &["complex<double>"]),
    ("int64", "int64", &["long int", "long"]),
    ("int32", "int32", &["int"]),
    ("int16", "int16", &["short int", "short"]),
    ("int8", "int8", &["signed char", "char"]),
    ("uint64", "uint64", &["unsigned long"]),
    ("uint32", "uint32", &["unsigned int"]),
    ("uint16", "uint16", &["unsigned short"]),
    ("uint8", "uint8", &["unsigned char", "byte"]),
    ("bool", "bool", &[]),
];
