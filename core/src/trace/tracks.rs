//! Where events ran, and the ids that join them.

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;
use serde::{Deserialize, Serialize};

use super::column::{Row, rows};
use super::{StringId, StringTable};

/// A row of the [`TrackTable`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TrackId(pub u32);

rows! {
    TrackId: u32, |id| id.0, TrackId;
}

/// A thread of the CPU or a stream of a device.
#[derive(Debug, Clone, Copy)]
pub struct Track {
    /// `pid` as the trace spells it (a number or a name).
    pub pid: StringId,
    /// `tid` as the trace spells it.
    pub tid: StringId,
    /// From the metadata event `process_name` of the pid.
    pub process_name: Option<StringId>,
    /// From the metadata event `process_labels` of the pid.
    pub process_label: Option<StringId>,
    /// From the metadata event `thread_name` of the pair.
    pub thread_name: Option<StringId>,
}

/// The distinct `(pid, tid)` pairs, in order of first appearance.
#[derive(Debug, Default)]
pub struct TrackTable {
    tracks: Vec<Track>,
    index: HashMap<(StringId, StringId), TrackId, FxBuildHasher>,
}

impl TrackTable {
    /// The id of a pair, adding it when it is new.
    pub(crate) fn intern(&mut self, pid: StringId, tid: StringId) -> TrackId {
        *self.index.entry((pid, tid)).or_insert_with(|| {
            let id = TrackId(self.tracks.len() as u32);
            self.tracks.push(Track {
                pid,
                tid,
                process_name: None,
                process_label: None,
                thread_name: None,
            });
            id
        })
    }

    /// A track; `None` for an id of another table.
    pub fn get(&self, id: TrackId) -> Option<&Track> {
        self.tracks.get(id.0 as usize)
    }

    /// All tracks, mutable, to set their names.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Track> {
        self.tracks.iter_mut()
    }

    /// All tracks with their ids.
    pub fn iter(&self) -> impl Iterator<Item = (TrackId, &Track)> {
        self.tracks
            .iter()
            .enumerate()
            .map(|(row, track)| (TrackId(row as u32), track))
    }

    /// Number of tracks.
    pub fn len(&self) -> usize {
        self.tracks.len()
    }

    /// True when no event named a track.
    pub fn is_empty(&self) -> bool {
        self.tracks.is_empty()
    }
}

/// A correlation, external or flow id.
///
/// Ids below 2³¹ are the numbers of the trace. Larger ones, hexadecimal ones and names get a number with
/// the top bit set, from [`LinkIds`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LinkId(pub u32);

impl LinkId {
    /// The number as written in the trace; `None` for large numbers and names.
    pub(crate) fn number(self) -> Option<u32> {
        (self.0 < LinkIds::SPELLED).then_some(self.0)
    }

    /// The row of its spelling; `None` for an id that is a number of the trace.
    pub(crate) fn spelling(self) -> Option<usize> {
        Some(self.0.checked_sub(LinkIds::SPELLED)? as usize)
    }
}

/// The link ids that are not small integers.
#[derive(Debug, Clone, Default)]
pub struct LinkIds {
    spelled: Vec<StringId>,
    index: HashMap<StringId, LinkId, FxBuildHasher>,
}

impl LinkIds {
    const SPELLED: u32 = 1 << 31;

    /// The id of a non-negative integer.
    #[inline]
    pub fn number(&mut self, number: u64, strings: &mut StringTable) -> LinkId {
        match u32::try_from(number) {
            Ok(small) if small < Self::SPELLED => LinkId(small),
            _ => self.spelled(strings.intern(&number.to_string())),
        }
    }

    /// Every spelling, in the order of their ids.
    pub fn spellings(&self) -> &[StringId] {
        &self.spelled
    }

    /// The id of any other spelling.
    pub fn spelled(&mut self, spelling: StringId) -> LinkId {
        *self.index.entry(spelling).or_insert_with(|| {
            let id = LinkId(Self::SPELLED + self.spelled.len() as u32);
            self.spelled.push(spelling);
            id
        })
    }
}
