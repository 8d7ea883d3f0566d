//! The engine: each way in which the target falls behind is a row in a table of [`GapRule`]s.
//!
//! ```text
//! Comparison ─candidates→ times, savings, words ─first rule that applies→ Gap
//! ```
//!
//! Templates have placeholders in braces, like those of the [rules for one trace](crate::findings).

use std::hash::Hash;

use super::Gap;
use crate::base::group::grouped;
use crate::base::interval::percent_or_zero;
use crate::compare::comparison::Comparison;
use crate::compare::gap::{GapSubject, Saving};
use crate::compare::ops::MatchedOp;
use crate::compare::pair::Pair;
use crate::findings::{Priority, Replay, Words, fill};
use crate::names::normalized::unnumbered;

pub(crate) struct GapTable {
    /// Their subject, for the docs.
    #[cfg_attr(not(test), expect(dead_code, reason = "tests make the docs"))]
    pub(crate) title: &'static str,
    /// The first rule that applies handles a candidate.
    pub(crate) rules: &'static [GapRule],
    /// Finds the candidates.
    pub(crate) candidates: fn(&Comparison) -> Vec<Candidate>,
}

type Applies = fn(&Comparison, &Candidate) -> bool;

pub(crate) struct GapRule {
    /// Its key in files: "kernel_issue".
    pub(crate) key: &'static str,
    /// When it applies, as a clause for the docs.
    #[cfg_attr(not(test), expect(dead_code, reason = "tests make the docs"))]
    pub(crate) when: &'static str,
    pub(crate) applies: Applies,
    /// A few words. This and the following strings are templates.
    pub(crate) title: &'static str,
    /// One sentence with the figures of both traces.
    pub(crate) issue: &'static str,
    pub(crate) model: &'static str,
    pub(crate) kernel: &'static str,
    /// How it was found. A note is left out if the candidate lacks one of its placeholders.
    pub(crate) notes: &'static [&'static str],
    /// What it saves, for the docs.
    #[cfg_attr(not(test), expect(dead_code, reason = "tests make the docs"))]
    pub(crate) saves: &'static str,
}

/// A possible finding.
pub(crate) struct Candidate {
    pub(crate) subject: GapSubject,
    pub(crate) times: Pair<i64>,
    /// `None` if unknown.
    pub(crate) saving: Option<Saving>,
    pub(crate) priority: Priority,
    pub(crate) floor_ns: Option<i64>,
    pub(crate) replay: Option<Replay>,
    /// Values of the placeholders. An empty value only enables the notes that contain the placeholder.
    pub(crate) words: Words,
}

impl Candidate {
    /// A candidate with this saving for the target's run, which also determines its priority.
    pub(crate) fn of_saved(
        comparison: &Comparison,
        subject: GapSubject,
        times: Pair<i64>,
        saved_ns: i64,
        words: Words,
    ) -> Candidate {
        Candidate {
            subject,
            times,
            saving: Some(Saving {
                matching_ns: saved_ns,
                roofline_ns: None,
                is_predicted: true,
            }),
            priority: priority_of_run(comparison, saved_ns),
            floor_ns: None,
            replay: None,
            words,
        }
    }

    /// A candidate about operations of both traces, by their rows.
    pub(crate) fn of_operations(
        comparison: &Comparison,
        rows: Vec<usize>,
        saved_ns: i64,
        words: Words,
    ) -> Candidate {
        let times = times_of(&matched(comparison, &rows));
        Candidate::of_saved(
            comparison,
            GapSubject::Operations(rows),
            times,
            saved_ns,
            words,
        )
    }

    /// Whether it has a placeholder that notes or advice depend on.
    pub(crate) fn has_word(&self, word: &str) -> bool {
        self.words.iter().any(|(known, _)| *known == word)
    }

