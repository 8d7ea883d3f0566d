//! Perfetto traces in the formats of PyTorch and rocprofv3, with packets of a few fields.

use dormer_core::import::warning::WarningKind;
use dormer_core::import::{ExecutionTrace, Imported, import};
use dormer_core::trace::{Category, Source};

use crate::support::protobuf::Message;

const BASE_NS: i64 = 1_751_410_836_000_000_000;
const BEGIN: i64 = 1;
const END: i64 = 2;

/// The packets of a trace.
pub(super) struct Trace(pub(super) Message);

impl Trace {
    fn new() -> Trace {
        Trace(Message::new())
    }

    /// The start of PyTorch's traces: both clocks reveal the offset subtracted from its times, and two threads.
    fn of_pytorch() -> Trace {
        let clock = |id| Message::new().number(1, id).number(2, BASE_NS);
        let clocks = Message::new().messages(1, &[clock(6), clock(1)]);
        let trace = Trace::new().packet(
            Message::new()
                .number(8, BASE_NS)
                .number(10, 1)
                .message(6, &clocks),
        );
        trace.thread(2, 7, 7, "main").thread(3, 7, 8, "autograd")
    }

    fn packet(mut self, packet: Message) -> Trace {
        self.0 = self.0.message(1, &packet);
        self
    }

    fn thread(self, uuid: i64, pid: i64, tid: i64, name: &str) -> Trace {
        let thread = Message::new().number(1, pid).number(2, tid).bytes(5, name);
        self.packet(Message::new().message(60, &Message::new().number(1, uuid).message(4, &thread)))
    }

    /// A named track, as used by writers other than PyTorch.
    fn track(self, uuid: i64, parent: i64, name: &str) -> Trace {
        let track = Message::new()
            .number(1, uuid)
            .number(5, parent)
            .bytes(2, name);
        self.packet(Message::new().message(60, &track))
    }

    fn names(self, names: &Message) -> Trace {
        self.packet(
            Message::new()
                .number(10, 1)
                .number(13, 1)
                .message(12, names),
        )
    }

    /// Half of an event, this many nanoseconds after the base.
    fn half(self, kind: i64, track: i64, ns: i64, fields: Message) -> Trace {
        let event = Message::new().number(9, kind).number(11, track);
        let event = Message([event.0, fields.0].concat());
        self.packet(
            Message::new()
                .number(8, BASE_NS + ns)
                .number(10, 1)
                .message(11, &event),
        )
    }

    fn begin(self, track: i64, ns: i64, name: &str, fields: Message) -> Trace {
        let named = Message::new().bytes(22, "cpu_op").bytes(23, name);
        self.half(BEGIN, track, ns, Message([named.0, fields.0].concat()))
    }

    fn end(self, track: i64, ns: i64) -> Trace {
        self.half(END, track, ns, Message::new())
    }

    fn import(&self) -> Imported {
        import(&self.0.0).unwrap()
    }
}

/// Name, start and duration of all events.
fn events(imported: &Imported) -> Vec<(&str, i64, Option<i64>)> {
    let trace = &imported.trace;
    let ids = trace.events.ids();
    ids.map(|id| {
        (
            trace.name(id),
            trace.events.ts_ns(id),
            trace.events.dur_ns(id),
        )
    })
    .collect()
}

fn annotation(name: &str, value: Message) -> Message {
    Message([Message::new().bytes(10, name).0, value.0].concat())
}

fn list(items: &[Message]) -> Message {
    Message::new().messages(12, items)
}

fn integer(number: i64) -> Message {
    Message::new().number(4, number)
}

///
/// ```text
/// ns        0    10   20   30
/// thread    [a        )
///                [b        )      neither is in the other
/// ```
#[test]
fn pytorch_writes_ends_in_the_order_of_their_begins() {
    let trace = Trace::of_pytorch()
        .begin(2, 0, "a", Message::new())
        .begin(2, 10, "b", Message::new())
        .end(2, 20)
        .end(2, 30);
    let imported = trace.import();
    assert_eq!(events(&imported), [("a", 0, Some(20)), ("b", 10, Some(20))]);
    assert_eq!(imported.trace.source, Source::KinetoPerfetto);
    assert!(imported.warnings.is_empty(), "{:?}", imported.warnings);
}

