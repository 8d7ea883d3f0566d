//! The exact distribution of the Mann–Whitney U statistic, by counting: how often the values of one sample exceed those
//! of another if both have the same distribution.

/// Larger samples are close enough to the normal distribution; up to this many values the counts fit in 64 bits.
const MOST_VALUES: usize = 60;

/// The share of orderings of `m` and `n` values in which the value of the first sample exceeds that of the second in at
/// most 0, 1, … `m`·`n` pairs. `None` for large samples.
///
/// The numbers of orderings are the coefficients of the Gaussian binomial ∏ (1 − qⁿ⁺ⁱ) / (1 − qⁱ) for i from 1 to m.
pub(super) fn at_most(m: usize, n: usize) -> Option<Vec<f64>> {
    if m + n > MOST_VALUES {
        return None;
    }
    let n_pairs = m * n;
    let mut orders = vec![0_i64; n_pairs + 1];
    orders[0] = 1;
    for i in 1..=m {
        for at in (n + i..=n_pairs).rev() {
            orders[at] -= orders[at - n - i];
        }
        for at in i..=n_pairs {
            orders[at] += orders[at - i];
        }
    }
    let all: i64 = orders.iter().sum();
    let mut so_far = 0;
    let shares = orders.into_iter().map(|orders| {
        so_far += orders;
        so_far as f64 / all as f64
    });
    Some(shares.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_of_four_values_stand_in_six_orders() {
        // Pairs won by the first sample: aabb 0, abab 1, abba 2, baab 2, baba 3, bbaa 4.
        let expected = [1.0, 2.0, 4.0, 5.0, 6.0].map(|orders| orders / 6.0);
        assert_eq!(at_most(2, 2).unwrap(), expected);
    }

    #[test]
    fn one_sample_may_be_a_single_value() {
        assert_eq!(at_most(1, 3).unwrap(), [0.25, 0.5, 0.75, 1.0]);
        assert_eq!(at_most(3, 1).unwrap(), [0.25, 0.5, 0.75, 1.0]);
    }

    #[test]
    fn large_samples_are_not_counted() {
        let largest = at_most(30, 30).unwrap();
        assert!((largest[449] + largest[450] - 1.0).abs() < 1e-12);
        assert_eq!(at_most(30, 31), None);
    }
}
