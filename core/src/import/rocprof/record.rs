//! The elements of rocprofv3's lists, limited to the fields that are read.

use std::fmt;

use serde::Deserialize;
use serde_json::Value;

/// A record, or the text of a marker.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Record {
    pub(super) kind: usize,
    pub(super) operation: usize,
    pub(super) thread_id: u64,
    pub(super) correlation_id: Correlation,
    pub(super) start_timestamp: Option<i64>,
    pub(super) end_timestamp: Option<i64>,
    pub(super) stream_id: Option<Handle>,
    /// For a kernel.
    pub(super) dispatch_info: Dispatch,
    /// For a copy.
    pub(super) bytes: u64,
    pub(super) src_agent_id: Handle,
    pub(super) dst_agent_id: Handle,
    /// For an allocation.
    pub(super) agent_id: Handle,
    pub(super) address: Value,
    pub(super) allocation_size: u64,
    /// For the text of a marker: the correlation id of its call.
    pub(super) key: Option<u64>,
    pub(super) value: String,
}

/// The correlation of a call with what it launched.
#[derive(Debug, Default, Clone, Copy, Deserialize)]
#[serde(default)]
pub(super) struct Correlation {
    pub(super) internal: u64,
}

/// An id.
#[derive(Debug, Default, Clone, Copy, Deserialize)]
#[serde(default)]
pub(super) struct Handle {
    pub(super) handle: u64,
}

/// A kernel as it was launched.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Dispatch {
    pub(super) agent_id: Handle,
    pub(super) queue_id: Handle,
    pub(super) kernel_id: u64,
    pub(super) group_segment_size: u64,
    pub(super) workgroup_size: Size,
    /// In work-items.
    pub(super) grid_size: Size,
}

/// Along each axis.
#[derive(Debug, Default, Clone, Copy, Deserialize)]
#[serde(default)]
pub(super) struct Size {
    pub(super) x: u64,
    pub(super) y: u64,
    pub(super) z: u64,
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}, {}, {}]", self.x, self.y, self.z)
    }
}

impl Size {
    /// The number of groups of this size that cover these work-items.
    pub(super) fn in_groups_of(self, group: Size) -> Size {
        let along = |items: u64, group: u64| items.div_ceil(group.max(1));
        Size {
            x: along(self.x, group.x),
            y: along(self.y, group.y),
            z: along(self.z, group.z),
        }
    }
}

/// A kernel's names.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Symbol {
    pub(super) kernel_id: u64,
    pub(super) kernel_name: String,
    pub(super) demangled_kernel_name: String,
}

/// A CPU or a GPU.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Agent {
    pub(super) id: Handle,
    /// [`Agent::GPU`] for a GPU.
    pub(super) r#type: u32,
    /// The number of the GPU, counting GPUs only.
    pub(super) logical_node_type_id: u32,
    pub(super) product_name: String,
    pub(super) cu_count: u32,
    /// 90500 for gfx950.
    pub(super) gfx_target_version: u32,
    pub(super) mem_banks: Vec<MemoryBank>,
}

impl Agent {
    const GPU: u32 = 2;

    pub(super) fn is_gpu(&self) -> bool {
        self.r#type == Self::GPU
    }
}

/// A part of an agent's memory.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct MemoryBank {
    pub(super) size_in_bytes: u64,
}

/// The names of one kind of record.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Kind {
    pub(super) operations: Vec<String>,
}

/// A process's metadata, without what is private to its user: command, folders and host name.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Metadata {
    pub(super) pid: u64,
    pub(super) init_time: Option<i64>,
    pub(super) fini_time: Option<i64>,
}
