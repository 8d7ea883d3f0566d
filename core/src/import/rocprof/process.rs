//! The records of one process, to rows of the trace, with the names and GPUs from its lists.

use serde::Deserialize;

use super::record::{Agent, Handle, Kind, Metadata, Record, Symbol};
use crate::base::map::{Map, Set};
use crate::import::limits;
use crate::import::warning::{WarningKind, Warnings};
use crate::trace::{
    Category, DeviceProperties, LinkId, MemoryDevice, MemoryEvent, NewEvent, Source, StringId,
    Trace, TraceBuilder, TrackId, lifetime,
};

/// The content of a list or an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Holds {
    /// The process's metadata; everything that follows belongs to it.
    Process,
    Agents,
    /// The names of calls and copies, by kind.
    Names,
    Symbols,
    Dispatches,
    Copies,
    Allocations,
    /// Marked ranges, preceded by their texts.
    Markers,
    Calls,
}

impl Holds {
    /// Whether its elements are records of what happened.
    fn is_of_records(self) -> bool {
        use Holds::*;
        matches!(self, Dispatches | Copies | Allocations | Markers | Calls)
    }
}

/// Start and end are kept for at most this many processes.
const MOST_PROCESSES: usize = 1 << 16;

/// Memory budget for the naming lists of a process; more is damage.
const MOST_NAME_BYTES: usize = 64 << 20;

/// The memory of an entry besides its text.
const NAME_BYTES: usize = 64;

/// The process whose lists are being read, and everything read so far.
#[derive(Debug, Default)]
pub(super) struct Process {
    pub(super) warnings: Warnings,
    builder: TraceBuilder,
    pid: u64,
    /// Number of earlier processes.
    n_before: u32,
    has_begun: bool,
    agents: Map<u64, Agent>,
    names: Vec<Vec<String>>,
    kernels: Map<u64, StringId>,
    markers: Map<u64, StringId>,
    /// The memory that the four maps take.
    name_bytes: usize,
    /// GPUs that ran something in any process.
    used: Set<u32>,
    memory: DriverMemory,
}

/// The memory that a process has allocated from the driver.
#[derive(Debug, Default)]
struct DriverMemory {
    /// Allocator and size of the blocks in use, by address.
    blocks: Map<u64, (u16, u64)>,
    /// Bytes in use, by allocator.
    allocated: Map<u16, u64>,
}

/// The event arguments of one kind of record, by name.
type Args<'a> = &'a [(&'a str, &'a dyn std::fmt::Display)];

impl Process {
    /// Reads a list element that starts at an offset; returns whether it is a record, which has a number.
    pub(super) fn read(&mut self, list: Holds, element: &[u8], offset: u64, uid: u32) -> bool {
        if matches!(list, Holds::Agents | Holds::Names) && !self.has_room_for_name(element.len()) {
            self.warnings.add(WarningKind::LargeMetadata, Some(offset));
            return false;
        }
        // Texts of markers are in a list with the same key as the markers.
        let mut is_record = list.is_of_records();
        let is_read = match list {
            Holds::Process => parsed(element).map(|process| self.begin(process)),
            Holds::Agents => parsed(element).map(|agent: Agent| {
                self.agents.insert(agent.id.handle, agent);
            }),
            Holds::Names => {
                let kind: Option<Kind> = parsed(element);
                let is_read = kind.as_ref().map(|_| ());
                // Kinds are indexed by position, so a damaged one also takes an entry.
                self.names.push(kind.unwrap_or_default().operations);
                is_read
            }
            Holds::Symbols => parsed(element).map(|symbol| self.symbol(&symbol, offset)),
            _ => parsed(element).map(|record: Record| {
                is_record = record.key.is_none();
                self.record(list, &record, offset, uid);
            }),
        };
        if is_read.is_none() {
            self.warnings
                .add(WarningKind::UnreadableEvent, Some(offset));
        }
        is_record
    }

    /// Skips an element whose end cannot be found.
    pub(super) fn pass_over(&mut self, list: Holds) {
        if list == Holds::Names {
            self.names.push(Vec::new());
        }
    }

    /// The trace that was read.
    pub(super) fn finish(mut self, n_records: u32) -> (Trace, Warnings) {
        let trace = &mut self.builder.trace;
        trace.source = Source::Rocprofv3;
        trace.n_events_read = u64::from(n_records);
        (self.builder.finish(), self.warnings)
    }

    fn begin(&mut self, process: Metadata) {
        let is_another = std::mem::replace(&mut self.has_begun, true);
        *self = Process {
            warnings: std::mem::take(&mut self.warnings),
            builder: std::mem::take(&mut self.builder),
            used: std::mem::take(&mut self.used),
            n_before: self.n_before + u32::from(is_another),
            has_begun: true,
            pid: process.pid,
            ..Process::default()
        };
        // Its start and end; the rest is private to the user.
        let life = |time: Option<i64>| time.map_or("null".to_owned(), |time| time.to_string());
        let (start, end) = (life(process.init_time), life(process.fini_time));
        let json = format!(
            r#"{{"pid": {}, "init_time": {start}, "fini_time": {end}}}"#,
            self.pid
        );
        if self.builder.trace.metadata.len() < MOST_PROCESSES {
            self.builder.metadata(lifetime::KEY, &json);
        }
    }

