//! Roofline results over all operations: which basis applies to how much of the time, and which operations are
//! implausible.

use crate::assess::Evaluation;
use crate::base::format;
use crate::base::group::grouped;
use crate::hardware::Basis;
use crate::names::convolution::is_winograd;
use crate::profile::Profile;
use crate::profile::operations::Operation;

/// Maximum number of names listed in a sentence.
const N_NAMED: usize = 3;
/// Longest name in a sentence.
const NAME_CHARS: usize = 60;

/// An operation that runs faster than the GPU can.
#[derive(Debug, Clone, PartialEq)]
pub struct Anomaly {
    /// Its position in [`Profile::operations`].
    pub operation: usize,
    /// Its name.
    pub name: String,
    /// Roofline time as a percentage of measured time: more than 100.
    pub percent_of_roofline: f64,
    /// It runs in a Winograd kernel, which takes fewer multiplications than the roofline counts.
    pub is_winograd: bool,
}

/// The implausible operations, longest first.
pub(super) fn anomalies<'a>(
    profile: &Profile,
    evaluations: impl Iterator<Item = (usize, &'a Operation, &'a Evaluation)>,
) -> Vec<Anomaly> {
    let impossible = evaluations.filter(|(.., evaluation)| evaluation.is_anomaly);
    impossible
        .filter_map(|(at, operation, evaluation)| {
            Some(Anomaly {
                operation: at,
                name: operation.short_name(profile).to_owned(),
                percent_of_roofline: evaluation.achieved?.percent_of_roofline,
                is_winograd: operation
                    .kernel_names(profile)
                    .iter()
                    .any(|name| is_winograd(name)),
            })
        })
        .collect()
}

/// A sentence about them; `None` if there are none.
pub(super) fn sentence(anomalies: &[Anomaly]) -> Option<String> {
    // Each name once, with its number of operations and its largest deviation.
    let named = anomalies
        .iter()
        .map(|of| (of.name.as_str(), of.percent_of_roofline));
    let names = grouped(named, |(n, most): &mut (u64, f64), percent| {
        *n += 1;
        *most = most.max(percent);
    });
    let n_more: u64 = names.iter().skip(N_NAMED).map(|(_, (n, _))| n).sum();
    let named = names.iter().take(N_NAMED).map(|(name, (n, percent))| {
        // Names from the trace are quoted, with their own backticks replaced.
        let name = format::middle_ellipsis(&format::kernel_name(name), NAME_CHARS);
        let name = name.replace('`', "'");
        let percent = format::percent(*percent);
        match n {
            1 => format!("`{name}` ({percent} of it)"),
            n => format!("{} `{name}` (up to {percent} of it)", format::count(*n)),
        }
    });
    let mut named = format::joined(named, ", ");
    if n_more > 0 {
        named.push_str(&format!(" and {} more", format::count(n_more)));
    }
    let ran = match anomalies.len() {
        0 => return None,
        1 => "1 operation runs faster than its roofline".to_owned(),
        n => format!(
            "{} operations run faster than their roofline",
            format::count(n as u64)
        ),
    };
    if anomalies.iter().all(|anomaly| anomaly.is_winograd) {
        let (it_runs, it_is) = match anomalies.len() {
            1 => ("It runs", "it is"),
            _ => ("They run", "they are"),
        };
        return Some(format!(
            "{ran}: {named}. {it_runs} in Winograd kernels, which take fewer multiplications than the convolution that the roofline counts: {it_is} shown and not ranked."
        ));
    }
    let (its, it_is) = match anomalies.len() {
        1 => (
            "Its shapes, its time",
            "its data is small enough to stay on the chip; it is",
        ),
        _ => (
            "Their shapes, their times",
            "their data is small enough to stay on the chip; they are",
        ),
    };
    Some(format!(
        "{ran}: {named}. {its} or the GPU's figures are not those of this run, or {it_is} shown and not ranked."
    ))
}

