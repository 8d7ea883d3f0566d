//! Estimates what a change would save, by replaying the job with other times.
//!
//! Each rank starts a collective after the end of its previous one plus its own time. The collective ends when the last
//! rank has started it and the data has moved; each rank ends it with its recorded delay. Without changes this
//! reproduces the recorded times. Overlap is kept as recorded, so a gain is an upper bound where other work of the rank
//! would become the limit.

use serde::Serialize;

use super::flow::{Flow, Node};
use crate::base::interval::Interval;
use crate::job::Job;

/// A job that can be replayed.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Replay {
    recorded: Plan,
    /// Steps with collectives, in order.
    pub(crate) steps: Vec<StepTime>,
}

/// When a step ran: from the end of the previous step to the end of its last collective of all ranks or, if it has
/// none, of its last collective. The first step starts when the first CPU starts it, but lasts at most as long as on
/// the CPUs: GPUs may run long after them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct StepTime {
    /// As an index into the steps of the job.
    pub(crate) step: usize,
    /// On the common clock.
    pub(crate) span: Interval,
    /// The parts that end the step: the last one to end.
    #[serde(skip)]
    pub(crate) ends_with: Vec<usize>,
}

/// The times to replay a job with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Plan {
    /// For each part, the own time before it.
    pub(crate) own_ns: Vec<i64>,
    /// For each node, the time from the start of the last rank to the end of the first.
    pub(crate) transfer_ns: Vec<i64>,
}

/// The time that a change saves; negative if it costs time.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Gain {
    /// Indexed like [`Replay::steps`].
    pub(crate) of_steps: Vec<i64>,
    /// The sum over all steps.
    pub(crate) total_ns: i64,
}

impl Gain {
    /// The gain per step, on average.
    pub(crate) fn per_step_ns(&self) -> i64 {
        self.total_ns / (self.of_steps.len().max(1) as i64)
    }
}

impl Replay {
    /// `None` where the clocks of the ranks cannot be compared, or no collective belongs to a step.
    pub(crate) fn new(job: &Job, flow: &Flow) -> Option<Replay> {
        if !job.clocks.are_comparable {
            return None;
        }
        let mut replay = Replay {
            recorded: Plan {
                own_ns: flow.parts.iter().map(|part| part.own_ns()).collect(),
                transfer_ns: flow.nodes.iter().map(|node| node.transfer_ns).collect(),
            },
            steps: Vec::new(),
        };
        let mut start_ns = None;
        for (step, ends_with) in last_of_steps(job, flow) {
            let ends = ends_with.iter().filter_map(|at| flow.parts.get(*at));
            let Some(end_ns) = ends.map(|part| part.span.end_ns).max() else {
                continue;
            };
            let from_ns = start_ns
                .or_else(|| first_start_ns(job, step, end_ns))
                .unwrap_or(end_ns);
            replay.steps.push(StepTime {
                step,
                span: Interval::new(from_ns, end_ns),
                ends_with,
            });
            start_ns = Some(end_ns);
        }
        (!replay.steps.is_empty()).then_some(replay)
    }

    /// The recorded times, to be changed.
    pub(crate) fn plan(&self) -> Plan {
        self.recorded.clone()
    }

    /// The time that a plan saves.
    pub(crate) fn gain(&self, flow: &Flow, plan: &Plan) -> Gain {
        let ends = run(flow, plan);
        let mut gain = Gain::default();
        for step in &self.steps {
            let of_step = step.ends_with.iter().filter_map(|at| ends.get(*at));
            let end_ns = of_step.max().copied().unwrap_or(step.span.end_ns);
            let until_here = step.span.end_ns.saturating_sub(end_ns);
            gain.of_steps.push(until_here.saturating_sub(gain.total_ns));
            gain.total_ns = until_here;
        }
        gain
    }
}

/// For each part, when it ends.
fn run(flow: &Flow, plan: &Plan) -> Vec<i64> {
    let mut ends: Vec<i64> = Vec::with_capacity(flow.parts.len());
    let mut starts: Vec<i64> = Vec::new();
    for (node, transfer_ns) in flow.nodes.iter().zip(&plan.transfer_ns) {
        let parts = flow.parts_of(node);
        starts.clear();
        starts.extend(parts.iter().zip(flow.places_of(node)).map(|(part, at)| {
            let before = part.before.and_then(|at| ends.get(at).copied());
            let own_ns = plan.own_ns.get(at).copied().unwrap_or(0);
            before.unwrap_or(part.since_ns).saturating_add(own_ns)
        }));
        let begin_ns = starts.iter().max().copied().unwrap_or(node.begin_ns);
        let moved_ns = begin_ns.saturating_add(*transfer_ns);
        let recorded_ns = node.begin_ns.saturating_add(node.transfer_ns);
        for (part, start_ns) in parts.iter().zip(&starts) {
            let did_not_wait = node.is_loose && part.span.end_ns < node.begin_ns;
            ends.push(match did_not_wait {
                true => start_ns.saturating_add(part.span.length()),
                false => moved_ns.saturating_add(part.span.end_ns.saturating_sub(recorded_ns)),
            });
        }
    }
    ends
}

