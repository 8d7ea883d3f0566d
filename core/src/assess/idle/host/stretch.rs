//! What a thread did between its last launch and the one that ends a gap.

use super::super::class::Call;
use super::Host;
use crate::base::interval::{Interval, busy};
use crate::profile::kernels::GpuWork;
use crate::profile::timeline::GpuClass;
use crate::profile::tree::NodeId;
use crate::trace::{Category, EventId};

/// How a thread spent a gap until it launched.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct HostTime {
    /// Waiting for the GPU.
    pub(crate) waiting_ns: i64,
    /// In other runtime and driver calls, the launch itself included.
    pub(crate) runtime_ns: i64,
    /// In operators, runtime calls excepted.
    pub(crate) operators_ns: i64,
    /// In neither.
    pub(crate) outside_ns: i64,
    /// That part of it that lies in regions of compiled code.
    pub(crate) compiled_ns: i64,
}

impl HostTime {
    pub(crate) fn add(&mut self, other: HostTime) {
        self.waiting_ns = self.waiting_ns.saturating_add(other.waiting_ns);
        self.runtime_ns = self.runtime_ns.saturating_add(other.runtime_ns);
        self.operators_ns = self.operators_ns.saturating_add(other.operators_ns);
        self.outside_ns = self.outside_ns.saturating_add(other.outside_ns);
        self.compiled_ns = self.compiled_ns.saturating_add(other.compiled_ns);
    }

    pub(crate) fn total_ns(self) -> i64 {
        [self.runtime_ns, self.operators_ns, self.outside_ns]
            .into_iter()
            .fold(self.waiting_ns, i64::saturating_add)
    }
}

/// What a thread did between its last launch and the one that ends a gap.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Stretch {
    /// End of the launch before.
    pub(crate) since_ns: Option<i64>,
    pub(crate) blocking: Option<(EventId, i64)>,
    pub(crate) start_up_ns: i64,
    pub(crate) allocation_ns: i64,
    pub(crate) host: HostTime,
    /// The operator that takes most of the window, of several inside each other the outermost.
    pub(crate) busy_in: Option<(EventId, i64)>,
}

impl Host<'_> {
    /// Walks back from a launch to the launch before it on the same thread.
    pub(crate) fn stretch(
        &mut self,
        call: EventId,
        launch: Interval,
        window: Interval,
        before: Option<&GpuWork>,
    ) -> Stretch {
        let mut stretch = Stretch::default();
        let tree = &self.profile.tree;
        let track = self.profile.trace.events.track(call);
        let place = tree.node_of(call).zip(self.tracks.get(&track).cloned());
        let Some((node, nodes)) = place.filter(|(node, nodes)| nodes.contains(&node.0)) else {
            return stretch;
        };
        let mut ops = std::mem::take(&mut self.ops);
        let mut compiled = std::mem::take(&mut self.compiled);
        ops.clear();
        compiled.clear();
        let mut runtime_ns = clip(launch, window).length();
        let mut previous = None;
        for at in (nodes.start..node.0).rev().map(NodeId) {
            let Some(event) = tree.event(at) else { break };
            match self.profile.trace.events.category(event) {
                Category::CpuOp => {
                    self.add_op(event, window, &mut stretch, [&mut ops, &mut compiled])
                }
                category if category.is_runtime() => {
                    let span = self.span(event);
                    let kind = self.call(event);
                    let waited_for = before.is_some_and(|before| {
                        before.launched_by == Some(event)
                            && before.class == GpuClass::Memcpy
                            && span.end_ns >= before.span.end_ns
                    });
                    let is_blocking = kind.is_blocking() || waited_for;
                    let inside_ns = clip(span, window).length();
                    if is_blocking && span.end_ns >= window.start_ns {
                        // Of several the longest, until the last is over.
                        let last = stretch.blocking;
                        let until_ns = last.map_or(span.end_ns.min(launch.start_ns), |last| last.1);
                        if last.is_none_or(|last| self.span(last.0).length() < span.length()) {
                            stretch.blocking = Some((event, until_ns));
                        }
                    }
                    if matches!(kind, Call::Allocation | Call::Free) {
                        let allocation_ns = &mut stretch.allocation_ns;
                        *allocation_ns = allocation_ns.saturating_add(inside_ns);
                    }
                    match kind {
                        _ if is_blocking => {
                            let waiting_ns = &mut stretch.host.waiting_ns;
                            *waiting_ns = waiting_ns.saturating_add(inside_ns);
                        }
                        Call::StartUp => {
                            stretch.start_up_ns = stretch.start_up_ns.saturating_add(inside_ns);
                            runtime_ns = runtime_ns.saturating_add(inside_ns);
                        }
                        _ => runtime_ns = runtime_ns.saturating_add(inside_ns),
                    }
                    // Launches into a graph that is captured run nothing.
                    let may_launch = matches!(
                        kind,
                        Call::Launch | Call::Graph | Call::Transfer | Call::Blocking
                    );
                    let launched = may_launch && !tree.gpu_work(at).is_empty();
                    if launched {
                        stretch.since_ns = Some(span.end_ns);
                        previous = Some(at);
                        break;
                    }
                }
                _ => {}
            }
        }
        // Operators that began before the launch before, and go on.
        for inner in [Some(node), previous].into_iter().flatten() {
            for above in tree.ancestors(inner) {
                let Some(event) = tree.event(above) else {
                    continue;
                };
                if self.profile.trace.events.category(event) == Category::CpuOp {
                    self.add_op(event, window, &mut stretch, [&mut ops, &mut compiled]);
                }
            }
        }
        // Runtime calls run inside of operators, but for a few.
        let in_ops_ns = busy(ops.iter().copied());
        let calls_ns = runtime_ns.saturating_add(stretch.host.waiting_ns);
        let outside_ns = window.length() - in_ops_ns.max(calls_ns);
        stretch.host.runtime_ns = runtime_ns;
        stretch.host.operators_ns = (in_ops_ns - calls_ns).max(0);
        stretch.host.outside_ns = outside_ns.max(0);
        if !compiled.is_empty() {
            let in_both_ns = busy(ops.iter().chain(&compiled).copied());
            let compiled_ns = in_both_ns - in_ops_ns.max(calls_ns);
            stretch.host.compiled_ns = compiled_ns.clamp(0, stretch.host.outside_ns);
        }
        self.ops = ops;
        self.compiled = compiled;
        stretch
    }

    /// Adds the time of an operator in a window to that of operators, or to that of compiled code.
    fn add_op(
        &mut self,
        event: EventId,
        window: Interval,
        stretch: &mut Stretch,
        [ops, compiled]: [&mut Vec<Interval>; 2],
    ) {
        let span = clip(self.span(event), window);
        if self.is_compiled_region(event) {
            compiled.push(span);
            return;
        }
        ops.push(span);
        // Callers come after what they call.
        if stretch.busy_in.is_none_or(|(_, ns)| span.length() >= ns) {
            stretch.busy_in = Some((event, span.length()));
        }
    }
}

fn clip(span: Interval, window: Interval) -> Interval {
    Interval::new(
        span.start_ns.max(window.start_ns),
        span.end_ns.min(window.end_ns),
    )
}
