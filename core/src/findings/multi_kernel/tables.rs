//! The tables: directions of copies, what requested them, types of collectives, the longest of them.

use super::assess::{CopyAssessment, Facts};
use super::severity;
use crate::findings::prelude::*;
use crate::names::frames::file_of;
use crate::profile::collectives::{Collectives, Longest};
use crate::profile::gpu::copies::{Copies, CopyOrigin, Direction};
use crate::trace::StringId;

/// Maximum number of rows of a table of copies' origins or of kinds of collectives.
const MAX_ROWS: usize = 20;

pub(super) fn tables(input: &Input, facts: &Facts) -> Vec<Table> {
    let mut tables = vec![summary(facts), breakdown(facts)];
    if !facts.copies.origins.is_empty() {
        tables.push(origins(input, &facts.copies.origins, "Copies by operator"));
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
    Value::bytes(bytes)
}

fn summary(facts: &Facts) -> Table {
    let transfers = |direction: Direction| {
        let copies = facts.copies.of(direction);
        let (count, ns) = copies.map_or((0, 0), |copies| (copies.count, copies.time_ns));
        let transfers = format!("{} ({})", format::count(count), format::time_ns(ns));
        (transfers, severity(facts.severity_of(direction)))
    };
    let (blocking, overlap) = (facts.blocking(), facts.overlap());
    let copies = format::count(facts.copies.count());
    let copies = (copies, severity(facts.worst_copies()));
    let exposed = format!("{} of total", format::percent(blocking.percent));
    let overlapped = overlap.percent.map(format::percent);
    let overlapped = overlapped.unwrap_or_else(|| "no communication".to_owned());
    #[rustfmt::skip]
    let rows = [
        ("Total memory copies", copies),
        ("D2H transfers", transfers(Direction::DeviceToHost)),
        ("H2D transfers", transfers(Direction::HostToDevice)),
        ("Exposed communication", (exposed, severity(blocking.severity))),
        ("Compute/communication overlap", (overlapped, text(overlap.label()))),
    ];
    let columns = [
        ("metric", "Metric"),
        ("value", "Value"),
        ("severity", "Severity"),
    ];
    let rows = rows.into_iter();
    Table::new("summary", "Summary", &columns).with_rows(
        rows.map(|(metric, (value, level))| vec![text(metric), Value::Text(value), level]),
    )
}

fn breakdown(facts: &Facts) -> Table {
    #[rustfmt::skip]
    let columns: &[CellColumn<&CopyAssessment>] = &[
        ("direction", "Direction", &|of| text(of.direction.label())),
        ("count", "Count", &|of| Value::Count(of.copies.count)),
        ("total_time", "Time", &|of| Value::Ns(of.copies.time_ns)),
        ("percent_of_total", "% of run", &|of| Value::Percent(of.percent)),
        ("exposed_time", "While nothing else runs", &|of| Value::Ns(of.copies.exposed_ns)),
        ("total_size", "Size", &|of| bytes(of.copies.total_bytes())),
        ("avg_size", "Mean size", &|of| bytes(of.copies.avg_bytes())),
        ("bandwidth", "Bandwidth", &|of| Value::gbps(of.copies.gbps())),
        ("host_wait", "CPU waits in the call", &|of| Value::Ns(of.copies.wait_ns)),
        ("severity_by_time", "By time", &|of| severity(of.by_time)),
        ("severity_by_count", "By count", &|of| severity(of.by_count)),
        ("severity", "Severity", &|of| severity(of.severity())),
    ];
    let title = "Memory copies by direction";
    Table::of("memory_copy_breakdown", title, &facts.assessed, columns)
}

pub(super) fn origins<'a>(
    input: &Input,
    groups: impl IntoIterator<Item = &'a (CopyOrigin, Copies)>,
    title: &str,
) -> Table {
    let (events, strings) = (&input.profile.trace.events, &input.profile.trace.strings);
    // The name of an operator or a call, or a frame without the folders of its file.
    let name = |name: Option<StringId>| {
        let name = name.map(|name| file_of(strings.get(name)));
        name.map_or(Value::Empty, |name| {
            Value::Quoted(format::middle_ellipsis(name, 80))
        })
    };
    let memory = |origin: &CopyOrigin| {
        let memory = origin.memory.map(|memory| text(memory.label()));
        memory.unwrap_or(Value::Empty)
    };
    #[rustfmt::skip]
    let columns: &[CellColumn<&(CopyOrigin, Copies)>] = &[
        ("direction", "Direction", &|(origin, _)| text(origin.direction.label())),
        ("memory", "Host memory", &|(origin, _)| memory(origin)),
        ("operator", "Launched by", &|(origin, _)| name(origin.op)),
        ("python", "In", &|(origin, _)| name(origin.frame)),
        ("count", "Count", &|(_, copies)| Value::Count(copies.count)),
        ("total_time", "Time", &|(_, copies)| Value::Ns(copies.time_ns)),
        ("exposed_time", "While nothing else runs", &|(_, copies)| Value::Ns(copies.exposed_ns)),
        ("total_size", "Size", &|(_, copies)| bytes(copies.total_bytes())),
        ("avg_size", "Mean size", &|(_, copies)| bytes(copies.avg_bytes())),
        ("bandwidth", "Bandwidth", &|(_, copies)| Value::gbps(copies.gbps())),
    ];
    let mut groups: Vec<&(CopyOrigin, Copies)> = groups.into_iter().collect();
    let rest = groups.split_off(groups.len().min(MAX_ROWS));
    let longest = groups.iter().map(|(_, copies)| copies.longest);
    let longest = longest.map(|copy| copy.map(|copy| events.uid(copy)));
    let longest = longest.collect();
    let mut table = Table {
        events: longest,
        ..Table::of("copies", title, groups, columns)
    };
    let rest = rest
        .iter()
        .map(|(_, copies)| (copies.count, copies.time_ns));
    if add_rest(&mut table, rest.collect()) {
        table.events.push(None);
    }
    table
}

