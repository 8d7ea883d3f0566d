//! Collectives whose members are all in the trace: who comes last, and what the others wait for it.
//!
//! ```text
//! GPU 0  [= gemm =)[= nccl ========)
//! GPU 1  [= gemm ==========)[= nccl )
//!                 ^^^^^^^^^^ GPU 0 waits for GPU 1
//! ```

use crate::base::interval::{Interval, sum};
use crate::base::sort::Arrange;
use crate::trace::StringId;

use super::super::exposed::{Exposed, OnGpu};

/// A collective as one GPU takes part in it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Arrival {
    gpu: Option<StringId>,
    span: Interval,
}

/// What a GPU attends.
#[derive(Debug, Clone)]
pub(super) struct Attended {
    /// The same for all that may be the same collective: kind, message, group of processes.
    pub(super) collective: usize,
    /// How many take part, where that is told.
    pub(super) n_members: Option<f64>,
    pub(super) on: OnGpu,
}

/// What GPUs of a trace wait for each other in collectives.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::findings::multi_kernel) struct Waits {
    /// Collectives of which all members are in the trace.
    pub(in crate::findings::multi_kernel) count: u64,
    /// What a GPU waits, and computes nothing meanwhile, in the mean of those that take part: were
    /// all to arrive at the mean of their times, the run would be shorter by that.
    pub(in crate::findings::multi_kernel) mean_ns: i64,
    /// The GPU that comes last most often, and how often it does.
    pub(in crate::findings::multi_kernel) last: (Option<StringId>, u64),
}

/// Finds the collectives that several GPUs take part in, and what these wait for each other; `None`
/// where there are none. `exposed` is the time in which collectives run and nothing computes.
pub(super) fn waits(mut attended: Vec<Attended>, exposed: &Exposed) -> Option<Waits> {
    attended.arrange_by_key(|attended| {
        let (gpu, span) = attended.on;
        (attended.collective, gpu, span)
    });
    let mut gpus: Vec<(Option<StringId>, u64)> = Vec::new();
    let (mut count, mut waited_ns) = (0, 0_i64);
    for of_one in attended.chunk_by(|one, next| one.collective == next.collective) {
        let by_gpu: Vec<&[Attended]> = of_one.chunk_by(|one, next| one.on.0 == next.on.0).collect();
        for of_gpu in &by_gpu {
            let gpu = of_gpu.first().and_then(|first| first.on.0);
            if !gpus.iter().any(|(known, _)| *known == gpu) {
                gpus.push((gpu, 0));
            }
        }
        for arrivals in meetings(&by_gpu) {
            let Some(last) = arrivals.iter().max_by_key(|arrival| arrival.span.start_ns) else {
                continue;
            };
            let last_ns = last.span.start_ns;
            count += 1;
            waited_ns = waited_ns.saturating_add(sum(arrivals.iter().map(|arrival| {
                let wait = Interval::new(arrival.span.start_ns, last_ns);
                exposed.within((arrival.gpu, wait))
            })));
            if let Some((_, n_last)) = gpus.iter_mut().find(|(gpu, _)| *gpu == last.gpu) {
                *n_last += 1;
            }
        }
    }
    let n_gpus = i64::try_from(gpus.len()).ok()?;
    let last = gpus
        .into_iter()
        .reduce(|most, next| if next.1 > most.1 { next } else { most })?;
    (count > 0).then_some(Waits {
        count,
        mean_ns: waited_ns / n_gpus,
        last,
    })
}

/// The first of each GPU is the same collective, the second, and so on: where all GPUs have as many,
/// and they run at once, as the members of a collective do.
fn meetings(by_gpu: &[&[Attended]]) -> Vec<Vec<Arrival>> {
    let counts = || by_gpu.iter().map(|of_gpu| of_gpu.len());
    let Some(count) = counts().next() else {
        return Vec::new();
    };
    let n_members = by_gpu
        .iter()
        .flat_map(|of_gpu| of_gpu.iter())
        .find_map(|attended| attended.n_members);
    let are_all_there = n_members.is_none_or(|members| members as usize == by_gpu.len());
    if by_gpu.len() < 2 || !are_all_there || counts().any(|of_gpu| of_gpu != count) {
        return Vec::new();
    }
    let nth = |at: usize| -> Vec<Arrival> {
        let of_gpus = by_gpu.iter().filter_map(|of_gpu| of_gpu.get(at));
        of_gpus
            .map(|attended| Arrival {
                gpu: attended.on.0,
                span: attended.on.1,
            })
            .collect()
    };
    let is_one = |arrivals: &Vec<Arrival>| {
        let starts = arrivals.iter().map(|arrival| arrival.span.start_ns);
        let ends = arrivals.iter().map(|arrival| arrival.span.end_ns);
        starts.max() < ends.min()
    };
    (0..count).map(nth).filter(is_one).collect()
}

#[cfg(test)]
mod tests {
    use crate::findings::Finding;
    use crate::report::{Report, ReportOptions};
    use crate::testing::Timetable;

    /// GPU 1 computes for 3 ms, GPU 0 for 1 ms and then waits for it; the transfer takes 1 ms.
    ///
    /// ```text
    /// ms     0        1        2        3        4
    /// GPU 0  [= gemm =)[= nccl =================)
    /// GPU 1  [= gemm ===================)[= nccl )
    /// ```
    fn findings(group_size: u32) -> Vec<Finding> {
        let message = format!(
            r#""Collective name": "allreduce", "dtype": "Float", "In msg nelems": 8, "Out msg nelems": 8, "Group size": {group_size}, "Process Group Name": "0""#
        );
        let profile = Timetable::new()
            .op("aten::mm", 0..10)
            .launch(1, 1..2)
            .launch(2, 3..4)
            .op("c10d::allreduce_", 10..20)
            .launch(3, 11..12)
            .launch(4, 13..14)
            .kernel(1, "gemm", 1_000..2_000)
            .kernel(3, "ncclDevKernel_AllReduce", 2_000..5_000)
            .args(&message)
            .gpu(1)
            .kernel(2, "gemm", 1_000..4_000)
            .kernel(4, "ncclDevKernel_AllReduce", 4_000..5_000)
            .args(&message)
            .profile();
        let report = Report::new(&profile, &ReportOptions::default());
        let outcome = report.analyses.outcome("multi_kernel").unwrap();
        outcome.findings.clone()
    }

    /// Evenly loaded both would compute for 2 ms: the run of 4 ms would take 3. Overlap hides no
    /// more than the 1 ms that GPU 1 communicates.
    #[test]
    fn the_gpu_that_comes_last_is_named_and_overlap_wins_what_it_has_exposed() {
        let findings = findings(2);
        let patterns: Vec<&str> = findings.iter().map(|found| found.pattern).collect();
        assert_eq!(patterns, ["nccl_blocking_compute", "uneven_gpus"]);
        assert_eq!(
            findings[0].impact.map(|impact| impact.high_ns),
            Some(1_000_000)
        );
        let uneven = &findings[1];
        assert_eq!(uneven.impact.map(|impact| impact.high_ns), Some(1_000_000));
        assert_eq!(
            uneven.issue,
            "In 1 collective of several GPUs of this trace a GPU waits 1.00 ms in the mean (25.0 % of the run) for the one that comes last, most often GPU 1 (1 of 1)."
        );
    }

    #[test]
    fn members_that_are_not_in_the_trace_are_not_told() {
        let patterns: Vec<&str> = findings(8).iter().map(|found| found.pattern).collect();
        assert_eq!(patterns, ["nccl_blocking_compute"]);
    }
}