    /// Reserves space for a name; false if there is none left.
    fn has_room_for_name(&mut self, n_bytes: usize) -> bool {
        self.name_bytes = self.name_bytes.saturating_add(NAME_BYTES + n_bytes);
        self.name_bytes <= MOST_NAME_BYTES
    }

    fn symbol(&mut self, symbol: &Symbol, offset: u64) {
        if !self.has_room_for_name(0) {
            self.warnings.add(WarningKind::LargeMetadata, Some(offset));
            return;
        }
        let name = match symbol.demangled_kernel_name.as_str() {
            "" => &symbol.kernel_name,
            name => name,
        };
        let name = name.strip_suffix(" [clone .kd]").unwrap_or(name);
        let name = name.strip_suffix(".kd").unwrap_or(name);
        let name = self.builder.string(name);
        self.kernels.insert(symbol.kernel_id, name);
    }

    fn record(&mut self, list: Holds, record: &Record, offset: u64, uid: u32) {
        if let Some(key) = record.key {
            if !self.has_room_for_name(0) {
                self.warnings.add(WarningKind::LargeMetadata, Some(offset));
                return;
            }
            let text = self.builder.string(&record.value);
            self.markers.insert(key, text);
            return;
        }
        let Some(ts_ns) = record.start_timestamp else {
            self.warnings.add(WarningKind::MissingTime, Some(offset));
            return;
        };
        if !limits::has_room(&self.builder.trace) {
            self.warnings.add(WarningKind::TooManyEvents, Some(offset));
            return;
        }
        if list == Holds::Allocations {
            if self.allocation(record, ts_ns).is_none() {
                self.warnings
                    .add(WarningKind::UnreadableMemory, Some(offset));
            }
            return;
        }
        let recorded_ns = record.end_timestamp.map(|end| end.saturating_sub(ts_ns));
        let dur_ns = recorded_ns.map_or(Err(WarningKind::MissingDuration), limits::duration);
        if let Err(wrong) = dur_ns {
            self.warnings.add(wrong, Some(offset));
        }
        let (category, name, track, extra_args) = match list {
            Holds::Dispatches => self.dispatch(record),
            Holds::Copies => self.copy(record),
            Holds::Markers => (
                Category::UserAnnotation,
                self.marker(record),
                self.thread(record),
                None,
            ),
            _ => (
                Category::Runtime,
                self.operation(record),
                self.thread(record),
                None,
            ),
        };
        let correlation = match list {
            Holds::Markers => None,
            _ => self.link(record.correlation_id.internal),
        };
        let event = self.builder.event(NewEvent {
            uid,
            category,
            name,
            track,
            ts_ns,
            dur_ns: dur_ns.ok(),
            external_id: None,
            correlation,
            op_args: None,
            extra_args,
        });
        if let (Err(_), Some(untrue_ns)) = (dur_ns, recorded_ns) {
            self.builder.untrue_duration(event, untrue_ns);
        }
    }

    fn dispatch(&mut self, record: &Record) -> (Category, StringId, TrackId, Option<StringId>) {
        let info = &record.dispatch_info;
        let name = match self.kernels.get(&info.kernel_id) {
            Some(name) => *name,
            None => self.builder.string(&format!("kernel_{}", info.kernel_id)),
        };
        let gpu = self.gpu(&[info.agent_id]);
        let queue = info.queue_id.handle;
        let stream = record.stream_id.map_or(queue, |stream| stream.handle);
        let block = info.workgroup_size;
        let args = self.args(&[
            ("device", &gpu),
            ("stream", &stream),
            ("queue", &queue),
            ("grid", &info.grid_size.in_groups_of(block)),
            ("block", &block),
            ("shared memory", &info.group_segment_size),
        ]);
        (Category::Kernel, name, self.stream(gpu, stream), args)
    }

    fn copy(&mut self, record: &Record) -> (Category, StringId, TrackId, Option<StringId>) {
        let gpu = self.gpu(&[record.src_agent_id, record.dst_agent_id]);
        let stream = record.stream_id.map_or(0, |stream| stream.handle);
        let args = self.args(&[
            ("device", &gpu),
            ("stream", &stream),
            ("bytes", &record.bytes),
        ]);
        let name = self.operation(record);
        (Category::GpuMemcpy, name, self.stream(gpu, stream), args)
    }

