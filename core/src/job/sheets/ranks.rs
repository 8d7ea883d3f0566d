//! Sheets `ranks` and `rank_steps`: where the time of each rank went, in total and step by step.

use super::Input;
use super::step_times::{Breakdown, RankStep, TimeBy, Waits, added};
use super::table::{Body, Col, body, columns, float, int, joined, known, ms, ms_of, text};
use crate::base::interval::{percent_of, sum};
use crate::base::value::rounded;
use crate::job::Rank;
use crate::job::clocks::Clock;
use crate::job::digest::{GpuTime, OwnTime};
use crate::report::sheet::Cell;

pub(super) fn rank_steps<'a>() -> Vec<Col<&'a RankStep<'a>>> {
    let before = columns![&RankStep:
        "rank", Count, |of| int(of.rank.number), "The rank, by its number in the job.";
        "step", Count, |of| int(of.number), "The number of the step.";
        "step time ms", Ms, |of| ms(of.time_ns), "How long it took.";
        "step time is", Text, |of| text(of.time_by.label()), "`collectives`: from the end of the last collective of all ranks in the step before to that in this one. `CPU`: the profiler's step on the CPU, where that is not known.";
        "CPU step ms", Ms, |of| ms(of.step.host.length()), "The profiler's step on the CPU.";
        "GPU span ms", Ms, |of| of.breakdown().gpu_ms(|gpu| gpu.span.length()), "From the first to the last GPU activity of the step.";
        "computation ms", Ms, |of| of.breakdown().gpu_ms(|gpu| gpu.computation_ns), "Kernels compute.";
    ];
    let between = columns![&RankStep:
        "data loading ms", Ms, |of| ms(of.step.loading_ns), "The CPU loads data.";
        "collectives", Count, |of| known(of.breakdown.waits.map(|of| of.collectives)), "Collectives of the step that were matched with those of other ranks.";
        "waiting ms", Ms, |of| waits_ms(of.breakdown.waits, |of| of.waited_ns), "How long kernels of its own waited for the last rank to start, in collectives that none can leave before all have started, summed; those that overlap count each.";
        "transfer ms", Ms, |of| waits_ms(of.breakdown.waits, |of| of.transfer_ns), "How long data moved in all of them, from the last start to the first end, in kernels of its own, summed likewise.";
    ];
    let behind = columns![&RankStep:
        "work between collectives ms", Ms, |of| ms(of.step.between_ns), "Kernels compute between the first and the last collective of the step.";
        "work imbalance", Number, |of| float(of.imbalance), "The largest of these times of all ranks over the mean one.";
    ];
    joined([before, exposed(), between, share_and_delay(), behind])
}

/// A row about a rank, in total or in a step.
trait HasBreakdown {
    fn breakdown(&self) -> &Breakdown<'_>;
}

impl HasBreakdown for &RankStep<'_> {
    fn breakdown(&self) -> &Breakdown<'_> {
        &self.breakdown
    }
}

impl HasBreakdown for Row<'_> {
    fn breakdown(&self) -> &Breakdown<'_> {
        &self.breakdown
    }
}

/// The parts of GPU time that are not computation.
fn exposed<R: HasBreakdown>() -> Vec<Col<R>> {
    columns![R:
        "exposed communication ms", Ms, |of| of.breakdown().gpu_ms(|gpu| gpu.exposed_comm_ns), "Communication, waiting for other ranks included, while nothing computes.";
        "exposed copies ms", Ms, |of| of.breakdown().gpu_ms(|gpu| gpu.exposed_copies_ns), "Copies while nothing computes or communicates.";
        "idle ms", Ms, |of| of.breakdown().gpu_ms(|gpu| gpu.idle_ns), "Nothing runs on the GPU.";
    ]
}

