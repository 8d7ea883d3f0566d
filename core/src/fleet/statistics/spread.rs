//! The spread of values due to noise: the median absolute deviation (MAD).

use super::median;

/// MAD of a normal distribution · 1.4826 = its standard deviation.
const SIGMA_OF_MAD: f64 = 1.4826;

/// Differences of more standard deviations than this are not noise.
const SIGMAS: f64 = 4.0;

/// The range of noise, 4 · 1.4826 · MAD, as a share of the median; `None` for no values or a median of zero.
pub(in crate::fleet) fn noise(values: &[f64]) -> Option<f64> {
    let middle = median(values).filter(|middle| *middle > 0.0)?;
    let deviations: Vec<f64> = values.iter().map(|value| (value - middle).abs()).collect();
    median(&deviations).map(|mad| SIGMAS * SIGMA_OF_MAD * mad / middle)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_outlier_moves_nothing() {
        // Deviations from 100: 2 1 0 1 50; the median is 1 %.
        let found = noise(&[98.0, 99.0, 100.0, 101.0, 150.0]).unwrap();
        assert!((found - 4.0 * 1.4826 * 0.01).abs() < 1e-12);
        assert_eq!(noise(&[]), None);
        assert_eq!(noise(&[0.0]), None);
    }
}
