//! A part of a trace that is analyzed alone: a step, a range that the user selected, or one of several GPUs.
//!
//! ```text
//! Profile ─window→ Profile (of the same Trace) ─report→ Report, and everything after it
//! ```
//!
//! What belongs to a window [start, end):
//!
//! | what | rule |
//! |---|---|
//! | kernels, copies, fills | those that start in it, each with its whole duration. Windows that tile a trace split its GPU activity: each piece is in one of them |
//! | launching calls | those of that work, whenever they ran: the CPU runs ahead of the GPU |
//! | other CPU calls | those that start in it; for a step, those that start in the step |
//! | callers | all ancestors of these calls |
//! | CPU time by operator | of the calls that start in it; split among tiles like GPU activity |
//!
//! Totals and shares refer to the length of the window, so idle time at its ends counts. Its edges move to avoid
//! cutting work: a window lasts until all work that started in it has ended, and begins when the work that ran into it
//! has ended. On a single stream, the lengths of windows that tile a trace add up to the trace.
//!
//! With several streams, work of other windows may run concurrently. The GPU is busy then: the time split, gaps and
//! exposed time count the part of such work that is inside the window; operators, kernels and kernel families do not.
//!
//! An operator with kernels on both sides of an edge is in both windows, with the kernels of each, and looks faster
//! there than it is. Steps rarely have any.
//!
//! A step contains what its process launched during it, on any thread, whenever it ran. Its window is later than the
//! step on the CPU: it begins when the GPU has finished everything launched before the step, but not before the step
//! itself, so the time in which the GPU waits for the step is included. It lasts until the last of its work has ended.
//!
//! ```text
//! host     [= step 1 =)[= step 2 ============)
//! GPU         [== 1 ==)                    [== 2 ==)
//! windows  [==========)[===================)         of the CPU
//!          [==========)[===========================) of the GPU
//! ```
//!
//! Copies and collectives of a step that run far ahead, concurrently with computation of earlier steps, count in its
//! tables, but not in the time of its window. If the GPU did nothing for a step, the window is the step itself.
//!
//! The window of one GPU lasts from its first start to its last end, and contains what runs on it. Activity on other
//! GPUs is not part of it and does not count as busy time. Its calls are those that launched its activity, their
//! callers, and all calls that start in its time, whichever GPU they are for, because they keep the CPU busy. Windows
//! of GPUs split the GPU activity of a trace, but not the CPU time.

mod gpus;
mod ranges;
mod steps;
#[cfg(test)]
mod tests;
mod work_steps;

use crate::base::format;
use crate::base::interval::Interval;
use crate::profile::Profile;
use crate::profile::gpu::kernels::{GpuTable, GpuWork, Running};
use crate::profile::launch::process;
use crate::trace::annotations::step_number;
use crate::trace::{EventId, MemoryDevice, Trace, TrackId};

pub use gpus::{UnknownGpu, find_gpu, gpu_windows};
pub(crate) use ranges::begin_ns;
pub use ranges::{Step, is_drawn, recorded_span, steps};
pub use steps::{Place, StepWindow, UnknownStep, find_step, of_all_steps, of_steps, step_windows};
pub use work_steps::WorkSteps;

/// A part of a trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Window {
    /// The step, if the window is of one; `None` for a time range and for a GPU.
    pub step: Option<String>,
    /// The GPU, by its number in the trace, if the window is of one GPU; `None` for all.
    pub device: Option<String>,
    /// The time span, in trace time.
    pub span: Interval,
    /// For a step: the part of the run that launched its work.
    pub on_host: Option<OnHost>,
    /// The steps of a serving engine that the window spans.
    pub run: Option<StepRun>,
}

/// Consecutive steps of a serving engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StepRun {
    /// The position of the first step, from 1; `None` if the run has all steps.
    pub first: Option<usize>,
    /// Number of steps with GPU activity.
    pub n: usize,
}

/// A step as it ran on the CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OnHost {
    /// The thread with its annotation.
    pub track: TrackId,
    /// Whether it has only what that thread launched, as for a step of a serving engine; otherwise it has what all
    /// threads of its process did.
    pub of_thread: bool,
    /// When it ran.
    pub span: Interval,
}

impl Window {
    /// A time range.
    pub fn range(span: Interval) -> Window {
        Window {
            step: None,
            device: None,
            span,
            on_host: None,
            run: None,
        }
    }

    /// Whether a piece of GPU activity belongs to it, given the call that launched it. In a step, work without a known
    /// call counts by its start.
    pub(crate) fn has(&self, trace: &Trace, work: EventId, call: Option<EventId>) -> bool {
        if let Some(device) = &self.device {
            return process(trace, work).map(|gpu| trace.strings.get(gpu)) == Some(device);
        }
        match self.on_host.zip(call) {
            Some((on_host, call)) if on_host.of_thread => {
                let is_own = trace.events.track(call) == on_host.track;
                is_own && on_host.span.contains(trace.events.ts_ns(call))
            }
            Some((on_host, call)) => {
                let own = trace.tracks.get(on_host.track).map(|track| track.pid);
                on_host.span.contains(trace.events.ts_ns(call)) && own == process(trace, call)
            }
            None => self.span.contains(trace.events.ts_ns(work)),
        }
    }

    /// The span in which the CPU calls that belong to it start.
    pub(crate) fn cpu_span(&self) -> Interval {
        self.on_host.map_or(self.span, |on_host| on_host.span)
    }

    /// Whether the memory of a device belongs to it: for a GPU window, that GPU and the CPU.
    pub(crate) fn has_memory_of(&self, memory: MemoryDevice) -> bool {
        let number = self.device.as_ref().map(|device| device.parse::<i32>());
        match number {
            Some(Ok(number)) => memory.is_cpu() || memory.index.max(0) == number,
            _ => true,
        }
    }
}

