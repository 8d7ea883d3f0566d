//! The memory sheets.

use super::tables::{NO_MODULE, before_row, operator};
use crate::profile::lanes::begin_ns;
use crate::profile::memory::{DeviceMemory, driver_uses, share};
use crate::profile::memory_steps::memory_by_step;
use crate::report::sheet::{Cell, Column, Unit, column};
use crate::report::{Parts, SheetInput, ms};

pub(crate) const SUMMARY: &str = "memory_summary";
pub(crate) const BY_OPERATOR: &str = "memory_by_operator";
pub(crate) const PEAK: &str = "memory_at_peak";
pub(crate) const BY_STEP: &str = "memory_by_step";
pub(crate) const DRIVER_CALLS: &str = "memory_driver_calls";

const DEVICE: Column = column("device", Unit::Text, "Whose memory it is.");

#[rustfmt::skip]
pub(crate) const SUMMARY_COLUMNS: [Column; 19] = [
    DEVICE,
    column("peak bytes", Unit::Count, "Peak memory in use."),
    column("peak ms", Unit::Ms, "When, after the first event of the trace."),
    column("before bytes", Unit::Count, "What of it was allocated before the recording, or before the part that is analyzed."),
    column("before (%)", Unit::Percent, "Its share of the peak."),
    column("reserved bytes", Unit::Count, "What the allocator holds then, in use or not; empty where it reserves nothing."),
    column("unused bytes", Unit::Count, "What of that is not in use."),
    column("unused (%)", Unit::Percent, "Its share of what is reserved."),
    column("most reserved bytes", Unit::Count, "Peak memory reserved by the allocator."),
    column("allocations", Unit::Count, "Blocks that were allocated."),
    column("allocated bytes", Unit::Count, "Their total size."),
    column("releases", Unit::Count, "Blocks that were released."),
    column("released bytes", Unit::Count, "Their total size."),
    column("released of before", Unit::Count, "Releases of blocks that were allocated before."),
    column("is checked", Unit::Flag, "Totals and blocks agree: each total differs from the one before by what was reported, each release has the size of its allocation, and what was there before and blocks of the recording are the peak. Where not, only totals are told."),
    column("jumps", Unit::Count, "Totals that differ from the one before by another size than was reported."),
    column("wrong sizes", Unit::Count, "Releases of another size than was allocated."),
    column("reused", Unit::Count, "Allocations where a block lives already."),
    column("failed", Unit::Count, "Allocations that failed."),
];

#[rustfmt::skip]
pub(crate) const OPERATOR_COLUMNS: [Column; 10] = [
    DEVICE,
    column("operator", Unit::Text, "The innermost operator that asked for the blocks."),
    column("allocated for", Unit::Text, "The operator that most of it was allocated for, where this one only allocates."),
    column("allocations", Unit::Count, "Blocks that it allocated."),
    column("bytes", Unit::Count, "Their total size."),
    column("net bytes", Unit::Count, "What of it lives on at the end."),
    column("largest block bytes", Unit::Count, "The largest of them."),
    column("median life ms", Unit::Ms, "How long blocks are in use, the median of those that are released."),
    column("at peak bytes", Unit::Count, "What of it is in use when most is."),
    column("at peak (%)", Unit::Percent, "Its share of the peak."),
];

#[rustfmt::skip]
pub(crate) const PEAK_COLUMNS: [Column; 6] = [
    DEVICE,
    column("by", Unit::Text, "`before`, `operator`, `module` or `size`: the rows of each, with that of `before`, sum up to the peak."),
    column("name", Unit::Text, "The operator, the class of the module after that around it, or the size of a block in bytes."),
    column("blocks", Unit::Count, "Blocks that are in use when most is."),
    column("bytes", Unit::Count, "Their total size."),
    column("Percentage (%)", Unit::Percent, "Their share of the peak."),
];

#[rustfmt::skip]
pub(crate) const STEP_COLUMNS: [Column; 9] = [
    DEVICE,
    column("step", Unit::Text, "Its name."),
    column("start ms", Unit::Ms, "When it starts on the CPU, after the first event of the trace."),
    column("allocations", Unit::Count, "Blocks that are allocated in it."),
    column("bytes", Unit::Count, "Their total size."),
    column("start bytes", Unit::Count, "In use when it starts."),
    column("most bytes", Unit::Count, "Most in use during it."),
    column("end bytes", Unit::Count, "In use when it ends."),
    column("reserved bytes", Unit::Count, "What the allocator holds when it ends; empty where it reserves nothing."),
];

#[rustfmt::skip]
const DRIVER_COLUMNS: [Column; 5] = [
    column("call", Unit::Text, "The call that takes memory from the driver or gives it back."),
    column("operator", Unit::Text, "The operator around it."),
    column("start ms", Unit::Ms, "When it starts, after the first event of the trace."),
    column("time ms", Unit::Ms, "How long it takes."),
    column("is_retry", Unit::Flag, "An allocation that failed and was tried again: its operator took and gave back memory before."),
];

pub(crate) fn driver_columns(_: &Parts) -> Vec<Column> {
    DRIVER_COLUMNS.to_vec()
}

fn count(n: u64) -> Cell {
    i64::try_from(n).map_or(Cell::Empty, Cell::Int)
}

fn known(n: Option<u64>) -> Cell {
    n.map_or(Cell::Empty, count)
}

