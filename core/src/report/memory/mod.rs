//! Memory for views and documents: use over time, what the peak consists of, and who allocates.

mod chart;
pub(super) mod tables;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use super::fact_table::FactTable;
use crate::base::format;
use crate::profile::Profile;
use crate::profile::memory::steps::memory_by_step;
use crate::profile::memory::{DeviceMemory, DriverCall, Memory, driver_uses};
use crate::profile::window::begin_ns;
use crate::trace::Source;
pub use chart::{ChartPoint, ChartSpan, MemoryChart};

/// The memory view.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct MemoryView {
    /// The result in a sentence or two, or why there is none if no allocator reported anything.
    pub headline: String,
    /// How to record it; `None` if it was recorded.
    pub how: Option<String>,
    /// What the figures cover and what they leave out, a sentence each.
    pub notes: Vec<String>,
    /// GPUs before CPUs.
    pub devices: Vec<DeviceView>,
}

/// The memory view of one device.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct DeviceView {
    /// Its name.
    pub label: String,
    /// Figures: label and value.
    pub figures: Vec<(String, String)>,
    /// Memory over time.
    pub chart: MemoryChart,
    /// The data of the chart as a table.
    pub twin: Option<FactTable>,
    /// What the peak consists of, operators, steps.
    pub tables: Vec<FactTable>,
    /// Notes for this device only, a sentence each.
    pub notes: Vec<String>,
}

/// The message if no allocator reported anything.
pub(crate) const NOT_RECORDED: &str = "This trace has no memory events.";
/// How to record them, with PyTorch's profiler.
const HOW_TO_RECORD: &str = "Record with `profile(profile_memory=True)` to see memory in use over time, what holds the peak, and which operators allocate.";

/// How to see the memory in use, for a trace without memory events.
fn how_to_record(source: Source) -> &'static str {
    match source {
        Source::Kineto => HOW_TO_RECORD,
        Source::KinetoPerfetto => {
            "PyTorch leaves memory events out of its Perfetto export. Export JSON (`trace.json.gz`), recorded with `profile(profile_memory=True)`, to see memory in use over time."
        }
        Source::Rocprofv3 | Source::Perfetto | Source::Xla => {
            "The program that wrote it reported no allocations of a caching allocator."
        }
    }
}

/// The memory view of a profile.
pub fn memory_view(profile: &Profile) -> MemoryView {
    let memory = profile.memory();
    if memory.devices.is_empty() {
        let what = match profile.window {
            Some(_) if !profile.trace.memory.is_empty() => {
                "No allocator reported anything in this part of the time."
            }
            _ => NOT_RECORDED,
        };
        let is_recorded = !profile.trace.memory.is_empty();
        return MemoryView {
            headline: what.to_owned(),
            how: (!is_recorded).then(|| how_to_record(profile.trace.source).to_owned()),
            ..MemoryView::default()
        };
    }
    MemoryView {
        headline: headline(profile, &memory),
        how: None,
        notes: notes(profile, &memory),
        devices: shown(&memory).map(|one| device(profile, one)).collect(),
    }
}

/// The name for memory that was in use before the first report.
fn before(profile: &Profile) -> &'static str {
    match profile.window {
        Some(_) => "before this part of the time",
        None => "before the recording (weights, caches, earlier steps)",
    }
}

/// The devices with sections: those with enough memory in use, otherwise all.
fn shown(memory: &Memory) -> impl Iterator<Item = &DeviceMemory> {
    let is_any_large = memory.devices.iter().any(DeviceMemory::is_large);
    let devices = memory.devices.iter();
    devices.filter(move |device| device.is_large() || !is_any_large)
}

/// The peak of each main device, a sentence each.
fn headline(profile: &Profile, memory: &Memory) -> String {
    let sentences = format::joined(memory.main().map(|one| sentence(profile, one)), " ");
    match sentences.is_empty() {
        true => "Less than 1 MB is allocated on any device.".to_owned(),
        false => sentences,
    }
}

fn sentence(profile: &Profile, device: &DeviceMemory) -> String {
    let peak = device.peak;
    let reserved = match peak.reserved {
        0 => String::new(),
        bytes => format!(" of {} reserved", format::bytes(bytes)),
    };
    format!(
        "{} memory peaks at {}{reserved}, {} after the trace begins.",
        device.label,
        format::bytes(peak.allocated),
        format::time_ns(peak.ts_ns.saturating_sub(begin_ns(&profile.trace)))
    )
}

