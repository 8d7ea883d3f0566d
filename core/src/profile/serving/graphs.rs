//! The graphs of a recording: how often each is replayed, how long that takes, and which batches it
//! serves.

use super::replays::Graph;
use super::{ServingStep, layers};
use crate::base::interval::{self, Interval};
use crate::base::stats::median_ns;
use crate::names::batch::{Batch, Phase};
use crate::profile::Profile;
use crate::trace::EventId;

/// A graph and its replays.
#[derive(Debug, Clone, PartialEq)]
pub struct GraphFacts {
    /// What tells it from others: the profiler's id of it, else the hash of the names of its kernels.
    pub key: u64,
    /// It is the profiler's id; else graphs of several sizes may be one here.
    pub has_id: bool,
    /// Kernels, copies and fills of a replay.
    pub n_work: usize,
    /// The longest of its kernels.
    pub longest: EventId,
    /// By start.
    pub replays: Vec<ReplayFacts>,
}

/// One replay of a graph.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReplayFacts {
    /// The launching call.
    pub call: EventId,
    /// When that ran.
    pub on_host: Interval,
    /// From its first to its last GPU activity.
    pub span: Interval,
    /// It lies in a step.
    pub is_in_step: bool,
    /// The batch of that step, where its annotation tells.
    pub batch: Option<Batch>,
}

impl GraphFacts {
    /// From the first to the last GPU activity of a replay, the median.
    pub fn median_ns(&self) -> i64 {
        let lengths = self.replays.iter().map(|replay| replay.span.length());
        median_ns(lengths.collect()).unwrap_or(0)
    }

    /// The time of all its replays.
    pub fn ns(&self) -> i64 {
        interval::sum(self.replays.iter().map(|replay| replay.span.length()))
    }

    fn batches(&self) -> impl Iterator<Item = Batch> {
        self.replays.iter().filter_map(|replay| replay.batch)
    }

    /// The phases of the steps that replay it.
    pub fn phases(&self) -> Vec<Phase> {
        let phases = Phase::ALL.into_iter();
        phases
            .filter(|phase| self.batches().any(|batch| batch.phase == *phase))
            .collect()
    }

    /// The smallest and the largest of a count of the batches that it serves.
    pub fn range(&self, of: fn(&Batch) -> Option<u64>) -> Option<(u64, u64)> {
        let counts = || self.batches().filter_map(|batch| of(&batch));
        counts().min().zip(counts().max())
    }

    /// The batch that it was captured for, as far as the recording tells: the size that annotations
    /// name, else, of a graph that the profiler tells from others, the largest that it serves, which is the
    /// least it can be.
    pub fn captured_for(&self) -> Option<CapturedFor> {
        let named = self.range(|batch| batch.padded_to);
        if let Some((_, requests)) = named {
            return Some(CapturedFor {
                n: requests,
                is_named: true,
            });
        }
        let (least, most) = self.range(Batch::tokens)?;
        (self.has_id && least < most).then_some(CapturedFor {
            n: most,
            is_named: false,
        })
    }

    /// What share of the captured batch is padding in the mean of its replays, in percent; at least that
    /// where no annotation names the captured size.
    pub fn padding_percent(&self) -> Option<f64> {
        let captured = self.captured_for()?;
        let real = |batch: Batch| match captured.is_named {
            true => batch.requests(),
            false => batch.tokens(),
        };
        let shares = self.batches().filter_map(|batch| {
            let real = real(batch)?;
            let of = match captured.is_named {
                // Annotations name no size that is the real one.
                true => batch.padded_to.unwrap_or(real),
                false => captured.n,
            };
            let of = of.max(1) as f64;
            Some((of - real as f64).max(0.0) / of * 100.0)
        });
        let shares: Vec<f64> = shares.collect();
        (!shares.is_empty()).then(|| shares.iter().sum::<f64>() / shares.len() as f64)
    }
}

/// The size of the batch that a graph was captured for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CapturedFor {
    /// Requests where annotations name them, else tokens.
    pub n: u64,
    /// Annotations name it; else it is that at least.
    pub is_named: bool,
}

/// What is said of each graph, in their order.
pub(super) fn facts(profile: &Profile, graphs: &[Graph], steps: &[ServingStep]) -> Vec<GraphFacts> {
    let events = &profile.trace.events;
    let facts = graphs.iter().filter_map(|graph| {
        let work = &graph.replays.first()?.work;
        let longest = layers::longest(profile, work)?;
        let replays = graph.replays.iter().map(|replay| {
            let (track, ts_ns) = (events.track(replay.call), events.ts_ns(replay.call));
            let until = steps.partition_point(|step| step.on_host.start_ns <= ts_ns);
            let before = steps.get(..until).unwrap_or_default();
            let step = before
                .iter()
                .rev()
                .find(|step| step.track == track)
                .filter(|step| step.on_host.contains(ts_ns));
            ReplayFacts {
                call: replay.call,
                on_host: events.span(replay.call),
                span: replay.span,
                is_in_step: step.is_some(),
                batch: step.and_then(|step| step.batch),
            }
        });
        Some(GraphFacts {
            key: graph.key,
            has_id: graph.has_id,
            n_work: work.len(),
            longest,
            replays: replays.collect(),
        })
    });
    facts.collect()
}

/// The same of the replays in a part of the time, or of those that one step launched.
pub(super) fn within(
    graphs: &[GraphFacts],
    span: Interval,
    on_host: Option<Interval>,
) -> Vec<GraphFacts> {
    let is_inside = |replay: &ReplayFacts| match on_host {
        Some(on_host) => on_host.contains(replay.on_host.start_ns),
        None => span.contains(replay.span.start_ns),
    };
    let graphs = graphs.iter().map(|graph| {
        let replays = graph.replays.iter().filter(|replay| is_inside(replay));
        GraphFacts {
            replays: replays.copied().collect(),
            ..graph.clone()
        }
    });
    graphs.filter(|graph| !graph.replays.is_empty()).collect()
}
