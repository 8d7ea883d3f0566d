//! How much longer collectives take than the fastest of their kind. Their transfer time is constant; what varies is
//! mostly how long a rank waits for the others.
//!
//! ```text
//! rank 0   [all-reduce][compute)[all-reduce  ....waits....  ]
//! rank 1   [all-reduce][compute            )     [all-reduce]
//! ```

use super::{Key, One};
use crate::base::group::grouped;
use crate::base::interval::sum;
use crate::base::stats::quantile_ns;
use crate::names::collective::CollectiveKind;

/// With fewer equal collectives, the transfer time is unknown.
const LEAST_COUNT: usize = 4;

/// The fastest ones may be truncated: this quantile is used instead of the minimum.
const CUT: f64 = 0.05;

/// Compares collectives with equal keys in the same process group.
pub(super) fn beyond_fastest(all: &[(String, One)]) -> i64 {
    let transfers = all.iter().filter(|(_, one)| moves_the_same(&one.key));
    let alike = transfers.map(|(spelled, one)| ((spelled, &one.group), one.on.1.length()));
    let alike = grouped(alike, Vec::push).into_iter();
    sum(alike.map(|(_, lengths): (_, Vec<i64>)| beyond(&lengths)))
}

/// Whether equal ones move the same amount of data. A receive in a pipeline stage waits by design.
fn moves_the_same(key: &Key) -> bool {
    use CollectiveKind::{Barrier, SendReceive, Unknown};
    let is_sized = key.elements.is_some() || key.bytes.is_some();
    is_sized && !key.is_uneven && !matches!(key.kind, SendReceive | Barrier | Unknown)
}

fn beyond(lengths: &[i64]) -> i64 {
    let fastest = quantile_ns(lengths.to_vec(), CUT).filter(|_| lengths.len() >= LEAST_COUNT);
    let fastest_ns = fastest.unwrap_or(i64::MAX);
    sum(lengths.iter().map(|ns| (ns - fastest_ns).max(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_collectives_take_longer_than_their_fastest_where_they_wait() {
        let cases: [(&[i64], i64); 4] = [
            (&[100, 900, 100, 900], 1_600),
            (&[100, 100, 100, 100], 0),
            (&[100, 110, 100, 105], 15),
            // Too few to compare.
            (&[100, 900], 0),
        ];
        for (lengths, expected) in cases {
            assert_eq!(beyond(lengths), expected, "{lengths:?}");
        }
    }
}
