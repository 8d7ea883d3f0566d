//! Dropout where nothing is trained.

use super::Observed;
use super::rules::COPY;
use crate::findings::prelude::*;
use crate::names::Family;

/// One kernel that draws flags and multiplies with them.
const DROPOUT: &[&str] = &["aten::native_dropout", "aten::_fused_dropout"];

pub(super) const RULE: Rule<Observed> = Rule {
    key: "dropout_without_backward",
    when: "it is dropout, and the trace has no backward pass",
    applies: |input, observed| DROPOUT.contains(&observed.name) && is_inference(input),
    title: "Dropout without a backward pass",
    issue: "{figures}; it drops random elements, which only training needs, and the trace has no backward pass.",
    model: "switch the model to evaluation before inference (`model.eval()`): dropout then does nothing, and results no longer vary at random.",
    kernel: "nothing to gain in a kernel: it does not have to run.",
    notes: &["A forward pass recorded alone, of a training step, needs it."],
    saves: Saves::All,
    effect: Effect::FewerLaunches,
    has_reproducer: false,
    ..COPY
};

/// Whether a model runs, rather than some of its operators alone, and nothing is trained.
pub(in crate::findings) fn is_inference(input: &Input) -> bool {
    /// Fewer are a part of a model.
    const LEAST_CALLS: u64 = 100;
    let calls = input
        .operations()
        .map(|(_, operation, _)| operation.n_calls());
    !input.profile.is_training()
        && input.has(Family::Gemm)
        && calls.fold(0, u64::saturating_add) >= LEAST_CALLS
}
