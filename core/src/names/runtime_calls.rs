//! Runtime and driver calls, by name.

use RuntimeCall::*;

/// What a runtime or driver call does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RuntimeCall {
    /// Launches a kernel.
    Launch,
    /// Launches a copy or a fill, if there is anything to copy or fill.
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

/// A name matches a row if it contains all of its parts; the first match decides.
const RUNTIME_CALLS: &[(&[&str], RuntimeCall)] = &[
    (&["GraphLaunch"], GraphLaunch),
    (&["Launch"], Launch),
    (&["Synchronize"], Blocking),
    (&["Memcpy", "Async"], Transfer),
    // SYCL's, on a queue: `urEnqueueUSMMemcpy`, `piextUSMEnqueueMemcpy`, `urEnqueueUSMFill`, `urEnqueueEventsWait`.
    (&["Enqueue", "Memcpy"], Transfer),
    (&["Enqueue", "Fill"], Transfer),
    (&["Enqueue"], Other),
    (&["EventWait"], Blocking),
    (&["EventsWait"], Blocking),
    (&["QueueFinish"], Blocking),
    (&["Memcpy"], Blocking),
    (&["Memset"], Transfer),
    // `cudaMallocAsync`, `cudaFreeAsync`: ordered on a stream, no waiting.
    (&["Async"], Other),
    (&["Free"], Free),
    (&["HostUnregister"], Free),
    (&["Malloc"], Allocation),
    // Segments that grow.
    (&["MemCreate"], Allocation),
    (&["MemMap"], Allocation),
    (&["MemSetAccess"], Allocation),
    (&["MemUnmap"], Free),
    (&["MemRelease"], Free),
    (&["MemAlloc"], Allocation),
    (&["HostAlloc"], Allocation),
    (&["DeviceAlloc"], Allocation),
    (&["SharedAlloc"], Allocation),
    (&["HostRegister"], Allocation),
    (&["ModuleLoad"], Startup),
    (&["LibraryLoad"], Startup),
    (&["LinkComplete"], Startup),
    (&["GraphInstantiate"], Startup),
    (&["EndCapture"], Startup),
    (&["ProgramBuild"], Startup),
    (&["ModuleCreate"], Startup),
    (&["hipInit"], Startup),
    (&["cuInit"], Startup),
];

impl RuntimeCall {
    pub(crate) fn of_name(name: &str) -> RuntimeCall {
        let fits = |parts: &[&str]| parts.iter().all(|part| name.contains(part));
        let row = RUNTIME_CALLS.iter().find(|(parts, _)| fits(parts));
        row.map_or(Other, |(_, call)| *call)
    }

    /// Whether the host thread waits for the GPU in it.
    pub(crate) fn is_blocking(self) -> bool {
        matches!(self, Blocking | Free)
    }
}

/// Whether a call reads the time of an event, or waits for that: how libraries time their kernels.
pub(crate) fn is_event_timing(name: &str) -> bool {
    name.contains("EventElapsedTime") || name.contains("EventSynchronize")
}

/// A call that begins or ends the capture of a stream into a GPU graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CaptureEdge {
    Begin,
    End,
}

impl CaptureEdge {
    pub(crate) fn of(name: &str) -> Option<CaptureEdge> {
        if name.ends_with("StreamBeginCapture") {
            Some(CaptureEdge::Begin)
        } else if name.ends_with("StreamEndCapture") {
            Some(CaptureEdge::End)
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runtime_calls_by_name() {
        let cases = [
            ("cudaLaunchKernelExC", Launch),
            ("hipExtModuleLaunchKernel", Launch),
            ("hipGraphLaunch", GraphLaunch),
            ("cuGraphLaunch", GraphLaunch),
            ("cudaGraphLaunch_ptsz", GraphLaunch),
            ("cudaMemcpyAsync", Transfer),
            ("cudaMemsetAsync", Transfer),
            ("hipMemcpyWithStream", Blocking),
            ("cudaMemcpy", Blocking),
            ("cudaStreamSynchronize", Blocking),
            ("cudaStreamWaitEvent", Other),
            ("cudaFree", Free),
            ("cudaFreeHost", Free),
            ("cudaHostAlloc", Allocation),
            ("cudaFreeAsync", Other),
            ("hipMalloc", Allocation),
            ("cuMemCreate", Allocation),
            ("cuMemUnmap", Free),
            ("hipModuleLoadData", Startup),
            ("hipGetDevicePropertiesR0600", Other),
            ("urEnqueueKernelLaunch", Launch),
            ("zeCommandListAppendLaunchKernel", Launch),
            ("urEnqueueUSMMemcpy", Transfer),
            ("piextUSMEnqueueMemcpy", Transfer),
            ("urEnqueueUSMFill", Transfer),
            ("urEnqueueEventsWaitWithBarrier", Other),
            ("urEventWait", Blocking),
            ("piEventsWait", Blocking),
            ("urQueueFinish", Blocking),
            ("zeEventHostSynchronize", Blocking),
            ("urUSMDeviceAlloc", Allocation),
            ("zeMemAllocDevice", Allocation),
            ("urUSMFree", Free),
            ("urProgramBuildExp", Startup),
            ("zeModuleCreate", Startup),
        ];
        for (name, call) in cases {
            assert_eq!(RuntimeCall::of_name(name), call, "{name}");
        }
    }
}
