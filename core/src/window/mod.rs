//! A part of the time that is analysed alone: a step, or a range that the user marked.
//!
//! ```text
//! Profile ─window→ Profile (of the same Trace) ─report→ Report, and everything after it
//! ```
//!
//! What belongs to a window [start, end):
//!
//! | what | rule |
//! |---|---|
//! | kernels, copies, fills | those that start in it, each with its whole duration. Windows that tile a trace split its GPU work: each piece is in one of them |
//! | launching calls | those of that work, whenever they ran: the host runs ahead of the GPU |
//! | other host calls | those that start in it |
//! | callers | all that are above these calls |
//! | host time by operator | of the calls that start in it; split among tiles as GPU work is |
//!
//! Totals and shares are of the window's length, so that idling at its ends counts. Its edges give
//! way to work that they would cut: a window lasts until the last work that started in it has
//! ended, and begins when the work that ran into it has. On one stream the lengths of windows that
//! tile a trace add up to the trace.
//!
//! On several streams the work of other windows may run beside that of this one. The GPU is busy
//! then: the split of the time, gaps and what is exposed count such work for its part inside of the
//! window; operators, kernels and kinds of work do not.
//!
//! An operator with kernels on both sides of an edge is in both windows, with the kernels of each,
//! and seems faster there than it is. Steps rarely have any.
//!
//! The window of a step is where the GPU worked for it, which is later than the host's step: from
//! the first start to the last end of what its process launched during the step on any thread, and
//! of the profiler's own annotation on the GPU, which may lie around a part of that alone. Where the
//! GPU did nothing for it, the window is the step itself.

mod steps;
#[cfg(test)]
mod tests;

use crate::format;
use crate::interval::Interval;
use crate::kernels::{GpuTable, Running};
use crate::lanes::recorded_span;
use crate::profile::Profile;

pub use steps::{Place, StepWindow, UnknownStep, find_step, step_windows};

/// A part of the time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Window {
    /// The step that it is of; `None` for a range of time.
    pub step: Option<String>,
    /// When, in the time of the trace.
    pub span: Interval,
}

/// The window of a profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WindowOf {
    /// As it was asked for.
    pub window: Window,
    /// The time that totals and shares are of.
    pub gpu: Interval,
    /// What of other windows runs in that time, cut at its ends.
    pub(crate) beside: Vec<Running>,
    /// From the first event of the trace, 0 ms to a reader, to the end of its last.
    pub recorded: Interval,
    /// The trace has GPU work, in the window or elsewhere.
    pub trace_has_gpu_work: bool,
    /// The trace has operators, in the window or elsewhere.
    pub trace_has_host_ops: bool,
}

impl WindowOf {
    /// The window of a trace; `None` where that is all that was recorded.
    pub(crate) fn new(window: &Window, whole: &Profile) -> Option<WindowOf> {
        let (trace, span) = (&whole.trace, window.span);
        let recorded = recorded_span(trace).unwrap_or(span);
        let is_all = span.start_ns <= recorded.start_ns && recorded.end_ns <= span.end_ns;
        (!is_all).then(|| {
            let gpu = gpu_span(span, &whole.gpu);
            WindowOf {
                window: window.clone(),
                gpu,
                beside: beside(span, gpu, whole),
                recorded,
                trace_has_gpu_work: whole.has_gpu_events(),
                trace_has_host_ops: whole.has_host_ops(),
            }
        })
    }

    /// What is analysed, in a few words: `Step 12`, or `1.20 ms to 3.40 ms`.
    pub fn name(&self) -> String {
        const NAME_CHARS: usize = 48;
        match self.window.step.as_deref() {
            Some(name) => match step_number(name) {
                Some(number) => format!("Step {number}"),
                None => format::middle_ellipsis(name, NAME_CHARS),
            },
            None => {
                let [from, to] = self.edges();
                format!("{from} to {to}")
            }
        }
    }

    /// How long it is.
    pub fn length(&self) -> String {
        format::time_ns(self.window.span.length())
    }

    /// What is analysed, in a sentence for the head of a report; a name of the program's in
    /// backticks.
    pub fn sentence(&self) -> String {
        let [from, to] = self.edges();
        let what = match self.window.step.as_deref() {
            Some(step) if step_number(step).is_some() => self.name(),
            Some(_) => format!("`{}`", self.name().replace('`', "'")),
            None => "a part of the trace".to_owned(),
        };
        format!(
            "Of {what} alone: {}, from {from} to {to} after the trace begins.",
            self.length()
        )
    }

    fn edges(&self) -> [String; 2] {
        let span = self.window.span;
        [span.start_ns, span.end_ns]
            .map(|ns| format::time_ns(ns.saturating_sub(self.recorded.start_ns)))
    }
}

/// How the profiler names its steps; the number follows.
const PROFILER_STEP: &str = "ProfilerStep#";

/// The number of a step of the profiler's; `None` for a name of the program's.
pub(crate) fn step_number(name: &str) -> Option<&str> {
    let number = name.strip_prefix(PROFILER_STEP)?;
    let is_digit = |byte: u8| byte.is_ascii_digit();
    (!number.is_empty() && number.bytes().all(is_digit)).then_some(number)
}

/// A window with its edges moved to where the GPU work ends that they cut.
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

/// The work that does not start in a window, as far as it runs in the time that the window is
/// judged over.
fn beside(window: Interval, judged: Interval, whole: &Profile) -> Vec<Running> {
    let others = whole.gpu.iter().filter_map(|(_, work)| {
        let span = Interval::new(
            work.span.start_ns.max(judged.start_ns),
            work.span.end_ns.min(judged.end_ns),
        );
        let is_other = !window.contains(work.span.start_ns) && span.length() > 0;
        is_other.then(|| Running {
            span,
            ..work.running(&whole.trace)
        })
    });
    others.collect()
}
