//! Idle time that grows: by the code that runs in it, by its causes, and by the number of kernels.

use super::{GapSubject, OTHER_AMOUNT, SHARES};
use crate::assess::idle::cause::IdleCause;
use crate::base::format;
use crate::base::group::grouped;
use crate::base::interval::{percent_or_zero, sum};
use crate::base::sort::Arranged;
use crate::base::tally::Tally;
use crate::compare::comparison::Comparison;
use crate::compare::findings::rule::GapRule;
use crate::compare::pair::Pair;
use crate::compare::properties::IdleReport;
use crate::compare::words;
use crate::findings::Words;

pub(super) const OF_GRAPH_BREAKS: GapRule = GapRule {
    when: "the GPU of the target is idle for longer, mostly before compiled regions, of which a step has at least twice as many",
    applies: |_, candidate| candidate.subject == GapSubject::Idle && candidate.has_word("regions"),
    title: "More idle time: graph breaks",
    issue: "The GPU of the target is idle for {time}, that of the reference for {reference}{change}: a step of the target enters {regions}, one of the reference {reference_regions}.",
    model: "Find what splits the compiled code on the target: `TORCH_LOGS=graph_breaks` lists each break, and `fullgraph=True` raises an error at the first (printing, `.item()`, branches that depend on values, calls that cannot be traced).",
    ..IDLE
};

pub(super) const OF_SLOWER_CPU: GapRule = GapRule {
    when: "the GPU of the target is idle for longer, and nearly all calls are of operators that take at least 1.1 times as long on the CPU, which is at least half of what is more",
    applies: |_, candidate| {
        candidate.subject == GapSubject::Idle && candidate.has_word("cpu_ratio")
    },
    title: "More idle time: the CPU takes longer for the same calls",
    issue: "The GPU of the target is idle for {time}, that of the reference for {reference}{change}: the CPU takes {cpu_ratio} as long for the same operators.",
    model: "Find what slows the CPU down on the target: a slower model or clock, power saving, cores that a container limits or other processes share, memory of another socket, or a profiler that records more (stacks, shapes, memory). Then let it do less: {then}",
    ..IDLE
};

pub(super) const OF_CODE: GapRule = GapRule {
    when: "the GPU of the target is idle for longer, and most of that while one piece of code runs",
    applies: |_, candidate| {
        candidate.subject == GapSubject::Idle && candidate.has_word("code_model")
    },
    title: "More idle time: {code}",
    issue: "The GPU of the target is idle for {time}, that of the reference for {reference}{change}; {code_grown} of the {grown} more are in {code}.",
    model: "{code_model}",
    kernel: "{code_kernel}",
    ..IDLE
};

pub(super) const OF_KERNELS: GapRule = GapRule {
    when: "the GPU of the target is idle for longer, in gaps between more kernels that are already queued",
    applies: |_, candidate| candidate.subject == GapSubject::Idle && candidate.has_word("gap"),
    title: "More gaps between queued kernels",
    issue: "The GPU of the target is idle for {time}, that of the reference for {reference}{change}: it runs {pieces} kernels and copies against {reference_pieces}, with {gap} between those that are queued.",
    model: "Launch fewer kernels: fuse short ones (`torch.compile`, operators on lists of tensors), or replay the step as a GPU graph, which has shorter gaps.",
    kernel: "The CPU launches in time: only fewer kernels have fewer gaps.",
    ..IDLE
};

pub(super) const OF_MORE_LAUNCHES: GapRule = GapRule {
    when: "the GPU of the target is idle for longer, waits for launches, and launches more kernels, no slower than the reference",
    applies: |_, candidate| candidate.subject == GapSubject::Idle && candidate.has_word("launches"),
    title: "More idle time: {launches} more kernels to launch",
    issue: "The GPU of the target is idle for {time}, that of the reference for {reference}{change}: it waits for launches, of which the target has {pieces}, the reference {reference_pieces}{launched_by}.",
    model: "Launch fewer kernels: do without those that only the target launches, fuse them (`torch.compile`, operators on lists of tensors), or replay the step as a GPU graph.",
    kernel: "Nothing runs in this time, so no kernel can be faster: only fewer launches take less time.",
    ..IDLE
};

