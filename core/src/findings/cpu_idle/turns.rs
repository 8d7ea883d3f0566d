//! GPUs that take turns: while one is busy, another one waits for it.
//!
//! ```text
//! GPU 0   [== a ==)        [== c ==)            always one of them is busy: there is no idle time,
//! GPU 1            [== b ==)        [== d ==)   and yet each is idle for half of the run
//! ```
//!
//! Were their kernels spread evenly over all of the time, the run would take what a GPU is busy on
//! average: less by the idle time of a GPU on average, that in which none is busy excepted.

use crate::assess::idle::Idle;
use crate::findings::prelude::*;
use crate::profile::timeline::GpuTimeline;
use crate::trace::StringId;

/// A GPU that is busy for a smaller part of the time of the busiest one is none of the run's.
const LEAST_PART: f64 = 0.05;

/// Several GPUs of which each is idle for much of the time while another one is busy.
pub(super) struct Turns<'a> {
    idle: &'a Idle,
    n_gpus: u64,
    busiest_ns: i64,
    mean_ns: i64,
    waited_ns: i64,
}

impl<'a> Turns<'a> {
    /// `None` where GPUs wait for less than what is flagged.
    pub(super) fn of(input: &Input, idle: &'a Idle) -> Option<Turns<'a>> {
        let all = input.timelines.gpus.iter();
        let busy_ns: Vec<i64> = all.map(|(_, gpu)| gpu.busy_ns).collect();
        let busiest_ns = *busy_ns.iter().max()?;
        let counts = |ns: &i64| *ns as f64 >= busiest_ns as f64 * LEAST_PART;
        let busy_ns: Vec<i64> = busy_ns.into_iter().filter(counts).collect();
        let count = i64::try_from(busy_ns.len()).ok()?;
        let mean_ns = sum(busy_ns) / count.max(1);
        let waited_ns = idle.timeline.busy_ns.saturating_sub(mean_ns);
        let is_flagged = idle.percent(waited_ns) > idle.thresholds.idle_flag_percent;
        (count > 1 && is_flagged).then(|| Turns {
            idle,
            n_gpus: count.unsigned_abs(),
            busiest_ns,
            mean_ns,
            waited_ns,
        })
    }
}

impl Subject for Turns<'static> {
    type Of<'a> = Turns<'a>;

    fn evidence(group: &Group<Self>, _: &Rule<Self>) -> Option<Evidence> {
        let turns = group.first();
        let severity = turns.idle.severity_of(turns.idle.percent(turns.waited_ns));
        Some(Evidence {
            impact: Some(Impact::at_most(turns.waited_ns)),
            tables: vec![busy_by_gpu(group.input)],
            ..Evidence::new(severity.priority(), turns.waited_ns)
        })
    }

    fn words(group: &Group<Self>) -> Words {
        let turns = group.first();
        let total_ns = turns.idle.timeline.total_ns();
        let spread_ns = total_ns.saturating_sub(turns.waited_ns);
        let share = turns.idle.percent(turns.waited_ns);
        vec![
            ("gpus", format::counted(turns.n_gpus, "GPU")),
            ("time", format::time_ns(turns.waited_ns)),
            ("share", format::percent(share)),
            ("busiest", format::time_ns(turns.busiest_ns)),
            ("mean", format::time_ns(turns.mean_ns)),
            ("total", format::time_ns(total_ns)),
            ("spread", format::time_ns(spread_ns)),
        ]
    }
}

fn busy_by_gpu(input: &Input) -> Table {
    let name = |gpu: StringId| Value::Text(input.profile.trace.strings.get(gpu).to_owned());
    let percent = |of: &GpuTimeline| Value::percent(percent_of(of.busy_ns, of.total_ns()));
    let columns: &[CellColumn<&(StringId, GpuTimeline)>] = &[
        ("gpu", "GPU", &|(gpu, _)| name(*gpu)),
        ("busy_time", "Busy", &|(_, of)| Value::Ns(of.busy_ns)),
        ("idle_time", "Idle", &|(_, of)| Value::Ns(of.idle_ns)),
        ("percent_of_total", "Busy, % of run", &|(_, of)| percent(of)),
    ];
    let title = "How long each GPU is busy";
    Table::of("idle_by_gpu", title, &input.timelines.gpus, columns)
}

pub(super) const RULES: &[Rule<Turns>] = &[Rule {
    key: "gpus_take_turns",
    when: "each of several GPUs is idle for much of the time while another one is busy",
    title: "GPUs wait for each other",
    issue: "While some of {gpus} are busy, others are idle: a GPU waits for {time} on average ({share} of the run).",
    model: "let them run at once: several micro-batches in flight where each GPU has a part of the layers, layers that are split over all GPUs, or a copy of the model on each; and give each as much to do as the others.",
    kernel: "nothing to gain in a kernel, except those of the GPU that is busy longest.",
    notes: &[
        "The busiest GPU is busy for {busiest} of {total}, a GPU on average for {mean}.",
        "With the same kernels spread evenly over all of the time the run would take {spread}, which is the most it can save.",
    ],
    saves: Saves::Evidence,
    has_reproducer: false,
    ..Rule::BASE
}];

#[cfg(test)]
mod tests {
    use crate::base::format;
    use crate::findings::{Finding, Priority};
    use crate::testing::Timetable;

    fn found(timetable: &Timetable) -> Option<Finding> {
        let report = timetable.report();
        let mut findings = report.analyses.outcome("cpu_idle")?.findings.iter();
        let turns = findings.find(|finding| finding.pattern == "gpus_take_turns");
        turns.cloned()
    }

    /// Kernels with their GPU, start and end, launched long before.
    fn run(kernels: &[(u32, u32, u32)]) -> Timetable {
        let kernels = kernels.iter().zip(0..);
        kernels.fold(Timetable::new(), |timetable, (&(gpu, start, end), nth)| {
            let at = 2 * nth;
            let operator = timetable.gpu(gpu).op("aten::mm", at..at + 2);
            operator.launched("gemm", at..at + 1, start..end)
        })
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
                "While some of 2 GPUs are busy, others are idle: a GPU waits for {} on average ({} of the run).",
                format::time_ns(200_000),
                format::percent(50.0)
            )
        );
        // At once, and one that does next to nothing.
        assert_eq!(found(&run(&[(0, 20, 220), (1, 20, 220)])), None);
        assert_eq!(found(&run(&[(0, 20, 220), (1, 20, 21)])), None);
        // A third of the other's work: 100 of 300 µs could be saved.
        let uneven = found(&run(&[(0, 20, 320), (1, 20, 120)])).unwrap();
        assert_eq!(uneven.time_ns, 100_000);
    }
}
