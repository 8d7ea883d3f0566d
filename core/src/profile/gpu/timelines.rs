//! How the GPU time of a profile splits: that of all its GPUs together, and that of each.

use std::sync::Arc;

use crate::base::group::grouped;
use crate::base::interval::{Interval, busy, sum};
use crate::base::sort::Arrange;
use crate::profile::Profile;
use crate::profile::gpu::gaps::{Gap, gaps};
use crate::profile::gpu::kernels::{Running, SheetEvents};
use crate::profile::gpu::timeline::{GpuClass, GpuTimeline};
use crate::trace::StringId;

/// The timeline of all GPU activity.
#[derive(Debug, Clone)]
pub struct Timelines {
    /// Of all GPUs together; `None` without GPU activity.
    pub whole: Option<GpuTimeline>,
    /// Of each GPU over the same span as the whole, if there are several; by number, then by name.
    pub gpus: Vec<(StringId, GpuTimeline)>,
    /// Sum of the computation time of all operations, overlapping or not.
    pub kernel_ns: i64,
    /// Time in which the profile's own kernels compute; the timeline of a window also includes others.
    own_computation_ns: i64,
    /// Some of the activity overlaps, on several streams or GPUs.
    pub(crate) overlaps: bool,
    /// When nothing runs; empty if the causes of idle time are unknown.
    pub(crate) gaps: Vec<Gap>,
}

impl Timelines {
    /// The timelines of a profile, computed once.
    pub(crate) fn of(profile: &Profile) -> Arc<Timelines> {
        profile.once(|| Timelines::new(profile))
    }

    fn new(profile: &Profile) -> Timelines {
        // A window without GPU activity of its own has no GPU time.
        let running: Vec<Running> = match profile.gpu.is_empty() {
            false => profile.running().collect(),
            true => Vec::new(),
        };
        let whole = timeline_of_run(profile, &running);
        let own_computation_ns = match profile.overlapping_work().next() {
            None => whole.map_or(0, |whole| whole.computation_ns),
            Some(_) => {
                let own = profile.gpu.all();
                let own = own.filter(|work| work.class == GpuClass::Computation);
                busy(own.map(|work| work.span))
            }
        };
        let computing = profile.operations().iter();
        let all_ns = sum(running.iter().map(|work| work.span.length()));
        Timelines {
            kernel_ns: sum(computing.map(|operation| operation.computing_ns(profile))),
            own_computation_ns,
            overlaps: whole.is_some_and(|whole| all_ns > whole.busy_ns),
            gpus: whole.map_or(Vec::new(), |whole| by_gpu(profile, &running, whole.span)),
            whole,
            gaps: match profile.without_idle_causes() {
                None => gaps(profile),
                Some(_) => Vec::new(),
            },
        }
    }

    /// The mean over the GPUs: computation on one GPU does not hide what another one waits for.
    pub fn of_one_gpu(&self) -> Option<GpuTimeline> {
        match self.gpus.is_empty() {
            true => self.whole,
            false => GpuTimeline::mean(self.gpus.iter().map(|(_, of_gpu)| *of_gpu)),
        }
    }

    /// The time that shares of compute refer to: kernel time, so that they add up to 100 % even if kernels overlap.
    /// `None` if nothing computes.
    pub fn compute_ns(&self) -> Option<i64> {
        self.whole.as_ref()?;
        Some(self.kernel_ns.max(self.own_computation_ns)).filter(|ns| *ns > 0)
    }
}

/// How GPU time splits in the sheets that carry the reference's names.
#[derive(Debug, Clone)]
pub struct SheetTimelines {
    /// Of everything that the sheets count; `None` without any.
    pub(crate) whole: Option<GpuTimeline>,
    /// For a trace with activation recomputation: first without recomputation, then only recomputation.
    pub(crate) recompute: Option<[Option<GpuTimeline>; 2]>,
}

impl SheetTimelines {
    pub(crate) fn new(profile: &Profile, events: SheetEvents) -> SheetTimelines {
        SheetTimelines::of(profile, &counted(profile, events))
    }

    /// For each GPU, from its first start to its last end; empty if the trace has a single GPU.
    pub(crate) fn by_gpu(
        profile: &Profile,
        events: SheetEvents,
    ) -> Vec<(StringId, SheetTimelines)> {
        let gpus = running_by_gpu(profile, counted(profile, events)).into_iter();
        gpus.map(|(gpu, running)| (gpu, SheetTimelines::of(profile, &running)))
            .collect()
    }

    fn of(profile: &Profile, running: &[Running]) -> SheetTimelines {
        let half = |is_recompute: bool| {
            let half = running.iter();
            timeline_of_run(
                profile,
                half.filter(|work| work.is_recompute == is_recompute),
            )
        };
        let has_halves = profile.recompute.is_some();
        SheetTimelines {
            whole: timeline_of_run(profile, running),
            recompute: has_halves.then(|| [half(false), half(true)]),
        }
    }

    /// The total that other sheets use; as in the reference, without recomputation.
    pub(crate) fn total_ns(&self) -> Option<i64> {
        let timeline = match &self.recompute {
            Some([without, only]) => without.as_ref().or(only.as_ref()),
            None => self.whole.as_ref(),
        };
        timeline.map(GpuTimeline::total_ns)
    }
}

/// The GPU activity that the sheets count; empty if none of it is the profile's own.
fn counted(profile: &Profile, events: SheetEvents) -> Vec<Running> {
    let has_work = profile
        .gpu
        .all()
        .any(|work| events.counts(profile, work.launched_by.is_some()));
    match has_work {
        true => events.running(profile).collect(),
        false => Vec::new(),
    }
}

/// The timeline over the span that GPU metrics refer to.
fn timeline_of_run<'a>(
    profile: &Profile,
    running: impl IntoIterator<Item = &'a Running>,
) -> Option<GpuTimeline> {
    let timeline = timeline(running)?;
    Some(timeline.over(profile.gpu_span(timeline.span)))
}

fn timeline<'a>(running: impl IntoIterator<Item = &'a Running>) -> Option<GpuTimeline> {
    GpuTimeline::new(running.into_iter().map(|work| (work.class, work.span)))
}

/// The order of GPUs: by number, then by name.
pub(crate) fn by_number(gpu: &str) -> (u64, &str) {
    (gpu.parse().unwrap_or(u64::MAX), gpu)
}

/// The timeline of each GPU over a span; empty if the trace has a single GPU.
fn by_gpu(profile: &Profile, running: &[Running], span: Interval) -> Vec<(StringId, GpuTimeline)> {
    let gpus = running_by_gpu(profile, running.iter().copied()).into_iter();
    gpus.filter_map(|(gpu, work)| Some((gpu, timeline(&work)?.over(span))))
        .collect()
}

/// What runs on each GPU, in order; empty if the trace has a single GPU.
fn running_by_gpu(
    profile: &Profile,
    running: impl IntoIterator<Item = Running>,
) -> Vec<(StringId, Vec<Running>)> {
    let of_gpus = running.into_iter();
    let of_gpus = of_gpus.filter_map(|work| Some((work.gpu?, work)));
    let mut gpus: Vec<(StringId, Vec<Running>)> = grouped(of_gpus, Vec::push);
    if gpus.len() < 2 {
        return Vec::new();
    }
    gpus.arrange_by_key(|(gpu, _)| by_number(profile.trace.strings.get(*gpu)));
    gpus
}
