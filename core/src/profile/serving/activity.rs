//! The GPU activity of a step: what was launched during it on its thread.

use super::ServingStep;
use crate::base::interval::{self, Interval, gaps_in, union};
use crate::base::map::Set;
use crate::base::sort::Arranged;
use crate::names::runtime_calls::RuntimeCall;
use crate::profile::Profile;
use crate::profile::launch::{GpuId, is_graph_call};
use crate::trace::{Category, EventId, TrackId};

/// The GPU activity of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Activity {
    /// From its first to its last activity, excluding inputs that were copied ahead while the previous step ran. If
    /// there is a gap in which an earlier, unrecorded batch ran, it starts at the end of the last such gap.
    pub span: Interval,
    /// Time that is excluded because of such a gap.
    pub cut_ns: i64,
    /// Time in the span during which activity of the step runs.
    pub busy_ns: i64,
    /// Number of kernels, copies and fills.
    pub n_work: usize,
    /// Number of calls that launched them; a graph counts once.
    pub n_launches: usize,
    /// Number of these calls that launched graphs.
    pub n_replays: usize,
}

/// The GPU activity of a trace by thread and start of the launching call.
pub(crate) struct Launched<'a> {
    profile: &'a Profile,
    work: Vec<(TrackId, i64, GpuId)>,
    /// By position in `work`: the end of everything that the same thread launched earlier.
    earlier_until_ns: Vec<i64>,
    /// When anything runs.
    busy: Vec<Interval>,
    /// Calls in which a thread waits for the GPU, by start.
    waits: Vec<Interval>,
}

