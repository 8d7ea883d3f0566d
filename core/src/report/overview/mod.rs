//! What a user reads first: the answer in one sentence, and the few numbers behind it.
//!
//! Plain data. The page and the Markdown report show the same, so it is worked out here and
//! written with [`crate::format`] there.

mod gpus;
mod hardware;
mod quality;
mod roofs;
mod time;
mod unfused;

pub(super) use hardware::recorded_on;
pub use hardware::{Hardware, HardwareFigure};
pub use quality::{Level, Quality, QualityLine};
pub use roofs::Anomaly;
pub use time::{FamilyTime, KernelTime, OperationTime};
pub use unfused::UnfusedAttention;

use super::labels::Labels;
use super::{Judged, ReportOptions, Thresholds, Timelines};
use crate::analysis::{Analyses, cpu_idle};
use crate::category::Family;
use crate::format;
use crate::interval::{percent_of, sum};
use crate::profile::{NoGpu, Profile};
use crate::timeline::GpuTimeline;
use crate::trace::Category;
use crate::window::WindowOf;
use gpus::Gpus;

/// The overview of a report.
#[derive(Debug, Clone, PartialEq)]
pub struct Overview {
    /// The part of the time that all of this is of; `None` for the whole trace.
    pub window: Option<WindowOf>,
    /// The answer, in a sentence or two.
    pub headline: String,
    /// Why nothing is said of the GPU; `None` where something is.
    pub no_gpu: Option<NoGpu>,
    /// How busy each of several GPUs is, in a sentence; `None` for one GPU.
    pub each_gpu: Option<String>,
    /// How the time of the GPU splits, in the order of the bar; empty without GPU activity.
    pub split: Vec<SplitPart>,
    /// From the first start to the last end of GPU work; of a window its length.
    pub total_ns: Option<i64>,
    /// Time in which anything runs on the GPU.
    pub busy_ns: Option<i64>,
    /// A few figures of the whole trace.
    pub facts: Vec<Fact>,
    /// What `families` and `operations` measure.
    pub measure: Measure,
    /// Time by kind of work, the longest first.
    pub families: Vec<FamilyTime>,
    /// How much of that is attention in separate operations, which has no category of its own.
    pub unfused_attention: Option<UnfusedAttention>,
    /// Share of busy time in which work runs whose kind its kernel's name alone tells: no operator
    /// is known above it. `None` without GPU activity.
    pub by_kernel_name_percent: Option<f64>,
    /// The operations that took the most time, the longest first.
    pub operations: Vec<OperationTime>,
    /// The kernels that took the most time, the longest first; empty without GPU activity.
    pub kernels: Vec<KernelTime>,
    /// Operations that run faster than the GPU can, those of the most time first.
    pub anomalies: Vec<Anomaly>,
    /// How far the numbers can be trusted.
    pub quality: Quality,
    /// The GPU that the report judges by.
    pub hardware: Hardware,
}

/// One part of the time of the GPU.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SplitPart {
    /// Which part.
    pub kind: SplitKind,
    /// Its length.
    pub ns: i64,
    /// Its share of the whole.
    pub percent: f64,
}

/// The parts of the time of the GPU. They do not overlap, and sum up to the whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SplitKind {
    /// Something is computed.
    Computation,
    /// Communication while nothing is computed.
    ExposedCommunication,
    /// Copies while nothing is computed or communicated.
    ExposedCopies,
    /// Nothing runs.
    Idle,
}

impl SplitKind {
    /// For people.
    pub fn label(self) -> &'static str {
        match self {
            SplitKind::Computation => "Computation",
            SplitKind::ExposedCommunication => "Exposed communication",
            SplitKind::ExposedCopies => "Exposed copies",
            SplitKind::Idle => "Idle",
        }
    }

    /// Its name in style sheets.
    pub fn token(self) -> &'static str {
        match self {
            SplitKind::Computation => "computation",
            SplitKind::ExposedCommunication => "comm",
            SplitKind::ExposedCopies => "copy",
            SplitKind::Idle => "idle",
        }
    }
}

/// A figure with its name, both for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fact {
    /// What it is.
    pub label: &'static str,
    /// How much, with its unit.
    pub value: String,
}

/// What times are measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// Time on the GPU.
    Gpu,
    /// Time on the host in an operator itself: no GPU activity was recorded.
    Host,
}

impl Measure {
    /// For column heads.
    pub fn label(self) -> &'static str {
        match self {
            Measure::Gpu => "GPU time",
            Measure::Host => "CPU time",
        }
    }
}

