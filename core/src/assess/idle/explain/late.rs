//! Rules 4 to 7: why a launch came too late, and what ran meanwhile.

use super::recompiled::Warm;
use super::thread::Stretch;
use super::{ExplainedGap, Explainer, Launched, thread};
use crate::assess::idle::cause::IdleCause;
use crate::assess::idle::code::{CodePart, CodeSearch, Late};
use crate::base::interval::{Interval, sum};
use crate::base::sort::Arrange;
use crate::names::cpu_activity::CpuActivity;
use crate::trace::EventId;

/// A smaller part of a gap, as 1/`LEAST_REST` of it, has no cause of its own.
const LEAST_REST: i64 = 8;

/// A wait that takes a smaller part of a gap is not its cause.
const LEAST_WAIT: f64 = 0.2;

/// A launch that came too late, and what its thread did before it.
struct BeforeLaunch<'g> {
    launched: Launched<'g>,
    /// From the start of the gap until the launch has returned.
    window: Interval,
    stretch: Stretch,
    /// The wait for the GPU that delayed it, and when that ended.
    wait: Option<(EventId, i64)>,
}

impl<'a> Explainer<'a> {
    /// Rules 4 to 7, for a launch that came too late; also collects what ran meanwhile. `None` for unknown.
    pub(super) fn cause_of_late(
        &mut self,
        explained: &mut ExplainedGap,
        launched: Launched,
    ) -> Option<IdleCause> {
        let gap = explained.gap.span;
        let (cause, since_ns) = self.cause_by_thread(explained, launched);
        let wait_that_exposes = self.wait_that_exposes(launched, gap);
        if let (Some(IdleCause::Synchronization), Some(wait)) = (cause, explained.waited_in) {
            return Some(self.cause_with_wait(explained, launched, wait));
        }
        let parts = self.parts_of(gap, since_ns.unwrap_or(gap.start_ns), launched);
        let may_be_cold = matches!(
            cause,
            Some(IdleCause::LaunchBound | IdleCause::CpuWork | IdleCause::Allocation)
        );
        let unknown = parts.iter().max_by_key(|part| part.ns);
        let unknown = unknown.and_then(|part| part.code);
        let unknown = unknown.filter(|code| code.activity.is_none());
        let is_cold = may_be_cold
            && self.first_uses.is_cold(
                &self.activities,
                gap,
                launched.after,
                unknown.map(|code| code.event),
            );
        let cause = match is_cold {
            true => Some(IdleCause::Startup),
            false => cause,
        };
        if let (Some(IdleCause::LaunchBound), Some(wait)) = (cause, wait_that_exposes) {
            let mut waiting = self.search().wait(wait, gap);
            waiting.ns = gap.length();
            self.parts = vec![(IdleCause::Synchronization, waiting)];
            explained.waited_in = Some(wait);
            return Some(IdleCause::Synchronization);
        }
        let of_cause = parts.into_iter();
        self.parts = of_cause
            .map(|part| (cause.unwrap_or_default(), part))
            .collect();
        if let Some(IdleCause::DataLoading | IdleCause::Allocation) = cause {
            self.put_rest_apart(explained);
        }
        cause
    }

    /// The part of a gap in which the activity that is its cause does not run: the CPU does other work then.
    fn put_rest_apart(&mut self, explained: &mut ExplainedGap) {
        let is_other = |(_, part): &&mut (IdleCause, CodePart)| {
            part.code.is_none_or(|code| code.activity.is_none())
        };
        let others = self.parts.iter_mut().filter(is_other);
        let rest_ns = sum(others.map(|(_, part)| part.ns));
        if rest_ns < explained.gap.span.length() / LEAST_REST {
            return;
        }
        let cause = match rest_ns > self.least_cpu_work_ns() {
            true => IdleCause::CpuWork,
            false => IdleCause::LaunchBound,
        };
        for (of_part, _) in self.parts.iter_mut().filter(is_other) {
            *of_part = cause;
        }
        explained.second = Some((cause, rest_ns));
    }

