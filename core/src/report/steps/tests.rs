//! Comparing steps, in small traces.

use super::*;
use crate::profile::window::{StepRun, find_step};
use crate::report::sheet::{Cell, Sheet};
use crate::report::sheets::steps::{BATCHES, GRAPHS, STEPS};
use crate::report::{Report, ReportOptions};
use crate::testing::Timetable;

/// Decode steps, one after the other: requests, KV tokens, and how long the GPU takes, in microseconds.
fn decode(steps: impl IntoIterator<Item = (u64, u64, u32)>) -> Timetable {
    let (mut host, mut gpu) = (0, 1_000_000);
    let step = |trace: Timetable, (requests, kv, us): (u64, u64, u32)| {
        let name = format!(
            "execute_{requests}_context_0(sq0sk0sqsq0sqsk0)_generation_{requests}(sq{requests}sk{kv}sqsq{requests}sqsk{kv})"
        );
        let start = host;
        let work = gpu..gpu + us - 5;
        (host, gpu) = (host + 20, gpu + us);
        trace
            .annotation(&name, start..start + 18)
            .op("aten::mm", start + 1..start + 17)
            .launched("gemm", start + 2..start + 4, work)
    };
    steps.into_iter().fold(Timetable::new(), step)
}

fn sheet(trace: &Timetable, name: &str) -> Sheet {
    let profile = trace.profile();
    let report = Report::new(&profile, &ReportOptions::default());
    report.sheet(&profile, name).unwrap().clone()
}

fn cells(sheet: &Sheet, row: usize, labels: &[&str]) -> Vec<Cell> {
    let row = &sheet.rows[row];
    let columns = labels.iter().map(|label| sheet.column(label).unwrap());
    columns.map(|at| row[at].clone()).collect()
}

#[test]
fn a_step_is_slow_compared_with_those_like_it() {
    // The sixth takes 1.5 times as long; the eighth has twice the requests, and no similar step to compare with.
    let steps = (0..12).map(|at| match at {
        5 => (8, 800, 150),
        7 => (16, 1600, 190),
        _ => (8, 800, 100),
    });
    let sheet = sheet(&decode(steps), STEPS);
    let labels = [
        "step time ms",
        "usual step time ms",
        "over usual ms",
        "slow",
    ];
    let float = |ms: f64| Cell::Float(ms);
    let slow = cells(&sheet, 5, &labels);
    assert_eq!(
        slow,
        [float(0.15), float(0.1), float(0.05), Cell::Flag(true)]
    );
    let alone = cells(&sheet, 7, &labels);
    assert_eq!(
        alone,
        [float(0.19), Cell::Empty, Cell::Empty, Cell::Flag(false)]
    );
    let usual = cells(
        &sheet,
        0,
        &["phase", "requests", "KV tokens", "GPU idle ms", "launches"],
    );
    let expected = [
        Cell::Text("decode".to_owned()),
        Cell::Int(8),
        Cell::Int(800),
        float(0.005),
        Cell::Int(1),
    ];
    assert_eq!(usual, expected);
    // Nothing follows the last one, so its own activity counts.
    let last = cells(&sheet, 11, &["step time ms", "step time is"]);
    assert_eq!(last, [float(0.095), Cell::Text("GPU span".to_owned())]);
}

#[test]
fn steps_that_follow_each_other_are_analyzed_together() {
    let profile = decode((0..8).map(|at| (if at < 2 { 2 } else { 8 }, 800, 100))).profile();
    let asked = |asked: &str| {
        let window = find_step(&profile, asked).ok()?;
        let part = profile.window(&window);
        let n = part.serving().unwrap().steps.len();
        Some((
            window.run?,
            window.span.length() / 1000,
            part.window?.name(),
            n,
        ))
    };
    let run = |first, n| StepRun {
        first: Some(first),
        n,
    };
    assert_eq!(
        asked("2-4"),
        Some((run(2, 3), 295, "Steps 2 to 4".to_owned(), 3))
    );
    // The decode steps close to the maximum number of requests.
    assert_eq!(
        asked("steady"),
        Some((run(3, 6), 595, "Steps 3 to 8".to_owned(), 6))
    );
    for unknown in ["4-2", "0-3", "7-9", "steadily"] {
        assert_eq!(asked(unknown), None, "{unknown}");
    }
}

#[test]
fn steps_that_vary_have_no_slow_one() {
    let steps = (0..12).map(|at| (8, 800, 100 + at % 4 * 20));
    let sheet = sheet(&decode(steps), STEPS);
    let slow = sheet.column("slow").unwrap();
    assert!(sheet.rows.iter().all(|row| row[slow] == Cell::Flag(false)));
}

