//! The values that checks compare the documents about two traces with.

use super::tables::N_STEPS;
use crate::base::format;
use crate::compare::comparison::Comparison;
use crate::compare::expected::Verdict;
use crate::compare::pair::Pair;
use crate::compare::time_parts::PartKind;
use crate::compare::words;
use crate::output::documents::Shown;

pub(super) fn shown(comparison: &Comparison) -> Vec<Shown> {
    let parts = &comparison.parts;
    if parts.total.reference <= 0 || parts.total.target <= 0 {
        return Vec::new();
    }
    let rows = [
        ("Total Time", parts.total),
        ("Total Compute Time", parts.computation),
        ("Idle Time", parts.of_kind(PartKind::Idle)),
    ];
    rows.into_iter()
        .map(|(label, times)| Shown {
            section: "Executive Summary".to_owned(),
            label,
            cells: vec![
                (times.reference, parts.total.reference),
                (times.target, parts.total.target),
            ],
        })
        .collect()
}

/// Compares the parts of each trace with its time, and the steps with both times.
pub(super) fn wrong_sums(comparison: &Comparison) -> Option<Vec<String>> {
    let parts = &comparison.parts;
    let mut defects = Vec::new();
    let all = parts.parts.iter().map(|part| part.times);
    let sum = all.fold(Pair::default(), Pair::plus).plus(parts.rest);
    if sum != parts.total {
        let [one, other] = [sum.reference, sum.target].map(format::time_ns);
        defects.push(format!("parts sum up to {one} and {other}"));
    }
    let timelines = comparison.sides.as_ref().map(|side| side.timeline.as_ref());
    let idle = timelines.map(|whole| whole.map_or(0, |whole| whole.idle_ns));
    if comparison.has_gpu_times() && parts.of_kind(PartKind::Idle) != idle {
        defects.push("idle time is not that of the timelines".to_owned());
    }
    let steps = parts.waterfall(N_STEPS);
    if let (Some(first), Some(last)) = (steps.first(), steps.last())
        && (first.from_ns, last.to_ns) != (parts.total.reference, parts.total.target)
    {
        defects.push("the steps lead elsewhere".to_owned());
    }
    Some(defects)
}

pub(super) fn wrong_savings(comparison: &Comparison) -> Vec<String> {
    let mut defects = Vec::new();
    let total_ns = comparison.parts.total.target;
    for gap in &comparison.gaps.ranked {
        let Some(saving) = gap.saving else { continue };
        let most_ns = saving.roofline_ns.unwrap_or(gap.times.target);
        let is_within = (0..=most_ns).contains(&saving.matching_ns);
        if !is_within || most_ns > gap.times.target {
            defects.push(format!("P{} saves more than there is", gap.number));
        }
        if saving.matching_ns.max(saving.roofline_ns.unwrap_or(0)) > total_ns {
            defects.push(format!("P{} saves more than the run", gap.number));
        }
    }
    if comparison.gaps.together_ns > total_ns {
        defects.push("all together save more than the run".to_owned());
    }
    defects
}

/// Compares each verdict with its ratio.
pub(super) fn wrong_judgments(comparison: &Comparison) -> Vec<String> {
    let lines = &comparison.thresholds;
    let (better, explained) = (lines.compare_better_ratio, lines.compare_explained_ratio);
    let unexpected = lines.compare_unexpected_ratio;
    let issue = lines.compare_kernel_issue_ratio;
    let mut defects = Vec::new();
    for op in &comparison.operations.matched {
        let verdict = op.judgment.verdict;
        let fits = match (verdict, op.judgment.excess) {
            (verdict, None) => verdict.is_expected().is_none(),
            (Verdict::BetterThanPredicted, Some(excess)) => excess <= better,
            (Verdict::ExplainedByHardware, Some(excess)) => excess > better && excess <= explained,
            (Verdict::ModeratelyBeyond, Some(excess)) => excess > explained && excess < unexpected,
            (Verdict::UnexpectedSlowdown, Some(excess)) => excess >= unexpected,
            (Verdict::KernelIssue, Some(excess)) => excess >= issue,
            (Verdict::TooSmallToJudge | Verdict::NotJudged(_), Some(_)) => true,
        };
        if !fits {
            let excess = words::maybe_times(op.judgment.excess);
            defects.push(format!("“{}” at {excess}", op.name));
        }
    }
    defects
}