    /// A wait delays the launch by at most its own duration. What the CPU does after it would delay the launch without
    /// the wait, too.
    fn cause_with_wait(
        &mut self,
        explained: &mut ExplainedGap,
        launched: Launched,
        wait: EventId,
    ) -> IdleCause {
        let gap = explained.gap.span;
        let mut waiting = self.search().wait(wait, gap);
        let rest_ns = gap.length().saturating_sub(waiting.ns);
        let is_recorded = self.shows_cpu || explained.is_graph;
        if rest_ns < gap.length() / LEAST_REST || !is_recorded {
            waiting.ns = gap.length();
            self.parts = vec![(IdleCause::Synchronization, waiting)];
            return IdleCause::Synchronization;
        }
        let call = waiting.code.map_or(wait, |code| code.event);
        let rest = Interval::new(gap.start_ns.saturating_add(waiting.ns), gap.end_ns);
        let since_ns = self.span(call).end_ns;
        let busy_ns = launched
            .span
            .start_ns
            .saturating_sub(since_ns.max(rest.start_ns));
        let least_ns = self.least_cpu_work_ns();
        let after = match busy_ns > least_ns {
            true => IdleCause::CpuWork,
            false => IdleCause::LaunchBound,
        };
        let parts = self.parts_of(rest, since_ns, launched);
        let parts = parts.into_iter().map(|part| (after, part));
        self.parts = std::iter::once((IdleCause::Synchronization, waiting))
            .chain(parts)
            .collect();
        let mut causes = [(IdleCause::Synchronization, waiting.ns), (after, rest_ns)];
        causes.arrange_by_largest(|(_, ns)| *ns);
        let [(main, _), second] = causes;
        explained.second = Some(second);
        main
    }

    /// The code that ran in a gap, or in a part of it at its end, since the launching thread was free.
    fn parts_of(&mut self, gap: Interval, since_ns: i64, launched: Launched) -> Vec<CodePart> {
        let until_ns = launched.span.start_ns.min(gap.end_ns);
        self.search().parts(&Late {
            gap,
            free: Interval::new(since_ns.clamp(gap.start_ns, gap.end_ns), until_ns),
            launch: launched.call,
            launch_before: launched.before.and_then(|before| before.launched_by),
        })
    }

