use dormer_core::import::import;
use dormer_core::testing::Timetable;

use super::*;
use crate::protocol::{
    Align, Choice, Direction, FileNames, FindEvents, GlanceQuery, MARK_HUE, MomentQuery, SpanCard,
    SpanQuery, Towards,
};
use crate::worker::{Analysis, Traces};

/// A small step: an op with a kernel, and a kernel without an op.
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
    // The kernel: 40 to 70 µs, event 3, row 1, completely filled.
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
    let outside = GlanceQuery { ns: 5.0, ..query };
    assert_eq!(opened.timeline().unwrap().glance(&outside), None);
}

#[test]
fn keys_go_from_span_to_span() {
    let mut opened = opened(TRACE);
    let mut neighbor = |uid, towards| {
        let card = span(
            &mut opened,
            SpanQuery::Beside(TraceSide::Target, uid, towards),
        );
        card.map(|card| card.uid)
    };
    assert_eq!(neighbor(1, Towards::Below), Some(2));
    assert_eq!(neighbor(1, Towards::Above), Some(3));
    assert_eq!(neighbor(1, Towards::After), None);
    assert_eq!(neighbor(0, Towards::Above), None);
    assert_eq!(neighbor(99, Towards::Below), None);
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
            side: TraceSide::Target,
            from,
            from_ns: 0.0,
            direction,
        };
        let found = timeline.find(&query);
        let name = found.card.map(|card| (card.uid, card.name));
        (name, found.position, found.of, found.marks)
    };
    let hit = |uid, name: &str| Some((uid, name.to_owned()));
    // Of 70 µs: the operator at 10, the kernel at 40, which is what most look for.
    let marks = vec![142, 571];
    let first = find("MM", None, Direction::Here);
    assert_eq!(first, (hit(3, "sgemm"), 2, 2, marks.clone()));
    let second = find("mm", Some(1), Direction::Next);
    assert_eq!(second, (hit(3, "sgemm"), 2, 2, marks.clone()));
    let again = find("mm", Some(3), Direction::Next);
    assert_eq!(again, (hit(1, "aten::mm"), 1, 2, marks.clone()));
    let last = find("mm", Some(1), Direction::Previous);
    assert_eq!(last, (hit(3, "sgemm"), 2, 2, marks));
    assert_eq!(find("nothing", None, Direction::Here), (None, 0, 0, vec![]));
    assert_eq!(find("", None, Direction::Here), (None, 0, 0, vec![]));
}

/// The trace with a reference that starts a second later, and whose kernel starts 10 µs earlier.
fn with_reference(align: Align, read: impl FnOnce(&mut Timelines)) {
    with_reference_at(align, None, read);
}