fn notes(profile: &Profile, memory: &Memory) -> Vec<String> {
    let mut notes = Vec::new();
    let small = memory.devices.iter().filter(|one| !one.is_large());
    let small = small.map(|one| format!("{} ({})", one.label, format::bytes(one.peak.allocated)));
    if (1..memory.devices.len()).contains(&small.clone().count()) {
        let small = format::joined(small, ", ");
        notes.push(format!("Not shown, with less than 1 MB in use: {small}."));
    }
    if !memory.failed.is_empty() {
        let n = format::counted(memory.failed.len() as u64, "allocation");
        notes.push(format!("Out of memory: {n} failed."));
    }
    if profile.window.is_some() {
        notes.push(
            "Reports made in this part of the time count, in the time of the CPU, which allocates."
                .to_owned(),
        );
    }
    let uses = driver_uses(profile);
    if !uses.is_empty() {
        let n_of = |call: DriverCall| uses.iter().filter(|one| one.call == call).count() as u64;
        let time_ns = crate::base::interval::busy(uses.iter().map(|one| one.span));
        notes.push(format!(
            "Calls to the driver: {} and {} take {}.",
            format::counted(n_of(DriverCall::Allocate), "allocation"),
            format::counted(n_of(DriverCall::Free), "release"),
            format::time_ns(time_ns)
        ));
    }
    notes.push(
        "Blocks are listed by the operator that allocated them. Memory outside the caching allocator (communication libraries, workspaces, the driver's own) is not included."
            .to_owned(),
    );
    notes
}

fn device(profile: &Profile, device: &DeviceMemory) -> DeviceView {
    let steps = memory_by_step(profile, device);
    let axis = chart::axis(profile, device);
    let chart = MemoryChart::new(profile, device, &steps, axis);
    let held = [
        tables::peak_by_operator(profile, device),
        tables::peak_by_module(profile, device),
        tables::peak_by_size(profile, device),
        tables::by_operator(profile, device),
        tables::by_step(profile, &steps),
    ];
    let twin = tables::over_time(profile, device, axis);
    DeviceView {
        label: device.label.clone(),
        figures: figures(device),
        notes: device_notes(profile, device),
        tables: held.into_iter().flatten().collect(),
        twin,
        chart,
    }
}

fn figures(device: &DeviceMemory) -> Vec<(String, String)> {
    let peak = device.peak;
    let share = |bytes, percent| match percent {
        Some(percent) => format!("{} ({})", format::bytes(bytes), format::percent(percent)),
        None => format::bytes(bytes),
    };
    let before = share(device.before_at_peak, device.before_percent());
    let mut figures = vec![
        ("Peak in use", format::bytes(peak.allocated)),
        ("Allocated before", before),
    ];
    if let Some(unused) = peak.unused_bytes() {
        figures.push(("Reserved then", format::bytes(peak.reserved)));
        figures.push(("Reserved, not in use", share(unused, peak.unused_percent())));
    }
    figures.extend([
        ("Allocations", format::count(device.n_allocations)),
        ("Allocated in all", format::bytes(device.allocated_bytes)),
        ("Releases", format::count(device.n_frees)),
    ]);
    let named = figures.into_iter();
    named
        .map(|(label, value)| (label.to_owned(), value))
        .collect()
}

fn device_notes(profile: &Profile, device: &DeviceMemory) -> Vec<String> {
    let mut notes = Vec::new();
    let check = device.check;
    if !check.holds() {
        notes.push(format!(
            "Totals and blocks do not agree ({} differ from the one before by another size than was reported, {} of another size than was allocated, {} where a block lives already): reports are missing or damaged, and only totals are shown.",
            format::counted(check.n_jumps, "total"),
            format::counted(check.n_wrong_sizes, "release"),
            format::counted(check.n_reused, "allocation"),
        ));
    }
    if check.n_freed_before > 0 {
        notes.push(format!(
            "{} of what was allocated {} are part of it.",
            format::counted(check.n_freed_before, "release"),
            before(profile)
        ));
    }
    notes
}
