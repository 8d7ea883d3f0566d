//! Hypothetical changes to a job, to estimate what each would save.

mod bound;
#[cfg(test)]
mod tests;
mod together;

use serde::Serialize;

use super::delay::Delays;
use super::experts::Exchange;
use super::flow::{Flow, Part};
use super::network::{FAR_BELOW_PERCENT, Network};
use super::pipeline::loads;
use super::replay::{Gain, Plan, Replay};
use super::roles::Layout;
use super::same_work::{LEAST_RATIO, SameWork};
use crate::base::group::grouped;
use crate::base::map::Map;
use crate::base::stats::mean_of_middle_ns;
use crate::job::Job;
use crate::job::digest::OwnTime;

/// A change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
pub(crate) enum WhatIf {
    /// A rank needs no more own time than its peers.
    KeepsUp(usize),
    /// A rank's kernels take as long as the same kernels on other ranks.
    SameKernels(usize),
    /// The same for all ranks whose kernels are slower.
    SlowRanks,
    /// A rank has no more work than its peers.
    EvenWork(usize),
    /// A rank's CPU launches as early as those of its peers.
    HostInTime(usize),
    /// A rank's copies are exposed for no longer than those of its peers.
    EvenCopies(usize),
    /// Nothing runs on a rank for no longer than on its peers, where the next activity was launched.
    EvenIdle(usize),
    /// No rank of a host needs more own time than the ranks of other hosts.
    HostKeepsUp(usize),
    /// A slow path, as an index into those of the network, is as fast as others of its kind.
    Path(usize),
    /// The same for all slow paths.
    Paths,
    /// Links with large messages that carry far less than they can reach half of it.
    LinksAtHalf,
    /// Transfers of all slow steps take as long as in other steps.
    SlowSteps,
    /// All ranks get the same number of tokens for their experts.
    BalancedExperts,
    /// All stages of a pipeline have the same work.
    EvenStages,
    /// All ranks that share a sequence have the same work.
    EvenSequence,
    /// No CPU launches late for as long as those of all ranks of a collective do.
    AllInTime,
    /// All ranks are as fast in all steps as in their faster ones.
    EvenSpeed,
    /// Gradients are reduced once in a step, not after each micro-batch.
    ReducedOnce,
    /// No rank of a collective needs more own time than the median rank.
    NoWaiting,
}

/// The data needed to estimate what changes would save.
pub(crate) struct Estimator<'a> {
    pub(crate) job: &'a Job,
    pub(crate) flow: &'a Flow,
    pub(crate) layout: &'a Layout,
    pub(crate) same_work: &'a SameWork,
    pub(crate) network: &'a Network,
    pub(crate) exchanges: &'a [Exchange],
    pub(crate) delays: &'a Delays,
    /// `None` where clocks cannot be compared.
    pub(crate) replay: Option<&'a Replay>,
}

