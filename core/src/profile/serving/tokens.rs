//! Token counts of a whole recording, from the annotations of serving engines.

use crate::names::batch;
use crate::trace::{Category, Trace};

/// Total context and generated tokens of all steps whose annotations count them. Uses annotations on the CPU or, if
/// there are none, on the GPU.
pub(crate) fn served_tokens(trace: &Trace) -> Option<(f64, f64)> {
    let of_category = |category: Category| {
        let annotations = trace.events.of_category(move |of| of == category);
        let batches = annotations.filter_map(|event| batch::parse(trace.name(event)));
        let batches = batches.filter(batch::Batch::has_lengths);
        batches.fold((0.0, 0.0), |sum, one| {
            let tokens = [one.context.sq, one.generation.sq].map(|n| n.unwrap_or(0) as f64);
            (sum.0 + tokens[0], sum.1 + tokens[1])
        })
    };
    [Category::UserAnnotation, Category::GpuUserAnnotation]
        .into_iter()
        .map(of_category)
        .find(|(context, generation)| context + generation > 0.0)
}
