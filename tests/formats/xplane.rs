//! XPlane traces in the format of XLA's profiler, with planes of a few events.

use dormer_core::import::warning::WarningKind;
use dormer_core::import::{Imported, import};
use dormer_core::trace::{Category, Dims, EventId, Source};

use crate::support::opened::Opened;
use crate::support::protobuf::Message;

/// An entry of a map.
fn entry(key: i64, value: &Message) -> Message {
    Message::new().number(1, key).message(2, value)
}

fn named(id: i64, name: &str) -> Message {
    entry(id, &Message::new().number(1, id).bytes(2, name))
}

/// A plane whose names of events and statistics may come before or after its lines.
fn plane(name: &str, events: &[(i64, &str)], stats: &[&str], lines: &[Message]) -> Message {
    let events: Vec<Message> = events.iter().map(|(id, name)| named(*id, name)).collect();
    let stats = (1..).zip(stats);
    let stats: Vec<Message> = stats.map(|(id, name)| named(id, name)).collect();
    Message::new()
        .bytes(2, name)
        .messages(3, lines)
        .messages(4, &events)
        .messages(5, &stats)
}

/// A line that starts at 1 µs.
fn line(id: i64, name: &str, events: &[Message]) -> Message {
    Message::new()
        .number(1, id)
        .bytes(2, name)
        .number(3, 1_000)
        .messages(4, events)
}

/// An event, in nanoseconds after the start of its line.
fn event(id: i64, ns: i64, dur_ns: i64, stats: &[Message]) -> Message {
    Message::new()
        .number(1, id)
        .number(2, ns * 1_000)
        .number(3, dur_ns * 1_000 + 999)
        .messages(4, stats)
}

fn number(id: i64, value: i64) -> Message {
    Message::new().number(1, id).number(3, value)
}

fn text(id: i64, value: &str) -> Message {
    Message::new().number(1, id).bytes(5, value)
}

/// A convolution of two kernels: bf16[1, 4, 8, 8] by bf16[16, 4, 3, 3], padded by 1.
fn program() -> Message {
    let shape = |sizes: &[u8]| Message::new().number(2, 16).bytes(3, sizes);
    let operand = |name: &str, id, sizes: &[u8]| {
        let instruction = Message::new().bytes(1, name).bytes(2, "parameter");
        instruction.message(3, &shape(sizes)).number(35, id)
    };
    let dimension = Message::new()
        .number(1, 3)
        .number(2, 1)
        .number(3, 1)
        .number(4, 1)
        .number(5, 1)
        .number(6, 1);
    let order = Message::new()
        .number(3, 1)
        .bytes(6, [2, 3])
        .number(8, 1)
        .bytes(11, [2, 3]);
    let convolution = Message::new()
        .bytes(1, "conv.1")
        .bytes(2, "custom-call")
        .message(
            3,
            &Message::new()
                .number(2, 13)
                .message(4, &shape(&[1, 16, 8, 8])),
        )
        .message(
            7,
            &Message::new()
                .bytes(2, "jit(f)/conv")
                .bytes(3, "model.py")
                .number(4, 17),
        )
        .message(
            15,
            &Message::new().messages(1, &[dimension.clone(), dimension]),
        )
        .message(16, &order)
        .bytes(28, "__cudnn$convForward")
        .number(35, 3)
        .bytes(36, [1, 2]);
    let instructions = [
        operand("x", 1, &[1, 4, 8, 8]),
        operand("w", 2, &[16, 4, 3, 3]),
        convolution,
    ];
    let computation = Message::new().bytes(1, "main").messages(2, &instructions);
    Message::new().message(
        1,
        &Message::new().bytes(1, "jit_f").message(3, &computation),
    )
}

