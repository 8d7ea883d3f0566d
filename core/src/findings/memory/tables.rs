//! The tables of findings about memory.

use crate::findings::prelude::*;
use crate::profile::Profile;
use crate::profile::memory::steps::StepMemory;
use crate::profile::memory::{DeviceMemory, Memory, OperatorMemory, share};
use crate::trace::StringId;

/// Maximum number of rows of a table of operators.
const MOST_ROWS: usize = 10;

/// One row per device.
pub(super) fn devices(memory: &Memory) -> Table {
    let percent = |device: &DeviceMemory| Value::percent(device.peak.unused_percent());
    let columns: &[CellColumn<&DeviceMemory>] = &[
        ("device", "Device", &|one| Value::Text(one.label.clone())),
        ("peak", "Peak in use", &|one| {
            Value::Bytes(one.peak.allocated)
        }),
        ("before", "Allocated before", &|one| {
            Value::Bytes(one.before_at_peak)
        }),
        ("reserved", "Reserved then", &|one| {
            Value::Bytes(one.peak.reserved)
        }),
        ("unused", "Not in use", &|one| percent(one)),
        ("allocations", "Allocations", &|one| {
            Value::Count(one.n_allocations)
        }),
    ];
    Table::of(
        "memory_devices",
        "Memory by device",
        &memory.devices,
        columns,
    )
}

/// The holders of a device's peak, with a row for what was allocated before the recording.
pub(super) fn at_peak(profile: &Profile, device: &DeviceMemory) -> Table {
    let before = (device.before_at_peak > 0).then(|| {
        let label = "allocated before".to_owned();
        (Value::Text(label), None, device.before_at_peak)
    });
    let holders = device.peak_by_operator(&profile.trace).into_iter();
    let holders = holders.map(|one| {
        let name = operator_name(profile, one.operator);
        (name, Some(one.n_blocks), one.bytes)
    });
    let rows = before.into_iter().chain(holders).take(MOST_ROWS);
    let columns: &[CellColumn<(Value, Option<u64>, u64)>] = &[
        ("operator", "Operator", &|one| one.0.clone()),
        ("blocks", "Blocks", &|one| {
            one.1.map_or(Value::Empty, Value::Count)
        }),
        ("bytes", "At the peak", &|one| Value::Bytes(one.2)),
        ("share", "% of peak", &|one| {
            Value::percent(share(one.2, device.peak.allocated))
        }),
    ];
    let title = format!("At the peak of {}", device.label);
    Table::of("memory_at_peak", title, rows, columns)
}

/// How totals and blocks disagree: "3 totals that jump".
pub(super) fn disagreement(device: &DeviceMemory) -> String {
    let check = device.check;
    let kinds = [
        (check.n_jumps, "jump of a total"),
        (check.n_wrong_sizes, "release of another size"),
        (check.n_reused, "allocation where a block lives"),
    ];
    let named = kinds.iter().filter(|(n, _)| *n > 0);
    let named: Vec<String> = named.map(|(n, what)| format!("{n} × {what}")).collect();
    match named.is_empty() {
        true => "the peak is another than its blocks".to_owned(),
        false => named.join(", "),
    }
}

fn operator_name(profile: &Profile, name: Option<StringId>) -> Value {
    match name {
        Some(name) => Value::Quoted(profile.trace.strings.get(name).to_owned()),
        None => Value::Text("outside of operators".to_owned()),
    }
}

/// Operators, sorted by the given figure in descending order.
pub(super) fn operators(
    input: &Input,
    device: &DeviceMemory,
    title: &str,
    figure: fn(&OperatorMemory) -> u64,
) -> Table {
    let profile = input.profile;
    let mut all = device.by_operator(profile);
    all.retain(|one| figure(one) > 0);
    all.arrange_by_largest(figure);
    all.truncate(MOST_ROWS);
    let life = |one: &OperatorMemory| Value::ns(one.median_life_ns);
    let columns: &[CellColumn<OperatorMemory>] = &[
        ("operator", "Operator", &|one| {
            operator_name(profile, one.operator)
        }),
        ("asked_by", "Allocated for", &|one| match one.requested_by {
            Some(name) => operator_name(profile, Some(name)),
            None => Value::Empty,
        }),
        ("allocations", "Allocations", &|one| {
            Value::Count(one.n_allocations)
        }),
        ("bytes", "Allocated", &|one| Value::Bytes(one.bytes)),
        ("peak", "At the peak", &|one| Value::Bytes(one.peak_bytes)),
        ("net", "At the end", &|one| Value::Bytes(one.net_bytes)),
        ("largest", "Largest block", &|one| {
            Value::Bytes(one.largest_bytes)
        }),
        ("life", "Median life", &|one| life(one)),
    ];
    Table::of("memory_operators", title, all, columns)
}

/// Steps with the memory in use when they end.
pub(super) fn steps(steps: &[&StepMemory]) -> Table {
    let columns: &[CellColumn<&StepMemory>] = &[
        ("step", "Step", &|one| Value::Quoted(one.name.clone())),
        ("start", "In use at its start", &|one| {
            Value::Bytes(one.start_bytes)
        }),
        ("peak", "Most in use", &|one| Value::Bytes(one.peak_bytes)),
        ("end", "In use at its end", &|one| {
            Value::Bytes(one.end_bytes)
        }),
        ("allocations", "Allocations", &|one| {
            Value::Count(one.n_allocations)
        }),
    ];
    let shown = steps.iter().take(MOST_ROWS * 2).copied();
    Table::of("memory_steps", "Memory by step", shown, columns)
}
