//! Collectives of both traces, side by side: by what they do, to how much, among how many.

use super::named::{Named, Tally, by_key};
use super::pair::Pair;
use super::side::Side;
use crate::format;
use crate::interval::sum;
use crate::report::collectives as of_profile;

/// Collectives of a kind and size: how many, and the sum of their durations, waiting for others
/// included.
pub type CollectiveDelta = Named<CollectiveKey, Tally>;

/// What makes collectives of two traces the same. Numbers of ranks and streams do not: they follow
/// from how a run was set up.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CollectiveKey {
    /// What it does: "allreduce".
    pub name: String,
    /// Type of the elements: "BFloat16".
    pub dtype: String,
    /// Elements that each contributes.
    pub in_elements: u64,
    /// Elements that each receives.
    pub out_elements: u64,
    /// Among how many.
    pub group_size: u64,
    /// The name of the group.
    pub group: String,
}

impl CollectiveKey {
    /// For people: "allreduce of 1 048 576 bf16 among 8 (default_pg)".
    pub fn label(&self) -> String {
        let dtype = format::dtype(&self.dtype).unwrap_or(&self.dtype);
        format!(
            "{} of {} {dtype} among {} ({})",
            self.name,
            format::count(self.in_elements.max(self.out_elements)),
            format::count(self.group_size),
            self.group
        )
    }
}

/// The collectives of both traces, the longest first.
pub(super) fn collectives(sides: Pair<Side>) -> Vec<CollectiveDelta> {
    by_key(&sides.map(|side| {
        let mut rows: Vec<(CollectiveKey, Tally)> = Vec::new();
        for (found, durations_ns) in of_profile(side.profile) {
            let key = CollectiveKey {
                name: found.name().to_owned(),
                dtype: found.dtype().to_owned(),
                in_elements: found.in_elements as u64,
                out_elements: found.out_elements as u64,
                group_size: found.group_size as u64,
                group: found.group().to_owned(),
            };
            let tally = Tally {
                count: durations_ns.len() as u64,
                ns: sum(durations_ns.iter().copied()),
            };
            // Streams are no part of the key: the same on two of them is one row.
            match rows.iter_mut().find(|(known, _)| *known == key) {
                Some((_, known)) => {
                    known.count += tally.count;
                    known.ns = known.ns.saturating_add(tally.ns);
                }
                None => rows.push((key, tally)),
            }
        }
        rows
    }))
}
