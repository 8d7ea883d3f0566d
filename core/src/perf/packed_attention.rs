//! Attention over sequences of different lengths, packed one after the other: T × H × d.
//!
//! The trace tells how many sequences there are, how long they are together and the longest. One
//! is taken to be the longest, the others to share the rest evenly; each counts as in
//! [`attention`](super::attention).

use super::attention::{Attention, FLASH, Layout};
use super::dtype;
use super::{Modelled, OpInput, Work};

/// Where an op has its arguments.
#[derive(Clone, Copy)]
struct Packed {
    q: usize,
    /// Where each sequence begins: one entry more than sequences.
    starts_q: usize,
    starts_kv: usize,
    max_q: usize,
    max_kv: usize,
    dropout: Option<usize>,
    causal: usize,
    window: Option<usize>,
}

const PACKED: Packed = Packed {
    q: 0,
    starts_q: 3,
    starts_kv: 4,
    max_q: 5,
    max_kv: 6,
    dropout: Some(7),
    causal: 9,
    window: Some(10),
};

const PACKED_BACKWARD: Packed = Packed {
    q: 1,
    starts_q: 9,
    starts_kv: 10,
    max_q: 11,
    max_kv: 12,
    dropout: Some(13),
    causal: 15,
    window: Some(16),
};

const FLASH_3: Packed = Packed {
    q: 0,
    starts_q: 7,
    starts_kv: 8,
    max_q: 12,
    max_kv: 13,
    dropout: None,
    causal: 24,
    window: Some(25),
};

impl Packed {
    fn work(
        &self,
        input: &OpInput,
        flops: fn(&Attention) -> f64,
        bytes: fn(&Attention, &OpInput, usize) -> Option<f64>,
    ) -> Option<Modelled> {
        let layout = Layout {
            q: self.q,
            dropout: self.dropout,
            causal: Some(self.causal),
            window: self.window,
            ..FLASH
        };
        let [total_q, h_q, d_qk] = input.sized(self.q)?;
        let [total_kv, h_kv, _] = input.sized(self.q + 1)?;
        let [_, _, d_v] = input.sized(self.q + 2)?;
        let all = Attention {
            batch: 1.0,
            n_q: total_q,
            h_q,
            n_kv: total_kv,
            h_kv,
            d_qk,
            d_v,
            mask: layout.mask(input),
            window: layout.window(input),
        };
        let starts = [self.starts_q, self.starts_kv];
        let longest = [input.number(self.max_q)?, input.number(self.max_kv)?];
        let lengths = Lengths::read(input, starts, longest)?;
        Some(Modelled {
            work: Work {
                flops: lengths.flops(&all, flops),
                bytes: bytes(&all, input, self.q),
                compute: dtype::matrix(input.dtype(self.q)),
            },
            params: layout.params(input, &all),
        })
    }
}

impl Packed {
    /// A backward pass that the reference does not know.
    fn unlisted_backward(&self, input: &OpInput) -> Option<Modelled> {
        let flops = |sizes: &Attention| sizes.backward_flops(true);
        let modelled = self.work(input, flops, Attention::backward_bytes)?;
        Some(super::gemm::bare(modelled.work))
    }
}

/// Numbers of sequences and the longest ones.
pub(super) struct Lengths {
    n_q: f64,
    n_kv: f64,
    max_q: f64,
    max_kv: f64,
}

impl Lengths {
    /// From where the sequences begin: one entry more than sequences.
    pub(super) fn read(
        input: &OpInput,
        [starts_q, starts_kv]: [usize; 2],
        [max_q, max_kv]: [f64; 2],
    ) -> Option<Lengths> {
        let n_sequences = |at: usize| input.sized(at).map(|[n]: [f64; 1]| n - 1.0);
        Some(Lengths {
            n_q: n_sequences(starts_q)?,
            n_kv: n_sequences(starts_kv)?,
            max_q,
            max_kv,
        })
    }

    /// The longest sequence, and the rest of `all` shared evenly by the others.
    pub(super) fn flops(&self, all: &Attention, flops: fn(&Attention) -> f64) -> f64 {
        let one = |n_q: f64, n_kv: f64| flops(&Attention { n_q, n_kv, ..*all });
        let longest = one(self.max_q, self.max_kv);
        let (others_q, others_kv) = (self.n_q - 1.0, self.n_kv - 1.0);
        if others_q < 1.0 || others_kv < 1.0 {
            return longest;
        }
        let share = |total: f64, max: f64, others: f64| ((total - max).max(0.0) / others).floor();
        let (n_q, n_kv) = (
            share(all.n_q, self.max_q, others_q),
            share(all.n_kv, self.max_kv, others_kv),
        );
        longest + others_q * one(n_q, n_kv)
    }
}

/// `_flash_attn_varlen_forward(q, k, v, starts_q, starts_k, max_q, max_k, dropout, scale, causal,
/// window[10], …)`.
pub(super) fn forward(input: &OpInput) -> Option<Modelled> {
    PACKED.work(input, Attention::forward_flops, Attention::forward_bytes)
}

/// Its backward pass, from the forward call.
pub(super) fn forward_bwd(input: &OpInput) -> Option<Modelled> {
    PACKED.work(
        input,
        |sizes| sizes.backward_flops(true),
        Attention::backward_bytes,
    )
}

/// `_flash_attn_varlen_backward(dO, q, k, v, …, starts_q[9], starts_k[10], max_q, max_k, …)`.
pub(super) fn backward(input: &OpInput) -> Option<Modelled> {
    PACKED_BACKWARD.work(
        input,
        |sizes| sizes.backward_flops(true),
        Attention::backward_bytes,
    )
}

