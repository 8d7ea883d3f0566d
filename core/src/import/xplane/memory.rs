//! Reports of XLA's GPU allocator.

use super::plane::Stat;
use crate::trace::{MemoryDevice, MemoryEvent, TraceBuilder, TrackId};

/// The content of a report.
#[derive(Debug, Default)]
pub(super) struct Report {
    /// `GPU_7_bfc`
    gpu: Option<i32>,
    bytes: Option<i64>,
    addr: u64,
    allocated: u64,
    available: u64,
}

impl Report {
    pub(super) fn stat(&mut self, name: &str, stat: Stat) {
        let number = stat.number();
        match name {
            "allocator_name" => {
                let name = stat.text();
                let number = name
                    .as_deref()
                    .and_then(|name| name.strip_prefix("GPU_")?.split('_').next());
                self.gpu = number.and_then(|number| number.parse().ok());
            }
            "allocation_bytes" => self.bytes = number.and_then(|bytes| i64::try_from(bytes).ok()),
            "addr" => self.addr = number.unwrap_or(0),
            "bytes_allocated" => self.allocated = number.unwrap_or(0),
            "bytes_available" => self.available = number.unwrap_or(0),
            _ => {}
        }
    }

    /// Adds it to the memory columns if it comes from a GPU allocator.
    pub(super) fn add(
        self,
        name: &str,
        ts_ns: i64,
        track: TrackId,
        builder: &mut TraceBuilder,
    ) -> bool {
        let sign = match name {
            "MemoryAllocation" => 1,
            "MemoryDeallocation" => -1,
            _ => return false,
        };
        let (Some(index), Some(bytes)) = (self.gpu, self.bytes) else {
            return true;
        };
        let pid = builder.string("CPU");
        let memory = &mut builder.trace.memory;
        // PyTorch's number for CUDA devices, used here for GPUs of any vendor.
        let device = memory.device(MemoryDevice {
            pid,
            kind: 1,
            index,
        });
        if let Some(device) = device {
            memory.push(MemoryEvent {
                ts_ns,
                track,
                device,
                addr: self.addr,
                bytes: sign * bytes,
                allocated: self.allocated,
                // The allocator reserves all the memory that it may use from the start.
                reserved: self.allocated.saturating_add(self.available),
            });
        }
        true
    }
}
