//! The steps of a rank: when they run on CPU and GPU, and how their time splits.

use super::{Found, GpuTime, Step};
use crate::base::interval::{Coverage, Interval, sum, union};
use crate::base::map::Set;
use crate::names::cpu_activity::CpuActivity;
use crate::profile::Profile;
use crate::profile::cpu::activity::CpuActivities;
use crate::profile::gpu::timeline::Split;
use crate::profile::launch::GpuId;
use crate::profile::window::Step as MarkedStep;
use crate::profile::window::{StepWindow, Window, WorkSteps, step_windows};
use crate::trace::annotations::step_number;
use crate::trace::{EventId, TrackId};

/// The steps of a rank.
pub(super) struct Steps {
    windows: Vec<StepWindow>,
    of_work: WorkSteps,
    /// The trace marks no steps, so that all of it is one, without a name.
    is_whole: bool,
}

impl Steps {
    /// The profiler's steps if there are any, else those marked by the program or a serving engine, else all of the GPU
    /// activity as one.
    pub(super) fn new(profile: &Profile) -> Steps {
        let mut windows = step_windows(profile);
        let is_numbered = |window: &StepWindow| step_number(&window.step.name).is_some();
        if windows.iter().any(is_numbered) {
            windows.retain(is_numbered);
        }
        let is_whole = windows.is_empty();
        windows.extend(is_whole.then(|| whole(profile)).flatten());
        Steps {
            of_work: WorkSteps::new(profile, &windows),
            windows,
            is_whole,
        }
    }

    /// The step that a piece of GPU activity belongs to.
    pub(super) fn of(&self, work: GpuId) -> Option<u32> {
        match self.is_whole {
            true => Some(0),
            false => self.of_work.of(work).map(|at| at as u32),
        }
    }

    /// The step that is running on the CPU at a given time.
    pub(super) fn at(&self, ns: i64) -> Option<u32> {
        let mut steps = self.windows.iter().zip(0..);
        steps.find_map(|(window, at)| window.step.span.contains(ns).then_some(at))
    }

    /// When a step starts on the CPU.
    pub(super) fn start_ns(&self, step: u32) -> Option<i64> {
        Some(self.windows.get(step as usize)?.step.span.start_ns)
    }

    /// The time before a span that starts with the end of another one, or else with its step.
    pub(super) fn time_before(
        &self,
        span: Interval,
        before: Option<&Interval>,
        step: Option<u32>,
    ) -> Option<Interval> {
        let since_ns = match before {
            Some(before) => Some(before.end_ns),
            None => step.and_then(|step| self.start_ns(step)),
        };
        let since_ns = since_ns.filter(|ns| *ns <= span.start_ns)?;
        Some(Interval::new(since_ns, span.start_ns))
    }

    /// When the first step starts on the CPU; `None` without steps.
    pub(super) fn begin_ns(&self) -> Option<i64> {
        let starts = self.windows.iter().map(|window| window.step.span.start_ns);
        starts.min()
    }

    /// When the last step ends on the CPU; `None` without steps.
    pub(super) fn end_ns(&self) -> Option<i64> {
        let ends = self.windows.iter().map(|window| window.step.span.end_ns);
        ends.max()
    }

    pub(super) fn rows(
        &self,
        profile: &Profile,
        found: &Found,
        texts: &mut Set<String>,
    ) -> Vec<Step> {
        let loading = Loading::new(profile);
        let time = Time::new(profile);
        let rows = self.windows.iter().zip(0_u32..).map(|(window, at)| {
            let host = window.step.span;
            let own = found.rows.iter().filter(|of| of.step == Some(at));
            let between = own.map(|of| of.span).reduce(Interval::hull);
            Step {
                name: texts.id(&window.step.name),
                number: step_number(&window.step.name).and_then(|text| text.parse().ok()),
                host,
                gpu: match profile.has_gpu_events() {
                    true => time.within(window.window.span),
                    false => GpuTime::default(),
                },
                between_ns: between.map_or(0, |span| found.activity.work_within(span)),
                loading_ns: loading.within(profile, window.step.event, host),
            }
        });
        rows.collect()
    }
}

