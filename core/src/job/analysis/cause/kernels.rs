//! Which of the same kernels take longer on a rank, and by how much.

use super::{MOST_ROWS, Slower, Why};
use crate::base::interval::sum;
use crate::job::analysis::same_work::{Same, SlowCategory, SlowKernel};
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

/// The kernel of a rank that accounts for most of what its kernels take longer than on others in some steps, where the
/// rest of them takes about as long.
pub(super) fn slow_one(analysis: &Estimator, rank: usize, steps: &[usize]) -> Option<SlowKernel> {
    let work = Shared::of(&analysis.same_work.categories(rank, steps));
    let one = analysis.same_work.slowest(rank, steps)?;
    let rest_ns = work.ns.saturating_sub(one.shared_ns);
    let is_most = one.excess_ns().saturating_mul(100)
        >= work.excess_ns().saturating_mul(MOST_OF_EXCESS_PERCENT);
    let rest_expected_ns = work.expected_ns.saturating_sub(one.expected_ns);
    (is_most && work.counts(rest_ns) && !work.is_slow(rest_ns, rest_expected_ns)).then_some(one)
}

/// The work that a rank shares with others: how long it takes, and how long it takes on those.
struct Shared {
    ns: i64,
    expected_ns: i64,
}

impl Shared {
    fn of(categories: &[SlowCategory]) -> Shared {
        Shared {
            ns: sum(categories.iter().map(|of| of.shared_ns)),
            expected_ns: sum(categories.iter().map(|of| of.expected_ns)),
        }
    }

    fn ratio(&self) -> f64 {
        self.ns as f64 / self.expected_ns.max(1) as f64
    }

    fn excess_ns(&self) -> i64 {
        self.ns.saturating_sub(self.expected_ns)
    }

    /// Whether a part of it is large enough to be compared with the rest.
    fn counts(&self, part_ns: i64) -> bool {
        part_ns.saturating_mul(100) >= self.ns.saturating_mul(LEAST_OF_WORK_PERCENT)
    }

    /// Whether a part of it is slower by about as much as all of it.
    fn is_slow(&self, part_ns: i64, expected_ns: i64) -> bool {
        part_ns as f64 / expected_ns.max(1) as f64 - 1.0 >= LEAST_ALIKE * (self.ratio() - 1.0)
    }
}

/// The evidence that the kernels of a rank are slower in some steps; of a single kernel that is, its figures.
pub(super) fn slower(analysis: &Estimator, rank: usize, steps: &[usize]) -> Why {
    let mut categories = analysis.same_work.categories(rank, steps);
    let work = Shared::of(&categories);
    let counting: Vec<&SlowCategory> = (categories.iter())
        .filter(|of| work.counts(of.shared_ns))
        .collect();
    let (slow, others): (Vec<&SlowCategory>, Vec<&SlowCategory>) =
        (counting.into_iter()).partition(|of| work.is_slow(of.shared_ns, of.expected_ns));
    let is_of_memory =
        |of: &&SlowCategory| OF_MEMORY.iter().any(|family| family.label() == of.category);
    let slowest = slow_one(analysis, rank, steps);
    let n_of_all = categories.iter().map(|of| of.n).sum();
    let (ratio, n_kernels) = match &slowest {
        Some(one) => (one.ratio(), one.n),
        None => (work.ratio(), n_of_all),
    };
    let which = match slowest {
        Some(of) => Slower::One(of.name),
        None if others.is_empty() => Slower::All,
        None if slow.is_empty() || others.iter().any(is_of_memory) => Slower::Mixed,
        None if slow.iter().all(is_of_memory) => Slower::OfMemory,
        None => Slower::Mixed,
    };
    let of_steps = steps.iter();
    let of_steps = of_steps.filter_map(|step| analysis.same_work.of_steps.get(*step)?.get(rank));
    categories.truncate(MOST_ROWS);
    Why::SlowerKernels {
        ratio,
        slower_ns: sum(of_steps.map(Same::slower_ns)),
        n_kernels,
        which,
        categories,
    }
}
