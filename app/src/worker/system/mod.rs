//! The Idle & communication view: what two analyses of core say of idle time, communication and copies.
//!
//! Their facts and tables are taken as they are; here they are put in the order of the view.

mod facts;
mod headline;
#[cfg(test)]
mod tests;

use dormer_core::base::value::{Table, Value};
use dormer_core::findings::{Outcome, Status};
use dormer_core::profile::timeline::GpuTimeline;
use dormer_core::report::Report;
use dormer_core::{base::format, findings};

use super::Traces;
use super::overview::split_part;
use crate::protocol::{Answer, Gap, OverlapBar, SystemFacts, SystemQuery, SystemSection};
use facts::{Cells, bar_chart, fact_table};

/// The analyses, by their keys.
const IDLE: &str = "cpu_idle";
const MOVES: &str = "multi_kernel";

/// Whether the view shows what an analysis says.
pub(super) fn shows(kind: &findings::AnalysisKind) -> bool {
    [IDLE, MOVES].contains(&kind.key)
}

/// All that the view shows.
pub(super) fn system(report: &Report) -> SystemFacts {
    let sections = [
        ("idle", "Idle time", IDLE, idle as Fill),
        ("communication", "Communication", MOVES, communication),
        ("copies", "Memory copies", MOVES, copies),
    ];
    SystemFacts {
        headline: headline::headline(report),
        lead: headline::lead(report),
        split: report.overview.split.iter().map(split_part).collect(),
        sections: sections
            .into_iter()
            .map(|(key, title, analysis, fill)| section(report, key, title, analysis, fill))
            .collect(),
    }
}

/// Fills a section from its analysis, or says why it stays empty.
type Fill = fn(&Outcome, &GpuTimeline, &mut SystemSection) -> Result<(), String>;

fn section(report: &Report, key: &str, title: &str, analysis: &str, fill: Fill) -> SystemSection {
    let mut section = SystemSection {
        key: key.to_owned(),
        title: title.to_owned(),
        ..SystemSection::default()
    };
    let outcome = report.analyses.outcome(analysis);
    // What moves is hidden by the work of its own GPU alone.
    let whole = match analysis {
        MOVES => report.timelines.of_one_gpu(),
        _ => report.timelines.whole,
    };
    let filled = match (outcome, whole.as_ref()) {
        (Some(outcome), Some(whole)) if outcome.status == Status::Done => {
            fill(outcome, whole, &mut section)
        }
        (Some(outcome), _) => Err(match &outcome.status {
            Status::Error(why) => format!("This analysis failed: {why}"),
            Status::Done | Status::NoData => headline::without_gpu(report).to_owned(),
        }),
        (None, _) => Err("This was not analyzed.".to_owned()),
    };
    section.missing = filled.err();
    section
}

fn idle(outcome: &Outcome, whole: &GpuTimeline, section: &mut SystemSection) -> Result<(), String> {
    if whole.idle_ns <= 0 {
        return Err("The GPU is never idle between its first and last activity.".to_owned());
    }
    section.figures = figures(
        outcome,
        &[
            ("idle_time", "Idle"),
            ("gap_count", "Gaps"),
            ("avg_inter_kernel_gap", "Mean gap"),
            ("sync_point_count", "Gaps after a CPU synchronization"),
            ("total_kernel_count", "Kernels"),
            ("avg_kernel_time", "Mean kernel"),
        ],
    );
    let charts = [
        bar_chart(
            outcome,
            "idle_by_cause",
            "Idle time by cause",
            ("cause", "Cause"),
            &[
                ("idle_time", "Idle time"),
                ("percent_of_idle", "% of idle"),
                ("gaps", "Gaps"),
                ("longest", "Longest"),
            ],
        ),
        bar_chart(
            outcome,
            "gap_histogram",
            "Idle time by gap length",
            ("length", "Gap length"),
            &[
                ("idle_time", "Idle time"),
                ("percent_of_idle", "% of idle"),
                ("gaps", "Gaps"),
            ],
        ),
    ];
    section.charts = charts.into_iter().flatten().collect();
    section.gaps = table(outcome, "top_gaps").map(gaps).unwrap_or_default();
    let tables = [
        fact_table(
            outcome,
            "synchronisation_points",
            "CPU synchronizations before gaps",
            &[
                ("call", "Call"),
                ("operator", "Operator"),
                ("gaps", "Gaps"),
                ("idle_time", "Idle time"),
            ],
            None,
        ),
        fact_table(
            outcome,
            "idle_by_operator",
            "Operators launched late",
            &[
                ("operator", "Operator"),
                ("gaps", "Gaps"),
                ("idle_time", "Idle time"),
                ("percent_of_idle", "% of idle"),
            ],
            None,
        ),
    ];
    section.tables = tables.into_iter().flatten().collect();
    section.notes = outcome.notes.clone();
    Ok(())
}

