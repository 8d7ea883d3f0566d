//! Parts of the time: before, during, between and after the steps, or the denoising iterations of a diffusion pipeline.

use std::cell::OnceCell;

use super::activity::Launched;
use super::replays::Graph;
use super::{ServingStep, layers};
use crate::base::format;
use crate::base::group::grouped;
use crate::base::interval::{Interval, difference, length, union};
use crate::base::labels::labeled;
use crate::base::sort::{Arrange, Arranged};
use crate::base::stats::median_ns;
use crate::names::{MODULE, is_module};
use crate::profile::Profile;
use crate::profile::launch::GpuId;
use crate::profile::model_info::WRAPPERS;
use crate::trace::{Category, TrackId};

labeled! {
    /// Which part.
    pub enum StageKind {
        /// Before the first step.
        Before => "before" as "before",
        /// Steps, or denoising iterations.
        Steps => "steps" as "steps",
        /// Between one and the next.
        Between => "between" as "between",
        /// After the last one.
        After => "after" as "after",
    }
}

/// A part of the time.
#[derive(Debug, Clone, PartialEq)]
pub struct Stage {
    /// Which part.
    pub kind: StageKind,
    /// The modules that ran in it, longest first; empty if unknown.
    pub modules: Vec<String>,
    /// From its start to its end; for the time between steps, from the first to the last step.
    pub span: Interval,
    /// Each step or iteration; empty for other parts.
    pub parts: Vec<Interval>,
    /// Its total time.
    pub ns: i64,
    /// Time in which the GPU is busy.
    pub busy_ns: i64,
}

impl Stage {
    /// Time in which the GPU is idle.
    pub fn idle_ns(&self) -> i64 {
        self.ns.saturating_sub(self.busy_ns)
    }

    /// Median duration of its steps or iterations.
    pub fn median_ns(&self) -> Option<i64> {
        median_ns(self.parts.iter().map(|part| part.length()).collect())
    }

    /// A description, for display.
    pub fn name(&self, is_diffusion: bool) -> String {
        let step = match is_diffusion {
            true => "denoising step",
            false => "step",
        };
        let modules = match self.modules.is_empty() {
            true => String::new(),
            false => format!(" ({})", format::listed(&self.modules)),
        };
        match self.kind {
            StageKind::Before => format!("Before the first {step}{modules}"),
            StageKind::Steps => format::counted(self.parts.len() as u64, step),
            StageKind::Between => format!("Between {step}s"),
            StageKind::After => format!("After the last {step}{modules}"),
        }
    }
}

/// The stages from the first to the last GPU activity, in order; empty without steps.
pub(super) fn stages(
    profile: &Profile,
    steps: &[ServingStep],
    iterations: &[Vec<GpuId>],
    launched: &Launched,
    modules: &Modules,
) -> Vec<Stage> {
    let is_diffusion = !iterations.is_empty();
    let mut parts: Vec<Interval> = match is_diffusion {
        true => {
            let work = iterations.iter();
            work.filter_map(|work| layers::span(profile, work))
                .collect()
        }
        false => {
            let activity = steps.iter().filter_map(|step| step.activity);
            activity.map(|activity| activity.span).collect()
        }
    };
    parts.arrange();
    let all = profile.gpu.iter().map(|(_, work)| work.span);
    let hull = parts.iter().copied().reduce(Interval::hull);
    let Some((all, hull)) = all.reduce(Interval::hull).zip(hull) else {
        return Vec::new();
    };
    let piece = |kind, span: Interval, spans: &[Interval]| Stage {
        kind,
        modules: match kind {
            StageKind::Before | StageKind::After if is_diffusion => modules.in_time(profile, span),
            _ => Vec::new(),
        },
        span,
        parts: match kind {
            StageKind::Steps => parts.clone(),
            _ => Vec::new(),
        },
        ns: length(spans),
        busy_ns: spans.iter().map(|span| launched.busy_in(*span)).sum(),
    };
    let covered = union(parts.clone());
    let between = difference(&[hull], &covered);
    let before = Interval::new(all.start_ns, hull.start_ns);
    let after = Interval::new(hull.end_ns, all.end_ns);
    let stages = [
        piece(StageKind::Before, before, &[before]),
        piece(StageKind::Steps, hull, &covered),
        piece(StageKind::Between, hull, &between),
        piece(StageKind::After, after, &[after]),
    ];
    stages.into_iter().filter(|stage| stage.ns > 0).collect()
}

