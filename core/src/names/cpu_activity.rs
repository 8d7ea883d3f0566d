//! CPU activity by the names of its spans: Python frames, built-in functions, operators, ranges, runtime calls and the
//! profiler's own overhead.

use super::words::contains_any;
use crate::base::labels::labeled;
use crate::names::frames::Frame;
use crate::names::runtime_calls::RuntimeCall;
use crate::trace::Category;

labeled! {
    /// CPU work, identified by a span's name regardless of what was recorded inside.
    pub(crate) enum CpuActivity {
        DataLoading => "Data loading" as "data_loading",
        Preprocessing => "Preprocessing" as "preprocessing",
        Tokenization => "Tokenization" as "tokenization",
        /// An environment of reinforcement learning takes a step.
        Environment => "Simulated environment" as "environment",
        /// A GPU value is read: `.item()`, `.cpu()`, `.tolist()`, printing.
        ReadBack => "Reads a GPU value" as "read_back",
        /// The size of a result depends on GPU values.
        DynamicShape => "Data-dependent shape" as "dynamic_shape",
        Synchronization => "GPU synchronization" as "gpu_synchronization",
        Allocation => "Memory allocation" as "memory_allocation",
        Reflection => "Reflection" as "reflection",
        Guards => "Guards of compiled code" as "guards",
        /// Data-parallel training looks for parameters that get no gradient in this step.
        UnusedParameters => "Search for unused parameters" as "unused_parameters",
        GarbageCollection => "Garbage collection" as "garbage_collection",
        /// Waits for another thread or process.
        Waiting => "Waits for a thread or process" as "waiting",
        /// Python objects become bytes, or bytes become objects.
        Serialization => "Serialization" as "serialization",
        Logging => "Logging" as "logging",
        Checkpointing => "Checkpointing" as "checkpointing",
        FileAccess => "File access" as "file_access",
        KernelLoading => "Kernel loading" as "kernel_loading",
        /// Kernels are run to choose the fastest of several.
        Tuning => "Kernel tuning" as "kernel_tuning",
        Compilation => "Compilation" as "compilation",
        /// A stream is captured into a GPU graph.
        GraphCapture => "Graph capture" as "graph_capture",
        Imports => "Module imports" as "imports",
        Profiler => "Profiler" as "profiler",
    }
}

