//! Rates copies, communication and their overlap.

use std::sync::Arc;

use crate::assess::Thresholds;
use crate::base::interval::{percent_of, percent_or_zero, sum};
use crate::findings::engine::narrower::is_wide;
use crate::findings::{Impact, Input, Severity};
use crate::hardware::{GpuSpec, Links};
use crate::perf::Unit;
use crate::profile::Profile;
use crate::profile::collectives::{
    CollectiveSummary, RepeatedTime, StagedTime, Waits, collectives, linked_gpus, staged_time,
};
use crate::profile::gpu::copies::{
    Copies, CopySummary, DdpCopy, Direction, HostMemory, OnOneGpu, copies,
};
use crate::profile::gpu::exposed::Spans;
use crate::profile::gpu::kernels::Running;
use crate::profile::gpu::timeline::GpuTimeline;

/// What was moved; independent of options.
pub(super) struct Moved {
    copies: Arc<CopySummary>,
    collectives: Arc<CollectiveSummary>,
    staging: Option<StagedTime>,
    is_narrow: bool,
    pub(super) spans: Spans,
}

impl Moved {
    /// `None` if nothing runs.
    pub(super) fn of(profile: &Profile) -> Arc<Option<Moved>> {
        profile.once(|| {
            let running: Vec<Running> = profile.running().collect();
            let spans = Spans::new(&running, |span| profile.gpu_span(span))?;
            Some(Moved {
                copies: Arc::new(copies(profile, &spans.memcpy)),
                collectives: Arc::new(collectives(profile, &spans.communication)),
                staging: staged_time(profile, &spans.memcpy),
                is_narrow: is_narrow(profile),
                spans,
            })
        })
    }
}

/// Whether most time on matrix units is in types of 16 bits or fewer.
fn is_narrow(profile: &Profile) -> bool {
    let operations = profile.operations().iter();
    let on_matrix_units = operations.filter_map(|operation| {
        let spec = operation.known()?.work.compute?;
        (spec.unit == Unit::Matrix).then_some((is_wide(spec), operation.kernel_ns))
    });
    let (wide_ns, narrow_ns) =
        on_matrix_units.fold((0_i64, 0_i64), |(wide, narrow), of| match of {
            (true, ns) => (wide.saturating_add(ns), narrow),
            (false, ns) => (wide, narrow.saturating_add(ns)),
        });
    narrow_ns > wide_ns
}

#[derive(Debug)]
pub(crate) struct Facts {
    /// The mean if there are several GPUs.
    pub(crate) timeline: GpuTimeline,
    pub(crate) copies: Arc<CopySummary>,
    pub(crate) collectives: Arc<CollectiveSummary>,
    /// Copies into and out of the buffers of collectives.
    pub(crate) staging: Option<StagedTime>,
    /// From the same spans as the copies and collectives, for comparison with the timeline.
    pub(crate) own: GpuTimeline,
    /// With several GPUs, that of the one with the least exposed communication, which the others wait for.
    pub(crate) hideable: GpuTimeline,
    /// With several GPUs, that of the one with the most copies while nothing else runs.
    pub(super) most_memcpy: GpuTimeline,
    /// GPUs with activity in the trace, at least one.
    pub(super) n_gpus: usize,
    pub(crate) is_training: bool,
    /// Computation was recorded, all that was launched.
    pub(super) is_overlap_known: bool,
    /// Most time on matrix units is in types of 16 bits or fewer.
    pub(super) is_narrow: bool,
    /// Number of GPUs that fast links join; `None` if the trace lists a single GPU, which may be the only visible one.
    pub(super) n_linked: Option<u64>,
    /// The links of the GPU to others, from its hardware profile.
    pub(super) links: Option<Links>,
    pub(crate) thresholds: Thresholds,
    /// One for each direction that occurs.
    pub(crate) assessed: Vec<CopyAssessment>,
}

impl Facts {
    /// `None` without GPU activity, or if its total time is zero.
    pub(crate) fn new(input: &Input) -> Option<Facts> {
        let timelines = input.timelines;
        let timeline = timelines.of_one_gpu()?;
        let timeline = Some(timeline).filter(|whole| whole.total_ns() > 0)?;
        let moved = Moved::of(input.profile);
        let moved = Option::as_ref(&moved)?;
        let own = &moved.spans;
        let mut facts = Facts {
            copies: Arc::clone(&moved.copies),
            collectives: Arc::clone(&moved.collectives),
            staging: moved.staging.clone(),
            own: own.timeline,
            most_memcpy: own.most_memcpy,
            hideable: match timelines.gpus.is_empty() {
                true => timeline,
                false => own.least_exposed.unwrap_or(timeline),
            },
            timeline,
            n_gpus: timelines.gpus.len().max(1),
            is_training: input.profile.is_training(),
            is_overlap_known: input.profile.recording.n_unrecorded == 0
                && timeline.computation_ns > 0,
            is_narrow: moved.is_narrow,
            n_linked: linked_gpus(&input.profile.trace),
            links: input.gpu().and_then(GpuSpec::links),
            thresholds: input.options.thresholds,
            assessed: Vec::new(),
        };
        let directions = facts.copies.directions.iter();
        facts.assessed = directions
            .map(|(direction, copies)| CopyAssessment::new(&facts, *direction, copies))
            .collect();
        Some(facts)
    }

