//! The id by which calls and their work are linked.

use crate::trace::{EventId, LinkId, StringId, Trace};

/// Which id links calls to work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LinkKey {
    Correlation,
    ExternalId,
}

impl LinkKey {
    /// Decided by the first launching call: in very old traces it has no correlation id. If there are no calls named
    /// like a launch, as in a trace with only copies, any correlation id decides.
    pub(super) fn of(trace: &Trace, calls: &[EventId]) -> LinkKey {
        let mut other_names: Vec<StringId> = Vec::new();
        for &call in calls {
            let name = trace.events.name(call);
            if other_names.contains(&name) {
                continue;
            }
            if !contains_launch(trace.strings.get(name)) {
                other_names.push(name);
                continue;
            }
            return match trace.events.correlation(call) {
                Some(_) => LinkKey::Correlation,
                None => LinkKey::ExternalId,
            };
        }
        let mut correlations = calls.iter().map(|call| trace.events.correlation(*call));
        match correlations.any(|id| id.is_some()) {
            true => LinkKey::Correlation,
            false => LinkKey::ExternalId,
        }
    }

    #[inline]
    pub(super) fn read(self, trace: &Trace, event: EventId) -> Option<LinkId> {
        match self {
            LinkKey::Correlation => trace.events.correlation(event),
            LinkKey::ExternalId => trace.events.external_id(event),
        }
    }
}

fn contains_launch(name: &str) -> bool {
    name.as_bytes()
        .windows(b"launch".len())
        .any(|window| window.eq_ignore_ascii_case(b"launch"))
}
