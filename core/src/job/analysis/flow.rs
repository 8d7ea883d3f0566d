//! What every rank did in every collective, on the common clock, sorted so that causes precede their effects; and what
//! the peers of each rank did in the same time.

mod order;
mod peers;

use super::roles::Layout;
use crate::base::interval::Interval;
use crate::base::sort::FirstMax;
use crate::job::Job;
use crate::job::digest::{Collective, Digest, OwnTime};
use crate::job::matching::Matched;

/// All collectives of a job. An unmatched one is a node of its own.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Flow {
    /// Each node follows all that precede it on any rank.
    pub(crate) nodes: Vec<Node>,
    /// The ranks' parts in them, node by node.
    pub(crate) parts: Vec<Part>,
}

/// A collective.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Node {
    /// As an index into the collectives of the job; `None` where it was not matched.
    pub(crate) matched: Option<usize>,
    /// Its step, as an index into the steps of the job.
    pub(crate) step: Option<usize>,
    /// Its parts: index of the first, and how many.
    first: usize,
    n: usize,
    /// When the last rank started it.
    pub(crate) begin_ns: i64,
    /// From then until the first rank ended it. Never negative.
    pub(crate) transfer_ns: i64,
    /// The part that started last.
    pub(crate) last: usize,
    /// Whether no rank can end it before all have started it, so that ranks that start early wait.
    pub(crate) waits_for_all: bool,
    /// Some rank ended it before another started it, which proves that it did not wait for that one: possible where not
    /// all ranks wait for all, or where the group is unknown.
    pub(crate) is_loose: bool,
}

impl Node {
    /// The matched collective.
    pub(crate) fn collective<'a>(&self, job: &'a Job) -> Option<&'a Matched> {
        job.collectives.get(self.matched?)
    }
}

/// What a rank did in a collective.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Part {
    /// As an index into the ranks of the job.
    pub(crate) rank: usize,
    /// The collective, as an index into those of its digest.
    pub(crate) at: u32,
    /// Its node.
    pub(crate) node: usize,
    /// When it ran.
    pub(crate) span: Interval,
    /// The part of the same rank that ended last before this one started.
    pub(crate) before: Option<usize>,
    /// When its own time started: at the end of that part or, if there is none, at the start of its step.
    pub(crate) since_ns: i64,
    /// The rank's own time before it; `None` where the start of that time is unknown.
    pub(crate) own: Option<OwnTime>,
    /// The median own time of the other ranks of its stage in the collective. For a point-to-point transfer, or where
    /// the others were not read, the median of the ranks that do the same in groups of the same kind. For a rank that
    /// is alone in its stage, its own time, launched no later than in its other steps.
    pub(crate) peers: Option<OwnTime>,
    /// Ranks of one stage share this id in collectives with the same number in groups of the same kind.
    pub(crate) alike: usize,
}

impl Part {
    /// What precedes it and what its peers do is found later.
    fn new(job: &Job, rank: usize, at: u32, node: usize) -> Option<Part> {
        let (_, own) = job.recorded(rank, at)?;
        let ns = |ns| job.corrected_ns(rank, ns);
        let span = Interval::new(ns(own.span.start_ns), ns(own.span.end_ns));
        Some(Part {
            rank,
            at,
            node,
            span,
            before: None,
            since_ns: span.start_ns,
            own: own.own,
            peers: None,
            alike: 0,
        })
    }

    /// From the end of the previous part to its start.
    pub(crate) fn own_ns(&self) -> i64 {
        self.span.start_ns.saturating_sub(self.since_ns)
    }

    /// What its rank recorded of it, with its digest.
    pub(crate) fn recorded<'a>(&self, job: &'a Job) -> Option<(&'a Digest, &'a Collective)> {
        job.recorded(self.rank, self.at)
    }

    /// For how much of it nothing is computed.
    pub(crate) fn exposed_ns(&self, job: &Job) -> i64 {
        self.recorded(job).map_or(0, |(_, of)| of.exposed_ns)
    }

    /// Whether it reduces gradients of a micro-batch that is not the last of its step.
    pub(crate) fn is_repeated(&self, job: &Job) -> bool {
        self.recorded(job).is_some_and(|(_, of)| of.is_repeated)
    }

    /// How much longer its own time is than that of its peers; never negative.
    pub(crate) fn excess_ns(&self) -> i64 {
        self.own.zip(self.peers).map_or(0, |(own, peers)| {
            own.total_ns.saturating_sub(peers.total_ns).max(0)
        })
    }
}

