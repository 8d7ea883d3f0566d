//! Direction of a copy, host memory type, and which code requested it.

mod origin;
mod summary;

use crate::base::labels::labeled;
use crate::names::words::{Words, classify, contains_any, letters};
use crate::profile::gpu::kernels::GpuWork;
use crate::trace::{Trace, event_args as args};

pub(crate) use origin::{CopyOrigin, DdpCopy, Frames};
pub(crate) use summary::{Copies, CopySummary, OnOneGpu, copies};

labeled! {
    /// Direction of a copy, with its short name in files.
    pub(crate) enum Direction {
        DeviceToHost => "D2H",
        HostToDevice => "H2D",
        DeviceToDevice => "D2D",
        PeerToPeer => "P2P",
        HostToHost => "H2H",
        /// Not recorded.
        Unknown => "other",
    }
}

/// Patterns in the letters of a name.
const DIRECTIONS: &Words<Direction> = &[
    (Direction::DeviceToHost, &["dtoh", "devicetohost"]),
    (Direction::HostToDevice, &["htod", "hosttodevice"]),
    (Direction::DeviceToDevice, &["dtod", "devicetodevice"]),
    (Direction::PeerToPeer, &["ptop", "peertopeer"]),
    (Direction::HostToHost, &["htoh", "hosttohost"]),
];

impl Direction {
    /// From the profiler's name: "Memcpy DtoH (Device -> Pinned)", "CopyHostToDevice", "MEMORY_COPY_DEVICE_TO_HOST",
    /// "Memcpy M2D (MEMORY(Unknown) -> DEVICE)".
    pub(crate) fn of_name(name: &str) -> Direction {
        let named = Direction::of_ends(name).or_else(|| classify(DIRECTIONS, &letters(name)));
        named.unwrap_or(Direction::Unknown)
    }

    /// From the two ends as Intel's profiler writes them: D is memory of the GPU, H and M are pinned and other memory
    /// of the host. Shared memory may be in either.
    fn of_ends(name: &str) -> Option<Direction> {
        let (from, to) = name
            .strip_prefix("Memcpy ")?
            .split(' ')
            .next()?
            .split_once('2')?;
        match (from, to) {
            ("D", "H" | "M") => Some(Direction::DeviceToHost),
            ("H" | "M", "D") => Some(Direction::HostToDevice),
            ("D", "D") => Some(Direction::DeviceToDevice),
            ("H" | "M", "H" | "M") => Some(Direction::HostToHost),
            _ => None,
        }
    }

    /// Whether one end is in host memory.
    pub(crate) fn crosses(self) -> bool {
        matches!(self, Direction::DeviceToHost | Direction::HostToDevice)
    }

    /// Whether it leaves the memory of its GPU.
    pub(crate) fn leaves(self) -> bool {
        self.crosses() || self == Direction::PeerToPeer
    }
}

/// Direction of a copy: from its launching call, otherwise from its name. ROCm names a copy to pinned memory like one
/// within the GPU, but its call records the requested direction.
pub(crate) fn direction(trace: &Trace, work: &GpuWork) -> Direction {
    let asked = work
        .launched_by
        .and_then(|call| args::arg(trace, call, "kind"));
    let named = || Direction::of_name(trace.strings.get(work.name));
    // Values of `hipMemcpyKind`; for device-to-device, the name is more specific.
    match asked {
        Some("1") => Direction::HostToDevice,
        Some("2") => Direction::DeviceToHost,
        Some("3") => match named() {
            Direction::Unknown => Direction::DeviceToDevice,
            direction => direction,
        },
        _ => named(),
    }
}

/// Whether a copy leaves the memory of its GPU.
pub(crate) fn is_over_link(trace: &Trace, work: &GpuWork) -> bool {
    direction(trace, work).leaves()
}

/// The same, from the name alone.
pub(crate) fn is_copy_over_link(name: &str) -> bool {
    Direction::of_name(name).leaves()
}

/// Whether a copy with this name may involve pageable host memory, because it is not marked as pinned.
pub(crate) fn may_be_pageable(name: &str) -> bool {
    Direction::of_name(name).crosses() && HostMemory::of_name(name) != Some(HostMemory::Pinned)
}

labeled! {
    /// Type of the host memory of a copy.
    pub(crate) enum HostMemory {
        /// Ordinary memory: the driver copies it through its own buffer, and the CPU waits.
        Pageable => "pageable",
        /// Page-locked: the copy can run asynchronously.
        Pinned => "pinned",
    }
}

impl HostMemory {
    /// Some profilers put it into the name.
    pub(crate) fn of_name(name: &str) -> Option<HostMemory> {
        if contains_any(name, &["Pageable", "Memcpy M2D", "Memcpy D2M"]) {
            Some(HostMemory::Pageable)
        } else if contains_any(name, &["Pinned", "Memcpy H2D", "Memcpy D2H"]) {
            Some(HostMemory::Pinned)
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_tells_direction_and_memory() {
        use Direction::*;
        use HostMemory::{Pageable, Pinned};
        #[rustfmt::skip]
        let cases = [
            ("Memcpy HtoD (Pageable -> Device)", HostToDevice, Some(Pageable)),
            ("Memcpy DtoH (Device -> Pinned)", DeviceToHost, Some(Pinned)),
            ("Memcpy HtoD (Host -> Device)", HostToDevice, None),
            ("Memcpy DtoD (Device -> Device)", DeviceToDevice, None),
            ("Memcpy PtoP (Device -> Device)", PeerToPeer, None),
            ("MEMORY_COPY_DEVICE_TO_HOST", DeviceToHost, None),
            ("CopyHostToDevice", HostToDevice, None),
            ("Memcpy M2D (MEMORY(Unknown) -> DEVICE)", HostToDevice, Some(Pageable)),
            ("Memcpy D2H (DEVICE -> HOST)", DeviceToHost, Some(Pinned)),
            ("Memcpy D2D (DEVICE -> DEVICE)", DeviceToDevice, None),
            ("Memcpy S2D (SHARED -> DEVICE)", Unknown, None),
            ("__amd_rocclr_copyBuffer", Unknown, None),
        ];
        for (name, direction, memory) in cases {
            assert_eq!(Direction::of_name(name), direction, "{name}");
            assert_eq!(HostMemory::of_name(name), memory, "{name}");
        }
    }
}
