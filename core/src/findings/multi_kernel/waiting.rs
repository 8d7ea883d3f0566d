//! Communication that is mostly waiting: equal collectives of one process, some of which take far longer than the
//! fastest.

use super::assess::Facts;
use crate::base::format;
use crate::base::interval::percent_of;
use crate::names::collective::Purpose;

/// From this share of communication on, waiting is the first thing to look at.
const MOST_PERCENT: f64 = 50.0;
/// From this share on, it is mentioned.
const MUCH_PERCENT: f64 = 20.0;

pub(super) const ADVICE: &str = "find the straggler (analyze the traces of all ranks as one job): most of this time is waiting for it, which neither overlap nor other message sizes reduce. Spread work evenly (batches, sequence lengths, layers, experts), and see what delays the late rank: its data, its CPU, its clock.";

/// How much longer collectives take than the fastest of their kind, per GPU, if that is more than a share of the
/// communication. Traces of several GPUs show which rank waits for which.
fn more_than(facts: &Facts, percent: f64) -> Option<i64> {
    let collectives = &facts.collectives;
    let is_between_stages = collectives.purpose == Some(Purpose::Stages);
    let beyond_ns = facts.of_one_gpu(collectives.beyond_fastest_ns);
    let share = percent_of(beyond_ns, facts.of_one_gpu(collectives.time_ns))?;
    let is_more = share > percent && collectives.waits.is_none() && !is_between_stages;
    is_more.then_some(beyond_ns)
}

/// The same if it is most of the communication.
pub(super) fn most(facts: &Facts) -> Option<i64> {
    more_than(facts, MOST_PERCENT)
}

/// A sentence about it.
pub(super) fn sentence(facts: &Facts) -> Option<String> {
    let beyond_ns = more_than(facts, MUCH_PERCENT)?;
    let all_ns = facts.of_one_gpu(facts.collectives.time_ns);
    Some(format!(
        "Collectives take {} of their {} beyond the fastest of the same kind, size and ranks: waiting for ranks that come later, as far as nothing else on the links or beside them slows them.",
        format::time_ns(beyond_ns),
        format::time_ns(all_ns)
    ))
}
