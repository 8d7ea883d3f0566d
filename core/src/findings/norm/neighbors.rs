//! What the GPU runs directly before and after some norms.

use crate::findings::prelude::*;
use crate::names::Family;
use crate::profile::operations::call_order::{Order, OrderedCall};

/// Element-wise operations next to most calls of some norms, which one kernel could do together.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Neighbors {
    before: Option<String>,
    after: Option<String>,
    is_rotated: bool,
}

impl Neighbors {
    pub(super) fn of(input: &Input, rows: &[&Row]) -> Neighbors {
        /// Q, K, and what splits or copies them are between a norm and the rotation of its result.
        const SOON: usize = 4;
        let order = Order::of(input.profile);
        let is_norm =
            |placed: &OrderedCall| rows.iter().any(|row| row.operation == placed.operation);
        let calls = order
            .lanes()
            .flat_map(|lane| (0..lane.len()).map(move |at| (lane, at)));
        let norms: Vec<(&[OrderedCall], usize)> =
            calls.filter(|(lane, at)| is_norm(&lane[*at])).collect();
        let are_most = |n: usize| 2 * n > norms.len();
        let of_most = |neighbor: fn(&[OrderedCall], usize) -> Option<&OrderedCall>| {
            let neighbors = norms.iter().filter_map(|(lane, at)| neighbor(lane, *at));
            let names = neighbors.filter_map(|placed| Some((elementwise_name(input, placed)?, ())));
            let counted = grouped(names, |n: &mut usize, ()| *n += 1);
            let most = counted.into_iter().find(|(_, n)| are_most(*n));
            most.map(|(name, _)| name)
        };
        let is_rotated = |(lane, at): &&(&[OrderedCall], usize)| {
            let mut soon = lane.iter().skip(at + 1).take(SOON);
            soon.any(|placed| is_rotary(input, placed))
        };
        Neighbors {
            before: of_most(|lane, at| lane.get(at.checked_sub(1)?)),
            after: of_most(|lane, at| lane.get(at + 1)),
            is_rotated: are_most(norms.iter().filter(is_rotated).count()),
        }
    }

    /// What to do about a norm with these neighbors.
    pub(super) fn advice(&self) -> String {
        let sides = [(&self.before, "before"), (&self.after, "after")].into_iter();
        let both = sides.filter_map(|(name, at)| Some(format!("`{}` {at} it", name.as_ref()?)));
        let both: Vec<String> = both.collect();
        let merge = match both.is_empty() {
            true => "no element-wise operation runs right before or after most of its calls that it could be merged with: try other implementations of the norm (`torch.compile`, libraries of fused norms)".to_owned(),
            false => format!(
                "merge it with {} (a fused norm, or `torch.compile`)",
                both.join(" and ")
            ),
        };
        match self.is_rotated {
            true => format!("{merge}; fused kernels that normalize Q and K and apply RoPE exist"),
            false => merge,
        }
    }
}

fn elementwise_name(input: &Input, placed: &OrderedCall) -> Option<String> {
    let operation = input.operation(placed.operation);
    (operation.family == Family::Elementwise).then(|| short_name(input, operation))
}

fn is_rotary(input: &Input, placed: &OrderedCall) -> bool {
    let name = input.operation(placed.operation).short_name(input.profile);
    let name = name.to_ascii_lowercase();
    name.contains("rotary") || name.contains("rope")
}
