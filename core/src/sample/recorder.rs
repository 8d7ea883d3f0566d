//! A tiny profiler: what runs through it is written down as Kineto would write it.
//!
//! It keeps one clock for the CPU and one for each stream. The CPU's clock moves on by a fixed
//! cost for each call; a stream starts a kernel when it is launched and the stream is free.

use std::fmt::Write;

use super::kernels::Kernel;
use crate::base::sort::Arrange;

/// The process and its threads, as ids of the trace.
const PROCESS: i64 = 4100;
/// The thread that runs the program.
pub(super) const MAIN_THREAD: i64 = 4100;
/// The thread that runs the backward pass.
pub(super) const AUTOGRAD_THREAD: i64 = 4177;

/// Streams of the GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stream {
    Compute = 7,
    Copies = 20,
    Collectives = 24,
}

/// Costs on the CPU, in nanoseconds.
const ENTER_NS: i64 = 2_100;
const LEAVE_NS: i64 = 900;
const LAUNCH_NS: i64 = 4_300;
/// From the launch until the GPU begins.
const LATENCY_NS: i64 = 3_800;

/// One argument of an op.
#[derive(Debug, Clone)]
pub(super) enum Arg {
    /// A contiguous tensor of a type.
    Tensor(&'static str, Vec<i64>),
    /// A transposed matrix, given by the sizes it shows.
    Transposed(&'static str, [i64; 2]),
    /// Several tensors.
    Tensors(Vec<Vec<i64>>),
    /// A value as text.
    Value(&'static str, String),
    /// None.
    Nothing,
}

/// A BF16 tensor.
pub(super) fn bf16(sizes: &[i64]) -> Arg {
    Arg::Tensor("c10::BFloat16", sizes.to_vec())
}

/// A tensor of 64-bit integers.
pub(super) fn int64(sizes: &[i64]) -> Arg {
    Arg::Tensor("long int", sizes.to_vec())
}

/// A plain value.
pub(super) fn scalar(value: impl ToString) -> Arg {
    Arg::Value("Scalar", value.to_string())
}

/// A list of integers.
pub(super) fn list(values: &[i64]) -> Arg {
    Arg::Value("ScalarList", json(values).replace(',', ", "))
}

/// What is recorded, while it is recorded.
#[derive(Debug)]
pub(super) struct Recorder {
    /// Start and JSON of each event.
    events: Vec<(i64, String)>,
    now_ns: i64,
    thread: i64,
    stream_free_ns: [(Stream, i64); 3],
    /// External id of the innermost op.
    external_id: i64,
    next_id: i64,
    next_correlation: i64,
    next_sequence: i64,
    /// Python frames: id of the innermost, and of the next.
    frame: Option<i64>,
    next_frame: i64,
}

impl Recorder {
    pub(super) fn new(start_ns: i64) -> Recorder {
        Recorder {
            events: Vec::new(),
            now_ns: start_ns,
            thread: MAIN_THREAD,
            stream_free_ns: [Stream::Compute, Stream::Copies, Stream::Collectives]
                .map(|stream| (stream, start_ns)),
            external_id: 0,
            next_id: 1,
            next_correlation: 101,
            next_sequence: 1,
            frame: None,
            next_frame: 1,
        }
    }

    /// A number that joins a forward op with its backward.
    pub(super) fn sequence(&mut self) -> i64 {
        self.next_sequence += 1;
        self.next_sequence - 1
    }

    /// An op, with what runs inside it.
    pub(super) fn op(&mut self, name: &str, args: &[Arg], body: impl FnOnce(&mut Recorder)) {
        self.record_op(name, &described(args), body);
    }

    /// An op that autograd will differentiate, or a node of its backward.
    pub(super) fn sequenced(
        &mut self,
        name: &str,
        sequence: i64,
        args: &[Arg],
        body: impl FnOnce(&mut Recorder),
    ) {
        let described = format!("\"Sequence number\":{sequence},{}", described(args));
        self.record_op(name, &described, body);
    }

    /// An op with arguments that are JSON already.
    pub(super) fn record_op(&mut self, name: &str, args: &str, body: impl FnOnce(&mut Recorder)) {
        let outer = self.external_id;
        self.external_id = self.next_id;
        self.next_id += 1;
        let args = format!("\"External id\":{},{args}", self.external_id);
        self.timed("cpu_op", name, &args, body);
        self.external_id = outer;
    }

    /// A Python frame: a module's call or a function.
    pub(super) fn frame<T>(&mut self, name: &str, body: impl FnOnce(&mut Recorder) -> T) -> T {
        let id = self.next_frame;
        self.next_frame += 1;
        let parent = self.frame.map_or("null".to_owned(), |id| id.to_string());
        let outer = self.frame.replace(id);
        let args = format!("\"Python id\":{id},\"Python parent id\":{parent}");
        let result = self.timed("python_function", name, &args, body);
        self.frame = outer;
        result
    }

    /// A range that the program or the profiler named.
    pub(super) fn annotation<T>(&mut self, name: &str, body: impl FnOnce(&mut Recorder) -> T) -> T {
        self.timed("user_annotation", name, "\"Record function id\":0", body)
    }

    /// Runs on the thread of the backward pass while the caller waits.
    pub(super) fn on_autograd_thread(&mut self, body: impl FnOnce(&mut Recorder)) {
        self.thread = AUTOGRAD_THREAD;
        let frame = self.frame.take();
        body(self);
        self.frame = frame;
        self.thread = MAIN_THREAD;
    }

    /// Work of the CPU that is not recorded in detail.
    pub(super) fn busy(&mut self, ns: i64) {
        self.now_ns += ns;
    }

    /// Launches a kernel on the stream of computation.
    pub(super) fn launch(&mut self, kernel: Kernel) {
        self.enqueue("cudaLaunchKernel", "kernel", kernel, Stream::Compute, "");
    }

    /// Launches a collective, which waits for what was computed so far.
    pub(super) fn launch_collective(&mut self, kernel: Kernel, args: &str) {
        self.wait_for(Stream::Collectives, Stream::Compute);
        let stream = Stream::Collectives;
        self.enqueue("cudaLaunchKernelExC", "kernel", kernel, stream, args);
    }

    /// Starts a copy.
    pub(super) fn copy(&mut self, copy: Kernel, bytes: i64, stream: Stream) {
        let args = format!(",\"bytes\":{bytes}");
        self.enqueue("cudaMemcpyAsync", "gpu_memcpy", copy, stream, &args);
    }

    /// Makes a stream wait for another.
    pub(super) fn wait_for(&mut self, waiting: Stream, other: Stream) {
        let free = self.free_ns(waiting).max(self.free_ns(other));
        self.set_free(waiting, free);
    }

    /// Waits on the CPU until a stream is done.
    pub(super) fn synchronize(&mut self, stream: Stream) {
        let start = self.now_ns;
        self.now_ns = self.free_ns(stream).max(start) + 6_000;
        let args = format!("\"External id\":{},\"cbid\":131", self.external_id);
        self.write("cuda_runtime", "cudaStreamSynchronize", start, &args);
    }

    /// The finished events, in order of time.
    pub(super) fn into_events(mut self) -> Vec<String> {
        self.events.arrange_by_key(|(start, _)| *start);
        self.events.into_iter().map(|(_, event)| event).collect()
    }

    fn timed<T>(
        &mut self,
        category: &str,
        name: &str,
        args: &str,
        body: impl FnOnce(&mut Recorder) -> T,
    ) -> T {
        // The place is taken first, so that what starts at the same time stays in order.
        let start = self.now_ns;
        let place = self.events.len();
        self.events.push((start, String::new()));
        self.now_ns += ENTER_NS;
        let result = body(self);
        self.now_ns += LEAVE_NS;
        let event = self.host_event(category, name, start, args);
        if let Some(slot) = self.events.get_mut(place) {
            slot.1 = event;
        }
        result
    }

    fn enqueue(&mut self, call: &str, category: &str, kernel: Kernel, stream: Stream, args: &str) {
        let correlation = self.next_correlation;
        self.next_correlation += 1;
        let launched = self.now_ns;
        self.now_ns += LAUNCH_NS;
        let ids = format!(
            "\"External id\":{},\"correlation\":{correlation}",
            self.external_id
        );
        self.write("cuda_runtime", call, launched, &ids);
        self.now_ns += LEAVE_NS;

        let start = (launched + LAUNCH_NS + LATENCY_NS).max(self.free_ns(stream) + 1_000);
        let dur = vary(kernel.dur_ns, correlation);
        self.set_free(stream, start + dur);
        let number = stream as i64;
        let shape = if kernel.grid > 0 {
            format!(
                ",\"grid\":[{},1,1],\"block\":[{},1,1]",
                kernel.grid, kernel.block
            )
        } else {
            String::new()
        };
        let name = kernel.name;
        self.events.push((
            start,
            format!(
                "{{\"ph\":\"X\",\"cat\":\"{category}\",\"name\":\"{name}\",\"pid\":0,\"tid\":{number},\"ts\":{},\"dur\":{},\"args\":{{{ids},\"device\":0,\"context\":1,\"stream\":{number}{shape}{args}}}}}",
                us(start),
                us(dur),
            ),
        ));
        // The arrow from the launch to the kernel.
        self.events.push((
            launched,
            format!(
                "{{\"ph\":\"s\",\"id\":{correlation},\"pid\":{PROCESS},\"tid\":{},\"ts\":{},\"cat\":\"ac2g\",\"name\":\"ac2g\"}}",
                self.thread,
                us(launched)
            ),
        ));
        self.events.push((
            start,
            format!(
                "{{\"ph\":\"f\",\"id\":{correlation},\"pid\":0,\"tid\":{number},\"ts\":{},\"cat\":\"ac2g\",\"name\":\"ac2g\",\"bp\":\"e\"}}",
                us(start)
            ),
        ));
    }

    /// Writes an event of the CPU that ends now.
    fn write(&mut self, category: &str, name: &str, start: i64, args: &str) {
        let event = self.host_event(category, name, start, args);
        self.events.push((start, event));
    }

    fn host_event(&self, category: &str, name: &str, start: i64, args: &str) -> String {
        format!(
            "{{\"ph\":\"X\",\"cat\":\"{category}\",\"name\":\"{name}\",\"pid\":{PROCESS},\"tid\":{},\"ts\":{},\"dur\":{},\"args\":{{{args}}}}}",
            self.thread,
            us(start),
            us(self.now_ns - start)
        )
    }

    fn free_ns(&self, stream: Stream) -> i64 {
        self.stream_free_ns
            .iter()
            .find(|(one, _)| *one == stream)
            .map_or(0, |(_, free)| *free)
    }

    fn set_free(&mut self, stream: Stream, ns: i64) {
        for (one, free) in &mut self.stream_free_ns {
            if *one == stream {
                *free = ns;
            }
        }
    }
}

/// The events that name process, threads and streams.
pub(super) fn names() -> Vec<String> {
    let name = |pid: i64, tid: i64, what: &str, key: &str, value: &str| {
        format!(
            "{{\"ph\":\"M\",\"name\":\"{what}\",\"pid\":{pid},\"tid\":{tid},\"ts\":0,\"args\":{{\"{key}\":{value}}}}}"
        )
    };
    let mut events = vec![
        name(PROCESS, 0, "process_name", "name", "\"python\""),
        name(PROCESS, 0, "process_labels", "labels", "\"CPU\""),
        name(PROCESS, 0, "process_sort_index", "sort_index", "4100"),
        name(0, 0, "process_name", "name", "\"python\""),
        name(0, 0, "process_labels", "labels", "\"GPU 0\""),
        name(0, 0, "process_sort_index", "sort_index", "5000000"),
    ];
    for (tid, thread) in [
        (MAIN_THREAD, "\"thread 4100 (python)\""),
        (AUTOGRAD_THREAD, "\"thread 4177 (pt_autograd_0)\""),
    ] {
        events.push(name(PROCESS, tid, "thread_name", "name", thread));
    }
    for stream in [Stream::Compute, Stream::Copies, Stream::Collectives] {
        let number = stream as i64;
        let thread = format!("\"stream {number}\"");
        events.push(name(0, number, "thread_name", "name", &thread));
    }
    events
}

/// No two runs of a kernel take the same time: up to 2 % more or less, by a fixed rule.
fn vary(ns: i64, correlation: i64) -> i64 {
    let hash = (correlation as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40;
    ns + ns * (hash as i64 % 41 - 20) / 1000
}

/// Microseconds with three decimals, as Kineto writes them.
fn us(ns: i64) -> String {
    format!("{}.{:03}", ns / 1000, ns % 1000)
}

/// The four argument lists of an op.
fn described(args: &[Arg]) -> String {
    let mut dims = Vec::new();
    let mut types = Vec::new();
    let mut strides = Vec::new();
    let mut concrete = Vec::new();
    for arg in args {
        let (ty, shape, stride, value) = match arg {
            Arg::Tensor(ty, sizes) => (*ty, json(sizes), json(&contiguous(sizes)), ""),
            Arg::Transposed(ty, sizes) => (*ty, json(sizes), json(&[1, sizes[0]]), ""),
            Arg::Tensors(all) => {
                let shapes: Vec<String> = all.iter().map(|sizes| json(sizes)).collect();
                let steps: Vec<String> = all.iter().map(|sizes| json(&contiguous(sizes))).collect();
                (
                    "TensorList",
                    format!("[{}]", shapes.join(",")),
                    format!("[{}]", steps.join(",")),
                    "",
                )
            }
            Arg::Value(ty, value) => (*ty, "[]".to_owned(), "[]".to_owned(), value.as_str()),
            Arg::Nothing => ("", "[]".to_owned(), "[]".to_owned(), ""),
        };
        dims.push(shape);
        strides.push(stride);
        types.push(format!("\"{ty}\""));
        concrete.push(format!("\"{value}\""));
    }
    let mut out = String::new();
    for (key, values) in [
        ("Concrete Inputs", concrete),
        ("Input type", types),
        ("Input Strides", strides),
        ("Input Dims", dims),
    ] {
        if !out.is_empty() {
            out.push(',');
        }
        // Writing to a String cannot fail.
        let _ = write!(out, "\"{key}\":[{}]", values.join(","));
    }
    out
}

fn contiguous(sizes: &[i64]) -> Vec<i64> {
    let mut strides = Vec::with_capacity(sizes.len());
    let mut step = 1;
    for size in sizes.iter().rev() {
        strides.push(step);
        step *= size;
    }
    strides.reverse();
    strides
}

fn json(sizes: &[i64]) -> String {
    let sizes: Vec<String> = sizes.iter().map(i64::to_string).collect();
    format!("[{}]", sizes.join(","))
}
