//! Changes of which it is asked what they would be worth.

use serde::Serialize;

use super::Job;
use super::delay::Delays;
use super::experts::Exchange;
use super::flow::{Flow, Part};
use super::network::{FAR_BELOW_PERCENT, Network};
use super::replay::{Gain, Plan, Replay};
use super::same_work::SameWork;
use crate::base::map::Map;
use crate::base::stats::mean_of_middle_ns;

/// A change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
pub(crate) enum WhatIf {
    /// A rank needs no more time of its own than its peers.
    KeepsUp(usize),
    /// A rank's kernels take as long as the same ones of others.
    SameKernels(usize),
    /// A rank has no more work than its peers.
    EvenWork(usize),
    /// A rank's CPU launches as early as that of its peers.
    HostInTime(usize),
    /// All ranks of a host need no more time of their own than those of other hosts.
    HostKeepsUp(usize),
    /// A slow path, among those of the network, is as fast as those of its kind.
    Path(usize),
    /// All slow paths are.
    Paths,
    /// Links with large messages that carry far less than they can carry half of that.
    LinksAtHalf,
    /// Transfers of a slow step, among those of the network, take as long as in other steps.
    SlowStep(usize),
    /// All ranks get as many tokens for their experts.
    BalancedExperts,
    /// All ranks of a collective need as much time of their own.
    NoWaiting,
}

/// A job that is asked what changes would be worth.
pub(crate) struct Asked<'a> {
    pub(crate) job: &'a Job,
    pub(crate) flow: &'a Flow,
    pub(crate) same_work: &'a SameWork,
    pub(crate) network: &'a Network,
    pub(crate) exchanges: &'a [Exchange],
    pub(crate) delays: &'a Delays,
    /// `None` where clocks cannot be compared.
    pub(crate) replay: Option<&'a Replay>,
}

