//! Idle time of the GPU: every gap on its timeline, and what the host did meanwhile.
//!
//! ```text
//! gaps ─host→ cause of each ─idle→ sums by cause, histogram, the longest ─→ facts, tables, findings
//! ```
//!
//! The gaps are what the union of the timeline leaves out, so their sum is its idle time.

mod class;
mod findings;
mod gaps;
mod host;
mod idle;
mod json;
#[cfg(test)]
mod tests;

use super::origin::is_framework;
use super::outcome::{Outcome, Status};
use super::value::{Table, Value};
use super::{AnalysisKind, Input, Origin, Severity};
use crate::format;
use crate::trace::{Category, EventId, StringId};
use class::Class;
use gaps::Gap;
use host::Cause;
use idle::{BINS, Idle};

pub use json::metrics;

/// Rows of a table of operators or waits.
const MAX_ROWS: usize = 15;

pub(super) fn run(input: &Input, kind: &'static AnalysisKind) -> Result<Outcome, String> {
    let Some(idle) = Idle::new(input) else {
        let mut outcome = Outcome::new(kind, Status::NoData);
        outcome
            .notes
            .push("The trace has no timeline data of a GPU.".to_owned());
        return Ok(outcome);
    };
    let mut outcome = Outcome::new(kind, Status::Done);
    outcome.time_ns = idle.timeline.idle_ns;
    add_facts(&mut outcome, &idle);
    outcome.tables = tables(input, &idle);
    outcome.findings = findings::findings(input, &idle);
    outcome.notes = notes(&idle);
    Ok(outcome)
}

fn add_facts(outcome: &mut Outcome, idle: &Idle) {
    let timeline = &idle.timeline;
    outcome.fact(
        "idle_flagged",
        "Idle time is flagged",
        Value::Flag(idle.is_flagged()),
    );
    outcome.fact(
        "severity",
        "Severity",
        Value::Text(idle.severity().label().to_owned()),
    );
    outcome.fact("total_time", "Run", Value::Ns(timeline.total_ns()));
    outcome.fact("idle_time", "Idle time", Value::Ns(timeline.idle_ns));
    outcome.fact(
        "idle_time",
        "Idle share of the run",
        Value::Percent(idle.idle_percent()),
    );
    outcome.fact(
        "target_idle",
        "Idle share that is aimed at",
        Value::Percent(idle.thresholds.idle_target_percent),
    );
    outcome.fact(
        "potential_speedup",
        "Times as fast with that",
        Value::number(idle.potential_speedup()),
    );
    let main = idle.by_time().first().map(|(class, _)| class.key());
    outcome.fact(
        "main_cause",
        "Most of it by",
        main.map_or(Value::Empty, |key| Value::Quoted(key.to_owned())),
    );
    outcome.fact("gap_count", "Gaps", Value::Count(idle.n_gaps));
    outcome.fact(
        "avg_inter_kernel_gap",
        "Mean gap",
        idle.mean_gap_ns().map_or(Value::Empty, Value::Ns),
    );
    outcome.fact(
        "sync_point_count",
        "Gaps after a wait of the host",
        Value::Count(idle.of(Class::Synchronisation).count),
    );
    outcome.fact(
        "total_kernel_count",
        "Kernels",
        Value::Count(idle.kernels.count),
    );
    outcome.fact(
        "short_kernel_count",
        "Short kernels",
        Value::Count(idle.kernels.n_short),
    );
    outcome.fact(
        "short_kernels",
        "Share of short kernels",
        Value::Percent(idle.kernels.short_percent()),
    );
    outcome.fact(
        "avg_kernel_time",
        "Mean kernel",
        idle.kernels.mean_ns().map_or(Value::Empty, Value::Ns),
    );
    let patterns: Vec<&str> = patterns(idle).iter().map(|pattern| pattern.key).collect();
    outcome.fact(
        "patterns_detected",
        "Patterns",
        match patterns.is_empty() {
            true => Value::Empty,
            false => Value::Quoted(patterns.join(", ")),
        },
    );
}

/// A pattern that the figures show.
#[derive(Debug, Clone)]
struct Pattern {
    key: &'static str,
    name: &'static str,
    severity: Severity,
    description: String,
}

