//! The Idle & communication view: results of two analyses of the core crate on idle time, communication and copies.
//!
//! Their facts and tables are used unchanged; this module arranges them for the view.

mod facts;
mod headline;
#[cfg(test)]
mod tests;

use dormer_core::base::interval::percent_of;
use dormer_core::base::value::{Table, Value};
use dormer_core::findings::{Outcome, Status, Topic};
use dormer_core::profile::gpu::timeline::GpuTimeline;
use dormer_core::report::Report;
use dormer_core::{base::format, findings};

use crate::protocol::{Gap, OverlapBar, SystemFacts, SystemSection};
use facts::{Cells, bar_chart, fact_table};

/// The analyses, by their keys.
const IDLE: &str = "cpu_idle";
const MOVES: &str = "multi_kernel";

/// Whether the view shows the results of an analysis.
pub(super) fn shows(kind: &findings::AnalysisKind) -> bool {
    [IDLE, MOVES].contains(&kind.key)
}

pub(super) fn system(report: &Report) -> SystemFacts {
    if let Some(none) = report.overview.no_gpu {
        return SystemFacts {
            headline: none.why().to_owned(),
            how: Some(none.hint().to_owned()),
            ..SystemFacts::default()
        };
    }
    let (headline, lead) = headline::sentences(report);
    SystemFacts {
        headline,
        how: None,
        limits: report.overview.limits.clone(),
        lead,
        split: report.overview.split.clone(),
        sections: SECTIONS.iter().map(|kind| kind.section(report)).collect(),
    }
}

/// Figures that are left out when they are zero.
const IF_ANY: [&str; 3] = ["sync_point_count", "fill_count", "fill_time"];

/// A total time, and its exposed part.
type Times = fn(&GpuTimeline) -> (i64, i64);

/// One kind of time in which the GPU does not compute, with the shown results of an analysis.
struct Kind {
    key: &'static str,
    title: &'static str,
    analysis: &'static str,
    /// Why there is nothing to show, if the analysis ran.
    missing: fn(&Outcome, &GpuTimeline) -> Option<&'static str>,
    /// Keys of its figures, with their labels here.
    figures: &'static [(&'static str, &'static str)],
    /// The token and the label of time that may overlap with other GPU activity.
    overlap: Option<(&'static str, &'static str, Times)>,
    /// Bar charts: key, title, column keys, first that of the labels, then numbers.
    charts: &'static [(&'static str, &'static str, &'static [&'static str])],
    /// Tables: key, title, column keys, and the column shown in small print below the first one.
    tables: &'static [(
        &'static str,
        &'static str,
        &'static [&'static str],
        Option<&'static str>,
    )],
    /// What the notes shown here are about.
    notes: &'static [Topic],
}

