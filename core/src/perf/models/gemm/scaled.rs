//! GEMM of inference and training libraries: quantized, packed, batched and grouped.
//!
//! The formulas are those of [`gemm`](super); argument positions and bytes per element differ. Most take the
//! second operand as N × K. Scales are not counted if TraceLens leaves them out.

use super::{Gemm, matrix_sizes, push_transpose};
use crate::hardware::Precision;
use crate::perf::input::product;
use crate::perf::params::{self, Param, Params};
use crate::perf::{ComputeSpec, Modeled, OpInput, Unit, Work, bare, dtype, on_matrices};

const BF16: &str = "c10::BFloat16";

const FP4: Option<ComputeSpec> = Some(ComputeSpec {
    unit: Unit::Matrix,
    precision: Precision::Fp4,
});

/// A four-bit number takes half a byte.
const FP4_BYTES: f64 = 0.5;

/// `_scaled_mm(A, B, scale_a, scale_b, bias[4], scale, type[6], …)`: 8-bit operands give two-byte results unless
/// another type is requested. If an element packs two numbers, TraceLens takes the number of elements as K; it ignores
/// the bias.
pub(crate) fn scaled_mm(input: &OpInput) -> Option<Modeled> {
    let element = dtype::bytes(input.dtype(0));
    let gemm = Gemm {
        has_bias: input.n_args() == 3,
        c: element.map(|size| size.max(2.0)),
        ..Gemm::uniform(matrix_sizes(input)?, element)
    };
    let numbers = dtype::numbers(input.dtype(0));
    let (bias, of_result) = if input.name.ends_with("_v2") {
        // Lists of scales, recipes and orders precede them.
        (8, 9)
    } else if input.tensor(3).is_none() && input.tensor(4).is_some() {
        // Before PyTorch 2.5 the scales came after them.
        (2, 3)
    } else {
        (4, 6)
    };
    let in_memory = |at: usize| Some(element? / numbers * input.distinct_share(at));
    let unpacked = Gemm {
        k: gemm.k * numbers,
        has_bias: input.tensor(bias).is_some(),
        a: in_memory(0),
        b: in_memory(1),
        c: dtype::bytes_of_code(input.value(of_result).trim()).or(gemm.c),
        bias: input.tensor(bias).and_then(|bias| bias.distinct_bytes()),
        ..gemm
    };
    Some(Modeled {
        work: unpacked.work(input.dtype(0)),
        ..with_params(input, &gemm, [0, 1], None)
    })
}

/// `int8_linear_matmul(A, B)` of bitsandbytes: B of N × K, results of four bytes. TraceLens takes B as K × N.
pub(crate) fn int8_linear(input: &OpInput) -> Option<Modeled> {
    let (k, rows) = input.sizes(0)?.split_last()?;
    let [n, width] = input.sized(1)?;
    let gemm = Gemm {
        c: Some(4.0),
        ..Gemm::uniform([product(rows), *k as f64, n], dtype::bytes(input.dtype(0)))
    };
    let theirs = Gemm { n: width, ..gemm };
    Some(Modeled {
        work: gemm.work(input.dtype(0)),
        ..with_params(input, &theirs, [0, 1], None)
    })
}

/// A pair of matrices that Transformer Engine multiplies inside a fused layer.
pub(crate) fn te_pseudo(input: &OpInput) -> Option<Modeled> {
    let gemm = Gemm {
        c: Some(2.0),
        ..Gemm::uniform(matrix_sizes(input)?, dtype::bytes(input.dtype(0)))
    };
    (input.dtype(0) == input.dtype(1)).then(|| with_params(input, &gemm, [0, 1], None))
}