impl Flow {
    /// Sorts all collectives of a job.
    pub(crate) fn new(job: &Job, layout: &Layout) -> Flow {
        let mut flow = Flow::default();
        // For each rank and collective of its digest, its part.
        let mut places: Vec<Vec<Option<usize>>> = (job.ranks.iter())
            .map(|rank| vec![None; rank.digest.collectives.len()])
            .collect();
        for (at, matched) in job.collectives.iter().enumerate() {
            let members = matched
                .members
                .iter()
                .map(|member| (member.rank, member.at));
            flow.add(job, Some((at, matched)), members, &mut places);
        }
        for (rank, of) in job.ranks.iter().enumerate() {
            for at in 0..of.digest.collectives.len() {
                let is_new = places.get(rank).and_then(|of| of.get(at)) == Some(&None);
                if is_new {
                    let alone = std::iter::once((rank, at as u32));
                    flow.add(job, None, alone, &mut places);
                }
            }
        }
        flow.link(job, &places);
        let mut flow = order::sorted(flow);
        peers::find(job, layout, &mut flow);
        flow
    }

    /// The ranks of a collective.
    pub(crate) fn parts_of(&self, node: &Node) -> &[Part] {
        let end = node.first.saturating_add(node.n);
        self.parts.get(node.first..end).unwrap_or_default()
    }

    /// How long all ranks of a collective that waits for all of them launch late before it.
    pub(crate) fn late_together_ns(&self, node: &Node) -> Option<i64> {
        let parts = self.parts_of(node);
        let late = parts.iter().map(|part| part.own.map(|own| own.late_ns));
        let late = late.collect::<Option<Vec<i64>>>()?.into_iter().min();
        late.filter(|_| node.waits_for_all && parts.len() > 1)
    }

    /// The indices of its parts.
    pub(crate) fn places_of(&self, node: &Node) -> std::ops::Range<usize> {
        node.first..node.first.saturating_add(node.n)
    }

    /// The collective of a part.
    pub(crate) fn node_of(&self, part: &Part) -> Option<&Node> {
        self.nodes.get(part.node)
    }

    /// The step of a part.
    pub(crate) fn step_of(&self, part: &Part) -> Option<usize> {
        self.node_of(part)?.step
    }

    fn add(
        &mut self,
        job: &Job,
        matched: Option<(usize, &Matched)>,
        members: impl Iterator<Item = (usize, u32)>,
        places: &mut [Vec<Option<usize>>],
    ) {
        let first = self.parts.len();
        for (rank, at) in members {
            let Some(part) = Part::new(job, rank, at, self.nodes.len()) else {
                continue;
            };
            let place = places.get_mut(rank).and_then(|of| of.get_mut(at as usize));
            if let Some(place) = place {
                *place = Some(self.parts.len());
            }
            self.parts.push(part);
        }
        let parts = self.parts.get(first..).unwrap_or_default();
        let last = parts
            .iter()
            .zip(first..)
            .map(|(part, at)| (part.span.start_ns, at));
        let last = last.first_max_by_key(|one| one.0);
        let (Some((begin_ns, last)), Some(end_ns)) =
            (last, parts.iter().map(|part| part.span.end_ns).min())
        else {
            return;
        };
        let own_step = || {
            let part = parts.first()?;
            job.step_of(part.rank, part.recorded(job)?.1.step?)
        };
        let waits_for_all = matched.is_some_and(|(_, of)| of.waits_for_all());
        let has_group = matched.is_some_and(|(_, of)| of.group.is_some());
        self.nodes.push(Node {
            matched: matched.map(|(at, _)| at),
            step: matched.map_or_else(own_step, |(_, of)| of.step),
            first,
            n: parts.len(),
            begin_ns,
            transfer_ns: end_ns.saturating_sub(begin_ns).max(0),
            last,
            waits_for_all,
            is_loose: end_ns < begin_ns && !(waits_for_all && has_group),
        });
    }

    /// Finds the part that precedes each part.
    fn link(&mut self, job: &Job, places: &[Vec<Option<usize>>]) {
        let ends: Vec<i64> = self.parts.iter().map(|part| part.span.end_ns).collect();
        for part in &mut self.parts {
            let before = part.recorded(job).and_then(|(_, own)| own.before);
            let place =
                before.and_then(|at| places.get(part.rank)?.get(at as usize).copied().flatten());
            part.before = place;
            let total_ns = part.own.map_or(0, |own| own.total_ns);
            let step_ns = part.span.start_ns.saturating_sub(total_ns);
            part.since_ns = place
                .and_then(|at| ends.get(at).copied())
                .unwrap_or(step_ns);
        }
    }
}
