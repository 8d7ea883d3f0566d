//! Memory by step: what each step allocates, and what is in use when it ends.

use std::sync::Arc;

use crate::base::interval::Interval;
use crate::profile::Profile;
use crate::profile::memory::DeviceMemory;
use crate::profile::window::{Step, step_windows};
use crate::trace::EventId;
use crate::trace::annotations::step_number;

/// Memory use of a device during one step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepMemory {
    /// As the program named it.
    pub name: String,
    /// Its annotation.
    pub event: EventId,
    /// When it ran, on the CPU.
    pub span: Interval,
    /// Number of allocations.
    pub n_allocations: u64,
    /// Total bytes allocated.
    pub bytes: u64,
    /// In use when it starts.
    pub start_bytes: u64,
    /// In use when it ends.
    pub end_bytes: u64,
    /// Peak use during the step.
    pub peak_bytes: u64,
    /// Reserved when it ends.
    pub reserved_bytes: u64,
}

impl StepMemory {
    /// The name that consecutive steps share: without the number.
    pub fn kind(&self) -> &str {
        kind_of(&self.name)
    }
}

/// The name of a step without its number.
pub(crate) fn kind_of(step: &str) -> &str {
    match step_number(step) {
        Some(number) => step.strip_suffix(number).unwrap_or(step),
        None => step,
    }
}

/// All steps, found once.
struct NamedSteps(Arc<[Step]>);

/// The steps of a trace, or those that a window touches, in order of time.
pub(crate) fn named_steps(profile: &Profile) -> Arc<[Step]> {
    let steps = profile.once(|| {
        let analyzed = profile.cpu_span();
        let steps = step_windows(profile).into_iter().map(|one| one.step);
        let steps = steps.filter(|step| step.span.overlap(analyzed).is_some());
        NamedSteps(steps.collect())
    });
    Arc::clone(&steps.0)
}

/// The steps during which a device has memory reports, in order of time.
pub(crate) fn memory_by_step(profile: &Profile, device: &DeviceMemory) -> Vec<StepMemory> {
    let steps = named_steps(profile);
    let of_step = steps.iter().filter_map(|step| {
        let reports = device.within(step.span);
        if reports.is_empty() {
            return None;
        }
        let start = device.at(step.span.start_ns.saturating_sub(1));
        let end = device.at(step.span.end_ns.saturating_sub(1));
        let points = device.curve.get(reports.clone()).unwrap_or_default();
        let most = points.iter().map(|point| point.allocated).max();
        let changes = reports.map(|at| device.change(at));
        let taken = changes.filter(|bytes| *bytes > 0);
        let (n_allocations, bytes) = taken.fold((0_u64, 0_u64), |(n, all), bytes| {
            (n + 1, all.saturating_add(bytes.unsigned_abs()))
        });
        Some(StepMemory {
            name: step.name.clone(),
            event: step.event,
            span: step.span,
            n_allocations,
            bytes,
            start_bytes: start.allocated,
            end_bytes: end.allocated,
            peak_bytes: most.unwrap_or(0).max(start.allocated),
            reserved_bytes: end.reserved,
        })
    });
    of_step.collect()
}
