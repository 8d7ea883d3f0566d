//! Operations that are slower than the hardware predicts.

#[cfg(test)]
mod tests;
mod texts;

use super::GapSubject;
use super::advice::{
    chooses_slower_kernels, has_irregular_sizes, has_other_strides, has_separate_gemms,
    is_other_attention, is_unfused_optimizer, lacks_tf32, loses_by_separate_gemms,
};
use super::rule::{Candidate, GapRule, GapTable, by_key, matched, times_of};
use super::savings::{AS_FAST, all_as_predicted, is_slow_in_single_calls};
use super::slower_machine;
use crate::assess::Thresholds;
use crate::base::format;
use crate::base::interval::percent_or_zero;
use crate::compare::comparison::Comparison;
use crate::compare::expected::{NotJudged, Verdict};
use crate::compare::ops::MatchedOp;
use crate::compare::pair::Which;
use crate::compare::words;
use crate::findings::{Priority, Replay};
use crate::names::Family;
use crate::names::normalized::unnumbered;
use texts::{floor_ns, note_words, sentence_words};

pub(super) const TABLE: GapTable = GapTable {
    title: "Operations slower than predicted",
    rules: RULES,
    candidates,
};

const RULES: &[GapRule] = &[
    GapRule {
        key: "without_tf32",
        when: "an operation in FP32 is slower than the hardware predicts, and only the reference computes it in TF32",
        applies: |comparison, candidate| candidate.is(comparison, |op| lacks_tf32(comparison, op)),
        title: "{subject}: in full FP32, where the reference computes in TF32",
        ..SLOWER
    },
    GapRule {
        key: "other_attention",
        when: "attention is slower than with the operator that the reference calls for it on the same GPU",
        applies: |comparison, candidate| {
            candidate.is(comparison, |op| is_other_attention(comparison, op))
        },
        title: "Attention by {first}, on the reference by {other}",
        ..SLOWER
    },
    GapRule {
        key: "irregular_sizes",
        when: "an operation is slower than the hardware predicts on small or odd sizes, where those of the reference are regular",
        applies: |comparison, candidate| candidate.is(comparison, has_irregular_sizes),
        title: "{subject}: small or odd sizes, regular ones on the reference",
        ..SLOWER
    },
    GapRule {
        key: "outdated_kernel",
        when: "an operation is slower than the hardware predicts, and the name of its kernel says that it is not made for the GPU, unlike that of the reference",
        applies: |comparison, candidate| {
            candidate.is(comparison, |op| op.outdated(Which::Target).is_some())
        },
        title: "{subject}: its kernel is {outdated}",
        ..SLOWER
    },
    GapRule {
        key: "other_layout",
        when: "an operation is slower than the hardware predicts, on operands with other strides than on the reference",
        applies: |comparison, candidate| candidate.is(comparison, has_other_strides),
        title: "{subject}: operands in a slower layout",
        ..SLOWER
    },
    GapRule {
        key: "unfused_attention",
        when: "attention is slower in several operations than in the fused one of the reference",
        applies: |comparison, candidate| candidate.is(comparison, MatchedOp::is_unfused_attention),
        title: "Attention{backward} in several kernels, where the reference has a fused one",
        ..SLOWER
    },
    GapRule {
        key: "separate_gemms",
        when: "the target multiplies one input in several GEMMs, the reference in fewer with as many columns",
        applies: |comparison, candidate| candidate.is(comparison, has_separate_gemms),
        title: "GEMMs of one input: joined on the reference, separate here",
        ..SLOWER
    },
    GapRule {
        key: "unfused_optimizer",
        when: "the target updates parameters in several operators, the reference in a fused one",
        applies: |comparison, candidate| candidate.is(comparison, is_unfused_optimizer),
        title: "Optimizer in several kernels, where the reference has a fused one",
        ..SLOWER
    },
    GapRule {
        key: "several_operators",
        when: "the target does in several operators what the reference does in fewer",
        applies: |comparison, candidate| {
            candidate.is(comparison, |op| {
                let n_operations = op.sides.as_ref().map(|side| side.operations.len());
                op.is_group() && n_operations.target > n_operations.reference
            })
        },
        title: "{name}: several operators for what the reference fuses",
        ..SLOWER
    },
    GapRule {
        key: "other_kernels",
        when: "an operation takes 1.1 to 2 times as long as with other kernels on the same GPU",
        applies: |comparison, candidate| {
            candidate.is(comparison, |op| chooses_slower_kernels(comparison, op))
        },
        title: "{subject}: slower with other kernels",
        ..SLOWER
    },
    GapRule {
        key: "same_kernels",
        when: "operations of a family take at least 1.1 times as long with the same kernels on the same GPU; below 1.25 times, if that is at least 1 % of the run",
        applies: |comparison, candidate| {
            candidate.is(comparison, |op| {
                comparison.is_same_gpu && slower_machine::is_same_on_average(op)
            })
        },
        title: "{subject}: {ratio} the time with the same kernels",
        ..SLOWER
    },
    GapRule {
        key: "kernel_issue",
        when: "a tiny batched GEMM is far slower than the hardware predicts",
        applies: |comparison, candidate| has_verdict(comparison, candidate, Verdict::KernelIssue),
        title: "{subject}: kernel issue",
        ..SLOWER
    },
    GapRule {
        key: "unexpected_slowdown",
        when: "an operation takes at least twice the time that the hardware predicts",
        applies: |comparison, candidate| {
            has_verdict(comparison, candidate, Verdict::UnexpectedSlowdown)
        },
        title: "{subject}: slower than the hardware explains",
        ..SLOWER
    },
    GapRule {
        key: "moderately_beyond",
        when: "an operation is slower than the hardware predicts, by less than twice",
        applies: |comparison, candidate| {
            has_verdict(comparison, candidate, Verdict::ModeratelyBeyond)
        },
        title: "{subject}: somewhat slower than the hardware explains",
        ..SLOWER
    },
    SLOWER,
];

