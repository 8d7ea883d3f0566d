//! Causes of GPU idle time.

use crate::base::labels::labeled;

labeled! {
    /// Why the GPU is idle.
    #[derive(Default)]
    pub(crate) enum IdleCause {
        /// The CPU was busy launching, and kernels finished before the next was launched.
        LaunchBound => "Launch-bound" as "launch_bound",
        /// The CPU waited for the GPU, so nothing was queued when that ended.
        Synchronization => "Synchronization" as "synchronization",
        /// The CPU did something else for a long time before it launched again.
        CpuWork => "CPU work" as "host_work",
        /// The CPU waited for or prepared data.
        DataLoading => "Data loading" as "data_loading",
        /// Between two kernels of one graph launch.
        InGraph => "Inside GPU graphs" as "graph_launch",
        /// Something that a warm run without a profiler does not do: first uses, loading of kernels, compilation, graph
        /// capture, the profiler's own work.
        Startup => "Cold start and profiler" as "start_up",
        /// Kernels were run to choose the fastest of several.
        Tuning => "Kernel tuning" as "kernel_tuning",
        /// Code was recompiled, after steps that ran compiled code.
        Recompilation => "Recompilation" as "recompilation",
        /// Memory was allocated or freed.
        Allocation => "Memory allocation" as "allocation",
        /// Launched in time, but queued on the GPU until the end of the gap.
        Queued => "Queued on the GPU" as "queued",
        /// The same for the first activity of a stream: it may have waited for unrecorded work.
        BeforeRecording => "Before the recording" as "before_recording",
        /// A GPU graph was launched whose kernels are not in the trace: they may have run.
        UnrecordedGraph => "GPU graphs without recorded kernels" as "unrecorded_graphs",
        /// After a graph replay that lacks its last kernels: the capture has launches without kernels in the trace.
        UnrecordedKernel => "Kernels not recorded" as "unrecorded_kernels",
        /// The trace does not say what the CPU did.
        #[default]
        Unknown => "Unknown" as "unknown",
    }
}

/// The cause with a key in files, as worded within a sentence about idle time.
pub fn idle_cause_in_sentence(key: &str) -> Option<&'static str> {
    let cause = IdleCause::ALL
        .into_iter()
        .find(|cause| cause.key() == key)?;
    Some(match cause {
        IdleCause::LaunchBound => "waiting for kernel launches",
        IdleCause::Synchronization => "after the CPU waited for it",
        IdleCause::CpuWork => "while the CPU did other work",
        IdleCause::DataLoading => "waiting for data loading",
        IdleCause::InGraph => "inside GPU graphs",
        IdleCause::Startup => "during start-up and profiling",
        IdleCause::Tuning => "while kernels were tuned",
        IdleCause::Recompilation => "while code was compiled again",
        IdleCause::Allocation => "during memory allocation",
        IdleCause::Queued => "between launch and start of kernels",
        IdleCause::BeforeRecording => "possibly busy with kernels launched before the recording",
        IdleCause::UnrecordedGraph => "possibly running GPU graphs that were not recorded",
        IdleCause::UnrecordedKernel => "possibly running kernels that were not recorded",
        IdleCause::Unknown => "for unknown reasons",
    })
}

impl IdleCause {
    /// Whether the GPU may well have been busy.
    pub(crate) fn is_unsure(self) -> bool {
        matches!(
            self,
            IdleCause::BeforeRecording | IdleCause::UnrecordedGraph | IdleCause::UnrecordedKernel
        )
    }

    /// Whether a longer run also has such idle time, so that it can be saved. The finding about kernel tuning counts its
    /// own idle time.
    pub(crate) fn can_be_saved(self) -> bool {
        !self.is_unsure() && !self.is_of_first_use()
    }

    /// Whether it comes with the first use of kernels or sizes, so that a step that repeats both does not have it.
    pub(crate) fn is_of_first_use(self) -> bool {
        matches!(self, IdleCause::Startup | IdleCause::Tuning)
    }

    /// Whether the CPU launched too late for a reason that the trace shows.
    pub(crate) fn is_late_launch(self) -> bool {
        !self.is_unsure() && !matches!(self, IdleCause::Queued | IdleCause::Unknown)
    }
}
