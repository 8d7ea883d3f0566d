//! Attention that is computed in separate operations: two GEMMs with a softmax between them.
//!
//! The N_Q × N_KV scores of each head are written by the first GEMM, read and written by scaling, mask, softmax and
//! dropout, and read by the second GEMM. Sizes prove it: the softmax works on as many elements as the GEMM before it
//! writes and the GEMM after it reads, with the same last dimension. Without recorded shapes, the order of the calls
//! has to suffice: batched GEMMs with only a softmax and element-wise operations between them.
//!
//! The search follows GPU execution order, so it does not matter whether a module, an operator or nothing is around it.

mod role;
mod search;

use crate::base::labels::labeled;
use crate::perf::FusedAttention;
use crate::profile::Profile;
use crate::profile::operations::origin::is_within;
use crate::trace::{Category, EventId};
pub(crate) use role::CallRole;
use search::Search;

labeled! {
    /// The purpose of a call in an attention.
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
    /// Its calls, unordered; no call is in two attentions.
    pub(crate) calls: Vec<(usize, UnfusedPart)>,
    pub(crate) softmax: usize,
    /// A GEMM whose operands have the type of Q, K and V.
    pub(crate) gemm: Option<usize>,
    /// Its sizes; `None` if shapes were not recorded.
    pub(crate) sizes: Option<FusedAttention>,
}

/// The possible role of each operation of a profile in an attention.
pub(crate) fn roles(profile: &Profile) -> Vec<CallRole> {
    let operations = profile.operations().iter();
    let roles = operations.map(|operation| CallRole::new(profile, operation));
    roles.collect()
}

/// All attention in a lane, forward or backward. A lane is the sequence of calls on one stream, as positions of their
/// operations.
pub(crate) fn find(roles: &[CallRole], lane: &[usize], is_backward: bool) -> Vec<UnfusedCalls> {
    let mut search = Search::new(roles, lane);
    let calls = 0..lane.len();
    calls
        .filter_map(|at| search.around(at, is_backward))
        .collect()
}

/// Whether the framework's own attention operator is around a call.
pub(crate) fn is_in_sdpa(profile: &Profile, call: EventId) -> bool {
    is_within(profile, &profile.tree, call, |category, name| {
        category == Category::CpuOp && name.contains("scaled_dot_product")
    })
}

/// Whether flexible attention is around a call. Compiled, it is one generated kernel.
pub(crate) fn is_in_flex(profile: &Profile, call: EventId) -> bool {
    is_within(profile, profile.full_tree(), call, |_, name| {
        name.contains("flex_attention")
    })
}
