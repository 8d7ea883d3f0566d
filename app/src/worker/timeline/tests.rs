use dormer_core::import::import;

use super::*;
use crate::protocol::{Choice, Direction, FindEvents, GlanceQuery, SpanCard, SpanQuery, Towards};
use crate::worker::Analysis;

/// What ran in a small step: an op with a kernel, and a kernel without one.
const TRACE: &str = r#"{"traceEvents": [
{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#4", "pid": 1, "tid": 1, "ts": 100, "dur": 50},
{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 110, "dur": 20, "args": {"Input Dims": [[64, 32], [32, 16]], "Input type": ["float", "float"]}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 115, "dur": 5, "args": {"correlation": 9}},
{"ph": "X", "cat": "kernel", "name": "sgemm", "pid": 0, "tid": 7, "ts": 140, "dur": 30, "args": {"stream": 7, "correlation": 9, "grid": [4, 2, 1]}}
]}"#;

fn opened(json: &str) -> Analysis {
    let profile = Profile::new(import(json.as_bytes()).unwrap());
    Analysis::new(profile, &Choice::default())
}

fn span(opened: &mut Analysis, query: SpanQuery) -> Option<SpanCard> {
    opened.timeline().unwrap().span(&query)
}

#[test]
fn the_outline_counts_rows_through_all_lanes() {
    let outline = opened(TRACE).timeline().unwrap().outline();
    let lanes = outline.lanes.iter();
    let lanes: Vec<String> = lanes
        .map(|lane| format!("{}: {} + {}", lane.title, lane.first_row, lane.rows))
        .collect();
    assert_eq!(
        lanes,
        [
            "Annotations: 0 + 1",
            "GPU, stream 7: 1 + 1",
            "Launch queue: 0 + 0",
            "Thread: 2 + 2"
        ]
    );
    let times = (outline.length_ns, outline.gpu);
    assert_eq!(times, (70_000.0, Some((40_000.0, 70_000.0))));
}

#[test]
fn blocks_travel_as_bytes_with_names_where_there_is_room() {
    let query = DrawQuery {
        from_ns: 0.0,
        ns_per_px: 100.0,
        width_px: 700.0,
        rows: (1..9).collect(),
        counters: vec![0],
    };
    let (drawn, bytes) = opened(TRACE).timeline().unwrap().draw(&query);
    assert_eq!(bytes.len(), 3 * BLOCK_BYTES);
    // The kernel: 40 to 70 µs, event 3, row 1, all filled.
    assert_eq!(bytes[0..4], 400_f32.to_le_bytes());
    assert_eq!(bytes[4..8], 700_f32.to_le_bytes());
    assert_eq!(bytes[8..14], [3, 0, 0, 0, 1, 0]);
    assert_eq!(bytes[15], 255);
    let labels: Vec<&str> = drawn.labels.iter().map(|(_, label)| &**label).collect();
    assert_eq!(labels, ["sgemm", "aten::mm", "cudaLaunchKernel"]);
    // One kernel waits from the end of its launch, at 20 µs, to its start at 40 µs.
    let [(0, queue)] = &drawn.counters[..] else {
        panic!("{:?}", drawn.counters);
    };
    let waits: Vec<usize> = (0..700).filter(|px| queue[*px] > 0.5).collect();
    assert_eq!((waits[0], waits[waits.len() - 1]), (200, 399));
}

#[test]
fn a_card_says_all_that_was_recorded_and_where_its_arrows_end() {
    let mut opened = opened(TRACE);
    let kernel = span(&mut opened, SpanQuery::Event(3)).unwrap();
    let place = (kernel.row, kernel.from_ns, kernel.to_ns);
    assert_eq!(place, (1, 40_000.0, 70_000.0));
    assert!(kernel.in_tree);
    for (label, value) in [
        ("Duration", "30.0 µs"),
        ("Launched for", "aten::mm"),
        ("Launch to start", "25.0 µs"),
        ("grid", "[4, 2, 1]"),
    ] {
        let field = (label.to_owned(), value.to_owned());
        assert!(kernel.fields.contains(&field), "{:?}", kernel.fields);
    }
    let to_the_launch = kernel.arrows[0];
    assert_eq!((to_the_launch.row, to_the_launch.ns), (3, 15_000.0));

    let op = span(&mut opened, SpanQuery::Event(1)).unwrap();
    let shapes = op.fields.iter().find(|(label, _)| label == "Shapes");
    assert_eq!(shapes.unwrap().1, "64×32 · 32×16 fp32");
    assert_eq!((op.arrows[0].row, op.arrows[0].ns), (1, 40_000.0));
}

