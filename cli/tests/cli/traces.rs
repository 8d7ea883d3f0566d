//! Small traces, as text.

/// An operator that launches one kernel.
pub(crate) const TRACE: &str = r#"{"traceEvents": [
    {"ph": "M", "name": "process_name", "pid": 1, "tid": 0, "args": {"name": "python"}},
    {"ph": "X", "cat": "cpu_op", "name": "aten::linear", "pid": 1, "tid": 1, "ts": 0, "dur": 90},
    {"ph": "X", "cat": "cpu_op", "name": "aten::addmm", "pid": 1, "tid": 1, "ts": 5, "dur": 80},
    {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 10, "dur": 20, "args": {"correlation": 7}},
    {"ph": "X", "cat": "kernel", "name": "sgemm_128x64", "pid": 0, "tid": 7, "ts": 40, "dur": 60, "args": {"correlation": 7, "stream": 7}},
    {"ph": "s", "cat": "ac2g", "name": "ac2g", "id": 7, "pid": 1, "tid": 1, "ts": 10},
    {"ph": "f", "cat": "ac2g", "name": "ac2g", "id": 7, "pid": 0, "tid": 7, "ts": 40, "bp": "e"}
]}"#;

/// Two steps with a kernel each, of 10 and 30 µs.
pub(crate) const STEPS: &str = r#"{"traceEvents": [
    {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#4", "pid": 1, "tid": 1, "ts": 100, "dur": 20},
    {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 102, "dur": 10},
    {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 104, "dur": 4, "args": {"correlation": 1}},
    {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#5", "pid": 1, "tid": 1, "ts": 120, "dur": 20},
    {"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 1, "tid": 1, "ts": 122, "dur": 10},
    {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 124, "dur": 4, "args": {"correlation": 2}},
    {"ph": "X", "cat": "kernel", "name": "sgemm", "pid": 0, "tid": 7, "ts": 130, "dur": 10, "args": {"correlation": 1, "stream": 7}},
    {"ph": "X", "cat": "kernel", "name": "add", "pid": 0, "tid": 7, "ts": 140, "dur": 30, "args": {"correlation": 2, "stream": 7}}
]}"#;

/// Two GPUs of one process, with a kernel of 10 and a copy of 30 µs.
pub(crate) const GPUS: &str = r#"{"traceEvents": [
    {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 100, "dur": 10},
    {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 104, "dur": 4, "args": {"correlation": 1}},
    {"ph": "X", "cat": "cpu_op", "name": "aten::copy_", "pid": 1, "tid": 1, "ts": 112, "dur": 10},
    {"ph": "X", "cat": "cuda_runtime", "name": "cudaMemcpyAsync", "pid": 1, "tid": 1, "ts": 114, "dur": 4, "args": {"correlation": 2}},
    {"ph": "X", "cat": "kernel", "name": "sgemm", "pid": 0, "tid": 7, "ts": 130, "dur": 10, "args": {"correlation": 1, "stream": 7}},
    {"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD", "pid": 5, "tid": 7, "ts": 140, "dur": 30, "args": {"correlation": 2, "stream": 7}}
]}"#;

/// A GPU spec file.
pub(crate) const MINE: &str = r#"{"name": "Mine", "mem_bw_gbps": 1000, "source": "node 7",
    "max_achievable_tflops": {"matrix_fp32": 50}, "peak_tflops": {"matrix_bf16": 80}}"#;