pub(super) const OF_COLD_START: GapRule = GapRule {
    key: "cold_start",
    when: "the GPU of the target is idle for a longer cold start, by at least 5 % of its run",
    applies: |_, candidate| candidate.has_word("cold_start"),
    title: "A cold start that the reference does not have",
    issue: "The GPU of the target is idle for {time} while something runs for the first time (kernels are loaded, code is compiled, a graph is captured), that of the reference for {reference}.",
    model: "Run some steps before recording, as many as on the reference, and compare again: a longer run has this once. If it recurs in later steps, `TORCH_LOGS=recompiles` tells why code is compiled again.",
    notes: &[SHARES, "The report of the target alone says: {own_issue}"],
    saves: "nothing in a longer run",
    ..IDLE
};

pub(super) const OF_CAUSE: GapRule = GapRule {
    when: "the GPU of the target is idle for longer, for a cause that the report of the target alone finds",
    applies: |_, candidate| {
        candidate.subject == GapSubject::Idle && candidate.has_word("own_model")
    },
    title: "More idle time: {cause}",
    issue: "The GPU of the target is idle for {time}, that of the reference for {reference}{change}; {cause_grown} of the {grown} more are {cause}.",
    model: "{own_model}",
    kernel: "{own_kernel}",
    ..IDLE
};

pub(super) const OF_GRAPHS: GapRule = GapRule {
    when: "the GPU of the target is idle for longer, and most of its work is launched by graphs",
    applies: |comparison, candidate| {
        candidate.subject == GapSubject::Idle && comparison.sides.target.runs_graphs
    },
    model: "Most kernels run in GPU graphs already: see in the report of the target alone what the CPU does between graph launches, and prepare the next one while one runs.",
    ..IDLE
};

pub(super) const OF_LAUNCHES: GapRule = GapRule {
    when: "the GPU of the target is idle for longer, and waits for launches",
    applies: |_, candidate| {
        candidate.subject == GapSubject::Idle && candidate.has_word("is_launch_bound")
    },
    title: "More idle time: launch-bound",
    model: "Capture the step in a GPU graph (`torch.compile` with `mode=\"reduce-overhead\"`), or launch fewer and larger kernels.",
    ..IDLE
};

pub(super) const IDLE: GapRule = GapRule {
    key: "more_idle",
    when: "the GPU of the target is idle for longer",
    applies: |_, candidate| candidate.subject == GapSubject::Idle,
    title: "More idle time",
    issue: "The GPU of the target is idle for {time}, that of the reference for {reference}{change}.",
    model: "See in the report of the target alone what the CPU does in this time, and take that out of the loop.",
    kernel: "Nothing runs in this time, so no kernel can be faster.",
    notes: &[
        SHARES,
        OTHER_AMOUNT,
        "For {unknown} of it, it is unknown whether the GPU was busy; that time is not counted.",
        "{cold} of it is a cold start or kernel tuning, which a longer run does not repeat; that time is not counted.",
        "By cause it grows most by {causes}.",
        "By code it grows most by {code_times}.",
        "The report of the target alone says: {own_issue}",
        "The CPU is slower too; self time of a call: {slower_cpu}.",
        "{with_frames}Only the target was recorded with Python stacks, and recording them takes CPU time: compare traces with the same options of the profiler.",
    ],
    saves: "the idle time beyond that of the reference for as many launches",
};

const FEWER_LAUNCHES: &str = "launch fewer and larger kernels.";