fn with_reference_at(align: Align, moment: Option<MomentQuery>, read: impl FnOnce(&mut Timelines)) {
    let later = TRACE.replace(r#""ts": 1"#, r#""ts": 10001"#);
    let later = later.replace(r#""ts": 1000140"#, r#""ts": 1000130"#);
    let (mut target, mut reference) = (opened(TRACE), opened(&later));
    let below = vec![Below {
        timeline: reference.timeline(),
        name: "old",
        moment,
    }];
    read(&mut Timelines::of_several(
        target.timeline(),
        "new",
        below,
        align,
    ));
}

#[test]
fn rows_of_the_reference_are_numbered_after_those_of_the_target() {
    with_reference(Align::Start, |both| {
        let outline = both.outline();
        let lanes = outline.lanes.iter();
        let lanes: Vec<String> = lanes
            .map(|lane| {
                format!(
                    "{} {}: {} + {}",
                    lane.trace, lane.title, lane.first_row, lane.rows
                )
            })
            .collect();
        assert_eq!(
            lanes,
            [
                "new Annotations: 0 + 1",
                "new GPU, stream 7: 1 + 1",
                "new Launch queue: 0 + 0",
                "new Thread: 2 + 2",
                "old Annotations: 4 + 1",
                "old GPU, stream 7: 5 + 1",
                "old Launch queue: 0 + 0",
                "old Thread: 6 + 2"
            ]
        );
        let counters = outline
            .lanes
            .iter()
            .filter_map(|lane| lane.counter.as_ref());
        let counters: Vec<u32> = counters.map(|counter| counter.number).collect();
        assert_eq!(counters, [0, 1]);
        let below = &outline.below[0];
        assert_eq!((&*below.name, &*below.note), ("old", "60.0 µs recorded"));
        // Neither trace is limited to a part.
        assert_eq!(below.aligns, [Align::Start, Align::Gpu]);

        let at = |row, ns| {
            SpanQuery::At(GlanceQuery {
                row,
                ns,
                within_ns: 0.0,
            })
        };
        let mut kernel = |row, ns| {
            let card = both.span(&at(row, ns)).unwrap();
            (card.trace, card.row, card.from_ns, card.arrows[0].row)
        };
        assert_eq!(kernel(1, 45_000.0), ("new".to_owned(), 1, 40_000.0, 3));
        assert_eq!(kernel(5, 45_000.0), ("old".to_owned(), 5, 30_000.0, 7));
        let mut neighbor = |side, uid, towards| {
            let card = both.span(&SpanQuery::Beside(side, uid, towards)).unwrap();
            (card.side, card.row)
        };
        let (target, reference) = (TraceSide::Target, TraceSide::Reference);
        // From the launch, the last row of the target, and back.
        assert_eq!(neighbor(target, 2, Towards::Below), (reference, 4));
        assert_eq!(neighbor(reference, 0, Towards::Above), (target, 3));
        let card = both.range(&RangeQuery {
            from_ns: 30_000.0,
            to_ns: 40_000.0,
        });
        let below = &card.below[0];
        assert_eq!(
            (&*card.parts[0].time, &*below.parts[0].time),
            ("0 µs", "10.0 µs")
        );
    });
}

#[test]
fn blocks_of_both_travel_together_and_both_are_searched() {
    with_reference(Align::Start, |both| {
        let found = both.find(&FindEvents {
            text: "sgemm".to_owned(),
            side: TraceSide::Target,
            from: None,
            from_ns: 0.0,
            direction: Direction::Here,
        });
        assert_eq!(
            (found.of, found.marks, found.marks_below),
            (1, vec![571], vec![vec![428]])
        );
        let (drawn, bytes) = both.draw(&DrawQuery {
            from_ns: 0.0,
            ns_per_px: 100.0,
            width_px: 700.0,
            rows: (0..9).collect(),
            counters: vec![0, 1],
        });
        assert_eq!(bytes.len(), 8 * BLOCK_BYTES);
        // The step, the kernel, the operator and the launch of each.
        assert_eq!(drawn.hits, [1, 5]);
        assert_eq!(drawn.labels[4].0, 4);
        assert_eq!(drawn.counters.len(), 2);
    });
}

#[test]
fn a_reference_is_aligned_by_what_both_have() {
    let kernels = |align| {
        let mut kernels = Vec::new();
        with_reference(align, |both| {
            kernels = [1, 5]
                .map(|row| {
                    let query = GlanceQuery {
                        row,
                        ns: 50_000.0,
                        within_ns: 0.0,
                    };
                    both.glance(&query).unwrap().from_ns
                })
                .to_vec();
            let below = both.outline().below.remove(0);
            kernels.push(f64::from(u8::from(below.align == align)));
        });
        kernels
    };
    assert_eq!(kernels(Align::Start), [40_000.0, 30_000.0, 1.0]);
    assert_eq!(kernels(Align::Gpu), [40_000.0, 40_000.0, 1.0]);
    // Ranks of a job with known clocks: both kernels started at the same time.
    let moment = MomentQuery {
        target_ns: 1_000_140_000,
        reference_ns: 1_000_130_000,
    };
    with_reference_at(Align::Clock, Some(moment), |both| {
        let below = both.outline().below.remove(0);
        assert_eq!(below.align, Align::Clock);
        assert_eq!(below.aligns, [Align::Start, Align::Gpu, Align::Clock]);
    });
    // Neither is limited to a part, so they align by their first events.
    assert_eq!(kernels(Align::Analyzed), [40_000.0, 30_000.0, 0.0]);
}

/// The nth rank of a job, and when its kernel starts: each clock is 1 ms ahead of the previous one, and each kernel is
/// a microsecond closer to the first event.
fn rank_on_its_clock(n: i64) -> (Analysis, i64) {
    let trace = TRACE.replace(r#""ts": 1"#, &format!(r#""ts": 100{n}1"#));
    let [recorded, own] = [0, n].map(|early| 1_000_140 + 1_000 * n - early);
    let trace = trace.replace(&format!(r#""ts": {recorded}"#), &format!(r#""ts": {own}"#));
    (opened(&trace), own * 1000)
}

#[test]
fn ranks_of_a_job_stand_one_below_the_other_on_one_clock() {
    let ranks = [0, 1, 2, 3].map(rank_on_its_clock).into_iter();
    let (mut ranks, clocks): (Vec<Analysis>, Vec<i64>) = ranks.unzip();
    let mut timelines = ranks.iter_mut().map(Analysis::timeline);
    let target = timelines.next().unwrap();
    let names = ["rank 1", "rank 2", "rank 3"];
    let below = timelines.zip(names).zip(&clocks[1..]);
    let below = below.map(|((timeline, name), reference_ns)| Below {
        timeline,
        name,
        moment: Some(MomentQuery {
            target_ns: clocks[0],
            reference_ns: *reference_ns,
        }),
    });
    let mut all = Timelines::of_several(target, "rank 0", below.collect(), Align::Clock);
    let outline = all.outline();
    let names: Vec<&str> = outline.below.iter().map(|below| &*below.name).collect();
    assert_eq!(names, ["rank 1", "rank 2", "rank 3"]);
    // All kernels start at the same position, in rows of their own.
    let mut starts = Vec::new();
    for lane in outline.lanes.iter().filter(|lane| lane.has_gaps) {
        let card = all.glance(&GlanceQuery {
            row: lane.first_row,
            ns: 45_000.0,
            within_ns: 0.0,
        });
        starts.push(card.unwrap().from_ns);
    }
    assert_eq!(starts, [40_000.0; 4]);
    // Below the last row of the third trace is the first one of the fourth.
    let fourth = all.span(&SpanQuery::Beside(TraceSide::Third, 2, Towards::Below));
    assert_eq!(fourth.unwrap().side, TraceSide::Fourth);
}

#[test]
fn hits_that_are_too_short_to_be_drawn_are_marked() {
    let hits = |ns_per_px: f64| {
        let mut opened = opened(TRACE);
        let mut timeline = opened.timeline().unwrap();
        timeline.find(&FindEvents {
            text: "launch".to_owned(),
            side: TraceSide::Target,
            from: None,
            from_ns: 0.0,
            direction: Direction::Here,
        });
        let (drawn, bytes) = timeline.draw(&DrawQuery {
            from_ns: 0.0,
            ns_per_px,
            width_px: 700.0,
            rows: (0..4).collect(),
            counters: Vec::new(),
        });
        let blocks = bytes.chunks(BLOCK_BYTES);
        let marks = blocks.filter(|block| block[14] == MARK_HUE);
        let marks = marks.map(|block| f32::from_le_bytes([block[0], block[1], block[2], block[3]]));
        (drawn.hits, marks.collect::<Vec<f32>>())
    };
    // The launch is 5 µs long, and starts at 15 µs.
    assert_eq!(hits(1_000.0), (vec![3], vec![]));
    assert_eq!(hits(10_000.0).1, [1.0]);
}

/// Two steps, each with a kernel 20 µs after its start; the second one starts at the given microsecond.
fn two_steps(second: u32) -> Analysis {
    let steps = [("ProfilerStep#1", 1_000), ("ProfilerStep#2", second)];
    let trace = steps.into_iter().fold(Timetable::new(), |all, (name, at)| {
        all.annotation(name, at..at + 100)
            .op("aten::mm", at + 2..at + 12)
            .launched("gemm", at + 4..at + 6, at + 20..at + 60)
    });
    Analysis::new(trace.profile(), &Choice::default())
}

#[test]
fn steps_of_one_name_start_together_where_they_are_analyzed() {
    let mut traces = Traces::new(two_steps(2_000));
    let files = FileNames {
        target: "new.json".to_owned(),
        reference: "old.json".to_owned(),
    };
    traces.compare_with(two_steps(3_500), files);
    traces.below = Some(Align::Analyzed);
    let aligned = |traces: &mut Traces| {
        let outline = traces.timelines().outline();
        let below = outline.below[0].clone();
        (below.align, below.window.zip(outline.window), below.note)
    };
    let (align, windows, note) = aligned(&mut traces);
    assert_eq!((align, windows), (Align::Start, None));
    assert_eq!(note, "2.60 ms recorded");

    let second = traces.target.steps.lines()[1].window;
    traces.choose(&Choice {
        window: Some(second),
        ..Choice::default()
    });
    let (align, windows, note) = aligned(&mut traces);
    assert_eq!(align, Align::Analyzed);
    let (reference, target) = windows.unwrap();
    assert_eq!(reference, target);
    assert_eq!(
        note,
        "2.60 ms recorded; its first 1.50 ms are before the start shown here"
    );
}