fn patterns(idle: &Idle) -> Vec<Pattern> {
    let thresholds = &idle.thresholds;
    let kernels = &idle.kernels;
    let mut patterns = Vec::new();
    let mut add = |key, name, severity, description| {
        patterns.push(Pattern {
            key,
            name,
            severity,
            description,
        });
    };
    let percent = idle.idle_percent();
    let share = format!("The GPU idles for {} of the run.", format::percent(percent));
    if percent > thresholds.idle_critical_percent {
        add(
            "critical_gpu_underutilization",
            "The GPU is hardly used",
            Severity::Critical,
            share,
        );
    } else if percent > thresholds.idle_high_percent {
        add(
            "high_gpu_idle_time",
            "The GPU idles much",
            Severity::High,
            share,
        );
    }
    let short = kernels.short_percent();
    let either = |is_high: bool| {
        if is_high {
            Severity::High
        } else {
            Severity::Medium
        }
    };
    if short > thresholds.idle_short_kernels_percent {
        add(
            "kernel_launch_overhead",
            "Many short kernels",
            either(short > thresholds.idle_short_kernels_high_percent),
            format!(
                "{} of {} are shorter than {} ({}).",
                format::count(kernels.n_short),
                format::counted(kernels.count, "kernel"),
                format::time_us(thresholds.short_kernel_us),
                format::percent(short)
            ),
        );
    }
    let count = kernels.count as f64;
    if count > thresholds.idle_kernel_count {
        add(
            "high_kernel_count",
            "Many kernels",
            either(count > thresholds.idle_kernel_count_high),
            format!("The run has {}.", format::counted(kernels.count, "kernel")),
        );
    }
    if let Some(mean_ns) = kernels.mean_ns() {
        let mean_us = mean_ns as f64 / 1e3;
        if mean_us < thresholds.idle_mean_kernel_us {
            add(
                "small_average_kernel_time",
                "Short kernels in the mean",
                either(mean_us < thresholds.idle_mean_kernel_high_us),
                format!("A kernel takes {} in the mean.", format::time_ns(mean_ns)),
            );
        }
    }
    patterns
}

fn tables(input: &Input, idle: &Idle) -> Vec<Table> {
    let mut tables = vec![
        by_class(idle),
        histogram(idle),
        top(input, idle, idle.top.iter()),
    ];
    if !idle.operators.is_empty() {
        tables.push(operators(input, idle));
    }
    if !idle.waits.is_empty() {
        tables.push(waits(input, idle));
    }
    tables.push(kernels(idle));
    let patterns = patterns(idle);
    if !patterns.is_empty() {
        let mut table = Table::new(
            "patterns_detected",
            "Detected patterns",
            &[
                ("pattern", "Pattern"),
                ("severity", "Severity"),
                ("evidence", "Evidence"),
            ],
        );
        table.rows = patterns
            .into_iter()
            .map(|pattern| {
                vec![
                    Value::Text(pattern.name.to_owned()),
                    Value::Text(pattern.severity.label().to_owned()),
                    Value::Text(pattern.description),
                ]
            })
            .collect();
        tables.push(table);
    }
    tables
}

/// Share of the idle time.
fn of_idle(idle: &Idle, ns: i64) -> Value {
    match idle.timeline.idle_ns {
        0 => Value::Empty,
        all_ns => Value::Percent(ns as f64 * 100.0 / all_ns as f64),
    }
}

fn by_class(idle: &Idle) -> Table {
    let mut table = Table::new(
        "idle_by_cause",
        "Idle time by cause",
        &[
            ("cause", "Cause"),
            ("gaps", "Gaps"),
            ("idle_time", "Idle time"),
            ("percent_of_idle", "Of idle time"),
            ("percent_of_total", "Of the run"),
            ("longest", "Longest"),
        ],
    );
    table.rows = idle
        .by_time()
        .into_iter()
        .map(|(class, gaps)| {
            vec![
                Value::Text(class.label().to_owned()),
                Value::Count(gaps.count),
                Value::Ns(gaps.ns),
                of_idle(idle, gaps.ns),
                Value::Percent(idle.percent(gaps.ns)),
                Value::Ns(gaps.longest_ns),
            ]
        })
        .collect();
    table
}

fn histogram(idle: &Idle) -> Table {
    let mut table = Table::new(
        "gap_histogram",
        "Gaps by length",
        &[
            ("length", "Length"),
            ("gaps", "Gaps"),
            ("idle_time", "Idle time"),
            ("percent_of_idle", "Of idle time"),
        ],
    );
    table.rows = BINS
        .iter()
        .zip(&idle.histogram)
        .map(|((_, label), tally)| {
            vec![
                Value::Text((*label).to_owned()),
                Value::Count(tally.count),
                Value::Ns(tally.ns),
                of_idle(idle, tally.ns),
            ]
        })
        .collect();
    table
}

fn top<'a>(input: &Input, idle: &Idle, gaps: impl Iterator<Item = &'a (Gap, Cause)>) -> Table {
    let trace = &input.profile.trace;
    let name = |event: EventId| {
        let name = trace.strings.get(trace.events.name(event));
        format::middle_ellipsis(&format::kernel_name(name), 60)
    };
    let quoted =
        |event: Option<EventId>| event.map_or(Value::Empty, |event| Value::Quoted(name(event)));
    let mut table = Table::new(
        "top_gaps",
        "Longest gaps",
        &[
            ("start", "After"),
            ("length", "Length"),
            ("cause", "Cause"),
            ("before", "Before"),
            ("before_stream", "Stream"),
            ("after", "Then"),
            ("after_stream", "Stream"),
            ("launch_call", "Launched by"),
            ("launch_after", "Launch began after"),
            ("waited_in", "Host waited in"),
            ("operator", "In operator"),
            ("python", "In"),
        ],
    );
    table.rows = gaps
        .map(|(gap, cause)| {
            let work = |id| input.profile.gpu.get(id);
            let (before, after) = (work(gap.before), work(gap.after));
            let stream = |stream: Option<i64>| {
                stream.map_or(Value::Empty, |stream| Value::Text(stream.to_string()))
            };
            let cause_label = match cause.special {
                Some(special) => format!("{}: {}", cause.class.label(), special.label()),
                None => cause.class.label().to_owned(),
            };
            let operator = after
                .and_then(|after| after.parent_op)
                .and_then(|op| input.profile.tree.event(op));
            vec![
                Value::Ns(idle.start_ns(gap)),
                Value::Ns(gap.span.length()),
                Value::Text(cause_label),
                quoted(before.map(|work| work.event)),
                stream(before.and_then(|work| work.stream)),
                quoted(after.map(|work| work.event)),
                stream(after.and_then(|work| work.stream)),
                quoted(cause.launch),
                cause.launch_after_ns.map_or(Value::Empty, Value::Ns),
                quoted(cause.blocking),
                quoted(operator),
                python(input, cause),
            ]
        })
        .collect();
    table
}

