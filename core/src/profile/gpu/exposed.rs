//! When communication and copies are exposed. Computed per GPU, because computation on one GPU does not hide what
//! another GPU waits for.

use crate::base::interval::{Coverage, Interval, sum, union};
use crate::profile::gpu::kernels::Running;
use crate::profile::gpu::timeline::{GpuTimeline, Split};
use crate::trace::StringId;

/// A time span and its GPU.
pub(crate) type OnGpu = (Option<StringId>, Interval);

/// The exposed time of each GPU.
#[derive(Debug, Default)]
pub(crate) struct Exposed {
    gpus: Vec<(Option<StringId>, Coverage)>,
}

impl Exposed {
    pub(crate) fn is_of_several_gpus(&self) -> bool {
        self.gpus.len() > 1
    }

    /// How much of the given spans is exposed; overlapping spans on one GPU count once.
    pub(crate) fn within_all(&self, spans: &[OnGpu]) -> i64 {
        sum(self.by_gpu(spans))
    }

    /// The same for the GPU with the most exposed time.
    pub(crate) fn within_most(&self, spans: &[OnGpu]) -> i64 {
        self.by_gpu(spans).max().unwrap_or(0)
    }

    /// How much of one span is exposed.
    pub(crate) fn within(&self, (gpu, span): OnGpu) -> i64 {
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

/// Exposed time and timelines, computed from the spans that run.
#[derive(Debug)]
pub(crate) struct Spans {
    pub(crate) communication: Exposed,
    pub(crate) memcpy: Exposed,
    /// For several GPUs, the mean.
    pub(crate) timeline: GpuTimeline,
    /// Of the GPU with the least exposed communication among those that communicate.
    pub(crate) least_exposed: Option<GpuTimeline>,
    /// Of the GPU with the most exposed copies.
    pub(crate) most_memcpy: GpuTimeline,
}

impl Spans {
    /// `None` where nothing runs. `over` maps the hull of all spans to the total time.
    pub(crate) fn new(running: &[Running], over: impl Fn(Interval) -> Interval) -> Option<Spans> {
        let all = running.iter().map(|work| work.span);
        let span = over(all.reduce(Interval::hull)?);
        let mut gpus: Vec<Option<StringId>> = Vec::new();
        for work in running {
            if !gpus.contains(&work.gpu) {
                gpus.push(work.gpu);
            }
        }
        let (mut communication, mut copies) = (Exposed::default(), Exposed::default());
        let mut timelines = Vec::new();
        for gpu in gpus {
            let of_gpu = running.iter().filter(|work| work.gpu == gpu);
            let split = Split::new(of_gpu.map(|work| (work.class, work.span)));
            timelines.extend(split.timeline().map(|timeline| timeline.over(span)));
            let communicates = Coverage::new(split.exposed_comm);
            communication.gpus.push((gpu, communicates));
            copies.gpus.push((gpu, Coverage::new(split.exposed_memcpy)));
        }
        let by_memcpy = timelines
            .iter()
            .max_by_key(|of_gpu| of_gpu.exposed_memcpy_ns);
        let communicating = timelines.iter().filter(|of_gpu| of_gpu.comm_ns > 0);
        Some(Spans {
            communication,
            memcpy: copies,
            most_memcpy: *by_memcpy?,
            least_exposed: communicating
                .min_by_key(|of_gpu| of_gpu.exposed_comm_ns)
                .copied(),
            timeline: GpuTimeline::mean(timelines)?,
        })
    }
}
