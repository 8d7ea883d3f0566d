//! The color of an event: its category if it has GPU time, otherwise what it was recorded as.

use dormer_core::names::Family;
use dormer_core::names::frames::CodeOf;
use dormer_core::trace::{Category, EventId};

use super::TimelineSource;

/// Tokens besides those of the categories: CPU activity.
const CPU: [&str; 6] = [
    "annotation",
    "python",
    "op",
    "runtime",
    "own-code",
    "library",
];

fn all() -> impl Iterator<Item = &'static str> {
    Family::ALL.into_iter().map(Family::token).chain(CPU)
}

pub(in crate::worker) fn tokens() -> Vec<String> {
    all().map(str::to_owned).collect()
}

/// The hue of an event with GPU time.
pub(in crate::worker) fn of_family(family: Family) -> u8 {
    let position = Family::ALL.iter().position(|one| *one == family);
    position.unwrap_or_default() as u8
}

/// The hue of an event without GPU time.
pub(in crate::worker) fn of_cpu(category: Option<Category>) -> u8 {
    let position = match category {
        Some(Category::PythonFunction) => 1,
        Some(Category::CpuOp) => 2,
        Some(Category::Runtime | Category::Driver) => 3,
        _ => 0,
    };
    (Family::ALL.len() + position) as u8
}

/// The hue of a Python function, by whose code it is; PyTorch's code and modules share one.
pub(in crate::worker) fn of_code(code: Option<CodeOf>) -> u8 {
    let position = match code {
        Some(CodeOf::Program) => 4,
        Some(CodeOf::Library) => 5,
        Some(CodeOf::PyTorch) | None => 1,
    };
    (Family::ALL.len() + position) as u8
}

pub(super) fn token(source: TimelineSource, event: EventId) -> &'static str {
    let hue = usize::from(find(source, event));
    all().nth(hue).unwrap_or_default()
}

/// Hues of events, each determined when it is first drawn.
#[derive(Default)]
pub(super) struct Hues {
    /// [`UNKNOWN`] for events that have not been drawn yet.
    by_event: Vec<u8>,
}

const UNKNOWN: u8 = u8::MAX;

impl Hues {
    pub(super) fn of(&mut self, source: TimelineSource, event: EventId) -> u8 {
        if self.by_event.is_empty() {
            self.by_event = vec![UNKNOWN; source.profile.trace.events.len()];
        }
        let Some(known) = self.by_event.get_mut(event.index()) else {
            return of_cpu(None);
        };
        if *known == UNKNOWN {
            *known = find(source, event);
        }
        *known
    }
}

fn find(source: TimelineSource, event: EventId) -> u8 {
    let profile = source.profile;
    let trace = &profile.trace;
    let name = trace.strings.get(trace.events.name(event));
    let category = trace.events.category(event);
    match category {
        category if category.is_gpu() => {
            let id = profile.launches.id_of(event);
            let work = id.and_then(|id| profile.gpu.get(id));
            let op = work
                .filter(|work| !work.is_collective)
                .and_then(|work| work.parent_op)
                .and_then(|op| profile.tree.event(op))
                .map(|op| trace.strings.get(trace.events.name(op)));
            of_family(source.families.of_kernel(op, name))
        }
        Category::CpuOp => {
            let node = profile.tree.node_of(event);
            match node.is_some_and(|node| !profile.tree.gpu_work(node).is_empty()) {
                true => of_family(source.families.of_op(name)),
                false => of_cpu(Some(category)),
            }
        }
        Category::PythonFunction => of_code(CodeOf::frame(name)),
        Category::UserAnnotation
        | Category::GpuUserAnnotation
        | Category::Runtime
        | Category::Driver => of_cpu(Some(category)),
        _ => of_family(Family::Other),
    }
}
