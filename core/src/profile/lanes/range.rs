//! Totals for a part of the time.

use crate::base::interval::Interval;
use crate::base::map::{Map, Set};
use crate::base::sort::Arrange;
use crate::profile::Profile;
use crate::profile::cpu::tree::NodeId;
use crate::profile::gpu::kernels::GpuWork;
use crate::profile::gpu::timeline::GpuTimeline;
use crate::trace::{EventId, StringId};

/// GPU activity with one name in a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RangeWork {
    /// The operator that launched it, otherwise the kernel itself.
    pub name: StringId,
    /// The first piece of its work in the range.
    pub first: EventId,
    /// Number of operator calls, or kernel executions, whose work is at least partly in the range.
    pub count: u64,
    /// Their total time inside the range.
    pub ns: i64,
}

/// Totals of a range.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RangeTotals {
    /// How the range splits.
    pub timeline: GpuTimeline,
    /// Number of pieces of GPU activity.
    pub n_work: u64,
    /// By name, longest first.
    pub work: Vec<RangeWork>,
}

impl RangeTotals {
    /// Sums up what is in a range; activity that extends beyond it counts with the part inside.
    pub fn new(profile: &Profile, range: Interval) -> RangeTotals {
        let mut by_name: Map<StringId, RangeWork> = Map::default();
        let mut calls: Set<NodeId> = Set::default();
        let inside: Vec<(&GpuWork, Interval)> = inside(profile, range).collect();
        for (work, part) in &inside {
            let call = work.parent_op.filter(|_| !work.is_collective);
            let op = call
                .and_then(|op| profile.tree.event(op))
                .map(|op| profile.trace.events.name(op));
            let name = op.unwrap_or(work.name);
            let entry = by_name.entry(name).or_insert(RangeWork {
                name,
                first: work.event,
                count: 0,
                ns: 0,
            });
            entry.count += u64::from(call.is_none_or(|call| calls.insert(call)));
            entry.ns = entry.ns.saturating_add(part.length());
        }
        let mut work: Vec<RangeWork> = by_name.into_values().collect();
        work.arrange_by_key(|work| (std::cmp::Reverse(work.ns), work.first));
        let n_work = inside.len() as u64;
        let inside = inside.into_iter().map(|(work, part)| (work.class, part));
        RangeTotals {
            timeline: GpuTimeline::within(range, inside),
            n_work,
            work,
        }
    }
}

/// How a range splits.
pub fn range_timeline(profile: &Profile, range: Interval) -> GpuTimeline {
    let inside = inside(profile, range);
    GpuTimeline::within(range, inside.map(|(work, part)| (work.class, part)))
}

/// GPU activity that overlaps a range, with the overlap.
fn inside(profile: &Profile, range: Interval) -> impl Iterator<Item = (&GpuWork, Interval)> {
    let work = profile.gpu.all();
    work.filter_map(move |work| {
        let part = work.span.overlap(range)?;
        (part.length() > 0).then_some((work, part))
    })
}
