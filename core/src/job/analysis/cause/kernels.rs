//! Which of the same kernels take longer on a rank, and by how much.

use super::{MOST_ROWS, Slower, Why};
use crate::base::interval::sum;
use crate::job::analysis::same_work::{Same, SlowCategory};
use crate::job::analysis::what_if::Estimator;
use crate::names::Family;

/// Categories of kernels count as alike if the relative excess of each is at least this share of that of all together.
const LEAST_ALIKE: f64 = 0.5;

/// A category with a smaller share of the work is ignored for that, in percent.
const LEAST_OF_WORK_PERCENT: i64 = 5;

/// A single kernel is named if it has at least this share of the excess, in percent.
const MOST_OF_EXCESS_PERCENT: i64 = 80;

/// Memory-bound families: each element is read and written once, or a few times.
const OF_MEMORY: [Family; 4] = [
    Family::Normalization,
    Family::Elementwise,
    Family::Reduction,
    Family::MemoryCopy,
];

/// The evidence that the kernels of a rank are slower in some steps.
pub(super) fn slower(analysis: &Estimator, rank: usize, steps: &[usize]) -> Why {
    let mut categories = analysis.same_work.categories(rank, steps);
    let all = |value: fn(&SlowCategory) -> i64| sum(categories.iter().map(value));
    let (shared_ns, expected_ns) = (all(|of| of.shared_ns), all(|of| of.expected_ns));
    let ratio = shared_ns as f64 / expected_ns.max(1) as f64;
    let counts =
        |ns: i64| ns.saturating_mul(100) >= shared_ns.saturating_mul(LEAST_OF_WORK_PERCENT);
    let is_slow = |ns: i64, expected_ns: i64| {
        ns as f64 / expected_ns.max(1) as f64 - 1.0 >= LEAST_ALIKE * (ratio - 1.0)
    };
    let counting: Vec<&SlowCategory> = (categories.iter())
        .filter(|of| counts(of.shared_ns))
        .collect();
    let (slow, others): (Vec<&SlowCategory>, Vec<&SlowCategory>) =
        (counting.into_iter()).partition(|of| is_slow(of.shared_ns, of.expected_ns));
    let is_of_memory =
        |of: &&SlowCategory| OF_MEMORY.iter().any(|family| family.label() == of.category);
    let slowest = analysis.same_work.slowest(rank, steps).filter(|of| {
        let excess_ns = shared_ns.saturating_sub(expected_ns);
        let own_ns = of.shared_ns.saturating_sub(of.expected_ns);
        let rest_ns = shared_ns.saturating_sub(of.shared_ns);
        own_ns.saturating_mul(100) >= excess_ns.saturating_mul(MOST_OF_EXCESS_PERCENT)
            && counts(rest_ns)
            && !is_slow(rest_ns, expected_ns.saturating_sub(of.expected_ns))
    });
    let which = match slowest {
        Some(of) => Slower::One(of.name),
        None if others.is_empty() => Slower::All,
        None if slow.is_empty() || others.iter().any(is_of_memory) => Slower::Mixed,
        None if slow.iter().all(is_of_memory) => Slower::OfMemory,
        None => Slower::Mixed,
    };
    let of_steps = steps.iter();
    let of_steps = of_steps.filter_map(|step| analysis.same_work.of_steps.get(*step)?.get(rank));
    let n_kernels = categories.iter().map(|of| of.n).sum();
    categories.truncate(MOST_ROWS);
    Why::SlowerKernels {
        ratio,
        slower_ns: sum(of_steps.map(Same::slower_ns)),
        n_kernels,
        which,
        categories,
    }
}
