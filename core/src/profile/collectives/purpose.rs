//! What a collective is for: by its process group, its kernel, and the operators above its launch.

use super::key::Group;
use crate::names::Family;
use crate::names::collective::{CollectiveKind, Purpose, is_of_experts, purpose_of_group};
use crate::profile::Profile;
use crate::profile::autograd::is_engine_call;
use crate::profile::kernels::GpuWork;
use crate::trace::ByName;

/// What a name above a launch tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mark {
    Backward,
    Statistics,
}

/// Tells what the collectives of a trace are for.
pub(super) struct Purposes<'a> {
    profile: &'a Profile,
    is_training: bool,
    has_fsdp: bool,
    has_experts: bool,
    has_attention: bool,
    marks: ByName<Option<Mark>>,
}

impl<'a> Purposes<'a> {
    pub(super) fn new(profile: &'a Profile) -> Purposes<'a> {
        let has = |family: Family| {
            let mut operations = profile.operations().iter();
            operations.any(|operation| operation.family == family)
        };
        let has_name = |start: &str| {
            let mut names = profile.trace.strings.iter();
            names.any(|(_, name)| name.starts_with(start))
        };
        Purposes {
            profile,
            is_training: profile.is_training(),
            has_fsdp: has_name("FSDP::") || has_name("fsdp::"),
            has_experts: has(Family::Moe),
            has_attention: has(Family::Attention),
            marks: ByName::new(mark_of),
        }
    }

    /// What a collective of a kind among a group is for.
    pub(super) fn of(&mut self, work: &GpuWork, kind: CollectiveKind, group: Group) -> Purpose {
        use CollectiveKind::{AllGather, AllReduce, AllToAll, ReduceScatter, SendReceive};
        let mark = self.mark(work);
        if mark == Some(Mark::Statistics) {
            return Purpose::Statistics;
        }
        let names = [group.description, group.name].into_iter().flatten();
        match names.filter_map(purpose_of_group).next() {
            // Gradients and losses are summed over these groups as well.
            Some(Purpose::Experts | Purpose::Sequence) if kind == AllReduce => {}
            Some(purpose) => return purpose,
            None => {}
        }
        let kernel = self.profile.trace.strings.get(work.name);
        match kind {
            SendReceive => Purpose::Stages,
            AllToAll if self.has_experts || is_of_experts(kernel) => Purpose::Experts,
            AllToAll if self.has_attention => Purpose::Sequence,
            AllToAll => Purpose::Exchange,
            AllGather | ReduceScatter if self.has_fsdp => Purpose::Fsdp,
            AllGather | ReduceScatter if self.is_training => Purpose::Shards,
            AllReduce if mark == Some(Mark::Backward) => Purpose::Gradients,
            _ => Purpose::Unknown,
        }
    }

    /// What the operators above a launch tell: a norm more than the pass that it is part of.
    fn mark(&mut self, work: &GpuWork) -> Option<Mark> {
        let (trace, tree) = (&self.profile.trace, &self.profile.tree);
        let node = tree.node_of(work.launched_by?)?;
        let mut is_backward = false;
        for event in tree.ancestors(node).filter_map(|above| tree.event(above)) {
            match self.marks.of(trace, event) {
                Some(Mark::Statistics) => return Some(Mark::Statistics),
                Some(Mark::Backward) => is_backward = true,
                None => {}
            }
        }
        is_backward.then_some(Mark::Backward)
    }
}

fn mark_of(name: &str) -> Option<Mark> {
    if name.contains("SyncBatchNorm") {
        Some(Mark::Statistics)
    } else if is_engine_call(name) {
        Some(Mark::Backward)
    } else {
        None
    }
}
