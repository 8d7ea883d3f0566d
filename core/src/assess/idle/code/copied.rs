//! Copies directly before and after a gap: they bring data of the GPU to the code that runs in it, and its results back.

use crate::base::interval::{Interval, sum};
use crate::base::sort::{Arrange, first_not};
use crate::profile::Profile;
use crate::profile::gpu::copies::{Direction, direction};
use crate::profile::gpu::gaps::Gap;
use crate::profile::gpu::timeline::GpuClass;
use crate::profile::launch::GpuId;

/// The time of copies around gaps.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Copied {
    pub(crate) to_cpu_ns: i64,
    pub(crate) to_gpu_ns: i64,
}

impl Copied {
    pub(super) fn add(&mut self, more: Copied) {
        self.to_cpu_ns = self.to_cpu_ns.saturating_add(more.to_cpu_ns);
        self.to_gpu_ns = self.to_gpu_ns.saturating_add(more.to_gpu_ns);
    }
}

/// One kernel, copy or fill; the direction of a copy.
struct Work {
    span: Interval,
    id: GpuId,
    copies: Option<Direction>,
}

/// Finds the copies around gaps, which have to be asked for in order of time.
pub(crate) struct CopiesAround {
    /// In order of their start.
    work: Vec<Work>,
    /// Copies before this one belong to earlier gaps.
    first_free: usize,
}

impl CopiesAround {
    pub(crate) fn new(profile: &Profile) -> CopiesAround {
        let all = profile.gpu.iter().map(|(id, work)| Work {
            span: work.span,
            id,
            copies: (work.class == GpuClass::Memcpy).then(|| direction(&profile.trace, work)),
        });
        let mut work: Vec<Work> = all.collect();
        work.arrange_by_key(|work| (work.span.start_ns, work.id));
        CopiesAround {
            work,
            first_free: 0,
        }
    }

    /// The copies to the CPU that end directly before a gap, and those to the GPU that start directly after it, each
    /// without a kernel in between. A copy belongs to one gap.
    pub(crate) fn of(&mut self, gap: &Gap) -> Copied {
        let starts_before = |at: usize| self.work[at].span.start_ns < gap.span.end_ns;
        let end = first_not(self.first_free..self.work.len(), starts_before);
        let is = |work: &&Work, wanted: Direction| work.copies == Some(wanted);
        let length = |work: &Work| work.span.length();
        let before = self.work[self.first_free..end].iter().rev();
        let before = before.take_while(|work| is(work, Direction::DeviceToHost));
        let after = self.work[end..].iter();
        let after = after.take_while(|work| is(work, Direction::HostToDevice));
        let n_after = after.clone().count();
        let copied = Copied {
            to_cpu_ns: sum(before.map(length)),
            to_gpu_ns: sum(after.map(length)),
        };
        self.first_free = end + n_after;
        copied
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Timetable;

    #[test]
    fn a_copy_belongs_to_the_gap_that_it_borders_on() {
        const TO_CPU: &str = "Memcpy DtoH (Device -> Pageable)";
        const TO_GPU: &str = "Memcpy HtoD (Pageable -> Device)";
        let profile = Timetable::new()
            .launched("kernel", 0..1, 0..10)
            .launched(TO_CPU, 1..2, 10..13)
            .launched(TO_CPU, 2..3, 13..17)
            .launched(TO_GPU, 50..51, 51..56)
            .launched("kernel", 52..53, 56..60)
            .launched("kernel", 70..71, 71..80)
            .profile();
        let mut around = CopiesAround::new(&profile);
        let gaps = crate::profile::gpu::gaps::gaps(&profile);
        let copied: Vec<Copied> = gaps.iter().map(|gap| around.of(gap)).collect();
        let first = Copied {
            to_cpu_ns: 7_000,
            to_gpu_ns: 5_000,
        };
        assert_eq!(copied, [first, Copied::default()]);
    }
}
