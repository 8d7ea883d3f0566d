//! Attention of PyTorch: the operators that the reference knows, the kernels below them, and their
//! backward passes; and that of libraries it has no model for. They count as in
//! [`attention`](super::attention).

use super::attention::{ATEN_FLASH, ATEN_OTHER, Attention, FLASH, Layout};
use super::dtype;
use super::gemm::bare;
use super::mask::{Mask, Window};
use super::packed_attention::{self, Lengths};
use super::{Modelled, OpInput, Work};

/// `_scaled_dot_product_flash_attention(q, k, v, dropout[3], causal[4], …)`, heads first.
pub(super) fn scaled_flash(input: &OpInput) -> Option<Modelled> {
    ATEN_FLASH.forward(input)
}

/// Its backward pass, from the forward call.
pub(super) fn scaled_flash_bwd(input: &OpInput) -> Option<Modelled> {
    ATEN_FLASH.backward(input)
}

/// `_scaled_dot_product_efficient_attention(q, k, v, bias, logsumexp, dropout[5], causal[6])`, and that
/// of cuDNN. The reference reads older calls alike.
pub(super) fn scaled_other(input: &OpInput) -> Option<Modelled> {
    ATEN_OTHER.beside(input, other_layout(input).forward(input))
}

/// Its backward pass, from the forward call.
pub(super) fn scaled_other_bwd(input: &OpInput) -> Option<Modelled> {
    ATEN_OTHER.beside(input, other_layout(input).backward(input))
}

/// `_scaled_dot_product_fused_attention_overrideable(q, k, v, bias[3], dropout[4], causal[5], …)`, that
/// of other makers' GPUs. Not in the reference.
pub(super) fn scaled_overrideable(input: &OpInput) -> Option<Modelled> {
    let layout = Layout {
        dropout: Some(4),
        causal: Some(5),
        ..ATEN_OTHER
    };
    unlisted(layout.forward(input))
}

/// Before they took a bias, the one was `(q, k, v, logsumexp[3], causal[4])` in PyTorch 2.0, and the
/// other `(q, k, v, dropout[3], causal[4], …)` in 2.4.
fn other_layout(input: &OpInput) -> Layout {
    let is_older = input.flag(3).is_some() || input.number(3).is_some();
    match is_older && input.flag(4).is_some() {
        true => Layout {
            causal: Some(4),
            bias: None,
            ..ATEN_OTHER
        },
        false => ATEN_OTHER,
    }
}

/// `_scaled_dot_product_flash_attention_backward(dO, q, k, v, out, lse, …, dropout[10], causal[11])`.
/// Not in the reference, which takes it from the forward call.
pub(super) fn scaled_flash_backward(input: &OpInput) -> Option<Modelled> {
    let layout = Layout {
        q: 1,
        dropout: Some(10),
        causal: Some(11),
        ..ATEN_FLASH
    };
    unlisted(layout.backward(input))
}

/// `_scaled_dot_product_efficient_attention_backward(dO, q, k, v, bias[4], out, lse, seed, offset,
/// dropout[9], gradients[10], causal[11])`; in PyTorch 2.0 `(dO, q, k, v, out, lse, causal[6], …)`.
pub(super) fn scaled_efficient_backward(input: &OpInput) -> Option<Modelled> {
    let is_older = input.flag(6).is_some();
    let layout = Layout {
        q: 1,
        dropout: Some(9),
        causal: Some(if is_older { 6 } else { 11 }),
        bias: (!is_older).then_some(4),
        gradients: (!is_older).then_some(10),
        ..ATEN_OTHER
    };
    unlisted(layout.backward(input))
}

/// `_scaled_dot_product_cudnn_attention_backward(dO, q, k, v, out, lse, seed, offset, bias[8], …,
/// dropout[13], causal[14])`.
pub(super) fn scaled_cudnn_backward(input: &OpInput) -> Option<Modelled> {
    let layout = Layout {
        q: 1,
        dropout: Some(13),
        causal: Some(14),
        bias: Some(8),
        ..ATEN_OTHER
    };
    unlisted(layout.backward(input))
}

