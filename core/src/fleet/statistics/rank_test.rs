//! Whether one sample is larger than another: the one-sided Mann–Whitney test.

use super::{exact, normal};
use crate::base::sort::Arranged;

/// The p-value: the probability that values from the same distribution exceed the others at least as much as these do.
/// Exact for up to 60 distinct values, else from the normal distribution with corrections for ties and continuity.
pub(in crate::fleet) fn p_of_larger(new: &[f64], base: &[f64]) -> f64 {
    let (m, n) = (new.len(), base.len());
    if m == 0 || n == 0 {
        return 1.0;
    }
    let news = new.iter().map(|value| (*value, true));
    let bases = base.iter().map(|value| (*value, false));
    let values = news
        .chain(bases)
        .arranged_by(|(one, _), (other, _)| one.total_cmp(other));
    // Pairs in which the new value is the larger one; ties count half. Also Σ (t³ − t) over ties of t values.
    let (mut above, mut n_base, mut ties) = (0.0, 0.0, 0.0);
    for equal in values.chunk_by(|(one, _), (other, _)| one.total_cmp(other).is_eq()) {
        let n_new = equal.iter().filter(|(_, is_new)| *is_new).count() as f64;
        let n_equal = equal.len() as f64;
        let n_equal_base = n_equal - n_new;
        above += n_new * (n_base + n_equal_base / 2.0);
        n_base += n_equal_base;
        ties += n_equal.powi(3) - n_equal;
    }
    let n_pairs = (m * n) as f64;
    let exact = match ties > 0.0 {
        true => None,
        false => exact::at_most(m, n),
    };
    if let Some(at_most) = exact {
        // The distribution is symmetric.
        let below = (n_pairs - above) as usize;
        return at_most.get(below).copied().unwrap_or(1.0);
    }
    let all = (m + n) as f64;
    let variance = n_pairs / 12.0 * (all + 1.0 - ties / (all * (all - 1.0)));
    if variance <= 0.0 {
        return 1.0;
    }
    normal::tail((above - n_pairs / 2.0 - 0.5) / variance.sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_p(new: &[f64], base: &[f64], expected: f64) {
        let p = p_of_larger(new, base);
        assert!((p - expected).abs() < 1e-9, "{p} for {expected}");
    }

    #[test]
    fn three_above_three_others_is_one_order_of_twenty() {
        assert_p(&[4.0, 5.0, 6.0], &[1.0, 2.0, 3.0], 1.0 / 20.0);
        assert_p(&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0], 1.0);
    }

    #[test]
    fn samples_that_overlap() {
        // Eight of twelve pairs; 11 of 35 orderings have at most four in the other direction.
        assert_p(&[3.0, 5.0, 6.0], &[1.0, 2.0, 4.0, 7.0], 11.0 / 35.0);
    }

    #[test]
    fn ties_widen_the_normal_distribution() {
        // Of nine pairs eight are above, one is equal: 8.5. One tie of two, one of two: Σ (t³ − t) = 12.
        // Variance 9/12 · (7 − 12/30) = 4.95; z = (8.5 − 4.5 − 0.5) / √4.95 = 1.5731.
        assert_p(
            &[3.0, 5.0, 5.0],
            &[1.0, 2.0, 3.0],
            normal::tail(3.5 / 4.95_f64.sqrt()),
        );
    }

    #[test]
    fn equal_values_say_nothing() {
        assert_p(&[2.0; 3], &[2.0; 5], 1.0);
        assert_p(&[], &[1.0], 1.0);
    }

    #[test]
    fn large_samples_are_near_the_exact_ones() {
        let new: Vec<f64> = (0..15).map(|at| f64::from(at) * 2.0 + 9.0).collect();
        let base: Vec<f64> = (0..45).map(|at| f64::from(at) + 0.5).collect();
        let exact = p_of_larger(&new, &base);
        let more: Vec<f64> = base.iter().copied().chain([22.1]).collect();
        assert!((exact / p_of_larger(&new, &more) - 1.0).abs() < 0.1);
    }
}
