//! Time without computation on the target, if there is more of it than on the reference.

mod communication;
mod idle;
#[cfg(test)]
mod tests;

use super::GapSubject;
use super::rule::{Candidate, GapRule, GapTable};
use crate::assess::idle::cause::IdleCause;
use crate::base::format;
use crate::base::interval::percent_or_zero;
use crate::base::sort::Arranged;
use crate::compare::comparison::Comparison;
use crate::compare::pair::Pair;
use crate::compare::time_parts::PartKind;
use crate::compare::words;
use crate::findings::Words;
use crate::profile::gpu::copies::{Direction, HostMemory, may_be_pageable};

const SHARES: &str =
    "That is {share} of the run of the target, and {reference_share} of that of the reference.";
const OTHER_AMOUNT: &str = "The target does {amount}; for that the reference would need {reference_scaled}, and only what is more is counted.";

pub(super) const TABLE: GapTable = GapTable {
    title: "Time without computation",
    rules: RULES,
    candidates,
};

const RULES: &[GapRule] = &[
    idle::OF_COLD_START,
    idle::OF_GRAPH_BREAKS,
    idle::OF_SLOWER_CPU,
    idle::OF_CODE,
    idle::OF_MORE_LAUNCHES,
    idle::OF_KERNELS,
    idle::OF_CAUSE,
    idle::OF_GRAPHS,
    idle::OF_LAUNCHES,
    idle::IDLE,
    communication::OF_NONE,
    communication::OF_MORE_BYTES,
    communication::OF_OTHER_KERNEL,
    communication::OF_LONGER,
    communication::OF_LESS_OVERLAP,
    communication::COMMUNICATION,
    GapRule {
        when: "more copies are exposed, mainly from the GPU to CPU memory",
        applies: |_, candidate| {
            candidate.subject == GapSubject::ExposedCopies && candidate.has_word("reads_back")
        },
        model: "Keep values on the GPU, and read results back rarely: several at once, into pinned memory with `non_blocking=True`, while something is computed.",
        ..COPIES
    },
    GapRule {
        when: "more copies are exposed, most of that from or to pageable memory where the reference copies pinned memory",
        applies: |_, candidate| {
            candidate.subject == GapSubject::ExposedCopies && candidate.has_word("pageable")
        },
        title: "Copies of pageable memory, pinned on the reference",
        issue: "On the target memory is copied and nothing else runs for {time}, on the reference for {reference}{change}: copies of pageable memory take {pageable} on the target, and {reference_pageable} on the reference, which copies pinned memory.",
        model: "Copy from pinned memory as on the reference: `pin_memory=True` of the data loader, `tensor.pin_memory()`, with `non_blocking=True`.",
        kernel: "The driver stages copies of pageable memory through its own buffer: no kernel makes up for that.",
        ..COPIES
    },
    GapRule {
        when: "more copies are exposed, and some of them may use pageable memory",
        applies: |comparison, candidate| {
            candidate.subject == GapSubject::ExposedCopies && is_maybe_pageable(comparison)
        },
        model: "Copy from pinned memory (`pin_memory=True`, `non_blocking=True`). Start copies earlier and let them run beside computation, prepare data ahead, and read results back in one go.",
        ..COPIES
    },
    COPIES,
];

const COPIES: GapRule = GapRule {
    key: "more_exposed_copies",
    when: "more copies are exposed",
    applies: |_, _| true,
    title: "More exposed memory copies",
    issue: "On the target memory is copied and nothing else runs for {time}, on the reference for {reference}{change}.",
    model: "Start copies earlier and let them run beside computation, prepare data ahead, and read results back in one go.",
    kernel: "Compare the bandwidth of the copies in both traces: the link and CPU memory decide here, not a kernel.",
    notes: &[
        SHARES,
        OTHER_AMOUNT,
        "A call of {copy} takes {copy_time} on the target, {copy_change} than the reference\u{2019}s {copy_reference}.",
        "Only time in which nothing else runs is counted: copies beside computation cost nothing here.",
    ],
    saves: "the exposed time beyond that of the reference for as much work",
};

fn candidates(comparison: &Comparison) -> Vec<Candidate> {
    let communication = GapSubject::ExposedCommunication;
    let kinds = [
        (PartKind::Idle, GapSubject::Idle),
        (PartKind::ExposedCommunication, communication),
        (PartKind::ExposedCopies, GapSubject::ExposedCopies),
    ];
    let found = kinds.map(|(kind, subject)| candidate(comparison, kind, subject));
    let found = found.into_iter().flatten();
    found.chain(cold_start(comparison)).collect()
}

/// A cold start of the target alone: a large part of its run, though none of a longer one.
fn cold_start(comparison: &Comparison) -> Option<Candidate> {
    let sides = comparison.sides.as_ref();
    let times = sides.map(|side| side.idle.ns_of(IdleCause::Startup));
    let total = comparison.parts.total;
    let percent = percent_or_zero(times.difference(), total.target);
    if percent < comparison.thresholds.idle_code_percent {
        return None;
    }
    let shares = times.zip(total);
    let shares = shares.map(|(ns, total_ns)| format::percent(percent_or_zero(ns, total_ns)));
    let own = sides.target.idle.finding_of(IdleCause::Startup);
    let own = own.map(|finding| ("own_issue", finding.issue.clone()));
    let words = [
        ("cold_start", String::new()),
        ("time", format::time_ns(times.target)),
        ("reference", format::time_ns(times.reference)),
        ("share", shares.target),
        ("reference_share", shares.reference),
    ];
    Some(Candidate {
        saving: None,
        ..Candidate::of_saved(
            comparison,
            GapSubject::Idle,
            times,
            times.difference(),
            words.into_iter().chain(own).collect(),
        )
    })
}