fn communication(
    outcome: &Outcome,
    whole: &GpuTimeline,
    section: &mut SystemSection,
) -> Result<(), String> {
    section.notes = notes(outcome, &["ollective", "overlap", "links"]);
    if whole.comm_ns <= 0 {
        return Err("No communication between GPUs was recorded.".to_owned());
    }
    section.figures = figures(
        outcome,
        &[
            ("collective_count", "Collectives"),
            ("total_comm_time", "Time"),
            ("exposed_comm_time", "Exposed"),
        ],
    );
    section.overlap = overlap(
        "comm",
        "Communication",
        whole.comm_ns,
        whole.exposed_comm_ns,
    );
    let tables = [
        fact_table(
            outcome,
            "collectives",
            "By type and size",
            &[
                ("type", "Type"),
                ("group_size", "Ranks"),
                ("dtype", "Dtype"),
                ("message_size", "Message"),
                ("count", "Count"),
                ("total_time", "Time"),
                ("exposed_time", "Exposed"),
                ("algorithm_bandwidth", "Algorithm bandwidth"),
                ("bus_bandwidth", "Bus bandwidth"),
                ("best_bus_bandwidth", "Bus, shortest call"),
            ],
            None,
        ),
        fact_table(
            outcome,
            "top_communication",
            "Longest",
            &[
                ("operation", "Kernel"),
                ("stream", "Stream"),
                ("duration", "Duration"),
            ],
            None,
        ),
    ];
    section.tables = tables.into_iter().flatten().collect();
    Ok(())
}

fn copies(
    outcome: &Outcome,
    whole: &GpuTimeline,
    section: &mut SystemSection,
) -> Result<(), String> {
    section.notes = notes(outcome, &["opies", "Bandwidths"]);
    if outcome.get("total_memcpy_count") == Some(&Value::Count(0)) {
        section.notes.clear();
        return Err("No memory copies were recorded.".to_owned());
    }
    section.figures = figures(
        outcome,
        &[
            ("total_memcpy_count", "Copies"),
            ("total_memcpy_time", "Time"),
            ("exposed_memcpy_time", "Exposed"),
            ("fill_count", "Fills"),
            ("fill_time", "Fill time"),
        ],
    );
    section.overlap = overlap("copy", "Copies", whole.memcpy_ns, whole.exposed_memcpy_ns);
    let tables = [
        fact_table(
            outcome,
            "memory_copy_breakdown",
            "By direction",
            &[
                ("direction", "Direction"),
                ("count", "Count"),
                ("total_size", "Size"),
                ("avg_size", "Mean size"),
                ("total_time", "Time"),
                ("exposed_time", "Exposed"),
                ("bandwidth", "Bandwidth"),
                ("host_wait", "CPU waits"),
                ("severity", "Severity"),
            ],
            None,
        ),
        fact_table(
            outcome,
            "copies",
            "By caller",
            &[
                ("operator", "Caller"),
                ("direction", "Direction"),
                ("memory", "Host memory"),
                ("count", "Count"),
                ("total_size", "Size"),
                ("total_time", "Time"),
                ("exposed_time", "Exposed"),
                ("bandwidth", "Bandwidth"),
            ],
            Some("python"),
        ),
    ];
    section.tables = tables.into_iter().flatten().collect();
    Ok(())
}

/// The notes that speak of one of the words.
fn notes(outcome: &Outcome, words: &[&str]) -> Vec<String> {
    let notes = outcome.notes.iter();
    let fitting = notes.filter(|note| words.iter().any(|word| note.contains(word)));
    fitting.cloned().collect()
}

/// How much of some time runs beside other work; `None` where there is none of it.
fn overlap(token: &str, label: &str, all_ns: i64, exposed_ns: i64) -> Option<OverlapBar> {
    if all_ns <= 0 {
        return None;
    }
    let hidden_ns = all_ns.saturating_sub(exposed_ns);
    let percent = |ns: i64| ns as f64 * 100.0 / all_ns as f64;
    let says = |ns: i64| format!("{}, {}", format::percent(percent(ns)), format::time_ns(ns));
    Some(OverlapBar {
        token: token.to_owned(),
        label: label.to_owned(),
        hidden: says(hidden_ns),
        exposed: says(exposed_ns),
        hidden_percent: percent(hidden_ns),
    })
}

fn table<'a>(outcome: &'a Outcome, key: &str) -> Option<&'a Table> {
    outcome
        .tables
        .iter()
        .find(|table| table.key == key && !table.rows.is_empty())
}

/// The facts that are known.
fn figures(outcome: &Outcome, wanted: &[(&str, &str)]) -> Vec<(String, String)> {
    let known = wanted.iter().filter_map(|(key, label)| {
        let value = outcome.get(key).filter(|value| value.is_known())?;
        Some(((*label).to_owned(), value.text()))
    });
    known.collect()
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

/// What the CPU did in a gap: where it waited, what it launched and when, and for whom.
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
    let places = [cells.text("operator"), cells.text("python")];
    let place = places.map(|place| (!place.is_empty()).then_some(place));
    let place: Vec<String> = place.into_iter().flatten().collect();
    [
        ("CPU waited in", cells.text("waited_in")),
        ("Launched by", launch),
        ("In", place.join(" \u{b7} ")),
    ]
    .into_iter()
    .filter(|(_, value)| !value.is_empty())
    .map(|(label, value)| (label.to_owned(), value))
    .collect()
}

impl Answer<SystemQuery> for Traces {
    fn answer(&mut self, _: SystemQuery, _: &mut Option<Vec<u8>>) -> SystemFacts {
        system(&self.target().report)
    }
}
