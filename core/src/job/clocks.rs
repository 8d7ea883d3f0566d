//! Estimates how the clocks of the ranks differ, from the ends of collectives that no rank can end before all have
//! started.
//!
//! Each pair of ranks that shares such collectives gives an [estimate](estimate). In groups of more than [`ALL_PAIRS`]
//! ranks only neighbors are paired, and each rank with the first one: more pairs would add nothing. The estimates with
//! the least scatter join the ranks into a tree. Ranks on one host whose estimates agree share one clock per host,
//! computed from all their estimates against other hosts. Each of these ranks maps GPU time to host time on its own;
//! its offset from the host clock is applied only where its estimate is precise enough.

mod estimate;

use super::Rank;
use super::digest::Collective;
use super::groups::Group;
use super::matching::Matched;
use crate::base::group::{counted, grouped};
use crate::base::interval::Interval;
use crate::base::sort::{Arrange, Arranged, FirstMax};
use estimate::{Estimate, Sample};

/// In groups up to this size all pairs are used.
const ALL_PAIRS: usize = 8;

/// Ranks of one host share one clock unless their own estimates are further apart than this.
const MOST_APART_ON_HOST_NS: f64 = 50_000.0;

/// How far apart the clocks of ranks on one host are, because each rank maps GPU time to host time on its own.
const SPREAD_ON_HOST_NS: f64 = 2_000.0;

/// A rank is never further off the clock of its host than this; a larger difference has another reason.
const MOST_OFF_HOST_NS: f64 = 2.0 * SPREAD_ON_HOST_NS;

/// A correction must be larger than this many times the scatter of the estimates.
const LEAST_SPREADS: f64 = 3.0;

/// The standard error of a median is this factor times the median absolute deviation over √n: 1.4826 · √(π / 2).
const STANDARD_ERROR: f64 = 1.86;

/// The tolerance for a collective that contradicts the clocks is at most this, however large the scatter.
const MOST_SPREAD_NS: f64 = 20_000.0;

/// If more collectives than this contradict the clocks, the clocks count as unknown.
const MOST_VIOLATIONS_PERCENT: usize = 1;

/// The clock of a rank relative to the common one, that of the first rank: `offset + drift · (t − at)`.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Clock {
    /// How far it is ahead at [`Clock::at_ns`]; 0 where the estimate is not applied.
    pub(crate) offset_ns: f64,
    /// How much faster it runs.
    pub(crate) drift: f64,
    /// The middle of the window.
    pub(crate) at_ns: i64,
    /// The median absolute deviation of the samples that the offset was estimated from, along the path to the first
    /// rank.
    pub(crate) spread_ns: f64,
    /// Whether it is connected to the first rank through collectives or its host.
    pub(crate) is_joined: bool,
    /// The rank's own estimate of how far it is ahead: before it is shared on its host, applied or not.
    pub(crate) estimate_ns: f64,
    /// The standard error of that, along the path to the first rank.
    pub(crate) error_ns: f64,
    /// Whether the estimate is larger than its scatter, or the rank's own part of it larger than its error.
    pub(crate) is_applied: bool,
}

/// The clocks of all ranks.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Clocks {
    /// By rank.
    pub(crate) of_rank: Vec<Clock>,
    /// Whether times of different ranks can be compared; if not, everything that compares them is left out.
    pub(crate) are_comparable: bool,
    /// Number of collectives that were checked against the clocks.
    pub(crate) n_checked: usize,
    /// Those of them that some rank ended before another had started them, on the common clock.
    pub(crate) n_violations: usize,
}

/// Connects two ranks: how far the second is ahead of the first.
struct Edge {
    ranks: [usize; 2],
    estimate: Estimate,
}

