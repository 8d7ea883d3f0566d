//! What a recording runs repeatedly, kernel by kernel: graph replays, or else the GPU activity of steps.

use crate::base::interval::{Interval, sum};
use crate::base::map::Map;
use crate::base::sort::Arrange;
use crate::names::Family;
use crate::names::attention::is_main;
use crate::names::moe::MoeRole;
use crate::profile::Profile;
use crate::profile::gpu::kernels::GpuWork;
use crate::profile::launch::GpuId;
use crate::profile::operations::kinds::moe::MoeRoles;
use crate::profile::serving::activity::Launched;
use crate::profile::serving::replays::graphs;
use crate::trace::{Category, EventId, StringId, TrackId};

/// The role of a kernel in a layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// Multiplication with weights.
    Gemm,
    /// The attention of a layer.
    Attention,
    /// Multiplication with expert weights.
    Experts,
    /// Chooses experts, sorts tokens by expert, sums up their results; includes the router's GEMM.
    Routing,
    /// Anything else.
    Other,
}

impl Role {
    fn of_kernel(family: Family, name: &str) -> Role {
        match family {
            Family::Attention if is_main(name) => Role::Attention,
            Family::Gemm => Role::Gemm,
            _ => Role::Other,
        }
    }

    fn of_experts(role: MoeRole) -> Role {
        match role {
            role if role.is_around() => Role::Routing,
            role if role.is_gemm() || role == MoeRole::Fused => Role::Experts,
            _ => Role::Other,
        }
    }
}

/// A kernel, copy or fill of a pass.
#[derive(Debug, Clone, Copy)]
pub(super) struct Kernel {
    pub(super) event: EventId,
    pub(super) track: TrackId,
    pub(super) name: StringId,
    pub(super) start_ns: i64,
    pub(super) ns: i64,
    pub(super) role: Role,
    /// Index into the profile's operations.
    pub(super) operation: Option<usize>,
    /// The recorded call that launched it.
    pub(super) call: Option<EventId>,
}

/// One replay of a graph, or one step.
#[derive(Debug, Clone, Default)]
pub(super) struct Pass {
    /// Sorted by stream, then by start.
    pub(super) kernels: Vec<Kernel>,
}

impl Pass {
    /// For a replay, the call that launched it.
    pub(super) fn call(&self) -> Option<EventId> {
        self.kernels.first()?.call
    }

    /// Its attention kernels, in order.
    pub(super) fn attention(&self) -> Vec<&Kernel> {
        let kernels = self.kernels.iter();
        kernels
            .filter(|kernel| kernel.role == Role::Attention)
            .collect()
    }

    /// From its first start to its last end.
    pub(super) fn span(&self) -> Option<Interval> {
        self.kernels.iter().map(Kernel::span).reduce(Interval::hull)
    }
}

impl Kernel {
    pub(super) fn span(&self) -> Interval {
        Interval::new(self.start_ns, self.start_ns.saturating_add(self.ns))
    }
}

/// All passes of a recording.
#[derive(Debug, Default)]
pub(super) struct Passes {
    /// Whether they are graph replays.
    pub(super) are_replays: bool,
    pub(super) all: Vec<Pass>,
    /// The minimum duration of kernels: the first percentile.
    pub(super) floor_ns: i64,
    /// The time of all their kernels.
    pub(super) ns: i64,
}

/// With fewer kernels, the floor is unknown.
const LEAST_KERNELS: usize = 20;

/// The least that a kernel takes, gap included, is not longer on any GPU.
const MOST_FLOOR_NS: i64 = 20_000;

impl Passes {
    pub(super) fn new(profile: &Profile) -> Passes {
        let replays: Vec<Vec<GpuId>> = graphs(profile)
            .into_iter()
            .flat_map(|graph| graph.replays)
            .map(|replay| replay.work)
            .collect();
        let are_replays = !replays.is_empty();
        let work = match are_replays {
            true => replays,
            false => of_steps(profile),
        };
        let of_experts = MoeRoles::of(profile);
        let mut roles: Map<StringId, Role> = Map::default();
        let mut role_of = |id: GpuId, work: &GpuWork| match of_experts.get(id) {
            Some(role) => Role::of_experts(role),
            None => *roles.entry(work.name).or_insert_with(|| {
                let name = profile.trace.strings.get(work.name);
                Role::of_kernel(work.family, name)
            }),
        };
        let mut all = Vec::with_capacity(work.len());
        for ids in work {
            let kernels = ids.into_iter().filter_map(|id| {
                let work = profile.gpu.get(id)?;
                Some(Kernel {
                    event: work.event,
                    track: profile.trace.events.track(work.event),
                    name: work.name,
                    start_ns: work.span.start_ns,
                    ns: work.span.length(),
                    role: match work.category {
                        Category::Kernel => role_of(id, work),
                        _ => Role::Other,
                    },
                    operation: profile.owner_of(id).map(|owner| owner.operation),
                    call: work
                        .launched_by
                        .map(|call| profile.trace.recorded_call(call)),
                })
            });
            let mut kernels: Vec<Kernel> = kernels.collect();
            kernels.shrink_to_fit();
            kernels.arrange_by_key(|kernel| (kernel.track, kernel.start_ns, kernel.event));
            all.push(Pass { kernels });
        }
        let kernels = all.iter().flat_map(|pass| &pass.kernels);
        Passes {
            are_replays,
            floor_ns: floor_ns(&all),
            ns: sum(kernels.map(|kernel| kernel.ns)),
            all,
        }
    }

    pub(super) fn kernels(&self) -> impl Iterator<Item = &Kernel> {
        self.all.iter().flat_map(|pass| &pass.kernels)
    }

    /// Average number of attention kernels of a pass; each layer has one.
    pub(super) fn layers(&self) -> usize {
        let attention = self.kernels();
        let attention = attention.filter(|kernel| kernel.role == Role::Attention);
        attention.count() / self.all.len().max(1)
    }

    /// Kernels up to this duration are close to the minimum, in whole microseconds.
    pub(super) fn near_floor_ns(&self) -> i64 {
        /// 40 % above the floor.
        const NEAR: f64 = 1.4;
        (self.floor_ns as f64 * NEAR / 1e3).ceil() as i64 * 1_000
    }
}

fn of_steps(profile: &Profile) -> Vec<Vec<GpuId>> {
    let Some(serving) = profile.serving() else {
        return Vec::new();
    };
    let launched = Launched::new(profile);
    let working = serving.steps.iter().filter(|step| step.activity.is_some());
    working
        .map(|step| launched.during(step.track, step.on_host).collect())
        .collect()
}

fn floor_ns(passes: &[Pass]) -> i64 {
    let kernels = passes.iter().flat_map(|pass| &pass.kernels);
    let mut times: Vec<i64> = kernels
        .map(|kernel| kernel.ns)
        .filter(|ns| *ns > 0)
        .collect();
    if times.len() < LEAST_KERNELS {
        return 0;
    }
    let at = (times.len() / 100).saturating_sub(1);
    let (_, floor_ns, _) = times.select_nth_unstable(at);
    // Where even the shortest have work to do, they do not show what each takes at least.
    if *floor_ns > MOST_FLOOR_NS {
        0
    } else {
        *floor_ns
    }
}