/// The iterations of a diffusion pipeline, as the GPU activity of each: replays of a graph, otherwise calls of a
/// module, otherwise the repeating kernel sequence.
pub(super) fn iterations(
    profile: &Profile,
    step: &ServingStep,
    graphs: &[Graph],
    launched: &Launched,
    modules: &Modules,
) -> Vec<Vec<GpuId>> {
    /// Fewer kernels are not a denoising step.
    const LEAST_KERNELS: usize = 50;
    let events = &profile.trace.events;
    let own: Vec<GpuId> = launched.during(step.track, step.on_host).collect();
    let is_inside =
        |call| events.track(call) == step.track && step.on_host.contains(events.ts_ns(call));
    let replays = graphs.iter().map(|graph| {
        let replays = graph.replays.iter().filter(|replay| is_inside(replay.call));
        let work = replays.map(|replay| replay.work.clone());
        work.filter(|work| work.len() >= LEAST_KERNELS)
            .collect::<Vec<_>>()
    });
    if let Some(replays) = replays.into_iter().find(|replays| replays.len() > 1) {
        return replays;
    }
    let calls = modules.recurring(profile, step, launched);
    if calls.len() > 1 {
        return calls;
    }
    layers::longest_run(profile, &own, LEAST_KERNELS)
}

/// The outermost module calls of each thread, found on first use.
#[derive(Default)]
pub(super) struct Modules {
    calls: OnceCell<Vec<(TrackId, Interval, String)>>,
}

impl Modules {
    fn calls(&self, profile: &Profile) -> &[(TrackId, Interval, String)] {
        self.calls.get_or_init(|| Modules::find(profile))
    }

    fn find(profile: &Profile) -> Vec<(TrackId, Interval, String)> {
        let (trace, events) = (&profile.trace, &profile.trace.events);
        let frames = trace.named(|of| of == Category::PythonFunction, is_module);
        let calls = frames
            .map(|event| (events.track(event), events.span(event), event))
            .arranged_by_key(|(track, span, _)| {
                (*track, span.start_ns, std::cmp::Reverse(span.end_ns))
            });
        let mut outer: Vec<(TrackId, Interval, String)> = Vec::new();
        for (track, span, event) in calls {
            let is_inside = outer
                .last()
                .is_some_and(|(of, last, _)| *of == track && span.end_ns <= last.end_ns);
            if !is_inside {
                let name = trace.name(event);
                outer.push((
                    track,
                    span,
                    name.strip_prefix(MODULE).unwrap_or(name).to_owned(),
                ));
            }
        }
        outer
    }

    /// The GPU activity of each call of one module: the one with the most GPU time among those that a step calls
    /// several times.
    fn recurring(
        &self,
        profile: &Profile,
        step: &ServingStep,
        launched: &Launched,
    ) -> Vec<Vec<GpuId>> {
        let inside = self.calls(profile).iter().filter(|(track, span, _)| {
            *track == step.track && step.on_host.contains(span.start_ns)
        });
        let calls = inside.map(|(track, span, name)| {
            let work: Vec<GpuId> = launched.during(*track, *span).collect();
            (name.as_str(), work)
        });
        let modules = grouped(calls, |all: &mut Vec<Vec<GpuId>>, work| all.push(work));
        let time = |calls: &[Vec<GpuId>]| -> i64 {
            let spans = calls.iter().flatten().filter_map(|id| profile.gpu.get(*id));
            spans.map(|work| work.span.length()).sum()
        };
        let several = modules
            .into_iter()
            .map(|(_, calls)| calls)
            .filter(|calls| calls.len() > 1);
        several.max_by_key(|calls| time(calls)).unwrap_or_default()
    }

    /// The modules whose calls launched what starts in a time span, without instance numbers, most GPU time first.
    fn in_time(&self, profile: &Profile, span: Interval) -> Vec<String> {
        const MOST: usize = 4;
        let (events, calls) = (&profile.trace.events, self.calls(profile));
        let work = profile
            .gpu
            .iter()
            .filter(|(_, work)| span.contains(work.span.start_ns));
        let owners = work.filter_map(|(_, work)| {
            let call = work.launched_by?;
            let key = (events.track(call), events.ts_ns(call));
            let until = calls.partition_point(|(track, span, _)| (*track, span.start_ns) <= key);
            let (track, of, name) = calls.get(until.checked_sub(1)?)?;
            let is_inside = *track == key.0 && of.contains(key.1);
            let class = format::without_number(name);
            (is_inside && !WRAPPERS.contains(&class))
                .then(|| (class.to_owned(), work.span.length()))
        });
        let mut modules = grouped(owners, |sum: &mut i64, ns| *sum = sum.saturating_add(ns));
        modules.arrange_by_largest(|(_, ns)| *ns);
        modules
            .into_iter()
            .take(MOST)
            .map(|(name, _)| name)
            .collect()
    }
}
