//! Gradients that are reduced after each micro-batch of a step, although the optimizer needs only their sum.
//!
//! ```text
//! CPU    [forward][backward][forward][backward][optimizer]
//! links           [reduce]           [reduce]
//!                  ^^^^^^ the one after the last micro-batch would do
//! ```

use std::sync::Arc;

use super::key::{described_by, group};
use super::purpose::Purposes;
use crate::base::group::grouped;
use crate::base::interval::Interval;
use crate::base::sort::{Arrange, Arranged};
use crate::names::collective::{CollectiveKind, Purpose};
use crate::profile::Profile;
use crate::profile::cpu::autograd::Passes;
use crate::profile::gpu::timeline::GpuClass;
use crate::profile::launch::process;
use crate::profile::memory::steps::named_steps;
use crate::profile::operations::kinds::optimizer::OptimizerStep;
use crate::trace::event_args::{arg, number};
use crate::trace::{EventId, StringId};

/// With fewer launches outside of the backward pass, there is no forward pass between two reductions.
const LEAST_FORWARD: usize = 4;

/// The reductions after micro-batches that are not the last of their step.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Repeated {
    /// The largest number of micro-batches in a step.
    pub(crate) n_micro_batches: usize,
    /// Whether parameters are sharded, so that gradients that are not reduced need more memory.
    pub(crate) are_sharded: bool,
    /// Their kernels, in order.
    pub(crate) events: Vec<EventId>,
}

/// One reduction of gradients.
struct Reduction {
    event: EventId,
    launched_ns: i64,
    elements: Option<u64>,
    is_sharded: bool,
}

/// A process and the name of a process group.
type ProcessGroup<'a> = (Option<StringId>, Option<&'a str>);

/// The reductions that are repeated; none without an optimizer or marked steps.
pub(crate) fn repeated(profile: &Profile) -> Arc<Repeated> {
    profile.once(|| find(profile).unwrap_or_default())
}

fn find(profile: &Profile) -> Option<Repeated> {
    let trace = &profile.trace;
    if !profile.is_training() {
        return None;
    }
    let (mut purposes, mut passes) = (Purposes::new(profile), Passes::new(profile));
    let communication = profile.gpu.all();
    let communication = communication.filter(|work| work.class == GpuClass::Communication);
    let reductions = communication.filter_map(|work| {
        let (call, described) = (work.launched_by?, described_by(profile, work)?);
        let kind = CollectiveKind::of_name(arg(trace, described, "Collective name")?);
        let of_group = group(profile, work);
        let is_sharded = match purposes.of(work, kind, of_group) {
            Purpose::Gradients if kind == CollectiveKind::AllReduce => false,
            Purpose::Fsdp if kind == CollectiveKind::ReduceScatter => true,
            _ => return None,
        };
        let reduction = Reduction {
            event: work.event,
            launched_ns: trace.events.ts_ns(call),
            elements: number(trace, described, "In msg nelems").map(|n| n as u64),
            is_sharded,
        };
        let key = (process(trace, call), of_group.name);
        passes.is_backward(call).then_some((key, reduction))
    });
    let groups: Vec<(ProcessGroup, Vec<Reduction>)> = grouped(reductions, Vec::push);
    if groups.is_empty() {
        return None;
    }
    let steps = steps(profile);
    let mut found = Repeated::default();
    for ((process, _), mut reductions) in groups {
        reductions.arrange_by_key(|one| (one.launched_ns, one.event));
        let forward = forward(profile, process, &mut passes);
        for step in &steps {
            let in_step = reductions.iter();
            let in_step = in_step.filter(|one| step.contains(one.launched_ns));
            let in_step: Vec<&Reduction> = in_step.collect();
            found.add(&in_step, &forward);
        }
    }
    found.events.arrange();
    (!found.events.is_empty()).then_some(found)
}

/// From each optimizer step to the next one; steps that the program marks where the optimizer is not recorded.
fn steps(profile: &Profile) -> Vec<Interval> {
    let mut ends: Vec<i64> = (OptimizerStep::all(profile).iter())
        .map(OptimizerStep::start_ns)
        .collect();
    if ends.is_empty() {
        return named_steps(profile).iter().map(|step| step.span).collect();
    }
    ends.arrange();
    let steps = std::iter::once(i64::MIN).chain(ends.clone()).zip(ends);
    steps
        .map(|(start_ns, end_ns)| Interval::new(start_ns, end_ns))
        .collect()
}

/// When a process launches kernels outside of the backward pass, sorted.
fn forward(profile: &Profile, of: Option<StringId>, passes: &mut Passes) -> Vec<i64> {
    let trace = &profile.trace;
    let computing = profile.gpu.all();
    let computing = computing.filter(|work| work.class == GpuClass::Computation);
    let calls = computing.filter_map(|work| work.launched_by);
    let calls = calls.filter(|call| process(trace, *call) == of && !passes.is_backward(*call));
    calls.map(|call| trace.events.ts_ns(call)).arranged()
}

impl Repeated {
    /// Adds the reductions of a step, split where a forward pass lies between them. Only passes that reduce the same are
    /// micro-batches.
    fn add(&mut self, in_step: &[&Reduction], forward: &[i64]) {
        let before = |ns: i64| forward.partition_point(|at| *at < ns);
        let of_one_pass = |one: &&Reduction, next: &&Reduction| {
            before(next.launched_ns) - before(one.launched_ns) < LEAST_FORWARD
        };
        let passes: Vec<&[&Reduction]> = in_step.chunk_by(of_one_pass).collect();
        let reduced = |pass: &[&Reduction]| -> Vec<Option<u64>> {
            pass.iter().map(|one| one.elements).arranged()
        };
        let Some((last, others)) = passes.split_last().filter(|(_, others)| !others.is_empty())
        else {
            return;
        };
        let expected = reduced(last);
        if others.iter().any(|pass| reduced(pass) != expected) {
            return;
        }
        self.n_micro_batches = self.n_micro_batches.max(passes.len());
        self.are_sharded |= last.iter().any(|one| one.is_sharded);
        let repeated = others.iter().flat_map(|pass| pass.iter());
        self.events.extend(repeated.map(|one| one.event));
    }
}
