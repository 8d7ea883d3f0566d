//! How bad copies, communication and their overlap are.

use super::collectives::{CollectiveSummary, Waits, collectives};
use super::copies::{Copies, CopySummary, Direction, HostMemory, copies};
use super::exposed::Spans;
use crate::assess::Thresholds;
use crate::base::interval::{percent_of, sum};
use crate::findings::{Input, Severity};
use crate::profile::kernels::Running;
use crate::profile::timeline::GpuTimeline;

/// All that the analysis rests on.
#[derive(Debug)]
pub(super) struct Facts {
    /// Of several GPUs the mean.
    pub(super) timeline: GpuTimeline,
    pub(super) copies: CopySummary,
    pub(super) collectives: CollectiveSummary,
    /// From the same spans as the copies and collectives, to be held against the timeline.
    pub(super) own: GpuTimeline,
    /// The GPU whose communication could be hidden: of several the one that communicates and has
    /// least of that exposed, because the others wait for it.
    pub(super) hideable: GpuTimeline,
    /// Copies while nothing else runs; of several GPUs those of the one that has most of them.
    pub(super) exposed_memcpy_ns: i64,
    /// GPUs whose work is in the trace, at least one.
    pub(super) n_gpus: usize,
    pub(super) is_training: bool,
    /// What the links of the GPU to others carry each way, by its profile.
    pub(super) link_gbps: Option<f64>,
    pub(super) thresholds: Thresholds,
}

impl Facts {
    /// `None` without GPU work, or where all of it has no length.
    pub(super) fn new(input: &Input) -> Option<Facts> {
        let timelines = input.timelines;
        let timeline = timelines.of_one_gpu()?;
        let timeline = Some(timeline).filter(|whole| whole.total_ns() > 0)?;
        let profile = input.profile;
        let work = || profile.gpu.of(timelines.events);
        let running: Vec<Running> = profile.running(timelines.events).collect();
        let own = Spans::new(&running, |span| profile.gpu_span(span))?;
        Some(Facts {
            copies: copies(input, work(), &own.memcpy),
            collectives: collectives(input, work(), &own.communication),
            own: own.timeline,
            exposed_memcpy_ns: own.most_memcpy_ns,
            hideable: match timelines.gpus.is_empty() {
                true => timeline,
                false => own.least_exposed.unwrap_or(timeline),
            },
            timeline,
            n_gpus: timelines.gpus.len().max(1),
            is_training: input.is_training(),
            // The profile has both directions together.
            link_gbps: input
                .gpu()
                .and_then(|gpu| gpu.link_gbps)
                .map(|gbps| gbps / 2.0),
            thresholds: input.options.thresholds,
        })
    }

    /// What of a time of all GPUs is that of one: the mean.
    pub(super) fn of_one_gpu(&self, ns: i64) -> i64 {
        i64::try_from(self.n_gpus).map_or(ns, |n_gpus| ns / n_gpus)
    }

    /// Share of the run.
    pub(super) fn percent(&self, ns: i64) -> f64 {
        percent_of(ns, self.timeline.total_ns()).unwrap_or(0.0)
    }

    pub(super) fn assess(&self, direction: Direction) -> Option<CopyAssessment> {
        self.copies
            .of(direction)
            .map(|copies| CopyAssessment::new(self, direction, copies))
    }

    pub(super) fn copy_assessments(&self) -> Vec<CopyAssessment> {
        let directions = self.copies.directions.iter();
        directions
            .filter_map(|(direction, _)| self.assess(*direction))
            .collect()
    }

    pub(super) fn blocking(&self) -> BlockingAssessment {
        let thresholds = &self.thresholds;
        let percent = self.percent(self.timeline.exposed_comm_ns);
        let won_percent = self.percent(self.hideable.exposed_comm_ns);
        let severity = Severity::above(
            won_percent,
            [
                thresholds.comm_critical_percent,
                thresholds.comm_high_percent,
                thresholds.comm_medium_percent,
                thresholds.comm_low_percent,
            ],
        );
        BlockingAssessment {
            percent,
            severity,
            is_flagged: won_percent > thresholds.comm_medium_percent,
        }
    }

    /// What GPUs wait for the last one in collectives, where that is much of the run.
    pub(super) fn uneven(&self) -> Option<Uneven> {
        let thresholds = &self.thresholds;
        let waits = self.collectives.waits?;
        let percent = self.percent(waits.mean_ns);
        (percent > thresholds.comm_medium_percent).then(|| Uneven {
            waits,
            percent,
            severity: Severity::above(
                percent,
                [
                    thresholds.comm_critical_percent,
                    thresholds.comm_high_percent,
                    thresholds.comm_medium_percent,
                    thresholds.comm_low_percent,
                ],
            ),
        })
    }

