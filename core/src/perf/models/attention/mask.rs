//! Masks and windows: which scores of attention are computed.
//!
//! A causal mask leaves half of the scores if both lengths are equal (the diagonal is not counted separately). If they
//! differ, it depends on the corner in which the mask starts: PyTorch's memory-efficient kernel and cuDNN align the
//! first query with the first key; FlashAttention, including PyTorch's, aligns the last ones, as decoding with a cache
//! requires.
//!
//! A window leaves the keys near a query: N queries that attend to themselves and W − 1 earlier keys have N·W scores,
//! minus the W·(W − 1)/2 before the first key. Without a causal mask it follows the diagonal that ends in the last
//! corner.

use crate::perf::OpInput;

/// Which query attends to which key under a causal mask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mask {
    /// No mask.
    None,
    /// Query i attends to keys up to i.
    TopLeft,
    /// The last query attends to all keys, the one before it to all but one.
    BottomRight,
}

/// Number of keys before and after its own that a query attends to; `None` for all.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Window {
    pub(crate) before: Option<f64>,
    pub(crate) behind: Option<f64>,
}

impl Window {
    /// Reads two integer arguments, or a pair; −1 or absent means all keys.
    pub(crate) fn read(input: &OpInput, at: usize) -> Option<Window> {
        let limit = |keys: f64| (keys >= 0.0).then_some(keys);
        if let Some([before, behind]) = input.numbers(at).as_deref() {
            return Some(Window {
                before: limit(*before),
                behind: limit(*behind),
            });
        }
        Some(Window {
            before: limit(input.number_or(at, -1.0)?),
            behind: limit(input.number_or(at + 1, -1.0)?),
        })
    }
}

impl Mask {
    /// Number of unmasked scores of this many queries and keys.
    pub(crate) fn scores(self, [q, kv]: [f64; 2], window: Window) -> f64 {
        let is_causal = self != Mask::None;
        let behind = if is_causal { Some(0.0) } else { window.behind };
        let shift = match self {
            Mask::TopLeft => 0.0,
            Mask::None | Mask::BottomRight => kv - q,
        };
        let within = |distance: f64| up_to([q, kv], shift + distance);
        let seen = behind.map_or(q * kv, within);
        let too_early = window.before.map_or(0.0, |keys| within(-keys - 1.0));
        let is_triangle = behind.is_some_and(|keys| keys < 1.0);
        match is_triangle && q.total_cmp(&kv).is_eq() {
            true => (seen - too_early).min(q * kv / 2.0),
            false => seen - too_early,
        }
    }
}

/// Pairs of query i and key k with k ≤ i + shift.
fn up_to([q, kv]: [f64; 2], shift: f64) -> f64 {
    // Each query before this one has i + shift + 1 keys, at least none and at most all.
    let sum_before = |query: f64| {
        let last = (query + shift).max(0.0);
        let growing = last.min(kv);
        growing * (growing + 1.0) / 2.0 + (last - growing) * kv
    };
    sum_before(q) - sum_before(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts pairs one by one; the diagonal of a square counts half.
    fn counted(mask: Mask, [q, kv]: [i64; 2], [before, behind]: [i64; 2]) -> f64 {
        let shift = if mask == Mask::TopLeft { 0 } else { kv - q };
        let behind = if mask == Mask::None { behind } else { 0 };
        let pairs = (0..q).flat_map(|i| (0..kv).map(move |k| k - i - shift));
        let seen = pairs.filter(|d| (before < 0 || *d >= -before) && (behind < 0 || *d <= behind));
        seen.count() as f64
    }

    #[test]
    fn scores_under_masks_and_windows() {
        for mask in [Mask::None, Mask::TopLeft, Mask::BottomRight] {
            for sizes in [[3, 5], [5, 3], [1, 7], [4, 4]] {
                for window in [[-1, -1], [0, 0], [1, 0], [2, 1], [0, 2], [-1, 0], [9, 9]] {
                    let [before, behind] = window.map(|n| (n >= 0).then_some(n as f64));
                    let scores = mask.scores(sizes.map(|n| n as f64), Window { before, behind });
                    let mut expected = counted(mask, sizes, window);
                    if sizes == [4, 4] && (mask != Mask::None || window[1] == 0) {
                        // At most half of sixteen: the diagonal is not counted separately.
                        expected = expected.min(8.0);
                    }
                    assert!(
                        (scores - expected).abs() < 1e-9,
                        "{mask:?} {sizes:?} {window:?}: {scores} in place of {expected}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_window_before_each_query() {
        // Six queries attend to three keys each, except the first two: 6·3 − 3·2/2.
        let window = Window {
            before: Some(2.0),
            behind: None,
        };
        let scores = Mask::BottomRight.scores([6.0, 6.0], window);
        assert!((scores - 15.0).abs() < 1e-9, "{scores}");
    }
}
