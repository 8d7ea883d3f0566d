//! Small traces for tests, written like a timetable.
//!
//! ```
//! use dormer_core::testing::{Timetable, outline};
//!
//! let profile = Timetable::new()
//!     .op("aten::linear", 0..100)
//!     .op("aten::mm", 10..90)
//!     .launched("gemm", 20..25, 40..80)
//!     .profile();
//!
//! assert_eq!(
//!     outline(&profile.trace, &profile.tree, &profile.launches),
//!     "aten::linear\n  aten::mm\n    cudaLaunchKernel -> gemm\n"
//! );
//! ```
//!
//! If the CPU side does not matter, [`Timetable::work`] says the same in one line: what ran on the GPU, when, and the
//! operator that launched it.

mod arguments;

use std::fmt::Write;
use std::ops::Range;
use std::sync::Arc;

use crate::import::import;
use crate::output::kineto::microseconds;
use crate::profile::Profile;
use crate::profile::cpu::tree::CallTree;
use crate::profile::launch::Launches;
use crate::report::{Report, ReportOptions};
use crate::trace::Trace;
pub use arguments::Arguments;

/// Default options with a GPU of the table.
///
/// # Panics
///
/// If there is no GPU with that name: otherwise the test could pass without one.
pub fn options_on(gpu: &str) -> ReportOptions {
    let spec = crate::hardware::find(gpu).unwrap_or_else(|| panic!("no GPU is called {gpu}"));
    ReportOptions {
        gpu: Some(Arc::from(spec)),
        ..ReportOptions::default()
    }
}

/// Builder of a trace. Times are in microseconds and may have fractions; each call adds an event to the current thread
/// or stream, in file order.
#[derive(Debug, Clone)]
pub struct Timetable {
    events: Vec<Entry>,
    process: u32,
    thread: u32,
    gpu: u32,
    stream: u32,
    /// Whether to draw flow arrows from launches to GPU activity.
    flows: bool,
    /// The end of the CPU activity so far.
    host_end_us: f64,
    /// Number of calls of [`Timetable::launched`].
    n_works: u32,
    /// Bytes that the GPU's allocator has in use and has reserved.
    memory: (i64, i64),
}

#[derive(Debug, Clone, Default)]
struct Entry {
    /// All fields of the event but `args`.
    fields: String,
    args: Vec<String>,
    /// The start or end of a flow arrow, which follows it.
    flow: Option<String>,
}

impl Default for Timetable {
    fn default() -> Self {
        Timetable {
            events: Vec::new(),
            process: 100,
            thread: 1,
            gpu: 0,
            stream: 7,
            flows: true,
            host_end_us: 0.0,
            n_works: 0,
            memory: (0, 0),
        }
    }
}

impl Timetable {
    /// Starts without events; the current thread is 1 of process 100, the current stream is 7 of GPU 0.
    pub fn new() -> Timetable {
        Timetable::default()
    }

    /// Switches to another CPU process.
    pub fn process(mut self, process: u32) -> Timetable {
        self.process = process;
        self
    }

    /// Switches to another CPU thread.
    pub fn thread(mut self, thread: u32) -> Timetable {
        self.thread = thread;
        self
    }

    /// Switches to another GPU.
    pub fn gpu(mut self, gpu: u32) -> Timetable {
        self.gpu = gpu;
        self
    }

    /// Switches to another stream of the GPU.
    pub fn stream(mut self, stream: u32) -> Timetable {
        self.stream = stream;
        self
    }

    /// Draws no arrows from here on.
    pub fn without_flows(mut self) -> Timetable {
        self.flows = false;
        self
    }

    /// An operator.
    pub fn op(self, name: &str, span: Range<impl Into<f64>>) -> Timetable {
        self.on_host("cpu_op", name, span)
    }

    /// A Python frame.
    pub fn frame(self, name: &str, span: Range<impl Into<f64>>) -> Timetable {
        self.on_host("python_function", name, span)
    }

    /// A range that the program named.
    pub fn annotation(self, name: &str, span: Range<impl Into<f64>>) -> Timetable {
        self.on_host("user_annotation", name, span)
    }

    /// `cudaLaunchKernel`, with the arrow's start.
    pub fn launch(self, id: u32, span: Range<impl Into<f64>>) -> Timetable {
        self.runtime("cudaLaunchKernel", id, span).flow_start(id)
    }

