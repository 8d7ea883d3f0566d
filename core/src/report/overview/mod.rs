//! What a user reads first: the result in one sentence, and the few numbers behind it.
//!
//! Plain data. The page and the Markdown report show the same content, so it is computed here and formatted there with
//! [`crate::base::format`].

mod arguments;
mod facts;
mod gpus;
mod hardware;
mod headline;
mod known_work;
mod limits;
mod quality;
mod repairs;
mod roofline;
mod rope;
mod serving;
mod split;
mod step_memory;
#[cfg(test)]
mod tests;
mod time;
mod unfused;

use crate::assess::idle::cause::IdleCause;
use crate::base::labels::labeled;
use crate::findings::{Analyses, cpu_idle};
use crate::profile::gpu::timeline::GpuTimeline;
use crate::profile::window::WindowOf;
use crate::profile::{NoGpu, Profile};
use crate::report::{Evaluation, ReportOptions, Timelines, steps};
use facts::facts;
use gpus::Gpus;

pub(super) use hardware::recorded_on;
pub use hardware::{Hardware, HardwareFigure};
pub use limits::{Limit, LimitKind, LimitSwitch};
pub use quality::{Level, Quality, QualityLine};
pub use repairs::{RepairedFigure, RepairedKind};
pub use roofline::Anomaly;
pub use serving::{PhaseFigures, ServingFacts, StageLine};
pub use split::{SplitKind, SplitPart, split};
pub(crate) use step_memory::{phase_of_memory, step_memory};
pub use time::{FamilyTime, WorkTime};
pub use unfused::UnfusedAttention;

/// The overview of a report.
#[derive(Debug, Clone, PartialEq)]
pub struct Overview {
    /// The time window that everything here covers; `None` for the whole trace.
    pub window: Option<WindowOf>,
    /// The result, in a sentence or two.
    pub headline: String,
    /// The steps, for a serving engine or a diffusion pipeline.
    pub serving: Option<ServingFacts>,
    /// Why there are no GPU numbers; `None` if there are.
    pub no_gpu: Option<NoGpu>,
    /// How busy each of several GPUs is, in a sentence; `None` for one GPU.
    pub each_gpu: Option<String>,
    /// How GPU time splits, in the order of the bar; empty without GPU activity.
    pub split: Vec<SplitPart>,
    /// From the first start to the last end of GPU activity; for a window, its length.
    pub total_ns: Option<i64>,
    /// Time in which anything runs on the GPU.
    pub busy_ns: Option<i64>,
    /// A few figures of the whole trace: label and value.
    pub facts: Vec<(String, String)>,
    /// What `families` and `operations` measure.
    pub measure: Measure,
    /// Time by kind of work, longest first.
    pub families: Vec<FamilyTime>,
    /// How much of it is attention in separate operations, which has no category of its own.
    pub unfused_attention: Option<UnfusedAttention>,
    /// Share of busy time with activity whose kind is known only from the kernel name, as no operator is known above
    /// it. `None` without GPU activity.
    pub by_kernel_name_percent: Option<f64>,
    /// The operations that took the most time, longest first.
    pub operations: Vec<WorkTime>,
    /// The kernels that took the most time, longest first; empty without GPU activity.
    pub kernels: Vec<WorkTime>,
    /// Operations that run faster than the GPU can, longest first.
    pub anomalies: Vec<Anomaly>,
    /// How far the numbers can be trusted.
    pub quality: Quality,
    /// The limits on that, in a few words each.
    pub limits: Vec<Limit>,
    /// The GPU that the report compares with.
    pub hardware: Hardware,
}

labeled! {
    /// What the times measure.
    pub enum Measure {
        /// Time on the GPU.
        Gpu => "GPU time",
        /// CPU self time of operators: no GPU activity was recorded.
        Cpu => "CPU time",
    }
}

impl Overview {
    /// What is known before the analyses run: how the time splits and what takes it. What findings add is missing.
    pub fn first(profile: &Profile, options: &ReportOptions) -> Overview {
        let timelines = Timelines::of(profile);
        Overview::new(profile, options, &timelines, &[], &Analyses::default())
    }