#[test]
fn a_trend_has_a_size_next_to_that_of_the_context() {
    let sentences = |steps: Vec<(u64, u64, u32)>| -> Vec<String> {
        let profile = decode(steps).profile();
        let thresholds = Thresholds::default();
        let figures = step_figures(profile.serving().unwrap(), &thresholds);
        let trends = step_trends(&figures, &thresholds);
        trends.iter().map(StepTrend::sentence).collect()
    };
    let growing = (0..21).map(|at| (8, 800 + u64::from(at) * 8, 1000 + at * 5));
    let expected = "decode steps of 8 requests grow by 9.1 % (95.0 \u{b5}s) over 20 steps, 5.00 \u{b5}s a step; \
                    their KV tokens grow by 17.4 %";
    assert_eq!(sentences(growing.collect()), [expected]);
    // Up and down, and hardly at all.
    assert!(sentences((0..21).map(|at| (8, 800, 1000 + at % 2 * 90)).collect()).is_empty());
    assert!(sentences((0..21).map(|at| (8, 800, 10_000 + at)).collect()).is_empty());
}

#[test]
fn batches_of_one_size_and_time_for_each_token() {
    let steps = [
        (8, 800, 100),
        (8, 808, 120),
        (8, 816, 100),
        (4, 400, 80),
        (4, 404, 80),
    ];
    let sheet = sheet(&decode(steps), BATCHES);
    let labels = ["batch", "requests", "steps", "step time ms"];
    let text = |text: &str| Cell::Text(text.to_owned());
    let rows: Vec<_> = (0..sheet.rows.len())
        .map(|row| cells(&sheet, row, &labels))
        .collect();
    let expected = [
        vec![text("all"), Cell::Empty, Cell::Int(5), Cell::Float(0.1)],
        vec![
            text("one size"),
            Cell::Int(4),
            Cell::Int(2),
            Cell::Float(0.075),
        ],
        vec![
            text("one size"),
            Cell::Int(8),
            Cell::Int(3),
            Cell::Float(0.1),
        ],
    ];
    assert_eq!(rows, expected);
    // 475 microseconds for 32 tokens.
    let per_token = cells(&sheet, 0, &["ms per token"]);
    assert_eq!(per_token, [Cell::Float(475_000.0 / 32.0 / 1e6)]);
}

#[test]
fn a_graph_that_serves_several_sizes_is_padded() {
    // Two graphs: one serves 7 and 8 requests, one serves 4.
    let step = |trace: Timetable, (at, requests): (u32, u64)| {
        let (host, gpu) = (at * 20, 1000 + at * 100);
        let names = if requests > 4 {
            ["norm", "gemm", "add"]
        } else {
            ["norm", "gemv", "add"]
        };
        let trace = trace
            .annotation(
                &format!("step[DECODE bs={requests} toks={requests}]"),
                host..host + 18,
            )
            .runtime("cudaGraphLaunch", at + 1, host + 2..host + 6)
            .arrow_start(at + 1);
        names
            .iter()
            .zip(0..)
            .fold(trace, |trace, (name, kernel): (_, u32)| {
                let span = gpu + kernel * 10..gpu + kernel * 10 + 9 - kernel;
                let graph = 1 + u32::from(requests > 4);
                trace
                    .kernel(at + 1, name, span)
                    .args(&format!(r#""graph id": {graph}"#))
            })
    };
    let trace = (0..5).zip([7, 8, 8, 4, 4]).fold(Timetable::new(), step);
    let sheet = sheet(&trace, GRAPHS);
    let labels = [
        "replays",
        "tokens_min",
        "tokens_max",
        "captured for",
        "captured size is",
    ];
    let text = |text: &str| Cell::Text(text.to_owned());
    let first = cells(&sheet, 0, &labels);
    assert_eq!(
        first,
        [
            Cell::Int(3),
            Cell::Int(7),
            Cell::Int(8),
            Cell::Int(8),
            text("at least")
        ]
    );
    // One eighth in one of three.
    let padding = cells(&sheet, 0, &["padding (%)"]);
    assert_eq!(padding, [Cell::Float(12.5 / 3.0)]);
    let second = cells(&sheet, 1, &labels);
    assert_eq!(
        second,
        [
            Cell::Int(2),
            Cell::Int(4),
            Cell::Int(4),
            Cell::Empty,
            Cell::Empty
        ]
    );
}
