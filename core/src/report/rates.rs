//! Amounts of work over kernel times.
//!
//! Here, and nowhere else, times are the reference's: it computes with microseconds since the
//! epoch in floating point, which are coarser than the nanoseconds of the trace. Sums and means do
//! not show it, but the deviation of calls that take nearly the same time does, and people compare
//! it.

use super::stats::Stats;
use crate::launch::GpuId;
use crate::profile::Profile;

/// Rates of some calls, in units of 10¹² a second; calls that take no time have none.
pub(super) fn rates(times_us: &[f64], amount: Option<f64>) -> Option<Stats> {
    let amount = amount?;
    over(times_us, |time_us| amount / 1e6 / time_us)
}

/// Shares of the roof that some calls reach, in percent.
pub(super) fn roof_shares(times_us: &[f64], roof_us: f64) -> Option<Stats> {
    over(times_us, |time_us| roof_us / time_us * 100.0)
}

fn over(times_us: &[f64], rate: impl Fn(f64) -> f64) -> Option<Stats> {
    let timed = times_us.iter().filter(|time_us| **time_us > 0.0);
    Stats::of(timed.map(|time_us| rate(*time_us)).collect())
}

/// The time during which at least one of these runs, in the reference's arithmetic.
pub(super) fn busy_us(profile: &Profile, work: &[GpuId]) -> f64 {
    let mut spans: Vec<(f64, f64)> = work
        .iter()
        .filter_map(|id| profile.gpu.get(*id))
        .map(|work| {
            let start_us = work.span.start_ns as f64 / 1e3;
            (start_us, start_us + work.span.length() as f64 / 1e3)
        })
        .collect();
    spans.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut busy_us = 0.0;
    let mut open: Option<(f64, f64)> = None;
    for (start, end) in spans {
        open = Some(match open {
            Some((first, last)) if start <= last => (first, last.max(end)),
            Some((first, last)) => {
                busy_us += last - first;
                (start, end)
            }
            None => (start, end),
        });
    }
    busy_us + open.map_or(0.0, |(first, last)| last - first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Timetable;

    #[test]
    fn a_rate_is_an_amount_over_the_time_in_which_anything_runs() {
        let profile = Timetable::new()
            .op("aten::mm", 0..10)
            .launch(1, 1..2)
            .launch(2, 3..4)
            .launch(3, 5..6)
            .kernel(1, "a", 20..30)
            .kernel(2, "b", 25..40)
            .kernel(3, "c", 50..55)
            .profile();
        let (_, op) = profile.ops.iter().next().unwrap();
        let time_us = busy_us(&profile, profile.ops.kernels(op));
        assert!((time_us - 25.0).abs() < 1e-9);
        let terabytes = rates(&[time_us, 0.0], Some(5e9)).unwrap();
        assert_eq!((terabytes.n, terabytes.mean), (1, 200.0));
        assert_eq!(rates(&[time_us], None), None);
        let shares = roof_shares(&[time_us], 5.0).map(|shares| (shares.n, shares.mean));
        assert_eq!(shares, Some((1, 20.0)));
    }
}