impl Estimator<'_> {
    /// What a change saves; `None` where clocks cannot be compared.
    pub(crate) fn gain(&self, of: WhatIf) -> Option<Gain> {
        self.gain_of_all(&[of])
    }

    /// What several changes save together.
    pub(crate) fn gain_of_all(&self, changes: &[WhatIf]) -> Option<Gain> {
        let replay = self.replay?;
        let mut plan = replay.plan();
        for change in changes {
            self.change(&mut plan, *change);
        }
        Some(replay.gain(self.flow, &plan))
    }

    fn plan(&self, replay: &Replay, of: WhatIf) -> Plan {
        let mut plan = replay.plan();
        self.change(&mut plan, of);
        plan
    }

    fn change(&self, plan: &mut Plan, of: WhatIf) {
        match of {
            WhatIf::KeepsUp(rank) => {
                self.shorten(plan, |part| part.rank == rank, |part| part.excess_ns());
            }
            WhatIf::SameKernels(rank) => {
                let slower = self.slower(|part| part.rank == rank);
                self.shorten_by(plan, &slower);
            }
            WhatIf::SlowRanks => self.quicken_kernels(plan),
            WhatIf::EvenWork(rank) => self.even_work(plan, rank),
            WhatIf::HostInTime(rank) => self.even(plan, rank, |own| own.late_ns),
            WhatIf::EvenCopies(rank) => self.even(plan, rank, |own| own.copies_ns),
            WhatIf::EvenIdle(rank) => self.even(plan, rank, |own| own.idle_ns()),
            WhatIf::HostKeepsUp(host) => self.host_keeps_up(plan, host),
            WhatIf::Path(path) => self.speed_up_path(plan, path),
            WhatIf::Paths => {
                for path in 0..self.network.slow_paths.len() {
                    self.speed_up_path(plan, path);
                }
            }
            WhatIf::LinksAtHalf => {
                let below = self.network.below_figure.iter();
                let below = below.filter_map(|at| self.network.links.get(*at));
                let ratios = below.flat_map(|link| {
                    let share = link.share_percent().filter(|share| *share > 0.0);
                    let ratio = share.map_or(1.0, |share| FAR_BELOW_PERCENT / share);
                    link.collectives.iter().map(move |at| (*at, ratio))
                });
                self.speed_up(plan, ratios);
            }
            WhatIf::SlowSteps => {
                let slow = self.network.slow_steps.iter();
                let collectives = slow.flat_map(|of| of.collectives.iter().copied());
                self.speed_up(plan, collectives);
            }
            WhatIf::BalancedExperts => self.balance(plan),
            WhatIf::EvenStages => self.even_stages(plan),
            WhatIf::EvenSequence => self.even_sequence(plan),
            WhatIf::AllInTime => self.all_in_time(plan),
            WhatIf::EvenSpeed => self.even_speed(plan),
            WhatIf::ReducedOnce => self.reduced_once(plan),
            WhatIf::NoWaiting => self.no_waiting(plan),
        }
    }

    /// Shortens the own time of some parts.
    fn shorten(
        &self,
        plan: &mut Plan,
        which: impl Fn(&Part) -> bool,
        by_ns: impl Fn(&Part) -> i64,
    ) {
        for (part, own_ns) in self.flow.parts.iter().zip(&mut plan.own_ns) {
            if which(part) {
                *own_ns = less(*own_ns, by_ns(part).max(0));
            }
        }
    }

    /// Makes a part of the own time of a rank as short as that of its peers.
    fn even(&self, plan: &mut Plan, rank: usize, value: fn(&OwnTime) -> i64) {
        let is_own = |part: &Part| part.rank == rank;
        self.shorten(plan, is_own, |part| {
            let both = part.own.zip(part.peers);
            both.map_or(0, |(own, peers)| value(&own).saturating_sub(value(&peers)))
        });
    }

    /// Shortens the own time of each part.
    fn shorten_by(&self, plan: &mut Plan, by_ns: &[i64]) {
        for (own_ns, by_ns) in plan.own_ns.iter_mut().zip(by_ns) {
            *own_ns = less(*own_ns, (*by_ns).max(0));
        }
    }

    /// The ratio of the rank of a part: how many times as long as others it takes for the same work in its step.
    fn ratio(&self, part: &Part) -> Option<f64> {
        let step = self.flow.step_of(part)?;
        self.same_work.ratio(step, part.rank)
    }

    /// How much longer the work of a part takes than the same work on other ranks.
    fn slower_ns(&self, part: &Part) -> i64 {
        // The compared work includes copies.
        let work_ns = part
            .own
            .map_or(0, |own| own.work_ns.saturating_add(own.copies_ns));
        // A single slow kernel does not slow all parts alike.
        let ratio = self.ratio(part).filter(|ratio| *ratio >= LEAST_RATIO);
        ratio.map_or(0, |ratio| {
            (work_ns as f64 * (1.0 - 1.0 / ratio)).round() as i64
        })
    }

    /// How much longer the work before each of the selected parts takes than the same work on other ranks. Kernels that
    /// run during a collective end later, too, and so delay the next one: what the own time does not explain is that
    /// part of its excess over the peers.
    fn slower(&self, which: impl Fn(&Part) -> bool) -> Vec<i64> {
        let mut by_ns = vec![0; self.flow.parts.len()];
        // For each rank and step, how much longer the kernels during its collectives take.
        let mut overlapping: Map<(usize, usize), i64> = Map::default();
        let parts = || {
            self.flow
                .parts
                .iter()
                .enumerate()
                .filter(|(_, part)| which(part))
        };
        for (at, part) in parts() {
            let own_ns = self.slower_ns(part);
            set(&mut by_ns, at, own_ns);
            let Some(step) = self.flow.step_of(part) else {
                continue;
            };
            let same = || self.same_work.of_steps.get(step)?.get(part.rank);
            let all_ns = || same().map_or(0, |same| same.slower_ns());
            let left_ns = overlapping.entry((step, part.rank)).or_insert_with(all_ns);
            *left_ns = left_ns.saturating_sub(own_ns);
        }
        for (at, part) in parts() {
            let left_ns = self
                .flow
                .step_of(part)
                .and_then(|step| overlapping.get_mut(&(step, part.rank)));
            let (Some((own, peers)), Some(left_ns)) = (part.own.zip(part.peers), left_ns) else {
                continue;
            };
            let own_ns = self.slower_ns(part);
            let more_ns = own.work_ns.saturating_sub(peers.work_ns);
            let more_ns = more_ns.min(part.excess_ns()).saturating_sub(own_ns);
            let overlapping_ns = more_ns.clamp(0, (*left_ns).max(0));
            *left_ns = left_ns.saturating_sub(overlapping_ns);
            set(&mut by_ns, at, own_ns.saturating_add(overlapping_ns));
        }
        by_ns
    }

    /// Makes the kernels of all ranks as fast as those of others where they are slower.
    fn quicken_kernels(&self, plan: &mut Plan) {
        let is_slow = |part: &Part| self.ratio(part).is_some_and(|ratio| ratio >= LEAST_RATIO);
        self.shorten_by(plan, &self.slower(is_slow));
    }

    /// Gives a rank as much work as its peers have or, where these have more than usual, too, as ranks that do the same
    /// in other groups: ranks that share layers share their work.
    fn even_work(&self, plan: &mut Plan, rank: usize) {
        let usual = |value: fn(OwnTime) -> i64| self.medians(|part| part.rank != rank, value);
        let (works, totals) = (usual(|own| own.work_ns), usual(|own| own.total_ns));
        // What ran during a collective that others waited in does not follow it, so that their own time is shorter than
        // their work: in a step, a rank cannot give away more than it has beyond the usual. Time before several
        // simultaneous collectives counts once.
        let mut left: Map<usize, i64> = Map::default();
        let mut given: Map<i64, i64> = Map::default();
        let beyond = |part: &Part| {
            let own = part.own?;
            let of = |values: &[Option<i64>]| values.get(part.alike).copied().flatten();
            let usual = of(&works).zip(of(&totals));
            let peers = part.peers.map(|peers| (peers.work_ns, peers.total_ns));
            let beyond = |(work_ns, total_ns): (i64, i64)| {
                let more_ns = own.work_ns.saturating_sub(work_ns);
                let more_ns = more_ns.saturating_sub(self.slower_ns(part).max(0));
                more_ns.min(own.total_ns.saturating_sub(total_ns))
            };
            let all = peers.into_iter().chain(usual).map(beyond);
            all.max().map(|ns| ns.max(0))
        };
        let by_ns = self.flow.parts.iter().map(|part| {
            let ns = beyond(part).filter(|_| part.rank == rank).unwrap_or(0);
            let step = self.flow.step_of(part);
            let most = step.and_then(|step| Some((step, self.more_ns(step, rank)?)));
            let Some((step, most_ns)) = most.filter(|_| ns > 0) else {
                return ns;
            };
            // What it launches after the last collective of a step runs before the first one of the next.
            let before_ns = step.checked_sub(1).and_then(|before| {
                let left_ns = left.remove(&before);
                left_ns.or_else(|| self.more_ns(before, rank))
            });
            let left_ns = left
                .entry(step)
                .or_insert_with(|| most_ns.max(before_ns.unwrap_or(0)));
            let given_ns = given.entry(part.since_ns).or_default();
            let more_ns = ns.saturating_sub(*given_ns).clamp(0, (*left_ns).max(0));
            *left_ns -= more_ns;
            *given_ns += more_ns;
            ns.min(*given_ns)
        });
        let by_ns: Vec<i64> = by_ns.collect();
        self.shorten_by(plan, &by_ns);
    }

    /// How much more work a rank has in a step than is usual; `None` where its work is not known.
    fn more_ns(&self, step: usize, rank: usize) -> Option<i64> {
        let same = self.same_work.of_steps.get(step)?.get(rank)?;
        (same.total_ns > 0).then_some(same.more_ns.max(0))
    }

    /// Scales the work of each stage to the mean of all stages.
    fn even_stages(&self, plan: &mut Plan) {
        let n_steps = self.job.steps.len();
        let loads: Vec<Vec<(usize, f64)>> = (0..n_steps)
            .map(|step| loads(self.layout, self.same_work, step))
            .collect();
        self.divide_work(plan, |part, step| {
            let stage = self.layout.stage(part.rank)?;
            let mut loads = loads.get(step)?.iter();
            let (_, load) = loads.find(|(of, _)| *of == stage)?;
            Some(*load).filter(|load| *load > 0.0)
        });
    }

    /// Divides the work of parts by their load in a step relative to the mean, where that is known.
    fn divide_work(&self, plan: &mut Plan, load: impl Fn(&Part, usize) -> Option<f64>) {
        for (part, own_ns) in self.flow.parts.iter().zip(&mut plan.own_ns) {
            let step = self.flow.step_of(part);
            let load = step.and_then(|step| load(part, step));
            if let Some((own, load)) = part.own.zip(load) {
                let change_ns = own.work_ns as f64 * (1.0 / load - 1.0);
                *own_ns = own_ns.saturating_add(change_ns.round() as i64);
            }
        }
    }

    fn speed_up_path(&self, plan: &mut Plan, path: usize) {
        let Some(path) = self.network.slow_paths.get(path) else {
            return;
        };
        let links = path
            .links
            .iter()
            .filter_map(|at| self.network.links.get(*at));
        let collectives = links.flat_map(|link| link.collectives.iter().copied());
        self.speed_up(plan, collectives.map(|at| (at, path.ratio)));
    }

    /// Divides the transfers of collectives of the job by their ratios.
    fn speed_up(&self, plan: &mut Plan, ratios: impl Iterator<Item = (usize, f64)>) {
        let ratios: Map<usize, f64> = ratios.collect();
        for (node, transfer_ns) in self.flow.nodes.iter().zip(&mut plan.transfer_ns) {
            let ratio = node.matched.and_then(|at| ratios.get(&at).copied());
            if let Some(ratio) = ratio.filter(|ratio| *ratio > 1.0) {
                *transfer_ns = (*transfer_ns as f64 / ratio).round() as i64;
            }
        }
    }

    /// Scales the work of experts to the mean number of tokens, and transfers to the mean number of bytes.
    fn balance(&self, plan: &mut Plan) {
        let of = |matched: fn(&Exchange) -> usize| {
            let exchanges = self.exchanges.iter();
            exchanges.map(|of| (matched(of), of)).collect::<Map<_, _>>()
        };
        let (dispatches, combines) = (of(|of| of.dispatch), of(|of| of.combine));
        for (node, transfer_ns) in self.flow.nodes.iter().zip(&mut plan.transfer_ns) {
            let Some(matched) = node.matched else {
                continue;
            };
            let combine = combines.get(&matched);
            let Some(exchange) = combine.or_else(|| dispatches.get(&matched)) else {
                continue;
            };
            let imbalance = exchange.imbalance().filter(|ratio| *ratio > 1.0);
            if let Some(imbalance) = imbalance {
                *transfer_ns = (*transfer_ns as f64 / imbalance).round() as i64;
            }
            if combine.is_none() {
                continue;
            }
            for (part, at) in self
                .flow
                .parts_of(node)
                .iter()
                .zip(self.flow.places_of(node))
            {
                let loads = exchange.loads.iter();
                let load = loads.filter(|(member, _)| member.rank == part.rank);
                let share = load.filter_map(|(_, load)| exchange.share(*load)).next();
                let (Some(share), Some(own)) = (share.filter(|share| *share > 0.0), part.own)
                else {
                    continue;
                };
                let change_ns = (own.work_ns as f64 * (1.0 / share - 1.0)).round() as i64;
                set(
                    &mut plan.own_ns,
                    at,
                    part.own_ns().saturating_add(change_ns),
                );
            }
        }
    }

    /// Compares with ranks of other hosts in the same collective, or in those of groups of the same kind.
    fn host_keeps_up(&self, plan: &mut Plan, host: usize) {
        let is_on_host = |part: &Part| {
            self.job
                .ranks
                .get(part.rank)
                .is_some_and(|rank| rank.host == host)
        };
        let medians = self.medians(|part| !is_on_host(part), |own| own.total_ns);
        for (part, own_ns) in self.flow.parts.iter().zip(&mut plan.own_ns) {
            let own = part.own.filter(|_| is_on_host(part));
            let median = medians.get(part.alike).copied().flatten();
            if let Some((own, median)) = own.zip(median) {
                *own_ns = less(*own_ns, own.total_ns.saturating_sub(median).max(0));
            }
        }
    }

    /// No rank needs more than the median of those that do the same. Ranks that need less stay faster, so that no
    /// change of a single rank saves more than all together.
    fn no_waiting(&self, plan: &mut Plan) {
        let alike = self.medians(|_| true, |own| own.total_ns);
        for node in &self.flow.nodes {
            let parts = self.flow.parts_of(node);
            let is_transfer = node.collective(self.job);
            let is_transfer = is_transfer.is_some_and(|of| of.pair.is_some());
            // Only among ranks of one stage: other stages do something else.
            let own = parts.iter().filter(|_| !is_transfer);
            let own = own.filter_map(|part| Some((part.alike, part.own?.total_ns)));
            let own: Vec<(usize, Vec<i64>)> = grouped(own, Vec::push);
            let several = own.into_iter().filter(|(_, own)| own.len() > 1);
            let medians = several.map(|(alike, own)| (alike, mean_of_middle_ns(own)));
            let medians: Vec<(usize, Option<i64>)> = medians.collect();
            for (part, at) in parts.iter().zip(self.flow.places_of(node)) {
                let mut of_node = medians.iter();
                let of_node = of_node.find(|(alike, _)| *alike == part.alike);
                let of_alike = || alike.get(part.alike).copied().flatten();
                let median = of_node.and_then(|(_, ns)| *ns).or_else(of_alike);
                if let Some((own, median)) = part.own.zip(median) {
                    let recorded_ns = part.own_ns();
                    let change_ns = median.saturating_sub(own.total_ns).min(0);
                    set(&mut plan.own_ns, at, recorded_ns.saturating_add(change_ns));
                }
            }
        }
    }

    /// For each set of parts that do the same, the median of a part of the own time of the selected ones.
    fn medians(
        &self,
        which: impl Fn(&Part) -> bool,
        value: fn(OwnTime) -> i64,
    ) -> Vec<Option<i64>> {
        let n = self.flow.parts.iter().map(|part| part.alike + 1).max();
        let mut all: Vec<Vec<i64>> = vec![Vec::new(); n.unwrap_or(0)];
        for part in self.flow.parts.iter().filter(|part| which(part)) {
            if let Some((values, own)) = all.get_mut(part.alike).zip(part.own) {
                values.push(value(own));
            }
        }
        all.into_iter().map(mean_of_middle_ns).collect()
    }
}

/// Subtracts without going below zero, unless the value already was.
fn less(own_ns: i64, by_ns: i64) -> i64 {
    own_ns.saturating_sub(by_ns).max(own_ns.min(0))
}

fn set(values: &mut [i64], at: usize, ns: i64) {
    if let Some(value) = values.get_mut(at) {
        *value = ns;
    }
}
