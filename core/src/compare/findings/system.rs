//! Time without computation on the target, if there is more of it than on the reference.

#[cfg(test)]
mod tests;

use super::Subject;
use super::rule::{Candidate, GapRule, GapTable};
use crate::assess::idle::cause::IdleCause;
use crate::base::format;
use crate::base::interval::sum;
use crate::base::sort::Arrange;
use crate::compare::about::IdleCode;
use crate::compare::comparison::Comparison;
use crate::compare::named::{Tally, Timed};
use crate::compare::ops::MatchedOp;
use crate::compare::pair::{Pair, Which};
use crate::compare::parts::PartKind;
use crate::compare::words;
use crate::findings::Words;
use crate::profile::copies::may_be_pageable;

pub(super) const TABLE: GapTable = GapTable {
    title: "Time without computation",
    rules: RULES,
    candidates,
};

const RULES: &[GapRule] = &[
    GapRule {
        when: "the GPU of the target is idle for longer, and most of that while one piece of code runs",
        applies: |_, candidate| {
            candidate.subject == Subject::Idle && candidate.has_word("code_model")
        },
        title: "More idle time: {code}",
        issue: "The GPU of the target is idle for {time}, that of the reference for {reference}{change}; {code_grown} of the {grown} more are in {code}.",
        model: "{code_model}",
        kernel: "{code_kernel}",
        ..IDLE
    },
    GapRule {
        when: "the GPU of the target is idle for longer, for a cause that the report of the target alone finds",
        applies: |_, candidate| {
            candidate.subject == Subject::Idle && candidate.has_word("own_model")
        },
        title: "More idle time: {cause}",
        model: "{own_model}",
        kernel: "{own_kernel}",
        ..IDLE
    },
    GapRule {
        when: "the GPU of the target is idle for longer, and most of its work is launched by graphs",
        applies: |comparison, candidate| {
            candidate.subject == Subject::Idle && comparison.sides.target.runs_graphs
        },
        model: "Most kernels run in GPU graphs already: see in the report of the target alone what the CPU does between graph launches, and prepare the next one while one runs.",
        ..IDLE
    },
    GapRule {
        when: "the GPU of the target is idle for longer, and waits for launches",
        applies: |_, candidate| {
            candidate.subject == Subject::Idle && candidate.has_word("is_launch_bound")
        },
        model: "Capture the step in a GPU graph (`torch.compile` with `mode=\"reduce-overhead\"`), or launch fewer and larger kernels.",
        ..IDLE
    },
    IDLE,
    GapRule {
        when: "more communication is exposed, and the reference communicates with no other GPU",
        applies: |comparison, candidate| {
            candidate.subject == Subject::ExposedCommunication
                && comparison.communicates(Which::Reference) == Some(false)
        },
        kernel: "The reference communicates with no other GPU, so there is no other measurement of these collectives.",
        ..COMMUNICATION
    },
    COMMUNICATION,
    GapRule {
        when: "more copies are exposed, and some of them may use pageable memory",
        applies: |comparison, candidate| {
            candidate.subject == Subject::ExposedCopies && is_maybe_pageable(comparison)
        },
        model: "Copy from pinned memory (`pin_memory=True`, `non_blocking=True`). Start copies earlier and let them run beside computation, prepare data ahead, and read results back in one go.",
        ..COPIES
    },
    COPIES,
];

const IDLE: GapRule = GapRule {
    key: "more_idle",
    when: "the GPU of the target is idle for longer",
    applies: |_, candidate| candidate.subject == Subject::Idle,
    title: "More idle time",
    issue: "The GPU of the target is idle for {time}, that of the reference for {reference}{change}.",
    model: "See in the report of the target alone what the CPU does in this time, and take that out of the loop.",
    kernel: "Nothing runs in this time, so no kernel can be faster.",
    notes: &[
        SHARES,
        OTHER_AMOUNT,
        "For {unknown} of it, it is unknown whether the GPU was busy; that time is not counted.",
        "By cause it grows most by {cause}: {cause_time} on the target, {cause_reference} on the reference.",
        "By code it grows most by {code_times}.",
        "The report of the target alone says: {own_issue}",
        "The CPU is slower too; self time of a call: {slower_host}.",
    ],
    saves: "the idle time beyond that of the reference for as many launches",
};

const COMMUNICATION: GapRule = GapRule {
    key: "more_exposed_communication",
    when: "more communication is exposed",
    applies: |_, candidate| candidate.subject == Subject::ExposedCommunication,
    title: "More exposed communication",
    issue: "On the target communication runs and nothing is computed for {time}, on the reference for {reference}{change}.",
    model: "Start collectives as soon as their data is ready, and let them run beside computation.",
    kernel: "Compare topology and settings of collective communication on both machines.",
    notes: &[
        SHARES,
        OTHER_AMOUNT,
        "The same {collectives} take {collectives_ratio} the time of the reference: {collectives_time} and {collectives_reference}, waiting for others included.",
        "A trace of one process does not tell waiting for others from moving data.",
    ],
    saves: "the exposed time beyond that of the reference for as much work",
};

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

