//! Which scores of an attention count.
//!
//! A causal mask leaves half of the scores when both lengths are equal (the diagonal is not
//! counted apart). When they are not, what is left depends on the corner in which the mask
//! begins: PyTorch's memory-efficient kernel and cuDNN align the first query with the first key, flash
//! attention, that of PyTorch too, the last with the last, as decoding with a cache needs.
//!
//! A window leaves the keys near a query: of N queries that see themselves and W − 1 keys before, N·W
//! scores less the W·(W − 1)/2 before the first key. Without a causal mask it lies along the diagonal
//! of the last corner.

use super::OpInput;

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

/// How many keys a query sees before and behind its own; `None` for all there are.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Window {
    pub(super) before: Option<f64>,
    pub(super) behind: Option<f64>,
}

impl Window {
    /// Two whole numbers among the arguments, or a pair of them; −1, and nothing, is all there are.
    pub(super) fn read(input: &OpInput, at: usize) -> Option<Window> {
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
    /// Scores of so many queries and keys that count.
    pub(super) fn scores(self, [q, kv]: [f64; 2], window: Window) -> f64 {
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
    // Of every query before this one: i + shift + 1 keys, none at least and all at most.
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
                        // Half of sixteen at most: the diagonal is not counted apart.
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
        // Six queries see three keys each, but for the first two: 6·3 − 3·2/2.
        let window = Window {
            before: Some(2.0),
            behind: None,
        };
        let scores = Mask::BottomRight.scores([6.0, 6.0], window);
        assert!((scores - 15.0).abs() < 1e-9, "{scores}");
    }
}