    pub(super) fn new(
        profile: &Profile,
        options: &ReportOptions,
        timelines: &Timelines,
        evaluations: &[Evaluation],
        analyses: &Analyses,
    ) -> Overview {
        let whole = timelines.whole.as_ref();
        let thresholds = &options.thresholds;
        let times = match whole {
            Some(whole) => time::on_gpu(profile, whole, thresholds),
            None => time::on_host(profile),
        };
        let operations = profile.operations().iter().zip(evaluations).enumerate();
        let counted = operations.map(|(at, (operation, evaluation))| (at, operation, evaluation));
        let anomalies = roofline::anomalies(profile, counted.clone());
        let unfused =
            whole.and_then(|whole| UnfusedAttention::new(profile, analyses, whole.busy_ns));
        let before_recording_ns = cpu_idle::time_of(analyses, IdleCause::BeforeRecording);
        let gpus = whole.map(|whole| Gpus::new(whole, timelines, profile));
        let serving = serving_facts(profile, options, evaluations, whole);
        let hardware = Hardware {
            caveat: roofline::mixed_basis(counted),
            ..Hardware::new(profile, options)
        };
        let unrecorded = [before_recording_ns, whole.map(GpuTimeline::total_ns)];
        let arguments = [arguments::lines(profile), shape_sources(profile)].concat();
        let limits = limits::limits(profile, &hardware, unrecorded, thresholds);
        let headline = match whole.zip(gpus.as_ref()) {
            Some(_) if profile.is_idle_unknown() => headline::NO_UTILIZATION.to_owned(),
            Some((whole, gpus)) => {
                let on_gpu = headline::OnGpu {
                    whole,
                    gpus,
                    times: &times,
                    unfused: unfused.as_ref(),
                    serving: serving.as_ref(),
                    thresholds,
                };
                on_gpu.headline(analyses)
            }
            None => headline::of_host(profile, &times.families),
        };
        Overview {
            window: profile.window.clone(),
            no_gpu: profile.no_gpu(),
            headline: format!("{}{headline}", limits::before_headline(&limits)),
            limits,
            facts: facts(profile, timelines, whole, serving.as_ref()),
            serving,
            each_gpu: gpus.and_then(|gpus| gpus.each),
            split: whole.map_or(Vec::new(), split),
            total_ns: whole.map(GpuTimeline::total_ns),
            busy_ns: whole.map(|whole| whole.busy_ns),
            measure: match whole {
                Some(_) => Measure::Gpu,
                None => Measure::Cpu,
            },
            families: times.families,
            unfused_attention: unfused,
            by_kernel_name_percent: times.by_kernel_name_percent,
            operations: times.operations,
            kernels: times.kernels,
            quality: Quality::new(profile, &anomalies, unrecorded, arguments, thresholds),
            hardware,
            anomalies,
        }
    }
}

/// What is known about requests; `None` if the trace is not of a serving engine.
fn serving_facts(
    profile: &Profile,
    options: &ReportOptions,
    evaluations: &[Evaluation],
    whole: Option<&GpuTimeline>,
) -> Option<ServingFacts> {
    let mut serving = ServingFacts::new(profile)?;
    if let Some([floor, traffic]) =
        step_memory::facts(profile, options, evaluations, &serving.phases)
    {
        let label = step_memory::phase_of_memory(&serving.phases).map(|phase| phase.phase.clone());
        let mut phases = serving.phases.iter().zip(&mut serving.key_facts);
        if let Some((_, facts)) = phases.find(|(one, _)| Some(&one.phase) == label.as_ref()) {
            facts.push(floor);
        }
        serving.facts.push(traffic);
    }
    let thresholds = &options.thresholds;
    let across = profile.serving().map(|all| steps::facts(all, thresholds));
    serving.facts.extend(across.into_iter().flatten());
    let busy_ns = whole.map_or(0, |whole| whole.busy_ns);
    serving.facts.extend(rope::fact(profile, busy_ns));
    serving.facts.extend(known_work::image_tokens(profile));
    serving.facts.extend(known_work::fact(profile, evaluations));
    Some(serving)
}

/// The result of using the given configuration and eager trace.
fn shape_sources(profile: &Profile) -> Vec<(Level, String)> {
    let unfit = profile.config_mismatch().map(|why| (Level::Warn, why));
    let eager = profile
        .eager_coverage()
        .map(|coverage| (Level::Note, coverage));
    let lines = unfit.into_iter().chain(eager);
    lines
        .map(|(level, line)| (level, line.to_owned()))
        .collect()
}