/// `te_gemm_ts(A, …, transa[4], B[5], …, transb[9], D[10], …, bias[14], …)`, column-major.
pub(crate) fn te_gemm(input: &OpInput) -> Option<Modeled> {
    let [a0, a1] = input.sized(0)?;
    let [b0, b1] = input.sized(5)?;
    let is_set = |at: usize| input.value(at) == "1";
    let (m, k) = if is_set(4) { (a0, a1) } else { (a1, a0) };
    let n = if is_set(9) { b1 } else { b0 };
    let gemm = Gemm {
        has_bias: !input.value(14).is_empty(),
        b: dtype::bytes(input.dtype(5)),
        c: dtype::bytes(input.dtype(10)),
        bias: dtype::bytes(input.dtype(18)).map(|size| size * n),
        ..Gemm::uniform([m, k, n], dtype::bytes(input.dtype(0)))
    };
    Some(with_params(input, &gemm, [0, 5], None))
}

/// `gemm_with_dynamic_quant(…)`: the first two matrices among the arguments, the second N × K, possibly packed along K.
/// TraceLens assumes that both have the same element type.
pub(crate) fn dynamic_quant(input: &OpInput) -> Option<Modeled> {
    let mut matrices = (0..input.n_args()).filter_map(|at| Some((at, input.sized::<2>(at)?)));
    let (first, [m, k]) = matrices.next()?;
    let (second, [n, elements]) = matrices.next()?;
    let gemm = Gemm {
        b: dtype::bytes(input.dtype(second)).map(|size| size * (elements / k).min(1.0)),
        ..Gemm::uniform([m, k, n], dtype::bytes(input.dtype(0)))
    };
    Some(with_params(input, &gemm, [first, second], None))
}

/// `gemm_a8w8(x, w, scale_x, scale_w, …)`: the result has two bytes per element.
pub(crate) fn a8w8(input: &OpInput) -> Option<Modeled> {
    let mut modeled = weighted(input, false, BF16)?;
    let ([m, _], [n, k]): ([f64; 2], [f64; 2]) = (input.sized(0)?, input.sized(1)?);
    // Block sizes along K and N follow from the numbers of columns and rows of the scales.
    let blocks = |total: f64, n_scales: Option<&i64>| {
        let n_scales = n_scales.map(|n| *n as f64).filter(|n| *n > 0.0);
        n_scales.map_or(Param::None, |n| Param::Int((total / n).ceil()))
    };
    let scale_x = input.sizes(2).unwrap_or_default();
    let scale_w = input.sizes(3).unwrap_or_default();
    let (block_k, block_n) = (blocks(k, scale_x.last()), blocks(n, scale_w.first()));
    let granularity = match block_k == Param::Int(k) {
        true => "per_token",
        false => "block",
    };
    modeled.params.extend([
        ("quant_scheme", params::text("a8w8")),
        ("quant_granularity", params::text(granularity)),
        ("block_k", block_k),
        ("block_n", block_n),
        ("scale_dtype", params::text(input.dtype(2))),
        ("output_shape", params::sizes(&[m as i64, n as i64])),
        ("output_dtype", params::text(BF16)),
    ]);
    Some(modeled)
}

/// `gemm_a16w16(x, w, bias, …)`, `rocm_unquantized_gemm(x, w, bias)`: TraceLens takes the type of the result from the
/// bias, else from x or from w.
pub(crate) fn a16w16(input: &OpInput, otherwise: usize) -> Option<Modeled> {
    let has_bias = input.sizes(2).is_some();
    weighted(
        input,
        has_bias,
        input.dtype(if has_bias { 2 } else { otherwise }),
    )
}

/// `gemm_a16w16_atomic(x, w, …, dtype[3])`.
pub(crate) fn a16w16_atomic(input: &OpInput) -> Option<Modeled> {
    weighted(input, false, type_or(input.dtype(3), BF16))
}

/// `gemm_a16w16_asm(x, w, out, …)`.
pub(crate) fn a16w16_asm(input: &OpInput) -> Option<Modeled> {
    weighted(input, false, type_or(input.dtype(2), input.dtype(0)))
}

fn type_or<'a>(named: &'a str, otherwise: &'a str) -> &'a str {
    match dtype::is_tensor(named) {
        true => named,
        false => otherwise,
    }
}

