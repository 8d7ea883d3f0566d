//! Element types as the profiler writes them.

use super::{ComputeSpec, Unit};
use crate::base::format::plain_dtype;
use crate::hardware::Precision;
pub(super) use crate::names::signatures::is_tensor_type as is_tensor;

/// A scalar argument counts as four bytes, as in TraceLens. Inference libraries use bytes to store FP8, so `unsigned
/// char` counts as FP8. A `float4_e2m1fn_x2` packs two numbers. Names are [plain](plain_dtype); the precision is that
/// of the peak which arithmetic on the type is compared with.
const TYPES: [(&str, f64, Option<Precision>); 25] = [
    ("float64", 8.0, Some(Precision::Fp64)),
    ("float32", 4.0, Some(Precision::Fp32)),
    ("float16", 2.0, Some(Precision::Fp16)),
    ("bfloat16", 2.0, Some(Precision::Bf16)),
    ("float8_e4m3fn", 1.0, Some(Precision::Fp8)),
    ("float8_e4m3fnuz", 1.0, Some(Precision::Fp8)),
    ("float8_e5m2", 1.0, Some(Precision::Fp8)),
    ("float8_e5m2fnuz", 1.0, Some(Precision::Fp8)),
    ("float8_e8m0fnu", 1.0, None),
    ("float4_e2m1fn_x2", 1.0, Some(Precision::Fp4)),
    ("fp8", 1.0, Some(Precision::Fp8)),
    ("fp4", 1.0, Some(Precision::Fp4)),
    ("complex32", 4.0, None),
    ("complex64", 8.0, Some(Precision::Fp32)),
    ("complex128", 16.0, Some(Precision::Fp64)),
    ("int64", 8.0, None),
    ("int32", 4.0, None),
    ("int16", 2.0, None),
    ("int8", 1.0, Some(Precision::Int8)),
    ("uint64", 8.0, None),
    ("uint32", 4.0, None),
    ("uint16", 2.0, None),
    ("uint8", 1.0, Some(Precision::Fp8)),
    ("bool", 1.0, None),
    ("scalar", 4.0, None),
];

fn find(dtype: &str) -> Option<(f64, Option<Precision>)> {
    let plain = plain_dtype(dtype);
    let mut types = TYPES.into_iter();
    let (_, bytes, precision) = types.find(|(name, ..)| plain == *name)?;
    Some((bytes, precision))
}

/// Bytes of an element; `None` for an unknown type.
pub(crate) fn bytes(dtype: &str) -> Option<f64> {
    find(dtype).map(|(bytes, _)| bytes)
}

/// Numbers per element: two if it packs a pair.
pub(super) fn numbers(dtype: &str) -> f64 {
    let is_pair = dtype.to_ascii_lowercase().ends_with("_x2");
    if is_pair { 2.0 } else { 1.0 }
}

/// Factors for real multiplications and additions: (a + bi)·(c + di) takes four multiplications and two additions, and
/// accumulating it takes two more.
pub(super) fn complex_factors(dtype: &str) -> (f64, f64) {
    if rank(dtype) == Rank::Complex {
        (4.0, 2.0)
    } else {
        (1.0, 1.0)
    }
}

/// Matrix units in the precision of a type.
pub(crate) fn matrix(dtype: &str) -> Option<ComputeSpec> {
    spec(Unit::Matrix, dtype)
}

/// Vector units in the precision of a type.
pub(super) fn vector(dtype: &str) -> Option<ComputeSpec> {
    spec(Unit::Vector, dtype)
}

fn spec(unit: Unit, dtype: &str) -> Option<ComputeSpec> {
    let (_, precision) = find(dtype)?;
    precision.map(|precision| ComputeSpec { unit, precision })
}

/// True for integers and booleans.
pub(crate) fn is_integer(dtype: &str) -> bool {
    rank(dtype) <= Rank::Whole
}

/// Kinds of numbers: with operands of different kinds the result has the last one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rank {
    Flag,
    Whole,
    Real,
    Complex,
}

/// The kind of an element.
pub(super) fn rank(dtype: &str) -> Rank {
    match plain_dtype(dtype) {
        plain if plain == "bool" => Rank::Flag,
        plain if plain.starts_with("int") || plain.starts_with("uint") => Rank::Whole,
        plain if plain.starts_with("complex") => Rank::Complex,
        _ => Rank::Real,
    }
}

/// Bytes of an element by PyTorch's numeric code of its type, as `dtype` arguments are recorded.
pub(super) fn bytes_of_code(code: &str) -> Option<f64> {
    Some(match code.trim() {
        "0" | "1" | "11" | "23" | "24" | "25" | "26" => 1.0,
        "2" | "5" | "15" => 2.0,
        "3" | "6" => 4.0,
        "4" | "7" | "9" => 8.0,
        // By its name, as scripts write it.
        name => return bytes(name),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_precisions() {
        let cases = [
            ("c10::BFloat16", Some(2.0), Some("vector_bf16")),
            ("c10::bfloat16", Some(2.0), Some("vector_bf16")),
            ("torch.bfloat16", Some(2.0), Some("vector_bf16")),
            ("at::Half", Some(2.0), Some("vector_fp16")),
            ("float", Some(4.0), Some("vector_fp32")),
            ("c10::Float8_e4m3fnuz", Some(1.0), Some("vector_fp8")),
            ("signed char", Some(1.0), Some("vector_int8")),
            ("long int", Some(8.0), None),
            ("bool", Some(1.0), None),
            ("torch.int64", Some(8.0), None),
            ("TensorList", None, None),
            ("", None, None),
        ];
        for (dtype, size, spec) in cases {
            assert_eq!(bytes(dtype), size, "{dtype}");
            let label = vector(dtype).map(ComputeSpec::label);
            assert_eq!(label.as_deref(), spec, "{dtype}");
        }
        assert!(is_integer("long int") && is_integer("torch.uint8") && !is_integer("float"));
        assert_eq!(
            matrix("double").map(ComputeSpec::label).unwrap(),
            "matrix_fp64"
        );
    }
}
