//! Every number that a judgement hangs on.

/// Where the lines are drawn. The report prints those it used.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Thresholds {
    /// Kernels shorter than this are short: launching one costs the host about as long.
    /// Nanoseconds; the reference's default is 10 µs.
    pub short_kernel_ns: i64,
    /// Bins of the histogram of short kernels; the reference's default.
    pub short_kernel_bins: usize,
}

impl Default for Thresholds {
    fn default() -> Self {
        Thresholds {
            short_kernel_ns: 10_000,
            short_kernel_bins: 100,
        }
    }
}
