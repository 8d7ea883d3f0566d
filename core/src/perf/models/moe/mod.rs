//! Mixture of experts.
//!
//! Each of M tokens of size K goes to k of E experts with inner size N. Up: a GEMM with K × N, twice that if gated.
//! Down: a GEMM with N × K. Only the weights of selected experts are read; if tokens select evenly, E·(1 − ((E −
//! k)/E)^M) experts are selected.
//!
//! If experts are spread over several GPUs, a call holds L of the E experts, and of a token's selections k·L/E are
//! local if tokens select evenly. E is an argument of some operators; for the others a call is assumed to hold all
//! experts, unless a token selects more than it holds, in which case E is unknown.

pub(crate) mod layer;

use crate::perf::params::{self, Param};
use crate::perf::{
    ComputeSpec, Modeled, OpInput, Work, dtype, moved, on_matrices, on_vectors, unlisted,
};
use crate::trace::extra_args;

/// Sizes of a mixture of experts.
pub(crate) struct Mixture {
    pub(crate) tokens: f64,
    pub(crate) hidden: f64,
    pub(crate) inner: f64,
    /// Experts that this call holds.
    pub(crate) experts: f64,
    /// Experts on all GPUs; at least as many.
    pub(crate) all_experts: f64,
    /// Experts per token, out of all.
    pub(crate) chosen: f64,
    /// Two if there is a gate besides the up projection, else one.
    pub(crate) gate: f64,
    /// Bytes of an element of the tokens.
    pub(crate) input_bytes: Option<f64>,
    /// Bytes of an element of the result, which may be wider.
    pub(crate) output_bytes: Option<f64>,
    pub(crate) weight_bytes: Option<f64>,
    /// Bytes of the weight scales of all experts of this call, if they are operands.
    pub(crate) scale_bytes: f64,
    pub(crate) compute: Option<ComputeSpec>,
}

impl Mixture {
    /// All experts in this call, no gate, and results of the tokens' type.
    pub(crate) fn new(
        [tokens, hidden, inner]: [f64; 3],
        [experts, chosen]: [f64; 2],
        token: &str,
        weights: &Stored,
    ) -> Mixture {
        Mixture {
            tokens,
            hidden,
            inner,
            experts,
            all_experts: experts,
            chosen,
            gate: 1.0,
            input_bytes: dtype::bytes(token),
            output_bytes: dtype::bytes(token),
            weight_bytes: weights.bytes,
            scale_bytes: 0.0,
            compute: weights.compute,
        }
    }

    /// Itself if there are at least as many experts as each token selects; `None` for a part of a layer of unknown
    /// size.
    pub(crate) fn possible(self) -> Option<Mixture> {
        (self.chosen <= self.all_experts).then_some(self)
    }

    /// Experts of this call that at least one token selects.
    fn active(&self) -> f64 {
        let missed = ((self.all_experts - self.chosen) / self.all_experts).powf(self.tokens);
        self.experts * (1.0 - missed)
    }

    /// Number of a token's selected experts that are in this call.
    fn own_choices(&self) -> f64 {
        self.chosen * self.experts / self.all_experts
    }

    fn product(&self) -> f64 {
        2.0 * self.tokens * self.hidden * self.inner * self.own_choices()
    }

    fn weights(&self) -> f64 {
        self.active() * self.hidden * self.inner
    }

    /// Up projection, down projection, and the weighted sum of the selected experts' results in one kernel.
    pub(crate) fn fused(&self) -> Modeled {
        let sum = self.tokens * self.hidden * (2.0 * self.own_choices() - 1.0).max(0.0);
        let bytes = || {
            let both_ends = self.tokens * self.hidden * (self.input_bytes? + self.output_bytes?);
            let scales = match self.scale_bytes > 0.0 {
                true => self.scale_bytes * self.active() / self.experts,
                false => 0.0,
            };
            Some(both_ends + self.weights() * (self.gate + 1.0) * self.weight_bytes? + scales)
        };
        self.modeled(self.product() * (self.gate + 1.0) + sum, bytes())
    }

    pub(crate) fn up(&self) -> Modeled {
        let bytes = || {
            let x = self.tokens * self.hidden * self.input_bytes?;
            let out = self.tokens * self.inner * self.own_choices() * self.output_bytes?;
            Some(x + self.weights() * self.gate * self.weight_bytes? + out)
        };
        self.modeled(self.product() * self.gate, bytes())
    }

