//! What a thread did between its previous launch and the one that ends a gap, and other threads meanwhile.

use super::{Explainer, Launched};
use crate::base::interval::{Interval, busy};
use crate::base::sort::Arranged;
use crate::names::compiled_region::is_compiled_region;
use crate::names::runtime_calls::RuntimeCall;
use crate::profile::cpu::tree::NodeId;
use crate::profile::gpu::timeline::GpuClass;
use crate::profile::launch::runtime_calls::blocking_calls;
use crate::trace::{Category, EventId, TrackId};

/// How a thread spent a gap until it launched.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct CpuTime {
    pub(crate) waiting_ns: i64,
    /// In other runtime and driver calls, the launch itself included.
    pub(crate) runtime_ns: i64,
    /// In operators, without runtime calls.
    pub(crate) operators_ns: i64,
    /// In neither.
    pub(crate) outside_ns: i64,
    /// The part of it in compiled regions.
    pub(crate) compiled_ns: i64,
}

impl CpuTime {
    pub(crate) fn add(&mut self, other: CpuTime) {
        let sums = [
            (&mut self.waiting_ns, other.waiting_ns),
            (&mut self.runtime_ns, other.runtime_ns),
            (&mut self.operators_ns, other.operators_ns),
            (&mut self.outside_ns, other.outside_ns),
            (&mut self.compiled_ns, other.compiled_ns),
        ];
        for (sum, ns) in sums {
            *sum = sum.saturating_add(ns);
        }
    }

    pub(crate) fn total_ns(self) -> i64 {
        [self.runtime_ns, self.operators_ns, self.outside_ns]
            .into_iter()
            .fold(self.waiting_ns, i64::saturating_add)
    }
}

#[derive(Debug, Default)]
pub(super) struct Stretch {
    pub(super) since_ns: Option<i64>,
    /// The longest wait for the GPU, and when the last one ended.
    pub(super) wait: Option<(EventId, i64)>,
    pub(super) startup_ns: i64,
    pub(super) allocation_ns: i64,
    pub(super) cpu: CpuTime,
    /// The operator that takes most of the window; among nested ones, the outermost.
    pub(super) busy_in: Option<(EventId, i64)>,
    /// Spans of operators, and of compiled regions.
    ops: Vec<Interval>,
    compiled: Vec<Interval>,
}

