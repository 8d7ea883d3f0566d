//! The engine: a finding is a row of a table of [`Rule`]s, and one runner makes it.
//!
//! ```text
//! what is seen of each operation ─applies→ group of one rule ─saves, words→ Finding
//! ```
//!
//! An analysis says what it knows of each operation (or copy, gap, chain of kernels) as the
//! [`Subject`] of its rules. The runner asks the rules in order; the first that applies takes the
//! operation, and all that one rule took are one finding (or one for each answer to [`Rule::by`]). What it
//! is worth follows from [`Rule::saves`], its sentences from the templates of the rule.
//!
//! A template holds words in braces: `{subject}`, `{time}`, `{at}`, `{calls}` and `{figures}` (the
//! first three in one) of every group of operations, and those that [`Rule::words`] adds. Of
//! `{word?text|other}` a word that [holds] chooses the text, and else the other. What cannot
//! be called has no reproducer: its sentences do [without](without_reproducer). `docs/findings.md` is
//! made from the same rows.

mod evidence;
mod group;
mod text;

use super::compute::{are_many, beyond_roofline_ns, called_from, n_calls};
use super::compute::{causes_of, operations_table, waterfall_table, without_reproducer};
use super::finding::{Effect, Finding, Priority};
use super::outcome::Row;
use crate::assess::Input;
use crate::base::group::grouped;
use crate::base::value::Table;

pub(crate) use evidence::{Evidence, Saves};
pub(crate) use group::{Group, times_by_operation};
pub use text::RuleDoc;
pub(crate) use text::{docs, either, fill, holds};

/// What the rules of an analysis look at.
pub(crate) trait Subject: Sized + 'static {
    /// What is known of one operation, or of one part of the run.
    type Of<'a>;

    /// The operation that it is; what is none says its own [evidence](Subject::evidence).
    const ROW: RowOf<Self> = |_| None;

    /// What a finding about a group rests on: figures, operations, events.
    fn evidence(group: &Group<'_, '_, Self>, rule: &Rule<Self>) -> Option<Evidence> {
        Evidence::of_operations(group, rule)
    }

    /// Words for every rule of the analysis, beside the engine's own.
    fn words(_: &Group<'_, '_, Self>) -> Words {
        Vec::new()
    }

    /// What the data shows and cannot show, for every rule of the analysis.
    fn reasoning(group: &Group<'_, '_, Self>) -> Vec<String> {
        called_from(group.input, &group.rows).into_iter().collect()
    }

    /// Tables for every rule of the analysis: that of the operations.
    fn tables(group: &Group<'_, '_, Self>) -> Vec<Table> {
        match group.rows.is_empty() {
            true => Vec::new(),
            false => vec![operations_table(group.input, &group.rows)],
        }
    }
}

/// What the words of templates stand for.
pub(crate) type Words = Vec<(&'static str, String)>;

pub(crate) type Applies<S> = for<'a> fn(&Input<'a>, &<S as Subject>::Of<'a>) -> bool;

pub(crate) type RowOf<S> = for<'s, 'a> fn(&'s <S as Subject>::Of<'a>) -> Option<&'s Row>;

/// One thing that Dormer can find.
pub(crate) struct Rule<S: Subject> {
    /// Its name in files: "tiny_batched".
    pub(crate) key: &'static str,
    /// What it calls an operation in the column of types, see [`class_of`]; empty for nothing.
    pub(crate) class: &'static str,
    /// When it applies, as a clause for the docs: "M or N is 1".
    pub(crate) when: &'static str,
    pub(crate) applies: Applies<S>,
    /// What of a group must hold as well for the rule to take it, and not a rule below.
    pub(crate) takes: for<'g, 'a> fn(&Group<'g, 'a, S>) -> bool,
    /// Whether a group is worth a finding.
    pub(crate) gate: for<'g, 'a> fn(&Group<'g, 'a, S>) -> bool,
    /// What it took is a finding for each answer, in the order of the answers.
    pub(crate) by: for<'a> fn(&S::Of<'a>) -> String,
    /// The cause, in a few words. Like the following ones a template.
    pub(crate) title: &'static str,
    /// One sentence with the operation, its time and its share.
    pub(crate) issue: &'static str,
    /// What to change in the model or in how it is run: one sentence without its subject.
    pub(crate) model: &'static str,
    pub(crate) kernel: &'static str,
    /// What the data shows beyond what every finding says; what its words leave empty is left out.
    pub(crate) notes: &'static [&'static str],
    /// What the other words of the templates stand for.
    pub(crate) words: for<'g, 'a> fn(&Group<'g, 'a, S>) -> Words,
    /// Tables that come before those of every finding of the analysis.
    pub(crate) tables: for<'g, 'a> fn(&Group<'g, 'a, S>) -> Vec<Table>,
    pub(crate) saves: Saves<S>,
    /// What following it changes, beside kernel time.
    pub(crate) effect: Effect,
    /// A pattern with a name is worth a look however small its share is.
    pub(crate) is_pattern: bool,
    /// Its priority, from the one that its share and efficiency give it.
    pub(crate) priority: for<'g, 'a> fn(&Group<'g, 'a, S>, Priority) -> Priority,
    /// Whether kernel engineers get a reproducer.
    pub(crate) has_reproducer: bool,
}

