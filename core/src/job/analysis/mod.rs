//! The results of analyzing a job: computed once, read by sheets, findings and the page.
//!
//! `flow` puts the collectives of all ranks in causal order, `timing` on the common clock; `replay` runs them again with
//! other times. The other files ask: who is late (`delay`, `late_by`, `cpu_speed`, `cause`), whose work differs (`same_work`,
//! `experts`, `sequence`, `pipeline`), how fast the data moves (`network`), what never ends (`unfinished`), how the
//! ranks are laid out (`roles`), and what a change would save (`what_if`).

pub(crate) mod cause;
pub(crate) mod cpu_speed;
pub(crate) mod delay;
pub(crate) mod experts;
pub(crate) mod flow;
pub(crate) mod late_by;
pub(crate) mod network;
pub(crate) mod pipeline;
pub(crate) mod replay;
pub(crate) mod roles;
pub(crate) mod same_work;
pub(crate) mod sequence;
pub(crate) mod timing;
pub(crate) mod unfinished;
pub(crate) mod what_if;

use serde::Serialize;

use super::Job;
use cause::{Cause, slow_hosts};
use delay::Delays;
use experts::{Exchange, exchanges};
use flow::Flow;
use network::{Network, NetworkFigures, SlowStep};
use replay::{Gain, Replay};
use roles::Layout;
use same_work::SameWork;
use timing::Timing;
use what_if::{Estimator, WhatIf};

/// The results of analyzing a job.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Analysis {
    /// Every collective on the common clock.
    #[serde(skip)]
    pub(crate) flow: Flow,
    /// Which rank delays the others, and where its own time goes.
    pub(crate) delays: Delays,
    /// Which ranks take longer for the same work, and which have more work.
    pub(crate) same_work: SameWork,
    /// Why ranks delay the others; largest saving first.
    pub(crate) causes: Vec<Cause>,
    /// What would be saved if no rank waited for another: the upper bound for the job, at least as large as the gain of
    /// any change of own times.
    pub(crate) no_waiting: Option<Gain>,
    /// For each collective of the job, when its ranks ran it, on the common clock.
    #[serde(skip)]
    pub(crate) timings: Vec<Option<Timing>>,
    /// How fast the data moved.
    #[serde(skip)]
    pub(crate) network: Network,
    /// All-to-all exchanges that send tokens to their experts and back.
    #[serde(skip)]
    pub(crate) exchanges: Vec<Exchange>,
    /// What each group is for.
    #[serde(skip)]
    pub(crate) layout: Layout,
    /// The job, ready to be replayed with changes; `None` where clocks cannot be compared.
    #[serde(skip)]
    pub(crate) replay: Option<Replay>,
}

impl Analysis {
    /// Analyzes a job without any figures about its network.
    pub fn new(job: &Job) -> Analysis {
        Analysis::with(job, NetworkFigures::default())
    }

    /// Analyzes a job.
    pub fn with(job: &Job, figures: NetworkFigures) -> Analysis {
        let layout = Layout::new(job);
        let flow = Flow::new(job, &layout);
        let delays = Delays::new(job, &flow);
        let same_work = SameWork::new(job, &layout);
        let timings: Vec<Option<Timing>> = (job.collectives.iter())
            .map(|matched| job.timing(matched))
            .collect();
        let network = Network::new(job, &timings, figures);
        let replay = Replay::new(job, &flow);
        let mut analysis = Analysis {
            causes: Vec::new(),
            no_waiting: None,
            delays,
            same_work,
            network,
            exchanges: exchanges(job),
            layout,
            timings,
            replay,
            flow,
        };
        analysis.causes = cause::find(&analysis.estimator(job));
        analysis.no_waiting = {
            let causes = analysis.causes.iter().filter_map(Cause::change);
            let hosts = slow_hosts(job, &analysis.causes).into_iter();
            let hosts = hosts.map(|(host, _)| WhatIf::HostKeepsUp(host));
            let all = [WhatIf::SlowRanks].into_iter().chain(causes).chain(hosts);
            analysis.estimator(job).bound(all)
        };
        analysis
    }

    /// What a change would save; `None` where clocks cannot be compared.
    pub(crate) fn gain(&self, job: &Job, of: WhatIf) -> Option<Gain> {
        match of {
            WhatIf::NoWaiting => self.no_waiting.clone(),
            of => self.estimator(job).gain(of),
        }
    }

    /// What several changes would save together.
    pub(crate) fn gain_of_all(&self, job: &Job, changes: &[WhatIf]) -> Option<Gain> {
        self.estimator(job).gain_of_all(changes)
    }

    /// The steps in which the network is slow, each with what fixing it would save. A single replay gives all of these:
    /// time saved in one step makes the next one start earlier.
    pub(crate) fn slow_steps(&self, job: &Job) -> Vec<(&SlowStep, i64)> {
        let slow = &self.network.slow_steps;
        if slow.is_empty() {
            return Vec::new();
        }
        let gain = self.gain(job, WhatIf::SlowSteps);
        let Some((replay, gain)) = self.replay.as_ref().zip(gain) else {
            return Vec::new();
        };
        let gains = slow.iter().filter_map(|slow| {
            let mut steps = replay.steps.iter();
            let at = steps.position(|step| step.step == slow.step)?;
            Some((slow, *gain.of_steps.get(at)?))
        });
        gains.collect()
    }

    fn estimator<'a>(&'a self, job: &'a Job) -> Estimator<'a> {
        Estimator {
            job,
            flow: &self.flow,
            layout: &self.layout,
            same_work: &self.same_work,
            network: &self.network,
            exchanges: &self.exchanges,
            delays: &self.delays,
            replay: self.replay.as_ref(),
        }
    }
}
