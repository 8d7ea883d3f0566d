//! GPU idle time: its gaps by cause, by length, by operator; the longest ones.

pub(crate) mod cause;
pub(crate) mod code;
pub(crate) mod explain;
pub(crate) mod kernels;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::assess::{Input, Severity, Thresholds};
use crate::base::interval::sum;
use crate::base::sort::Arranged;
use crate::base::tally::{Tallies, Tally, insert_longest};
use crate::names::cpu_activity::CpuActivity;
use crate::profile::cpu::activity::OptimizerRanges;
use crate::profile::gpu::copies::may_be_pageable;
use crate::profile::gpu::timeline::{GpuClass, GpuTimeline};
use crate::trace::{EventId, StringId};
use cause::IdleCause;
use code::copied::CopiesAround;
use code::rows::{CodeRows, CodeTable};
use explain::{CpuTime, ExplainedGap, Explainer, regions_per_step};
use kernels::Kernels;

pub(crate) const BINS: [(i64, &str); 7] = [
    (0, "below 1 µs"),
    (1_000, "1 to 10 µs"),
    (10_000, "10 to 100 µs"),
    (100_000, "0.1 to 1 ms"),
    (1_000_000, "1 to 10 ms"),
    (10_000_000, "10 to 100 ms"),
    (100_000_000, "100 ms and more"),
];

/// Number of longest gaps that are kept with all details.
pub(crate) const N_LONGEST: usize = 20;

/// Number of longest gaps of a cause that a finding refers to.
const N_EVIDENCE: usize = 10;

/// Shorter gaps are not listed: profilers round ends and starts, so that there seem to be gaps of some nanoseconds
/// between back-to-back kernels.
const LEAST_LISTED_NS: i64 = 1_000;

/// Gaps up to this length are the minimum between kernels of one stream.
const LEAST_DISTANCE_NS: i64 = 3_000;

#[derive(Debug, Clone, Default)]
pub(crate) struct GapsOfCause {
    pub(crate) all: Tally,
    pub(crate) longest_ns: i64,
    /// Time of gaps that are no longer than the minimum between kernels of one stream.
    pub(crate) least_distance_ns: i64,
    pub(crate) cpu: CpuTime,
    /// What ends the longest gaps, longest first: length and event.
    pub(crate) evidence: Vec<(i64, EventId)>,
    /// Time of gaps before which the CPU had waited for the GPU.
    pub(crate) after_wait_ns: i64,
    /// Time of gaps that end with kernels of a graph.
    pub(crate) before_graph_ns: i64,
    /// Time of gaps in most of which a GPU graph is captured.
    pub(crate) capturing_ns: i64,
    /// Operators that a thread spent most of a gap in.
    pub(crate) busy_in: Tallies<StringId>,
    /// What ends the gaps: by the operator that launches it.
    pub(crate) operators: Tallies<Option<StringId>>,
    /// Launch-bound and queued gaps that end with a launch of an optimizer, by its range.
    pub(crate) optimizers: Tallies<StringId>,
}

impl GapsOfCause {
    /// The optimizer range in which most of the gaps end.
    pub(crate) fn mostly_in(&self) -> Option<(StringId, Tally)> {
        let first = self.optimizers.first();
        first.filter(|(_, tally)| tally.ns > self.all.ns / 2)
    }

    /// Whether one of several gaps makes up more than nine tenths of their time, so that their number is misleading.
    pub(crate) fn is_mostly_one(&self) -> bool {
        self.all.count > 1 && self.longest_ns as f64 > 0.9 * self.all.ns as f64
    }

    /// Adds the part of a gap that has this cause.
    fn add(&mut self, gap: &ExplainedGap, ns: i64) {
        self.all.add(ns);
        self.longest_ns = self.longest_ns.max(ns);
        if ns <= LEAST_DISTANCE_NS {
            self.least_distance_ns = self.least_distance_ns.saturating_add(ns);
        }
        if gap.waited_in.is_some() {
            self.after_wait_ns = self.after_wait_ns.saturating_add(ns);
        }
        if gap.is_graph {
            self.before_graph_ns = self.before_graph_ns.saturating_add(ns);
        }
        if gap.activity == Some(CpuActivity::GraphCapture) {
            self.capturing_ns = self.capturing_ns.saturating_add(ns);
        }
    }

