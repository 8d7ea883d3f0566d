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

/// Messages of this size take as long as their latency, …
const TINY_BYTES: f64 = 65_536.0;

/// … which is no longer than this, also between hosts.
const MOST_LATENCY_NS: i64 = 200_000;

/// Compares collectives with equal keys in the same process group. All-reduces of unknown size are compared with those
/// of the same kernel in the same replay of a graph: the layers of a model reduce results of one size.
pub(super) fn beyond_fastest(all: &[(String, One)]) -> i64 {
    let is_tiny = |key: &Key| key.message_bytes().is_some_and(|bytes| bytes <= TINY_BYTES);
    let alike = all.iter().filter_map(|(spelled, one)| {
        let of_graph = match moves_the_same(&one.key) {
            true => None,
            false => Some(one.of_graph.filter(|_| is_of_layers(&one.key))?),
        };
        let key = (spelled, &one.group, of_graph, is_tiny(&one.key));
        Some((key, one.on.1.length()))
    });
    let alike = grouped(alike, Vec::push).into_iter();
    sum(alike.map(|((.., is_tiny), lengths): (_, Vec<i64>)| beyond(&lengths, is_tiny)))
}

/// Whether it is an all-reduce of unknown size.
fn is_of_layers(key: &Key) -> bool {
    use CollectiveKind::{AllReduce, AllReduceNorm};
    matches!(key.kind, AllReduce | AllReduceNorm) && !is_sized(key)
}

fn is_sized(key: &Key) -> bool {
    key.elements.is_some() || key.bytes.is_some()
}

/// Whether equal ones move the same amount of data. A receive in a pipeline stage waits by design.
fn moves_the_same(key: &Key) -> bool {
    use CollectiveKind::{Barrier, SendReceive, Unknown};
    is_sized(key) && !key.is_uneven && !matches!(key.kind, SendReceive | Barrier | Unknown)
}

fn beyond(lengths: &[i64], is_tiny: bool) -> i64 {
    let fastest = quantile_ns(lengths.to_vec(), CUT).filter(|_| lengths.len() >= LEAST_COUNT);
    let most_ns = if is_tiny { MOST_LATENCY_NS } else { i64::MAX };
    let fastest_ns = fastest.unwrap_or(i64::MAX).min(most_ns);
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
            assert_eq!(beyond(lengths, false), expected, "{lengths:?}");
        }
    }

    #[test]
    fn a_message_of_few_bytes_waits_when_it_takes_longer_than_any_latency() {
        let lengths = [3_800_000, 30_000];
        assert_eq!(beyond(&lengths, true), 3_600_000);
        assert_eq!(beyond(&lengths, false), 0);
    }
}
