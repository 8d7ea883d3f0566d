//! How the GPU times of runs of the same subject differ.

use serde::{Deserialize, Serialize};

use super::Instance;
use crate::assess::Thresholds;
use crate::base::format;
use crate::findings::engine::compute::variation;
use crate::profile::Profile;

/// More bins than this add no information.
const MAX_BINS: usize = 24;
/// If the longest run takes at least this many times the shortest, bins grow by a factor instead of a step.
const WIDE: i64 = 16;

/// How the GPU times of some runs differ. Runs without GPU time count as zero.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SpreadFacts {
    /// How many runs: "177 calls".
    pub n_runs: String,
    /// Label and time: shortest, median, 95th percentile, longest.
    pub figures: Vec<(String, String)>,
    /// The note about times that differ widely; empty if they do not.
    pub warning: String,
    /// The runs by time; empty for a single run.
    pub bars: Vec<SpreadBar>,
    /// Whether each bar's range is wider than the one before by a constant factor.
    pub is_logarithmic: bool,
}

/// Runs that took about the same time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SpreadBar {
    /// Its height: 1 for the tallest.
    pub height: f64,
    /// "10.0 µs to 20.0 µs: 3 calls".
    pub label: String,
}

/// Runs within a range of lengths.
#[derive(Debug, Clone, Copy)]
struct Bin {
    /// Start of the range.
    from_ns: i64,
    /// Start of the next bin; for the last bin the longest run, which is included.
    to_ns: i64,
    count: u64,
}

impl SpreadFacts {
    /// For runs, with their positions in order of time; `None` without GPU activity.
    pub(super) fn of(
        profile: &Profile,
        instances: &[Instance],
        order: &[usize],
        thresholds: &Thresholds,
        noun: &str,
    ) -> Option<SpreadFacts> {
        if instances.iter().all(|instance| instance.work.is_empty()) {
            return None;
        }
        let ordered = order.iter().filter_map(|at| instances.get(*at));
        let times: Vec<i64> = ordered.map(|instance| instance.gpu_ns).collect();
        let n = times.len();
        let (min_ns, max_ns) = (*times.first()?, *times.last()?);
        let (low, high) = (*times.get((n - 1) / 2)?, *times.get(n / 2)?);
        // The mean of the middle two.
        let median_ns = low.saturating_add((high - low) / 2);
        // Nearest rank: the 95th percentile, rounded up.
        let p95_ns = *times.get((n * 95).div_ceil(100) - 1)?;
        let figures = match n {
            1 => vec![("Only", max_ns)],
            _ => vec![
                ("Shortest", min_ns),
                ("Median", median_ns),
                ("95 % within", p95_ns),
                ("Longest", max_ns),
            ],
        };
        let figure = |(label, ns): (&str, i64)| (label.to_owned(), format::time_ns(ns));
        let mut warning = warning(&times, median_ns, thresholds).unwrap_or_default();
        let start_ns = |instance: &Instance| profile.trace.events.ts_ns(instance.event);
        let first = instances.iter().map(start_ns).min();
        let slowest = order.last().and_then(|at| instances.get(*at)).map(start_ns);
        if !warning.is_empty() && n > 1 && max_ns > min_ns && slowest == first {
            warning += &format!(" The slowest {noun} is the first: it may be a warm-up.");
        }
        let bins = bins(&times);
        let tallest = bins.iter().map(|bin| bin.count).max().unwrap_or(0);
        let bar = |bin: &Bin| SpreadBar {
            height: bin.count as f64 / tallest.max(1) as f64,
            label: format!(
                "{} to {}: {}",
                format::time_ns(bin.from_ns),
                format::time_ns(bin.to_ns),
                format::counted(bin.count, noun)
            ),
        };
        let width = |bin: Option<&Bin>| bin.map_or(0, |bin| bin.to_ns - bin.from_ns);
        Some(SpreadFacts {
            n_runs: format::counted(n as u64, noun),
            figures: figures.into_iter().map(figure).collect(),
            warning,
            bars: bins.iter().map(bar).collect(),
            // Equal steps are rounded to nanoseconds, so one may be slightly longer than another.
            is_logarithmic: width(bins.last()) > width(bins.first()).saturating_mul(2) + 2,
        })
    }
}