    /// Converts a time summed over all GPUs to the mean of one.
    pub(super) fn of_one_gpu(&self, ns: i64) -> i64 {
        i64::try_from(self.n_gpus).map_or(ns, |n_gpus| ns / n_gpus)
    }

    pub(crate) fn percent(&self, ns: i64) -> f64 {
        percent_or_zero(ns, self.timeline.total_ns())
    }

    pub(crate) fn assess(&self, direction: Direction) -> Option<&CopyAssessment> {
        let mut assessed = self.assessed.iter();
        assessed.find(|assessed| assessed.direction == direction)
    }

    /// The severity of the copies in a direction.
    pub(crate) fn severity_of(&self, direction: Direction) -> Severity {
        let assessed = self.assess(direction);
        assessed.map_or(Severity::Acceptable, CopyAssessment::severity)
    }

    pub(crate) fn worst_copies(&self) -> Severity {
        let severities = self.assessed.iter().map(CopyAssessment::severity);
        severities.max().unwrap_or(Severity::Acceptable)
    }

    pub(crate) fn blocking(&self) -> Blocking {
        let won_percent = self.percent(self.savable_comm_ns());
        Blocking {
            percent: self.percent(self.timeline.exposed_comm_ns),
            severity: self.comm_severity(won_percent),
            is_flagged: won_percent > self.thresholds.comm_medium_percent,
        }
    }

    /// How long GPUs wait for the last one in collectives, if that is a large part of the run.
    pub(super) fn uneven(&self) -> Option<Waits> {
        let line = self.thresholds.comm_medium_percent;
        let waits = self.collectives.waits;
        waits.filter(|waits| self.percent(waits.mean_ns) > line)
    }

    /// Gradients that are reduced more often than the optimizer needs them, if that blocks computation for long.
    pub(super) fn repeated(&self) -> Option<&RepeatedTime> {
        let line = self.thresholds.gate_percent_of_total;
        let repeated = self.collectives.repeated.as_ref();
        repeated.filter(|of| self.percent(self.of_one_gpu(of.exposed_ns)) >= line)
    }

    /// The latency of short collectives in steps of a serving engine: each layer needs their results before it can go
    /// on, so that it stays, however fast the transfer is.
    pub(super) fn latency_ns(&self) -> i64 {
        /// Longer ones are transfer or waiting.
        const MOST_NS: i64 = 50_000;
        if self.collectives.steps.is_none() || self.is_training {
            return 0;
        }
        let groups = self.collectives.groups.iter();
        let short =
            groups.filter(|group| group.key.kind.waits_for_all() && group.median_ns <= MOST_NS);
        let latency = short.map(|group| {
            let least_ns = LATENCY_NS.saturating_mul(group.count as i64);
            group.exposed_ns.min(least_ns)
        });
        self.of_one_gpu(sum(latency))
    }

    /// The exposed communication that overlap or faster messages could save: without latency that stays, and without
    /// what is not needed.
    pub(super) fn savable_comm_ns(&self) -> i64 {
        let repeated = self.repeated();
        let repeated_ns = repeated.map_or(0, |of| self.of_one_gpu(of.exposed_ns));
        let others_ns = repeated_ns.saturating_add(self.latency_ns());
        (self.hideable.exposed_comm_ns - others_ns).max(0)
    }

    pub(crate) fn overlap(&self) -> Overlap {
        let lines = &self.thresholds;
        let (exposed_ns, all_ns) = (self.timeline.exposed_comm_ns, self.timeline.comm_ns);
        // 1 − exposed / all, in percent.
        let percent = percent_of(all_ns - exposed_ns, all_ns);
        let is_enough = all_ns as f64 >= lines.comm_least_us * 1e3;
        let judged = percent.filter(|_| is_enough);
        let severities = [
            lines.overlap_critical_percent,
            lines.overlap_high_percent,
            lines.overlap_target_percent,
        ];
        Overlap {
            percent,
            severity: judged.map(|percent| Severity::below(percent, severities)),
            is_flagged: judged.is_some_and(|percent| percent < lines.overlap_target_percent),
        }
    }

