//! What a step of a serving engine has to read (weights and KV cache), and the minimum time for it.

use super::PhaseFigures;
use crate::base::format;
use crate::findings::{StepMemory, StepsOf};
use crate::names::batch::Phase;
use crate::profile::Profile;
use crate::report::steps::phase_label;
use crate::report::{Evaluation, ReportOptions};

/// The phase whose steps are compared with the memory bandwidth: the only one, otherwise decode.
pub(crate) fn phase_of_memory(phases: &[PhaseFigures]) -> Option<&PhaseFigures> {
    match phases {
        [phase] => Some(phase),
        _ => phases
            .iter()
            .find(|one| one.phase == phase_label(Some(Phase::Decode))),
    }
}

/// The weights of a step, the bytes its attention moves, and the minimum time for both at the memory bandwidth, for
/// decode steps if there are several phases; `None` if the work is unknown.
pub(crate) fn step_memory(
    profile: &Profile,
    options: &ReportOptions,
    evaluations: &[Evaluation],
    phases: &[PhaseFigures],
) -> Option<StepMemory> {
    let phase = phase_of_memory(phases)?;
    phase.kv_tokens?;
    let steps = StepsOf {
        n: phase.n_steps,
        are_some: phases.len() > 1,
    };
    StepMemory::of_step(profile, options, evaluations, steps)
}

/// The same as two facts: the time, and the bytes that require it.
pub(super) fn facts(
    profile: &Profile,
    options: &ReportOptions,
    evaluations: &[Evaluation],
    phases: &[PhaseFigures],
) -> Option<[(String, String); 2]> {
    let memory = step_memory(profile, options, evaluations, phases)?;
    let phase = phase_of_memory(phases)?;
    let step_ns = phase.step_ns.max(1);
    let of = match phases.len() {
        1 => String::new(),
        _ => format!("{} ", phase.phase),
    };
    let text = |bytes: f64| format::bytes(bytes as u64);
    let floor = format!(
        "{}, {} of the {of}step",
        format::time_ns(memory.least_ns() as i64),
        format::percent(memory.least_ns() / step_ns as f64 * 100.0)
    );
    // If tokens are routed to experts unevenly, fewer weights are read.
    let bound = match memory.has_experts {
        true => "about",
        false => "at least",
    };
    let traffic = format!(
        "{bound} {} per {of}step ({} of weights, {} in attention with its KV cache), at {}",
        text(memory.bytes()),
        text(memory.weights),
        text(memory.cache),
        format::bandwidth_gbps(memory.gbps)
    );
    let facts = [("Memory floor", floor), ("Memory traffic", traffic)];
    Some(facts.map(|(label, value)| (label.to_owned(), value)))
}