/// Words about idle time that grows by this much.
pub(super) fn words(comparison: &Comparison, grown_ns: i64) -> Words {
    let mut words = vec![("grown", format::time_ns(grown_ns))];
    words.extend(cause_words(comparison, grown_ns));
    words.extend(code_words(comparison, grown_ns));
    words.extend(region_words(comparison, grown_ns).unwrap_or_default());
    words.extend(cpu_words(comparison, grown_ns).unwrap_or_default());
    if let Some(ratio) = cpu_ratio(comparison, grown_ns) {
        let own = words.iter().find(|(key, _)| *key == "own_model");
        let then = own.map_or(FEWER_LAUNCHES.to_owned(), |(_, model)| {
            format::in_sentence(model)
        });
        words.extend([("cpu_ratio", words::times(ratio)), ("then", then)]);
        let has_frames = comparison.sides.as_ref().map(|side| side.has_frames);
        if has_frames.target && !has_frames.reference {
            words.push(("with_frames", String::new()));
        }
    }
    words
}

/// The causes with the largest growth in idle time, and the advice of the target's own report about them.
fn cause_words(comparison: &Comparison, grown_ns: i64) -> Words {
    /// A cause with a smaller share of the growth is not named, and one with less than the second share not advised on.
    const NAMED_PERCENT: f64 = 10.0;
    const ADVISED_PERCENT: f64 = 25.0;
    let (amount, sides) = (&comparison.amount, &comparison.sides);
    let pieces = sides.reference.n_gpu_events;
    let causes = sides.target.idle.causes.iter();
    let warm = causes.filter(|(cause, _)| !cause.is_unsure() && !cause.is_of_first_use());
    let grown = warm.map(|(cause, ns)| {
        let reference = sides.reference.idle.ns_of(*cause);
        let grown_ns = ns.saturating_sub(amount.scaled_idle(reference, pieces));
        let times = Pair {
            reference,
            target: *ns,
        };
        (*cause, grown_ns, times)
    });
    let grown = grown.arranged_by_largest(|(_, grown_ns, _)| *grown_ns);
    let Some(&(cause, first_ns, _)) = grown.first() else {
        return Words::new();
    };
    let share = |ns: i64| percent_or_zero(ns, grown_ns);
    let named = grown.iter().enumerate();
    let named = named.filter(|(at, (_, ns, _))| *at == 0 || share(*ns) >= NAMED_PERCENT);
    let named = named.map(|(_, (cause, _, times))| {
        let said = times.map(format::time_ns);
        format!(
            "{} ({}, {} on the reference)",
            format::in_sentence(cause.label()),
            said.target,
            said.reference
        )
    });
    let mut words = vec![
        ("cause", format::in_sentence(cause.label())),
        ("cause_grown", format::time_ns(first_ns.clamp(0, grown_ns))),
        ("causes", words::few(named)),
    ];
    if cause == IdleCause::LaunchBound {
        words.push(("is_launch_bound", String::new()));
        words.extend(launch_words(comparison, grown_ns).unwrap_or_default());
    }
    if cause == IdleCause::Queued {
        words.extend(gap_words(comparison).unwrap_or_default());
    }
    let others = grown.iter().skip(1).map(|(cause, ns, _)| (*cause, *ns));
    let others = others.filter(|(_, ns)| share(*ns) >= ADVISED_PERCENT);
    words.extend(own_words(&sides.target.idle, cause, others).unwrap_or_default());
    words
}

/// The words for what the target's own report finds about a cause, with its advice about others as well.
fn own_words(
    idle: &IdleReport,
    cause: IdleCause,
    others: impl Iterator<Item = (IdleCause, i64)>,
) -> Option<Words> {
    let finding = match cause {
        // Nothing else causes it.
        IdleCause::Queued => idle.finding_of(cause),
        _ => idle.finding(cause),
    }?;
    let mut model = format::capitalized(&finding.model);
    for (cause, ns) in others {
        if let Some(other) = idle.finding_of(cause) {
            model.push_str(&format!(
                " For the {} of {}: {}",
                format::time_ns(ns),
                format::in_sentence(cause.label()),
                format::in_sentence(&other.model)
            ));
        }
    }
    Some(vec![
        ("own_issue", finding.issue.clone()),
        ("own_model", model),
        ("own_kernel", format::capitalized(&finding.kernel)),
    ])
}