/// `_flash_attention_forward(q, k, v, starts_q, starts_kv, max_q, max_kv, dropout[7], causal[8], debug,
/// scale, window[11], …, used[13], …)`, positions first. How many keys are in use is not recorded.
pub(super) fn flash_forward(input: &OpInput) -> Option<Modelled> {
    if input.sizes(13).is_some() {
        return None;
    }
    if input.sizes(3).is_some() {
        return unlisted(packed_attention::aten_forward(input));
    }
    unlisted(
        Layout {
            dropout: Some(7),
            causal: Some(8),
            window: Some(11),
            ..FLASH
        }
        .forward(input),
    )
}

/// Where memory-efficient attention has its arguments, positions before heads. The mask is a number:
/// 1 begins in the first corner, 2 in the last.
struct Efficient {
    q: usize,
    /// Where each sequence begins in a batch of one; those of the keys follow.
    starts: usize,
    max_q: usize,
    max_kv: Option<usize>,
    mask: usize,
    /// How many keys of each sequence are in use.
    used: Option<usize>,
    /// How many keys a query sees under a mask, its own included.
    window: usize,
    /// Whether a backward pass writes the gradient of the bias, which stands behind V.
    bias_gradient: Option<usize>,
}

const EFFICIENT: Efficient = Efficient {
    q: 0,
    starts: 4,
    max_q: 6,
    max_kv: Some(7),
    mask: 9,
    used: Some(12),
    window: 13,
    bias_gradient: None,
};

const EFFICIENT_BACKWARD: Efficient = Efficient {
    q: 1,
    starts: 6,
    max_q: 8,
    max_kv: Some(9),
    mask: 14,
    used: None,
    window: 18,
    bias_gradient: Some(15),
};

/// xFormers has no flag before the scale.
const CUTLASS_BACKWARD: Efficient = Efficient {
    starts: 5,
    max_q: 7,
    max_kv: Some(8),
    window: 17,
    bias_gradient: None,
    ..EFFICIENT_BACKWARD
};

impl Efficient {
    /// `_efficient_attention_forward(q, k, v, bias, starts_q[4], starts_kv[5], max_q[6], max_kv,
    /// dropout, mask[9], flag[10], scale, used[12], window[13])`. PyTorch before 2.3 has no `max_kv`;
    /// nor has xFormers, where the flag stands before the mask.
    fn of_forward(input: &OpInput) -> Option<Efficient> {
        let flag = (8..11).find(|at| input.flag(*at).is_some())?;
        let max_kv = None;
        Some(match flag {
            8 => Efficient {
                max_kv,
                used: Some(11),
                window: 12,
                ..EFFICIENT
            },
            9 => Efficient {
                max_kv,
                mask: 8,
                ..EFFICIENT
            },
            _ => EFFICIENT,
        })
    }

    fn layout(&self, input: &OpInput) -> Option<Layout> {
        let corner = match input.value(self.mask).trim() {
            "0" => Mask::None,
            "1" => Mask::TopLeft,
            "2" => Mask::BottomRight,
            _ => return None,
        };
        Some(Layout {
            q: self.q,
            heads_first: false,
            dropout: None,
            causal: None,
            causal_default: corner != Mask::None,
            corner,
            bias: Some(self.q + 3),
            gradients: self.bias_gradient,
            ..ATEN_OTHER
        })
    }

    fn lengths(&self, input: &OpInput, all: &Attention) -> Option<Lengths> {
        let max_q = input.number(self.max_q)?;
        // Keys of as many positions as queries are of the same sequences.
        let same = all.n_q.total_cmp(&all.n_kv).is_eq().then_some(max_q);
        let max_kv = self.max_kv.and_then(|at| input.number(at)).or(same)?;
        Lengths::read(input, [self.starts, self.starts + 1], [max_q, max_kv])
    }

    fn counted(
        &self,
        input: &OpInput,
        pass: fn(&Layout, &OpInput) -> Option<Modelled>,
        flops: fn(&Attention) -> f64,
    ) -> Option<Modelled> {
        if self.used.is_some_and(|at| input.sizes(at).is_some()) {
            return None;
        }
        let layout = self.layout(input)?;
        let mut work = pass(&layout, input)?.work;
        let mut all = layout.read(input)?;
        let window = input.number(self.window).filter(|keys| *keys > 0.0);
        all.window.before = window.map(|keys| keys - 1.0);
        work.flops = match input.sizes(self.starts) {
            Some(_) => self.lengths(input, &all)?.flops(&all, flops),
            None => flops(&all),
        };
        Some(bare(work))
    }
}

