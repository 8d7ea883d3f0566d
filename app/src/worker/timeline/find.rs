//! Searching all events by name, and marking the results.

use std::collections::BTreeMap;

use dormer_core::base::sort::Arrange;
use dormer_core::profile::lanes::{Block, Row, View};
use dormer_core::profile::window::is_drawn;
use dormer_core::trace::{Category, EventId, EventTable, StringId, Trace};

use super::{Open, Timeline};
use crate::protocol::{Direction, FindEvents, FoundEvents, MARK_HUE, MINIMAP_PARTS};

/// Shorter spans are not drawn individually.
const SHORT_PX: f64 = 1.0;

/// The events whose name contains a text.
#[derive(Debug, Default)]
pub(super) struct Hits {
    text: String,
    /// By start; those with the same start in the order of the file.
    events: Vec<(i64, EventId)>,
    /// For each name, whether it contains the text.
    is_hit: Vec<bool>,
    /// Their positions in the rows drawn so far, by row number.
    by_row: BTreeMap<usize, Vec<u32>>,
}

impl Hits {
    pub(super) fn has(&self, name: StringId) -> bool {
        self.is_hit.get(name.0 as usize).copied().unwrap_or(false)
    }

    /// The first hit from a time on, of the kind that is looked for most: GPU activity, else anything but Python.
    fn first_from(&self, events: &EventTable, from_ns: i64) -> Option<usize> {
        let kind = |(_, event): &(i64, EventId)| match events.category(*event) {
            category if category.is_gpu() => 0,
            Category::PythonFunction => 2,
            _ => 1,
        };
        let wanted = self.events.iter().map(kind).min()?;
        let from = self.events.partition_point(|(at, _)| *at < from_ns);
        let (before, after) = self.events.split_at(from);
        let is_wanted = |hit: &(i64, EventId)| kind(hit) == wanted;
        let later = after.iter().position(is_wanted).map(|at| from + at);
        later.or_else(|| before.iter().position(is_wanted))
    }
}

impl Timeline<'_> {
    /// Goes to the next event whose name contains a text.
    pub fn find(&mut self, query: &FindEvents) -> FoundEvents {
        let text = query.text.trim().to_lowercase();
        if self.open.hits.text != text {
            self.open.hits = self.search(text);
        }
        let span = self.place.span;
        let (hits, n_hits) = (&self.open.hits.events, self.open.hits.events.len());
        let mut marks: Vec<u16> = Vec::new();
        let length = span.length().max(1) as f64;
        for (at, _) in hits {
            let share = at.saturating_sub(span.start_ns) as f64 / length;
            let part = (share * MINIMAP_PARTS as f64) as usize;
            let part = part.min(MINIMAP_PARTS - 1) as u16;
            if marks.last() != Some(&part) {
                marks.push(part);
            }
        }
        let found = FoundEvents {
            of: n_hits,
            marks,
            ..FoundEvents::default()
        };
        let events = &self.source.profile.trace.events;
        let from = match query.from {
            Some(uid) => events.by_uid(uid).map(|event| (events.ts_ns(event), event)),
            None => None,
        };
        let before = |key: (i64, EventId)| hits.partition_point(|hit| *hit < key);
        let position = match (from, query.direction) {
            (None, Direction::Previous) => n_hits.checked_sub(1),
            (None, _) => self
                .open
                .hits
                .first_from(events, self.absolute(query.from_ns)),
            (Some(from), Direction::Here) => Some(before(from)),
            (Some(from), Direction::Next) => Some(hits.partition_point(|hit| *hit <= from)),
            (Some(from), Direction::Previous) => {
                before(from).checked_sub(1).or(n_hits.checked_sub(1))
            }
        };
        // After the last one comes the first.
        let position = position.map(|at| if at < n_hits { at } else { 0 });
        let event = position
            .and_then(|at| hits.get(at))
            .map(|(_, event)| *event);
        FoundEvents {
            position: position.filter(|_| n_hits > 0).map_or(0, |at| at + 1),
            card: event.and_then(|event| self.card(event)),
            ..found
        }
    }

    fn search(&self, text: String) -> Hits {
        let trace = &self.source.profile.trace;
        if text.is_empty() {
            return Hits::default();
        }
        let names = trace.strings.iter();
        let is_hit: Vec<bool> = names.map(|(_, name)| contains(name, &text)).collect();
        let mut hits = Hits {
            text,
            is_hit,
            ..Hits::default()
        };
        let events = &trace.events;
        let drawn = events.ids().filter(|event| {
            hits.has(events.name(*event))
                && is_drawn(events.category(*event))
                && !trace.captured.has(*event)
        });
        let mut found: Vec<(i64, EventId)> =
            drawn.map(|event| (events.ts_ns(event), event)).collect();
        found.arrange();
        hits.events = found;
        hits
    }
}

