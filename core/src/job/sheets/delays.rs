//! Sheets `slow_work`, `more_work` and `what_if`: which work takes longer on a rank than on others, what a rank has
//! more of, and what changes would save.

use super::Input;
use super::table::{Body, Col, body, columns, float, int, known, ms, text};
use crate::base::interval::{percent_of, sum};
use crate::base::sort::Arranged;
use crate::job::analysis::cause::Why;
use crate::job::analysis::delay::Delay;
use crate::job::analysis::replay::Gain;
use crate::job::analysis::same_work::{MoreWork, SlowWork};
use crate::job::analysis::what_if::WhatIf;
use crate::job::{Job, Rank};

/// Changes are only evaluated for this many ranks, those with the largest delays.
pub(super) const MOST_RANKS: usize = 64;

/// Work of a rank.
pub(super) struct Of<'a, W> {
    rank: Option<&'a Rank>,
    of: &'a W,
}

impl<'a, W> Of<'a, W> {
    fn new(input: &Input<'a>, rank: usize, of: &'a W) -> Of<'a, W> {
        Of {
            rank: input.job.ranks.get(rank),
            of,
        }
    }

    fn number(&self) -> Option<u32> {
        self.rank.map(|rank| rank.number)
    }
}

pub(super) fn slow_work<'a>() -> Vec<Col<Of<'a, SlowWork>>> {
    columns![Of<'_, SlowWork>:
        "rank", Count, |of| known(of.number()), "The rank, by its number in the job.";
        "kernel", Text, |of| text(&of.of.kernel), "The kernel; empty without a GPU.";
        "operator", Text, |of| text(&of.of.op), "The operator that launched it.";
        "shapes", Text, |of| text(&of.of.shapes), "Shapes of its arguments.";
        "category", Text, |of| text(&of.of.category), "The category of the kernel.";
        "calls", Count, |of| int(of.of.calls), "How often, in all steps.";
        "ranks", Count, |of| int(of.of.n_ranks), "On how many ranks the same work is.";
        "total ms", Ms, |of| ms(of.of.total_ns), "All of its time.";
        "mean µs", Us, |of| float(Some(of.of.mean_ns() / 1e3)), "A call on average.";
        "median of ranks µs", Us, |of| float(Some(of.of.peers_ns() / 1e3)), "A call at the median of all ranks.";
        "ratio", Number, |of| float(Some(of.of.ratio())), "How many times as long it takes as at the median of all ranks.";
        "excess ms", Ms, |of| ms(of.of.excess_ns()), "By how much longer all of it takes.";
    ]
}

pub(super) fn slow_work_body(input: &Input) -> Body<'static> {
    let slow = input.analysis.same_work.slow.iter();
    body(&slow_work(), slow.map(|of| Of::new(input, of.rank, of)))
}

pub(super) fn more_work<'a>() -> Vec<Col<Of<'a, MoreWork>>> {
    columns![Of<'_, MoreWork>:
        "rank", Count, |of| known(of.number()), "The rank, by its number in the job.";
        "kernel", Text, |of| text(&of.of.kernel), "The kernel; empty without a GPU.";
        "operator", Text, |of| text(&of.of.op), "The operator that launched it.";
        "shapes", Text, |of| text(&of.of.shapes), "Shapes of its arguments.";
        "calls", Count, |of| int(of.of.calls), "How often, in all steps.";
        "calls of others", Count, |of| int(of.of.peers_calls), "How often on the other ranks, their median.";
        "excess ms", Ms, |of| ms(of.of.excess_ns), "What the calls beyond that take.";
    ]
}

pub(super) fn more_work_body(input: &Input) -> Body<'static> {
    let more = input.analysis.same_work.more.iter();
    body(&more_work(), more.map(|of| Of::new(input, of.rank, of)))
}

/// A change with what it saves.
pub(super) struct Change {
    what: &'static str,
    rank: Option<u32>,
    host: String,
    group: String,
    step: Option<u64>,
    gain: Gain,
    steps_ns: i64,
}

pub(super) fn what_if() -> Vec<Col<Change>> {
    columns![Change:
        "what if", Text, |of| text(of.what), "The change.";
        "rank", Count, |of| known(of.rank), "The rank that is concerned.";
        "host", Text, |of| text(&of.host), "Which host is concerned.";
        "group", Text, |of| text(&of.group), "The process group that is concerned.";
        "step", Count, |of| known(of.step), "The step that is concerned.";
        "gain ms", Ms, |of| ms(of.gain.total_ns), "What all steps together would take less: the recorded job run again with the change. What overlaps is taken as recorded, so that it is an upper bound.";
        "gain ms a step", Ms, |of| ms(of.gain.per_step_ns()), "That for each step.";
        "gain (%)", Percent, |of| float(percent_of(of.gain.total_ns, of.steps_ns)), "That in percent of all steps, the longest rank's times.";
    ]
}

