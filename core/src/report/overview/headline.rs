//! The answer in a sentence or two.

use super::gpus::Gpus;
use super::{FamilyTime, ServingFacts, UnfusedAttention};
use crate::assess::Thresholds;
use crate::assess::idle::cause::IdleCause;
use crate::base::format;
use crate::base::interval::percent_of;
use crate::findings::{Analyses, cpu_idle};
use crate::names::Family;
use crate::profile::Profile;
use crate::profile::gpu::timeline::GpuTimeline;

/// The headline if nothing can be said.
pub(super) const NO_UTILIZATION: &str =
    "GPU utilization cannot be computed: too many GPU events have invalid durations.";

/// How busy the GPUs are, what takes most of the busy time, and what is exposed.
pub(super) fn of_gpu(
    whole: &GpuTimeline,
    gpus: &Gpus,
    families: &[FamilyTime],
    unfused: Option<&UnfusedAttention>,
    serving: Option<&ServingFacts>,
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
    let steps = serving.map_or(String::new(), |serving| format!("{} ", serving.sentence));
    let mut headline = match (share(whole.busy_ns), unfused.or(family)) {
        // With serving steps, how busy the GPU is says little: graph replays keep it busy.
        (Some(busy), Some((first, percent)))
            if serving.is_some() && busy >= thresholds.headline_idle_percent =>
        {
            let percent = format::percent(percent);
            format!("{steps}Of the busy time {percent} is {first}.")
        }
        (Some(busy), Some((first, percent))) if busy < thresholds.headline_idle_percent => format!(
            "{steps}{subject} {is} idle {} of {total}; while {it} {is} busy, {} takes {} of the time.",
            format::percent(100.0 - busy),
            first,
            format::percent(percent)
        ),
        (Some(busy), Some((first, percent))) => format!(
            "{subject} {is} busy {} of {total}; {} takes {} of the busy time.",
            format::percent(busy),
            first,
            format::percent(percent)
        ),
        (Some(busy), None) => format!("{subject} {is} busy {} of {total}.", format::percent(busy)),
        _ => return "GPU activity was recorded, but none with a duration.".to_owned(),
    };
    if let Some(each) = &gpus.each {
        headline.push(' ');
        headline.push_str(each);
    }
    for (ns, what) in [
        (gpus.of_one.exposed_comm_ns, "Exposed communication takes"),
        (gpus.of_one.exposed_memcpy_ns, "Exposed memory copies take"),
    ] {
        let least = thresholds.headline_exposed_percent;
        if let Some(share) = share(ns).filter(|share| *share >= least) {
            headline.push_str(&format!(
                " {what} {} of the run{}.",
                format::percent(share),
                gpus.on_average
            ));
        }
    }
    headline
}

/// States how much of the busy time trial kernels of tuning take, if it is much: the kind of work that takes most of
/// it is said without them.
pub(super) fn of_trials(percent: Option<f64>, thresholds: &Thresholds) -> String {
    let least = thresholds.headline_exposed_percent;
    percent
        .filter(|percent| *percent >= least)
        .map_or(String::new(), |percent| {
            let share = format::percent(percent);
            format!(" Autotuning trials take {share} of the busy time.")
        })
}

/// Causes, by key, of time that counts as idle although the GPU runs something or may run something.
#[rustfmt::skip]
const NOT_IDLE: [(IdleCause, &str); 2] = [
    (IdleCause::BeforeRecording, "may still run kernels launched before the recording"),
    (IdleCause::UnrecordedGraph, "may run GPU graphs whose kernels were not recorded"),
];

/// States that the GPU may not have been idle for all of the idle time: a sentence for each cause.
pub(super) fn not_idle(whole: &GpuTimeline, analyses: &Analyses) -> String {
    let sentences = NOT_IDLE.iter().filter_map(|(cause, what)| {
        let share = percent_of(cpu_idle::time_of(analyses, *cause)?, whole.total_ns())?;
        let share = format::percent(share);
        Some(format!(" In {share} of the run it {what}."))
    });
    sentences.collect()
}

/// For a trace or window without GPU activity: what takes the time on the CPU.
pub(super) fn of_host(profile: &Profile, families: &[FamilyTime]) -> String {
    if let Some(window) = profile
        .window
        .as_ref()
        .filter(|_| profile.is_empty_window())
    {
        return format!(
            "No GPU activity starts in this window ({}). Choose a longer one, or the whole trace.",
            window.name()
        );
    }
    let all_ns = profile.cpu_self_ns();
    if all_ns == 0 {
        return match profile.has_lost_gpu_events() {
            true => "Neither GPU activity nor PyTorch operators could be read.",
            false => "Neither GPU activity nor PyTorch operators were recorded.",
        }
        .to_owned();
    }
    let all = format::time_ns(all_ns);
    let without_gpu = profile.without_gpu().trim_end_matches('.');
    match leading(families) {
        Some(first) => format!(
            "{without_gpu}; on the CPU, {} takes {} of {all} in operators.",
            in_sentence(first.family),
            format::percent(first.percent)
        ),
        None => format!("{without_gpu}; the CPU spends {all} in operators."),
    }
}

/// The family with the most time. "Other" says nothing, so it is the next one, unless "other" takes most of the time.
fn leading(families: &[FamilyTime]) -> Option<&FamilyTime> {
    /// In percent.
    const MOST: f64 = 50.0;
    families.iter().find(|family| {
        let is_told = family.family != Family::Other || family.percent > MOST;
        is_told && family.ns > 0
    })
}

/// A label in the middle of a sentence: "element-wise work", but "GEMM".
pub(super) fn in_sentence(family: Family) -> &'static str {
    match family {
        Family::Gemm => "GEMM",
        Family::Attention => "attention",
        Family::Convolution => "convolution",
        Family::Normalization => "normalization",
        Family::Elementwise => "element-wise work",
        Family::Reduction => "reduction",
        Family::Moe => "mixture-of-experts work",
        Family::Triton => "generated Triton code",
        Family::MemoryCopy => "memory copying",
        Family::Communication => "communication",
        Family::Other => "other work",
        Family::Unattributed => "unattributed work",
    }
}
