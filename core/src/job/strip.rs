//! A step of all ranks, one below the other on the common clock, ready to be drawn.
//!
//! A rank's own time before a collective is only known as totals, so the order of its parts is arbitrary here.

use std::cmp::Reverse;

use serde::{Deserialize, Serialize};

use super::Job;
use super::analysis::Analysis;
use super::analysis::flow::{Node, Part};
use super::analysis::unfinished::sized;
use super::sheets::waits_in;
use crate::base::interval::sum;
use crate::base::sort::Arrange;

/// If there are more ranks, those are shown that cause the most delay in the step.
pub const MOST_LANES: usize = 64;

/// A step, ready to be drawn. Times are nanoseconds after the earliest one, on the common clock.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct StepStrip {
    /// Its index among the steps of the job.
    pub step: u32,
    /// Until the last end.
    pub length_ns: i64,
    /// Whether times of different ranks can be compared; if not, it is unknown which ranks waited.
    pub are_clocks_known: bool,
    /// The ranks that are shown, sorted by number.
    pub lanes: Vec<StripLane>,
    /// Sorted by start.
    pub collectives: Vec<StripCollective>,
}

/// A rank in a step.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct StripLane {
    /// Its index among the ranks of the job.
    pub rank: u32,
    /// Sorted by start.
    pub parts: Vec<StripPart>,
}

/// What a rank did in a collective, and before it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StripPart {
    /// Index into [`StepStrip::collectives`].
    pub collective: u32,
    /// When the rank's own time before it started.
    pub since_ns: i64,
    /// When the rank started the collective.
    pub start_ns: i64,
    /// When the rank ended it.
    pub end_ns: i64,
    /// The part of its own time in which kernels computed.
    pub work_ns: i64,
    /// The part in which copies ran and nothing computed.
    pub copies_ns: i64,
    /// The part in which nothing ran because the next activity was not launched yet.
    pub late_ns: i64,
    /// The part in which nothing ran although the next activity was launched.
    pub idle_ns: i64,
    /// How long it waited in the collective for the last rank; 0 where unknown.
    pub wait_ns: i64,
    /// When it started, on the clock of its own trace.
    pub at_ns: i64,
}

impl StripPart {
    /// Time in the collective after all ranks have started it.
    pub fn transfer_ns(&self) -> i64 {
        self.end_ns
            .saturating_sub(self.start_ns)
            .saturating_sub(self.wait_ns)
            .max(0)
    }
}

/// A collective of a step.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct StripCollective {
    /// "all-reduce of 16.8 MB".
    pub label: String,
    /// Its group: "mesh_tp 3", "ranks 3 and 7"; empty where the traces do not name it.
    pub between: String,
    /// The kernel of its first rank, or without a GPU the operator.
    pub kernel: String,
    /// The number of the rank that started last; `None` where unknown.
    pub last: Option<u32>,
    /// From the first start to the last.
    pub skew_ns: i64,
    /// The waits of all ranks, summed.
    pub wait_ns: i64,
    /// From the last start to the first end.
    pub transfer_ns: i64,
    /// How many of its ranks were read.
    pub n_read: u32,
    /// How many took part.
    pub n_ranks: u32,
}