impl Clocks {
    /// Estimates the clocks.
    pub(super) fn new(ranks: &[Rank], groups: &[Group], collectives: &[Matched]) -> Clocks {
        let window = window(ranks);
        let at_ns = window.start_ns.midpoint(window.end_ns);
        let is_known = |of: &&Matched| of.group.is_some_and(|at| groups.get(at).is_some());
        let (known, unknown): (Vec<&Matched>, Vec<&Matched>) = collectives
            .iter()
            .filter(|of| of.waits_for_all())
            .partition(is_known);
        let mut all = edges(ranks, &known, at_ns, |_| true);
        let mut own = DisjointSets::new(ranks.len());
        own.join(&all);
        own.join(&on_hosts(ranks));
        let mut checked = known;
        if !own.is_whole() {
            // Collectives without a group are assumed to include all ranks, as long as that leads to no contradiction.
            let more = edges(ranks, &unknown, at_ns, |of| of.is_possible);
            own.join(&more);
            all.extend(more);
            checked.extend(unknown);
        }
        let own = own.clocks(at_ns);
        // The clocks of hosts, each from the estimates of all its ranks.
        let units = units(ranks, &own);
        let off = off_hosts(&own, &units);
        let mut hosts = DisjointSets::new(ranks.len());
        hosts.join(&between(&all, &units, &off));
        let hosts = hosts.clocks(at_ns);
        let mut clocks: Vec<Clock> = (own.iter().zip(&units))
            .map(|(own, unit)| {
                let shared = hosts.get(*unit).filter(|clock| clock.is_joined);
                Clock {
                    estimate_ns: own.offset_ns,
                    error_ns: own.error_ns,
                    is_joined: own.is_joined,
                    ..*shared.unwrap_or(own)
                }
            })
            .collect();
        let first = own.iter().position(|clock| clock.is_joined);
        let of_first_ns = first.and_then(|at| off.get(at)).copied().unwrap_or(0.0);
        for (clock, off_ns) in clocks.iter_mut().zip(off) {
            clock.keep_significant(window, off_ns - of_first_ns);
        }
        Clocks::checked(ranks, clocks, &checked)
    }

    fn checked(ranks: &[Rank], clocks: Vec<Clock>, collectives: &[&Matched]) -> Clocks {
        let mut clocks = Clocks {
            of_rank: clocks,
            are_comparable: true,
            n_checked: 0,
            n_violations: 0,
        };
        let checked = collectives.iter().filter_map(|of| clocks.holds(ranks, of));
        let (n, held) = checked.fold((0, 0), |(n, held), holds| {
            (n + 1, held + usize::from(holds))
        });
        clocks.n_checked = n;
        clocks.n_violations = n - held;
        clocks.are_comparable = clocks.n_violations * 100 <= n * MOST_VIOLATIONS_PERCENT;
        clocks
    }

    /// Whether all ranks of a collective started it before one ended it, within the precision of the clocks. `None`
    /// where the clocks are unknown.
    fn holds(&self, ranks: &[Rank], of: &Matched) -> Option<bool> {
        let mut last: Option<(i64, f64)> = None;
        let mut first: Option<(i64, f64)> = None;
        for (at, span) in spans(ranks, of) {
            let clock = self.of_rank.get(at).filter(|clock| clock.is_joined)?;
            let [start_ns, end_ns] =
                [span.start_ns, span.end_ns].map(|ns| self.corrected_ns(at, ns));
            if last.is_none_or(|(ns, _)| start_ns > ns) {
                last = Some((start_ns, clock.spread_ns));
            }
            if first.is_none_or(|(ns, _)| end_ns < ns) {
                first = Some((end_ns, clock.spread_ns));
            }
        }
        let ((last_ns, one), (first_ns, other)) = (last?, first?);
        let known_to_ns = SPREAD_ON_HOST_NS + LEAST_SPREADS * (one + other).min(MOST_SPREAD_NS);
        Some(last_ns.saturating_sub(first_ns) as f64 <= known_to_ns)
    }

    /// Whether the clock of a rank is known.
    pub(crate) fn is_joined(&self, rank: usize) -> bool {
        self.of_rank.get(rank).is_some_and(|clock| clock.is_joined)
    }