    /// A runtime call without an arrow.
    pub fn runtime(self, name: &str, id: u32, span: Range<impl Into<f64>>) -> Timetable {
        self.on_host("cuda_runtime", name, span)
            .args(&format!(r#""correlation": {id}"#))
    }

    /// A driver call, with the arrow's start.
    pub fn driver(self, name: &str, id: u32, span: Range<impl Into<f64>>) -> Timetable {
        self.on_host("cuda_driver", name, span)
            .args(&format!(r#""correlation": {id}"#))
            .flow_start(id)
    }

    /// Starts an arrow on the current thread.
    pub fn arrow_start(self, id: u32) -> Timetable {
        let arrow = self.start_of(id);
        self.raw(&arrow)
    }

    /// Ends an arrow on the current stream.
    pub fn arrow_end(self, id: u32) -> Timetable {
        let arrow = self.end_of(id);
        self.raw(&arrow)
    }

    /// A kernel, with the arrow's end.
    pub fn kernel(self, id: u32, name: &str, span: Range<impl Into<f64>>) -> Timetable {
        self.on_gpu("kernel", id, name, span)
    }

    /// A copy, with the arrow's end.
    pub fn copy(self, id: u32, name: &str, span: Range<impl Into<f64>>) -> Timetable {
        self.on_gpu("gpu_memcpy", id, name, span)
    }

    /// A fill, with the arrow's end.
    pub fn fill(self, id: u32, name: &str, span: Range<impl Into<f64>>) -> Timetable {
        self.on_gpu("gpu_memset", id, name, span)
    }

    /// GPU activity on the current stream, and a 10 µs operator that launches it after all CPU activity so far. The
    /// name distinguishes copies and fills from kernels.
    pub fn work(self, op: &str, name: &str, span: Range<impl Into<f64>>) -> Timetable {
        self.call(op, "", name, span)
    }

    /// The same with arguments of the operator, in the format of [`Timetable::args`].
    pub fn call(self, op: &str, args: &str, name: &str, span: Range<impl Into<f64>>) -> Timetable {
        let start = self.host_end_us;
        self.op(op, start..start + 10.0)
            .args(args)
            .launched(name, start + 1.0..start + 2.0, span)
    }

    /// GPU activity on the current stream, and a `cudaLaunchKernel` on the current thread during `call` that launches
    /// it. The name distinguishes copies and fills from kernels.
    pub fn launched(
        mut self,
        name: &str,
        call: Range<impl Into<f64>>,
        span: Range<impl Into<f64>>,
    ) -> Timetable {
        /// Far above the ids that tests use.
        const FIRST_ID: u32 = 1_000_000;
        let id = FIRST_ID + self.n_works;
        self.n_works += 1;
        let category = match name {
            _ if name.starts_with("Memcpy") => "gpu_memcpy",
            _ if name.starts_with("Memset") => "gpu_memset",
            _ => "kernel",
        };
        self.launch(id, call).on_gpu(category, id, name, span)
    }

    /// Adds to the arguments of the last event: `"key": value`, as JSON, or an operator's arguments, in the format of
    /// [`Arguments::read`].
    pub fn args(mut self, args: &str) -> Timetable {
        if let Some(last) = self.events.last_mut().filter(|_| !args.is_empty()) {
            last.args.push(match args.starts_with('"') {
                true => args.to_owned(),
                false => Arguments::read(args).to_string(),
            });
        }
        self
    }

    /// Adds an event as JSON text.
    pub fn raw(mut self, event: &str) -> Timetable {
        let fields = event
            .strip_prefix('{')
            .and_then(|event| event.strip_suffix('}'));
        self.events.push(Entry {
            fields: fields.unwrap_or(event).to_owned(),
            ..Entry::default()
        });
        self
    }

    /// From here on the GPU's allocator has this many bytes in use and reserved.
    pub fn memory(mut self, allocated: i64, reserved: i64) -> Timetable {
        self.memory = (allocated, reserved);
        self
    }

    /// The current GPU's allocator reports, on the current thread, that a block at an address was allocated, or
    /// released if its size is negative. It reserves what it needs from the driver.
    pub fn block(mut self, addr: u64, bytes: i64, at_us: impl Into<f64>) -> Timetable {
        let (allocated, reserved) = self.memory;
        let allocated = allocated + bytes;
        let reserved = reserved.max(allocated);
        self.memory = (allocated, reserved);
        let (track, gpu) = (self.thread_track(), self.gpu);
        let ts = microseconds(nanoseconds(at_us));
        let args = format!(
            r#""Total Reserved": {reserved}, "Total Allocated": {allocated}, "Bytes": {bytes}, "Addr": {addr}, "Device Id": {gpu}, "Device Type": 1"#
        );
        let fields = format!(
            r#""ph": "i", "s": "t", "cat": "cpu_instant_event", "name": "[memory]", {track}, "ts": {ts}, "args": {{{args}}}"#
        );
        self.raw(&format!("{{{fields}}}"))
    }

    /// The trace in the profiler's format.
    pub fn json(&self) -> String {
        let mut events = Vec::new();
        for Entry { fields, args, flow } in &self.events {
            let args = match args.is_empty() {
                true => String::new(),
                false => format!(r#", "args": {{{}}}"#, args.join(", ")),
            };
            events.push(format!("{{{fields}{args}}}"));
            events.extend(flow.clone());
        }
        format!("{{\"traceEvents\": [\n{}\n]}}\n", events.join(",\n"))
    }

    /// The trace, imported.
    pub fn trace(&self) -> Trace {
        self.import().trace
    }

    /// The profile of the trace.
    pub fn profile(&self) -> Profile {
        Profile::new(self.import())
    }

    /// The report of the trace without a selected GPU.
    pub fn report(&self) -> Report {
        Report::new(&self.profile(), &ReportOptions::default())
    }

    fn import(&self) -> crate::import::Imported {
        match import(self.json().as_bytes()) {
            Ok(imported) => imported,
            // A raw event can make the text invalid; its test should show that.
            Err(error) => panic!("{error}\n{}", self.json()),
        }
    }

    /// An event of any category on the current thread.
    pub fn on_host(mut self, category: &str, name: &str, span: Range<impl Into<f64>>) -> Timetable {
        let track = self.thread_track();
        let (start, end) = (span.start.into(), span.end.into());
        self.host_end_us = self.host_end_us.max(end);
        self.complete(category, name, &track, start..end)
    }

    /// An event of any category on the current stream.
    pub fn on_stream(self, category: &str, name: &str, span: Range<impl Into<f64>>) -> Timetable {
        let track = self.stream_track();
        self.complete(category, name, &track, span)
    }

    fn on_gpu(self, category: &str, id: u32, name: &str, span: Range<impl Into<f64>>) -> Timetable {
        let (stream, end) = (self.stream, self.end_of(id));
        self.on_stream(category, name, span)
            .args(&format!(r#""stream": {stream}, "correlation": {id}"#))
            .flow(end)
    }

    fn thread_track(&self) -> String {
        format!(r#""pid": {}, "tid": {}"#, self.process, self.thread)
    }

    fn stream_track(&self) -> String {
        format!(r#""pid": {}, "tid": {}"#, self.gpu, self.stream)
    }

    fn start_of(&self, id: u32) -> String {
        let track = self.thread_track();
        format!(r#"{{"ph": "s", "cat": "ac2g", "name": "ac2g", "id": {id}, {track}, "ts": 0}}"#)
    }

    fn end_of(&self, id: u32) -> String {
        let track = self.stream_track();
        format!(
            r#"{{"ph": "f", "cat": "ac2g", "name": "ac2g", "id": {id}, {track}, "ts": 0, "bp": "e"}}"#
        )
    }

    fn complete(
        mut self,
        category: &str,
        name: &str,
        track: &str,
        span: Range<impl Into<f64>>,
    ) -> Timetable {
        let (start, end) = (nanoseconds(span.start), nanoseconds(span.end));
        let (ts, dur) = (microseconds(start), microseconds(end - start));
        let name = serde_json::Value::from(name);
        self.events.push(Entry {
            fields: format!(
                r#""ph": "X", "cat": "{category}", "name": {name}, {track}, "ts": {ts}, "dur": {dur}"#
            ),
            ..Entry::default()
        });
        self
    }

    fn flow_start(self, id: u32) -> Timetable {
        let start = self.start_of(id);
        self.flow(start)
    }

    fn flow(mut self, arrow: String) -> Timetable {
        if self.flows
            && let Some(last) = self.events.last_mut()
        {
            last.flow = Some(arrow);
        }
        self
    }
}

/// A call tree as indented text: one line per call, with the GPU activity that it launched itself. Calls that end after
/// the call they started in are marked with `!`.
pub fn outline(trace: &Trace, tree: &CallTree, launches: &Launches) -> String {
    let mut out = String::new();
    for node in tree.ids() {
        let is_stray = tree.strays().any(|stray| stray == node);
        let Some(event) = tree.event(node) else {
            continue;
        };
        out.push_str(&"  ".repeat(usize::from(tree.depth(node))));
        out.push_str(if is_stray { "! " } else { "" });
        out.push_str(trace.strings.get(trace.events.name(event)));
        let own = launches
            .launches
            .iter()
            .filter(|launch| launch.call == event);
        for (n_before, launch) in own.enumerate() {
            let arrow = if n_before == 0 { " -> " } else { ", " };
            let name = launches
                .work
                .get(launch.work.index())
                .map_or("?", |work| trace.strings.get(trace.events.name(*work)));
            // Writing to a String cannot fail.
            let _ = write!(out, "{arrow}{name}");
        }
        out.push('\n');
    }
    out
}

fn nanoseconds(us: impl Into<f64>) -> i64 {
    (us.into() * 1e3).round() as i64
}
