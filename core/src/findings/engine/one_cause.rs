//! Merges findings with one cause into one finding: findings within a larger one, and what all kernels share because no
//! operators, or no shapes, were recorded.

use super::compute::time_and_share;
use super::finding::{Effect, Finding, Impact, Priority};
use super::rule::{self, Evidence, Group, Rule, Saves, Subject, Words};
use crate::base::format;
use crate::base::interval::sum;
use crate::base::sort::Arrange;
use crate::base::value::Table;
use crate::findings::{AnalysisKind, Docs, Input};

/// Whether a finding is about a part of what another one is about, and the other saves as much of it. A finding of
/// higher priority stays separate, unless the other saves as much of all of it.
fn is_within(inner: &Finding, outer: &Finding) -> bool {
    let is_apart = |at: &usize| inner.apart.contains(at) || outer.apart.contains(at);
    let saved_ns = |finding: &Finding, at: &usize| {
        let of_it = finding.savings.iter().filter(|(of, _)| of == at);
        sum(of_it.map(|(_, ns)| *ns))
    };
    let is_saved = |at: &usize| {
        let ns = saved_ns(outer, at);
        ns > 0 && ns >= saved_ns(inner, at)
    };
    // A faster GPU does not replace what to do about operations, except for calls that differ because of its speed.
    let may_hold = outer.effect != Effect::FasterGpu || inner.pattern == "calls_differ";
    may_hold
        && !inner.operations.is_empty()
        && outer.impact.is_some()
        && (outer.priority <= inner.priority || inner.operations.iter().all(is_saved))
        && inner
            .operations
            .iter()
            .all(|at| !is_apart(at) && (outer.operations.contains(at) || is_saved(at)))
}

/// Patterns of findings about the same idle time: seen in the running code and in its driver calls, or in launches and
/// in steps.
const SAME_TIME: [[&str; 2]; 2] = [
    ["memory_allocation", "allocator_calls"],
    ["piecewise_launches", "piecewise_decode"],
];

/// Whether a finding is about the time of another one, which saves as much.
fn is_same_time(inner: &Finding, outer: &Finding) -> bool {
    let most_ns = |finding: &Finding| finding.impact.map(|impact| impact.high_ns);
    let is_of = |pair: &[&str; 2]| [inner, outer].iter().all(|one| pair.contains(&one.pattern));
    inner.pattern != outer.pattern
        && SAME_TIME.iter().any(is_of)
        && most_ns(outer) >= most_ns(inner)
}

/// If one finding is part of the other, mentions it there and raises the other's priority to its own; returns whether
/// that is so.
pub(crate) fn merge(outer: &mut Finding, inner: &Finding) -> bool {
    if is_same_time(inner, outer) {
        outer.priority = outer.priority.min(inner.priority);
        outer.reasoning.push(format!(
            "This is also the time of “{}”: {}",
            inner.title, inner.issue
        ));
        // Failed allocations need a different fix.
        if inner.priority < Priority::Medium {
            outer.model.clone_from(&inner.model);
        }
        return true;
    }
    if !is_within(inner, outer) {
        return false;
    }
    outer.priority = outer.priority.min(inner.priority);
    // That calls differ is what the other finding is about.
    if outer.effect == Effect::FasterGpu {
        return true;
    }
    let saves = match inner.impact {
        Some(impact) => format!("saves up to {}", format::time_ns(impact.high_ns)),
        None => format::time_ns(inner.time_ns),
    };
    outer.reasoning.push(format!(
        "This includes a part that can be fixed on its own, {} ({saves}): {}",
        inner.title, inner.model
    ));
    // A recommended reproducer stays in the package, whichever finding asks for it.
    if outer.replay.is_none() {
        outer.replay = inner.replay.clone().filter(|replay| replay.is_recommended);
    }
    true
}

const UNMODELLED: &str = "unmodeled_significant";
/// The key of the merged finding where no operators were recorded.
const UNRECORDED: &str = "operators_not_recorded";
/// The key of the merged finding where no shapes were recorded.
const WITHOUT_SHAPES: &str = "shapes_not_recorded";

