//! Operators of both traces on the host, side by side, by name. Of traces without GPU activity
//! there is nothing else to compare.

use super::named::{Named, Tally, by_key};
use super::pair::Pair;
use super::side::Side;

/// An operator on the host: its calls, and the time in it and in no operator called from there.
pub type HostDelta = Named<String, Tally>;

/// The operators of both traces, the longest first.
pub(crate) fn host(sides: Pair<Side>) -> Vec<HostDelta> {
    by_key(&sides.map(|side| {
        let strings = &side.profile.trace.strings;
        let ops = side.profile.host_ops.iter();
        let tallies = ops.map(|op| {
            let tally = Tally {
                count: op.n_calls,
                ns: op.self_ns,
            };
            (strings.get(op.name).to_owned(), tally)
        });
        tallies.collect::<Vec<(String, Tally)>>()
    }))
}
