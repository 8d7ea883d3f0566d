//! What calls and ranges of host threads do, by their names.

/// What a runtime or driver call does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RuntimeCall {
    /// Launches a kernel.
    Launch,
    /// Launches a copy or a fill, where there is anything to copy or fill.
    Transfer,
    /// Launches a whole GPU graph.
    GraphLaunch,
    /// Waits for the GPU.
    Blocking,
    /// Frees memory, and waits for the GPU to do so.
    Free,
    /// Allocates memory.
    Allocation,
    /// Loads kernels, builds graphs.
    Startup,
    /// Anything else.
    Other,
}

/// Parts of names, all of which a call has; the first row that fits.
const RUNTIME_CALLS: &[(&[&str], RuntimeCall)] = &[
    (&["GraphLaunch"], RuntimeCall::GraphLaunch),
    (&["Launch"], RuntimeCall::Launch),
    (&["Synchronize"], RuntimeCall::Blocking),
    (&["Memcpy", "Async"], RuntimeCall::Transfer),
    (&["Memcpy"], RuntimeCall::Blocking),
    (&["Memset"], RuntimeCall::Transfer),
    // `cudaMallocAsync`, `cudaFreeAsync`: ordered on a stream, no waiting.
    (&["Async"], RuntimeCall::Other),
    (&["Free"], RuntimeCall::Free),
    (&["HostUnregister"], RuntimeCall::Free),
    (&["Malloc"], RuntimeCall::Allocation),
    (&["MemAlloc"], RuntimeCall::Allocation),
    (&["HostAlloc"], RuntimeCall::Allocation),
    (&["HostRegister"], RuntimeCall::Allocation),
    (&["ModuleLoad"], RuntimeCall::Startup),
    (&["LibraryLoad"], RuntimeCall::Startup),
    (&["LinkComplete"], RuntimeCall::Startup),
    (&["GraphInstantiate"], RuntimeCall::Startup),
    (&["EndCapture"], RuntimeCall::Startup),
    (&["hipInit"], RuntimeCall::Startup),
    (&["cuInit"], RuntimeCall::Startup),
];

impl RuntimeCall {
    pub(crate) fn of_name(name: &str) -> RuntimeCall {
        let fits = |parts: &[&str]| parts.iter().all(|part| name.contains(part));
        let row = RUNTIME_CALLS.iter().find(|(parts, _)| fits(parts));
        row.map_or(RuntimeCall::Other, |(_, call)| *call)
    }

    /// Whether the host thread waits for the GPU in it.
    pub(crate) fn is_blocking(self) -> bool {
        matches!(self, RuntimeCall::Blocking | RuntimeCall::Free)
    }
}

/// Whether a call begins (`true`) or ends to capture a stream into a GPU graph.
pub(crate) fn is_capture_edge(name: &str) -> Option<bool> {
    if name.ends_with("StreamBeginCapture") {
        Some(true)
    } else if name.ends_with("StreamEndCapture") {
        Some(false)
    } else {
        None
    }
}

/// Whether an operator only marks that compiled code runs: inside it the thread is in the Python
/// code that a compiler generated around its kernels.
pub(crate) fn is_compiled_region(name: &str) -> bool {
    name.starts_with("Torch-Compiled Region") || name.starts_with("## Call CompiledFxGraph")
}

/// CPU work that a span's name tells, whatever was recorded inside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CpuActivity {
    DataLoading,
    GarbageCollection,
    Compilation,
    /// A stream is captured into a GPU graph.
    GraphCapture,
    Profiler,
}

