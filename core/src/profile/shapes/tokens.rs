//! The number of tokens in a forward pass, from its annotation and from operators next to its graph.

use super::Source;
use super::passes::ForwardPass;
use crate::base::sort::Arrange;
use crate::profile::Profile;
use crate::trace::{Category, Dims, TrackId};

/// Number of rows of operators that take a matrix as wide as the hidden size, by thread and start.
pub(super) struct Rows(Vec<(TrackId, i64, u64)>);

impl Rows {
    /// From the operators of a profile.
    pub(super) fn of(profile: &Profile, hidden: u64) -> Rows {
        let (trace, events) = (&profile.trace, &profile.trace.events);
        let rows_of = |dims: &Dims| {
            let Dims::One(shape) = dims else { return None };
            match trace.args.shape(*shape) {
                [rows, width] if *width as u64 == hidden && *rows > 0 => Some(*rows as u64),
                _ => None,
            }
        };
        let ops = events
            .of_category(|of| of == Category::CpuOp)
            .filter(|event| !trace.captured.has(*event));
        let rows = ops.filter_map(|event| {
            let args = trace.args.get(events.op_args(event)?)?;
            // Only the first tensor: others may be weights.
            let rows = args.dims.as_deref()?.first().and_then(rows_of)?;
            Some((events.track(event), events.ts_ns(event), rows))
        });
        let mut rows: Vec<(TrackId, i64, u64)> = rows.collect();
        rows.arrange();
        Rows(rows)
    }

    /// The number of rows that the first operator after the graphs of a pass takes.
    fn after(&self, pass: &ForwardPass) -> Option<u64> {
        /// Later operators belong to another step.
        const SOON_NS: i64 = 20_000_000;
        let from = (pass.track, pass.launched_ns);
        let at = self
            .0
            .partition_point(|(track, ns, _)| (*track, *ns) < from);
        let (track, ns, rows) = self.0.get(at)?;
        let end_ns = pass
            .on_host
            .end_ns
            .max(pass.launched_ns.saturating_add(SOON_NS));
        (*track == pass.track && *ns < end_ns).then_some(*rows)
    }

    /// The number of tokens that the graph of a pass computes: those of its requests plus padding.
    pub(super) fn tokens(&self, pass: &ForwardPass) -> Option<(u64, Source)> {
        let own = pass
            .batch
            .and_then(|batch| batch.tokens())
            .filter(|n| *n > 0);
        let padded = pass.batch.and_then(|batch| {
            let (padded, requests) = (batch.padded_to?, batch.requests()?);
            let of_request = batch.tokens()?.checked_div(requests)?;
            padded.checked_mul(of_request)
        });
        let rows_after = self.after(pass);
        match (own, padded.max(own), rows_after) {
            (Some(_), Some(known), Some(rows)) if rows > known => Some((rows, Source::Neighbors)),
            (Some(_), Some(known), _) => Some((known, Source::Recorded)),
            (None, _, Some(rows)) => Some((rows, Source::Neighbors)),
            _ => None,
        }
    }
}