/// The user's Python function in which the host waited, or launched what ends a gap.
fn python(input: &Input, cause: &Cause) -> Value {
    let profile = input.profile;
    let Some(call) = cause.blocking.or(cause.launch) else {
        return Value::Empty;
    };
    if !profile.has_python_frames() {
        return Value::Empty;
    }
    let (trace, tree) = (&profile.trace, profile.full_tree());
    let Some(node) = tree.node_of(call) else {
        return Value::Empty;
    };
    let frame = tree.ancestors(node).find_map(|above| {
        let event = tree.event(above)?;
        let name = trace.strings.get(trace.events.name(event));
        let is_frame = trace.events.category(event) == Category::PythonFunction;
        (is_frame && !is_framework(name)).then_some(name)
    });
    frame.map_or(Value::Empty, |frame| {
        Value::Quoted(format::middle_ellipsis(Origin::short(frame), 80))
    })
}

fn name_of(input: &Input, name: Option<StringId>) -> Value {
    name.map_or(Value::Empty, |name| {
        let name = input.profile.trace.strings.get(name);
        Value::Quoted(format::middle_ellipsis(name, 80))
    })
}

fn operators(input: &Input, idle: &Idle) -> Table {
    let mut table = Table::new(
        "idle_by_operator",
        "Gaps by the operator whose work came late",
        &[
            ("operator", "Operator"),
            ("gaps", "Gaps"),
            ("idle_time", "Idle time"),
            ("percent_of_idle", "Of idle time"),
        ],
    );
    table.rows = idle
        .operators
        .iter()
        .take(MAX_ROWS)
        .map(|(operator, tally)| {
            vec![
                name_of(input, *operator),
                Value::Count(tally.count),
                Value::Ns(tally.ns),
                of_idle(idle, tally.ns),
            ]
        })
        .collect();
    table
}

fn waits(input: &Input, idle: &Idle) -> Table {
    let mut table = Table::new(
        "synchronisation_points",
        "Where the host waited before gaps",
        &[
            ("call", "Call"),
            ("operator", "Operator"),
            ("gaps", "Gaps"),
            ("idle_time", "Idle time"),
        ],
    );
    table.rows = idle
        .waits
        .iter()
        .take(MAX_ROWS)
        .map(|((call, operator), tally)| {
            vec![
                name_of(input, Some(*call)),
                name_of(input, *operator),
                Value::Count(tally.count),
                Value::Ns(tally.ns),
            ]
        })
        .collect();
    table
}

fn kernels(idle: &Idle) -> Table {
    let mut table = Table::new(
        "kernel_count_by_category",
        "Kernels by kind of work",
        &[
            ("category", "Kind of work"),
            ("kernels", "Kernels"),
            ("kernel_time", "Time"),
            ("avg_kernel_time", "Mean"),
        ],
    );
    table.rows = idle
        .kernels
        .families
        .iter()
        .map(|&(family, count, ns)| {
            let mean_ns = ns / i64::try_from(count.max(1)).unwrap_or(i64::MAX);
            vec![
                Value::Text(family.label().to_owned()),
                Value::Count(count),
                Value::Ns(ns),
                Value::Ns(mean_ns),
            ]
        })
        .collect();
    table
}

fn notes(idle: &Idle) -> Vec<String> {
    let mut notes = Vec::new();
    if idle.has_graphs {
        notes.push(
            "The trace has launches of GPU graphs. Profilers lengthen the gaps inside of graphs, so that without one the GPU idles less than this trace says."
                .to_owned(),
        );
    }
    if idle.has_frames && idle.is_flagged() {
        notes.push(
            "Python frames were recorded, which slows the host: without them the GPU idles less."
                .to_owned(),
        );
    }
    if idle.n_devices > 1 {
        notes.push(format!(
            "Work of {} is in the trace: idle is when none of them works.",
            format::counted(idle.n_devices as u64, "GPU")
        ));
    }
    if let Some(all_ns) = idle.idle_of_all_ns
        && idle.percent(idle.timeline.idle_ns.saturating_sub(all_ns)) >= 1.0
    {
        notes.push(format!(
            "GPU work whose launch is unknown is not counted; with it the GPU would idle for {}.",
            format::time_ns(all_ns)
        ));
    }
    notes
}
