//! The number of tokens in a forward pass, from its annotation and from operators next to its graph.

use super::Source;
use super::passes::ForwardPass;
use crate::profile::Profile;
use crate::profile::serving::input_rows::InputRows;

/// Number of rows of operators that take a matrix as wide as the hidden size.
pub(super) struct Rows(InputRows);

impl Rows {
    /// From the operators of a profile.
    pub(super) fn of(profile: &Profile, hidden: u64) -> Rows {
        Rows(InputRows::new(profile, |shape| match shape {
            [rows, width] if *width as u64 == hidden && *rows > 0 => Some(*rows as u64),
            _ => None,
        }))
    }

    /// The number of rows that the first operator after the graphs of a pass takes.
    fn after(&self, pass: &ForwardPass) -> Option<u64> {
        /// Later operators belong to another step.
        const SOON_NS: i64 = 20_000_000;
        let soon_ns = pass.launched_ns.saturating_add(SOON_NS);
        let end_ns = pass.on_host.end_ns.max(soon_ns);
        self.0.first_in(pass.track, pass.launched_ns, end_ns)
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