    /// Converts a time of a rank, since 1970, to the common clock.
    pub(crate) fn corrected_ns(&self, rank: usize, ns: i64) -> i64 {
        let Some(clock) = self.of_rank.get(rank) else {
            return ns;
        };
        ns.saturating_sub(clock.ahead_ns(ns).round() as i64)
    }
}

impl Clock {
    /// Drops an offset that is not larger than its scatter, then adds the rank's offset from its host.
    fn keep_significant(&mut self, window: Interval, off_ns: f64) {
        let at_ends = [window.start_ns, window.end_ns].map(|ns| self.ahead_ns(ns).abs());
        self.is_applied = at_ends[0].max(at_ends[1]) > LEAST_SPREADS * self.spread_ns;
        if !self.is_applied {
            (self.offset_ns, self.drift) = (0.0, 0.0);
        }
        if self.is_joined && off_ns.abs() > LEAST_SPREADS * self.error_ns {
            self.offset_ns += off_ns;
            self.is_applied = true;
        }
    }

    /// How far it is ahead at a given time.
    fn ahead_ns(&self, ns: i64) -> f64 {
        self.offset_ns + self.drift * ns.saturating_sub(self.at_ns) as f64
    }
}

/// From the first to the last collective.
fn window(ranks: &[Rank]) -> Interval {
    let spans = ranks.iter().flat_map(|rank| {
        let own = rank.digest.collectives.iter();
        own.map(|of| since_1970(rank, of))
    });
    spans.reduce(Interval::hull).unwrap_or_default()
}

fn since_1970(rank: &Rank, of: &Collective) -> Interval {
    Interval {
        start_ns: of.span.start_ns.saturating_add(rank.base_ns),
        end_ns: of.span.end_ns.saturating_add(rank.base_ns),
    }
}

/// When each rank ran a collective, on its own clock.
fn spans<'a>(
    ranks: &'a [Rank],
    of: &'a Matched,
) -> impl Iterator<Item = (usize, Interval)> + use<'a> {
    of.members.iter().filter_map(|member| {
        let rank = ranks.get(member.rank)?;
        let own = rank.digest.collectives.get(member.at as usize)?;
        Some((member.rank, since_1970(rank, own)))
    })
}

/// The estimates of all pairs.
fn edges(
    ranks: &[Rank],
    collectives: &[&Matched],
    at_ns: i64,
    is_good: impl Fn(&Estimate) -> bool,
) -> Vec<Edge> {
    let lanes = collectives.iter().map(|of| {
        let pair = of.pair.map(|(from, to)| (from.min(to), from.max(to)));
        ((of.group, pair), *of)
    });
    let mut edges = Vec::new();
    for (_, lane) in grouped(lanes, Vec::push) {
        let lane: Vec<&Matched> = lane;
        for pair in pairs(&lane) {
            let samples = lane.iter().filter_map(|of| {
                let [one, other] = pair.map(|rank| {
                    let at = of.members.binary_search_by_key(&rank, |member| member.rank);
                    let member = of.members.get(at.ok()?)?;
                    let rank = ranks.get(member.rank)?;
                    let own = rank.digest.collectives.get(member.at as usize)?;
                    Some(since_1970(rank, own))
                });
                Some(Sample::new(one?, other?))
            });
            let estimate = Estimate::new(samples.collect(), at_ns).filter(&is_good);
            edges.extend(estimate.map(|estimate| Edge {
                ranks: pair,
                estimate,
            }));
        }
    }
    sorted(edges)
}

/// The pairs of ranks of a lane for which an estimate is made.
fn pairs(lane: &[&Matched]) -> Vec<[usize; 2]> {
    let members = lane.iter().flat_map(|of| &of.members);
    let members = members.map(|member| member.rank).distinct();
    if members.len() <= ALL_PAIRS {
        let pairs = members.iter().enumerate().flat_map(|(at, one)| {
            let others = members.iter().skip(at + 1);
            others.map(move |other| [*one, *other])
        });
        return pairs.collect();
    }
    let neighbors = members.iter().zip(members.iter().skip(1));
    let with_first = members.iter().take(1).cycle().zip(members.iter().skip(2));
    let pairs = neighbors.chain(with_first);
    pairs.map(|(one, other)| [*one, *other]).collect()
}

