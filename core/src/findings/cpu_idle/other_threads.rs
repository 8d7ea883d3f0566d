//! Python code of other threads that runs in a gap: threads of one process run Python code in turn.

use crate::base::group::grouped;
use crate::base::interval::{Interval, length, union};
use crate::findings::prelude::*;
use crate::names::cpu_activity::CpuActivity;
use crate::names::frames::Frame;
use crate::profile::Profile;
use crate::profile::launch::process;
use crate::trace::{Category, EventId, StringId, TrackId};

/// Python code of another thread that runs for most of a time, and how long; `None` if that thread waits, or launches
/// too, or if none runs Python code. `own` is a call of the thread that launches too late.
pub(super) fn code(profile: &Profile, time: Interval, own: EventId) -> Option<(String, i64)> {
    let (trace, events) = (&profile.trace, &profile.trace.events);
    let (track, own_process) = (events.track(own), process(trace, own));
    let calls = profile.launches.launches.iter();
    let mut launching: Vec<TrackId> = calls.map(|one| events.track(one.call)).collect();
    launching.sort_unstable();
    launching.dedup();
    let frames = events.in_category(Category::PythonFunction);
    let others = frames.filter_map(|event| {
        let span = time.overlap(events.span(event))?;
        let on = events.track(event);
        let is_other = on != track
            && launching.binary_search(&on).is_err()
            && process(trace, event) == own_process;
        is_other.then(|| ((events.track(event), events.name(event)), span))
    });
    let by_name: Vec<((TrackId, StringId), Vec<Interval>)> = grouped(others, Vec::push);
    let most = by_name.into_iter().filter_map(|((track, name), spans)| {
        let ns = length(&union(spans));
        (ns > time.length() / 2).then_some((track, ns, name))
    });
    let mut most = most.arranged();
    // Of the frames that run for most of it on a thread, the one that runs for the least time is the deepest.
    most.dedup_by_key(|(track, ..)| *track);
    most.into_iter().find_map(|(_, ns, name)| {
        let name = trace.strings.get(name);
        let is_waiting = CpuActivity::of_name(name) == Some(CpuActivity::Waiting);
        let frame = Frame::of(name).filter(|_| !is_waiting)?;
        let (function, file, line) = (frame.function, frame.file(), frame.line);
        Some((format!("`{function}` in `{file}:{line}`"), ns))
    })
}

/// A sentence about such code in a gap.
pub(super) fn sentence(profile: &Profile, gap: Interval, own: EventId) -> Option<String> {
    let (place, ns) = code(profile, gap, own)?;
    Some(format!(
        "For {} of the longest gap another thread of the process runs {place}. {IN_TURN}",
        format::time_ns(ns)
    ))
}

/// What such code means, and what to do about it.
pub(super) const IN_TURN: &str = "Threads of one process run Python code in turn, so that this one may wait for it: run that code in a process of its own.";
