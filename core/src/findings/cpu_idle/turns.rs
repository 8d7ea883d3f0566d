//! GPUs that take turns: while one works, another one waits for it.
//!
//! ```text
//! GPU 0   [== a ==)        [== c ==)            always one of them works: idle is none,
//! GPU 1            [== b ==)        [== d ==)   and yet each idles for half of the run
//! ```
//!
//! Were their work spread evenly over all of the time, the run would take what a GPU works in the
//! mean: less by the idle time of a GPU in the mean, that in which none works excepted.

use crate::assess::idle::Idle;
use crate::base::format;
use crate::base::interval::{percent_of, sum};
use crate::base::value::{Table, Value};
use crate::findings::Input;
use crate::findings::finding::Effect;
use crate::findings::finding::{Finding, Impact};
use crate::profile::timeline::GpuTimeline;
use crate::trace::StringId;

/// A GPU that works for a smaller part of the time of the busiest one is none of the run's.
const LEAST_PART: f64 = 0.05;

/// Several GPUs of which each idles for much of the time while another one works.
pub(super) fn finding(input: &Input, idle: &Idle) -> Option<Finding> {
    let all = &input.timelines.gpus;
    let busiest_ns = all.iter().map(|(_, gpu)| gpu.busy_ns).max()?;
    let gpus: Vec<&(StringId, GpuTimeline)> = all
        .iter()
        .filter(|(_, gpu)| gpu.busy_ns as f64 >= busiest_ns as f64 * LEAST_PART)
        .collect();
    let count = i64::try_from(gpus.len()).ok().filter(|count| *count > 1)?;
    let mean_ns = sum(gpus.iter().map(|(_, gpu)| gpu.busy_ns)) / count;
    let waited_ns = idle.timeline.busy_ns.saturating_sub(mean_ns);
    let percent = idle.percent(waited_ns);
    if percent <= idle.thresholds.idle_flag_percent {
        return None;
    }
    let total_ns = idle.timeline.total_ns();
    Some(Finding {
        pattern: "gpus_take_turns",
        priority: idle.severity_of(percent).priority(),
        confidence: None,
        title: "GPUs wait for each other".to_owned(),
        issue: format!(
            "While some of {} work, others idle: in the mean a GPU does so for {} ({} of the run).",
            format::counted(gpus.len() as u64, "GPU"),
            format::time_ns(waited_ns),
            format::percent(percent)
        ),
        model: "let them work at once: several micro-batches in flight where each GPU has a part of the layers, layers that are split over all GPUs, or a copy of the model on each; and give each as much to do as the others.".to_owned(),
        kernel: "nothing to gain in a kernel, but in those of the GPU that works longest.".to_owned(),
        reasoning: vec![
            format!(
                "The busiest GPU works for {} of {}, a GPU in the mean for {}.",
                format::time_ns(busiest_ns),
                format::time_ns(total_ns),
                format::time_ns(mean_ns)
            ),
            format!(
                "With the same work spread evenly over all of the time the run would take {}: that is the most there is to gain.",
                format::time_ns(total_ns.saturating_sub(waited_ns))
            ),
        ],
        operations: Vec::new(),
        events: Vec::new(),
        time_ns: waited_ns,
        efficiency_percent: None,
        impact: Some(Impact::at_most(waited_ns)),
        savings: Vec::new(),
        effect: Effect::KernelTime,
        apart: Vec::new(),
        replay: None,
        tables: vec![table(input, all)],
    })
}

fn table(input: &Input, gpus: &[(StringId, GpuTimeline)]) -> Table {
    let mut table = Table::new(
        "idle_by_gpu",
        "How long each GPU works",
        &[
            ("gpu", "GPU"),
            ("busy_time", "Works"),
            ("idle_time", "Idles"),
            ("percent_of_total", "Works, of the run"),
        ],
    );
    let share = |gpu: &GpuTimeline| {
        percent_of(gpu.busy_ns, gpu.total_ns()).map_or(Value::NO_PERCENT, Value::Percent)
    };
    let name = |gpu: StringId| input.profile.trace.strings.get(gpu).to_owned();
    let rows = gpus.iter().map(|(gpu, of_gpu)| {
        vec![
            Value::Text(name(*gpu)),
            Value::Ns(of_gpu.busy_ns),
            Value::Ns(of_gpu.idle_ns),
            share(of_gpu),
        ]
    });
    table.rows = rows.collect();
    table
}

#[cfg(test)]
mod tests {
    use crate::base::format;
    use crate::findings::{Finding, Priority};
    use crate::report::{Report, ReportOptions};
    use crate::testing::Timetable;

    fn found(timetable: &Timetable) -> Option<Finding> {
        let report = Report::new(&timetable.profile(), &ReportOptions::default());
        let findings = &report.analyses.outcome("cpu_idle")?.findings;
        let mut turns = findings.iter();
        turns
            .find(|finding| finding.pattern == "gpus_take_turns")
            .cloned()
    }

    /// Kernels with their GPU, start and end, launched long before.
    fn run(kernels: &[(u32, i64, i64)]) -> Timetable {
        let mut timetable = Timetable::new();
        for id in 0..kernels.len() as u32 {
            let at = f64::from(id) * 2.0;
            timetable = timetable
                .op("aten::mm", at..at + 2.0)
                .launch(id, at..at + 1.0);
        }
        for (id, (gpu, start, end)) in kernels.iter().enumerate() {
            timetable = timetable
                .gpu(*gpu)
                .kernel(id as u32, "gemm", *start as f64..*end as f64);
        }
        timetable
    }

    #[test]
    fn gpus_that_take_turns() {
        let turns = [(0, 20, 120), (1, 120, 220), (0, 220, 320), (1, 320, 420)];
        let found_turns = found(&run(&turns)).unwrap();
        assert_eq!(found_turns.time_ns, 200_000);
        assert_eq!(found_turns.priority, Priority::Medium);
        assert_eq!(
            found_turns.issue,
            format!(
                "While some of 2 GPUs work, others idle: in the mean a GPU does so for {} ({} of the run).",
                format::time_ns(200_000),
                format::percent(50.0)
            )
        );
        // At once, and one that does next to nothing.
        assert_eq!(found(&run(&[(0, 20, 220), (1, 20, 220)])), None);
        assert_eq!(found(&run(&[(0, 20, 220), (1, 20, 21)])), None);
        // A third of the other's work: 100 of 300 µs could be won.
        let uneven = found(&run(&[(0, 20, 320), (1, 20, 120)])).unwrap();
        assert_eq!(uneven.time_ns, 100_000);
    }
}
