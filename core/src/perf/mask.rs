//! Which scores of an attention count.
//!
//! A causal mask leaves half of the scores when both lengths are equal (the diagonal is not
//! counted apart). When they are not, what is left depends on the corner in which the mask
//! begins: PyTorch's own kernels align the first query with the first key, flash attention the
//! last with the last, as decoding with a cache needs.

/// Which query sees which key under a causal mask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mask {
    /// All of them.
    None,
    /// Query i sees keys up to i.
    TopLeft,
    /// The last query sees all keys, the one before it all but one.
    BottomRight,
}

impl Mask {
    /// Scores of so many queries and keys that count.
    pub(super) fn scores(self, q: f64, kv: f64) -> f64 {
        let is_square = q.total_cmp(&kv).is_eq();
        match self {
            Mask::None => q * kv,
            _ if is_square => q * kv / 2.0,
            Mask::TopLeft if q < kv => q * (q + 1.0) / 2.0,
            Mask::TopLeft => q * kv - kv * (kv - 1.0) / 2.0,
            Mask::BottomRight if q < kv => q * kv - q * (q - 1.0) / 2.0,
            Mask::BottomRight => kv * (kv + 1.0) / 2.0,
        }
    }
}