/// A call of each kernel, and the kernels on a stream of GPU 1.
pub(super) fn space() -> Message {
    let proto = Message::new().number(1, 1).bytes(6, &program().0);
    let metadata = entry(
        9,
        &Message::new()
            .number(1, 9)
            .bytes(2, "jit_f(9)")
            .message(5, &proto),
    );
    let metadata = Message::new()
        .bytes(2, "/host:metadata")
        .message(4, &metadata)
        .message(5, &named(1, "Hlo Proto"));
    let stats = [
        "correlation_id",
        "kernel_details",
        "hlo_op",
        "program_id",
        "memcpy_details",
    ];
    let details = "regs:40 static_shared:16 dynamic_shared:0 grid:64,1,1 block:128,1,1 occ_pct:0";
    let kernel = |id, ns, correlation| {
        let stats = [
            number(1, correlation),
            text(2, details),
            text(3, "conv.1"),
            number(4, 9),
        ];
        event(id, ns, 100, &stats)
    };
    let copy = event(
        3,
        900,
        50,
        &[number(1, 13), text(5, "kind:D2H size:64 dest:0 async:1")],
    );
    let stream = line(
        1,
        "Stream #20(Kernel,MemcpyD2H)",
        &[kernel(1, 500, 11), kernel(2, 700, 12), copy],
    );
    let again = line(2, "XLA Ops", &[kernel(1, 500, 11)]);
    let names = [(1, "im2col"), (2, "gemm"), (3, "CopyDeviceToHost")];
    let gpu = plane("/device:GPU:1", &names, &stats, &[stream, again]);
    // Newer versions identify a call's device by its handle, which is not a GPU number.
    let device = number(2, 0x7f00_0000_1000);
    let call = |id, ns, correlation| event(id, ns, 20, &[number(1, correlation), device.clone()]);
    let thread = line(
        77,
        "python",
        &[
            event(-5, 0, 400, &[]),
            event(6, 10, 300, &[]),
            call(7, 20, 11),
            call(7, 50, 12),
            call(8, 90, 13),
        ],
    );
    let names = [
        (-5, "$api.py:27 wait"),
        (6, "Execute"),
        (7, "hipModuleLaunchKernel"),
        (8, "hipMemcpyDtoH"),
    ];
    let stats = ["correlation_id", "device_id"];
    let host = plane("/host:CPU", &names, &stats, &[thread]);
    Message::new().messages(1, &[metadata, gpu, host])
}

fn read(space: &Message) -> Imported {
    import(&space.0).unwrap()
}

fn of(imported: &Imported, category: Category) -> Vec<(&str, i64, Option<i64>)> {
    let trace = &imported.trace;
    let ids = trace
        .events
        .ids()
        .filter(|id| trace.events.category(*id) == category);
    ids.map(|id| {
        (
            trace.name(id),
            trace.events.ts_ns(id),
            trace.events.dur_ns(id),
        )
    })
    .collect()
}

fn first(imported: &Imported, name: &str) -> EventId {
    let mut ids = imported.trace.events.ids();
    ids.find(|id| imported.trace.name(*id) == name).unwrap()
}

