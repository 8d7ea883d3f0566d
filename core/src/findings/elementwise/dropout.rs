//! Dropout where nothing is trained.

use super::Observed;
use super::base::COPY;
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
        && [Family::Gemm, Family::Convolution]
            .into_iter()
            .any(|family| input.has(family))
        && calls.fold(0, u64::saturating_add) >= LEAST_CALLS
}

#[cfg(test)]
mod tests {
    use super::super::tests::fast;
    use crate::findings::samples::{Calls, patterns};

    /// A model of a hundred GEMMs that drops elements without a backward pass is not in evaluation mode.
    #[test]
    fn inference_needs_no_dropout() {
        let run = |n: u32, engine: &str| {
            let calls = fast(Calls::new()).inside(engine, |calls| {
                calls.calls(n, "aten::mm", "64x64@64x1:float*2", "gemm", 10)
            });
            let args = "100000000@1:float, =0.1, =True";
            let calls = calls.call("aten::native_dropout", args, "fused_dropout", 300);
            calls.outcome("elementwise")
        };
        let found = |n, engine| patterns(&run(n, engine)).contains(&"dropout_without_backward");
        assert!(found(120, "my::model"));
        assert!(!found(20, "my::model"));
        assert!(!found(
            120,
            "autograd::engine::evaluate_function: MmBackward0"
        ));
    }
}
