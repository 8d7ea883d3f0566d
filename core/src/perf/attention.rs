//! Attention over dense tensors.
//!
//! For each of B·H_Q heads, scores are N_Q × N_KV sums of d_qk products and results are N_Q sums
//! of N_KV products for d_v columns: 2·N_Q·N_KV·(d_qk + d_v). Softmax, masks and dropout are not
//! counted. Q, K, V are read and the result is written, once each; a mask or bias in memory is read.
//!
//! A causal mask leaves half of the scores when both lengths are equal (the diagonal is not
//! counted apart). When they are not, what is left depends on the corner in which the mask
//! begins: PyTorch's own kernels align the first query with the first key, flash attention the
//! last with the last, as decoding with a cache needs.
//!
//! Backward: dV = Pᵀ·dO, dP = dO·Vᵀ, dQ = dS·K, dK = dSᵀ·Q; flash attention also computes the
//! scores anew. Where several query heads share a key head, their gradients are added.

use super::dtype;
use super::params::{self, Params};
use super::{Modelled, OpInput, Work};

/// Which query sees which key under a causal mask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mask {
    /// All of them.
    None,
    /// Query i sees keys up to i.
    TopLeft,
    /// The last query sees all keys, the one before it all but one.
    BottomRight,
}

/// Sizes of an attention.
#[derive(Debug, Clone, Copy)]
pub(super) struct Attention {
    pub(super) batch: f64,
    pub(super) n_q: f64,
    pub(super) h_q: f64,
    pub(super) n_kv: f64,
    pub(super) h_kv: f64,
    pub(super) d_qk: f64,
    pub(super) d_v: f64,
    pub(super) mask: Mask,
}

impl Attention {
    /// Scores that count, for each head.
    pub(super) fn pairs(&self) -> f64 {
        let (q, kv) = (self.n_q, self.n_kv);
        let is_square = q.total_cmp(&kv).is_eq();
        match self.mask {
            Mask::None => q * kv,
            _ if is_square => q * kv / 2.0,
            Mask::TopLeft if q < kv => q * (q + 1.0) / 2.0,
            Mask::TopLeft => q * kv - kv * (kv - 1.0) / 2.0,
            Mask::BottomRight if q < kv => q * kv - q * (q - 1.0) / 2.0,
            Mask::BottomRight => kv * (kv + 1.0) / 2.0,
        }
    }

    pub(super) fn forward_flops(&self) -> f64 {
        self.batch * self.h_q * 2.0 * self.pairs() * (self.d_qk + self.d_v)
    }

    pub(super) fn backward_flops(&self, recomputes: bool) -> f64 {
        let each = self.batch * self.h_q * 2.0 * self.pairs();
        let scores = if recomputes { self.d_qk } else { 0.0 };
        let products = each * (scores + 2.0 * self.d_v + 2.0 * self.d_qk);
        let shared = self.batch * self.n_kv * (self.d_qk + self.d_v) * (self.h_q - self.h_kv);
        products + shared.max(0.0)
    }

    fn n_q_elements(&self) -> f64 {
        self.batch * self.n_q * self.h_q * self.d_qk
    }

    fn n_out_elements(&self) -> f64 {
        self.batch * self.n_q * self.h_q * self.d_v
    }

    fn n_kv_elements(&self) -> f64 {
        self.batch * self.n_kv * self.h_kv * (self.d_qk + self.d_v)
    }

    /// Q, K, V and the result.
    pub(super) fn forward_elements(&self) -> f64 {
        self.n_q_elements() + self.n_kv_elements() + self.n_out_elements()
    }

    /// Q, K, V and their gradients, and the gradient of the result.
    pub(super) fn backward_elements(&self) -> f64 {
        2.0 * (self.n_q_elements() + self.n_kv_elements()) + self.n_out_elements()
    }
}

/// A fused attention that nobody calls: what would do the work of products and softmax in one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FusedAttention {
    /// Heads of all sequences.
    pub batch: u64,
    /// Queries.
    pub n_q: u64,
    /// Keys.
    pub n_kv: u64,
    /// Width of queries and keys.
    pub d_qk: u64,
    /// Width of values.
    pub d_v: u64,
}

impl FusedAttention {
    /// The work of the forward pass; all scores count, as a mask is not known.
    pub fn forward(self, dtype: &str) -> Work {
        let sizes = self.sizes();
        sizes.work(sizes.forward_flops(), sizes.forward_elements(), dtype)
    }

    /// The work of the backward pass, scores computed anew.
    pub fn backward(self, dtype: &str) -> Work {
        let sizes = self.sizes();
        sizes.work(sizes.backward_flops(true), sizes.backward_elements(), dtype)
    }

