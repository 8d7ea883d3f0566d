//! Memory tables: what the peak consists of, who allocates, steps, and the data of the curve.

use crate::base::format;
use crate::base::interval::Interval;
use crate::base::value::cell_columns;
use crate::profile::Profile;
use crate::profile::memory::steps::StepMemory;
use crate::profile::memory::{DeviceMemory, share};
use crate::profile::window::begin_ns;
use crate::report::fact_table::CellKind::{Name, Number, Text};
use crate::report::fact_table::{CellKind, FactRow, FactTable};
use crate::trace::{EventId, StringId};

/// Maximum rows of a table; sheets have all rows.
const MOST_ROWS: usize = 20;
/// Number of times in the table of the curve.
const TIMES: i64 = 20;

/// The name for memory that no operator requested.
pub(super) const OUTSIDE: &str = "(outside operators)";
/// The name for memory requested outside modules.
pub(crate) const NO_MODULE: &str = "(outside modules)";

pub(crate) fn operator(profile: &Profile, name: Option<StringId>) -> String {
    let name = name.map(|name| profile.trace.strings.get(name));
    name.unwrap_or(OUTSIDE).to_owned()
}

/// The name of the row for memory that was in use before the first report.
pub(crate) fn before_row(profile: &Profile) -> &'static str {
    match profile.window {
        Some(_) => "(before this part of the time)",
        None => "(before the recording)",
    }
}

/// A row of what the peak consists of: name, blocks, bytes.
struct PeakRow {
    name: String,
    n_blocks: Option<u64>,
    bytes: u64,
    call: Option<EventId>,
}

/// What the peak consists of, including earlier memory as a row of its own, largest first.
fn at_peak(
    profile: &Profile,
    device: &DeviceMemory,
    title: &str,
    heading: (&str, CellKind),
    mut all: Vec<PeakRow>,
) -> Option<FactTable> {
    if !device.check.holds() {
        return None;
    }
    if device.before_at_peak > 0 {
        let place = all.partition_point(|one| one.bytes > device.before_at_peak);
        let before = PeakRow {
            name: before_row(profile).to_owned(),
            n_blocks: None,
            bytes: device.before_at_peak,
            call: None,
        };
        all.insert(place, before);
    }
    let percent = |one: &PeakRow| share(one.bytes, device.peak.allocated);
    let (label, kind) = heading;
    FactTable::of(
        title,
        all.into_iter().take(MOST_ROWS),
        cell_columns![
            label, kind, |one| one.name.clone();
            "Blocks", Number, |one| one.n_blocks.map_or(String::new(), format::count);
            "At the peak", Number, |one| format::bytes(one.bytes);
            "% of peak", Number, |one| percent(one).map_or(String::new(), format::percent);
        ],
        |one| FactRow {
            event: one.call.map(|call| profile.trace.events.uid(call)),
            ..FactRow::default()
        },
    )
}

pub(super) fn peak_by_operator(profile: &Profile, device: &DeviceMemory) -> Option<FactTable> {
    let holders = device.peak_by_operator(&profile.trace).into_iter();
    let all = holders.map(|one| PeakRow {
        name: operator(profile, one.operator),
        n_blocks: Some(one.n_blocks),
        bytes: one.bytes,
        call: one.call,
    });
    let (title, heading) = ("At the peak, by operator", ("Operator", Name));
    at_peak(profile, device, title, heading, all.collect())
}

pub(super) fn peak_by_module(profile: &Profile, device: &DeviceMemory) -> Option<FactTable> {
    let holders = device.peak_by_module(profile);
    if holders.is_empty() {
        return None;
    }
    let all = holders.into_iter().map(|one| PeakRow {
        name: one.module.unwrap_or_else(|| NO_MODULE.to_owned()),
        n_blocks: Some(one.n_blocks),
        bytes: one.bytes,
        call: one.call,
    });
    let (title, heading) = ("At the peak, by module", ("Module", Name));
    at_peak(profile, device, title, heading, all.collect())
}

