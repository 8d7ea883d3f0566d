//! When communication and copies run and nothing hides them: on each GPU for itself, because one
//! that computes hides nothing of what another one waits for.

use crate::base::interval::{Coverage, Interval, sum, union};
use crate::profile::kernels::Running;
use crate::profile::timeline::{GpuTimeline, Split};
use crate::trace::StringId;

/// A span of work, and its GPU.
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

    /// How much of some spans is exposed; where spans of one GPU overlap, once.
    pub(crate) fn within_all(&self, spans: &[OnGpu]) -> i64 {
        sum(self.by_gpu(spans))
    }

    /// The same of the GPU that has most of it.
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

/// What the analysis itself makes of the spans that run.
#[derive(Debug)]
pub(crate) struct Spans {
    pub(crate) communication: Exposed,
    pub(crate) memcpy: Exposed,
    /// Of one GPU; of several the mean.
    pub(crate) timeline: GpuTimeline,
    /// Of the GPU that communicates and has least of that exposed.
    pub(crate) least_exposed: Option<GpuTimeline>,
    /// Copies while nothing else runs, of the GPU that has most of them.
    pub(crate) most_memcpy_ns: i64,
}

impl Spans {
    /// `None` where nothing runs. The time of the whole is `over` the first start and last end.
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
