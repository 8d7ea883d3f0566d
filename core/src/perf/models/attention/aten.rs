//! PyTorch's attention operators: those that TraceLens knows, the kernels below them, and their backward passes; also
//! attention of libraries without a model in TraceLens. FLOPs and bytes are those of [`attention`](super).

use super::mask::Mask;
use super::packed::Lengths;
use super::{ATEN_FLASH, ATEN_OTHER, Attention, FLASH, Layout};
use crate::perf::{Modeled, OpInput, Param, bare, matrices, unlisted};

/// Attention with a bias, [`ATEN_OTHER`]. TraceLens reads older calls the same way.
pub(crate) fn scaled_other(input: &OpInput) -> Option<Modeled> {
    ATEN_OTHER.with_params(input, other_layout(input).forward(input))
}

/// Its backward pass, from the forward call.
pub(crate) fn scaled_other_bwd(input: &OpInput) -> Option<Modeled> {
    ATEN_OTHER.with_params(input, other_layout(input).backward(input))
}

/// Before they took a bias, the efficient one was `(q, k, v, logsumexp[3], causal[4])` in PyTorch 2.0, and cuDNN's `(q,
/// k, v, dropout[3], causal[4], …)` in 2.4.
fn other_layout(input: &OpInput) -> Layout {
    let is_older = input.is_flag(3) || input.number(3).is_some();
    match is_older && input.flag(4).is_some() {
        true => Layout {
            causal: Some(4),
            bias: None,
            ..ATEN_OTHER
        },
        false => ATEN_OTHER,
    }
}

/// `_scaled_dot_product_fused_attention_overrideable(q, k, v, bias[3], dropout[4], causal[5], …)`, for other vendors'
/// GPUs; also `scaled_dot_product_attention` and its general implementation, where they launch kernels themselves.
pub(crate) const OVERRIDEABLE: Layout = ATEN_OTHER.at(0, Some(4), 5);

/// `_scaled_dot_product_flash_attention_backward(dO, q, k, v, out, lse, …, dropout[10], causal[11])`. TraceLens takes
/// these from the forward call.
pub(crate) const SCALED_FLASH_BACKWARD: Layout = ATEN_FLASH.at(1, Some(10), 11);

/// `_scaled_dot_product_efficient_attention_backward(dO, q, k, v, bias[4], out, lse, seed, offset,
/// dropout[9], gradients[10], causal[11])`; in PyTorch 2.0 `(dO, q, k, v, out, lse, causal[6], …)`.
pub(crate) fn scaled_efficient_backward(input: &OpInput) -> Option<Modeled> {
    let is_older = input.is_flag(6);
    let layout = Layout {
        bias: (!is_older).then_some(4),
        gradients: (!is_older).then_some(10),
        ..ATEN_OTHER.at(1, Some(9), if is_older { 6 } else { 11 })
    };
    unlisted(layout.backward(input))
}

/// `_scaled_dot_product_cudnn_attention_backward(dO, q, k, v, out, lse, seed, offset, bias[8], …,
/// dropout[13], causal[14])`.
pub(crate) const SCALED_CUDNN_BACKWARD: Layout = Layout {
    bias: Some(8),
    ..ATEN_OTHER.at(1, Some(13), 14)
};

/// The dropout of an attention: a parameter of its model, except for PyTorch's backward passes, which have none.
pub(crate) fn dropout_of(known: Option<&Param>, input: &OpInput) -> Option<f64> {
    if let Some(Param::Float(share)) = known {
        return Some(*share);
    }
    let at = match input.name {
        "aten::_scaled_dot_product_flash_attention_backward" => SCALED_FLASH_BACKWARD.dropout?,
        "aten::_scaled_dot_product_efficient_attention_backward" => 9,
        "aten::_scaled_dot_product_cudnn_attention_backward" => SCALED_CUDNN_BACKWARD.dropout?,
        "aten::_flash_attention_backward" => FLASH_BACKWARD.dropout?,
        "aten::_efficient_attention_backward" => 11,
        _ => return None,
    };
    input.number(at)
}

/// `_flash_attention_forward(q, k, v, starts_q[3], starts_kv, max_q[5], max_kv, dropout[7], causal[8],
/// debug, scale, window[11], …, used[13], …)`, positions first.
pub(crate) const FLASH_FORWARD: Layout = FLASH
    .at(0, Some(7), 8)
    .window(11)
    .packed(3, 5)
    .hidden(&[13]);

/// `_flash_attention_backward(dO, q, k, v, out, lse, starts_q[6], starts_kv, max_q[8], max_kv,
/// dropout[10], causal[11], …, window[15], …)`, positions first.
pub(crate) const FLASH_BACKWARD: Layout = FLASH.at(1, Some(10), 11).window(15).packed(6, 8);

/// `_cudnn_attention_forward(q, k, v, bias, starts_q[4], starts_kv, max_q[6], max_kv, lse, dropout[9],
/// causal[10])`, heads first.
pub(crate) const CUDNN_FORWARD: Layout = ATEN_OTHER.at(0, Some(9), 10).packed(4, 6);