/// A caution if some efficiencies are relative to a peak and others to an achievable rate.
pub(super) fn mixed_basis<'a>(
    evaluations: impl Iterator<Item = (usize, &'a Operation, &'a Evaluation)>,
) -> Option<String> {
    let (mut achievable_ns, mut all_ns) = (0_i64, 0_i64);
    let (mut n_achievable, mut n_all) = (0, 0);
    for (_, operation, evaluation) in evaluations {
        let Some(roofline) = evaluation
            .roofline
            .filter(|_| evaluation.achieved.is_some())
        else {
            continue;
        };
        all_ns = all_ns.saturating_add(operation.kernel_ns);
        n_all += 1;
        if roofline.basis == Basis::Achievable {
            achievable_ns = achievable_ns.saturating_add(operation.kernel_ns);
            n_achievable += 1;
        }
    }
    let percent = crate::base::interval::percent_of(achievable_ns, all_ns)?;
    (n_achievable > 0 && n_achievable < n_all).then(|| {
        format!(
            "Efficiencies have two bases: operations with {} of the assessed GPU time are compared \
             with achievable figures, the others with peaks.",
            format::percent(percent)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assess::Thresholds;
    use crate::report::overview::Level;
    use crate::report::{Overview, Report, ReportOptions};
    use crate::testing::{Timetable, options_on};

    fn anomaly(name: &str, percent_of_roofline: f64) -> Anomaly {
        Anomaly {
            operation: 0,
            name: name.to_owned(),
            percent_of_roofline,
            is_winograd: false,
        }
    }

    #[test]
    fn sentences() {
        let cases = [
            (vec![], None),
            (
                vec![anomaly("mm", 123.4)],
                Some("1 operation runs faster than its roofline: `mm` (123 % of it)."),
            ),
            (
                vec![
                    anomaly("mm", 123.0),
                    anomaly("mm", 150.0),
                    anomaly("add", 111.0),
                ],
                Some(
                    "3 operations run faster than their roofline: 2 `mm` (up to 150 % of it), `add` (111 % of it).",
                ),
            ),
            (
                ["a", "b", "c", "d", "e"]
                    .map(|name| anomaly(name, 200.0))
                    .to_vec(),
                Some(
                    "5 operations run faster than their roofline: `a` (200 % of it), `b` (200 % of it), \
                     `c` (200 % of it) and 2 more.",
                ),
            ),
        ];
        for (anomalies, expected) in cases {
            let sentence = sentence(&anomalies);
            let sentence = sentence.map(|sentence| sentence.replace('\u{202F}', " "));
            match expected {
                Some(expected) => {
                    let sentence = sentence.unwrap();
                    assert!(sentence.starts_with(expected), "{sentence}");
                }
                None => assert_eq!(sentence, None),
            }
        }
    }

    #[test]
    fn winograd_explains_a_convolution_above_its_roofline() {
        let winograd = Anomaly {
            is_winograd: true,
            ..anomaly("convolution", 125.0)
        };
        let sentence_of = |anomalies: &[Anomaly]| sentence(anomalies).unwrap_or_default();
        let said = sentence_of(std::slice::from_ref(&winograd));
        assert!(said.contains("It runs in Winograd kernels"), "{said}");
        let said = sentence_of(&[winograd, anomaly("mm", 120.0)]);
        assert!(!said.contains("Winograd"), "{said}");
    }

    /// A GEMM of 4096³ in BF16: 137.4 GFLOP, which take 194.1 µs at 708 TFLOPS and 105.1 µs at 1307.4; and a copy that
    /// reads and writes 53 million bytes each, which takes 20 µs at 5.3 TB/s.
    fn overview(product_us: i32, basis: Basis, anomaly_percent: f64) -> Overview {
        let product = r#""Input Dims": [[4096, 4096], [4096, 4096]],
            "Input type": ["c10::BFloat16", "c10::BFloat16"],
            "Input Strides": [[4096, 1], [4096, 1]], "Concrete Inputs": ["", ""]"#;
        let copy = r#""Input Dims": [[26500000], [26500000], []],
            "Input type": ["c10::BFloat16", "c10::BFloat16", "Scalar"],
            "Input Strides": [[1], [1], []], "Concrete Inputs": ["", "", "False"]"#;
        let profile = Timetable::new()
            .call("aten::mm", product, "gemm", 100..100 + product_us)
            .call("aten::copy_", copy, "copy", 1000..1100)
            .profile();
        let options = ReportOptions {
            basis,
            thresholds: Thresholds {
                anomaly_percent,
                ..Thresholds::default()
            },
            ..options_on("MI300X")
        };
        Report::new(&profile, &options).overview
    }

    #[test]
    fn what_is_faster_than_the_hardware_is_pointed_out() {
        // 194.1 of 150 µs are 129 %; at the peak it is 70 %.
        let cases = [
            (150, Basis::Achievable, 110.0, 1),
            (150, Basis::Achievable, 130.0, 0),
            (150, Basis::Peak, 110.0, 0),
            (180, Basis::Achievable, 110.0, 0),
        ];
        for (product_us, basis, threshold, n_anomalies) in cases {
            let overview = overview(product_us, basis, threshold);
            assert_eq!(overview.anomalies.len(), n_anomalies, "{product_us}");
            let expected = match n_anomalies {
                0 => Level::Good,
                _ => Level::Warn,
            };
            assert_eq!(overview.quality.level, expected);
            // The sentence about the trace does not change.
            assert!(overview.quality.sentence.ends_with("launched it."));
        }
    }

    #[test]
    fn a_mixed_basis_is_said() {
        let caveat = |basis| overview(300, basis, 110.0).hardware.caveat;
        // 300 of 400 µs are in the GEMM; the copy is compared with the bandwidth, which is a peak.
        let mixed = caveat(Basis::Achievable).map(|text| text.replace('\u{202F}', " "));
        assert!(mixed.is_some_and(|text| text.contains("operations with 75.0 % of")));
        assert_eq!(caveat(Basis::Peak), None);
    }
}