/// For each step, the parts that end it.
fn last_of_steps(job: &Job, flow: &Flow) -> Vec<(usize, Vec<usize>)> {
    let is_of_all = |node: &Node| {
        node.collective(job).is_some_and(|of| {
            of.pair.is_none() && of.expected > 1 && of.expected == job.world_size as usize
        }) && !node.is_loose
    };
    let end_ns = |node: &Node| {
        flow.parts_of(node)
            .iter()
            .map(|part| part.span.end_ns)
            .max()
    };
    let steps = (0..job.steps.len()).filter_map(|step| {
        let of_step = || {
            flow.nodes
                .iter()
                .filter(move |node| node.step == Some(step))
        };
        of_step().next()?;
        let of_all = of_step().filter(|node| is_of_all(node));
        let last = of_all.reduce(|last, next| match end_ns(next) > end_ns(last) {
            true => next,
            false => last,
        });
        Some((step, last, of_step().collect::<Vec<&Node>>()))
    });
    let steps: Vec<(usize, Option<&Node>, Vec<&Node>)> = steps.collect();
    let have_one = steps.iter().all(|(_, last, _)| last.is_some());
    let steps = steps.into_iter().map(|(step, last, all)| {
        let nodes = match last.filter(|_| have_one) {
            Some(last) => vec![last],
            None => all,
        };
        let parts = nodes.iter().flat_map(|node| flow.places_of(node));
        (step, parts.collect())
    });
    steps.collect()
}

/// When a first step that ends at `end_ns` starts: when the first rank starts it on its CPU, or as long before its end
/// as the step takes on the CPU of the slowest rank, whichever is later.
fn first_start_ns(job: &Job, step: usize, end_ns: i64) -> Option<i64> {
    let of_rank = &job.steps.get(step)?.of_rank;
    let on_hosts = job.ranks.iter().zip(of_rank).enumerate();
    let on_hosts = on_hosts.filter_map(|(at, (rank, step))| {
        let step = rank.digest.steps.get((*step)? as usize)?;
        Some((job.corrected_ns(at, step.host.start_ns), step.host.length()))
    });
    let first = on_hosts.reduce(|one, other| (one.0.min(other.0), one.1.max(other.1)));
    first.map(|(start_ns, longest_ns)| start_ns.max(end_ns.saturating_sub(longest_ns)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::analysis::roles::Layout;
    use crate::job::testing::{MS, TestJob};

    fn two_steps() -> (Job, Flow, Replay) {
        let job = TestJob::with_a_slow_rank().job();
        let flow = Flow::new(&job, &Layout::new(&job));
        let replay = Replay::new(&job, &flow).unwrap();
        (job, flow, replay)
    }

    /// What a plan saves in each step, in milliseconds.
    fn gains(change: impl Fn(&Flow, &mut Plan)) -> Vec<i64> {
        let (_, flow, replay) = two_steps();
        let mut plan = replay.plan();
        change(&flow, &mut plan);
        let gain = replay.gain(&flow, &plan);
        assert_eq!(gain.total_ns, gain.of_steps.iter().sum::<i64>());
        gain.of_steps.iter().map(|ns| ns / MS).collect()
    }

    #[test]
    fn a_step_ends_with_its_last_collective_of_all_ranks() {
        let (_, _, replay) = two_steps();
        let spans = replay.steps.iter().map(|step| step.span);
        let expected = [(0, 40), (40, 90)].map(|(from, to)| Interval::new(from * MS, to * MS));
        assert_eq!(spans.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn the_recorded_times_come_out_where_nothing_is_changed() {
        assert_eq!(gains(|_, _| {}), [0, 0]);
    }

    #[test]
    fn what_one_rank_saves_is_worth_no_more_than_until_the_next_is_the_limit() {
        // Rank 2 starts the first all-reduce at 5 ms instead of 30; then rank 1 is the last, at 12.
        let of_first = |flow: &Flow, plan: &mut Plan| {
            let first = flow.parts.iter().position(|part| part.rank == 2).unwrap();
            plan.own_ns[first] -= 25 * MS;
        };
        assert_eq!(gains(of_first), [18, 0]);
    }

    #[test]
    fn a_shorter_transfer_is_worth_all_of_it() {
        // Each takes 10 ms from the last start to the first end.
        assert_eq!(gains(|_, plan| plan.transfer_ns[1] /= 2), [0, 5]);
        assert_eq!(gains(|_, plan| plan.transfer_ns[0] *= 2), [-10, 0]);
    }
}
