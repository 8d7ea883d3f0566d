//! The report as Markdown, for people: what the Overview says, as a document.
//!
//! Tables keep one unit per column, so that numbers can be compared. Names come from the trace
//! and may hold anything; they stand in code spans, which no renderer interprets.

use super::Listed;
use crate::format;
use crate::profile::Profile;
use crate::report::overview::{FamilyTime, KernelTime, Measure, OperationTime, Overview};
use crate::report::{GpuEvents, Report};
use crate::timeline::GpuTimeline;

/// Longest kernel name in a table; the whole name is in the CSV files.
const NAME_CHARS: usize = 80;

/// From this share of busy time on, the report says that kernel names alone tell the category.
const MIN_NAMED_PERCENT: f64 = 5.0;

pub(super) fn list(_: &Profile, _: &Report) -> Vec<Listed> {
    vec![Listed {
        path: "standalone_analysis_fair.md".to_owned(),
        title: "The report, for people",
    }]
}

pub(super) fn write(_: &Profile, report: &Report, _: &str) -> Option<Vec<u8>> {
    Some(markdown(report).into_bytes())
}

/// The report as Markdown.
pub fn markdown(report: &Report) -> String {
    let overview = &report.overview;
    let mut out = Document::default();
    let title = match overview.measure {
        Measure::Gpu => "Where the GPU time went",
        Measure::Host => "Where the host time went",
    };
    out.line(&format!("# {title}"));
    out.paragraph(&format!("**{}**", escape(&overview.headline)));
    facts(&mut out, overview);
    if let Some(whole) = &report.timelines.whole {
        timeline(&mut out, whole, report.timelines.events);
    }
    families(&mut out, overview);
    operations(&mut out, overview);
    kernels(&mut out, overview);
    hardware(&mut out, overview);
    quality(&mut out, overview);
    out.text
}

fn facts(out: &mut Document, overview: &Overview) {
    let facts: Vec<String> = overview
        .facts
        .iter()
        .map(|fact| format!("{}: {}", fact.label, escape(&fact.value)))
        .collect();
    out.paragraph(&format!("{}.", facts.join(" · ")));
}

fn timeline(out: &mut Document, whole: &GpuTimeline, events: GpuEvents) {
    out.heading("GPU timeline");
    let rows = [
        ("Computation", whole.computation_ns),
        ("Exposed communication", whole.exposed_comm_ns),
        ("Exposed copies", whole.exposed_memcpy_ns),
        ("Idle", whole.idle_ns),
        ("**Total**", whole.total_ns()),
        ("Busy: anything runs", whole.busy_ns),
        ("All communication, hidden or not", whole.comm_ns),
        ("All copies, hidden or not", whole.memcpy_ns),
    ];
    out.table(
        &["Part", "Time (ms)", "Share of total (%)"],
        1,
        rows.into_iter().map(|(label, ns)| {
            let share = ns as f64 * 100.0 / whole.total_ns().max(1) as f64;
            vec![label.to_owned(), ms(ns), share_of(share)]
        }),
    );
    let counted = match events {
        GpuEvents::Linked => "GPU work counts where the call that launched it is known.",
        GpuEvents::All => "All GPU work counts, also where the call that launched it is unknown.",
    };
    out.paragraph(&format!(
        "The first four parts sum up to the total. All streams and devices of the trace are taken \
         together. Exposed is what nothing hides: communication while nothing is computed, copies \
         while nothing is computed or communicated. {counted}",
    ));
}

fn families(out: &mut Document, overview: &Overview) {
    if overview.families.is_empty() {
        return;
    }
    out.heading("Time by category");
    let (time, share) = match overview.measure {
        Measure::Gpu => ("GPU time (ms)", "Share of busy time (%)"),
        Measure::Host => ("CPU time (ms)", "Share of time in operators (%)"),
    };
    let row = |time: &FamilyTime| {
        let label = time.family.label().to_owned();
        vec![label, ms(time.ns), share_of(time.percent)]
    };
    out.table(
        &["Category", time, share],
        1,
        overview.families.iter().map(row),
    );
    if overview.measure == Measure::Gpu {
        out.paragraph(
            "Time in which work of a category runs. Categories that run at the same time on \
             different streams both count.",
        );
    }
    if let Some(percent) = overview.by_kernel_name_percent
        && percent >= MIN_NAMED_PERCENT
    {
        out.paragraph(&format!(
            "For {} of busy time no operator is known, as in GPU graphs: its category is told by \
             the kernels' names alone.",
            format::percent(percent)
        ));
    }
}

fn operations(out: &mut Document, overview: &Overview) {
    if overview.operations.is_empty() {
        return;
    }
    out.heading("Top operations");
    let (time, note) = match overview.measure {
        Measure::Gpu => (
            "GPU time (ms)",
            "GPU time of the kernels that an operation launches itself, summed over its calls; the \
             share is of all operations. Collectives belong to none.",
        ),
        Measure::Host => (
            "CPU time (ms)",
            "Host time in the operator itself, without the operators it calls.",
        ),
    };
    let row = |operation: &OperationTime| {
        let mut name = code(&format::middle_ellipsis(&operation.name, NAME_CHARS));
        if operation.is_recompute {
            name.push_str(" (recomputed)");
        }
        vec![
            name,
            operation.family.label().to_owned(),
            format::count(operation.n_calls),
            ms(operation.ns),
            share_of(operation.percent),
        ]
    };
    out.table(
        &["Operation", "Category", "Calls", time, "Share (%)"],
        2,
        overview.operations.iter().map(row),
    );
    out.paragraph(note);
}

