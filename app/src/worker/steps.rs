//! The Steps view: what each step took, side by side.

use dormer_core::base::format;
use dormer_core::base::interval::percent_of;
use dormer_core::base::stats::median_ns;
use dormer_core::profile::lanes::range_timeline;
use dormer_core::profile::window::StepWindow;
use dormer_core::report::overview::split;

use super::analysis::Analysis;
use crate::protocol::{StepTime, StepTimes};

/// A step that takes so much of the median is slow.
const SLOW_PERCENT: f64 = 110.0;

impl Analysis {
    /// The steps of the whole trace, whatever part of it is analyzed.
    pub(super) fn step_times(&self) -> StepTimes {
        let windows = self.steps.windows();
        let length = |step: &StepWindow| step.window.span.length();
        let lengths_ns: Vec<i64> = windows.iter().map(length).collect();
        let Some(median_ns) = median_ns(lengths_ns.clone()) else {
            let headline = "No steps were recorded: call the profiler\u{2019}s `step()` after each iteration, or name parts of the run with `record_function`.";
            return StepTimes {
                headline: headline.to_owned(),
                steps: Vec::new(),
            };
        };
        let longest_ns = lengths_ns.iter().copied().max().unwrap_or_default();
        let lines = self.steps.lines().into_iter();
        let steps = lines.zip(windows).map(|(line, step)| {
            let range = step.window.span;
            let timeline = range_timeline(&self.whole, self.report.options.gpu_events, range);
            let share = percent_of(range.length(), median_ns).filter(|_| lengths_ns.len() > 1);
            StepTime {
                line,
                of_median: share.map_or(String::new(), |share| format!("{:.2}×", share / 100.0)),
                is_slow: share.is_some_and(|share| share >= SLOW_PERCENT),
                parts: split(&timeline),
                percent: percent_of(range.length(), longest_ns).unwrap_or_default(),
            }
        });
        let steps: Vec<StepTime> = steps.collect();
        StepTimes {
            headline: headline(&steps, median_ns),
            steps,
        }
    }
}

fn headline(steps: &[StepTime], median_ns: i64) -> String {
    let median = format::time_ns(median_ns);
    let slow: Vec<&StepTime> = steps.iter().filter(|step| step.is_slow).collect();
    match (steps, &slow[..]) {
        ([only], _) => format!("{} takes {median}.", only.line.name),
        (_, []) => format!("{} steps take about {median} each.", steps.len()),
        (_, [slow]) => format!(
            "{} takes {}: {} the median of {median}.",
            slow.line.name, slow.line.window_length, slow.of_median
        ),
        (_, slow) => format!(
            "{} of {} steps take at least a tenth longer than the median of {median}.",
            slow.len(),
            steps.len()
        ),
    }
}

#[cfg(test)]
mod tests {
    use dormer_core::testing::Timetable;

    use super::*;
    use crate::protocol::Choice;

    /// Steps with a kernel each, 20 µs after they begin; that of the last is twice as long.
    fn three_steps() -> Timetable {
        let step = |trace: Timetable, number: u32, kernel_us: u32| {
            let start = 1000 + number * 100;
            trace
                .annotation(&format!("ProfilerStep#{number}"), start..start + 100)
                .op("aten::mm", start + 2..start + 12)
                .launch(number, start + 4..start + 6)
                .kernel(number, "gemm", start + 20..start + 20 + kernel_us)
        };
        [(1, 40), (2, 40), (3, 80)]
            .into_iter()
            .fold(Timetable::new(), |trace, (number, kernel_us)| {
                step(trace, number, kernel_us)
            })
    }

    #[test]
    fn a_step_that_takes_longer_than_the_others_leads() {
        let analysis = Analysis::new(three_steps().profile(), &Choice::default());
        let StepTimes { headline, steps } = analysis.step_times();
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
        assert_eq!(parts, [80_000, 0, 0, 20_000]);
    }

    #[test]
    fn without_steps_the_sentence_says_how_to_record_them() {
        let trace = Timetable::new().op("aten::mm", 0..10);
        let times = Analysis::new(trace.profile(), &Choice::default()).step_times();
        assert!(
            times.steps.is_empty() && times.headline.contains("`step()`"),
            "{times:?}"
        );
    }
}
