//! The walk through the calls of a thread in the order of time, which adds each moment to what is around it.

use std::collections::BTreeMap;

use super::split::{Part, Split};
use crate::base::interval::{Coverage, Interval, length, union};
use crate::findings::Input;
use crate::names::cpu_activity::CpuActivity::{self, *};
use crate::names::frames::{CodeOf, waits_for_autograd};
use crate::names::optimizer::{is_fused_step, optimizer_of_step};
use crate::profile::cpu::tree::{CallTree, NodeId, TrackNodes};
use crate::profile::window::steps;
use crate::profile::{NoGpu, Profile};
use crate::trace::{ByName, Category, EventId, StringId, Trace, TrackId};

/// How the time of the thread that computes splits; `None` unless only the CPU was recorded, and operators on it.
pub(super) fn split(input: &Input) -> Option<Split> {
    let profile = input.profile;
    let trace = &profile.trace;
    let has_runtime_calls = || {
        let mut calls = trace.events.of_category(Category::is_runtime);
        calls.next().is_some()
    };
    // Calls of a GPU's runtime without its activity: operators take little of the time of what they launch.
    let is_recorded = profile.no_gpu() == Some(NoGpu::Recorded) && !has_runtime_calls();
    if !is_recorded || profile.cpu_ops.is_empty() {
        return None;
    }
    let tree = profile.full_tree();
    let threads = tree.tracks().iter();
    let busiest = threads.max_by_key(|thread| operators_ns(profile, thread))?;
    let mut walk = Walk::new(profile, tree, busiest.track);
    walk.run(busiest);
    walk.finish()
}

/// The time that a thread spends in operators.
fn operators_ns(profile: &Profile, thread: &TrackNodes) -> i64 {
    let (trace, tree) = (&profile.trace, profile.full_tree());
    let nodes = thread.nodes.clone().map(NodeId);
    let operators = nodes.filter(|node| tree.category(trace, *node) == Category::CpuOp);
    let spans = operators.filter_map(|node| tree.span(trace, node));
    length(&union(spans.collect()))
}

/// Whether a name says what takes the time, in a run without a GPU.
fn tells(activity: CpuActivity) -> bool {
    matches!(
        activity,
        DataLoading
            | Preprocessing
            | Tokenization
            | Environment
            | Reflection
            | Guards
            | UnusedParameters
            | GarbageCollection
            | Waiting
            | Serialization
            | Logging
            | Checkpointing
            | FileAccess
            | Compilation
            | Imports
            | Profiler
    )
}

/// What is around a moment.
#[derive(Debug, Clone, Copy)]
struct Around {
    end_ns: i64,
    part: Part,
    /// The nearest function of the program: inside an activity, one that runs for it.
    function: Option<EventId>,
    /// The nearest Python function of any kind.
    frame: Option<EventId>,
    is_operator: bool,
    is_double: bool,
    is_math_attention: bool,
}

const OUTSIDE: Around = Around {
    end_ns: i64::MAX,
    part: Part::Unknown,
    function: None,
    frame: None,
    is_operator: false,
    is_double: false,
    is_math_attention: false,
};

/// Walks through the calls of a thread in the order of time.
pub(super) struct Walk<'a> {
    profile: &'a Profile,
    tree: &'a CallTree,
    window: Interval,
    activities: BTreeMap<(StringId, Category), Option<CpuActivity>>,
    is_own: ByName<bool>,
    /// Ranges that the program or PyTorch named, by what they are spent on.
    ranges: Vec<(Part, Coverage)>,
    open: Vec<Around>,
    at_ns: i64,
    first_step_ends_ns: i64,
    split: Split,
}

