//! Notes on the figures of operations.

use dormer_core::assess::Evaluation;
use dormer_core::base::format;
use dormer_core::hardware::roofline::Bound;
use dormer_core::report::ReportOptions;

use crate::protocol::Note;

/// The note on how close an operation is to the roofline.
pub(super) fn note(evaluation: &Evaluation, options: &ReportOptions) -> Option<Note> {
    if evaluation.is_anomaly {
        return Some(Note::Odd(format!(
            "More than {} of roofline: shapes, time or GPU figures are not those of this run, or the data stays in caches. Not ranked.",
            format::percent(options.thresholds.anomaly_percent)
        )));
    }
    let roofline = evaluation.roofline?;
    let basis = (roofline.bound == Bound::Compute).then_some(roofline.basis)?;
    let gpu = options.gpu.as_deref()?;
    // A GPU with only one kind of figures needs no marks.
    let mut rates = gpu.rates.iter();
    let has_wanted = rates.any(|rates| rates.basis == options.basis);
    (has_wanted && basis != options.basis)
        .then(|| Note::Aside(format!("of the {} rate", basis.label())))
}

#[cfg(test)]
mod tests {
    use dormer_core::hardware::Precision;
    use dormer_core::hardware::roofline::{achieved, roofline};
    use dormer_core::perf::{ComputeSpec, Unit, Work};
    use dormer_core::testing::options_on;

    use super::*;

    /// 708·10¹² operations on 1 GB: compute-bound on every GPU.
    fn evaluation(unit: Unit, options: &ReportOptions, measured_us: f64) -> Evaluation {
        let work = Work {
            flops: 708e12,
            bytes: Some(1e9),
            compute: Some(ComputeSpec {
                unit,
                precision: Precision::Bf16,
            }),
        };
        let roofline = roofline(&work, options.gpu.as_deref().unwrap(), options.basis).unwrap();
        let achieved = achieved(&roofline, measured_us).unwrap();
        Evaluation {
            work: Some(work),
            roofline: Some(roofline),
            achieved: Some(achieved),
            is_anomaly: achieved.percent_of_roofline > options.thresholds.anomaly_percent,
            ..Evaluation::default()
        }
    }

    #[test]
    fn what_is_measured_by_another_figure_is_marked() {
        let mi300x = options_on("MI300X");
        // The achievable matrix rate of the MI300X is 708 TFLOPS: one second, of 2 s.
        assert_eq!(note(&evaluation(Unit::Matrix, &mi300x, 2e6), &mi300x), None);
        let vector = note(&evaluation(Unit::Vector, &mi300x, 9e6), &mi300x);
        assert_eq!(vector, Some(Note::Aside("of the peak rate".to_owned())));
        // All figures of the H100 are peaks.
        let h100 = options_on("H100");
        assert_eq!(note(&evaluation(Unit::Matrix, &h100, 2e6), &h100), None);
        // One second of work in half a second is impossible.
        let odd = note(&evaluation(Unit::Matrix, &mi300x, 5e5), &mi300x);
        assert!(matches!(odd, Some(Note::Odd(_))), "{odd:?}");
    }
}
