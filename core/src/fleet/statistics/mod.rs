//! Statistics that distinguish a change from noise. Each file is one method, with test cases that can be checked by
//! hand.

mod exact;
mod false_discovery;
mod normal;
mod rank_test;
mod ratio;
mod spread;

pub(super) use false_discovery::discoveries;
pub(super) use rank_test::p_of_larger;
pub(super) use ratio::{Ratio, ratio};
pub(super) use spread::noise;

use crate::base::sort::Arrange;

/// The median of some values, the mean of the two middle ones for an even count; `None` for none.
pub(super) fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.arrange_by(f64::total_cmp);
    let last = sorted.len().checked_sub(1)?;
    let (low, high) = (sorted.get(last / 2)?, sorted.get(last.div_ceil(2))?);
    Some(low.midpoint(*high))
}
