//! Attention of flash-attn, aiter and Evoformer, which the reference has models for. They count as in
//! [`attention`](super::attention).

use super::attention::{Attention, FLASH, Layout};
use super::dtype;
use super::gemm::bare;
use super::mask::{Mask, Window};
use super::packed_attention;
use super::{Modelled, OpInput, Work};

const AITER: Layout = Layout {
    names_type: false,
    window: Some(6),
    ..FLASH
};

const FLASH_3: Layout = Layout {
    dropout: None,
    causal: Some(24),
    window: Some(25),
    ..FLASH
};

const EVOFORMER: Layout = Layout {
    dropout: None,
    causal: None,
    is_flash: false,
    ..FLASH
};

/// A function for the forward call and one for its backward pass, both from the forward's arguments.
macro_rules! forward_and_backward {
    ($($(#[$doc:meta])* $forward:ident $backward:ident $layout:expr;)*) => {$(
        $(#[$doc])*
        pub(super) fn $forward(input: &OpInput) -> Option<Modelled> {
            $layout.forward(input)
        }

        /// Its backward pass.
        pub(super) fn $backward(input: &OpInput) -> Option<Modelled> {
            $layout.backward(input)
        }
    )*};
}

forward_and_backward! {
    /// `_flash_attn_forward(q, k, v, dropout[3], scale, causal[5], window[6], …)`.
    flash flash_bwd Layout { window: Some(6), ..FLASH };
    /// `mha_fwd(q, k, v, dropout[3], scale, causal[5], window[6], …)` of aiter.
    aiter aiter_bwd AITER;
    /// `wrapper_fmha_v3_fwd(out, q, k, v, dropout[4], …, causal[6], window[7], …)`.
    aiter_wrapper aiter_wrapper_bwd Layout {
        q: 1,
        dropout: Some(4),
        causal: Some(6),
        window: Some(7),
        ..AITER
    };
}

/// `FlashAttnFunc(q, k, v, dropout[3], scale, causal[5], …)`, positions before heads; that of
/// FlashAttention-3 has the scale in place of dropout, and the mask behind it. Their windows are pairs,
/// and not recorded.
pub(super) fn function(input: &OpInput) -> Option<Modelled> {
    function_layout(input).forward(input)
}

/// Its backward pass.
pub(super) fn function_bwd(input: &OpInput) -> Option<Modelled> {
    function_layout(input).backward(input)
}

fn function_layout(input: &OpInput) -> Layout {
    match input.flag(4).is_some() && input.flag(5).is_none() {
        true => Layout {
            dropout: None,
            causal: Some(4),
            ..FLASH
        },
        false => FLASH,
    }
}

/// `flash_attn_3::fwd(q, k, v, …, starts_q[7], starts_kv[8], …, used_q[10], used_kv[11], max_q[12],
/// max_kv[13], pages[14], …, causal[24], window[25], …)`. How many keys of a cache are in use is in
/// values that no trace records.
pub(super) fn flash_3(input: &OpInput) -> Option<Modelled> {
    without_cache(input)?;
    match input.sizes(7) {
        Some(_) => packed_attention::flash_3(input),
        None => FLASH_3.forward(input),
    }
}

/// Its backward pass, from the forward call.
pub(super) fn flash_3_bwd(input: &OpInput) -> Option<Modelled> {
    without_cache(input)?;
    match input.sizes(7) {
        Some(_) => packed_attention::flash_3_bwd(input),
        None => FLASH_3.backward(input),
    }
}

/// `flash_attn_3::bwd(dO, q, k, v, …, starts_q[9], starts_kv[10], used_q[11], used_kv[12], max_q[13],
/// max_kv[14], scale, causal[16], window[17], …)`. Not in the reference.
pub(super) fn flash_3_backward(input: &OpInput) -> Option<Modelled> {
    if [11, 12].iter().any(|at| input.sizes(*at).is_some()) {
        return None;
    }
    let layout = Layout {
        q: 1,
        dropout: None,
        causal: Some(16),
        window: Some(17),
        ..FLASH
    };
    match input.sizes(9) {
        Some(_) => packed_attention::flash_3_backward(input),
        None => Some(bare(layout.backward(input)?.work)),
    }
}

/// `xformers_flash::flash_fwd(q, k, v, starts_q[3], starts_kv[4], used_kv[5], max_q, max_kv, dropout[8],
/// scale, causal[10], window[11], …, pages[14])`. How many keys are in use is not recorded.
pub(super) fn xformers(input: &OpInput) -> Option<Modelled> {
    if [5, 14].iter().any(|at| input.sizes(*at).is_some()) {
        return None;
    }
    let layout = Layout {
        dropout: Some(8),
        causal: Some(10),
        window: Some(11),
        ..FLASH
    };
    match input.sizes(3) {
        Some(_) => packed_attention::xformers(input),
        None => Some(bare(layout.forward(input)?.work)),
    }
}

/// `xformers_flash::flash_bwd(share, dO, q, k, v, …, starts_q[7], starts_kv[8], max_q, max_kv, dropout[11],
/// scale, causal[13], window[14], …)`.
pub(super) fn xformers_backward(input: &OpInput) -> Option<Modelled> {
    let layout = Layout {
        q: 2,
        dropout: Some(11),
        causal: Some(13),
        window: Some(14),
        ..FLASH
    };
    match input.sizes(7) {
        Some(_) => packed_attention::xformers_backward(input),
        None => Some(bare(layout.backward(input)?.work)),
    }
}

fn without_cache(input: &OpInput) -> Option<()> {
    let is_partly_used = [10, 11, 14].iter().any(|at| input.sizes(*at).is_some());
    (!is_partly_used).then_some(())
}

/// `_flash_attn_backward(dO, q, k, v, out, lse, dq, dk, dv, dropout[9], scale, causal[11],
/// window[12], …)`. The reference takes places 8 and 10.
pub(super) fn flash_backward(input: &OpInput) -> Option<Modelled> {
    let theirs = Layout {
        q: 1,
        dropout: Some(8),
        causal: Some(10),
        causal_default: true,
        ..FLASH
    };
    let causal = if input.flag(10).is_some() { 10 } else { 11 };
    let ours = Layout {
        causal: Some(causal),
        window: Some(causal + 1),
        ..theirs
    };
    theirs.beside(input, ours.backward(input))
}

/// `aiter::_flash_attn_backward(dO, q, k, v, …, dropout[10], scale, causal[12], window[13], …)`. The
/// reference takes the first three for Q, K and V.
pub(super) fn aiter_backward(input: &OpInput) -> Option<Modelled> {
    let theirs = Layout {
        causal: Some(12),
        dropout: Some(10),
        window: Some(13),
        ..AITER
    };
    let ours = Layout { q: 1, ..theirs };
    theirs.beside(input, ours.backward(input))
}

/// `wrapper_fmha_v3_bwd(dO, q, k, v, …, dropout[7], scale, causal[9], window[10], …)`.
pub(super) fn aiter_wrapper_backward(input: &OpInput) -> Option<Modelled> {
    Layout {
        q: 1,
        dropout: Some(7),
        causal: Some(9),
        window: Some(10),
        ..AITER
    }
    .backward(input)
}

/// `mha_bwd(dO, q, k, v, out, lse, dropout[6], scale, causal[8], window[9], …)`.
pub(super) fn aiter_mha_backward(input: &OpInput) -> Option<Modelled> {
    Layout {
        q: 1,
        dropout: Some(6),
        causal: Some(8),
        window: Some(9),
        ..AITER
    }
    .backward(input)
}

/// `EvoformerAttention(q, k, v, …)` with q of B × rows × positions × H × d; every row is a batch.
pub(super) fn evoformer(input: &OpInput) -> Option<Modelled> {
    evoformer_work(input, Attention::forward_flops, Attention::forward_elements)
}

/// Its backward pass.
pub(super) fn evoformer_bwd(input: &OpInput) -> Option<Modelled> {
    evoformer_work(
        input,
        |sizes| sizes.backward_flops(false),
        Attention::backward_elements,
    )
}

fn evoformer_work(
    input: &OpInput,
    flops: fn(&Attention) -> f64,
    elements: fn(&Attention) -> f64,
) -> Option<Modelled> {
    let [b, rows, n_q, h_q, d_qk] = input.sized(0)?;
    let [_, _, n_kv, h_kv, _] = input.sized(1)?;
    let [_, _, _, _, d_v] = input.sized(2)?;
    let batch = b * rows;
    let mask = Mask::None;
    let sizes = Attention {
        batch,
        n_q,
        h_q,
        n_kv,
        h_kv,
        d_qk,
        d_v,
        mask,
        window: Window::default(),
    };
    let element = dtype::bytes(input.dtype(0));
    Some(Modelled {
        work: Work {
            flops: flops(&sizes),
            bytes: element.map(|size| elements(&sizes) * size),
            compute: dtype::matrix(input.dtype(0)),
        },
        params: EVOFORMER.params(input, &sizes),
    })
}