/// Whether a finding is that something is unknown because it was not recorded.
pub(crate) fn is_merged(finding: &Finding) -> bool {
    [UNRECORDED, WITHOUT_SHAPES].contains(&finding.pattern)
}

/// Whether a finding says no more than that nothing is known of what an operation has to do.
pub(crate) fn is_of_unknown_work(finding: &Finding) -> bool {
    finding.pattern == UNMODELLED || is_merged(finding)
}

pub(crate) const DOCS: Docs = || rule::docs(RULES);

impl Subject for Finding {
    type Of<'a> = Finding;

    fn evidence(group: &Group<Self>, _: &Rule<Self>) -> Option<Evidence> {
        let all = || group.observed.iter();
        let impacts = all().filter_map(|one| one.impact);
        Some(Evidence {
            operations: all().flat_map(|one| one.operations.clone()).collect(),
            impact: impacts.reduce(Impact::plus),
            savings: all().flat_map(|one| one.savings.clone()).collect(),
            replay: group.first().replay.clone(),
            tables: all()
                .filter_map(|one| one.tables.first().cloned())
                .reduce(|all, more| Table {
                    rows: [all.rows, more.rows].concat(),
                    ..all
                })
                .into_iter()
                .collect(),
            ..Evidence::new(
                all().map(|one| one.priority).min()?,
                group.sum(|one| one.time_ns),
            )
        })
    }

    fn words(group: &Group<Self>) -> Words {
        let n = group.observed.iter().map(|one| one.operations.len() as u64);
        let time_ns = group.sum(|one| one.time_ns);
        let n = n.sum();
        vec![
            ("kernels", format::counted(n, "kernel")),
            ("operators", format::counted(n, "operator")),
            ("time", time_and_share(time_ns, group.input)),
        ]
    }
}

const RULES: &[Rule<Finding>] = &[
    Rule {
        key: UNRECORDED,
        when: "no operators were recorded and several findings are about kernels without a model",
        applies: |input, _| !input.profile.has_cpu_ops(),
        title: "No operators were recorded",
        issue: "{kernels} take {time}, and no operator with shapes is known to launch them.",
        model: "record operators with their shapes as well (`ProfilerActivity.CPU`, `record_shapes=True`): then their efficiency is known, and what calls them.",
        kernel: "measure the longest under a hardware profiler.",
        notes: &[
            "Nothing in the trace tells their FLOPs and bytes, so their efficiency is unknown and the saving a rule of thumb.",
        ],
        saves: Saves::Evidence,
        ..Rule::BASE
    },
    Rule {
        key: WITHOUT_SHAPES,
        when: "no shapes were recorded and several findings are about operators without a model",
        title: "No shapes were recorded",
        issue: "{operators} take {time}, and the shapes of their tensors were not recorded.",
        model: "record shapes as well (`record_shapes=True`): then their efficiency is known.",
        kernel: "measure the longest under a hardware profiler.",
        notes: &[
            "Nothing in the trace tells their FLOPs and bytes, so their efficiency is unknown.",
        ],
        saves: Saves::Evidence,
        effect: Effect::FirstStep,
        is_pattern: false,
        ..Rule::BASE
    },
];

/// Whether shapes were recorded for any operation.
pub(crate) fn has_shapes(input: &Input) -> bool {
    let mut all = input.operations();
    all.any(|(_, operation, _)| !operation.dims(input.profile).is_empty())
}

