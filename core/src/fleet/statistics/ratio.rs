//! The ratio of two samples: the median of all ratios new / base (Hodges–Lehmann), with its 95 % confidence interval.

use super::{exact, normal};
use crate::base::sort::Arrange;

/// The ratio of new to base.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::fleet) struct Ratio {
    /// The median over all pairs.
    pub(in crate::fleet) ratio: f64,
    /// The ends of the 95 % interval; `None` if there are too few values.
    pub(in crate::fleet) interval: Option<(f64, f64)>,
}

/// The ratio of two samples of positive values; `None` if one is empty or has a value that is not positive.
pub(in crate::fleet) fn ratio(new: &[f64], base: &[f64]) -> Option<Ratio> {
    let pairs = Pairs::new(new, base)?;
    let n_pairs = pairs.new.len() * pairs.base.len();
    let (low, high) = (n_pairs.div_ceil(2), n_pairs / 2 + 1);
    let outside = outside(pairs.new.len(), pairs.base.len());
    let interval = (outside > 0).then(|| (pairs.nth(outside), pairs.nth(n_pairs + 1 - outside)));
    Some(Ratio {
        ratio: pairs.nth(low).midpoint(pairs.nth(high)),
        interval,
    })
}

/// The interval ranges from the ratio with this rank to the one with this rank from the end. In at most 2.5 % of
/// samples the true ratio is below it, and likewise above. 0 if there is no such interval.
fn outside(m: usize, n: usize) -> usize {
    match exact::at_most(m, n) {
        Some(at_most) => at_most.partition_point(|share| *share <= 0.025),
        None => {
            let n_pairs = (m * n) as f64;
            let deviation = (n_pairs * (m + n + 1) as f64 / 12.0).sqrt();
            (n_pairs / 2.0 - normal::SIGMAS_OF_95 * deviation).max(0.0) as usize
        }
    }
}

/// All ratios of two samples, without listing them: both samples are sorted, and ratios are counted.
struct Pairs {
    new: Vec<f64>,
    base: Vec<f64>,
}

impl Pairs {
    fn new(new: &[f64], base: &[f64]) -> Option<Pairs> {
        let sorted = |values: &[f64]| {
            let mut values = values.to_vec();
            values.arrange_by(f64::total_cmp);
            let are_times = values.iter().all(|value| *value > 0.0 && value.is_finite());
            (are_times && !values.is_empty()).then_some(values)
        };
        Some(Pairs {
            new: sorted(new)?,
            base: sorted(base)?,
        })
    }

    /// How many ratios are at most this large. With growing new values, more base values are too small.
    fn at_most(&self, ratio: f64) -> usize {
        let mut too_small = 0;
        let large_enough = self.new.iter().map(|new| {
            let base = self.base.iter().skip(too_small);
            too_small += base.take_while(|base| new / **base > ratio).count();
            self.base.len() - too_small
        });
        large_enough.sum()
    }

    /// The ratio with this rank among all of them, counted from 1. Positive floats sort like their bits, so bisection
    /// over the bits finds the exact ratio.
    fn nth(&self, place: usize) -> f64 {
        let bits = |new: Option<&f64>, base: Option<&f64>| match (new, base) {
            (Some(new), Some(base)) => (new / base).to_bits(),
            _ => 0,
        };
        let mut low = bits(self.new.first(), self.base.last());
        let mut high = bits(self.new.last(), self.base.first());
        while low < high {
            let middle = low.midpoint(high);
            match self.at_most(f64::from_bits(middle)) >= place {
                true => high = middle,
                false => low = middle + 1,
            }
        }
        f64::from_bits(low)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_ratio(found: Ratio, ratio: f64, interval: Option<(f64, f64)>) {
        assert!((found.ratio - ratio).abs() < 1e-12, "{found:?}");
        assert_eq!(found.interval, interval);
    }

    #[test]
    fn the_median_of_all_ratios() {
        // 6/4, 6/3, 6/2; 12/4, 12/3, 12/2: 1.5 2 3 3 4 6. Two and three values have no 95 % interval.
        assert_ratio(ratio(&[12.0, 6.0], &[2.0, 3.0, 4.0]).unwrap(), 3.0, None);
        // 1 2 and 1.5 3: the mean of 1.5 and 2.
        assert_ratio(ratio(&[2.0, 3.0], &[2.0, 1.0]).unwrap(), 1.75, None);
        assert_ratio(ratio(&[5.0], &[2.0]).unwrap(), 2.5, None);
    }

    #[test]
    fn the_interval_leaves_out_as_many_ratios_as_chance_allows() {
        // Four and four values: of 70 orders one has no pair and one has one; 1/70 is below 2.5 %, 2/70 above, so the
        // interval is from the smallest to the largest ratio.
        let base = [1.0, 2.0, 4.0, 8.0];
        let new = [16.0, 32.0, 64.0, 128.0];
        assert_ratio(ratio(&new, &base).unwrap(), 16.0, Some((2.0, 128.0)));
        // Five and five: 252 orders, 1 + 1 + 2 = 4 with at most two pairs (1.6 %), 7 with three (2.8 %): from the
        // third ratio to the third from the end.
        let base = [1.0, 2.0, 4.0, 8.0, 16.0];
        let new = [32.0, 64.0, 128.0, 256.0, 512.0];
        assert_eq!(outside(5, 5), 3);
        assert_ratio(ratio(&new, &base).unwrap(), 32.0, Some((4.0, 256.0)));
    }

    #[test]
    fn large_samples_have_the_interval_of_the_normal_distribution() {
        // 1600 pairs; 800 − 1.96 · √(1600 · 81 / 12) = 596.3.
        assert_eq!(outside(40, 40), 596);
        let values: Vec<f64> = (100..140).map(f64::from).collect();
        let Ratio { ratio, interval } = ratio(&values, &values).unwrap();
        let (low, high) = interval.unwrap();
        assert!((ratio - 1.0).abs() < 1e-12);
        assert!((low * high - 1.0).abs() < 1e-3 && (0.94..0.97).contains(&low));
    }

    #[test]
    fn what_is_no_time_has_no_ratio() {
        for (new, base) in [
            (&[][..], &[1.0][..]),
            (&[1.0], &[0.0]),
            (&[f64::NAN], &[1.0]),
        ] {
            assert_eq!(ratio(new, base), None);
        }
    }
}
