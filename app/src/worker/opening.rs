//! Opening files together, and adding files to what is open.

use std::sync::Arc;

use dormer_core::Profile;
use dormer_core::import::Imported;
use dormer_core::profile::graphs::capture::{CaptureFile, has_bare_replays};

use super::analysis::configured;
use super::incoming::{Group, Incoming, NO_REPLAYS};
use super::{Analysis, Traces};
use crate::protocol::{
    Choice, Failure, FileNames, Opened, OpeningStep, Rejected, RemoveCapture, TOO_MANY,
};

/// Why captures alone are not a trace.
const ALONE: &str = "all of them are captures of GPU graphs; drop the trace that replays the graphs together with them";
const OPEN_TRACE_HAS_NO_REPLAYS: &str = "it is a capture of a GPU graph, and the open trace replays no graph; drop it together with the trace that replays it";
const NO_REFERENCE: &str = "it is a capture of a GPU graph, not a trace to compare with; drop it on the left half of the page to merge it with the open trace";

/// Progress while files are being opened.
pub enum OpeningEvent {
    /// The current step.
    Step(OpeningStep),
    /// What can be shown before the analysis is complete.
    First(Box<Opened>),
}

/// The outcome of adding files to open traces.
pub enum Added {
    /// They are merged; the updated target.
    Merged(Box<Opened>),
    /// One of them was a trace, which is open instead.
    Replaced(Box<Opened>),
    /// Nothing has changed.
    Refused(Vec<Rejected>),
}

impl Analysis {
    /// The reference from a file.
    pub fn of_run(files: Vec<Incoming>, choice: &Choice) -> Result<Analysis, Failure> {
        let group = Group::new(files).with_a_run(false, NO_REFERENCE)?;
        let run = group.runs.into_iter().next();
        let run = run.map(|(_, run)| run).unwrap_or_default();
        Ok(Analysis::new(Profile::new(run), choice))
    }
}

impl Traces {
    /// Opens files together: a run with the captures of its graphs, or two runs to compare. A single capture is only
    /// opened if nothing else is open. `on_event` receives progress.
    pub fn open(
        files: Vec<Incoming>,
        choice: &Choice,
        is_another_open: bool,
        on_event: impl FnMut(OpeningEvent),
    ) -> Result<(Traces, Opened), Failure> {
        let why_not = if is_another_open {
            OPEN_TRACE_HAS_NO_REPLAYS
        } else {
            ALONE
        };
        let group = Group::new(files).with_a_run(!is_another_open, why_not)?;
        Traces::of_group(group, choice, on_event)
    }

    fn of_group(
        mut group: Group,
        choice: &Choice,
        mut on_event: impl FnMut(OpeningEvent),
    ) -> Result<(Traces, Opened), Failure> {
        let captures = group.files();
        let mut runs = std::mem::take(&mut group.runs).into_iter();
        let (Some((name, target)), reference, None) = (runs.next(), runs.next(), runs.next())
        else {
            return Err(Failure::new(TOO_MANY));
        };
        on_event(OpeningEvent::Step(OpeningStep::Profiling));
        let (target, why) = merged(target, &captures);
        let reference = reference.map(|(name, run)| (name, merged(run, &captures)));
        // Captures are only reported as unused if neither trace needs them.
        let other = reference.as_ref().map(|(_, (_, why))| why.is_some());
        if let Some(why) = why.filter(|_| other != Some(false)) {
            group.rejected.push(Rejected::captures(&why));
        }
        on_event(OpeningEvent::Step(OpeningStep::Reporting));
        let config = group.config.take();
        let (config_name, config) = config.unzip();
        let config = config.map(Arc::new);
        let given = |profile: Profile| match takes_shapes(&profile) {
            true => configured(profile, config.as_ref()),
            false => profile,
        };
        let is_alone = reference.is_none() && captures.is_empty() && group.rejected.is_empty();
        let mut first = |opened: Opened| {
            let file_name = name.clone();
            on_event(OpeningEvent::First(Box::new(Opened {
                file_name,
                ..opened
            })));
        };
        let first = is_alone.then_some(&mut first as &mut dyn FnMut(Opened));
        let mut traces = Traces::new(Analysis::with_preview(given(target), choice, first));
        traces.name.clone_from(&name);
        let reference = reference.map(|(of_reference, (profile, _))| {
            let files = FileNames {
                target: name,
                reference: of_reference.clone(),
            };
            let analysis = Analysis::new(given(profile), &choice.of_reference());
            (of_reference, traces.compare_with(analysis, files))
        });
        let is_given = traces
            .sides_mut()
            .any(|side| side.captures().model.is_some());
        if let Some(name) = config_name.filter(|_| !is_given) {
            group.leave_out(name, NO_REPLAYS);
        }
        traces.config = config;
        traces.keep(captures);
        let opened = Opened {
            reference,
            rejected: group.rejected,
            ..traces.opened()
        };
        Ok((traces, opened))
    }

