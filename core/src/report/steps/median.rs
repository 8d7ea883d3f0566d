//! Selects one step that represents many similar ones.

use crate::base::interval::percent_of;
use crate::base::stats::median_ns;

/// With fewer steps, none represents the others.
const LEAST_STEPS: usize = 5;
/// A step is similar if it is within this percentage of the median.
const ALIKE_PERCENT: f64 = 10.0;
/// At least this percentage of the steps has to be similar. Where every fourth step differs, as with an optimizer step
/// after four micro-batches, none represents all.
const MOST_PERCENT: f64 = 80.0;

/// The position of the step with the length closest to the median, if there are at least five steps and four fifths
/// of them take about as long. `lengths_ns` are the lengths in nanoseconds.
pub fn median_step(lengths_ns: &[i64]) -> Option<usize> {
    if lengths_ns.len() < LEAST_STEPS {
        return None;
    }
    let median_ns = median_ns(lengths_ns.to_vec())?;
    let away = |ns: i64| ns.saturating_sub(median_ns).saturating_abs();
    let is_alike = |ns: &&i64| {
        let percent = percent_of(away(**ns), median_ns);
        percent.is_some_and(|percent| percent <= ALIKE_PERCENT)
    };
    let n_alike = lengths_ns.iter().filter(is_alike).count();
    let is_most = n_alike as f64 * 100.0 >= lengths_ns.len() as f64 * MOST_PERCENT;
    let nearest = lengths_ns.iter().enumerate();
    let nearest = nearest.min_by_key(|(_, ns)| away(**ns))?.0;
    is_most.then_some(nearest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_step_stands_for_many_equal_ones() {
        let cases = [
            (&[100, 101, 99, 102, 300][..], Some(1)),
            // Too few, and too different.
            (&[100, 100, 100, 100][..], None),
            (&[100, 200, 300, 400, 500, 600][..], None),
            // Every fourth also updates parameters.
            (&[100, 100, 100, 150, 100, 100, 100, 150][..], None),
            (&[0, 0, 0, 0, 0][..], None),
            (&[][..], None),
        ];
        for (lengths, step) in cases {
            assert_eq!(median_step(lengths), step, "{lengths:?}");
        }
    }
}
