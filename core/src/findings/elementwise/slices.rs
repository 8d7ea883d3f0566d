//! Gradients of slices: autograd fills a whole tensor with zeros for each slice, copies the slice's gradient into it,
//! and adds the whole tensors.

use super::Observed;
use super::base::MOVED;
use crate::findings::prelude::*;
use crate::profile::Profile;
use crate::profile::cpu::autograd::ENGINE_CALL;
use crate::profile::operations::Operation;
use crate::trace::EventId;

pub(super) const RULE: Rule<Observed> = Rule {
    key: "slice_gradients",
    when: "most of its time fills or adds whole tensors for the gradients of slices, in 5 % of the computation or more",
    applies: |_, observed| {
        !observed.is_short && observed.slice_gradients_ns > observed.row.time_ns / 2
    },
    title: "Gradients of slices as whole tensors",
    issue: "{figures}; for the gradient of each slice (`x[i]`, `x[a:b]`) the backward pass fills a tensor as large as `x` with zeros, and adds it to those of the other slices.",
    model: "take all slices at once before the loop, with `x.unbind(dim)`, `x.split(…)` or `x.chunk(…)`: their backward pass writes each element once. Where the loop goes over time steps or experts, one operator for all of them (a scan, a grouped GEMM) needs no slices.",
    kernel: "nothing to gain in a kernel: the zeros need not be written, nor added.",
    notes: &[
        "They run in the backward functions of indexing, `SelectBackward0` and `SliceBackward0`.",
    ],
    saves: Saves::AtMost(|_, observed| Some(observed.slice_gradients_ns)),
    has_reproducer: false,
    ..MOVED
};

/// Operators that fill and add whole tensors.
const WHOLE: &[&str] = &["aten::zero_", "aten::fill_", "aten::add_", "aten::add"];

/// Backward functions of `x[i]` and `x[a:b]`. Those of `unbind` and `split` write each element once.
const OF_SLICES: &[&str] = &["SelectBackward", "SliceBackward"];

/// The time of an operation's calls that work on whole tensors for the gradients of slices.
pub(super) fn slice_gradients_ns(profile: &Profile, operation: &Operation, name: &str) -> i64 {
    if !WHOLE.contains(&name) {
        return 0;
    }
    let calls = operation.calls.iter();
    let of_slices = calls.filter(|call| is_of_slice(profile, call.event));
    sum(of_slices.map(|call| call.kernel_ns))
}

/// Whether the innermost autograd call around a call computes the gradient of a slice.
fn is_of_slice(profile: &Profile, call: EventId) -> bool {
    let mut around = profile.tree.calls_around(call);
    let function = around.find_map(|event| profile.trace.name(event).strip_prefix(ENGINE_CALL));
    function.is_some_and(|function| OF_SLICES.iter().any(|one| function.starts_with(one)))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{KERNEL, fast, pair, saves_at_most};
    use crate::findings::samples::{Calls, assert_contains, only, patterns};

    /// `x[i]` in a loop: for each slice the backward pass fills and adds a tensor as large as `x`.
    #[test]
    fn gradients_of_slices_need_no_whole_tensors() {
        let backward = |function: &str| {
            let engine = format!("autograd::engine::evaluate_function: {function}");
            let calls = fast(Calls::new()).inside(&engine, |calls| {
                let filled = calls.calls(4, "aten::zero_", "100000000@1:float", KERNEL, 100);
                filled.calls(4, "aten::add_", &pair(100_000_000), KERNEL, 300)
            });
            calls.outcome("elementwise")
        };
        let outcome = backward("SelectBackward0");
        saves_at_most(&outcome, "slice_gradients", 1_599_999..1_600_002);
        assert_contains(
            &only(&outcome, "slice_gradients").model,
            &["`x.unbind(dim)`"],
        );
        let elsewhere = backward("AddmmBackward0");
        assert!(!patterns(&elsewhere).contains(&"slice_gradients"));
    }
}
