//! The possible role of an operation in an attention, from its name and sizes.

use super::UnfusedPart;
use crate::names::Family;
use crate::names::attention::is_backward;
use crate::names::words::contains_any;
use crate::perf::FusedAttention;
use crate::profile::Profile;
use crate::profile::operations::Operation;
use crate::profile::operations::kinds::gemm::GemmSizes;
use crate::profile::operations::tensors::{is_copy, keeps_type};

/// The input of a softmax.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scores {
    pub(super) elements: u64,
    pub(super) n_kv: u64,
}

impl Scores {
    fn are(self, gemm: GemmSizes, rows: u64, columns: u64) -> bool {
        let elements = || gemm.batch.checked_mul(rows)?.checked_mul(columns);
        elements() == Some(self.elements)
    }

    pub(super) fn attention(self, n_q: u64, d_qk: u64, d_v: u64) -> Option<FusedAttention> {
        let n_kv = self.n_kv;
        Some(FusedAttention {
            batch: self.elements.checked_div(n_q.checked_mul(n_kv)?)?,
            n_q,
            n_kv,
            d_qk,
            d_v,
        })
    }

    /// If a GEMM writes them: (queries, head dimension).
    pub(super) fn written_by(self, gemm: GemmSizes) -> Option<(u64, u64)> {
        let GemmSizes { m, n, k, .. } = gemm;
        match self.are(gemm, m, n) {
            true if n == self.n_kv => Some((m, k)),
            true if m == self.n_kv => Some((n, k)),
            _ => None,
        }
    }

    /// If a GEMM reads them: the size that is neither queries nor keys.
    pub(super) fn read_by(self, gemm: GemmSizes) -> Option<u64> {
        let GemmSizes { m, n, k, .. } = gemm;
        if self.are(gemm, m, k) && (k == self.n_kv || m == self.n_kv) {
            Some(n)
        } else if self.are(gemm, k, n) && (k == self.n_kv || n == self.n_kv) {
            Some(m)
        } else {
            None
        }
    }
}

/// The possible role of an operation in an attention.
#[derive(Debug, Clone, Copy)]
pub(super) enum Role {
    Softmax(Option<Scores>),
    SoftmaxBackward(Option<Scores>),
    /// With its sizes, if known.
    Gemm(Option<GemmSizes>),
    /// A fused attention; ends every search.
    Fused,
    Plain,
}

/// What is known about an operation.
pub(crate) struct CallRole {
    pub(super) role: Role,
    /// Number of elements of its largest tensor; 0 without shapes.
    pub(super) elements: u64,
    /// For a GEMM: whether it is batched, as far as the name shows.
    pub(super) is_batched: bool,
    pub(super) part: UnfusedPart,
    pub(super) is_elementwise: bool,
    /// Lookups, fills and concatenations, which a fused kernel would not replace.
    pub(super) is_other_work: bool,
    /// Multiplies one tensor by a number.
    pub(super) scales: bool,
    pub(super) keeps_type: bool,
}

impl CallRole {
    pub(super) fn new(profile: &Profile, operation: &Operation) -> CallRole {
        let name = operation.short_name(profile).to_ascii_lowercase();
        let tensors = operation.tensors(profile);
        let largest = tensors.iter().max_by_key(|tensor| tensor.elements());
        let elements = largest.map_or(0, |tensor| tensor.elements());
        let scores = largest.and_then(|tensor| {
            let n_kv = u64::try_from(*tensor.shape.last()?).ok()?;
            (tensor.shape.len() >= 2 && n_kv > 1).then_some(Scores { elements, n_kv })
        });
        let has = |words: &[&str]| contains_any(&name, words);
        const OTHERS: &[&str] = &["log_softmax", "logsoftmax", "topk", "gating", "sampling"];
        let is_softmax = has(&["softmax"]) && !has(OTHERS);
        // Kernels without an operator: certainly GEMMs, but possibly not batched.
        let is_batched = operation.is_kernel() || has(&["bmm", "matmul"]);
        let role = match operation.family {
            Family::Attention => Role::Fused,
            Family::Gemm => {
                let sizes = GemmSizes::of_params(operation);
                match sizes.is_none() && !is_batched {
                    true => Role::Plain,
                    false => Role::Gemm(sizes),
                }
            }
            Family::Moe | Family::Convolution | Family::Communication => Role::Plain,
            _ if is_softmax && is_backward(&name) => Role::SoftmaxBackward(scores),
            _ if is_softmax => Role::Softmax(scores),
            _ => Role::Plain,
        };
        let multiplies = has(&["aten::mul", "aten::div"]);
        let part = if is_copy(profile, operation) {
            UnfusedPart::Copy
        } else if has(&["dropout", "bernoulli"]) {
            UnfusedPart::Dropout
        } else if multiplies {
            UnfusedPart::Scaling
        } else if has(&["aten::add", "mask", "where", "tril", "triu", "aten::sub"]) {
            UnfusedPart::Mask
        } else {
            UnfusedPart::Other
        };
        let n_tensors = tensors.iter().filter(|one| one.elements() > 1).count();
        CallRole {
            role,
            elements,
            is_batched,
            part,
            is_elementwise: matches!(operation.family, Family::Elementwise | Family::Triton),
            is_other_work: has(&["gather", "index", "embedding", "fill_", "arange", "::cat"]),
            scales: multiplies && n_tensors == 1,
            keeps_type: keeps_type(&tensors),
        }
    }
}
