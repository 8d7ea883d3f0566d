//! Searching all events by name, and what of them is marked.

use dormer_core::profile::lanes::is_drawn;
use dormer_core::trace::{EventId, StringId};

use super::{Open, Timeline};
use crate::protocol::{Direction, FindEvents, FoundEvents, MINIMAP_PARTS};

/// The events whose name contains a text.
#[derive(Debug, Default)]
pub(super) struct Hits {
    text: String,
    /// By start, and of those that start together in the order of the file.
    events: Vec<(i64, EventId)>,
    /// By name: whether it contains the text.
    is_hit: Vec<bool>,
}

impl Hits {
    pub(super) fn has(&self, name: StringId) -> bool {
        self.is_hit.get(name.0 as usize).copied().unwrap_or(false)
    }
}

impl Timeline<'_> {
    /// Goes to the next event whose name contains a text.
    pub fn find(&mut self, query: &FindEvents) -> FoundEvents {
        let text = query.text.trim().to_lowercase();
        if self.open.hits.text != text {
            self.open.hits = self.search(text);
        }
        let span = self.open.lanes.span;
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
            (None, _) => Some(hits.partition_point(|(at, _)| *at < self.absolute(query.from_ns))),
            (Some(from), Direction::Here) => Some(before(from)),
            (Some(from), Direction::Next) => Some(hits.partition_point(|hit| *hit <= from)),
            (Some(from), Direction::Previous) => {
                before(from).checked_sub(1).or(n_hits.checked_sub(1))
            }
        };
        // Beyond the last one is the first again.
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
            events: Vec::new(),
            is_hit,
        };
        let events = &trace.events;
        let drawn = events.ids().filter(|event| {
            hits.has(events.name(*event))
                && is_drawn(events.category(*event))
                && !trace.captured.has(*event)
        });
        let mut found: Vec<(i64, EventId)> =
            drawn.map(|event| (events.ts_ns(event), event)).collect();
        found.sort_unstable();
        hits.events = found;
        hits
    }
}

/// `text` is in lower case.
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
    /// Whether the name of an event contains the text that is searched.
    pub(super) fn is_hit(&self, name: StringId) -> bool {
        self.hits.has(name)
    }
}