impl Explainer<'_> {
    /// Walks back from a launch to the previous launch of the same thread, but no further than the window: not every
    /// launching call is recognized as one, and each gap would walk back to the start of the trace.
    pub(super) fn stretch(&mut self, launched: Launched, window: Interval) -> Stretch {
        let mut stretch = Stretch::default();
        let profile = self.profile;
        let (trace, tree) = (&profile.trace, &profile.tree);
        let track = trace.events.track(launched.call);
        let place = tree.node_of(launched.call).zip(self.tracks.get(&track));
        let Some((node, nodes)) = place.filter(|(node, nodes)| nodes.contains(&node.0)) else {
            return stretch;
        };
        let first = nodes.start;
        stretch.cpu.runtime_ns = clip(launched.span, window).length();
        let mut previous = None;
        for at in (first..node.0).rev().map(NodeId) {
            let Some(event) = tree.event(at) else { break };
            if trace.events.end_ns(event) < window.start_ns {
                // What precedes it had also ended, except for what is around it.
                previous = Some(at);
                break;
            }
            match trace.events.category(event) {
                Category::CpuOp => self.add_op(event, window, &mut stretch),
                category if category.is_runtime() => {
                    let kind = self.add_call(event, launched, window, &mut stretch);
                    // Launches into a graph capture run nothing.
                    let may_launch = matches!(
                        kind,
                        RuntimeCall::Launch
                            | RuntimeCall::GraphLaunch
                            | RuntimeCall::Transfer
                            | RuntimeCall::Blocking
                    );
                    if may_launch && !tree.gpu_work(at).is_empty() {
                        stretch.since_ns = Some(trace.events.end_ns(event));
                        previous = Some(at);
                        break;
                    }
                }
                _ => {}
            }
        }
        // Operators that started before the previous launch and are still running.
        let launches = [Some(node), previous].into_iter().flatten();
        for event in launches
            .flat_map(|launch| tree.ancestors(launch))
            .filter_map(|caller| tree.event(caller))
        {
            if trace.events.category(event) == Category::CpuOp {
                self.add_op(event, window, &mut stretch);
            }
        }
        // Runtime calls run inside operators, with few exceptions.
        let in_ops_ns = busy(stretch.ops.iter().copied());
        let cpu = &mut stretch.cpu;
        let calls_ns = cpu.runtime_ns.saturating_add(cpu.waiting_ns);
        let known_ns = in_ops_ns.max(calls_ns);
        cpu.operators_ns = (in_ops_ns - calls_ns).max(0);
        cpu.outside_ns = (window.length() - known_ns).max(0);
        if !stretch.compiled.is_empty() {
            let in_both_ns = busy(stretch.ops.iter().chain(&stretch.compiled).copied());
            cpu.compiled_ns = (in_both_ns - known_ns).clamp(0, cpu.outside_ns);
        }
        stretch
    }

    /// Adds the time of a runtime call in a window; returns its kind.
    fn add_call(
        &mut self,
        event: EventId,
        launched: Launched,
        window: Interval,
        stretch: &mut Stretch,
    ) -> RuntimeCall {
        let kind = self.calls.of(&self.profile.trace, event);
        let span = self.span(event);
        let waited_for = launched.before.is_some_and(|before| {
            before.launched_by == Some(event)
                && before.class == GpuClass::Memcpy
                && span.end_ns >= before.span.end_ns
        });
        let is_blocking = kind.is_blocking() || waited_for;
        let inside_ns = clip(span, window).length();
        if is_blocking && span.end_ns >= window.start_ns {
            // The longest of several waits, until the end of the last one.
            let last = stretch.wait;
            let until_ns = last.map_or(span.end_ns.min(launched.span.start_ns), |last| last.1);
            if last.is_none_or(|last| self.span(last.0).length() < span.length()) {
                stretch.wait = Some((event, until_ns));
            }
        }
        let add = |sum: &mut i64| *sum = sum.saturating_add(inside_ns);
        if matches!(kind, RuntimeCall::Allocation | RuntimeCall::Free) {
            add(&mut stretch.allocation_ns);
        }
        if is_blocking {
            add(&mut stretch.cpu.waiting_ns);
            return kind;
        }
        if kind == RuntimeCall::Startup {
            add(&mut stretch.startup_ns);
        }
        add(&mut stretch.cpu.runtime_ns);
        kind
    }

    /// Adds the time of an operator in a window, either to operators or to compiled code.
    fn add_op(&self, event: EventId, window: Interval, stretch: &mut Stretch) {
        let span = clip(self.span(event), window);
        let trace = &self.profile.trace;
        if is_compiled_region(trace.strings.get(trace.events.name(event))) {
            stretch.compiled.push(span);
            return;
        }
        stretch.ops.push(span);
        // Callers come after their callees.
        if stretch.busy_in.is_none_or(|(_, ns)| span.length() >= ns) {
            stretch.busy_in = Some((event, span.length()));
        }
    }

    /// A wait of another thread that ended within a window, if the launching thread did nothing else in most of it: it
    /// continues when the other thread lets it.
    pub(super) fn wait_elsewhere(
        &self,
        launched: Launched,
        window: Interval,
        cpu: CpuTime,
    ) -> Option<(EventId, i64)> {
        if cpu.outside_ns <= window.length() / 2 {
            return None;
        }
        let trace = &self.profile.trace;
        let waits = self.waits.get_or_init(|| {
            let ends = blocking_calls(trace).map(|event| (trace.events.end_ns(event), event));
            ends.arranged()
        });
        let own = trace.events.track(launched.call);
        let process = |track: TrackId| trace.tracks.get(track).map(|track| track.pid);
        let until = waits.partition_point(|(end_ns, _)| *end_ns <= launched.span.start_ns);
        let ended = waits.get(..until).unwrap_or_default().iter().rev();
        ended
            .take_while(|(end_ns, _)| *end_ns >= window.start_ns)
            .find(|(_, event)| {
                let track = trace.events.track(*event);
                track != own
                    && process(track) == process(own)
                    && trace.events.ts_ns(*event) <= window.start_ns
            })
            .map(|(end_ns, event)| (*event, *end_ns))
    }

    /// From the end of the last launch of any thread to the start of this one.
    pub(super) fn since_any_launch(&self, launch: Interval) -> Option<i64> {
        let launches = self.launches.get_or_init(|| {
            let calls = self.profile.launches.launches.iter();
            let mut spans: Vec<Interval> = calls.map(|one| self.span(one.call)).collect();
            spans.sort_unstable();
            spans.dedup();
            spans
        });
        let before = launches.partition_point(|one| one.start_ns < launch.start_ns);
        let last = launches.get(before.checked_sub(1)?)?;
        Some(launch.start_ns.saturating_sub(last.end_ns).max(0))
    }
}

/// The part of a span within a window.
pub(super) fn clip(span: Interval, window: Interval) -> Interval {
    Interval::new(
        span.start_ns.max(window.start_ns),
        span.end_ns.min(window.end_ns),
    )
}