    /// What reaching the target overlap saves, limited by the computation available to hide communication.
    pub(crate) fn to_target_ns(&self) -> i64 {
        let rest = 1.0 - self.thresholds.overlap_target_percent / 100.0;
        let left_ns = (self.hideable.comm_ns as f64 * rest).round() as i64;
        let hidden_ns = (self.hideable.exposed_comm_ns - left_ns).clamp(0, self.free_ns());
        hidden_ns.min(self.savable_comm_ns())
    }

    /// Whether most communication overlaps with computation.
    pub(super) fn is_mostly_hidden(&self) -> bool {
        self.timeline.exposed_comm_ns < self.timeline.comm_ns / 2
    }

    /// Computation without concurrent communication: how much more can be hidden.
    pub(super) fn free_ns(&self) -> i64 {
        let timeline = &self.hideable;
        let hidden_ns = timeline.comm_ns.saturating_sub(timeline.exposed_comm_ns);
        timeline.computation_ns.saturating_sub(hidden_ns).max(0)
    }

    pub(super) fn comm_severity(&self, percent: f64) -> Severity {
        let lines = &self.thresholds;
        let severities = [
            lines.comm_critical_percent,
            lines.comm_high_percent,
            lines.comm_medium_percent,
            lines.comm_low_percent,
        ];
        Severity::above(percent, severities)
    }
}

/// A collective over the links of a host takes about this long, however small its message: its ranks wait for each
/// other's data twice, some microseconds each.
pub(super) const LATENCY_NS: i64 = 5_000;

/// From this mean size on, the bytes of a copy cost more than its launch.
const LARGE_BYTES: u64 = 1_000_000;

#[derive(Debug, Clone)]
pub(crate) struct CopyAssessment {
    pub(crate) direction: Direction,
    pub(crate) copies: Copies,
    /// Share of the run; with several GPUs, for the one that copies longest.
    pub(crate) percent: f64,
    pub(crate) by_time: Severity,
    pub(crate) by_count: Severity,
    /// Severity of the time that it costs: in which nothing else runs, or the CPU waits.
    by_cost: Severity,
    /// It takes enough time to matter.
    pub(crate) is_material: bool,
    pub(crate) is_flagged: bool,
    pub(super) are_pinned: bool,
    pub(super) are_pageable: bool,
    pub(super) are_large: bool,
    /// Copies that are hidden by other kernels already do what could be advised.
    pub(super) are_hidden: bool,
    /// Kernels of their GPU without concurrent copies in this direction: how much more of these can be hidden.
    pub(super) free_ns: i64,
    /// Most of their time comes from `DistributedDataParallel`, which copies these.
    pub(super) of_ddp: Vec<DdpCopy>,
}

impl CopyAssessment {
    fn new(facts: &Facts, direction: Direction, copies: &Copies) -> CopyAssessment {
        let lines = &facts.thresholds;
        let percent = facts.percent(copies.on_one_gpu.time_ns);
        let count = copies.count as f64;
        let origins = || facts.copies.origins_of(direction);
        // These could be hidden by computation if the memory were pinned.
        let pageable = origins().filter(|(origin, _)| origin.memory == Some(HostMemory::Pageable));
        let pageable_ns = sum(pageable.map(|(_, copies)| copies.on_one_gpu.exposed_ns));
        let of_time = [
            lines.copy_critical_percent,
            lines.copy_high_percent,
            lines.copy_medium_percent,
            lines.copy_low_percent,
        ];
        let of_count = [
            lines.copy_critical_count,
            lines.copy_high_count,
            lines.copy_medium_count,
            lines.copy_low_count,
        ];
        let cost_ns = copies.on_one_gpu.cost_ns();
        let cost_percent = facts.percent(cost_ns);
        let ddp_ns = |of_ddp: DdpCopy| {
            let asked = origins().filter(|(origin, _)| origin.of_ddp == Some(of_ddp));
            sum(asked.map(|(_, copies)| copies.time_ns))
        };
        let is_of_ddp = sum(DdpCopy::ALL.map(ddp_ns)) > copies.time_ns / 2;
        let of_ddp = DdpCopy::ALL.into_iter();
        CopyAssessment {
            direction,
            copies: copies.clone(),
            percent,
            by_time: Severity::above(percent, of_time),
            by_cost: Severity::above(cost_percent, of_time),
            by_count: Severity::above(count, of_count),
            is_material: percent > lines.copy_low_percent,
            // A copy that is hidden by other kernels and that nobody waits for costs nothing.
            is_flagged: cost_ns > 0
                && (cost_percent > lines.copy_high_percent
                    || count > lines.copy_medium_count
                    || facts.percent(pageable_ns) > lines.copy_medium_percent),
            are_pinned: origins().all(|(origin, _)| origin.memory == Some(HostMemory::Pinned)),
            are_pageable: origins().all(|(origin, _)| origin.memory == Some(HostMemory::Pageable)),
            are_large: copies.avg_bytes().is_some_and(|bytes| bytes >= LARGE_BYTES),
            are_hidden: copies.on_one_gpu.is_hidden(),
            free_ns: {
                let OnOneGpu {
                    time_ns,
                    exposed_ns,
                    ..
                } = copies.on_one_gpu;
                let (gpu, hidden_ns) = (&facts.most_memcpy, time_ns.saturating_sub(exposed_ns));
                let kernels_ns = gpu.computation_ns.saturating_add(gpu.exposed_comm_ns);
                kernels_ns.saturating_sub(hidden_ns).max(0)
            },
            of_ddp: of_ddp
                .filter(|of_ddp| is_of_ddp && ddp_ns(*of_ddp) > 0)
                .collect(),
        }
    }

