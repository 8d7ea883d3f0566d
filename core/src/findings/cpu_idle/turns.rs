//! GPUs that take turns: while one is busy, another one waits for it.
//!
//! ```text
//! GPU 0   [== a ==)        [== c ==)            always one of them is busy: there is no idle time,
//! GPU 1            [== b ==)        [== d ==)   and yet each is idle for half of the run
//! ```
//!
//! If their kernels were spread evenly over the whole time, the run would take as long as a GPU is busy on average. The
//! saving is the average idle time of a GPU, minus the time in which none is busy.
//!
//! If one of the GPUs is busy nearly all the time, they do not wait for each other: they have unequal work or, if each
//! has a process of its own and they exchange nothing, are independent.

use std::collections::{BTreeMap, BTreeSet};

use crate::assess::idle::Idle;
use crate::findings::prelude::*;
use crate::profile::Profile;
use crate::profile::gpu::copies::{Direction, direction};
use crate::profile::gpu::timeline::{GpuClass, GpuTimeline};
use crate::profile::launch::process;
use crate::trace::StringId;

/// A GPU that is busy for a smaller share of the busiest one's time is not counted as used by the run.
const LEAST_PART: f64 = 0.05;

/// The relation between GPUs that are idle while others are busy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Relation {
    /// Each is idle for much of the time while another one is busy.
    TakeTurns,
    /// One has more work than others.
    Unequal,
    /// The same for GPUs that exchange nothing, each with a process of its own.
    Independent,
}

/// Several GPUs, at least one of which is idle for much of the time while another one is busy.
pub(super) struct AlternatingGpus<'a> {
    idle: &'a Idle,
    relation: Relation,
    n_gpus: u64,
    least_busy: StringId,
    least_busy_ns: i64,
    busiest_ns: i64,
    mean_ns: i64,
    waited_ns: i64,
}

impl<'a> AlternatingGpus<'a> {
    /// `None` if GPUs wait for less than the threshold.
    pub(super) fn of(input: &Input, idle: &'a Idle) -> Option<AlternatingGpus<'a>> {
        let all = input.timelines.gpus.iter();
        let busy: Vec<(i64, StringId)> = all.map(|(gpu, of)| (of.busy_ns, *gpu)).collect();
        let (busiest_ns, _) = *busy.iter().max_by_key(|(ns, _)| *ns)?;
        let counts = |(ns, _): &(i64, StringId)| *ns as f64 >= busiest_ns as f64 * LEAST_PART;
        let busy: Vec<(i64, StringId)> = busy.into_iter().filter(counts).collect();
        let (least_busy_ns, least_busy) = *busy.iter().min_by_key(|(ns, _)| *ns)?;
        let count = i64::try_from(busy.len()).ok()?;
        let mean_ns = sum(busy.iter().map(|(ns, _)| *ns)) / count.max(1);
        let waited_ns = |busy_ns: i64| idle.timeline.busy_ns.saturating_sub(busy_ns);
        let is_flagged = |ns: i64| idle.percent(waited_ns(ns)) > idle.thresholds.idle_flag_percent;
        (count > 1 && is_flagged(mean_ns)).then(|| AlternatingGpus {
            idle,
            relation: match () {
                () if is_flagged(busiest_ns) => Relation::TakeTurns,
                () if are_independent(input.profile) => Relation::Independent,
                () => Relation::Unequal,
            },
            n_gpus: count.unsigned_abs(),
            least_busy,
            least_busy_ns,
            busiest_ns,
            mean_ns,
            waited_ns: waited_ns(mean_ns),
        })
    }
}

/// Whether each GPU has a process of its own, and none sends anything to another.
fn are_independent(profile: &Profile) -> bool {
    let trace = &profile.trace;
    let mut processes: BTreeMap<StringId, BTreeSet<StringId>> = BTreeMap::new();
    for work in profile.gpu.all() {
        let is_exchange = work.class == GpuClass::Communication
            || (work.class == GpuClass::Memcpy && direction(trace, work) == Direction::PeerToPeer);
        if is_exchange {
            return false;
        }
        let launched_by = work.launched_by.and_then(|call| process(trace, call));
        if let (Some(gpu), Some(launched_by)) = (process(trace, work.event), launched_by) {
            processes.entry(gpu).or_default().insert(launched_by);
        }
    }
    let all: BTreeSet<StringId> = processes.values().flatten().copied().collect();
    let n_pairs: usize = processes.values().map(BTreeSet::len).sum();
    processes.len() > 1 && all.len() == n_pairs
}

impl Subject for AlternatingGpus<'static> {
    type Of<'a> = AlternatingGpus<'a>;

