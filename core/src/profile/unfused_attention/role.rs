//! What one operation can be in an attention, by its name and its sizes.

use super::UnfusedPart;
use crate::names::Family;
use crate::names::attention::is_backward;
use crate::profile::Profile;
use crate::profile::operations::Operation;
use crate::profile::tensors::{is_copy, keeps_type};

/// What a softmax works on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scores {
    pub(super) elements: u64,
    pub(super) n_kv: u64,
}

/// Sizes of a GEMM.
#[derive(Debug, Clone, Copy)]
pub(super) struct Product {
    batch: u64,
    m: u64,
    n: u64,
    k: u64,
}

impl Product {
    fn of(operation: &Operation) -> Option<Product> {
        let modelled = operation.modelled.as_ref()?;
        let size = |wanted: &str| modelled.param(wanted)?.size();
        Some(Product {
            batch: size("B").unwrap_or(1),
            m: size("M")?,
            n: size("N")?,
            k: size("K")?,
        })
    }

    fn elements(self, rows: u64, columns: u64) -> Option<u64> {
        self.batch.checked_mul(rows)?.checked_mul(columns)
    }

    /// Whether it writes the scores: (queries, head dimension).
    pub(super) fn writes(self, scores: Scores) -> Option<(u64, u64)> {
        if self.elements(self.m, self.n) != Some(scores.elements) {
            return None;
        }
        if self.n == scores.n_kv {
            Some((self.m, self.k))
        } else if self.m == scores.n_kv {
            Some((self.n, self.k))
        } else {
            None
        }
    }

    /// Whether it reads the scores, and the size that is neither queries nor keys.
    pub(super) fn reads(self, scores: Scores) -> Option<u64> {
        let is_left = self.elements(self.m, self.k) == Some(scores.elements);
        let is_right = self.elements(self.k, self.n) == Some(scores.elements);
        if is_left && (self.k == scores.n_kv || self.m == scores.n_kv) {
            Some(self.n)
        } else if is_right && (self.k == scores.n_kv || self.n == scores.n_kv) {
            Some(self.m)
        } else {
            None
        }
    }
}

/// What an operation can be in an attention.
#[derive(Debug, Clone, Copy)]
pub(super) enum Role {
    Softmax(Option<Scores>),
    SoftmaxBackward(Option<Scores>),
    /// With sizes, where they are known.
    Product(Option<Product>),
    /// A fused attention; it ends every search.
    Fused,
    Plain,
}

/// What is known of an operation.
pub(crate) struct CallRole {
    pub(super) role: Role,
    /// Elements of its largest tensor; 0 without shapes.
    pub(super) elements: u64,
    /// Of a GEMM: a batched one, as far as the name tells.
    pub(super) is_batched: bool,
    pub(super) part: UnfusedPart,
    pub(super) is_elementwise: bool,
    /// Looks up, fills or joins: what a fused kernel would not do instead.
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
        let is_softmax = name.contains("softmax")
            && !["log_softmax", "logsoftmax", "topk", "gating", "sampling"]
                .iter()
                .any(|other| name.contains(other));
        // Kernels without an operator: GEMMs for sure, batched or not is not known.
        let is_batched = operation.is_kernel() || name.contains("bmm") || name.contains("matmul");
        let role = match operation.family {
            Family::Attention => Role::Fused,
            Family::Gemm => {
                let product = Product::of(operation);
                match product.is_none() && !is_batched {
                    true => Role::Plain,
                    false => Role::Product(product),
                }
            }
            Family::Moe | Family::Convolution | Family::Communication => Role::Plain,
            _ if is_softmax && is_backward(&name) => Role::SoftmaxBackward(scores),
            _ if is_softmax => Role::Softmax(scores),
            _ => Role::Plain,
        };
        let has = |words: &[&str]| words.iter().any(|word| name.contains(word));
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
        let n_tensors = tensors
            .iter()
            .filter(|tensor| tensor.elements() > 1)
            .count();
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
