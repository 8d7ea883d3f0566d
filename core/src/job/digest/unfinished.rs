//! Collectives that a rank called and that had not ended when its recording did: the operator was recorded, its kernel
//! was not.

use super::steps::Steps;
use crate::base::interval::Interval;
use crate::base::sort::Arrange;
use crate::names::collective::CollectiveKind;
use crate::profile::Profile;
use crate::trace::event_args::arg;
use crate::trace::{Category, EventId};

/// The operator that records the arguments of a collective.
pub(super) const RECORD: &str = "record_param_comms";

/// The calls that follow the last one with a kernel in their process group, each with the time until the recording
/// ends. `recorded` are the operators of collectives with a kernel.
pub(super) fn find(
    profile: &Profile,
    steps: &Steps,
    mut recorded: Vec<EventId>,
) -> Vec<(EventId, Interval)> {
    let (trace, events) = (&profile.trace, &profile.trace.events);
    // Where no kernel is linked to a call, it is unknown which calls ended.
    let Some(name) = trace.strings.find(RECORD).filter(|_| !recorded.is_empty()) else {
        return Vec::new();
    };
    let calls = events.of_category(|of| of == Category::CpuOp);
    let mut calls: Vec<EventId> = calls.filter(|op| events.name(*op) == name).collect();
    calls.arrange_by_key(|call| (events.ts_ns(*call), *call));
    let group = |call: EventId| arg(trace, call, "Process Group Name");
    recorded.arrange();
    let mut finished: Vec<Option<&str>> = Vec::new();
    let mut open = Vec::new();
    for call in calls.into_iter().rev() {
        match recorded.binary_search(&call).is_ok() {
            true => finished.push(group(call)),
            false if !finished.contains(&group(call)) && is_collective(profile, call) => {
                open.push(call);
            }
            false => {}
        }
    }
    open.reverse();
    let end_ns = match open.is_empty() {
        true => 0,
        false => ends_ns(profile, steps),
    };
    let spans = open.into_iter().map(|call| {
        let start_ns = events.ts_ns(call);
        (call, Interval::new(start_ns, end_ns.max(start_ns)))
    });
    spans.collect()
}

/// Waiting for a collective and the edges of coalesced ones are recorded like one, but launch nothing; transfers between
/// two ranks may be launched together.
fn is_collective(profile: &Profile, call: EventId) -> bool {
    let name = arg(&profile.trace, call, "Collective name").unwrap_or_default();
    let kind = CollectiveKind::of_name(name);
    !matches!(kind, CollectiveKind::SendReceive | CollectiveKind::Unknown)
}

/// When the recording ends: the last known end of an event of the CPU, or of a step.
fn ends_ns(profile: &Profile, steps: &Steps) -> i64 {
    let events = &profile.trace.events;
    let ends = events.of_category(|of| of == Category::CpuOp || of.is_runtime());
    let ends = ends.map(|event| events.end_ns(event));
    ends.max().max(steps.end_ns()).unwrap_or(0)
}

/// The name of the last operator, range or Python frame that the CPU starts.
pub(super) fn ends_in(profile: &Profile) -> String {
    let events = &profile.trace.events;
    let is_own = |of: Category| {
        matches!(
            of,
            Category::CpuOp | Category::UserAnnotation | Category::PythonFunction
        )
    };
    let last = events
        .of_category(is_own)
        .max_by_key(|event| (events.ts_ns(*event), *event));
    last.map_or_else(String::new, |last| profile.trace.name(last).to_owned())
}
