//! The windows of the steps that the program named.

use std::fmt;

use hashbrown::{HashMap, HashSet};
use rustc_hash::FxBuildHasher;

use super::{PROFILER_STEP, Window};
use crate::interval::Interval;
use crate::lanes::{Step, steps};
use crate::profile::Profile;
use crate::sort::Arrange;
use crate::trace::{Category, LinkId, StringId, Trace};

/// Steps that an error names.
const MOST_NAMED: usize = 20;

/// A named part of the run, with the part of the time that stands for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepWindow {
    /// The part of the run, as the host ran it.
    pub step: Step,
    /// When the GPU worked for it; the step itself where it never did.
    pub window: Window,
}

/// The steps of a trace with their windows, by start on the host.
pub fn step_windows(profile: &Profile) -> Vec<StepWindow> {
    let trace = &profile.trace;
    let steps = steps(trace);
    if steps.is_empty() {
        return Vec::new();
    }
    let annotations = GpuAnnotations::new(trace);
    let launched = Launched::new(profile);
    steps
        .into_iter()
        .map(|step| {
            let worked = annotations
                .of(trace, &step)
                .or_else(|| launched.during(step.span));
            let window = Window {
                step: Some(step.name.clone()),
                span: worked.unwrap_or(step.span),
            };
            StepWindow { step, window }
        })
        .collect()
}

/// The step that is meant by the number of a profiler's step or by its whole name.
pub fn find_step(profile: &Profile, asked: &str) -> Result<StepWindow, UnknownStep> {
    let all = step_windows(profile);
    let asked = asked.trim();
    let numbered = format!("{PROFILER_STEP}{asked}");
    let is_meant = |name: &str| {
        let found = all.iter().filter(|step| step.step.name == name);
        found.cloned().collect::<Vec<StepWindow>>()
    };
    let mut meant = is_meant(&numbered);
    if meant.is_empty() {
        meant = is_meant(asked);
    }
    match meant.len() {
        1 => meant.pop().ok_or(UnknownStep::None),
        0 if all.is_empty() => Err(UnknownStep::None),
        0 => Err(UnknownStep::NotThere {
            asked: asked.to_owned(),
            names: names(&all),
        }),
        count => Err(UnknownStep::Several {
            asked: asked.to_owned(),
            count,
        }),
    }
}

/// Each name once, in order of time.
fn names(all: &[StepWindow]) -> Vec<String> {
    let mut seen: HashSet<&str, FxBuildHasher> = HashSet::default();
    let names = all.iter().map(|step| step.step.name.as_str());
    let names = names.filter(|name| seen.insert(*name));
    names.map(str::to_owned).collect()
}

/// Why a step cannot be analysed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UnknownStep {
    /// The trace names no steps.
    None,
    /// There are others.
    NotThere {
        /// What was asked for.
        asked: String,
        /// What there is.
        names: Vec<String>,
    },
    /// More than one goes by that name.
    Several {
        /// What was asked for.
        asked: String,
        /// How many there are.
        count: usize,
    },
}

impl fmt::Display for UnknownStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            UnknownStep::None => f.write_str(
                "the trace names no steps; record with profiler.step() or record_function, or choose a range of time",
            ),
            UnknownStep::NotThere { asked, names } => {
                let listed: Vec<&str> = names.iter().take(MOST_NAMED).map(String::as_str).collect();
                write!(f, "no step “{asked}”; there are: {}", listed.join(", "))?;
                match names.len().saturating_sub(MOST_NAMED) {
                    0 => Ok(()),
                    more => write!(f, " and {more} more"),
                }
            }
            UnknownStep::Several { asked, count } => write!(
                f,
                "{count} parts of the run are called “{asked}”; choose one by its time"
            ),
        }
    }
}

impl std::error::Error for UnknownStep {}

/// The profiler's own annotations on the GPU. One step has one for each stream.
struct GpuAnnotations {
    spans: HashMap<(StringId, Option<LinkId>), Interval, FxBuildHasher>,
}

impl GpuAnnotations {
    fn new(trace: &Trace) -> GpuAnnotations {
        let events = &trace.events;
        let mut spans: HashMap<_, Interval, FxBuildHasher> = HashMap::default();
        for event in events.ids() {
            if events.category(event) == Category::GpuUserAnnotation {
                let span = Interval::new(events.ts_ns(event), events.end_ns(event));
                let key = (events.name(event), events.external_id(event));
                let all = spans.entry(key).or_insert(span);
                *all = all.hull(span);
            }
        }
        GpuAnnotations { spans }
    }

    /// Of the same name and id as the step's on the host.
    fn of(&self, trace: &Trace, step: &Step) -> Option<Interval> {
        let events = &trace.events;
        let key = (events.name(step.event), events.external_id(step.event)?);
        self.spans.get(&(key.0, Some(key.1))).copied()
    }
}

/// GPU work by the start of the call that launched it.
struct Launched {
    work: Vec<(i64, Interval)>,
}

impl Launched {
    fn new(profile: &Profile) -> Launched {
        let events = &profile.trace.events;
        let launched = profile.gpu.iter().filter_map(|(_, work)| {
            let call = work.launched_by?;
            Some((events.ts_ns(call), work.span))
        });
        let mut work: Vec<(i64, Interval)> = launched.collect();
        work.arrange();
        Launched { work }
    }

    /// From the first start to the last end of what calls of a time launched.
    fn during(&self, span: Interval) -> Option<Interval> {
        let from = self.work.partition_point(|(at, _)| *at < span.start_ns);
        let work = self.work.get(from..)?.iter();
        let work = work.take_while(|(at, _)| *at < span.end_ns);
        work.map(|(_, span)| *span).reduce(Interval::hull)
    }
}