    /// An allocation or free by the driver, so all of it counts as reserved.
    fn allocation(&mut self, record: &Record, ts_ns: i64) -> Option<()> {
        let addr = match &record.address {
            serde_json::Value::String(text) => {
                u64::from_str_radix(text.strip_prefix("0x").unwrap_or(text), 16).ok()?
            }
            number => number.as_u64()?,
        };
        let track = self.thread(record);
        let is_free = name_of(&self.names, record)?.contains("FREE");
        // Freeing a null pointer is valid.
        if addr == 0 && is_free {
            return Some(());
        }
        if self.builder.trace.memory.len() >= limits::MAX_MEMORY_ROWS {
            return None;
        }
        let (device, bytes) = match is_free {
            true => self.memory.blocks.remove(&addr)?,
            false => (self.allocator(record.agent_id)?, record.allocation_size),
        };
        let change = i64::try_from(bytes).ok()?;
        let allocated = self.memory.allocated.entry(device).or_default();
        *allocated = match is_free {
            true => allocated.saturating_sub(bytes),
            false => allocated.saturating_add(bytes),
        };
        let allocated = *allocated;
        if !is_free {
            self.memory.blocks.insert(addr, (device, bytes));
        }
        self.builder.trace.memory.push(MemoryEvent {
            ts_ns,
            track,
            device,
            addr,
            bytes: if is_free { -change } else { change },
            allocated,
            reserved: allocated,
        });
        Some(())
    }

    fn allocator(&mut self, agent: Handle) -> Option<u16> {
        let pid = self.builder.string(&self.pid.to_string());
        let gpu = self.agents.get(&agent.handle)?;
        let (kind, index) = match gpu.is_gpu() {
            true => (
                MemoryDevice::HIP,
                i32::try_from(gpu.logical_node_type_id).ok()?,
            ),
            false => (MemoryDevice::CPU, -1),
        };
        let memory = &mut self.builder.trace.memory;
        memory.device(MemoryDevice { pid, kind, index })
    }

    /// The number of the first GPU among some agents; marks it as used.
    fn gpu(&mut self, agents: &[Handle]) -> u32 {
        let mut found = agents.iter().filter_map(|id| self.agents.get(&id.handle));
        let Some(gpu) = found.find(|agent| agent.is_gpu()) else {
            return 0;
        };
        let number = gpu.logical_node_type_id;
        if self.used.insert(number) {
            let version = gpu.gfx_target_version;
            let banks = gpu.mem_banks.iter().map(|bank| bank.size_in_bytes);
            let memory = banks.fold(0, u64::saturating_add);
            self.builder.trace.devices.push(DeviceProperties {
                id: Some(i64::from(number)),
                name: gpu.product_name.clone(),
                vendor: "AMD",
                total_memory: Some(memory).filter(|bytes| *bytes > 0),
                n_sms: Some(gpu.cu_count),
                compute_major: Some(version / 10_000),
                compute_minor: Some(version / 100 % 100),
            });
        }
        number
    }

    /// A stream of a GPU; streams of other processes are separate.
    fn stream(&mut self, gpu: u32, stream: u64) -> TrackId {
        let stream = match self.n_before {
            0 => stream.to_string(),
            _ => format!("{stream} of process {}", self.pid),
        };
        self.builder.track(&gpu.to_string(), &stream)
    }

    fn thread(&mut self, record: &Record) -> TrackId {
        let (pid, tid) = (self.pid.to_string(), record.thread_id.to_string());
        self.builder.track(&pid, &tid)
    }

    /// The correlation id of calls and kernels; each process numbers its own.
    fn link(&mut self, internal: u64) -> Option<LinkId> {
        match (internal, self.n_before) {
            (0, _) => None,
            (_, 0) => Some(self.builder.link(internal)),
            (_, process) => Some(self.builder.spelled_link(&format!("{process}:{internal}"))),
        }
    }

    fn marker(&mut self, record: &Record) -> StringId {
        let text = self.markers.get(&record.correlation_id.internal).copied();
        text.unwrap_or_else(|| self.operation(record))
    }

    fn operation(&mut self, record: &Record) -> StringId {
        let name = name_of(&self.names, record).map(str::to_owned);
        let unknown = || format!("operation_{}_{}", record.kind, record.operation);
        self.builder.string(&name.unwrap_or_else(unknown))
    }

    fn args(&mut self, args: Args) -> Option<StringId> {
        let args = args
            .iter()
            .map(|(key, value)| format!("\"{key}\": {value}"));
        let text = args.collect::<Vec<String>>().join(", ");
        Some(self.builder.string(&text))
    }
}

/// The name of a call or a copy.
fn name_of<'a>(names: &'a [Vec<String>], record: &Record) -> Option<&'a str> {
    Some(names.get(record.kind)?.get(record.operation)?)
}

/// A list element, if it has the expected form.
fn parsed<'a, T: Deserialize<'a>>(element: &'a [u8]) -> Option<T> {
    serde_json::from_slice(element).ok()
}
