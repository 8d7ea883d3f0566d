//! The number of kernels, and how short they are.

use crate::assess::Input;
use crate::base::tally::Tally;
use crate::names::Family;
use crate::profile::gpu::timeline::GpuClass;
use crate::trace::Category;

#[derive(Debug, Clone, Default)]
pub(crate) struct Kernels {
    pub(crate) kernels: Tally,
    pub(crate) n_short: u64,
    /// Kernels, copies and fills, and how many of them are short.
    pub(crate) all: Tally,
    pub(crate) n_short_of_all: u64,
    /// Only families that occur, in the order of [`Family::ALL`].
    pub(crate) families: Vec<(Family, Tally)>,
}

impl Kernels {
    pub(super) fn new(input: &Input) -> Kernels {
        let profile = input.profile;
        let short_ns = (input.options.thresholds.short_kernel_us * 1e3) as i64;
        let mut family_of = vec![Family::Other; profile.gpu.len()];
        for operation in profile.operations() {
            for id in operation.work() {
                if let Some(family) = family_of.get_mut(id.index()) {
                    *family = operation.family;
                }
            }
        }
        let mut kernels = Kernels::default();
        let mut families = [Tally::default(); Family::ALL.len()];
        for ((_, work), family) in profile.gpu.iter().zip(family_of) {
            let ns = work.span.length();
            kernels.all.add(ns);
            kernels.n_short_of_all += u64::from(ns < short_ns);
            if work.category != Category::Kernel {
                continue;
            }
            kernels.kernels.add(ns);
            kernels.n_short += u64::from(ns < short_ns);
            let family = match work.class {
                GpuClass::Communication => Family::Communication,
                GpuClass::Memcpy => Family::MemoryCopy,
                GpuClass::Computation => family,
            };
            families[family as usize].add(ns);
        }
        let families = Family::ALL.into_iter().zip(families);
        kernels.families = families.filter(|(_, tally)| tally.count > 0).collect();
        kernels
    }

    pub(crate) fn short_percent(&self) -> f64 {
        match self.kernels.count {
            0 => 0.0,
            count => self.n_short as f64 * 100.0 / count as f64,
        }
    }

    /// Whether nothing but kernels was launched, that is, no copies or fills.
    pub(crate) fn are_all(&self) -> bool {
        self.all.count == self.kernels.count
    }
}
