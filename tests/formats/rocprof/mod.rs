//! rocprofv3's format.

mod damaged;
mod real;
mod records;

use dormer_core::import::Imported;
use dormer_core::import::warning::WarningKind;
use dormer_core::trace::{EventId, Trace};

/// Category, name, process and thread or GPU and stream, start, duration of each event.
fn events(trace: &Trace) -> Vec<String> {
    let text = |id| trace.strings.get(id);
    let event = |id: EventId| {
        let track = trace.tracks.get(trace.events.track(id)).unwrap();
        format!(
            "{} {:?} {}/{} {} {:?}",
            trace.events.category(id).label(),
            trace.name(id),
            text(track.pid),
            text(track.tid),
            trace.events.ts_ns(id),
            trace.events.dur_ns(id)
        )
    };
    trace.events.ids().map(event).collect()
}

fn counts(imported: &Imported) -> Vec<(WarningKind, u64)> {
    let warnings = imported.warnings.iter();
    warnings
        .map(|warning| (warning.kind, warning.count))
        .collect()
}
