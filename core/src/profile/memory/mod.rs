//! Memory over time, as reported by the allocators: what held memory at the peak.
//!
//! ```text
//! Trace.memory ─curve→ totals by device, their check ─blocks→ what lived when ─owners→ which operator requested it
//! ```
//!
//! Recorded with `profile_memory=True`. For memory allocated before the recording (weights, caches, earlier steps) only
//! the sum is known: the first total minus the block that it reports. Memory outside of the caching allocator is not
//! included: that of communication libraries, workspaces, and the driver itself.
//!
//! Totals are checked against the blocks ([`Check`]). If a report is missing or damaged they disagree, and only the
//! totals are shown.
//!
//! For a window, the reports made in it count, by CPU time, because the CPU allocates: everything allocated earlier is
//! "before", recorded or not.

mod curve;
mod driver;
mod groups;
mod owners;
pub mod steps;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use super::Profile;
use crate::base::interval::Interval;
use crate::base::sort::Arranged;
use crate::trace::{EventId, FailedAllocation, MemoryDevice, Trace};

pub use crate::names::memory::DriverCall;
pub use driver::DriverUse;
pub(crate) use driver::driver_uses;
pub use groups::{Holder, ModuleHolder, OperatorMemory, SizeHolder};
pub(crate) use owners::requester;

/// What the allocators reported in a trace or window.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Memory {
    /// One for each allocator: GPUs before CPUs.
    pub devices: Vec<DeviceMemory>,
    /// Failed allocations, in time order.
    pub failed: Vec<FailedAllocation>,
}

/// The totals after a report.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Point {
    /// Time of the report.
    pub ts_ns: i64,
    /// Bytes in blocks that are in use.
    pub allocated: u64,
    /// Bytes that the allocator obtained from the driver, in use or not.
    pub reserved: u64,
}

impl Point {
    /// Unused share of the reserved memory, in percent; `None` if nothing is reserved, as with the CPU allocator.
    pub fn unused_percent(self) -> Option<f64> {
        Some(self.unused_bytes()? as f64 / self.reserved as f64 * 100.0)
    }

    /// Reserved bytes that are not in use; `None` if nothing is reserved.
    pub(crate) fn unused_bytes(self) -> Option<u64> {
        let unused = self.reserved.checked_sub(self.allocated);
        unused.filter(|_| self.reserved > 0)
    }
}

/// A block of memory that was allocated during the recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Block {
    /// Its size.
    pub bytes: u64,
    /// The innermost operator that allocated it; `None` outside of operators.
    pub call: Option<EventId>,
    /// The report of its allocation: a position in [`DeviceMemory::curve`].
    pub born: u32,
    /// The report of its release; `None` if it was not released.
    pub freed: Option<u32>,
}

impl Block {
    /// Whether it is in use after a report.
    pub(crate) fn lives_at(&self, position: usize) -> bool {
        let after = |freed: u32| freed as usize > position;
        self.born as usize <= position && self.freed.is_none_or(after)
    }
}

/// How well totals and blocks agree. All counts are zero for a complete trace, except for blocks from before the
/// recording that are released during it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Check {
    /// Totals that differ from the previous total by a different size than reported.
    pub n_jumps: u64,
    /// Releases with a different size than the allocation.
    pub n_wrong_sizes: u64,
    /// Allocations at the address of a live block.
    pub n_reused: u64,
    /// Releases of blocks that were allocated before the recording.
    pub n_freed_before: u64,
    /// Memory from before that is in use at the peak plus the live blocks of the recording add up to the peak.
    pub is_peak_explained: bool,
}

impl Check {
    /// Whether blocks can be shown: totals and blocks agree.
    pub fn holds(&self) -> bool {
        self.n_jumps == 0 && self.n_wrong_sizes == 0 && self.n_reused == 0 && self.is_peak_explained
    }
}

/// The memory of one device, as allocated by one process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceMemory {
    /// The device.
    pub device: MemoryDevice,
    /// Its name, for display: "GPU 0".
    pub label: String,
    /// The totals after each report, in time order.
    pub curve: Vec<Point>,
    /// Bytes in use before the first report.
    pub before_bytes: u64,
    /// When the most memory was in use.
    pub peak: Point,
    /// The report of the peak: a position in `curve`; `None` if the peak was before the first report.
    pub peak_at: Option<usize>,
    /// The part of the peak that was allocated before the recording.
    pub before_at_peak: u64,
    /// Most memory that was reserved.
    pub most_reserved: u64,
    /// Number of allocations.
    pub n_allocations: u64,
    /// Their total bytes.
    pub allocated_bytes: u64,
    /// Number of releases.
    pub n_frees: u64,
    /// Their total bytes.
    pub freed_bytes: u64,
    /// Whether totals and blocks agree.
    pub check: Check,
    /// Allocated blocks, in time order; empty if the check fails.
    pub blocks: Vec<Block>,
}

impl DeviceMemory {
    /// Devices with a smaller peak are uninteresting: the CPU's share of a GPU run.
    const LEAST_BYTES: u64 = 1_000_000;

