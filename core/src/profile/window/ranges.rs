//! The recorded time, and the parts of it that the program named.

use crate::base::interval::Interval;
use crate::base::sort::Arrange;
use crate::trace::{Category, EventId, Trace};

/// Whether lanes show events of a category.
pub fn is_drawn(category: Category) -> bool {
    match category {
        Category::CpuOp | Category::PythonFunction | Category::UserAnnotation => true,
        Category::GpuUserAnnotation | Category::Overhead | Category::Other => false,
        other => other.is_gpu() || other.is_runtime(),
    }
}

/// From the first start to the last end of everything that lanes show; `None` if there is nothing.
pub fn recorded_span(trace: &Trace) -> Option<Interval> {
    let events = &trace.events;
    let shown = events.of_category(is_drawn);
    shown.map(|event| events.span(event)).reduce(Interval::hull)
}

/// When the recording begins: the first start of [`recorded_span`]; 0 if there is nothing.
pub(crate) fn begin_ns(trace: &Trace) -> i64 {
    recorded_span(trace).map_or(0, |span| span.start_ns)
}

/// A named part of the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// As the program named it: `ProfilerStep#12`.
    pub name: String,
    /// Its annotation.
    pub event: EventId,
    /// When it ran, on the CPU.
    pub span: Interval,
}

/// Prefixes of ranges named by communication libraries instead of the program: `nccl:all_reduce`.
const OF_LIBRARIES: [&str; 6] = ["nccl:", "rccl:", "gloo:", "mpi:", "ucc:", "xccl:"];

/// The outermost ranges of each thread that the program named on the CPU, sorted by start.
pub fn steps(trace: &Trace) -> Vec<Step> {
    let mut outer = None;
    let mut steps = named_ranges(trace);
    let events = &trace.events;
    steps.arrange_by_key(|step| {
        let Interval { start_ns, end_ns } = step.span;
        let track = events.track(step.event);
        (track, start_ns, std::cmp::Reverse(end_ns), step.event)
    });
    steps.retain(|step| {
        let track = events.track(step.event);
        let until_ns = step.span.end_ns;
        if outer.is_some_and(|(of, outer_ns)| of == track && until_ns <= outer_ns) {
            return false;
        }
        outer = Some((track, until_ns));
        true
    });
    in_order_of_time(steps)
}

/// All ranges that the program named on the CPU, including nested ones, sorted by start.
pub(crate) fn named_ranges(trace: &Trace) -> Vec<Step> {
    let events = &trace.events;
    let named = events.in_category(Category::UserAnnotation);
    let ranges = named.filter_map(|event| {
        let name = trace.name(event);
        let is_of_library = OF_LIBRARIES.iter().any(|start| name.starts_with(start));
        (!is_of_library).then(|| Step {
            name: name.to_owned(),
            event,
            span: events.span(event),
        })
    });
    in_order_of_time(ranges.collect())
}

fn in_order_of_time(mut steps: Vec<Step>) -> Vec<Step> {
    steps.arrange_by_key(|step| (step.span.start_ns, step.event));
    steps
}
