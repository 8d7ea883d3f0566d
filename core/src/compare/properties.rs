//! Properties of each of the two traces.

use std::sync::Arc;

use super::lost_data::{losses, misses_calls, unknown_idle_ns};
use super::side::Side;
use crate::assess::idle::Idle;
use crate::assess::idle::cause::IdleCause;
use crate::base::interval::sum;
use crate::findings::{Finding, idle_code};
use crate::hardware::{GpuSpec, Vendor, vendor_of};
use crate::profile::cpu::autograd::is_engine_call;
use crate::profile::gpu::timeline::GpuTimeline;
use crate::profile::gpu::unattributed::{Reason, Unattributed};
use crate::profile::launch::is_graph_call;
use crate::profile::launch::runtime_calls::records_busy_queues;
use crate::profile::operations::slowdown::Slowdown;
use crate::profile::window;
use crate::profile::window::WindowOf;
use crate::report::overview::{Limit, Measure, QualityLine};
use crate::trace::annotations::step_number;

/// Of this many pieces of code that run in idle time, the longest, it is known what to do about them.
const N_EXPLAINED: usize = 8;

/// Properties of one of the two traces.
#[derive(Debug, Clone, PartialEq)]
pub struct TraceProperties {
    /// Its name in tables and prose.
    pub name: String,
    /// The model that ran; `None` if unknown.
    pub model: Option<String>,
    /// The device that the trace names, otherwise the chosen GPU; `None` if neither is known.
    pub platform: Option<String>,
    /// The GPU that its report compares with.
    pub gpu: Option<Arc<GpuSpec>>,
    /// Who makes that GPU; without one, those that it was recorded on.
    pub(crate) vendor: Option<Vendor>,
    /// Whether any operation has the shapes of its arguments.
    pub has_shapes: bool,
    /// What its times measure: the GPU, or the CPU if no GPU activity was recorded.
    pub measure: Measure,
    /// How its GPU time splits; `None` without GPU activity.
    pub timeline: Option<GpuTimeline>,
    /// CPU time in operators.
    pub cpu_ns: i64,
    /// Kernels, copies and fills that count.
    pub n_gpu_events: u64,
    /// The part of the trace that is compared; `None` for all of it.
    pub window: Option<WindowOf>,
    /// The limits on how far its numbers can be trusted.
    pub limits: Vec<Limit>,
    /// Its data losses, worst first.
    pub losses: Vec<QualityLine>,
    /// Whether calls or GPU activity are missing, so that their counts are meaningless.
    pub(crate) misses_calls: bool,
    /// Idle time in which the GPU may have been busy.
    pub(crate) unknown_idle_ns: i64,
    /// States that its report compares with a different GPU than the recorded one, in a sentence.
    pub(crate) mismatch: Option<String>,
    /// Number of GPUs with activity; 0 without GPU activity.
    pub n_gpus: usize,
    /// Whether kernel times in a busy queue include the gap before them.
    pub has_busy_queues: bool,
    /// Why its GPU is idle, and what its own report finds about it.
    pub(crate) idle: IdleReport,
    /// Whether most of its GPU activity belongs to graph replays.
    pub(crate) runs_graphs: bool,
    /// Whether it has a backward pass.
    pub(crate) has_backward: bool,
    /// Whether it was recorded with Python frames.
    pub(crate) has_frames: bool,
    /// The length of all steps of the profiler; 0 without any.
    pub(crate) steps_ns: i64,
    /// The time of GPU activity that was launched before the recording, and belongs to none of its steps.
    pub(crate) before_recording_ns: i64,
    /// How many times as long its kernels take in a part of the run after its start; `None` if their times are steady.
    pub(crate) slows_down: Option<f64>,
}

/// Why the GPU of a trace is idle.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct IdleReport {
    /// Idle time by cause, longest first.
    pub(crate) causes: Vec<(IdleCause, i64)>,
    /// Idle time that is certain, and its share of the run in percent.
    pub(crate) sure: (i64, f64),
    /// What the report of that trace alone finds about it, largest saving first.
    pub(crate) findings: Vec<Finding>,
    /// The code that runs in it in a warm run, longest first.
    pub(crate) code: Vec<IdleCode>,
    /// How many compiled regions a step enters, and the idle time before their first launches.
    pub(crate) regions: Option<(f64, i64)>,
}

/// Code that runs while the GPU of a trace is idle.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct IdleCode {
    /// What and where it is: "`resize` in `image.py:301`".
    pub(crate) place: String,
    /// The idle time during which it runs.
    pub(crate) ns: i64,
    /// What is found about it, however little of the run it takes; `None` if its name says nothing, or if others are
    /// longer.
    pub(crate) finding: Option<Finding>,
}

