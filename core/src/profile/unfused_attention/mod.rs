//! Attention that is computed in separate operations: two GEMMs with a softmax between them.
//!
//! Scores of N_Q × N_KV for each head are written by the first GEMM, read and written by scaling,
//! mask, softmax and dropout, and read by the second GEMM. Sizes prove it: the softmax works on as
//! many elements as the GEMM before it writes and the GEMM after it reads, along the same last
//! dimension. Where shapes were not recorded, the order of the calls has to do: batched GEMMs with
//! nothing but a softmax and element-wise operations between them.
//!
//! Everything is looked for in the order in which the GPU runs it, so it makes no difference whether
//! a module, an operator or nothing at all is around it.

mod role;
mod search;

use super::Profile;
use crate::base::labels::labelled;
use crate::perf::FusedAttention;
use crate::trace::{Category, EventId};
pub(crate) use role::CallRole;
use search::Search;

labelled! {
    /// What a call does in an attention.
    pub(crate) enum UnfusedPart {
        Softmax => "softmax",
        Gemm => "GEMM",
        Scaling => "scaling",
        Mask => "mask",
        Copy => "copy",
        Dropout => "dropout",
        Other => "other",
    }
}

/// One attention; calls are positions in their lane.
pub(crate) struct UnfusedCalls {
    /// Its calls, in no order; none is in another one.
    pub(crate) calls: Vec<(usize, UnfusedPart)>,
    pub(crate) softmax: usize,
    /// A GEMM whose operands have the type of Q, K and V.
    pub(crate) gemm: Option<usize>,
    /// Its sizes; `None` where shapes were not recorded.
    pub(crate) sizes: Option<FusedAttention>,
}

/// What each operation of a profile can be in an attention.
pub(crate) fn roles(profile: &Profile) -> Vec<CallRole> {
    let operations = profile.operations().iter();
    let roles = operations.map(|operation| CallRole::new(profile, operation));
    roles.collect()
}

/// All attention in a lane, forward or backward: what one stream runs, call after call, each by the
/// position of its operation.
pub(crate) fn find(roles: &[CallRole], lane: &[usize], is_backward: bool) -> Vec<UnfusedCalls> {
    let mut search = Search::new(roles, lane);
    let calls = 0..lane.len();
    calls
        .filter_map(|at| search.around(at, is_backward))
        .collect()
}

/// Whether the framework's own attention operator is around a call.
pub(crate) fn is_in_sdpa(profile: &Profile, call: EventId) -> bool {
    let (trace, tree) = (&profile.trace, &profile.tree);
    let is_sdpa = |event| trace.name(event).contains("scaled_dot_product");
    let around = tree.node_of(call).map(|node| tree.ancestors(node));
    around.into_iter().flatten().any(|above| {
        tree.category(trace, above) == Category::CpuOp && tree.event(above).is_some_and(is_sdpa)
    })
}
