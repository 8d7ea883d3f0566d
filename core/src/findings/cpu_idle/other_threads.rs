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
        let (on, span) = (events.track(event), events.span(event));
        let is_other = on != track
            && time.overlap(span).is_some()
            && launching.binary_search(&on).is_err()
            && process(trace, event) == own_process;
        is_other.then_some(((on, events.name(event)), span))
    });
    let by_name: Vec<((TrackId, StringId), Vec<Interval>)> = grouped(others, Vec::push);
    let most = by_name.into_iter().filter_map(|((track, name), spans)| {
        let longest_ns = spans.iter().map(|span| span.length()).max()?;
        let inside = spans.iter().filter_map(|span| time.overlap(*span));
        let ns = length(&union(inside.collect()));
        (ns > time.length() / 2).then_some((track, ns, longest_ns, name))
    });
    let most = most.arranged();
    let frame = |name: StringId| {
        let name = trace.strings.get(name);
        let is_waiting = CpuActivity::of_name(name) == Some(CpuActivity::Waiting);
        Frame::of(name).filter(|_| !is_waiting)
    };
    // Of the frames that run for most of it on a thread, the one that runs for the least time is the deepest. A thread
    // in which one of them waits, or is a call into a library, may leave the others their turn.
    let threads = most.chunk_by(|a, b| a.0 == b.0);
    let mut busy = threads.filter(|calls| calls.iter().all(|call| frame(call.3).is_some()));
    let &(_, ns, _, name) = busy.next()?.first()?;
    let code = frame(name).filter(|frame| frame.file() != "threading.py")?;
    let (function, file, line) = (code.function, code.file(), code.line);
    Some((format!("`{function}` in `{file}:{line}`"), ns))
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
