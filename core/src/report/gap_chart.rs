//! Why an operation takes longer than its roofline time, as chart data.

use serde::{Deserialize, Serialize};

use super::Report;
use crate::assess::waterfall::{Cause, Fact, Waterfall, step_lines};
use crate::base::format;
use crate::base::interval::percent_or_zero;
use crate::profile::Profile;

/// The gap between the roofline time of an operation and its measured time.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct GapChart {
    /// The roofline time, and the parts added to it.
    pub parts: Vec<GapPart>,
    /// Possible causes of the unexplained part that have no known size.
    pub facts: Vec<String>,
}

/// One part of the measured time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GapPart {
    /// What it is.
    pub label: String,
    /// Its name in style sheets.
    pub key: String,
    /// How long it is.
    pub time: String,
    /// Its share of the measured time.
    pub share: String,
    /// Where it starts and ends, in percent of the measured time.
    pub span: (f64, f64),
    /// The factor by which it multiplies the time before it; empty for the roofline time and the rest.
    pub factor: String,
    /// What it is derived from; may be empty.
    pub why: String,
}

impl GapChart {
    /// For the operation at a position; `None` without a roofline.
    pub fn of(profile: &Profile, report: &Report, at: usize) -> Option<GapChart> {
        let waterfall = Waterfall::of(&report.analysis_input(profile), at)?;
        let mut end_ns = 0;
        let mut part = |label: &str, key: &str, ns: i64, factor: String, why: String| {
            let percent = |ns| percent_or_zero(ns, waterfall.measured_ns);
            let start_ns = end_ns;
            end_ns += ns;
            GapPart {
                label: label.to_owned(),
                key: key.to_owned(),
                time: format::time_ns(ns),
                share: format::percent(percent(ns)),
                span: (percent(start_ns), percent(end_ns)),
                factor,
                why,
            }
        };
        let nothing = String::new;
        let roofline_ns = waterfall.roofline_ns;
        let mut parts = vec![part(
            "Roofline",
            "roofline",
            roofline_ns,
            nothing(),
            nothing(),
        )];
        for line in step_lines(&waterfall) {
            let has_factor = line.key != Cause::Unexplained.key() && line.factor.is_finite();
            let factor = match has_factor {
                true => format!("×{}", format::number(line.factor)),
                false => nothing(),
            };
            parts.push(part(line.label, line.key, line.ns, factor, line.text));
        }
        Some(GapChart {
            parts,
            facts: waterfall.facts.iter().map(Fact::text).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Timetable, options_on};

    #[test]
    fn the_parts_reach_from_nothing_to_the_measured_time() {
        let profile = Timetable::new()
            .call(
                "aten::mm",
                "1025x8192, 8192x1025",
                "Cijk_Alik_Bljk_BBS_BH_MT128x64x64_SK0",
                100..1_100,
            )
            .profile();
        let report = Report::new(&profile, &options_on("MI300X"));
        let chart = GapChart::of(&profile, &report, 0).unwrap();
        let keys: Vec<(&str, &str)> = chart
            .parts
            .iter()
            .map(|part| (&*part.key, &*part.factor))
            .collect();
        let expected = [
            ("roofline", ""),
            ("tile_padding", "×1.19"),
            ("wave_quantization", "×1.99"),
            ("unexplained", ""),
        ];
        assert_eq!(keys, expected);
        assert_eq!(chart.parts.first().map(|part| part.span.0), Some(0.0));
        assert_eq!(chart.parts.last().map(|part| part.span.1), Some(100.0));
        assert!(
            chart.facts[0].contains("M = 1\u{202f}025, N = 1\u{202f}025"),
            "{:?}",
            chart.facts
        );
    }
}