/// The compiled regions of a step, if the target has more and is idle mostly before them.
fn region_words(comparison: &Comparison, grown_ns: i64) -> Option<Words> {
    const MORE: f64 = 2.0;
    let sides = comparison.sides.as_ref();
    let regions = sides.map(|side| side.idle.regions).both()?;
    let Pair { reference, target } = regions;
    let scaled_ns = comparison.amount.scaled(reference.1);
    let is_most = target.1.saturating_sub(scaled_ns).saturating_mul(2) >= grown_ns;
    let counted = |n: f64| format::counted(n.round() as u64, "compiled region");
    (is_most && target.0 >= reference.0 * MORE).then(|| {
        vec![
            ("regions", counted(target.0)),
            (
                "reference_regions",
                format::count(reference.0.round() as u64),
            ),
        ]
    })
}

/// The kernels that the target launches in addition, if as many gaps as on the reference before them are at least half
/// of what is more.
fn launch_words(comparison: &Comparison, grown_ns: i64) -> Option<Words> {
    const N_NAMED: usize = 2;
    let sides = comparison.sides.as_ref();
    let pieces = sides.map(|side| side.n_gpu_events);
    let ratio = comparison.amount.ratio;
    let more = pieces.target as f64 - pieces.reference as f64 * ratio;
    let before_each_ns =
        sides.reference.idle.ns_of(IdleCause::LaunchBound) as f64 / pieces.reference.max(1) as f64;
    if more < 1.0 || more * before_each_ns < grown_ns as f64 / 2.0 {
        return None;
    }
    let operations = &comparison.operations;
    let matched = operations.matched.iter().map(|op| {
        let runs = op.sides.as_ref().map(|side| side.n_runs as f64);
        (op.name.as_str(), runs.target - runs.reference * ratio)
    });
    let own = operations.unmatched.target.iter();
    let own = own.map(|op| (op.name.as_str(), op.side.n_runs as f64));
    let by_name = grouped(matched.chain(own), |all: &mut f64, n| *all += n);
    let by_name = by_name.into_iter().filter(|(_, n)| *n >= more / 4.0);
    let largest = by_name.arranged_by(|a, b| b.1.total_cmp(&a.1));
    let named = largest.iter().take(N_NAMED).map(|(name, n)| {
        format!(
            "{} more by {}",
            format::count(n.round() as u64),
            words::quoted(name)
        )
    });
    let named = format::joined(named, ", ");
    let launched_by = match named.is_empty() {
        true => named,
        false => format!(" ({named})"),
    };
    Some(vec![
        ("launches", format::count(more.round() as u64)),
        ("launched_by", launched_by),
        ("pieces", format::count(pieces.target)),
        ("reference_pieces", format::count(pieces.reference)),
    ])
}

/// The gaps between queued kernels, if they are no longer than on the reference, but more.
fn gap_words(comparison: &Comparison) -> Option<Words> {
    /// Gaps that are longer by more have a cause of their own.
    const ALIKE: f64 = 1.5;
    let sides = comparison.sides.as_ref();
    let pieces = sides.map(|side| side.n_gpu_events);
    let gaps = Pair::of(|which| {
        let ns = sides.get(which).idle.ns_of(IdleCause::Queued);
        ns as f64 / pieces.get(which).saturating_sub(1).max(1) as f64
    });
    let more = pieces.target as f64 > pieces.reference as f64 * comparison.amount.ratio;
    let is_alike = gaps.reference == 0.0 || gaps.target <= gaps.reference * ALIKE;
    (more && is_alike).then(|| {
        vec![
            ("gap", format::time_us(gaps.target / 1e3)),
            ("pieces", format::count(pieces.target)),
            ("reference_pieces", format::count(pieces.reference)),
        ]
    })
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
        let percent = percent_or_zero(more_ns, grown_ns);
        (percent >= LEAST_PERCENT).then_some((more_ns, reference_ns, row))
    });
    let rows = rows.arranged_by_largest(|(more_ns, ..)| *more_ns);
    let Some((more_ns, _, first)) = rows.first() else {
        return Words::new();
    };
    let times = words::few(rows.iter().map(|(_, reference_ns, row)| {
        let (time, reference) = (format::time_ns(row.ns), format::time_ns(*reference_ns));
        format!("{} ({time}, {reference} on the reference)", row.place)
    }));
    let mut words = vec![("code_times", times)];
    let is_most = percent_or_zero(*more_ns, grown_ns) >= MOST_PERCENT;
    if let Some(finding) = first.finding.as_ref().filter(|_| is_most) {
        words.push(("code", first.place.clone()));
        words.push(("code_grown", format::time_ns(*more_ns)));
        words.push(("code_model", format::capitalized(&finding.model)));
        words.push(("code_kernel", format::capitalized(&finding.kernel)));
    }
    words
}