fn kernels(out: &mut Document, overview: &Overview) {
    if overview.kernels.is_empty() {
        return;
    }
    out.heading("Top kernels");
    let row = |kernel: &KernelTime| {
        vec![
            code(&format::middle_ellipsis(
                &format::kernel_name(&kernel.name),
                NAME_CHARS,
            )),
            kernel.family.label().to_owned(),
            format::count(kernel.count),
            ms(kernel.ns),
            mean_us(kernel),
            share_of(kernel.percent),
        ]
    };
    out.table(
        &[
            "Kernel",
            "Category",
            "Count",
            "Sum (ms)",
            "Mean (µs)",
            "Share (%)",
        ],
        2,
        overview.kernels.iter().map(row),
    );
    out.paragraph(
        "Kernels, copies and fills by name, shortened; the share is of the sum of all durations.",
    );
}

fn hardware(out: &mut Document, overview: &Overview) {
    let hardware = &overview.hardware;
    let is_told = hardware.gpu.is_some() || hardware.recorded_on.is_some();
    if overview.measure == Measure::Host && !is_told {
        return;
    }
    out.heading("Hardware");
    if let Some(device) = &hardware.recorded_on {
        out.paragraph(&format!("Recorded on {}.", escape(device)));
    }
    if let Some(gpu) = &hardware.gpu {
        out.paragraph(&format!(
            "For scale, the figures of the {}:",
            escape(&gpu.name)
        ));
        let rows = hardware.figures.iter().map(|figure| {
            let basis = figure.basis.map_or("", |basis| basis.label());
            vec![figure.label.clone(), figure.value.clone(), basis.to_owned()]
        });
        out.table(&["Figure", "Value", "Basis"], 1, rows);
    }
    out.paragraph(&escape(&hardware.basis));
}

fn quality(out: &mut Document, overview: &Overview) {
    out.heading("How far to trust these numbers");
    out.paragraph(&escape(&overview.quality.sentence));
    if !overview.quality.lines.is_empty() {
        out.line("");
    }
    for line in &overview.quality.lines {
        let detail = match line.detail() {
            detail if detail.is_empty() => detail,
            detail => format!(" ({detail})"),
        };
        out.line(&format!("- {}{detail}", line.sentence));
    }
}

fn ms(ns: i64) -> String {
    format::number(ns as f64 / 1e6)
}

fn mean_us(kernel: &KernelTime) -> String {
    format::number(kernel.ns as f64 / 1e3 / kernel.count.max(1) as f64)
}

/// A share for a column that has the percent sign in its head.
fn share_of(percent: f64) -> String {
    format::percent(percent).replace(" %", "")
}

/// A name as a code span: nothing in it is markup, whatever it holds.
fn code(name: &str) -> String {
    let name = name.replace(|letter: char| letter.is_control(), " ");
    if name.trim().is_empty() {
        return "(no name)".to_owned();
    }
    // A fence longer than any run of backticks inside; a pipe would end the table's cell.
    let longest = name
        .split(|letter| letter != '`')
        .map(str::len)
        .max()
        .unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    let pad = if name.starts_with('`') || name.ends_with('`') {
        " "
    } else {
        ""
    };
    format!("{fence}{pad}{}{pad}{fence}", name.replace('|', "\\|"))
}

/// A sentence that may hold a name from the trace.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        if letter.is_control() {
            out.push(' ');
            continue;
        }
        if matches!(
            letter,
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '#' | '&' | '~' | '!'
        ) {
            out.push('\\');
        }
        out.push(letter);
    }
    out
}

/// Markdown text in the making; blocks are set apart by empty lines.
#[derive(Default)]
struct Document {
    text: String,
}

impl Document {
    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn paragraph(&mut self, text: &str) {
        self.line("");
        self.line(text);
    }

    fn heading(&mut self, text: &str) {
        self.paragraph(&format!("## {text}"));
    }

    /// A table; all but the first `n_text` columns hold numbers and are aligned right.
    fn table(&mut self, heads: &[&str], n_text: usize, rows: impl Iterator<Item = Vec<String>>) {
        self.paragraph(&format!("| {} |", heads.join(" | ")));
        let rules: Vec<&str> = (0..heads.len())
            .map(|column| if column < n_text { "---" } else { "---:" })
            .collect();
        self.line(&format!("| {} |", rules.join(" | ")));
        for row in rows {
            self.line(&format!("| {} |", row.join(" | ")));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use pulldown_cmark::{Event, Options, Parser, Tag};

    use super::*;
    use crate::gpu;
    use crate::report::ReportOptions;
    use crate::testing::Timetable;

    fn report(timetable: Timetable) -> String {
        let options = ReportOptions {
            gpu: gpu::find("H100").map(Arc::from),
            ..ReportOptions::default()
        };
        markdown(&Report::new(&timetable.profile(), &options)).replace('\u{202F}', "_")
    }

    fn section<'a>(report: &'a str, heading: &str) -> &'a str {
        let start = report.find(&format!("## {heading}\n")).unwrap();
        let rest = &report[start..];
        let end = rest[3..].find("\n## ").map_or(rest.len(), |end| end + 3);
        rest[..end].trim_end()
    }

