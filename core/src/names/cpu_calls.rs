//! Calls and ranges of host threads, by name.

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

/// The prefix of the operator around a call of compiled code, which its numbers follow: "Torch-Compiled Region: 3/0".
pub(crate) const COMPILED_REGION: &str = "Torch-Compiled Region";

/// Whether an operator only marks a compiled region: inside it the thread runs the Python code that the compiler
/// generated around its kernels.
pub(crate) fn is_compiled_region(name: &str) -> bool {
    name.starts_with(COMPILED_REGION) || name.starts_with("## Call CompiledFxGraph")
}

/// PyTorch optimizers that support `fused=True`, one kernel for all parameters.
pub(crate) const FUSED_OPTIMIZERS: &[&str] = &["Adagrad", "Adam", "AdamW", "SGD"];

/// The prefix of PyTorch's range around an optimizer's work: `Optimizer.step#Adam.step`.
pub(crate) const OPTIMIZER_RANGE: &str = "Optimizer.";

/// The class of an optimizer in the name of the range around its step.
pub(crate) fn optimizer_of_step(range: &str) -> Option<&str> {
    range.strip_prefix("Optimizer.step#")?.strip_suffix(".step")
}

/// Whether gradients are set to zero inside: a range of an optimizer or of the user, or a Python function, with the
/// word `zero_grad` in its name. A file of that name does not count.
pub(crate) fn is_zero_grad(name: &str) -> bool {
    let function = name.rsplit(": ").next().unwrap_or(name);
    let mut words = function.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
    words.any(|word| word == "zero_grad")
}

/// Whether a Python function waits until autograd's own threads have run the backward pass.
pub(crate) fn waits_for_autograd(frame: &str) -> bool {
    frame.contains("run_backward")
}

/// Whether a Python function or range sets buffers of gradients to zero: it is named after that, and it or its file
/// after gradients. In [`is_zero_grad`] gradients can be `None` instead.
pub(crate) fn is_gradient_buffer_reset(name: &str) -> bool {
    const GRADIENTS: &[&str] = &["grad", "grads", "gradient", "gradients"];
    let file = name.rsplit('/').next().unwrap_or(name);
    let function = file.rsplit(": ").next().unwrap_or(file);
    let has = |text: &str, wanted: &[&str]| {
        let mut words = text.split(|letter: char| !letter.is_alphanumeric());
        words.any(|word| wanted.contains(&word))
    };
    !is_zero_grad(name) && has(function, &["zero", "reset"]) && has(file, GRADIENTS)
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

    #[test]
    fn buffers_of_gradients_are_set_to_zero() {
        let cases = [
            ("megatron/ddp.py(80): zero_grad_buffer", true),
            ("megatron/param_and_grad_buffer.py(700): reset", true),
            ("Optimizer.zero_grad#SGD.zero_grad", false),
            (
                "megatron/param_and_grad_buffer.py(90): finish_grad_sync",
                false,
            ),
            ("torch/autograd/function.py(20): zero_state", false),
        ];
        for (name, expected) in cases {
            assert_eq!(is_gradient_buffer_reset(name), expected, "{name}");
        }
    }

    #[test]
    fn gradients_are_set_to_zero() {
        let cases = [
            ("Optimizer.zero_grad#SGD.zero_grad", true),
            ("torch/optim/optimizer.py(900): zero_grad", true),
            ("zero_grad", true),
            ("step 3: zero_grad(set_to_none=False)", true),
            ("tools/zero_grad.py(12): train", false),
            // A buffer shared by all gradients stays allocated.
            ("megatron/ddp.py(80): zero_grad_buffer", false),
            ("Optimizer.step#SGD.step", false),
        ];
        for (name, expected) in cases {
            assert_eq!(is_zero_grad(name), expected, "{name}");
        }
    }
}