/// The same halves without PyTorch's clocks: the last one to start ends first.
#[test]
fn others_end_the_last_event_first() {
    let trace = Trace::new()
        .thread(2, 7, 7, "main")
        .begin(2, 0, "a", Message::new())
        .begin(2, 10, "b", Message::new())
        .end(2, 20)
        .begin(2, 22, "c", Message::new())
        .end(2, 24)
        .end(2, 30);
    let imported = trace.import();
    let expected = [
        ("a", BASE_NS, Some(30)),
        ("b", BASE_NS + 10, Some(10)),
        ("c", BASE_NS + 22, Some(2)),
    ];
    assert_eq!(events(&imported), expected);
    assert_eq!(imported.trace.source, Source::Perfetto);
}

#[test]
fn halves_alone_are_counted() {
    let trace = Trace::of_pytorch()
        .begin(2, 0, "a", Message::new())
        .begin(3, 5, "b", Message::new())
        .end(2, 10)
        .end(2, 20);
    let imported = trace.import();
    assert_eq!(events(&imported), [("a", 0, Some(10)), ("b", 5, None)]);
    assert_eq!(imported.warnings.count(WarningKind::MissingDuration), 1);
    assert_eq!(imported.warnings.count(WarningKind::UnknownPhase), 1);
}

/// An annotation without a value is an empty list, both in a list and alone.
#[test]
fn arguments_are_those_of_the_json() {
    let dims = list(&[
        list(&[integer(2), integer(-1)]),
        Message::new(),
        Message::new(),
    ]);
    let types = list(&["float", ""].map(|text| Message::new().bytes(6, text)));
    let annotations = [
        annotation("Input Dims", dims),
        annotation("Input type", types),
        annotation("Input Strides", Message::new()),
        annotation("External id", integer(11)),
        annotation("Sequence number", integer(5)),
        annotation("Ev Idx", integer(4)),
        annotation("Fwd thread id", integer(1)),
        annotation("Group", Message::new().bytes(6, "a \"b\"")),
    ];
    let trace = Trace::of_pytorch()
        .begin(
            2,
            50,
            "late",
            Message::new().message(4, &annotation("Ev Idx", integer(2))),
        )
        .end(2, 60)
        .begin(2, 0, "aten::add", Message::new().messages(4, &annotations))
        .end(2, 9);
    let imported = trace.import();
    let trace = &imported.trace;
    let ids: Vec<_> = trace.events.ids().collect();
    // Their numbers are in file order, regardless of time.
    let uids: Vec<u32> = ids.iter().map(|id| trace.events.uid(*id)).collect();
    assert_eq!((trace.name(ids[0]), uids), ("late", vec![2, 4]));
    let id = ids[1];
    let same = r#"[{"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 7, "tid": 7, "ts": 0, "dur": 0.009,
        "args": {"Input Dims": [[2, -1], [], []], "Input type": ["float", ""], "Input Strides": [],
        "External id": 11, "Sequence number": 5, "Fwd thread id": 1, "Group": "a \"b\""}}]"#;
    let json = import(same.as_bytes()).unwrap().trace;
    let of_json = json.events.ids().next().unwrap();
    assert_eq!(
        trace
            .args
            .get(trace.events.op_args(id).unwrap())
            .map(|args| args.dims.clone()),
        json.args
            .get(json.events.op_args(of_json).unwrap())
            .map(|args| args.dims.clone()),
    );
    let extra = |trace: &dormer_core::Trace, id| {
        trace
            .strings
            .get(trace.events.extra_args(id).unwrap())
            .to_owned()
    };
    assert_eq!(extra(trace, id), extra(&json, of_json));
    assert_eq!(
        trace.events.external_id(id),
        json.events.external_id(of_json)
    );
    assert_eq!(trace.sequence_numbers, [(id, 5)]);
}

