use super::*;
use crate::testing::Timetable;

/// Lanes as text: a heading for each, followed by its rows as `name start–end` in microseconds.
fn outline(profile: &Profile) -> String {
    let trace = &profile.trace;
    let Some(lanes) = Lanes::new(profile) else {
        return "nothing".to_owned();
    };
    let mut text = String::new();
    for lane in &lanes.lanes {
        text += &format!("{} [{}]\n", lane.title, lane.note);
        for row in &lane.rows {
            let spans: Vec<String> = (0..row.len())
                .map(|position| {
                    let span = row.span(trace, position).unwrap();
                    let name = trace.events.name(row.event(position).unwrap());
                    let (start, end) = (span.start_ns / 1000, span.end_ns / 1000);
                    format!("{} {start}–{end}", trace.strings.get(name))
                })
                .collect();
            text += &format!("  {}\n", spans.join(", "));
        }
    }
    text
}

#[test]
fn each_depth_of_a_recursion_has_a_row() {
    let recursion = (0_u32..300).fold(Timetable::new(), |trace, depth| {
        trace.frame(&format!("call {depth}"), depth..2000 - depth)
    });
    let profile = recursion.op("aten::mm", 2000..2010).profile();
    let lanes = Lanes::new(&profile).unwrap().lanes;
    let thread = lanes.iter().find(|lane| lane.kind == LaneKind::Thread);
    let rows: Vec<usize> = thread.unwrap().rows.iter().map(Row::len).collect();
    // The operator after the recursion is beside its outermost call.
    assert_eq!((rows.len(), rows[0], rows[1], rows[299]), (300, 2, 1, 1));
}

#[test]
fn annotations_come_first_then_streams_then_threads_by_depth() {
    let profile = Timetable::new()
        .annotation("ProfilerStep#1", 0..100)
        .annotation("forward", 5..60)
        .op("aten::linear", 10..40)
        .op("aten::addmm", 15..35)
        .launched("gemm", 20..22, 30..80)
        .profile();
    assert_eq!(
        outline(&profile),
        "\
Annotations [thread 1]
  ProfilerStep#1 0–100
  forward 5–60
GPU, stream 7 []
  gemm 30–80
Thread [1]
  aten::linear 10–40
  aten::addmm 15–35
  cudaLaunchKernel 20–22
"
    );
}

#[test]
fn overlapping_kernels_of_a_stream_get_rows_of_their_own() {
    let profile = Timetable::new()
        .kernel(1, "a", 0..10)
        .kernel(2, "b", 5..15)
        .kernel(3, "c", 10..12)
        .profile();
    assert_eq!(
        outline(&profile),
        "\
GPU, stream 7 [work of this stream overlaps]
  a 0–10, c 10–12
  b 5–15
"
    );
}

#[test]
fn eighty_streams_of_a_graph_share_as_few_rows_as_they_can() {
    let table = (0..80).fold(Timetable::new(), |table, number| {
        let start = number * 10;
        table
            .stream(100 + number)
            .kernel(number, "k", start..start + 15)
    });
    let lanes = Lanes::new(&table.profile()).unwrap();
    let lane = &lanes.lanes[0];
    assert_eq!((lane.kind, lane.rows.len()), (LaneKind::Device, 2));
    assert_eq!(lane.note, "80 streams share these rows");
    assert_eq!(lane.rows.iter().map(Row::len).sum::<usize>(), 80);
}

#[test]
fn a_trace_without_events_has_no_lanes() {
    assert_eq!(outline(&Timetable::new().profile()), "nothing");
}

/// A row of 10 µs kernels with pauses of 10 µs.
fn comb(n: u32) -> Profile {
    (0..n)
        .fold(Timetable::new(), |table, number| {
            table.kernel(number, "k", number * 20..number * 20 + 10)
        })
        .profile()
}

fn view(from_ns: i64, ns_per_px: f64, width_px: f64) -> View {
    View {
        from_ns,
        ns_per_px,
        width_px,
    }
}

fn draw(profile: &Profile, view: &View) -> Vec<Block> {
    let lanes = Lanes::new(profile).unwrap();
    lanes.lanes[0].rows[0].draw(&profile.trace, view, |_| 3)
}

