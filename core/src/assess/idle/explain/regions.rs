//! Compiled regions: the launches with which the CPU enters them, and how many a step has.

use super::recompiled::{starts_of, steps};
use crate::base::map::Set;
use crate::names::compiled_region::{COMPILED_REGION, is_compiled_region};
use crate::profile::Profile;
use crate::profile::cpu::tree::NodeId;
use crate::trace::EventId;

/// The first launch of each call of compiled code.
pub(super) struct RegionEntries(Set<EventId>);

impl RegionEntries {
    pub(super) fn of(profile: &Profile) -> RegionEntries {
        let (trace, tree) = (&profile.trace, &profile.tree);
        let names = trace.strings.iter();
        let is_region: Vec<bool> = names.map(|(_, name)| is_compiled_region(name)).collect();
        let mut first_launches = Set::default();
        if !is_region.contains(&true) {
            return RegionEntries(first_launches);
        }
        let is_entered = |node: NodeId| {
            let name = tree
                .event(node)
                .map(|event| trace.events.name(event).0 as usize);
            name.is_some_and(|name| is_region.get(name) == Some(&true))
        };
        for node in tree.ids().filter(|node| is_entered(*node)) {
            let first = tree.gpu_work(node).first();
            let first = first.and_then(|id| profile.gpu.get(*id)?.launched_by);
            first_launches.extend(first.map(|call| trace.recorded_call(call)));
        }
        RegionEntries(first_launches)
    }

    pub(super) fn is_entered_by(&self, launch: EventId) -> bool {
        self.0.contains(&launch)
    }
}

/// How many compiled regions the forward pass of a step enters; those that one layer enters again count again. `None`
/// without compiled regions or steps.
pub(crate) fn regions_per_step(profile: &Profile) -> Option<f64> {
    let entries = starts_of(&profile.trace, |name| name.starts_with(COMPILED_REGION));
    let steps = steps(profile);
    let mut inside = 0;
    for step in &steps {
        let before = |ns: i64| entries.partition_point(|at_ns| *at_ns < ns);
        inside += before(step.end_ns) - before(step.start_ns);
    }
    (inside > 0).then(|| inside as f64 / steps.len() as f64)
}