impl Asked<'_> {
    /// What a change gains; `None` where clocks cannot be compared.
    pub(crate) fn gain(&self, of: WhatIf) -> Option<Gain> {
        let replay = self.replay?;
        Some(replay.gain(self.flow, &self.plan(replay, of)))
    }

    fn plan(&self, replay: &Replay, of: WhatIf) -> Plan {
        let mut plan = replay.plan();
        match of {
            WhatIf::KeepsUp(rank) => {
                self.shorten(&mut plan, |part| part.rank == rank, |part| part.excess_ns());
            }
            WhatIf::SameKernels(rank) => self.shorten(
                &mut plan,
                |part| part.rank == rank,
                |part| self.slower_ns(part),
            ),
            WhatIf::EvenWork(rank) => self.shorten(
                &mut plan,
                |part| part.rank == rank,
                |part| {
                    let both = part.own.zip(part.peers);
                    let work_ns =
                        both.map_or(0, |(own, peers)| own.work_ns.saturating_sub(peers.work_ns));
                    let more_ns = work_ns.saturating_sub(self.slower_ns(part).max(0));
                    more_ns.min(part.excess_ns())
                },
            ),
            WhatIf::HostInTime(rank) => self.shorten(
                &mut plan,
                |part| part.rank == rank,
                |part| {
                    let both = part.own.zip(part.peers);
                    both.map_or(0, |(own, peers)| own.late_ns.saturating_sub(peers.late_ns))
                },
            ),
            WhatIf::HostKeepsUp(host) => self.host_keeps_up(&mut plan, host),
            WhatIf::Path(path) => self.quicken_path(&mut plan, path),
            WhatIf::Paths => {
                for path in 0..self.network.slow_paths.len() {
                    self.quicken_path(&mut plan, path);
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
                self.quicken(&mut plan, &gathered(ratios));
            }
            WhatIf::SlowStep(slow) => {
                let slow = self.network.slow_steps.get(slow);
                let collectives = slow
                    .into_iter()
                    .flat_map(|of| of.collectives.iter().copied());
                self.quicken(&mut plan, &gathered(collectives));
            }
            WhatIf::BalancedExperts => self.balance(&mut plan),
            WhatIf::NoWaiting => self.no_waiting(&mut plan),
        }
        plan
    }

    /// Takes so much from the own time of some parts.
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

    /// What the work of a part takes beyond the same work of others.
    fn slower_ns(&self, part: &Part) -> i64 {
        let step = self.flow.node_of(part).and_then(|node| node.step);
        let ratio = step.and_then(|step| self.same_work.ratio(step, part.rank));
        // Copies are part of the work that is compared.
        let work_ns = part
            .own
            .map_or(0, |own| own.work_ns.saturating_add(own.copies_ns));
        let ratio = ratio.filter(|ratio| *ratio > 1.0);
        ratio.map_or(0, |ratio| {
            (work_ns as f64 * (1.0 - 1.0 / ratio)).round() as i64
        })
    }

    fn quicken_path(&self, plan: &mut Plan, path: usize) {
        let Some(path) = self.network.slow_paths.get(path) else {
            return;
        };
        let links = path
            .links
            .iter()
            .filter_map(|at| self.network.links.get(*at));
        let collectives = links.flat_map(|link| link.collectives.iter().copied());
        self.quicken(plan, &gathered(collectives.map(|at| (at, path.ratio))));
    }

    /// Divides the transfers of collectives of the job by their ratios.
    fn quicken(&self, plan: &mut Plan, ratios: &Map<usize, f64>) {
        for (node, transfer_ns) in self.flow.nodes.iter().zip(&mut plan.transfer_ns) {
            let ratio = node.matched.and_then(|at| ratios.get(&at).copied());
            if let Some(ratio) = ratio.filter(|ratio| *ratio > 1.0) {
                *transfer_ns = (*transfer_ns as f64 / ratio).round() as i64;
            }
        }
    }

    /// The work of experts for the mean of their tokens, and transfers for the mean of the bytes.
    fn balance(&self, plan: &mut Plan) {
        let of = |matched: fn(&Exchange) -> usize| {
            gathered(
                self.exchanges
                    .iter()
                    .map(|exchange| (matched(exchange), exchange)),
            )
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

    /// Against ranks of other hosts in the same collective, or in those of groups of the same kind.
    fn host_keeps_up(&self, plan: &mut Plan, host: usize) {
        let is_on_host = |part: &Part| {
            self.job
                .ranks
                .get(part.rank)
                .is_some_and(|rank| rank.host == host)
        };
        let medians = self.medians(|part| !is_on_host(part));
        for (part, own_ns) in self.flow.parts.iter().zip(&mut plan.own_ns) {
            let own = part.own.filter(|_| is_on_host(part));
            let median = medians.get(part.alike).copied().flatten();
            if let Some((own, median)) = own.zip(median) {
                *own_ns = less(*own_ns, own.total_ns.saturating_sub(median).max(0));
            }
        }
    }

    /// Everyone needs what the middle one of those does who do the same.
    fn no_waiting(&self, plan: &mut Plan) {
        let alike = self.medians(|_| true);
        for node in &self.flow.nodes {
            let parts = self.flow.parts_of(node);
            let is_transfer = node.matched.and_then(|at| self.job.collectives.get(at));
            let is_transfer = is_transfer.is_some_and(|of| of.pair.is_some());
            let own = parts.iter().filter_map(|part| Some(part.own?.total_ns));
            let of_node = mean_of_middle_ns(own.collect());
            let of_node = of_node.filter(|_| !is_transfer && parts.len() > 1);
            for (part, at) in parts.iter().zip(self.flow.places_of(node)) {
                let of_alike = || alike.get(part.alike).copied().flatten();
                let median = of_node.or_else(of_alike);
                if let Some((own, median)) = part.own.zip(median) {
                    let recorded_ns = part.own_ns();
                    let change_ns = median.saturating_sub(own.total_ns);
                    set(&mut plan.own_ns, at, recorded_ns.saturating_add(change_ns));
                }
            }
        }
    }

    /// Of parts that do the same: the median of the own time of some of them.
    fn medians(&self, which: impl Fn(&Part) -> bool) -> Vec<Option<i64>> {
        let n = self.flow.parts.iter().map(|part| part.alike + 1).max();
        let mut all: Vec<Vec<i64>> = vec![Vec::new(); n.unwrap_or(0)];
        for part in self.flow.parts.iter().filter(|part| which(part)) {
            if let Some((values, own)) = all.get_mut(part.alike).zip(part.own) {
                values.push(own.total_ns);
            }
        }
        all.into_iter().map(mean_of_middle_ns).collect()
    }
}

fn gathered<T>(of: impl Iterator<Item = (usize, T)>) -> Map<usize, T> {
    let mut all = Map::default();
    all.extend(of);
    all
}

/// Never less than nothing, except where it was before.
fn less(own_ns: i64, by_ns: i64) -> i64 {
    own_ns.saturating_sub(by_ns).max(own_ns.min(0))
}

fn set(values: &mut [i64], at: usize, ns: i64) {
    if let Some(value) = values.get_mut(at) {
        *value = ns;
    }
}