/// How a name of a span tells its activity.
enum Named {
    Is(&'static str),
    StartsWith(&'static str),
    /// A Python frame: its file, then what its name ends with.
    Frame(&'static str, &'static str),
}

#[rustfmt::skip]
const CPU_ACTIVITIES: &[(Named, CpuActivity)] = &[
    (Named::StartsWith("enumerate(DataLoader)"), CpuActivity::DataLoading),
    (Named::Frame("torch/utils/data/dataloader.py", ": __next__"), CpuActivity::DataLoading),
    (Named::Frame("torch/utils/data/dataloader.py", ": _next_data"), CpuActivity::DataLoading),
    (Named::Is("Python GC"), CpuActivity::GarbageCollection),
    (Named::Is("<built-in function collect>"), CpuActivity::GarbageCollection),
    (Named::Is("gc.collect"), CpuActivity::GarbageCollection),
    (Named::Frame("torch/_dynamo/convert_frame.py", ": _compile"), CpuActivity::Compilation),
    (Named::Frame("torch/_inductor/compile_fx.py", ": compile_fx"), CpuActivity::Compilation),
    (Named::Frame("triton/compiler/compiler.py", ": compile"), CpuActivity::Compilation),
    (Named::StartsWith("_compile.compile_inner"), CpuActivity::Compilation),
    (Named::StartsWith("entire_frame_compile"), CpuActivity::Compilation),
    (Named::StartsWith("CachingAutotuner.benchmark_all_configs"), CpuActivity::Compilation),
];

impl CpuActivity {
    pub(crate) const ALL: [CpuActivity; 5] = [
        CpuActivity::DataLoading,
        CpuActivity::GarbageCollection,
        CpuActivity::Compilation,
        CpuActivity::GraphCapture,
        CpuActivity::Profiler,
    ];

    /// In a table.
    pub(crate) fn label(self) -> &'static str {
        match self {
            CpuActivity::DataLoading => "data loading",
            CpuActivity::GarbageCollection => "garbage collection",
            CpuActivity::Compilation => "compilation",
            CpuActivity::GraphCapture => "graph capture",
            CpuActivity::Profiler => "profiler",
        }
    }

    pub(crate) fn of_name(name: &str) -> Option<CpuActivity> {
        let row = CPU_ACTIVITIES.iter().find(|(named, _)| match named {
            Named::Is(whole) => name == *whole,
            Named::StartsWith(start) => name.starts_with(start),
            // The end first: traces have many long names, and few that end so.
            Named::Frame(file, function) => name.ends_with(function) && name.contains(file),
        });
        row.map(|(_, activity)| *activity)
    }
}

/// Optimizers of PyTorch that have one kernel for all parameters, `fused=True`.
pub(crate) const FUSED_OPTIMIZERS: &[&str] = &["Adagrad", "Adam", "AdamW", "SGD"];

/// How PyTorch names the range around what an optimizer does: `Optimizer.step#Adam.step`.
pub(crate) const OPTIMIZER_RANGE: &str = "Optimizer.";

/// The class of an optimizer in the name of the range around its step.
pub(crate) fn optimizer_of_step(range: &str) -> Option<&str> {
    let of_step = range.strip_prefix("Optimizer.step#")?;
    of_step.strip_suffix(".step")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runtime_calls_by_name() {
        let cases = [
            ("cudaLaunchKernelExC", RuntimeCall::Launch),
            ("hipExtModuleLaunchKernel", RuntimeCall::Launch),
            ("hipGraphLaunch", RuntimeCall::GraphLaunch),
            ("cuGraphLaunch", RuntimeCall::GraphLaunch),
            ("cudaGraphLaunch_ptsz", RuntimeCall::GraphLaunch),
            ("cudaMemcpyAsync", RuntimeCall::Transfer),
            ("cudaMemsetAsync", RuntimeCall::Transfer),
            ("hipMemcpyWithStream", RuntimeCall::Blocking),
            ("cudaMemcpy", RuntimeCall::Blocking),
            ("cudaStreamSynchronize", RuntimeCall::Blocking),
            ("cudaStreamWaitEvent", RuntimeCall::Other),
            ("cudaFree", RuntimeCall::Free),
            ("cudaFreeHost", RuntimeCall::Free),
            ("cudaHostAlloc", RuntimeCall::Allocation),
            ("cudaFreeAsync", RuntimeCall::Other),
            ("hipMalloc", RuntimeCall::Allocation),
            ("hipModuleLoadData", RuntimeCall::Startup),
            ("hipGetDevicePropertiesR0600", RuntimeCall::Other),
        ];
        for (name, call) in cases {
            assert_eq!(RuntimeCall::of_name(name), call, "{name}");
        }
    }

    #[test]
    fn activities_by_name() {
        let cases = [
            (
                "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__",
                Some(CpuActivity::DataLoading),
            ),
            (
                "torch/utils/data/dataloader.py(701): __next__",
                Some(CpuActivity::DataLoading),
            ),
            (
                "<built-in function collect>",
                Some(CpuActivity::GarbageCollection),
            ),
            (
                "torch/_dynamo/convert_frame.py(666): _compile",
                Some(CpuActivity::Compilation),
            ),
            // Running compiled code is no compilation.
            ("## Call CompiledFxGraph fal4xp ##", None),
            ("triton/compiler/compiler.py(487): launch_metadata", None),
            ("torch/compiler/__init__.py(436): is_compiling", None),
        ];
        for (name, activity) in cases {
            assert_eq!(CpuActivity::of_name(name), activity, "{name}");
        }
    }
}
