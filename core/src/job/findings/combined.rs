//! Ranks with the same kind of cause that hide each other: if one of them is fixed, the others wait for the next.
//! Fixing all of them together saves more than the sum of fixing each alone.

use super::Context;
use super::ranks::{LOADING, MORE_WORK, late_action, late_by, most_times, slow_work, times};
use crate::base::format;
use crate::base::interval::{percent_or_zero, sum};
use crate::base::sort::{Arrange, FirstMax};
use crate::base::value::{Table, Value, cell_columns};
use crate::job::analysis::cause::{Cause, Why};
use crate::job::analysis::replay::Gain;
use crate::job::analysis::what_if::WhatIf;
use crate::job::cards::{JobCard, ShownTable};

/// Up to this many ranks are checked one by one for whether they count: each check replays the job.
const MOST_CHECKED: usize = 32;

/// The least share of the saving, in percent, that fixing ranks one by one does not reach.
const LEAST_TOGETHER_PERCENT: f64 = 25.0;

/// Maximum number of rows of evidence.
const MOST_ROWS: usize = 64;

/// What to do about batches that differ from step to step.
const BY_TOKENS: &str = "Give all ranks the same work in each step: distribute samples by their number of tokens instead of their count (batches of a fixed number of tokens, samples of about the same length in one step), or pack sequences.";

/// Ranks that save more if fixed together.
#[derive(Debug, Default)]
pub(super) struct Combined<'a> {
    pub(super) causes: Vec<&'a Cause>,
    /// In the given steps.
    pub(super) saving_ns: i64,
    pub(super) steps: Vec<usize>,
}

impl Combined<'_> {
    /// Indices into the ranks of the job, sorted.
    pub(super) fn ranks(&self) -> Vec<usize> {
        let mut ranks: Vec<usize> = self.causes.iter().map(|cause| cause.rank).collect();
        ranks.sort_unstable();
        ranks
    }

    /// Whether it is not the same ranks in all steps.
    fn is_in_turns(&self) -> bool {
        let are_few = |cause: &&Cause| cause.steps.len() < self.steps.len();
        self.causes.len() > 2 && self.causes.iter().all(are_few)
    }

    pub(super) fn has(&self, cause: &Cause) -> bool {
        self.causes.contains(&cause)
    }
}

/// Ranks that hide each other because their kernels are slower.
pub(super) fn slow<'a>(context: &Context<'a>) -> Option<Combined<'a>> {
    find(context, |cause| match cause.why {
        Why::SlowerKernels { slower_ns, .. } => Some(slower_ns).filter(|_| context.job.has_gpu()),
        _ => None,
    })
}

/// Ranks that hide each other because they launch late.
pub(super) fn late<'a>(context: &Context<'a>) -> Option<Combined<'a>> {
    find(context, |cause| match cause.why {
        Why::HostLate { late_ns, .. } => Some(late_ns),
        _ => None,
    })
}

/// Ranks that hide each other because they have more work.
pub(super) fn more<'a>(context: &Context<'a>) -> Option<Combined<'a>> {
    find(context, |cause| match cause.why {
        Why::MoreWork { more_ns, .. } => Some(more_ns).filter(|_| !context.is_of_sequence(cause)),
        _ => None,
    })
}

