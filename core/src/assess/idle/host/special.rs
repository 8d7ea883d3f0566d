//! When the host did something that its names tell: loading data, compiling, capturing, profiling.

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::super::class::{Special, is_capture_edge};
use crate::base::interval::{Coverage, Interval, union};
use crate::profile::Profile;
use crate::trace::{Category, TrackId};

/// The times of such work.
pub(crate) struct SpecialTimes {
    spans: Spans<Coverage>,
    /// The profiler's own work: it stands on no thread of the program.
    profiler: Coverage,
}

impl SpecialTimes {
    pub(crate) fn new(profile: &Profile) -> SpecialTimes {
        SpecialTimes {
            spans: by_thread(profile),
            profiler: profiler(profile),
        }
    }

    /// What most of a window is, by the names of spans on a thread.
    pub(crate) fn most_of(
        &self,
        track: TrackId,
        window: Interval,
        at_least_ns: i64,
    ) -> Option<Special> {
        if self.profiler.within(window) > at_least_ns {
            return Some(Special::Profiler);
        }
        let covered = self.spans.get(&track)?;
        let found = Special::ALL
            .into_iter()
            .zip(covered)
            .map(|(special, covered)| (special, covered.within(window)))
            .filter(|(_, ns)| *ns > at_least_ns);
        // Of equal ones the first.
        let longest = found.reduce(|longest, next| if next.1 > longest.1 { next } else { longest });
        longest.map(|(special, _)| special)
    }
}

/// Of each thread, in the order of [`Special::ALL`].
type Spans<T> = HashMap<TrackId, [T; Special::ALL.len()], FxBuildHasher>;

/// Spans with a telling name by thread. No pass over the events where no name tells.
fn by_thread(profile: &Profile) -> Spans<Coverage> {
    let trace = &profile.trace;
    let telling: Vec<Option<Special>> = trace
        .strings
        .iter()
        .map(|(_, name)| Special::of_name(name))
        .collect();
    let capture: Vec<Option<bool>> = trace
        .strings
        .iter()
        .map(|(_, name)| is_capture_edge(name))
        .collect();
    let mut spans: Spans<Vec<Interval>> = HashMap::default();
    if telling.iter().all(Option::is_none) && capture.iter().all(Option::is_none) {
        return HashMap::default();
    }
    // When a thread began to capture.
    let mut capturing: HashMap<TrackId, i64, FxBuildHasher> = HashMap::default();
    for event in trace.events.ids() {
        let name = trace.events.name(event);
        let track = trace.events.track(event);
        match capture.get(name.0 as usize).copied().flatten() {
            Some(true) => {
                capturing.insert(track, trace.events.ts_ns(event));
            }
            Some(false) => {
                if let Some(since_ns) = capturing.remove(&track) {
                    let span = Interval::new(since_ns, trace.events.end_ns(event));
                    spans.entry(track).or_default()[Special::Capture as usize].push(span);
                }
            }
            None => {}
        }
        let Some(special) = telling.get(name.0 as usize).copied().flatten() else {
            continue;
        };
        if !trace.events.category(event).is_gpu() {
            let span = Interval::new(trace.events.ts_ns(event), trace.events.end_ns(event));
            spans.entry(trace.events.track(event)).or_default()[special as usize].push(span);
        }
    }
    spans
        .into_iter()
        .map(|(track, spans)| (track, spans.map(|spans| Coverage::new(union(spans)))))
        .collect()
}

/// The times in which the profiler itself worked.
fn profiler(profile: &Profile) -> Coverage {
    let events = &profile.trace.events;
    let overhead = events
        .ids()
        .filter(|event| events.category(*event) == Category::Overhead);
    let spans = overhead.map(|event| Interval::new(events.ts_ns(event), events.end_ns(event)));
    Coverage::new(union(spans.collect()))
}