    /// The longest of its matched operations.
    pub(crate) fn first<'c>(&self, comparison: &'c Comparison) -> Option<&'c MatchedOp> {
        match &self.subject {
            GapSubject::Operations(rows) => comparison.operations.matched.get(*rows.first()?),
            _ => None,
        }
    }

    /// Whether that is one for which a condition holds.
    pub(crate) fn is(&self, comparison: &Comparison, holds: impl Fn(&MatchedOp) -> bool) -> bool {
        self.first(comparison).is_some_and(holds)
    }
}

/// The priority of something that takes this much of the target's run.
pub(crate) fn priority_of_run(comparison: &Comparison, ns: i64) -> Priority {
    let thresholds = &comparison.thresholds;
    match percent_or_zero(ns, comparison.parts.total.target) {
        percent if percent > thresholds.high_percent_of_compute => Priority::High,
        percent if percent > thresholds.medium_percent_of_compute => Priority::Medium,
        _ => Priority::Low,
    }
}

impl GapTable {
    pub(crate) fn gaps(&self, comparison: &Comparison) -> Vec<Gap> {
        let candidates = (self.candidates)(comparison).into_iter();
        let found = candidates.filter_map(|candidate| {
            let mut rules = self.rules.iter();
            let rule = rules.find(|rule| (rule.applies)(comparison, &candidate))?;
            Some(rule.gap(candidate))
        });
        found.collect()
    }
}

impl GapRule {
    fn gap(&self, candidate: Candidate) -> Gap {
        let words = &candidate.words;
        let notes = self.notes.iter().filter(|note| is_known(note, words));
        Gap {
            number: 0,
            pattern: self.key,
            priority: candidate.priority,
            title: fill(self.title, words),
            gap: fill(self.issue, words),
            model: fill(self.model, words),
            kernel: fill(self.kernel, words),
            reasoning: notes.map(|note| fill(note, words)).collect(),
            times: candidate.times,
            saving: candidate.saving,
            floor_ns: candidate.floor_ns,
            replay: candidate.replay,
            subject: candidate.subject,
        }
    }
}

fn is_known(template: &str, words: &Words) -> bool {
    let parts = template.split('{').skip(1);
    let mut names = parts.filter_map(|part| part.split_once('}'));
    names.all(|(name, _)| words.iter().any(|(word, _)| *word == name))
}

pub(crate) fn matched<'c>(comparison: &'c Comparison, rows: &[usize]) -> Vec<&'c MatchedOp> {
    let all = &comparison.operations.matched;
    rows.iter().filter_map(|at| all.get(*at)).collect()
}

pub(crate) fn times_of(ops: &[&MatchedOp]) -> Pair<i64> {
    let times = ops.iter().map(|op| op.times());
    times.fold(Pair::default(), Pair::plus)
}

/// One candidate for the rows of each operator that have the same key, longest first; rows without a key are left out.
pub(crate) fn by_operator<K: Hash + Eq + Clone>(
    comparison: &Comparison,
    key: impl Fn(usize, &MatchedOp) -> Option<K>,
    candidate: fn(&Comparison, Vec<usize>) -> Option<Candidate>,
) -> Vec<Candidate> {
    let key = |at, op: &MatchedOp| Some((unnumbered(&op.name).to_owned(), key(at, op)?));
    by_key(comparison, key, candidate)
}

/// One candidate for the rows that have the same key, longest first; rows without a key are left out.
pub(crate) fn by_key<K: Hash + Eq + Clone>(
    comparison: &Comparison,
    key: impl Fn(usize, &MatchedOp) -> Option<K>,
    candidate: fn(&Comparison, Vec<usize>) -> Option<Candidate>,
) -> Vec<Candidate> {
    // Rows are sorted by time, so groups are sorted by their longest row.
    let rows = comparison.operations.matched.iter().enumerate();
    let keyed = rows.filter_map(|(at, op)| Some((key(at, op)?, at)));
    let groups = grouped(keyed, Vec::push).into_iter();
    groups
        .filter_map(|(_, rows)| candidate(comparison, rows))
        .collect()
}
