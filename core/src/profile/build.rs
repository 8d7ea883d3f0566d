//! Builds a profile from an imported trace, and takes a profile apart again when captures of GPU graphs are added or
//! removed.

use std::sync::Arc;

use super::launch::Launches;
use super::{Profile, Recording, repair};
use crate::import::Imported;
use crate::profile::cpu::ops::cpu_ops;
use crate::profile::cpu::recompute;
use crate::profile::cpu::tree::{CallTree, Frames};
use crate::profile::graphs::capture::{self, CaptureFile, Coverage, Merging};
use crate::profile::graphs::shapes::ShapeSources;
use crate::trace::Trace;

impl Profile {
    /// Builds the profile of a trace.
    pub fn new(imported: Imported) -> Profile {
        Profile::with_captures(imported, &[])
    }

    /// Builds the profile of a trace, given what was recorded while its GPU graphs were captured.
    pub fn with_captures(imported: Imported, captures: &[CaptureFile]) -> Profile {
        let Imported {
            mut trace,
            mut warnings,
            text_bytes,
        } = imported;
        let repaired = repair::repair(&mut trace, &mut warnings);
        let inputs = Inputs {
            trace,
            recording: Arc::new(Recording {
                imported: warnings,
                text_bytes,
                clocks_ns: repaired.clocks_ns,
                n_unrecorded: repaired.launches.n_unrecorded(),
                as_recorded: repaired.as_recorded,
            }),
            launches: repaired.launches,
            coverage: None,
        };
        let merging = inputs.merging(captures);
        inputs.profile(captures, merging)
    }

    /// What captures explain of the replays that are not merged yet.
    pub fn merging(&self, captures: &[CaptureFile]) -> Merging {
        capture::find(&self.trace, &self.launches, captures)
    }

    /// The same profile with captures added: `merging` is what was found in these files. Only works for a whole trace
    /// (windows have to be created again), and not if the trace is shared with other profiles; in these cases the
    /// profile is returned unchanged.
    pub fn and_captures(
        self,
        captures: &[CaptureFile],
        merging: Merging,
    ) -> Result<Profile, Box<Profile>> {
        let (inputs, sources) = self.inputs()?;
        let profile = inputs.profile(captures, Some(merging));
        Ok(profile.with_sources(sources))
    }

    /// The same profile without captures from other files. A window, and a profile that shares its trace, are returned
    /// unchanged.
    pub fn without_captures(self) -> Result<Profile, Box<Profile>> {
        let (mut inputs, sources) = self.inputs()?;
        inputs.coverage = None;
        inputs.launches.leave_captures(&inputs.trace);
        inputs.trace.leave_captured();
        let merging = inputs.merging(&[]);
        Ok(inputs.profile(&[], merging).with_sources(sources))
    }

    /// The inputs that the profile was built from, and the additional sources.
    fn inputs(self) -> Result<(Inputs, ShapeSources), Box<Profile>> {
        if self.window.is_some() || Arc::strong_count(&self.trace) > 1 {
            return Err(Box::new(self));
        }
        let Some(trace) = Arc::into_inner(self.trace) else {
            // Unreachable: the count was checked above.
            return Err(Box::new(Profile::new(Imported::default())));
        };
        let inputs = Inputs {
            trace,
            launches: self.launches,
            recording: self.recording,
            coverage: self.coverage,
        };
        Ok((inputs, self.sources))
    }
}

/// A trace with corrected times and its launches.
struct Inputs {
    trace: Trace,
    launches: Launches,
    recording: Arc<Recording>,
    /// What captures explain that are already merged.
    coverage: Option<Arc<Coverage>>,
}

impl Inputs {
    /// What captures explain; `None` if none are given and the trace contains none that it replays.
    fn merging(&self, captures: &[CaptureFile]) -> Option<Merging> {
        if captures.is_empty() && !capture::holds_both(&self.trace, &self.launches) {
            return None;
        }
        let merging = capture::find(&self.trace, &self.launches, captures);
        Some(merging).filter(|merging| !captures.is_empty() || !merging.is_empty())
    }

    /// Merges what was found in captures and derives the rest.
    fn profile(self, captures: &[CaptureFile], merging: Option<Merging>) -> Profile {
        let Inputs {
            mut trace,
            mut launches,
            recording,
            mut coverage,
        } = self;
        if let Some(merging) = merging {
            let merged = capture::merge(&mut trace, &mut launches, captures, merging);
            coverage = Some(Arc::new(merged.after(coverage.as_deref())));
        }
        let frames = match recompute::is_recorded(&trace) {
            true => Frames::With,
            false => Frames::Without,
        };
        let tree = CallTree::new(&trace, frames, &launches);
        let cpu_ops = cpu_ops(&trace, &tree, None);
        let profile = Profile::of(Arc::new(trace), recording, None, launches, tree, cpu_ops);
        Profile {
            coverage,
            ..profile
        }
    }
}
