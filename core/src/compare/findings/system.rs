//! Time in which the target computes nothing, where there is more of it than in the reference.

use super::{Gap, Saving, Subject, priority_of_run};
use crate::base::format;
use crate::base::sort::Arrange;
use crate::compare::comparison::Comparison;
use crate::compare::named::{Tally, Timed};
use crate::compare::ops::MatchedOp;
use crate::compare::pair::{Pair, Which};
use crate::compare::parts::PartKind;
use crate::compare::words;
use crate::profile::copies::may_be_pageable;

/// What is said about a part that grew.
struct Part {
    kind: PartKind,
    subject: Subject,
    pattern: &'static str,
    title: &'static str,
    what: &'static str,
    model: &'static str,
    kernel: &'static str,
    reasoning: &'static str,
}

const PARTS: [Part; 3] = [
    Part {
        kind: PartKind::Idle,
        subject: Subject::Idle,
        pattern: "more_idle",
        title: "More idle time",
        what: "no GPU work runs",
        model: "Keep the GPU fed: record the step as a graph, launch fewer and larger kernels, and do not wait for results within the loop.",
        kernel: "Nothing runs in this time, so no kernel can be faster.",
        reasoning: "Nothing runs on the GPU in this time; what the host does meanwhile is in the report of the target alone.",
    },
    Part {
        kind: PartKind::ExposedCommunication,
        subject: Subject::ExposedCommunication,
        pattern: "more_exposed_communication",
        title: "More exposed communication",
        what: "communication runs and nothing is computed",
        model: "Start collectives as early as their data is there, and let them run beside computation.",
        kernel: "Compare topology and settings of collective communication on both machines.",
        reasoning: "A trace of one process does not tell waiting for others from moving data.",
    },
    Part {
        kind: PartKind::ExposedCopies,
        subject: Subject::ExposedCopies,
        pattern: "more_exposed_copies",
        title: "More exposed memory copies",
        what: "memory is copied and nothing else runs",
        model: "Start copies earlier and let them run beside computation, prepare data ahead, and read results back in one go.",
        kernel: "Compare the bandwidth of the copies in both traces: the link and the host\u{2019}s memory decide here, not a kernel.",
        reasoning: "Only time in which nothing else runs is counted: copies beside computation cost nothing here.",
    },
];

/// Where the target's work is recorded as graphs already.
const IN_GRAPHS: &str = "Most work runs as recorded graphs already: see in the report of the target alone what the host does between their launches, and prepare the next one while one runs.";
/// Where the reference has no collective to hold against the target's.
const ALONE: &str = "The reference communicates with no other GPU, so nothing tells how long these collectives take elsewhere.";
/// Where copies may not come from such memory.
const PINNED: &str = "Copy from pinned memory without blocking.";

pub(crate) fn gaps(comparison: &Comparison) -> impl Iterator<Item = Gap> {
    PARTS.into_iter().filter_map(|part| gap(comparison, part))
}

/// Whether copies of the target may come from memory of the host that is not pinned.
fn is_maybe_pageable(comparison: &Comparison) -> bool {
    let mut ran = comparison
        .kernels
        .iter()
        .filter(|row| row.sides.target.is_some());
    ran.any(|row| may_be_pageable(&row.key))
}

