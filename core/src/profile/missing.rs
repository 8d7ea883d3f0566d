//! What a trace lacks, and the likely reasons.

use super::Profile;
use crate::base::format;
use crate::base::interval::Interval;
use crate::import::warning::WarningKind;
use crate::trace::Category;

/// Why there is no GPU activity to report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum NoGpu {
    /// No GPU activity starts in the part of the time that is analyzed.
    InWindow,
    /// No GPU activity could be read from a trace that lost events.
    Lost,
    /// No GPU activity was recorded.
    Recorded,
}

impl NoGpu {
    /// What is missing, in a sentence.
    pub fn why(self) -> &'static str {
        match self {
            Self::InWindow => "No GPU activity starts in this part of the time.",
            Self::Lost => "No GPU activity could be read.",
            Self::Recorded => "No GPU activity was recorded.",
        }
    }

    /// What to do about it, in a sentence.
    pub fn hint(self) -> &'static str {
        match self {
            Self::InWindow => "Choose a longer one, or the whole trace.",
            Self::Lost => {
                "It may be among the events that were lost or are of no known category; Data quality lists them."
            }
            Self::Recorded => {
                "Record with ProfilerActivity.CUDA, or ProfilerActivity.XPU for Intel GPUs, to see the GPU."
            }
        }
    }
}

impl Profile {
    /// True if GPU activity was recorded; for a window, if some starts in it.
    pub fn has_gpu_events(&self) -> bool {
        !self.gpu.is_empty()
    }

    /// True for a window in which no GPU activity starts, in a trace that has some.
    pub fn is_empty_window(&self) -> bool {
        let window = self.window.as_ref();
        self.gpu.is_empty() && window.is_some_and(|window| window.trace_has_gpu_work)
    }

    /// Why there is no GPU activity to report; `None` if there is some.
    pub fn no_gpu(&self) -> Option<NoGpu> {
        (!self.has_gpu_events()).then(|| match self.is_empty_window() {
            true => NoGpu::InWindow,
            false if self.has_lost_gpu_events() => NoGpu::Lost,
            false => NoGpu::Recorded,
        })
    }

    /// [`NoGpu::why`], for a profile whose [`Profile::has_gpu_events`] is false.
    pub fn without_gpu(&self) -> &'static str {
        self.no_gpu().unwrap_or(NoGpu::Recorded).why()
    }

    /// Why the causes of idle time are not reported; `None` if they are.
    pub(crate) fn without_idle_causes(&self) -> Option<&'static str> {
        if self.is_idle_unknown() {
            return Some(
                "The durations of too much GPU activity are unknown, so idle time cannot be computed.",
            );
        }
        if self.recording.n_unrecorded > 0 {
            return Some(
                "Kernels were launched that the trace does not hold, so the causes of GPU idle time are not reported.",
            );
        }
        self.recording.clocks_ns.map(|_| {
            "The clocks of the CPU and the GPU do not agree, so the causes of GPU idle time are not reported."
        })
    }

    /// Whether so many GPU durations are unknown that idle time cannot be determined.
    pub(crate) fn is_idle_unknown(&self) -> bool {
        /// From this share of the time on, in percent, unknown time makes idle time unreliable.
        const LEAST_PERCENT: i64 = 5;
        let unknown_ns = self.gpu.unknown_ns();
        unknown_ns > 0 && unknown_ns / LEAST_PERCENT >= self.worked_ns() / 100
    }

    /// From the first start to the last end of GPU activity.
    fn worked_ns(&self) -> i64 {
        let spans = self.gpu.all().map(|work| work.span);
        spans.reduce(Interval::hull).map_or(0, Interval::length)
    }

    /// There is no GPU activity, but some may be among events that are missing or have an unknown category.
    pub(crate) fn has_lost_gpu_events(&self) -> bool {
        use WarningKind::*;
        let kinds = [
            MissingTime,
            ImpossibleStart,
            UnreadableEvent,
            TooManyEvents,
            CutJson,
            UnknownCategory,
        ];
        !self.has_gpu_events()
            && kinds
                .iter()
                .any(|kind| self.recording.imported.count(*kind) > 0)
    }

    /// True if PyTorch operators were recorded, in the window, elsewhere, or during the capture of a graph that the
    /// trace replays.
    pub fn has_cpu_ops(&self) -> bool {
        let window = self.window.as_ref();
        !self.cpu_ops.is_empty()
            || !self.trace.captured.is_empty()
            || window.is_some_and(|window| window.trace_has_cpu_ops)
    }

    /// Whether the calls that launched GPU activity were recorded. If so, activity without one is
    /// [unattributed](crate::profile::gpu::unattributed).
    pub(crate) fn has_launches(&self) -> bool {
        !self.launches.launches.is_empty()
    }

    /// True when Python frames were recorded.
    pub fn has_python_frames(&self) -> bool {
        let events = &self.trace.events;
        *self.scanned.has_python_frames.get_or_init(|| {
            let mut frames = events.in_category(Category::PythonFunction);
            frames.next().is_some()
        })
    }

    /// Adds warnings about what the events lack to those from the import.
    pub(super) fn warn(&mut self) {
        use WarningKind::*;
        let (launches, warnings) = (&self.launches, &mut self.warnings);
        warnings.add_many(WrongNesting, self.tree.strays().len() as u64, None);
        warnings.add_many(LinkedByCorrelation, launches.n_by_correlation(), None);
        warnings.add_many(LinkedToOperators, launches.n_of_operators(), None);
        let unlinked = match launches.launches.is_empty() {
            true => NothingLinked,
            false => UnlinkedGpuWork,
        };
        warnings.add_many(unlinked, launches.n_unlinked(), None);
        warnings.add_many(UnrecordedKernels, self.recording.n_unrecorded, None);
        warnings.add_many(AmbiguousCorrelation, launches.n_ambiguous(), None);
        warnings.add_many(RepeatedCorrelation, launches.n_repeated(), None);
        let unknown_ns = self.gpu.unknown_ns();
        if unknown_ns > 0 {
            let (unknown, all) = (unknown_ns, self.worked_ns());
            let [unknown, all] = [unknown, all].map(format::time_ns);
            let detail = format!("It is {unknown} of {all}.");
            self.warnings.add_with(UntoldGpuTime, 1, None, detail);
        }
        let missing = match (self.has_gpu_events(), self.has_cpu_ops()) {
            (true, true) => return,
            (true, false) if !self.trace.source.is_pytorch() => FormatWithoutOperators,
            (true, false) => NoHostEvents,
            (false, _) if self.is_empty_window() => EmptyWindow,
            (false, _) if self.has_lost_gpu_events() => GpuEventsLost,
            (false, true) => NoGpuEvents,
            (false, false) => NothingRecorded,
        };
        self.warnings.add(missing, None);
    }
}
