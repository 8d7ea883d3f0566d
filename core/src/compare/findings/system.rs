//! Time without computation on the target, if there is more of it than on the reference.

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

#[cfg(test)]
mod tests {
    use crate::compare::Gap;
    use crate::compare::comparison::Comparison;
    use crate::compare::testing::{self, pair, savings, says};
    use crate::testing::Timetable;

    /// GEMMs of 300 µs, each followed by this many idle microseconds.
    fn products(n: u32, idle_us: u32) -> Timetable {
        (1..=n).fold(Timetable::new(), |table, id| {
            let gpu = id * (300 + idle_us);
            table.work("aten::mm", "gemm", gpu..gpu + 300)
        })
    }

    fn compared(reference: &Timetable, target: &Timetable) -> Comparison {
        testing::compared(reference, target, Some(("MI300X", "MI300X")))
    }

    fn found(pattern: &str, reference: &Timetable, target: &Timetable) -> Gap {
        let gaps = compared(reference, target).gaps;
        let mut ranked = gaps.ranked.iter();
        let gap = ranked.find(|gap| gap.pattern == pattern);
        gap.unwrap_or_else(|| panic!("{gaps:#?}")).clone()
    }

    #[test]
    fn more_steps_that_idle_as_before_are_no_defect() {
        // 5 calls have 4 gaps of 600 µs, 20 calls have 19.
        let more = compared(&products(5, 600), &products(20, 600));
        let idle = more.parts.of_kind(super::PartKind::Idle);
        assert_eq!(idle, pair(2_400_000, 11_400_000));
        assert!((more.amount.ratio - 4.0).abs() < 1e-12);
        assert!(more.gaps.ranked.is_empty(), "{:?}", more.gaps.ranked);
        let said = more.caveats().join(" ");
        says(&said, "The target does 4.00× as much by its calls");
    }

    #[test]
    fn as_many_calls_with_longer_gaps_are_one() {
        // 19 gaps of 600 µs compared with 19 of 100 µs: 9.5 ms more.
        let slower = compared(&products(20, 100), &products(20, 600));
        let expected = [("more_idle", Some(9_500_000))];
        assert_eq!(savings(&slower.gaps.ranked), expected);
        assert!(!slower.caveats().join(" ").contains("as much"));
        // Fewer calls, but longer gaps.
        let fewer = compared(&products(20, 100), &products(10, 600));
        assert_eq!(fewer.gaps.ranked[0].pattern, "more_idle");
    }

    #[test]
    fn one_call_more_hides_no_idling() {
        // 99 gaps of 2 µs compared with 100 of 202 µs.
        let one_more = compared(&products(100, 2), &products(101, 202));
        let gap = &one_more.gaps.ranked[0];
        assert_eq!(gap.times, pair(198_000, 20_200_000));
        // 20.2 ms; between 101 kernels, the reference would be idle for 200 µs.
        let expected = ("more_idle", Some(20_000_000));
        assert_eq!(savings(&one_more.gaps.ranked)[0], expected);
    }

    #[test]
    fn a_slower_copy_is_counted_once() {
        let copied = |us: u32| {
            let name = "Memcpy HtoD (Pinned -> Device)";
            products(1, 0).work("aten::copy_", name, 1_000..1_000 + us)
        };
        let slower = compared(&copied(100), &copied(500));
        let patterns: Vec<&str> = slower.gaps.ranked.iter().map(|gap| gap.pattern).collect();
        assert_eq!(patterns, ["more_exposed_copies"]);
        assert_eq!(slower.gaps.together_ns, 400_000);
        let said = slower.gaps.ranked[0].reasoning.join(" ");
        let words = "A call of `aten::copy_` takes 500 µs on the target, 400 % more than the reference\u{2019}s 100 µs.";
        says(&said, words);
    }

    #[test]
    fn pinned_memory_is_advised_where_it_may_not_be_in_use() {
        for (memory, advice) in [
            ("Pageable", "Copy from pinned memory"),
            ("Pinned", "Start copies earlier"),
        ] {
            // A copy of 100 µs in one trace, and of 300 µs in the other.
            let name = format!("Memcpy HtoD ({memory} -> Device)");
            let [reference, target] = [1_100, 1_300].map(|end| {
                let table = products(1, 0).launch(50, 15..16);
                table.copy(50, &name, 1_000..end)
            });
            let gap = found("more_exposed_copies", &reference, &target);
            assert!(gap.model.starts_with(advice), "{}", gap.model);
        }
    }