/// The causes with a large time.
fn find<'a>(
    context: &Context<'a>,
    time_ns: impl Fn(&Cause) -> Option<i64>,
) -> Option<Combined<'a>> {
    let is_large = |cause: &&Cause| {
        let ns = time_ns(cause);
        ns.is_some_and(|ns| context.large(ns, &cause.steps).is_some())
    };
    let mut causes: Vec<&Cause> = context.analysis.causes.iter().filter(is_large).collect();
    let gain = |causes: &[&Cause]| {
        let changes: Vec<WhatIf> = causes.iter().filter_map(|cause| cause.change()).collect();
        context.analysis.gain_of_all(context.job, &changes)
    };
    if causes.len() < 2 {
        return None;
    }
    let mut all = gain(&causes)?;
    if causes.len() <= MOST_CHECKED {
        // A rank counts if the others save less without it; otherwise something else delays it.
        let counts = |at: usize| {
            let mut others = causes.clone();
            others.remove(at);
            let others = gain(&others)?;
            let own = all.of_steps.iter().zip(&others.of_steps);
            let of_steps: Vec<i64> = own
                .map(|(all, others)| all.saturating_sub(*others))
                .collect();
            let own = Gain {
                total_ns: of_steps.iter().sum(),
                of_steps,
            };
            Some(!context.gains(&own).1.is_empty())
        };
        let counting = (0..causes.len()).filter(|at| counts(*at) == Some(true));
        let counting: Vec<&Cause> = counting.filter_map(|at| causes.get(at).copied()).collect();
        if counting.len() < 2 {
            return None;
        }
        causes = counting;
        all = gain(&causes)?;
    }
    let (saving_ns, steps) = context.gains(&all);
    let savings = causes.iter().filter_map(|cause| {
        let ns = cause.saving_ns?;
        context.large(ns, &cause.steps).map(|_| ns)
    });
    let alone_ns = sum(savings);
    let together_ns = saving_ns.saturating_sub(alone_ns);
    context.large(together_ns, &steps)?;
    // Where fixing single ranks saves nearly all of it, those are the ones to fix.
    if percent_or_zero(together_ns, saving_ns) < LEAST_TOGETHER_PERCENT {
        return None;
    }
    Some(Combined {
        causes,
        saving_ns,
        steps,
    })
}

/// Ranks that hide each other, unless they are exactly the ranks of a host that has its own card.
fn hide_each_other<'a, 'b>(
    context: &'b Context,
    of: &'b Option<Combined<'a>>,
) -> Option<&'b Combined<'a>> {
    of.as_ref().filter(|of| {
        let ranks = of.ranks();
        context.slow_hosts.iter().all(|host| host.ranks != ranks)
    })
}

/// A sentence about the host of the ranks, if they are all ranks of one host.
fn of_one_host(context: &Context, ranks: &[usize]) -> Option<String> {
    let host = |at: &usize| context.job.ranks.get(*at).map(|rank| rank.host);
    let first = ranks.first().and_then(host)?;
    let n_of_host = context.job.ranks.iter().filter(|rank| rank.host == first);
    let are_all =
        n_of_host.count() == ranks.len() && ranks.iter().all(|at| host(at) == Some(first));
    let name = context
        .job
        .hosts
        .get(first)
        .filter(|_| context.job.are_hosts_named && context.job.hosts.len() > 1)?;
    are_all.then(|| format!("They are all ranks of {name}: look at this node first."))
}

/// A sentence about why the ranks have to be fixed together, and about the one to start with.
fn only_together(context: &Context, of: &Combined) -> String {
    let saves = of.causes.iter().filter_map(|cause| {
        let (ns, _) = context.large(cause.saving_ns?, &cause.steps)?;
        Some((ns, std::cmp::Reverse(context.number(cause.rank))))
    });
    match saves.max() {
        None => "Each of them hides the others: fixing only one saves almost nothing.".to_owned(),
        Some((ns, std::cmp::Reverse(rank))) => format!(
            "They hide each other: fixing only rank {rank} saves {} a step of that; then the others wait for the next.",
            format::time_ns(ns)
        ),
    }
}

