//! The event columns.

use serde::{Deserialize, Serialize};

use super::categories::{Categories, CategorySet};
use super::column::{Row, rows};
use super::narrow::NarrowColumn;
use super::part::PartIds;
use super::positions::Positions;
use super::{Category, Column, LinkId, OpArgsId, StringId, TrackId};
use crate::base::interval::Interval;
use crate::base::row_id::row_id;
use crate::base::row_set::RowSet;
use crate::base::sort::Arrange;

row_id! {
    /// A row of the [`EventTable`], in file order.
    EventId
}

/// One complete event to add to the table.
#[derive(Debug, Clone, Copy)]
pub struct NewEvent {
    /// Position in `traceEvents`.
    pub uid: u32,
    /// What it was recorded as.
    pub category: Category,
    /// Its name.
    pub name: StringId,
    /// The thread or stream it ran on.
    pub track: TrackId,
    /// Start.
    pub ts_ns: i64,
    /// Duration; `None` if it is missing or cannot be true.
    pub dur_ns: Option<i64>,
    /// `External id`.
    pub external_id: Option<LinkId>,
    /// `correlation`.
    pub correlation: Option<LinkId>,
    /// Shapes, types, strides and concrete inputs.
    pub op_args: Option<OpArgsId>,
    /// The remaining arguments, as raw JSON text `"key": value, …`.
    pub extra_args: Option<StringId>,
}

const NONE: u32 = u32::MAX;

/// Ids and arguments of one event; Python frames, which make up most of a trace, have none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Detail {
    external_id: u32,
    correlation: u32,
    op_args: u32,
    extra_args: u32,
}

const NOTHING: Detail = Detail {
    external_id: NONE,
    correlation: NONE,
    op_args: NONE,
    extra_args: NONE,
};

/// Maps an id to another table's, except [`NONE`].
#[inline]
fn map(field: u32, to: impl Fn(u32) -> u32) -> u32 {
    match field {
        NONE => NONE,
        field => to(field),
    }
}

impl Detail {
    /// `None` if there is nothing to keep.
    fn new(
        external_id: Option<LinkId>,
        correlation: Option<LinkId>,
        op_args: Option<OpArgsId>,
        extra_args: Option<StringId>,
    ) -> Option<Detail> {
        let detail = Detail {
            external_id: external_id.map_or(NONE, |id| id.0),
            correlation: correlation.map_or(NONE, |id| id.0),
            op_args: op_args.map_or(NONE, |id| id.0),
            extra_args: extra_args.map_or(NONE, |id| id.0),
        };
        (detail != NOTHING).then_some(detail)
    }
}

/// Complete events as columns of equal length, in file order.
///
/// 21 bytes a row, plus 16 for those with ids or arguments.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct EventTable {
    /// Start, nanoseconds since the profiler's epoch.
    ts_ns: Column<i64>,
    /// Duration in nanoseconds, where it is known.
    dur_ns: NarrowColumn<Option<i64>>,
    /// Name.
    name: Column<StringId>,
    /// Thread or stream.
    track: NarrowColumn<TrackId>,
    /// Position in `traceEvents`.
    uid: Positions,
    /// What it was recorded as.
    categories: Categories,
    /// Which events have a row in `details`.
    has_detail: RowSet,
    details: Column<Detail>,
    /// Sorted by row: details of events that were added without any.
    late_details: Vec<(u32, Detail)>,
}

rows! {
    Category: u16,
        |category| category as u16,
        |row| Category::ALL.get(usize::from(row)).copied().unwrap_or(Category::Other);
    Detail: u128,
        |detail| {
            let Detail { external_id, correlation, op_args, extra_args } = detail;
            [external_id, correlation, op_args, extra_args].into_iter().fold(0, |bits, field| bits << 32 | u128::from(field))
        },
        |bits| Detail {
            external_id: (bits >> 96) as u32,
            correlation: (bits >> 64) as u32,
            op_args: (bits >> 32) as u32,
            extra_args: bits as u32,
        };
}

impl EventTable {
    /// Appends the events of a part, whose first element has position `first_uid` in `traceEvents`.
    pub(super) fn append(&mut self, part: &EventTable, first_uid: u32, ids: &PartIds) {
        for id in part.ids() {
            let detail = part.detail(id).map(|detail| Detail {
                external_id: map(detail.external_id, |id| ids.link(LinkId(id)).0),
                correlation: map(detail.correlation, |id| ids.link(LinkId(id)).0),
                op_args: map(detail.op_args, |id| ids.args(OpArgsId(id)).0),
                extra_args: map(detail.extra_args, |id| ids.string(StringId(id)).0),
            });
            self.push_detail(detail);
        }
        self.ts_ns.extend(part.ts_ns.iter());
        self.dur_ns.extend(part.dur_ns.iter());
        for (name, category) in part.name.iter().zip(part.categories.iter()) {
            let name = ids.string(name);
            self.name.push(name);
            self.categories.push(category, name);
        }
        self.track.extend(part.track.iter().map(|id| ids.track(id)));
        for uid in part.uid.iter() {
            self.uid.push(first_uid.saturating_add(uid));
        }
    }

