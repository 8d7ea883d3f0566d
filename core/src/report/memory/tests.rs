use super::*;
use crate::base::interval::Interval;
use crate::profile::window::Window;
use crate::report::sheet::Cell;
use crate::report::{Report, ReportOptions};
use crate::testing::Timetable;

const MB: i64 = 1_000_000;

fn trace() -> Timetable {
    Timetable::new()
        .memory(100 * MB, 160 * MB)
        .annotation("ProfilerStep#1", 0..50)
        .op("aten::mul", 10..40)
        .block(0x20, 30 * MB, 20)
        .block(0x30, 20 * MB, 30)
        .block(0x20, -30 * MB, 45)
        .annotation("ProfilerStep#2", 50..100)
}

#[test]
fn the_headline_is_the_peak() {
    let view = memory_view(&trace().profile());
    let expected =
        "GPU 0 memory peaks at 150 MB of 160 MB reserved, 30.0 µs after the trace begins.";
    assert_eq!(view.headline.replace('\u{202F}', " "), expected);
    assert_eq!(view.how, None);
}

#[test]
fn without_reports_it_says_how_to_record_them() {
    let view = memory_view(&Timetable::new().op("aten::mm", 0..10).profile());
    assert_eq!(view.headline, NOT_RECORDED);
    assert!(view.how.unwrap().contains("profile_memory=True"));
    assert!(view.devices.is_empty());
}

#[test]
fn the_curve_is_drawn_in_steps_with_the_steps_of_the_run() {
    let view = memory_view(&trace().profile());
    let chart = &view.devices[0].chart;
    let points: Vec<_> = chart
        .points
        .iter()
        .map(|point| (point.at, point.allocated))
        .collect();
    let expected = [
        (0.0, 62.5),
        (200.0, 81.25),
        (300.0, 93.75),
        (450.0, 75.0),
        (1000.0, 75.0),
    ];
    assert_eq!(points, expected);
    assert!((chart.points[0].reserved - 100.0).abs() < 1e-9);
    let steps: Vec<_> = chart
        .steps
        .iter()
        .map(|step| (&*step.name, step.from, step.to))
        .collect();
    assert_eq!(steps, [("ProfilerStep#1", 0.0, 500.0)]);
    assert_eq!((chart.peak.0, &*chart.top), (300.0, "160 MB"));
}

#[test]
fn what_was_there_before_is_a_row_of_its_own() {
    let view = memory_view(&trace().profile());
    let table = &view.devices[0].tables[0];
    let cells: Vec<_> = table
        .rows
        .iter()
        .map(|row| (&*row.cells[0], &*row.cells[2]))
        .collect();
    assert_eq!(
        cells,
        [
            ("(before the recording)", "100 MB"),
            ("aten::mul", "50.0 MB")
        ]
    );
    let part = trace()
        .profile()
        .window(&Window::range(Interval::new(25_000, 48_000)));
    let view = memory_view(&part);
    let first = &view.devices[0].tables[0].rows[0].cells;
    assert_eq!(first[..3], ["(before this part of the time)", "", "130 MB"]);
}

/// More reports than the chart can show: the maximum at each position is kept.
#[test]
fn a_long_curve_keeps_its_peaks() {
    let mut timetable = Timetable::new().op("aten::mul", 0..10_000);
    for at in 0..4_000_u32 {
        let bytes = if at == 2_001 { 50 * MB } else { MB };
        timetable = timetable
            .block(u64::from(at) + 1, bytes, f64::from(at) * 2.0)
            .block(u64::from(at) + 1, -bytes, f64::from(at) * 2.0 + 1.0);
    }
    let view = memory_view(&timetable.profile());
    let chart = &view.devices[0].chart;
    assert!(chart.points.len() <= 2_002, "{}", chart.points.len());
    let most = chart
        .points
        .iter()
        .map(|point| point.allocated)
        .fold(0.0, f64::max);
    assert!((most - 100.0).abs() < 1e-9, "{most}");
}

#[test]
fn rows_of_the_peak_sum_up_to_it() {
    let profile = trace().profile();
    let report = Report::new(&profile, &ReportOptions::default());
    let sheet = report.sheet(&profile, "memory_at_peak").unwrap();
    let bytes = |by: &str| -> i64 {
        let rows = sheet
            .rows
            .iter()
            .filter(|row| row[1] == Cell::Text(by.to_owned()));
        let bytes = rows.map(|row| match row[4] {
            Cell::Int(bytes) => bytes,
            _ => 0,
        });
        bytes.sum()
    };
    assert_eq!(bytes("before") + bytes("operator"), 150 * MB);
    assert_eq!(bytes("before") + bytes("size"), 150 * MB);
    for name in ["memory_summary", "memory_by_operator", "memory_by_step"] {
        assert!(report.sheet(&profile, name).is_some(), "{name}");
    }
    assert!(report.sheet(&profile, "memory_driver_calls").is_none());
}