const SHARES: &str =
    "That is {share} of the run of the target, and {reference_share} of that of the reference.";
const OTHER_AMOUNT: &str = "The target does {amount}; for that the reference would need {reference_scaled}, and only what is more is counted.";

fn candidates(comparison: &Comparison) -> Vec<Candidate> {
    let communication = Subject::ExposedCommunication;
    let kinds = [
        (PartKind::Idle, Subject::Idle),
        (PartKind::ExposedCommunication, communication),
        (PartKind::ExposedCopies, Subject::ExposedCopies),
    ];
    let found = kinds.map(|(kind, subject)| candidate(comparison, kind, subject));
    found.into_iter().flatten().collect()
}

/// Whether copies on the target may come from CPU memory that is not pinned.
fn is_maybe_pageable(comparison: &Comparison) -> bool {
    let rows = comparison.kernels.iter();
    let mut ran = rows.filter(|row| row.sides.target.is_some());
    ran.any(|row| may_be_pageable(&row.key))
}

fn candidate(comparison: &Comparison, kind: PartKind, subject: Subject) -> Option<Candidate> {
    let times = comparison.parts.of_kind(kind);
    let (amount, sides) = (&comparison.amount, &comparison.sides);
    // More steps have more idle time, which is not a defect. Only idle time that is certain counts, and it is not
    // compared between different numbers of GPUs.
    let (scaled_ns, unknown_ns) = match kind {
        PartKind::Idle if sides.reference.n_gpus != sides.target.n_gpus => return None,
        PartKind::Idle => (
            amount.scaled_idle(times.reference, sides.reference.n_gpu_events),
            sides.target.unknown_idle_ns,
        ),
        _ => (amount.scaled(times.reference), 0),
    };
    let known_ns = scaled_ns.saturating_add(unknown_ns);
    let grown_ns = times.target.saturating_sub(known_ns);
    if grown_ns <= 0 {
        return None;
    }
    let shares = times
        .zip(comparison.parts.total)
        .map(|(ns, total_ns)| format::percent(words::percent_of(ns, total_ns)));
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
        words.push(("amount", amount.said()));
        words.push(("reference_scaled", format::time_ns(scaled_ns)));
    }
    if unknown_ns > 0 {
        words.push(("unknown", format::time_ns(unknown_ns)));
    }
    let more = match kind {
        PartKind::Idle => {
            words.push(("grown", format::time_ns(grown_ns)));
            words.extend(cause_words(comparison));
            words.extend(code_words(comparison, grown_ns));
            host_words(comparison, grown_ns)
        }
        PartKind::ExposedCommunication => collective_words(comparison),
        _ => copy_words(comparison),
    };
    words.extend(more.unwrap_or_default());
    Some(Candidate::of_saved(
        comparison, subject, times, grown_ns, words,
    ))
}

/// The cause with the largest growth in idle time, and the advice of the target's own report about it.
fn cause_words(comparison: &Comparison) -> Words {
    let (amount, sides) = (&comparison.amount, &comparison.sides);
    let pieces = sides.reference.n_gpu_events;
    let grown = |(cause, ns): &(IdleCause, i64)| {
        let reference_ns = sides.reference.idle.ns_of(*cause);
        let grown_ns = ns.saturating_sub(amount.scaled_idle(reference_ns, pieces));
        (
            *cause,
            grown_ns,
            Pair {
                reference: reference_ns,
                target: *ns,
            },
        )
    };
    let causes = sides.target.idle.causes.iter();
    let sure = causes.filter(|(cause, _)| !cause.is_unsure()).map(grown);
    let Some((cause, _, times)) = sure.max_by_key(|(_, grown_ns, _)| *grown_ns) else {
        return Words::new();
    };
    let mut words = vec![
        ("cause", words::lower_first(cause.label())),
        ("cause_time", format::time_ns(times.target)),
        ("cause_reference", format::time_ns(times.reference)),
    ];
    if cause == IdleCause::LaunchBound {
        words.push(("is_launch_bound", String::new()));
    }
    if let Some(finding) = sides.target.idle.finding(cause) {
        words.push(("own_issue", finding.issue.clone()));
        words.push(("own_model", format::capitalized(&finding.model)));
        words.push(("own_kernel", format::capitalized(&finding.kernel)));
    }
    words
}