#[rustfmt::skip]
const SECTIONS: [Kind; 4] = [
    Kind {
        key: "idle",
        title: "Idle time",
        analysis: IDLE,
        missing: |_, whole| {
            (whole.idle_ns <= 0).then_some("The GPU is never idle between its first and last activity.")
        },
        figures: &[
            ("idle_time", "Idle"),
            ("gap_count", "Gaps"),
            ("avg_inter_kernel_gap", "Mean gap"),
            ("sync_point_count", "Gaps after a CPU synchronization"),
            ("total_kernel_count", "Kernels"),
            ("avg_kernel_time", "Mean kernel"),
        ],
        overlap: None,
        charts: &[
            ("idle_by_cause", "Idle time by cause", &["cause", "idle_time", "percent_of_idle", "gaps", "longest"]),
            ("gap_histogram", "Idle time by gap length", &["length", "idle_time", "percent_of_idle", "gaps"]),
        ],
        tables: &[
            ("synchronization_points", "CPU synchronizations before gaps", &["call", "operator", "gaps", "idle_time"], None),
            ("idle_by_operator", "Operators launched late", &["operator", "gaps", "idle_time", "percent_of_idle"], None),
        ],
        notes: &[Topic::General],
    },
    Kind {
        key: "cpu",
        title: "CPU time while the GPU is idle",
        analysis: IDLE,
        missing: |outcome, _| {
            let of_code = ["idle_by_code", "cold_starts"].map(|key| table(outcome, key));
            let is_none = of_code.iter().all(Option::is_none);
            is_none.then_some("No idle time that the CPU causes was found.")
        },
        figures: &[
            ("cpu_caused_idle_time", "Idle time"),
            ("explained_by_code", "In named code"),
        ],
        overlap: None,
        charts: &[],
        tables: &[
            ("idle_by_code", "By function", &["function", "file", "module", "kind", "gaps", "idle_time", "percent_of_idle", "longest"], Some("caller")),
            ("cold_starts", "Cold starts: warm up, then record again", &["function", "file", "module", "kind", "gaps", "idle_time", "percent_of_idle", "longest"], Some("caller")),
        ],
        notes: &[Topic::Code],
    },
    Kind {
        key: "communication",
        title: "Communication",
        analysis: MOVES,
        missing: |_, whole| {
            (whole.comm_ns <= 0).then_some("No communication between GPUs was recorded.")
        },
        figures: &[
            ("collective_count", "Collectives"),
            ("total_comm_time", "Time"),
            ("exposed_comm_time", "Exposed"),
        ],
        overlap: Some(("comm", "Communication", |whole| (whole.comm_ns, whole.exposed_comm_ns))),
        charts: &[],
        tables: &[
            ("collectives", "By type and size", &["type", "group_size", "dtype", "message_size", "count", "total_time", "exposed_time", "median_time", "staging_time", "algorithm_bandwidth", "bus_bandwidth", "best_bus_bandwidth"], None),
            ("top_communication", "Longest", &["operation", "stream", "duration"], None),
        ],
        notes: &[Topic::General, Topic::Communication],
    },
    Kind {
        key: "copies",
        title: "Memory copies",
        analysis: MOVES,
        missing: |outcome, _| {
            let is_none = outcome.get("total_memcpy_count") == Some(&Value::Count(0));
            is_none.then_some("No memory copies were recorded.")
        },
        figures: &[
            ("total_memcpy_count", "Copies"),
            ("total_memcpy_time", "Time"),
            ("exposed_memcpy_time", "Exposed"),
            ("fill_count", "Fills"),
            ("fill_time", "Fill time"),
        ],
        overlap: Some(("copy", "Copies", |whole| (whole.memcpy_ns, whole.exposed_memcpy_ns))),
        charts: &[],
        tables: &[
            ("memory_copy_breakdown", "By direction", &["direction", "count", "total_size", "avg_size", "total_time", "exposed_time", "bandwidth", "host_wait", "severity"], None),
            ("copies", "By caller", &["operator", "direction", "memory", "count", "total_size", "total_time", "exposed_time", "bandwidth"], Some("python")),
        ],
        notes: &[Topic::Copies],
    },
];

impl Kind {
    fn section(&self, report: &Report) -> SystemSection {
        let section = SystemSection {
            key: self.key.to_owned(),
            title: self.title.to_owned(),
            ..SystemSection::default()
        };
        let outcome = report.analyses.outcome(self.analysis);
        // Data movement overlaps only with the activity of its own GPU.
        let whole = match self.analysis {
            MOVES => report.timelines.of_one_gpu(),
            _ => report.timelines.whole,
        };
        let missing = match (outcome.map(|outcome| outcome.status), outcome, whole) {
            (Some(Status::Done), Some(outcome), Some(whole)) => {
                return self.filled(section, outcome, &whole);
            }
            (Some(_), ..) => headline::without_gpu(report).to_owned(),
            (None, ..) => "This was not analyzed.".to_owned(),
        };
        SystemSection {
            missing: Some(missing),
            ..section
        }
    }