impl IdleReport {
    fn of(side: &Side) -> IdleReport {
        let input = side.report.analysis_input(side.profile);
        let Some(idle) = Idle::once(&input) else {
            return IdleReport::default();
        };
        let warm = idle.code.rows.iter().filter(|row| !row.is_one_off);
        let code = warm.enumerate().map(|(at, row)| IdleCode {
            place: row.place.text(),
            ns: row.all.ns,
            finding: match at < N_EXPLAINED {
                true => idle_code(&input, &idle, row),
                false => None,
            },
        });
        let code = code.collect();
        let causes = idle.by_time().into_iter();
        let ranked = side.report.analyses.findings.ranked.iter();
        let findings = ranked.filter(|one| one.analysis.key == "cpu_idle");
        IdleReport {
            causes: causes.map(|(cause, gaps)| (cause, gaps.all.ns)).collect(),
            sure: (idle.surely_idle_ns(), idle.surely_idle_percent()),
            findings: findings.map(|one| one.finding.clone()).collect(),
            code,
            regions: idle.regions_per_step.map(|n| (n, idle.before_regions_ns())),
        }
    }

    pub(crate) fn ns_of(&self, wanted: IdleCause) -> i64 {
        let mut causes = self.causes.iter();
        let found = causes.find(|(cause, _)| *cause == wanted);
        found.map_or(0, |(_, ns)| *ns)
    }

    /// Idle time that comes with the first use of kernels or sizes.
    pub(crate) fn ns_of_first_use(&self) -> i64 {
        let causes = self.causes.iter();
        let cold = causes.filter(|(cause, _)| cause.is_of_first_use());
        sum(cold.map(|(_, ns)| *ns))
    }

    /// The idle time during which some code runs.
    pub(crate) fn ns_of_code(&self, place: &str) -> i64 {
        let rows = self.code.iter().filter(|row| row.place == place);
        sum(rows.map(|row| row.ns))
    }

    /// The finding of that trace's own report about a cause, otherwise about its idle time as a whole.
    pub(crate) fn finding(&self, cause: IdleCause) -> Option<&Finding> {
        self.finding_of(cause).or_else(|| self.findings.first())
    }

    /// The finding of that trace's own report about a cause.
    pub(crate) fn finding_of(&self, cause: IdleCause) -> Option<&Finding> {
        let mut findings = self.findings.iter();
        findings.find(|finding| finding.pattern == cause.key())
    }
}

impl TraceProperties {
    pub(super) fn new(side: &Side) -> TraceProperties {
        let hardware = &side.report.overview.hardware;
        let gpu = hardware.gpu.as_ref().map(|gpu| gpu.name.to_string());
        let cpu = side.profile.cpu_ops.iter();
        let mut operations = side.profile.operations().iter();
        TraceProperties {
            has_shapes: operations.any(|operation| {
                let args = operation.args(side.profile);
                args.is_some_and(|args| args.dims.is_some())
            }),
            name: side.name.to_owned(),
            model: side.profile.model_info().model.value.clone(),
            platform: hardware.recorded_on.clone().or(gpu),
            gpu: hardware.gpu.clone(),
            vendor: match hardware.gpu.as_ref().and_then(|gpu| gpu.vendor) {
                None => vendor_of(&side.profile.trace),
                chosen => chosen,
            },
            measure: side.report.overview.measure,
            timeline: side.report.timelines.whole,
            cpu_ns: sum(cpu.map(|op| op.self_ns)),
            n_gpu_events: side.profile.gpu.all().count() as u64,
            window: side.profile.window.clone(),
            limits: side.report.overview.limits.clone(),
            losses: losses(side),
            misses_calls: misses_calls(side),
            unknown_idle_ns: unknown_idle_ns(side),
            mismatch: hardware.mismatch.clone(),
            has_busy_queues: records_busy_queues(&side.profile.trace),
            n_gpus: match side.report.timelines.whole {
                Some(_) => side.report.timelines.gpus.len().max(1),
                None => 0,
            },
            idle: IdleReport::of(side),
            runs_graphs: runs_graphs(side),
            before_recording_ns: {
                let reasons = Unattributed::of(side.profile).by_reason(side.profile);
                let before = reasons.into_iter();
                let before = before.filter(|(reason, _)| *reason == Reason::BeforeRecording);
                sum(before.map(|(_, tally)| tally.ns))
            },
            slows_down: Slowdown::of(side.profile)
                .as_ref()
                .as_ref()
                .filter(|slowdown| slowdown.slow.from_ns.is_some())
                .map(|slowdown| slowdown.factor),
            steps_ns: {
                let steps = window::steps(&side.profile.trace);
                let own = steps
                    .iter()
                    .filter(|step| step_number(&step.name).is_some());
                sum(own.map(|step| step.span.length()))
            },
            has_frames: side.profile.has_python_frames(),
            has_backward: {
                let mut names = side.profile.trace.strings.iter();
                names.any(|(_, name)| is_engine_call(name))
            },
        }
    }
}

/// Whether graph launches started most of the GPU activity, by time.
fn runs_graphs(side: &Side) -> bool {
    let trace = &side.profile.trace;
    let work = || side.profile.gpu.all();
    let in_graphs = work().filter(|work| {
        let call = work.launched_by;
        call.is_some_and(|call| is_graph_call(trace, trace.recorded_call(call)))
    });
    let graphs_ns = sum(in_graphs.map(|work| work.span.length()));
    graphs_ns > sum(work().map(|work| work.span.length())) / 2
}