    fn evidence(group: &Group<Self>, _: &Rule<Self>) -> Option<Evidence> {
        let turns = group.first();
        let severity = turns.idle.severity_of(turns.idle.percent(turns.waited_ns));
        Some(Evidence {
            impact: (turns.relation != Relation::Independent)
                .then(|| Impact::at_most(turns.waited_ns)),
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
            (
                "gpu",
                group
                    .input
                    .profile
                    .trace
                    .strings
                    .get(turns.least_busy)
                    .to_owned(),
            ),
            ("least", format::time_ns(turns.least_busy_ns)),
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

pub(super) const RULES: &[Rule<AlternatingGpus>] = &[
    Rule {
        key: "gpus_take_turns",
        when: "each of several GPUs is idle for much of the time while another one is busy",
        applies: |_, turns| turns.relation == Relation::TakeTurns,
        title: "GPUs wait for each other",
        issue: "While some of {gpus} are busy, others are idle: a GPU waits for {time} on average ({share} of the run).",
        model: "let them run at once: several micro-batches in flight where each GPU has a part of the layers, layers that are split over all GPUs, or a copy of the model on each; and give each as much to do as the others.",
        ..ALTERNATING
    },
    Rule {
        key: "gpus_unequal",
        when: "one GPU is busy nearly always, and others are not",
        applies: |_, turns| turns.relation == Relation::Unequal,
        title: "One GPU has more to do than others",
        issue: "Of {gpus} the busiest is busy for {busiest} of {total}, GPU {gpu} for {least}: a GPU is idle for {time} on average ({share} of the run) while others are busy.",
        model: "give each GPU as much to do as the others: an equal share of the batch or of the requests where each has a copy of the model, layers that take equally long where each has a part of it.",
        ..ALTERNATING
    },
    Rule {
        key: "gpus_unequal",
        when: "one GPU is busy nearly always, and others, each with a process of its own, are not",
        title: "One of several independent GPUs is idle",
        issue: "Of {gpus}, each with a process of its own, the busiest is busy for {busiest} of {total}, GPU {gpu} for {least}: they exchange nothing, so that no GPU waits for another one.",
        model: "record and report the process of GPU {gpu} alone, to see what its CPU does while the GPU is idle; where the processes take from one queue or batch, give each an equal share.",
        kernel: "nothing to gain in a kernel.",
        notes: &[],
        ..ALTERNATING
    },
];

const ALTERNATING: Rule<AlternatingGpus> = Rule {
    kernel: "nothing to gain in a kernel, except those of the GPU that is busy longest.",
    notes: &[
        "The busiest GPU is busy for {busiest} of {total}, a GPU on average for {mean}.",
        "With the same kernels spread evenly over all of the time the run would take {spread}, which is the most it can save.",
    ],
    saves: Saves::Evidence,
    has_reproducer: false,
    ..Rule::BASE
};

#[cfg(test)]
mod tests {
    use crate::base::format;
    use crate::findings::samples::assert_contains;
    use crate::findings::{Finding, Priority};
    use crate::testing::Timetable;

    fn found(timetable: &Timetable) -> Option<Finding> {
        let report = timetable.report();
        let mut findings = report.analyses.outcome("cpu_idle")?.findings.iter();
        let turns = findings.find(|finding| finding.pattern.starts_with("gpus_"));
        turns.cloned()
    }

    /// Kernels with their GPU, start and end, launched long before they start.
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
        // Concurrent, and one that does next to nothing.
        assert_eq!(found(&run(&[(0, 20, 220), (1, 20, 220)])), None);
        assert_eq!(found(&run(&[(0, 20, 220), (1, 20, 21)])), None);
    }

    /// A third of the other's work: 100 of 300 µs could be saved, but neither waits for the other.
    #[test]
    fn gpus_with_unequal_work() {
        let work = [(0, 20, 320), (1, 20, 120)];
        let unequal = found(&run(&work)).unwrap();
        assert_eq!(unequal.pattern, "gpus_unequal");
        assert_eq!(unequal.time_ns, 100_000);
        assert_eq!(unequal.impact.map(|impact| impact.high_ns), Some(100_000));
        assert_contains(&unequal.model, &["an equal share of the batch"]);
        // Each has a process of its own: it is unknown whether work can be moved from one to the other.
        let of_two = Timetable::new()
            .gpu(0)
            .op("aten::mm", 0..2)
            .launched("gemm", 0..1, 20..320)
            .process(2)
            .gpu(1)
            .op("aten::mm", 0..2)
            .launched("gemm", 0..1, 20..120);
        let independent = found(&of_two).unwrap();
        assert_eq!(independent.impact, None);
        assert_contains(
            &independent.issue,
            &["GPU 1 for 100 µs: they exchange nothing"],
        );
    }
}