    #[test]
    fn a_slow_host_is_named_with_its_operator() {
        // Ten GEMMs of 60 µs; the CPU takes this many microseconds for each.
        let hosted = |us: u32| {
            (0..10).fold(Timetable::new(), |table, id| {
                let (host, gpu) = (id * 500, 100 + id * us.max(60));
                let table = table.op("aten::mm", host..host + us);
                let table = table.launch(id + 1, host + 1..host + 2);
                table.kernel(id + 1, "gemm", gpu..gpu + 60)
            })
        };
        let slower = compared(&hosted(40), &hosted(400));
        let gap = &slower.gaps.ranked[0];
        assert_eq!(gap.pattern, "more_idle");
        let words = "self time of a call: `aten::mm` 400 µs, 40.0 µs on the reference.";
        says(&gap.reasoning.join(" "), words);
    }

    #[test]
    fn idle_time_has_the_cause_and_the_advice_of_the_single_report() {
        const LOADER: &str = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__";
        // Ten GEMMs of 100 µs, each after this many microseconds in the data loader.
        let loaded = |us: u32| {
            (0..10).fold(Timetable::new(), |table, at| {
                let host = at * (us + 120);
                let start = host + us + 5;
                let table = table.op(LOADER, host..host + us);
                let table = table.op("aten::mm", start..start + 10);
                table.launched("gemm", start + 1..start + 2, start + 10..start + 110)
            })
        };
        let gap = found("more_idle", &loaded(5), &loaded(900));
        let words = "By cause it grows most by data loading: 8.";
        says(&gap.reasoning.join(" "), words);
        assert!(
            gap.model.starts_with("Load in worker processes"),
            "{}",
            gap.model
        );
        assert!(!gap.model.contains("graph"), "{}", gap.model);
    }

    #[test]
    fn work_in_graphs_is_not_to_be_recorded_as_a_graph() {
        let in_graph = |idle_us: u32| {
            let table = Timetable::new().without_flows();
            let table = table.runtime("cudaGraphLaunch", 1, 0..10);
            (1..=20).fold(table, |table, at| {
                let gpu = at * (300 + idle_us);
                table.kernel(1, "gemm", gpu..gpu + 300)
            })
        };
        for reference in [&in_graph(100), &products(20, 100)] {
            let gap = found("more_idle", reference, &in_graph(600));
            // The gaps are between the kernels of one graph launch.
            let words = "By cause it grows most by inside GPU graphs: 11.4 ms on the target";
            says(&gap.reasoning.join(" "), words);
            assert!(
                gap.model.starts_with("Fewer, longer kernels"),
                "{}",
                gap.model
            );
            assert!(!gap.model.contains("GPU graph"), "{}", gap.model);
        }
    }

    /// Twenty GEMMs of 300 µs; after each, code that is named so runs for 40 µs, or not at all.
    fn read_back(is_read: bool) -> Timetable {
        (0..20).fold(Timetable::new(), |table, at| {
            let start = at * 400;
            let table = table.op("aten::mm", start..start + 10);
            let table = table.launched("gemm", start + 1..start + 2, start + 10..start + 310);
            match is_read {
                true => table
                    .frame("debug.py(9): check_finite", start + 311..start + 398)
                    .op("aten::item", start + 312..start + 390)
                    .runtime("cudaStreamSynchronize", 0, start + 313..start + 380),
                false => table,
            }
        })
    }

    #[test]
    fn code_that_most_of_the_growth_is_in_is_named_with_its_size() {
        let [reference, target] = [products(20, 0), read_back(true)];
        let gap = found("more_idle", &reference, &target);
        says(&gap.title, "More idle time: `aten::item`");
        says(&gap.gap, "more are in `aten::item`");
        says(&gap.model, "`.item()`");
        // The same gaps without any code in them have no such cause.
        let without = found("more_idle", &reference, &read_back(false));
        assert!(!without.title.contains("item"), "{}", without.title);
    }
}
