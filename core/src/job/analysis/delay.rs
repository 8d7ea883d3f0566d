//! Which rank delays the others: how much longer its own time before each collective is than that of its peers, and
//! what it is spent on. This needs no clock of another rank; waits do.

use serde::Serialize;

use super::flow::{Flow, Part};
use super::late_by::LateBy;
use crate::base::interval::sum;
use crate::base::map::Map;
use crate::job::Job;
use crate::job::digest::OwnTime;

/// How much longer parts of a rank's own time are than those of its peers, in nanoseconds; the parts add up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Excess {
    pub(crate) total_ns: i64,
    pub(crate) work_ns: i64,
    pub(crate) copies_ns: i64,
    pub(crate) late_ns: i64,
    pub(crate) idle_ns: i64,
}

impl Excess {
    /// Splits `ns` of excess in proportion to how much longer each part of the own time is than that of the peers.
    fn new(own: OwnTime, peers: OwnTime, ns: i64) -> Excess {
        let more = |own: i64, peers: i64| own.saturating_sub(peers).max(0);
        let by = [
            more(own.work_ns, peers.work_ns),
            more(own.copies_ns, peers.copies_ns),
            more(own.late_ns, peers.late_ns),
            more(own.idle_ns(), peers.idle_ns()),
        ];
        let all: i128 = by.iter().map(|ns| i128::from(*ns)).sum();
        let share = |by: i64| match all {
            0 => 0,
            all => (i128::from(ns) * i128::from(by) / all) as i64,
        };
        let [work_ns, copies_ns, late_ns, _] = by.map(share);
        // The rounding remainder goes to the largest part, or to idle time where nothing is longer.
        let rest = ns - by.map(share).iter().sum::<i64>();
        let most = by.iter().max().copied().filter(|most| *most > 0);
        let first = by.iter().position(|by| Some(*by) == most);
        let rest_of = |at: usize| if first == Some(at) { rest } else { 0 };
        let (work_ns, copies_ns) = (work_ns + rest_of(0), copies_ns + rest_of(1));
        let late_ns = late_ns + rest_of(2);
        Excess {
            total_ns: ns,
            work_ns,
            copies_ns,
            late_ns,
            idle_ns: ns - work_ns - copies_ns - late_ns,
        }
    }

    fn add(&mut self, other: Excess) {
        self.total_ns += other.total_ns;
        self.work_ns += other.work_ns;
        self.copies_ns += other.copies_ns;
        self.late_ns += other.late_ns;
        self.idle_ns += other.idle_ns;
    }
}

/// Delays of a rank in a step.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Delay {
    /// Summed over its collectives: the score. Time before several simultaneous collectives counts once.
    pub(crate) excess: Excess,
    /// What the CPU did while launches were late, and how much later they were than those of the peers.
    pub(crate) late_by: Vec<(LateBy, i64)>,
    /// Number of collectives for which other ranks were read, too.
    pub(crate) n: u32,
    /// Number of these that it started last.
    pub(crate) n_last: u32,
    /// How long it waited for others. This and the next two need comparable clocks.
    pub(crate) waited_ns: i64,
    /// An upper bound for how much of that was exposed: for each collective at most its exposed time.
    pub(crate) waited_exposed_ns: i64,
    /// How long others waited for it.
    pub(crate) caused_ns: i64,
}

impl Delay {
    pub(crate) fn add(&mut self, other: &Delay) {
        self.excess.add(other.excess);
        self.n += other.n;
        self.n_last += other.n_last;
        self.waited_ns = self.waited_ns.saturating_add(other.waited_ns);
        let exposed_ns = other.waited_exposed_ns;
        self.waited_exposed_ns = self.waited_exposed_ns.saturating_add(exposed_ns);
        self.caused_ns = self.caused_ns.saturating_add(other.caused_ns);
        for (by, ns) in &other.late_by {
            self.add_late(by, *ns);
        }
    }

    fn add_late(&mut self, by: &LateBy, ns: i64) {
        match self.late_by.iter_mut().find(|(known, _)| known == by) {
            Some((_, all)) => *all = all.saturating_add(ns),
            None => self.late_by.push((by.clone(), ns)),
        }
    }
}

/// Delays of all ranks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Delays {
    /// Indexed by step of the job, then by rank.
    pub(crate) of_steps: Vec<Vec<Delay>>,
    /// Indexed by rank, including what belongs to no step.
    pub(crate) of_ranks: Vec<Delay>,
}

