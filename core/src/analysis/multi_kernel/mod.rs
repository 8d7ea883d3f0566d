//! Copies and communication: what moves between host and GPUs, what that costs, and how much of it
//! runs beside computation.
//!
//! Everything is counted on the GPU events of the timeline, so that shares agree with it. Whether
//! a copy makes the GPU idle is the other system analysis's: here counts the time of copies.

mod assess;
mod collectives;
mod copies;
mod findings;
mod json;
#[cfg(test)]
mod tests;

use super::origin::file_of;
use super::outcome::{Outcome, Status};
use super::value::{Table, Value};
use super::{AnalysisKind, Input, Severity};
use crate::format;
use crate::interval::sum;
use crate::trace::StringId;
use assess::{Facts, Overlap};
use copies::{Asker, Direction};

pub use json::{data, metrics};

/// Rows of a table of who asked for copies or of kinds of collectives.
const MAX_ROWS: usize = 20;

pub(super) fn run(input: &Input, kind: &'static AnalysisKind) -> Result<Outcome, String> {
    let Some(facts) = Facts::new(input) else {
        let mut outcome = Outcome::new(kind, Status::NoData);
        outcome
            .notes
            .push("The trace has no timeline data of a GPU.".to_owned());
        return Ok(outcome);
    };
    let mut outcome = Outcome::new(kind, Status::Done);
    outcome.time_ns = sum([
        facts.timeline.exposed_comm_ns,
        facts.timeline.exposed_memcpy_ns,
    ]);
    add_facts(&mut outcome, &facts);
    outcome.tables = tables(input, &facts);
    outcome.findings = findings::findings(input, &facts);
    outcome.notes = notes(input, &facts);
    Ok(outcome)
}

fn severity(severity: Severity) -> Value {
    Value::Text(severity.label().to_owned())
}

fn add_facts(outcome: &mut Outcome, facts: &Facts) {
    let timeline = &facts.timeline;
    outcome.fact(
        "total_memcpy_count",
        "Memory copies",
        Value::Count(facts.copies.count()),
    );
    outcome.fact(
        "total_memcpy_time",
        "Time of memory copies",
        Value::Ns(facts.copies.time_ns()),
    );
    outcome.fact(
        "exposed_memcpy_time",
        "Copies while nothing else runs",
        Value::Ns(timeline.exposed_memcpy_ns),
    );
    outcome.fact(
        "exposed_memcpy_time",
        "Share of the run",
        Value::Percent(facts.percent(timeline.exposed_memcpy_ns)),
    );
    for (direction, count_key, severity_key) in [
        (Direction::DeviceToHost, "d2h_count", "d2h_severity"),
        (Direction::HostToDevice, "h2d_count", "h2d_severity"),
        (Direction::DeviceToDevice, "d2d_count", "d2d_severity"),
    ] {
        let assessed = facts.assess(direction);
        let count = assessed
            .as_ref()
            .map_or(0, |assessed| assessed.copies.count);
        let level = assessed.map_or(Severity::Acceptable, |assessed| assessed.severity());
        let (count_label, severity_label) = match direction {
            Direction::DeviceToHost => ("Copies D2H", "Severity of copies D2H"),
            Direction::HostToDevice => ("Copies H2D", "Severity of copies H2D"),
            _ => ("Copies D2D", "Severity of copies D2D"),
        };
        outcome.fact(count_key, count_label, Value::Count(count));
        outcome.fact(severity_key, severity_label, severity(level));
    }
    outcome.fact("fill_count", "Fills", Value::Count(facts.copies.n_fills));
    outcome.fact(
        "fill_time",
        "Time of fills",
        Value::Ns(facts.copies.fill_ns),
    );
    outcome.fact(
        "collective_count",
        "Collectives",
        Value::Count(facts.collectives.count),
    );
    outcome.fact(
        "total_comm_time",
        "Time of communication",
        Value::Ns(timeline.comm_ns),
    );
    outcome.fact(
        "exposed_comm_time",
        "Communication while nothing computes",
        Value::Ns(timeline.exposed_comm_ns),
    );
    let blocking = facts.blocking();
    outcome.fact(
        "exposed_comm_time",
        "Share of the run",
        Value::Percent(blocking.percent),
    );
    outcome.fact(
        "exposed_comm_severity",
        "Communication blocking compute",
        severity(blocking.severity),
    );
    let overlap = facts.overlap();
    outcome.fact(
        "comm_overlap",
        "Communication beside computation",
        Value::percent(overlap.percent()),
    );
    outcome.fact(
        "overlap_severity",
        "Overlap",
        Value::Text(overlap.label().to_owned()),
    );
    outcome.fact(
        "is_training",
        "A backward pass was recorded",
        Value::Flag(facts.is_training),
    );
    let patterns: Vec<&str> = patterns(facts).iter().map(|pattern| pattern.key).collect();
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
    /// One sentence with the figures.
    description: String,
    /// What could at most be won.
    recoverable_ns: i64,
}

