//! The purpose of a collective: from its process group, its kernel, and the operators above its launch.

use super::key::{Group, described_by};
use crate::base::sort::Arranged;
use crate::names::collective::{CollectiveKind, Purpose, is_of_experts, purpose_of_group};
use crate::names::frames::Frame;
use crate::names::{Family, MODULE};
use crate::profile::Profile;
use crate::profile::cpu::autograd::is_engine_call;
use crate::profile::gpu::kernels::GpuWork;
use crate::trace::event_args::arg;
use crate::trace::{ByName, Trace};

/// What the name of an operator above a launch implies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mark {
    Backward,
    Statistics,
}

/// Which data-parallel wrappers a trace uses, from its operators, modules and Python files.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct DataParallelism {
    has_fsdp: bool,
    /// `DistributedDataParallel`.
    has_ddp: bool,
    /// `DataParallel`, which copies the weights to its GPUs in every step.
    has_replicas: bool,
}

impl DataParallelism {
    fn of(trace: &Trace) -> DataParallelism {
        let mut found = DataParallelism::default();
        for (_, name) in trace.strings.iter() {
            let is_call = |class: &str| {
                let name = name.strip_prefix(MODULE).unwrap_or(name);
                let rest = name.strip_prefix(class);
                rest.is_some_and(|rest| rest.starts_with(['.', '_']))
            };
            // An imported file need not be used.
            let is_run =
                |frame: Frame, file: &str| frame.is_of(file) && frame.function != "<module>";
            let is_of = |file: &str| {
                name.contains(file) && Frame::of(name).is_some_and(|frame| is_run(frame, file))
            };
            found.has_fsdp |= name.starts_with("FSDP::")
                || name.starts_with("fsdp::")
                || is_call("FullyShardedDataParallel")
                || is_of("torch/distributed/fsdp/");
            found.has_ddp |=
                is_call("DistributedDataParallel") || is_of("torch/nn/parallel/distributed.py");
            found.has_replicas |=
                is_call("DataParallel") || is_of("torch/nn/parallel/data_parallel.py");
        }
        found
    }
}

/// Determines the purpose of the collectives in a trace.
pub(super) struct Purposes<'a> {
    profile: &'a Profile,
    is_training: bool,
    parallelism: DataParallelism,
    has_experts: bool,
    has_attention: bool,
    /// Set when the first transfer asks for it.
    passes_keys: Option<bool>,
    marks: ByName<Option<Mark>>,
}

impl<'a> Purposes<'a> {
    pub(super) fn new(profile: &'a Profile) -> Purposes<'a> {
        let has = |family: Family| {
            let mut operations = profile.operations().iter();
            operations.any(|operation| operation.family == family)
        };
        Purposes {
            profile,
            is_training: profile.is_training(),
            parallelism: DataParallelism::of(&profile.trace),
            has_experts: has(Family::Moe),
            has_attention: has(Family::Attention),
            passes_keys: None,
            marks: ByName::new(mark_of),
        }
    }

    /// The purpose of a collective of a given kind and group.
    pub(super) fn of(&mut self, work: &GpuWork, kind: CollectiveKind, group: Group) -> Purpose {
        use CollectiveKind::{
            AllGather, AllReduce, AllToAll, Broadcast, Reduce, ReduceScatter, SendReceive,
        };
        let mark = self.mark(work);
        if mark == Some(Mark::Statistics) {
            return Purpose::Statistics;
        }
        let names = [group.description, group.name].into_iter().flatten();
        match names.filter_map(purpose_of_group).next() {
            // Gradients and losses are also reduced over these groups.
            Some(Purpose::Experts | Purpose::Sequence) if kind == AllReduce => {}
            Some(purpose) => return purpose,
            None => {}
        }
        let kernel = self.profile.trace.strings.get(work.name);
        match kind {
            SendReceive if self.passes_keys() => Purpose::Sequence,
            SendReceive => Purpose::Stages,
            AllToAll if self.has_experts || is_of_experts(kernel) => Purpose::Experts,
            AllToAll if self.has_attention => Purpose::Sequence,
            AllToAll => Purpose::Exchange,
            AllGather | ReduceScatter if self.parallelism.has_fsdp => Purpose::Fsdp,
            AllGather | ReduceScatter if self.is_training => Purpose::Shards,
            AllReduce if mark == Some(Mark::Backward) => Purpose::Gradients,
            AllReduce if self.parallelism.has_ddp => Purpose::Gradients,
            Broadcast if self.parallelism.has_ddp => Purpose::Buffers,
            Broadcast | Reduce if self.parallelism.has_replicas => Purpose::Replicas,
            _ => Purpose::Unknown,
        }
    }

    fn passes_keys(&mut self) -> bool {
        let profile = self.profile;
        *self.passes_keys.get_or_insert_with(|| passes_keys(profile))
    }

    /// The mark of the operators above a launch; a norm takes precedence over the backward pass that it is in.
    fn mark(&mut self, work: &GpuWork) -> Option<Mark> {
        let (trace, tree) = (&self.profile.trace, &self.profile.tree);
        let mut is_backward = false;
        for event in tree.calls_around(work.launched_by?) {
            match self.marks.of(trace, event) {
                Some(Mark::Statistics) => return Some(Mark::Statistics),
                Some(Mark::Backward) => is_backward = true,
                None => {}
            }
        }
        is_backward.then_some(Mark::Backward)
    }
}

/// Whether transfers pass keys and values round in a ring: what is launched between two of them is often attention alone,
/// where the stages of a pipeline compute whole layers.
fn passes_keys(profile: &Profile) -> bool {
    let trace = &profile.trace;
    let launched = profile.gpu.all().filter_map(|work| {
        let what = match work.family {
            _ if work.is_collective => None,
            Family::Attention => Some(true),
            Family::Gemm | Family::Convolution | Family::Moe => Some(false),
            _ => return None,
        };
        let is_transfer = || {
            let described = described_by(profile, work);
            let name = described.and_then(|event| arg(trace, event, "Collective name"));
            let name = name.unwrap_or_else(|| trace.strings.get(work.name));
            CollectiveKind::of_name(name) == CollectiveKind::SendReceive
        };
        let ns = trace.events.ts_ns(work.launched_by?);
        (what.is_some() || is_transfer()).then_some((ns, what))
    });
    let launched = launched.arranged();
    let between = launched.split(|(_, what)| what.is_none());
    // What precedes the first transfer and follows the last is between none.
    let between = between.skip(1).filter(|launched| !launched.is_empty());
    let [mut n_rings, mut n_layers] = [0_u64; 2];
    for launched in between {
        match launched.iter().all(|(_, what)| *what == Some(true)) {
            true => n_rings += 1,
            false => n_layers += 1,
        }
    }
    n_rings > 0 && n_rings * 2 >= n_layers
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