impl<'a> Walk<'a> {
    pub(super) fn new(profile: &'a Profile, tree: &'a CallTree, track: TrackId) -> Walk<'a> {
        let mut walk = Walk {
            profile,
            tree,
            window: profile.cpu_span(),
            activities: BTreeMap::new(),
            is_own: ByName::new(|name| CodeOf::frame(name) == Some(CodeOf::Program)),
            ranges: Vec::new(),
            open: Vec::new(),
            at_ns: i64::MIN,
            first_step_ends_ns: first_step_ends_ns(&profile.trace),
            split: Split::default(),
        };
        walk.read_ranges(track);
        walk
    }

    /// Ranges are not calls: they are read first, and then cover calls and what is between them.
    fn read_ranges(&mut self, track: TrackId) {
        let trace = &self.profile.trace;
        let mut spans: BTreeMap<Part, Vec<Interval>> = BTreeMap::new();
        for event in trace.events.in_category(Category::UserAnnotation) {
            let span = trace.events.span(event);
            if trace.events.track(event) != track || !self.window.contains(span.start_ns) {
                continue;
            }
            let part = match optimizer_of_step(trace.name(event)) {
                Some(class) => {
                    self.split.optimizer = Some(class.to_owned());
                    Part::Optimizer
                }
                None => match self.activity_of(event) {
                    Some(activity) => Part::Activity(activity),
                    None => continue,
                },
            };
            let time = self.split.parts.entry(part).or_default();
            time.add_call(event, span.length());
            spans.entry(part).or_default().push(span);
        }
        let spans = spans.into_iter();
        self.ranges = spans
            .map(|(part, spans)| (part, Coverage::new(union(spans))))
            .collect();
    }

    fn activity_of(&mut self, event: EventId) -> Option<CpuActivity> {
        let trace = &self.profile.trace;
        let key = (trace.events.name(event), trace.events.category(event));
        let known = self.activities.entry(key);
        *known.or_insert_with(|| {
            let activity = CpuActivity::of_span(key.1, trace.strings.get(key.0));
            activity.filter(|activity| tells(*activity))
        })
    }

    pub(super) fn run(&mut self, thread: &TrackNodes) {
        for node in thread.nodes.clone().map(NodeId) {
            let Some(event) = self.tree.event(node) else {
                continue;
            };
            let span = self.profile.trace.events.span(event);
            if !self.window.contains(span.start_ns) {
                continue;
            }
            if self.at_ns == i64::MIN {
                self.at_ns = span.start_ns;
            }
            self.advance(span.start_ns);
            let around = self.enter(event, span);
            self.open.push(around);
        }
        self.advance(i64::MAX);
    }

    /// Spends the time until a moment on what is around it, and leaves the calls that end before.
    fn advance(&mut self, until_ns: i64) {
        while let Some(around) = self.open.last().copied() {
            let end_ns = around.end_ns.min(until_ns);
            self.spend(around, end_ns);
            if around.end_ns > until_ns {
                return;
            }
            self.open.pop();
        }
        if until_ns < i64::MAX {
            self.spend(OUTSIDE, until_ns);
        }
    }

    fn enter(&mut self, event: EventId, span: Interval) -> Around {
        let outer = self.open.last().copied().unwrap_or(OUTSIDE);
        let mut inner = Around {
            // A call may outlast its caller by a rounding error.
            end_ns: span.end_ns.min(outer.end_ns),
            ..outer
        };
        let trace = &self.profile.trace;
        let is_operator = trace.events.category(event) == Category::CpuOp;
        if !is_operator {
            inner.frame = Some(event);
            inner.function = match self.is_own.of(trace, event) {
                true => Some(event),
                false => outer.function,
            };
        }
        if matches!(outer.part, Part::Activity(_)) {
            return inner;
        }
        if let Some(activity) = self.activity_of(event) {
            let time = self
                .split
                .parts
                .entry(Part::Activity(activity))
                .or_default();
            time.add_call(event, span.length());
            if activity == Compilation && span.start_ns >= self.first_step_ends_ns {
                self.split.recompiling_ns = self.split.recompiling_ns.saturating_add(span.length());
            }
            inner.part = Part::Activity(activity);
            inner.function = inner.function.filter(|function| *function == event);
            return inner;
        }
        if is_operator {
            self.enter_operator(event, span, outer, &mut inner);
        } else if waits_for_autograd(trace.name(event)) {
            // Between the operators of a backward pass, autograd's engine runs.
            inner.part = Part::Operators;
        } else if inner.function == Some(event) {
            inner.part = Part::Function(trace.events.name(event));
            inner.is_operator = false;
        }
        inner
    }

    fn enter_operator(
        &mut self,
        event: EventId,
        span: Interval,
        outer: Around,
        inner: &mut Around,
    ) {
        let trace = &self.profile.trace;
        let name = trace.name(event);
        self.split.is_fused |= is_fused_step(name);
        inner.part = Part::Operators;
        inner.is_operator = true;
        inner.is_double = is_double(trace, event).unwrap_or(outer.is_double);
        inner.is_math_attention |= name.ends_with("_scaled_dot_product_attention_math");
        if inner.is_math_attention && !outer.is_math_attention {
            self.split.math_attention.add_call(event, span.length());
        }
        if inner.is_double && !outer.is_double {
            self.split.double.add_call(event, span.length());
        }
        let is_outermost = outer.part != Part::Operators && !self.is_in_range(span);
        if let Some(function) = outer.function.filter(|_| is_outermost) {
            let part = Part::Function(trace.events.name(function));
            let time = self.split.parts.entry(part).or_default();
            time.operators.add(span.length());
        }
    }

    fn is_in_range(&self, span: Interval) -> bool {
        let mut ranges = self.ranges.iter();
        ranges.any(|(_, spans)| spans.within(span) > 0)
    }

    fn spend(&mut self, around: Around, until_ns: i64) {
        let time = Interval::new(self.at_ns, until_ns.max(self.at_ns));
        self.at_ns = time.end_ns;
        let mut left_ns = time.length();
        if left_ns == 0 {
            return;
        }
        self.split.run_ns = self.split.run_ns.saturating_add(left_ns);
        if !matches!(around.part, Part::Activity(_)) {
            for (part, spans) in &self.ranges {
                let ns = spans.within(time).min(left_ns);
                left_ns -= ns;
                add(&mut self.split, &self.profile.trace, *part, around, ns);
            }
        }
        let (split, trace) = (&mut self.split, &self.profile.trace);
        add(split, trace, around.part, around, left_ns);
        if around.is_operator && around.is_double {
            split.double.ns = split.double.ns.saturating_add(left_ns);
        }
        if around.is_operator && around.is_math_attention {
            split.math_attention.ns = split.math_attention.ns.saturating_add(left_ns);
        }
    }

    /// What the profiler takes is no time of the run.
    pub(super) fn finish(mut self) -> Option<Split> {
        let profiler = self.split.parts.remove(&Part::Activity(Profiler));
        let profiler_ns = profiler.map_or(0, |time| time.ns);
        self.split.run_ns = self.split.run_ns.saturating_sub(profiler_ns);
        (self.split.run_ns > 0).then_some(self.split)
    }
}

