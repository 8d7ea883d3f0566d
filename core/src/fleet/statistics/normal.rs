//! The normal distribution.

/// The probability of a value that is at least this many standard deviations above the mean.
pub(super) fn tail(sigmas: f64) -> f64 {
    libm::erfc(sigmas / std::f64::consts::SQRT_2) / 2.0
}

/// 95 % of values are within this many standard deviations of the mean.
pub(super) const SIGMAS_OF_95: f64 = 1.959_963_984_540_054;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_in_tables() {
        assert!((tail(0.0) - 0.5).abs() < 1e-15);
        assert!((tail(SIGMAS_OF_95) - 0.025).abs() < 1e-12);
        assert!((tail(-1.0) - 0.841_344_746).abs() < 1e-9);
        assert!((tail(6.0) / 9.865_876e-10 - 1.0).abs() < 1e-6);
    }
}
