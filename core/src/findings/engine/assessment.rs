//! A one-word rating of an efficiency.

use crate::assess::Thresholds;
use crate::base::labels::labeled;

labeled! {
    /// A level of efficiency; the first is the best.
    pub enum Assessment {
        /// Near the roofline.
        Excellent => "excellent",
        /// Not far from it.
        Good => "good",
        /// As far from it as much work usually is.
        Acceptable => "acceptable",
        /// At a low % of it.
        NeedsInvestigation => "needs investigation",
    }
}

/// The usual efficiency of a kind of work: lower and upper end, in percent of the roofline.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Band(pub(crate) f64, pub(crate) f64);

impl Band {
    /// "18–32 %".
    pub(crate) fn text(self) -> String {
        format!("{:.0}–{:.0} %", self.0, self.1)
    }
}

impl Assessment {
    /// Rates the % of roofline alone. A value on the line belongs to the lower level.
    pub fn of(percent: f64, thresholds: &Thresholds) -> Assessment {
        if percent > thresholds.efficiency_excellent_percent {
            Assessment::Excellent
        } else if percent > thresholds.efficiency_good_percent {
            Assessment::Good
        } else if percent >= thresholds.gate_efficiency_percent {
            Assessment::Acceptable
        } else {
            Assessment::NeedsInvestigation
        }
    }

    /// Rates by the usual band of efficiencies: below it the level is `NeedsInvestigation`, inside it is at least
    /// acceptable, above it at least good.
    pub(crate) fn of_band(percent: f64, band: Band, thresholds: &Thresholds) -> Assessment {
        let alone = Assessment::of(percent, thresholds);
        if percent < band.0 {
            Assessment::NeedsInvestigation
        } else if percent <= band.1 {
            alone.min(Assessment::Acceptable)
        } else {
            alone.min(Assessment::Good)
        }
    }

    /// Where to look first: the end of a sentence.
    pub fn focus(self) -> &'static str {
        match self {
            Assessment::Excellent => "what is left to save is in the model, not in kernels",
            Assessment::Good => "kernels have little left to save",
            Assessment::Acceptable => "kernels are worth optimizing where they take long",
            Assessment::NeedsInvestigation => "start with the kernels, each with a reproducer",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Assessment::{Acceptable, Excellent, Good, NeedsInvestigation};

    #[test]
    fn levels_follow_the_percent_of_roofline() {
        let thresholds = Thresholds::default();
        let cases = [
            (80.1, Excellent),
            (80.0, Good),
            (60.1, Good),
            (60.0, Acceptable),
            (40.0, Acceptable),
            (39.9, NeedsInvestigation),
        ];
        for (percent, expected) in cases {
            assert_eq!(Assessment::of(percent, &thresholds), expected, "{percent}");
        }
    }

    #[test]
    fn each_level_says_where_to_look_first() {
        let levels = [Excellent, Good, Acceptable, NeedsInvestigation];
        assert!(levels.is_sorted());
        for (at, level) in levels.into_iter().enumerate() {
            let others = levels.iter().skip(at + 1);
            assert!(others.clone().all(|other| other.focus() != level.focus()));
            assert!(others.clone().all(|other| other.label() != level.label()));
        }
        assert!(NeedsInvestigation.focus().contains("reproducer"));
        assert!(Excellent.focus().contains("in the model"));
    }

    /// Attention over 512 positions usually reaches 5 to 15 % of roofline, a large convolution 60 to
    /// 80 %.
    #[test]
    fn what_is_usual_of_a_kind_is_acceptable() {
        let thresholds = Thresholds::default();
        let cases = [
            (Band(5.0, 15.0), 4.9, NeedsInvestigation),
            (Band(5.0, 15.0), 12.0, Acceptable),
            (Band(5.0, 15.0), 16.0, Good),
            (Band(60.0, 80.0), 55.0, NeedsInvestigation),
            (Band(60.0, 80.0), 70.0, Good),
            (Band(60.0, 80.0), 81.0, Excellent),
        ];
        for (band, percent, expected) in cases {
            let level = Assessment::of_band(percent, band, &thresholds);
            assert_eq!(level, expected, "{percent} in {band:?}");
        }
    }
}
