//! How much memory is in use, is reserved, and could not be allocated.

use super::{Issue, Kind, tables};
use crate::base::map::Map;
use crate::findings::prelude::*;
use crate::profile::memory::steps::StepMemory;
use crate::profile::memory::{DeviceMemory, Memory, share};

/// Minimum number of steps to decide whether memory grows.
const LEAST_STEPS: usize = 3;

/// Converts MiB to bytes.
pub(super) fn mib(mib: f64) -> u64 {
    (mib * f64::from(1 << 20)) as u64
}

/// Whether the allocator has so small a part of the GPU's memory that nobody needs more.
pub(super) fn is_little(input: &Input, device: &DeviceMemory) -> bool {
    let index = i64::from(device.device.index.max(0));
    let mut known = input.profile.trace.devices.iter();
    let own = known.find(|one| one.id.unwrap_or(0) == index);
    let percent = own
        .and_then(|own| own.total_memory)
        .and_then(|total| share(device.most_reserved, total));
    percent.is_some_and(|percent| percent < input.options.thresholds.memory_used_percent)
}

/// Failed allocations, with the largest.
pub(super) fn failed(memory: &Memory) -> Vec<Issue> {
    let largest = memory.failed.iter().max_by_key(|one| one.bytes);
    let device = memory.main().max_by_key(|one| one.peak.allocated);
    let Some((largest, device)) = largest.zip(device) else {
        return Vec::new();
    };
    let mut issue = Issue::new(Kind::Failed, device, largest.bytes);
    issue.priority = Priority::High;
    let n = memory.failed.len() as u64;
    let then = device.at(largest.ts_ns);
    issue.words.extend([
        ("failed", format::counted(n, "allocation")),
        ("reserved", format::bytes(then.reserved)),
        ("used", format::bytes(then.allocated)),
    ]);
    vec![issue]
}

/// Memory that is reserved but unused at the time of peak use.
pub(super) fn unused(input: &Input, device: &DeviceMemory) -> Option<Issue> {
    let thresholds = &input.options.thresholds;
    let (percent, bytes) = (device.peak.unused_percent()?, device.peak.unused_bytes()?);
    if percent < thresholds.memory_unused_percent || bytes < mib(thresholds.memory_unused_mib) {
        return None;
    }
    let mut issue = Issue::new(Kind::Unused, device, bytes);
    issue.words.extend([
        ("reserved", format::bytes(device.peak.reserved)),
        ("percent", format::percent(percent)),
        holds("grows", device.most_reserved > device.peak.reserved),
    ]);
    Some(issue)
}

/// Memory use at the end of steps that grows with each step.
pub(super) fn growth(input: &Input, device: &DeviceMemory, steps: &[StepMemory]) -> Option<Issue> {
    let mut kinds: Map<&str, Vec<&StepMemory>> = Map::default();
    for step in steps {
        kinds.entry(step.kind()).or_default().push(step);
    }
    // Of several kinds, such as forward and backward, the most frequent one; on a tie, the first.
    let first = |steps: &[&StepMemory]| steps.first().map(|step| step.span.start_ns);
    let alike = kinds
        .into_values()
        .filter(|steps| steps.len() >= LEAST_STEPS)
        .max_by_key(|steps| (steps.len(), std::cmp::Reverse(first(steps))))?;
    let factor = 1.0 + input.options.thresholds.memory_growth_percent / 100.0;
    let grows = |one: u64, next: u64| next as f64 > one as f64 * factor;
    let mut pairs = alike.iter().zip(alike.iter().skip(1));
    if !pairs.all(|(one, next)| grows(one.end_bytes, next.end_bytes)) {
        return None;
    }
    let (first, last) = (alike.first()?, alike.last()?);
    let bytes = last.end_bytes.saturating_sub(first.end_bytes);
    let mut issue = Issue::new(Kind::Growth, device, bytes);
    issue.events = vec![last.event];
    let n = alike.len() as u64;
    let percent = share(bytes, first.end_bytes);
    issue.words.extend([
        ("steps", format::counted(n, "step")),
        ("from", format::bytes(first.end_bytes)),
        ("to", format::bytes(last.end_bytes)),
        ("percent", percent.map_or(String::new(), format::percent)),
        ("each", format::bytes(bytes / n.saturating_sub(1).max(1))),
    ]);
    let title = "Operators by what they hold at the end";
    let held = tables::operators(input, device, title, |one| one.net_bytes);
    let tables = [tables::steps(&alike), held];
    issue.tables = tables
        .into_iter()
        .filter(|table| !table.rows.is_empty())
        .collect();
    Some(issue)
}