/// The operator number that also occurs in the execution trace of the same run; 0 means none.
#[test]
fn an_execution_trace_adds_shapes() {
    let operator = |trace: Trace, number, ns| {
        let numbered = annotation("Record function id", integer(number));
        trace
            .begin(2, ns, "aten::mm", Message::new().message(4, &numbered))
            .end(2, ns + 5)
    };
    let trace = operator(operator(Trace::of_pytorch(), 9, 0), 0, 10);
    let mut imported = trace.import();
    let execution = r#"{"schema": "1.1.1-chakra.0.0.4", "nodes": [{"id": 1, "name": "aten::mm",
        "inputs": {"values": [[1]], "shapes": [[2, 3]], "types": ["Tensor(float)"]},
        "attrs": [{"name": "rf_id", "type": "uint64", "value": 9}]}]}"#;
    let execution = ExecutionTrace::read(execution.as_bytes()).unwrap();
    let added = execution.add_to(&mut imported);
    assert_eq!((added.n_joined, added.n_filled), (1, 1));
    let events = &imported.trace.events;
    let has_shapes: Vec<bool> = events
        .ids()
        .map(|event| events.op_args(event).is_some())
        .collect();
    assert_eq!(has_shapes, [true, false]);
}

/// A call, and the kernel that it launched.
pub(super) fn launch() -> Trace {
    let name = |iid, text: &str| Message::new().number(1, iid).bytes(2, text);
    let names = Message::new()
        .messages(2, &[name(1, "cudaLaunchKernel")])
        .messages(1, &[name(1, "cuda_runtime")])
        .messages(24, &[name(1, "Kernel"), name(9, "[3] stream 3")])
        .messages(1000, &[Message::new().number(1, 5).bytes(3, "gemm")])
        .messages(1001, &[name(1, "registers_per_thread")]);
    let extra = |key: &str, value: &str| Message::new().bytes(1, key).bytes(2, value);
    let size = |x| Message::new().number(1, x).number(2, 1).number(3, 1);
    let launch = Message::new()
        .message(1, &size(64))
        .message(2, &size(128))
        .message(3, &Message::new().number(1, 1).number(4, 40));
    let kernel = Message::new()
        .number(1, 77)
        .number(2, 30)
        .number(11, 0)
        .number(13, 9)
        .number(14, 1)
        .number(19, 5)
        .messages(6, &[extra("correlation", "12"), extra("arch", "sm_90")])
        .message(21, &launch);
    let call = Message::new()
        .number(10, 1)
        .number(3, 1)
        .message(3000, &Message::new().number(1, 77))
        .message(4, &annotation("correlation", integer(12)));
    Trace::of_pytorch()
        .names(&names)
        .half(BEGIN, 2, 0, call)
        .end(2, 10)
        .packet(
            Message::new()
                .number(8, BASE_NS + 100)
                .number(10, 1)
                .message(53, &kernel),
        )
}

#[test]
fn kernels_are_linked_with_their_calls() {
    let imported = launch().import();
    let trace = &imported.trace;
    let [call, kernel] = trace.events.ids().collect::<Vec<_>>()[..] else {
        panic!("{:?}", events(&imported))
    };
    assert_eq!(
        events(&imported),
        [("cudaLaunchKernel", 0, Some(10)), ("gemm", 100, Some(30))]
    );
    assert_eq!(trace.events.category(call), Category::Runtime);
    assert_eq!(trace.events.category(kernel), Category::Kernel);
    assert_eq!(
        trace.events.correlation(call),
        trace.events.correlation(kernel)
    );
    let track = trace.tracks.get(trace.events.track(kernel)).unwrap();
    assert_eq!(
        [track.pid, track.tid].map(|id| trace.strings.get(id)),
        ["0", "3"]
    );
    let extra = trace.strings.get(trace.events.extra_args(kernel).unwrap());
    assert_eq!(
        extra,
        r#""grid": [64, 1, 1], "block": [128, 1, 1], "registers per thread": 40"#
    );
    assert_eq!((trace.flows.starts.len(), trace.flows.ends.len()), (1, 1));
    assert_eq!(
        (
            trace.devices[0].compute_major,
            trace.devices[0].compute_minor
        ),
        (Some(9), Some(0))
    );
}

