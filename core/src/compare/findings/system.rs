//! Time in which the target computes nothing, where there is more of it than in the reference.

use super::{Gap, Saving, Subject};
use crate::analysis::Priority;
use crate::analysis::multi_kernel::may_be_pageable;
use crate::compare::comparison::Comparison;
use crate::compare::parts::PartKind;
use crate::compare::words;
use crate::format;

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

/// Where copies may not come from such memory.
const PINNED: &str = "Copy from pinned memory without blocking.";

pub(super) fn gaps(comparison: &Comparison) -> impl Iterator<Item = Gap> {
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
    let grown_ns = times.difference();
    let has_both = comparison.parts.total.reference > 0 && comparison.parts.total.target > 0;
    // More calls idle more: that is no defect.
    if grown_ns <= 0 || !has_both || comparison.has_more_calls() {
        return None;
    }
    let totals = comparison.parts.total;
    let lines = &comparison.thresholds;
    let percent = words::percent_of(grown_ns, totals.target);
    let change = times.change_percent();
    let change = change.map_or(String::new(), |change| {
        format!(" ({})", words::change(change))
    });
    Some(Gap {
        number: 0,
        subject: part.subject,
        pattern: part.pattern,
        priority: match percent {
            percent if percent > lines.high_percent_of_compute => Priority::High,
            percent if percent > lines.medium_percent_of_compute => Priority::Medium,
            _ => Priority::Low,
        },
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
            _ => part.model.to_owned(),
        },
        kernel: part.kernel.to_owned(),
        reasoning: vec![
            format!(
                "That is {} of the run of the target, and {} of that of the reference.",
                format::percent(words::percent_of(times.target, totals.target)),
                format::percent(words::percent_of(times.reference, totals.reference))
            ),
            part.reasoning.to_owned(),
        ],
        times,
        saving: Some(Saving {
            matching_ns: grown_ns,
            roof_ns: None,
        }),
        replay: None,
    })
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
        assert!(more.has_more_calls());
        assert!(more.gaps.ranked.is_empty(), "{:?}", more.gaps.ranked);
        let said = more.caveats().join(" ");
        assert!(said.contains("compare as many steps of each"), "{said}");
    }

    #[test]
    fn as_many_calls_with_longer_gaps_are_one() {
        // 19 gaps of 600 µs against 19 of 100 µs: 9.5 ms more.
        let slower = compared(&products(20, 100), &products(20, 600));
        let patterns: Vec<&str> = slower.gaps.ranked.iter().map(|gap| gap.pattern).collect();
        assert_eq!(patterns, ["more_idle"]);
        let saving = slower.gaps.ranked[0].saving;
        assert_eq!(saving.map(|one| one.matching_ns), Some(9_500_000));
        assert!(!slower.caveats().join(" ").contains("steps of each"));
        // Fewer calls that idle for longer all the same.
        let fewer = compared(&products(20, 100), &products(10, 600));
        assert_eq!(fewer.gaps.ranked[0].pattern, "more_idle");
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
}
