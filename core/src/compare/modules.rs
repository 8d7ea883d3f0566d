//! Modules of both traces, side by side, by class.

use super::named::{Named, Timed, by_key};
use super::pair::Pair;
use super::side::Side;
use crate::report::module_times;

/// A class of modules.
pub type ModuleDelta = Named<String, ModuleTally>;

/// What the modules of a class launched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModuleTally {
    /// Calls of such modules; `None` for what runs outside of modules.
    pub calls: Option<u64>,
    /// GPU work launched in them and in no module inside them.
    pub own_ns: i64,
    /// GPU work launched in them and in modules inside them.
    pub subtree_ns: i64,
    /// Kernels, copies and fills of `own_ns`.
    pub n_kernels: u64,
}

impl Timed for ModuleTally {
    fn ns(&self) -> i64 {
        self.own_ns
    }
}

/// The classes of modules of both traces, the longest first; nothing where neither was recorded
/// with Python frames.
pub(crate) fn modules(sides: Pair<Side>) -> Vec<ModuleDelta> {
    by_key(&sides.map(|side| {
        let times = module_times(side.profile).into_iter();
        let tallies = times.map(|time| {
            let tally = ModuleTally {
                calls: time.n_calls,
                own_ns: time.direct_ns,
                subtree_ns: time.subtree_ns,
                n_kernels: time.n_kernels,
            };
            (time.name, tally)
        });
        tallies.collect::<Vec<(String, ModuleTally)>>()
    }))
}