    pub(crate) fn down(&self) -> Modeled {
        let bytes = || {
            let x = self.tokens * self.inner * self.own_choices() * self.input_bytes?;
            let out = self.tokens * self.hidden * self.output_bytes?;
            Some(x + self.weights() * self.weight_bytes? + out)
        };
        self.modeled(self.product(), bytes())
    }

    fn modeled(&self, flops: f64, bytes: Option<f64>) -> Modeled {
        Modeled {
            work: Work {
                flops,
                bytes,
                compute: self.compute,
            },
            params: vec![
                ("M", Param::Int(self.tokens)),
                ("K", Param::Int(self.hidden)),
                ("N", Param::Int(self.inner)),
                ("E", Param::Int(self.experts)),
                ("topk", Param::Int(self.chosen)),
                ("gated", Param::Flag(self.gate > 1.5)),
            ],
            their_flops: None,
            their_bytes: None,
        }
    }
}

/// Bytes of the scales (and zero points) of weights: operands from position `from` on whose first dimension is the
/// number of experts, with a scale for each channel, block or group of a matrix.
fn scale_bytes(input: &OpInput, from: usize, experts: f64) -> f64 {
    let tensors = (from..input.n_args()).filter_map(|at| input.tensor(at));
    let scales = tensors.filter(|tensor| match tensor.shape {
        [first, _, ..] => (*first as f64).total_cmp(&experts).is_eq(),
        _ => false,
    });
    scales.filter_map(|tensor| tensor.bytes()).sum()
}

/// How the weights are stored.
pub(crate) struct Stored {
    /// Weights per element.
    packing: f64,
    /// Bytes per weight.
    bytes: Option<f64>,
    compute: Option<ComputeSpec>,
}

impl Stored {
    /// From the types in a kernel's name; `None` if it has none.
    pub(crate) fn named(kernel: &str, tokens: &str) -> Option<Stored> {
        let types = kernel
            .split('_')
            .find(|part| part.contains("f16x") || part.contains("fp8"))?;
        // A block of 32 four-bit numbers has a one-byte scale; they are multiplied in the tokens' type.
        let bytes = match types.rsplit_once('x')?.1 {
            // The x of "mx" also splits it.
            "fp4" | "mxfp4" => Some(0.5 + 1.0 / 32.0),
            "bf16" | "fp16" => Some(2.0),
            "fp8" | "fp8e4m3" | "fp8e5m2" => Some(1.0),
            _ => None,
        };
        Some(Stored {
            packing: 1.0,
            bytes,
            compute: dtype::matrix(tokens),
        })
    }

    /// From bytes per weight and the type that GEMMs compute in.
    pub(crate) fn of(bytes: Option<f64>, math: &str) -> Stored {
        Stored {
            packing: 1.0,
            bytes,
            compute: dtype::matrix(math),
        }
    }

    /// Whether its bytes are known.
    pub(crate) fn is_known(&self) -> bool {
        self.bytes.is_some()
    }
}

/// A row of `width` weights in `elements` elements of a type. Integers pack several low-precision weights, and the GEMM
/// then computes in the tokens' type; FP4 numbers are multiplied directly.
pub(crate) fn stored(dtype: &str, [width, elements]: [f64; 2], tokens: &str) -> Stored {
    let packing = if elements > 0.0 {
        (width / elements).floor().max(1.0)
    } else {
        1.0
    };
    let is_float4 = dtype.to_ascii_lowercase().contains("float4");
    let bytes = match is_float4 {
        true => Some(0.5),
        false => dtype::bytes(dtype).map(|size| size / packing),
    };
    let is_whole = packing > 1.0 && !is_float4;
    Stored {
        packing,
        bytes,
        compute: dtype::matrix(if is_whole { tokens } else { dtype }),
    }
}

/// `fmoe_g1u1(out, x, w1, w2, …, k[8])`: w1 of E × 2N × K includes the gate.
pub(crate) fn fused_g1u1(input: &OpInput) -> Option<Modeled> {
    let [tokens, hidden] = input.sized(0)?;
    let [experts, doubled, elements] = input.sized(2)?;
    let weights = stored(input.dtype(2), [hidden, elements], input.dtype(1));
    let (sizes, chosen) = ([tokens, hidden, doubled / 2.0], input.number(8)?);
    let mixture = Mixture {
        gate: 2.0,
        output_bytes: dtype::bytes(input.dtype(0)),
        scale_bytes: scale_bytes(input, 10, experts),
        ..Mixture::new(sizes, [experts, chosen], input.dtype(1), &weights)
    };
    Some(mixture.possible()?.fused())
}

