//! Memory that the allocator requests from the driver and returns while steps run.

use super::{Issue, Kind};
use crate::base::interval::{Coverage, Interval, busy};
use crate::findings::prelude::*;
use crate::profile::gpu::gaps::gaps;
use crate::profile::memory::steps::{kind_of, named_steps};
use crate::profile::memory::{DeviceMemory, DriverCall, DriverUse, driver_uses};
use crate::profile::operations::autotuning::Tuning;

/// Maximum number of calls shown.
const MOST_ROWS: usize = 10;

/// Driver calls in steady steps; if no steps are marked, all of them, if the time they take is known.
pub(super) fn issue(input: &Input, device: Option<&DeviceMemory>) -> Option<Issue> {
    let profile = input.profile;
    let mut uses = driver_uses(profile).to_vec();
    // Workspaces of the candidates.
    let tuning = Tuning::of(profile);
    uses.retain(|one| !tuning.has_call(profile, one.event));
    if uses.is_empty() {
        return None;
    }
    let steady = steady(input);
    match &steady {
        Some(steady) => uses.retain(|one| {
            let mut steps = steady.iter();
            steps.any(|span| span.contains(one.span.start_ns))
        }),
        None => {
            device?;
        }
    }
    let spans = || uses.iter().map(|one| one.span);
    let time_ns = busy(spans());
    let n_retries = uses.iter().filter(|one| one.is_retry).count() as u64;
    let percent = percent_of(time_ns, input.total_ns()?)?;
    let is_long = percent >= input.options.thresholds.memory_calls_percent;
    if uses.is_empty() || !(is_long || (n_retries > 0 && steady.is_some())) {
        return None;
    }
    let idle_ns = idle_ns(input, &uses).filter(|ns| *ns > 0);
    let levels = device.map(|device| changes(device, steady.as_deref()));
    let bytes = levels
        .map(|(taken, given)| taken.max(given))
        .filter(|bytes| *bytes > 0);
    let n_of = |call: DriverCall| uses.iter().filter(|one| one.call == call).count() as u64;
    let (n_taken, n_given) = (n_of(DriverCall::Allocate), n_of(DriverCall::Free));
    let known = |bytes: Option<u64>| {
        let bytes = bytes.filter(|bytes| *bytes > 0);
        bytes.map_or(String::new(), format::bytes)
    };
    let retries = Some(n_retries).filter(|n| *n > 0);
    let retries = retries.map(|n| format::counted(n, "allocation"));
    Some(Issue {
        kind: Kind::Driver,
        priority: match n_retries > 0 {
            true => Priority::High,
            false => Priority::Medium,
        },
        bytes,
        time_ns,
        impact: idle_ns.map(|ns| Impact::at_most(ns.min(time_ns))),
        events: uses.iter().map(|one| one.event).take(MOST_ROWS).collect(),
        words: vec![
            ("taken", format::counted(n_taken, "allocation")),
            ("given", format::counted(n_given, "release")),
            ("time", format::time_ns(time_ns)),
            ("share", format::percent(percent)),
            ("idle", idle_ns.map_or(String::new(), format::time_ns)),
            ("retries", retries.unwrap_or_default()),
            ("grown", known(levels.map(|(taken, _)| taken))),
            ("flushed", known(levels.map(|(_, given)| given))),
            holds("steps", steady.is_some()),
        ],
        tables: vec![table(input, uses)],
        others: Vec::new(),
    })
}

/// All but the first of repeated steps; `None` if there are none.
fn steady(input: &Input) -> Option<Vec<Interval>> {
    let steps = named_steps(input.profile);
    let steps = steps.iter().map(|step| (kind_of(&step.name), step.span));
    let later = grouped(steps, |spans: &mut Vec<Interval>, span| spans.push(span))
        .into_iter()
        .flat_map(|(_, spans)| spans.into_iter().skip(1));
    let later: Vec<Interval> = later.collect();
    (!later.is_empty()).then_some(later)
}

/// The idle time of the GPU during such calls; `None` if the clocks do not agree.
fn idle_ns(input: &Input, uses: &[DriverUse]) -> Option<i64> {
    if input.profile.without_idle_causes().is_some() {
        return None;
    }
    let idle = Coverage::new(gaps(input.profile).iter().map(|gap| gap.span).collect());
    let spans = crate::base::interval::union(uses.iter().map(|one| one.span).collect());
    Some(sum(spans.into_iter().map(|span| idle.within(span))))
}

/// How much the allocator requested from the driver and returned, derived from the reserved memory that it reports.
fn changes(device: &DeviceMemory, steady: Option<&[Interval]>) -> (u64, u64) {
    let pairs = device.curve.iter().zip(device.curve.iter().skip(1));
    let counted = pairs.filter(|(_, next)| match steady {
        Some(steady) => steady.iter().any(|span| span.contains(next.ts_ns)),
        None => true,
    });
    counted.fold((0_u64, 0_u64), |(taken, given), (one, next)| {
        let up = next.reserved.saturating_sub(one.reserved);
        let down = one.reserved.saturating_sub(next.reserved);
        (taken.saturating_add(up), given.saturating_add(down))
    })
}

fn table(input: &Input, mut uses: Vec<DriverUse>) -> Table {
    let trace = &input.profile.trace;
    uses.arrange_by_largest(|one| one.span.length());
    uses.truncate(MOST_ROWS);
    let operator = |one: &DriverUse| {
        let above = input.profile.tree.op_above_event(trace, one.event);
        above.map_or(Value::Empty, |event| {
            Value::Quoted(trace.name(event).to_owned())
        })
    };
    let columns: &[CellColumn<DriverUse>] = &[
        ("call", "Call", &|one| {
            Value::Quoted(trace.name(one.event).to_owned())
        }),
        ("operator", "Operator", &|one| operator(one)),
        ("time", "Time", &|one| Value::Ns(one.span.length())),
        ("retry", "Tried again", &|one| Value::Flag(one.is_retry)),
    ];
    let events = uses
        .iter()
        .map(|one| Some(trace.events.uid(one.event)))
        .collect();
    Table {
        events,
        ..Table::of("memory_calls", "The longest calls", uses, columns)
    }
}
