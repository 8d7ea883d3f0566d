//! A cache by name: a function of a name is computed once for each name.

use super::{EventId, Trace};

/// Caches a function of names: there are few names and many events.
#[derive(Debug)]
pub(crate) struct ByName<T> {
    /// By the row of the name.
    known: Vec<Option<T>>,
    compute: fn(&str) -> T,
}

impl<T: Copy> ByName<T> {
    pub(crate) fn new(compute: fn(&str) -> T) -> ByName<T> {
        ByName {
            known: Vec::new(),
            compute,
        }
    }

    #[inline]
    pub(crate) fn of(&mut self, trace: &Trace, event: EventId) -> T {
        let name = trace.events.name(event);
        match self.known.get(name.0 as usize) {
            Some(Some(known)) => *known,
            _ => self.ask(trace, event),
        }
    }

    #[cold]
    fn ask(&mut self, trace: &Trace, event: EventId) -> T {
        let row = trace.events.name(event).0 as usize;
        if self.known.len() <= row {
            self.known.resize(trace.strings.len().max(row + 1), None);
        }
        let value = (self.compute)(trace.name(event));
        if let Some(known) = self.known.get_mut(row) {
            *known = Some(value);
        }
        value
    }
}
