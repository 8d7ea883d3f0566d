//! Attention over dense tensors.
//!
//! For each of B·H_Q heads, scores are N_Q × N_KV sums of d_qk products and results are N_Q sums of N_KV products for
//! d_v columns: 2·N_Q·N_KV·(d_qk + d_v). Softmax, masks and dropout are not counted. Q, K, V are read and the result is
//! written, once each; a mask or bias in memory is read. Elements that an operand repeats with a stride of zero are
//! read once. With 8-bit operands the result has two bytes per element.
//!
//! With a [mask](mask) only some of the scores count.
//!
//! Backward: dV = Pᵀ·dO, dP = dO·Vᵀ, dQ = dS·K, dK = dSᵀ·Q; a kernel that never wrote the scores recomputes them. If
//! several query heads share a key head, their gradients are added.

pub(crate) mod aten;
pub(crate) mod flash;
pub(crate) mod inference;
pub(crate) mod kv_cache;
pub(crate) mod mask;
pub(crate) mod packed;

use crate::perf::params::{self, Param, Params};
use crate::perf::{Modeled, OpInput, Work, dtype, matrices, on_matrices};
use mask::{Mask, Window};
use packed::{Lengths, Packed, packed};

/// Sizes of an attention.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Attention {
    pub(crate) batch: f64,
    pub(crate) n_q: f64,
    pub(crate) h_q: f64,
    pub(crate) n_kv: f64,
    pub(crate) h_kv: f64,
    pub(crate) d_qk: f64,
    pub(crate) d_v: f64,
    pub(crate) mask: Mask,
    pub(crate) window: Window,
}

impl Attention {
    /// Attention without a mask, from batch, positions, heads and head dimension of the queries, and positions, heads
    /// and head dimension of the values.
    pub(crate) fn new([batch, n_q, h_q, d_qk]: [f64; 4], [n_kv, h_kv, d_v]: [f64; 3]) -> Attention {
        Attention {
            batch,
            n_q,
            h_q,
            n_kv,
            h_kv,
            d_qk,
            d_v,
            mask: Mask::None,
            window: Window::default(),
        }
    }

    /// Unmasked scores per head.
    fn pairs(&self) -> f64 {
        self.mask.scores([self.n_q, self.n_kv], self.window)
    }

    pub(crate) fn forward_flops(&self) -> f64 {
        self.batch * self.h_q * 2.0 * self.pairs() * (self.d_qk + self.d_v)
    }

    pub(crate) fn backward_flops(&self, recomputes: bool) -> f64 {
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

    /// Operations on packed sequences with these positions in total.
    pub(crate) fn flops_of(&self, lengths: &Lengths, flops: fn(&Attention) -> f64) -> f64 {
        let one = |[n_q, n_kv]: [f64; 2]| flops(&Attention { n_q, n_kv, ..*self });
        lengths.sum([self.n_q, self.n_kv], one)
    }

    /// Bytes of Q, K and V in memory; Q is at position `q`.
    fn operand_bytes(&self, input: &OpInput, q: usize) -> Option<f64> {
        let n_keys = self.batch * self.n_kv * self.h_kv;
        let elements = [self.n_q_elements(), n_keys * self.d_qk, n_keys * self.d_v];
        let bytes = elements.iter().zip(q..).map(|(elements, at)| {
            let size = dtype::bytes(input.dtype(at)).or(dtype::bytes(input.dtype(q)))?;
            Some(elements * size * input.distinct_share(at))
        });
        bytes.sum()
    }

    /// Bytes that the forward pass moves.
    pub(crate) fn forward_bytes(&self, input: &OpInput, q: usize) -> Option<f64> {
        let result = dtype::bytes(input.dtype(q))?.max(2.0);
        Some(self.operand_bytes(input, q)? + self.n_out_elements() * result)
    }

    /// Bytes that the backward pass moves: Q, K and V, their gradients, and the gradient of the result, which precedes
    /// Q if the backward pass is a separate call.
    fn backward_bytes(&self, input: &OpInput, q: usize) -> Option<f64> {
        let element = dtype::bytes(input.dtype(q))?;
        let gradients = self.n_q_elements() + self.n_kv_elements();
        let of_result = self.n_out_elements()
            * if q > 0 {
                input.distinct_share(q - 1)
            } else {
                1.0
            };
        Some(self.operand_bytes(input, q)? + (gradients + of_result) * element)
    }

    /// TraceLens's parameters, except the types.
    pub(crate) fn params(&self, dropout: f64, is_flash: bool) -> Params {
        let mut params = params::whole([
            ("B", self.batch),
            ("N_Q", self.n_q),
            ("H_Q", self.h_q),
            ("N_KV", self.n_kv),
            ("H_KV", self.h_kv),
            ("d_h_qk", self.d_qk),
            ("d_h_v", self.d_v),
        ]);
        params.extend([
            ("dropout", Param::Float(dropout)),
            ("causal", Param::Flag(self.mask != Mask::None)),
            ("flash_impl", Param::Flag(is_flash)),
        ]);
        params
    }

    /// Q, K, V and the result.
    pub(crate) fn forward_elements(&self) -> f64 {
        self.n_q_elements() + self.n_kv_elements() + self.n_out_elements()
    }

    /// Q, K, V and their gradients, and the gradient of the result.
    pub(crate) fn backward_elements(&self) -> f64 {
        2.0 * (self.n_q_elements() + self.n_kv_elements()) + self.n_out_elements()
    }
}

/// A hypothetical fused attention that would replace separate GEMMs and softmax.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FusedAttention {
    /// Total heads of all sequences.
    pub batch: u64,
    /// Queries.
    pub n_q: u64,
    /// Keys.
    pub n_kv: u64,
    /// Head dimension of queries and keys.
    pub d_qk: u64,
    /// Head dimension of values.
    pub d_v: u64,
}

