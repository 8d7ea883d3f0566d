//! The windows of the steps named by the program.

use std::fmt;
use std::ops::Range;

use super::{OnHost, StepRun, Window};
use crate::base::interval::Interval;
use crate::base::map::{Map, Set};
use crate::base::sort::Arrange;
use crate::profile::Profile;
use crate::profile::gpu::timeline::GpuClass;
use crate::profile::launch::process;
use crate::profile::window::ranges::{Step, begin_ns, named_ranges, steps};
use crate::trace::annotations::PROFILER_STEP;
use crate::trace::{Category, LinkId, StringId, Trace};

/// Number of steps listed in an error.
const MOST_NAMED: usize = 20;

/// Number of steps with the same name whose times an error lists.
const MOST_PLACES: usize = 10;

/// A named part of the run, with its window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepWindow {
    /// The part of the run, as it ran on the CPU.
    pub step: Step,
    /// When the GPU worked for it; the step itself if it never did.
    pub window: Window,
}

/// The steps of a trace with their windows, sorted by start on the CPU: those of a serving engine if there are any,
/// otherwise those named by the program.
pub fn step_windows(profile: &Profile) -> Vec<StepWindow> {
    let of_engine = of_engine(profile);
    let is_inferred = || {
        profile
            .serving()
            .is_some_and(|serving| serving.named_by.is_inferred())
    };
    match of_engine.is_empty() || is_inferred() {
        true => match with_windows(profile, steps(&profile.trace)) {
            named if named.is_empty() => of_engine,
            named => named,
        },
        false => of_engine,
    }
}

/// The default window for a trace of a serving engine: from the first GPU activity of its steps to the last. `None` for
/// any other trace, or if that is all GPU activity. Inferred steps do not define a default window.
pub fn of_all_steps(profile: &Profile) -> Option<Window> {
    let serving = profile.serving()?;
    let span = serving.span().filter(|_| !serving.named_by.is_inferred())?;
    let mut work = profile.gpu.iter().map(|(_, work)| work.span);
    let is_all = work.all(|work| span.start_ns <= work.start_ns && work.end_ns <= span.end_ns);
    let n_steps = serving.steps.iter().filter(|step| step.activity.is_some());
    (!is_all).then(|| Window {
        run: Some(StepRun {
            first: None,
            n: n_steps.count(),
        }),
        ..Window::range(span)
    })
}

/// The window of consecutive steps of a serving engine, given by their positions, from the first GPU activity to the
/// last; `None` if they have none.
pub fn of_steps(profile: &Profile, positions: Range<usize>) -> Option<Window> {
    let working = profile.serving()?.steps.iter().enumerate();
    let working = working
        .filter(|(at, _)| positions.contains(at))
        .filter_map(|(at, step)| Some((at, step.activity?.span)));
    let working: Vec<(usize, Interval)> = working.collect();
    let (first, last) = (working.first()?.0, working.last()?.0);
    let spans = working.iter().map(|(_, span)| *span);
    Some(Window {
        run: Some(StepRun {
            first: Some(first + 1),
            n: last - first + 1,
        }),
        ..Window::range(spans.reduce(Interval::hull)?)
    })
}

/// Steps of a serving engine given by the positions of the first and the last, "3-10", or by the key of a steady-state
/// selection.
fn run_of(profile: &Profile, asked: &str) -> Option<Window> {
    let serving = profile.serving()?;
    let by_positions = || {
        let (first, last) = asked.split_once('-')?;
        let [first, last] = [first, last].map(|at| at.trim().parse::<usize>().ok());
        Some(first?.checked_sub(1)?..last?)
    };
    let by_kind = || {
        let steady = serving.steady().into_iter();
        let mut meant = steady.filter(|one| one.kind.key() == asked);
        meant.next().map(|one| one.steps)
    };
    let steps = by_positions().or_else(by_kind)?;
    let is_there = steps.start < steps.end && steps.end <= serving.steps.len();
    of_steps(profile, steps).filter(|_| is_there)
}

fn of_engine(profile: &Profile) -> Vec<StepWindow> {
    let Some(serving) = profile.serving() else {
        return Vec::new();
    };
    let steps = serving.steps.iter().zip(1..).filter_map(|(step, number)| {
        let name = match serving.named_by.is_inferred() {
            true => format!("inferred step {number}"),
            false => profile.trace.name(step.event).to_owned(),
        };
        let window = Window {
            step: Some(name.clone()),
            on_host: Some(OnHost {
                track: step.track,
                of_thread: true,
                span: step.on_host,
            }),
            ..Window::range(step.activity?.span)
        };
        let step = Step {
            name,
            event: step.event,
            span: step.on_host,
        };
        Some(StepWindow { step, window })
    });
    steps.collect()
}

