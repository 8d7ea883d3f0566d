//! Copies directly around attention: of its operands before, and of its result after.

use std::collections::BTreeMap;

use super::Observed;
use crate::base::sort::Gather;
use crate::findings::prelude::*;
use crate::profile::operations::call_order::{Beside, CopyAround, Order, OrderedCall};
use crate::profile::operations::tensors::layout_copy;

/// A call that only copies Q, K or V directly before an attention, or its result directly after.
pub(super) struct Copy<'a> {
    pub(super) operation: usize,
    pub(super) ns: i64,
    /// It repeats heads in memory.
    pub(super) repeats_heads: bool,
    pub(super) attention: &'a Observed<'a>,
}

/// Q, K and V.
const MAX_BEFORE: usize = 3;

pub(super) fn around<'a>(
    input: &Input<'a>,
    order: &Order,
    observed: &'a [Observed<'a>],
) -> Vec<Copy<'a>> {
    let attention: BTreeMap<usize, (&Observed, [u64; 4])> = observed
        .iter()
        .filter(|one| one.kernel.has_scores())
        .filter_map(|one| Some((one.row.operation, (one, one.sizes?.elements()))))
        .gather();
    let operations = input.profile.operations().iter();
    let copied: Vec<_> = operations
        .map(|one| layout_copy(input.profile, one))
        .collect();
    let copied = |placed: &OrderedCall| copied.get(placed.operation).copied().flatten();
    let copies = order.copies_around(
        MAX_BEFORE,
        |operation| attention.get(&operation).copied(),
        |(_, [q, k, v, result]), copy, beside| match copied(copy) {
            // Repeated heads are those of the keys and values of the next attention.
            Some((elements, repeats)) if beside == Beside::After => elements == result && !repeats,
            Some((elements, _)) => [q, k, v].contains(&elements),
            None => false,
        },
    );
    let copies = copies.into_iter();
    copies
        .map(|CopyAround { of, copy, beside }| Copy {
            operation: copy.operation,
            ns: copy.kernel_ns(input.profile),
            repeats_heads: beside == Beside::Before
                && copied(&copy).is_some_and(|(_, repeats)| repeats),
            attention: of.0,
        })
        .collect()
}