    fn search(&mut self) -> &mut CodeSearch<'a> {
        let profile = self.profile;
        self.search.get_or_insert_with(|| CodeSearch::new(profile))
    }

    /// The cause that an activity of most of a gap is by itself; `None` for garbage collection, which is CPU work.
    fn cause_of(&self, activity: CpuActivity, until_ns: i64) -> Option<IdleCause> {
        match activity {
            CpuActivity::DataLoading => Some(IdleCause::DataLoading),
            CpuActivity::GarbageCollection => None,
            CpuActivity::Compilation if self.warm().is_at(until_ns) => {
                Some(IdleCause::Recompilation)
            }
            CpuActivity::GraphCapture if self.warm().captures_again(until_ns) => {
                Some(IdleCause::Recompilation)
            }
            _ => Some(IdleCause::Startup),
        }
    }

    /// The cause by what the launching thread did, and when its previous launch ended.
    fn cause_by_thread(
        &mut self,
        explained: &mut ExplainedGap,
        launched: Launched,
    ) -> (Option<IdleCause>, Option<i64>) {
        let gap = explained.gap.span;
        let half_ns = gap.length() / 2;
        // Until the end of the call: the rest of the gap is latency.
        let until_ns = launched.span.end_ns.min(gap.end_ns).max(gap.start_ns);
        let window = Interval::new(gap.start_ns, until_ns);
        let stretch = self.stretch(launched, window);
        let wait = stretch
            .wait
            .or_else(|| self.wait_elsewhere(launched, window, stretch.cpu));
        if let Some((wait, _)) = wait {
            self.note_wait(launched, wait);
        }
        let wait = wait
            // Without a wait, the launch would be earlier by at most the duration of the wait.
            .filter(|(wait, _)| {
                self.span(*wait).length() as f64 >= gap.length() as f64 * LEAST_WAIT
            });
        let track = self.profile.trace.events.track(launched.call);
        explained.cpu = stretch.cpu;
        explained.waited_in = wait.map(|(event, _)| event);
        explained.busy_in = stretch.busy_in.filter(|(_, ns)| *ns > half_ns);
        explained.activity = self.activities.most_of(track, window, half_ns);
        let since_ns = stretch.since_ns;
        let before = BeforeLaunch {
            launched,
            window,
            stretch,
            wait,
        };
        let cause = self.cause_by_activity(explained, &before);
        let cause = cause.or_else(|| self.cause_by_free_time(explained, &before));
        (cause, since_ns)
    }

    /// What took more than half of a gap, if that is a cause by itself.
    fn cause_by_activity(
        &self,
        explained: &ExplainedGap,
        before: &BeforeLaunch,
    ) -> Option<IdleCause> {
        let half_ns = explained.gap.span.length() / 2;
        let (launched, window) = (before.launched, before.window);
        let track = self.profile.trace.events.track(launched.call);
        // Before compilation: that of the candidates is a part of it.
        if self.tuning.within(track, window) > half_ns {
            return Some(IdleCause::Tuning);
        }
        let activity = explained.activity;
        if let Some(cause) = activity.and_then(|activity| self.cause_of(activity, window.end_ns)) {
            return Some(cause);
        }
        let slow_ns = self.thresholds.idle_slow_launch_ms * 1e6;
        let is_slow = launched.span.length() as f64 > slow_ns && !launched.is_copy();
        let slow_launch_ns = match is_slow {
            true => thread::clip(launched.span, window).length(),
            false => 0,
        };
        let stretch = &before.stretch;
        if stretch.startup_ns.saturating_add(slow_launch_ns) > half_ns {
            return Some(IdleCause::Startup);
        }
        (stretch.allocation_ns > half_ns).then_some(IdleCause::Allocation)
    }

    /// The cause by how long the thread was free to launch: it worked, waited, or launches too slowly. `None` if CPU
    /// calls were not recorded.
    fn cause_by_free_time(
        &self,
        explained: &ExplainedGap,
        before: &BeforeLaunch,
    ) -> Option<IdleCause> {
        let (gap, launch) = (explained.gap.span, before.launched.span);
        let least_ns = self.least_cpu_work_ns();
        let free_since_ns = before.wait.map(|(_, until_ns)| until_ns);
        // Gaps of one length and one kind have one cause, whatever the length of the kernels before them.
        let since_ns = free_since_ns
            .max(before.stretch.since_ns)
            .max(Some(gap.start_ns));
        let mut busy_ns = since_ns.map_or(0, |ns| launch.start_ns.saturating_sub(ns));
        if busy_ns > least_ns {
            // Another thread may have launched meanwhile, such as the backward thread.
            let since_any_ns = self.since_any_launch(launch);
            busy_ns = busy_ns.min(since_any_ns.unwrap_or(before.window.length()));
        }
        let is_waiting = before.wait.is_some();
        let is_long = busy_ns > least_ns && (!is_waiting || busy_ns > gap.length() / 2);
        if explained.activity.is_some() || is_long {
            return self.shows_cpu.then_some(IdleCause::CpuWork);
        }
        if is_waiting {
            return Some(IdleCause::Synchronization);
        }
        (self.shows_cpu || explained.is_graph).then_some(IdleCause::LaunchBound)
    }

    /// The CPU works for longer than this between two launches where that, and not launching, is the cause.
    fn least_cpu_work_ns(&self) -> i64 {
        (self.thresholds.idle_host_work_us * 1e3) as i64
    }

    fn warm(&self) -> &Warm {
        let warm = || Warm::of(self.profile, &self.activities);
        self.warm.get_or_init(warm)
    }
}
