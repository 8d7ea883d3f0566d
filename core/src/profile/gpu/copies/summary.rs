//! The copies of a trace, by direction and by requesting code.

use super::origin::{CopyOrigin, Ddp, Frames};
use super::{Direction, HostMemory, direction};
use crate::base::group::grouped;
use crate::base::interval::{Interval, sum};
use crate::base::map::Set;
use crate::base::sort::Arrange;
use crate::names::gpu_activity::is_rocm_fill;
use crate::profile::Profile;
use crate::profile::gpu::exposed::{Exposed, OnGpu};
use crate::profile::gpu::kernels::GpuWork;
use crate::profile::gpu::timeline::GpuClass;
use crate::profile::launch::process;
use crate::trace::{Category, EventId, event_args as args};

/// Copies with something in common.
#[derive(Debug, Clone, Default)]
pub(crate) struct Copies {
    pub(crate) count: u64,
    /// Sum of the durations.
    pub(crate) time_ns: i64,
    pub(crate) max_ns: i64,
    /// Time in which nothing else runs.
    pub(crate) exposed_ns: i64,
    /// Of the copies with a recorded size.
    bytes: f64,
    n_sized: u64,
    sized_ns: i64,
    /// On streams that run no kernels.
    apart_ns: i64,
    /// Duration of the calls that returned only after their copy was done.
    pub(crate) wait_ns: i64,
    pub(crate) longest: Option<EventId>,
    /// Times of the GPU with most of each: what the copies can cost the run.
    pub(crate) on_one_gpu: OnOneGpu,
}

/// How much of one GPU's time copies take.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct OnOneGpu {
    pub(crate) time_ns: i64,
    pub(crate) exposed_ns: i64,
    wait_ns: i64,
}

impl OnOneGpu {
    /// Their cost: nothing else runs meanwhile, or the CPU waits.
    pub(crate) fn cost_ns(self) -> i64 {
        self.exposed_ns.max(self.wait_ns)
    }

    /// Most of their time overlaps with other kernels, and the CPU does not wait for it.
    pub(crate) fn is_hidden(self) -> bool {
        self.cost_ns() < self.time_ns / 2
    }
}

impl Copies {
    fn add(&mut self, copy: &Copy) {
        let length_ns = copy.on.1.length();
        self.count += 1;
        self.time_ns = self.time_ns.saturating_add(length_ns);
        if length_ns > self.max_ns || self.longest.is_none() {
            self.longest = Some(copy.event);
        }
        self.max_ns = self.max_ns.max(length_ns);
        self.wait_ns = self.wait_ns.saturating_add(copy.wait_ns);
        if copy.is_apart {
            self.apart_ns = self.apart_ns.saturating_add(length_ns);
        }
        if let Some(bytes) = copy.bytes {
            self.bytes += bytes;
            self.n_sized += 1;
            self.sized_ns = self.sized_ns.saturating_add(length_ns);
        }
    }

    /// Adds values that need all copies. Copies can overlap: exposed time counts once.
    fn close(&mut self, all: &[Copy], exposed: &Exposed) {
        let spans: Vec<OnGpu> = all.iter().map(|copy| copy.on).collect();
        let most = |ns: fn(&Copy) -> i64| {
            let by_gpu = all.iter().map(|copy| (copy.on.0, ns(copy)));
            let add = |sum: &mut i64, ns| *sum = sum.saturating_add(ns);
            let by_gpu = grouped(by_gpu, add).into_iter();
            by_gpu.map(|(_, ns)| ns).max().unwrap_or(0)
        };
        self.exposed_ns = exposed.within_all(&spans);
        self.on_one_gpu = OnOneGpu {
            time_ns: most(|copy| copy.on.1.length()),
            exposed_ns: exposed.within_most(&spans),
            wait_ns: most(|copy| copy.wait_ns),
        };
    }

    /// Whether they have streams of their own: most of their time is on streams that run no kernels.
    pub(crate) fn are_apart(&self) -> bool {
        self.apart_ns > self.time_ns / 2
    }

    pub(crate) fn avg_ns(&self) -> i64 {
        self.time_ns / i64::try_from(self.count.max(1)).unwrap_or(i64::MAX)
    }

    pub(crate) fn total_bytes(&self) -> Option<u64> {
        (self.n_sized > 0).then_some(self.bytes as u64)
    }

    pub(crate) fn avg_bytes(&self) -> Option<u64> {
        (self.n_sized > 0).then(|| (self.bytes / self.n_sized as f64) as u64)
    }

    /// Bytes per nanosecond are GB/s.
    pub(crate) fn gbps(&self) -> Option<f64> {
        (self.n_sized > 0 && self.sized_ns > 0).then(|| self.bytes / self.sized_ns as f64)
    }
}

/// The copies of a trace.
#[derive(Debug, Default)]
pub(crate) struct CopySummary {
    /// Only directions that occur, in the order of [`Direction::ALL`].
    pub(crate) directions: Vec<(Direction, Copies)>,
    /// Longest first.
    pub(crate) origins: Vec<(CopyOrigin, Copies)>,
    /// Fills, which are not copies.
    pub(crate) n_fills: u64,
    pub(crate) fill_ns: i64,
}

