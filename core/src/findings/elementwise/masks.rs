//! Masks that are made of constants: a fill, a triangle of it, and conversions of that.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::findings::prelude::*;
use crate::names::elementwise::{ElementwiseKind, is_triangle};
use crate::profile::Profile;
use crate::profile::operations::Operation;
use crate::profile::operations::call_order::{Order, OrderedCall};
use crate::profile::operations::kinds::elementwise::is_made_constant;

/// The calls of an operation that are part of such masks. As their arguments are equal, so are the masks.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct OfMasks {
    pub(super) n: u64,
    ns: i64,
}

impl OfMasks {
    /// What making the mask once would save.
    pub(super) fn repeated_ns(self) -> i64 {
        let n = i64::try_from(self.n.max(1)).unwrap_or(i64::MAX);
        self.ns - self.ns / n
    }
}

/// What an operation does for a mask.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Part {
    Constant,
    Triangle,
    Conversion,
}

/// By operation.
#[derive(Debug, Default)]
pub(super) struct Masks(BTreeMap<usize, OfMasks>);

impl Masks {
    pub(super) fn of(input: &Input) -> Arc<Masks> {
        let order = Order::of(input.profile);
        input.profile.once(|| Masks::new(input, &order))
    }

    fn new(input: &Input, order: &Order) -> Masks {
        let operations = input.profile.operations().iter();
        let parts: Vec<_> = operations.map(|one| part(input.profile, one)).collect();
        let mut masks = Masks::default();
        if !parts.contains(&Some(Part::Triangle)) {
            return masks;
        }
        let part = |placed: &OrderedCall| parts.get(placed.operation).copied().flatten();
        let shape = |placed: &OrderedCall| {
            let tensors = input.operation(placed.operation).tensors(input.profile);
            tensors.first().map(|tensor| tensor.shape)
        };
        for lane in order.lanes() {
            let mut left = lane;
            while let Some((first, rest)) = left.split_first() {
                left = rest;
                if part(first) != Some(Part::Constant)
                    || rest.first().and_then(part) != Some(Part::Triangle)
                {
                    continue;
                }
                let is_next = |placed: &&OrderedCall| {
                    matches!(part(placed), Some(Part::Triangle | Part::Conversion))
                        && shape(placed) == shape(first)
                };
                let next = rest.iter().take_while(is_next);
                let mask: Vec<&OrderedCall> = std::iter::once(first).chain(next).collect();
                for placed in mask.iter().filter(|_| mask.len() > 1) {
                    let of_it = masks.0.entry(placed.operation).or_default();
                    of_it.n += 1;
                    of_it.ns = of_it.ns.saturating_add(placed.kernel_ns(input.profile));
                }
            }
        }
        masks
    }

    pub(super) fn get(&self, operation: usize) -> OfMasks {
        self.0.get(&operation).copied().unwrap_or_default()
    }
}

fn part(profile: &Profile, operation: &Operation) -> Option<Part> {
    let name = operation.short_name(profile);
    if is_made_constant(profile, operation) {
        Some(Part::Constant)
    } else if is_triangle(name) {
        Some(Part::Triangle)
    } else {
        let is_conversion = matches!(
            ElementwiseKind::base_name(name),
            "copy" | "logical_not" | "bitwise_not"
        );
        is_conversion.then_some(Part::Conversion)
    }
}
