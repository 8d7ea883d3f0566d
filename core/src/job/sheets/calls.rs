//! The collectives in the sheets with the reference's names: which are counted, their names, and when each rank ran
//! them.

use super::nodes::{Nodes, UNKNOWN_SPAN};
use crate::base::interval::Interval;
use crate::base::map::Map;
use crate::base::sort::Arranged;
use crate::base::value::mib;
use crate::job::digest::{Collective, Digest};
use crate::job::groups::ranks_of;
use crate::job::matching::{Matched, Member};
use crate::job::{Job, Rank};

/// The reference's name for the group of kernels without metadata.
const UNKNOWN_GROUP: &str = "Unknown_Group";

/// Its name for the group if no kernel has metadata and each rank has a single stream.
const ALL: &str = "all";

/// The clock on which times of ranks are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Clock {
    /// Each rank's own, as in the reference.
    Raw,
    /// The common one.
    Corrected,
}

/// One collective of one rank.
#[derive(Debug, Clone)]
pub(super) struct Call<'a> {
    /// Its rank, as an index into those of the job, and its collective, as an index into those of the digest.
    pub(super) member: Member,
    pub(super) rank: &'a Rank,
    pub(super) of: &'a Collective,
    /// The name of its group, or a placeholder.
    pub(super) group: &'a str,
    /// The ranks of its group, where the trace contains them.
    pub(super) ranks: Option<&'a [u32]>,
    /// Its position among the collectives of its group.
    pub(super) index: u64,
    /// `allreduce`, `_allgather_base`; empty if unknown.
    pub(super) name: &'a str,
    /// Size of an element.
    pub(super) element_bytes: Option<f64>,
    pub(super) node: Option<i64>,
    pub(super) node_span: &'static str,
}

impl<'a> Call<'a> {
    /// The group and the index within it.
    pub(super) fn id(&self) -> String {
        format!("{}_{}", self.group, self.index)
    }

    pub(super) fn digest(&self) -> &'a Digest {
        &self.rank.digest
    }

    /// The group size from the trace.
    pub(super) fn group_size(&self) -> Option<u32> {
        self.digest().groups.get(self.of.group? as usize)?.size
    }

    /// The ranks of its group, formatted as a Python list.
    pub(super) fn ranks_text(&self) -> String {
        match self.ranks {
            Some(ranks) => {
                let ranks: Vec<String> = ranks.iter().map(u32::to_string).collect();
                format!("[{}]", ranks.join(", "))
            }
            None => String::new(),
        }
    }

    pub(super) fn dtype(&self) -> &'a str {
        self.digest().text(self.of.dtype)
    }

    /// How the elements it sends (0) or receives (1) are split over the ranks, as in the trace.
    pub(super) fn split(&self, side: usize) -> &'a str {
        let id = self.of.splits.get(side).copied().unwrap_or(0);
        self.digest().text(id)
    }

    /// Converts a number of elements to MiB.
    pub(super) fn mib(&self, elements: Option<u64>) -> Option<f64> {
        let bytes = elements? as f64 * self.element_bytes?;
        Some(mib(bytes))
    }

    pub(super) fn dur_ns(&self) -> i64 {
        self.of.span.length()
    }
}

/// What one rank did in a collective, on the given clock.
#[derive(Debug)]
pub(super) struct Part<'a> {
    pub(super) call: &'a Call<'a>,
    /// The written value: on the time scale of the trace.
    pub(super) ts_ns: i64,
    /// Start and end for comparison with other ranks, in microseconds; and their difference.
    pub(super) start_us: f64,
    pub(super) end_us: f64,
    pub(super) dur_us: f64,
    /// How long before the last rank it started.
    pub(super) wait_us: f64,
    /// How long after the first rank it started.
    pub(super) since_first_us: f64,
    /// How long before the last rank it ended.
    pub(super) until_last_us: f64,
}

/// A collective of several ranks.
#[derive(Debug)]
pub(super) struct Joint<'a> {
    /// Sorted by number of the rank; at least one.
    pub(super) parts: Vec<Part<'a>>,
}

