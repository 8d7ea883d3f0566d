//! Which efficiency is usual for attention, by the length of its sequences.
//!
//! Short sequences leave the GPU little to do: 10 % of roofline are usual at 512 and 60 % at 4096.
//! Between these lengths both ends of the band are linear in the logarithm of the length.

use crate::assess::Thresholds;

/// Length, lower end, upper end, in percent of roofline.
const BANDS: [(f64, f64, f64); 4] = [
    (512.0, 5.0, 15.0),
    (1024.0, 20.0, 40.0),
    (2048.0, 40.0, 60.0),
    (4096.0, 50.0, 70.0),
];

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Band {
    pub(super) low: f64,
    pub(super) high: f64,
}

impl Band {
    /// What is usual for attention over sequences of a length.
    pub(super) fn of_length(length: f64) -> Band {
        let [(_, low, high), ..] = BANDS;
        let mut band = Band { low, high };
        for (from, to) in BANDS.iter().zip(&BANDS[1..]) {
            let share = ((length / from.0).log2() / (to.0 / from.0).log2()).clamp(0.0, 1.0);
            if share > 0.0 {
                band = Band {
                    low: from.1 + share * (to.1 - from.1),
                    high: from.2 + share * (to.2 - from.2),
                };
            }
        }
        band
    }

    /// The same for a forward or backward pass: the latter is expected to be less efficient.
    pub(super) fn of_pass(self, is_backward: bool, thresholds: &Thresholds) -> Band {
        if !is_backward {
            return self;
        }
        let scaled = |percent: f64| percent * thresholds.sdpa_backward_percent / 100.0;
        Band {
            low: scaled(self.low),
            high: scaled(self.high),
        }
    }

    /// "18–32 %".
    pub(super) fn text(self) -> String {
        format!("{:.0}–{:.0} %", self.low, self.high)
    }
}

/// How the efficiency of an attention compares with its band.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// So low that it is worth looking at.
    Below,
    /// Under the band, as is usual for sequences this short.
    ShortAndLow,
    Usual,
    Above,
}

impl Verdict {
    /// The verdict on an efficiency. Below `sdpa_short_length` only what is under both the band and
    /// the line for short sequences counts as low.
    pub(super) fn new(efficiency: f64, band: Band, length: f64, thresholds: &Thresholds) -> Self {
        let is_short = length < thresholds.sdpa_short_length;
        let line = match is_short {
            true => band.low.min(thresholds.sdpa_short_percent),
            false => band.low,
        };
        if efficiency < line {
            Verdict::Below
        } else if efficiency < band.low {
            Verdict::ShortAndLow
        } else if efficiency <= band.high {
            Verdict::Usual
        } else {
            Verdict::Above
        }
    }

    pub(super) fn label(self) -> &'static str {
        match self {
            Verdict::Below => "below",
            Verdict::ShortAndLow => "low, but expected for short sequences",
            Verdict::Usual => "as usual",
            Verdict::Above => "above",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bands_follow_the_length() {
        let cases = [
            (1.0, 5.0, 15.0),
            (512.0, 5.0, 15.0),
            // Half of the way in the logarithm: 512 · √2.
            (724.077_343_935, 12.5, 27.5),
            (1024.0, 20.0, 40.0),
            (2048.0, 40.0, 60.0),
            (2_896.309_375_74, 45.0, 65.0),
            (4096.0, 50.0, 70.0),
            (32768.0, 50.0, 70.0),
        ];
        for (length, low, high) in cases {
            let band = Band::of_length(length);
            assert!((band.low - low).abs() < 1e-6, "{length} {band:?}");
            assert!((band.high - high).abs() < 1e-6, "{length} {band:?}");
        }
    }

    #[test]
    fn short_sequences_are_expected_to_be_low() {
        let thresholds = Thresholds::default();
        let cases = [
            // Two measured examples: 12.2 % at 128, 40.4 % at 32 768.
            (12.2, 128.0, Verdict::Usual),
            (40.4, 32768.0, Verdict::Below),
            // At 724 the band begins at 12.5 %, but only what is under 8 % is flagged.
            (10.0, 724.0, Verdict::ShortAndLow),
            (7.9, 724.0, Verdict::Below),
            // At 512 it begins at 5 %.
            (6.0, 512.0, Verdict::Usual),
            (4.9, 512.0, Verdict::Below),
            (19.0, 1024.0, Verdict::Below),
            (71.0, 4096.0, Verdict::Above),
        ];
        for (efficiency, length, expected) in cases {
            let band = Band::of_length(length);
            let verdict = Verdict::new(efficiency, band, length, &thresholds);
            assert_eq!(verdict, expected, "{efficiency} % at {length}");
        }
    }
}