    /// Adds what ends the gap.
    fn add_end(&mut self, end: &GapEnd, ns: i64) {
        if let Some(event) = end.event {
            insert_longest(&mut self.evidence, (ns, event), N_EVIDENCE, |one| one.0);
        }
        if end.is_late {
            self.operators.add(end.operator, ns);
        }
        if let Some(range) = end.optimizer {
            self.optimizers.add(range, ns);
        }
    }

    fn sort(&mut self) {
        self.operators.sort();
        self.busy_in.sort();
        self.optimizers.sort();
    }
}

/// What ends a gap, and who launched it.
struct GapEnd {
    event: Option<EventId>,
    is_late: bool,
    operator: Option<StringId>,
    optimizer: Option<StringId>,
}

/// A call in which the CPU waited, and the operator around it.
pub(crate) type Wait = (StringId, Option<StringId>);

#[derive(Debug, Clone)]
pub(crate) struct Idle {
    pub(crate) timeline: GpuTimeline,
    pub(crate) thresholds: Thresholds,
    pub(crate) gaps: Tally,
    /// The main cause of each gap of the timelines, in their order.
    pub(crate) cause_of_gap: Vec<IdleCause>,
    causes: BTreeMap<IdleCause, GapsOfCause>,
    /// Those among them that end with the first launch of a call of compiled code.
    before_regions: BTreeMap<IdleCause, GapsOfCause>,
    pub(crate) histogram: [Tally; BINS.len()],
    /// Longest first, none shorter than [`LEAST_LISTED_NS`].
    pub(crate) longest: Vec<ExplainedGap>,
    /// What ends gaps with late launches: by the operator that launches it.
    pub(crate) operators: Tallies<Option<StringId>>,
    pub(crate) waits: Tallies<Wait>,
    /// What ran in gaps with late launches.
    pub(crate) code: CodeRows,
    pub(crate) kernels: Kernels,
    pub(crate) has_graphs: bool,
    /// How many compiled regions a step enters, if any.
    pub(crate) regions_per_step: Option<f64>,
    pub(crate) n_unrecorded_graphs: usize,
    /// Whether there are copies from or to possibly pageable CPU memory.
    pub(crate) has_pageable: bool,
}

/// The severity of a share of the run in which the CPU keeps work from being done.
pub(crate) fn severity_of(thresholds: &Thresholds, percent: f64) -> Severity {
    let severities = [
        thresholds.idle_critical_percent,
        thresholds.idle_high_percent,
        thresholds.idle_medium_percent,
        thresholds.idle_low_percent,
    ];
    Severity::above(percent, severities)
}

/// The thresholds that causes depend on; the others only rate what was found.
fn decisive(thresholds: &Thresholds) -> [u64; 4] {
    let decisive = [
        thresholds.idle_launch_latency_us,
        thresholds.idle_slow_launch_ms,
        thresholds.idle_host_work_us,
        thresholds.short_kernel_us,
    ];
    decisive.map(f64::to_bits)
}

/// The idle time for the thresholds of the last request; it does not depend on the GPU.
#[derive(Debug, Default)]
struct LastIdle(Mutex<Option<Arc<Idle>>>);

impl Idle {
    /// `None` without GPU activity, or if its total time is zero.
    pub(crate) fn once(input: &Input) -> Option<Arc<Idle>> {
        let last = input.profile.once(LastIdle::default);
        let mut last = last.0.lock().unwrap_or_else(PoisonError::into_inner);
        let thresholds = input.options.thresholds;
        let known = last
            .take()
            .filter(|idle| decisive(&idle.thresholds) == decisive(&thresholds));
        let found = match known {
            Some(idle) if idle.thresholds == thresholds => Some(idle),
            Some(idle) => Some(Arc::new(Idle {
                thresholds,
                ..Arc::unwrap_or_clone(idle)
            })),
            None => Idle::new(input).map(Arc::new),
        };
        *last = found;
        last.clone()
    }

