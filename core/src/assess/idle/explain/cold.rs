//! Cold starts: gaps that a warm run does not have.

use std::cell::OnceCell;

use crate::base::interval::Interval;
use crate::base::map::Map;
use crate::profile::Profile;
use crate::profile::cpu::activity::CpuActivities;
use crate::profile::gpu::kernels::GpuWork;
use crate::trace::{Category, EventId, StringId};

/// Loading kernels is a significant part of a gap if it takes more than 1/`LOADING_PART` of it.
const LOADING_PART: i64 = 10;

/// A call that takes this many times the average of later ones counts as a first use.
const TIMES_AS_LONG: i64 = 3;

/// A call that takes this many times that average counts as a first use even before a kernel that ran before: something
/// else was set up.
const FAR_LONGER: i64 = 100;

/// At least this many later calls are required.
const LATER_CALLS: i64 = 2;

/// The first call with a name, and all of them.
#[derive(Debug, Clone, Copy, Default)]
struct Calls {
    first: Option<(i64, EventId)>,
    count: i64,
    ns: i64,
}

/// Detects first uses in the whole trace, whatever window is analyzed.
pub(super) struct FirstUses<'a> {
    profile: &'a Profile,
    kernels: OnceCell<Map<StringId, i64>>,
    calls: OnceCell<Vec<Calls>>,
}

impl<'a> FirstUses<'a> {
    pub(super) fn new(profile: &'a Profile) -> FirstUses<'a> {
        FirstUses {
            profile,
            kernels: OnceCell::new(),
            calls: OnceCell::new(),
        }
    }

    /// Whether something that ran for the first time is the cause of a gap: kernels were loaded during it, or it
    /// precedes the first use of a kernel and either some kernel loading overlaps with it or it is spent in code whose
    /// first call takes much longer than the later ones. Without a new kernel, it has to take far longer.
    pub(super) fn is_cold(
        &self,
        activities: &CpuActivities,
        gap: Interval,
        after: &GpuWork,
        code: Option<EventId>,
    ) -> bool {
        let loading_ns = activities.loading_ns(gap);
        if loading_ns > gap.length() / LOADING_PART {
            return true;
        }
        let was_slow = |times| code.is_some_and(|call| self.was_slow(call, times));
        match self.is_first(after) {
            true => loading_ns > 0 || was_slow(TIMES_AS_LONG),
            false => was_slow(FAR_LONGER),
        }
    }

    fn is_first(&self, work: &GpuWork) -> bool {
        let events = &self.profile.trace.events;
        let kernels = self.kernels.get_or_init(|| {
            let mut kernels = Map::default();
            for event in events.in_category(Category::Kernel) {
                let start_ns = events.ts_ns(event);
                let first_ns = kernels.entry(events.name(event)).or_insert(start_ns);
                *first_ns = start_ns.min(*first_ns);
            }
            kernels
        });
        kernels.get(&work.name) == Some(&work.span.start_ns)
    }

    /// Whether a call is the first with its name, and took this many times as long as those after it.
    fn was_slow(&self, call: EventId, times: i64) -> bool {
        let trace = &self.profile.trace;
        let events = &trace.events;
        let calls = self.calls.get_or_init(|| {
            let mut calls = vec![Calls::default(); trace.strings.len()];
            for event in events.of_category(|of| !of.is_gpu()) {
                if trace.captured.has(event) {
                    continue;
                }
                if let Some(of_name) = calls.get_mut(events.name(event).0 as usize) {
                    let span = events.span(event);
                    let this = (span.start_ns, event);
                    of_name.first = Some(of_name.first.map_or(this, |first| first.min(this)));
                    of_name.count += 1;
                    of_name.ns = of_name.ns.saturating_add(span.length());
                }
            }
            calls
        });
        let Some(of_name) = calls.get(events.name(call).0 as usize) else {
            return false;
        };
        let later = of_name.count - 1;
        let ns = events.span(call).length();
        let later_ns = of_name.ns.saturating_sub(ns);
        of_name.first.is_some_and(|(_, first)| first == call)
            && later >= LATER_CALLS
            && ns.saturating_mul(later) > later_ns.saturating_mul(times)
    }
}
