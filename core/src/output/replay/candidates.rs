//! Which operations of a report are worth a reproducer.

use crate::assess::Evaluation;
use crate::base::format;
use crate::base::sort::Arrange;
use crate::hardware::Precision::{Fp4, Fp6, Fp8, Int8};
use crate::profile::Profile;
use crate::profile::operations::Operation;
use crate::report::Report;

/// An operation that kernel engineers might want to look at.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// Its position in [`Profile::operations`].
    pub operation: usize,
    /// Whether it is both large and slow; the others are only offered.
    pub is_recommended: bool,
    /// Why: half a sentence.
    pub reason: String,
}

/// The operations of a report that are worth a reproducer: the recommended ones, then the offered ones; each group
/// longest first.
///
/// An operation is recommended if it is both large and far below the roofline. It is offered if it is one of the two,
/// if it is below the efficiency that defines a bottleneck, if it has a low-precision type, or if a finding offers a
/// reproducer for it.
pub fn candidates(profile: &Profile, report: &Report) -> Vec<Candidate> {
    let compute_ns = report.timelines.compute_ns();
    let all = profile
        .operations()
        .iter()
        .zip(&report.evaluations)
        .enumerate();
    let mut found: Vec<Candidate> = all
        .filter_map(|(at, (operation, evaluation))| {
            let share = operation.kernel_ns as f64 / compute_ns? as f64 * 100.0;
            let (is_recommended, reason) = reason(report, at, operation, evaluation, share)?;
            Some(Candidate {
                operation: at,
                is_recommended,
                reason,
            })
        })
        .collect();
    // Stable sort: within each group, the longest stays first.
    found.arrange_by_key(|candidate| !candidate.is_recommended);
    found
}

fn reason(
    report: &Report,
    at: usize,
    operation: &Operation,
    evaluation: &Evaluation,
    share: f64,
) -> Option<(bool, String)> {
    let thresholds = &report.options.thresholds;
    let believed = evaluation.plausible();
    let efficiency = believed.map(|achieved| achieved.percent_of_roofline);
    let is_below = |percent: f64| efficiency.is_some_and(|efficiency| efficiency < percent);
    let is_large = share > thresholds.replay_percent_of_compute;
    let is_noise = share < thresholds.gate_percent_of_total;
    let of_compute = format!("{} of compute", format::percent(share));
    let of_roofline = efficiency.map(|percent| format!("{} of roofline", format::percent(percent)));
    if is_large && is_below(thresholds.replay_efficiency_percent) {
        let of_roofline = of_roofline.unwrap_or_default();
        return Some((true, format!("{of_compute} at {of_roofline}")));
    }
    if is_large {
        return Some((false, of_compute));
    }
    let slow = thresholds
        .replay_efficiency_percent
        .max(thresholds.gate_efficiency_percent);
    if is_below(slow) && !is_noise {
        return Some((false, of_roofline.unwrap_or_default()));
    }
    if !is_noise && is_quantized(operation, evaluation) {
        return Some((false, "has a low-precision data type".to_owned()));
    }
    let findings = &report.analyses.findings.ranked;
    let offered = findings.iter().find_map(|ranked| {
        let is_first = ranked.finding.operations.first() == Some(&at);
        ranked.finding.replay.as_ref().filter(|_| is_first)
    });
    offered.map(|replay| (false, replay.reason.clone()))
}

fn is_quantized(operation: &Operation, evaluation: &Evaluation) -> bool {
    let spec = evaluation.work.and_then(|work| work.compute);
    operation.is_linked && spec.is_some_and(|spec| matches!(spec.precision, Fp8 | Fp6 | Fp4 | Int8))
}
