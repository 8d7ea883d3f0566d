//! The category of every op in the trace, so that a name has the same color everywhere.

use std::collections::HashMap;

use dormer_core::Profile;
use dormer_core::names::{Family, family_of_kernel, family_of_op, op_category};
use dormer_core::report::overview::WorkTime;
use dormer_core::trace::{EventId, StringId};

/// Categories by op name.
#[derive(Debug, Default, Clone)]
pub(super) struct Families {
    by_op: HashMap<String, Family>,
}

/// The calls that launched a collective, with their names: the operator, or the runtime call if there is no operator
/// around it.
pub(super) fn launched_collectives(
    profile: &Profile,
) -> impl Iterator<Item = (EventId, StringId)> + '_ {
    let works = profile.gpu.iter().map(|(_, work)| work);
    works.filter(|work| work.is_collective).filter_map(|work| {
        let operator = work.parent_op.and_then(|op| profile.tree.event(op));
        let call = operator.or(work.launched_by)?;
        Some((call, profile.trace.events.name(call)))
    })
}

impl Families {
    /// Uses the Overview's largest operations, for which all kernels were examined; for all other ops, only one kernel
    /// is.
    pub(super) fn new(profile: &Profile, largest: &[WorkTime]) -> Families {
        let strings = &profile.trace.strings;
        let mut by_op: HashMap<String, Family> = largest
            .iter()
            .map(|operation| (operation.name.clone(), operation.family))
            .collect();
        for group in profile.ops.groups() {
            let first_call = profile.ops.calls(group).first();
            let op = first_call.and_then(|id| profile.ops.get(*id));
            let work = op
                .and_then(|op| profile.ops.kernels(op).first())
                .and_then(|work| profile.gpu.get(*work));
            let kernel = work.map(|work| strings.get(work.name));
            let name = strings.get(group.name);
            let label = op.map_or(dormer_core::names::OTHER, |op| op.category);
            by_op
                .entry(name.to_owned())
                .or_insert_with(|| family_of_op(label, name, kernel));
        }
        // Collectives do not count towards operators; calls that launch nothing else have their color.
        for (_, name) in launched_collectives(profile) {
            let name = strings.get(name).to_owned();
            by_op.entry(name).or_insert(Family::Communication);
        }
        Families { by_op }
    }

    pub(super) fn of_op(&self, name: &str) -> Family {
        match self.by_op.get(name) {
            Some(family) => *family,
            None => family_of_op(op_category(name, None), name, None),
        }
    }

    /// The category of a kernel that an op launched, or of one without an op.
    pub(super) fn of_kernel(&self, op: Option<&str>, kernel: &str) -> Family {
        match op {
            Some(op) => family_of_op(op_category(op, Some(kernel)), op, Some(kernel)),
            None => family_of_kernel(kernel),
        }
    }
}