fn patterns(facts: &Facts) -> Vec<Pattern> {
    let mut patterns = Vec::new();
    for assessed in facts.copy_assessments() {
        let (key, name) = match assessed.direction {
            Direction::DeviceToHost => ("high_d2h_memcpy", "Many copies from the GPU to the host"),
            Direction::HostToDevice => ("high_h2d_memcpy", "Many copies from the host to the GPU"),
            // What stays on GPUs stalls no host: its count alone says nothing.
            Direction::DeviceToDevice if assessed.is_material => {
                ("high_d2d_memcpy", "Many copies within the GPU")
            }
            Direction::PeerToPeer if assessed.is_material => {
                ("high_p2p_memcpy", "Many copies between GPUs")
            }
            _ => continue,
        };
        if assessed.is_flagged {
            patterns.push(Pattern {
                key,
                name,
                severity: assessed.severity(),
                description: format!(
                    "{} take {} ({} of the run), {} of it while nothing else runs.",
                    match assessed.copies.count {
                        1 => "1 copy".to_owned(),
                        count => format!("{} copies", format::count(count)),
                    },
                    format::time_ns(assessed.copies.time_ns),
                    format::percent(assessed.percent),
                    format::time_ns(assessed.copies.exposed_ns),
                ),
                recoverable_ns: assessed.copies.exposed_ns,
            });
        }
    }
    let blocking = facts.blocking();
    if blocking.is_flagged {
        patterns.push(Pattern {
            key: "nccl_blocking_compute",
            name: "Communication blocking compute",
            severity: blocking.severity,
            description: format!(
                "Communication runs for {} ({} of the run) while nothing computes.",
                format::time_ns(facts.timeline.exposed_comm_ns),
                format::percent(blocking.percent)
            ),
            recoverable_ns: facts.timeline.exposed_comm_ns,
        });
    }
    if let Overlap::Known {
        percent,
        severity,
        is_flagged: true,
    } = facts.overlap()
    {
        patterns.push(Pattern {
            key: "poor_comm_compute_overlap",
            name: "Poor overlap of communication and computation",
            severity,
            description: format!(
                "{} of {} of communication runs beside computation; the aim is {}.",
                format::percent(percent),
                format::time_ns(facts.timeline.comm_ns),
                format::percent(facts.thresholds.overlap_target_percent)
            ),
            recoverable_ns: to_target_ns(facts),
        });
    }
    patterns
}

/// What would be won at the overlap that is aimed at: of all communication only the rest would be
/// exposed.
fn to_target_ns(facts: &Facts) -> i64 {
    let rest = 1.0 - facts.thresholds.overlap_target_percent / 100.0;
    let left_ns = (facts.timeline.comm_ns as f64 * rest).round() as i64;
    (facts.timeline.exposed_comm_ns - left_ns).max(0)
}

fn tables(input: &Input, facts: &Facts) -> Vec<Table> {
    let mut tables = vec![summary(facts), breakdown(facts)];
    if !facts.copies.askers.is_empty() {
        tables.push(askers(
            input,
            &facts.copies.askers,
            "copies",
            "Copies by operator",
        ));
    }
    if facts.collectives.count > 0 {
        tables.push(kinds(facts));
        tables.push(longest(input, facts));
    }
    let mut patterns_table = Table::new(
        "patterns_detected",
        "Detected patterns",
        &[
            ("pattern", "Pattern"),
            ("severity", "Severity"),
            ("evidence", "Evidence"),
            ("recoverable_time", "Recoverable at most"),
        ],
    );
    patterns_table.rows = patterns(facts)
        .into_iter()
        .map(|pattern| {
            vec![
                Value::Text(pattern.name.to_owned()),
                severity(pattern.severity),
                Value::Text(pattern.description),
                Value::Ns(pattern.recoverable_ns),
            ]
        })
        .collect();
    if !patterns_table.rows.is_empty() {
        tables.push(patterns_table);
    }
    tables
}