    /// Number of scores.
    pub fn scores(self) -> Option<u64> {
        self.elements(self.n_q, self.n_kv)
    }

    /// Elements of the result.
    pub fn result(self) -> Option<u64> {
        self.elements(self.n_q, self.d_v)
    }

    /// Whether one of Q, K and V has as many elements.
    pub fn is_operand(self, elements: u64) -> bool {
        let operands = [
            (self.n_q, self.d_qk),
            (self.n_kv, self.d_qk),
            (self.n_kv, self.d_v),
        ];
        let mut operands = operands.into_iter().map(|(n, d)| self.elements(n, d));
        elements > 0 && operands.any(|operand| operand == Some(elements))
    }

    fn elements(self, rows: u64, columns: u64) -> Option<u64> {
        self.batch.checked_mul(rows)?.checked_mul(columns)
    }

    fn sizes(self) -> Attention {
        Attention {
            batch: self.batch as f64,
            n_q: self.n_q as f64,
            h_q: 1.0,
            n_kv: self.n_kv as f64,
            h_kv: 1.0,
            d_qk: self.d_qk as f64,
            d_v: self.d_v as f64,
            mask: Mask::None,
        }
    }
}

impl Attention {
    fn work(&self, flops: f64, elements: f64, dtype: &str) -> Work {
        Work {
            flops,
            bytes: dtype::bytes(dtype).map(|size| elements * size),
            compute: dtype::matrix(dtype),
        }
    }
}

/// How an op lays out its arguments.
#[derive(Clone, Copy)]
pub(super) struct Layout {
    /// Where Q stands; K and V follow.
    pub(super) q: usize,
    /// Heads before positions.
    pub(super) heads_first: bool,
    pub(super) dropout: Option<usize>,
    pub(super) causal: Option<usize>,
    pub(super) causal_default: bool,
    pub(super) corner: Mask,
    pub(super) is_flash: bool,
    /// The reference knows the type.
    pub(super) names_type: bool,
    /// A mask or bias that is read.
    pub(super) bias: Option<usize>,
}

pub(super) const FLASH: Layout = Layout {
    q: 0,
    heads_first: false,
    dropout: Some(3),
    causal: Some(5),
    causal_default: false,
    corner: Mask::BottomRight,
    is_flash: true,
    names_type: true,
    bias: None,
};

pub(super) const ATEN_FLASH: Layout = Layout {
    heads_first: true,
    causal: Some(4),
    corner: Mask::TopLeft,
    ..FLASH
};

pub(super) const ATEN_OTHER: Layout = Layout {
    dropout: Some(5),
    causal: Some(6),
    is_flash: false,
    bias: Some(3),
    ..ATEN_FLASH
};

const AITER: Layout = Layout {
    names_type: false,
    ..FLASH
};

const EVOFORMER: Layout = Layout {
    dropout: None,
    causal: None,
    is_flash: false,
    ..FLASH
};

impl Layout {
    fn read(&self, input: &OpInput) -> Option<Attention> {
        let head_sizes = |at: usize| {
            let [batch, x, y, d] = input.sized(at)?;
            Some(match self.heads_first {
                true => (batch, y, x, d),
                false => (batch, x, y, d),
            })
        };
        let (batch, n_q, h_q, d_qk) = head_sizes(self.q)?;
        let (_, n_kv, h_kv, _) = head_sizes(self.q + 1)?;
        let (_, _, _, d_v) = head_sizes(self.q + 2)?;
        Some(Attention {
            batch,
            n_q,
            h_q,
            n_kv,
            h_kv,
            d_qk,
            d_v,
            mask: self.mask(input),
        })
    }

    /// The same with positions before the batch.
    pub(super) fn forward_transposed(&self, input: &OpInput) -> Option<Modelled> {
        let sizes = self.read(input)?;
        let n_kv = *input.sizes(self.q + 1)?.first()? as f64;
        let transposed = Attention {
            batch: sizes.n_q,
            n_q: sizes.batch,
            n_kv,
            ..sizes
        };
        self.counted(input, &transposed)
    }

    pub(super) fn mask(&self, input: &OpInput) -> Mask {
        let is_causal = self
            .causal
            .and_then(|at| input.flag(at))
            .unwrap_or(self.causal_default);
        if is_causal { self.corner } else { Mask::None }
    }

