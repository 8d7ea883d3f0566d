//! Why the GPU is idle, in one word.

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum IdleCause {
    /// The CPU was busy launching, and kernels finished before the next was launched.
    LaunchBound,
    /// The CPU waited for the GPU, so nothing was queued when that was done.
    Synchronization,
    /// The CPU did something else for long before it launched again.
    CpuWork,
    /// The CPU waited for or prepared data.
    DataLoading,
    /// Between two kernels of one graph launch.
    InGraph,
    /// Kernels were loaded, code compiled, a graph captured, or the profiler worked.
    Startup,
    /// Memory was allocated or freed.
    Allocation,
    /// Launched in time, and queued on the GPU until the end of the gap.
    Queued,
    /// The same of the first activity of a stream: it may have waited for unrecorded work.
    BeforeRecording,
    /// No idle time: unlinked GPU activity runs.
    Unlinked,
    /// A GPU graph was launched of whose kernels the trace has none: they may have run.
    UnrecordedGraph,
    /// The trace does not say what the CPU did.
    #[default]
    Unknown,
}

impl IdleCause {
    /// Whether the GPU may well have been busy.
    pub(crate) fn is_unsure(self) -> bool {
        matches!(
            self,
            IdleCause::BeforeRecording | IdleCause::Unlinked | IdleCause::UnrecordedGraph
        )
    }

    /// Whether the CPU launched too late for a reason that the trace shows.
    pub(crate) fn is_late_launch(self) -> bool {
        !self.is_unsure() && !matches!(self, IdleCause::Queued | IdleCause::Unknown)
    }

    pub(crate) const fn key(self) -> &'static str {
        self.names().0
    }

    pub(crate) fn label(self) -> &'static str {
        self.names().1
    }

    const fn names(self) -> (&'static str, &'static str) {
        match self {
            IdleCause::LaunchBound => ("launch_bound", "Launch-bound"),
            IdleCause::Synchronization => ("synchronisation", "Synchronization"),
            IdleCause::CpuWork => ("host_work", "CPU work"),
            IdleCause::DataLoading => ("data_loading", "Data loading"),
            IdleCause::InGraph => ("graph_launch", "Inside GPU graphs"),
            IdleCause::Startup => ("start_up", "Startup and profiler"),
            IdleCause::Allocation => ("allocation", "Memory allocation"),
            IdleCause::Queued => ("queued", "Queued on the GPU"),
            IdleCause::BeforeRecording => ("before_recording", "Before the recording"),
            IdleCause::Unlinked => ("unlinked_work", "Unlinked GPU activity"),
            IdleCause::UnrecordedGraph => {
                ("unrecorded_graphs", "GPU graphs without recorded kernels")
            }
            IdleCause::Unknown => ("unknown", "Unknown"),
        }
    }
}
