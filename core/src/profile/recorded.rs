//! Builds a profile from an imported trace, and takes a profile apart again when captures of GPU graphs are added or
//! removed.

use std::sync::Arc;

use super::capture::{self, CaptureFile, Coverage, Merging};
use super::cpu_ops::cpu_ops;
use super::launch::Launches;
use super::shapes::ShapeSources;
use super::tree::{CallTree, Frames};
use super::{Parts, Profile, recompute, repair};
use crate::import::Imported;
use crate::import::warning::Warnings;
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
        let parts = Recorded {
            trace,
            warnings,
            text_bytes,
            clocks_ns: repaired.clocks_ns,
            as_recorded: repaired.as_recorded.into(),
            launches: repaired.launches,
        };
        let merging = parts.merging(captures);
        parts.profile(captures, merging, None)
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
        let (parts, before, sources) = self.recorded()?;
        let profile = parts.profile(captures, Some(merging), before);
        Ok(profile.with_sources(sources))
    }

    /// The same profile without captures from other files. A window, and a profile that shares its trace, are returned
    /// unchanged.
    pub fn without_captures(self) -> Result<Profile, Box<Profile>> {
        let (mut parts, _, sources) = self.recorded()?;
        parts.launches.leave_captures(&parts.trace);
        parts.trace.leave_captured();
        let merging = parts.merging(&[]);
        Ok(parts.profile(&[], merging, None).with_sources(sources))
    }

    /// The inputs that the profile was built from, and the additional sources.
    fn recorded(self) -> Result<ProfileInputs, Box<Profile>> {
        if self.window.is_some() || Arc::strong_count(&self.trace) > 1 {
            return Err(Box::new(self));
        }
        let Profile {
            trace,
            imported,
            text_bytes,
            clocks_ns,
            as_recorded,
            launches,
            coverage,
            sources,
            ..
        } = self;
        let Some(trace) = Arc::into_inner(trace) else {
            // Unreachable: the count was checked above.
            return Err(Box::new(Profile::new(Imported::default())));
        };
        let parts = Recorded {
            trace,
            warnings: imported,
            text_bytes,
            clocks_ns,
            as_recorded,
            launches,
        };
        Ok((parts, coverage, sources))
    }
}

/// A trace, what captures explain of it, and additional sources of its shapes.
type ProfileInputs = (Recorded, Option<Arc<Coverage>>, ShapeSources);

/// A trace with corrected times and its launches.
struct Recorded {
    trace: Trace,
    warnings: Warnings,
    text_bytes: u64,
    clocks_ns: Option<i64>,
    as_recorded: Arc<[repair::AsRecorded]>,
    launches: Launches,
}

impl Recorded {
    /// What captures explain; `None` if none are given and the trace contains none that it replays.
    fn merging(&self, captures: &[CaptureFile]) -> Option<Merging> {
        if captures.is_empty() && !capture::holds_both(&self.trace, &self.launches) {
            return None;
        }
        let merging = capture::find(&self.trace, &self.launches, captures);
        Some(merging).filter(|merging| !captures.is_empty() || !merging.is_empty())
    }

    /// Merges what was found in captures and derives the rest. `before` is what already merged captures explain.
    fn profile(
        mut self,
        captures: &[CaptureFile],
        merging: Option<Merging>,
        before: Option<Arc<Coverage>>,
    ) -> Profile {
        let coverage = match merging {
            None => before,
            Some(merging) => {
                let (trace, launches) = (&mut self.trace, &mut self.launches);
                let coverage = capture::merge(trace, launches, captures, merging);
                Some(Arc::new(coverage.after(before.as_deref())))
            }
        };
        let Recorded {
            trace, launches, ..
        } = self;
        let frames = match recompute::is_recorded(&trace) {
            true => Frames::With,
            false => Frames::Without,
        };
        let tree = CallTree::new(&trace, frames, &launches);
        let cpu_ops = cpu_ops(&trace, &tree, None);
        Profile::of(Parts {
            trace: Arc::new(trace),
            window: None,
            imported: self.warnings,
            text_bytes: self.text_bytes,
            clocks_ns: self.clocks_ns,
            as_recorded: self.as_recorded,
            coverage,
            sources: ShapeSources::default(),
            launches,
            tree,
            cpu_ops,
        })
    }
}
