//! Collectives that a rank called and that had not ended when its recording did: the operator was recorded, its kernel
//! was not.

use super::steps::Steps;
use crate::base::interval::Interval;
use crate::base::sort::{Arrange, Arranged};
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
    if recorded.is_empty() {
        return Vec::new();
    }
    let calls = trace.named(|of| of == Category::CpuOp, |name| name == RECORD);
    let calls = calls.arranged_by_key(|call| (events.ts_ns(*call), *call));
    recorded.arrange();
    let mut finished: Vec<Lane> = Vec::new();
    // Groups with transfers that are launched together with others: these never have a kernel of their own.
    let mut coalescing: Vec<Option<&str>> = Vec::new();
    let mut open = Vec::new();
    for call in calls.into_iter().rev() {
        let lane = Lane::of(profile, call);
        let has_ended = finished.contains(&lane);
        match recorded.binary_search(&call).is_ok() {
            true if !has_ended => finished.push(lane),
            true => {}
            false if has_ended && lane.transfer.is_some() => coalescing.push(lane.group),
            false if !has_ended && is_collective(profile, call) => open.push((lane, call)),
            false => {}
        }
    }
    let may_be_open = |lane: &Lane| {
        let is_launched_alone = || finished.contains(lane) && !coalescing.contains(&lane.group);
        lane.transfer.is_none() || is_launched_alone()
    };
    open.retain(|(lane, _)| may_be_open(lane));
    open.reverse();
    let end_ns = match open.is_empty() {
        true => 0,
        false => ends_ns(profile, steps),
    };
    let spans = open.into_iter().map(|(_, call)| {
        let start_ns = events.ts_ns(call);
        (call, Interval::new(start_ns, end_ns.max(start_ns)))
    });
    spans.collect()
}

/// What runs in order: the collectives of a process group, or its transfers in one direction to or from one rank.
#[derive(PartialEq)]
struct Lane<'a> {
    group: Option<&'a str>,
    /// The name of the call, and the other rank.
    transfer: Option<(&'a str, Option<&'a str>)>,
}

impl Lane<'_> {
    fn of(profile: &Profile, call: EventId) -> Lane<'_> {
        let of = |key: &str| arg(&profile.trace, call, key);
        let name = of("Collective name").unwrap_or_default();
        let is_transfer = CollectiveKind::of_name(name) == CollectiveKind::SendReceive;
        Lane {
            group: of("Process Group Name"),
            transfer: is_transfer.then(|| (name, of("Dst Rank").or_else(|| of("Src Rank")))),
        }
    }
}

/// Waiting for a collective and the edges of coalesced ones are recorded like one, but launch nothing.
fn is_collective(profile: &Profile, call: EventId) -> bool {
    let name = arg(&profile.trace, call, "Collective name").unwrap_or_default();
    CollectiveKind::of_name(name) != CollectiveKind::Unknown
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