impl Overview {
    pub(super) fn new(
        profile: &Profile,
        options: &ReportOptions,
        timelines: &Timelines,
        labels: &Labels,
        judged: &[Judged],
        analyses: &Analyses,
    ) -> Overview {
        let whole = timelines.whole.as_ref();
        let thresholds = &options.thresholds;
        let times = match whole {
            Some(whole) => time::on_gpu(profile, labels, timelines.events, whole, thresholds),
            None => time::on_host(profile),
        };
        let operations = profile.operations().iter().zip(judged).enumerate();
        let counted = operations
            .map(|(at, (operation, judged))| (at, operation, judged))
            .filter(|(_, operation, _)| operation.counts(timelines.events));
        let anomalies = roofs::anomalies(profile, counted.clone());
        let unfused =
            whole.and_then(|whole| UnfusedAttention::new(profile, analyses, whole.busy_ns));
        let before_recording_ns = cpu_idle::before_recording_ns(analyses);
        let gpus = whole.map(|whole| Gpus::new(whole, timelines, profile));
        Overview {
            window: profile.window.clone(),
            no_gpu: profile.no_gpu(),
            headline: match whole.zip(gpus.as_ref()) {
                Some(_) if profile.is_idle_untold() => {
                    "How busy the GPU is cannot be told: too much of its work has no duration that can be true."
                        .to_owned()
                }
                Some((whole, gpus)) => {
                    let mut headline =
                        gpu_headline(whole, gpus, &times.families, unfused.as_ref(), thresholds);
                    headline.extend(before_recording(whole, before_recording_ns));
                    headline
                }
                None => host_headline(profile, &times.families),
            },
            each_gpu: gpus.and_then(|gpus| gpus.each),
            split: whole.map_or(Vec::new(), split),
            total_ns: whole.map(GpuTimeline::total_ns),
            busy_ns: whole.map(|whole| whole.busy_ns),
            facts: facts(profile, timelines, whole),
            measure: match whole {
                Some(_) => Measure::Gpu,
                None => Measure::Host,
            },
            families: times.families,
            unfused_attention: unfused,
            by_kernel_name_percent: times.by_kernel_name_percent,
            operations: times.operations,
            kernels: times.kernels,
            quality: Quality::new(
                profile,
                timelines.events,
                &anomalies,
                before_recording_ns,
                thresholds,
            ),
            hardware: Hardware {
                caveat: roofs::mixed_basis(counted),
                ..Hardware::new(profile, options)
            },
            anomalies,
        }
    }

    /// Share of the total time in which anything runs on the GPU.
    pub fn busy_percent(&self) -> Option<f64> {
        percent_of(self.busy_ns?, self.total_ns?)
    }
}

fn gpu_headline(
    whole: &GpuTimeline,
    gpus: &Gpus,
    families: &[FamilyTime],
    unfused: Option<&UnfusedAttention>,
    thresholds: &Thresholds,
) -> String {
    let total = format::time_ns(whole.total_ns());
    let share = |ns| percent_of(ns, whole.total_ns());
    let family = leading(families).map(|family| (in_sentence(family.family), family.percent));
    let unfused = unfused
        .filter(|unfused| family.is_none_or(|(_, percent)| unfused.percent > percent))
        .map(|unfused| ("attention in separate operations", unfused.percent));
    let Gpus {
        subject, is, it, ..
    } = &gpus;
    let mut headline = match (share(whole.busy_ns), unfused.or(family)) {
        (Some(busy), Some((first, percent))) if busy < thresholds.headline_idle_percent => format!(
            "{subject} {is} idle {} of {total}; while {it} {is} busy, {} takes {} of the time.",
            format::percent(100.0 - busy),
            first,
            format::percent(percent)
        ),
        (Some(busy), Some((first, percent))) => format!(
            "{subject} {is} busy {} of {total}; {} takes {} of that time.",
            format::percent(busy),
            first,
            format::percent(percent)
        ),
        (Some(busy), None) => format!("{subject} {is} busy {} of {total}.", format::percent(busy)),
        _ => return "GPU work was recorded, but none with a duration.".to_owned(),
    };
    if let Some(each) = &gpus.each {
        headline.push(' ');
        headline.push_str(each);
    }
    for (ns, what) in [
        (
            gpus.of_one.exposed_comm_ns,
            "Communication that nothing hides takes",
        ),
        (
            gpus.of_one.exposed_memcpy_ns,
            "Copies that nothing hides take",
        ),
    ] {
        let least = thresholds.headline_exposed_percent;
        if let Some(share) = share(ns).filter(|share| *share >= least) {
            headline.push_str(&format!(
                " {what} {} of the run{}.",
                format::percent(share),
                gpus.in_the_mean
            ));
        }
    }
    headline
}

