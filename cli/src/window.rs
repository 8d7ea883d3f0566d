//! The part of a trace that is analyzed: a step or a range of time, else all of it.

use std::path::Path;

use dormer_core::base::interval::Interval;
use dormer_core::profile::Profile;
use dormer_core::profile::lanes::recorded_span;
use dormer_core::profile::window::{Window, find_step};

use crate::{Failure, input};

/// The profile of a step; of the whole trace, where none is asked for.
pub(crate) fn of_step(
    profile: Profile,
    trace: &Path,
    step: Option<&str>,
) -> Result<Profile, Failure> {
    let Some(step) = step else {
        return Ok(profile);
    };
    let found = find_step(&profile, step)
        .map_err(|error| Failure::Usage(format!("{}: {error}", input::name(trace))))?;
    Ok(windowed(profile, &found.window))
}

/// The profile of a range of time; of the whole trace, where none is asked for.
pub(crate) fn of_range(profile: Profile, range: Option<Interval>) -> Profile {
    let (Some(range), Some(recorded)) = (range, recorded_span(&profile.trace)) else {
        return profile;
    };
    let at = |ns: i64| recorded.start_ns.saturating_add(ns);
    let span = Interval::new(at(range.start_ns), at(range.end_ns));
    windowed(profile, &Window::range(span))
}

fn windowed(whole: Profile, window: &Window) -> Profile {
    let part = whole.window(window);
    // As at the end of a command: freeing takes longer than the exit.
    std::mem::forget(whole);
    part
}