/// The code in which idle time grows, and what to do about it if that is most of the growth.
fn code_words(comparison: &Comparison, grown_ns: i64) -> Words {
    /// Code with a smaller share of the growth is not named.
    const LEAST_PERCENT: f64 = 10.0;
    const MOST_PERCENT: f64 = 50.0;
    let (amount, sides) = (&comparison.amount, &comparison.sides);
    let pieces = sides.reference.n_gpu_events;
    let rows = sides.target.idle.code.iter().filter_map(|row| {
        let reference_ns = sides.reference.idle.ns_of_code(&row.place);
        let more_ns = row
            .ns
            .saturating_sub(amount.scaled_idle(reference_ns, pieces));
        let more_ns = more_ns.min(grown_ns);
        let percent = words::percent_of(more_ns, grown_ns);
        (percent >= LEAST_PERCENT).then_some((more_ns, reference_ns, row))
    });
    let mut rows: Vec<(i64, i64, &IdleCode)> = rows.collect();
    rows.arrange_by_key(|(more_ns, ..)| std::cmp::Reverse(*more_ns));
    let Some((more_ns, _, first)) = rows.first() else {
        return Words::new();
    };
    let times = words::few(rows.iter().map(|(_, reference_ns, row)| {
        let (time, reference) = (format::time_ns(row.ns), format::time_ns(*reference_ns));
        format!("{} ({time}, {reference} on the reference)", row.place)
    }));
    let mut words = vec![("code_times", times)];
    let is_most = words::percent_of(*more_ns, grown_ns) >= MOST_PERCENT;
    if let Some(finding) = first.finding.as_ref().filter(|_| is_most) {
        words.push(("code", first.place.clone()));
        words.push(("code_grown", format::time_ns(*more_ns)));
        words.push(("code_model", format::capitalized(&finding.model)));
        words.push(("code_kernel", format::capitalized(&finding.kernel)));
    }
    words
}

/// The operators whose calls take longer on the CPU, if that is a good part of the growth in idle time.
fn host_words(comparison: &Comparison, grown_ns: i64) -> Option<Words> {
    const N_NAMED: usize = 2;
    /// An operator's extra time has to be at least this fraction (1/`PART`) of the growth.
    const PART: i64 = 10;
    /// A call counts as slower from this ratio on.
    const SLOWER: f64 = 1.25;
    let per_call = |tally: &Tally| tally.ns as f64 / tally.count.max(1) as f64;
    let rows = comparison.host.iter().filter_map(|row| {
        let sides = row.sides.as_ref().map(Option::as_ref).both()?;
        let scaled_ns = comparison.amount.scaled(sides.reference.ns);
        let more_ns = sides.target.ns.saturating_sub(scaled_ns);
        let calls = sides.map(per_call);
        (more_ns >= grown_ns / PART && calls.target > calls.reference * SLOWER)
            .then_some((more_ns, &row.key, calls))
    });
    let mut rows: Vec<(i64, &String, Pair<f64>)> = rows.collect();
    rows.arrange_by_key(|(more_ns, ..)| std::cmp::Reverse(*more_ns));
    let named = rows.iter().take(N_NAMED).map(|(_, name, calls)| {
        let Pair { reference, target } = calls.map(|ns| format::time_us(ns / 1e3));
        format!(
            "{} {target}, {reference} on the reference",
            words::quoted(name)
        )
    });
    let named: Vec<String> = named.collect();
    (!named.is_empty()).then(|| vec![("slower_host", named.join("; "))])
}

/// Whether the collectives themselves take longer, including the wait for other ranks.
fn collective_words(comparison: &Comparison) -> Option<Words> {
    let rows = comparison.collectives.iter();
    let both = rows.filter_map(|row| row.sides.as_ref().map(Option::as_ref).both());
    let same: Vec<Pair<&Tally>> = both
        .filter(|sides| sides.reference.count == sides.target.count)
        .collect();
    let count: u64 = same.iter().map(|sides| sides.target.count).sum();
    let times = Pair::of(|which| sum(same.iter().map(|sides| sides.get(which).ns())));
    Some(vec![
        ("collectives_ratio", words::times(times.ratio()?)),
        ("collectives", format::counted(count, "collective")),
        ("collectives_time", format::time_ns(times.target)),
        ("collectives_reference", format::time_ns(times.reference)),
    ])
}

fn copy_words(comparison: &Comparison) -> Option<Words> {
    let ops = comparison.operations.matched.iter();
    let mut slower: Vec<&MatchedOp> = ops
        .filter(|op| !op.sides.target.is_computation() && op.times().difference() > 0)
        .collect();
    slower.arrange_by_key(|op| std::cmp::Reverse(op.times().difference()));
    let first = slower.first()?;
    let sides = first.sides.as_ref();
    let per_call = sides.map(|side| format::time_us(side.ns_per_call() / 1e3));
    let change = (first.judgement.actual? - 1.0) * 100.0;
    Some(vec![
        ("copy", words::quoted(&first.name)),
        ("copy_change", words::change(change)),
        ("copy_time", per_call.target),
        ("copy_reference", per_call.reference),
    ])
}