/// `fmoe(out, x, w1, w2, …, k[8])`: the same; w2 of E × K × N tells whether w1 includes a gate.
pub(crate) fn fused_sorted(input: &OpInput) -> Option<Modeled> {
    let [tokens, hidden] = input.sized(0)?;
    let [experts, rows, elements] = input.sized(2)?;
    let [_, _, columns] = input.sized(3)?;
    let weights = stored(input.dtype(2), [hidden, elements], input.dtype(1));
    let inner = columns * weights.packing;
    let is_gated = rows.total_cmp(&(2.0 * inner)).is_eq();
    let mixture = Mixture {
        gate: if is_gated { 2.0 } else { 1.0 },
        output_bytes: dtype::bytes(input.dtype(0)),
        ..Mixture::new(
            [tokens, hidden, inner],
            [experts, input.number(8)?],
            input.dtype(1),
            &weights,
        )
    };
    unlisted(Some(mixture.possible()?.fused()))
}

/// One kernel with x of M × K, w1 of E × N(·2) × K, w2 of E × K × N, weights of M × k; or two of them
/// with the same arguments.
pub(crate) fn shaped(input: &OpInput) -> Option<Mixture> {
    let [tokens, hidden] = input.sized(0)?;
    let [experts, rows, elements] = input.sized(1)?;
    let [_, _, columns] = input.sized(2)?;
    let [_, chosen] = input.sized(3)?;
    let weights = stored(input.dtype(1), [hidden, elements], input.dtype(0));
    let inner = columns * weights.packing;
    let is_gated = rows.total_cmp(&(2.0 * inner)).is_eq();
    let sizes = [tokens, hidden, inner];
    let mixture = Mixture {
        all_experts: n_experts(input, 4, experts),
        scale_bytes: scale_bytes(input, 5, experts),
        gate: if is_gated { 2.0 } else { 1.0 },
        ..Mixture::new(sizes, [experts, chosen], input.dtype(0), &weights)
    };
    mixture.possible()
}

/// Tokens, how many experts each of them chooses, and the experts of all GPUs, if the shapes of an operator tell them.
pub(crate) fn expert_choices(input: &OpInput) -> Option<[u64; 3]> {
    let mixture = shaped(input)?;
    let sizes = [mixture.tokens, mixture.chosen, mixture.all_experts];
    let are_known = sizes.iter().all(|size| *size >= 1.0);
    are_known.then(|| sizes.map(|size| size as u64))
}

/// One of two ragged expert GEMMs, with x of M × K and the router's logits of M × E. Its other sizes are extra
/// arguments, and the type of its weights is in the kernel's name, as in
/// `_matmul_ogs_NNT_bf16xbf16xmxfp4_16x128x256x1_swiglu`. A missing inner size is assumed to be K, as in TraceLens.
pub(crate) fn ragged(input: &OpInput) -> Option<Mixture> {
    let [tokens, hidden] = input.sized(0)?;
    let [_, experts] = input.sized(1)?;
    let facts = input.extra_args?;
    let number = |key| extra_args::value(facts, key)?.parse::<f64>().ok();
    let kernel = input.kernels.first()?;
    let weights = Stored::named(kernel, input.dtype(0))?;
    let sizes = [tokens, hidden, number("inner").unwrap_or(hidden)];
    let mixture = Mixture {
        gate: if kernel.contains("swiglu") { 2.0 } else { 1.0 },
        ..Mixture::new(sizes, [experts, number("topk")?], input.dtype(0), &weights)
    };
    mixture.possible()
}

/// The number of experts on all GPUs. It is an argument of vLLM's operators: the first integer after the expert ids, or
/// −1 if a call holds all of them. For others it is the number that the call holds.
pub(crate) fn n_experts(input: &OpInput, ids: usize, local_experts: f64) -> f64 {
    let is_argument = input.name.starts_with("vllm::") && input.name.ends_with("fused_experts");
    let numbers = (ids + 1..input.n_args()).filter_map(|at| input.value(at).parse::<u32>().ok());
    let mut numbers = numbers.map(f64::from).filter(|all| *all >= local_experts);
    numbers
        .next()
        .filter(|_| is_argument)
        .unwrap_or(local_experts)
}

/// Bytes of an element of the result of a stage, argument 6: 8-bit tokens give 16-bit results.
fn result_bytes(input: &OpInput) -> Option<f64> {
    let result = input.dtype(6);
    let of = if dtype::is_tensor(result) {
        result
    } else {
        input.dtype(0)
    };
    dtype::bytes(of)
}

