//! The part of a trace to analyze: a step, one GPU or a time range; by default all of it.

use std::path::Path;

use dormer_core::base::interval::Interval;
use dormer_core::import::warning::{Severity, WarningKind};
use dormer_core::profile::Profile;
use dormer_core::profile::window::{Window, find_gpu, find_step, of_all_steps, recorded_span};

use crate::args::RedactArgs;
use crate::{Failure, input, text};

/// The requested part of a trace.
pub(crate) struct Part<'a> {
    pub(crate) step: Option<&'a str>,
    pub(crate) device: Option<&'a str>,
    pub(crate) range: Option<Interval>,
    pub(crate) whole: bool,
}

impl Part<'_> {
    /// Its profile and, unless something was requested, that of a serving engine's steps.
    pub(crate) fn of(
        &self,
        mut profile: Profile,
        trace: &Path,
        redact: &RedactArgs,
    ) -> Result<(Profile, Option<Profile>), Failure> {
        let wrong = |error: String| Failure::Usage(format!("{}: {error}", input::name(trace)));
        if let Some(step) = self.step {
            let step = find_step(&profile, step).map_err(|error| wrong(error.to_string()))?;
            profile = windowed(profile, &step);
        }
        if let Some(gpu) = self.device {
            let gpu = find_gpu(&profile, gpu).map_err(|error| wrong(error.to_string()))?;
            profile = windowed(profile, &gpu);
        }
        if let (Some(range), Some(recorded)) = (self.range, recorded_span(&profile.trace)) {
            let at = |ns: i64| recorded.start_ns.saturating_add(ns);
            let span = Interval::new(at(range.start_ns), at(range.end_ns));
            profile = windowed(profile, &Window::range(span));
        }
        let profile = input::redacted(profile, redact);
        check(&profile, trace)?;
        let steps = (!self.is_chosen()).then(|| of_serving(&profile)).flatten();
        Ok((profile, steps))
    }

    /// Whether something was requested.
    fn is_chosen(&self) -> bool {
        let is_part = self.step.is_some() || self.device.is_some() || self.range.is_some();
        self.whole || is_part
    }
}

/// The steps of a serving engine, if the trace has other GPU activity besides them.
pub(crate) fn of_serving(whole: &Profile) -> Option<Profile> {
    let window = of_all_steps(whole)?;
    Some(whole.window(&window))
}

/// The shown part of a trace in the format of the page's address: a GPU, or nanoseconds after the first event. `None`
/// if the page shows the same by default.
pub(crate) fn shown(profile: &Profile) -> Option<(&'static str, String)> {
    let recorded = recorded_span(&profile.trace)?;
    let span = match &profile.window {
        Some(of) => match &of.window.device {
            Some(device) => return Some(("device", device.clone())),
            None => of.window.span,
        },
        // By default, the page would only show a serving engine's steps.
        None => of_all_steps(profile).map(|_| recorded)?,
    };
    let since_start = |ns: i64| ns.saturating_sub(recorded.start_ns).max(0);
    let [from, to] = [span.start_ns, span.end_ns].map(since_start);
    Some(("window", format!("{from}-{to}")))
}

/// Why there is nothing to analyze, if that is so.
fn check(profile: &Profile, trace: &Path) -> Result<(), Failure> {
    let reason = match profile.trace.n_events_read {
        _ if profile.has_gpu_events() => return Ok(()),
        _ if profile.is_empty_window() => WarningKind::EmptyWindow.label(),
        _ if profile.has_cpu_ops() => return Ok(()),
        0 => "the trace has no events",
        _ => {
            let kinds = [WarningKind::GpuEventsLost, WarningKind::NothingRecorded];
            let warned = |kind: &WarningKind| profile.warnings.count(*kind) > 0;
            let kind = kinds.into_iter().find(warned);
            kind.map_or("there is nothing to analyze", |kind| kind.label())
        }
    };
    // If the file is damaged, that may be why.
    let damage = profile.warnings.iter().next().filter(|warning| {
        warning.kind.severity() == Severity::DataLoss && warning.kind.label() != reason
    });
    let reason = reason.trim_end_matches('.');
    let reason = match damage {
        Some(warning) => format!("{reason}. {}", warning.sentence().trim_end_matches('.')),
        None => reason.to_owned(),
    };
    Err(Failure::Sentence(format!(
        "{}: {}",
        input::name(trace),
        text::printable(&reason)
    )))
}

fn windowed(whole: Profile, window: &Window) -> Profile {
    let part = whole.window(window);
    // Never freed: that would take longer than exiting.
    std::mem::forget(whole);
    part
}