/// x of M × K times w of N × K, with result and bias of one type.
fn weighted(input: &OpInput, has_bias: bool, out: &str) -> Option<Modeled> {
    let [m, k] = input.sized(0)?;
    let [n, _] = input.sized(1)?;
    let gemm = Gemm {
        has_bias,
        b: dtype::bytes(input.dtype(1)),
        c: dtype::bytes(out),
        bias: dtype::bytes(out).map(|size| size * n),
        ..Gemm::uniform([m, k, n], dtype::bytes(input.dtype(0)))
    };
    Some(with_params(input, &gemm, [0, 1], Some(out)))
}

/// TraceLens's parameters; if `out` is given, with the result's type and without strides.
fn with_params(
    input: &OpInput,
    gemm: &Gemm,
    operands @ [a, b]: [usize; 2],
    out: Option<&str>,
) -> Modeled {
    let modeled = bare(gemm.work(input.dtype(a)));
    if out.is_none() {
        return modeled.with(gemm.params(input, operands, false));
    }
    let types = [Some(input.dtype(a)), Some(input.dtype(b)), out];
    let mut all = vec![("B", Param::Int(gemm.batch))];
    all.extend(gemm.sizes());
    all.push(("dtype_A_B", params::dtypes(&types)));
    push_transpose(&mut all, input);
    modeled.with(all)
}

/// `batched_gemm_a8w8(x, w, …)` with w of B × N × K; x has the batch first or second.
pub(crate) fn batched_a8w8(input: &OpInput) -> Option<Modeled> {
    let [x0, x1, k] = input.sized(0)?;
    let [batch, n, _] = input.sized(1)?;
    let m = if x0.total_cmp(&batch).is_eq() { x1 } else { x0 };
    let gemm = Gemm {
        batch,
        b: dtype::bytes(input.dtype(1)),
        c: Some(2.0),
        ..Gemm::uniform([m, k, n], dtype::bytes(input.dtype(0)))
    };
    let mut modeled = with_params(input, &gemm, [0, 1], Some(BF16));
    modeled.work.compute = dtype::matrix(input.dtype(1));
    Some(modeled)
}

/// `batched_gemm_a16wfp4(x, w, …)`: four-bit weights, two per byte.
pub(crate) fn batched_a16wfp4(input: &OpInput) -> Option<Modeled> {
    let [batch, m, k] = input.sized(0)?;
    let n = *input.sizes(1)?.get(1)? as f64;
    let gemm = Gemm {
        batch,
        b: Some(FP4_BYTES),
        ..Gemm::uniform([m, k, n], dtype::bytes(input.dtype(0)))
    };
    Some(fp4(with_params(input, &gemm, [0, 1], Some(BF16))))
}

/// `gemm_afp4wfp4(x, w, …)`: both operands have four bits, packed in pairs along K.
pub(crate) fn afp4wfp4(input: &OpInput) -> Option<Modeled> {
    let [m, packed] = input.sized(0)?;
    let [n, _] = input.sized(1)?;
    let gemm = Gemm {
        a: Some(FP4_BYTES),
        b: Some(FP4_BYTES),
        ..Gemm::uniform([m, 2.0 * packed, n], Some(2.0))
    };
    Some(fp4(with_params(input, &gemm, [0, 1], Some(BF16))))
}

fn fp4(mut modeled: Modeled) -> Modeled {
    modeled.work.compute = FP4;
    modeled
}

/// `hipblaslt_gemm_fp8(A, scale, B, scale, type, transA, transB, transC)`.
pub(crate) fn hipblaslt_fp8(input: &OpInput) -> Option<Modeled> {
    let [m, n, k] = transposed(input)?;
    let element = dtype::bytes(input.dtype(0));
    let gemm = Gemm {
        b: dtype::bytes(input.dtype(2)),
        c: element.map(|size| size.max(2.0)),
        ..Gemm::uniform([m, k, n], element)
    };
    Some(with_params(input, &gemm, [0, 2], None))
}