    /// What a host with the slowest link that GPUs for computation have reaches with pinned memory, in GB/s.
    pub(super) const PINNED_GBPS: f64 = 12.0;

    /// Whether large copies of pinned memory reach less than half of what the slowest such link carries.
    pub(super) fn is_link_slow(&self) -> bool {
        let gbps = self.copies.gbps();
        self.are_pinned && self.are_large && gbps.is_some_and(|gbps| gbps < Self::PINNED_GBPS / 2.0)
    }

    /// What large copies of pageable memory take beyond their time from pinned memory, while nothing else runs.
    pub(super) fn saved_by_pinning_ns(&self) -> Option<i64> {
        let applies = self.direction.leaves() && self.are_pageable && self.are_large;
        let gbps = self.copies.gbps().filter(|_| applies)?;
        let saved = (1.0 - gbps / Self::PINNED_GBPS).max(0.0);
        Some((self.copies.on_one_gpu.exposed_ns as f64 * saved).round() as i64)
    }

    /// What hiding or avoiding them saves: for copies over a link, kernels that could hide them limit its lower end, and
    /// so does the time that pinned memory saves.
    pub(super) fn impact(&self) -> Impact {
        let all = Impact::at_most(self.copies.on_one_gpu.exposed_ns);
        let low_ns = match self.direction.leaves() {
            true => {
                let faster_ns = self.saved_by_pinning_ns().unwrap_or(0);
                all.low_ns.min(self.free_ns.max(faster_ns))
            }
            false => all.low_ns,
        };
        Impact {
            low_ns,
            mid_ns: low_ns + (all.high_ns - low_ns) / 2,
            ..all
        }
    }

    /// What no overlap can hide of copies over a link, because too few kernels run.
    pub(super) fn beyond_overlap_ns(&self) -> Option<i64> {
        let left_ns = self
            .copies
            .on_one_gpu
            .exposed_ns
            .saturating_sub(self.free_ns);
        (self.direction.leaves() && left_ns > 0).then_some(left_ns)
    }

    /// The bytes determine their time: most of what is exposed can be saved by moving fewer of them alone.
    pub(super) fn are_bound_by_link(&self) -> bool {
        let beyond_ns = self.beyond_overlap_ns().unwrap_or(0);
        self.are_pinned && self.are_large && beyond_ns > self.copies.on_one_gpu.exposed_ns / 2
    }

    /// The count raises the severity of the time by at most one level, and copies hidden by other kernels are at most
    /// one level above their cost.
    pub(crate) fn severity(&self) -> Severity {
        let severity = self.by_time.max(self.by_count.min(self.by_time.worse()));
        severity.min(self.by_cost.worse())
    }
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Blocking {
    /// Share of the run; the mean if there are several GPUs.
    pub(crate) percent: f64,
    /// Severity of what hiding it saves.
    pub(crate) severity: Severity,
    pub(crate) is_flagged: bool,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Overlap {
    /// `None` if there is no communication.
    pub(crate) percent: Option<f64>,
    /// `None` if there is too little communication to rate.
    pub(crate) severity: Option<Severity>,
    /// Below the target.
    pub(crate) is_flagged: bool,
}

impl Overlap {
    /// The level, in the terms of the scale; good if there is nothing to do.
    pub(crate) fn label(self) -> &'static str {
        match (self.percent, self.severity) {
            (None, _) => "NONE",
            (_, None) => "INSUFFICIENT",
            (_, Some(Severity::Acceptable)) => "GOOD",
            (_, Some(severity)) => severity.label(),
        }
    }
}
