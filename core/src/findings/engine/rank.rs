//! All findings in one list, largest saving first.

use super::finding::{Effect, Finding, Impact, Priority};
use super::joined;
use super::one_cause;
use super::outcome::Outcome;
use crate::base::format;
use crate::base::interval::{percent_or_zero, sum};
use crate::base::sort::Arrange;
use crate::findings::{AnalysisKind, Input};

/// A finding, with the analysis that found it.
type Shown = (&'static AnalysisKind, Finding);

/// A finding with its rank.
#[derive(Debug, Clone, PartialEq)]
pub struct RankedFinding {
    /// Its number, from 1.
    pub number: usize,
    /// The analysis that found it.
    pub analysis: &'static AnalysisKind,
    /// The finding.
    pub finding: Finding,
    /// Findings with a smaller number that save some of the same time.
    pub overlaps: Vec<usize>,
}

/// A finding that is not ranked because a larger one includes it.
#[derive(Debug, Clone, PartialEq)]
pub struct Within {
    /// The analysis that found it.
    pub analysis: &'static AnalysisKind,
    /// Its title.
    pub title: String,
    /// The number of the finding that includes it.
    pub number: usize,
}

/// What to do, largest saving first.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Findings {
    /// Sorted by rank.
    pub ranked: Vec<RankedFinding>,
    /// The findings included in one of them, sorted.
    pub within: Vec<Within>,
    /// Findings that are too small to be shown.
    pub n_small: usize,
    /// What following all of them saves: each operation counts once, and the total is limited to the run. `None` if the
    /// trace shows no saving.
    pub together: Option<Impact>,
}

/// Ranks the findings: by the middle of the impact, its upper end, then time, then memory, then the order of the
/// analyses. So savings that depend on the CPU launching in time come later, unknown savings after that (causes before
/// what is merely not known), and findings that save only memory come last.
pub(crate) fn rank(input: &Input, outcomes: &[Outcome]) -> Findings {
    let all = outcomes.iter().flat_map(|outcome| {
        let findings = outcome.findings.iter();
        findings.map(move |finding| (outcome.kind, finding.clone()))
    });
    let (mut all, merged) = one_cause::merge_unrecorded(input, all.collect());
    let joined = joined::join(&mut all);
    let (small, mut shown): (Vec<_>, Vec<_>) = all
        .into_iter()
        .partition(|(_, finding)| is_small(input, finding));
    arrange(&mut shown);
    less_than_others(input, &mut shown);
    let (ranked, mut within) = numbered(input, shown);
    let unrecorded = |one: &&RankedFinding| one_cause::is_merged(&one.finding);
    if let Some(one) = ranked.iter().find(unrecorded) {
        let title = match input.profile.has_cpu_ops() {
            true => "Operators without a FLOP/byte model",
            false => "Kernels without a FLOP/byte model",
        };
        let goes_with = |analysis| Within {
            analysis,
            title: title.to_owned(),
            number: one.number,
        };
        within.splice(0..0, merged.into_iter().map(goes_with));
    }
    for one in &ranked {
        let parts = joined.iter().filter(|part| part.is_within(&one.finding));
        within.extend(parts.map(|part| Within {
            analysis: part.analysis,
            title: part.title.clone(),
            number: one.number,
        }));
    }
    if !joined.is_empty() {
        within.arrange_by_key(|one| one.number);
    }
    Findings {
        together: together(input, &ranked),
        within,
        n_small: small.len(),
        ranked,
    }
}

/// Sorts findings by rank.
fn arrange(shown: &mut [Shown]) {
    // Stable sort: findings that are equal in all of this stay in the order of the analyses.
    shown.arrange_by(|(_, a), (_, b)| {
        let saving = |finding: &Finding| {
            let impact = finding.impact;
            impact.map_or((-1, -1), |impact| (impact.mid_ns, impact.high_ns))
        };
        // A cause comes before what is merely not known, and that before memory.
        let unknown = |one: &Finding| (one.time_ns == 0, one_cause::is_of_unknown_work(one));
        let rest = |finding: &Finding| (finding.time_ns, finding.memory_bytes);
        (saving(b).cmp(&saving(a)))
            .then(unknown(a).cmp(&unknown(b)))
            .then(rest(b).cmp(&rest(a)))
    });
}

/// Takes what other findings save from a limit of nearly the whole run: it says what is left beyond them, so that
/// causes come before it.
fn less_than_others(input: &Input, shown: &mut [Shown]) {
    /// A limit of a part of the run may leave out what others save.
    const NEARLY_ALL_PERCENT: f64 = 90.0;
    let is_limit = |finding: &Finding| {
        let percent = input
            .total_ns()
            .map(|ns| percent_or_zero(finding.time_ns, ns));
        finding.effect == Effect::Limit
            && finding.impact.is_some()
            && percent >= Some(NEARLY_ALL_PERCENT)
    };
    if !shown.iter().any(|(_, finding)| is_limit(finding)) {
        return;
    }
    let (ranked, _) = numbered(input, shown.to_vec());
    let Some(others) = together(input, &ranked) else {
        return;
    };
    for (_, finding) in shown.iter_mut().filter(|(_, finding)| is_limit(finding)) {
        finding.impact = finding.impact.map(|impact| impact.beyond(others));
        finding.reasoning.push(format!(
            "Other findings save {} of it; the estimate is the rest.",
            format::time_range_ns(others.low_ns, others.high_ns)
        ));
    }
    arrange(shown);
}