    pub(super) fn params(&self, input: &OpInput, sizes: &Attention) -> Params {
        let dropout = self.dropout.and_then(|at| input.number(at)).unwrap_or(0.0);
        let mut params = vec![
            ("B", params::int(sizes.batch)),
            ("N_Q", params::int(sizes.n_q)),
            ("H_Q", params::int(sizes.h_q)),
            ("N_KV", params::int(sizes.n_kv)),
            ("H_KV", params::int(sizes.h_kv)),
            ("d_h_qk", params::int(sizes.d_qk)),
            ("d_h_v", params::int(sizes.d_v)),
            ("dropout", params::float(dropout)),
            ("causal", params::flag(sizes.mask != Mask::None)),
            ("flash_impl", params::flag(self.is_flash)),
        ];
        if self.names_type {
            let types = [Some(input.dtype(self.q)), Some(input.dtype(self.q + 1))];
            params.push(("dtype_A_B", params::dtypes(&types)));
        }
        params
    }

    pub(super) fn forward(&self, input: &OpInput) -> Option<Modelled> {
        self.counted(input, &self.read(input)?)
    }

    fn counted(&self, input: &OpInput, sizes: &Attention) -> Option<Modelled> {
        let element = dtype::bytes(input.dtype(self.q));
        let bias = self.bias.and_then(|at| input.tensor(at));
        let bias_bytes = bias.map_or(Some(0.0), |bias| bias.distinct_bytes());
        let bytes = || Some(sizes.forward_elements() * element? + bias_bytes?);
        Some(Modelled {
            work: Work {
                flops: sizes.forward_flops(),
                bytes: bytes(),
                compute: dtype::matrix(input.dtype(self.q)),
            },
            params: self.params(input, sizes),
        })
    }

    pub(super) fn backward(&self, input: &OpInput) -> Option<Modelled> {
        let sizes = self.read(input)?;
        let element = dtype::bytes(input.dtype(self.q));
        Some(Modelled {
            work: Work {
                flops: sizes.backward_flops(self.is_flash),
                bytes: element.map(|size| sizes.backward_elements() * size),
                compute: dtype::matrix(input.dtype(self.q)),
            },
            params: self.params(input, &sizes),
        })
    }
}

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
    /// `flash_attn(q, k, v, dropout[3], scale, causal[5], …)`, positions before heads.
    flash flash_bwd FLASH;
    /// `_scaled_dot_product_flash_attention(q, k, v, dropout[3], causal[4], …)`, heads first.
    aten_flash aten_flash_bwd ATEN_FLASH;
    /// `_scaled_dot_product_efficient_attention(q, k, v, bias, logsumexp, dropout[5], causal[6])`.
    aten_other aten_other_bwd ATEN_OTHER;
    /// `mha_fwd(q, k, v, dropout[3], scale, causal[5])` of aiter.
    aiter aiter_bwd AITER;
    /// `wrapper_fmha_v3_fwd(out, q, k, v, dropout[4], …, causal[6])`.
    aiter_wrapper aiter_wrapper_bwd Layout { q: 1, dropout: Some(4), causal: Some(6), ..AITER };
    /// `flash_attn_3::fwd(q, k, v, …, causal[24])`.
    flash_3 flash_3_bwd Layout { dropout: None, causal: Some(24), ..FLASH };
}

/// `_flash_attn_backward(dO, q, k, v, out, lse, …, dropout[8], scale, causal[10])`.
pub(super) fn flash_backward(input: &OpInput) -> Option<Modelled> {
    let layout = Layout {
        q: 1,
        dropout: Some(8),
        causal: Some(10),
        causal_default: true,
        ..FLASH
    };
    layout.backward(input)
}

/// `aiter::_flash_attn_backward(dO, q, k, v, …, dropout[10], scale, causal[12])`. The reference takes
/// the first three for Q, K and V.
pub(super) fn aiter_backward(input: &OpInput) -> Option<Modelled> {
    let causal = Layout {
        causal: Some(12),
        dropout: Some(10),
        ..AITER
    };
    let ours = Layout { q: 1, ..causal }.backward(input)?;
    Some(Modelled {
        params: causal.params(input, &causal.read(input)?),
        ..ours
    })
}

/// `wrapper_fmha_v3_bwd(dO, q, k, v, …, dropout[7], scale, causal[9])`.
pub(super) fn aiter_wrapper_backward(input: &OpInput) -> Option<Modelled> {
    Layout {
        q: 1,
        dropout: Some(7),
        causal: Some(9),
        ..AITER
    }
    .backward(input)
}

/// `mha_bwd(dO, q, k, v, out, lse, dropout[6], scale, causal[8])`.
pub(super) fn aiter_mha_backward(input: &OpInput) -> Option<Modelled> {
    Layout {
        q: 1,
        dropout: Some(6),
        causal: Some(8),
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