impl FusedAttention {
    /// The work of the forward pass; all scores count, because a mask would be unknown.
    pub fn forward(self, dtype: &str) -> Work {
        let sizes = self.sizes();
        matrices(dtype, sizes.forward_flops(), sizes.forward_elements()).work
    }

    /// The work of the backward pass, which recomputes the scores.
    pub fn backward(self, dtype: &str) -> Work {
        let sizes = self.sizes();
        matrices(dtype, sizes.backward_flops(true), sizes.backward_elements()).work
    }

    /// Number of scores.
    pub(crate) fn scores(self) -> Option<u64> {
        self.elements(self.n_q, self.n_kv)
    }

    /// Elements of the result.
    pub fn result(self) -> Option<u64> {
        self.elements(self.n_q, self.d_v)
    }

    /// Whether Q, K or V has this many elements.
    pub(crate) fn is_operand(self, elements: u64) -> bool {
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
        let [batch, n_q, n_kv, d_qk, d_v] =
            [self.batch, self.n_q, self.n_kv, self.d_qk, self.d_v].map(|size| size as f64);
        Attention::new([batch, n_q, 1.0, d_qk], [n_kv, 1.0, d_v])
    }
}

/// Argument positions of an op.
#[derive(Clone, Copy)]
pub(crate) struct Layout {
    /// Position of Q; K and V follow.
    pub(crate) q: usize,
    /// Whether heads precede positions.
    pub(crate) heads_first: bool,
    pub(crate) dropout: Option<usize>,
    pub(crate) causal: Option<usize>,
    pub(crate) causal_default: bool,
    pub(crate) corner: Mask,
    pub(crate) is_flash: bool,
    /// Whether TraceLens's parameters include the type.
    pub(crate) names_type: bool,
    /// Position of a mask or bias that is read.
    pub(crate) bias: Option<usize>,
    /// Which gradients a backward pass writes: a list for Q, K, V and the bias, or a flag for the bias.
    pub(crate) gradients: Option<usize>,
    /// Position of the window's left size; the right size follows.
    pub(crate) window: Option<usize>,
    /// Positions of the arguments that describe packed sequences.
    pub(crate) packed: Option<Packed>,
    /// Arguments whose values decide which keys are in use; traces do not record them.
    pub(crate) hidden: &'static [usize],
}

pub(crate) const FLASH: Layout = Layout {
    q: 0,
    heads_first: false,
    dropout: Some(3),
    causal: Some(5),
    causal_default: false,
    corner: Mask::BottomRight,
    is_flash: true,
    names_type: true,
    bias: None,
    gradients: None,
    window: None,
    packed: None,
    hidden: &[],
};

/// `_scaled_dot_product_flash_attention(q, k, v, dropout[3], causal[4], …)`, heads first.
pub(crate) const ATEN_FLASH: Layout = Layout {
    heads_first: true,
    causal: Some(4),
    ..FLASH
};

/// `_scaled_dot_product_efficient_attention(q, k, v, bias, logsumexp, dropout[5], causal[6])`, and that
/// of cuDNN.
pub(crate) const ATEN_OTHER: Layout = Layout {
    dropout: Some(5),
    causal: Some(6),
    corner: Mask::TopLeft,
    is_flash: false,
    bias: Some(3),
    ..ATEN_FLASH
};

impl Layout {
    /// The same with Q, dropout and the causal flag at these positions.
    pub(crate) const fn at(mut self, q: usize, dropout: Option<usize>, causal: usize) -> Layout {
        (self.q, self.dropout, self.causal) = (q, dropout, Some(causal));
        self
    }

    pub(crate) const fn window(mut self, at: usize) -> Layout {
        self.window = Some(at);
        self
    }

    pub(crate) const fn packed(mut self, starts: usize, longest: usize) -> Layout {
        self.packed = packed(starts, longest);
        self
    }

