//! Attention of flash-attn, aiter, vLLM, xFormers and Evoformer. The formulas are those of
//! [`attention`](super).

use super::{Attention, FLASH, Layout};
use crate::perf::{Modeled, OpInput, matrices, on_matrices, unlisted};

/// `_flash_attn_forward(q, k, v, dropout[3], scale, causal[5], window[6], …)`.
pub(crate) const FORWARD: Layout = FLASH.window(6);

/// `mha_fwd(q, k, v, dropout[3], scale, causal[5], window[6], …)` of aiter.
pub(crate) const AITER: Layout = Layout {
    names_type: false,
    window: Some(6),
    ..FLASH
};

/// `wrapper_fmha_v3_fwd(out, q, k, v, dropout[4], …, causal[6], window[7], …)`.
pub(crate) const AITER_WRAPPER: Layout = AITER.at(1, Some(4), 6).window(7);

/// `wrapper_fmha_v3_bwd(dO, q, k, v, …, dropout[7], scale, causal[9], window[10], …)`.
pub(crate) const AITER_WRAPPER_BACKWARD: Layout = AITER.at(1, Some(7), 9).window(10);

/// `mha_bwd(dO, q, k, v, out, lse, dropout[6], scale, causal[8], window[9], …)`.
pub(crate) const AITER_MHA_BACKWARD: Layout = AITER.at(1, Some(6), 8).window(9);

/// `_flash_attn_varlen_forward(q, k, v, starts_q[3], starts_kv, max_q[5], max_kv, dropout, scale,
/// causal, window[10], …)`.
pub(crate) const VARLEN: Layout = FLASH.at(0, Some(7), 9).window(10).packed(3, 5);

/// `_flash_attn_varlen_backward(dO, q, k, v, …, starts_q[9], starts_kv, max_q[11], max_kv, dropout,
/// scale, causal[15], window[16], …)`.
pub(crate) const VARLEN_BACKWARD: Layout = FLASH.at(1, Some(13), 15).window(16).packed(9, 11);

/// `flash_attn_3::fwd(q, k, v, …, starts_q[7], starts_kv, …, used_q[10], used_kv[11], max_q[12],
/// max_kv, pages[14], …, causal[24], window[25], …)`.
pub(crate) const FLASH_3: Layout = FLASH
    .at(0, None, 24)
    .window(25)
    .packed(7, 12)
    .hidden(&[10, 11, 14]);

/// `flash_attn_3::bwd(dO, q, k, v, …, starts_q[9], starts_kv, used_q[11], used_kv[12], max_q[13],
/// max_kv, scale, causal[16], window[17], …)`.
pub(crate) const FLASH_3_BACKWARD: Layout = FLASH
    .at(1, None, 16)
    .window(17)
    .packed(9, 13)
    .hidden(&[11, 12]);

/// `xformers_flash::flash_fwd(q, k, v, starts_q[3], starts_kv, used_kv[5], max_q[6], max_kv, dropout,
/// scale, causal[10], window[11], …, pages[14])`.
pub(crate) const XFORMERS: Layout = FLASH
    .at(0, Some(8), 10)
    .window(11)
    .packed(3, 6)
    .hidden(&[5, 14]);

/// `xformers_flash::flash_bwd(share, dO, q, k, v, …, starts_q[7], starts_kv, max_q[9], max_kv, dropout,
/// scale, causal[13], window[14], …)`.
pub(crate) const XFORMERS_BACKWARD: Layout = FLASH.at(2, Some(11), 13).window(14).packed(7, 9);

/// `varlen_fwd(q, k, v, out, starts_q[4], starts_kv, lengths_kv[6], …, pages[8], …, max_q[10], max_kv,
/// dropout, scale, …, causal[15], window[16], …)` of vLLM.
pub(crate) const VLLM: Layout = FLASH
    .at(0, Some(12), 15)
    .window(16)
    .packed(4, 10)
    .hidden(&[6, 8]);

const EVOFORMER: Layout = Layout {
    dropout: None,
    causal: None,
    is_flash: false,
    ..FLASH
};

/// `FlashAttnFunc(q, k, v, dropout[3], scale, causal[5], …)`, positions before heads. FlashAttention-3's has the scale
/// instead of dropout, followed by the mask. Their windows are pairs, which are not recorded.
pub(crate) fn function(input: &OpInput) -> Layout {
    match input.is_flag(4) && !input.is_flag(5) {
        true => FLASH.at(0, None, 4),
        false => FLASH,
    }
}

