//! What happened in a part of the time.

use crate::base::interval::Interval;
use crate::base::map::{Map, Set};
use crate::base::sort::Arrange;
use crate::profile::Profile;
use crate::profile::kernels::GpuEvents;
use crate::profile::timeline::GpuTimeline;
use crate::profile::tree::NodeId;
use crate::trace::{EventId, StringId};

/// GPU activity of one name in a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RangeWork {
    /// The operator that launched it, else the kernel itself.
    pub name: StringId,
    /// Its first piece of work in the range.
    pub first: EventId,
    /// Calls of the operator, or runs of the kernel, whose work lies in the range at least in part.
    pub count: u64,
    /// Their time inside the range, added up.
    pub ns: i64,
}

/// Totals of a range of time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RangeTotals {
    /// The range.
    pub range: Interval,
    /// Something runs on the GPU.
    pub busy_ns: i64,
    /// Nothing does.
    pub idle_ns: i64,
    /// How the busy time splits; `None` for a range without GPU activity.
    pub timeline: Option<GpuTimeline>,
    /// Pieces of GPU activity.
    pub n_work: u64,
    /// By name, the longest first.
    pub work: Vec<RangeWork>,
}

impl RangeTotals {
    /// Adds up what lies in a range; what reaches beyond it counts for the part inside.
    pub fn new(profile: &Profile, events: GpuEvents, range: Interval) -> RangeTotals {
        let mut by_name: Map<StringId, RangeWork> = Map::default();
        let mut inside = Vec::new();
        let mut calls: Set<NodeId> = Set::default();
        for work in profile.gpu.of(profile.gpu_events(events)) {
            let part = work.span.overlap(range);
            let Some(part) = part.filter(|part| part.length() > 0) else {
                continue;
            };
            inside.push((work.class, part));
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
        let timeline = GpuTimeline::new(inside);
        let busy_ns = timeline.map_or(0, |timeline| timeline.busy_ns);
        RangeTotals {
            range,
            busy_ns,
            idle_ns: range.length() - busy_ns,
            n_work,
            timeline,
            work,
        }
    }
}