impl Delays {
    pub(crate) fn new(job: &Job, flow: &Flow) -> Delays {
        let row = vec![Delay::default(); job.ranks.len()];
        let mut of_steps = vec![row.clone(); job.steps.len()];
        let mut outside = row.clone();
        // For each rank and start of own time, how much of it is already counted.
        let mut counted: Map<(usize, i64), i64> = Map::default();
        for node in &flow.nodes {
            let row = node.step.and_then(|at| of_steps.get_mut(at));
            let row = row.unwrap_or(&mut outside);
            for part in flow.parts_of(node) {
                let Some(delay) = row.get_mut(part.rank) else {
                    continue;
                };
                let counted = counted.entry((part.rank, part.since_ns)).or_default();
                add(job, delay, part, counted);
            }
            let parts = flow.parts_of(node);
            if !job.clocks.are_comparable
                || !node.waits_for_all
                || node.is_loose
                || parts.len() < 2
                || !parts.iter().all(|part| job.clocks.is_joined(part.rank))
            {
                continue;
            }
            let waits = |part: &Part| node.begin_ns.saturating_sub(part.span.start_ns);
            let caused = sum(parts.iter().map(waits));
            for (part, at) in parts.iter().zip(flow.places_of(node)) {
                let Some(delay) = row.get_mut(part.rank) else {
                    continue;
                };
                delay.n += 1;
                delay.waited_ns = delay.waited_ns.saturating_add(waits(part));
                let exposed_ns = waits(part).min(part.exposed_ns(job));
                delay.waited_exposed_ns = delay.waited_exposed_ns.saturating_add(exposed_ns);
                if at == node.last {
                    delay.n_last += 1;
                    delay.caused_ns = delay.caused_ns.saturating_add(caused);
                }
            }
        }
        let mut of_ranks = row;
        for row in of_steps.iter().chain(std::iter::once(&outside)) {
            for (all, delay) in of_ranks.iter_mut().zip(row) {
                all.add(delay);
            }
        }
        Delays { of_steps, of_ranks }
    }

    /// The delays of a rank in a step.
    pub(crate) fn of(&self, step: usize, rank: usize) -> Option<&Delay> {
        self.of_steps.get(step)?.get(rank)
    }
}

/// Adds what a rank did before a collective, minus what is already counted.
fn add(job: &Job, delay: &mut Delay, part: &Part, counted: &mut i64) {
    let Some((own, peers)) = part.own.zip(part.peers) else {
        return;
    };
    let ns = part.excess_ns() - *counted;
    if ns <= 0 {
        return;
    }
    *counted += ns;
    let excess = Excess::new(own, peers, ns);
    delay.excess.add(excess);
    let by = (part.recorded(job)).and_then(|(digest, of)| LateBy::of(digest.text(of.late_by)));
    if let Some(by) = by.filter(|_| excess.late_ns > 0) {
        delay.add_late(&by, excess.late_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::analysis::roles::Layout;
    use crate::job::testing::{MS, TestJob};
    use crate::names::cpu_activity::CpuActivity;

    /// ```text
    /// ms         0        10 12           30        40
    /// rank 0     [=========)──────────────────────────)
    /// rank 1     [============)───────────────────────)
    /// rank 2     [==========================)─────────)
    ///                       all-reduce of all three
    /// ```
    fn one() -> TestJob {
        let mut job = TestJob::new(3);
        job.step(1, 0, 50 * MS);
        let spans = [10, 12, 30].map(|start| (start * MS, 40 * MS));
        job.run("0 default_pg", "allreduce", &[0, 1, 2], &spans);
        job
    }

    fn delays(job: TestJob) -> Delays {
        let job = job.job();
        Delays::new(&job, &Flow::new(&job, &Layout::new(&job)))
    }

    #[test]
    fn a_delay_is_what_the_own_time_has_beyond_the_median_of_the_others() {
        let delays = delays(one());
        // The others of rank 2 need 10 and 12 ms, median 11; those of rank 0 need 12 and 30, median 21, so rank 0 has
        // no excess.
        let excess = delays
            .of_ranks
            .iter()
            .map(|delay| delay.excess.total_ns / MS);
        assert_eq!(excess.collect::<Vec<_>>(), [0, 0, 19]);
        // The others wait 20 and 18 ms for rank 2.
        let row = |delay: &Delay| (delay.n_last, delay.waited_ns / MS, delay.caused_ns / MS);
        let waits: Vec<_> = delays.of_steps[0].iter().map(row).collect();
        assert_eq!(waits, [(0, 20, 0), (0, 18, 0), (1, 0, 38)]);
    }

    #[test]
    fn a_delay_goes_to_what_is_longer_than_with_the_others() {
        let mut job = one();
        // Of its 30 ms, rank 2 launches late for 15 and computes for 15; the others compute for 10 and 12.
        job.late(2, 30 * MS, 15 * MS, "Data loading");
        let delay = &delays(job).of_ranks[2];
        let parts = Excess {
            total_ns: 19 * MS,
            work_ns: 4 * MS,
            copies_ns: 0,
            late_ns: 15 * MS,
            idle_ns: 0,
        };
        assert_eq!(delay.excess, parts);
        assert_eq!(
            delay.late_by,
            [(LateBy::Activity(CpuActivity::DataLoading), 15 * MS)]
        );
    }

    #[test]
    fn time_before_two_collectives_at_once_counts_once() {
        let mut job = one();
        let spans = [10, 12, 30].map(|start| (start * MS, 45 * MS));
        job.run("0 default_pg", "allgather", &[0, 1, 2], &spans);
        let delays = delays(job);
        assert_eq!(delays.of_ranks[2].excess.total_ns, 19 * MS);
        // Being last counts for each collective.
        assert_eq!(delays.of_ranks[2].n_last, 2);
    }
}