fn gap(comparison: &Comparison, part: Part) -> Option<Gap> {
    let times = comparison.parts.of_kind(part.kind);
    let held_ns = held_ns(comparison, part.kind, times.reference);
    // Of idle time only what is idle for sure, and not of several GPUs against one.
    let untold_ns = match part.kind {
        PartKind::Idle if has_other_gpus(comparison) => return None,
        PartKind::Idle => comparison.sides.target.untold_idle_ns,
        _ => 0,
    };
    let grown_ns = times
        .target
        .saturating_sub(held_ns.saturating_add(untold_ns));
    if grown_ns <= 0 {
        return None;
    }
    let totals = comparison.parts.total;
    let percent = words::percent_of(grown_ns, totals.target);
    let change = times.change_percent();
    let change = change.map_or(String::new(), |change| {
        format!(" ({})", words::change(change))
    });
    let mut reasoning = vec![format!(
        "That is {} of the run of the target, and {} of that of the reference.",
        format::percent(words::percent_of(times.target, totals.target)),
        format::percent(words::percent_of(times.reference, totals.reference))
    )];
    if !comparison.amount.is_same() {
        reasoning.push(format!(
            "The target does {}; for that the reference would need {}, and only what is more is held against the target.",
            comparison.amount.said(),
            format::time_ns(held_ns)
        ));
    }
    if untold_ns > 0 {
        reasoning.push(format!(
            "For {} of it nothing tells whether the GPU worked, and that is not counted.",
            format::time_ns(untold_ns)
        ));
    }
    reasoning.extend(match part.kind {
        PartKind::Idle => host_sentence(comparison, grown_ns),
        PartKind::ExposedCommunication => collectives_sentence(comparison),
        PartKind::ExposedCopies => copies_sentence(comparison),
        _ => None,
    });
    reasoning.push(part.reasoning.to_owned());
    Some(Gap {
        number: 0,
        subject: part.subject,
        pattern: part.pattern,
        priority: priority_of_run(&comparison.thresholds, percent),
        title: part.title.to_owned(),
        gap: format!(
            "On the target {} for {}, on the reference for {}{change}.",
            part.what,
            format::time_ns(times.target),
            format::time_ns(times.reference),
        ),
        model: match part.kind {
            PartKind::ExposedCopies if is_maybe_pageable(comparison) => {
                format!("{PINNED} {}", part.model)
            }
            PartKind::Idle if comparison.sides.target.runs_graphs => IN_GRAPHS.to_owned(),
            _ => part.model.to_owned(),
        },
        kernel: match part.kind {
            PartKind::ExposedCommunication
                if comparison.communicates(Which::Reference) == Some(false) =>
            {
                ALONE.to_owned()
            }
            _ => part.kernel.to_owned(),
        },
        reasoning,
        times,
        saving: Some(Saving {
            matching_ns: grown_ns,
            roof_ns: None,
        }),
        replay: None,
    })
}

/// The time of the reference for as much as the target does: more steps idle more, and that is no
/// defect.
fn held_ns(comparison: &Comparison, kind: PartKind, reference_ns: i64) -> i64 {
    let amount = &comparison.amount;
    match kind {
        PartKind::Idle => amount.scaled_idle(reference_ns, comparison.sides.reference.n_gpu_events),
        _ => amount.scaled(reference_ns),
    }
}

/// Whether another number of GPUs worked.
fn has_other_gpus(comparison: &Comparison) -> bool {
    let n = comparison.sides.as_ref().map(|side| side.n_gpus);
    n.reference != n.target
}

/// The operators whose calls take longer on the host, where that is a good part of what idling grew by.
fn host_sentence(comparison: &Comparison, grown_ns: i64) -> Option<String> {
    /// Operators named.
    const N_NAMED: usize = 2;
    /// Of what idling grew by, an operator's time at least so many parts.
    const PART: i64 = 10;
    /// A call that takes less than this times as long is no slower.
    const SLOWER: f64 = 1.25;
    let per_call = |tally: &Tally| tally.ns as f64 / tally.count.max(1) as f64;
    let rows = comparison.host.iter().filter_map(|row| {
        let sides = row.sides.as_ref().map(Option::as_ref).both()?;
        let held_ns = comparison.amount.scaled(sides.reference.ns);
        let more_ns = sides.target.ns.saturating_sub(held_ns);
        let calls = sides.map(per_call);
        (more_ns >= grown_ns / PART && calls.target > calls.reference * SLOWER)
            .then_some((more_ns, &row.key, calls))
    });
    let mut rows: Vec<(i64, &String, Pair<f64>)> = rows.collect();
    rows.arrange_by_key(|(more_ns, ..)| std::cmp::Reverse(*more_ns));
    let rows = rows.iter().take(N_NAMED);
    let named: Vec<String> = rows
        .map(|(_, name, calls)| {
            let times = calls.map(|ns| format::time_us(ns / 1e3));
            let name = words::quoted(name);
            format!(
                "{name} {}, {} on the reference",
                times.target, times.reference
            )
        })
        .collect();
    (!named.is_empty()).then(|| {
        format!(
            "The host is slower too; a call takes without others below it: {}.",
            named.join("; ")
        )
    })
}