type Found = (&'static AnalysisKind, Finding);

/// Where no operators or no shapes were recorded, merges all findings about unknown work into one. Also returns the
/// analyses whose findings were merged, except that of the longest.
pub(crate) fn merge_unrecorded(
    input: &Input,
    all: Vec<Found>,
) -> (Vec<Found>, Vec<&'static AnalysisKind>) {
    let has_operators = input.profile.has_cpu_ops();
    let has_shapes = || has_shapes(input);
    // With operators, shapes alone are missing; that kernels of their own have none is not for lack of recording.
    let is_of_operators = |finding: &Finding| {
        let mut all = finding.operations.iter().map(|at| input.operation(*at));
        finding.impact.is_none() && all.all(|operation| !operation.is_kernel())
    };
    let is_one = |finding: &Finding| {
        finding.pattern == UNMODELLED && (!has_operators || is_of_operators(finding))
    };
    let n = all.iter().filter(|(_, finding)| is_one(finding)).count();
    if n < 2 || (has_operators && has_shapes()) {
        return (all, Vec::new());
    }
    let (mut unknown, mut findings): (Vec<_>, Vec<_>) =
        all.into_iter().partition(|(_, finding)| is_one(finding));
    unknown.arrange_by_largest(|(_, finding)| finding.time_ns);
    let mut kinds: Vec<&'static AnalysisKind> = Vec::new();
    for (kind, _) in &unknown {
        if !kinds.contains(kind) {
            kinds.push(kind);
        }
    }
    let unknown = unknown.iter().map(|(_, finding)| finding).collect();
    let merged = rule::find(input, RULES, unknown).into_iter();
    let first = kinds.remove(0);
    findings.extend(merged.map(|finding| (first, finding)));
    (findings, kinds)
}

#[cfg(test)]
mod tests {
    use super::super::finding::Priority;
    use super::super::rank::{Findings, RankedFinding};
    use super::*;
    use crate::findings::samples::{made_up, ranked};
    use crate::report::Report;
    use crate::testing::Timetable;

    fn about(title: &str, mid_ns: i64, operations: &[usize]) -> Finding {
        let share = mid_ns / operations.len().max(1) as i64;
        Finding {
            operations: operations.to_vec(),
            savings: operations.iter().map(|at| (*at, share)).collect(),
            model: format!("fix {title}."),
            ..made_up(title, Some(mid_ns), &[])
        }
    }

    fn titles(findings: &Findings) -> Vec<&str> {
        let ranked = findings.ranked.iter();
        ranked.map(|one| one.finding.title.as_str()).collect()
    }

    #[test]
    fn what_lies_within_another_finding_goes_with_it() {
        let findings = ranked(vec![
            about("fusion", 40_000, &[0, 1]),
            about("conversion", 10_000, &[1]),
        ]);
        assert_eq!(titles(&findings), ["fusion"]);
        let said = "This includes a part that can be fixed on its own, conversion (saves up to 10.0 µs): fix conversion.";
        assert_eq!(findings.ranked[0].finding.reasoning, [said]);
        let within = &findings.within[0];
        assert_eq!((within.title.as_str(), within.number), ("conversion", 1));
        assert_eq!(findings.together.map(|all| all.mid_ns), Some(40_000));
    }

    #[test]
    fn what_is_more_than_a_part_stands_for_itself() {
        let part = || about("fusion", 40_000, &[0]);
        let apart = Finding {
            apart: vec![0],
            ..about("layout", 10_000, &[0])
        };
        let heavy = |saved_ns| Finding {
            priority: Priority::Critical,
            savings: vec![(0, saved_ns)],
            ..about("tiny", 10_000, &[0])
        };
        let wide = || Finding {
            savings: vec![(0, 9_000), (1, 31_000)],
            ..about("fusion", 40_000, &[0, 1])
        };
        let unknown = |title, time_ns| Finding {
            impact: None,
            time_ns,
            ..about(title, 1, &[0])
        };
        // Changing the layout around a convolution, operation 0, saves copies, operation 1.
        let around = |saved_ns| Finding {
            savings: vec![(0, 20_000), (1, saved_ns)],
            ..about("layout", 40_000, &[0])
        };
        let copies = || about("copies", 10_000, &[1]);
        let more = about("conversion", 10_000, &[0, 1]);
        let cases: [(Finding, Finding, &[&str]); 7] = [
            // The inner one is about another operation as well.
            (part(), more, &["fusion", "conversion"]),
            // It is about a time that the other leaves out.
            (part(), apart, &["fusion", "layout"]),
            // It has higher priority and saves more than the other; or the same.
            (wide(), heavy(10_000), &["fusion", "tiny"]),
            (wide(), heavy(9_000), &["fusion"]),
            // The other has no known saving.
            (
                unknown("none", 100),
                unknown("unknown", 1),
                &["none", "unknown"],
            ),
            // The other is not about its operation but saves as much of it, or less.
            (around(10_000), copies(), &["layout"]),
            (around(9_999), copies(), &["layout", "copies"]),
        ];
        for (outer, inner, expected) in cases {
            assert_eq!(titles(&ranked(vec![outer, inner])), expected);
        }
        // The merged finding gets the priority of its part.
        let one = ranked(vec![wide(), heavy(9_000)]);
        assert_eq!(one.ranked[0].finding.priority, Priority::Critical);
    }

    /// Idle time in which memory is allocated, seen in the code and in the driver calls.
    #[test]
    fn the_same_time_seen_twice_is_one_finding() {
        let idle = Finding {
            pattern: "memory_allocation",
            ..about("allocation", 28_000, &[])
        };
        let calls = |priority| Finding {
            pattern: "allocator_calls",
            priority,
            ..made_up("driver", Some(20_000), &[])
        };
        let one = ranked(vec![idle.clone(), calls(Priority::Medium)]);
        assert_eq!(titles(&one), ["allocation"]);
        assert_eq!(one.ranked[0].finding.priority, Priority::Medium);
        assert_eq!(one.ranked[0].finding.model, "fix allocation.");
        // Failed allocations need a different fix.
        let failed = Finding {
            model: "lower the peak.".to_owned(),
            ..calls(Priority::High)
        };
        let one = ranked(vec![idle, failed]);
        assert_eq!(titles(&one), ["allocation"]);
        assert_eq!(one.ranked[0].finding.model, "lower the peak.");
    }

    /// Operators of 30 and 30 µs in a run of 60.
    #[test]
    fn operators_of_unknown_work_are_one_finding_where_no_shapes_were_recorded() {
        let patterns = |args: &str| {
            let profile = Timetable::new()
                .op("aten::mm", 0..2)
                .args(args)
                .launched("gemm_kernel", 0..1, 0..30)
                .op("aten::_softmax", 2..4)
                .args(args)
                .launched("softmax_kernel", 2..3, 30..60)
                .profile();
            let report = Report::new(&profile, &crate::testing::options_on("H100"));
            let ranked = report.analyses.findings.ranked.iter();
            let found = ranked.map(|one| (one.finding.pattern, one.finding.time_ns));
            found
                .filter(|(pattern, _)| pattern.ends_with("recorded"))
                .collect::<Vec<_>>()
        };
        assert_eq!(patterns(r#""External id": 1"#), [(WITHOUT_SHAPES, 60_000)]);
        assert_eq!(patterns(r#""Input Dims": [[8, 8], [8, 8]]"#), []);
    }

    /// Kernels of 30, 20 and 10 µs in a run of 60, without any operator.
    #[test]
    fn kernels_of_unknown_work_are_one_finding_where_no_operator_was_recorded() {
        let profile = Timetable::new()
            .launched("batch_norm_backward_kernel", 0..1, 0..30)
            .launched("max_pool_backward_nchw", 1..2, 30..50)
            .launched("batch_norm_transform_kernel", 2..3, 50..60)
            .profile();
        let report = Report::new(&profile, &crate::testing::options_on("H100"));
        let findings = &report.analyses.findings;
        let of = |pattern| {
            findings
                .ranked
                .iter()
                .filter(move |one| one.finding.pattern == pattern)
        };
        let unknown: Vec<&RankedFinding> = of(UNRECORDED).collect();
        assert_eq!((unknown.len(), of(UNMODELLED).count()), (1, 0));
        let merged = &unknown[0].finding;
        assert_eq!((merged.operations.len(), merged.time_ns), (3, 60_000));
        assert_eq!(findings.within.len(), 1);
        assert_eq!(findings.within[0].number, unknown[0].number);
    }
}