    /// Adds files: captures are merged with the target, and with the reference if that replays their graphs; a run is
    /// opened in place of the target. If nothing can be used, everything stays as it is.
    pub fn add(
        &mut self,
        files: Vec<Incoming>,
        choice: &Choice,
        mut on_step: impl FnMut(OpeningStep),
    ) -> Added {
        let mut group = Group::new(files).with_broken_captures();
        group.add_executions();
        if !group.runs.is_empty() {
            // What is open stays on screen until the new trace is analyzed.
            let on_event = |event| match event {
                OpeningEvent::Step(step) => on_step(step),
                OpeningEvent::First(_) => {}
            };
            return match Traces::of_group(group, choice, on_event) {
                Ok((traces, opened)) => {
                    *self = traces;
                    Added::Replaced(Box::new(opened))
                }
                Err(failure) => Added::Refused(vec![Rejected {
                    name: None,
                    failure,
                }]),
            };
        }
        let captures = group.files();
        let config = group.config.take();
        let mut rejected = group.rejected;
        let mut is_used = config.is_some();
        if let Some((_, config)) = config {
            self.config = Some(Arc::new(config));
            self.configure(choice);
        }
        if !captures.is_empty() {
            match self.merge(&captures, choice, on_step) {
                Ok(()) => {
                    is_used = true;
                    self.keep(captures);
                }
                Err(why) => rejected.push(Rejected::captures(&why)),
            }
        }
        match is_used {
            true => Added::Merged(Box::new(Opened {
                rejected,
                ..self.opened()
            })),
            false => Added::Refused(rejected),
        }
    }

    /// The target, and the reference if there is one.
    fn sides_mut(&mut self) -> impl Iterator<Item = &mut Analysis> {
        let reference = self.reference.as_mut().map(|of| &mut of.analysis);
        std::iter::once(&mut self.target).chain(reference)
    }

    fn merge(
        &mut self,
        captures: &[CaptureFile],
        choice: &Choice,
        mut on_step: impl FnMut(OpeningStep),
    ) -> Result<(), String> {
        on_step(OpeningStep::Profiling);
        let choices = [choice.clone(), choice.of_reference()];
        let sides = self.sides_mut().zip(&choices);
        let merged: Vec<_> = sides
            .map(|(side, choice)| side.merge(captures, choice))
            .collect();
        if merged.iter().all(Result::is_err) {
            return merged.into_iter().next().unwrap_or(Ok(()));
        }
        self.analyze_reference(choice);
        Ok(())
    }

    /// Passes the model's sizes to traces that replay graphs.
    fn configure(&mut self, choice: &Choice) {
        let config = self.config.clone();
        let choices = [choice.clone(), choice.of_reference()];
        for (side, choice) in self.sides_mut().zip(&choices) {
            if takes_shapes(&side.whole) {
                side.configure(config.as_ref(), choice);
            }
        }
        self.analyze_reference(choice);
    }

    /// Removes a capture, or the model's sizes; `None` if it is not used.
    pub fn remove_capture(&mut self, query: &RemoveCapture) -> Option<Opened> {
        let Some(name) = &query.name else {
            self.config.take()?;
            self.configure(&query.choice);
            return Some(self.opened());
        };
        let mut names = self.captures.iter();
        let at = names.position(|capture| capture.name == *name)?;
        self.captures.remove(at);
        let captures = std::mem::take(&mut self.captures);
        let choices = [query.choice.clone(), query.choice.of_reference()];
        for (side, choice) in self.sides_mut().zip(&choices) {
            side.merge_only(&captures, choice);
        }
        self.captures = captures;
        self.analyze_reference(&query.choice);
        Some(self.opened())
    }

    fn analyze_reference(&mut self, choice: &Choice) {
        self.forget();
        if let Some(reference) = &mut self.reference {
            let choice = choice.of_reference();
            reference
                .analysis
                .choose_as_reference_of(&self.target, Some(&choice));
        }
    }

    /// Keeps the captures that were at least partly merged.
    fn keep(&mut self, captures: Vec<CaptureFile>) {
        let used: Vec<String> = self
            .sides_mut()
            .flat_map(|side| side.captures().merged)
            .map(|(name, _)| name)
            .collect();
        let used = |capture: &CaptureFile| used.contains(&capture.name);
        self.captures.extend(captures.into_iter().filter(used));
    }

    /// What the page shows first for the target.
    pub(super) fn opened(&self) -> Opened {
        Opened {
            file_name: self.name.clone(),
            ..self.target.opened()
        }
    }
}

/// Whether graphs are replayed whose kernels' shapes may come from other files.
fn takes_shapes(profile: &Profile) -> bool {
    profile.coverage.is_some() || has_bare_replays(&profile.trace, &profile.launches)
}

/// The profile of a run with the captures of its graphs; and why none of them is merged, if so.
fn merged(run: Imported, captures: &[CaptureFile]) -> (Profile, Option<String>) {
    let mut profile = Profile::with_captures(run, captures);
    let coverage = profile.coverage.as_ref();
    let why = coverage
        .filter(|coverage| !coverage.is_merged())
        .map(|coverage| coverage.refusal(None));
    if why.is_some() {
        profile.coverage = None;
    }
    (profile, why)
}

#[cfg(test)]
mod tests;
