//! What names tell, each looked at once.

use super::{EventId, StringId, Trace};
use crate::base::map::Map;

/// What a function tells of names, as far as it was asked: names are few, events are many.
#[derive(Debug)]
pub(crate) struct ByName<T> {
    known: Map<StringId, T>,
    tell: fn(&str) -> T,
}

impl<T: Copy> ByName<T> {
    pub(crate) fn new(tell: fn(&str) -> T) -> ByName<T> {
        ByName {
            known: Map::default(),
            tell,
        }
    }

    pub(crate) fn of(&mut self, trace: &Trace, event: EventId) -> T {
        let name = trace.events.name(event);
        let known = self.known.entry(name);
        *known.or_insert_with(|| (self.tell)(trace.strings.get(name)))
    }
}
