//! Appends events that a [`PartReader`](crate::import::PartReader) read to the existing rows.

use super::EventReader;
use crate::import::categories::UnknownCategories;
use crate::import::limits;
use crate::import::part::Part;
use crate::trace::{MemoryTable, PartIds};

impl EventReader {
    /// Whether the result does not depend on the text before it: no half of an event, and no full table.
    pub(in super::super) fn stands_alone(&self) -> bool {
        !self.open.saw_half
            && self.keys.has_room_for(0)
            && self.unknown.has_room_for(&UnknownCategories::default())
    }

    /// Whether a part fits in all tables.
    pub(in super::super) fn has_room_for(&self, part: &Part) -> bool {
        let trace = &self.builder.trace;
        let (memory, more) = (&trace.memory, part.trace.memory());
        let n_devices = memory.devices().len() + more.devices().len();
        self.keys.has_room_for(part.keys.len())
            && self.unknown.has_room_for(&part.unknown)
            && limits::has_room_for(trace, part.trace.n_events(), part.trace.n_text())
            && memory.len() + more.len() <= limits::MAX_MEMORY_ROWS
            && n_devices <= MemoryTable::MAX_DEVICES
    }

    /// Adds a part whose first element has this position in `traceEvents`. Returns false if an earlier part of the same
    /// reader is missing.
    pub(in super::super) fn join(
        &mut self,
        part: &Part,
        first_uid: u32,
        ids: &mut PartIds,
    ) -> bool {
        if !self.builder.join(&part.trace, first_uid, ids) {
            return false;
        }
        self.saw_phase |= part.saw_phase;
        self.warnings.extend(&part.warnings);
        self.unknown.join(&part.unknown);
        self.keys.add(&part.keys);
        true
    }

    /// Takes the unknown categories and starts a new count.
    pub(in super::super) fn take_unknown(&mut self) -> UnknownCategories {
        // The cached category may refer to a row of them.
        self.last_cat = Default::default();
        std::mem::take(&mut self.unknown)
    }
}
