//! What a step of a serving engine has to read, weights and the KV cache, and the least time that takes.

use super::PhaseFigures;
use crate::base::format;
use crate::findings::StepMemory;
use crate::profile::Profile;
use crate::report::{Judged, ReportOptions};

/// The weights of a step and what its attention moves, and the least time for them at the memory
/// bandwidth; `None` for steps of several phases, and where the work is not known.
pub(crate) fn step_memory(
    profile: &Profile,
    options: &ReportOptions,
    judged: &[Judged],
    phases: &[PhaseFigures],
) -> Option<StepMemory> {
    let [phase] = phases else { return None };
    phase.kv_tokens?;
    StepMemory::of_step(profile, options, judged, phase.n_steps)
}

/// The same as two facts: the time, and the bytes that ask for it.
pub(super) fn facts(
    profile: &Profile,
    options: &ReportOptions,
    judged: &[Judged],
    phases: &[PhaseFigures],
) -> Option<[(String, String); 2]> {
    let memory = step_memory(profile, options, judged, phases)?;
    let step_ns = phases.first()?.step_ns.max(1);
    let text = |bytes: f64| format::bytes(bytes as u64);
    let floor = format!(
        "{}, {} of the step",
        format::time_ns(memory.least_ns() as i64),
        format::percent(memory.least_ns() / step_ns as f64 * 100.0)
    );
    let traffic = format!(
        "at least {} per step ({} of weights, {} in attention with its KV cache), at {}",
        text(memory.bytes()),
        text(memory.weights),
        text(memory.cache),
        format::bandwidth_gbps(memory.gbps)
    );
    let facts = [("Memory floor", floor), ("Memory traffic", traffic)];
    Some(facts.map(|(label, value)| (label.to_owned(), value)))
}
