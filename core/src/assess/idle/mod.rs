//! All gaps of a trace, summed up.

pub(crate) mod class;
pub(crate) mod gaps;
pub(crate) mod held;
pub(crate) mod host;
pub(crate) mod optimizer;

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use crate::assess::Thresholds;
use crate::assess::idle::class::Class;
use crate::assess::idle::gaps::{Gap, gaps};
use crate::assess::idle::host::{Cause, Host, HostTime, unrecorded_graphs};
use crate::assess::idle::optimizer::OptimizerRanges;
use crate::assess::{Input, Severity};
use crate::base::interval::{Interval, busy, sum};
use crate::base::sort::Arrange;
use crate::names::Family;
use crate::profile::copies::may_be_pageable;
use crate::profile::kernels::GpuEvents;
use crate::profile::launch::GraphLaunches;
use crate::profile::timeline::{GpuClass, GpuTimeline};
use crate::trace::{Category, EventId, StringId};

/// Lengths of gaps in microseconds from which a bin of the histogram starts.
pub(crate) const BINS: [(i64, &str); 7] = [
    (0, "below 1 µs"),
    (1_000, "1 to 10 µs"),
    (10_000, "10 to 100 µs"),
    (100_000, "0.1 to 1 ms"),
    (1_000_000, "1 to 10 ms"),
    (10_000_000, "10 to 100 ms"),
    (100_000_000, "100 ms and more"),
];

/// The longest gaps that are kept whole.
pub(crate) const N_TOP: usize = 20;

/// Shorter gaps are not listed one by one: profilers round the end of one kernel and the start of
/// the next apart, so that work which follows directly seems to leave some nanoseconds.
pub(crate) const LEAST_LISTED_NS: i64 = 1_000;

/// Gaps of one cause.
#[derive(Debug, Clone, Default)]
pub(crate) struct OfClass {
    pub(crate) count: u64,
    pub(crate) ns: i64,
    pub(crate) longest_ns: i64,
    pub(crate) host: HostTime,
    /// What ends the longest ones, the longest first: length and event.
    pub(crate) evidence: Vec<(i64, EventId)>,
    /// Those before which the host had waited for the GPU.
    pub(crate) after_wait_ns: i64,
    /// Those that end with work of a graph.
    pub(crate) before_graph_ns: i64,
    /// Operators that the host spent most of a gap in.
    pub(crate) busy_in: Vec<(StringId, Tally)>,
    /// What ends them: by the operator that launches it.
    pub(crate) operators: Vec<(Option<StringId>, Tally)>,
    /// Those that end with a launch of an optimizer: by its range.
    pub(crate) optimizers: Vec<(StringId, Tally)>,
}

impl OfClass {
    /// The range of an optimizer that most of them end in.
    pub(crate) fn mostly_in(&self) -> Option<(StringId, Tally)> {
        let first = self.optimizers.first().copied();
        first.filter(|(_, tally)| tally.ns > self.ns / 2)
    }

    /// Whether one of several gaps is nine tenths of their time, so that their number says nothing.
    pub(crate) fn is_mostly_one(&self) -> bool {
        self.count > 1 && self.longest_ns as f64 > 0.9 * self.ns as f64
    }
}

/// Gaps with something in common.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) count: u64,
    pub(crate) ns: i64,
}

impl Tally {
    fn add(&mut self, ns: i64) {
        self.count += 1;
        self.ns = self.ns.saturating_add(ns);
    }
}

/// A call in which the host waited, and the operator around it.
pub(crate) type Wait = (StringId, Option<StringId>);

/// The kernels of a trace.
#[derive(Debug, Clone, Default)]
pub(crate) struct Kernels {
    /// Kernels, copies and fills, and the short ones of them.
    pub(crate) work: Tally,
    pub(crate) n_short_work: u64,
    pub(crate) count: u64,
    pub(crate) n_short: u64,
    pub(crate) ns: i64,
    /// In the order of [`Family::ALL`]; those that there are.
    pub(crate) families: Vec<(Family, u64, i64)>,
}

impl Kernels {
    pub(crate) fn mean_ns(&self) -> Option<i64> {
        let count = i64::try_from(self.count).ok().filter(|count| *count > 0)?;
        Some(self.ns / count)
    }

    /// Of copies and fills as well.
    pub(crate) fn mean_work_ns(&self) -> Option<i64> {
        let count = i64::try_from(self.work.count).ok();
        Some(self.work.ns / count.filter(|count| *count > 0)?)
    }

    pub(crate) fn short_percent(&self) -> f64 {
        match self.count {
            0 => 0.0,
            count => self.n_short as f64 * 100.0 / count as f64,
        }
    }
}