/// All of the GPU activity, and what launched it; `None` without any.
fn whole(profile: &Profile) -> Option<StepWindow> {
    let events = &profile.trace.events;
    let all = || profile.gpu.all();
    let event = all().min_by_key(|work| work.span.start_ns)?.event;
    let launches = all().filter_map(|work| Some(events.span(work.launched_by?)));
    let span = all().map(|work| work.span).reduce(Interval::hull)?;
    let host = launches.fold(span, Interval::hull);
    Some(StepWindow {
        step: MarkedStep {
            name: String::new(),
            event,
            span: host,
        },
        window: Window {
            step: None,
            device: None,
            span,
            on_host: None,
            run: None,
        },
    })
}

/// How GPU time splits, for any interval of the trace.
struct Time {
    computation: Coverage,
    exposed_comm: Coverage,
    exposed_copies: Coverage,
    comm: Coverage,
    copies: Coverage,
    all: Coverage,
}

impl Time {
    fn new(profile: &Profile) -> Time {
        let split = Split::new(profile.running().map(|work| (work.class, work.span)));
        let all = [&split.computation[..], &split.communication, &split.memcpy].concat();
        Time {
            all: Coverage::new(union(all)),
            computation: Coverage::new(split.computation),
            exposed_comm: Coverage::new(split.exposed_comm),
            exposed_copies: Coverage::new(split.exposed_memcpy),
            comm: Coverage::new(split.communication),
            copies: Coverage::new(split.memcpy),
        }
    }

    fn within(&self, span: Interval) -> GpuTime {
        GpuTime {
            span,
            computation_ns: self.computation.within(span),
            exposed_comm_ns: self.exposed_comm.within(span),
            exposed_copies_ns: self.exposed_copies.within(span),
            comm_ns: self.comm.within(span),
            copies_ns: self.copies.within(span),
            idle_ns: span.length() - self.all.within(span),
        }
    }
}

/// When the CPU loads data.
struct Loading {
    activities: CpuActivities,
    tracks: Vec<TrackId>,
}

impl Loading {
    fn new(profile: &Profile) -> Loading {
        Loading {
            activities: CpuActivities::new(profile),
            tracks: profile.trace.tracks.iter().map(|(id, _)| id).collect(),
        }
    }

    /// On the thread of the step; if that thread loads no data, on all threads of the trace.
    fn within(&self, profile: &Profile, step: EventId, span: Interval) -> i64 {
        let of = |track| {
            self.activities
                .within(CpuActivity::DataLoading, track, span)
        };
        match of(profile.trace.events.track(step)) {
            0 => sum(self.tracks.iter().map(|track| of(*track))).min(span.length()),
            ns => ns,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::base::interval::Interval;
    use crate::job::digest::{Digest, SourceFile};
    use crate::testing::Timetable;

    #[test]
    fn a_trace_that_marks_no_steps_is_one() {
        let table = Timetable::new().without_flows();
        let table = table.kernel(1, "gemm", 100..150).kernel(
            2,
            "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
            160..200,
        );
        let digest = Digest::new(&table.profile(), SourceFile::default());
        let [step] = &digest.steps[..] else {
            panic!("{:?}", digest.steps);
        };
        assert_eq!((digest.text(step.name), step.number), ("", None));
        assert_eq!(step.host, Interval::new(100_000, 200_000));
        assert_eq!(step.gpu.computation_ns, 50_000);
        assert_eq!(digest.collectives[0].step, Some(0));
        let marked = table.annotation("ProfilerStep#3", 0..300);
        let digest = Digest::new(&marked.profile(), SourceFile::default());
        assert_eq!(digest.steps[0].number, Some(3));
    }
}
