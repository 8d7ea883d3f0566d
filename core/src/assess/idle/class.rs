//! Why the GPU idles, in one word.

use crate::profile::launch::is_graph_launch;

/// The cause of a gap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Class {
    /// The host was busy launching, and launches came later than the GPU was done.
    LaunchBound,
    /// The host had waited for the GPU, so nothing was queued when it was done.
    Synchronisation,
    /// The host did something else for long before it launched again.
    HostWork,
    /// The host waited for or prepared data.
    DataLoading,
    /// Between two pieces of work of one launch of a GPU graph.
    GraphLaunch,
    /// Kernels were loaded, code compiled, a graph captured, or the profiler worked.
    StartUp,
    /// Memory was allocated or freed.
    Allocation,
    /// The work was launched in time; the GPU began it later.
    Queued,
    /// The same of the first recorded work of a stream: it may have waited for work that was
    /// launched before the recording, which is in no trace.
    BeforeRecording,
    /// No idle time: GPU work runs that does not count, because its launch is not known.
    Unlinked,
    /// A GPU graph was launched of whose work the trace has none: it may have run.
    UnrecordedGraph,
    /// The trace does not say what the host did.
    Unknown,
}

impl Class {
    pub(crate) const ALL: [Class; 12] = [
        Class::LaunchBound,
        Class::Synchronisation,
        Class::HostWork,
        Class::DataLoading,
        Class::GraphLaunch,
        Class::StartUp,
        Class::Allocation,
        Class::Queued,
        Class::BeforeRecording,
        Class::Unlinked,
        Class::UnrecordedGraph,
        Class::Unknown,
    ];

    /// Whether the GPU may well have worked meanwhile.
    pub(crate) fn is_unsure(self) -> bool {
        matches!(
            self,
            Class::BeforeRecording | Class::Unlinked | Class::UnrecordedGraph
        )
    }

    /// As files write it.
    pub(crate) fn key(self) -> &'static str {
        match self {
            Class::LaunchBound => "launch_bound",
            Class::Synchronisation => "synchronisation",
            Class::HostWork => "host_work",
            Class::DataLoading => "data_loading",
            Class::GraphLaunch => "graph_launch",
            Class::StartUp => "start_up",
            Class::Allocation => "allocation",
            Class::Queued => "queued",
            Class::BeforeRecording => "before_recording",
            Class::Unlinked => "unlinked_work",
            Class::UnrecordedGraph => "unrecorded_graphs",
            Class::Unknown => "unknown",
        }
    }

    /// For people.
    pub(crate) fn label(self) -> &'static str {
        match self {
            Class::LaunchBound => "Launching",
            Class::Synchronisation => "Synchronisation",
            Class::HostWork => "Host work",
            Class::DataLoading => "Data loading",
            Class::GraphLaunch => "GPU graphs",
            Class::StartUp => "Start-up and profiler",
            Class::Allocation => "Allocating and freeing",
            Class::Queued => "Launched, not begun",
            Class::BeforeRecording => "Before the recorded work",
            Class::Unlinked => "Work of unknown launch",
            Class::UnrecordedGraph => "GPU graphs without recorded work",
            Class::Unknown => "Unknown",
        }
    }
}

/// What a runtime or driver call does to the host, by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Call {
    /// Hands a kernel to the GPU.
    Launch,
    /// Hands a copy or a fill to the GPU, where there is anything to copy or fill.
    Transfer,
    /// Hands a whole graph to the GPU.
    Graph,
    /// Waits for the GPU.
    Blocking,
    /// Frees memory, and waits for the GPU to do so.
    Free,
    /// Allocates memory.
    Allocation,
    /// Loads kernels, builds graphs.
    StartUp,
    /// Anything else.
    Other,
}

impl Call {
    /// Whether the host waits for the GPU in it.
    pub(crate) fn is_blocking(self) -> bool {
        matches!(self, Call::Blocking | Call::Free)
    }

    pub(crate) fn of_name(name: &str) -> Call {
        let has = |part: &str| name.contains(part);
        let is_async = has("Async");
        if is_graph_launch(name) {
            Call::Graph
        } else if has("Launch") {
            Call::Launch
        } else if has("Synchronize") {
            Call::Blocking
        } else if has("Memcpy") {
            if is_async {
                Call::Transfer
            } else {
                Call::Blocking
            }
        } else if has("Memset") {
            Call::Transfer
        } else if is_async {
            // `cudaMallocAsync`, `cudaFreeAsync`: ordered on a stream, no waiting.
            Call::Other
        } else if has("Free") || has("HostUnregister") {
            Call::Free
        } else if ["Malloc", "MemAlloc", "HostAlloc", "HostRegister"]
            .iter()
            .any(|part| has(part))
        {
            Call::Allocation
        } else if [
            "ModuleLoad",
            "LibraryLoad",
            "LinkComplete",
            "GraphInstantiate",
            "EndCapture",
            "hipInit",
            "cuInit",
        ]
        .iter()
        .any(|part| has(part))
        {
            Call::StartUp
        } else {
            Call::Other
        }
    }
}