/// That the GPU may not have idled for all that it seems to.
fn before_recording(whole: &GpuTimeline, ns: Option<i64>) -> Option<String> {
    let share = percent_of(ns?, whole.total_ns())?;
    Some(format!(
        " In {} of the run it may still do what was launched before the recording.",
        format::percent(share)
    ))
}

fn host_headline(profile: &Profile, families: &[FamilyTime]) -> String {
    if let Some(window) = profile
        .window
        .as_ref()
        .filter(|_| profile.is_empty_window())
    {
        return format!(
            "No GPU work starts in this window ({}). Choose a longer one, or the whole trace.",
            window.name()
        );
    }
    let all_ns = sum(profile.host_ops.iter().map(|op| op.self_ns));
    if all_ns == 0 {
        return match profile.has_lost_gpu_events() {
            true => "Neither GPU work nor PyTorch operators could be read.",
            false => "Neither GPU activity nor PyTorch operators were recorded.",
        }
        .to_owned();
    }
    let all = format::time_ns(all_ns);
    let without_gpu = profile.without_gpu().trim_end_matches('.');
    match leading(families) {
        Some(first) => format!(
            "{without_gpu}; on the host, {} takes {} of {all} in operators.",
            in_sentence(first.family),
            format::percent(first.percent)
        ),
        None => format!("{without_gpu}; the host spends {all} in operators."),
    }
}

/// The family with the most time; "other" says nothing.
fn leading(families: &[FamilyTime]) -> Option<&FamilyTime> {
    families
        .iter()
        .find(|family| family.family != Family::Other && family.ns > 0)
}

/// A label in the middle of a sentence: "element-wise work", but "GEMM".
fn in_sentence(family: Family) -> &'static str {
    match family {
        Family::Gemm => "GEMM",
        Family::Attention => "attention",
        Family::Convolution => "convolution",
        Family::Normalisation => "normalisation",
        Family::Elementwise => "element-wise work",
        Family::Reduction => "reduction",
        Family::Moe => "mixture-of-experts work",
        Family::Triton => "generated Triton code",
        Family::MemoryCopy => "memory copying",
        Family::Communication => "communication",
        Family::Other => "other work",
    }
}

fn split(whole: &GpuTimeline) -> Vec<SplitPart> {
    [
        (SplitKind::Computation, whole.computation_ns),
        (SplitKind::ExposedCommunication, whole.exposed_comm_ns),
        (SplitKind::ExposedCopies, whole.exposed_memcpy_ns),
        (SplitKind::Idle, whole.idle_ns),
    ]
    .into_iter()
    .filter_map(|(kind, ns)| {
        let percent = percent_of(ns, whole.total_ns())?;
        Some(SplitPart { kind, ns, percent })
    })
    .collect()
}