    fn filled(
        &self,
        section: SystemSection,
        outcome: &Outcome,
        whole: &GpuTimeline,
    ) -> SystemSection {
        if let Some(missing) = (self.missing)(outcome, whole) {
            return SystemSection {
                missing: Some(missing.to_owned()),
                ..section
            };
        }
        let notes = outcome.notes.iter();
        let notes = notes.filter(|note| self.notes.contains(&note.topic));
        let known = self.figures.iter().filter_map(|(key, label)| {
            let value = outcome.get(key).filter(|value| value.is_known())?;
            let is_none = matches!(value, Value::Count(0) | Value::Ns(0));
            if is_none && IF_ANY.contains(key) {
                return None;
            }
            Some(((*label).to_owned(), value.text()))
        });
        let charts = self.charts.iter().filter_map(|(key, title, columns)| {
            Some(bar_chart(table(outcome, key)?, title, columns))
        });
        let tables = self.tables.iter();
        let tables = tables.filter_map(|(key, title, columns, below)| {
            fact_table(table(outcome, key)?, title, columns, *below)
        });
        SystemSection {
            figures: known.collect(),
            overlap: self.overlap.and_then(|(token, label, of)| {
                let (all_ns, exposed_ns) = of(whole);
                overlap(token, label, all_ns, exposed_ns)
            }),
            charts: charts.collect(),
            gaps: match self.key {
                "idle" => table(outcome, "top_gaps").map(gaps).unwrap_or_default(),
                _ => Vec::new(),
            },
            tables: tables.collect(),
            notes: notes.map(|note| note.text.clone()).collect(),
            ..section
        }
    }
}

/// How much of some time overlaps with other GPU activity; `None` if there is no such time.
fn overlap(token: &str, label: &str, all_ns: i64, exposed_ns: i64) -> Option<OverlapBar> {
    let hidden_ns = all_ns.saturating_sub(exposed_ns);
    let (hidden, exposed) = percent_of(hidden_ns, all_ns).zip(percent_of(exposed_ns, all_ns))?;
    let says = |share, ns| format!("{}, {}", format::percent(share), format::time_ns(ns));
    Some(OverlapBar {
        token: token.to_owned(),
        label: label.to_owned(),
        hidden: says(hidden, hidden_ns),
        exposed: says(exposed, exposed_ns),
        hidden_percent: hidden,
    })
}

fn table<'a>(outcome: &'a Outcome, key: &str) -> Option<&'a Table> {
    outcome
        .tables
        .iter()
        .find(|table| table.key == key && !table.rows.is_empty())
}

fn gaps(table: &Table) -> Vec<Gap> {
    let gap = |row: usize| {
        let cells = Cells::new(table, row);
        Gap {
            length: cells.text("length"),
            start: cells.text("start"),
            cause: cells.text("cause"),
            before: (cells.text("before"), cells.text("before_stream")),
            after: (cells.text("after"), cells.text("after_stream")),
            cpu: cpu(cells),
            event: cells.event(),
        }
    };
    (0..table.rows.len()).map(gap).collect()
}

/// What the CPU did in a gap: where it waited, what it launched and when, and the operator.
fn cpu(cells: Cells) -> Vec<(String, String)> {
    let launched = match cells.value("launch_after") {
        Some(Value::Ns(ns)) if *ns < 0 => {
            format!(", {} before the gap", format::time_ns(ns.saturating_neg()))
        }
        Some(Value::Ns(ns)) => format!(", {} into the gap", format::time_ns(*ns)),
        _ => String::new(),
    };
    let launch = match cells.text("launch_call") {
        call if call.is_empty() => call,
        call => call + &launched,
    };
    let code = cells.text("code");
    let places = [cells.text("operator"), cells.text("python")];
    let place = places.map(|place| (!place.is_empty()).then_some(place));
    let place: Vec<String> = place.into_iter().flatten().collect();
    [
        ("CPU waited in", cells.text("waited_in")),
        ("Code that ran", code),
        ("Launched by", launch),
        ("In", place.join(" \u{b7} ")),
    ]
    .into_iter()
    .filter(|(_, value)| !value.is_empty())
    .map(|(label, value)| (label.to_owned(), value))
    .collect()
}