    fn small() -> Timetable {
        Timetable::new()
            .op("aten::mm", 0..10)
            .launch(1, 1..2)
            .launch(2, 3..4)
            .op("aten::copy_", 10..20)
            .launch(3, 11..12)
            .kernel(1, "sm90_gemm", 100..3_000)
            .kernel(2, "sm90_gemm", 3_000..6_000)
            .copy(3, "Memcpy HtoD (Pinned -> Device)", 6_100..6_200)
    }

    #[test]
    fn the_summary_comes_first() {
        let report = report(small());
        let mut lines = report.lines();
        assert_eq!(lines.next(), Some("# Where the GPU time went"));
        assert_eq!(lines.next(), Some(""));
        assert_eq!(
            lines.next(),
            Some("**The GPU is busy 98.4 % of 6.10 ms; GEMM takes 98.3 % of that time.**")
        );
    }

    #[test]
    fn the_timeline_is_a_table() {
        let report = report(small());
        let table: Vec<&str> = section(&report, "GPU timeline").lines().take(8).collect();
        assert_eq!(
            table,
            [
                "## GPU timeline",
                "",
                "| Part | Time (ms) | Share of total (%) |",
                "| --- | ---: | ---: |",
                "| Computation | 5.90 | 96.7 |",
                "| Exposed communication | 0 | 0 |",
                "| Exposed copies | 0.100 | 1.6 |",
                "| Idle | 0.100 | 1.6 |",
            ]
        );
    }

    #[test]
    fn operations_and_kernels_are_ranked() {
        let report = report(small());
        assert!(section(&report, "Top operations").contains(
            "| Operation | Category | Calls | GPU time (ms) | Share (%) |\n\
             | --- | --- | ---: | ---: | ---: |\n\
             | `aten::mm` | GEMM | 1 | 5.90 | 98.3 |\n\
             | `aten::copy_` | Memory copy | 1 | 0.100 | 1.7 |\n"
        ));
        assert!(
            section(&report, "Top kernels")
                .contains("| `sm90_gemm` | GEMM | 2 | 5.90 | 2_950 | 98.3 |\n")
        );
    }

    #[test]
    fn the_basis_of_hardware_figures_is_printed() {
        let report = report(small());
        let hardware = section(&report, "Hardware");
        assert!(hardware.contains("| BF16 matrix | 989 TFLOPS | peak |"));
        assert!(hardware.contains("All figures are peaks (NVIDIA H100 datasheet)."));
    }

    #[test]
    fn without_gpu_activity_the_host_side_is_written() {
        let report = report(Timetable::new().op("aten::mm", 0..100));
        assert!(report.starts_with("# Where the host time went\n"));
        assert!(report.contains("No GPU activity was recorded;"));
        assert!(report.contains("| `aten::mm` | GEMM | 1 | 0.100 | 100 |"));
        assert!(!report.contains("## GPU timeline"));
        assert!(
            section(&report, "How far to trust these numbers")
                .contains("Record with ProfilerActivity.CUDA to see the GPU.")
        );
    }

    /// Names that would be markup, or would break the table.
    const HOSTILE: &[&str] = &[
        "a|b",
        "a\\|b\\\\|c\\",
        "`",
        "``x`",
        "a`b``c",
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "[click](javascript:alert(1))",
        "![x](http://example.com/x.png)",
        "**bold** _it_ ~~no~~ # head",
        "two\nlines\r\n| and | a | row |",
        "&lt;b&gt; \\",
        "http://example.com <http://example.com>",
    ];

    #[test]
    fn hostile_names_stay_text() {
        for name in HOSTILE {
            let report = report(Timetable::new().op(name, 0..10).launch(1, 1..2).kernel(
                1,
                name,
                20..50,
            ));
            let mut shown = Vec::new();
            for event in Parser::new_ext(&report, Options::all()) {
                match event {
                    Event::Code(text) => shown.push(text.to_string()),
                    Event::Html(html) | Event::InlineHtml(html) => panic!("{name}: {html}"),
                    Event::Start(Tag::Link { .. } | Tag::Image { .. }) => panic!("{name}"),
                    _ => {}
                }
            }
            let flat = |name: &str| name.replace(|letter: char| letter.is_control(), " ");
            let expected = [flat(name), flat(&format::kernel_name(name))];
            assert_eq!(shown, expected, "{report}");
        }
    }

    #[test]
    fn sentences_are_escaped() {
        assert_eq!(escape("a <b> [c](d) `e`"), "a \\<b\\> \\[c\\](d) \\`e\\`");
        assert_eq!(code(" \n"), "(no name)");
    }
}