pub(super) fn what_if_body(input: &Input) -> Body<'static> {
    let job = input.job;
    let steps_ns = (job.ranks.iter())
        .map(|rank| {
            let own = input.steps.iter();
            let own = own.filter(|step| step.rank.number == rank.number);
            sum(own.map(|step| step.time_ns))
        })
        .max();
    let change = |what, gain| Change {
        what,
        rank: None,
        host: String::new(),
        group: String::new(),
        step: None,
        gain,
        steps_ns: steps_ns.unwrap_or(0),
    };
    let all = changes(input).into_iter().filter_map(|(what, of)| {
        let gain = input.analysis.gain(job, of)?;
        Some(about(input, of, change(what, gain)))
    });
    let steps = input.analysis.replay.iter().flat_map(|of| &of.steps);
    let gain_of = |slow: usize, ns| Gain {
        of_steps: (steps.clone())
            .map(|of| if of.step == slow { ns } else { 0 })
            .collect(),
        total_ns: ns,
    };
    let slow_steps = input.analysis.slow_steps(job).into_iter();
    let slow_steps = slow_steps.map(|(slow, ns)| Change {
        step: job.steps.get(slow.step).map(|step| step.number),
        ..change(
            "transfers take as long as in other steps",
            gain_of(slow.step, ns),
        )
    });
    // Changes that save nothing get no row.
    let worth = all.chain(slow_steps).filter(|of| of.gain.total_ns > 0);
    let changes = worth.arranged_by_largest(|change| change.gain.total_ns);
    body(&what_if(), changes)
}

/// The ranks that need longer than their peers, or that have slow kernels without such an excess.
fn delaying<'a>(input: &Input<'a>) -> impl Iterator<Item = (usize, &'a Delay)> {
    let delays = input.analysis.delays.of_ranks.iter().enumerate();
    delays.filter(|(rank, delay)| delay.excess.total_ns > 0 || has_slow_kernels(input, *rank))
}

fn has_slow_kernels(input: &Input, rank: usize) -> bool {
    let mut causes = input.analysis.causes.iter();
    causes.any(|cause| cause.rank == rank && matches!(cause.why, Why::SlowerKernels { .. }))
}

/// Number of ranks for which changes are not evaluated.
pub(super) fn n_not_asked(input: &Input) -> usize {
    delaying(input).count().saturating_sub(MOST_RANKS)
}

/// Changes of all ranks at once.
#[rustfmt::skip]
const OF_ALL_RANKS: [(&str, WhatIf); 8] = [
    ("nobody waits for anybody", WhatIf::NoWaiting),
    ("experts are balanced", WhatIf::BalancedExperts),
    ("stages have the same work", WhatIf::EvenStages),
    ("ranks that share a sequence have the same work", WhatIf::EvenSequence),
    ("no CPU launches late for as long as all do", WhatIf::AllInTime),
    ("all steps are as fast as the faster ones", WhatIf::EvenSpeed),
    ("gradients are reduced once in a step", WhatIf::ReducedOnce),
    ("kernels of all slow ranks take as long as those of others", WhatIf::SlowRanks),
];

fn changes(input: &Input) -> Vec<(&'static str, WhatIf)> {
    let network = &input.analysis.network;
    let mut all = OF_ALL_RANKS.to_vec();
    // Ranks that others never wait for save nothing; each evaluation replays the job.
    let delays = delaying(input)
        .arranged_by_key(|(rank, delay)| (std::cmp::Reverse(delay.excess.total_ns), *rank));
    for (rank, delay) in delays.into_iter().take(MOST_RANKS) {
        let excess = &delay.excess;
        let has_slow_kernels = excess.work_ns > 0 || has_slow_kernels(input, rank);
        #[rustfmt::skip]
        let of_rank = [
            (true, "the rank keeps up", WhatIf::KeepsUp(rank)),
            (has_slow_kernels, "its kernels take as long as those of others", WhatIf::SameKernels(rank)),
            (excess.work_ns > 0, "it has as much work as others", WhatIf::EvenWork(rank)),
            (excess.late_ns > 0, "its CPU launches in time", WhatIf::HostInTime(rank)),
            (excess.copies_ns > 0, "its copies take as long as those of others", WhatIf::EvenCopies(rank)),
            (excess.idle_ns > 0, "it is idle for as long as others", WhatIf::EvenIdle(rank)),
        ];
        let asked = of_rank.into_iter().filter(|(is_asked, ..)| *is_asked);
        all.extend(asked.map(|(_, what, change)| (what, change)));
    }
    if input.job.hosts.len() > 1 {
        let hosts = 0..input.job.hosts.len();
        all.extend(hosts.map(|host| ("all ranks of a host keep up", WhatIf::HostKeepsUp(host))));
    }
    let paths = 0..network.slow_paths.len();
    all.extend(paths.map(|path| ("the link is as fast as its siblings", WhatIf::Path(path))));
    if network.slow_paths.len() > 1 {
        all.push(("all links are as fast as their siblings", WhatIf::Paths));
    }
    if !network.below_figure.is_empty() {
        all.push((
            "links carry half of what they can at least",
            WhatIf::LinksAtHalf,
        ));
    }
    all
}

/// Fills in what a change is about.
fn about(input: &Input, of: WhatIf, change: Change) -> Change {
    let job: &Job = input.job;
    match of {
        WhatIf::KeepsUp(rank)
        | WhatIf::SameKernels(rank)
        | WhatIf::EvenWork(rank)
        | WhatIf::HostInTime(rank)
        | WhatIf::EvenCopies(rank)
        | WhatIf::EvenIdle(rank) => Change {
            rank: job.number(rank),
            ..change
        },
        WhatIf::HostKeepsUp(host) => Change {
            host: job.hosts.get(host).cloned().unwrap_or_default(),
            ..change
        },
        WhatIf::Path(path) => {
            let path = input.analysis.network.slow_paths.get(path);
            let path = path.map(|slow| slow.path);
            let name = path.and_then(|path| job.groups.get(path.group));
            let name = name.map_or("", |group| &group.name);
            Change {
                group: match path.and_then(|path| path.pair) {
                    Some((one, other)) => format!("{name}: {one}, {other}"),
                    None => name.to_owned(),
                },
                ..change
            }
        }
        _ => change,
    }
}