/// Whether the collectives themselves take longer, waiting for others included.
fn collectives_sentence(comparison: &Comparison) -> Option<String> {
    let rows = comparison.collectives.iter();
    let both = rows.filter_map(|row| row.sides.as_ref().map(Option::as_ref).both());
    let same: Vec<_> = both
        .filter(|sides| sides.reference.count == sides.target.count)
        .collect();
    let count: u64 = same.iter().map(|sides| sides.target.count).sum();
    let times = same.iter().map(|sides| sides.map(Timed::ns));
    let times = times.fold(Pair::default(), Pair::plus);
    let ratio = times.ratio()?;
    Some(format!(
        "The same {} take {} the time of the reference: {} and {}, waiting for others included.",
        format::counted(count, "collective"),
        words::times(ratio),
        format::time_ns(times.target),
        format::time_ns(times.reference)
    ))
}

/// Which copies take longer a call.
fn copies_sentence(comparison: &Comparison) -> Option<String> {
    let ops = comparison.operations.matched.iter();
    let mut slower: Vec<&MatchedOp> = ops
        .filter(|op| !op.sides.target.is_computation() && op.times().difference() > 0)
        .collect();
    slower.arrange_by_key(|op| std::cmp::Reverse(op.times().difference()));
    let first = slower.first()?;
    let per_call = first
        .sides
        .as_ref()
        .map(|side| format::time_us(side.ns_per_call() / 1e3));
    let change = (first.judgement.actual? - 1.0) * 100.0;
    Some(format!(
        "A call of {} takes {} on the target, {} than the reference\u{2019}s {}.",
        words::quoted(&first.name),
        per_call.target,
        words::change(change),
        per_call.reference
    ))
}

#[cfg(test)]
mod tests {
    use crate::compare::comparison::Comparison;
    use crate::compare::testing::sides;
    use crate::testing::Timetable;

    /// Products of 300 µs, and so many microseconds of nothing after each.
    fn products(n: u32, idle_us: u32) -> Timetable {
        let mut table = Timetable::new();
        for id in 1..=n {
            let (host, gpu) = (id * 10, id * (300 + idle_us));
            table = table
                .op("aten::mm", host..host + 9)
                .launch(id, host + 1..host + 2)
                .kernel(id, "gemm", gpu..gpu + 300);
        }
        table
    }

    fn compared(reference: &Timetable, target: &Timetable) -> Comparison {
        let gpu = Some(("MI300X", "MI300X"));
        sides(reference, target, gpu, |sides| {
            Comparison::new(sides.reference, sides.target)
        })
    }

    #[test]
    fn more_steps_that_idle_as_before_are_no_defect() {
        // Of 5 calls 4 gaps of 600 µs, of 20 calls 19.
        let more = compared(&products(5, 600), &products(20, 600));
        let idle = more.parts.of_kind(super::PartKind::Idle);
        assert_eq!((idle.reference, idle.target), (2_400_000, 11_400_000));
        assert!((more.amount.ratio - 4.0).abs() < 1e-12);
        assert!(more.gaps.ranked.is_empty(), "{:?}", more.gaps.ranked);
        let said = more.caveats().join(" ");
        assert!(
            said.contains("The target does 4.00× as much by its calls"),
            "{said}"
        );
    }

