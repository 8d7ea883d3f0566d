//! Copies right around attention: of its operands before, and of its result after.

use std::collections::BTreeMap;

use super::Seen;
use crate::assess::Input;
use crate::findings::order::{Order, Placed};
use crate::profile::tensors::layout_copy;

/// A call that does nothing but copy Q, K or V right before an attention, or its result right after.
pub(super) struct Copy<'a> {
    pub(super) operation: usize,
    pub(super) ns: i64,
    /// It repeats heads in memory.
    pub(super) repeats_heads: bool,
    pub(super) attention: &'a Seen<'a>,
}

/// Q, K and V.
const MAX_BEFORE: usize = 3;

/// The copies around some attention, each once: one between two belongs to the first.
pub(super) fn around<'a>(input: &Input<'a>, order: &Order, seen: &'a [Seen<'a>]) -> Vec<Copy<'a>> {
    let attention: BTreeMap<usize, (&Seen, [u64; 4])> = seen
        .iter()
        .filter(|one| one.kernel.has_scores())
        .filter_map(|one| Some((one.row.operation, (one, one.sizes?.elements()))))
        .collect();
    let operations = input.profile.operations().iter();
    let copied: Vec<_> = operations
        .map(|one| layout_copy(input.profile, one))
        .collect();
    let copied = |placed: &Placed| copied.get(placed.operation).copied().flatten();
    let mut copies: Vec<Copy> = Vec::new();
    for lane in order.lanes() {
        let mut taken_to = 0;
        for (at, placed) in lane.iter().enumerate() {
            let Some(&(attention, [q, k, v, result])) = attention.get(&placed.operation) else {
                continue;
            };
            let copy = |placed: &Placed, repeats_heads: bool| Copy {
                operation: placed.operation,
                ns: placed.kernel_ns(input),
                repeats_heads,
                attention,
            };
            let first = at.saturating_sub(MAX_BEFORE).max(taken_to);
            let before = lane.get(first..at).unwrap_or_default().iter().rev();
            copies.extend(before.map_while(|before| {
                let (elements, repeats_heads) = copied(before)?;
                let is_operand = [q, k, v].contains(&elements);
                is_operand.then(|| copy(before, repeats_heads))
            }));
            taken_to = at + 1;
            if let Some(after) = lane.get(at + 1)
                && copied(after).is_some_and(|(elements, _)| elements == result)
            {
                copies.push(copy(after, false));
                taken_to = at + 2;
            }
        }
    }
    copies
}
