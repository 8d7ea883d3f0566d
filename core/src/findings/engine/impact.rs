//! What following a finding saves, and what that estimate is based on.

use super::assessment::Band;
use super::row::Row;
use crate::base::labels::labeled;

labeled! {
    /// What a saving is estimated from; the last is the weakest.
    pub enum Estimate {
        /// The measured time of kernels that would be eliminated.
        Measured => "From the measured time of the kernels that would not run." as "measured",
        /// The gap to the roofline, closed to 75, 87.5 and 100 % of it.
        Roofline => "From 75 %, 87.5 % and 100 % of roofline." as "roofline",
        /// The gap to the lower end, middle and upper end of the efficiency that such kernels usually reach.
        Usual => "From the efficiency that such kernels usually reach." as "usual_efficiency",
        /// An upper bound for the time that could be saved.
        UpperBound => "Upper bound: all the time that could be saved." as "upper_bound",
        /// A share of the time by rule of thumb, because FLOPs and bytes are unknown.
        Heuristic => "Rule of thumb, 15–45 % of its time: FLOPs and bytes are unknown." as "heuristic",
    }
}

/// How much of the run time following a finding saves; never more than was measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Impact {
    /// The conservative end of the range.
    pub low_ns: i64,
    /// The value that findings are ranked by.
    pub mid_ns: i64,
    /// The optimistic end.
    pub high_ns: i64,
    /// What it is estimated from.
    pub estimate: Estimate,
}

impl Impact {
    /// The time saved when work that now reaches `percent` of the roofline reaches 75, 87.5 and 100 % of it. Work at
    /// the roofline takes `time · percent / 100`, work at x % of it `time · percent / x`, so `time · (1 − percent / x)`
    /// is saved.
    pub fn of_efficiency(time_ns: i64, percent: f64) -> Impact {
        Impact::of_each(Estimate::Roofline, [75.0, 87.5, 100.0], |target| {
            let share = (1.0 - percent / target).clamp(0.0, 1.0);
            (time_ns as f64 * share).round() as i64
        })
    }

    /// The time saved when work with a roofline time of `roofline_ns` reaches the ends and the middle of a band.
    pub(crate) fn of_band(time_ns: i64, roofline_ns: f64, Band(low, high): Band) -> Impact {
        let targets = [low, f64::midpoint(low, high), high];
        Impact::of_each(Estimate::Usual, targets, |target| {
            let left = (roofline_ns / target * 100.0).clamp(0.0, time_ns as f64);
            time_ns.saturating_sub(left.round() as i64)
        })
    }

    /// What an operation saves at the efficiency that such kernels usually reach.
    pub(crate) fn of_usual(row: &Row, band: Band) -> Option<Impact> {
        let roofline_ns = row.time_ns as f64 * row.efficiency_percent? / 100.0;
        Some(Impact::of_band(row.steady_ns(), roofline_ns, band))
    }

    /// Kernels that would be eliminated.
    pub fn measured(time_ns: i64) -> Impact {
        Impact::of_each(Estimate::Measured, [1.0; 3], |_| time_ns)
    }

    /// A range with a known upper end: the lower values are 75 and 87.5 % of it.
    pub fn at_most(time_ns: i64) -> Impact {
        Impact::of_each(Estimate::UpperBound, [0.75, 0.875, 1.0], |share| {
            (time_ns as f64 * share).round() as i64
        })
    }

    /// Up to all of a time, where a trace does not show how much of it is needed.
    pub(crate) fn possible(time_ns: i64) -> Impact {
        Impact::of_each(Estimate::UpperBound, [0.0, 0.5, 1.0], |share| {
            (time_ns as f64 * share).round() as i64
        })
    }

    /// A share of the time of work without a model: 15, 30 and 45 %.
    pub fn heuristic(time_ns: i64) -> Impact {
        Impact::of_each(Estimate::Heuristic, [0.15, 0.30, 0.45], |share| {
            (time_ns as f64 * share).round() as i64
        })
    }

    pub(crate) fn of_each(
        estimate: Estimate,
        ends: [f64; 3],
        saved: impl Fn(f64) -> i64,
    ) -> Impact {
        let [low_ns, mid_ns, high_ns] = ends.map(saved);
        Impact {
            low_ns,
            mid_ns,
            high_ns,
            estimate,
        }
    }

    /// Scales it where only `run_ns` of `kernel_ns` count as time of the run.
    pub(crate) fn part(self, run_ns: i64, kernel_ns: i64) -> Impact {
        self.map(|ns| part(ns, run_ns, kernel_ns))
    }

    pub(crate) fn within(self, most_ns: i64) -> Impact {
        self.map(|ns| ns.min(most_ns.max(0)))
    }

    /// Where a share is saved only after something else changes: lowers the range to the certain part, but keeps its
    /// upper end.
    pub(crate) fn with_uncertain_share(self, share: f64) -> Impact {
        let sure = |ns: i64| (ns as f64 * (1.0 - share)).round() as i64;
        Impact {
            low_ns: sure(self.low_ns),
            mid_ns: sure(self.mid_ns),
            ..self
        }
    }

