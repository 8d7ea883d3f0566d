//! Recurrent networks, all steps and layers in one call. Not in the reference.
//!
//! For each of T·B steps of a layer in one direction, G gates of width H are products with the
//! layer's input, of width I, and with the state of width H: 2·G·H·(I + H) operations. The first
//! layer's I is the input's, that of the others the width of both directions' results. The input
//! and each weight are read, the result of the last layer is written, once each. Backward, the
//! gradients of input and weights are two products for each of the forward's.

use super::{Modelled, OpInput, matrices, on_vectors};

/// `passes`: products for each of the forward's. The places of the mode, the width of the state, the
/// number of layers and the flag of two directions.
pub(super) fn recurrent(
    input: &OpInput,
    [mode, hidden, layers, bidirectional]: [usize; 4],
    passes: f64,
) -> Option<Modelled> {
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

/// `_thnn_fused_lstm_cell(gates of x, gates of h, c, …)`, each of B × 4·H: five functions and four
/// products and sums for each of B·H; gates and the cell are read, state, cell and activations
/// written.
pub(super) fn lstm_cell(input: &OpInput) -> Option<Modelled> {
    let (gates, cell) = (input.tensor(0)?, input.tensor(2)?);
    let bytes = || Some(3.0 * gates.bytes()? + 3.0 * cell.bytes()?);
    Some(on_vectors(gates.dtype, 9.0 * cell.n() + gates.n(), bytes()))
}
