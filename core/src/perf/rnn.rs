//! Recurrent networks, all steps and layers in one call. Not in the reference.
//!
//! For each of T·B steps of a layer in one direction, G gates of width H are products with the
//! layer's input, of width I, and with the state of width H: 2·G·H·(I + H) operations. The first
//! layer's I is the input's, that of the others the width of both directions' results. The input
//! and each weight are read, the result of the last layer is written, once each. Backward, the
//! gradients of input and weights are two products for each of the forward's.

use super::dtype;
use super::gemm::bare;
use super::{Modelled, OpInput, Work};

/// Where an op has its settings.
#[derive(Clone, Copy)]
struct Layout {
    mode: usize,
    hidden: usize,
    layers: usize,
    bidirectional: usize,
    /// Products for each of the forward's.
    passes: f64,
}

/// `_cudnn_rnn(x, weights, …, mode[6], hidden[7], projected, layers[9], …, bidirectional[13], …)`.
pub(super) fn cudnn(input: &OpInput) -> Option<Modelled> {
    recurrent(
        input,
        Layout {
            mode: 6,
            hidden: 7,
            layers: 9,
            bidirectional: 13,
            passes: 1.0,
        },
    )
}

/// `_cudnn_rnn_backward(x, weights, …, mode[10], hidden[11], projected, layers[13], …, bidirectional[17])`.
pub(super) fn cudnn_backward(input: &OpInput) -> Option<Modelled> {
    recurrent(
        input,
        Layout {
            mode: 10,
            hidden: 11,
            layers: 13,
            bidirectional: 17,
            passes: 2.0,
        },
    )
}

/// `miopen_rnn(x, weights, …, mode[5], hidden[6], layers[7], …, bidirectional[11], …)`.
pub(super) fn miopen(input: &OpInput) -> Option<Modelled> {
    recurrent(
        input,
        Layout {
            mode: 5,
            hidden: 6,
            layers: 7,
            bidirectional: 11,
            passes: 1.0,
        },
    )
}

/// `miopen_rnn_backward(x, weights, …, mode[10], hidden[11], layers[12], …, bidirectional[16])`.
pub(super) fn miopen_backward(input: &OpInput) -> Option<Modelled> {
    recurrent(
        input,
        Layout {
            mode: 10,
            hidden: 11,
            layers: 12,
            bidirectional: 16,
            passes: 2.0,
        },
    )
}

fn recurrent(input: &OpInput, layout: Layout) -> Option<Modelled> {
    let [steps, batch, width] = input.sized(0)?;
    let gates = match input.value(layout.mode).trim() {
        // ReLU, tanh; LSTM; GRU.
        "0" | "1" => 1.0,
        "2" => 4.0,
        "3" => 3.0,
        _ => return None,
    };
    let hidden = input.number(layout.hidden)?;
    let layers = input.number(layout.layers).filter(|n| *n >= 1.0)?;
    let directions = match input.flag(layout.bidirectional)? {
        true => 2.0,
        false => 1.0,
    };
    let rows = steps * batch;
    let inner = (layers - 1.0) * (directions * hidden + hidden);
    let weights = directions * gates * hidden * (width + hidden + inner);
    let elements = rows * (width + directions * hidden) + weights;
    let dtype = input.dtype(0);
    Some(bare(Work {
        flops: layout.passes * 2.0 * rows * weights,
        bytes: dtype::bytes(dtype).map(|size| layout.passes * elements * size),
        compute: dtype::matrix(dtype),
    }))
}

/// `_thnn_fused_lstm_cell(gates of x, gates of h, c, …)`, each of B × 4·H: five functions and four
/// products and sums for each of B·H; gates and the cell are read, state, cell and activations
/// written.
pub(super) fn lstm_cell(input: &OpInput) -> Option<Modelled> {
    let (gates, cell) = (input.tensor(0)?, input.tensor(2)?);
    let bytes = || Some(3.0 * gates.bytes()? + 3.0 * cell.bytes()?);
    Some(bare(Work {
        flops: 9.0 * cell.n() + gates.n(),
        bytes: bytes(),
        compute: dtype::vector(gates.dtype),
    }))
}
