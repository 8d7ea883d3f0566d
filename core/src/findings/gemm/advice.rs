//! What the model could do about products.

use super::super::Input;
use super::super::narrower::{
    has_sparsity, is_in_32_bits, less_arithmetic, narrower_types, narrower_weights, sixteen_bit,
};
use super::super::outcome::Row;
use super::Seen;
use super::product::OddPitch;
use crate::base::format;
use crate::hardware::roofline::Bound;

/// A last round of tiles that leaves so much of all rounds idle is worth a word.
const IDLE_SHARE: f64 = 0.2;

/// About products that arithmetic bounds.
pub(super) fn less_work(input: &Input, seen: &[&Seen], rows: &[&Row], is_batched: bool) -> String {
    let mut means: Vec<String> = less_arithmetic(input, rows).into_iter().collect();
    // Zeros count in the types that the matrix units take, and activations have few.
    if has_sparsity(input, rows) && !is_batched && !is_in_32_bits(input, rows) {
        means.push("sparsity where weights are sparse".to_owned());
    }
    let means = means.join(", or ");
    let generic = "larger batches help where the last round of tiles is nearly empty";
    let known = seen
        .first()
        .zip(input.n_units())
        .and_then(|(seen, n_units)| {
            let (last, rounds) = seen.last_round(n_units)?;
            let idle = 1.0 - last as f64 / f64::from(n_units);
            Some((last, rounds, n_units, idle / rounds as f64))
        });
    match known {
        Some((last, rounds, n_units, idle)) if idle >= IDLE_SHARE && rounds > 1 => {
            let first = format!(
                "the last of {rounds} rounds has {} for {n_units} compute units: sizes or batches that fill it do more in the same time",
                format::counted(last, "tile")
            );
            match means.is_empty() {
                true => format!("{first}."),
                false => format!("{first}; {means}."),
            }
        }
        Some(_) if !means.is_empty() => format!("{means}."),
        _ if means.is_empty() => format!("{generic}."),
        _ => format!("{means}; {generic}."),
    }
}

/// About products far longer than wide: what their short side is made of.
pub(super) fn wider(input: &Input, seen: &Seen, rows: &[&Row]) -> String {
    let is_short_of_rows = seen.product.is_some_and(|product| product.m < product.n);
    if !is_short_of_rows {
        return "join it with products of the same input (fused projections), so that the short side grows.".to_owned();
    }
    let narrower = narrower_weights(input, rows).map_or(String::new(), |(types, effect)| {
        format!("; where it reads weights, {types} {effect} what is read")
    });
    format!(
        "more rows in one product (larger batches, several tokens at once) make the short side grow{narrower}."
    )
}

/// About products that write more than they read.
pub(super) fn less_result(input: &Input, rows: &[&Row]) -> String {
    let narrower = match is_in_32_bits(input, rows) {
        true => format!(", and write it in {}", sixteen_bit(input)),
        false => String::new(),
    };
    format!(
        "most of what it moves is the result that it writes: let the product add to its target (`addmm`, `baddbmm`), fuse what follows into it, or merge what it computes into the weights once (low-rank adapters){narrower}."
    )
}

/// About products whose weights the memory bounds.
pub(super) fn less_weights(input: &Input, rows: &[&Row]) -> String {
    let narrower = narrower_weights(input, rows).map_or(String::new(), |(types, effect)| {
        format!(" weights in {types} {effect} what is read;")
    });
    format!("larger batches reuse each weight more often;{narrower} fuse the epilogue.")
}

/// The same where each entry of a batch has a matrix of its own: no weights, which all would share.
pub(super) fn less_activations(input: &Input, rows: &[&Row], writes_most: bool) -> String {
    let narrower = narrower_types(input, rows).filter(|_| !writes_most);
    let narrower = narrower.map_or(String::new(), |types| {
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
