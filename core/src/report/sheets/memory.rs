//! The memory sheets.

use super::SheetInput;
use crate::profile::memory::steps::{StepMemory, memory_by_step};
use crate::profile::memory::{DeviceMemory, DriverUse, OperatorMemory, driver_uses, share};
use crate::profile::window::begin_ns;
use crate::report::columns::{Col, columns, float, int, known, ms, ms_of, rows, text};
use crate::report::memory::tables::{NO_MODULE, before_row, operator};
use crate::report::sheet::Cell;

pub(crate) const SUMMARY: &str = "memory_summary";
pub(crate) const BY_OPERATOR: &str = "memory_by_operator";
pub(crate) const PEAK: &str = "memory_at_peak";
pub(crate) const BY_STEP: &str = "memory_by_step";
pub(crate) const DRIVER_CALLS: &str = "memory_driver_calls";

pub(crate) fn summary_columns<'a>() -> Vec<Col<SummaryRow<'a>>> {
    columns![SummaryRow<'_>:
        "device", Text, |of| text(&of.device.label), "Whose memory it is.";
        "peak bytes", Count, |of| int(of.device.peak.allocated), "Peak memory in use.";
        "peak ms", Ms, |of| ms(of.device.peak.ts_ns.saturating_sub(of.begin_ns)), "When, after the first event of the trace.";
        "before bytes", Count, |of| int(of.device.before_at_peak), "What of it was allocated before the recording, or before the part that is analyzed.";
        "before (%)", Percent, |of| float(of.device.before_percent()), "Its share of the peak.";
        "reserved bytes", Count, |of| reserved(of.device.peak.reserved), "What the allocator holds then, in use or not; empty where it reserves nothing.";
        "unused bytes", Count, |of| known(of.device.peak.unused_bytes()), "What of that is not in use.";
        "unused (%)", Percent, |of| float(of.device.peak.unused_percent()), "Its share of what is reserved.";
        "most reserved bytes", Count, |of| reserved(of.device.most_reserved), "Peak memory reserved by the allocator.";
        "allocations", Count, |of| int(of.device.n_allocations), "Blocks that were allocated.";
        "allocated bytes", Count, |of| int(of.device.allocated_bytes), "Their total size.";
        "releases", Count, |of| int(of.device.n_frees), "Blocks that were released.";
        "released bytes", Count, |of| int(of.device.freed_bytes), "Their total size.";
        "released of before", Count, |of| int(of.device.check.n_freed_before), "Releases of blocks that were allocated before.";
        "is checked", Flag, |of| Cell::Flag(of.device.check.holds()), "Totals and blocks agree: each total differs from the one before by what was reported, each release has the size of its allocation, and what was there before and blocks of the recording are the peak. Where not, only totals are shown.";
        "jumps", Count, |of| int(of.device.check.n_jumps), "Totals that differ from the one before by another size than was reported.";
        "wrong sizes", Count, |of| int(of.device.check.n_wrong_sizes), "Releases of another size than was allocated.";
        "reused", Count, |of| int(of.device.check.n_reused), "Allocations where a block lives already.";
        "failed", Count, |of| int(of.n_failed), "Allocations that failed.";
    ]
}

pub(crate) fn operator_columns<'a>() -> Vec<Col<OperatorRow<'a>>> {
    columns![OperatorRow<'_>:
        "device", Text, |of| text(&of.device.label), "Whose memory it is.";
        "operator", Text, |of| text(&of.operator), "The innermost operator that asked for the blocks.";
        "allocated for", Text, |of| text(of.requested_by), "The operator that most of it was allocated for, where this one only allocates.";
        "allocations", Count, |of| int(of.of.n_allocations), "Blocks that it allocated.";
        "bytes", Count, |of| int(of.of.bytes), "Their total size.";
        "net bytes", Count, |of| int(of.of.net_bytes), "What of it lives on at the end.";
        "largest block bytes", Count, |of| int(of.of.largest_bytes), "The largest of them.";
        "median life ms", Ms, |of| ms_of(of.of.median_life_ns), "How long blocks are in use, the median of those that are released.";
        "at peak bytes", Count, |of| int(of.of.peak_bytes), "What of it is in use when most is.";
        "at peak (%)", Percent, |of| float(share(of.of.peak_bytes, of.device.peak.allocated)), "Its share of the peak.";
    ]
}

pub(crate) fn peak_columns<'a>() -> Vec<Col<PeakRow<'a>>> {
    columns![PeakRow<'_>:
        "device", Text, |of| text(&of.device.label), "Whose memory it is.";
        "by", Text, |of| text(of.by), "`before`, `operator`, `module` or `size`: the rows of each, with that of `before`, sum up to the peak.";
        "name", Text, |of| text(&of.name), "The operator, the class of the module after that around it, or the size of a block in bytes.";
        "blocks", Count, |of| known(of.blocks), "Blocks that are in use when most is.";
        "bytes", Count, |of| int(of.bytes), "Their total size.";
        "Percentage (%)", Percent, |of| float(share(of.bytes, of.device.peak.allocated)), "Their share of the peak.";
    ]
}