/// Adds time to a part, and to the function in it that takes the time.
fn add(split: &mut Split, trace: &Trace, part: Part, around: Around, ns: i64) {
    if ns <= 0 {
        return;
    }
    let time = split.parts.entry(part).or_default();
    time.ns = time.ns.saturating_add(ns);
    if let (Part::Function(_), Some(function)) = (part, around.function) {
        time.longest.get_or_insert((0, function));
    }
    let inside = match part {
        Part::Activity(_) => around.function,
        Part::Function(_) => around.frame.filter(|frame| Some(*frame) != around.function),
        _ => None,
    };
    if let Some(inside) = inside {
        let name = trace.events.name(inside);
        let time = time.inside.entry(name).or_insert((inside, 0));
        time.1 = time.1.saturating_add(ns);
    }
}

/// Whether an operator reads FP64 tensors; `None` if its arguments are unknown or have none.
fn is_double(trace: &Trace, operator: EventId) -> Option<bool> {
    let args = trace.args.get(trace.events.op_args(operator)?)?;
    let types = args.types.as_ref()?;
    let shapes = args.dims.as_ref()?;
    // Python numbers are FP64, too, but have no shape.
    let tensors = types.iter().zip(shapes.iter());
    let tensors = tensors.filter(|(_, dims)| {
        let mut shapes = dims.shapes().iter();
        shapes.any(|shape| !trace.args.shape(*shape).is_empty())
    });
    let mut types = tensors.map(|(of, _)| trace.strings.get(*of)).peekable();
    types.peek()?;
    Some(types.any(|of| of == "double"))
}

/// When the first of several steps ends; never if there are none.
fn first_step_ends_ns(trace: &Trace) -> i64 {
    let steps = steps(trace);
    let first = steps.first().filter(|_| steps.len() > 1);
    first.map_or(i64::MAX, |step| step.span.end_ns)
}