    fn new(input: &Input) -> Option<Idle> {
        let timeline = input.timelines.whole.filter(|whole| whole.total_ns() > 0)?;
        let profile = input.profile;
        let mut explainer = Explainer::new(input);
        let strings = &profile.trace.strings;
        let mut work = profile.gpu.all();
        let mut idle = Idle {
            timeline,
            thresholds: input.options.thresholds,
            gaps: Tally::default(),
            cause_of_gap: Vec::new(),
            causes: BTreeMap::new(),
            before_regions: BTreeMap::new(),
            histogram: Default::default(),
            longest: Vec::new(),
            operators: Tallies::default(),
            waits: Tallies::default(),
            code: CodeRows::default(),
            kernels: Kernels::new(input),
            has_graphs: explainer.graphs.any,
            regions_per_step: regions_per_step(profile),
            n_unrecorded_graphs: explainer.graphs.unrecorded_ns.len(),
            has_pageable: work.any(|work| {
                work.class == GpuClass::Memcpy && may_be_pageable(strings.get(work.name))
            }),
        };
        let ranges = OptimizerRanges::new(&profile.trace);
        let mut code = CodeTable::new(profile);
        let mut copies = CopiesAround::new(profile);
        for gap in &input.timelines.gaps {
            let explained = explainer.explain(*gap);
            if !explainer.parts.is_empty() {
                code.add(gap.span.length(), &explainer.parts, copies.of(gap));
            }
            idle.add(input, &ranges, explained);
        }
        for gap in &mut idle.longest {
            gap.locate(profile);
        }
        idle.code = code.finish();
        idle.operators.sort();
        idle.waits.sort();
        let causes = idle.causes.values_mut();
        for gaps in causes.chain(idle.before_regions.values_mut()) {
            gaps.sort();
        }
        Some(idle)
    }

    fn add(&mut self, input: &Input, ranges: &OptimizerRanges, gap: ExplainedGap) {
        let (profile, trace) = (input.profile, &input.profile.trace);
        let name = |event: EventId| trace.events.name(event);
        let ns = gap.gap.span.length();
        self.gaps.add(ns);
        self.cause_of_gap.push(gap.cause);
        let bin = BINS.partition_point(|(from_ns, _)| *from_ns <= ns);
        if let Some(tally) = self.histogram.get_mut(bin.saturating_sub(1)) {
            tally.add(ns);
        }
        if ns >= LEAST_LISTED_NS {
            insert_longest(&mut self.longest, gap.clone(), N_LONGEST, |gap| {
                gap.gap.span.length()
            });
        }
        let after = gap.gap.after.and_then(|id| profile.gpu.get(id));
        let operator = after.and_then(|after| after.parent_op);
        let operator = operator.and_then(|op| profile.tree.event(op));
        let launched_by = operator.or(gap.launch).map(name);
        if gap.cause.is_late_launch() {
            self.operators.add(launched_by, ns);
        }
        for (cause, ns) in gap.causes() {
            let may_step = matches!(cause, IdleCause::LaunchBound | IdleCause::Queued);
            let end = GapEnd {
                event: after.map(|after| after.event),
                is_late: cause.is_late_launch(),
                operator: launched_by,
                optimizer: gap
                    .launch
                    .filter(|_| may_step)
                    .and_then(|call| ranges.of(trace, call)),
            };
            let all = self.causes.entry(cause).or_default();
            let regions = gap
                .enters_region
                .then(|| self.before_regions.entry(cause).or_default());
            for gaps in [Some(all), regions].into_iter().flatten() {
                gaps.add(&gap, ns);
                gaps.add_end(&end, ns);
            }
            if let (IdleCause::Synchronization, Some(call)) = (cause, gap.waited_in) {
                let tree = &profile.tree;
                let operator = tree.op_above_event(trace, call);
                self.waits.add((name(call), operator.map(name)), ns);
            }
        }
        let gaps = self.causes.entry(gap.cause).or_default();
        gaps.cpu.add(gap.cpu);
        if let Some((operator, inside_ns)) = gap.busy_in {
            gaps.busy_in.add(name(operator), inside_ns);
        }
    }

    /// Whether the CPU mostly waited outside operators, as in `torch.cuda.synchronize()`.
    pub(crate) fn waits_outside_of_operators(&self) -> bool {
        let waits = self.waits.rows.iter();
        let outside = waits.filter(|((_, operator), _)| operator.is_none());
        sum(outside.map(|(_, tally)| tally.ns)) > self.of(IdleCause::Synchronization).ns / 2
    }

