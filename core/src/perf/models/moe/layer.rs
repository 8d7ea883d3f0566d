//! MoE layers from operators that are in no table, by the shapes of their operands.
//!
//! Every library has its own operators for the same layer, with operands in different positions. They are identified by
//! shape: the first two three-dimensional tensors with the same number of experts are the weights, w1 of E × N(·2) × K
//! and w2 of E × K × N, or both transposed; tokens are M × K; the selection is M × k, expert ids or weights. If the
//! operator itself selects experts, from scores of M × E, the number after that of the experts is k. Calls that do not
//! fit give no result.

use super::{Mixture, n_experts, stored};
use crate::perf::input::Tensor;
use crate::perf::{Modeled, OpInput, dtype, unlisted};

/// The whole layer in one operator.
pub(crate) fn layer(input: &OpInput) -> Option<Modeled> {
    let at: Vec<(usize, Tensor)> = (0..input.n_args())
        .filter_map(|at| Some((at, input.tensor(at)?)))
        .collect();
    let mut weights = at.iter().filter(|(_, tensor)| tensor.shape.len() == 3);
    let (_, w1) = weights.next()?;
    let same_experts = |(_, other): &&(usize, Tensor)| other.shape.first() == w1.shape.first();
    let (_, w2) = weights.find(|other| same_experts(other) && other.1.dtype == w1.dtype)?;
    let fitting = || {
        let matrices = at.iter().filter(|(_, tensor)| tensor.shape.len() == 2);
        matrices.filter(|(_, tokens)| Fit::of(tokens, w1, w2).is_some())
    };
    // The result has the shape of the tokens, and may have a wider type.
    let bytes =
        |(_, tensor): &&(usize, Tensor)| (tensor.element_bytes().unwrap_or(0.0) * 8.0) as u64;
    let (_, tokens) = fitting().min_by_key(bytes)?;
    let output_bytes = fitting().max_by_key(bytes)?.1.element_bytes();
    let fit = Fit::of(tokens, w1, w2)?;
    let rows = *tokens.shape.first()?;
    let experts = *w1.shape.first()?;
    let others = at
        .iter()
        .filter(|(_, tensor)| tensor.shape.len() == 2 && tensor.shape != tokens.shape);
    let choices: Vec<&(usize, Tensor)> = others
        .filter(|(_, tensor)| tensor.shape.first() == Some(&rows))
        .collect();
    let width = |tensor: &Tensor| tensor.shape.get(1).copied().unwrap_or(0);
    let ids = choices
        .iter()
        .find(|(_, tensor)| dtype::is_integer(tensor.dtype));
    let scores = choices.iter().find(|(_, tensor)| width(tensor) == experts);
    // With several other tensors it is unknown which are weights and which are scales.
    let alone = || choices.first().filter(|_| choices.len() == 1);
    let (choice_at, chosen) = match (ids, scores) {
        (Some((at, ids)), _) => (*at, width(ids) as f64),
        (None, Some((at, _))) => (*at, number_behind(input, experts)?),
        (None, None) => alone().map(|(at, weights)| (*at, width(weights) as f64))?,
    };
    let experts = experts as f64;
    let weights = stored(w1.dtype, [fit.hidden, fit.elements], tokens.dtype);
    let mixture = Mixture {
        all_experts: n_experts(input, choice_at, experts),
        gate: fit.gate,
        output_bytes,
        ..Mixture::new(
            [rows as f64, fit.hidden, fit.inner],
            [experts, chosen],
            tokens.dtype,
            &weights,
        )
    };
    unlisted(Some(mixture.possible()?.fused()))
}

/// The sizes of matching tokens and weights.
struct Fit {
    hidden: f64,
    inner: f64,
    gate: f64,
    /// Elements of w1 in a row of the hidden size.
    elements: f64,
}

impl Fit {
    fn of(tokens: &Tensor, w1: &Tensor, w2: &Tensor) -> Option<Fit> {
        let &[_, hidden] = tokens.shape else {
            return None;
        };
        let (&[_, a, b], &[_, c, d]) = (w1.shape, w2.shape) else {
            return None;
        };
        // Not transposed, and transposed.
        let as_usual = (c == hidden).then_some(([a, b], d));
        let transposed = (a == hidden && d == hidden).then_some(([b, a], c));
        let fits = [as_usual, transposed].into_iter().flatten();
        let in_rows = fits
            .filter(|_| hidden > 0)
            .find_map(|([rows, elements], columns)| {
                // Integers pack several low-precision weights.
                if elements <= 0 || hidden % elements != 0 {
                    return None;
                }
                let inner = columns.checked_mul(hidden / elements)?;
                let gate = match rows {
                    _ if inner <= 0 => return None,
                    rows if rows == inner => 1.0,
                    rows if Some(rows) == inner.checked_mul(2) => 2.0,
                    _ => return None,
                };
                Some(Fit {
                    hidden: hidden as f64,
                    inner: inner as f64,
                    gate,
                    elements: elements as f64,
                })
            });
        in_rows.or_else(|| Fit::of_tiles(hidden, [a, b], [c, d], w1.dtype))
    }

    /// Weights in tiles of 16 × 16, as Marlin's kernels take them: w1 of E × K/16 × N(·2)·bits/2 and w2 of E × N/16 ×
    /// K·bits/2, in integers of four bytes.
    fn of_tiles(hidden: i64, [a, b]: [i64; 2], [c, d]: [i64; 2], dtype: &str) -> Option<Fit> {
        const TILE: i64 = 16;
        let is_packed =
            dtype::is_integer(dtype) && dtype::bytes(dtype).is_some_and(|size| size > 2.0);
        let of_tile = Some(d).filter(|_| hidden > 0 && d % hidden == 0)? / hidden;
        let inner = c.checked_mul(TILE).filter(|inner| *inner > 0)?;
        let rows = inner.checked_mul(of_tile)?;
        let gate = match b {
            b if b == rows => 1.0,
            b if Some(b) == rows.checked_mul(2) => 2.0,
            _ => return None,
        };
        // Four or eight bits.
        let fits = is_packed && matches!(of_tile, 2 | 4) && a.checked_mul(TILE) == Some(hidden);
        fits.then(|| Fit {
            hidden: hidden as f64,
            inner: inner as f64,
            gate,
            elements: hidden as f64 * of_tile as f64 / TILE as f64,
        })
    }
}

/// The integer after the number of experts, which is the number of experts per token.
fn number_behind(input: &OpInput, experts: i64) -> Option<f64> {
    let is_experts = |at: &usize| input.number(*at) == Some(experts as f64);
    let at = (0..input.n_args()).find(is_experts)?;
    let chosen = input.number(at + 1)?;
    (chosen >= 1.0 && chosen.fract().abs() <= 0.0).then_some(chosen)
}
