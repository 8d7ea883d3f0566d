//! Controls the false discovery rate of many tests: the Benjamini–Hochberg procedure.

use crate::base::sort::Arrange;

/// Which of the tests with these p-values are significant, such that a share of at most `q` of them is expected to be
/// false: all up to the largest p that is at most q · rank / count.
pub(in crate::fleet) fn discoveries(p: &[f64], q: f64) -> Vec<bool> {
    let mut sorted = p.to_vec();
    sorted.arrange_by(f64::total_cmp);
    let step = q / p.len().max(1) as f64;
    let places = sorted.iter().enumerate();
    let mut significant = places.filter(|(before, p)| **p <= step * (before + 1) as f64);
    let limit = significant.next_back().map(|(_, p)| *p);
    p.iter()
        .map(|p| limit.is_some_and(|limit| *p <= limit))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_benjamini_and_hochberg() {
        let p = [
            0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.324, 0.4262,
            0.5719, 0.6528, 0.759, 1.0,
        ];
        // 0.0095 is below 0.05 · 4 / 15 = 0.0133; 0.0201 is above 0.05 · 5 / 15 = 0.0167, and no later one is below its
        // limit.
        let mut expected = [false; 15];
        expected[..4].fill(true);
        assert_eq!(discoveries(&p, 0.05), expected);
    }

    #[test]
    fn all_up_to_the_largest_significant_p_are_significant() {
        // 0.04 is above 0.05 · 1 / 2, yet 0.045 is below 0.05 · 2 / 2.
        assert_eq!(discoveries(&[0.045, 0.04], 0.05), [true, true]);
        assert_eq!(discoveries(&[0.06, 0.04], 0.05), [false, false]);
        assert_eq!(discoveries(&[], 0.05), [false; 0]);
    }
}