/// There is no prediction.
const SLOWER: GapRule = GapRule {
    key: "slower_not_judged",
    when: "an operation takes more than twice the time, and nothing is predicted of it",
    applies: |_, _| true,
    title: "{subject}: more than twice the time",
    issue: "The target takes {time}{a_call} on {name}, {change} the reference's {reference}{on}; {expected}.",
    model: "{model}",
    kernel: "{kernel}",
    notes: &[
        "It takes {share} of the compute time of the target.",
        "{beside}",
        "A call takes {actual} the time on the target, {predicted} is expected: {excess} what the hardware explains.",
        "On the target it is bound by {target_bound}, on the reference by {reference_bound}.",
        "By achievable figures where they are known {by_achievable} is expected, and the target takes {other_excess} that: the verdict depends on the basis.",
        "{other_work}The perf models count different FLOPs and bytes in each trace; each side is compared with its own roofline.",
        "{above_roofline} of its own roofline on the reference is implausible: its data is small enough to stay on the chip, or times, sizes or figures are off, so that less may be expected of the target than is said here.",
        "{one_factor}Nearly all of the time of GEMMs is in these, and all are slower by about the same factor: no single kernel is at fault.",
        "{floor_because} The target cannot go below {floor} on this hardware, by its roofline.",
        "Its operands have strides {target_strides} on the target, {reference_strides} on the reference.",
        "The name of the target's kernel says that it is {outdated}; that of the reference suits its GPU.",
        "The name of the reference's kernel says that it is {reference_outdated}: the reference may be slow here.",
        "Of its time on the target {helpers}; a finding of its own counts it.",
        "Of its time on the reference {reference_helpers}, and the target launches no such kernel.",
        "Both run {same_kernel}{launches}.",
        "The target runs {target_kernel}, the reference {reference_kernel}{launches}.",
        "Why a kernel is slow is not visible in a trace: a reproducer and hardware counters tell.",
    ],
    saves: "what the target takes beyond the prediction, or beyond the reference where nothing is predicted; up to what it takes beyond its own roofline",
};

fn has_verdict(comparison: &Comparison, candidate: &Candidate, verdict: Verdict) -> bool {
    candidate.is(comparison, |op| op.judgment.verdict == verdict)
}

/// Rows of one operator with the same verdict, with other kernels or in separate GEMMs on the same GPU, without those
/// that are slower by the machine's common factor, or in single calls alone. Those with the same kernels on the same
/// GPU belong together by family: whatever slows its kernels down does not ask for the operator.
fn candidates(comparison: &Comparison) -> Vec<Candidate> {
    let machine = slower_machine::rows(comparison);
    let gemms = slower_machine::alike_gemms(comparison);
    let key = |at, op: &MatchedOp| {
        let kind = kind(comparison, op).filter(|_| !machine.contains(&at))?;
        let is_same = comparison.is_same_gpu && slower_machine::is_same_on_average(op);
        let of_family = op.family.label().to_owned();
        Some(match (is_same, kind) {
            _ if is_other_attention(comparison, op) => (of_family, "other_attention"),
            _ if lacks_tf32(comparison, op) => (of_family, "without_tf32"),
            _ if gemms.contains(&at) => (of_family, "by_one_factor"),
            (_, "other_kernels") if op.family == Family::Attention => (of_family, kind),
            (true, "unexpected_slowdown") => (of_family, kind),
            (true, "same_kernels" | "moderately_beyond") => (of_family, "same_kernels"),
            _ => (unnumbered(&op.name).to_owned(), kind),
        })
    };
    by_key(comparison, key, candidate)
}

