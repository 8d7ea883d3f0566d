//! The bound of a job: what it saves if no rank waits for another.

use super::{Estimator, WhatIf};
use crate::base::interval::sum;
use crate::base::map::Map;
use crate::job::analysis::replay::{Gain, Plan, Replay, StepTime};

/// Makes the own times of a plan as short as those of another one.
fn shorten(plan: &mut Plan, other: &Plan) {
    for (own_ns, other_ns) in plan.own_ns.iter_mut().zip(&other.own_ns) {
        *own_ns = (*own_ns).min(*other_ns);
    }
}

impl Estimator<'_> {
    /// What the job saves if no rank waits for another. Each part of the own time becomes as short as the median, or as
    /// any of these changes makes it, so that none of them saves more, nor do balanced experts.
    pub(crate) fn bound(&self, changes: impl Iterator<Item = WhatIf>) -> Option<Gain> {
        let replay = self.replay?;
        let mut changed = replay.plan();
        for change in changes {
            shorten(&mut changed, &self.plan(replay, change));
        }
        let mut plan = self.plan(replay, WhatIf::NoWaiting);
        shorten(&mut plan, &changed);
        let mut gain = replay.gain(self.flow, &plan);
        let mosts = self.most_ns(replay, &plan);
        let leasts = [
            Some(replay.gain(self.flow, &changed)),
            self.gain(WhatIf::BalancedExperts),
            self.gain(WhatIf::EvenSequence),
        ];
        for (step, (ns, most_ns)) in gain.of_steps.iter_mut().zip(mosts).enumerate() {
            let leasts = leasts.iter().flatten();
            let least_ns = leasts.filter_map(|least| least.of_steps.get(step)).max();
            *ns = (*ns).min(most_ns).max(least_ns.copied().unwrap_or(0));
        }
        gain.total_ns = sum(gain.of_steps.iter().copied());
        Some(gain)
    }

    /// For each step, the most that a plan without waiting saves. The time of a rank from one step to the next is its
    /// own time, its waits and transfers: the step is shorter by no more than what any rank waits, as far as nothing
    /// runs meanwhile, and what its own time becomes shorter by. The replay alone says more where collectives run
    /// during other work: what ran while a rank waited seems to be no work of its own.
    fn most_ns(&self, replay: &Replay, plan: &Plan) -> Vec<i64> {
        let mut shorter: Map<(usize, usize), i64> = Map::default();
        for (part, own_ns) in self.flow.parts.iter().zip(&plan.own_ns) {
            let step = self.flow.step_of(part);
            if let Some(step) = step {
                let by_ns = shorter.entry((step, part.rank)).or_default();
                *by_ns = by_ns.saturating_add(part.own_ns().saturating_sub(*own_ns).max(0));
            }
        }
        let most = |of: &StepTime| {
            let last = of
                .ends_with
                .iter()
                .filter_map(|at| self.flow.parts.get(*at));
            let last = last.max_by_key(|part| (part.span.end_ns, part.rank));
            let node = last.and_then(|part| self.flow.node_of(part));
            let ranks = node.into_iter().flat_map(|node| self.flow.parts_of(node));
            let most = ranks.filter_map(|part| {
                let delay = self.delays.of(of.step, part.rank)?;
                let by_ns = shorter.get(&(of.step, part.rank)).copied().unwrap_or(0);
                (delay.n > 0).then_some(delay.waited_exposed_ns.saturating_add(by_ns))
            });
            most.min().unwrap_or(i64::MAX)
        };
        replay.steps.iter().map(most).collect()
    }
}