/// How often it was last, how much longer than its peers it needs, and where its own time goes.
fn share_and_delay<R: HasBreakdown>() -> Vec<Col<R>> {
    columns![R:
        "times last", Count, |of| known(of.breakdown().waits.map(|of| of.last)), "In how many collectives that none can leave before all have started it started last.";
        "last share (%)", Percent, |of| float(of.breakdown().waits.and_then(last_share)), "That in percent of its collectives of that kind.";
        "waits caused ms", Ms, |of| waits_ms(of.breakdown().waits, |of| of.caused_ns), "How long others waited where it was last, summed; it may have been last because it waited elsewhere.";
        "delay ms", Ms, |of| ms_of(of.breakdown().delay.map(|of| of.excess.total_ns)), "The score: by how much its own time was longer than that of its peers, before all collectives.";
        "delay by work ms", Ms, |of| ms_of(of.breakdown().delay.map(|of| of.excess.work_ns)), "Of that: kernels that compute.";
        "delay by copies ms", Ms, |of| ms_of(of.breakdown().delay.map(|of| of.excess.copies_ns)), "Of that: copies.";
        "delay by late launches ms", Ms, |of| ms_of(of.breakdown().delay.map(|of| of.excess.late_ns)), "Of that: the CPU had not launched what runs next.";
        "delay by idle ms", Ms, |of| ms_of(of.breakdown().delay.map(|of| of.excess.idle_ns)), "Of that: the rest.";
        "same-work ratio", Number, |of| float(of.breakdown().ratio), "How many times as long the same kernels with the same operator and shapes took as at the median of all ranks.";
        "own time ms", Ms, |of| ms(of.breakdown().own.total_ns), "The rank's own time: before each collective since the one that ended last, summed.";
        "own work ms", Ms, |of| ms(of.breakdown().own.work_ns), "Of that: kernels compute.";
        "own copies ms", Ms, |of| ms(of.breakdown().own.copies_ns), "Of that: copies run and nothing computes.";
        "own late ms", Ms, |of| ms(of.breakdown().own.late_ns), "Of that: nothing runs, and what runs next was not launched yet.";
        "own idle ms", Ms, |of| ms(of.breakdown().own.idle_ns()), "Of that: nothing runs although it was launched, or another collective runs.";
    ]
}

fn last_share(waits: Waits) -> Option<f64> {
    percent_of(
        i64::try_from(waits.last).ok()?,
        i64::try_from(waits.waiting).ok()?,
    )
}

/// Empty if no collective was matched.
fn waits_ms(waits: Option<Waits>, of: fn(&Waits) -> i64) -> Cell {
    ms_of(waits.filter(|waits| waits.collectives > 0).as_ref().map(of))
}

pub(super) fn rank_steps_body(input: &Input) -> Body<'static> {
    body(&rank_steps(), &input.steps)
}

/// A rank with the data of its columns.
pub(super) struct Row<'a> {
    rank: &'a Rank,
    host: &'a str,
    clock: Option<&'a Clock>,
    stage: Option<usize>,
    place: String,
    n_steps: usize,
    step_ns: Option<i64>,
    breakdown: Breakdown<'a>,
}

impl Row<'_> {
    fn part_us(&self, of: fn(&GpuTime) -> i64) -> Cell {
        float(self.breakdown.gpu.map(|gpu| of(gpu) as f64 / 1e3))
    }

    fn share(&self, of: fn(&GpuTime) -> i64) -> Cell {
        let share = self
            .breakdown
            .gpu
            .and_then(|gpu| percent_of(of(gpu), gpu.span.length()));
        float(share.map(|share| rounded(share, 2)))
    }

    fn overlap(&self) -> Cell {
        let hidden = |gpu: &GpuTime| percent_of(gpu.comm_ns - gpu.exposed_comm_ns, gpu.comm_ns);
        float(
            self.breakdown
                .gpu
                .and_then(hidden)
                .map(|share| rounded(share, 2)),
        )
    }
}

/// Time in which something runs that does not compute, as HTA counts it.
fn other_ns(gpu: &GpuTime) -> i64 {
    gpu.exposed_comm_ns.saturating_add(gpu.exposed_copies_ns)
}