    /// A copy without some events, given in ascending order.
    fn without(&self, left_out: &[EventId]) -> EventTable {
        let kept = self.ids().filter(|id| left_out.binary_search(id).is_err());
        self.picked(kept.map(|id| (id, self.uid(id))))
    }

    /// A copy with only some events, each with its new position in `traceEvents`, in ascending order.
    fn picked(&self, events: impl Iterator<Item = (EventId, u32)>) -> EventTable {
        let mut picked = EventTable::default();
        for (id, uid) in events {
            picked.push(NewEvent {
                uid,
                ..self.get(id)
            });
        }
        picked
    }

    /// All of an event, to add it to another table.
    pub(crate) fn get(&self, id: EventId) -> NewEvent {
        NewEvent {
            uid: self.uid(id),
            category: self.category(id),
            name: self.name(id),
            track: self.track(id),
            ts_ns: self.ts_ns(id),
            dur_ns: self.dur_ns(id),
            external_id: self.external_id(id),
            correlation: self.correlation(id),
            op_args: self.op_args(id),
            extra_args: self.extra_args(id),
        }
    }

    /// Number of events.
    pub fn len(&self) -> usize {
        self.ts_ns.len()
    }

    /// True for a trace without complete events.
    pub fn is_empty(&self) -> bool {
        self.ts_ns.is_empty()
    }

    /// All rows, in file order.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = EventId> + ExactSizeIterator + use<> {
        (0..self.len() as u32).map(EventId)
    }

    /// The rows of one category, in file order.
    pub(crate) fn in_category(&self, category: Category) -> impl Iterator<Item = EventId> {
        self.of_category(move |of| of == category)
    }

    /// The rows whose category matches, in file order. Reads at most one byte per row.
    pub fn of_category(&self, is_of: impl Fn(Category) -> bool) -> impl Iterator<Item = EventId> {
        self.in_set(CategorySet::of(is_of))
    }

    fn in_set(&self, wanted: CategorySet) -> impl Iterator<Item = EventId> + '_ {
        self.categories
            .places(wanted)
            .map(|row| EventId(row as u32))
    }

    /// The rows of some categories with some names, given by the row of each name.
    fn with_names(
        &self,
        wanted: CategorySet,
        names: Vec<bool>,
    ) -> impl Iterator<Item = EventId> + '_ {
        let wanted = match names.contains(&true) {
            true => wanted,
            false => CategorySet::default(),
        };
        let has_name =
            move |event: &EventId| names.get(self.name(*event).0 as usize) == Some(&true);
        self.in_set(wanted).filter(has_name)
    }

    /// Appends an event.
    #[inline]
    pub fn push(&mut self, event: NewEvent) -> EventId {
        let id = EventId(self.len() as u32);
        self.ts_ns.push(event.ts_ns);
        self.dur_ns.push(event.dur_ns);
        self.name.push(event.name);
        self.track.push(event.track);
        self.uid.push(event.uid);
        self.categories.push(event.category, event.name);
        let ids = (event.external_id, event.correlation);
        self.push_detail(Detail::new(ids.0, ids.1, event.op_args, event.extra_args));
        id
    }

    #[inline]
    fn push_detail(&mut self, detail: Option<Detail>) {
        self.has_detail.push(detail.is_some());
        if let Some(detail) = detail {
            self.details.push(detail);
        }
    }

    /// Moves the start of an event; the duration stays.
    pub(crate) fn move_by_ns(&mut self, id: EventId, by_ns: i64) {
        let ts_ns = self.ts_ns(id).saturating_add(by_ns);
        self.ts_ns.set(id.index(), ts_ns);
    }

    /// Sets a duration that was unknown when the event was added, or that turned out to be wrong.
    pub(crate) fn set_dur_ns(&mut self, id: EventId, dur_ns: Option<i64>) {
        self.dur_ns.set(id.index(), dur_ns);
    }

    /// Adds details that were unknown when the event was added: `External id`, `correlation` and arguments. Known ones
    /// stay as they are.
    pub(crate) fn fill_in(
        &mut self,
        id: EventId,
        (external_id, correlation): (Option<LinkId>, Option<LinkId>),
        op_args: Option<OpArgsId>,
        extra_args: Option<StringId>,
    ) {
        let known = Detail::new(
            self.external_id(id).or(external_id),
            self.correlation(id).or(correlation),
            self.op_args(id).or(op_args),
            self.extra_args(id).or(extra_args),
        );
        let Some(detail) = known.filter(|_| id.index() < self.len()) else {
            return;
        };
        if let Some(row) = self.has_detail.place(id.index()) {
            return self.details.set(row, detail);
        }
        match self.late_place(id) {
            Ok(at) => self.late_details[at].1 = detail,
            Err(at) => self.late_details.insert(at, (id.0, detail)),
        }
    }

    /// Start in nanoseconds.
    #[inline]
    pub fn ts_ns(&self, id: EventId) -> i64 {
        self.ts_ns.get(id.index()).unwrap_or(0)
    }

    /// Duration in nanoseconds, never negative; `None` if it is missing or cannot be true.
    #[inline]
    pub fn dur_ns(&self, id: EventId) -> Option<i64> {
        self.dur_ns.get(id.index()).flatten()
    }

    /// End in nanoseconds; the start if the duration is unknown.
    #[inline]
    pub fn end_ns(&self, id: EventId) -> i64 {
        self.ts_ns(id).saturating_add(self.dur_ns(id).unwrap_or(0))
    }

    /// When it ran; empty if the duration is unknown.
    #[inline]
    pub fn span(&self, id: EventId) -> Interval {
        Interval::new(self.ts_ns(id), self.end_ns(id))
    }

    /// Name.
    #[inline]
    pub fn name(&self, id: EventId) -> StringId {
        self.name
            .get(id.index())
            .unwrap_or(super::StringTable::EMPTY)
    }

    /// Thread or stream.
    #[inline]
    pub fn track(&self, id: EventId) -> TrackId {
        self.track.get(id.index()).unwrap_or(TrackId(0))
    }

    /// What it was recorded as.
    #[inline]
    pub fn category(&self, id: EventId) -> Category {
        self.categories.get(id.index()).unwrap_or(Category::Other)
    }

    /// Position in `traceEvents`; reports print it as the event's id.
    #[inline]
    pub fn uid(&self, id: EventId) -> u32 {
        self.uid.get(id.index()).unwrap_or(NONE)
    }

    /// The event at a position in `traceEvents`, if it was kept.
    pub fn by_uid(&self, uid: u32) -> Option<EventId> {
        // Uids are ascending.
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low + (high - low) / 2;
            match self.uid.get(middle)? < uid {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        (self.uid.get(low)? == uid).then_some(EventId(low as u32))
    }

    /// `External id`: joins an op with what ran for it.
    #[inline]
    pub fn external_id(&self, id: EventId) -> Option<LinkId> {
        self.known(id, |detail| detail.external_id).map(LinkId)
    }

    /// `correlation`: joins a runtime call with its GPU activity.
    #[inline]
    pub fn correlation(&self, id: EventId) -> Option<LinkId> {
        self.known(id, |detail| detail.correlation).map(LinkId)
    }

    /// Shapes, types, strides and concrete inputs.
    #[inline]
    pub fn op_args(&self, id: EventId) -> Option<OpArgsId> {
        self.known(id, |detail| detail.op_args).map(OpArgsId)
    }

    /// The remaining arguments, as raw JSON text `"key": value, …`.
    #[inline]
    pub fn extra_args(&self, id: EventId) -> Option<StringId> {
        self.known(id, |detail| detail.extra_args).map(StringId)
    }

    #[inline]
    fn known(&self, id: EventId, field: impl Fn(Detail) -> u32) -> Option<u32> {
        Some(field(self.detail(id)?)).filter(|&field| field != NONE)
    }

    #[inline]
    fn detail(&self, id: EventId) -> Option<Detail> {
        match self.has_detail.place(id.index()) {
            Some(row) => self.details.get(row),
            None if self.late_details.is_empty() => None,
            None => Some(self.late_details[self.late_place(id).ok()?].1),
        }
    }

    fn late_place(&self, id: EventId) -> Result<usize, usize> {
        self.late_details
            .binary_search_by_key(&id.0, |(row, _)| *row)
    }
}

