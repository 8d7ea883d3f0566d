//! The tables: directions of copies, who asked for them, types of collectives, the longest of them.

use super::assess::Facts;
use super::severity;
use crate::base::format;
use crate::base::interval::sum;
use crate::base::value::{Table, Value};
use crate::findings::Input;
use crate::names::frames::file_of;
use crate::profile::copies::{Asker, Copies, Direction};
use crate::trace::StringId;

/// Rows of a table of who asked for copies or of kinds of collectives.
const MAX_ROWS: usize = 20;

pub(super) fn tables(input: &Input, facts: &Facts) -> Vec<Table> {
    let mut tables = vec![summary(facts), breakdown(facts)];
    if !facts.copies.askers.is_empty() {
        let groups = &facts.copies.askers;
        tables.push(askers(input, groups, "copies", "Copies by operator"));
    }
    if facts.collectives.count > 0 {
        tables.push(kinds(facts));
        tables.push(longest(input, facts));
    }
    tables
}

fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

fn bytes(bytes: Option<u64>) -> Value {
    bytes.map_or(Value::NO_BYTES, Value::Bytes)
}

fn gbps(gbps: Option<f64>) -> Value {
    gbps.map_or(Value::NO_GBPS, Value::GbPerS)
}

fn summary(facts: &Facts) -> Table {
    let transfers = |direction: Direction| {
        let copies = facts.copies.of(direction);
        let (count, ns) = copies.map_or((0, 0), |copies| (copies.count, copies.time_ns));
        format!("{} ({})", format::count(count), format::time_ns(ns))
    };
    let level = |direction| severity(facts.severity_of(direction));
    let (blocking, overlap) = (facts.blocking(), facts.overlap());
    let overlapped = overlap.percent.map(format::percent);
    let mut table = Table::new(
        "summary",
        "Summary",
        &[
            ("metric", "Metric"),
            ("value", "Value"),
            ("severity", "Severity"),
        ],
    );
    let rows = [
        (
            "Total memory copies",
            format::count(facts.copies.count()),
            severity(facts.worst_copies()),
        ),
        (
            "D2H transfers",
            transfers(Direction::DeviceToHost),
            level(Direction::DeviceToHost),
        ),
        (
            "H2D transfers",
            transfers(Direction::HostToDevice),
            level(Direction::HostToDevice),
        ),
        (
            "Exposed communication",
            format!("{} of total", format::percent(blocking.percent)),
            severity(blocking.severity),
        ),
        (
            "Compute/communication overlap",
            overlapped.unwrap_or_else(|| "no communication".to_owned()),
            text(overlap.label()),
        ),
    ];
    table.rows = rows
        .into_iter()
        .map(|(metric, value, level)| vec![text(metric), Value::Text(value), level])
        .collect();
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
            ("percent_of_total", "% of run"),
            ("exposed_time", "While nothing else runs"),
            ("total_size", "Size"),
            ("avg_size", "Mean size"),
            ("bandwidth", "Bandwidth"),
            ("host_wait", "CPU waits in the call"),
            ("severity_by_time", "By time"),
            ("severity_by_count", "By count"),
            ("severity", "Severity"),
        ],
    );
    let assessed = facts.assessed.iter();
    table.rows = assessed
        .map(|assessed| {
            let copies = &assessed.copies;
            vec![
                text(assessed.direction.label()),
                Value::Count(copies.count),
                Value::Ns(copies.time_ns),
                Value::Percent(assessed.percent),
                Value::Ns(copies.exposed_ns),
                bytes(copies.total_bytes()),
                bytes(copies.avg_bytes()),
                gbps(copies.gbps()),
                Value::Ns(copies.wait_ns),
                severity(assessed.by_time),
                severity(assessed.by_count),
                severity(assessed.severity()),
            ]
        })
        .collect();
    table
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
    let (events, strings) = (&input.profile.trace.events, &input.profile.trace.strings);
    // The name of an operator or a call, or a frame without the folders of its file.
    let name = |name: Option<StringId>| {
        let name = name.map(|name| file_of(strings.get(name)));
        name.map_or(Value::Empty, |name| {
            Value::Quoted(format::middle_ellipsis(name, 80))
        })
    };
    let mut groups: Vec<&(Asker, Copies)> = groups.into_iter().collect();
    let rest = groups.split_off(groups.len().min(MAX_ROWS));
    for (asker, copies) in groups {
        let memory = asker.memory.map(|memory| text(memory.label()));
        table
            .events
            .push(copies.longest.map(|copy| events.uid(copy)));
        table.rows.push(vec![
            text(asker.direction.label()),
            memory.unwrap_or(Value::Empty),
            name(asker.op),
            name(asker.frame),
            Value::Count(copies.count),
            Value::Ns(copies.time_ns),
            Value::Ns(copies.exposed_ns),
            bytes(copies.total_bytes()),
            bytes(copies.avg_bytes()),
            gbps(copies.gbps()),
        ]);
    }
    if !rest.is_empty() {
        table.events.push(None);
        let copies = || rest.iter().map(|(_, copies)| copies);
        table.rows.push(vec![
            more(rest.len()),
            Value::Empty,
            Value::Empty,
            Value::Empty,
            Value::Count(copies().map(|copies| copies.count).sum()),
            Value::Ns(sum(copies().map(|copies| copies.time_ns))),
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
            ("group_size", "Ranks"),
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
    let groups = &facts.collectives.groups;
    let (shown, rest) = groups.split_at(groups.len().min(MAX_ROWS));
    for group in shown {
        let key = &group.key;
        let n_ranks = key.group_size.map(|n_ranks| Value::Count(n_ranks as u64));
        table.rows.push(vec![
            text(key.kind.label()),
            n_ranks.unwrap_or(Value::Empty),
            key.dtype.clone().map_or(Value::Empty, Value::Quoted),
            bytes(group.message_bytes().map(|bytes| bytes as u64)),
            Value::Count(group.count),
            Value::Ns(group.time_ns),
            Value::Ns(group.exposed_ns),
            gbps(group.algorithm_bandwidth()),
            gbps(group.bus_bandwidth()),
            gbps(group.best_bus_bandwidth()),
        ]);
    }
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
    for (longest, rank) in facts.collectives.longest.iter().zip(1..) {
        let name = trace.strings.get(trace.events.name(longest.event));
        let stream = longest.stream.map(|stream| text(&stream.to_string()));
        table.events.push(Some(trace.events.uid(longest.event)));
        table.rows.push(vec![
            Value::Count(rank),
            Value::Quoted(format::middle_ellipsis(name, 80)),
            Value::Ns(longest.length_ns),
            stream.unwrap_or(Value::Empty),
        ]);
    }
    table
}
