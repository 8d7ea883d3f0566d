//! Communication that is mostly waiting: equal collectives of one process, some of which take far longer than the
//! fastest.

use super::assess::Facts;
use crate::base::format;
use crate::base::interval::percent_of;
use crate::names::collective::Purpose;

/// From this share of communication on, waiting is the first thing to look at.
const MOST_PERCENT: f64 = 50.0;

pub(super) const ADVICE: &str = "find the straggler (analyze the traces of all ranks as one job): most of this time is waiting for it, which neither overlap nor other message sizes reduce. Spread work evenly (batches, sequence lengths, layers, experts), and see what delays the late rank: its data, its CPU, its clock.";

/// How much longer collectives take than the fastest of their kind, per GPU, if that is most of the communication.
/// Traces of several GPUs show which rank waits for which.
pub(super) fn most(facts: &Facts) -> Option<i64> {
    let collectives = &facts.collectives;
    let is_between_stages = collectives.purpose == Some(Purpose::Stages);
    let beyond_ns = facts.of_one_gpu(collectives.beyond_fastest_ns);
    let percent = percent_of(beyond_ns, facts.of_one_gpu(collectives.time_ns))?;
    let is_most = percent > MOST_PERCENT && collectives.waits.is_none() && !is_between_stages;
    is_most.then_some(beyond_ns)
}

/// A sentence about it.
pub(super) fn sentence(facts: &Facts) -> Option<String> {
    let beyond_ns = most(facts)?;
    let all_ns = facts.of_one_gpu(facts.collectives.time_ns);
    Some(format!(
        "Collectives take {} of their {} beyond the fastest of the same kind, size and ranks: waiting for ranks that come later, as far as nothing else on the links or beside them slows them.",
        format::time_ns(beyond_ns),
        format::time_ns(all_ns)
    ))
}