/// Ranks of one host share its clock, where traces name the hosts.
fn on_hosts(ranks: &[Rank]) -> Vec<Edge> {
    if !are_hosts_named(ranks) {
        return Vec::new();
    }
    let hosts = ranks.iter().enumerate().map(|(at, rank)| (rank.host, at));
    let hosts: Vec<(usize, Vec<usize>)> = grouped(hosts, Vec::push);
    let edges = hosts.iter().flat_map(|(_, on_host)| {
        let neighbors = on_host.iter().zip(on_host.iter().skip(1));
        neighbors.map(|(one, other)| Edge {
            ranks: [*one, *other],
            estimate: Estimate::same(SPREAD_ON_HOST_NS),
        })
    });
    edges.collect()
}

fn are_hosts_named(ranks: &[Rank]) -> bool {
    let mut hosts = ranks.iter().map(|rank| &rank.digest.identity.host);
    hosts.all(|host| !host.is_empty())
}

/// For each rank, the first rank whose clock it shares, as ranks of a host do unless their own estimates are too far
/// apart.
fn units(ranks: &[Rank], own: &[Clock]) -> Vec<usize> {
    let mut units: Vec<usize> = (0..ranks.len()).collect();
    if !are_hosts_named(ranks) {
        return units;
    }
    let hosts = ranks.iter().zip(own).enumerate();
    let hosts = hosts.filter(|(_, (_, clock))| clock.is_joined);
    let hosts = hosts.map(|(at, (rank, clock))| (rank.host, (at, clock.offset_ns)));
    for (_, on_host) in grouped(hosts, Vec::push) {
        let on_host: Vec<(usize, f64)> = on_host;
        let offsets = || on_host.iter().map(|(_, offset_ns)| *offset_ns);
        let most = offsets().fold(f64::NEG_INFINITY, f64::max);
        let least = offsets().fold(f64::INFINITY, f64::min);
        let Some((first, _)) = on_host
            .first()
            .filter(|_| most - least <= MOST_APART_ON_HOST_NS)
        else {
            continue;
        };
        for (at, _) in &on_host {
            if let Some(unit) = units.get_mut(*at) {
                *unit = *first;
            }
        }
    }
    units
}

/// For each rank, how far it is ahead of the clock that it shares. That clock is the mean of the ranks whose estimates
/// are more precise than the spread on a host; the less precise a rank's own estimate, the more its offset is shrunk
/// toward 0.
fn off_hosts(own: &[Clock], units: &[usize]) -> Vec<f64> {
    let is_exact = |clock: &Clock| clock.is_joined && clock.error_ns < SPREAD_ON_HOST_NS;
    let exact = own.iter().zip(units).enumerate();
    let exact = exact.filter(|(_, (clock, _))| is_exact(clock));
    let exact = exact.map(|(at, (clock, unit))| (*unit, (at, *clock)));
    let mut off = vec![0.0; own.len()];
    for (_, of_unit) in grouped(exact, Vec::push) {
        let of_unit: Vec<(usize, Clock)> = of_unit;
        let all_ns: f64 = of_unit.iter().map(|(_, clock)| clock.offset_ns).sum();
        let mean_ns = all_ns / of_unit.len() as f64;
        for (at, clock) in of_unit {
            let by_ns = (clock.offset_ns - mean_ns).clamp(-MOST_OFF_HOST_NS, MOST_OFF_HOST_NS);
            let variance = SPREAD_ON_HOST_NS.powi(2);
            if let Some(off) = off.get_mut(at) {
                *off = by_ns * variance / (variance + clock.error_ns.powi(2));
            }
        }
    }
    off
}