    #[test]
    fn as_many_calls_with_longer_gaps_are_one() {
        // 19 gaps of 600 µs against 19 of 100 µs: 9.5 ms more.
        let slower = compared(&products(20, 100), &products(20, 600));
        let patterns: Vec<&str> = slower.gaps.ranked.iter().map(|gap| gap.pattern).collect();
        assert_eq!(patterns, ["more_idle"]);
        let saving = slower.gaps.ranked[0].saving;
        assert_eq!(saving.map(|one| one.matching_ns), Some(9_500_000));
        assert!(!slower.caveats().join(" ").contains("as much"));
        // Fewer calls that idle for longer all the same.
        let fewer = compared(&products(20, 100), &products(10, 600));
        assert_eq!(fewer.gaps.ranked[0].pattern, "more_idle");
    }

    #[test]
    fn one_call_more_hides_no_idling() {
        // 99 gaps of 2 µs against 100 of 202 µs.
        let one_more = compared(&products(100, 2), &products(101, 202));
        let gap = &one_more.gaps.ranked[0];
        assert_eq!(gap.pattern, "more_idle");
        // 20.2 ms; between 101 pieces the reference would idle for 200 µs.
        assert_eq!(
            (gap.times.reference, gap.times.target),
            (198_000, 20_200_000)
        );
        assert_eq!(gap.saving.map(|one| one.matching_ns), Some(20_000_000));
    }

    #[test]
    fn a_slower_copy_is_counted_once() {
        let copied = |us: u32| {
            let table = products(1, 0).op("aten::copy_", 20..30).launch(50, 21..22);
            table.copy(50, "Memcpy HtoD (Pinned -> Device)", 1_000..1_000 + us)
        };
        let slower = compared(&copied(100), &copied(500));
        let patterns: Vec<&str> = slower.gaps.ranked.iter().map(|gap| gap.pattern).collect();
        assert_eq!(patterns, ["more_exposed_copies"]);
        assert_eq!(slower.gaps.together_ns, 400_000);
        let said = slower.gaps.ranked[0].reasoning.join(" ");
        let words = "A call of `aten::copy_` takes 500 µs on the target, 400 % more than the reference\u{2019}s 100 µs.";
        assert!(said.contains(words), "{said}");
    }

    #[test]
    fn pinned_memory_is_advised_where_it_may_not_be_in_use() {
        // A copy of 100 µs in one trace, and of 300 µs in the other.
        let copied = |memory: &str, us: u32| {
            let name = format!("Memcpy HtoD ({memory} -> Device)");
            let table = products(1, 0).launch(50, 15..16);
            table.copy(50, &name, 1_000..1_000 + us)
        };
        let advice = |memory: &str| {
            let compared = compared(&copied(memory, 100), &copied(memory, 300));
            let mut ranked = compared.gaps.ranked.iter();
            let gap = ranked.find(|gap| gap.pattern == "more_exposed_copies");
            gap.expect("copies grew").model.clone()
        };
        assert!(advice("Pageable").starts_with("Copy from pinned memory"));
        assert!(advice("Pinned").starts_with("Start copies earlier"));
    }

    #[test]
    fn a_slow_host_is_named_with_its_operator() {
        // Ten products of 60 µs; the host takes so many microseconds for each.
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
        let said = gap.reasoning.join(" ");
        let words =
            "a call takes without others below it: `aten::mm` 400 µs, 40.0 µs on the reference.";
        assert!(said.contains(words), "{said}");
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
        let model = |reference: &Timetable| {
            let slower = compared(reference, &in_graph(600));
            let mut ranked = slower.gaps.ranked.iter();
            let gap = ranked.find(|gap| gap.pattern == "more_idle");
            gap.expect("idling grew").model.clone()
        };
        for reference in [&in_graph(100), &products(20, 100)] {
            let model = model(reference);
            assert!(
                model.starts_with("Most work runs as recorded graphs already"),
                "{model}"
            );
        }
    }
}
