//! The windows of the GPUs of a trace.

use std::fmt;

use super::Window;
use crate::base::group::grouped;
use crate::base::interval::Interval;
use crate::base::sort::Arrange;
use crate::profile::Profile;
use crate::profile::gpu::timelines::by_number;
use crate::profile::launch::process;

/// Each GPU with activity, from its first start to its last end; sorted by number.
pub fn gpu_windows(profile: &Profile) -> Vec<Window> {
    let trace = &profile.trace;
    let work = profile.gpu.all();
    let work = work.filter_map(|work| Some((process(trace, work.event)?, work.span)));
    let around = |all: &mut Option<Interval>, span: Interval| {
        *all = Some(all.map_or(span, |all| all.hull(span)));
    };
    let mut gpus: Vec<(_, Option<Interval>)> = grouped(work, around);
    gpus.arrange_by_key(|(gpu, _)| by_number(trace.strings.get(*gpu)));
    let windows = gpus.into_iter().filter_map(|(gpu, span)| {
        Some(Window {
            device: Some(trace.strings.get(gpu).to_owned()),
            ..Window::range(span?)
        })
    });
    windows.collect()
}

/// The window of a GPU, by its number in the trace.
pub fn find_gpu(profile: &Profile, asked: &str) -> Result<Window, UnknownGpu> {
    let asked = asked.trim();
    let windows = gpu_windows(profile);
    let found = windows.iter().find(|window| name(window) == asked);
    found.cloned().ok_or_else(|| UnknownGpu {
        asked: asked.to_owned(),
        gpus: windows
            .iter()
            .map(|window| name(window).to_owned())
            .collect(),
    })
}

fn name(window: &Window) -> &str {
    window.device.as_deref().unwrap_or_default()
}

/// A GPU that cannot be analyzed alone because it has no activity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownGpu {
    /// What was asked for.
    pub asked: String,
    /// The GPUs with activity.
    pub gpus: Vec<String>,
}

impl fmt::Display for UnknownGpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let UnknownGpu { asked, gpus } = self;
        match gpus.is_empty() {
            true => f.write_str("the trace has no GPU activity"),
            false => write!(
                f,
                "no activity on GPU “{asked}”; GPU numbers with activity: {}",
                gpus.join(", ")
            ),
        }
    }
}

impl std::error::Error for UnknownGpu {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::export::{Input, Source as _};
    use crate::output::redact::redact;
    use crate::profile::gpu::timeline::GpuTimeline;
    use crate::report::sheet::Cell;
    use crate::report::{Report, ReportOptions};
    use crate::testing::{Timetable, outline};

    /// One process that drives two GPUs; GPU 3 starts while GPU 0 is idle.
    ///
    /// ```text
    /// µs       0    10   20   30   40   50   60   70   80
    /// host     [=mm=)[=add)        [=mm=)    [copy)
    /// GPU 0         [==gemm==)          [add=)
    /// GPU 3                          [gemm)       [copy)
    /// ```
    fn two_gpus() -> Timetable {
        Timetable::new()
            .op("aten::mm", 0..10)
            .launched("gemm", 2..4, 10..30)
            .op("aten::add", 10..20)
            .launched("add", 12..14, 50..60)
            .gpu(3)
            .op("aten::mm", 40..50)
            .launched("gemm", 42..44, 45..55)
            .op("aten::copy_", 60..70)
            .launched("Memcpy HtoD (Pinned -> Device)", 62..64, 70..80)
    }

    fn alone(whole: &Profile, gpu: &str) -> Profile {
        whole.window(&find_gpu(whole, gpu).unwrap())
    }

    /// Total, computation, exposed copies, busy and idle time in microseconds.
    fn times(profile: &Profile) -> [i64; 5] {
        let report = Report::new(profile, &ReportOptions::default());
        // Nothing from another GPU counts.
        assert!(report.timelines.gpus.is_empty());
        let whole = report.timelines.whole.unwrap();
        split(&whole).map(|ns| ns / 1000)
    }

