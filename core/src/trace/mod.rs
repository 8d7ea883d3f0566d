//! What was recorded: columns of events, interned strings, op arguments, devices.
//!
//! A [`Trace`] is built once, through [`TraceBuilder`], and never changes after that. Later
//! stages keep row ids ([`EventId`], [`StringId`], …) and borrow the rest from here.

pub mod annotations;
mod args;
mod builder;
mod by_name;
mod captured;
mod categories;
mod category;
mod column;
mod devices;
pub(crate) mod distributed;
pub mod event_args;
mod events;
pub(crate) mod extra_args;
mod flows;
pub(crate) mod lifetime;
mod memory;
mod narrow;
mod part;
mod positions;
mod source;
mod strings;
mod tracks;

pub(crate) use args::list_items;
pub use args::{ArgsTable, Dims, OpArgs, OpArgsId, ShapeId};
pub use builder::{OpArgsText, TraceBuilder};
pub(crate) use by_name::ByName;
pub use captured::Captured;
pub use category::Category;
pub use column::Column;
pub use devices::DeviceProperties;
pub use events::{EventId, EventTable, NewEvent};
pub use flows::{FlowPoint, FlowTable};
pub use memory::{FailedAllocation, MemoryDevice, MemoryEvent, MemoryTable};
pub(crate) use narrow::{NarrowColumn, Wide};
pub(crate) use part::{PartIds, Rows, TracePart};
pub use source::Source;
pub use strings::{StringId, StringTable};
pub use tracks::{LinkId, LinkIds, Track, TrackId, TrackTable};

/// Everything Dormer keeps of one trace.
#[derive(Debug, Default)]
pub struct Trace {
    /// Which program wrote it.
    pub source: Source,
    /// Every distinct string, once.
    pub strings: StringTable,
    /// The complete (`X`) events, in file order.
    pub events: EventTable,
    /// The arguments of ops, each distinct set once.
    pub args: ArgsTable,
    /// `(pid, tid)` pairs with the names that metadata events gave them.
    pub tracks: TrackTable,
    /// Host-to-device flow arrows (`ac2g`).
    pub flows: FlowTable,
    /// Spelling of link ids that are not small integers.
    pub link_ids: LinkIds,
    /// `Sequence number` of the events that have one, in file order.
    pub sequence_numbers: Vec<(EventId, i64)>,
    /// Durations as recorded that cannot be true, by event. The event's own duration counts as unknown.
    /// [`crate::profile::Profile`] takes them over.
    pub unreliable_durations: Vec<(EventId, i64)>,
    /// The GPUs the profiler described.
    pub devices: Vec<DeviceProperties>,
    /// Small top-level keys other than `traceEvents`, as raw JSON, in file order.
    pub metadata: Vec<(String, String)>,
    /// What the allocators reported.
    pub memory: MemoryTable,
    /// Calls recorded while a GPU graph was captured, placed below the launches that replay it.
    pub captured: Captured,
    /// All events in the file, of any phase, including those that no table keeps.
    pub n_events_read: u64,
}

impl Trace {
    /// The name of an event.
    #[inline]
    pub fn name(&self, event: EventId) -> &str {
        self.strings.get(self.events.name(event))
    }
}
