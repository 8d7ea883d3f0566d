//! Rates: amounts of work divided by kernel times.

use crate::base::stats::Stats;

/// Rates of some calls, in 10¹² per second; calls of zero duration have none.
pub(crate) fn rates(times_us: &[f64], amount: Option<f64>) -> Option<Stats> {
    let amount = amount?;
    over(times_us, |time_us| amount / 1e6 / time_us)
}

/// Shares of the roofline that some calls reach, in percent.
pub(crate) fn roofline_percents(times_us: &[f64], roofline_us: f64) -> Option<Stats> {
    over(times_us, |time_us| roofline_us / time_us * 100.0)
}

pub(crate) fn mean_rate(times_us: &[f64], amount: Option<f64>) -> Option<f64> {
    let amount = amount?;
    mean(times_us, |time_us| amount / 1e6 / time_us)
}

/// The share of the roofline that all calls together reach, in percent: the sum of their roofline times divided by the
/// sum of their times.
pub(crate) fn roofline_percent(times_us: &[f64], roofline_us: f64) -> Option<f64> {
    let timed = times_us.iter().filter(|time_us| **time_us > 0.0);
    let (n, all_us) = timed.fold((0, 0.0), |(n, all_us), time_us| (n + 1, all_us + time_us));
    (n > 0).then(|| f64::from(n) * roofline_us / all_us * 100.0)
}

/// Computes the mean without sorting, which other statistics require.
fn mean(times_us: &[f64], rate: impl Fn(f64) -> f64) -> Option<f64> {
    let timed = times_us.iter().filter(|time_us| **time_us > 0.0);
    let (mut sum, mut n) = (0.0, 0_usize);
    for time_us in timed {
        sum += rate(*time_us);
        n += 1;
    }
    (n > 0).then(|| sum / n as f64)
}

fn over(times_us: &[f64], rate: impl Fn(f64) -> f64) -> Option<Stats> {
    let timed = times_us.iter().filter(|time_us| **time_us > 0.0);
    Stats::of(timed.map(|time_us| rate(*time_us)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_an_amount_over_a_time() {
        // 5 GB in 25 µs is 200 TB/s; a call of zero duration has no rate.
        let terabytes = rates(&[25.0, 0.0], Some(5e9)).unwrap();
        assert_eq!((terabytes.n, terabytes.mean), (1, 200.0));
        assert_eq!(mean_rate(&[25.0, 0.0], Some(5e9)), Some(200.0));
        assert_eq!(rates(&[25.0], None), None);
        // 5 of 10 µs and 5 of 40: a fifth of the total.
        assert_eq!(roofline_percent(&[10.0, 40.0, 0.0], 5.0), Some(20.0));
        assert_eq!(roofline_percent(&[0.0], 5.0), None);
        let shares = roofline_percents(&[25.0], 5.0).map(|shares| (shares.n, shares.mean));
        assert_eq!(shares, Some((1, 20.0)));
    }
}