/// How many times as long the same operators take on the CPU, if nearly all take longer and that is most of the growth.
fn cpu_ratio(comparison: &Comparison, grown_ns: i64) -> Option<f64> {
    /// A single operator may vary by more; nearly all of them do not.
    const SLOWER: f64 = 1.1;
    /// A slow machine slows down all that runs on it; a single operator has another cause.
    const LEAST_OPERATORS: usize = 3;
    const NEARLY_ALL_PERCENT: f64 = 90.0;
    let rows = comparison.cpu_ops.iter();
    let both = rows.filter_map(|row| row.sides.as_ref().map(Option::as_ref).both());
    let scaled = both.map(|sides| {
        let times = Pair {
            reference: comparison.amount.scaled(sides.reference.ns),
            target: sides.target.ns,
        };
        (sides.target.count as i64, times)
    });
    let scaled = scaled.filter(|(_, times)| times.reference > 0);
    // By number of calls: one that waits for the GPU may take most of the time.
    let scaled: Vec<(i64, Pair<i64>)> = scaled.collect();
    let all_calls = sum(scaled.iter().map(|(calls, _)| *calls));
    let is_slower =
        |(_, times): &&(i64, Pair<i64>)| times.target as f64 > times.reference as f64 * SLOWER;
    let slower: Vec<&(i64, Pair<i64>)> = scaled.iter().filter(is_slower).collect();
    let slower_calls = sum(slower.iter().map(|(calls, _)| *calls));
    let all = slower.iter().map(|(_, times)| *times);
    let all = all.fold(Pair::default(), Pair::plus);
    let is_all = slower.len() >= LEAST_OPERATORS
        && percent_or_zero(slower_calls, all_calls) >= NEARLY_ALL_PERCENT;
    (is_all && all.difference().saturating_mul(2) >= grown_ns)
        .then(|| all.target as f64 / all.reference as f64)
}

/// The operators whose calls take longer on the CPU, if that is a good part of the growth in idle time.
fn cpu_words(comparison: &Comparison, grown_ns: i64) -> Option<Words> {
    const N_NAMED: usize = 2;
    /// An operator's extra time has to be at least this fraction (1/`PART`) of the growth.
    const PART: i64 = 10;
    /// A call counts as slower from this ratio on.
    const SLOWER: f64 = 1.25;
    let per_call = |tally: &Tally| tally.ns as f64 / tally.count.max(1) as f64;
    let rows = comparison.cpu_ops.iter().filter_map(|row| {
        let sides = row.sides.as_ref().map(Option::as_ref).both()?;
        let scaled_ns = comparison.amount.scaled(sides.reference.ns);
        let more_ns = sides.target.ns.saturating_sub(scaled_ns);
        let calls = sides.map(per_call);
        (more_ns >= grown_ns / PART && calls.target > calls.reference * SLOWER)
            .then_some((more_ns, &row.key, calls))
    });
    let rows = rows.arranged_by_largest(|(more_ns, ..)| *more_ns);
    let named = rows.iter().take(N_NAMED).map(|(_, name, calls)| {
        let Pair { reference, target } = calls.map(|ns| format::time_us(ns / 1e3));
        format!(
            "{} {target}, {reference} on the reference",
            words::quoted(name)
        )
    });
    let named = format::joined(named, "; ");
    (!named.is_empty()).then(|| vec![("slower_cpu", named)])
}
