//! What the model could do about products.

use super::super::Input;
use super::super::narrower::{
    has_sparsity, is_in_32_bits, less_arithmetic, narrower_types, narrower_weights,
};
use super::super::outcome::Row;
use super::Seen;
use super::product::OddPitch;
use crate::format;
use crate::roofline::Bound;

/// About products that arithmetic bounds.
pub(super) fn less_work(input: &Input, rows: &[&Row], is_batched: bool) -> String {
    let mut means: Vec<String> = less_arithmetic(input, rows).into_iter().collect();
    // Zeros count in the types that the matrix units take, and activations have few.
    if has_sparsity(input, rows) && !is_batched && !is_in_32_bits(input, rows) {
        means.push("sparsity where weights are sparse".to_owned());
    }
    let larger = "larger batches help where the last round of tiles is nearly empty.";
    match means.is_empty() {
        true => larger.to_owned(),
        false => format!("{}; {larger}", means.join(", or ")),
    }
}

/// About products whose weights the memory bounds.
pub(super) fn less_weights(input: &Input, rows: &[&Row]) -> String {
    let narrower = narrower_weights(input, rows).map_or(String::new(), |(types, effect)| {
        format!(" weights in {types} {effect} what is read;")
    });
    format!("larger batches reuse each weight more often;{narrower} fuse the epilogue.")
}

/// The same where each entry of a batch has a matrix of its own: no weights, which all would share.
pub(super) fn less_activations(input: &Input, rows: &[&Row]) -> String {
    let narrower = narrower_types(input, rows).map_or(String::new(), |types| {
        format!("; keep its operands in a narrower type ({types})")
    });
    format!("fuse it with what follows it (in attention, a fused attention kernel does){narrower}.")
}

/// About quantised products: where the memory bounds them, narrow weights are what they are for.
pub(super) fn quantised(rows: &[&Row]) -> String {
    match rows.first().and_then(|row| row.bound) {
        Some(Bound::Memory) => "larger batches reuse each weight more often, and the epilogue can be fused; that the weights are narrow is right where the memory bounds.",
        _ => "check that the quantisation pays at this size: its scheme and its scales cost time of their own.",
    }
    .to_owned()
}

/// What to pad, by the longest product.
pub(super) fn padding(seen: &Seen) -> String {
    let (apart, odd): (Vec<&OddPitch>, Vec<&OddPitch>) =
        seen.odd.iter().partition(|odd| odd.is_apart);
    let mut means = Vec::new();
    if !odd.is_empty() {
        let each: Vec<String> = odd
            .iter()
            .map(|odd| {
                let next = odd.elements.next_multiple_of(odd.multiple);
                format!(
                    "{} ({}) to {}",
                    odd.of,
                    format::count(odd.elements),
                    format::count(next)
                )
            })
            .collect();
        let multiple = seen.odd.first().map_or(8, |odd| odd.multiple);
        let is_batched = seen
            .product
            .is_some_and(|product| product.batch > 1 && !product.is_grouped);
        let of_tokens = match is_batched {
            true => {
                "in attention that is the length of the sequence, which can be padded or packed, and a fused attention kernel needs neither"
            }
            false => {
                "of weights that is a width or the vocabulary, of activations the number of tokens"
            }
        };
        means.push(format!(
            "pad {}, the next multiple of {multiple}, better to one of 64: {of_tokens}",
            each.join(" and ")
        ));
    }
    for odd in apart {
        means.push(format!(
            "let the rows of {} begin a multiple of {} elements apart (now {}): make it contiguous, or pad what it is a part of",
            odd.of,
            odd.multiple,
            format::count(odd.elements)
        ));
    }
    format!("{}.", means.join("; "))
}