/// A sentence if times vary widely.
fn warning(times_ns: &[i64], median_ns: i64, thresholds: &Thresholds) -> Option<String> {
    let times_us: Vec<f64> = times_ns.iter().map(|ns| *ns as f64 / 1e3).collect();
    let max_ns = times_ns.last()?;
    let ratio = (median_ns > 0).then(|| *max_ns as f64 / median_ns as f64);
    let is_wide = variation(&times_us).is_some_and(|of| of > thresholds.variance_ratio)
        || ratio.is_some_and(|ratio| ratio >= thresholds.spread_ratio);
    is_wide.then(|| match ratio.map(format::number) {
        Some(ratio) => {
            format!("The times vary widely: the longest is {ratio} × the median.")
        }
        None => "The times vary widely.".to_owned(),
    })
}

/// Bins over sorted times: of equal width, or of equal ratio if the longest is many times the shortest. The number of
/// bins is twice the cube root of the number of runs.
fn bins(times: &[i64]) -> Vec<Bin> {
    let (Some(&min_ns), Some(&max_ns)) = (times.first(), times.last()) else {
        return Vec::new();
    };
    if times.len() < 2 {
        return Vec::new();
    }
    let wanted = (2.0 * (times.len() as f64).cbrt()).ceil() as usize;
    let n_bins = wanted.clamp(4, MAX_BINS);
    let edge = |bin: usize| -> i64 {
        let part = bin as f64 / n_bins as f64;
        if min_ns > 0 && max_ns / min_ns >= WIDE {
            let ratio = max_ns as f64 / min_ns as f64;
            (min_ns as f64 * ratio.powf(part)).round() as i64
        } else {
            let width = max_ns.saturating_sub(min_ns) as f64;
            min_ns.saturating_add((width * part).round() as i64)
        }
    };
    let mut edges: Vec<i64> = (1..n_bins).map(edge).collect();
    // Times that are only nanoseconds apart give fewer edges than requested.
    edges.insert(0, min_ns);
    edges.push(max_ns);
    edges.dedup();
    if edges.len() < 2 {
        // One distinct time is one bin.
        edges.push(max_ns);
    }
    let last = edges.len() - 2;
    let mut rest = times;
    let mut bins = Vec::with_capacity(last + 1);
    for (at, edge) in edges.windows(2).enumerate() {
        let &[from_ns, to_ns] = edge else { continue };
        let count = match at == last {
            true => rest.len(),
            false => rest.partition_point(|ns| *ns < to_ns),
        };
        rest = rest.get(count..).unwrap_or_default();
        bins.push(Bin {
            from_ns,
            to_ns,
            count: count as u64,
        });
    }
    bins
}

#[cfg(test)]
mod tests {
    use super::*;

    fn binned(times: &[i64]) -> Vec<(i64, i64, u64)> {
        let bins = bins(times).into_iter();
        bins.map(|bin| (bin.from_ns, bin.to_ns, bin.count))
            .collect()
    }

    #[test]
    fn runs_are_counted_by_time() {
        type Case = (&'static [i64], &'static [(i64, i64, u64)]);
        let cases: [Case; 7] = [
            // Four bins of 10 between 100 and 140: a time on an edge belongs to the bin that starts there; the longest
            // belongs to the last.
            (
                &[100, 109, 110, 125, 140],
                &[(100, 110, 2), (110, 120, 1), (120, 130, 1), (130, 140, 1)],
            ),
            // Far apart, 1 to 16: each edge is twice the one before.
            (
                &[1_000, 1_999, 2_000, 9_000, 16_000],
                &[
                    (1_000, 2_000, 2),
                    (2_000, 4_000, 1),
                    (4_000, 8_000, 0),
                    (8_000, 16_000, 2),
                ],
            ),
            // Few distinct times give few bins.
            (&[7, 7, 7], &[(7, 7, 3)]),
            (&[7, 8, 8], &[(7, 8, 3)]),
            (&[0, 0, 3], &[(0, 1, 2), (1, 2, 0), (2, 3, 1)]),
            (&[7], &[]),
            (&[], &[]),
        ];
        for (times, expected) in cases {
            assert_eq!(binned(times), expected, "{times:?}");
        }
    }

    #[test]
    fn every_run_is_in_one_bin() {
        let times: Vec<i64> = (0..5_000).map(|at| 1_000 + at * at).collect();
        let bins = bins(&times);
        assert_eq!(bins.len(), MAX_BINS);
        assert_eq!(bins.iter().map(|bin| bin.count).sum::<u64>(), 5_000);
        assert!(bins.windows(2).all(|pair| pair[0].to_ns == pair[1].from_ns));
    }
}
