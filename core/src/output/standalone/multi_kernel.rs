//! The findings file about copies and communication. It has sections of its own: one for each
//! trouble, then the patterns, then what was measured in detail.

use super::Source;
use super::category;
use crate::base::format;
use crate::base::value::Value;
use crate::findings::multi_kernel::{Facts, causes, out_of_reach, patterns};
use crate::findings::{Input, Outcome};
use crate::output::document::{Document, field};
use crate::profile::copies::Direction;

/// The analysis that has this file.
pub(super) const KEY: &str = "multi_kernel";

/// The sections, in order.
pub(super) const SECTIONS: [&str; 7] = [
    "Summary",
    "Memory Copy Analysis",
    "Communication Blocking Analysis",
    "Detected Patterns",
    "Recommendations",
    "Technical Details",
    "Additional Notes",
];

/// Tables that are technical details, with their headings there.
const DETAILS: &[(&str, &str)] = &[
    ("top_communication", "Top Communication Operations"),
    ("memory_copy_breakdown", "Memory Copy Breakdown"),
    ("collectives", "Collectives by Type and Size"),
    ("copies", "Copies by Operator"),
];

pub(super) fn write(document: &mut Document, source: &Source, outcome: &Outcome) {
    let input = source.report.analysis_input(source.profile);
    let Some(facts) = Facts::new(&input) else {
        return;
    };
    let patterns = patterns(&input, &facts);
    document.heading(2, "Summary");
    table(document, outcome, "summary");
    document.heading(2, "Memory Copy Analysis");
    for (heading, direction) in [
        ("D2H (Device-to-Host) Transfers", Direction::DeviceToHost),
        ("H2D (Host-to-Device) Transfers", Direction::HostToDevice),
    ] {
        part(document, heading, &copies(&input, &facts, direction));
    }
    document.heading(2, "Communication Blocking Analysis");
    let heading = "Communication Blocking Compute";
    part(document, heading, &blocking(&facts));
    let heading = "Compute/Communication Overlap";
    part(document, heading, &overlap(&facts));
    document.heading(2, "Detected Patterns");
    if patterns.is_empty() {
        document.text("None: copies and communication are within their limits.");
    }
    for (at, pattern) in patterns.iter().enumerate() {
        let severity = pattern.severity.label();
        document.heading(3, &format!("{}. {} - {severity}", at + 1, pattern.name));
        let impact = match pattern.recoverable_ns {
            Some(ns) => format!("Saves up to {}.", Value::Ns(ns).text()),
            None => super::words::NOT_QUANTIFIABLE.to_owned(),
        };
        document.bullets(vec![
            field("Evidence", &pattern.description),
            field("Impact", &impact),
            field("Recommendation", pattern.recommendation),
        ]);
    }
    category::recommendations(document, source, outcome);
    document.heading(2, "Technical Details");
    for (key, heading) in DETAILS {
        document.heading(3, heading);
        if !table(document, outcome, key) {
            document.text("Nothing of this kind was recorded.");
        }
    }
    category::notes(document, outcome);
}