/// Whether a call begins (`true`) or ends to capture a stream into a graph.
pub(crate) fn is_capture_edge(name: &str) -> Option<bool> {
    if name.ends_with("StreamBeginCapture") {
        Some(true)
    } else if name.ends_with("StreamEndCapture") {
        Some(false)
    } else {
        None
    }
}

/// Whether an operator only marks that compiled code runs: inside of it the host is in the Python
/// code that a compiler generated around its kernels.
pub(crate) fn is_compiled_region(name: &str) -> bool {
    name.starts_with("Torch-Compiled Region") || name.starts_with("## Call CompiledFxGraph")
}

/// Spans of the host that explain a gap by their name, whatever was recorded there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Special {
    DataLoading,
    Collection,
    Compilation,
    /// A stream is captured into a graph.
    Capture,
    Profiler,
}

impl Special {
    pub(crate) const ALL: [Special; 5] = [
        Special::DataLoading,
        Special::Collection,
        Special::Compilation,
        Special::Capture,
        Special::Profiler,
    ];

    /// In a table.
    pub(crate) fn label(self) -> &'static str {
        match self {
            Special::DataLoading => "loading data",
            Special::Collection => "garbage collection",
            Special::Compilation => "compiling",
            Special::Capture => "capturing a graph",
            Special::Profiler => "the profiler",
        }
    }

    pub(crate) fn of_name(name: &str) -> Option<Special> {
        // Ends first: traces have many long strings, and few that end so.
        let is_frame = |file: &str, function: &str| name.ends_with(function) && name.contains(file);
        if name.starts_with("enumerate(DataLoader)")
            || is_frame("torch/utils/data/dataloader.py", ": __next__")
            || is_frame("torch/utils/data/dataloader.py", ": _next_data")
        {
            Some(Special::DataLoading)
        } else if name == "Python GC"
            || name == "<built-in function collect>"
            || name == "gc.collect"
        {
            Some(Special::Collection)
        } else if is_frame("torch/_dynamo/convert_frame.py", ": _compile")
            || is_frame("torch/_inductor/compile_fx.py", ": compile_fx")
            || is_frame("triton/compiler/compiler.py", ": compile")
            || name.starts_with("_compile.compile_inner")
            || name.starts_with("entire_frame_compile")
            || name.starts_with("CachingAutotuner.benchmark_all_configs")
        {
            Some(Special::Compilation)
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_by_name() {
        let cases = [
            ("cudaLaunchKernelExC", Call::Launch),
            ("hipExtModuleLaunchKernel", Call::Launch),
            ("hipGraphLaunch", Call::Graph),
            ("cuGraphLaunch", Call::Graph),
            ("cudaGraphLaunch_ptsz", Call::Graph),
            ("cudaMemcpyAsync", Call::Transfer),
            ("cudaMemsetAsync", Call::Transfer),
            ("hipMemcpyWithStream", Call::Blocking),
            ("cudaMemcpy", Call::Blocking),
            ("cudaStreamSynchronize", Call::Blocking),
            ("cudaStreamWaitEvent", Call::Other),
            ("cudaFree", Call::Free),
            ("cudaFreeHost", Call::Free),
            ("cudaHostAlloc", Call::Allocation),
            ("cudaFreeAsync", Call::Other),
            ("hipMalloc", Call::Allocation),
            ("hipModuleLoadData", Call::StartUp),
            ("hipGetDevicePropertiesR0600", Call::Other),
        ];
        for (name, call) in cases {
            assert_eq!(Call::of_name(name), call, "{name}");
        }
    }

    #[test]
    fn special_spans_by_name() {
        let cases = [
            (
                "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__",
                Some(Special::DataLoading),
            ),
            (
                "torch/utils/data/dataloader.py(701): __next__",
                Some(Special::DataLoading),
            ),
            ("<built-in function collect>", Some(Special::Collection)),
            (
                "torch/_dynamo/convert_frame.py(666): _compile",
                Some(Special::Compilation),
            ),
            // Running compiled code is no compiling.
            ("## Call CompiledFxGraph fal4xp ##", None),
            ("triton/compiler/compiler.py(487): launch_metadata", None),
            ("torch/compiler/__init__.py(436): is_compiling", None),
        ];
        for (name, special) in cases {
            assert_eq!(Special::of_name(name), special, "{name}");
        }
    }
}