pub(super) fn ranks<'a>() -> Vec<Col<Row<'a>>> {
    let before = columns![Row:
        "rank", Count, |of| int(of.rank.number), "The rank, by its number in the job.";
        "host", Text, |of| text(of.host), "Its host.";
        "device", Text, |of| text(&of.rank.digest.identity.device), "The first GPU that its trace describes.";
        "stage", Count, |of| known(of.stage), "Its stage, from 0, where the job has a pipeline.";
        "coordinates", Text, |of| text(&of.place), "Its position in its group of each dimension of the layout, from 0, the innermost first.";
        "steps", Count, |of| int(of.n_steps), "How many steps were recorded.";
        "step time mean ms", Ms, |of| ms_of(of.step_ns), "Mean of the step times of rank_steps: of those between collectives of all ranks where there are any.";
        "computation ms", Ms, |of| of.breakdown().gpu_ms(|gpu| gpu.computation_ns), "Kernels compute, over the whole trace.";
    ];
    let linked = columns![Row:
        "exposed communication (linked) ms", Ms, |of| ms_of(of.rank.digest.attributed.map(|gpu| gpu.exposed_comm_ns)), "Exposed communication of GPU activity alone whose launching call was recorded, as TraceLens counts by default.";
    ];
    let waits = columns![Row:
        "waiting ms", Ms, |of| waits_ms(of.breakdown.waits, |of| of.waited_ns), "How long kernels of its own waited in collectives of steps for the last rank to start, in those that none can leave before all have started, summed.";
        "transfer ms", Ms, |of| waits_ms(of.breakdown.waits, |of| of.transfer_ns), "How long data moved in all collectives of steps, from the last start to the first end, in kernels of its own, summed.";
        "collectives", Count, |of| known(of.breakdown.waits.map(|of| of.collectives)), "How many these are.";
    ];
    let behind = columns![Row:
        "offset µs", Us, |of| float(of.clock.map(|clock| clock.offset_ns / 1e3)), "By how much its clock is ahead of that of the first rank, in the middle of the recording; empty if unknown.";
        "offset ± µs", Us, |of| float(of.clock.map(|clock| clock.spread_ns / 1e3)), "The median deviation of what that was estimated from.";
        "idle_time(us)", Us, |of| of.part_us(|gpu| gpu.idle_ns), "As HTA's temporal breakdown: nothing runs between the first start and the last end of GPU activity.";
        "compute_time(us)", Us, |of| of.part_us(|gpu| gpu.computation_ns), "As HTA: at least one kernel computes.";
        "non_compute_time(us)", Us, |of| of.part_us(other_ns), "As HTA: communication or copies run, and nothing computes.";
        "kernel_time(us)", Us, |of| of.part_us(|gpu| gpu.span.length()), "As HTA: from the first start to the last end of GPU activity.";
        "idle_time_pctg", Percent, |of| of.share(|gpu| gpu.idle_ns), "As HTA: share of kernel_time(us).";
        "compute_time_pctg", Percent, |of| of.share(|gpu| gpu.computation_ns), "As HTA: share of kernel_time(us).";
        "non_compute_time_pctg", Percent, |of| of.share(other_ns), "As HTA: share of kernel_time(us).";
        "comp_comm_overlap_pctg", Percent, |of| of.overlap(), "As HTA: share of the time of communication in which kernels compute, too.";
        "warnings", Count, |of| int(of.rank.digest.warnings.len()), "Kinds of warnings about its trace; job_quality lists them.";
        "file", Text, |of| text(&of.rank.digest.file.name), "Its file.";
        "rank is by", Text, |of| text(of.rank.digest.identity.rank_from.label()), "What tells that the file is of this rank: its metadata, the trace that several are merged into, its collectives, or the name or the coordinates of the file.";
    ];
    joined([before, exposed(), linked, waits, share_and_delay(), behind])
}

pub(super) fn ranks_body(input: &Input) -> Body<'static> {
    let job = input.job;
    let rows = job.ranks.iter().enumerate().map(|(at, rank)| {
        let own = || {
            input
                .steps
                .iter()
                .filter(|step| step.rank.number == rank.number)
        };
        let times = |by: TimeBy| {
            let times = own().filter(move |step| step.time_by == by);
            times.map(|step| step.time_ns).collect::<Vec<i64>>()
        };
        let times = Some(times(TimeBy::Collectives)).filter(|times| !times.is_empty());
        let times = times.unwrap_or_else(|| own().map(|step| step.time_ns).collect());
        let n = i64::try_from(times.len()).ok().filter(|n| *n > 0);
        let waits = own()
            .filter_map(|step| step.breakdown.waits)
            .reduce(Waits::and);
        let clock = job.clocks.of_rank.get(at).filter(|clock| clock.is_joined);
        Row {
            rank,
            host: job.hosts.get(rank.host).map_or("", String::as_str),
            clock,
            stage: input.layout.stage(at),
            place: input.layout.place(at),
            n_steps: rank.digest.steps.len(),
            step_ns: n.map(|n| sum(times) / n),
            breakdown: Breakdown {
                gpu: rank.digest.gpu.as_ref(),
                own: (rank.digest.collectives.iter())
                    .filter_map(|of| of.own)
                    .fold(OwnTime::default(), added),
                waits,
                delay: input.analysis.delays.of_ranks.get(at),
                ratio: input
                    .analysis
                    .same_work
                    .of_ranks
                    .get(at)
                    .and_then(|same| same.ratio()),
            },
        }
    });
    body(&ranks(), rows)
}