/// A name and its text.
type Field = (&'static str, String);

fn copies(input: &Input, facts: &Facts, direction: Direction) -> Vec<Field> {
    let assessed = facts.assess(direction);
    let (count, time_ns, percent) = assessed.map_or((0, 0, 0.0), |assessed| {
        let copies = &assessed.copies;
        (copies.count, copies.time_ns, assessed.percent)
    });
    let causes = match assessed.map(|assessed| causes(input, facts, assessed)) {
        None => "There are none.".to_owned(),
        Some(causes) if causes.is_empty() => {
            "The trace does not tell who asks for them.".to_owned()
        }
        Some(causes) => causes.join(" "),
    };
    vec![
        ("Count", format::counted(count, "transfer")),
        ("Total Time", time_of_run(time_ns, percent)),
        (
            "Assessment",
            facts.severity_of(direction).label().to_owned(),
        ),
        ("Root Cause", causes),
    ]
}

fn time_of_run(ns: i64, percent: f64) -> String {
    let (time, percent) = (format::time_ns(ns), format::percent(percent));
    format!("{time} ({percent} of the run)")
}

fn blocking(facts: &Facts) -> Vec<Field> {
    let timeline = &facts.timeline;
    let blocking = facts.blocking();
    let exposed = time_of_run(timeline.exposed_comm_ns, blocking.percent);
    let impact = match timeline.exposed_comm_ns {
        0 => "Communication never keeps the GPU from computing.".to_owned(),
        ns => format!(
            "The GPU computes nothing for {} while messages travel.",
            format::time_ns(ns)
        ),
    };
    vec![
        ("Exposed Communication Time", exposed),
        (
            "Total Communication Time",
            format::time_ns(timeline.comm_ns),
        ),
        ("Assessment", blocking.severity.label().to_owned()),
        ("Impact", impact),
    ]
}

fn overlap(facts: &Facts) -> Vec<Field> {
    let overlap = facts.overlap();
    let target = format::percent(facts.thresholds.overlap_target_percent);
    let ratio = match overlap.percent {
        Some(percent) => format!("{} (target above {target})", format::percent(percent)),
        None => "no communication".to_owned(),
    };
    let impact = match (overlap.percent, overlap.severity) {
        (None, _) => "There is nothing to overlap.".to_owned(),
        (_, None) => "There is too little communication to judge its overlap.".to_owned(),
        _ if !overlap.is_flagged => "The target is met.".to_owned(),
        _ => out_of_reach(facts).unwrap_or_else(|| {
            format!(
                "At the target {} are saved, with full overlap {}.",
                format::time_ns(facts.to_target_ns()),
                format::time_ns(facts.hideable.exposed_comm_ns)
            )
        }),
    };
    vec![
        ("Overlap Ratio", ratio),
        ("Assessment", overlap.label().to_owned()),
        ("Impact", impact),
    ]
}

fn part(document: &mut Document, heading: &str, fields: &[Field]) {
    document.heading(3, heading);
    document.bullets(
        fields
            .iter()
            .map(|(name, text)| field(name, text))
            .collect(),
    );
}

/// Writes a table of the analysis; whether it has any rows.
fn table(document: &mut Document, outcome: &Outcome, key: &str) -> bool {
    let table = outcome.tables.iter().find(|table| table.key == key);
    let Some(table) = table.filter(|table| !table.rows.is_empty()) else {
        return false;
    };
    document.table(table.into());
    true
}

#[cfg(test)]
mod tests {
    use crate::output::document::markdown;
    use crate::output::standalone;
    use crate::report::{Report, ReportOptions};
    use crate::testing::Timetable;

    /// 10 ms: 4 ms of computation, 5 ms of communication of which 1 ms is hidden, and 20 reads of a
    /// value by the host of 100 µs each.
    fn written() -> String {
        let mut timetable = Timetable::new()
            .without_flows()
            .op("aten::mm", 0..10)
            .launch(1, 1..2)
            .op("record_param_comms", 10..20)
            .launch(2, 11..12)
            .op("aten::_local_scalar_dense", 20..90);
        for id in 0..20 {
            let at = 21.0 + f64::from(id);
            timetable = timetable.runtime("cudaMemcpyAsync", 10 + id, at..at + 0.5);
        }
        timetable = timetable.kernel(1, "gemm", 0..4_000).stream(9).kernel(
            2,
            "ncclDevKernel_AllReduce_Sum_bf16",
            3_000..8_000,
        );
        for id in 0..20 {
            let at = 8_000 + 100 * id;
            timetable = timetable
                .copy(10 + id, "Memcpy DtoH (Device -> Pageable)", at..at + 100)
                .args(r#""bytes": 4"#);
        }
        let profile = timetable.profile();
        let report = Report::new(&profile, &ReportOptions::default());
        let outcome = report.analyses.outcome("multi_kernel").unwrap();
        markdown(&standalone::category(&profile, &report, outcome))
    }

    #[test]
    fn the_file_has_a_section_for_each_trouble() {
        let text = written();
        let headings: Vec<&str> = text.lines().filter(|line| line.starts_with('#')).collect();
        assert_eq!(
            headings,
            [
                "# Multi-Kernel Issue Analysis Findings",
                "## Summary",
                "## Memory Copy Analysis",
                "### D2H (Device-to-Host) Transfers",
                "### H2D (Host-to-Device) Transfers",
                "## Communication Blocking Analysis",
                "### Communication Blocking Compute",
                "### Compute/Communication Overlap",
                "## Detected Patterns",
                "### 1. Copies from the GPU to the host - CRITICAL",
                "### 2. Communication blocks computation and hardly overlaps with it - CRITICAL",
                "### 3. Communication hardly overlaps with computation - CRITICAL",
                "## Recommendations",
                "### System P1: Communication blocks computation and hardly overlaps with it",
                "### System P2: Copies from the GPU to the host",
                "## Technical Details",
                "### Top Communication Operations",
                "### Memory Copy Breakdown",
                "### Collectives by Type and Size",
                "### Copies by Operator",
                "## Additional Notes",
            ]
        );
    }

    #[test]
    fn each_section_has_its_figures() {
        let text = written();
        for expected in [
            "**Count:** 20 transfers",
            "**Total Time:** 2.00 ms (20.0 % of the run)",
            "20 of 20 come from `aten::_local_scalar_dense`",
            "**Root Cause:** There are none.",
            "**Exposed Communication Time:** 4.00 ms (40.0 % of the run)",
            "**Total Communication Time:** 5.00 ms",
            "The GPU computes nothing for 4.00 ms while messages travel.",
            "**Overlap Ratio:** 20.0 % (target above 70.0 %)",
            // Of 4 ms of computation 1 ms has communication beside it already.
            "Only 3.00 ms of computation are left for it to overlap with, so that overlap saves no more than that; the other 1.00 ms are transfer or waiting for other ranks, and shrink with less to send or with ranks that arrive together.",
            "**Impact:** Saves up to 2.00 ms.",
        ] {
            assert!(text.contains(expected), "{expected}\n{text}");
        }
    }
}