/// The window of a profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WindowOf {
    /// The requested window.
    pub window: Window,
    /// The time span that totals and shares refer to.
    pub gpu: Interval,
    /// Activity of other windows that runs in that span, clipped to it.
    pub(crate) overlapping_work: Vec<Running>,
    /// From the first event of the trace, shown as 0 ms, to the end of the last one.
    pub recorded: Interval,
    /// The trace has GPU activity, inside the window or elsewhere.
    pub trace_has_gpu_work: bool,
    /// The trace has operators, inside the window or elsewhere.
    pub trace_has_cpu_ops: bool,
}

impl WindowOf {
    /// The window of a trace; `None` if it covers everything recorded.
    pub(crate) fn new(window: &Window, whole: &Profile) -> Option<WindowOf> {
        let (trace, span) = (&whole.trace, window.span);
        let recorded = recorded_span(trace).unwrap_or(span);
        let has_all = |work: &GpuWork| window.has(trace, work.event, work.launched_by);
        let is_all = match window.device {
            Some(_) => whole.gpu.all().all(has_all),
            None => span.start_ns <= recorded.start_ns && recorded.end_ns <= span.end_ns,
        };
        (!is_all).then(|| {
            let gpu = match window.on_host.is_some() || window.device.is_some() {
                true => span,
                false => gpu_span(span, &whole.gpu),
            };
            WindowOf {
                window: window.clone(),
                gpu,
                overlapping_work: overlapping_work(window, gpu, whole),
                recorded,
                trace_has_gpu_work: whole.has_gpu_events(),
                trace_has_cpu_ops: whole.has_cpu_ops(),
            }
        })
    }

    /// A short description of what is analyzed: `Step 12`, `GPU 7`, or `1.20 ms to 3.40 ms`.
    pub fn name(&self) -> String {
        const NAME_CHARS: usize = 48;
        if let Some(device) = &self.window.device {
            return format!("GPU {device}");
        }
        match self.window.step.as_deref() {
            Some(name) => match step_number(name) {
                Some(number) => format!("Step {number}"),
                None => format::middle_ellipsis(name, NAME_CHARS),
            },
            None => match self.window.run {
                Some(StepRun { first: None, n }) => format::counted(n as u64, "step"),
                Some(StepRun {
                    first: Some(first),
                    n,
                }) => steps_text(first, n),
                None => {
                    let [from, to] = self.edges();
                    format!("{from} to {to}")
                }
            },
        }
    }

    /// Its length, for display.
    pub fn length(&self) -> String {
        format::time_ns(self.window.span.length())
    }

    /// What is analyzed, in a sentence for the head of a report; names from the program are in backticks.
    pub fn sentence(&self) -> String {
        let [from, to] = self.edges();
        if let Some(StepRun { first, n }) = self.window.run {
            let what = match (first, n) {
                (Some(first), n) => format!(
                    "the GPU activity of {} is analyzed",
                    steps_text(first, n).to_lowercase()
                ),
                (None, 1) => "the GPU activity of the one annotated step is analyzed".to_owned(),
                (None, n) => {
                    format!(
                        "the GPU activity of {n} annotated steps, from the first to the last, is analyzed"
                    )
                }
            };
            return format!(
                "Only {what}: {}, from {from} to {to} after the trace begins.",
                self.length()
            );
        }
        let what = match self.window.step.as_deref() {
            Some(step) if step_number(step).is_some() => self.name(),
            Some(_) => format!("`{}`", self.name().replace('`', "'")),
            None if self.window.device.is_some() => self.name(),
            None => "a part of the trace".to_owned(),
        };
        format!(
            "Only {what} is analyzed: {}, from {from} to {to} after the trace begins.",
            self.length()
        )
    }

    fn edges(&self) -> [String; 2] {
        let span = self.window.span;
        [span.start_ns, span.end_ns]
            .map(|ns| format::time_ns(ns.saturating_sub(self.recorded.start_ns)))
    }
}

/// "Steps 3 to 10".
fn steps_text(first: usize, n: usize) -> String {
    match n {
        1 => format!("Step {first}"),
        n => format!("Steps {first} to {}", first + n - 1),
    }
}

/// A window with its edges moved to the end of the GPU activity that they would cut.
fn gpu_span(span: Interval, whole: &GpuTable) -> Interval {
    let (mut running_until_ns, mut first_ns, mut last_ns) = (i64::MIN, i64::MAX, i64::MIN);
    for (_, work) in whole.iter() {
        let Interval { start_ns, end_ns } = work.span;
        if span.contains(start_ns) {
            first_ns = first_ns.min(start_ns);
            last_ns = last_ns.max(end_ns);
        } else if start_ns < span.start_ns {
            running_until_ns = running_until_ns.max(end_ns);
        }
    }
    Interval::new(
        span.start_ns.max(running_until_ns).min(first_ns),
        span.end_ns.max(last_ns),
    )
}

/// Work of other windows that runs in the span that GPU metrics refer to, clipped to it. Empty for the window of a
/// single GPU.
fn overlapping_work(window: &Window, judged: Interval, whole: &Profile) -> Vec<Running> {
    if window.device.is_some() {
        return Vec::new();
    }
    let others = whole.gpu.iter().filter_map(|(_, work)| {
        let span = work.span.overlap(judged)?;
        let is_other = span.length() > 0 && !window.has(&whole.trace, work.event, work.launched_by);
        is_other.then(|| Running {
            span,
            ..work.running(&whole.trace)
        })
    });
    others.collect()
}