/// All that the analysis rests on.
#[derive(Debug)]
pub(crate) struct Idle {
    pub(crate) timeline: GpuTimeline,
    pub(crate) thresholds: Thresholds,
    pub(crate) n_gaps: u64,
    /// In the order of [`Class::ALL`].
    pub(crate) classes: [OfClass; Class::ALL.len()],
    pub(crate) histogram: [Tally; BINS.len()],
    /// The longest first, none shorter than [`LEAST_LISTED_NS`].
    pub(crate) top: Vec<(Gap, Cause)>,
    /// What ends gaps that the host is the cause of: by the operator that launches it.
    pub(crate) operators: Vec<(Option<StringId>, Tally)>,
    /// Where the host waited before gaps.
    pub(crate) waits: Vec<(Wait, Tally)>,
    pub(crate) kernels: Kernels,
    pub(crate) n_devices: usize,
    pub(crate) has_graphs: bool,
    /// Copies that ordinary memory of the host may be at one end of.
    pub(crate) has_pageable: bool,
    pub(crate) has_frames: bool,
    pub(crate) has_host_ops: bool,
    /// Idle time with all GPU work counted, where the timeline leaves some out.
    pub(crate) idle_of_all_ns: Option<i64>,
    /// Launches of graphs of whose work the trace has none.
    pub(crate) n_unrecorded_graphs: usize,
}

impl Idle {
    /// `None` without GPU work, or where all of it has no length.
    pub(crate) fn new(input: &Input) -> Option<Idle> {
        let timeline = input.timelines.whole.filter(|whole| whole.total_ns() > 0)?;
        let events = input.timelines.events;
        let profile = input.profile;
        let mut idle = Idle {
            timeline,
            thresholds: input.options.thresholds,
            n_gaps: 0,
            classes: Default::default(),
            histogram: Default::default(),
            top: Vec::new(),
            operators: Vec::new(),
            waits: Vec::new(),
            kernels: kernels(input, events),
            n_devices: n_devices(input, events),
            has_graphs: has_graphs(input),
            has_pageable: has_pageable(input, events),
            has_frames: profile.has_python_frames(),
            has_host_ops: profile.has_host_ops(),
            idle_of_all_ns: idle_of_all_ns(input, events),
            n_unrecorded_graphs: unrecorded_graphs(&profile.trace).len(),
        };
        idle.read(input, &gaps(profile, events));
        Some(idle)
    }

    fn read(&mut self, input: &Input, gaps: &[Gap]) {
        let profile = input.profile;
        let trace = &profile.trace;
        let mut host = Host::new(input);
        let mut operators: Index<Option<StringId>> = Index::default();
        let mut of_classes: [Index<Option<StringId>>; Class::ALL.len()] = Default::default();
        let mut busy_in: [Index<StringId>; Class::ALL.len()] = Default::default();
        let ranges = OptimizerRanges::new(trace);
        let mut optimizers: Index<StringId> = Index::default();
        let mut waits: Index<Wait> = Index::default();
        for gap in gaps {
            let ns = gap.span.length();
            let cause = host.cause(gap);
            self.n_gaps += 1;
            let bin = BINS.partition_point(|(from_ns, _)| *from_ns <= ns);
            if let Some(tally) = self.histogram.get_mut(bin.saturating_sub(1)) {
                tally.add(ns);
            }
            let after = gap.after.and_then(|id| profile.gpu.get(id));
            let of_class = &mut self.classes[cause.class as usize];
            of_class.count += 1;
            of_class.ns = of_class.ns.saturating_add(ns);
            of_class.longest_ns = of_class.longest_ns.max(ns);
            of_class.host.add(cause.host);
            if cause.blocking.is_some() {
                of_class.after_wait_ns = of_class.after_wait_ns.saturating_add(ns);
            }
            if cause.is_graph {
                of_class.before_graph_ns = of_class.before_graph_ns.saturating_add(ns);
            }
            if let Some((operator, inside_ns)) = cause.busy_in {
                busy_in[cause.class as usize].add(trace.events.name(operator), inside_ns);
            }
            if let Some(after) = after {
                insert_longest(&mut of_class.evidence, (ns, after.event), 10, |one| one.0);
            }
            if ns >= LEAST_LISTED_NS {
                insert_longest(&mut self.top, (*gap, cause), N_TOP, |(gap, _)| {
                    gap.span.length()
                });
            }
            let class = cause.class;
            if !class.is_unsure() && !matches!(class, Class::Queued | Class::Unknown) {
                let op = after.and_then(|after| after.parent_op);
                let name = op
                    .and_then(|op| profile.tree.event(op))
                    .or(cause.launch)
                    .map(|event| trace.events.name(event));
                operators.add(name, ns);
                of_classes[cause.class as usize].add(name, ns);
            }
            if let (Class::LaunchBound, Some(call)) = (cause.class, cause.launch)
                && let Some(range) = ranges.of(trace, call)
            {
                optimizers.add(range, ns);
            }
            if let (Class::Synchronisation, Some(call)) = (cause.class, cause.blocking) {
                let tree = &profile.tree;
                let op = tree
                    .node_of(call)
                    .and_then(|node| tree.op_above(trace, node))
                    .and_then(|op| tree.event(op));
                let op = op.map(|event| trace.events.name(event));
                waits.add((trace.events.name(call), op), ns);
            }
        }
        self.operators = operators.longest_first();
        let of_classes = of_classes.into_iter().zip(busy_in);
        for (class, (operators, busy_in)) in self.classes.iter_mut().zip(of_classes) {
            class.operators = operators.longest_first();
            class.busy_in = busy_in.longest_first();
        }
        self.classes[Class::LaunchBound as usize].optimizers = optimizers.longest_first();
        self.waits = waits.longest_first();
    }

