//! How GPU time splits.

use std::sync::Arc;

use crate::base::group::grouped;
use crate::base::interval::{Interval, busy, sum};
use crate::base::sort::Arrange;
use crate::profile::Profile;
use crate::profile::gaps::{Gap, gaps};
use crate::profile::kernels::{Running, SheetEvents};
use crate::profile::timeline::{GpuClass, GpuTimeline};
use crate::trace::StringId;

/// The timeline of all GPU activity.
#[derive(Debug, Clone)]
pub struct Timelines {
    /// All GPUs taken together; `None` without GPU activity.
    pub whole: Option<GpuTimeline>,
    /// Of each GPU over the time of the whole, where there are several; by number, then by name.
    pub gpus: Vec<(StringId, GpuTimeline)>,
    /// The computation of all operations, added up also where they run at once.
    pub kernel_ns: i64,
    /// Time in which the profile's own kernels compute: a window's timeline has others, too.
    own_computation_ns: i64,
    /// Some of it runs at once, on several streams or GPUs.
    pub(crate) overlaps: bool,
    /// When nothing of it runs; none where the causes of idle time cannot be told.
    pub(crate) gaps: Vec<Gap>,
}

impl Timelines {
    /// Of a profile; made once.
    pub(crate) fn of(profile: &Profile) -> Arc<Timelines> {
        profile.once(|| Timelines::new(profile))
    }

    fn new(profile: &Profile) -> Timelines {
        // A window without GPU activity of its own has no time of the GPU.
        let running: Vec<Running> = match profile.gpu.is_empty() {
            false => profile.running().collect(),
            true => Vec::new(),
        };
        let whole = timeline_of_run(profile, &running);
        let own_computation_ns = match profile.beside().next() {
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

    /// The mean of several GPUs: one that computes hides nothing of what another one waits for.
    pub fn of_one_gpu(&self) -> Option<GpuTimeline> {
        match self.gpus.is_empty() {
            true => self.whole,
            false => GpuTimeline::mean(self.gpus.iter().map(|(_, of_gpu)| *of_gpu)),
        }
    }

    /// What shares of compute are of: kernel time, so that they sum up to 100 % also where kernels run at
    /// once. `None` where nothing computes.
    pub fn compute_ns(&self) -> Option<i64> {
        self.whole.as_ref()?;
        Some(self.kernel_ns.max(self.own_computation_ns)).filter(|ns| *ns > 0)
    }
}

/// How GPU time splits in the sheets that have the reference's names.
#[derive(Debug, Clone)]
pub struct SheetTimelines {
    /// All that they count; `None` without any.
    pub(crate) whole: Option<GpuTimeline>,
    /// Of a trace that recomputes activations: first without recomputation, then that alone.
    pub(crate) recompute: Option<[Option<GpuTimeline>; 2]>,
}

impl SheetTimelines {
    pub(crate) fn new(profile: &Profile, events: SheetEvents) -> SheetTimelines {
        SheetTimelines::of(profile, &counted(profile, events))
    }

    /// Of each GPU alone, from its first start to its last end; none for a trace of one.
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

    /// The total of other sheets; as in the reference without recomputed work.
    pub(crate) fn total_ns(&self) -> Option<i64> {
        let timeline = match &self.recompute {
            Some([without, only]) => without.as_ref().or(only.as_ref()),
            None => self.whole.as_ref(),
        };
        timeline.map(GpuTimeline::total_ns)
    }
}

/// What runs of the GPU activity that sheets count; nothing without such activity of the profile's own.
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

/// Over the time that the GPU is judged over.
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

/// The timeline of each GPU over a time; none for a trace of one.
fn by_gpu(profile: &Profile, running: &[Running], span: Interval) -> Vec<(StringId, GpuTimeline)> {
    let gpus = running_by_gpu(profile, running.iter().copied()).into_iter();
    gpus.filter_map(|(gpu, work)| Some((gpu, timeline(&work)?.over(span))))
        .collect()
}

/// What runs on each GPU, in order; none for a trace of one.
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
