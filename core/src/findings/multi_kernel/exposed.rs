//! When communication and copies run and nothing hides them: on each GPU for itself, because one
//! that computes hides nothing of what another one waits for.

use crate::base::interval::{Coverage, Interval, difference, length, sum, union};
use crate::profile::kernels::Running;
use crate::profile::timeline::{GpuClass, GpuTimeline};
use crate::trace::StringId;

/// A span of work, and its GPU.
pub(super) type OnGpu = (Option<StringId>, Interval);

/// The exposed time of each GPU.
#[derive(Debug, Default)]
pub(super) struct Exposed {
    gpus: Vec<(Option<StringId>, Coverage)>,
}

impl Exposed {
    pub(super) fn is_of_several_gpus(&self) -> bool {
        self.gpus.len() > 1
    }

    /// How much of some spans is exposed; where spans of one GPU overlap, once.
    pub(super) fn within_all(&self, spans: &[OnGpu]) -> i64 {
        sum(self.by_gpu(spans))
    }

    /// The same of the GPU that has most of it.
    pub(super) fn within_most(&self, spans: &[OnGpu]) -> i64 {
        self.by_gpu(spans).max().unwrap_or(0)
    }

    /// How much of one span is exposed.
    pub(super) fn within(&self, (gpu, span): OnGpu) -> i64 {
        let exposed = self.gpus.iter().find(|(of, _)| *of == gpu);
        exposed.map_or(0, |(_, exposed)| exposed.within(span))
    }

    fn by_gpu(&self, spans: &[OnGpu]) -> impl Iterator<Item = i64> {
        self.gpus.iter().map(|(gpu, exposed)| {
            let of_gpu = spans.iter().filter(|(of, _)| of == gpu);
            let spans = union(of_gpu.map(|(_, span)| *span).collect());
            sum(spans.into_iter().map(|span| exposed.within(span)))
        })
    }
}

/// What the analysis itself makes of the spans that run.
#[derive(Debug)]
pub(super) struct Spans {
    pub(super) communication: Exposed,
    pub(super) memcpy: Exposed,
    /// Of one GPU; of several the mean.
    pub(super) timeline: GpuTimeline,
    /// Of the GPU that communicates and has least of that exposed.
    pub(super) least_exposed: Option<GpuTimeline>,
    /// Copies while nothing else runs, of the GPU that has most of them.
    pub(super) most_memcpy_ns: i64,
}

impl Spans {
    /// `None` where nothing runs. The time of the whole is `over` the first start and last end.
    pub(super) fn new(running: &[Running], over: impl Fn(Interval) -> Interval) -> Option<Spans> {
        let all = running.iter().map(|work| work.span);
        let span = over(all.reduce(Interval::hull)?);
        let mut gpus: Vec<Option<StringId>> = Vec::new();
        for work in running {
            if !gpus.iter().rev().any(|gpu| *gpu == work.gpu) {
                gpus.push(work.gpu);
            }
        }
        let (mut communication, mut copies) = (Exposed::default(), Exposed::default());
        let mut timelines = Vec::new();
        for gpu in gpus {
            let spans = |class: GpuClass| -> Vec<Interval> {
                let of_class = running.iter().filter(|work| work.class == class);
                let of_gpu = of_class.filter(|work| work.gpu == gpu);
                union(of_gpu.map(|work| work.span).collect())
            };
            let computation = spans(GpuClass::Computation);
            let comm = spans(GpuClass::Communication);
            let memcpy = spans(GpuClass::Memcpy);
            let exposed_comm = difference(&comm, &computation);
            let exposed_memcpy = difference(&difference(&memcpy, &computation), &comm);
            let busy_ns = length(&union([&computation[..], &comm, &memcpy].concat()));
            timelines.push(GpuTimeline {
                span,
                computation_ns: length(&computation),
                exposed_comm_ns: length(&exposed_comm),
                exposed_memcpy_ns: length(&exposed_memcpy),
                busy_ns,
                idle_ns: span.length() - busy_ns,
                comm_ns: length(&comm),
                memcpy_ns: length(&memcpy),
            });
            communication.gpus.push((gpu, Coverage::new(exposed_comm)));
            copies.gpus.push((gpu, Coverage::new(exposed_memcpy)));
        }
        let exposed_memcpy = timelines.iter().map(|of_gpu| of_gpu.exposed_memcpy_ns);
        let most_memcpy_ns = exposed_memcpy.max().unwrap_or(0);
        let communicating = timelines.iter().filter(|of_gpu| of_gpu.comm_ns > 0);
        Some(Spans {
            communication,
            memcpy: copies,
            most_memcpy_ns,
            least_exposed: communicating
                .min_by_key(|of_gpu| of_gpu.exposed_comm_ns)
                .copied(),
            timeline: GpuTimeline::mean(timelines)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::findings::multi_kernel::metrics;
    use crate::report::{Report, ReportOptions};
    use crate::testing::Timetable;

    const NCCL: &str = "ncclDevKernel_AllReduce";

    /// While one GPU computes, the other one waits in a collective: each hides nothing of its own.
    ///
    /// ```text
    /// ms     0        1        2
    /// GPU 0  [= gemm =)[= nccl =)
    /// GPU 1  [= nccl =)[= gemm =)
    /// ```
    #[test]
    fn what_another_gpu_computes_hides_nothing() {
        let profile = Timetable::new()
            .work("aten::mm", "gemm", 1_000..2_000)
            .work("c10d::allreduce_", NCCL, 2_000..3_000)
            .gpu(1)
            .work("c10d::allreduce_", NCCL, 1_000..2_000)
            .work("aten::mm", "gemm", 2_000..3_000)
            .profile();
        let report = Report::new(&profile, &ReportOptions::default());
        let metrics = metrics(&report.analysis_input(&profile));
        let at = |place: &str| metrics.pointer(place).cloned().unwrap();
        assert_eq!(at("/overlap_assessment/overlap_ratio"), 0.0);
        assert_eq!(at("/overlap_assessment/severity"), "CRITICAL");
        // Half of the run of a GPU, and no more than its length.
        assert_eq!(at("/nccl_blocking_assessment/exposed_comm_percent"), 50.0);
        assert_eq!(at("/nccl_blocking_assessment/exposed_comm_time_ms"), 1.0);
        for row in at("/cross_validation").as_array().unwrap() {
            assert_eq!(row["diff_ms"], 0.0, "{row}");
        }
        // The sheet has both GPUs taken together, where something computes throughout.
        assert_eq!(report.timelines.whole.unwrap().exposed_comm_ns, 0);
    }
}