    pub(crate) const fn hidden(mut self, at: &'static [usize]) -> Layout {
        self.hidden = at;
        self
    }

    /// The sizes of a call, in total for packed sequences; `None` if it is unknown whether there is a mask.
    pub(crate) fn read(&self, input: &OpInput) -> Option<Attention> {
        if self.causal.is_some() && !input.has_values() {
            return None;
        }
        let is_causal = match self.causal {
            Some(at) => input.flag_or(at, self.causal_default)?,
            None => self.causal_default,
        };
        let window = match self.window {
            Some(at) => Window::read(input, at)?,
            None => Window::default(),
        };
        self.sizes(input, is_causal, window)
    }

    fn sizes(&self, input: &OpInput, is_causal: bool, window: Window) -> Option<Attention> {
        let is_packed = self.packed_in(input).is_some();
        let operand = |at: usize| match is_packed {
            true => input.sized(at).map(|[n, heads, d]| [1.0, n, heads, d]),
            false => input
                .sized(at)
                .map(|[batch, x, y, d]| match self.heads_first {
                    true => [batch, y, x, d],
                    false => [batch, x, y, d],
                }),
        };
        let [_, n_kv, h_kv, _] = operand(self.q + 1)?;
        let [_, _, _, d_v] = operand(self.q + 2)?;
        let corner = if is_packed { FLASH.corner } else { self.corner };
        Some(Attention {
            mask: match is_causal {
                true => corner,
                false => Mask::None,
            },
            window,
            ..Attention::new(operand(self.q)?, [n_kv, h_kv, d_v])
        })
    }

    fn packed_in(&self, input: &OpInput) -> Option<Packed> {
        self.packed.filter(|packed| packed.is_in(input))
    }

    pub(crate) fn params(&self, input: &OpInput, sizes: &Attention) -> Params {
        let dropout = self.dropout.and_then(|at| input.number(at)).unwrap_or(0.0);
        let mut params = sizes.params(dropout, self.is_flash);
        if self.names_type {
            params.push(("dtype_A_B", params::types_of(input, [self.q, self.q + 1])));
        }
        params
    }

    /// The work of `ours` with the parameters of this layout, which is how TraceLens reads the call.
    pub(crate) fn with_params(&self, input: &OpInput, ours: Option<Modeled>) -> Option<Modeled> {
        let ours = ours?;
        let is_causal = self.causal.filter(|at| input.is_flag(*at));
        let is_causal = is_causal.and_then(|at| input.flag(at));
        let is_causal = is_causal.unwrap_or(self.causal_default);
        let sizes = self.sizes(input, is_causal, Window::default())?;
        Some(ours.with(self.params(input, &sizes)))
    }

    pub(crate) fn forward(&self, input: &OpInput) -> Option<Modeled> {
        self.forward_of(input, &self.read(input)?)
    }

    /// The forward pass of these sizes.
    pub(crate) fn forward_of(&self, input: &OpInput, sizes: &Attention) -> Option<Modeled> {
        let bytes = || Some(sizes.forward_bytes(input, self.q)? + self.bias_bytes(input, false)?);
        self.counted(input, sizes, Attention::forward_flops, bytes())
    }

    pub(crate) fn backward(&self, input: &OpInput) -> Option<Modeled> {
        let sizes = self.read(input)?;
        // Whether the gradient of the bias is written.
        let is_asked = self.gradients.is_some_and(|at| {
            let of_list = || input.flags(at)?.get(3).copied();
            input.flag(at).or_else(of_list).unwrap_or(false)
        });
        let bytes =
            || Some(sizes.backward_bytes(input, self.q)? + self.bias_bytes(input, is_asked)?);
        self.counted(input, &sizes, |sizes| sizes.backward_flops(true), bytes())
    }

    fn counted(
        &self,
        input: &OpInput,
        sizes: &Attention,
        flops: fn(&Attention) -> f64,
        bytes: Option<f64>,
    ) -> Option<Modeled> {
        if self.hidden.iter().any(|at| input.sizes(*at).is_some()) {
            return None;
        }
        let flops = match self.packed_in(input) {
            Some(packed) => sizes.flops_of(&packed.lengths(input)?, flops),
            None => flops(sizes),
        };
        Some(on_matrices(input.dtype(self.q), flops, bytes).with(self.params(input, sizes)))
    }

    /// Bytes of the bias that is read, and of its gradient if written.
    fn bias_bytes(&self, input: &OpInput, has_gradient: bool) -> Option<f64> {
        let is_packed = self.packed_in(input).is_some();
        let bias = self.bias.filter(|_| !is_packed);
        let Some(bias) = bias.and_then(|at| input.tensor(at)) else {
            return Some(0.0);
        };
        let gradient = if has_gradient { bias.bytes()? } else { 0.0 };
        Some(bias.distinct_bytes()? + gradient)
    }
}
