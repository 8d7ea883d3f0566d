//! How the GPU times of equal runs differ.

use super::Instance;
use crate::assess::Thresholds;
use crate::findings::compute::variation;
use crate::profile::Profile;

/// More bins than this say no more.
const MAX_BINS: usize = 24;
/// From this many times the shortest run on, bins grow by a factor instead of by a step.
const WIDE: i64 = 16;

/// How the GPU times of some runs differ. Runs without GPU time count as what they are.
#[derive(Debug, Clone, PartialEq)]
pub struct Spread {
    /// The shortest.
    pub min_ns: i64,
    /// The middle one; the mean of the two in the middle.
    pub median_ns: i64,
    /// At least 95 % of the runs take no longer.
    pub p95_ns: i64,
    /// The longest.
    pub max_ns: i64,
    /// Deviation over mean; `None` for too few runs to tell.
    pub variation: Option<f64>,
    /// The longest over the median; `None` for a median of nothing.
    pub ratio: Option<f64>,
    /// The times differ so much that their mean says little.
    pub is_wide: bool,
    /// The longest run is also the first.
    pub slowest_is_first: bool,
    /// Runs by time, one bin after the other; empty for a single run.
    pub bins: Vec<Bin>,
}

/// Runs of some length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bin {
    /// The shortest.
    pub from_ns: i64,
    /// Where the next bin begins; in the last bin the longest, which belongs to it.
    pub to_ns: i64,
    /// How many.
    pub count: u64,
}

impl Spread {
    /// Of runs, with their positions in order of time; `None` where nothing ran on the GPU.
    pub(super) fn of(
        profile: &Profile,
        instances: &[Instance],
        order: &[usize],
        thresholds: &Thresholds,
    ) -> Option<Spread> {
        if instances.iter().all(|instance| instance.work.is_empty()) {
            return None;
        }
        let ordered = order.iter().filter_map(|at| instances.get(*at));
        let times: Vec<i64> = ordered.map(|instance| instance.gpu_ns).collect();
        let n = times.len();
        let (min_ns, max_ns) = (*times.first()?, *times.last()?);
        let (low, high) = (*times.get((n - 1) / 2)?, *times.get(n / 2)?);
        let median_ns = low.saturating_add((high - low) / 2);
        // The rank that 95 % of the runs have at most, rounded up.
        let p95_ns = *times.get((n * 95).div_ceil(100) - 1)?;
        let times_us: Vec<f64> = times.iter().map(|ns| *ns as f64 / 1e3).collect();
        let variation = variation(&times_us);
        let ratio = (median_ns > 0).then(|| max_ns as f64 / median_ns as f64);
        let start_ns = |instance: &Instance| profile.trace.events.ts_ns(instance.event);
        let first = instances.iter().map(start_ns).min();
        let slowest = order.last().and_then(|at| instances.get(*at)).map(start_ns);
        Some(Spread {
            min_ns,
            median_ns,
            p95_ns,
            max_ns,
            variation,
            ratio,
            is_wide: variation.is_some_and(|variation| variation > thresholds.variance_ratio)
                || ratio.is_some_and(|ratio| ratio >= thresholds.spread_ratio),
            slowest_is_first: n > 1 && max_ns > min_ns && slowest == first,
            bins: bins(&times),
        })
    }
}

/// Bins over sorted times: of equal widths, or of equal ratios where the longest is many times the
/// shortest. As many as twice the cube root of the number of runs.
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
    // Times that lie nanoseconds apart have fewer edges than were asked for.
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
    fn a_time_on_an_edge_belongs_to_the_bin_that_starts_there() {
        // Four bins of 10 between 100 and 140; the longest belongs to the last.
        assert_eq!(
            binned(&[100, 109, 110, 125, 140]),
            [(100, 110, 2), (110, 120, 1), (120, 130, 1), (130, 140, 1)]
        );
    }

    #[test]
    fn times_far_apart_have_bins_of_equal_ratios() {
        // 1 to 16 in four bins: each edge is twice the one before.
        assert_eq!(
            binned(&[1_000, 1_999, 2_000, 9_000, 16_000]),
            [
                (1_000, 2_000, 2),
                (2_000, 4_000, 1),
                (4_000, 8_000, 0),
                (8_000, 16_000, 2)
            ]
        );
    }

    #[test]
    fn few_distinct_times_have_few_bins() {
        assert_eq!(binned(&[7, 7, 7]), [(7, 7, 3)]);
        assert_eq!(binned(&[7, 8, 8]), [(7, 8, 3)]);
        assert_eq!(binned(&[0, 0, 3]), [(0, 1, 2), (1, 2, 0), (2, 3, 1)]);
        assert_eq!(binned(&[7]), []);
        assert_eq!(binned(&[]), []);
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