impl<'a> Launched<'a> {
    pub(crate) fn new(profile: &'a Profile) -> Launched<'a> {
        let events = &profile.trace.events;
        let launched = profile.gpu.iter().filter_map(|(id, work)| {
            let call = work.launched_by?;
            Some((events.track(call), events.ts_ns(call), id))
        });
        let mut work: Vec<(TrackId, i64, GpuId)> = launched.collect();
        work.sort_unstable();
        let mut last = None;
        let earlier = work.iter().map(|(track, _, id)| {
            let until = last.filter(|(of, _)| of == track);
            let until_ns = until.map_or(i64::MIN, |(_, ns)| ns);
            let end_ns = profile.gpu.get(*id).map_or(i64::MIN, |one| one.span.end_ns);
            last = Some((*track, until_ns.max(end_ns)));
            until_ns
        });
        let earlier_until_ns = earlier.collect();
        let is_wait = |name: &str| RuntimeCall::of_name(name).is_blocking();
        let waits = profile.trace.named(Category::is_runtime, is_wait);
        let waits = waits.map(|event| events.span(event)).arranged();
        Launched {
            work,
            earlier_until_ns,
            busy: union(profile.gpu.iter().map(|(_, work)| work.span).collect()),
            waits,
            profile,
        }
    }

    /// What a thread launched in a time span, in launch order.
    pub(crate) fn during(&self, track: TrackId, span: Interval) -> impl Iterator<Item = GpuId> {
        let until = |ns: i64| {
            self.work
                .partition_point(|(of, at, _)| (*of, *at) < (track, ns))
        };
        let (from, to) = (until(span.start_ns), until(span.end_ns));
        self.work
            .get(from..to)
            .unwrap_or_default()
            .iter()
            .map(|(.., id)| *id)
    }

    /// The GPU activity of a step.
    pub(super) fn of(&self, step: &ServingStep) -> Option<Activity> {
        let own: Vec<GpuId> = self.during(step.track, step.on_host).collect();
        let spans = || {
            own.iter()
                .filter_map(|id| Some(self.profile.gpu.get(*id)?.span))
        };
        let hull = spans().reduce(Interval::hull)?;
        let hull = Interval::new(self.after_ahead(step, hull.start_ns, &own), hull.end_ns);
        let start_ns = self.cut(hull, &own).unwrap_or(hull.start_ns);
        let span = Interval::new(start_ns, hull.end_ns);
        let trace = &self.profile.trace;
        let calls = own.iter().filter_map(|id| {
            let call = self.profile.gpu.get(*id)?.launched_by?;
            Some(trace.recorded_call(call))
        });
        let calls: Set<EventId> = calls.collect();
        let replays = calls.iter().filter(|call| is_graph_call(trace, **call));
        Some(Activity {
            span,
            cut_ns: start_ns.saturating_sub(hull.start_ns),
            busy_ns: interval::busy(spans().filter_map(|one| one.overlap(span))),
            n_work: own.len(),
            n_launches: calls.len(),
            n_replays: replays.count(),
        })
    }

    /// The start of a step's activity, excluding copies and fills that run ahead while earlier work of its thread still
    /// runs: inputs of the next step, on a stream of their own.
    fn after_ahead(&self, step: &ServingStep, start_ns: i64, own: &[GpuId]) -> i64 {
        let (track, from_ns) = (step.track, step.on_host.start_ns);
        let at = self
            .work
            .partition_point(|(of, at, _)| (*of, *at) < (track, from_ns));
        let until_ns = self.earlier_until_ns.get(at).copied();
        let Some(until_ns) = until_ns.filter(|until_ns| start_ns < *until_ns) else {
            return start_ns;
        };
        let stays = self.profile.gpu.each(own).filter(|one| {
            let is_ahead = one.span.start_ns < until_ns;
            !(is_ahead && one.category != Category::Kernel)
        });
        stays.map(|one| one.span.start_ns).min().unwrap_or(start_ns)
    }

    /// Time in a span during which anything runs, whichever step it belongs to.
    pub(super) fn busy_in(&self, span: Interval) -> i64 {
        interval::sum(
            self.stretches(span)
                .filter_map(|one| Some(one.overlap(span)?.length())),
        )
    }

    fn stretches(&self, span: Interval) -> impl Iterator<Item = Interval> {
        let from = self.busy.partition_point(|one| one.end_ns <= span.start_ns);
        let rest = self.busy.get(from..).unwrap_or_default().iter().copied();
        rest.take_while(move |one| one.start_ns < span.end_ns)
    }

    /// The end of the last gap of a step in which an earlier, unrecorded batch ran: nothing recorded runs, the thread
    /// waits for the GPU, and the next work was queued for at least half of the gap. What precedes such a gap is at
    /// most half of the step.
    fn cut(&self, hull: Interval, own: &[GpuId]) -> Option<i64> {
        let work = || self.profile.gpu.each(own);
        let all_ns = interval::sum(work().map(|one| one.span.length()));
        let busy: Vec<Interval> = self.stretches(hull).collect();
        let is_cut = |gap: &Interval| {
            let half_ns = gap.length() / 2;
            let is_waited = || {
                let until = self
                    .waits
                    .partition_point(|wait| wait.start_ns < gap.end_ns);
                let waits = self.waits.get(..until).unwrap_or_default().iter().rev();
                let mut waits = waits.take(MOST_WAITS).filter_map(|wait| wait.overlap(*gap));
                waits.any(|wait| wait.length() >= half_ns)
            };
            let is_queued = || {
                let follows = |span: Interval| span.start_ns == gap.end_ns;
                let mut next = work().filter(|one| follows(one.span));
                next.any(|one| {
                    let launched = one
                        .launched_by
                        .map(|call| self.profile.trace.events.end_ns(call));
                    launched.is_some_and(|ns| gap.end_ns.saturating_sub(ns) >= half_ns)
                })
            };
            let is_early = || {
                let before = work().filter(|one| one.span.end_ns <= gap.start_ns);
                interval::sum(before.map(|one| one.span.length())) <= all_ns / 2
            };
            gap.length() >= LEAST_GAP_NS && is_waited() && is_queued() && is_early()
        };
        let gaps: Vec<Interval> = gaps_in(hull, &busy).collect();
        Some(gaps.iter().rev().find(|gap| is_cut(gap))?.end_ns)
    }
}

/// Shorter gaps are not a batch.
const LEAST_GAP_NS: i64 = 50_000;
/// Number of waiting calls before the end of a gap that are examined.
const MOST_WAITS: usize = 16;