    fn split(of: &GpuTimeline) -> [i64; 5] {
        [
            of.total_ns(),
            of.computation_ns,
            of.exposed_memcpy_ns,
            of.busy_ns,
            of.idle_ns,
        ]
    }

    #[test]
    fn a_gpu_has_its_own_activity_over_its_own_time() {
        let whole = two_gpus().profile();
        let report = Report::new(&whole, &ReportOptions::default());
        let all = split(&report.timelines.whole.unwrap()).map(|ns| ns / 1000);
        assert_eq!(all, [70, 35, 10, 45, 25]);
        assert_eq!(times(&alone(&whole, "0")), [50, 30, 0, 30, 20]);
        assert_eq!(times(&alone(&whole, "3")), [35, 10, 10, 20, 15]);
    }

    #[test]
    fn calls_are_those_of_its_work_and_those_in_its_time() {
        let whole = two_gpus().profile();
        let calls = |gpu: &str| {
            let part = alone(&whole, gpu);
            outline(&part.trace, &part.tree, &part.launches)
        };
        assert_eq!(
            calls("0"),
            "aten::mm\n  cudaLaunchKernel -> gemm\n\
             aten::add\n  cudaLaunchKernel -> add\n\
             aten::mm\n  cudaLaunchKernel\n"
        );
        assert_eq!(
            calls("3"),
            "aten::mm\n  cudaLaunchKernel -> gemm\n\
             aten::copy_\n  cudaLaunchKernel -> Memcpy HtoD (Pinned -> Device)\n"
        );
    }

    #[test]
    fn windows_of_gpus_split_the_work() {
        let whole = two_gpus().profile();
        let windows = gpu_windows(&whole);
        let spans = windows.iter().map(|window| (name(window), window.span));
        let spans: Vec<_> = spans.collect();
        let us = |from: i64, to: i64| Interval::new(from * 1000, to * 1000);
        assert_eq!(spans, [("0", us(10, 60)), ("3", us(45, 80))]);
        let parts = windows.iter().map(|window| whole.window(window));
        let parts: Vec<Profile> = parts.collect();
        let work = parts.iter().flat_map(|part| part.launches.work.clone());
        let mut work: Vec<_> = work.collect();
        work.sort_unstable();
        assert_eq!(work, whole.launches.work);
        let direct: i64 = parts.iter().map(|part| part.ops.direct_ns()).sum();
        assert_eq!(direct, whole.ops.direct_ns());
    }

    #[test]
    fn a_gpu_is_found_by_its_number() {
        let whole = two_gpus().profile();
        let sentence = |profile: &Profile| find_gpu(profile, "1").unwrap_err().to_string();
        assert_eq!(
            sentence(&whole),
            "no activity on GPU “1”; GPU numbers with activity: 0, 3"
        );
        let without = Timetable::new().op("aten::mm", 0..1).profile();
        assert_eq!(sentence(&without), "the trace has no GPU activity");
        // A single GPU is the whole trace.
        let single = Timetable::new().work("aten::mm", "gemm", 10..20).profile();
        assert_eq!(alone(&single, "0").window, None);
    }

    #[test]
    fn reports_say_which_gpu_they_are_about() {
        let whole = two_gpus().profile();
        let part = alone(&whole, "3");
        let of = part.window.as_ref().unwrap();
        assert_eq!((of.name(), of.length()), ("GPU 3".into(), "35.0 µs".into()));
        let sentence =
            "Only GPU 3 is analyzed: 35.0 µs, from 45.0 µs to 80.0 µs after the trace begins.";
        assert_eq!(of.sentence(), sentence);
        // Also if names are replaced.
        let shown = redact(&part).window.unwrap();
        assert_eq!(shown.sentence(), sentence);
        let report = Report::new(&part, &ReportOptions::default());
        let text = |path: &str| {
            let file = Input::new(&part, &report).artifact(path).unwrap();
            String::from_utf8(file.bytes).unwrap()
        };
        let csv = text("perf_report_csvs/window.csv");
        assert!(csv.contains("\nGPU 3,0.045,0.08,0.035,"), "{csv}");
        assert!(text("standalone_analysis_fair.md").contains(sentence));
        let json: serde_json::Value = serde_json::from_str(&text("findings.json")).unwrap();
        let expected =
            serde_json::json!({"step": null, "gpu": "3", "start_us": 45.0, "end_us": 80.0});
        assert_eq!(json["window"], expected);
    }