#[test]
fn streams_and_threads_become_events() {
    let imported = read(&space());
    let trace = &imported.trace;
    assert_eq!(trace.source, Source::Xla);
    assert_eq!(
        of(&imported, Category::Kernel),
        [("im2col", 1_500, Some(100)), ("gemm", 1_700, Some(100))]
    );
    assert_eq!(
        of(&imported, Category::GpuMemcpy),
        [("CopyDeviceToHost", 1_900, Some(50))]
    );
    assert_eq!(
        of(&imported, Category::PythonFunction),
        [("api.py(27): wait", 1_000, Some(400))]
    );
    assert_eq!(of(&imported, Category::Runtime).len(), 3);
    assert_eq!((trace.flows.starts.len(), trace.flows.ends.len()), (3, 3));
    let kernel = first(&imported, "gemm");
    let track = trace.tracks.get(trace.events.track(kernel)).unwrap();
    assert_eq!(
        [track.pid, track.tid].map(|id| trace.strings.get(id)),
        ["1", "20"]
    );
    let extra = trace.strings.get(trace.events.extra_args(kernel).unwrap());
    assert!(
        extra.contains(r#""grid": [64, 1, 1], "block": [128, 1, 1]"#),
        "{extra}"
    );
    assert!(
        extra.contains(r#""registers per thread": 40, "shared memory": 16"#),
        "{extra}"
    );
    assert!(imported.warnings.is_empty(), "{:?}", imported.warnings);
}

/// Two kernels of one instruction form one operator, from the first call to the last.
#[test]
fn instructions_become_operators() {
    let imported = read(&space());
    let operators = of(&imported, Category::CpuOp);
    assert_eq!(
        operators,
        [
            ("Execute", 1_010, Some(300)),
            ("xla::convolution", 1_020, Some(50))
        ]
    );
    let trace = &imported.trace;
    let convolution = first(&imported, "xla::convolution");
    let extra = trace.events.extra_args(convolution).unwrap();
    assert_eq!(
        trace.strings.get(extra),
        r#""hlo_op": "conv.1", "op_name": "jit(f)/conv", "source_file": "model.py", "source_line": 17"#
    );
    let args = trace.events.op_args(convolution).unwrap();
    let args = trace.args.get(args).unwrap();
    let sizes = args.dims.iter().flatten().map(|dims| match dims {
        Dims::One(shape) => trace.args.shape(*shape).to_vec(),
        Dims::Many(_) => panic!("a list"),
    });
    let sizes: Vec<Vec<i64>> = sizes.take(2).collect();
    assert_eq!(sizes, [vec![1, 4, 8, 8], vec![16, 4, 3, 3]]);
    let values = args
        .concrete
        .iter()
        .flatten()
        .map(|id| trace.strings.get(*id));
    let expected = [
        "", "", "", "[1, 1]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "1",
    ];
    assert_eq!(values.collect::<Vec<_>>(), expected);
}

/// The profiler's start and stop times, in nanoseconds since 1970, are shown as a separate fact.
#[test]
fn how_long_the_profiler_ran_is_shown() {
    const START_NS: i64 = 1_752_839_461_731_516_983;
    let times = [number(1, START_NS), number(2, START_NS + 2_500_000)];
    let names = ["profile_start_time", "profile_stop_time"];
    let environment = plane("Task Environment", &[], &names, &[]).messages(6, &times);
    let opened = Opened::new("jax", &space().message(1, &environment).0);
    let fact = ("Profiler ran for".to_owned(), "2.50 ms".to_owned());
    let facts = opened.report.overview.facts;
    assert!(facts.contains(&fact), "{facts:?}");
}

/// Lines can start at a time since 1970, whose picoseconds do not fit 64 bits.
#[test]
fn times_since_1970_keep_their_nanoseconds() {
    const START_NS: i64 = 1_752_839_461_731_516_983;
    let of = |id, ns| event(id, ns, 10, &[]);
    let thread = Message::new()
        .number(1, 1)
        .bytes(2, "python")
        .number(3, START_NS)
        .messages(4, &[of(1, 0), of(1, 7)]);
    let host = plane("/host:CPU", &[(1, "Execute")], &[], &[thread]);
    let imported = read(&Message::new().message(1, &host));
    let expected = [0, 7].map(|ns| ("Execute", START_NS + ns, Some(10)));
    assert_eq!(self::of(&imported, Category::CpuOp), expected);
}

/// Operands of a program that expand to many times their size in the file.
#[test]
fn operands_are_bounded() {
    let sizes = vec![1; 10_000];
    let shape = Message::new().number(2, 11).bytes(3, &sizes);
    let operand = Message::new()
        .bytes(1, "x")
        .message(3, &shape)
        .number(35, 1);
    let fusion = Message::new().bytes(1, "fusion.1").bytes(36, &sizes);
    let computation = Message::new().messages(2, &[operand, fusion]);
    let module = Message::new().message(3, &computation);
    let proto = Message::new()
        .number(1, 1)
        .message(6, &Message::new().message(1, &module));
    let program = entry(9, &Message::new().message(5, &proto));
    let metadata = Message::new()
        .bytes(2, "/host:metadata")
        .message(4, &program)
        .message(5, &named(1, "Hlo Proto"));
    let stats = ["correlation_id", "hlo_op", "program_id"];
    let kernel = event(
        1,
        500,
        100,
        &[number(1, 11), text(2, "fusion.1"), number(3, 9)],
    );
    let stream = line(1, "Stream #20", &[kernel]);
    let gpu = plane("/device:GPU:0", &[(1, "fusion_1")], &stats, &[stream]);
    let thread = line(7, "python", &[event(2, 0, 20, &[number(1, 11)])]);
    let host = plane("/host:CPU", &[(2, "launch")], &stats, &[thread]);
    let imported = read(&Message::new().messages(1, &[metadata, gpu, host]));
    let trace = &imported.trace;
    let args = trace.events.op_args(first(&imported, "xla::fusion"));
    let dims = trace.args.get(args.unwrap()).unwrap().dims.as_ref();
    assert_eq!(dims.map(|dims| dims.len()), Some(4096));
    assert!(trace.strings.bytes() < 2 << 20);
}

#[test]
fn devices_that_are_not_read_are_reported() {
    let tpu = plane("/device:TPU:0", &[], &[], &[line(1, "XLA Ops", &[])]);
    let imported = read(&space().message(1, &tpu));
    assert_eq!(imported.warnings.count(WarningKind::OtherDevices), 1);
}

#[test]
fn allocations_fill_the_memory_columns() {
    let stats = [
        "allocator_name",
        "allocation_bytes",
        "bytes_allocated",
        "bytes_available",
        "addr",
    ];
    let report = |id, ns: i64, allocated| {
        let stats = [
            text(1, "GPU_7_bfc"),
            number(2, 256),
            number(3, allocated),
            number(4, 1_000 - allocated),
            number(5, 4_096),
        ];
        Message::new()
            .number(1, id)
            .number(2, ns * 1_000)
            .messages(4, &stats)
    };
    let thread = line(1, "worker", &[report(1, 0, 300), report(2, 5, 44)]);
    let names = [(1, "MemoryAllocation"), (2, "MemoryDeallocation")];
    let host = plane("/host:CPU", &names, &stats, &[thread]);
    let imported = read(&Message::new().message(1, &host));
    let memory = &imported.trace.memory;
    let rows: Vec<(i64, i64, u64, u64)> = memory
        .iter()
        .map(|row| (row.ts_ns, row.bytes, row.allocated, row.reserved))
        .collect();
    assert_eq!(rows, [(1_000, 256, 300, 1_000), (1_005, -256, 44, 1_000)]);
    assert_eq!(memory.devices()[0].index, 7);
}
