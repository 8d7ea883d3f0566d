//! What annotations of serving engines say of the whole recording.

use crate::perf::batch_tokens;
use crate::trace::{Category, Trace};

/// Tokens of all steps whose annotations count them: of requests that are read in, and generated.
/// Annotations of the host, or, where there are none, of the GPU.
pub fn served_tokens(trace: &Trace) -> Option<(f64, f64)> {
    let of_category = |category: Category| {
        let (events, strings) = (&trace.events, &trace.strings);
        let annotations = events
            .ids()
            .filter(|event| events.category(*event) == category);
        let counts = annotations.filter_map(|event| batch_tokens(strings.get(events.name(event))));
        counts.fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
    };
    [Category::UserAnnotation, Category::GpuUserAnnotation]
        .into_iter()
        .map(of_category)
        .find(|(context, generation)| context + generation > 0.0)
}