fn with_windows(profile: &Profile, ranges: Vec<Step>) -> Vec<StepWindow> {
    if ranges.is_empty() {
        return Vec::new();
    }
    let trace = &profile.trace;
    let annotations = GpuAnnotations::new(trace);
    let launched = Launched::new(profile);
    ranges
        .into_iter()
        .map(|step| {
            let worked = launched.during(trace, &step);
            let annotated = || annotations.of(trace, &step);
            let span = worked.or_else(annotated).unwrap_or(step.span);
            let window = Window {
                step: Some(step.name.clone()),
                on_host: Some(OnHost {
                    track: trace.events.track(step.event),
                    of_thread: false,
                    span: step.span,
                }),
                ..Window::range(span)
            };
            StepWindow { step, window }
        })
        .collect()
}

/// Finds a step by the position, from 1, of a step of a serving engine, by the number of a profiler step, or by the
/// full name of a range; several steps of an engine by the positions of the first and the last, or by the key of a
/// steady-state selection. Outermost ranges take precedence; a nested range is found only if none of these matches.
pub fn find_step(profile: &Profile, asked: &str) -> Result<Window, UnknownStep> {
    let trace = &profile.trace;
    let asked = asked.trim();
    let of_engine = of_engine(profile);
    let number = asked
        .parse::<usize>()
        .ok()
        .and_then(|number| number.checked_sub(1));
    if let Some(step) = number.and_then(|at| of_engine.get(at)) {
        return Ok(step.window.clone());
    }
    let mut by_name = of_engine.iter().filter(|step| step.step.name == asked);
    if let (Some(step), None) = (by_name.next(), by_name.next()) {
        return Ok(step.window.clone());
    }
    if let Some(run) = run_of(profile, asked) {
        return Ok(run);
    }
    let numbered = format!("{PROFILER_STEP}{asked}");
    let (outer, all) = (steps(trace), named_ranges(trace));
    let meant = [&outer, &all]
        .into_iter()
        .flat_map(|ranges| [(ranges, numbered.as_str()), (ranges, asked)])
        .map(|(ranges, name)| of_name(ranges, name))
        .find(|meant| !meant.is_empty());
    let Some(meant) = meant else {
        return Err(match all.is_empty() {
            true => UnknownStep::None,
            false => UnknownStep::NotThere {
                asked: asked.to_owned(),
                names: names(outer.iter().chain(&all)),
            },
        });
    };
    let mut meant = with_windows(profile, meant);
    match meant.len() {
        1 => meant.pop().map(|step| step.window).ok_or(UnknownStep::None),
        _ => Err(several(trace, &meant)),
    }
}

fn of_name(ranges: &[Step], name: &str) -> Vec<Step> {
    let named = ranges.iter().filter(|range| range.name == name);
    named.cloned().collect()
}

/// Each name once, in order of appearance.
fn names<'a>(ranges: impl Iterator<Item = &'a Step>) -> Vec<String> {
    let mut seen: Set<&str> = Set::default();
    let names = ranges.map(|range| range.name.as_str());
    let names = names.filter(|name| seen.insert(*name));
    names.map(str::to_owned).collect()
}

fn several(trace: &Trace, steps: &[StepWindow]) -> UnknownStep {
    let begin_ns = begin_ns(trace);
    let place = |step: &StepWindow| {
        let Interval { start_ns, end_ns } = step.window.span;
        Place {
            start_ns: start_ns.saturating_sub(begin_ns),
            end_ns: end_ns.saturating_sub(begin_ns),
            process: process(trace, step.step.event)
                .map(|pid| trace.strings.get(pid).to_owned())
                .unwrap_or_default(),
        }
    };
    UnknownStep::Several {
        name: steps
            .first()
            .map_or_else(String::new, |step| step.step.name.clone()),
        places: steps.iter().map(place).collect(),
    }
}

/// Why a step cannot be analyzed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UnknownStep {
    /// The trace has no named steps.
    None,
    /// There is no such step, but there are others.
    NotThere {
        /// The requested step.
        asked: String,
        /// The existing steps.
        names: Vec<String>,
    },
    /// Several steps have the same name.
    Several {
        /// Their name.
        name: String,
        /// The location of each, sorted by start on the CPU.
        places: Vec<Place>,
    },
}

/// The location of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Start of its window, in nanoseconds after the first event of the trace.
    pub start_ns: i64,
    /// End of its window, in nanoseconds after the first event of the trace.
    pub end_ns: i64,
    /// The id of its process.
    pub process: String,
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
            UnknownStep::Several { name, places } => {
                write!(
                    f,
                    "{} parts of the run are called “{name}”; choose one by its time:",
                    places.len()
                )?;
                let first = places.first().map(|place| &place.process);
                let is_one_process = places.iter().all(|place| Some(&place.process) == first);
                for place in places.iter().take(MOST_PLACES) {
                    let [start, end] = [place.start_ns, place.end_ns].map(Microseconds);
                    write!(f, "\n  --window {start},{end}")?;
                    if !is_one_process {
                        write!(f, "  (process {})", place.process)?;
                    }
                }
                match places.len().saturating_sub(MOST_PLACES) {
                    0 => Ok(()),
                    more => write!(f, "\n  and {more} more"),
                }
            }
        }
    }
}

/// A time in the format of the command line: exact, without trailing zeros.
struct Microseconds(i64);