/// `ck_moe_stage1(x, w1, w2, …, out[6], k[7])`: w1 of E × 2N × K includes the gate; the result is M × k × N.
pub(crate) fn ck_stage1(input: &OpInput) -> Option<Modeled> {
    let [tokens, hidden] = input.sized(0)?;
    let [experts, rows, elements] = input.sized(1)?;
    let chosen = input.number(7)?;
    let weights = stored(input.dtype(1), [hidden, elements], "");
    let sizes = [tokens, hidden, rows / 2.0];
    let mixture = Mixture {
        gate: 2.0,
        output_bytes: result_bytes(input),
        compute: dtype::matrix(input.dtype(0)),
        ..Mixture::new(sizes, [experts, chosen], input.dtype(0), &weights)
    };
    Some(mixture.possible()?.up())
}

/// `ck_moe_stage2(inner, w1, w2, …, out[6], …)`: inner of M × k × N, w2 of E × K × N.
pub(crate) fn ck_stage2(input: &OpInput) -> Option<Modeled> {
    let [tokens, chosen, inner] = input.sized(0)?;
    let [experts, hidden, elements] = input.sized(2)?;
    let weights = stored(input.dtype(2), [inner, elements], "");
    let sizes = [tokens, hidden, inner];
    let mixture = Mixture {
        output_bytes: result_bytes(input),
        compute: dtype::matrix(input.dtype(0)),
        ..Mixture::new(sizes, [experts, chosen], input.dtype(0), &weights)
    };
    Some(mixture.possible()?.down())
}

/// `invoke_fused_moe_kernel(x, w, …, chosen[8], …)`: w of E × N × K, chosen of T × k; one GEMM row for each token and
/// expert. TraceLens takes the number of elements as K.
pub(crate) fn invoke_grouped(input: &OpInput) -> Option<Modeled> {
    let [experts, n, elements] = input.sized(1)?;
    let [tokens, chosen] = input.sized(8)?;
    let width = input.sizes(0).and_then(|sizes| sizes.last());
    let width = width.map_or(elements, |width| *width as f64);
    let weights = stored(input.dtype(1), [width, elements], input.dtype(0));
    let k = elements * weights.packing;
    let sizes = [tokens, k, n];
    let mixture = Mixture {
        compute: dtype::matrix(input.dtype(0)),
        ..Mixture::new(sizes, [experts, chosen], input.dtype(0), &weights)
    };
    let mixture = mixture.possible()?;
    let bytes = || {
        let rows = tokens * chosen;
        let ends = rows * (k + n) * mixture.input_bytes?;
        Some(ends + mixture.weights() * mixture.weight_bytes?)
    };
    let work = mixture.modeled(mixture.product(), bytes()).work;
    let theirs = Mixture {
        hidden: elements,
        ..mixture
    };
    Some(Modeled {
        work,
        ..theirs.modeled(0.0, None)
    })
}

/// `MoEDispatch(x, …)`, `MoECombine`: tokens move to the GPUs of their experts and back.
pub(crate) fn dispatch(input: &OpInput) -> Option<Modeled> {
    let x = input.tensor(0)?;
    Some(moved(x.bytes()).with(params::shape_and_type(&x)))
}

/// Selecting experts and sorting tokens: one operation per element of the largest operand; every operand moves once.
pub(crate) fn auxiliary(input: &OpInput) -> Option<Modeled> {
    let largest = input.largest(|_| true)?;
    let bytes = input.tensor_bytes();
    Some(on_vectors(largest.dtype, largest.n(), bytes).with(params::shape_and_type(&largest)))
}

/// `moe_sum(x, out)` with x of M × k × H: sums the results of the selected experts.
pub(crate) fn sum(input: &OpInput) -> Option<Modeled> {
    let (x, out) = (input.tensor(0)?, input.tensor(1)?);
    let bytes = || Some(x.bytes()? + out.bytes()?);
    Some(on_vectors(x.dtype, (x.n() - out.n()).max(0.0), bytes()))
}

/// `cutlass_moe_mm(out, x, w, …)`: each row of x, already sorted, times the matrix of its expert, with w of E × …; at
/// most one matrix per row is read.
pub(crate) fn sorted_rows(input: &OpInput) -> Option<Modeled> {
    let (out, x, w) = (input.tensor(0)?, input.tensor(1)?, input.tensor(2)?);
    let [experts, ..] = w.shape else { return None };
    let [rows, k] = input.sized(1)?;
    let used = rows.min(*experts as f64) / (*experts as f64).max(1.0);
    let bytes = || Some(out.bytes()? + x.bytes()? + w.bytes()? * used);
    Some(on_matrices(x.dtype, 2.0 * out.n() * k, bytes()))
}
