//! Whether a trace was recorded in training.

use super::autograd::is_engine_call;
use crate::names::frames::waits_for_autograd;
use crate::names::optimizer::{is_fused_step, optimizer_of_step};
use crate::names::{Family, attention, family_of_kernel};
use crate::profile::Profile;
use crate::trace::{Category, Trace};

struct Training(bool);

impl Profile {
    /// Whether a backward pass or a step of an optimizer was recorded, anywhere in the trace.
    pub(crate) fn is_training(&self) -> bool {
        self.once(|| Training(find(&self.trace))).0
    }
}

fn find(trace: &Trace) -> bool {
    let mut names = trace.strings.iter();
    if names.any(|(_, name)| is_of_training(name)) {
        return true;
    }
    // Graphs that are replayed show kernels only.
    let is_backward =
        |name: &str| attention::is_backward(name) && family_of_kernel(name) == Family::Attention;
    let mut kernels = trace.named(|of| of == Category::Kernel, is_backward);
    let mut ranges = trace.named(|of| of == Category::UserAnnotation, names_backward);
    kernels.next().or_else(|| ranges.next()).is_some()
}

/// The name of an operator, a range that PyTorch records or a Python function that only training calls.
fn is_of_training(name: &str) -> bool {
    is_engine_call(name)
        || optimizer_of_step(name).is_some()
        || is_fused_step(name)
        || waits_for_autograd(name)
}

/// Whether a range that the program records is the backward pass: "backward", "FSDP::post_backward_reduce".
fn names_backward(range: &str) -> bool {
    let mut words = range.split(|letter: char| !letter.is_alphanumeric());
    words.any(|word| word.eq_ignore_ascii_case("backward"))
}

#[cfg(test)]
mod tests {
    use crate::testing::Timetable;

    #[test]
    fn one_part_of_a_training_step_shows_training() {
        let flash = |pass: &str| format!("void flash::flash_{pass}_kernel<128>(Params)");
        let step = || Timetable::new().work("aten::mm", "gemm", 0..10);
        let with = |op: &str| step().work(op, "kernel", 20..30);
        let cases = [
            (step(), false),
            (
                with("autograd::engine::evaluate_function: MmBackward0"),
                true,
            ),
            (with("aten::_fused_adamw_"), true),
            (with("aten::addcmul"), false),
            (step().annotation("Optimizer.step#SGD.step", 0..40), true),
            (
                step().annotation("Optimizer.zero_grad#SGD.zero_grad", 0..40),
                false,
            ),
            (step().annotation("backward pass", 0..40), true),
            (step().annotation("forward", 0..40), false),
            (
                step().frame("torch/autograd/graph.py(800): _engine_run_backward", 0..40),
                true,
            ),
            (
                step().frame("torch/optim/adamw.py(1): <module>", 0..40),
                false,
            ),
            (step().work("a::b", &flash("bwd"), 20..30), true),
            (step().work("a::b", &flash("fwd"), 20..30), false),
            // A transposed convolution of inference runs the kernel of a convolution's backward pass.
            (
                step().work("a::b", "igemm_bwd_gtcx3_nhwc_bf16", 20..30),
                false,
            ),
        ];
        for (at, (trace, expected)) in cases.into_iter().enumerate() {
            assert_eq!(trace.profile().is_training(), expected, "{at}");
        }
    }
}