pub(super) fn peak_by_size(profile: &Profile, device: &DeviceMemory) -> Option<FactTable> {
    let all = device.peak_by_size().into_iter().map(|one| PeakRow {
        name: format::bytes(one.each_bytes),
        n_blocks: Some(one.n_blocks),
        bytes: one.bytes,
        call: None,
    });
    let (title, heading) = ("At the peak, by size", ("Size of a block", Text));
    at_peak(profile, device, title, heading, all.collect())
}

pub(super) fn by_operator(profile: &Profile, device: &DeviceMemory) -> Option<FactTable> {
    FactTable::of(
        "Operators that allocate",
        device.by_operator(profile).into_iter().take(MOST_ROWS),
        cell_columns![
            "Operator", Name, |one| operator(profile, one.operator);
            "Allocations", Number, |one| format::count(one.n_allocations);
            "Allocated", Number, |one| format::bytes(one.bytes);
            "At the peak", Number, |one| format::bytes(one.peak_bytes);
            "Net", Number, |one| format::bytes(one.net_bytes);
            "Largest block", Number, |one| format::bytes(one.largest_bytes);
            "Median life", Number, |one| one.median_life_ns.map_or(String::new(), format::time_ns);
        ],
        |one| FactRow {
            below: one.requested_by.map_or(String::new(), |name| {
                format!("mostly for {}", profile.trace.strings.get(name))
            }),
            event: one.call.map(|call| profile.trace.events.uid(call)),
            ..FactRow::default()
        },
    )
}

pub(super) fn by_step(profile: &Profile, steps: &[StepMemory]) -> Option<FactTable> {
    FactTable::of(
        "Steps",
        steps.iter().take(MOST_ROWS * 2),
        cell_columns![
            "Step", Name, |step| step.name.clone();
            "Allocations", Number, |step| format::count(step.n_allocations);
            "Allocated", Number, |step| format::bytes(step.bytes);
            "In use at its start", Number, |step| format::bytes(step.start_bytes);
            "Most in use", Number, |step| format::bytes(step.peak_bytes);
            "In use at its end", Number, |step| format::bytes(step.end_bytes);
            "Reserved at its end", Number, |step| bytes_or_nothing(step.reserved_bytes);
        ],
        |step| FactRow {
            event: Some(profile.trace.events.uid(step.event)),
            ..FactRow::default()
        },
    )
}

fn bytes_or_nothing(bytes: u64) -> String {
    match bytes {
        0 => String::new(),
        bytes => format::bytes(bytes),
    }
}

/// The curve at evenly spaced times.
pub(super) fn over_time(
    profile: &Profile,
    device: &DeviceMemory,
    span: Interval,
) -> Option<FactTable> {
    let columns = [
        ("From", Number),
        ("Most in use", Number),
        ("In use at the end", Number),
        ("Reserved", Number),
    ];
    let begin_ns = begin_ns(&profile.trace);
    let part_ns = (span.length() / TIMES).max(1);
    let rows = (0..TIMES).map(|at| {
        let start_ns = span.start_ns.saturating_add(part_ns.saturating_mul(at));
        // The last part ends with the span, regardless of rounding.
        let end_ns = match at + 1 == TIMES {
            true => span.end_ns.saturating_add(1),
            false => start_ns.saturating_add(part_ns),
        };
        let (start, end) = (
            device.at(start_ns.saturating_sub(1)),
            device.at(end_ns.saturating_sub(1)),
        );
        let within = device.within(Interval::new(start_ns, end_ns));
        let points = device.curve.get(within).unwrap_or_default();
        let most = points.iter().map(|point| point.allocated).max();
        FactRow {
            cells: vec![
                format::time_ns(start_ns.saturating_sub(begin_ns)),
                format::bytes(most.unwrap_or(0).max(start.allocated)),
                format::bytes(end.allocated),
                bytes_or_nothing(end.reserved),
            ],
            ..FactRow::default()
        }
    });
    FactTable::new("Memory over time", &columns, rows.collect())
}
