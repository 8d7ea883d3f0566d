//! How each kernel was launched and how the durations of its runs vary: what the kernel sheet has no columns for.

use super::Report;
use super::details::{DetailsSubject, KernelKey};
use crate::base::map::Map;
use crate::base::stats::{mean_of_middle_ns, quantile_ns};
use crate::profile::Profile;
use crate::profile::launch::launch_size;
use crate::trace::{Category, EventId, event_args};

type LaunchSize = ([u64; 3], [u64; 3]);

/// The sheet whose rows they belong to.
const SHEET: &str = "kernel_summary";

/// The runs of the kernels of a row. Anything the trace did not record is `None`.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct KernelRuns {
    /// Grid and block of the longest run.
    pub size: Option<LaunchSize>,
    /// Runs with another grid or block.
    pub n_other_sizes: u64,
    /// Registers per thread.
    pub registers: Option<f64>,
    /// Shared memory per block, in bytes.
    pub shared_bytes: Option<f64>,
    /// The occupancy in percent that the profiler estimated from the launch; it is not measured.
    pub occupancy_percent: Option<f64>,
    /// The median of its durations.
    pub median_ns: Option<i64>,
    /// The 95th percentile of its durations.
    pub p95_ns: Option<i64>,
}

/// Data collected from the runs of a kernel.
#[derive(Default)]
struct Gathered {
    durations_ns: Vec<i64>,
    sizes: Vec<(LaunchSize, u64)>,
    longest: Option<(i64, EventId)>,
}

impl Gathered {
    fn add(&mut self, profile: &Profile, event: EventId) {
        if let Some(ns) = profile.trace.events.dur_ns(event) {
            self.durations_ns.push(ns);
        }
        let ns = profile.trace.events.span(event).length();
        if self.longest.is_none_or(|(most_ns, _)| ns > most_ns) {
            self.longest = Some((ns, event));
        }
        if let Some(size) = launch_size(&profile.trace, event) {
            match self.sizes.iter_mut().find(|(known, _)| *known == size) {
                Some((_, n)) => *n += 1,
                None => self.sizes.push((size, 1)),
            }
        }
    }

    fn runs(self, profile: &Profile) -> KernelRuns {
        let number = |key| {
            let (_, event) = self.longest?;
            event_args::number(&profile.trace, event, key)
        };
        let size = self
            .longest
            .and_then(|(_, event)| launch_size(&profile.trace, event));
        let others = self.sizes.iter().filter(|(other, _)| Some(*other) != size);
        KernelRuns {
            size,
            n_other_sizes: others.map(|(_, n)| *n).sum(),
            registers: number("registers per thread"),
            shared_bytes: number("shared memory"),
            // A running kernel has some: the profiler writes 0 if it could not estimate it.
            occupancy_percent: number("est. achieved occupancy %").filter(|of| *of > 0.0),
            median_ns: mean_of_middle_ns(self.durations_ns.clone()),
            p95_ns: quantile_ns(self.durations_ns, 0.95),
        }
    }
}

/// All kernels of a trace, by row.
struct AllRuns(Map<KernelKey, KernelRuns>);

impl AllRuns {
    fn new(profile: &Profile) -> AllRuns {
        let mut gathered: Map<KernelKey, Gathered> = Map::default();
        for (id, work) in profile.gpu.iter() {
            if work.category == Category::Kernel
                && let Some(key) = KernelKey::of(profile, id)
            {
                gathered.entry(key).or_default().add(profile, work.event);
            }
        }
        let runs = gathered.into_iter();
        AllRuns(runs.map(|(key, of)| (key, of.runs(profile))).collect())
    }
}

/// The runs of a row of the kernel sheet; `None` if there is no such row.
pub fn kernel_runs(profile: &Profile, report: &Report, row: usize) -> Option<KernelRuns> {
    let DetailsSubject::Kernel(key) = DetailsSubject::of_row(profile, report, SHEET, row)? else {
        return None;
    };
    profile.once(|| AllRuns::new(profile)).0.get(&key).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::ReportOptions;
    use crate::testing::Timetable;

    /// Runs of 10, 20, 30 and 40 µs; the longest with a grid of its own.
    #[test]
    fn runs_say_how_they_were_launched_and_how_they_spread() {
        let args = |grid: u32| {
            format!(
                r#""grid": [{grid}, 1, 1], "block": [128, 1, 1], "registers per thread": 40, "shared memory": 1024, "est. achieved occupancy %": 63"#
            )
        };
        let trace = [10, 20, 30, 40].iter().zip(0_u32..);
        let trace = trace.fold(Timetable::new(), |all, (us, at)| {
            let start = 100 * at;
            all.kernel(at + 1, "gemm", start..start + us)
                .args(&args(if *us == 40 { 64 } else { 32 }))
        });
        let profile = trace.profile();
        let report = Report::new(&profile, &ReportOptions::default());
        let runs = kernel_runs(&profile, &report, 0).unwrap();
        assert_eq!(runs.size, Some(([64, 1, 1], [128, 1, 1])));
        assert_eq!(runs.n_other_sizes, 3);
        assert_eq!(
            (runs.registers, runs.shared_bytes),
            (Some(40.0), Some(1024.0))
        );
        assert_eq!(runs.occupancy_percent, Some(63.0));
        assert_eq!((runs.median_ns, runs.p95_ns), (Some(25_000), Some(30_000)));
        assert_eq!(kernel_runs(&profile, &report, 1), None);
    }

    #[test]
    fn what_was_not_recorded_is_unknown() {
        let profile = Timetable::new().kernel(1, "gemm", 0..10).profile();
        let report = Report::new(&profile, &ReportOptions::default());
        let runs = kernel_runs(&profile, &report, 0).unwrap();
        assert_eq!((runs.size, runs.registers), (None, None));
        assert_eq!(runs.median_ns, Some(10_000));
    }
}