impl StepStrip {
    /// Builds the strip of the step with this index; `rank`, also an index, is always shown.
    pub fn new(job: &Job, analysis: &Analysis, step: usize, rank: Option<usize>) -> StepStrip {
        let shown = shown(job, analysis, step, rank);
        let mut lanes: Vec<StripLane> = shown
            .iter()
            .map(|rank| StripLane {
                rank: *rank as u32,
                parts: Vec::new(),
            })
            .collect();
        let mut collectives = Vec::new();
        let of_step = analysis
            .flow
            .nodes
            .iter()
            .filter(|node| node.step == Some(step));
        for node in of_step {
            let parts = analysis.flow.parts_of(node);
            let lane = |part: &Part| shown.binary_search(&part.rank).ok();
            if !parts.iter().any(|part| lane(part).is_some()) {
                continue;
            }
            let waits = waits_in(job, analysis, node).into_iter();
            let waits: Vec<i64> = waits.map(Option::unwrap_or_default).collect();
            let at = collectives.len() as u32;
            for (part, wait_ns) in parts.iter().zip(&waits) {
                let lane = lane(part).and_then(|at| lanes.get_mut(at));
                if let (Some(lane), Some((_, own))) = (lane, part.recorded(job)) {
                    let ns = part.own.unwrap_or_default();
                    lane.parts.push(StripPart {
                        collective: at,
                        since_ns: part.since_ns.min(part.span.start_ns),
                        start_ns: part.span.start_ns,
                        end_ns: part.span.end_ns,
                        work_ns: ns.work_ns,
                        copies_ns: ns.copies_ns,
                        late_ns: ns.late_ns,
                        idle_ns: ns.idle_ns(),
                        wait_ns: *wait_ns,
                        at_ns: own.span.start_ns,
                    });
                }
            }
            collectives.push(collective(job, node, parts, &waits));
        }
        for lane in &mut lanes {
            lane.parts
                .arrange_by_key(|part| (part.start_ns, part.collective));
        }
        StepStrip {
            step: step as u32,
            length_ns: from_first(&mut lanes),
            are_clocks_known: job.clocks.are_comparable,
            lanes,
            collectives,
        }
    }
}

/// Counts the times of all parts from the first of them. Returns when the last part ends.
fn from_first(lanes: &mut [StripLane]) -> i64 {
    let parts = || lanes.iter().flat_map(|lane| &lane.parts);
    let origin_ns = parts().map(|part| part.since_ns).min().unwrap_or(0);
    let end_ns = parts().map(|part| part.end_ns).max().unwrap_or(0);
    for part in lanes.iter_mut().flat_map(|lane| &mut lane.parts) {
        for ns in [&mut part.since_ns, &mut part.start_ns, &mut part.end_ns] {
            *ns = ns.saturating_sub(origin_ns);
        }
    }
    end_ns.saturating_sub(origin_ns)
}

/// The indices of the ranks to show, sorted.
fn shown(job: &Job, analysis: &Analysis, step: usize, rank: Option<usize>) -> Vec<usize> {
    let mut ranks: Vec<usize> = (0..job.ranks.len()).collect();
    if ranks.len() > MOST_LANES {
        let delay_ns = |rank: usize| {
            let delay = analysis.delays.of(step, rank);
            delay.map_or(0, |delay| delay.excess.total_ns)
        };
        ranks.arrange_by_key(|of| (Reverse(Some(*of) == rank), Reverse(delay_ns(*of)), *of));
        ranks.truncate(MOST_LANES);
        ranks.arrange_by_key(|rank| *rank);
    }
    ranks
}