impl<S: Subject> Rule<S> {
    /// What most rules have in common, for the rest of a literal.
    pub(crate) const BASE: Rule<S> = Rule {
        key: "",
        class: "",
        when: "",
        applies: |_, _| true,
        takes: |_| true,
        gate: |_| true,
        by: |_| String::new(),
        title: "",
        issue: "{subject} takes {time}{at}.",
        model: "",
        kernel: "",
        notes: &[],
        words: |_| Vec::new(),
        tables: |_| Vec::new(),
        saves: Saves::Gap,
        effect: Effect::KernelTime,
        is_pattern: true,
        priority: |_, priority| priority,
        has_reproducer: true,
    };

    pub(crate) fn words_of(&self, group: &Group<S>) -> Words {
        let mut words = group::words(group.input, &group.rows);
        words.extend(S::words(group));
        words.extend((self.words)(group));
        words
    }

    /// Many kernels about as short as their launch: what they take beyond their work at the roofline is
    /// saved at most. For the rest of a literal.
    pub(crate) const SMALL_KERNELS: Rule<S> = Rule {
        key: "many_small_kernels",
        gate: |group| are_many(group.input, &group.rows, n_calls(&group.rows)),
        kernel: "nothing to tune in kernels about as short as their launch; their number is the cost.",
        saves: Saves::AtMost(|_, seen| beyond_roofline_ns((S::ROW)(seen)?)),
        effect: Effect::FewerLaunches,
        has_reproducer: false,
        ..Rule::BASE
    };

    fn finding(&self, group: &Group<S>) -> Option<Finding> {
        if !(self.gate)(group) {
            return None;
        }
        let mut found = S::evidence(group, self)?;
        found.pattern = self.key;
        found.effect = self.effect;
        found.priority = (self.priority)(group, found.priority);
        found.reasoning.extend(S::reasoning(group));
        let of_rule = (self.tables)(group);
        found.tables.splice(..0, of_rule);
        found.tables.extend(S::tables(group));
        let templates = [self.title, self.issue, self.model, self.kernel];
        let words = self.words_of(group);
        let found = with_causes(found, group.input, &group.rows);
        Some(said(found, templates, self.notes, &words))
    }
}

/// A finding with what keeps its longest operation from the roofline. Not generic, like what follows: compiled once for all
/// analyses.
fn with_causes(mut found: Finding, input: &Input, rows: &[&Row]) -> Finding {
    if let Some(longest) = rows.first() {
        found
            .tables
            .extend(waterfall_table(input, longest.operation));
        // What first steps say is not how fast operations are, and a GPU that gets slower is no matter of one of them.
        if !matches!(found.effect, Effect::FirstStep | Effect::FasterGpu) {
            found.causes = causes_of(input, longest.operation).unwrap_or_default();
        }
    }
    found
}

/// A finding with its sentences: those of the templates, and the notes before the last of its
/// reasoning.
fn said(mut found: Finding, templates: [&str; 4], notes: &[&str], words: &Words) -> Finding {
    let is_callable = found.replay.is_some();
    let say = |template: &str| match fill(template, words) {
        text if is_callable => text,
        text => without_reproducer(&text),
    };
    [found.title, found.issue, found.model, found.kernel] = templates.map(say);
    let at = found.reasoning.len().saturating_sub(1);
    let notes = notes.iter().map(|note| (*note).to_owned());
    found.reasoning.splice(at..at, notes);
    let reasoning = found.reasoning.iter().map(|sentence| say(sentence));
    found.reasoning = reasoning.filter(|sentence| !sentence.is_empty()).collect();
    found
}

/// The findings about what was seen: each is taken by the first rule that applies to it.
pub(crate) fn find<'g, 'a, S: Subject>(
    input: &'g Input<'a>,
    rules: &[Rule<S>],
    seen: Vec<&'g S::Of<'a>>,
) -> Vec<Finding> {
    let kind = |rule: usize, at: usize| {
        let (rule, seen) = (&rules[rule], seen[at]);
        (rule.applies)(input, seen).then(|| (rule.by)(seen))
    };
    let take = |rule: usize, group: &[usize]| {
        let (rule, seen) = (&rules[rule], group.iter().map(|at| seen[*at]).collect());
        let group = Group::<S>::new(input, seen);
        (rule.takes)(&group).then(|| rule.finding(&group))
    };
    taken(rules.len(), seen.len(), &kind, &take)
}

/// What a rule makes of a group; `None` where it leaves it to the next one.
type Taken = Option<Option<Finding>>;

/// What rules find, with rules and what was seen by their positions: `kind` is which finding of a rule something belongs to,
/// if the rule applies to it; `take` is what a rule makes of all of one kind, if it takes them.
fn taken(
    n_rules: usize,
    n_seen: usize,
    kind: &dyn Fn(usize, usize) -> Option<String>,
    take: &dyn Fn(usize, &[usize]) -> Taken,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut left: Vec<usize> = (0..n_seen).collect();
    for rule in 0..n_rules {
        let asked = left.iter().filter_map(|&at| Some((kind(rule, at)?, at)));
        for (_, group) in grouped(asked, Vec::push) {
            if let Some(finding) = take(rule, &group) {
                left.retain(|at| group.binary_search(at).is_err());
                findings.extend(finding);
            }
        }
    }
    findings
}

/// What the rules call an operation: the classes of all that apply to it, in their order.
pub(crate) fn class_of<'a, S: Subject>(
    input: &Input<'a>,
    rules: &[Rule<S>],
    seen: &S::Of<'a>,
) -> String {
    let with_class = rules.iter().filter(|rule| !rule.class.is_empty());
    let applying = with_class.filter(|rule| (rule.applies)(input, seen));
    let classes: Vec<&str> = applying.map(|rule| rule.class).collect();
    classes.join(", ")
}
