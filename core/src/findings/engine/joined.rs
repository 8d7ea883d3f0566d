//! Findings about parts of one cause: what mostly serves another finding's cause, forward and backward passes, and calls
//! that differ in operations of many kinds.

use super::finding::Finding;
use crate::base::format;
use crate::base::interval::sum;
use crate::findings::AnalysisKind;

/// Calls that differ in operations of so many kinds have a cause outside of them.
const MANY_KINDS: usize = 3;

/// A part smaller than 1/`LEAST_SAID` of the whole is not worth a clause.
const LEAST_SAID: i64 = 16;

/// At the end of the title of a finding about the backward pass of an operation.
const BACKWARD: &str = " (backward)";

/// The pattern of findings about calls that differ.
const DIFFER: &str = "calls_differ";

type Found = (&'static AnalysisKind, Finding);

/// A finding that became part of another one.
pub(super) struct Joined {
    pub(super) analysis: &'static AnalysisKind,
    pub(super) title: String,
    /// The pattern and the title of the other one.
    to: (&'static str, String),
}

impl Joined {
    /// Whether it became part of this finding.
    pub(super) fn is_within(&self, finding: &Finding) -> bool {
        (finding.pattern, &finding.title) == (self.to.0, &self.to.1)
    }
}

/// Moves findings about parts of a cause to the one about the whole, with what they save.
pub(super) fn join(all: &mut Vec<Found>) -> Vec<Joined> {
    let mut joined = Vec::new();
    for at in 0..all.len() {
        let inner: Vec<Found> = parts_of(all, at);
        let Some((_, outer)) = all.get_mut(at).filter(|_| !inner.is_empty()) else {
            continue;
        };
        say_time(outer, &inner);
        inner.iter().for_each(|(_, part)| add(outer, part));
        joined.extend(inner.into_iter().map(|(analysis, part)| Joined {
            analysis,
            title: part.title,
            to: (outer.pattern, outer.title.clone()),
        }));
    }
    all.retain(|(_, finding)| !finding.pattern.is_empty());
    joined
}

/// Takes the findings about parts of the cause of one of them out of a list, which keeps empty ones in their place.
fn parts_of(all: &mut [Found], at: usize) -> Vec<Found> {
    let Some((_, outer)) = all.get(at) else {
        return Vec::new();
    };
    let whole = outer.clone();
    let differ = |finding: &Finding| finding.pattern == DIFFER && finding.model == whole.model;
    let n_kinds = all.iter().filter(|(_, finding)| differ(finding)).count();
    let is_part = |finding: &Finding| {
        let own_ns = finding.impact.map_or(0, |impact| impact.high_ns);
        let mut served = whole.includes.iter();
        served.any(|(of, ns)| finding.pattern == *of && *ns > own_ns / 2)
            || is_backward(finding, &whole)
            || (n_kinds >= MANY_KINDS && whole.pattern == DIFFER && differ(finding))
    };
    let others = all.iter_mut().enumerate();
    let others = others.filter(|(other, (_, finding))| *other != at && is_part(finding));
    let taken = others.map(|(_, (kind, finding))| (*kind, std::mem::take(finding)));
    taken.collect()
}

/// Whether a finding is about the backward pass of what another one is about.
fn is_backward(part: &Finding, whole: &Finding) -> bool {
    let title = part.title.strip_suffix(BACKWARD);
    part.pattern == whole.pattern && title == Some(whole.title.as_str())
}

/// Says what the parts save, at the end of the sentence about the whole.
fn say_time(outer: &mut Finding, parts: &[Found]) {
    let impacts = parts.iter().filter_map(|(_, part)| part.impact);
    let saved_ns = sum(impacts.map(|impact| impact.high_ns));
    if saved_ns < outer.time_ns / LEAST_SAID {
        return;
    }
    let is_copy = |(_, part): &Found| part.pattern.ends_with("_memcpy");
    let all_ns = sum(parts.iter().map(|(_, part)| part.time_ns));
    let (what, ns) = match parts {
        [(_, one)] if is_backward(one, outer) => ("the backward pass adds", all_ns),
        [(_, first), ..] if first.pattern == DIFFER => {
            ("so do operations of other kinds, in", all_ns)
        }
        _ if parts.iter().all(is_copy) => ("copies of its data take another", saved_ns),
        _ => ("its kernels add", all_ns),
    };
    let issue = outer.issue.trim_end_matches('.');
    outer.issue = format!("{issue}; {what} {}.", format::time_ns(ns));
}

fn add(outer: &mut Finding, part: &Finding) {
    outer.impact = match (outer.impact, part.impact) {
        (Some(all), Some(more)) => Some(all.plus(more)),
        (all, more) => all.or(more),
    };
    outer.time_ns = outer.time_ns.saturating_add(part.time_ns);
    outer.priority = outer.priority.min(part.priority);
    outer.operations.extend(&part.operations);
    outer.savings.extend(&part.savings);
    outer.events.extend(&part.events);
    let said = part.issue_with_causes();
    outer
        .reasoning
        .push(format!("This includes “{}”: {said}", part.title));
    if outer.replay.is_none() {
        outer.replay = part.replay.clone().filter(|replay| replay.is_recommended);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::samples::{made_up, ranked};

    /// Copies of 30 µs in a run of 100, of which 20 or 15 serve code that takes 40 µs.
    #[test]
    fn copies_that_serve_code_go_with_it() {
        let copies = || Finding {
            pattern: "high_d2h_memcpy",
            ..made_up("copies", Some(30_000), &[])
        };
        let code = |ns| Finding {
            pattern: "cpu_function",
            issue: "The CPU works.".to_owned(),
            includes: vec![("high_d2h_memcpy", ns)],
            ..made_up("code", Some(40_000), &[])
        };
        let one = ranked(vec![copies(), code(20_000)]);
        let finding = &one.ranked[0].finding;
        assert_eq!(one.ranked.len(), 1);
        assert_eq!(finding.impact.map(|impact| impact.mid_ns), Some(70_000));
        let said = "The CPU works; copies of its data take another 30.0 µs.";
        assert_eq!(finding.issue, said);
        let within = &one.within[0];
        assert_eq!((within.title.as_str(), within.number), ("copies", 1));
        assert_eq!(ranked(vec![copies(), code(15_000)]).ranked.len(), 2);
    }

    #[test]
    fn a_backward_pass_goes_with_its_forward_pass() {
        let pass = |pattern, title: &str, mid_ns| Finding {
            pattern,
            issue: "It takes 30 µs.".to_owned(),
            time_ns: 30_000,
            ..made_up(title, Some(mid_ns), &[])
        };
        let found = |pattern| {
            let all = vec![
                pass("unfused", "Attention", 10_000),
                made_up("other", Some(15_000), &[]),
                pass(pattern, "Attention (backward)", 20_000),
            ];
            let ranked = ranked(all).ranked.into_iter();
            let all = ranked.map(|one| (one.finding.title, one.finding.impact.unwrap().mid_ns));
            all.collect::<Vec<_>>()
        };
        let both = [
            ("Attention".to_owned(), 30_000),
            ("other".to_owned(), 15_000),
        ];
        assert_eq!(found("unfused"), both);
        assert_eq!(found("slow").len(), 3);
    }

    #[test]
    fn calls_that_differ_in_many_kinds_of_operations_have_one_cause() {
        let found = |models: [&str; 3]| {
            let differ = |(title, model): (&str, &str)| Finding {
                pattern: DIFFER,
                model: model.to_owned(),
                ..made_up(title, Some(10_000), &[])
            };
            let titles = ["GEMMs", "attention", "norms"].into_iter();
            let all = titles.zip(models).map(differ).collect();
            ranked(all).ranked.len()
        };
        assert_eq!(found(["clocks"; 3]), 1);
        assert_eq!(found(["clocks", "clocks", "warm up"]), 3);
    }
}