impl fmt::Display for Microseconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, rest) = (self.0 / 1000, (self.0 % 1000).abs());
        match rest {
            0 => write!(f, "{whole}"),
            rest => {
                let decimals = format!("{rest:03}");
                write!(f, "{whole}.{}", decimals.trim_end_matches('0'))
            }
        }
    }
}

impl std::error::Error for UnknownStep {}

/// The profiler's own annotations on the GPU. A step has one per stream. They cover what the range itself launched:
/// work launched by a nested range or another thread has its own annotation or none.
struct GpuAnnotations {
    spans: Map<(StringId, Option<LinkId>), Interval>,
}

impl GpuAnnotations {
    fn new(trace: &Trace) -> GpuAnnotations {
        let events = &trace.events;
        let mut spans: Map<_, Interval> = Map::default();
        let mut on_host: Map<_, u32> = Map::default();
        use Category::{GpuUserAnnotation, UserAnnotation};
        for event in events.of_category(|of| matches!(of, UserAnnotation | GpuUserAnnotation)) {
            let key = || (events.name(event), events.external_id(event));
            match events.category(event) {
                Category::GpuUserAnnotation => {
                    let span = events.span(event);
                    let all = spans.entry(key()).or_insert(span);
                    *all = all.hull(span);
                }
                Category::UserAnnotation => *on_host.entry(key()).or_default() += 1,
                _ => {}
            }
        }
        // Several processes use the same ids, so the owner is unknown.
        let is_own = |key: &_| on_host.get(key).is_none_or(|ranges| *ranges == 1);
        let own = spans.into_iter().filter(|(key, _)| is_own(key));
        GpuAnnotations {
            spans: own.collect(),
        }
    }

    /// The one with the same name and id as the step's annotation on the CPU.
    fn of(&self, trace: &Trace, step: &Step) -> Option<Interval> {
        let events = &trace.events;
        let key = (events.name(step.event), events.external_id(step.event)?);
        self.spans.get(&(key.0, Some(key.1))).copied()
    }
}

/// GPU activity by the process and the start of the launching call.
struct Launched {
    work: Map<Option<StringId>, Vec<Piece>>,
    /// Work without a known call, such as work launched before the recording: its starts in order, each with the latest
    /// end so far.
    others: Vec<(i64, i64)>,
}

/// A piece of GPU activity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Piece {
    launched_ns: i64,
    span: Interval,
    computes: bool,
    /// The latest end of everything that its process launched so far, including itself.
    until_ns: i64,
}

impl Launched {
    fn new(profile: &Profile) -> Launched {
        let trace = &profile.trace;
        let mut work: Map<_, Vec<Piece>> = Map::default();
        let mut others = Vec::new();
        for (_, launched) in profile.gpu.iter() {
            match launched.launched_by {
                Some(call) => {
                    work.entry(process(trace, call)).or_default().push(Piece {
                        launched_ns: trace.events.ts_ns(call),
                        span: launched.span,
                        computes: launched.class == GpuClass::Computation,
                        until_ns: launched.span.end_ns,
                    });
                }
                None => others.push((launched.span.start_ns, launched.span.end_ns)),
            }
        }
        for of_process in work.values_mut() {
            of_process.arrange();
            let mut until_ns = i64::MIN;
            for piece in of_process {
                until_ns = until_ns.max(piece.until_ns);
                piece.until_ns = until_ns;
            }
        }
        others.arrange();
        let mut until_ns = i64::MIN;
        for (_, end_ns) in &mut others {
            until_ns = until_ns.max(*end_ns);
            *end_ns = until_ns;
        }
        Launched { work, others }
    }

    /// When the GPU worked for a step, or waited for it. Lasts until the end of everything that its process launched
    /// during it, on any thread. Starts when everything launched earlier is done, but not before the step, and not
    /// after its first computation starts.
    fn during(&self, trace: &Trace, step: &Step) -> Option<Interval> {
        let work = self.work.get(&process(trace, step.event))?;
        let launched_before =
            |ns: i64| work.partition_point(|piece: &Piece| piece.launched_ns < ns);
        let from = launched_before(step.span.start_ns);
        let own = work.get(from..launched_before(step.span.end_ns))?;
        let end_ns = own.iter().map(|piece| piece.span.end_ns).max()?;
        let first =
            |work: &mut dyn Iterator<Item = &Piece>| work.map(|piece| piece.span.start_ns).min();
        // Copies and collectives may run ahead, concurrently with computation of other steps.
        let first_ns = first(&mut own.iter().filter(|piece| piece.computes))
            .or_else(|| first(&mut own.iter()))?;
        let before = from.checked_sub(1).and_then(|last| work.get(last));
        // While the GPU runs work with an unknown call, it is not waiting for the step either.
        let others = self
            .others
            .partition_point(|(start_ns, _)| *start_ns < first_ns);
        let other = others.checked_sub(1).and_then(|last| self.others.get(last));
        let busy_until = [before.map(|last| last.until_ns), other.map(|(_, end)| *end)];
        let busy_until = busy_until.into_iter().flatten().max();
        let free_ns = busy_until.map_or(step.span.start_ns, |ns| ns.max(step.span.start_ns));
        Some(Interval::new(free_ns.min(first_ns), end_ns))
    }
}
