//! What ranks with more tokens for their experts need longer for them.

use crate::base::map::Map;
use crate::job::experts::{Load, by_rank};
use crate::job::what_if::Asked;

/// The work on tokens, against that of the peers.
pub(super) struct Experts {
    loads: Vec<Load>,
    /// By step and rank.
    more_ns: Map<(usize, usize), i64>,
}

impl Experts {
    pub(super) fn new(asked: &Asked) -> Experts {
        let mut combines = vec![false; asked.job.collectives.len()];
        for exchange in asked.exchanges {
            if let Some(is_combine) = combines.get_mut(exchange.combine) {
                *is_combine = true;
            }
        }
        let mut more_ns: Map<(usize, usize), i64> = Map::default();
        for node in &asked.flow.nodes {
            let is_combine = node.matched.and_then(|at| combines.get(at)) == Some(&true);
            let Some(step) = node.step.filter(|_| is_combine) else {
                continue;
            };
            for part in asked.flow.parts_of(node) {
                if let Some((own, peers)) = part.own.zip(part.peers) {
                    let more = own.work_ns.saturating_sub(peers.work_ns).max(0);
                    let all = more_ns.entry((step, part.rank)).or_default();
                    *all = all.saturating_add(more);
                }
            }
        }
        Experts {
            loads: by_rank(asked.exchanges),
            more_ns,
        }
    }

    /// By how much longer a rank works on tokens than its peers in a step.
    pub(super) fn of(&self, step: usize, rank: usize) -> i64 {
        self.more_ns.get(&(step, rank)).copied().unwrap_or(0)
    }

    /// The tokens of a rank against the mean of its groups.
    pub(super) fn share(&self, rank: usize) -> f64 {
        let load = self.loads.iter().find(|load| load.rank == rank);
        load.map_or(1.0, |load| load.share)
    }
}
