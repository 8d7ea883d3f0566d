//! What the GPU runs right before and after some norms.

use std::collections::BTreeMap;

use crate::assess::Input;
use crate::findings::compute::short_name;
use crate::findings::order::{Order, Placed};
use crate::findings::outcome::Row;
use crate::names::Family;

/// Element-wise operations beside most calls of some norms, which one kernel could do with them.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Neighbors {
    before: Option<String>,
    after: Option<String>,
    /// A rotary embedding follows soon: these are the norms of Q and K.
    is_rotated: bool,
}

impl Neighbors {
    pub(super) fn of(input: &Input, rows: &[&Row]) -> Neighbors {
        /// Q, K, and what splits or copies them stand between a norm and the rotation of its result.
        const SOON: usize = 4;
        let order = Order::of(input);
        let is_norm = |placed: &Placed| rows.iter().any(|row| row.operation == placed.operation);
        let (mut before, mut after) = (BTreeMap::new(), BTreeMap::new());
        let (mut n_calls, mut n_rotated) = (0_u64, 0_u64);
        for lane in order.lanes() {
            for (at, _) in lane
                .iter()
                .enumerate()
                .filter(|(_, placed)| is_norm(placed))
            {
                n_calls += 1;
                let earlier = at.checked_sub(1).and_then(|at| lane.get(at));
                count(input, &mut before, earlier);
                count(input, &mut after, lane.get(at + 1));
                let mut next = lane.iter().skip(at + 1).take(SOON);
                n_rotated += u64::from(next.any(|placed| is_rotary(input, placed)));
            }
        }
        let of_most = |names: BTreeMap<String, u64>| {
            let (name, n) = names.into_iter().max_by_key(|(_, n)| *n)?;
            (2 * n > n_calls).then_some(name)
        };
        Neighbors {
            before: of_most(before),
            after: of_most(after),
            is_rotated: 2 * n_rotated > n_calls,
        }
    }

    /// What to do about a norm among them.
    pub(super) fn advice(&self) -> String {
        let [before, after] = [(&self.before, "before"), (&self.after, "after")]
            .map(|(name, at)| name.as_ref().map(|name| format!("`{name}` {at} it")));
        let both: Vec<String> = [before, after].into_iter().flatten().collect();
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

/// Counts a neighbor by its name, if it is element-wise.
fn count(input: &Input, names: &mut BTreeMap<String, u64>, placed: Option<&Placed>) {
    let operations = input.profile.operations();
    let operation = placed.and_then(|placed| operations.get(placed.operation));
    if let Some(operation) = operation.filter(|one| one.family == Family::Elementwise) {
        *names.entry(short_name(input, operation)).or_default() += 1;
    }
}

fn is_rotary(input: &Input, placed: &Placed) -> bool {
    let operation = input.profile.operations().get(placed.operation);
    operation.is_some_and(|operation| {
        let name = operation.short_name(input.profile).to_ascii_lowercase();
        name.contains("rotary") || name.contains("rope")
    })
}
