//! What a job comes to: made once, read by sheets, findings and the page.

use serde::Serialize;

use super::Job;
use super::cause::{self, Cause, slow_hosts};
use super::delay::Delays;
use super::experts::{Exchange, exchanges};
use super::flow::Flow;
use super::network::{Network, NetworkFigures, SlowStep};
use super::replay::{Gain, Replay};
use super::roles::Layout;
use super::same_work::SameWork;
use super::timing::Timing;
use super::what_if::{Asked, WhatIf};

/// What a job comes to.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Analysis {
    /// Every collective on the common clock.
    #[serde(skip)]
    pub(crate) flow: Flow,
    /// Which rank holds the others up, and what its own time goes to.
    pub(crate) delays: Delays,
    /// Who takes longer for the same work, and who has more.
    pub(crate) same_work: SameWork,
    /// Why ranks hold the others up; what is worth most first.
    pub(crate) causes: Vec<Cause>,
    /// What all could gain if nobody waited for anybody: the job's bound, no less than any change of own times gains.
    pub(crate) no_waiting: Option<Gain>,
    /// By collective of the job: when its ranks ran it, on the common clock.
    #[serde(skip)]
    pub(crate) timings: Vec<Option<Timing>>,
    /// How fast the data moved.
    #[serde(skip)]
    pub(crate) network: Network,
    /// Tokens to their experts and back.
    #[serde(skip)]
    pub(crate) exchanges: Vec<Exchange>,
    /// What the groups are for.
    #[serde(skip)]
    pub(crate) layout: Layout,
    /// The job, to be run again with changes; `None` where clocks cannot be compared.
    #[serde(skip)]
    pub(crate) replay: Option<Replay>,
}

impl Analysis {
    /// Analyzes a job of whose network nothing is known.
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
        analysis.causes = cause::find(&analysis.asked(job));
        analysis.no_waiting = {
            let causes = analysis.causes.iter().filter_map(Cause::change);
            let hosts = slow_hosts(job, &analysis.causes).into_iter();
            let hosts = hosts.map(|(host, _)| WhatIf::HostKeepsUp(host));
            let all = [WhatIf::SlowRanks].into_iter().chain(causes).chain(hosts);
            analysis.asked(job).bound(all)
        };
        analysis
    }

    /// What a change would gain; `None` where clocks cannot be compared.
    pub(crate) fn gain(&self, job: &Job, of: WhatIf) -> Option<Gain> {
        match of {
            WhatIf::NoWaiting => self.no_waiting.clone(),
            of => self.asked(job).gain(of),
        }
    }

    /// What several changes would gain together.
    pub(crate) fn gain_of_all(&self, job: &Job, changes: &[WhatIf]) -> Option<Gain> {
        self.asked(job).gain_of_all(changes)
    }

    /// The steps in which the network is slow, each with what it would gain. One run of the job tells it of all:
    /// what a step gains the next one begins earlier by.
    pub(crate) fn slow_steps(&self, job: &Job) -> Vec<(&SlowStep, i64)> {
        let slow = &self.network.slow_steps;
        if slow.is_empty() {
            return Vec::new();
        }
        let gain = self.gain(job, WhatIf::SlowSteps);
        let Some((replay, gain)) = self.replay.as_ref().zip(gain) else {
            return Vec::new();
        };
        let told = slow.iter().filter_map(|slow| {
            let mut steps = replay.steps.iter();
            let at = steps.position(|step| step.step == slow.step)?;
            Some((slow, *gain.of_steps.get(at)?))
        });
        told.collect()
    }

    fn asked<'a>(&'a self, job: &'a Job) -> Asked<'a> {
        Asked {
            job,
            flow: &self.flow,
            same_work: &self.same_work,
            network: &self.network,
            exchanges: &self.exchanges,
            delays: &self.delays,
            replay: self.replay.as_ref(),
        }
    }
}