impl<'a> Joint<'a> {
    /// The part of its first rank, from which the reference takes sizes and names.
    pub(super) fn first(&self) -> Option<&Part<'a>> {
        self.parts.first()
    }

    /// From the first start to the last one.
    pub(super) fn start_skew_us(&self) -> f64 {
        most(self.parts.iter().map(|part| part.wait_us))
    }

    /// From the first end to the last one.
    pub(super) fn end_skew_us(&self) -> f64 {
        most(self.parts.iter().map(|part| part.until_last_us))
    }
}

/// The largest of some non-negative numbers.
fn most(numbers: impl Iterator<Item = f64>) -> f64 {
    numbers.fold(0.0, f64::max)
}

/// All collectives that these sheets count.
#[derive(Debug)]
pub(super) struct Calls<'a> {
    pub(super) job: &'a Job,
    pub(super) nodes: Nodes,
    /// Sorted by rank, then by time.
    pub(super) all: Vec<Call<'a>>,
    /// For each rank and collective of its digest, the index into `all`.
    at: Map<(usize, u32), usize>,
}

/// The groups that a digest names, with their ranks.
pub(super) type RanksOfGroups = Vec<Vec<Option<Vec<u32>>>>;

/// The ranks of each group, by rank and group of its digest.
pub(super) fn ranks_of_groups(job: &Job) -> RanksOfGroups {
    let of_digest = |digest: &Digest| {
        let groups = digest.groups.iter();
        groups
            .map(|group| ranks_of(&job.ranks, digest, group))
            .collect()
    };
    job.ranks
        .iter()
        .map(|rank| of_digest(&rank.digest))
        .collect()
}

