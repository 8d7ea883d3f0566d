//! Loss functions.

use crate::perf::{Modeled, OpInput, on_vectors, params};

/// `CrossEntropyFunction(logits, target)` with logits of … × V: five operations per element as in softmax; the logits
/// are read; an 8-byte target and a 4-byte loss move per row.
pub(super) fn cross_entropy(input: &OpInput) -> Option<Modeled> {
    let logits = input.tensor(0)?;
    let (_, rows) = logits.shape.split_last()?;
    let n_rows = crate::perf::input::product(rows);
    let bytes = logits.bytes().map(|bytes| bytes + 12.0 * n_rows);
    Some(on_vectors(logits.dtype, 5.0 * logits.n(), bytes).with(params::shape_and_type(&logits)))
}

/// `LigerCrossEntropyFunction(logits, target, …)`: the same, and the gradient is written in place of the logits.
pub(super) fn cross_entropy_in_place(input: &OpInput) -> Option<Modeled> {
    let logits = input.tensor(0)?;
    let work = cross_entropy(input)?.work;
    let bytes = || Some(work.bytes? + logits.bytes()?);
    Some(on_vectors(logits.dtype, work.flops, bytes()))
}

/// `nll_loss_forward(log probabilities, target, …)`: one element of each row is read, with its target. Not in
/// TraceLens.
pub(super) fn nll(input: &OpInput) -> Option<Modeled> {
    let (log_p, target) = (input.tensor(0)?, input.tensor(1)?);
    let bytes = || Some(target.bytes()? + target.n() * log_p.element_bytes()?);
    Some(on_vectors(log_p.dtype, target.n(), bytes()))
}

/// `nll_loss_backward(dY, log probabilities, target, …)`: the whole gradient is written.
pub(super) fn nll_backward(input: &OpInput) -> Option<Modeled> {
    let (log_p, target) = (input.tensor(1)?, input.tensor(2)?);
    let bytes = || Some(target.bytes()? + log_p.bytes()?);
    Some(on_vectors(log_p.dtype, target.n(), bytes()))
}

/// `mse_loss(x, y, reduction)`, `l1_loss`: subtract, square, sum. The kernel writes each term, and a second one sums
/// them; the minimum that moves is both operands, plus the terms if they are not reduced.
pub(super) fn mse(input: &OpInput) -> Option<Modeled> {
    let (x, y) = (input.tensor(0)?, input.tensor(1)?);
    // Weights precede it. Margin losses have a term per row, not per element.
    let reduction = match input.name {
        "aten::mse_loss" | "aten::l1_loss" | "aten::smooth_l1_loss" | "aten::huber_loss" => 2,
        "aten::binary_cross_entropy" => 3,
        "aten::binary_cross_entropy_with_logits" => 4,
        _ => usize::MAX,
    };
    let n_terms = match input.value(reduction).trim() {
        "0" | "none" => x.n(),
        _ => 0.0,
    };
    let bytes = || Some(x.bytes()? + y.bytes()? + n_terms * x.element_bytes()?);
    Some(on_vectors(x.dtype, 3.0 * x.n(), bytes()))
}

/// `_ctc_loss(log probabilities, targets, …)` with T × N × C and targets of N × L or concatenated: for each of T·N
/// steps, a target with blanks has 2·L + 1 states, with three exponentials and three additions each; the states are
/// written, and as many log probabilities read.
pub(super) fn ctc(input: &OpInput) -> Option<Modeled> {
    let (log_p, targets) = (input.tensor(0)?, input.tensor(1)?);
    let states = ctc_states(&log_p, &targets)?;
    let bytes = || {
        let size = log_p.element_bytes()?;
        Some((states.min(log_p.n()) + states) * size + targets.bytes()?)
    };
    Some(on_vectors(log_p.dtype, 6.0 * states, bytes()))
}

/// `_ctc_loss_backward(dY, log probabilities, targets, …)`: the states in reverse direction, and a gradient for each
/// log probability.
pub(super) fn ctc_backward(input: &OpInput) -> Option<Modeled> {
    let (log_p, targets) = (input.tensor(1)?, input.tensor(2)?);
    let states = ctc_states(&log_p, &targets)?;
    let bytes = || {
        let size = log_p.element_bytes()?;
        Some((2.0 * log_p.n() + 2.0 * states) * size + targets.bytes()?)
    };
    Some(on_vectors(log_p.dtype, 6.0 * states + log_p.n(), bytes()))
}

fn ctc_states(
    log_p: &crate::perf::input::Tensor,
    targets: &crate::perf::input::Tensor,
) -> Option<f64> {
    let [steps, samples, _] = log_p.shape else {
        return None;
    };
    let all_targets = targets.n();
    Some(*steps as f64 * (2.0 * all_targets + *samples as f64))
}
