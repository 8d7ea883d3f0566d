//! Kernels that `torch.compile` generates from GEMM templates: `triton_tem_fused_mm_…`.
//!
//! Their buffers are recorded, not the views that the kernel uses, so shapes do not identify the dimensions. Sizes do:
//! with |A| = M·K, |B| = K·N and |C| = M·N, the product of all three is (M·N·K)², and a GEMM takes 2·M·N·K =
//! 2·√(|A|·|B|·|C|) operations. A batch of b GEMMs has b³ times that under the root: 2·√(|A|·|B|·|C| / b). C is the
//! last buffer. A convolution takes 2·|out|·|w| / C_out. Every buffer moves once.

use crate::perf::input::Tensor;
use crate::perf::{Modeled, OpInput, dtype, on_matrices};

/// `triton_tem_…`.
pub(crate) fn template(input: &OpInput) -> Option<Modeled> {
    let tensors: Vec<Tensor> = input.tensors().collect();
    let (out, operands) = tensors.split_last()?;
    let has = |word: &str| input.name.contains(word);
    let flops = if is_attention(input) {
        let flops = attention_flops(input, &tensors)?;
        (!has_mask(&tensors)).then_some(flops)?
    } else if has("convolution") {
        convolution_flops(operands, out)?
    } else {
        let batch = if has("bmm") { leading(out)? } else { 1.0 };
        product_flops(operands, out, batch)?
    };
    let first = operands.first()?;
    Some(on_matrices(
        first.dtype,
        flops,
        tensors.iter().map(Tensor::bytes).sum(),
    ))
}

fn leading(tensor: &Tensor) -> Option<f64> {
    match tensor.shape {
        [batch @ .., _, _] if !batch.is_empty() => Some(crate::perf::input::product(batch)),
        _ => None,
    }
}

/// Operations of a GEMM, from the first two operands that fit: K = √(|A|·|B| / (|C|·b)) is whole and a size of both.
fn product_flops(operands: &[Tensor], out: &Tensor, batch: f64) -> Option<f64> {
    let has_size = |tensor: &Tensor, k: f64| {
        let mut sizes = tensor.shape.iter();
        sizes.any(|size| (*size as f64 - k).abs() < 0.5)
    };
    for (at, a) in operands.iter().enumerate() {
        for b in operands.iter().skip(at + 1) {
            let k = (a.n() * b.n() / (out.n() * batch)).sqrt();
            if k >= 1.0 && k.fract() < 1e-9 && has_size(a, k) && has_size(b, k) {
                return Some(2.0 * out.n() * k);
            }
        }
    }
    None
}

fn convolution_flops(operands: &[Tensor], out: &Tensor) -> Option<f64> {
    let filter = operands
        .iter()
        .skip(1)
        .find(|tensor| tensor.shape.len() == out.shape.len())?;
    let channels = *filter.shape.first()? as f64;
    (channels > 0.0 && out.shape.get(1) == filter.shape.first())
        .then(|| 2.0 * out.n() * filter.n() / channels)
}

fn is_attention(input: &OpInput) -> bool {
    let mut names = ["flex_attention", "flex_decoding"].into_iter();
    names.any(|name| input.name.contains(name))
}

/// Flexible attention if its mask kept all blocks, which is the most that it can compute. `None` without a block mask.
pub(crate) fn of_all_blocks(input: &OpInput) -> Option<Modeled> {
    let tensors: Vec<Tensor> = input.tensors().collect();
    let flops = attention_flops(input, &tensors).filter(|_| is_attention(input))?;
    let bytes = tensors.iter().map(Tensor::bytes).sum();
    let first = tensors.first()?;
    has_mask(&tensors).then(|| on_matrices(first.dtype, flops, bytes))
}

/// Whether there is a block mask of several blocks among the buffers: lists of integers for each head, of which only
/// the values tell how many blocks are computed.
fn has_mask(tensors: &[Tensor]) -> bool {
    let mut lists = tensors
        .iter()
        .filter(|tensor| dtype::is_integer(tensor.dtype));
    lists.any(|list| list.shape.iter().skip(2).any(|size| *size > 1))
}

/// Flexible attention, Q, K, V of B × H × N × d, as dense attention: two GEMMs forward, five backward, where the scores
/// are computed again.
fn attention_flops(input: &OpInput, tensors: &[Tensor]) -> Option<f64> {
    let [q, k, v] = tensors.get(..3)? else {
        return None;
    };
    let (&[b, h, n_q, d], &[_, _, n_kv, _], &[_, _, _, d_v]) = (q.shape, k.shape, v.shape) else {
        return None;
    };
    let pairs = b as f64 * h as f64 * n_q as f64 * n_kv as f64;
    let (d, d_v) = (d as f64, d_v as f64);
    let widths = match input.name.contains("backward") {
        true => 3.0 * d + 2.0 * d_v,
        false => d + d_v,
    };
    Some(2.0 * pairs * widths)
}
