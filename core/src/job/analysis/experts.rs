//! Expert parallelism: how many tokens each rank gets, and whether the same rank always gets the most.

use super::network::is_uneven;
use crate::base::group::grouped;
use crate::base::map::Map;
use crate::base::sort::{Arrange, Arranged};
use crate::job::Job;
use crate::job::matching::{Matched, Member};

/// A rank is hot if it gets more than [`HOT`] times the mean in this percentage of the exchanges.
const PERSISTS_PERCENT: usize = 60;

/// A rank is hot from this multiple of the mean number of tokens.
pub(crate) const HOT: f64 = 1.05;

/// Tokens sent to their experts and back.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Exchange {
    /// The all-to-all that sends tokens to their experts, as an index into the collectives of the job.
    pub(crate) dispatch: usize,
    /// The one that sends them back.
    pub(crate) combine: usize,
    /// Number of elements that each rank receives to process, for the ranks that were read.
    pub(crate) loads: Vec<(Member, u64)>,
}

impl Exchange {
    /// The average load of a rank.
    pub(crate) fn mean(&self) -> f64 {
        let all: u64 = self.loads.iter().map(|(_, load)| *load).sum();
        all as f64 / self.loads.len().max(1) as f64
    }

    /// The largest load relative to the mean.
    pub(crate) fn imbalance(&self) -> Option<f64> {
        let most = self.loads.iter().map(|(_, load)| *load).max()?;
        (self.mean() > 0.0).then(|| most as f64 / self.mean())
    }

    /// The rank with the largest load; `None` where several have it.
    fn most(&self) -> Option<usize> {
        let most = self.loads.iter().map(|(_, load)| *load).max()?;
        let mut with_most = self.loads.iter().filter(|(_, load)| *load == most);
        let (member, _) = with_most.next()?;
        with_most.next().is_none().then_some(member.rank)
    }

    /// A load relative to the mean.
    pub(crate) fn share(&self, load: u64) -> Option<f64> {
        (self.mean() > 0.0).then(|| load as f64 / self.mean())
    }
}

/// The load of a rank over all exchanges.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Load {
    /// As an index into the ranks of the job.
    pub(crate) rank: usize,
    pub(crate) elements: u64,
    /// What an average rank of its groups got in the same exchanges.
    pub(crate) mean: f64,
    pub(crate) exchanges: usize,
    /// Number of exchanges in which it got the most.
    pub(crate) n_most: usize,
    /// Number of exchanges in which it got clearly more than the mean; several ranks may.
    n_above: usize,
}

impl Load {
    /// Relative to the mean of its groups; 0 where nothing was exchanged.
    pub(crate) fn share(&self) -> f64 {
        if self.mean > 0.0 {
            self.elements as f64 / self.mean
        } else {
            0.0
        }
    }

    /// Whether it repeatedly gets more than the mean.
    pub(crate) fn is_hot(&self) -> bool {
        self.share() > HOT && self.n_above * 100 >= self.exchanges * PERSISTS_PERCENT
    }
}

/// Dispatches with their combines, sorted by time; empty without experts.
pub(crate) fn exchanges(job: &Job) -> Vec<Exchange> {
    let uneven = job.collectives.iter().enumerate().filter(|(_, of)| {
        let mut rows = of.rows(&job.ranks);
        of.members.len() > 1 && rows.all(|(rank, of)| is_uneven(&rank.digest, of))
    });
    let of_groups = grouped(uneven.map(|(at, of)| (of.group, (at, of))), Vec::push);
    let mut found = Vec::new();
    for (_, of_group) in of_groups {
        let of_group: Vec<(usize, &Matched)> = of_group;
        let mut at = 0;
        while let Some([(dispatch, one), (combine, other)]) = of_group.get(at..at + 2) {
            match loads(job, one, other) {
                Some(loads) => {
                    found.push(Exchange {
                        dispatch: *dispatch,
                        combine: *combine,
                        loads,
                    });
                    at += 2;
                }
                None => at += 1,
            }
        }
    }
    found.arrange_by_key(|exchange| exchange.dispatch);
    found
}

/// What each rank receives in the first of two exchanges, if the second sends exactly that back.
fn loads(job: &Job, one: &Matched, other: &Matched) -> Option<Vec<(Member, u64)>> {
    let ranks = |of: &Matched| -> Vec<usize> { of.members.iter().map(|of| of.rank).collect() };
    if ranks(one) != ranks(other) {
        return None;
    }
    let rows = one.rows(&job.ranks).zip(other.rows(&job.ranks));
    let rows = rows.zip(&one.members);
    let loads = rows.map(|(((rank, sent), (_, back)), member)| {
        let digest = &rank.digest;
        let is_back = digest.text(sent.splits[1]) == digest.text(back.splits[0]);
        let is_confirmed = is_back && !digest.text(sent.splits[1]).is_empty();
        sent.got
            .filter(|_| is_confirmed)
            .map(|load| (*member, load))
    });
    loads.collect()
}

/// The load of each participating rank, sorted by rank.
pub(crate) fn by_rank<'a>(exchanges: impl IntoIterator<Item = &'a Exchange>) -> Vec<Load> {
    let mut all: Map<usize, Load> = Map::default();
    for exchange in exchanges {
        let most = exchange.most();
        for (member, elements) in &exchange.loads {
            let load = all.entry(member.rank).or_default();
            load.rank = member.rank;
            load.elements = load.elements.saturating_add(*elements);
            load.mean += exchange.mean();
            load.exchanges += 1;
            load.n_most += usize::from(Some(member.rank) == most);
            let share = exchange.share(*elements);
            load.n_above += usize::from(share.is_some_and(|share| share > HOT));
        }
    }
    all.into_values().arranged_by_key(|load| load.rank)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// For the loads of two ranks in some exchanges: in how many each gets the most, and whether it is hot.
    fn most_and_hot(loads: &[[u64; 2]]) -> Vec<(usize, bool)> {
        let member = |rank| Member { rank, at: 0 };
        let exchanges = loads.iter().map(|[one, other]| Exchange {
            dispatch: 0,
            combine: 1,
            loads: vec![(member(0), *one), (member(1), *other)],
        });
        let exchanges: Vec<Exchange> = exchanges.collect();
        let loads = by_rank(&exchanges).into_iter();
        loads.map(|load| (load.n_most, load.is_hot())).collect()
    }

    #[test]
    fn a_rank_that_gets_most_again_and_again_is_hot() {
        assert_eq!(
            most_and_hot(&[[8, 2], [7, 3], [4, 6]]),
            [(2, true), (1, false)]
        );
    }

    /// Two ranks may be hot at once, each getting the most about as often as the other.
    #[test]
    fn a_rank_that_gets_more_than_the_mean_again_and_again_is_hot() {
        let member = |rank| Member { rank, at: 0 };
        let exchanges = [[7, 6, 2, 1], [6, 7, 1, 2], [7, 6, 2, 1]].map(|loads| Exchange {
            dispatch: 0,
            combine: 1,
            loads: (0..4).map(member).zip(loads).collect(),
        });
        let loads = by_rank(&exchanges).into_iter();
        let hot: Vec<bool> = loads.map(|load| load.is_hot()).collect();
        assert_eq!(hot, [true, true, false, false]);
    }

    #[test]
    fn of_equal_loads_none_is_the_most() {
        assert_eq!(
            most_and_hot(&[[5, 5], [5, 5], [6, 4]]),
            [(1, false), (0, false)]
        );
    }
}
