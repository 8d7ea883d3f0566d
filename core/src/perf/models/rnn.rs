//! Recurrent networks, all steps and layers in one call. Not in TraceLens.
//!
//! For each of T·B steps of a layer in one direction, G gates of size H are GEMMs with the layer's input, of size I,
//! and with the state of size H: 2·G·H·(I + H) operations. I is the input size for the first layer, and the size of
//! both directions' results for the others. The input and each weight are read, the result of the last layer is
//! written, once each. Backward, the gradients of input and weights take two GEMMs for each one of the forward pass.

use crate::perf::{Modeled, OpInput, matrices, on_vectors};

/// `passes`: GEMMs for each one of the forward pass. The others are the argument positions of the mode, the hidden
/// size, the number of layers and the bidirectional flag.
pub(super) fn recurrent(
    input: &OpInput,
    [mode, hidden, layers, bidirectional]: [usize; 4],
    passes: f64,
) -> Option<Modeled> {
    let [steps, batch, width] = input.sized(0)?;
    let gates = match input.value(mode).trim() {
        // ReLU, tanh; LSTM; GRU.
        "0" | "1" => 1.0,
        "2" => 4.0,
        "3" => 3.0,
        _ => return None,
    };
    let hidden = input.number(hidden)?;
    let layers = input.number(layers).filter(|n| *n >= 1.0)?;
    let directions = match input.flag(bidirectional)? {
        true => 2.0,
        false => 1.0,
    };
    let rows = steps * batch;
    let inner = (layers - 1.0) * (directions * hidden + hidden);
    let weights = directions * gates * hidden * (width + hidden + inner);
    let elements = rows * (width + directions * hidden) + weights;
    let dtype = input.dtype(0);
    Some(matrices(
        dtype,
        passes * 2.0 * rows * weights,
        passes * elements,
    ))
}

/// `_thnn_fused_lstm_cell(gates of x, gates of h, c, …)`, each of B × 4·H: five functions and four multiplications and
/// additions for each of B·H; gates and cell are read; state, cell and activations are written.
pub(super) fn lstm_cell(input: &OpInput) -> Option<Modeled> {
    let (gates, cell) = (input.tensor(0)?, input.tensor(2)?);
    let bytes = || Some(3.0 * gates.bytes()? + 3.0 * cell.bytes()?);
    Some(on_vectors(gates.dtype, 9.0 * cell.n() + gates.n(), bytes()))
}

/// The steps that a recurrent layer takes one after the other, over all stacked layers.
pub(crate) fn sequential_steps(input: &OpInput) -> Option<f64> {
    let at = match input.name {
        "aten::_cudnn_rnn" => 9,
        "aten::_cudnn_rnn_backward" => 13,
        "aten::miopen_rnn" => 7,
        "aten::miopen_rnn_backward" => 12,
        _ => return None,
    };
    let [steps, ..] = input.sized::<3>(0)?;
    Some(steps * input.number(at)?)
}
