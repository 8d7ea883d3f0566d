//! Autograd at work where nothing is trained.

use crate::base::map::Set;
use crate::findings::Input;
use crate::profile::Profile;
use crate::profile::memory::steps::named_steps;

/// With fewer operations recorded in a step, the CPU hardly notices.
const LEAST_RECORDED: usize = 20;
/// A recording of one step may end before its backward pass.
const LEAST_STEPS: usize = 2;

/// Whether autograd records operations for a backward pass that never comes.
struct IsUnused(bool);

/// Advice for evaluation and inference with autograd switched on; else empty.
pub(super) fn advice(input: &Input) -> &'static str {
    let is_unused = input.profile.once(|| IsUnused(is_unused(input.profile)));
    match is_unused.0 {
        true => {
            "autograd records operations for a backward pass that this trace does not have: where nothing is trained, run them under `torch.inference_mode()` or `torch.no_grad()`, which spares the CPU that work. Then "
        }
        false => "",
    }
}

/// PyTorch numbers operations only while gradients are enabled, and counts up only for those that autograd records.
fn is_unused(profile: &Profile) -> bool {
    let trace = &profile.trace;
    if trace.sequence_numbers.is_empty() || profile.is_training() {
        return false;
    }
    let events = &trace.events;
    let steps = named_steps(profile);
    let mut numbers = vec![Set::default(); steps.len()];
    for &(event, number) in &trace.sequence_numbers {
        let start_ns = events.ts_ns(event);
        let after = steps.partition_point(|step| step.span.start_ns <= start_ns);
        let last = after.checked_sub(1);
        let step = last.and_then(|last| Some((steps.get(last)?, numbers.get_mut(last)?)));
        if let Some((step, numbers)) = step
            && step.span.contains(start_ns)
        {
            numbers.insert((events.track(event), number));
        }
    }
    // Calls that record nothing repeat the number that comes next.
    let mut recorded = numbers
        .iter()
        .filter(|of_step| of_step.len() > LEAST_RECORDED);
    recorded.nth(LEAST_STEPS - 1).is_some()
}
