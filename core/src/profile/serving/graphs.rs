//! The graphs of a recording: how often each is replayed, how long that takes, and for which batches.

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
    /// Its identity: the profiler's graph id, otherwise a hash of the kernel names.
    pub key: u64,
    /// Whether it is the profiler's id; otherwise graphs of several sizes may be treated as one.
    pub has_id: bool,
    /// Number of kernels, copies and fills of a replay.
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
    /// Whether it is inside a step.
    pub is_in_step: bool,
    /// The batch of that step, if its annotation contains it.
    pub batch: Option<Batch>,
}

impl GraphFacts {
    /// Median time from the first to the last GPU activity of a replay.
    pub fn median_ns(&self) -> i64 {
        let lengths = self.replays.iter().map(|replay| replay.span.length());
        median_ns(lengths.collect()).unwrap_or(0)
    }

    /// Total time of all replays.
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

    /// The minimum and maximum of a count over the batches it is used for.
    pub fn range(&self, of: fn(&Batch) -> Option<u64>) -> Option<(u64, u64)> {
        let counts = || self.batches().filter_map(|batch| of(&batch));
        counts().min().zip(counts().max())
    }

    /// The batch size it was captured for, as far as it is known: the size in the annotations; otherwise, for a graph
    /// with a profiler id, the largest batch it is used for, which is a lower bound.
    pub(crate) fn captured_for(&self) -> Option<CapturedFor> {
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

    /// The average share of padding in the captured batch, in percent; a lower bound if no annotation contains the
    /// captured size.
    pub(crate) fn padding_percent(&self) -> Option<f64> {
        let captured = self.captured_for()?;
        let real = |batch: Batch| match captured.is_named {
            true => batch.requests(),
            false => batch.tokens(),
        };
        let shares = self.batches().filter_map(|batch| {
            let real = real(batch)?;
            let of = match captured.is_named {
                // Annotations omit the captured size if it equals the actual size.
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

/// The batch size that a graph was captured for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CapturedFor {
    /// Requests if from annotations, otherwise tokens.
    pub n: u64,
    /// Whether it is from annotations; otherwise it is a lower bound.
    pub is_named: bool,
}

/// The facts about each graph, in the same order.
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

/// The same for the replays in a time span, or for those that one step launched.
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
