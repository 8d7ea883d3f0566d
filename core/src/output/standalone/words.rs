//! Sentences and tables that several parts of the documents share.

use super::Source;
use crate::base::format;
use crate::base::interval::percent_of;
use crate::findings::compute::shapes;
use crate::findings::{Assessment, Confidence, Estimate, Finding, Impact, RankedFinding, Row};
use crate::output::document::{DocTable, Span};
use crate::profile::Profile;
use crate::report::Report;

/// What colour the number of a finding has: red for the first, yellow for the second, green for
/// the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Light {
    /// The first.
    Red,
    /// The second.
    Yellow,
    /// The rest.
    Green,
}

impl Light {
    /// The colour of a finding's number.
    pub fn of(number: usize) -> Light {
        match number {
            1 => Light::Red,
            2 => Light::Yellow,
            _ => Light::Green,
        }
    }

    /// In text.
    pub fn icon(self) -> &'static str {
        match self {
            Light::Red => "🔴",
            Light::Yellow => "🟡",
            Light::Green => "🟢",
        }
    }

    /// Its name in files and style sheets.
    pub fn key(self) -> &'static str {
        match self {
            Light::Red => "red",
            Light::Yellow => "yellow",
            Light::Green => "green",
        }
    }
}

/// The heading of a finding among the details. Unique: the number is.
pub fn detail_heading(ranked: &RankedFinding) -> String {
    format!("P{} {}", ranked.number, ranked.finding.title)
}

/// Names that titles begin with.
const NAMES: [&str; 1] = ["Adam"];

/// A title in the middle of a sentence: "Tiny products" is "tiny products", names and
/// abbreviations stay.
pub(super) fn inner(title: &str) -> String {
    let first = title.split(' ').next();
    if first.is_some_and(|first| NAMES.contains(&first)) {
        return title.to_owned();
    }
    let mut letters = title.chars();
    match (letters.next(), letters.next()) {
        (Some(first), Some(second)) if first.is_uppercase() && second.is_lowercase() => {
            let rest = title.get(first.len_utf8()..).unwrap_or_default();
            format!("{}{rest}", first.to_lowercase())
        }
        _ => title.to_owned(),
    }
}

/// A share of a whole, in percent.
pub(super) fn share(ns: i64, of: Option<i64>) -> Option<f64> {
    percent_of(ns, of?)
}

/// A share as text, or a dash.
pub(super) fn percent(percent: Option<f64>) -> String {
    percent.map_or("–".to_owned(), format::percent)
}

/// What is said of everything that is about times on the GPU, where there are none.
pub(super) fn not_analysed(profile: &Profile) -> String {
    format!("Not analysed. {}", profile.without_gpu())
}

/// That rows are left out of a table, and where they are: "1 more is in the sheet."
pub(super) fn more(n: usize, place: &str) -> String {
    let is = if n == 1 { "is" } else { "are" };
    format!("{} more {is} {place}.", format::count(n as u64))
}

/// What a saving is worth, for people.
#[derive(Debug, Clone, PartialEq)]
pub struct Worth {
    /// The range of time that is saved: "0.9 ms to 1.8 ms".
    pub time: String,
    /// What that is of the run; `None` where the run has no length.
    pub of_run: Option<WorthOfRun>,
    /// It is all the time that could be won, not what to expect.
    pub is_at_most: bool,
}

/// What a saving is of the whole run.
#[derive(Debug, Clone, PartialEq)]
pub struct WorthOfRun {
    /// The range of its share: "3.2 % to 6.1 %".
    pub share: String,
    /// The speed of the run without it: "1.03× to 1.06×".
    pub speed_up: String,
    /// The ends of the share, to draw it.
    pub percent: (f64, f64),
}

impl Worth {
    /// What an impact is worth in a report.
    pub fn new(report: &Report, impact: &Impact) -> Worth {
        let total_ns = report.overview.total_ns;
        let (low, high) = (impact.low_ns, impact.high_ns);
        let of_run = share(low, total_ns).zip(share(high, total_ns));
        let is_at_most = impact.estimate == Estimate::UpperBound;
        // "At most 0 µs to 145 µs" says no more than "at most 145 µs".
        let range = |low: String, high: String| match is_at_most && impact.low_ns == 0 {
            true => high,
            false => range(&low, &high),
        };
        Worth {
            time: range(format::time_ns(low), format::time_ns(high)),
            of_run: of_run.map(|(low, high)| WorthOfRun {
                share: range(format::percent(low), format::percent(high)),
                speed_up: range(speed_up(low), speed_up(high)),
                percent: (low, high),
            }),
            is_at_most,
        }
    }

    /// "0.9 ms to 1.8 ms, 3.2 % to 6.1 % of the run (1.03× to 1.06× as fast)".
    pub fn sentence(&self) -> String {
        let Some(of_run) = &self.of_run else {
            return self.time.clone();
        };
        let up_to = if self.is_at_most { "at most " } else { "" };
        format!(
            "{up_to}{}, {} of the run ({} as fast)",
            self.time, of_run.share, of_run.speed_up
        )
    }
}

/// How fast a run is that is spared some percent of its time.
fn speed_up(saved_percent: f64) -> String {
    let left_percent = (100.0 - saved_percent).max(0.0);
    format!("{}×", format::times_as_fast(100.0 / left_percent))
}

