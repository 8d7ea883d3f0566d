//! Sheet `clocks`: how the clocks of the ranks differ, and how well that is known.

use super::Input;
use super::table::{Body, Col, body, columns, float, int, text};
use crate::job::Rank;
use crate::job::clocks::Clock;
use crate::report::sheet::Cell;

/// The clock of a rank.
pub(super) struct Row<'a> {
    rank: &'a Rank,
    host: &'a str,
    clock: &'a Clock,
    are_comparable: bool,
}

impl Row<'_> {
    /// Empty where it was not estimated.
    fn us(&self, ns: f64) -> Cell {
        float(self.clock.is_joined.then_some(ns / 1e3))
    }
}

pub(super) fn clocks<'a>() -> Vec<Col<Row<'a>>> {
    columns![Row:
        "rank", Count, |of| int(of.rank.number), "The rank, by its number in the job.";
        "host", Text, |of| text(of.host), "Its host.";
        "offset µs", Us, |of| of.us(of.clock.offset_ns), "By how much its clock is ahead of that of the first rank, in the middle of the recording, as its times are corrected.";
        "offset ± µs", Us, |of| of.us(of.clock.spread_ns), "The median deviation of what that was estimated from, along the way to the first rank.";
        "drift ppm", Number, |of| float(of.clock.is_joined.then_some(of.clock.drift * 1e6)), "By how much it goes faster, in millionths.";
        "own estimate µs", Us, |of| of.us(of.clock.estimate_ns), "By how much it seems to be ahead by itself, before ranks of one host share a clock.";
        "applied", Flag, |of| Cell::Flag(of.clock.is_applied), "False where the offset is not larger than what it scatters by, so that times stay as recorded.";
        "joined", Flag, |of| Cell::Flag(of.clock.is_joined), "False where no collective joins it with the first rank, so that times stay as recorded.";
        "comparable", Flag, |of| Cell::Flag(of.are_comparable), "False in all rows where clocks of the job could not be matched; then nothing is compared by them.";
    ]
}

pub(super) fn clocks_body(input: &Input) -> Body<'static> {
    let job = input.job;
    let ranks = job.ranks.iter().zip(&job.clocks.of_rank);
    let rows = ranks.map(|(rank, clock)| Row {
        rank,
        host: job.hosts.get(rank.host).map_or("", String::as_str),
        clock,
        are_comparable: job.clocks.are_comparable,
    });
    body(&clocks(), rows)
}
