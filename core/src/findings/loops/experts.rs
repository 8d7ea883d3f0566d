//! Loops over the experts of MoE layers, which multiply the tokens of one expert after the other.
//!
//! ```text
//! by stream: … softmax topk | index mm mm mul mm index_add_ | index mm mm mul mm index_add_ | …
//!                             one expert                      the next one
//! ```
//!
//! Each expert gathers its tokens, multiplies them by its weights, and adds what comes out to the result. Attention
//! separates layers.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::findings::prelude::*;
use crate::names::{Family, OtherKind};
use crate::profile::operations::Operation;
use crate::profile::operations::streams::stream_calls;

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

/// The loops over experts of a run.
#[derive(Debug, Default)]
pub(crate) struct ExpertLoops {
    /// The operations that are GEMMs of single experts.
    pub(crate) gemms: BTreeSet<usize>,
    /// The number of kernels in these loops.
    n_kernels: usize,
    /// That of the run.
    n_all: usize,
}

/// What was seen of one expert, or of the experts of one layer.
#[derive(Debug, Default)]
struct Seen {
    gemms: Vec<usize>,
    n_kernels: usize,
}

impl ExpertLoops {
    pub(crate) fn of(input: &Input) -> Arc<ExpertLoops> {
        input.profile.once(|| expert_loops(input))
    }

    /// Whether most kernels of the run are in such loops.
    pub(crate) fn are_most(&self) -> bool {
        self.n_kernels * 2 > self.n_all
    }

    /// Adds a layer, if it has enough experts; starts the next one.
    fn add_layer(&mut self, experts: &mut Vec<Seen>) {
        let experts = std::mem::take(experts);
        if experts.len() >= LEAST_EXPERTS {
            self.n_kernels += experts.iter().map(|one| one.n_kernels).sum::<usize>();
            self.gemms
                .extend(experts.into_iter().flat_map(|one| one.gemms));
        }
    }
}

fn expert_loops(input: &Input) -> ExpertLoops {
    let parts: Vec<Part> = input
        .operations()
        .map(|(_, operation, _)| part(input, operation))
        .collect();
    // Order costs time, so it is skipped if nothing can come of it.
    if !parts.contains(&Part::Scatters) || !parts.contains(&Part::Gathers) {
        return ExpertLoops::default();
    }
    let counting = input.operations().map(|(at, operation, _)| (at, operation));
    let mut found = ExpertLoops::default();
    let mut of_layer: Vec<Seen> = Vec::new();
    // What was seen since tokens were gathered; `None` before that.
    let mut of_expert: Option<Seen> = None;
    for step in stream_calls(input.profile, counting).into_iter().flatten() {
        found.n_all += step.n_kernels;
        let part = parts.get(step.operation);
        if let Some(expert) = &mut of_expert {
            expert.n_kernels += step.n_kernels;
        }
        match part {
            // The weights of its tokens are gathered after its GEMMs.
            Some(Part::Gathers) if of_expert.as_ref().is_none_or(|one| one.gemms.is_empty()) => {
                of_expert = Some(Seen {
                    n_kernels: step.n_kernels,
                    ..Seen::default()
                });
            }
            Some(Part::Gemm) => {
                if let Some(expert) = &mut of_expert {
                    expert.gemms.push(step.operation);
                }
            }
            Some(Part::Scatters) => {
                let expert = of_expert.take();
                of_layer.extend(expert.filter(|one| one.gemms.len() >= LEAST_GEMMS));
            }
            Some(Part::Attends) => {
                of_expert = None;
                found.add_layer(&mut of_layer);
            }
            _ => {}
        }
    }
    found.add_layer(&mut of_layer);
    found
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::samples::Calls;
    use crate::report::Report;
    use crate::testing::options_on;

    /// A layer with experts of six kernels each, and `n_others` other kernels.
    fn are_most(n_experts: u32, n_others: u32) -> bool {
        let kernel = "ampere_bf16_s16816gemm_bf16_64x64_ldg8_f2f_stages_64x5_tn";
        let layer = (0..n_experts).fold(Calls::new(), |calls, _| {
            calls
                .call("aten::index", "64x2048, _", "index_kernel", 2)
                .call("aten::mm", "8x2048, 2048x1408", kernel, 4)
                .call("aten::mm", "8x2048, 2048x1408", kernel, 4)
                .call("aten::mul", "8x1408*2", "mul_kernel", 2)
                .call("aten::mm", "8x1408, 1408x2048", kernel, 4)
                .call("aten::index_add_", "64x2048, _", "scatter_kernel", 2)
        });
        let calls = layer.calls(n_others, "aten::add", "64x2048*2", "add_kernel", 2);
        let profile = calls.profile();
        let report = Report::new(&profile, &options_on("H100"));
        ExpertLoops::of(&report.analysis_input(&profile)).are_most()
    }

    #[test]
    fn most_kernels_may_be_in_loops_over_experts() {
        assert!(are_most(8, 10));
        assert!(!are_most(8, 60));
        // Two experts are no loop.
        assert!(!are_most(2, 4));
    }
}