/// Whether a finding saves too little to be shown.
fn is_small(input: &Input, finding: &Finding) -> bool {
    let percent = input.options.thresholds.finding_percent_of_total;
    let least_ns = input
        .total_ns()
        .map_or(0.0, |total| total as f64 * percent / 100.0);
    let is_below = finding
        .impact
        .is_some_and(|impact| (impact.mid_ns.max(saved_ns(finding)) as f64) < least_ns);
    is_below && finding.priority > Priority::High
}

/// Findings with their numbers, and those that one before them includes.
fn numbered(input: &Input, shown: Vec<Shown>) -> (Vec<RankedFinding>, Vec<Within>) {
    let mut ranked: Vec<RankedFinding> = Vec::new();
    let mut within = Vec::new();
    for (analysis, finding) in shown {
        let mut before = ranked.iter_mut();
        let outer = before
            .find_map(|one| one_cause::merge(&mut one.finding, &finding).then_some(one.number));
        if let Some(number) = outer {
            within.push(Within {
                analysis,
                title: finding.title,
                number,
            });
            continue;
        }
        let overlaps = ranked
            .iter()
            .filter(|before| share_savings(input, &before.finding, &finding))
            .map(|before| before.number)
            .collect();
        ranked.push(RankedFinding {
            number: ranked.len() + 1,
            analysis,
            finding,
            overlaps,
        });
    }
    (ranked, within)
}

/// How much operation time a finding saves, whether or not the run waits for it.
fn saved_ns(finding: &Finding) -> i64 {
    sum(finding.savings.iter().map(|(_, ns)| *ns))
}

/// Whether two findings save some of the same time: both save time of one operation, and either neither is apart from
/// the other, or together they save more than it takes.
fn share_savings(input: &Input, a: &Finding, b: &Finding) -> bool {
    a.savings.iter().any(|(operation, a_ns)| {
        let of_b = b.savings.iter().find(|(of, _)| of == operation);
        let is_apart = a.apart.contains(operation) || b.apart.contains(operation);
        let most_ns = input.evaluation(*operation).most_ns;
        of_b.is_some_and(|(_, b_ns)| !is_apart || a_ns.saturating_add(*b_ns) > most_ns)
    })
}

/// Whether the time that a finding saves is already counted by another finding.
fn is_counted_elsewhere(ranked: &[RankedFinding], finding: &Finding) -> bool {
    let mut patterns = ranked.iter().map(|one| one.finding.pattern);
    patterns.any(|pattern| finding.counted_in.contains(&pattern))
}

#[derive(Debug, Clone, Copy, Default)]
struct Saved {
    /// By the finding that saves the most of it.
    most_ns: i64,
    /// By findings about a part of the time that others leave out.
    apart_ns: i64,
}

