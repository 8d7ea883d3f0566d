//! The Steps view: the time of each step, side by side.

use dormer_core::base::format;
use dormer_core::base::interval::percent_of;
use dormer_core::base::stats::median_ns;
use dormer_core::names::batch::Batch;
use dormer_core::profile::serving::Serving;
use dormer_core::profile::window::StepWindow;
use dormer_core::report::overview::{SplitKind, split};
use dormer_core::report::steps::{
    StepChart, StepFigures, batch_table, denoising_table, graph_table, median_step, slow,
    steady_text, step_figures, step_trends, trend_sentences,
};

use super::analysis::Analysis;
use crate::protocol::{StepChoice, StepTime, StepTimes};

impl Analysis {
    /// The steps of the whole trace, regardless of which part is analyzed.
    pub(super) fn step_times(&self) -> StepTimes {
        let windows = self.steps.windows();
        let length = |step: &StepWindow| step.window.span.length();
        let lengths_ns: Vec<i64> = self.steps.all().iter().map(length).collect();
        let Some(median_ns) = median_ns(lengths_ns.clone()) else {
            const HOW: &str = "Call the profiler\u{2019}s `step()` after each iteration, or name parts of the run with `record_function`.";
            return StepTimes {
                headline: "No steps were recorded.".to_owned(),
                how: Some(HOW.to_owned()),
                ..StepTimes::default()
            };
        };
        let longer_percent = self.report.options.thresholds.step_slow_percent;
        let longest_ns = lengths_ns.iter().copied().max().unwrap_or_default();
        let lines = self.steps.lines().into_iter();
        let timelines = self.steps.timelines(&self.whole);
        let has_gpu = self.whole.has_gpu_events();
        let steps = lines
            .zip(windows)
            .zip(timelines)
            .map(|((line, step), timeline)| {
                let range = step.window.span;
                let share = percent_of(range.length(), median_ns).filter(|_| lengths_ns.len() > 1);
                StepTime {
                    time: line.window_length.clone(),
                    line,
                    of_median: share
                        .map_or(String::new(), |share| format!("{:.2}×", share / 100.0)),
                    is_slow: share.is_some_and(|share| share >= 100.0 + longer_percent),
                    cells: Vec::new(),
                    parts: if has_gpu { split(timeline) } else { Vec::new() },
                    percent: percent_of(range.length(), longest_ns).unwrap_or_default(),
                }
            });
        let mut steps: Vec<StepTime> = steps.collect();
        drop_unused(&mut steps);
        let is_slow = |ns: &&i64| {
            percent_of(**ns, median_ns).is_some_and(|share| share >= 100.0 + longer_percent)
        };
        let n_slow = lengths_ns.iter().filter(is_slow).count();
        let times = StepTimes {
            headline: headline(
                &steps,
                (n_slow, lengths_ns.len()),
                median_ns,
                longer_percent,
            ),
            steps,
            n_more: self.steps.n_more(),
            ..StepTimes::default()
        };
        match self.whole.serving() {
            Some(serving) => self.of_engine(serving, times),
            None => StepTimes {
                median: self.median_step(),
                ..times
            },
        }
    }

    /// The median step, unless steps are batches of requests: those may all be different.
    fn median_step(&self) -> Option<StepChoice> {
        let steps = self.steps.all();
        let lengths = steps.iter().map(|step| step.window.span.length());
        let at = median_step(&lengths.collect::<Vec<i64>>())?;
        let step = steps.get(at)?;
        let length = format::time_ns(step.window.span.length());
        let n_steps = format::counted(steps.len() as u64, "step");
        Some(StepChoice {
            label: "median step".to_owned(),
            text: format!("{}, {length}: the median of {n_steps}", step.step.name),
            window: self.steps.edges(step.window.span),
        })
    }

    /// The steps of a serving engine, each compared with similar ones, with its batch.
    fn of_engine(&self, serving: &Serving, mut times: StepTimes) -> StepTimes {
        let thresholds = &self.report.options.thresholds;
        let figures = step_figures(serving, thresholds);
        let windows = self.steps.windows().iter();
        for (time, window) in times.steps.iter_mut().zip(windows) {
            let event = window.step.event;
            if let Some(step) = figures.iter().find(|step| step.step.event == event) {
                time.time = format::time_ns(step.length.ns);
                let over = step.over_ns();
                time.of_median = over.map_or(String::new(), format::signed_time_ns);
                time.is_slow = step.is_slow;
                time.cells = cells(step);
            }
        }
        times.columns = COLUMNS.map(str::to_owned).to_vec();
        drop_empty(&mut times);
        let notes = step_trends(&figures, thresholds);
        times.notes = trend_sentences(&notes);
        let runs = self.steps.runs.iter().map(|(steady, window)| StepChoice {
            label: format::capitalized(steady.kind.label()),
            text: steady_text(steady, &figures),
            window: self.steps.edges(window.span),
        });
        times.choices = runs.collect();
        let tables = [
            denoising_table(serving),
            batch_table(&figures).filter(|_| figures.len() > 1),
            graph_table(&self.whole.trace, serving),
        ];
        times.tables = tables.into_iter().flatten().collect();
        times.chart = StepChart::new(&figures);
        if figures.len() > 1 {
            times.headline = match slow(&figures) {
                Some(slow) => format!("Slow steps: {slow}."),
                None => format!(
                    "None of {} takes much longer than similar steps.",
                    format::counted(figures.len() as u64, "step")
                ),
            };
        }
        times
    }
}

