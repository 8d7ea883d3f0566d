//! The findings file about copies and communication. It has sections of its own: one for each
//! trouble, then the patterns, then what was measured in detail.

use super::Source;
use super::category;
use crate::base::value::Value;
use crate::findings::Outcome;
use crate::findings::multi_kernel::{Field, sections};
use crate::output::document::{Document, field};

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
    let Some(sections) = sections(&source.report.analysis_input(source.profile)) else {
        return;
    };
    document.heading(2, "Summary");
    table(document, outcome, "summary");
    document.heading(2, "Memory Copy Analysis");
    part(
        document,
        "D2H (Device-to-Host) Transfers",
        &sections.device_to_host,
    );
    part(
        document,
        "H2D (Host-to-Device) Transfers",
        &sections.host_to_device,
    );
    document.heading(2, "Communication Blocking Analysis");
    part(
        document,
        "Communication Blocking Compute",
        &sections.blocking,
    );
    part(document, "Compute/Communication Overlap", &sections.overlap);
    document.heading(2, "Detected Patterns");
    if sections.patterns.is_empty() {
        document.text("None: copies and communication are within their limits.");
    }
    for (at, pattern) in sections.patterns.iter().enumerate() {
        let severity = pattern.severity.label();
        document.heading(3, &format!("{}. {} - {severity}", at + 1, pattern.name));
        let impact = match pattern.recoverable_ns {
            Some(ns) => format!("At most {} could be won.", Value::Ns(ns).text()),
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
                "### 1. Many copies from the GPU to the host - CRITICAL",
                "### 2. Communication blocking compute - CRITICAL",
                "### 3. Poor overlap of communication and computation - CRITICAL",
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
            "Only 3.00 ms of computation are left for it to run beside, so that overlap wins no more than that; the other 1.00 ms are transfer or waiting for other ranks, and shrink with less to send or with ranks that arrive together.",
            "**Impact:** At most 2.00 ms could be won.",
        ] {
            assert!(text.contains(expected), "{expected}\n{text}");
        }
    }
}
