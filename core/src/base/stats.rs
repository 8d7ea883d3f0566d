//! Mean, median, deviation, extremes and sum of a column, as pandas computes them.

use crate::base::interval::sum;
use crate::base::sort::{Arrange, Arranged};

/// Summary statistics of a group of values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Stats {
    pub(crate) n: usize,
    pub(crate) mean: f64,
    pub(crate) median: f64,
    /// Sample standard deviation (n − 1); `None` for a single value.
    pub(crate) std: Option<f64>,
    pub(crate) min: f64,
    pub(crate) max: f64,
    pub(crate) sum: f64,
}

/// The median of some lengths, the shorter of the two middle ones for an even count; `None` for none.
pub fn median_ns(lengths_ns: Vec<i64>) -> Option<i64> {
    quantile_ns(lengths_ns, 0.5)
}

/// The median of some lengths, the mean of the two middle ones for an even count; `None` for none.
pub(crate) fn mean_of_middle_ns(mut lengths_ns: Vec<i64>) -> Option<i64> {
    lengths_ns.sort_unstable();
    let last = lengths_ns.len().checked_sub(1)?;
    let (low, high) = (lengths_ns.get(last / 2)?, lengths_ns.get(last.div_ceil(2))?);
    Some(low.midpoint(*high))
}

/// The median of some values, the mean of the two middle ones for an even count; 0 for none.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    let Some(last) = values.len().checked_sub(1) else {
        return 0.0;
    };
    let (_, low, _) = values.select_nth_unstable_by(last / 2, f64::total_cmp);
    let low = *low;
    let (_, high, _) = values.select_nth_unstable_by(last.div_ceil(2), f64::total_cmp);
    low.midpoint(*high)
}

/// For each value the median of all others, the mean of the two middle ones for an even count; 0 for none.
pub(crate) fn medians_of_others(values: &[i64]) -> Vec<i64> {
    let order = (0..values.len()).arranged_by_key(|at| (values[*at], *at));
    let last = values.len().saturating_sub(2);
    let mut medians = vec![0; values.len()];
    if values.len() < 2 {
        return medians;
    }
    for (place, at) in order.iter().enumerate() {
        let without = |nth: usize| {
            let nth = nth + usize::from(nth >= place);
            order.get(nth).map_or(0, |at| values[*at])
        };
        medians[*at] = without(last / 2).midpoint(without(last.div_ceil(2)));
    }
    medians
}

/// The quantile of some lengths, rounded down to one of them; `None` for none.
pub(crate) fn quantile_ns(mut lengths_ns: Vec<i64>, share: f64) -> Option<i64> {
    lengths_ns.sort_unstable();
    let last = lengths_ns.len().checked_sub(1)?;
    lengths_ns.get((last as f64 * share) as usize).copied()
}

/// The shortest length that at least 95% of all lengths do not exceed: of three lengths, the longest. `None` for none.
pub(crate) fn p95_ns(mut lengths_ns: Vec<i64>) -> Option<i64> {
    lengths_ns.sort_unstable();
    let last = lengths_ns.len().checked_sub(1)?;
    // Products like 0.95 × 20 may be a little above a whole number.
    let n = (lengths_ns.len() as f64 * 0.95 - 1e-9).ceil() as usize;
    lengths_ns.get(n.saturating_sub(1).min(last)).copied()
}

impl Stats {
    /// Statistics of values in any order; `None` for no values.
    pub(crate) fn of(values: Vec<f64>) -> Option<Stats> {
        let sum = values.iter().sum();
        Stats::with_sum(values, sum)
    }

    /// Statistics of durations, in microseconds. The sum is exact.
    pub(crate) fn of_ns(durations_ns: &[i64]) -> Option<Stats> {
        let values = durations_ns.iter().map(|&ns| ns as f64 / 1e3).collect();
        let sum_ns = sum(durations_ns.iter().copied());
        Stats::with_sum(values, sum_ns as f64 / 1e3)
    }

    fn with_sum(mut values: Vec<f64>, sum: f64) -> Option<Stats> {
        values.arrange_by(f64::total_cmp);
        let n = values.len();
        let (min, max) = (*values.first()?, *values.last()?);
        let mean = sum / n as f64;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let median = (values[(n - 1) / 2] + values[n / 2]) / 2.0;
        Some(Stats {
            n,
            mean,
            median,
            std: (n > 1).then(|| (squares / (n - 1) as f64).sqrt()),
            min,
            max,
            sum,
        })
    }

    /// Population standard deviation (n).
    pub(crate) fn population_std(&self) -> f64 {
        let n = self.n as f64;
        self.std.map_or(0.0, |std| std * ((n - 1.0) / n).sqrt())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_the_others_leaves_out_the_own_value() {
        assert_eq!(medians_of_others(&[5]), [0]);
        assert_eq!(medians_of_others(&[5, 1]), [1, 5]);
        assert_eq!(medians_of_others(&[9, 1, 3]), [2, 6, 5]);
        assert_eq!(medians_of_others(&[4, 4, 4, 90]), [4, 4, 4, 4]);
    }

    #[test]
    fn as_pandas_computes_them() {
        let stats = Stats::of_ns(&[4_000, 1_000, 3_000, 2_000]).unwrap();
        assert_eq!((stats.mean, stats.median), (2.5, 2.5));
        assert_eq!((stats.min, stats.max, stats.sum), (1.0, 4.0, 10.0));
        assert_eq!(stats.std, Some((5.0_f64 / 3.0).sqrt()));
        assert!((stats.population_std() - 1.25_f64.sqrt()).abs() < 1e-12);
    }

    #[test]
    fn the_median_of_lengths_is_one_of_them() {
        assert_eq!(median_ns(vec![30, 10, 20]), Some(20));
        assert_eq!(median_ns(vec![30, 10, 20, 40]), Some(20));
        assert_eq!(median_ns(Vec::new()), None);
        assert_eq!(quantile_ns((0..=100).collect(), 0.95), Some(95));
    }

    #[test]
    fn an_upper_quantile_leaves_no_more_than_its_share_above() {
        assert_eq!(p95_ns(vec![30, 10, 20]), Some(30));
        assert_eq!(p95_ns((1..=20).collect()), Some(19));
        assert_eq!(p95_ns((1..=100).collect()), Some(95));
        assert_eq!(p95_ns(vec![7]), Some(7));
        assert_eq!(p95_ns(Vec::new()), None);
    }

    #[test]
    fn one_value_has_no_sample_deviation() {
        let stats = Stats::of_ns(&[7_000]).unwrap();
        assert_eq!((stats.std, stats.population_std()), (None, 0.0));
        assert_eq!(Stats::of_ns(&[]), None);
    }
}