impl CopySummary {
    pub(crate) fn of(&self, direction: Direction) -> Option<&Copies> {
        let mut directions = self.directions.iter();
        let found = directions.find(|(known, _)| *known == direction);
        found.map(|(_, copies)| copies)
    }

    pub(crate) fn count(&self) -> u64 {
        self.directions.iter().map(|(_, copies)| copies.count).sum()
    }

    pub(crate) fn time_ns(&self) -> i64 {
        sum(self.directions.iter().map(|(_, copies)| copies.time_ns))
    }

    /// Which code requested copies in a direction, longest first.
    pub(crate) fn origins_of(
        &self,
        direction: Direction,
    ) -> impl Iterator<Item = &(CopyOrigin, Copies)> {
        let origins = self.origins.iter();
        origins.filter(move |(origin, _)| origin.direction == direction)
    }

    /// The number of copies in a direction that matching code requested.
    pub(crate) fn count_of(&self, direction: Direction, is: impl Fn(&CopyOrigin) -> bool) -> u64 {
        let asked = self.origins_of(direction).filter(|(origin, _)| is(origin));
        asked.map(|(_, copies)| copies.count).sum()
    }
}

#[derive(Debug, Clone, Copy)]
struct Copy {
    event: EventId,
    on: OnGpu,
    bytes: Option<f64>,
    /// Its stream runs no kernels.
    is_apart: bool,
    wait_ns: i64,
}

/// Summarizes the copies of a profile. `exposed` is the time in which only copies run.
pub(crate) fn copies(profile: &Profile, exposed: &Exposed) -> CopySummary {
    let trace = &profile.trace;
    let mut summary = CopySummary::default();
    let mut all: Vec<(CopyOrigin, Copy)> = Vec::new();
    let (mut frames, ddp) = (Frames::new(profile), Ddp::new(profile));
    let stream = |work: &GpuWork| {
        work.stream
            .map(|stream| (process(trace, work.event), stream))
    };
    let kernels = profile.gpu.all();
    let kernels = kernels.filter(|work| work.category == Category::Kernel);
    let with_kernels: Set<_> = kernels.filter_map(stream).collect();
    for work in profile.gpu.all() {
        if is_fill(trace.strings.get(work.name), work.category) {
            summary.n_fills += 1;
            summary.fill_ns = summary.fill_ns.saturating_add(work.span.length());
            continue;
        }
        if work.class != GpuClass::Memcpy {
            continue;
        }
        let launch = work.launched_by.map(|call| trace.events.span(call));
        let copy = Copy {
            event: work.event,
            on: (process(trace, work.event), work.span),
            bytes: args::number(trace, work.event, "bytes"),
            is_apart: stream(work).is_some_and(|stream| !with_kernels.contains(&stream)),
            wait_ns: launch
                .filter(|launch| launch.end_ns >= work.span.end_ns)
                .map_or(0, Interval::length),
        };
        let direction = direction(trace, work);
        all.push((origin(profile, work, direction, &mut frames, &ddp), copy));
    }
    let summed = |all: Vec<Copy>| {
        let mut copies = Copies::default();
        all.iter().for_each(|copy| copies.add(copy));
        copies.close(&all, exposed);
        copies
    };
    let directions = Direction::ALL.into_iter().map(|direction| {
        let in_direction = all
            .iter()
            .filter(|(origin, _)| origin.direction == direction);
        (
            direction,
            summed(in_direction.map(|(_, copy)| *copy).collect()),
        )
    });
    summary.directions = directions.filter(|(_, copies)| copies.count > 0).collect();
    let origins = grouped(all, Vec::push).into_iter();
    let origins = origins.map(|(origin, copies)| (origin, summed(copies)));
    summary.origins = origins.collect();
    // Stable sort: groups with equal time stay in order of appearance.
    summary
        .origins
        .arrange_by_largest(|(_, copies)| (copies.time_ns, copies.count));
    summary
}

/// The code that requested a copy.
fn origin(
    profile: &Profile,
    work: &GpuWork,
    direction: Direction,
    frames: &mut Frames,
    ddp: &Ddp,
) -> CopyOrigin {
    let trace = &profile.trace;
    let op = match work.parent_op {
        Some(op) => profile.tree.event(op),
        None => work.launched_by,
    };
    let mut origin = CopyOrigin {
        direction,
        memory: HostMemory::of_name(trace.strings.get(work.name)),
        of_ddp: None,
        op: op.map(|event| trace.events.name(event)),
        frame: None,
    };
    if direction.crosses() {
        origin.frame = work.launched_by.and_then(|call| frames.above(call));
    } else if let Some((of_ddp, event)) = work.launched_by.and_then(|call| ddp.above(call)) {
        let name = trace.events.name(event);
        origin.of_ddp = Some(of_ddp);
        match trace.events.category(event) {
            Category::PythonFunction => origin.frame = Some(name),
            _ => origin.op = Some(name),
        }
    }
    origin
}

fn is_fill(name: &str, category: Category) -> bool {
    category == Category::GpuMemset || is_rocm_fill(name)
}