/// Adds a row for what a table leaves out, by their counts and times; returns whether there is anything.
fn add_rest(table: &mut Table, rest: Vec<(u64, i64)>) -> bool {
    let Some(last) = table.rows.last().filter(|_| !rest.is_empty()) else {
        return false;
    };
    let (counts, times): (Vec<u64>, Vec<i64>) = rest.into_iter().unzip();
    let more = Value::Text(format!("{} more", format::count(counts.len() as u64)));
    let others = table.columns.iter().zip(last).skip(1);
    let others = others.map(|(column, cell)| match (column.key, cell.unit()) {
        ("count", _) => Value::Count(counts.iter().sum()),
        ("total_time", _) => Value::Ns(sum(times.iter().copied())),
        (_, unit) => unit.map_or(Value::Empty, Value::Unknown),
    });
    let row = std::iter::once(more).chain(others).collect();
    table.rows.push(row);
    true
}

pub(super) fn kinds(facts: &Facts) -> Table {
    let n_ranks = |group: &Collectives| {
        let n_ranks = group.key.group_size.map(|n_ranks| n_ranks as u64);
        n_ranks.map_or(Value::Empty, Value::Count)
    };
    let dtype = |group: &Collectives| {
        let recorded = group.key.dtype.as_deref()?;
        Some(format::dtype(recorded).unwrap_or(recorded).to_owned())
    };
    #[rustfmt::skip]
    let columns: &[CellColumn<&Collectives>] = &[
        ("type", "Type", &|group| text(group.key.kind.label())),
        ("group_size", "Ranks", &|group| n_ranks(group)),
        ("dtype", "Element", &|group| Value::quoted(dtype(group))),
        ("message_size", "Message", &|group| bytes(group.message_bytes().map(|bytes| bytes as u64))),
        ("count", "Count", &|group| Value::Count(group.count)),
        ("total_time", "Time", &|group| Value::Ns(group.time_ns)),
        ("exposed_time", "While nothing computes", &|group| Value::Ns(group.exposed_ns)),
        ("median_time", "Median", &|group| Value::Ns(group.median_ns)),
        ("excess_time", "Beyond the median", &|group| Value::Ns(group.excess_ns)),
        ("staging_time", "Copies in and out", &|group| match group.staging_ns {
            0 => Value::NO_NS,
            ns => Value::Ns(ns),
        }),
        ("algorithm_bandwidth", "Algorithm bandwidth", &|group| Value::gbps(group.algorithm_bandwidth())),
        ("bus_bandwidth", "Bus bandwidth", &|group| Value::gbps(group.bus_bandwidth())),
        ("best_bus_bandwidth", "Bus bandwidth of the shortest", &|group| Value::gbps(group.best_bus_bandwidth())),
    ];
    let groups = &facts.collectives.groups;
    let (shown, rest) = groups.split_at(groups.len().min(MAX_ROWS));
    let title = "Collectives by type and size";
    let mut table = Table::of("collectives", title, shown, columns);
    let rest = rest.iter().map(|group| (group.count, group.time_ns));
    add_rest(&mut table, rest.collect());
    table
}

fn longest(input: &Input, facts: &Facts) -> Table {
    let trace = &input.profile.trace;
    let name = |longest: &Longest| {
        let name = trace.strings.get(trace.events.name(longest.event));
        Value::Quoted(format::middle_ellipsis(&format::kernel_name(name), 80))
    };
    let stream = |longest: &Longest| longest.stream.map(|stream| text(&stream.to_string()));
    let all = &facts.collectives.longest;
    #[rustfmt::skip]
    let columns: &[CellColumn<(u64, &Longest)>] = &[
        ("rank", "Rank", &|(rank, _)| Value::Count(*rank)),
        ("operation", "Operation", &|(_, one)| name(one)),
        ("duration", "Duration", &|(_, one)| Value::Ns(one.length_ns)),
        ("stream", "Stream", &|(_, one)| stream(one).unwrap_or(Value::Empty)),
    ];
    let uids = all.iter().map(|one| Some(trace.events.uid(one.event)));
    let (uids, title) = (uids.collect(), "Longest communication operations");
    Table {
        events: uids,
        ..Table::of("top_communication", title, (1..).zip(all), columns)
    }
}