#[test]
fn packets_in_packets_are_inflated() {
    let whole = launch();
    let mut packed = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut packed, &whole.0.0).unwrap();
    let packed = packed.finish().unwrap();
    let trace = Trace::new().packet(Message::new().number(10, 1).bytes(50, &packed));
    assert_eq!(events(&trace.import()), events(&whole.import()));
    let zstd = launch().packet(Message::new().number(10, 1).bytes(133, b"\x28\xb5\x2f\xfd"));
    let imported = zstd.import();
    assert_eq!(imported.warnings.count(WarningKind::ZstdPackets), 1);
    assert_eq!(events(&imported), events(&whole.import()));
}

/// rocprofv3 writes kernels as slices on tracks of the agent's streams, and times as differences to the previous
/// packet.
#[test]
fn rocprofv3_writes_slices_of_agents() {
    let clock = |id, at, is_incremental| {
        Message::new()
            .number(1, id)
            .number(2, at)
            .number(3, is_incremental)
    };
    let clocks = Message::new().messages(1, &[clock(6, 5_000, 0), clock(64, 5_000, 1)]);
    let defaults = Message::new().number(58, 64);
    let beginning = Message::new()
        .number(10, 1)
        .number(13, 1)
        .message(6, &clocks)
        .message(59, &defaults);
    let process = Message::new().number(1, 44).bytes(6, "train");
    let slice = |trace: Trace, track, category: &str, name: &str, after_ns, dur_ns| {
        let correlation = annotation("corr_id", Message::new().number(3, 9));
        let begin = Message::new()
            .number(9, BEGIN)
            .number(11, track)
            .bytes(22, category)
            .bytes(23, name)
            .fixed64(47, 9)
            .message(4, &correlation);
        let end = Message::new().number(9, END).number(11, track);
        let packet = |ns, event: &Message| {
            Message::new()
                .number(8, ns)
                .number(10, 1)
                .message(11, event)
        };
        trace
            .packet(packet(after_ns, &begin))
            .packet(packet(dur_ns, &end))
    };
    let mut trace = Trace::new()
        .packet(beginning)
        .packet(Message::new().message(60, &Message::new().number(1, 1).message(3, &process)))
        .track(2, 1, "THREAD 1 (4711)")
        .track(3, 1, "COMPUTE AGENT [4] STREAM [2] (GPU)");
    trace = slice(trace, 2, "hip_api", "hipLaunchKernel", 100, 20);
    // A counter event without a number takes 10 of the 30 ns to the kernel.
    let counter = Message::new().number(9, 4).number(11, 9).number(30, 7);
    let counter = Message::new()
        .number(8, 10)
        .number(10, 1)
        .message(11, &counter);
    trace = trace.packet(counter);
    trace = slice(trace, 3, "kernel_dispatch", "gemm", 20, 50);
    let imported = trace.import();
    assert_eq!(
        events(&imported),
        [
            ("hipLaunchKernel", 5_100, Some(20)),
            ("gemm", 5_150, Some(50))
        ]
    );
    let trace = &imported.trace;
    assert_eq!(trace.source, Source::Rocprofv3);
    let [call, kernel] = trace.events.ids().collect::<Vec<_>>()[..] else {
        panic!("two events")
    };
    let place = |id| {
        let track = trace.tracks.get(trace.events.track(id)).unwrap();
        [track.pid, track.tid].map(|id| trace.strings.get(id))
    };
    assert_eq!((place(call), place(kernel)), (["44", "4711"], ["4", "2"]));
    assert_eq!(trace.events.category(kernel), Category::Kernel);
    assert_eq!(
        trace.events.correlation(call),
        trace.events.correlation(kernel)
    );
}

/// PyTorch cuts a kernel where the next one of its stream starts.
#[test]
fn kernels_that_end_where_the_next_starts_are_counted() {
    let next = Message::new()
        .number(2, 5)
        .number(14, 1)
        .number(13, 9)
        .number(19, 5);
    let trace = launch().packet(
        Message::new()
            .number(8, BASE_NS + 130)
            .number(10, 1)
            .message(53, &next),
    );
    assert_eq!(trace.import().warnings.count(WarningKind::CutKernels), 1);
}

#[test]
fn lost_packets_are_reported() {
    let trace = launch().packet(Message::new().number(10, 1).number(42, 1));
    assert_eq!(trace.import().warnings.count(WarningKind::PacketsLost), 1);
}