/// The columns for each step of a serving engine.
const COLUMNS: [&str; 8] = [
    "Phase",
    "Requests",
    "Tokens",
    "KV tokens",
    "Padded to",
    "Kernels",
    "Launches",
    "Replays",
];

fn cells(step: &StepFigures) -> Vec<String> {
    let batch = step.step.batch;
    let of_batch = |of: fn(&Batch) -> Option<u64>| {
        let n = batch.as_ref().and_then(of);
        n.map_or(String::new(), format::count)
    };
    let number = |n: usize| format::count(n as u64);
    vec![
        step.phase().to_owned(),
        of_batch(Batch::requests),
        of_batch(Batch::tokens),
        of_batch(Batch::kv_tokens),
        of_batch(|batch| batch.padded_to),
        number(step.activity.n_work),
        number(step.activity.n_launches),
        number(step.activity.n_replays),
    ]
}

/// Hides parts of the time that no step has.
fn drop_unused(steps: &mut [StepTime]) {
    let parts = steps.iter().flat_map(|step| &step.parts);
    let used = parts.filter(|part| part.ns > 0 || part.kind.is_always_shown());
    let used: Vec<SplitKind> = used.map(|part| part.kind).collect();
    for step in steps {
        step.parts.retain(|part| used.contains(&part.kind));
    }
}

/// Hides columns that are empty in every step.
fn drop_empty(times: &mut StepTimes) {
    let is_shown: Vec<bool> = (0..times.columns.len())
        .map(|at| {
            let mut cells = times.steps.iter().filter_map(|step| step.cells.get(at));
            cells.any(|cell| !cell.is_empty())
        })
        .collect();
    let keep = |texts: &mut Vec<String>| {
        let mut shown = is_shown.iter();
        texts.retain(|_| shown.next() == Some(&true));
    };
    keep(&mut times.columns);
    for step in &mut times.steps {
        keep(&mut step.cells);
    }
}

/// The name of a step at the start of a sentence: "Step 1 (decode, 32 requests)" for "Step 1: decode, 32 requests".
fn as_subject(name: &str) -> String {
    match name.split_once(": ") {
        Some((step, batch)) => format!("{step} ({batch})"),
        None if name.starts_with("step ") => format::capitalized(name),
        None => name.to_owned(),
    }
}

/// Of all steps, this many are slow; the first ones are `steps`.
fn headline(
    steps: &[StepTime],
    (n_slow, n_steps): (usize, usize),
    median_ns: i64,
    longer_percent: f64,
) -> String {
    let median = format::time_ns(median_ns);
    match (steps, steps.iter().find(|step| step.is_slow), n_slow) {
        ([only], ..) => format!("{} takes {median}.", as_subject(&only.line.name)),
        (_, _, 0) => format!("{n_steps} steps take about {median} each."),
        (_, Some(slow), 1) => format!(
            "{} takes {}: {} the median of {median}.",
            as_subject(&slow.line.name),
            slow.line.window_length,
            slow.of_median
        ),
        _ => format!(
            "{n_slow} of {n_steps} steps {} at least {} longer than the median of {median}.",
            if n_slow == 1 { "takes" } else { "take" },
            format::percent(longer_percent)
        ),
    }
}

#[cfg(test)]
mod tests {
    use dormer_core::testing::Timetable;

    use super::*;
    use crate::protocol::Choice;

    /// Steps 1 to `n` with a kernel each, 20 µs after their start.
    fn steps(n: u32, kernel_us: impl Fn(u32) -> u32) -> Timetable {
        (1..=n).fold(Timetable::new(), |trace, number| {
            let start = 1000 + number * 100;
            let kernel = start + 20..start + 20 + kernel_us(number);
            trace
                .annotation(&format!("ProfilerStep#{number}"), start..start + 100)
                .op("aten::mm", start + 2..start + 12)
                .launched("gemm", start + 4..start + 6, kernel)
        })
    }

    /// Kernels of 40 µs, and a last one.
    fn three_steps(last_us: u32) -> Timetable {
        steps(3, |number| if number == 3 { last_us } else { 40 })
    }