/// `FlashAttnVarlenFunc(q, k, v, starts_q, …)`, like [`VARLEN`]; its window is a pair, which is not recorded.
/// FlashAttention-3's has two lists of used keys before the maximum lengths, no dropout, and the mask at position 10.
pub(crate) fn varlen_function(input: &OpInput) -> Layout {
    let plain = Layout {
        window: None,
        ..VARLEN
    };
    match input.is_flag(10) && !input.is_flag(9) {
        true => plain.at(0, None, 10).packed(3, 7).hidden(&[5, 6]),
        false => plain,
    }
}

/// `flash_attn_3::fwd` or its backward pass; TraceLens has no model for packed sequences.
pub(crate) fn listed_if_dense(input: &OpInput, modeled: Option<Modeled>) -> Option<Modeled> {
    match input.sizes(7) {
        Some(_) => unlisted(modeled),
        None => modeled,
    }
}

/// `_flash_attn_backward(dO, q, k, v, out, lse, dq, dk, dv, dropout[9], scale, causal[11], window[12], …)`. TraceLens
/// reads positions 8 and 10.
pub(crate) fn flash_backward(input: &OpInput) -> Option<Modeled> {
    let theirs = Layout {
        causal_default: true,
        ..FLASH.at(1, Some(8), 10)
    };
    let causal = if input.is_flag(10) { 10 } else { 11 };
    let ours = theirs.at(1, Some(8), causal).window(causal + 1);
    theirs.with_params(input, ours.backward(input))
}

/// `aiter::_flash_attn_backward(dO, q, k, v, …, dropout[10], scale, causal[12], window[13], …)`. TraceLens takes the
/// first three as Q, K and V.
pub(crate) fn aiter_backward(input: &OpInput) -> Option<Modeled> {
    let [theirs, ours] = [0, 1].map(|q| AITER.at(q, Some(10), 12).window(13));
    theirs.with_params(input, ours.backward(input))
}

/// SageAttention's Triton kernel `sage_fwd(q, k, v, …)`: the scales of Q and K have the heads in their second
/// dimension, which tells whether the heads of Q precede or follow the positions. No mask is recorded; the diffusion
/// models that it is made for have none.
pub(crate) fn sage(input: &OpInput) -> Option<Modeled> {
    let scales = (3..input.n_args()).find_map(|at| <[i64; 3]>::try_from(input.sizes(at)?).ok());
    let [_, heads, _] = scales?;
    let read = |at: usize| {
        let [batch, one, other, width] = <[i64; 4]>::try_from(input.sizes(at)?).ok()?;
        let sizes = match [one == heads, other == heads] {
            [true, _] => [batch, other, one, width],
            [false, true] => [batch, one, other, width],
            [false, false] => return None,
        };
        Some(sizes.map(|size| size as f64))
    };
    let [_, n_kv, h_kv, _] = read(1)?;
    let [.., d_v] = read(2)?;
    let sizes = Attention::new(read(0)?, [n_kv, h_kv, d_v]);
    let bytes = sizes.forward_bytes(input, 0);
    let modeled = on_matrices(input.dtype(0), sizes.forward_flops(), bytes);
    Some(modeled.with(EVOFORMER.params(input, &sizes)))
}

/// `EvoformerAttention(q, k, v, …)` with q of B × rows × positions × H × d, or its backward pass; every row counts as a
/// batch.
pub(crate) fn evoformer(input: &OpInput, is_backward: bool) -> Option<Modeled> {
    let [b, rows, n_q, h_q, d_qk] = input.sized(0)?;
    let [_, _, n_kv, h_kv, _] = input.sized(1)?;
    let [_, _, _, _, d_v] = input.sized(2)?;
    let sizes = Attention::new([b * rows, n_q, h_q, d_qk], [n_kv, h_kv, d_v]);
    let (flops, elements) = match is_backward {
        true => (sizes.backward_flops(false), sizes.backward_elements()),
        false => (sizes.forward_flops(), sizes.forward_elements()),
    };
    Some(matrices(input.dtype(0), flops, elements).with(EVOFORMER.params(input, &sizes)))
}

/// `na2d_forward(q, k, v, window[3], …)` with q of B × height × width × H × d, in older versions B × H × height × width
/// × d: each query attends to as many keys as the window has positions. Not in TraceLens.
pub(crate) fn neighborhood(input: &OpInput) -> Option<Modeled> {
    let [q, k, v] = [input.tensor(0)?, input.tensor(1)?, input.tensor(2)?];
    let window = input.numbers(3)?;
    // One number is the size along each dimension of an image.
    let n_dims = q.shape.len().checked_sub(3)?;
    let keys: f64 = match window[..] {
        [one] => one.powi(i32::try_from(n_dims).ok()?),
        _ => window.iter().product(),
    };
    let flops = 2.0 * keys * (q.n() + v.n());
    let bytes = || Some(q.bytes()? + k.bytes()? + v.bytes()? + v.bytes()?);
    (keys > 0.0).then(|| on_matrices(q.dtype, flops, bytes()))
}