fn collective(job: &Job, node: &Node, parts: &[Part], waits: &[i64]) -> StripCollective {
    let first = parts.first().and_then(|part| part.recorded(job));
    let matched = node.collective(job);
    let label = first.map_or_else(String::new, |(digest, of)| {
        let kind = matched
            .map_or_else(|| digest.kind(of), |of| of.kind)
            .label();
        sized(digest, of, kind)
    });
    let between = match matched.map(|of| (of.pair, of.group)) {
        Some((Some((from, to)), _)) => format!("rank {from} to rank {to}"),
        Some((None, Some(group))) => job
            .groups
            .get(group)
            .map_or_else(String::new, |group| group.label()),
        _ => String::new(),
    };
    let starts = || parts.iter().map(|part| part.span.start_ns);
    let skew_ns = starts().max().zip(starts().min());
    let is_known = job.clocks.are_comparable && parts.len() > 1;
    let last = parts.iter().max_by_key(|part| part.span.start_ns);
    StripCollective {
        label,
        between,
        kernel: first.map_or_else(String::new, |(digest, of)| {
            digest.text(of.kernel).to_owned()
        }),
        last: (last.filter(|_| is_known)).and_then(|part| job.number(part.rank)),
        skew_ns: skew_ns.map_or(0, |(last, first)| last.saturating_sub(first)),
        wait_ns: sum(waits.iter().copied()),
        transfer_ns: node.transfer_ns,
        n_read: parts.len() as u32,
        n_ranks: matched.map_or(parts.len(), |of| of.expected) as u32,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::testing::{MS, TestJob};

    /// Two hosts, the second 5 ms ahead; rank 1 is 3 ms late to the last of many all-reduces, and all move data for 1
    /// ms.
    fn job() -> Job {
        let mut job = TestJob::new(2).host(1, "b", 5 * MS, 0.0);
        job.step(7, 0, 100 * MS);
        for at in 0..30 {
            let (start, late) = (3 * at * MS, if at == 29 { MS } else { 0 });
            let spans = [
                (start + MS, start + 2 * MS + late),
                (start + MS + late, start + 2 * MS + late),
            ];
            job.run("0 default_pg", "allreduce", &[0, 1], &spans);
        }
        job.job()
    }

    #[test]
    fn who_waits_is_determined_on_one_clock() {
        let job = job();
        let strip = StepStrip::new(&job, &Analysis::new(&job), 0, None);
        assert!(strip.are_clocks_known);
        let ranks: Vec<u32> = strip.lanes.iter().map(|lane| lane.rank).collect();
        assert_eq!(ranks, [0, 1]);
        let last = strip.lanes.iter().filter_map(|lane| lane.parts.last());
        let last: Vec<(i64, i64, i64)> = last
            .map(|part| {
                (
                    part.work_ns / MS,
                    part.wait_ns / MS,
                    part.transfer_ns() / MS,
                )
            })
            .collect();
        // Rank 1 works 1 ms longer, and rank 0 waits for it.
        assert_eq!(last, [(2, 1, 1), (3, 0, 1)]);
        // On its own clock.
        let own = strip.lanes[1].parts.last().unwrap().at_ns;
        assert_eq!(own, (3 * 29 + 2 + 5) * MS);
        let collective = strip.collectives.last().unwrap();
        assert_eq!(
            (
                &*collective.label,
                &*collective.between,
                collective.last,
                collective.skew_ns / MS
            ),
            ("all-reduce of 4.19 MB", "default_pg 0", Some(1), 1)
        );
        assert_eq!((collective.n_read, collective.n_ranks), (2, 2));
        // From the first own time to the last end.
        assert_eq!(strip.length_ns / MS, 3 * 29 + 3);
    }

    #[test]
    fn of_many_ranks_those_are_shown_that_delay() {
        let ranks: Vec<u32> = (0..100).collect();
        let mut job = TestJob::new(100);
        job.step(1, 0, 50 * MS);
        let spans: Vec<(i64, i64)> = ranks
            .iter()
            .map(|rank| ((if *rank == 90 { 9 } else { 1 }) * MS, 10 * MS))
            .collect();
        job.run("0 default_pg", "allreduce", &ranks, &spans);
        let job = job.job();
        let analysis = Analysis::new(&job);
        let shown = |rank| {
            let strip = StepStrip::new(&job, &analysis, 0, rank);
            let ranks: Vec<u32> = strip.lanes.iter().map(|lane| lane.rank).collect();
            (ranks.len(), ranks.contains(&90), ranks.contains(&99))
        };
        assert_eq!(shown(None), (MOST_LANES, true, false));
        assert_eq!(shown(Some(99)), (MOST_LANES, true, true));
        let strip = StepStrip::new(&job, &analysis, 0, None);
        assert_eq!(
            (strip.collectives[0].n_read, strip.collectives[0].last),
            (100, Some(90))
        );
        // A step that does not exist is empty.
        assert_eq!(StepStrip::new(&job, &analysis, 5, None).collectives, []);
    }
}