/// `_efficient_attention_forward(…)`, `efficient_attention_forward_cutlass(…)`.
pub(super) fn efficient_forward(input: &OpInput) -> Option<Modelled> {
    let efficient = Efficient::of_forward(input)?;
    efficient.counted(input, Layout::forward, Attention::forward_flops)
}

/// `_efficient_attention_backward(dO, q, k, v, bias, out, starts_q[6], starts_kv[7], max_q, max_kv, …,
/// dropout[11], seed, offset, mask[14])`.
pub(super) fn efficient_backward(input: &OpInput) -> Option<Modelled> {
    EFFICIENT_BACKWARD.counted(input, Layout::backward, |sizes| sizes.backward_flops(true))
}

/// `efficient_attention_backward_cutlass(dO, q, k, v, bias, starts_q[5], starts_kv[6], max_q, max_kv, lse,
/// out, dropout, seed, offset, mask[14], scale, splits, window[17])`.
pub(super) fn efficient_cutlass_backward(input: &OpInput) -> Option<Modelled> {
    CUTLASS_BACKWARD.counted(input, Layout::backward, |sizes| sizes.backward_flops(true))
}

/// `_flash_attention_backward(dO, q, k, v, out, lse, starts_q, starts_kv, max_q, max_kv, dropout[10],
/// causal[11], …, window[15], …)`, positions first.
pub(super) fn flash_backward(input: &OpInput) -> Option<Modelled> {
    if input.sizes(6).is_some() {
        return unlisted(packed_attention::aten_backward(input));
    }
    let layout = Layout {
        q: 1,
        dropout: Some(10),
        causal: Some(11),
        window: Some(15),
        ..FLASH
    };
    unlisted(layout.backward(input))
}

/// `_cudnn_attention_forward(q, k, v, bias, starts_q, starts_kv, max_q, max_kv, lse, dropout[9],
/// causal[10])`, heads first.
pub(super) fn cudnn_forward(input: &OpInput) -> Option<Modelled> {
    if input.sizes(4).is_some() {
        return unlisted(packed_attention::cudnn_forward(input));
    }
    let layout = Layout {
        dropout: Some(9),
        causal: Some(10),
        ..ATEN_OTHER
    };
    unlisted(layout.forward(input))
}

/// `FlashAttnQKVPackedFunc(qkv, dropout, scale, causal[3], …)` with qkv of B × N × 3 × H × d.
pub(super) fn qkv_packed(input: &OpInput) -> Option<Modelled> {
    let [batch, n, _, heads, d] = input.sized(0)?;
    let causal = input.flag(3)?;
    let sizes = Attention {
        batch,
        n_q: n,
        h_q: heads,
        n_kv: n,
        h_kv: heads,
        d_qk: d,
        d_v: d,
        mask: if causal {
            Mask::BottomRight
        } else {
            Mask::None
        },
        window: Window::default(),
    };
    let dtype = input.dtype(0);
    Some(bare(Work {
        flops: sizes.forward_flops(),
        bytes: dtype::bytes(dtype).map(|size| sizes.forward_elements() * size),
        compute: dtype::matrix(dtype),
    }))
}

/// Transformer Engine's `FusedAttnFunc(…)`: Q, K and V are the first three tensors of four
/// dimensions; the layout and the mask are words among its values.
pub(super) fn te_fused(input: &OpInput) -> Option<Modelled> {
    let q = (0..input.n_args()).find(|at| input.sizes(*at).is_some_and(|s| s.len() == 4))?;
    let mut words = (0..input.n_args()).map(|at| input.value(at));
    let is_causal = words.clone().find(|word| {
        word.contains("causal") || word.contains("no_mask") || word.contains("padding")
    })?;
    let positions_first = words.any(|word| word.contains("sbhd"));
    let corner = match is_causal {
        mask if mask.contains("bottom_right") => Mask::BottomRight,
        mask if mask.contains("causal") => Mask::TopLeft,
        _ => Mask::None,
    };
    let layout = Layout {
        q,
        dropout: None,
        causal: None,
        causal_default: corner != Mask::None,
        corner,
        ..FLASH
    };
    // N × B × H × d counts like B × N × H × d: both stand in every product.
    let modelled = match positions_first {
        true => layout.forward_transposed(input)?,
        false => layout.forward(input)?,
    };
    unlisted(Some(modelled))
}

fn unlisted(modelled: Option<Modelled>) -> Option<Modelled> {
    modelled.map(|modelled| bare(modelled.work))
}
