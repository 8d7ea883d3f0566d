//! GPU activity that ends exactly where the next one on its stream starts.

use crate::import::warning::{WarningKind, Warnings};
use crate::trace::{Category, EventId, Source, Trace};

/// Both writers cut off GPU activity where the next one on its stream starts if the two overlap. Warns with the number
/// of activities that end exactly there, which is rare otherwise.
pub(super) fn warn(trace: &Trace, warnings: &mut Warnings) {
    let events = &trace.events;
    let mut work: Vec<EventId> = events.of_category(Category::is_gpu).collect();
    work.sort_by_key(|event| (events.track(*event), events.ts_ns(*event)));
    let touches = |two: &&[EventId]| match two {
        [one, next] => {
            events.track(*one) == events.track(*next) && events.end_ns(*one) == events.ts_ns(*next)
        }
        _ => false,
    };
    let kind = match trace.source {
        Source::Rocprofv3 => WarningKind::MovedTimes,
        _ => WarningKind::CutKernels,
    };
    let count = work.windows(2).filter(touches).count();
    warnings.add_many(kind, count as u64, None);
}
