//! How much longer ranks with more tokens for their experts take for them.

use crate::base::group::grouped;
use crate::base::map::Map;
use crate::job::analysis::experts::{Exchange, by_rank};
use crate::job::analysis::what_if::Estimator;

/// The work on tokens, compared with that of the peers.
pub(super) struct Experts {
    /// By step and rank: the number of elements that it gets, and the mean of its groups.
    loads: Map<(usize, usize), (f64, f64)>,
    /// By step and rank.
    more_ns: Map<(usize, usize), i64>,
}

impl Experts {
    pub(super) fn new(estimator: &Estimator) -> Experts {
        let mut combines = vec![false; estimator.job.collectives.len()];
        for exchange in estimator.exchanges {
            if let Some(is_combine) = combines.get_mut(exchange.combine) {
                *is_combine = true;
            }
        }
        let mut more_ns: Map<(usize, usize), i64> = Map::default();
        for node in &estimator.flow.nodes {
            let is_combine = node.matched.and_then(|at| combines.get(at)) == Some(&true);
            let Some(step) = node.step.filter(|_| is_combine) else {
                continue;
            };
            for part in estimator.flow.parts_of(node) {
                if let Some((own, peers)) = part.own.zip(part.peers) {
                    let more = own.work_ns.saturating_sub(peers.work_ns).max(0);
                    let all = more_ns.entry((step, part.rank)).or_default();
                    *all = all.saturating_add(more);
                }
            }
        }
        let step = |of: &Exchange| estimator.job.collectives.get(of.dispatch)?.step;
        let of_steps = estimator.exchanges.iter().map(|of| (step(of), of));
        let loads = grouped(of_steps, Vec::push).into_iter();
        let loads = loads.flat_map(|(step, of_step): (Option<usize>, Vec<&Exchange>)| {
            by_rank(of_step).into_iter().filter_map(move |load| {
                Some(((step?, load.rank), (load.elements as f64, load.mean)))
            })
        });
        let loads = loads.collect();
        Experts { loads, more_ns }
    }

    /// How much longer a rank works on tokens than its peers in a step.
    pub(super) fn of(&self, step: usize, rank: usize) -> i64 {
        self.more_ns.get(&(step, rank)).copied().unwrap_or(0)
    }

    /// The number of tokens of a rank relative to the mean of its groups in some steps.
    pub(super) fn share(&self, rank: usize, steps: &[usize]) -> f64 {
        let loads = steps
            .iter()
            .filter_map(|step| self.loads.get(&(*step, rank)));
        let (own, mean) = loads.fold((0.0, 0.0), |sums, of| (sums.0 + of.0, sums.1 + of.1));
        if mean > 0.0 { own / mean } else { 1.0 }
    }
}
