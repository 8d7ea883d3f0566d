//! The tables: directions of copies, who asked for them, types of collectives, the longest of them.

use super::assess::Facts;
use super::copies::{Asker, Copies, Direction};
use super::severity;
use crate::base::format;
use crate::base::interval::sum;
use crate::base::value::{Table, Value};
use crate::findings::origin::file_of;
use crate::findings::{Input, Severity};
use crate::trace::StringId;

/// Rows of a table of who asked for copies or of kinds of collectives.
const MAX_ROWS: usize = 20;

pub(super) fn tables(input: &Input, facts: &Facts) -> Vec<Table> {
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
            ("total_size", "Size"),
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
                copies.total_bytes().map_or(Value::NO_BYTES, Value::Bytes),
                copies.avg_bytes().map_or(Value::NO_BYTES, Value::Bytes),
                copies.gbps().map_or(Value::NO_GBPS, Value::GbPerS),
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

pub(super) fn askers<'a>(
    input: &Input,
    groups: impl IntoIterator<Item = &'a (Asker, Copies)>,
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
            ("total_size", "Size"),
            ("avg_size", "Mean size"),
            ("bandwidth", "Bandwidth"),
        ],
    );
    let mut groups: Vec<&(Asker, Copies)> = groups.into_iter().collect();
    let rest = groups.split_off(groups.len().min(MAX_ROWS));
    let events = &input.profile.trace.events;
    table.events = groups
        .iter()
        .map(|(_, copies)| copies.longest.map(|copy| events.uid(copy)))
        .collect();
    table.rows = groups
        .into_iter()
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
                copies.total_bytes().map_or(Value::NO_BYTES, Value::Bytes),
                copies.avg_bytes().map_or(Value::NO_BYTES, Value::Bytes),
                copies.gbps().map_or(Value::NO_GBPS, Value::GbPerS),
            ]
        })
        .collect();
    if !rest.is_empty() {
        table.events.push(None);
        table.rows.push(vec![
            more(rest.len()),
            Value::Empty,
            Value::Empty,
            Value::Empty,
            Value::Count(rest.iter().map(|(_, copies)| copies.count).sum()),
            Value::Ns(sum(rest.iter().map(|(_, copies)| copies.time_ns))),
            Value::NO_NS,
            Value::NO_BYTES,
            Value::NO_BYTES,
            Value::NO_GBPS,
        ]);
    }
    table
}

/// What stands for the rows that a table leaves out.
fn more(n_rows: usize) -> Value {
    Value::Text(format!("{} more", format::count(n_rows as u64)))
}

pub(super) fn kinds(facts: &Facts) -> Table {
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
    let rate = |gbps: Option<f64>| gbps.map_or(Value::NO_GBPS, Value::GbPerS);
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
                    .map_or(Value::NO_BYTES, |bytes| Value::Bytes(bytes as u64)),
                Value::Count(group.count),
                Value::Ns(group.time_ns),
                Value::Ns(group.exposed_ns),
                rate(group.algorithm_bandwidth()),
                rate(group.bus_bandwidth()),
                rate(group.best_bus_bandwidth()),
            ]
        })
        .collect();
    let rest = facts.collectives.groups.get(MAX_ROWS..).unwrap_or_default();
    if !rest.is_empty() {
        table.rows.push(vec![
            more(rest.len()),
            Value::Empty,
            Value::Empty,
            Value::NO_BYTES,
            Value::Count(rest.iter().map(|group| group.count).sum()),
            Value::Ns(sum(rest.iter().map(|group| group.time_ns))),
            Value::NO_NS,
            Value::NO_GBPS,
            Value::NO_GBPS,
            Value::NO_GBPS,
        ]);
    }
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
    let collectives = || facts.collectives.longest.iter();
    table.events = collectives()
        .map(|longest| Some(trace.events.uid(longest.event)))
        .collect();
    table.rows = collectives()
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
