//! Changes of all ranks, or of all ranks of a group, at once.

use super::{Estimator, less};
use crate::job::analysis::replay::Plan;
use crate::job::analysis::sequence::{self, Load};

impl Estimator<'_> {
    /// Takes from each rank of a collective the time that all of them launch late.
    pub(super) fn all_in_time(&self, plan: &mut Plan) {
        for node in &self.flow.nodes {
            let late_ns = self.flow.late_together_ns(node).unwrap_or(0);
            for at in self.flow.places_of(node) {
                if let Some(own_ns) = plan.own_ns.get_mut(at) {
                    *own_ns = less(*own_ns, late_ns);
                }
            }
        }
    }

    /// Shortens the work of steps in which all ranks are slow to what it takes in faster ones.
    pub(super) fn even_speed(&self, plan: &mut Plan) {
        for (part, own_ns) in self.flow.parts.iter().zip(&mut plan.own_ns) {
            let factor = || {
                let step = self.flow.step_of(part)?;
                let mut slow = self.same_work.slow_steps.iter();
                let slow = slow.find(|slow| slow.step == step)?;
                slow.factors
                    .get(part.rank)
                    .copied()
                    .filter(|factor| *factor > 1.0)
            };
            if let Some((own, factor)) = part.own.zip(factor()) {
                let less_ns = own.work_ns as f64 * (1.0 - 1.0 / factor);
                *own_ns = less(*own_ns, less_ns.round() as i64);
            }
        }
    }

    /// Leaves out the transfers of reductions that one at the end of the step would replace.
    pub(super) fn reduced_once(&self, plan: &mut Plan) {
        for (node, transfer_ns) in self.flow.nodes.iter().zip(&mut plan.transfer_ns) {
            let mut parts = self.flow.parts_of(node).iter();
            if parts.all(|part| part.is_repeated(self.job)) {
                *transfer_ns = 0;
            }
        }
    }

    /// Scales the work of ranks that share a sequence to the mean of their group, where they have more. What the others
    /// take over fits into the time that they wait.
    pub(super) fn even_sequence(&self, plan: &mut Plan) {
        let loads = |step| sequence::loads(self.job, self.layout, self.same_work, step);
        let loads: Vec<Vec<Load>> = (0..self.job.steps.len())
            .map(|step| loads(step).concat())
            .collect();
        self.divide_work(plan, |part, step| {
            let mut loads = loads.get(step)?.iter();
            Some(loads.find(|load| load.rank == part.rank)?.share).filter(|share| *share > 1.0)
        });
    }
}
