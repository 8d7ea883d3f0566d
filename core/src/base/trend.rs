//! Whether consecutive values rise or fall, and by how much.
//!
//! The slope is the median of the slopes between all pairs (Theil–Sen), which a few outliers do not move. The trend is
//! significant if more pairs rise than fall, or vice versa, than chance makes likely (Mann–Kendall).

use crate::base::sort::Arrange;

/// A steady rise or fall.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Trend {
    /// Change from one value to the next.
    pub(crate) slope: f64,
    /// Change from the first to the last value.
    pub(crate) change: f64,
}

/// With fewer values there is no trend.
const LEAST_VALUES: usize = 8;
/// Of more values only this many are used, evenly spaced.
const MOST_VALUES: usize = 512;
/// Required significance, in standard deviations: a chance of one in 370.
const LEAST_SIGMAS: f64 = 3.0;

/// The trend of equally spaced values; `None` if there is no significant one.
pub(crate) fn trend(values: &[f64]) -> Option<Trend> {
    let n = values.len();
    if n < LEAST_VALUES {
        return None;
    }
    let stride = n.div_ceil(MOST_VALUES);
    let seen: Vec<(f64, f64)> = values
        .iter()
        .enumerate()
        .step_by(stride)
        .map(|(at, value)| (at as f64, *value))
        .collect();
    let mut slopes = Vec::with_capacity(seen.len() * (seen.len() - 1) / 2);
    let mut score = 0.0_f64;
    for (before, (at, value)) in seen.iter().enumerate() {
        for (earlier, other) in seen.iter().take(before) {
            let difference = value - other;
            score += match difference.total_cmp(&0.0) {
                std::cmp::Ordering::Greater => 1.0,
                std::cmp::Ordering::Less => -1.0,
                std::cmp::Ordering::Equal => 0.0,
            };
            slopes.push(difference / (at - earlier));
        }
    }
    let m = seen.len() as f64;
    let deviation = (m * (m - 1.0) * (2.0 * m + 5.0) / 18.0).sqrt();
    if score.abs() < LEAST_SIGMAS * deviation {
        return None;
    }
    slopes.arrange_by(f64::total_cmp);
    let slope = *slopes.get(slopes.len() / 2)?;
    Some(Trend {
        slope,
        change: slope * (n - 1) as f64,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trend_is_steady() {
        let rounded = |values: &[f64]| {
            trend(values).map(|trend| ((trend.slope * 10.0).round(), trend.change.round()))
        };
        let of = |value: fn(usize) -> f64, n: usize| (0..n).map(value).collect::<Vec<f64>>();
        // A tenth per step, with an outlier.
        let mut rising = of(|at| 10.0 + at as f64 / 10.0, 31);
        rising[7] = 90.0;
        assert_eq!(rounded(&rising), Some((1.0, 3.0)));
        // Alternating values.
        assert_eq!(rounded(&of(|at| (at % 2) as f64, 40)), None);
        // Equal values, and too few.
        assert_eq!(rounded(&of(|_| 5.0, 40)), None);
        assert_eq!(rounded(&of(|at| at as f64, 7)), None);
        // Of many values only some are used.
        assert_eq!(
            rounded(&of(|at| -(at as f64), 5000)),
            Some((-10.0, -4999.0))
        );
    }
}