    /// When a gap starts, relative to the first start of GPU activity.
    pub(crate) fn start_ns(&self, gap: &ExplainedGap) -> i64 {
        let first_ns = self.timeline.span.start_ns;
        gap.gap.span.start_ns.saturating_sub(first_ns)
    }

    pub(crate) fn percent(&self, ns: i64) -> f64 {
        ns as f64 * 100.0 / self.timeline.total_ns() as f64
    }

    pub(crate) fn idle_percent(&self) -> f64 {
        self.percent(self.timeline.idle_ns)
    }

    /// Idle time without that of [unsure causes](IdleCause::is_unsure).
    pub(crate) fn surely_idle_ns(&self) -> i64 {
        self.without(IdleCause::is_unsure)
    }

    /// Idle time that a [longer run has, too](IdleCause::can_be_saved).
    pub(crate) fn savable_ns(&self) -> i64 {
        self.without(|cause| !cause.can_be_saved())
    }

    pub(crate) fn savable_percent(&self) -> f64 {
        self.percent(self.savable_ns())
    }

    fn without(&self, is_left_out: impl Fn(IdleCause) -> bool) -> i64 {
        let others = self.causes.iter().filter(|(cause, _)| is_left_out(**cause));
        let others_ns = sum(others.map(|(_, gaps)| gaps.all.ns));
        self.timeline.idle_ns.saturating_sub(others_ns)
    }

    pub(crate) fn surely_idle_percent(&self) -> f64 {
        self.percent(self.surely_idle_ns())
    }

    pub(crate) fn is_flagged(&self) -> bool {
        self.idle_percent() > self.thresholds.idle_flag_percent
    }

    pub(crate) fn severity_of(&self, percent: f64) -> Severity {
        severity_of(&self.thresholds, percent)
    }

    pub(crate) fn severity(&self) -> Severity {
        self.severity_of(self.surely_idle_percent())
    }

    /// How many times as fast the run would be at the target: (100 − target) / (100 − idle). `None` if it is already at
    /// the target.
    pub(crate) fn potential_speedup(&self) -> Option<f64> {
        let target = self.thresholds.idle_target_percent;
        let idle = self.savable_percent();
        let busy = 100.0 - idle;
        (idle > target && busy > 0.0).then(|| (100.0 - target) / busy)
    }

    pub(crate) fn of(&self, cause: IdleCause) -> Tally {
        let gaps = self.causes.get(&cause);
        gaps.map(|gaps| gaps.all).unwrap_or_default()
    }

    /// Idle time before the first launches of compiled regions that the CPU enters too late.
    pub(crate) fn before_regions_ns(&self) -> i64 {
        let late = [IdleCause::LaunchBound, IdleCause::CpuWork];
        let gaps = late.iter().filter_map(|cause| self.before_regions(*cause));
        sum(gaps.map(|gaps| gaps.all.ns))
    }

    /// Gaps of a cause that end with the first launch of a call of compiled code.
    pub(crate) fn before_regions(&self, cause: IdleCause) -> Option<&GapsOfCause> {
        self.before_regions.get(&cause)
    }

    /// Causes with their gaps, longest total time first.
    pub(crate) fn by_time(&self) -> Vec<(IdleCause, &GapsOfCause)> {
        let causes = self.causes.iter().map(|(cause, gaps)| (*cause, gaps));
        causes.arranged_by_largest(|(_, gaps)| gaps.all.ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assess::ReportOptions;
    use crate::report::Report;
    use crate::{Profile, import, sample};

    #[test]
    fn every_threshold_that_decides_a_cause_has_it_found_anew() {
        let profile = Profile::new(import::import(sample::TRACE.as_bytes()).unwrap());
        let report = Report::new(&profile, &ReportOptions::default());
        for threshold in Thresholds::ALL {
            let mut options = ReportOptions::default();
            let changed = (threshold.get)(&options.thresholds) * 20.0 + 1.0;
            (threshold.set)(&mut options.thresholds, changed);
            let input = Input {
                options: &options,
                ..report.analysis_input(&profile)
            };
            let [kept, anew] = [Idle::once(&input), Idle::new(&input).map(Arc::new)];
            let key = threshold.key;
            assert_eq!(format!("{kept:?}"), format!("{anew:?}"), "{key}");
        }
    }
}
