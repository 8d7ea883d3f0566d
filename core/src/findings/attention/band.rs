//! The usual efficiency of attention, by sequence length.
//!
//! Short sequences give the GPU little to do: 10 % of roofline is usual at 512 and 60 % at 4096. Between the given
//! lengths, both ends of the band are linear in the logarithm of the length.

use crate::assess::Thresholds;
use crate::base::labels::labeled;
use crate::findings::engine::assessment::Band;
use crate::hardware::roofline::Bound;

/// Length, lower end, upper end, in percent of roofline.
const BANDS: [(f64, f64, f64); 4] = [
    (512.0, 5.0, 15.0),
    (1024.0, 20.0, 40.0),
    (2048.0, 40.0, 60.0),
    (4096.0, 50.0, 70.0),
];

impl Band {
    /// Of many queries over so few keys that it is memory-bound: it reads queries and writes results, but each block of
    /// queries has too few keys to load and compute at the same time.
    pub(super) const OF_FEW_KEYS: Band = Band(25.0, 60.0);

    /// The usual efficiency of attention at a sequence length.
    pub(super) fn of_length(length: f64) -> Band {
        let [(_, low, high), ..] = BANDS;
        let mut band = Band(low, high);
        for (from, to) in BANDS.iter().zip(&BANDS[1..]) {
            let share = ((length / from.0).log2() / (to.0 / from.0).log2()).clamp(0.0, 1.0);
            if share > 0.0 {
                let between = |from: f64, to: f64| from + share * (to - from);
                band = Band(between(from.1, to.1), between(from.2, to.2));
            }
        }
        band
    }

    /// Adjusts the band to a forward or backward pass: the latter is expected to be less efficient.
    pub(super) fn of_pass(self, is_backward: bool, thresholds: &Thresholds) -> Band {
        let scaled = |percent: f64| percent * thresholds.sdpa_backward_percent / 100.0;
        match is_backward {
            true => Band(scaled(self.0), scaled(self.1)),
            false => self,
        }
    }
}

/// Whether many queries attend to few keys, as cross attention to a text, so that the memory is what takes the time.
pub(super) fn has_few_keys(queries: f64, keys: f64, bound: Bound, thresholds: &Thresholds) -> bool {
    let short = thresholds.sdpa_short_length;
    bound == Bound::Memory && keys < short && queries >= short
}

labeled! {
    /// How the efficiency of an attention compares with its band.
    pub(super) enum Verdict {
        /// So low that it is worth looking at.
        Below => "below",
        /// Under the band, as is usual for sequences this short.
        ShortAndLow => "low, but expected for short sequences",
        Usual => "as usual",
        Above => "above",
    }
}

impl Verdict {
    /// Below `sdpa_short_length` only an efficiency below both the band and the threshold for short sequences counts as
    /// low.
    pub(super) fn new(efficiency: f64, band: Band, length: f64, thresholds: &Thresholds) -> Self {
        let is_short = length < thresholds.sdpa_short_length;
        let line = match is_short {
            true => band.0.min(thresholds.sdpa_short_percent),
            false => band.0,
        };
        if efficiency < line {
            Verdict::Below
        } else if efficiency < band.0 {
            Verdict::ShortAndLow
        } else if efficiency <= band.1 {
            Verdict::Usual
        } else {
            Verdict::Above
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
            // Halfway in the logarithm: 512 · √2.
            (724.077_343_935, 12.5, 27.5),
            (1024.0, 20.0, 40.0),
            (2048.0, 40.0, 60.0),
            (2_896.309_375_74, 45.0, 65.0),
            (4096.0, 50.0, 70.0),
            (32768.0, 50.0, 70.0),
        ];
        for (length, low, high) in cases {
            let band = Band::of_length(length);
            assert!((band.0 - low).abs() < 1e-6, "{length} {band:?}");
            assert!((band.1 - high).abs() < 1e-6, "{length} {band:?}");
        }
    }

    #[test]
    fn short_sequences_are_expected_to_be_low() {
        let thresholds = Thresholds::default();
        let cases = [
            // Two measured examples: 12.2 % at 128, 40.4 % at 32 768.
            (12.2, 128.0, Verdict::Usual),
            (40.4, 32768.0, Verdict::Below),
            // At 724 the band starts at 12.5 %, but only what is below 8 % is flagged.
            (10.0, 724.0, Verdict::ShortAndLow),
            (7.9, 724.0, Verdict::Below),
            // At 512 it starts at 5 %.
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