fn summary(facts: &Facts) -> Table {
    let mut table = Table::new(
        "summary",
        "Summary",
        &[
            ("metric", "Metric"),
            ("value", "Value"),
            ("severity", "Severity"),
        ],
    );
    let mut row = |metric: &str, value: String, level: Value| {
        table.rows.push(vec![
            Value::Text(metric.to_owned()),
            Value::Text(value),
            level,
        ]);
    };
    let worst = facts
        .copy_assessments()
        .iter()
        .map(|assessed| assessed.severity())
        .max();
    row(
        "Total memory copies",
        format::count(facts.copies.count()),
        severity(worst.unwrap_or(Severity::Acceptable)),
    );
    for (label, direction) in [
        ("D2H transfers", Direction::DeviceToHost),
        ("H2D transfers", Direction::HostToDevice),
    ] {
        let assessed = facts.assess(direction);
        let (count, time_ns) = assessed.as_ref().map_or((0, 0), |assessed| {
            (assessed.copies.count, assessed.copies.time_ns)
        });
        let level = assessed.map_or(Severity::Acceptable, |assessed| assessed.severity());
        row(
            label,
            format!("{} ({})", format::count(count), format::time_ns(time_ns)),
            severity(level),
        );
    }
    let blocking = facts.blocking();
    row(
        "Exposed communication",
        format!("{} of total", format::percent(blocking.percent)),
        severity(blocking.severity),
    );
    let overlap = facts.overlap();
    row(
        "Compute/communication overlap",
        overlap
            .percent()
            .map_or_else(|| "no communication".to_owned(), format::percent),
        Value::Text(overlap.label().to_owned()),
    );
    table
}

fn breakdown(facts: &Facts) -> Table {
    let mut table = Table::new(
        "memory_copy_breakdown",
        "Memory copies by direction",
        &[
            ("direction", "Direction"),
            ("count", "Count"),
            ("total_time", "Time"),
            ("percent_of_total", "Of the run"),
            ("exposed_time", "While nothing else runs"),
            ("avg_size", "Mean size"),
            ("bandwidth", "Bandwidth"),
            ("host_wait", "Host waits in the call"),
            ("severity_by_time", "By time"),
            ("severity_by_count", "By count"),
            ("severity", "Severity"),
        ],
    );
    let assessments = facts.copy_assessments();
    table.rows = assessments
        .iter()
        .map(|assessed| {
            let copies = &assessed.copies;
            vec![
                Value::Text(assessed.direction.key().to_owned()),
                Value::Count(copies.count),
                Value::Ns(copies.time_ns),
                Value::Percent(assessed.percent),
                Value::Ns(copies.exposed_ns),
                copies.avg_bytes().map_or(Value::Empty, Value::Bytes),
                copies.gbps().map_or(Value::Empty, Value::GbPerS),
                Value::Ns(copies.wait_ns),
                severity(assessed.by_time),
                severity(assessed.by_count),
                severity(assessed.severity()),
            ]
        })
        .collect();
    table
}

/// The name of an operator or a call, or a frame without the folders of its file.
fn name_of(input: &Input, name: Option<StringId>) -> Value {
    name.map_or(Value::Empty, |name| {
        let name = input.profile.trace.strings.get(name);
        Value::Quoted(format::middle_ellipsis(file_of(name), 80))
    })
}

fn askers<'a>(
    input: &Input,
    groups: impl IntoIterator<Item = &'a (Asker, copies::Copies)>,
    key: &'static str,
    title: &str,
) -> Table {
    let mut table = Table::new(
        key,
        title,
        &[
            ("direction", "Direction"),
            ("memory", "Host memory"),
            ("operator", "Asked for by"),
            ("python", "In"),
            ("count", "Count"),
            ("total_time", "Time"),
            ("exposed_time", "While nothing else runs"),
            ("avg_size", "Mean size"),
            ("bandwidth", "Bandwidth"),
        ],
    );
    table.rows = groups
        .into_iter()
        .take(MAX_ROWS)
        .map(|(asker, copies)| {
            vec![
                Value::Text(asker.direction.key().to_owned()),
                asker.memory.map_or(Value::Empty, |memory| {
                    Value::Text(memory.label().to_owned())
                }),
                name_of(input, asker.op),
                name_of(input, asker.frame),
                Value::Count(copies.count),
                Value::Ns(copies.time_ns),
                Value::Ns(copies.exposed_ns),
                copies.avg_bytes().map_or(Value::Empty, Value::Bytes),
                copies.gbps().map_or(Value::Empty, Value::GbPerS),
            ]
        })
        .collect();
    table
}