/// `text` must be lower case.
fn contains(name: &str, text: &str) -> bool {
    let (name, text) = (name.as_bytes(), text.as_bytes());
    if name.is_ascii() {
        return name
            .windows(text.len())
            .any(|part| part.eq_ignore_ascii_case(text));
    }
    String::from_utf8_lossy(name)
        .to_lowercase()
        .contains(&*String::from_utf8_lossy(text))
}

impl Open {
    /// Whether the name of an event contains the search text.
    pub(super) fn is_hit(&self, name: StringId) -> bool {
        self.hits.has(name)
    }

    /// Determines which positions of a row are hits, once for each search.
    pub(super) fn know_hits(&mut self, trace: &Trace, number: usize, first_row: usize) {
        if self.hits.events.is_empty() || self.hits.by_row.contains_key(&number) {
            return;
        }
        let at = number.checked_sub(first_row);
        let place = at.and_then(|at| self.rows.get(at)).copied();
        let row = place.and_then(|(lane, row)| self.lanes.lanes.get(lane)?.rows.get(row));
        let Some(row) = row.filter(|row| !row.is_of_parts()) else {
            return;
        };
        let is_hit = |at: &u32| {
            let event = row.event(*at as usize);
            event.is_some_and(|event| self.hits.has(trace.events.name(event)))
        };
        let positions = (0..row.len() as u32).filter(is_hit).collect();
        self.hits.by_row.insert(number, positions);
    }
}

impl Timeline<'_> {
    /// Positions of a row's hits that are too short to be drawn individually: one pixel each, or a range where they are
    /// adjacent.
    pub(super) fn short_hits(&self, number: usize, view: &View) -> Vec<(usize, Block)> {
        let trace = &self.source.profile.trace;
        let positions = self.open.hits.by_row.get(&number);
        let marks = positions.zip(self.row(number));
        let marks = marks.map(|(positions, row)| short(trace, row, positions, view));
        let marks = marks.unwrap_or_default().into_iter();
        marks.map(|mark| (number, mark)).collect()
    }
}

fn short(trace: &Trace, row: &Row, positions: &[u32], view: &View) -> Vec<Block> {
    let px = |ns: i64| ns.saturating_sub(view.from_ns) as f64 / view.ns_per_px;
    let edges = |position: u32| {
        let span = row.span(trace, position as usize)?;
        Some((px(span.start_ns), px(span.end_ns)))
    };
    let first = positions
        .partition_point(|position| edges(*position).is_some_and(|(_, right_px)| right_px < 0.0));
    let mut left = positions.get(first..).unwrap_or_default();
    let mut marks: Vec<Block> = Vec::new();
    while let Some((position, rest)) = left.split_first() {
        let Some((left_px, right_px)) = edges(*position).filter(|(at, _)| *at < view.width_px)
        else {
            break;
        };
        left = rest;
        if right_px - left_px >= SHORT_PX {
            continue;
        }
        let (pixel, next) = (left_px.floor(), left_px.floor() + SHORT_PX);
        match marks.last_mut() {
            Some(mark) if mark.right_px >= pixel => mark.right_px = next,
            _ => marks.extend(row.event(*position as usize).map(|event| Block {
                left_px: pixel,
                right_px: next,
                event,
                count: 1,
                filled: 1.0,
                hue: MARK_HUE,
            })),
        }
        // Skip everything else that starts in this pixel.
        let same = left.partition_point(|other| edges(*other).is_some_and(|(at, _)| at < next));
        left = left.get(same..).unwrap_or_default();
    }
    marks
}
