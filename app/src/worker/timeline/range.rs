//! The totals of a range.

use dormer_core::base::format;
use dormer_core::base::interval::{Interval, percent_of};
use dormer_core::profile::lanes::{RangeTotals, RangeWork};

use super::{TimelineSource, hue};
use crate::protocol::{RangeCard, RangeLine, RangePart};

/// The number of names listed.
const LISTED: usize = 8;

/// What happened in a range.
pub(super) fn card(source: TimelineSource, range: Interval) -> RangeCard {
    let totals = RangeTotals::new(source.profile, range);
    let part = |label: &str, ns: i64| RangePart {
        label: label.to_owned(),
        time: format::time_ns(ns),
        share: format::percent(percent_of(ns, range.length()).unwrap_or_default()),
    };
    let timeline = &totals.timeline;
    let mut parts = vec![part("GPU busy", timeline.busy_ns)];
    if timeline.busy_ns > 0 {
        parts.push(part("Computation", timeline.computation_ns));
        let exposed = [
            ("Exposed communication", timeline.exposed_comm_ns),
            ("Exposed copies", timeline.exposed_memcpy_ns),
        ];
        let exposed = exposed.into_iter().filter(|(_, ns)| *ns > 0);
        parts.extend(exposed.map(|(label, ns)| part(label, ns)));
    }
    parts.push(part("GPU idle", timeline.idle_ns));
    let listed = totals.work.iter().take(LISTED);
    RangeCard {
        trace: String::new(),
        length: format::time_ns(range.length()),
        parts,
        n_work: format::counted(totals.n_work, "GPU event"),
        work: listed.map(|work| line(source, work)).collect(),
        more: totals.work.len().saturating_sub(LISTED),
        below: Vec::new(),
    }
}

fn line(source: TimelineSource, work: &RangeWork) -> RangeLine {
    let trace = &source.profile.trace;
    RangeLine {
        name: format::kernel_name(trace.strings.get(work.name)),
        token: hue::token(source, work.first).to_owned(),
        count: format::count(work.count),
        time: format::time_ns(work.ns),
        uid: trace.events.uid(work.first),
    }
}