impl super::Trace {
    /// The events of some categories with a name that matches, in file order. Only names that occur in these
    /// categories are checked, and if none matches, no event is read.
    pub fn named(
        &self,
        is_of: impl Fn(Category) -> bool,
        is_named: impl Fn(&str) -> bool,
    ) -> impl Iterator<Item = EventId> {
        let wanted = CategorySet::of(is_of);
        let matches = |(id, name): (StringId, &str)| {
            self.events.categories.has_name(id, wanted) && is_named(name)
        };
        let matching: Vec<bool> = self.strings.iter().map(matches).collect();
        self.events.with_names(wanted, matching)
    }

    /// Reorders all events; each comes with its new position in `traceEvents`.
    pub(crate) fn arrange(&mut self, order: &[(EventId, u32)]) {
        self.events = self.events.picked(order.iter().copied());
        let mut new_ids = vec![EventId(0); order.len()];
        for (row, (old, _)) in order.iter().enumerate() {
            if let Some(id) = new_ids.get_mut(old.index()) {
                *id = EventId(row as u32);
            }
        }
        for notes in [&mut self.sequence_numbers, &mut self.unreliable_durations] {
            for (event, _) in notes.iter_mut() {
                *event = new_ids.get(event.index()).copied().unwrap_or(*event);
            }
            notes.arrange_by_key(|(event, _)| *event);
        }
    }

    /// Removes some events, given in ascending order. Later events get new ids.
    pub(crate) fn leave_out(&mut self, events: &[EventId]) {
        self.events = self.events.without(events);
        self.sequence_numbers.retain_mut(|(event, _)| {
            let before = events.partition_point(|left_out| left_out < event);
            let stays = events.get(before) != Some(event);
            event.0 -= before as u32;
            stays
        });
    }
}
