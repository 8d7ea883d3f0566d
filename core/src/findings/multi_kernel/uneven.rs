//! GPUs of one trace that wait for the last of them in collectives.

use super::assess::Facts;
use super::findings::{Draft, finding};
use super::patterns::EVEN_LOAD;
use crate::base::format;
use crate::findings::Input;
use crate::findings::finding::{Finding, Impact};

/// What to do about it, where it is much of the run.
pub(super) fn finding_of(input: &Input, facts: &Facts) -> Option<Finding> {
    let uneven = facts.uneven()?;
    let waits = uneven.waits;
    let (last, n_last) = waits.last;
    let last = last.map_or(String::new(), |gpu| {
        format!(
            ", most often GPU {} ({} of {})",
            input.profile.trace.strings.get(gpu),
            format::count(n_last),
            format::count(waits.count)
        )
    });
    Some(finding(Draft {
        pattern: "uneven_gpus",
        priority: uneven.severity.priority(),
        title: "GPUs wait for each other in collectives".to_owned(),
        issue: format!(
            "In {} of several GPUs of this trace a GPU waits {} in the mean ({} of the run) for the one that comes last{last}.",
            format::counted(waits.count, "collective"),
            format::time_ns(waits.mean_ns),
            format::percent(uneven.percent)
        ),
        model: EVEN_LOAD.to_owned(),
        kernel: "nothing to gain in the collectives: they wait for what runs before them on the last GPU.".to_owned(),
        reasoning: vec![
            "A collective ends for all once the last of its members has begun: what a GPU spends in it before is waiting. With an even load all would begin at the mean of their times.".to_owned(),
        ],
        events: Vec::new(),
        time_ns: waits.mean_ns,
        impact: Impact::at_most(waits.mean_ns),
        tables: Vec::new(),
    }))
}