    /// Whether most of what the host waited for was asked for outside of operators, as by
    /// `torch.cuda.synchronize()`.
    pub(crate) fn waits_outside_of_operators(&self) -> bool {
        let waits = self.waits.iter();
        let outside = waits.filter(|((_, operator), _)| operator.is_none());
        let outside_ns = sum(outside.map(|(_, tally)| tally.ns));
        outside_ns > self.of(Class::Synchronisation).ns / 2
    }

    /// When a gap begins, from the first start of GPU work.
    pub(crate) fn start_ns(&self, gap: &Gap) -> i64 {
        let first_ns = self.timeline.span.start_ns;
        gap.span.start_ns.saturating_sub(first_ns)
    }

    pub(crate) fn percent(&self, ns: i64) -> f64 {
        ns as f64 * 100.0 / self.timeline.total_ns() as f64
    }

    pub(crate) fn idle_percent(&self) -> f64 {
        self.percent(self.timeline.idle_ns)
    }

    /// Idle time, without what work fills that does not count, and what work may fill that was
    /// launched before the recording.
    pub(crate) fn surely_idle_ns(&self) -> i64 {
        let unsure = Class::ALL.into_iter().filter(|class| class.is_unsure());
        let unsure_ns = sum(unsure.map(|class| self.of(class).ns));
        self.timeline.idle_ns.saturating_sub(unsure_ns)
    }

    /// The share of it in the run.
    pub(crate) fn surely_idle_percent(&self) -> f64 {
        self.percent(self.surely_idle_ns())
    }

    pub(crate) fn is_flagged(&self) -> bool {
        self.idle_percent() > self.thresholds.idle_flag_percent
    }

    /// The level of a share of the run.
    pub(crate) fn severity_of(&self, percent: f64) -> Severity {
        let thresholds = &self.thresholds;
        Severity::above(
            percent,
            [
                thresholds.idle_critical_percent,
                thresholds.idle_high_percent,
                thresholds.idle_medium_percent,
                thresholds.idle_low_percent,
            ],
        )
    }

    pub(crate) fn severity(&self) -> Severity {
        self.severity_of(self.surely_idle_percent())
    }

    /// How many times as fast the run would be with no more idle time than is aimed at: the same
    /// work in (100 − idle) / (100 − aim) of the time. `None` where it idles less already.
    pub(crate) fn potential_speedup(&self) -> Option<f64> {
        let aim = self.thresholds.idle_target_percent;
        let idle = self.surely_idle_percent();
        let busy = 100.0 - idle;
        (idle > aim && busy > 0.0).then(|| (100.0 - aim) / busy)
    }

    pub(crate) fn of(&self, class: Class) -> &OfClass {
        &self.classes[class as usize]
    }

    /// Classes with their gaps, the longest first.
    pub(crate) fn by_time(&self) -> Vec<(Class, &OfClass)> {
        let mut classes: Vec<(Class, &OfClass)> = Class::ALL
            .into_iter()
            .zip(&self.classes)
            .filter(|(_, of_class)| of_class.count > 0)
            .collect();
        classes.arrange_by_key(|(_, of_class)| std::cmp::Reverse(of_class.ns));
        classes
    }

    pub(crate) fn mean_gap_ns(&self) -> Option<i64> {
        let count = i64::try_from(self.n_gaps).ok().filter(|count| *count > 0)?;
        Some(self.timeline.idle_ns / count)
    }
}