/// The combined estimates of all pairs of ranks for each two hosts, best first; the ranks' offsets from their hosts are
/// subtracted.
fn between(edges: &[Edge], units: &[usize], off: &[f64]) -> Vec<Edge> {
    let pairs = edges.iter().filter_map(|edge| {
        let [one, other] = edge.ranks;
        let ahead_ns = edge.estimate.ahead_ns - (off.get(other)? - off.get(one)?);
        let estimate = Estimate {
            ahead_ns,
            ..edge.estimate
        };
        let [one, other] = [*units.get(one)?, *units.get(other)?];
        match one <= other {
            true => Some(([one, other], estimate)),
            false => Some(([other, one], estimate.reversed())),
        }
    });
    let pairs = grouped(pairs.filter(|([one, other], _)| one != other), Vec::push);
    let pairs = pairs.into_iter().map(|(ranks, estimates)| Edge {
        ranks,
        estimate: Estimate::mean(&estimates, SPREAD_ON_HOST_NS),
    });
    sorted(pairs.collect())
}

/// Best first.
fn sorted(mut edges: Vec<Edge>) -> Vec<Edge> {
    edges.arrange_by(|one, other| {
        let by_weight = one.estimate.weight().total_cmp(&other.estimate.weight());
        by_weight.then_with(|| one.ranks.cmp(&other.ranks))
    });
    edges
}

/// Trees of ranks that are already joined.
struct DisjointSets {
    /// For each rank, a rank of the same tree; following these leads to the tree's first rank.
    tree: Vec<usize>,
    /// For each rank, the ranks it is joined with, and how far these are ahead of it.
    joined: Vec<Vec<(usize, Estimate)>>,
}

impl DisjointSets {
    fn new(n: usize) -> DisjointSets {
        DisjointSets {
            tree: (0..n).collect(),
            joined: vec![Vec::new(); n],
        }
    }

    fn root(&self, mut rank: usize) -> usize {
        while let Some(above) = self.tree.get(rank).copied().filter(|above| *above != rank) {
            rank = above;
        }
        rank
    }

    /// Goes through the edges in order, best first, and adds each one that joins two trees.
    fn join(&mut self, edges: &[Edge]) {
        for Edge { ranks, estimate } in edges {
            let [one, other] = ranks.map(|rank| self.root(rank));
            if one == other {
                continue;
            }
            if let Some(tree) = self.tree.get_mut(one.max(other)) {
                *tree = one.min(other);
            }
            let [one, other] = *ranks;
            for (from, to, estimate) in [(one, other, *estimate), (other, one, estimate.reversed())]
            {
                if let Some(joined) = self.joined.get_mut(from) {
                    joined.push((to, estimate));
                }
            }
        }
    }

    fn is_whole(&self) -> bool {
        (0..self.tree.len()).all(|rank| self.root(rank) == 0)
    }

    /// The clocks of the largest tree relative to its first rank; among trees of equal size, of the first one.
    fn clocks(&self, at_ns: i64) -> Vec<Clock> {
        let unknown = Clock {
            at_ns,
            ..Clock::default()
        };
        let mut clocks = vec![unknown; self.tree.len()];
        let trees = counted((0..self.tree.len()).map(|rank| self.root(rank)));
        let largest = trees.into_iter().first_max_by_key(|one| one.1);
        let mut open: Vec<usize> = largest.into_iter().map(|(root, _)| root).collect();
        if let Some(first) = open.first().and_then(|root| clocks.get_mut(*root)) {
            first.is_joined = true;
        }
        while let Some(rank) = open.pop() {
            let Some(clock) = clocks.get(rank).copied() else {
                continue;
            };
            for (other, estimate) in self.joined.get(rank).into_iter().flatten() {
                if let Some(new) = clocks.get_mut(*other).filter(|new| !new.is_joined) {
                    new.offset_ns = clock.offset_ns + estimate.ahead_ns;
                    new.drift = clock.drift + estimate.drift;
                    new.spread_ns = clock.spread_ns.hypot(estimate.spread_ns);
                    let error_ns = STANDARD_ERROR * estimate.weight();
                    new.error_ns = clock.error_ns.hypot(error_ns);
                    new.is_joined = true;
                    open.push(*other);
                }
            }
        }
        clocks
    }
}

#[cfg(test)]
mod tests;