/// Whether copies on the target may come from CPU memory that is not pinned.
fn is_maybe_pageable(comparison: &Comparison) -> bool {
    let rows = comparison.kernels.iter();
    let mut ran = rows.filter(|row| row.sides.target.is_some());
    ran.any(|row| may_be_pageable(&row.key))
}

fn candidate(comparison: &Comparison, kind: PartKind, subject: GapSubject) -> Option<Candidate> {
    let times = comparison.parts.of_kind(kind);
    let (amount, sides) = (&comparison.amount, &comparison.sides);
    // More steps have more idle time, which is not a defect. Only idle time that is certain and that a longer run has,
    // too, counts, and it is not compared between different numbers of GPUs.
    let cold = sides.as_ref().map(|side| match kind {
        PartKind::Idle => side.idle.ns_of_first_use(),
        _ => 0,
    });
    let (scaled_ns, unknown_ns) = match kind {
        PartKind::Idle if sides.reference.n_gpus != sides.target.n_gpus => return None,
        PartKind::Idle => (
            amount.scaled_idle(
                times.reference.saturating_sub(cold.reference),
                sides.reference.n_gpu_events,
            ),
            sides.target.unknown_idle_ns,
        ),
        _ => (amount.scaled(times.reference), 0),
    };
    let known_ns = scaled_ns
        .saturating_add(unknown_ns)
        .saturating_add(cold.target);
    let grown_ns = times.target.saturating_sub(known_ns);
    if grown_ns <= 0 {
        return None;
    }
    let shares = times
        .zip(comparison.parts.total)
        .map(|(ns, total_ns)| format::percent(percent_or_zero(ns, total_ns)));
    let change = times.change_percent();
    let change = change.map(|change| format!(" ({})", words::change(change)));
    let mut words = vec![
        ("time", format::time_ns(times.target)),
        ("reference", format::time_ns(times.reference)),
        ("change", change.unwrap_or_default()),
        ("share", shares.target),
        ("reference_share", shares.reference),
    ];
    if !amount.is_same() {
        words.push(("amount", amount.text()));
        words.push(("reference_scaled", format::time_ns(scaled_ns)));
    }
    if unknown_ns > 0 {
        words.push(("unknown", format::time_ns(unknown_ns)));
    }
    if cold.target > 0 {
        words.push(("cold", format::time_ns(cold.target)));
    }
    let more = match kind {
        PartKind::Idle => Some(idle::words(comparison, grown_ns)),
        PartKind::ExposedCommunication => Some(communication::words(comparison, grown_ns)),
        _ => Some(copy_words(comparison, grown_ns)),
    };
    words.extend(more.unwrap_or_default());
    Some(Candidate::of_saved(
        comparison, subject, times, grown_ns, words,
    ))
}

fn copy_words(comparison: &Comparison, grown_ns: i64) -> Words {
    let mut words = slower_copy(comparison).unwrap_or_default();
    words.extend(pageable_words(comparison, grown_ns).unwrap_or_default());
    if reads_back(comparison) {
        words.push(("reads_back", String::new()));
    }
    words
}

/// The times of copies of pageable memory, if they are most of what grows and the reference spends more time on copies
/// of pinned memory than the target.
fn pageable_words(comparison: &Comparison, grown_ns: i64) -> Option<Words> {
    let times_of = |memory: HostMemory| {
        let rows = comparison.kernels.iter();
        let own = rows.filter(|row| HostMemory::of_name(&row.key) == Some(memory));
        let times = own.map(|row| row.times()).fold(Pair::default(), Pair::plus);
        Pair {
            reference: comparison.amount.scaled(times.reference),
            ..times
        }
    };
    let (pageable, pinned) = (times_of(HostMemory::Pageable), times_of(HostMemory::Pinned));
    let is_most = pageable.difference().saturating_mul(2) >= grown_ns;
    let said = pageable.map(format::time_ns);
    (is_most && pinned.reference > pinned.target).then(|| {
        vec![
            ("pageable", said.target),
            ("reference_pageable", said.reference),
        ]
    })
}

/// Whether copies from the GPU to CPU memory grow by more than those in the other direction.
fn reads_back(comparison: &Comparison) -> bool {
    let grown = |of: Direction| {
        let rows = comparison.kernels.iter();
        let copies = rows.filter(|row| Direction::of_name(&row.key) == of);
        let times = copies
            .map(|row| row.times())
            .fold(Pair::default(), Pair::plus);
        let scaled_ns = comparison.amount.scaled(times.reference);
        times.target.saturating_sub(scaled_ns)
    };
    let back_ns = grown(Direction::DeviceToHost);
    back_ns > 0 && back_ns > grown(Direction::HostToDevice)
}

fn slower_copy(comparison: &Comparison) -> Option<Words> {
    let ops = comparison.operations.matched.iter();
    let slower = ops
        .filter(|op| !op.sides.target.is_computation() && op.times().difference() > 0)
        .arranged_by_largest(|op| op.times().difference());
    let first = slower.first()?;
    let sides = first.sides.as_ref();
    let per_call = sides.map(|side| format::time_us(side.ns_per_call() / 1e3));
    let change = (first.judgment.actual? - 1.0) * 100.0;
    Some(vec![
        ("copy", words::quoted(&first.name)),
        ("copy_change", words::change(change)),
        ("copy_time", per_call.target),
        ("copy_reference", per_call.reference),
    ])
}