fn kinds(facts: &Facts) -> Table {
    let mut table = Table::new(
        "collectives",
        "Collectives by type and size",
        &[
            ("type", "Type"),
            ("group_size", "Members"),
            ("dtype", "Element"),
            ("message_size", "Message"),
            ("count", "Count"),
            ("total_time", "Time"),
            ("exposed_time", "While nothing computes"),
            ("algorithm_bandwidth", "Algorithm bandwidth"),
            ("bus_bandwidth", "Bus bandwidth"),
            ("best_bus_bandwidth", "Bus bandwidth of the shortest"),
        ],
    );
    let rate = |gbps: Option<f64>| gbps.map_or(Value::Empty, Value::GbPerS);
    table.rows = facts
        .collectives
        .groups
        .iter()
        .take(MAX_ROWS)
        .map(|group| {
            let members = group.key.group_size;
            vec![
                Value::Text(group.key.kind.label().to_owned()),
                members.map_or(Value::Empty, |members| Value::Count(members as u64)),
                group.key.dtype.clone().map_or(Value::Empty, Value::Quoted),
                group
                    .message_bytes()
                    .map_or(Value::Empty, |bytes| Value::Bytes(bytes as u64)),
                Value::Count(group.count),
                Value::Ns(group.time_ns),
                Value::Ns(group.exposed_ns),
                rate(group.algorithm_bandwidth()),
                rate(group.bus_bandwidth()),
                rate(group.best_bus_bandwidth()),
            ]
        })
        .collect();
    table
}

fn longest(input: &Input, facts: &Facts) -> Table {
    let mut table = Table::new(
        "top_communication",
        "Longest communication operations",
        &[
            ("rank", "Rank"),
            ("operation", "Operation"),
            ("duration", "Duration"),
            ("stream", "Stream"),
        ],
    );
    let trace = &input.profile.trace;
    table.rows = facts
        .collectives
        .longest
        .iter()
        .zip(1..)
        .map(|(longest, rank)| {
            let name = trace.strings.get(trace.events.name(longest.event));
            vec![
                Value::Count(rank),
                Value::Quoted(format::middle_ellipsis(name, 80)),
                Value::Ns(longest.length_ns),
                longest
                    .stream
                    .map_or(Value::Empty, |stream| Value::Text(stream.to_string())),
            ]
        })
        .collect();
    table
}

fn notes(input: &Input, facts: &Facts) -> Vec<String> {
    let mut notes = Vec::new();
    if facts.copies.count() == 0 {
        notes.push("No memory copies were recorded on the GPU.".to_owned());
    }
    if facts.collectives.count == 0 {
        notes.push("No collective communication was recorded.".to_owned());
    } else {
        notes.push(
            "A trace of one process shows types, sizes and times of collectives. How much of the time is waiting for other members cannot be told from it."
                .to_owned(),
        );
        let unknown = facts.collectives.groups.iter();
        let n_unknown: u64 = unknown
            .filter(|group| group.key.elements.is_none())
            .map(|group| group.count)
            .sum();
        if n_unknown > 0 {
            notes.push(format!(
                "Of {} of {} the trace does not tell the size.",
                format::count(n_unknown),
                format::counted(facts.collectives.count, "collective")
            ));
        }
    }
    if let Overlap::Insufficient { .. } = facts.overlap() {
        notes.push("There is too little communication to judge its overlap.".to_owned());
    }
    let reads = facts.copies.askers_of(Direction::DeviceToDevice);
    let n_reads: u64 = reads
        .filter(|(asker, _)| {
            let op = asker.op.map(|op| input.profile.trace.strings.get(op));
            op == Some("aten::_local_scalar_dense")
        })
        .map(|(_, copies)| copies.count)
        .sum();
    if n_reads > 0 {
        notes.push(format!(
            "Of the copies within the GPU, {} came from `aten::_local_scalar_dense`, which reads a value for the host: some profilers name copies to pinned memory so.",
            format::count(n_reads)
        ));
    }
    if facts.copies.directions.iter().any(|(direction, _)| {
        matches!(direction, Direction::DeviceToHost | Direction::HostToDevice)
    }) {
        notes.push(
            "Bandwidths between host and GPU are measured; the GPU profile has no figure of that link to judge them by."
                .to_owned(),
        );
    }
    if let Some(link) = input.gpu().and_then(|gpu| gpu.link_gbps)
        && (facts.collectives.count > 0 || facts.copies.of(Direction::PeerToPeer).is_some())
    {
        notes.push(format!(
            "The links of this GPU to others carry {} in both directions together, by its profile.",
            format::bandwidth_gbps(link)
        ));
    }
    notes
}