fn facts(profile: &Profile, timelines: &Timelines, whole: Option<&GpuTimeline>) -> Vec<Fact> {
    let mut facts = Vec::new();
    let mut add = |label, value| facts.push(Fact { label, value });
    if let Some(whole) = whole {
        let n_of = |category: Category| {
            let work = profile.gpu.of(timelines.events);
            work.filter(|work| work.category == category).count() as u64
        };
        let label = match profile.window {
            Some(_) => "Time analysed",
            None => "First to last GPU work",
        };
        add(label, format::time_ns(whole.total_ns()));
        match timelines.gpus.is_empty() {
            true => add("GPU busy", format::time_ns(whole.busy_ns)),
            false => add("Any GPU busy", format::time_ns(whole.busy_ns)),
        }
        if let Some(of_one) = timelines
            .of_one_gpu()
            .filter(|_| !timelines.gpus.is_empty())
        {
            add("GPUs", format::count(timelines.gpus.len() as u64));
            add("A GPU busy in the mean", format::time_ns(of_one.busy_ns));
        }
        for (label, category) in [
            ("Kernels", Category::Kernel),
            ("Copies", Category::GpuMemcpy),
            ("Fills", Category::GpuMemset),
        ] {
            let count = n_of(category);
            if count > 0 {
                add(label, format::count(count));
            }
        }
    }
    let n_ops: u64 = profile.host_ops.iter().map(|op| op.n_calls).sum();
    if n_ops > 0 {
        add("Operator calls", format::count(n_ops));
    }
    add("Events", format::count(profile.trace.n_events_read));
    add("Trace size", format::bytes(profile.text_bytes));
    facts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Report;
    use crate::testing::Timetable;

    fn overview(timetable: Timetable) -> Overview {
        Report::new(&timetable.profile(), &ReportOptions::default()).overview
    }

    #[test]
    fn the_headline_is_the_answer() {
        let overview = overview(
            Timetable::new()
                .op("aten::mm", 0..10)
                .launch(1, 1..2)
                .op("aten::relu", 10..20)
                .launch(2, 11..12)
                .kernel(1, "sm90_xmma_gemm_bf16", 20..50)
                .kernel(
                    2,
                    "void at::native::vectorized_elementwise_kernel<4>",
                    60..70,
                ),
        );
        assert_eq!(
            overview.headline,
            "The GPU is busy 80.0 % of 50.0 µs; GEMM takes 75.0 % of that time."
        );
        assert_eq!(overview.busy_percent(), Some(80.0));
    }

    #[test]
    fn a_gpu_that_mostly_waits_is_said_to_be_idle() {
        let overview = overview(
            Timetable::new()
                .op("aten::mm", 0..10)
                .launch(1, 1..2)
                .launch(2, 3..4)
                .kernel(1, "gemm", 0..10)
                .kernel(2, "gemm", 90..100),
        );
        assert_eq!(
            overview.headline,
            "The GPU is idle 80.0 % of 100 µs; while it is busy, GEMM takes 100 % of the time."
        );
    }

    #[test]
    fn waiting_for_others_is_said() {
        let overview = overview(
            Timetable::new()
                .op("aten::mm", 0..10)
                .launch(1, 1..2)
                .op("c10d::allreduce_", 10..20)
                .launch(2, 11..12)
                .op("aten::copy_", 20..30)
                .launch(3, 21..22)
                .kernel(1, "gemm", 100..150)
                .stream(9)
                .kernel(2, "ncclDevKernel_AllReduce", 140..180)
                .copy(3, "Memcpy HtoD (Pinned -> Device)", 180..200),
        );
        assert_eq!(
            overview.headline,
            "The GPU is busy 100 % of 100 µs; GEMM takes 50.0 % of that time. \
             Communication that nothing hides takes 30.0 % of the run. \
             Copies that nothing hides take 20.0 % of the run."
        );
        let split: Vec<(SplitKind, i64)> = overview
            .split
            .iter()
            .map(|part| (part.kind, part.ns))
            .collect();
        assert_eq!(
            split,
            [
                (SplitKind::Computation, 50_000),
                (SplitKind::ExposedCommunication, 30_000),
                (SplitKind::ExposedCopies, 20_000),
                (SplitKind::Idle, 0),
            ]
        );
    }

    /// ```text
    /// µs     100       150       200
    /// GPU 0  [== gemm =)[=== nccl )
    /// GPU 1  [=== nccl )[== gemm =)
    /// ```
    #[test]
    fn of_several_gpus_each_is_judged_for_itself() {
        let overview = overview(
            Timetable::new()
                .op("aten::mm", 0..10)
                .launch(1, 1..2)
                .launch(2, 3..4)
                .op("c10d::allreduce_", 10..20)
                .launch(3, 11..12)
                .launch(4, 13..14)
                .kernel(1, "gemm", 100..150)
                .kernel(3, "ncclDevKernel_AllReduce", 150..180)
                .gpu(1)
                .kernel(4, "ncclDevKernel_AllReduce", 120..150)
                .kernel(2, "gemm", 150..200),
        );
        assert_eq!(
            overview.headline,
            "The 2 GPUs taken together are busy 100 % of 100 µs; GEMM takes 100 % of that time. \
             GPU 0 is busy 80.0 %, GPU 1 80.0 %. \
             Communication that nothing hides takes 30.0 % of the run of a GPU in the mean."
        );
        let fact = |label: &str| {
            let facts = overview.facts.iter();
            facts
                .filter(|fact| fact.label == label)
                .map(|fact| fact.value.clone())
                .next()
        };
        assert_eq!(fact("Any GPU busy"), Some("100 µs".to_owned()));
        assert_eq!(fact("A GPU busy in the mean"), Some("80.0 µs".to_owned()));
    }

    #[test]
    fn without_gpu_activity_the_host_is_shown() {
        let overview = overview(
            Timetable::new()
                .op("aten::linear", 0..100)
                .op("aten::mm", 10..90)
                .op("aten::relu", 100..120),
        );
        assert_eq!(
            overview.headline,
            "No GPU activity was recorded; on the host, GEMM takes 83.3 % of 120 µs in operators."
        );
        assert_eq!(overview.measure, Measure::Host);
        assert_eq!((overview.total_ns, overview.busy_percent()), (None, None));
        assert!(overview.split.is_empty() && overview.kernels.is_empty());
    }

    #[test]
    fn an_empty_trace_says_so() {
        assert_eq!(
            overview(Timetable::new()).headline,
            "Neither GPU activity nor PyTorch operators were recorded."
        );
    }
}