    pub(super) fn overlap(&self) -> Overlap {
        let thresholds = &self.thresholds;
        let (exposed_ns, all_ns) = (self.timeline.exposed_comm_ns, self.timeline.comm_ns);
        if all_ns <= 0 {
            return Overlap::None;
        }
        // 1 − exposed / all, in percent.
        let percent = (all_ns - exposed_ns) as f64 * 100.0 / all_ns as f64;
        if (all_ns as f64) < thresholds.comm_least_us * 1e3 {
            return Overlap::Insufficient { percent };
        }
        Overlap::Known {
            percent,
            severity: Severity::below(
                percent,
                [
                    thresholds.overlap_critical_percent,
                    thresholds.overlap_high_percent,
                    thresholds.overlap_target_percent,
                ],
            ),
            is_flagged: percent < thresholds.overlap_target_percent,
        }
    }
}

/// Copies in one direction.
#[derive(Debug, Clone)]
pub(super) struct CopyAssessment {
    pub(super) direction: Direction,
    pub(super) copies: Copies,
    /// Share of the run; of several GPUs that of the one that copies longest.
    pub(super) percent: f64,
    pub(super) by_time: Severity,
    pub(super) by_count: Severity,
    /// Of the time that it costs: in which nothing else runs, or the host waits.
    by_cost: Severity,
    /// Enough time to matter.
    pub(super) is_material: bool,
    pub(super) is_flagged: bool,
}

impl CopyAssessment {
    fn new(facts: &Facts, direction: Direction, copies: &Copies) -> CopyAssessment {
        let thresholds = &facts.thresholds;
        let percent = facts.percent(copies.of_one.time_ns);
        let count = copies.count as f64;
        // They could run beside computation, were the memory pinned.
        let pageable = facts.copies.askers_of(direction);
        let pageable = pageable.filter(|(asker, _)| asker.memory == Some(HostMemory::Pageable));
        let pageable_ns = sum(pageable.map(|(_, copies)| copies.of_one.exposed_ns));
        let by_time = |percent: f64| {
            Severity::above(
                percent,
                [
                    thresholds.copy_critical_percent,
                    thresholds.copy_high_percent,
                    thresholds.copy_medium_percent,
                    thresholds.copy_low_percent,
                ],
            )
        };
        let cost_ns = copies.of_one.cost_ns();
        let cost_percent = facts.percent(cost_ns);
        CopyAssessment {
            direction,
            copies: copies.clone(),
            percent,
            by_time: by_time(percent),
            by_cost: by_time(cost_percent),
            by_count: Severity::above(
                count,
                [
                    thresholds.copy_critical_count,
                    thresholds.copy_high_count,
                    thresholds.copy_medium_count,
                    thresholds.copy_low_count,
                ],
            ),
            is_material: percent > thresholds.copy_low_percent,
            // What runs beside other work, and nobody waits for, costs nothing.
            is_flagged: cost_ns > 0
                && (cost_percent > thresholds.copy_high_percent
                    || count > thresholds.copy_medium_count
                    || facts.percent(pageable_ns) > thresholds.copy_medium_percent),
        }
    }

    /// A hundred tiny copies that cost a ten-thousandth of the run are not critical: the count
    /// raises what the time says by one level at most. And copies beside other work are not more
    /// than one level above what they cost.
    pub(super) fn severity(&self) -> Severity {
        let severity = self.by_time.max(self.by_count.min(self.by_time.worse()));
        severity.min(self.by_cost.worse())
    }
}

/// Communication that nothing hides.
#[derive(Debug, Clone, Copy)]
pub(super) struct BlockingAssessment {
    /// Share of the run; of several GPUs in the mean.
    pub(super) percent: f64,
    /// Of what hiding it wins.
    pub(super) severity: Severity,
    pub(super) is_flagged: bool,
}

/// GPUs that wait for each other.
#[derive(Debug, Clone, Copy)]
pub(super) struct Uneven {
    pub(super) waits: Waits,
    /// Share of the run that a GPU waits, in the mean.
    pub(super) percent: f64,
    pub(super) severity: Severity,
}

/// How much of the communication runs beside computation.
#[derive(Debug, Clone, Copy)]
pub(super) enum Overlap {
    /// There is no communication.
    None,
    /// Too little of it to judge.
    Insufficient { percent: f64 },
    /// Enough of it.
    Known {
        percent: f64,
        severity: Severity,
        is_flagged: bool,
    },
}

impl Overlap {
    pub(super) fn percent(self) -> Option<f64> {
        match self {
            Overlap::None => None,
            Overlap::Insufficient { percent } | Overlap::Known { percent, .. } => Some(percent),
        }
    }

    pub(super) fn severity(self) -> Option<Severity> {
        match self {
            Overlap::Known { severity, .. } => Some(severity),
            _ => None,
        }
    }

    pub(super) fn is_flagged(self) -> bool {
        matches!(
            self,
            Overlap::Known {
                is_flagged: true,
                ..
            }
        )
    }

    /// The level, in the words of the scale: good where there is nothing to do.
    pub(super) fn label(self) -> &'static str {
        match self {
            Overlap::None => "NONE",
            Overlap::Insufficient { .. } => "INSUFFICIENT",
            Overlap::Known {
                severity: Severity::Acceptable,
                ..
            } => "GOOD",
            Overlap::Known { severity, .. } => severity.label(),
        }
    }
}
