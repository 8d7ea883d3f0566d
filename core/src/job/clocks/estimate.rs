//! Estimates how far the clock of one rank is ahead of that of another.

use crate::base::interval::Interval;
use crate::base::sort::Arrange;
use crate::base::stats::median;

/// Of the collectives of two ranks, the fastest 1/`PART` are used, because large messages do not end at the same time.
const PART: usize = 4;

/// Also used are those that take longer by at most 1/`SIMILAR`.
const SIMILAR: i64 = 20;

/// At least this many are used.
const LEAST_SAMPLES: usize = 5;

/// With this many samples, the drift is estimated, too.
const LEAST_FOR_DRIFT: usize = 20;

/// The slope is computed from at most this many samples, evenly spaced in time.
const MOST_FOR_SLOPE: usize = 128;

/// Only pairs that are at least this share of the window apart are used.
const LEAST_APART: f64 = 0.3;

/// A smaller spread is due to chance: the ends of one collective on ranks of one host are this far apart.
const LEAST_SPREAD_NS: f64 = 500.0;

/// A collective of two ranks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sample {
    /// When the first ended it.
    at_ns: i64,
    /// How much later the second ended it.
    ahead_ns: i64,
    /// The second clock is ahead by at least this, because each rank started before the other ended.
    least_ns: i64,
    /// The second clock is ahead by at most this, for the same reason.
    most_ns: i64,
    /// The duration on the rank that waited least.
    length_ns: i64,
}

impl Sample {
    /// From the times at which two ranks ran it, each on its own clock.
    pub(super) fn new(one: Interval, other: Interval) -> Sample {
        Sample {
            at_ns: one.end_ns,
            ahead_ns: other.end_ns.saturating_sub(one.end_ns),
            least_ns: other.start_ns.saturating_sub(one.end_ns),
            most_ns: other.end_ns.saturating_sub(one.start_ns),
            length_ns: one.length().min(other.length()),
        }
    }
}

/// How far one clock is ahead of another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Estimate {
    /// In the middle of the window.
    pub(super) ahead_ns: f64,
    /// How much faster it runs.
    pub(super) drift: f64,
    /// The median absolute deviation of the samples.
    pub(super) spread_ns: f64,
    /// Number of samples used.
    pub(super) n: usize,
    /// Whether a single clock difference is consistent with all collectives.
    pub(super) is_possible: bool,
}

impl Estimate {
    /// From collectives of two ranks; `None` without any.
    pub(super) fn new(samples: Vec<Sample>, at_ns: i64) -> Option<Estimate> {
        let mut quickest = samples.clone();
        quickest.arrange_by_key(|sample| (sample.length_ns, sample.at_ns));
        let part = (samples.len() / PART).max(LEAST_SAMPLES);
        // Messages of one size take equally long, so all of them are equally useful.
        let longest = quickest.iter().take(part).next_back();
        let longest_ns =
            longest.map_or(0, |of| of.length_ns.saturating_add(of.length_ns / SIMILAR));
        quickest.retain(|sample| sample.length_ns <= longest_ns);
        quickest.arrange_by_key(|sample| sample.at_ns);
        let n = quickest.len();
        if n == 0 {
            return None;
        }
        let drift = match n >= LEAST_FOR_DRIFT {
            true => slope(&quickest),
            false => 0.0,
        };
        let without_drift = |ns: i64, sample: &Sample| {
            ns as f64 - drift * sample.at_ns.saturating_sub(at_ns) as f64
        };
        let aheads = quickest.iter();
        let aheads: Vec<f64> = aheads
            .map(|sample| without_drift(sample.ahead_ns, sample))
            .collect();
        let middle = median(aheads.clone());
        let spread_ns = median(aheads.iter().map(|ahead| (ahead - middle).abs()).collect());
        let least = samples.iter().map(|of| without_drift(of.least_ns, of));
        let most = samples.iter().map(|of| without_drift(of.most_ns, of));
        let least = least.fold(f64::NEG_INFINITY, f64::max);
        let most = most.fold(f64::INFINITY, f64::min);
        let is_possible = least <= most;
        Some(Estimate {
            ahead_ns: match is_possible {
                true => middle.clamp(least, most),
                false => middle,
            },
            drift,
            // One or two samples have no scatter; their bounds give the uncertainty instead.
            spread_ns: match n {
                1 | 2 => spread_ns.max((most - least).abs() / 2.0),
                _ => spread_ns,
            },
            n,
            is_possible,
        })
    }

    /// An estimate for two clocks that are the same.
    pub(super) fn same(spread_ns: f64) -> Estimate {
        Estimate {
            ahead_ns: 0.0,
            drift: 0.0,
            spread_ns,
            n: 1,
            is_possible: true,
        }
    }

    /// Combines several estimates, each with at least this uncertainty.
    pub(super) fn mean(of: &[Estimate], least_ns: f64) -> Estimate {
        let weights = |has_drift: bool| {
            let of = of.iter();
            let of = of.filter(move |of| !has_drift || of.n >= LEAST_FOR_DRIFT);
            of.map(move |of| (of, 1.0 / (of.weight().powi(2) + least_ns.powi(2))))
        };
        let mean = |has_drift: bool, value: fn(&Estimate) -> f64| {
            let sums = weights(has_drift).fold((0.0, 0.0), |(values, all), (of, weight)| {
                (values + weight * value(of), all + weight)
            });
            if sums.1 > 0.0 { sums.0 / sums.1 } else { 0.0 }
        };
        Estimate {
            ahead_ns: mean(false, |of| of.ahead_ns),
            drift: mean(true, |of| of.drift),
            spread_ns: mean(false, |of| of.spread_ns),
            n: of.iter().map(|of| of.n).sum(),
            is_possible: of.iter().all(|of| of.is_possible),
        }
    }

    /// How far the other clock is ahead of this one.
    pub(super) fn reversed(self) -> Estimate {
        Estimate {
            ahead_ns: -self.ahead_ns,
            drift: -self.drift,
            ..self
        }
    }

    /// The uncertainty of the estimate; the best one has the smallest.
    pub(super) fn weight(&self) -> f64 {
        self.spread_ns.max(LEAST_SPREAD_NS) / (self.n.max(1) as f64).sqrt()
    }
}

/// The Theil–Sen slope of samples in order of time: the median of the slopes of pairs.
fn slope(samples: &[Sample]) -> f64 {
    let every = samples.len().div_ceil(MOST_FOR_SLOPE).max(1);
    let samples: Vec<Sample> = samples.iter().step_by(every).copied().collect();
    let Some((first, last)) = samples.first().zip(samples.last()) else {
        return 0.0;
    };
    let least = last.at_ns.saturating_sub(first.at_ns) as f64 * LEAST_APART;
    let slopes = samples.iter().enumerate().flat_map(|(at, one)| {
        samples.iter().skip(at + 1).filter_map(move |other| {
            let apart = other.at_ns.saturating_sub(one.at_ns) as f64;
            let by = other.ahead_ns.saturating_sub(one.ahead_ns) as f64;
            (apart > 0.0 && apart >= least).then(|| by / apart)
        })
    });
    median(slopes.collect())
}
