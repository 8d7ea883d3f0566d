//! GEMMs of single experts, in a loop over the experts of an MoE layer.
//!
//! ```text
//! by stream: … softmax topk | index mm mm mul mm index_add_ | index mm mm mul mm index_add_ | …
//!                             one expert                      the next one
//! ```
//!
//! Each expert gathers its tokens, multiplies them by its weights, and adds what comes out to the result. Attention
//! separates layers.

use std::collections::BTreeSet;

use crate::findings::prelude::*;
use crate::names::{Family, OtherKind};
use crate::profile::operations::Operation;
use crate::profile::streams::steps;

/// With fewer experts in a row it may be another pattern, such as writing to a cache.
const LEAST_EXPERTS: usize = 4;

/// An expert has at least two GEMMs.
const LEAST_GEMMS: usize = 2;

/// What an operation does in such a loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Gathers,
    Gemm,
    Scatters,
    /// Ends a layer.
    Attends,
    Other,
}

/// The operations that are GEMMs of single experts.
pub(super) fn of_experts(input: &Input) -> BTreeSet<usize> {
    let parts: Vec<Part> = input
        .operations()
        .map(|(_, operation, _)| part(input, operation))
        .collect();
    // Order costs time, so it is skipped if nothing can come of it.
    if !parts.contains(&Part::Scatters) || !parts.contains(&Part::Gathers) {
        return BTreeSet::new();
    }
    let counting = input.operations().map(|(at, operation, _)| (at, operation));
    let mut found = BTreeSet::new();
    let mut of_layer: Vec<Vec<usize>> = Vec::new();
    // The GEMMs since tokens were gathered; `None` before that.
    let mut of_expert: Option<Vec<usize>> = None;
    for step in steps(input.profile, counting).into_iter().flatten() {
        match parts.get(step.operation) {
            // The weights of its tokens are gathered after its GEMMs.
            Some(Part::Gathers) if of_expert.as_ref().is_none_or(Vec::is_empty) => {
                of_expert = Some(Vec::new());
            }
            Some(Part::Gemm) => {
                if let Some(gemms) = &mut of_expert {
                    gemms.push(step.operation);
                }
            }
            Some(Part::Scatters) => {
                let gemms = of_expert.take();
                of_layer.extend(gemms.filter(|gemms| gemms.len() >= LEAST_GEMMS));
            }
            Some(Part::Attends) => {
                of_expert = None;
                found.extend(whole_layer(&mut of_layer));
            }
            _ => {}
        }
    }
    found.extend(whole_layer(&mut of_layer));
    found
}

/// The GEMMs of a layer, if it has enough experts; starts the next layer.
fn whole_layer(experts: &mut Vec<Vec<usize>>) -> Vec<usize> {
    let experts = std::mem::take(experts);
    match experts.len() >= LEAST_EXPERTS {
        true => experts.concat(),
        false => Vec::new(),
    }
}

fn part(input: &Input, operation: &Operation) -> Part {
    const GATHERS: &[&str] = &["aten::index", "aten::index_select"];
    let name = operation.short_name(input.profile);
    match operation.family {
        Family::Gemm => Part::Gemm,
        Family::Attention => Part::Attends,
        _ if name.contains("softmax") => Part::Attends,
        _ if GATHERS.contains(&name) => Part::Gathers,
        family if OtherKind::of(name, family) == OtherKind::Scatter => Part::Scatters,
        _ => Part::Other,
    }
}