    pub(crate) fn map(self, turn: impl Fn(i64) -> i64) -> Impact {
        Impact {
            low_ns: turn(self.low_ns),
            mid_ns: turn(self.mid_ns),
            high_ns: turn(self.high_ns),
            estimate: self.estimate,
        }
    }

    /// What it promises beyond what other findings save.
    pub(crate) fn beyond(self, others: Impact) -> Impact {
        let beyond = |ns: i64, others_ns: i64| ns.saturating_sub(others_ns).max(0);
        Impact {
            low_ns: beyond(self.low_ns, others.high_ns),
            mid_ns: beyond(self.mid_ns, others.mid_ns),
            high_ns: beyond(self.high_ns, others.low_ns),
            ..self
        }
    }

    /// The sum of both, with the weaker of the two estimates.
    pub fn plus(self, other: Impact) -> Impact {
        Impact {
            low_ns: self.low_ns.saturating_add(other.low_ns),
            mid_ns: self.mid_ns.saturating_add(other.mid_ns),
            high_ns: self.high_ns.saturating_add(other.high_ns),
            estimate: self.estimate.max(other.estimate),
        }
    }
}

/// A row of the table of what reaching some efficiency saves.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Projection {
    /// The efficiency, in percent of the roofline.
    pub target_percent: f64,
    /// The remaining time, and the gain of the run in percent; `None` where the target is already met.
    pub outcome: Option<(i64, f64)>,
}

const TARGETS: [f64; 5] = [20.0, 50.0, 75.0, 87.5, 100.0];

/// For a kernel time at some efficiency, the time at other efficiencies and the resulting gain of a run of `total_ns`,
/// `run_ns` of which is that kernel time: (1 − efficiency / target) · run / total.
pub fn projections(
    time_ns: i64,
    run_ns: i64,
    efficiency_percent: f64,
    total_ns: i64,
) -> Vec<Projection> {
    TARGETS
        .into_iter()
        .map(|target| Projection {
            target_percent: target,
            outcome: (efficiency_percent < target && total_ns > 0).then(|| {
                let left = (time_ns as f64 * efficiency_percent / target).round() as i64;
                let saved = part(time_ns.saturating_sub(left), run_ns, time_ns) as f64;
                (left, saved / total_ns as f64 * 100.0)
            }),
        })
        .collect()
}

/// `ns · run / kernel`; unchanged where both are equal.
pub(crate) fn part(ns: i64, run_ns: i64, kernel_ns: i64) -> i64 {
    match kernel_ns > run_ns {
        true => (ns as f64 * (run_ns as f64 / kernel_ns as f64)).round() as i64,
        false => ns,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_is_worth_what_is_left_of_it() {
        // 100 ms at 35 % of the roofline: at 70 % it would take 50 ms, at 100 % 35 ms.
        let impact = Impact::of_efficiency(100_000_000, 35.0);
        assert_eq!(impact.high_ns, 65_000_000);
        assert_eq!(impact.mid_ns, 60_000_000);
        assert_eq!(impact.low_ns, 53_333_333);
        // Work above 75 % has nothing to save at the conservative end.
        assert_eq!(Impact::of_efficiency(100, 80.0).low_ns, 0);
        assert_eq!(Impact::of_efficiency(100, 120.0).high_ns, 0);
    }

    #[test]
    fn a_band_is_worth_what_its_ends_are() {
        // 10 ms at the roofline: 20 ms at 50 %, 25 ms at 40 %, 16.7 ms at 60 %.
        let impact = Impact::of_band(100_000_000, 1e7, Band(40.0, 60.0));
        assert_eq!(impact.low_ns, 75_000_000);
        assert_eq!(impact.mid_ns, 80_000_000);
        assert_eq!(impact.high_ns, 83_333_333);
        // Work that is already in the band saves nothing, and the saving never exceeds the time.
        assert_eq!(
            Impact::of_band(16_000_000, 1e7, Band(40.0, 60.0)).high_ns,
            0
        );
        assert_eq!(Impact::of_band(100, 0.0, Band(40.0, 60.0)).high_ns, 100);
    }

    #[test]
    fn a_projection_is_of_the_whole_run() {
        // 19 ms at 10 % of the roofline in a run of 100 ms: at 20 % 9.5 ms, so 9.5 % less.
        let rows = projections(19_000_000, 19_000_000, 10.0, 100_000_000);
        assert_eq!(rows[0].outcome, Some((9_500_000, 9.5)));
        assert_eq!(rows[1].outcome, Some((3_800_000, 15.2)));
        assert_eq!(rows[4].outcome, Some((1_900_000, 17.1)));
        let met = projections(19_000_000, 19_000_000, 60.0, 100_000_000);
        assert_eq!(met[1].outcome, None);
        assert!(met[2].outcome.is_some());
        // On two concurrent GPUs it is half of that of the run, and so is the gain.
        let halved = projections(19_000_000, 9_500_000, 10.0, 100_000_000);
        assert_eq!(halved[1].outcome, Some((3_800_000, 7.6)));
    }

    #[test]
    fn the_weaker_estimate_stands() {
        let sum = Impact::measured(10).plus(Impact::heuristic(100));
        assert_eq!((sum.low_ns, sum.mid_ns, sum.high_ns), (25, 40, 55));
        assert_eq!(sum.estimate, Estimate::Heuristic);
    }
}