impl<'a> Calls<'a> {
    pub(super) fn new(job: &'a Job, groups: &'a RanksOfGroups) -> Calls<'a> {
        let nodes = Nodes::new(job);
        let unnamed = match is_without_groups(job) {
            true => ALL,
            false => UNKNOWN_GROUP,
        };
        let mut all = Vec::new();
        for ((rank, position), groups) in job.ranks.iter().zip(0..).zip(groups) {
            let digest = &rank.digest;
            let node = nodes.of(rank.number);
            let spans = groups.iter().map(|ranks| {
                let ranks = ranks.as_deref();
                ranks.map_or(UNKNOWN_SPAN, |ranks| nodes.span(ranks))
            });
            let spans: Vec<&'static str> = spans.collect();
            let mut counts: Map<&str, u64> = Map::default();
            for (of, at) in digest.collectives.iter().zip(0..) {
                if !of.is_in_sheets {
                    continue;
                }
                let named = digest.group_of(of);
                let group = named.map_or(unnamed, |group| digest.text(group.name));
                let ranks = of
                    .group
                    .and_then(|group| groups.get(group as usize)?.as_deref());
                let span = of
                    .group
                    .and_then(|group| spans.get(group as usize).copied());
                let next = counts.entry(group).or_default();
                all.push(Call {
                    member: Member { rank: position, at },
                    rank,
                    of,
                    group,
                    ranks,
                    index: *next,
                    name: name(digest, of),
                    element_bytes: digest.element_bytes(of),
                    node,
                    node_span: span.unwrap_or(UNKNOWN_SPAN),
                });
                *next += 1;
            }
        }
        let at = all
            .iter()
            .zip(0..)
            .map(|(call, at)| ((call.member.rank, call.member.at), at));
        let at: Map<(usize, u32), usize> = at.collect();
        let mut calls = Calls {
            job,
            nodes,
            all,
            at,
        };
        calls.number_alike();
        calls
    }

    fn place(&self, of: Member) -> Option<usize> {
        self.at.get(&(of.rank, of.at)).copied()
    }

    /// A rank that lacks collectives has lower numbers for the later ones, so matched collectives all get the highest
    /// number that any of their ranks counted.
    fn number_alike(&mut self) {
        let matched = self.job.collectives.iter();
        for matched in matched.filter(|matched| matched.pair.is_none()) {
            let places = matched
                .members
                .iter()
                .filter_map(|member| self.place(*member));
            let places: Vec<usize> = places.collect();
            let indices = places
                .iter()
                .filter_map(|at| Some(self.all.get(*at)?.index));
            let index = indices.max().unwrap_or(0);
            for at in places {
                if let Some(call) = self.all.get_mut(at) {
                    call.index = index;
                }
            }
        }
    }

    /// The matched collectives whose names are wanted, in the order in which the first of their ranks ran them.
    pub(super) fn joint(&self, clock: Clock, is_wanted: impl Fn(&str) -> bool) -> Vec<Joint<'_>> {
        let wanted = self.job.collectives.iter().filter_map(|matched| {
            let mut places = matched.members.iter().filter_map(|of| self.place(*of));
            let first = self.all.get(places.next()?)?;
            is_wanted(first.name).then(|| (first.member, self.of(matched, clock)))
        });
        let wanted = wanted.arranged_by_key(|(first, _)| *first);
        wanted.into_iter().map(|(_, joint)| joint).collect()
    }

    fn of(&self, matched: &Matched, clock: Clock) -> Joint<'_> {
        let calls = matched.members.iter().filter_map(|member| {
            let at = self.place(*member)?;
            self.all.get(at)
        });
        let spans = calls.map(|call| (call, self.span(call, clock)));
        let spans: Vec<(&Call, Interval)> = spans.collect();
        let base_ns = self.job.ranks.first().map_or(0, |rank| rank.base_ns);
        // The reference subtracts the microseconds of the trace from each other, with the precision that floating-point
        // numbers of that size have.
        let origin_ns = match clock {
            Clock::Raw => base_ns,
            Clock::Corrected => {
                let starts = spans.iter().map(|(_, span)| span.start_ns);
                starts.min().unwrap_or(0)
            }
        };
        let parts = spans.into_iter().map(|(call, span)| {
            let start_us = us(span.start_ns.saturating_sub(origin_ns));
            let dur_us = us(span.length());
            let base_ns = match clock {
                Clock::Raw => call.rank.base_ns,
                Clock::Corrected => base_ns,
            };
            Part {
                call,
                ts_ns: span.start_ns.saturating_sub(base_ns),
                start_us,
                end_us: start_us + dur_us,
                dur_us,
                wait_us: 0.0,
                since_first_us: 0.0,
                until_last_us: 0.0,
            }
        });
        let mut parts: Vec<Part> = parts.collect();
        let starts = || parts.iter().map(|part| part.start_us);
        let first_us = starts().fold(f64::INFINITY, f64::min);
        let last_us = starts().fold(f64::NEG_INFINITY, f64::max);
        let ends = parts.iter().map(|part| part.end_us);
        let end_us = ends.fold(f64::NEG_INFINITY, f64::max);
        for part in &mut parts {
            part.wait_us = last_us - part.start_us;
            part.since_first_us = part.start_us - first_us;
            part.until_last_us = end_us - part.end_us;
        }
        Joint { parts }
    }

    /// When a rank ran a collective, in nanoseconds since 1970.
    fn span(&self, call: &Call, clock: Clock) -> Interval {
        let ns = |ns: i64| match clock {
            Clock::Raw => ns.saturating_add(call.rank.base_ns),
            Clock::Corrected => self.job.corrected_ns(call.member.rank, ns),
        };
        Interval::new(ns(call.of.span.start_ns), ns(call.of.span.end_ns))
    }
}

fn us(ns: i64) -> f64 {
    ns as f64 / 1e3
}

/// The name of a collective; some are known from the name of the kernel.
fn name<'a>(digest: &'a Digest, of: &Collective) -> &'a str {
    match digest.text(of.name) {
        "" if digest.text(of.kernel).contains("cross_device_reduce") => "allreduce",
        name => name,
    }
}

/// Whether no kernel names a group and each rank has at most one stream with collectives.
fn is_without_groups(job: &Job) -> bool {
    job.ranks.iter().all(|rank| {
        let all = rank.digest.collectives.iter();
        let mut counted = all.filter(|of| of.is_in_sheets);
        let first = counted.clone().next().and_then(|of| of.stream);
        counted.all(|of| of.group.is_none() && of.stream == first)
    })
}