    #[test]
    fn a_step_that_takes_longer_than_the_others_leads() {
        let analysis = Analysis::new(three_steps(80).profile(), &Choice::default());
        let StepTimes {
            headline, steps, ..
        } = analysis.step_times();
        assert_eq!(
            headline,
            "ProfilerStep#3 takes 100 µs: 1.67× the median of 60.0 µs."
        );
        let shown = steps
            .iter()
            .map(|step| (&*step.of_median, step.is_slow, step.percent));
        let expected = [
            ("1.00×", false, 60.0),
            ("1.00×", false, 60.0),
            ("1.67×", true, 100.0),
        ];
        assert_eq!(shown.collect::<Vec<_>>(), expected);
        let parts: Vec<i64> = steps[2].parts.iter().map(|part| part.ns).collect();
        // No step communicates or copies.
        assert_eq!(parts, [80_000, 20_000]);
    }

    #[test]
    fn a_step_is_slow_by_the_threshold_of_the_core() {
        let headline = |last_us| {
            let analysis = Analysis::new(three_steps(last_us).profile(), &Choice::default());
            analysis.step_times().headline
        };
        assert_eq!(headline(50), "3 steps take about 60.0 µs each.");
        assert_eq!(
            headline(52),
            "ProfilerStep#3 takes 72.0 µs: 1.20× the median of 60.0 µs."
        );
    }

    #[test]
    fn all_steps_count_where_not_all_are_listed() {
        let trace = steps(250, |number| if number == 250 { 90 } else { 40 });
        let times = Analysis::new(trace.profile(), &Choice::default()).step_times();
        assert_eq!((times.steps.len(), times.n_more), (200, 50));
        assert!(
            times
                .headline
                .starts_with("1 of 250 steps takes at least 20"),
            "{}",
            times.headline
        );
    }

    #[test]
    fn the_median_of_many_equal_steps_is_offered() {
        let trace = steps(6, |number| if number == 4 { 75 } else { 40 + number % 2 });
        let times = Analysis::new(trace.profile(), &Choice::default()).step_times();
        let median = times.median.unwrap();
        assert_eq!(median.label, "median step");
        assert!(
            times
                .steps
                .iter()
                .any(|step| step.line.window == median.window && !step.is_slow),
            "{}",
            median.text
        );
        // Three steps are too few.
        let three = Analysis::new(three_steps(80).profile(), &Choice::default()).step_times();
        assert_eq!(three.median, None);
    }

    #[test]
    fn without_steps_the_sentence_says_how_to_record_them() {
        let trace = Timetable::new().op("aten::mm", 0..10);
        let times = Analysis::new(trace.profile(), &Choice::default()).step_times();
        assert!(
            times.steps.is_empty() && times.how.as_ref().unwrap().contains("`step()`"),
            "{times:?}"
        );
    }

    #[test]
    fn steps_of_an_engine_stand_beside_those_like_them() {
        let mut trace = Timetable::new();
        for at in 0..12_u32 {
            let (host, gpu) = (at * 20, 1000 + at * 100);
            let us = if at == 5 { 180 } else { 90 };
            let gpu = if at > 5 { gpu + 90 } else { gpu };
            trace = trace
                .annotation("step[DECODE bs=8 toks=8]", host..host + 18)
                .op("aten::mm", host + 1..host + 17)
                .launched("gemm", host + 2..host + 4, gpu..gpu + us);
        }
        let times = Analysis::new(trace.profile(), &Choice::default()).step_times();
        assert!(
            times
                .headline
                .starts_with("Slow steps: 1 of 12; the slowest is step 6"),
            "{}",
            times.headline
        );
        assert_eq!(
            times.columns,
            [
                "Phase", "Requests", "Tokens", "Kernels", "Launches", "Replays"
            ]
        );
        let slow = &times.steps[5];
        assert_eq!(
            (&*slow.time, &*slow.of_median, slow.is_slow),
            ("190 µs", "+90.0 µs", true)
        );
        assert_eq!(slow.cells, ["decode", "8", "8", "1", "1", "0"]);
        let chart = times.chart.unwrap();
        assert_eq!(
            (chart.bars.len(), chart.per_bar, &*chart.top),
            (12, 1, "190 µs")
        );
        // Steps 1 to 12 are one load; its window has a name.
        let own = &times.choices[0];
        assert!(
            own.text
                .starts_with("steps 1 to 12: 12 steps of 8 requests"),
            "{}",
            own.text
        );
        let mut analysis = Analysis::new(trace.profile(), &Choice::default());
        let chosen = analysis.choose(&Choice {
            window: Some(own.window),
            ..Choice::default()
        });
        assert_eq!(chosen.window.unwrap().name, "Steps 1 to 12");
    }
}
