//! When the ranks of a collective started and ended, on the common clock.

use crate::base::interval::Interval;
use crate::base::sort::FirstMax;
use crate::job::Job;
use crate::job::matching::{Matched, Member};

/// A collective on the common clock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Timing {
    /// For each member, when it ran.
    pub(crate) spans: Vec<(Member, Interval)>,
    /// The member that started last.
    pub(crate) last: Member,
    /// From the last start to the first end: when the data moved. Never negative.
    pub(crate) transfer_ns: i64,
    /// Whether a member ended before the last one started, so that the transfer time is unknown.
    pub(crate) is_impossible: bool,
}

impl Timing {
    /// When the last member started.
    fn last_start_ns(&self) -> i64 {
        self.spans
            .iter()
            .map(|(_, span)| span.start_ns)
            .max()
            .unwrap_or(0)
    }

    /// From the first start to the last one.
    pub(crate) fn start_skew_ns(&self) -> i64 {
        let first = self.spans.iter().map(|(_, span)| span.start_ns).min();
        self.last_start_ns().saturating_sub(first.unwrap_or(0))
    }

    /// From the first end to the last one.
    pub(crate) fn end_skew_ns(&self) -> i64 {
        let ends = || self.spans.iter().map(|(_, span)| span.end_ns);
        let (first, last) = (ends().min().unwrap_or(0), ends().max().unwrap_or(0));
        last.saturating_sub(first)
    }

    /// How long each member waited for the last one.
    pub(crate) fn waits(&self) -> impl Iterator<Item = (Member, i64)> {
        let last_ns = self.last_start_ns();
        let spans = self.spans.iter();
        spans.map(move |(member, span)| (*member, last_ns.saturating_sub(span.start_ns)))
    }
}

impl Job {
    /// A collective on the common clock; `None` without members.
    pub(crate) fn timing(&self, of: &Matched) -> Option<Timing> {
        let spans = of.members.iter().filter_map(|member| {
            let span = self.recorded(member.rank, member.at)?.1.span;
            let ns = |ns| self.corrected_ns(member.rank, ns);
            Some((*member, Interval::new(ns(span.start_ns), ns(span.end_ns))))
        });
        let spans: Vec<(Member, Interval)> = spans.collect();
        let last = spans.iter().map(|(member, span)| (span.start_ns, *member));
        let (last_ns, last) = last.first_max_by_key(|one| one.0)?;
        let first_end_ns = spans.iter().map(|(_, span)| span.end_ns).min()?;
        Some(Timing {
            last,
            transfer_ns: first_end_ns.saturating_sub(last_ns).max(0),
            is_impossible: first_end_ns < last_ns,
            spans,
        })
    }
}