/// `hipblaslt_gemm_fp4(A, scale, B, scale, type, transA, transB, transC)`, packed in pairs along K, with a one-byte
/// scale for every 32.
pub(crate) fn hipblaslt_fp4(input: &OpInput) -> Option<Modeled> {
    Some(packed_fp4(input, [0, 2], transposed(input)?))
}

/// `gemm_a4w4(A, B, …)`.
pub(crate) fn a4w4(input: &OpInput) -> Option<Modeled> {
    let [m, k] = input.sized(0)?;
    let [n, _] = input.sized(1)?;
    Some(packed_fp4(input, [0, 1], [m, n, k]))
}

fn packed_fp4(input: &OpInput, operands: [usize; 2], [m, n, packed]: [f64; 3]) -> Modeled {
    let k = 2.0 * packed;
    let scales = (m + n) * (k / 32.0).ceil();
    let gemm = Gemm::uniform([m, k, n], Some(FP4_BYTES));
    Modeled {
        work: Work {
            flops: 2.0 * m * n * k,
            bytes: Some(m * packed + n * packed + scales + 2.0 * m * n),
            compute: FP4,
        },
        ..with_params(input, &gemm, operands, None)
    }
}

/// M, N and K of `(A, scale, B, scale, type, transA, transB, transC)`. A transposed result is the product of the
/// transposed operands in reverse order.
fn transposed(input: &OpInput) -> Option<[f64; 3]> {
    let (mut a, mut b) = (input.sized::<2>(0)?, input.sized::<2>(2)?);
    let is_set = |at: usize| matches!(input.value(at), "True" | "true" | "1");
    let (mut transposes_a, mut transposes_b) = (is_set(5), is_set(6));
    if is_set(7) {
        (a, b) = (b, a);
        (transposes_a, transposes_b) = (!transposes_b, !transposes_a);
    }
    let [m, k] = if transposes_a { [a[1], a[0]] } else { a };
    Some([m, if transposes_b { b[0] } else { b[1] }, k])
}

/// `grouped_gemm(x, w, lengths, …)`: each row of x goes to one of G matrices of K × N. Backward, the gradients of rows
/// and of matrices take two GEMMs.
pub(crate) fn grouped(input: &OpInput, n_products: f64) -> Option<Modeled> {
    let [m, k] = input.sized(0)?;
    let [groups, w1, w2] = input.sized(1)?;
    let n = if w1.total_cmp(&k).is_eq() { w2 } else { w1 };
    let bytes = || {
        let (element, out) = (dtype::bytes(input.dtype(0))?, dtype::bytes(input.dtype(1))?);
        // Groups without rows are not read.
        Some((m * k + groups.min(m) * k * n) * element + m * n * out)
    };
    let bytes = bytes().map(|bytes| n_products * bytes);
    let modeled = on_matrices(input.dtype(0), n_products * 2.0 * m * k * n, bytes);
    Some(modeled.with(grouped_params(input, [m, n, k, groups])))
}

/// `grouped_gemm_variable_k(A, B, lengths, …)`: the groups split the shared row dimension; each writes its own K × N.
pub(crate) fn grouped_variable_k(input: &OpInput) -> Option<Modeled> {
    let [rows, m] = input.sized(0)?;
    let [_, n] = input.sized(1)?;
    let groups = product(input.sizes(2)?);
    let bytes = || {
        let (element, out) = (dtype::bytes(input.dtype(0))?, dtype::bytes(input.dtype(1))?);
        Some(rows * (m + n) * element + groups * m * n * out)
    };
    let modeled = on_matrices(input.dtype(0), 2.0 * rows * m * n, bytes());
    Some(modeled.with(grouped_params(input, [m, n, rows, groups])))
}

/// TraceLens's parameters of grouped GEMMs.
fn grouped_params(input: &OpInput, [m, n, k, groups]: [f64; 4]) -> Params {
    let mut all = params::whole([("M", m), ("N", n), ("K", k), ("G", groups)]);
    all.push(("dtype_A_B", params::types_of(input, [0, 1])));
    all
}