    #[test]
    fn memory_of_other_gpus_is_left_out() {
        let whole = two_gpus()
            .gpu(0)
            .memory(0, 0)
            .block(1, 3_000_000, 50)
            .gpu(3)
            .memory(0, 0)
            .block(2, 5_000_000, 50)
            .profile();
        let peaks = |profile: &Profile| -> Vec<(String, u64)> {
            let memory = profile.memory();
            let devices = memory.devices.iter();
            devices
                .map(|one| (one.label.clone(), one.peak.allocated))
                .collect()
        };
        let [first, second] = [("GPU 0".into(), 3_000_000), ("GPU 3".into(), 5_000_000)];
        assert_eq!(peaks(&whole), [first, second.clone()]);
        assert_eq!(peaks(&alone(&whole, "3")), [second]);
    }

    /// A step on two GPUs that do not start and end together.
    #[test]
    fn steps_of_a_serving_engine_have_its_activity() {
        let whole = Timetable::new()
            .annotation("step[DECODE bs=4]", 0..20)
            .op("aten::mm", 1..9)
            .launched("gemm", 2..3, 10..30)
            .gpu(1)
            .launched("gemm", 4..5, 15..50)
            .profile();
        let activity = |profile: &Profile| {
            let steps = &profile.serving().unwrap().steps;
            let spans = steps.iter().filter_map(|step| step.activity);
            let spans = spans.map(|one| (one.span.start_ns / 1000, one.span.end_ns / 1000));
            spans.collect::<Vec<_>>()
        };
        assert_eq!(activity(&whole), [(10, 50)]);
        assert_eq!(activity(&alone(&whole, "0")), [(10, 30)]);
        assert_eq!(activity(&alone(&whole, "1")), [(15, 50)]);
    }

    /// A trace of several GPUs has a block of rows for each: the rows of the sheet for that GPU alone.
    #[test]
    fn the_sheet_of_all_gpus_has_what_each_has_alone() {
        let whole = two_gpus().profile();
        let report = Report::new(&whole, &ReportOptions::default());
        let sheet = report.sheet(&whole, "gpu_timeline_by_gpu").unwrap();
        let labels: Vec<_> = sheet.columns.iter().map(|column| column.label).collect();
        assert_eq!(labels, ["gpu", "type", "time ms", "percent"]);
        let alone = ["0", "3"].map(|gpu| {
            let part = alone(&whole, gpu);
            let report = Report::new(&part, &ReportOptions::default());
            assert!(report.sheet(&part, "gpu_timeline_by_gpu").is_none());
            let rows = report.sheet(&part, "gpu_timeline").unwrap().rows.clone();
            let rows = rows.into_iter();
            rows.map(|row| [vec![Cell::Text(gpu.to_owned())], row].concat())
                .collect::<Vec<_>>()
        });
        assert_eq!(sheet.rows, alone.concat());
    }

    /// In a step, each GPU has the time of the step.
    #[test]
    fn of_a_part_of_the_time_each_gpu_has_that_time() {
        let whole = two_gpus().profile();
        let part = whole.window(&Window::range(Interval::new(45_000, 75_000)));
        let report = Report::new(&part, &ReportOptions::default());
        let sheet = report.sheet(&part, "gpu_timeline_by_gpu").unwrap();
        let totals = sheet.rows.iter().filter_map(|row| match &row[..3] {
            [Cell::Text(gpu), Cell::Text(part), Cell::Float(ms)] if part == "total_time" => {
                Some((gpu.as_str(), *ms))
            }
            _ => None,
        });
        assert_eq!(totals.collect::<Vec<_>>(), [("0", 0.035), ("3", 0.035)]);
    }
}