    /// Whether it is worth reporting.
    pub fn is_large(&self) -> bool {
        self.peak.allocated >= Self::LEAST_BYTES
    }

    /// The blocks of the recording that are live at the peak.
    pub fn live_at_peak(&self) -> impl Iterator<Item = &Block> {
        let at = self.peak_at;
        let blocks = self.blocks.iter();
        blocks.filter(move |block| at.is_some_and(|at| block.lives_at(at)))
    }

    /// The part allocated before the recording, in percent of the peak.
    pub(crate) fn before_percent(&self) -> Option<f64> {
        share(self.before_at_peak, self.peak.allocated)
    }

    /// How long a block was in use; `None` if it was not released.
    pub(crate) fn life_ns(&self, block: &Block) -> Option<i64> {
        let ts_ns = |at: u32| self.curve.get(at as usize).map(|point| point.ts_ns);
        Some(ts_ns(block.freed?)?.saturating_sub(ts_ns(block.born)?))
    }

    /// The totals at a time: after the last report up to then, or before the first.
    pub fn at(&self, ns: i64) -> Point {
        let n = self.curve.partition_point(|point| point.ts_ns <= ns);
        let last = n.checked_sub(1).and_then(|last| self.curve.get(last));
        last.copied().unwrap_or(Point {
            ts_ns: ns,
            allocated: self.before_bytes,
            reserved: self.curve.first().map_or(0, |first| first.reserved),
        })
    }

    /// The reports in a time span, as positions.
    pub fn within(&self, span: Interval) -> std::ops::Range<usize> {
        let before = |ns: i64| self.curve.partition_point(|point| point.ts_ns < ns);
        before(span.start_ns)..before(span.end_ns)
    }

    /// The size in a report, negative for a release: the difference from the previous total.
    pub(crate) fn change(&self, position: usize) -> i64 {
        let before = match position.checked_sub(1) {
            Some(before) => self.curve.get(before).map_or(0, |point| point.allocated),
            None => self.before_bytes,
        };
        let after = self.curve.get(position).map_or(0, |point| point.allocated);
        // Totals are far below 2⁶³.
        (after as i64).wrapping_sub(before as i64)
    }
}

/// A part of a whole in percent; `None` if the whole is zero.
pub(crate) fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64 * 100.0)
}

impl Memory {
    /// True if no allocator reported anything.
    pub fn is_empty(&self) -> bool {
        self.devices.is_empty() && self.failed.is_empty()
    }

    /// The devices to summarize: GPUs with enough memory in use, otherwise the CPU.
    pub fn main(&self) -> impl Iterator<Item = &DeviceMemory> {
        let large = || self.devices.iter().filter(|device| device.is_large());
        let has_gpu = large().any(|device| !device.device.is_cpu());
        large().filter(move |device| !has_gpu || !device.device.is_cpu())
    }

    fn new(profile: &Profile) -> Memory {
        let trace = &profile.trace;
        if trace.memory.is_empty() {
            return Memory::default();
        }
        let window = profile.window.as_ref();
        let span = profile.cpu_span();
        let has = |device| window.is_none_or(|of| of.window.has_memory_of(device));
        let mut devices = curve::devices(trace, span);
        devices.retain(|one| has(one.memory.device));
        owners::add(trace, &profile.tree, &mut devices);
        let devices = devices.into_iter().map(|one| one.memory);
        let mut devices = devices.arranged_by_key(|one| (one.device.is_cpu(), one.device));
        label(trace, &mut devices);
        let failed = trace.memory.failed().iter().copied();
        let known = trace.memory.devices();
        let is_own = |row: u16| {
            known
                .get(usize::from(row))
                .is_none_or(|device| has(*device))
        };
        let failed = failed
            .filter(|one| span.contains(one.ts_ns) && is_own(one.device))
            .arranged_by_key(|one| one.ts_ns);
        Memory { devices, failed }
    }
}

impl Profile {
    /// What the allocators reported; empty if the trace was recorded without memory.
    pub fn memory(&self) -> Arc<Memory> {
        self.once(|| Memory::new(self))
    }
}

/// Labels devices; with the process if there are several.
fn label(trace: &Trace, devices: &mut [DeviceMemory]) {
    let first = devices.first().map(|one| one.device.pid);
    let is_one_process = devices.iter().all(|one| Some(one.device.pid) == first);
    for one in devices {
        one.label = name(trace, one.device, is_one_process);
    }
}

/// "GPU 0", "CPU", "GPU 0 (process 17)".
pub fn name(trace: &Trace, device: MemoryDevice, is_one_process: bool) -> String {
    let MemoryDevice { pid, kind, index } = device;
    let name = match kind {
        0 => "CPU".to_owned(),
        // CUDA, HIP, XPU.
        1 | 6 | 12 => format!("GPU {}", index.max(0)),
        _ => format!("Device {} of kind {kind}", index.max(0)),
    };
    match is_one_process {
        true => name,
        false => format!("{name} (process {})", trace.strings.get(pid)),
    }
}