#[test]
fn spans_that_can_be_seen_are_drawn_each() {
    let view = view(5_000, 1_000.0, 40.0);
    let blocks: Vec<(f64, f64, u32)> = draw(&comb(10), &view)
        .iter()
        .map(|block| (block.left_px, block.right_px, block.count))
        .collect();
    // Half of the first 10 µs is left of the view; the third block starts at pixel 35.
    assert_eq!(blocks, [(-5.0, 5.0, 1), (15.0, 25.0, 1), (35.0, 45.0, 1)]);
}

#[test]
fn spans_below_a_pixel_are_drawn_together_with_their_number_and_fill() {
    // 100 µs per pixel: five kernels of 10 µs each, so half of every pixel is filled.
    let view = view(0, 100_000.0, 20.0);
    let blocks = draw(&comb(100), &view);
    assert_eq!(blocks.len(), 1);
    let all = blocks[0];
    assert_eq!((all.left_px, all.right_px, all.count), (0.0, 20.0, 100));
    assert_eq!((all.filled, all.hue), (0.5, 3));
}

#[test]
fn a_long_span_behind_short_ones_in_a_pixel_is_drawn_as_itself() {
    let profile = Timetable::new()
        .kernel(1, "short", 0..1)
        .kernel(2, "short", 1..2)
        .kernel(3, "long", 5..105)
        .profile();
    let view = view(0, 10_000.0, 20.0);
    let counts: Vec<(u32, f64)> = draw(&profile, &view)
        .iter()
        .map(|block| (block.count, block.right_px))
        .collect();
    assert_eq!(counts, [(2, 1.0), (1, 10.5)]);
}

#[test]
fn every_span_of_a_view_is_in_exactly_one_block_at_every_zoom() {
    let profile = comb(1_000);
    for ns_per_px in [100.0, 3_000.0, 9_999.0, 10_001.0, 77_777.0, 1e6, 1e9] {
        let view = view(0, ns_per_px, 20_000_000.0 / ns_per_px + 1.0);
        let blocks = draw(&profile, &view);
        let count: u32 = blocks.iter().map(|block| block.count).sum();
        assert_eq!(count, 1_000, "at {ns_per_px} ns a pixel");
        assert!(blocks.is_sorted_by(|a, b| a.right_px <= b.left_px + 1.0));
    }
}

#[test]
fn the_span_under_a_point_is_found_and_else_the_nearest() {
    let profile = comb(3);
    let lanes = Lanes::new(&profile).unwrap();
    let row = &lanes.lanes[0].rows[0];
    let at = |us: i64, within_us: i64| {
        let event = row.at(&profile.trace, us * 1000, within_us * 1000)?;
        Some(profile.trace.events.ts_ns(event) / 1000)
    };
    assert_eq!(at(5, 0), Some(0));
    assert_eq!(at(12, 0), None);
    assert_eq!(at(12, 3), Some(0));
    assert_eq!(at(18, 3), Some(20));
    assert_eq!(at(1000, 3), None);
}

#[test]
fn an_event_is_found_in_its_lane_and_row() {
    let profile = Timetable::new()
        .op("aten::linear", 0..40)
        .op("aten::addmm", 5..35)
        .kernel(1, "gemm", 30..80)
        .profile();
    let lanes = Lanes::new(&profile).unwrap();
    let events = &profile.trace.events;
    let places: Vec<_> = events
        .ids()
        .map(|event| lanes.place(&profile.trace, event))
        .collect();
    assert_eq!(places, [Some((1, 0)), Some((1, 1)), Some((0, 0))]);
}

#[test]
fn a_range_counts_what_lies_inside_it() {
    let profile = Timetable::new()
        .op("aten::mm", 0..10)
        .launched("gemm", 1..2, 0..20)
        .launched("gemm", 3..4, 30..40)
        .op("aten::add", 10..20)
        .launch(3, 11..12)
        .stream(8)
        .kernel(3, "add", 35..60)
        .profile();
    let range = Interval::new(10_000, 50_000);
    let totals = RangeTotals::new(&profile, range);
    // 10–20 and 30–50 run; 20–30 does not.
    let timeline = totals.timeline;
    assert_eq!((timeline.busy_ns, timeline.idle_ns), (30_000, 10_000));
    assert_eq!(totals.n_work, 3);
    let work: Vec<(&str, u64, i64)> = totals
        .work
        .iter()
        .map(|work| (profile.trace.strings.get(work.name), work.count, work.ns))
        .collect();
    // Two kernels of one call are one call.
    assert_eq!(work, [("aten::mm", 1, 20_000), ("aten::add", 1, 15_000)]);
}
