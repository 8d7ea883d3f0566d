//! What to do about the target: where it falls behind the reference by more than the hardware explains.
//!
//! An operation comes first if three things hold: it is slower than the hardware predicts, it has a large share of the
//! computation, and there is evidence that its kernel is at fault. The saving of a finding never goes below the
//! roofline of the target's own GPU.

mod advice;
mod concurrency;
mod helpers;
mod more_calls;
mod operations;
mod rule;
mod savings;
mod slower_machine;
mod stray_calls;
mod system;
mod unmatched;
mod wider_type;

use std::cmp::Reverse;

use super::comparison::Comparison;
use crate::base::interval::sum;
use crate::base::sort::Arrange;
use rule::GapTable;

#[cfg(test)]
pub(crate) use self::rule::GapRule;
pub(crate) use super::gap::{Gap, GapSubject, Gaps, Saving};
pub(crate) use advice::usual_advice;
#[cfg(test)]
pub(crate) use advice::{Advice, CAUSES, USUAL};
pub(crate) use slower_machine::KEY as SLOWER_MACHINE;
pub(crate) use unmatched::NOT_ON_REFERENCE;

pub(crate) const TABLES: [GapTable; 9] = [
    operations::TABLE,
    helpers::TABLE,
    slower_machine::TABLE,
    more_calls::TABLE,
    stray_calls::TABLE,
    concurrency::TABLE,
    wider_type::TABLE,
    unmatched::TABLE,
    system::TABLE,
];

impl Gaps {
    /// Finds and ranks them: by saving, then by priority, then by time, then by name; those with unknown savings come
    /// last.
    pub(crate) fn of(comparison: &Comparison) -> Gaps {
        let total_ns = comparison.parts.total.target;
        if total_ns <= 0 || !comparison.has_gpu_times() {
            return Gaps::default();
        }
        let least_ns = total_ns as f64 * comparison.thresholds.finding_percent_of_total / 100.0;
        let all = TABLES.iter().flat_map(|table| table.gaps(comparison));
        let saved_ns = |gap: &Gap| gap.saving.map(|saving| saving.matching_ns);
        // If the saving is unknown, the time counts instead.
        let (mut ranked, small): (Vec<Gap>, Vec<Gap>) =
            all.partition(|gap| saved_ns(gap).unwrap_or(gap.times.target) as f64 >= least_ns);
        ranked.arrange_by(|a, b| {
            let key = |gap: &Gap| {
                let saved_ns = saved_ns(gap).unwrap_or(-1);
                (Reverse(saved_ns), gap.priority, Reverse(gap.times.target))
            };
            key(a).cmp(&key(b)).then_with(|| a.title.cmp(&b.title))
        });
        for (at, gap) in ranked.iter_mut().enumerate() {
            gap.number = at + 1;
        }
        Gaps {
            together_ns: sum(ranked.iter().filter_map(saved_ns)).min(total_ns),
            n_small: small.len(),
            ranked,
        }
    }
}
