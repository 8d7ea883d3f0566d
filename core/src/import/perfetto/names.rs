//! What a sequence of packets says once and refers to by number from then on.

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

    /// The field of an entry that is its text. Kernels have a short name, too.
    fn text_field(self) -> u32 {
        match self {
            Table::KERNELS => 3,
            _ => 2,
        }
    }
}

/// More text than this in names that may never be used is damage.
const MOST_BYTES: usize = 256 << 20;

/// What a sequence of packets has said.
#[derive(Debug, Default)]
pub(super) struct Sequence {
    names: HashMap<(Table, u64), Name, FxBuildHasher>,
    n_bytes: usize,
    /// The clock of packets that name none.
    pub(super) clock: Option<u64>,
    /// The track of events that name none.
    pub(super) track: u64,
}

#[derive(Debug)]
struct Name {
    text: Box<str>,
    /// In the trace, once it is used there.
    id: Option<StringId>,
}

impl Sequence {
    /// Forgets it all, as a writer says that begins anew.
    pub(super) fn clear(&mut self) {
        *self = Sequence::default();
    }

    /// Takes names; says what is damaged, and whether they were too many to keep.
    pub(super) fn read(&mut self, mut fields: Fields) -> (Option<Bad>, bool) {
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
            self.n_bytes += text.len();
            if self.n_bytes > MOST_BYTES {
                is_full = true;
                break;
            }
            let text = text.into();
            self.names.insert((table, iid), Name { text, id: None });
        }
        (fields.bad(), is_full)
    }

    /// A name as text.
    pub(super) fn text(&self, table: Table, iid: u64) -> Option<&str> {
        self.names.get(&(table, iid)).map(|name| &*name.text)
    }

    /// A name of the trace.
    pub(super) fn id(
        &mut self,
        table: Table,
        iid: u64,
        builder: &mut TraceBuilder,
    ) -> Option<StringId> {
        let name = self.names.get_mut(&(table, iid))?;
        let id = name.id.get_or_insert_with(|| builder.string(&name.text));
        Some(*id)
    }
}