/// What an impact is worth, as half a sentence.
pub(super) fn worth(source: &Source, impact: &Impact) -> String {
    Worth::new(source.report, impact).sentence()
}

fn range(low: &str, high: &str) -> String {
    match low == high {
        true => low.to_owned(),
        false => format!("{low} to {high}"),
    }
}

/// What a finding is worth, in a sentence for its card.
pub(super) fn impact_sentence(source: &Source, finding: &Finding) -> String {
    match &finding.impact {
        Some(impact) if impact.estimate == Estimate::Heuristic => {
            format!("By rule of thumb {}.", worth(source, impact))
        }
        Some(impact) => format!("{}.", worth(source, impact)),
        None => NOT_QUANTIFIABLE.to_owned(),
    }
}

/// Instead of what a finding is worth.
pub(super) const NOT_QUANTIFIABLE: &str = "Not quantifiable from a trace.";

/// How sure a finding is, where anything is left to guess.
pub(super) fn confidence(finding: &Finding) -> Option<&'static str> {
    finding.confidence.map(Confidence::label)
}

/// "Model: … Kernel: …", each a sentence.
pub(super) fn action(finding: &Finding) -> String {
    format!("Model: {} Kernel: {}", finding.model, finding.kernel)
}

/// Operations of an analysis: name, shapes, calls, time, share of the category, efficiency, intensity,
/// type.
pub(super) fn operations(source: &Source, rows: &[Row], max_rows: usize) -> DocTable {
    let mut table = DocTable::new(&[
        "Operation",
        "Shapes",
        ">Count",
        ">Time (ms)",
        ">% of Category",
        ">Efficiency",
        "Assessment",
        ">FLOPS/Byte",
        "Bound",
        "Type",
    ]);
    let operations = source.profile.operations();
    let input = source.report.analysis_input(source.profile);
    for row in rows.iter().take(max_rows) {
        let Some(operation) = operations.get(row.operation) else {
            continue;
        };
        let judged = source.report.judged.get(row.operation);
        let intensity = judged.and_then(|judged| judged.work?.flops_per_byte());
        let efficiency = match (row.is_anomaly, row.efficiency_percent) {
            (true, Some(efficiency)) => format!("{} [ANOMALY]", format::percent(efficiency)),
            (_, efficiency) => percent(efficiency),
        };
        let text = |text: String| vec![Span::Text(text)];
        let name = operation.short_name(source.profile);
        table.rows.push(vec![
            vec![Span::Code(format::middle_ellipsis(name, 60))],
            text(match shapes(&input, operation) {
                shapes if shapes.is_empty() => "–".to_owned(),
                shapes => shapes,
            }),
            text(format::count(row.n_calls)),
            text(format::number(row.time_ns as f64 / 1e6)),
            text(format::percent(row.percent_of_category)),
            text(efficiency),
            text(row.assessment.map_or("–", Assessment::label).to_owned()),
            text(intensity.map_or("–".to_owned(), format::number)),
            text(
                row.bound
                    .map_or("–", |bound| match bound {
                        crate::hardware::roofline::Bound::Compute => "compute",
                        crate::hardware::roofline::Bound::Memory => "memory",
                    })
                    .to_owned(),
            ),
            text(row.class.clone()),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::ReportOptions;
    use crate::testing::Timetable;

    #[test]
    fn one_is_and_two_are_left_out() {
        assert_eq!(more(1, "in the sheet"), "1 more is in the sheet.");
        assert_eq!(more(2, "in the sheet"), "2 more are in the sheet.");
    }

    #[test]
    fn a_title_within_a_sentence() {
        for (title, expected) in [
            ("Tiny batched products", "tiny batched products"),
            ("FP32 products of BF16", "FP32 products of BF16"),
            ("`Kernel_A`: unknown", "`Kernel_A`: unknown"),
            ("Adam in list kernels", "Adam in list kernels"),
            ("", ""),
        ] {
            assert_eq!(inner(title), expected);
        }
    }

    #[test]
    fn what_is_worth_at_most_names_the_most_alone() {
        let profile = Timetable::new()
            .op("aten::mm", 0..5)
            .launch(1, 1..2)
            .kernel(1, "gemm", 0..1_000)
            .profile();
        let report = Report::new(&profile, &ReportOptions::default());
        let worth = |low_ns, high_ns, estimate| {
            let impact = Impact {
                low_ns,
                mid_ns: low_ns,
                high_ns,
                estimate,
            };
            let sentence = Worth::new(&report, &impact).sentence();
            sentence.replace('\u{202F}', " ")
        };
        let cases = [
            (
                0,
                200_000,
                Estimate::UpperBound,
                "at most 200 µs, 20.0 % of the run (1.25× as fast)",
            ),
            (
                0,
                200_000,
                Estimate::Roofline,
                "0 µs to 200 µs, 0 % to 20.0 % of the run (1.00× to 1.25× as fast)",
            ),
            // All but nothing of the run is no forecast.
            (
                500_000,
                999_000,
                Estimate::UpperBound,
                "at most 500 µs to 999 µs, 50.0 % to 99.9 % of the run (2.00× to over 10× as fast)",
            ),
        ];
        for (low_ns, high_ns, estimate, expected) in cases {
            assert_eq!(worth(low_ns, high_ns, estimate), expected);
        }
    }
}