/// Argument positions of memory-efficient attention, in which positions precede heads. The mask is a number: 1 is
/// causal from the top left, 2 from the bottom right.
pub(crate) struct Efficient {
    q: usize,
    /// Start offsets of packed sequences in a batch of one; those of the keys follow.
    starts: usize,
    max_q: usize,
    max_kv: Option<usize>,
    mask: usize,
    /// How many keys of each sequence are in use.
    used: Option<usize>,
    /// Number of keys that a query attends to under a mask, including its own.
    window: usize,
    /// Whether a backward pass writes the gradient of the bias, which follows V.
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

/// `_efficient_attention_backward(dO, q, k, v, bias, out, starts_q[6], starts_kv[7], max_q, max_kv, …,
/// dropout[11], seed, offset, mask[14])`.
pub(crate) const EFFICIENT_BACKWARD: Efficient = Efficient {
    q: 1,
    starts: 6,
    max_q: 8,
    max_kv: Some(9),
    mask: 14,
    used: None,
    window: 18,
    bias_gradient: Some(15),
};

/// `efficient_attention_backward_cutlass(dO, q, k, v, bias, starts_q[5], starts_kv[6], max_q, max_kv, lse,
/// out, dropout, seed, offset, mask[14], scale, splits, window[17])`: no flag before the scale.
pub(crate) const CUTLASS_BACKWARD: Efficient = Efficient {
    starts: 5,
    max_q: 7,
    max_kv: Some(8),
    window: 17,
    bias_gradient: None,
    ..EFFICIENT_BACKWARD
};

impl Efficient {
    /// `_efficient_attention_forward(q, k, v, bias, starts_q[4], starts_kv[5], max_q[6], max_kv, dropout, mask[9],
    /// flag[10], scale, used[12], window[13])`. PyTorch before 2.3 has no `max_kv`; neither does xFormers, where the
    /// flag precedes the mask.
    fn of_forward(input: &OpInput) -> Option<Efficient> {
        let flag = (8..11).find(|at| input.is_flag(*at))?;
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
        // If there are as many keys as queries, they belong to the same sequences.
        let same = all.n_q.total_cmp(&all.n_kv).is_eq().then_some(max_q);
        let max_kv = self.max_kv.and_then(|at| input.number(at)).or(same)?;
        Lengths::read(input, self.starts, [max_q, max_kv])
    }

    pub(crate) fn backward(&self, input: &OpInput) -> Option<Modeled> {
        self.counted(input, Layout::backward, |sizes| sizes.backward_flops(true))
    }

    fn counted(
        &self,
        input: &OpInput,
        pass: fn(&Layout, &OpInput) -> Option<Modeled>,
        flops: fn(&Attention) -> f64,
    ) -> Option<Modeled> {
        if self.used.is_some_and(|at| input.sizes(at).is_some()) {
            return None;
        }
        let layout = self.layout(input)?;
        let mut work = pass(&layout, input)?.work;
        let mut all = layout.read(input)?;
        let window = input.number(self.window).filter(|keys| *keys > 0.0);
        all.window.before = window.map(|keys| keys - 1.0);
        work.flops = match input.sizes(self.starts) {
            Some(_) => all.flops_of(&self.lengths(input, &all)?, flops),
            None => flops(&all),
        };
        Some(bare(work))
    }
}

/// `_efficient_attention_forward(…)`, `efficient_attention_forward_cutlass(…)`.
pub(crate) fn efficient_forward(input: &OpInput) -> Option<Modeled> {
    Efficient::of_forward(input)?.counted(input, Layout::forward, Attention::forward_flops)
}

/// `FlashAttnQKVPackedFunc(qkv, dropout, scale, causal[3], …)` with qkv of B × N × 3 × H × d.
pub(crate) fn qkv_packed(input: &OpInput) -> Option<Modeled> {
    let [batch, n, _, heads, d] = input.sized(0)?;
    let causal = input.flag(3)?;
    let sizes = Attention {
        mask: if causal { FLASH.corner } else { Mask::None },
        ..Attention::new([batch, n, heads, d], [n, heads, d])
    };
    let dtype = input.dtype(0);
    Some(matrices(
        dtype,
        sizes.forward_flops(),
        sizes.forward_elements(),
    ))
}

/// Transformer Engine's `FusedAttnFunc(…)`: Q, K and V are the first three tensors of four dimensions; the layout and
/// the mask are names among its values.
pub(crate) fn te_fused(input: &OpInput) -> Option<Modeled> {
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
    let mut sizes = layout.read(input)?;
    if positions_first {
        // N × B × H × d.
        (sizes.batch, sizes.n_q) = (sizes.n_q, sizes.batch);
        sizes.n_kv = *input.sizes(q + 1)?.first()? as f64;
    }
    unlisted(layout.forward_of(input, &sizes))
}
