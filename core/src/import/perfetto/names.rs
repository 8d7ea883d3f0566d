//! Interned data: what a sequence of packets defines once and refers to by number from then on.

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use crate::import::wire::{Bad, Fields};
use crate::trace::{StringId, TraceBuilder};

/// A table of names: the field of `InternedData` that fills it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Table(u32);

impl Table {
    pub(super) const CATEGORIES: Table = Table(1);
    pub(super) const EVENTS: Table = Table(2);
    pub(super) const ANNOTATIONS: Table = Table(3);
    /// Hardware queues and stages of GPU activity.
    pub(super) const GPU: Table = Table(24);
    pub(super) const TEXTS: Table = Table(29);
    pub(super) const KERNELS: Table = Table(1000);
    pub(super) const LAUNCH: Table = Table(1001);

    const ALL: [Table; 7] = [
        Table::CATEGORIES,
        Table::EVENTS,
        Table::ANNOTATIONS,
        Table::GPU,
        Table::TEXTS,
        Table::KERNELS,
        Table::LAUNCH,
    ];

    /// The field of an entry that holds its text. Kernels also have a short name.
    fn text_field(self) -> u32 {
        match self {
            Table::KERNELS => 3,
            _ => 2,
        }
    }
}

/// Memory budget for names of all sequences together, as names may never be used; more is damage.
#[derive(Debug)]
pub(super) struct NameRoom(usize);

impl Default for NameRoom {
    fn default() -> Self {
        NameRoom(256 << 20)
    }
}

impl NameRoom {
    /// Reserves space for a name; false if there is none left.
    fn take(&mut self, n_bytes: usize) -> bool {
        let left = self.0.checked_sub(n_bytes);
        self.0 = left.unwrap_or(self.0);
        left.is_some()
    }
}

/// Longer texts are not names.
const MOST_TEXT: usize = 1 << 20;

/// The memory of a name besides its text.
const NAME_BYTES: usize = 64;

/// The state of a sequence of packets.
#[derive(Debug, Default)]
pub(super) struct Sequence {
    names: HashMap<(Table, u64), Name, FxBuildHasher>,
    n_bytes: usize,
    /// The default clock of its packets.
    pub(super) clock: Option<u64>,
    /// The default track of its events.
    pub(super) track: u64,
}

#[derive(Debug)]
struct Name {
    text: Box<str>,
    /// Its id in the trace, once it is used there.
    id: Option<StringId>,
}

impl Sequence {
    /// Resets everything, when a writer says that it starts over.
    pub(super) fn clear(&mut self, room: &mut NameRoom) {
        room.0 += self.n_bytes;
        *self = Sequence::default();
    }

    /// Reads names; returns what is damaged, and whether there were too many to keep.
    pub(super) fn read(&mut self, mut fields: Fields, room: &mut NameRoom) -> (Option<Bad>, bool) {
        let mut is_full = false;
        for (number, entry) in fields.by_ref() {
            let Some(table) = Table::ALL.into_iter().find(|table| table.0 == number) else {
                continue;
            };
            let (mut iid, mut text) = (0, None);
            for (number, value) in entry.fields() {
                match number {
                    1 => iid = value.number(),
                    _ if number == table.text_field() => text = Some(value.text()),
                    _ => {}
                }
            }
            let Some(text) = text else { continue };
            if text.len() > MOST_TEXT {
                is_full = true;
                continue;
            }
            let n_bytes = NAME_BYTES + text.len();
            if !room.take(n_bytes) {
                is_full = true;
                break;
            }
            self.n_bytes += n_bytes;
            let text = text.into();
            let name = Name { text, id: None };
            if let Some(before) = self.names.insert((table, iid), name) {
                let n_bytes = NAME_BYTES + before.text.len();
                self.n_bytes -= n_bytes;
                room.0 += n_bytes;
            }
        }
        (fields.bad(), is_full)
    }

    /// A name's text.
    pub(super) fn text(&self, table: Table, iid: u64) -> Option<&str> {
        self.names.get(&(table, iid)).map(|name| &*name.text)
    }

    /// A name's id in the trace.
    pub(super) fn id(
        &mut self,
        table: Table,
        iid: u64,
        builder: &mut TraceBuilder,
    ) -> Option<StringId> {
        let name = self.names.get_mut(&(table, iid))?;
        Some(*name.id.get_or_insert_with(|| builder.string(&name.text)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `InternedData` with one name of an event, of four letters.
    fn name(iid: u8) -> Vec<u8> {
        [b"\x12\x08\x08", &[iid][..], b"\x12\x04name"].concat()
    }

    #[test]
    fn names_of_all_sequences_share_their_room() {
        let mut room = NameRoom(2 * (NAME_BYTES + 4));
        let [mut one, mut other] = [Sequence::default(), Sequence::default()];
        let mut read =
            |sequence: &mut Sequence, iid| sequence.read(Fields::of(&name(iid)), &mut room);
        assert_eq!(read(&mut one, 1), (None, false));
        // A name that is repeated takes no extra space.
        assert_eq!(read(&mut one, 1), (None, false));
        assert_eq!(read(&mut other, 1), (None, false));
        assert_eq!(read(&mut other, 2), (None, true));
        assert_eq!(other.text(Table::EVENTS, 2), None);
        one.clear(&mut room);
        assert_eq!(other.read(Fields::of(&name(2)), &mut room), (None, false));
        assert_eq!(other.text(Table::EVENTS, 2), Some("name"));
    }
}