/// Keeps the longest of what comes, the longest first; of equal ones the first.
fn insert_longest<T>(kept: &mut Vec<T>, new: T, most: usize, length: impl Fn(&T) -> i64) {
    let new_length = length(&new);
    if kept.len() == most && kept.last().is_some_and(|last| length(last) >= new_length) {
        return;
    }
    let at = kept.partition_point(|one| length(one) >= new_length);
    kept.insert(at, new);
    kept.truncate(most);
}

/// Tallies by key, in order of appearance.
#[derive(Debug)]
struct Index<K> {
    rows: HashMap<K, usize, FxBuildHasher>,
    tallies: Vec<(K, Tally)>,
}

impl<K> Default for Index<K> {
    fn default() -> Self {
        Index {
            rows: HashMap::default(),
            tallies: Vec::new(),
        }
    }
}

impl<K: Copy + Eq + std::hash::Hash> Index<K> {
    fn add(&mut self, key: K, ns: i64) {
        let row = *self.rows.entry(key).or_insert(self.tallies.len());
        if row == self.tallies.len() {
            self.tallies.push((key, Tally::default()));
        }
        if let Some((_, tally)) = self.tallies.get_mut(row) {
            tally.add(ns);
        }
    }

    fn longest_first(mut self) -> Vec<(K, Tally)> {
        self.tallies
            .arrange_by_key(|(_, tally)| std::cmp::Reverse(tally.ns));
        self.tallies
    }
}

/// Counts kernels; the kind of work of each is that of its operation.
fn kernels(input: &Input, events: GpuEvents) -> Kernels {
    let profile = input.profile;
    let short_ns = (input.options.thresholds.short_kernel_us * 1e3) as i64;
    let mut family_of = vec![Family::Other; profile.gpu.len()];
    for operation in profile.operations() {
        for id in operation.work() {
            if let Some(family) = family_of.get_mut(id.index()) {
                *family = operation.family;
            }
        }
    }
    let mut kernels = Kernels::default();
    let mut families = [(0_u64, 0_i64); Family::ALL.len()];
    for ((_, work), family) in profile.gpu.iter().zip(family_of) {
        if events == GpuEvents::Linked && work.launched_by.is_none() {
            continue;
        }
        let ns = work.span.length();
        kernels.work.add(ns);
        kernels.n_short_work += u64::from(ns < short_ns);
        if work.category != Category::Kernel {
            continue;
        }
        let family = match work.class {
            GpuClass::Communication => Family::Communication,
            GpuClass::Memcpy => Family::MemoryCopy,
            GpuClass::Computation => family,
        };
        kernels.count += 1;
        kernels.n_short += u64::from(ns < short_ns);
        kernels.ns = kernels.ns.saturating_add(ns);
        let (count, all_ns) = &mut families[family as usize];
        *count += 1;
        *all_ns = all_ns.saturating_add(ns);
    }
    kernels.families = Family::ALL
        .into_iter()
        .zip(families)
        .filter(|(_, (count, _))| *count > 0)
        .map(|(family, (count, ns))| (family, count, ns))
        .collect();
    kernels
}

/// GPUs whose work is in the trace: streams of one GPU share their process.
fn n_devices(input: &Input, events: GpuEvents) -> usize {
    let trace = &input.profile.trace;
    let mut devices: Vec<StringId> = Vec::new();
    let mut last = None;
    for work in input.profile.gpu.of(events) {
        let track = trace.events.track(work.event);
        if last == Some(track) {
            continue;
        }
        last = Some(track);
        if let Some(track) = trace.tracks.get(track)
            && !devices.contains(&track.pid)
        {
            devices.push(track.pid);
        }
    }
    devices.len()
}

fn has_graphs(input: &Input) -> bool {
    let trace = &input.profile.trace;
    let mut graph_launches = GraphLaunches::default();
    let mut calls = trace.events.ids();
    calls.any(|call| {
        trace.events.category(call).is_runtime() && graph_launches.contains(trace, call)
    })
}

fn has_pageable(input: &Input, events: GpuEvents) -> bool {
    let strings = &input.profile.trace.strings;
    let mut copies = input.profile.gpu.of(events);
    copies.any(|work| work.class == GpuClass::Memcpy && may_be_pageable(strings.get(work.name)))
}

fn idle_of_all_ns(input: &Input, events: GpuEvents) -> Option<i64> {
    let profile = input.profile;
    if events == GpuEvents::All || profile.launches.n_unlinked() == 0 {
        return None;
    }
    let spans = || profile.running(GpuEvents::All).map(|work| work.span);
    let start_ns = spans().map(|span| span.start_ns).min()?;
    let end_ns = spans().map(|span| span.end_ns).max()?;
    let span = profile.gpu_span(Interval::new(start_ns, end_ns));
    Some(span.length() - busy(spans()))
}