/// Zero comes from allocators that do not reserve memory, so it is not shown.
fn reserved(bytes: u64) -> Cell {
    known(Some(bytes).filter(|bytes| *bytes > 0))
}

fn percent(percent: Option<f64>) -> Cell {
    percent.map_or(Cell::Empty, Cell::Float)
}

fn text(of: &str) -> Cell {
    Cell::Text(of.to_owned())
}

pub(crate) fn summary_rows(input: &SheetInput) -> Vec<Vec<Cell>> {
    let memory = input.profile.memory();
    let begin_ns = begin_ns(&input.profile.trace);
    let devices = input.profile.trace.memory.devices();
    let rows = memory.devices.iter().map(|one| {
        let is_own = |row: u16| devices.get(usize::from(row)) == Some(&one.device);
        let failed = memory.failed.iter().filter(|failed| is_own(failed.device));
        vec![
            text(&one.label),
            count(one.peak.allocated),
            ms(one.peak.ts_ns.saturating_sub(begin_ns)),
            count(one.before_at_peak),
            percent(one.before_percent()),
            reserved(one.peak.reserved),
            known(one.peak.unused_bytes()),
            percent(one.peak.unused_percent()),
            reserved(one.most_reserved),
            count(one.n_allocations),
            count(one.allocated_bytes),
            count(one.n_frees),
            count(one.freed_bytes),
            count(one.check.n_freed_before),
            Cell::Flag(one.check.holds()),
            count(one.check.n_jumps),
            count(one.check.n_wrong_sizes),
            count(one.check.n_reused),
            count(failed.count() as u64),
        ]
    });
    rows.collect()
}

pub(crate) fn operator_rows(input: &SheetInput) -> Vec<Vec<Cell>> {
    let memory = input.profile.memory();
    let profile = input.profile;
    let of_device = |device: &DeviceMemory| {
        let operators = device.by_operator(profile).into_iter().map(|one| {
            let asked = one
                .requested_by
                .map(|name| text(profile.trace.strings.get(name)));
            vec![
                text(&device.label),
                Cell::Text(operator(profile, one.operator)),
                asked.unwrap_or(Cell::Empty),
                count(one.n_allocations),
                count(one.bytes),
                count(one.net_bytes),
                count(one.largest_bytes),
                one.median_life_ns.map_or(Cell::Empty, ms),
                count(one.peak_bytes),
                percent(share(one.peak_bytes, device.peak.allocated)),
            ]
        });
        operators.collect::<Vec<_>>()
    };
    memory.devices.iter().flat_map(of_device).collect()
}

pub(crate) fn peak_rows(input: &SheetInput) -> Vec<Vec<Cell>> {
    let memory = input.profile.memory();
    let profile = input.profile;
    let mut rows = Vec::new();
    for device in memory.devices.iter().filter(|one| one.check.holds()) {
        let mut add = |by: &str, name: String, blocks: Option<u64>, bytes: u64| {
            rows.push(vec![
                text(&device.label),
                text(by),
                Cell::Text(name),
                known(blocks),
                count(bytes),
                percent(share(bytes, device.peak.allocated)),
            ]);
        };
        let before = before_row(profile).to_owned();
        add("before", before, None, device.before_at_peak);
        for one in device.peak_by_operator(&profile.trace) {
            let name = operator(profile, one.operator);
            add("operator", name, Some(one.n_blocks), one.bytes);
        }
        for one in device.peak_by_module(profile) {
            let name = one.module.unwrap_or_else(|| NO_MODULE.to_owned());
            add("module", name, Some(one.n_blocks), one.bytes);
        }
        for one in device.peak_by_size() {
            add(
                "size",
                one.each_bytes.to_string(),
                Some(one.n_blocks),
                one.bytes,
            );
        }
    }
    rows
}

pub(crate) fn step_rows(input: &SheetInput) -> Vec<Vec<Cell>> {
    let memory = input.profile.memory();
    let begin_ns = begin_ns(&input.profile.trace);
    let of_device = |device: &DeviceMemory| {
        let steps = memory_by_step(input.profile, device)
            .into_iter()
            .map(|step| {
                vec![
                    text(&device.label),
                    Cell::Text(step.name),
                    ms(step.span.start_ns.saturating_sub(begin_ns)),
                    count(step.n_allocations),
                    count(step.bytes),
                    count(step.start_bytes),
                    count(step.peak_bytes),
                    count(step.end_bytes),
                    reserved(step.reserved_bytes),
                ]
            });
        steps.collect::<Vec<_>>()
    };
    memory.devices.iter().flat_map(of_device).collect()
}

pub(crate) fn driver_rows(input: &SheetInput) -> Vec<Vec<Cell>> {
    let (profile, begin_ns) = (input.profile, begin_ns(&input.profile.trace));
    let (trace, tree) = (&profile.trace, &profile.tree);
    let rows = driver_uses(profile);
    let rows = rows.iter().map(|one| {
        let above = tree.op_above_event(trace, one.event);
        vec![
            text(trace.name(one.event)),
            above.map_or(Cell::Empty, |event| text(trace.name(event))),
            ms(one.span.start_ns.saturating_sub(begin_ns)),
            ms(one.span.length()),
            Cell::Flag(one.is_retry),
        ]
    });
    rows.collect()
}
