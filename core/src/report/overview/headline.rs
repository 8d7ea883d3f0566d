//! The answer in a sentence or two.

use super::gpus::Gpus;
use super::time::Times;
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

/// What the headline of a trace with GPU activity follows from.
pub(super) struct OnGpu<'a> {
    pub(super) whole: &'a GpuTimeline,
    pub(super) gpus: &'a Gpus,
    pub(super) times: &'a Times,
    pub(super) unfused: Option<&'a UnfusedAttention>,
    pub(super) serving: Option<&'a ServingFacts>,
    pub(super) thresholds: &'a Thresholds,
}

impl OnGpu<'_> {
    /// How busy the GPUs are, what takes most of the busy time, and what is exposed.
    pub(super) fn headline(&self, analyses: &Analyses) -> String {
        let busy = match self.busy() {
            Some(busy) => {
                let each = self.gpus.each.iter().map(|each| format!(" {each}"));
                let more = each.chain(self.exposed());
                busy + &more.collect::<String>()
            }
            None => "GPU activity was recorded, but none with a duration.".to_owned(),
        };
        [busy, self.trials(), not_idle(self.whole, analyses)].concat()
    }

    fn share(&self, ns: i64) -> Option<f64> {
        percent_of(ns, self.whole.total_ns())
    }

    /// How busy the GPUs are and what takes most of the busy time; `None` if no GPU activity has a duration.
    fn busy(&self) -> Option<String> {
        let busy = self.share(self.whole.busy_ns)?;
        let total = format::time_ns(self.whole.total_ns());
        let Gpus {
            subject, is, it, ..
        } = self.gpus;
        let serving = self.serving;
        let steps = serving.map_or(String::new(), |serving| format!("{} ", serving.sentence));
        let is_idle = busy < self.thresholds.headline_idle_percent;
        let idle_share = format::percent(100.0 - busy);
        let busy = format::percent(busy);
        let Some((first, percent)) = self.first() else {
            return Some(format!("{subject} {is} busy {busy} of {total}."));
        };
        let percent = format::percent(percent);
        Some(match (is_idle, serving.is_some()) {
            (true, _) => format!(
                "{steps}{subject} {is} idle {idle_share} of {total}; while {it} {is} busy, {first} takes {percent} of the time."
            ),
            // With serving steps, how busy the GPU is says little: graph replays keep it busy.
            (false, true) => format!("{steps}Of the busy time {percent} is {first}."),
            (false, false) => format!(
                "{subject} {is} busy {busy} of {total}; {first} takes {percent} of the busy time."
            ),
        })
    }

    /// What takes most of the busy time, and its share.
    fn first(&self) -> Option<(&'static str, f64)> {
        let family = leading(&self.times.without_trials);
        let family = family.map(|family| (in_sentence(family.family), family.percent));
        let unfused = self
            .unfused
            .filter(|unfused| family.is_none_or(|(_, percent)| unfused.percent > percent))
            .map(|unfused| ("attention in separate operations", unfused.percent));
        unfused.or(family)
    }

    /// A sentence each for communication and copies, if much of them is exposed.
    fn exposed(&self) -> impl Iterator<Item = String> {
        let of_one = &self.gpus.of_one;
        let all = [
            (of_one.exposed_comm_ns, "Exposed communication takes"),
            (of_one.exposed_memcpy_ns, "Exposed memory copies take"),
        ];
        let least = self.thresholds.headline_exposed_percent;
        all.into_iter().filter_map(move |(ns, what)| {
            let share = self.share(ns).filter(|share| *share >= least)?;
            let share = format::percent(share);
            Some(format!(
                " {what} {share} of the run{}.",
                self.gpus.on_average
            ))
        })
    }

    /// States how much of the busy time trial kernels of tuning take, if it is much: the kind of work that takes most of
    /// it is said without them.
    fn trials(&self) -> String {
        let least = self.thresholds.headline_exposed_percent;
        let percent = self.times.trials_percent;
        percent
            .filter(|percent| *percent >= least)
            .map_or(String::new(), |percent| {
                let share = format::percent(percent);
                format!(" Autotuning trials take {share} of the busy time.")
            })
    }
}

/// Causes, by key, of time that counts as idle although the GPU runs something or may run something.
#[rustfmt::skip]
const NOT_IDLE: [(IdleCause, &str); 2] = [
    (IdleCause::BeforeRecording, "may still run kernels launched before the recording"),
    (IdleCause::UnrecordedGraph, "may run GPU graphs whose kernels were not recorded"),
];

/// States that the GPU may not have been idle for all of the idle time: a sentence for each cause.
fn not_idle(whole: &GpuTimeline, analyses: &Analyses) -> String {
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
