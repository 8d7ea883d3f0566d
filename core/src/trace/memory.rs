//! What allocators reported: the memory columns.

use serde::{Deserialize, Serialize};

use super::{Column, StringId, TrackId};

/// An allocator of the profiled program: one per device and process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct MemoryDevice {
    /// The process, as the trace spells it.
    pub pid: StringId,
    /// PyTorch's number of the device type: 0 is the CPU, 1 CUDA, 6 HIP.
    pub kind: i16,
    /// The device index; -1 if there is only one.
    pub index: i32,
}

impl MemoryDevice {
    pub(crate) const CPU: i16 = 0;
    pub(crate) const HIP: i16 = 6;

    /// Whether it allocates the memory of the CPU.
    pub(crate) fn is_cpu(self) -> bool {
        self.kind == Self::CPU
    }
}

/// An allocation, or the release of one, as the caching allocator reported it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryEvent {
    /// When, nanoseconds since the profiler's epoch.
    pub ts_ns: i64,
    /// The thread that made the request.
    pub track: TrackId,
    /// Its row of [`MemoryTable::devices`].
    pub device: u16,
    /// The address of the block.
    pub addr: u64,
    /// Its size in bytes; negative for a release.
    pub bytes: i64,
    /// Bytes in use after the event.
    pub allocated: u64,
    /// Bytes reserved from the driver after the event, in use or not.
    pub reserved: u64,
}

/// An allocation that failed (`[OutOfMemory]`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedAllocation {
    /// When, nanoseconds since the profiler's epoch.
    pub ts_ns: i64,
    /// The thread that made the request.
    pub track: TrackId,
    /// Its row of [`MemoryTable::devices`].
    pub device: u16,
    /// How many bytes were asked for.
    pub bytes: u64,
}

/// What allocators reported, in file order. 42 bytes a row.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct MemoryTable {
    ts_ns: Column<i64>,
    track: Column<TrackId>,
    device: Column<u16>,
    addr: Column<u64>,
    bytes: Column<i64>,
    allocated: Column<u64>,
    reserved: Column<u64>,
    devices: Vec<MemoryDevice>,
    failed: Vec<FailedAllocation>,
}

impl MemoryTable {
    /// A trace with more allocators than this is damaged.
    pub(crate) const MAX_DEVICES: usize = 1024;

    /// Number of allocations and releases.
    pub fn len(&self) -> usize {
        self.ts_ns.len()
    }

    /// True for a trace without memory events.
    pub fn is_empty(&self) -> bool {
        self.ts_ns.is_empty() && self.failed.is_empty()
    }

    /// The allocators, in order of appearance.
    pub fn devices(&self) -> &[MemoryDevice] {
        &self.devices
    }

    /// Allocations that failed, in file order.
    pub fn failed(&self) -> &[FailedAllocation] {
        &self.failed
    }

    /// The row of an allocator, adding it when it is new; `None` if there are too many to be true.
    pub fn device(&mut self, device: MemoryDevice) -> Option<u16> {
        let known = self.devices.iter().position(|known| *known == device);
        let row = known.or_else(|| {
            let row = self.devices.len();
            (row < Self::MAX_DEVICES).then(|| {
                self.devices.push(device);
                row
            })
        })?;
        u16::try_from(row).ok()
    }

    /// A copy with renamed processes.
    pub(crate) fn renamed(&self, pid: impl Fn(StringId) -> StringId) -> MemoryTable {
        let mut renamed = self.clone();
        for device in &mut renamed.devices {
            device.pid = pid(device.pid);
        }
        renamed
    }

    /// Appends an allocation or a release.
    pub fn push(&mut self, event: MemoryEvent) {
        self.ts_ns.push(event.ts_ns);
        self.track.push(event.track);
        self.device.push(event.device);
        self.addr.push(event.addr);
        self.bytes.push(event.bytes);
        self.allocated.push(event.allocated);
        self.reserved.push(event.reserved);
    }

    /// Appends an allocation that failed.
    pub(crate) fn push_failed(&mut self, failed: FailedAllocation) {
        self.failed.push(failed);
    }

    /// An allocation or release; `None` past the end.
    pub fn get(&self, row: usize) -> Option<MemoryEvent> {
        Some(MemoryEvent {
            ts_ns: self.ts_ns.get(row)?,
            track: self.track.get(row)?,
            device: self.device.get(row)?,
            addr: self.addr.get(row)?,
            bytes: self.bytes.get(row)?,
            allocated: self.allocated.get(row)?,
            reserved: self.reserved.get(row)?,
        })
    }

    /// All allocations and releases, in file order.
    pub fn iter(&self) -> impl Iterator<Item = MemoryEvent> + '_ {
        (0..self.len()).filter_map(|row| self.get(row))
    }
}