/// `flash_attn_3::fwd(q, k, v, …)` of packed sequences, which the reference takes for none.
pub(super) fn flash_3(input: &OpInput) -> Option<Modelled> {
    let modelled = FLASH_3.work(input, Attention::forward_flops, Attention::forward_bytes)?;
    Some(super::gemm::bare(modelled.work))
}

/// Its backward pass, from the forward call.
pub(super) fn flash_3_bwd(input: &OpInput) -> Option<Modelled> {
    let modelled = FLASH_3.work(
        input,
        |sizes| sizes.backward_flops(true),
        Attention::backward_bytes,
    )?;
    Some(super::gemm::bare(modelled.work))
}

/// `flash_attn_3::bwd(dO, q, k, v, …, starts_q[9], starts_kv[10], …)` of packed sequences.
pub(super) fn flash_3_backward(input: &OpInput) -> Option<Modelled> {
    let packed = Packed {
        max_q: 13,
        max_kv: 14,
        dropout: None,
        causal: 16,
        window: Some(17),
        ..PACKED_BACKWARD
    };
    packed.unlisted_backward(input)
}

/// `xformers_flash::flash_fwd(q, k, v, starts_q, starts_kv, …)` of packed sequences.
pub(super) fn xformers(input: &OpInput) -> Option<Modelled> {
    let packed = Packed {
        max_q: 6,
        max_kv: 7,
        dropout: Some(8),
        causal: 10,
        window: Some(11),
        ..PACKED
    };
    let modelled = packed.work(input, Attention::forward_flops, Attention::forward_bytes)?;
    Some(super::gemm::bare(modelled.work))
}

/// `xformers_flash::flash_bwd(share, dO, q, k, v, …, starts_q[7], starts_kv[8], …)` of packed sequences.
pub(super) fn xformers_backward(input: &OpInput) -> Option<Modelled> {
    let packed = Packed {
        q: 2,
        starts_q: 7,
        starts_kv: 8,
        max_q: 9,
        max_kv: 10,
        dropout: Some(11),
        causal: 13,
        window: Some(14),
    };
    packed.unlisted_backward(input)
}

/// `_flash_attention_forward(q, k, v, starts_q, starts_kv, max_q, max_kv, dropout, causal)`.
pub(super) fn aten_forward(input: &OpInput) -> Option<Modelled> {
    let packed = Packed {
        causal: 8,
        window: Some(11),
        ..PACKED
    };
    packed.work(input, Attention::forward_flops, Attention::forward_bytes)
}

/// `_cudnn_attention_forward(q, k, v, bias, starts_q[4], starts_kv[5], max_q, max_kv, sums, dropout,
/// causal)`.
pub(super) fn cudnn_forward(input: &OpInput) -> Option<Modelled> {
    let packed = Packed {
        starts_q: 4,
        starts_kv: 5,
        max_q: 6,
        max_kv: 7,
        dropout: Some(9),
        causal: 10,
        window: None,
        ..PACKED
    };
    packed.work(input, Attention::forward_flops, Attention::forward_bytes)
}

/// `_flash_attention_backward(dO, q, k, v, out, lse, starts_q[6], starts_kv[7], max_q, max_kv, dropout,
/// causal)`.
pub(super) fn aten_backward(input: &OpInput) -> Option<Modelled> {
    let packed = Packed {
        q: 1,
        starts_q: 6,
        starts_kv: 7,
        max_q: 8,
        max_kv: 9,
        dropout: Some(10),
        causal: 11,
        window: Some(15),
    };
    packed.work(
        input,
        |sizes| sizes.backward_flops(true),
        Attention::backward_bytes,
    )
}

/// `varlen_fwd(q, k, v, out, starts_q, starts_kv, lengths_kv, …, pages[8], …, max_q[10], max_kv[11],
/// dropout, scale, …, causal[15])` of vLLM. With a cache, in pages or not, the lengths are in values
/// that no trace records.
pub(super) fn vllm(input: &OpInput) -> Option<Modelled> {
    let packed = Packed {
        starts_q: 4,
        starts_kv: 5,
        max_q: 10,
        max_kv: 11,
        dropout: Some(12),
        causal: 15,
        window: Some(16),
        ..PACKED
    };
    let modelled = packed.work(input, Attention::forward_flops, Attention::forward_bytes)?;
    let has_cache = [6, 8].iter().any(|at| input.sizes(*at).is_some());
    (!has_cache).then(|| super::gemm::bare(modelled.work))
}

/// `FlashAttnVarlenFunc(q, k, v, starts_q, …)`, as [`forward`]; its window is a pair, and not recorded.
/// That of FlashAttention-3 has two lists of used keys before the longest, no dropout, and the mask
/// at place 10. Not in the reference.
pub(super) fn function(input: &OpInput) -> Option<Modelled> {
    let is_third = input.flag(10).is_some() && input.flag(9).is_none();
    let packed = match is_third {
        true if [5, 6].iter().any(|at| input.sizes(*at).is_some()) => return None,
        true => Packed {
            max_q: 7,
            max_kv: 8,
            dropout: None,
            causal: 10,
            window: None,
            ..PACKED
        },
        false => Packed {
            window: None,
            ..PACKED
        },
    };
    let modelled = packed.work(input, Attention::forward_flops, Attention::forward_bytes)?;
    Some(super::gemm::bare(modelled.work))
}
