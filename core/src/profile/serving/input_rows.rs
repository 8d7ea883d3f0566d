//! How many rows recorded operators take as input: an operator next to a graph shows for how many tokens the graph
//! computes.

use crate::base::sort::Arranged;
use crate::profile::Profile;
use crate::trace::{Category, Dims, TrackId};

/// A number of rows for operators, by thread and start.
pub(crate) struct InputRows(Vec<(TrackId, i64, u64)>);

impl InputRows {
    /// From the shape of the first tensor of each operator: others may be weights. Operators for which `rows_of` is
    /// `None` are passed over.
    pub(crate) fn new(profile: &Profile, rows_of: impl Fn(&[i64]) -> Option<u64>) -> InputRows {
        let (trace, events) = (&profile.trace, &profile.trace.events);
        let ops = events.in_category(Category::CpuOp);
        let ops = ops.filter(|event| !trace.captured.has(*event));
        let rows = ops.filter_map(|event| {
            let args = trace.args.get(events.op_args(event)?)?;
            let Dims::One(shape) = args.dims.as_deref()?.first()? else {
                return None;
            };
            let rows = rows_of(trace.args.shape(*shape))?;
            Some((events.track(event), events.ts_ns(event), rows))
        });
        let rows = rows.arranged();
        InputRows(rows)
    }

    /// The number of rows of the first operator of a thread that starts in a span.
    pub(crate) fn first_in(&self, track: TrackId, start_ns: i64, end_ns: i64) -> Option<u64> {
        let before = |(of, ns, _): &(TrackId, i64, u64)| (*of, *ns) < (track, start_ns);
        let (of, ns, rows) = self.0.get(self.0.partition_point(before))?;
        (*of == track && *ns < end_ns).then_some(*rows)
    }
}