/// How the name of a span is matched.
enum Named {
    Is(&'static str),
    StartsWith(&'static str),
    EndsWith(&'static str),
    /// A Python frame: its file, a folder (`PIL/`), or a prefix of the file name (`tokenization_*`); and its functions,
    /// or all of them if the list is empty.
    Python(&'static str, &'static [&'static str]),
    /// `<built-in method item of Tensor object at 0x7f…>` and `<method 'item' of 'torch._C.TensorBase' …>`, by the
    /// method and the start of the object's type.
    Method(&'static str, &'static str),
}

use CpuActivity::*;
use Named::*;

/// The first match decides. Comments show what profilers write.
#[rustfmt::skip]
const ACTIVITIES: &[(Named, CpuActivity)] = &[
    // `enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__`
    (StartsWith("enumerate(DataLoader)"), DataLoading),
    // `torch/utils/data/dataloader.py(701): __next__`
    (Python("torch/utils/data/dataloader.py", &["__next__", "__iter__", "_next_data", "_get_data", "_try_get_data"]), DataLoading),
    (Python("torch/utils/data/_utils/", &["fetch", "default_collate", "collate", "pin_memory"]), DataLoading),
    (Python("datasets/arrow_dataset.py", &["__getitem__", "__getitems__"]), DataLoading),
    (Python("datasets/iterable_dataset.py", &["__iter__"]), DataLoading),
    (Python("torchdata/", &["__next__"]), DataLoading),
    (Python("webdataset/", &[]), DataLoading),
    (Python("streaming/base/dataloader.py", &["__iter__"]), DataLoading),
    (Python("nvidia/dali/", &["__next__", "run"]), DataLoading),
    // `transformers/models/owlv2/image_processing_owlv2.py(301): resize`
    (Python("image_processing_*", &[]), Preprocessing),
    (Python("video_processing_*", &[]), Preprocessing),
    (Python("feature_extraction_*", &[]), Preprocessing),
    (Python("transformers/image_transforms.py", &[]), Preprocessing),
    (Python("torchvision/transforms/", &[]), Preprocessing),
    (Python("torchvision/io/", &[]), Preprocessing),
    (Python("torchaudio/transforms/", &[]), Preprocessing),
    (Python("timm/data/", &[]), Preprocessing),
    (Python("albumentations/", &[]), Preprocessing),
    (Python("PIL/", &[]), Preprocessing),
    (Python("cv2/", &[]), Preprocessing),
    (Python("skimage/", &[]), Preprocessing),
    (Python("scipy/ndimage/", &[]), Preprocessing),
    (Python("librosa/", &[]), Preprocessing),
    (Python("decord/", &[]), Preprocessing),
    // `transformers/tokenization_utils_fast.py(527): _batch_encode_plus`
    (Python("tokenization_*", &[]), Tokenization),
    (Python("sentencepiece/", &[]), Tokenization),
    (Python("tiktoken/", &[]), Tokenization),
    (Method("encode_batch", "tokenizers."), Tokenization),
    (Method("encode", "tokenizers."), Tokenization),
    (Method("decode_batch", "tokenizers."), Tokenization),
    (Is("aten::item"), ReadBack),
    (Is("aten::_local_scalar_dense"), ReadBack),
    (Is("aten::is_nonzero"), ReadBack),
    (Is("aten::equal"), ReadBack),
    (Method("item", "Tensor"), ReadBack),
    (Method("tolist", "Tensor"), ReadBack),
    (Method("cpu", "Tensor"), ReadBack),
    (Method("numpy", "Tensor"), ReadBack),
    (Method("__bool__", "Tensor"), ReadBack),
    (Python("torch/_tensor_str.py", &[]), ReadBack),
    (Is("aten::nonzero"), DynamicShape),
    (Is("aten::masked_select"), DynamicShape),
    (StartsWith("aten::unique"), DynamicShape),
    (Is("aten::_unique2"), DynamicShape),
    (Is("aten::repeat_interleave"), DynamicShape),
    // `torch/cuda/__init__.py(962): synchronize`
    (Python("torch/cuda/__init__.py", &["synchronize"]), Synchronization),
    (Python("torch/cuda/streams.py", &["synchronize"]), Synchronization),
    (Is("<built-in function _cuda_synchronize>"), Synchronization),
    (Python("torch/cuda/memory.py", &["empty_cache"]), Allocation),
    (Is("<built-in function _cuda_emptyCache>"), Allocation),
    // `inspect.py(3265): signature`
    (Python("inspect.py", &[]), Reflection),
    (Python("typing.py", &["get_type_hints"]), Reflection),
    (Python("dataclasses.py", &["asdict", "astuple", "fields"]), Reflection),
    // `TorchDynamo Cache Lookup`
    (StartsWith("TorchDynamo Cache Lookup"), Guards),
    (Python("torch/_dynamo/guards.py", &[]), Guards),
    // `torch.distributed.ddp.reducer::search_unused_parameters`, and what collects the results to start from.
    (EndsWith("reducer::search_unused_parameters"), UnusedParameters),
    (Python("torch/nn/parallel/distributed.py", &["_find_tensors"]), UnusedParameters),
    (Is("Python GC"), GarbageCollection),
    (Is("<built-in function collect>"), GarbageCollection),
    (StartsWith("<built-in method collect of module"), GarbageCollection),
    (Is("gc.collect"), GarbageCollection),
    (Python("logging/__init__.py", &[]), Logging),
    (Python("loguru/", &[]), Logging),
    (Python("wandb/", &[]), Logging),
    (Python("mlflow/", &[]), Logging),
    (Python("torch/utils/tensorboard/", &[]), Logging),
    (Python("tensorboardX/", &[]), Logging),
    (Python("tqdm/", &["update", "refresh", "display", "close", "set_postfix", "set_description", "__init__"]), Logging),
    (Python("warnings.py", &["warn", "_showwarnmsg"]), Logging),
    (Is("<built-in function print>"), Logging),
    (Is("<built-in function warn>"), Logging),
    // `torch/serialization.py(943): save`
    (Python("torch/serialization.py", &["save", "load"]), Checkpointing),
    (Python("torch/distributed/checkpoint/", &[]), Checkpointing),
    (Python("safetensors/", &[]), Checkpointing),
    (Method("acquire", "_thread."), Waiting),
    (Method("poll", "select."), Waiting),
    (Is("<built-in function sleep>"), Waiting),
    (Is("<built-in function select>"), Waiting),
    (Python("threading.py", &["wait", "join", "acquire", "_wait_for_tstate_lock"]), Waiting),
    (Python("queue.py", &["get", "put", "join"]), Waiting),
    (Python("multiprocessing/queues.py", &["get", "put"]), Waiting),
    (Python("multiprocessing/connection.py", &["poll", "recv", "recv_bytes", "wait"]), Waiting),
    (Python("multiprocessing/pool.py", &["get", "wait", "join"]), Waiting),
    (Python("concurrent/futures/_base.py", &["result", "wait"]), Waiting),
    (Python("concurrent/futures/thread.py", &["shutdown"]), Waiting),
    (Python("vllm/distributed/device_communicators/shm_broadcast.py", &["acquire_read", "acquire_write", "dequeue", "enqueue"]), Waiting),
    (Python("zmq/sugar/", &["recv", "recv_multipart", "poll", "recv_pyobj"]), Waiting),
    (Python("torch/distributed/distributed_c10d.py", &["barrier", "monitored_barrier", "all_gather_object", "gather_object", "broadcast_object_list", "scatter_object_list"]), Waiting),
    // `<built-in method load of _pickle.Unpickler object at 0x7f…>`
    (Method("load", "_pickle."), Serialization),
    (Method("dump", "_pickle."), Serialization),
    (Python("pickle.py", &[]), Serialization),
    (Python("cloudpickle/", &[]), Serialization),
    (Python("torch/distributed/distributed_c10d.py", &["_object_to_tensor", "_tensor_to_object"]), Serialization),
    (Python("gymnasium/", &["step", "reset"]), Environment),
    (Python("gym/", &["step", "reset"]), Environment),
    (Python("dm_env/", &["step", "reset"]), Environment),
    (Python("dm_control/", &["step", "reset"]), Environment),
    (Python("pettingzoo/", &["step", "reset"]), Environment),
    (Python("stable_baselines3/common/vec_env/", &["step", "step_wait", "reset"]), Environment),
    (Is("<built-in function open>"), FileAccess),
    (Method("read", "_io."), FileAccess),
    (Method("readinto", "_io."), FileAccess),
    (Method("write", "_io."), FileAccess),
    (Is("Lazy Function Loading"), KernelLoading),
    (Is("Runtime Triggered Module Loading"), KernelLoading),
    (Is("Driver Compiler"), KernelLoading),
    (Python("torch/_dynamo/convert_frame.py", &["_compile"]), Compilation),
    (Python("torch/_inductor/compile_fx.py", &["compile_fx", "compile_fx_inner", "_compile_fx_inner", "fx_codegen_and_compile"]), Compilation),
    (Python("torch/utils/cpp_extension.py", &["load", "load_inline"]), Compilation),
    (Python("triton/compiler/compiler.py", &["compile"]), Compilation),
    (Python("triton/runtime/autotuner.py", &["_bench"]), Tuning),
    (Python("triton/testing.py", &["do_bench", "do_bench_cudagraph"]), Tuning),
    (Python("torch/_inductor/runtime/triton_heuristics.py", &["benchmark_all_configs", "autotune_to_one_config", "coordinate_descent_tuning", "bench"]), Tuning),
    (Python("torch/_inductor/runtime/benchmarking.py", &["benchmark", "benchmark_gpu", "benchmark_many_gpu"]), Tuning),
    (Python("torch/_inductor/select_algorithm.py", &["do_autotuning", "benchmark_choices", "benchmark_in_current_process", "benchmark_in_sub_process"]), Tuning),
    (StartsWith("_compile.compile_inner"), Compilation),
    (StartsWith("entire_frame_compile"), Compilation),
    (StartsWith("CachingAutotuner.benchmark_all_configs"), Tuning),
    (StartsWith("CachingAutotuner.coordinate_descent_tuning"), Tuning),
    (EndsWith("_template_autotuning (dynamo_timed)"), Tuning),
    (EndsWith("(dynamo_timed)"), Compilation),
    (Python("torch/cuda/graphs.py", &["capture_begin", "capture_end"]), GraphCapture),
    (StartsWith("<frozen importlib"), Imports),
    (Python("torch/profiler/profiler.py", &["step", "start", "stop", "start_trace", "stop_trace", "prepare_trace", "_transit_action", "export_chrome_trace"]), Profiler),
    // Overhead that the driver's tracing reports.
    (Is("Buffer Flush"), Profiler),
    (Is("Activity Buffer Request"), Profiler),
    (Is("Instrumentation"), Profiler),
    (Is("Resource"), Profiler),
    (Is("Command Buffer Full"), Profiler),
    (StartsWith("UVM Activity Init"), Profiler),
];

/// Parts of names of [`RuntimeCall::Startup`] calls that capture graphs.
const CAPTURING: &[&str] = &["GraphInstantiate", "EndCapture"];

impl CpuActivity {
    pub(crate) fn of_name(name: &str) -> Option<CpuActivity> {
        CpuActivity::first(name, |_| true)
    }

    /// Like `of_name`, but only for activities that [are a cause](CpuActivity::is_cause): fewer rows to check for all
    /// names of a trace.
    pub(crate) fn cause_of_name(name: &str) -> Option<CpuActivity> {
        CpuActivity::first(name, CpuActivity::is_cause)
    }

    fn first(name: &str, is_asked: fn(CpuActivity) -> bool) -> Option<CpuActivity> {
        let frame = Frame::of(name);
        let mut rows = ACTIVITIES.iter().filter(|row| is_asked(row.1));
        Some(rows.find(|(named, _)| named.fits(name, frame))?.1)
    }

    /// For a CPU span: runtime calls by what they do, all others by name.
    pub(crate) fn of_span(category: Category, name: &str) -> Option<CpuActivity> {
        if category == Category::Overhead {
            return Some(CpuActivity::of_name(name).unwrap_or(Profiler));
        }
        if !category.is_runtime() {
            return CpuActivity::of_name(name);
        }
        match RuntimeCall::of_name(name) {
            RuntimeCall::Blocking => Some(Synchronization),
            RuntimeCall::Free | RuntimeCall::Allocation => Some(Allocation),
            RuntimeCall::Startup if contains_any(name, CAPTURING) => Some(GraphCapture),
            RuntimeCall::Startup => Some(KernelLoading),
            _ => None,
        }
    }

    /// Whether it explains a gap if it takes half of it.
    pub(crate) fn is_cause(self) -> bool {
        matches!(
            self,
            DataLoading
                | GarbageCollection
                | Tuning
                | Compilation
                | GraphCapture
                | KernelLoading
                | Profiler
        )
    }

    /// Whether it does not occur in a warmed-up run without profiling.
    pub(crate) fn is_one_off(self) -> bool {
        matches!(
            self,
            KernelLoading | Tuning | Compilation | GraphCapture | Imports | Profiler
        )
    }

    /// Whether the CPU waits for the GPU in it.
    pub(crate) fn waits_for_gpu(self) -> bool {
        matches!(self, ReadBack | DynamicShape | Synchronization)
    }

    /// Whether what it does with the GPU, such as reading values, is done for its own purpose.
    pub(crate) fn reads_for_itself(self) -> bool {
        matches!(self, Logging | Checkpointing)
    }

    /// Whether the code inside it, a function of the program, says more than its own name.
    pub(crate) fn is_around_code(self) -> bool {
        matches!(self, DataLoading | Preprocessing | Environment)
    }
}

impl Named {
    fn fits(&self, name: &str, frame: Option<Frame>) -> bool {
        match self {
            Is(whole) => name == *whole,
            StartsWith(start) => name.starts_with(start),
            EndsWith(end) => name.ends_with(end),
            Python(file, functions) => frame.is_some_and(|frame| {
                let is_listed = || functions.contains(&frame.function);
                (functions.is_empty() || is_listed()) && frame.is_of(file)
            }),
            Method(method, object) => {
                let rest = name.strip_prefix("<built-in method ");
                let rest = rest.and_then(|rest| rest.strip_prefix(method)?.strip_prefix(" of "));
                let described = || {
                    let rest = name.strip_prefix("<method '")?;
                    let rest = rest.strip_prefix(method)?.strip_prefix("' of '")?;
                    Some(rest.strip_prefix("torch._C.").unwrap_or(rest))
                };
                rest.or_else(described)
                    .is_some_and(|rest| rest.starts_with(object))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn activities_by_name() {
        #[rustfmt::skip]
        let cases = [
            ("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", Some(DataLoading)),
            ("torch/utils/data/dataloader.py(701): __next__", Some(DataLoading)),
            ("/opt/venv/lib/python3.12/site-packages/torch/utils/data/_utils/collate.py(398): default_collate", Some(DataLoading)),
            ("transformers/models/owlv2/image_processing_owlv2.py(301): resize", Some(Preprocessing)),
            ("PIL/Image.py(2250): resize", Some(Preprocessing)),
            ("transformers/tokenization_utils_base.py(2855): __call__", Some(Tokenization)),
            ("<built-in method encode_batch of tokenizers.Tokenizer object at 0x55d>", Some(Tokenization)),
            ("<built-in method encode of str object at 0x7f>", None),
            ("<built-in method item of Tensor object at 0x7f31>", Some(ReadBack)),
            ("<method 'item' of 'torch._C.TensorBase' objects>", Some(ReadBack)),
            // These are on the CPU.
            ("<built-in method item of numpy.int32 object at 0x7f31>", None),
            ("aten::nonzero", Some(DynamicShape)),
            ("torch.distributed.ddp.reducer::search_unused_parameters", Some(UnusedParameters)),
            ("torch.distributed.ddp.reducer::copy_bucket_to_grad", None),
            ("aten::unique_consecutive", Some(DynamicShape)),
            ("inspect.py(3265): signature", Some(Reflection)),
            ("/usr/lib/python3.10/inspect.py(2998): bind", Some(Reflection)),
            // A file of the program whose name has the same ending.
            ("my_inspect.py(12): look", None),
            ("TorchDynamo Cache Lookup", Some(Guards)),
            ("<built-in function collect>", Some(GarbageCollection)),
            ("<built-in method acquire of _thread.lock object at 0x7f>", Some(Waiting)),
            ("threading.py(323): wait", Some(Waiting)),
            ("threading.py(1012): run", None),
            ("logging/__init__.py(1467): info", Some(Logging)),
            ("torch/serialization.py(943): save", Some(Checkpointing)),
            ("gymnasium/vector/sync_vector_env.py(220): step", Some(Environment)),
            ("gymnasium/vector/async_vector_env.py(90): __init__", None),
            ("torch/_dynamo/convert_frame.py(666): _compile", Some(Compilation)),
            ("torch/_inductor/compile_fx.py(900): compile_fx_inner", Some(Compilation)),
            ("compile_fx_inner (dynamo_timed)", Some(Compilation)),
            ("triton/testing.py(110): do_bench", Some(Tuning)),
            ("CachingAutotuner.benchmark_all_configs (dynamo_timed)", Some(Tuning)),
            ("mm_template_autotuning (dynamo_timed)", Some(Tuning)),
            ("mm_template_precompiling (dynamo_timed)", Some(Compilation)),
            // It also launches the kernel once the fastest is known.
            ("triton/runtime/autotuner.py(170): run", None),
            // Running compiled code is not compilation.
            ("## Call CompiledFxGraph fal4xp ##", None),
            ("triton/compiler/compiler.py(487): launch_metadata", None),
            ("torch/compiler/__init__.py(436): is_compiling", None),
            ("<frozen importlib._bootstrap>(1349): _find_and_load", Some(Imports)),
            ("aten::mm", None),
            ("", None),
        ];
        for (name, activity) in cases {
            assert_eq!(CpuActivity::of_name(name), activity, "{name}");
        }
    }

    #[test]
    fn activities_of_calls_and_overhead() {
        use Category::{Driver, Overhead, Runtime};
        let cases = [
            (Runtime, "hipHostMalloc", Some(Allocation)),
            (Runtime, "cudaHostAlloc", Some(Allocation)),
            (Runtime, "cudaFree", Some(Allocation)),
            (Runtime, "hipDeviceSynchronize", Some(Synchronization)),
            (Driver, "cuModuleLoadData", Some(KernelLoading)),
            (Runtime, "cudaGraphInstantiate", Some(GraphCapture)),
            (Runtime, "cudaLaunchKernel", None),
            (Overhead, "Lazy Function Loading", Some(KernelLoading)),
            (Overhead, "Buffer Flush", Some(Profiler)),
            (Overhead, "Unknown", Some(Profiler)),
        ];
        for (category, name, activity) in cases {
            assert_eq!(CpuActivity::of_span(category, name), activity, "{name}");
        }
    }
}