/// In what way an operation is slower than predicted, if not in single calls alone.
pub(super) fn kind(comparison: &Comparison, op: &MatchedOp) -> Option<&'static str> {
    if is_slow_in_single_calls(op) {
        None
    } else if loses_by_separate_gemms(comparison, op) {
        Some("separate_gemms")
    } else if chooses_slower_kernels(comparison, op) {
        Some("other_kernels")
    } else if is_somewhat_slower(comparison, op) {
        Some("same_kernels")
    } else {
        is_slower(op).then(|| op.judgment.verdict.key())
    }
}

/// The share of the run, in percent, that the same kernels on the same GPU have to take longer by.
const LEAST_PERCENT_OF_SAME: f64 = 1.0;

/// Whether an operation takes somewhat longer on the same GPU with the same kernels, by more than they vary, in its
/// typical call too.
fn is_somewhat_slower(comparison: &Comparison, op: &MatchedOp) -> bool {
    let medians = op.sides.as_ref().map(|side| side.call_ns);
    let is_typical = medians
        .both()
        .is_none_or(|medians| medians.target.0 as f64 >= AS_FAST * medians.reference.0 as f64);
    let verdicts = [Verdict::ExplainedByHardware, Verdict::TooSmallToJudge];
    is_typical
        && comparison.is_same_gpu
        && verdicts.contains(&op.judgment.verdict)
        && op.judgment.excess.is_some_and(|excess| excess >= AS_FAST)
        && slower_machine::is_same_on_average(op)
}

/// Whether it is slower than predicted, or much slower if there is no prediction.
fn is_slower(op: &MatchedOp) -> bool {
    // Copies and communication are not computation: their exposed time has findings of its own, where it counts once.
    op.sides.target.is_computation()
        && !op.is_slower_by_type()
        && match op.judgment.verdict {
            Verdict::NotJudged(NotJudged::NoShapes | NotJudged::OtherSizes) => false,
            Verdict::NotJudged(_) => op.judgment.is_more_than_twice,
            verdict => verdict.is_slower_than_expected(),
        }
}

fn candidate(comparison: &Comparison, rows: Vec<usize>) -> Option<Candidate> {
    let ops = matched(comparison, &rows);
    let first = *ops.first()?;
    let times = times_of(&ops);
    let percent = percent_or_zero(times.target, comparison.compute_ns.target);
    let saving = all_as_predicted(&ops);
    if is_somewhat_slower(comparison, first) {
        let saved_ns = saving.map_or(0, |saving| saving.matching_ns);
        if percent_or_zero(saved_ns, comparison.parts.total.target) < LEAST_PERCENT_OF_SAME {
            return None;
        }
    }
    let mut words = sentence_words(comparison, first, &ops);
    words.push(("share", format::percent(percent)));
    if rows
        .first()
        .is_some_and(|at| slower_machine::alike_gemms(comparison).contains(at))
    {
        words.push(("one_factor", String::new()));
    }
    words.extend(note_words(first, &ops));
    Some(Candidate {
        times,
        saving,
        floor_ns: floor_ns(&ops),
        priority: priority(&comparison.thresholds, first, percent),
        replay: replay(comparison, first),
        words,
        subject: GapSubject::Operations(rows),
    })
}

/// All candidates are slower than expected. At least twice the expected time is evidence against the kernel, and so is
/// a kernel that is not made for the GPU; a verdict that another basis does not share is none. The share is of the
/// target's computation.
fn priority(thresholds: &Thresholds, op: &MatchedOp, percent: f64) -> Priority {
    let judgment = &op.judgment;
    let verdict = judgment.verdict;
    let other = judgment.on_other_basis().verdict;
    if judgment.depends_on_basis() && !other.is_slower_than_expected() {
        return Priority::Low;
    }
    let has_evidence = matches!(verdict, Verdict::UnexpectedSlowdown | Verdict::KernelIssue);
    let is_outdated = op.outdated(Which::Target).is_some();
    let is_named = verdict == Verdict::KernelIssue;
    if has_evidence && percent > thresholds.critical_percent_of_compute {
        Priority::Critical
    } else if (has_evidence || is_outdated) && percent > thresholds.high_percent_of_compute
        || is_named && percent > thresholds.medium_percent_of_compute
    {
        Priority::High
    } else if percent > thresholds.medium_percent_of_compute || is_named {
        Priority::Medium
    } else {
        Priority::Low
    }
}

fn replay(comparison: &Comparison, first: &MatchedOp) -> Option<Replay> {
    let (actual, excess) = (first.judgment.actual?, first.judgment.excess?);
    let verdict = first.judgment.verdict;
    let than = match comparison.is_same_gpu {
        true => String::new(),
        false => format!(", {} what the hardware explains", words::times(excess)),
    };
    matches!(verdict, Verdict::KernelIssue | Verdict::UnexpectedSlowdown).then(|| Replay {
        is_recommended: verdict == Verdict::KernelIssue,
        reason: format!("{} the time of the reference{than}", words::times(actual)),
    })
}
