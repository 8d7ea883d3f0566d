//! Sentences and tables that several parts of the documents share.

use super::Source;
use crate::analysis::{Estimate, Finding, Impact, RankedFinding, Row};
use crate::document::{DocTable, Span};
use crate::format;

/// Red for the first, yellow for the second, green for the rest.
pub(super) fn icon(number: usize) -> &'static str {
    match number {
        1 => "🔴",
        2 => "🟡",
        _ => "🟢",
    }
}

/// The heading of a finding among the details. Unique: the number is.
pub(super) fn detail_heading(ranked: &RankedFinding) -> String {
    format!("P{} {}", ranked.number, ranked.finding.title)
}

/// A share of a whole, in percent.
pub(super) fn share(ns: i64, of: Option<i64>) -> Option<f64> {
    of.filter(|of| *of > 0)
        .map(|of| ns as f64 / of as f64 * 100.0)
}

/// A share as text, or a dash.
pub(super) fn percent(percent: Option<f64>) -> String {
    percent.map_or("–".to_owned(), format::percent)
}

/// "0.9–1.8 ms, 3.2–6.1 % of the run (1.03–1.06× as fast)".
pub(super) fn worth(source: &Source, impact: &Impact) -> String {
    let total_ns = source.report.overview.total_ns;
    let (low, high) = (impact.low_ns, impact.high_ns);
    let times = range(&format::time_ns(low), &format::time_ns(high));
    let shares = share(low, total_ns).zip(share(high, total_ns));
    let Some((low_share, high_share)) = shares else {
        return times;
    };
    let shares = range(&format::percent(low_share), &format::percent(high_share));
    let speed_up = |saved: f64| match saved < 100.0 {
        true => format!("{}×", format::number(100.0 / (100.0 - saved))),
        false => "∞".to_owned(),
    };
    let faster = range(&speed_up(low_share), &speed_up(high_share));
    let up_to = match impact.estimate {
        Estimate::UpperBound => "at most ",
        _ => "",
    };
    format!("{up_to}{times}, {shares} of the run ({faster} as fast)")
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
        Some(impact) => format!("{}.", worth(source, impact)),
        None => "Not quantifiable from a trace.".to_owned(),
    }
}

/// "Model: … Kernel: …", each a sentence.
pub(super) fn action(finding: &Finding) -> String {
    format!("Model: {} Kernel: {}", finding.model, finding.kernel)
}

/// Operations of an analysis: name, calls, time, share of the category, efficiency, intensity,
/// type.
pub(super) fn operations(source: &Source, rows: &[Row], max_rows: usize) -> DocTable {
    let mut table = DocTable::new(&[
        "Operation",
        ">Count",
        ">Time (ms)",
        ">% of Category",
        ">Efficiency",
        ">FLOPS/Byte",
        "Bound",
        "Type",
    ]);
    let operations = source.profile.operations();
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
            text(format::count(row.n_calls)),
            text(format::number(row.time_ns as f64 / 1e6)),
            text(format::percent(row.percent_of_category)),
            text(efficiency),
            text(intensity.map_or("–".to_owned(), format::number)),
            text(
                row.bound
                    .map_or("–", |bound| match bound {
                        crate::roofline::Bound::Compute => "compute",
                        crate::roofline::Bound::Memory => "memory",
                    })
                    .to_owned(),
            ),
            text(row.class.clone()),
        ]);
    }
    table
}