pub(crate) fn step_columns<'a>() -> Vec<Col<StepRow<'a>>> {
    columns![StepRow<'_>:
        "device", Text, |of| text(&of.device.label), "Whose memory it is.";
        "step", Text, |of| text(&of.step.name), "Its name.";
        "start ms", Ms, |of| ms(of.step.span.start_ns.saturating_sub(of.begin_ns)), "When it starts on the CPU, after the first event of the trace.";
        "allocations", Count, |of| int(of.step.n_allocations), "Blocks that are allocated in it.";
        "bytes", Count, |of| int(of.step.bytes), "Their total size.";
        "start bytes", Count, |of| int(of.step.start_bytes), "In use when it starts.";
        "most bytes", Count, |of| int(of.step.peak_bytes), "Most in use during it.";
        "end bytes", Count, |of| int(of.step.end_bytes), "In use when it ends.";
        "reserved bytes", Count, |of| reserved(of.step.reserved_bytes), "What the allocator holds when it ends; empty where it reserves nothing.";
    ]
}

pub(crate) fn driver_columns<'a>() -> Vec<Col<DriverRow<'a>>> {
    columns![DriverRow<'_>:
        "call", Text, |of| text(of.call), "The call that takes memory from the driver or gives it back.";
        "operator", Text, |of| text(of.operator), "The operator around it.";
        "start ms", Ms, |of| ms(of.of.span.start_ns.saturating_sub(of.begin_ns)), "When it starts, after the first event of the trace.";
        "time ms", Ms, |of| ms(of.of.span.length()), "How long it takes.";
        "is_retry", Flag, |of| Cell::Flag(of.of.is_retry), "An allocation that failed and was tried again: its operator took and gave back memory before.";
    ]
}

/// Zero comes from allocators that do not reserve memory, so it is not shown.
fn reserved(bytes: u64) -> Cell {
    known(Some(bytes).filter(|bytes| *bytes > 0))
}

pub(crate) struct SummaryRow<'a> {
    device: &'a DeviceMemory,
    n_failed: usize,
    begin_ns: i64,
}

pub(crate) fn summary_rows(input: &SheetInput) -> Vec<Vec<Cell>> {
    let memory = input.profile.memory();
    let devices = input.profile.trace.memory.devices();
    let all = memory.devices.iter().map(|device| {
        let is_own = |row: u16| devices.get(usize::from(row)) == Some(&device.device);
        let failed = memory.failed.iter().filter(|failed| is_own(failed.device));
        SummaryRow {
            device,
            n_failed: failed.count(),
            begin_ns: begin_ns(&input.profile.trace),
        }
    });
    rows(&summary_columns(), all)
}

pub(crate) struct OperatorRow<'a> {
    device: &'a DeviceMemory,
    of: OperatorMemory,
    operator: String,
    requested_by: &'a str,
}

pub(crate) fn operator_rows(input: &SheetInput) -> Vec<Vec<Cell>> {
    let profile = input.profile;
    let memory = profile.memory();
    let all = memory.devices.iter().flat_map(|device| {
        let operators = device.by_operator(profile).into_iter();
        operators.map(move |of| OperatorRow {
            device,
            operator: operator(profile, of.operator),
            requested_by: (of.requested_by).map_or("", |name| profile.trace.strings.get(name)),
            of,
        })
    });
    rows(&operator_columns(), all)
}

pub(crate) struct PeakRow<'a> {
    device: &'a DeviceMemory,
    by: &'static str,
    name: String,
    blocks: Option<u64>,
    bytes: u64,
}

pub(crate) fn peak_rows(input: &SheetInput) -> Vec<Vec<Cell>> {
    let profile = input.profile;
    let memory = profile.memory();
    let mut all = Vec::new();
    for device in memory.devices.iter().filter(|one| one.check.holds()) {
        let mut add = |by, name, blocks, bytes| {
            all.push(PeakRow {
                device,
                by,
                name,
                blocks,
                bytes,
            });
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
            let name = one.each_bytes.to_string();
            add("size", name, Some(one.n_blocks), one.bytes);
        }
    }
    rows(&peak_columns(), all)
}

pub(crate) struct StepRow<'a> {
    device: &'a DeviceMemory,
    step: StepMemory,
    begin_ns: i64,
}

pub(crate) fn step_rows(input: &SheetInput) -> Vec<Vec<Cell>> {
    let profile = input.profile;
    let begin_ns = begin_ns(&profile.trace);
    let memory = profile.memory();
    let all = memory.devices.iter().flat_map(|device| {
        let steps = memory_by_step(profile, device).into_iter();
        steps.map(move |step| StepRow {
            device,
            step,
            begin_ns,
        })
    });
    rows(&step_columns(), all)
}

pub(crate) struct DriverRow<'a> {
    call: &'a str,
    operator: &'a str,
    of: DriverUse,
    begin_ns: i64,
}

pub(crate) fn driver_rows(input: &SheetInput) -> Vec<Vec<Cell>> {
    let (trace, tree) = (&input.profile.trace, &input.profile.tree);
    let all = driver_uses(input.profile);
    let all = all.iter().map(|of| DriverRow {
        call: trace.name(of.event),
        operator: (tree.op_above_event(trace, of.event)).map_or("", |event| trace.name(event)),
        of: *of,
        begin_ns: begin_ns(trace),
    });
    rows(&driver_columns(), all)
}