/// What each of the ranks is about, and what fixing it alone saves.
fn each(context: &Context, of: &Combined) -> ShownTable {
    let mut causes = of.causes.clone();
    causes.arrange_by_key(|cause| {
        (
            std::cmp::Reverse(cause.saving_ns),
            context.number(cause.rank),
        )
    });
    let table = Table::of(
        "each_rank",
        "These ranks",
        causes.into_iter().take(MOST_ROWS),
        cell_columns![
            "rank", "Rank", |cause| Value::Count(u64::from(context.number(cause.rank)));
            "cause", "Cause", |cause| Value::Text(cause.why.brief(context.job));
            "steps", "In", |cause| Value::Text(context.steps(&cause.steps));
            "alone", "Saves alone, a step", |cause| {
                let saves = cause
                    .saving_ns
                    .and_then(|ns| context.large(ns, &cause.steps));
                saves.map_or(Value::Empty, |(ns, _)| Value::Ns(ns))
            };
        ],
    );
    ShownTable::from(&table)
}

/// The rank with the largest ratio.
fn slowest(causes: &[&Cause]) -> Option<usize> {
    let ratios = causes.iter().filter_map(|cause| match cause.why {
        Why::SlowerKernels { ratio, .. } => Some((cause.rank, ratio)),
        _ => None,
    });
    ratios.first_max_by_key(|one| one.1).map(|(rank, _)| rank)
}

/// Several slow ranks that hide each other, with what fixing all of them saves.
pub(super) fn slow_card(context: &Context) -> Option<JobCard> {
    card(context, &context.slow_together, |slow, named| {
        let most = times(most_times(&slow.causes));
        JobCard {
            title: format!("{named}: the same kernels take up to {most}"),
            issue: format!(
                "{named} take up to {most} as long as other ranks for the same kernels, and the others wait for them."
            ),
            action: "Check clock rate, temperature, power limit and memory errors of these GPUs; look for what they have in common: rack, power, image, driver.".to_owned(),
            tables: slowest(&slow.causes).map(|rank| slow_work(context, rank)).into_iter().collect(),
            ..JobCard::default()
        }
    })
}

/// Several ranks that launch late and hide each other.
pub(super) fn late_card(context: &Context) -> Option<JobCard> {
    card(context, &context.late_together, |late, named| {
        let by = late_by(&late.causes);
        let is_loading = by == Some(LOADING);
        let meanwhile = by
            .as_ref()
            .map(|by| format!("; meanwhile most are in {}", by.in_sentence()));
        let meanwhile = meanwhile.unwrap_or_default();
        JobCard {
            title: match is_loading {
                true => format!("{named} wait for data"),
                false => format!("{named} launch kernels late"),
            },
            issue: format!(
                "{named} launch their kernels later than other ranks{meanwhile}, and the others wait for them."
            ),
            action: late_action(by.as_ref(), "these ranks"),
            ..JobCard::default()
        }
    })
}

/// Several ranks that have more work and hide each other.
pub(super) fn more_card(context: &Context) -> Option<JobCard> {
    card(context, &context.more_together, |more, named| {
        if more.is_in_turns() {
            return JobCard {
                title: "In each step, other ranks have more work".to_owned(),
                issue: format!(
                    "{named} compute more than other ranks of their stages, each in other steps, and all wait for those with most."
                ),
                action: BY_TOKENS.to_owned(),
                ..JobCard::default()
            };
        }
        JobCard {
            title: format!("{named} have more work than others"),
            issue: format!(
                "{named} compute more than other ranks of their stages, and the others wait for them."
            ),
            action: MORE_WORK.to_owned(),
            ..JobCard::default()
        }
    })
}

/// Builds the card from what `say` says about the ranks, and adds what they have in common.
fn card(
    context: &Context,
    together: &Option<Combined>,
    say: impl Fn(&Combined, &str) -> JobCard,
) -> Option<JobCard> {
    let together = hide_each_other(context, together)?;
    let (named, ranks) = context.ranks(&together.ranks());
    let said = say(together, &format::capitalized(&named));
    let card = JobCard {
        issue: format!("{} {}", said.issue, only_together(context, together)),
        reasoning: of_one_host(context, &together.ranks())
            .into_iter()
            .collect(),
        ranks,
        tables: std::iter::once(each(context, together))
            .chain(said.tables)
            .collect(),
        ..said
    };
    context.with_saving(card, Some(together.saving_ns), &together.steps)
}