#[test]
fn a_glance_is_the_beginning_of_the_card() {
    let mut opened = opened(TRACE);
    let query = GlanceQuery {
        row: 1,
        ns: 45_000.0,
        within_ns: 0.0,
    };
    let glance = opened.timeline().unwrap().glance(&query).unwrap();
    let card = span(&mut opened, SpanQuery::Event(3)).unwrap();
    assert_eq!((glance.from_ns, glance.to_ns), (card.from_ns, card.to_ns));
    assert_eq!((glance.name, glance.row), (card.name, card.row));
    assert_eq!(glance.fields, card.fields[..4]);
    let beside = GlanceQuery { ns: 5.0, ..query };
    assert_eq!(opened.timeline().unwrap().glance(&beside), None);
}

#[test]
fn keys_go_from_span_to_span() {
    let mut opened = opened(TRACE);
    let mut beside = |uid, towards| {
        let card = span(&mut opened, SpanQuery::Beside(uid, towards));
        card.map(|card| card.uid)
    };
    assert_eq!(beside(1, Towards::Below), Some(2));
    assert_eq!(beside(1, Towards::Above), Some(3));
    assert_eq!(beside(1, Towards::After), None);
    assert_eq!(beside(0, Towards::Above), None);
    assert_eq!(beside(99, Towards::Below), None);
}

#[test]
fn a_range_is_summed_up() {
    let query = RangeQuery {
        from_ns: 60_000.0,
        to_ns: 20_000.0,
    };
    let card = opened(TRACE).timeline().unwrap().range(&query);
    assert_eq!(card.length, "40.0 µs");
    assert_eq!(card.n_work, "1 GPU event");
    let parts = card.parts.iter();
    let parts: Vec<String> = parts
        .map(|part| format!("{} {} {}", part.label, part.time, part.share))
        .collect();
    assert_eq!(
        parts,
        [
            "GPU busy 20.0 µs 50.0 %",
            "Computation 20.0 µs 50.0 %",
            "GPU idle 20.0 µs 50.0 %"
        ]
    );
    let longest = &card.work[0];
    assert_eq!((&*longest.name, &*longest.time), ("aten::mm", "20.0 µs"));
}

#[test]
fn a_trace_without_events_has_no_timeline() {
    let mut opened = opened(r#"{"traceEvents": []}"#);
    assert!(opened.timeline().is_none());
}

#[test]
fn events_are_found_by_name_from_one_to_the_next_and_marked() {
    let mut opened = opened(TRACE);
    let mut timeline = opened.timeline().unwrap();
    let mut find = |text: &str, from, direction| {
        let query = FindEvents {
            text: text.to_owned(),
            from,
            from_ns: 0.0,
            direction,
        };
        let found = timeline.find(&query);
        let name = found.card.map(|card| (card.uid, card.name));
        (name, found.position, found.of, found.marks)
    };
    let hit = |uid, name: &str| Some((uid, name.to_owned()));
    // Of 70 µs: the operator at 10, the kernel at 40.
    let marks = vec![142, 571];
    let first = find("MM", None, Direction::Here);
    assert_eq!(first, (hit(1, "aten::mm"), 1, 2, marks.clone()));
    let second = find("mm", Some(1), Direction::Next);
    assert_eq!(second, (hit(3, "sgemm"), 2, 2, marks.clone()));
    let again = find("mm", Some(3), Direction::Next);
    assert_eq!(again, (hit(1, "aten::mm"), 1, 2, marks.clone()));
    let last = find("mm", Some(1), Direction::Previous);
    assert_eq!(last, (hit(3, "sgemm"), 2, 2, marks));
    assert_eq!(find("nothing", None, Direction::Here), (None, 0, 0, vec![]));
    assert_eq!(find("", None, Direction::Here), (None, 0, 0, vec![]));
}