/// All savings together: for each operation the largest one, plus those about a part of the time that it leaves out; at
/// most the time of the operation.
fn together(input: &Input, ranked: &[RankedFinding]) -> Option<Impact> {
    let mut of_operation = vec![Saved::default(); input.profile.operations().len()];
    let mut all: Option<Impact> = None;
    let mut left_ns = sum(input.evaluations.iter().map(|evaluation| evaluation.run_ns));
    for RankedFinding { finding, .. } in ranked {
        // A limit is not added to the findings that approach it.
        let is_counted = finding.effect != Effect::Limit && !is_counted_elsewhere(ranked, finding);
        let impact = finding.impact.filter(|_| is_counted);
        let Some(impact) = impact else {
            continue;
        };
        // The part of its impact that no earlier finding saves already.
        let mut new_ns = 0_i64;
        for &(operation, saved_ns) in &finding.savings {
            let Some(saved) = of_operation.get_mut(operation) else {
                continue;
            };
            let most_ns = input.evaluation(operation).most_ns;
            let all_ns = |saved: &Saved| saved.most_ns.saturating_add(saved.apart_ns).min(most_ns);
            let before_ns = all_ns(saved);
            match finding.apart.contains(&operation) {
                true => saved.apart_ns = saved.apart_ns.saturating_add(saved_ns),
                false => saved.most_ns = saved.most_ns.max(saved_ns),
            }
            new_ns = new_ns.saturating_add(all_ns(saved).saturating_sub(before_ns));
        }
        // Concurrent communication can only move as long as there is other work left to overlap with.
        new_ns = new_ns.min(left_ns);
        left_ns -= new_ns;
        let share = match saved_ns(finding) {
            0 => 1.0,
            saved_ns => (new_ns as f64 / saved_ns as f64).clamp(0.0, 1.0),
        };
        let new = impact.map(|ns| (ns as f64 * share).round() as i64);
        all = Some(all.map_or(new, |all| all.plus(new)));
    }
    let total_ns = input.total_ns()?;
    all.map(|all| all.within(total_ns))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::samples::{made_up, ranked};

    #[test]
    fn what_is_worth_most_comes_first_and_the_unknown_last() {
        let findings = ranked(vec![
            made_up("unknown", None, &[]),
            made_up("small", Some(400), &[]),
            made_up("less", Some(5_000), &[]),
            made_up("most", Some(20_000), &[]),
        ]);
        let ranked = findings.ranked.iter();
        let titles = ranked.map(|one| (one.number, one.finding.title.as_str()));
        let titles: Vec<(usize, &str)> = titles.collect();
        assert_eq!(titles, [(1, "most"), (2, "less"), (3, "unknown")]);
        // 400 ns of 100 µs are below half a percent.
        assert_eq!(findings.n_small, 1);
        assert_eq!(findings.together.map(|all| all.mid_ns), Some(25_000));
    }

    #[test]
    fn memory_comes_after_time_the_most_first() {
        let memory = |title: &str, bytes| Finding {
            time_ns: 0,
            memory_bytes: Some(bytes),
            ..made_up(title, None, &[])
        };
        let findings = ranked(vec![
            memory("1 GB", 1_000_000_000),
            memory("2 GB", 2_000_000_000),
            made_up("unknown", None, &[]),
            made_up("time", Some(5_000), &[]),
        ]);
        let titles = findings.ranked.iter().map(|one| one.finding.title.as_str());
        let titles: Vec<&str> = titles.collect();
        assert_eq!(titles, ["time", "unknown", "2 GB", "1 GB"]);
    }

    #[test]
    fn what_another_finding_counts_is_saved_once() {
        let twice = Finding {
            counted_in: &["made_up"],
            ..made_up("calls", Some(20_000), &[])
        };
        let alone = ranked(vec![twice.clone()]);
        assert_eq!(alone.together.map(|all| all.mid_ns), Some(20_000));
        let idle = Finding {
            pattern: "made_up",
            ..made_up("idle", Some(30_000), &[])
        };
        let both = ranked(vec![
            idle,
            Finding {
                pattern: "calls",
                ..twice
            },
        ]);
        assert_eq!(both.together.map(|all| all.mid_ns), Some(30_000));
    }

    #[test]
    fn what_two_findings_save_of_an_operation_is_saved_once() {
        let findings = ranked(vec![
            made_up("first", Some(30_000), &[(0, 30_000)]),
            made_up("second", Some(20_000), &[(0, 10_000), (1, 10_000)]),
        ]);
        assert_eq!(findings.ranked[1].overlaps, [1]);
        // 30 µs of the first operation, 10 µs of the second.
        assert_eq!(findings.together.map(|all| all.mid_ns), Some(40_000));
    }

    #[test]
    fn what_one_finding_leaves_out_another_saves_too() {
        let apart = |ns: i64| Finding {
            apart: vec![0],
            ..made_up("layout changes", Some(ns), &[(0, ns)])
        };
        let kernels = || made_up("kernels", Some(30_000), &[(0, 30_000)]);
        let findings = ranked(vec![kernels(), apart(20_000)]);
        assert!(findings.ranked[1].overlaps.is_empty());
        assert_eq!(findings.together.map(|all| all.mid_ns), Some(50_000));
        // At most 60 of 60 µs.
        let findings = ranked(vec![kernels(), apart(40_000)]);
        assert_eq!(findings.ranked[1].overlaps, [1]);
        assert_eq!(findings.together.map(|all| all.mid_ns), Some(60_000));
    }

    /// A limit of the whole run promises 80 µs, of which a cause explains 50; a limit of half of it stays as it is.
    #[test]
    fn a_limit_comes_after_what_explains_it() {
        let limit = |time_ns| Finding {
            effect: Effect::Limit,
            time_ns,
            ..made_up("limit", Some(80_000), &[])
        };
        let ranks = |time_ns| {
            let findings = ranked(vec![limit(time_ns), made_up("cause", Some(50_000), &[])]);
            let saved = findings.ranked.into_iter().map(|one| {
                let impact = one.finding.impact.map(|impact| impact.mid_ns);
                (one.finding.title, impact)
            });
            saved.collect::<Vec<_>>()
        };
        let named = |title: &str, ns| (title.to_owned(), Some(ns));
        assert_eq!(
            ranks(100_000),
            [named("cause", 50_000), named("limit", 30_000)]
        );
        assert_eq!(
            ranks(50_000),
            [named("limit", 80_000), named("cause", 50_000)]
        );
    }

    #[test]
    fn no_more_than_the_run_can_be_saved() {
        let findings = ranked(vec![
            made_up("a", Some(80_000), &[]),
            made_up("b", Some(70_000), &[]),
        ]);
        assert_eq!(findings.together.map(|all| all.mid_ns), Some(100_000));
    }
}
