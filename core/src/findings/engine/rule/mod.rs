//! The rule engine: each finding is a row of a table of [`Rule`]s, evaluated by a common runner.
//!
//! ```text
//! what is observed of each operation ─applies→ group of one rule ─saves, words→ Finding
//! ```
//!
//! An analysis provides what it knows about each operation (or copy, gap, chain of kernels) as the [`Subject`] of its
//! rules. The runner tries the rules in order; the first that applies takes the operation, and all that one rule took
//! form one finding (or one for each value of [`Rule::by`]). Its saving follows from [`Rule::saves`], its sentences
//! from the templates of the rule.
//!
//! A template contains words in braces: `{subject}`, `{time}`, `{at}`, `{calls}` and `{figures}` (the first three in
//! one) for all groups of operations, and those added by [`Rule::words`]. In `{word?text|other}` the text is used if
//! the word [holds], otherwise the other one. Operations that cannot be called have no reproducer; their sentences are
//! [written without it](without_reproducer). `docs/findings.md` is generated from the same rows.

mod evidence;
mod group;
mod text;

use super::compute::{Gate, are_large, are_many, beyond_roofline_ns, called_from, n_calls};
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

/// What the rules of an analysis are applied to.
pub(crate) trait Subject: Sized + 'static {
    /// The data about one operation, or about one part of the run.
    type Of<'a>;

    /// The operation that it is; subjects that are not operations provide their own [evidence](Subject::evidence).
    const ROW: RowOf<Self> = |_| None;

    /// What a finding about a group is based on: figures, operations, events.
    fn evidence(group: &Group<'_, '_, Self>, rule: &Rule<Self>) -> Option<Evidence> {
        Evidence::of_operations(group, rule)
    }

    /// Words for all rules of the analysis, in addition to the engine's own.
    fn words(_: &Group<'_, '_, Self>) -> Words {
        Vec::new()
    }

    /// What the data shows and cannot show, for all rules of the analysis.
    fn reasoning(group: &Group<'_, '_, Self>) -> Vec<String> {
        called_from(group.input, &group.rows).into_iter().collect()
    }

    /// Tables for all rules of the analysis: by default, the table of operations.
    fn tables(group: &Group<'_, '_, Self>) -> Vec<Table> {
        match group.rows.is_empty() {
            true => Vec::new(),
            false => vec![operations_table(group.input, &group.rows)],
        }
    }
}

/// Values for the words of templates.
pub(crate) type Words = Vec<(&'static str, String)>;

pub(crate) type Applies<S> = for<'a> fn(&Input<'a>, &<S as Subject>::Of<'a>) -> bool;

pub(crate) type RowOf<S> = for<'s, 'a> fn(&'s <S as Subject>::Of<'a>) -> Option<&'s Row>;

/// One kind of finding.
pub(crate) struct Rule<S: Subject> {
    /// Its name in files: "tiny_batched".
    pub(crate) key: &'static str,
    /// The class that it gives an operation in the column of types, see [`class_of`]; may be empty.
    pub(crate) class: &'static str,
    /// When it applies, as a clause for the docs: "M or N is 1".
    pub(crate) when: &'static str,
    pub(crate) applies: Applies<S>,
    /// A condition on the whole group; if it does not hold, the group is left to the next rules.
    pub(crate) takes: for<'g, 'a> fn(&Group<'g, 'a, S>) -> bool,
    /// Whether a group deserves a finding.
    pub(crate) gate: for<'g, 'a> fn(&Group<'g, 'a, S>) -> bool,
    /// Splits what it took into one finding for each value, in the order of the values.
    pub(crate) by: for<'a> fn(&S::Of<'a>) -> String,
    /// The cause, in a few words. A template, like the following texts.
    pub(crate) title: &'static str,
    /// One sentence with the operation, its time and its share.
    pub(crate) issue: &'static str,
    /// What to change in the model or how it is run: one sentence without its subject.
    pub(crate) model: &'static str,
    pub(crate) kernel: &'static str,
    /// What the data shows beyond what every finding says; notes that are empty after substitution are left out.
    pub(crate) notes: &'static [&'static str],
    /// Values for the other words of the templates.
    pub(crate) words: for<'g, 'a> fn(&Group<'g, 'a, S>) -> Words,
    /// Tables that precede those of every finding of the analysis.
    pub(crate) tables: for<'g, 'a> fn(&Group<'g, 'a, S>) -> Vec<Table>,
    pub(crate) saves: Saves<S>,
    /// What following it changes, besides kernel time.
    pub(crate) effect: Effect,
    /// A named pattern is worth a look however small its share.
    pub(crate) is_pattern: bool,
    /// Adjusts the priority derived from its share and efficiency.
    pub(crate) priority: for<'g, 'a> fn(&Group<'g, 'a, S>, Priority) -> Priority,
    /// Whether kernel engineers get a reproducer.
    pub(crate) has_reproducer: bool,
}

impl<S: Subject> Rule<S> {
    /// Defaults shared by most rules, for struct update syntax.
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

    /// Many kernels that are about as short as their launch: the saving is at most their time beyond the roofline time.
    /// For struct update syntax.
    pub(crate) const SMALL_KERNELS: Rule<S> = Rule {
        key: "many_small_kernels",
        gate: |group| are_many(group.input, &group.rows, n_calls(&group.rows)),
        kernel: "nothing to tune in kernels about as short as their launch; their number is the cost.",
        saves: Saves::AtMost(|_, observed| beyond_roofline_ns((S::ROW)(observed)?)),
        effect: Effect::FewerLaunches,
        has_reproducer: false,
        ..Rule::BASE
    };

    fn finding(&self, group: &Group<S>) -> Option<Finding> {
        if !(self.gate)(group) {
            return None;
        }
        let mut found = S::evidence(group, self)?;
        // What is known to save nothing is no finding, unlike an unknown saving.
        if found.impact.is_some_and(|impact| impact.high_ns <= 0) {
            return None;
        }
        found.pattern = self.key;
        found.effect = self.effect;
        found.saves_nothing = matches!(self.saves, Saves::Nothing);
        found.priority = (self.priority)(group, found.priority);
        let reasoning = S::reasoning(group);
        let found = with_details(found, reasoning, [(self.tables)(group), S::tables(group)]);
        // Work that need not be done, or not in so many kernels: why each is slow does not matter.
        let is_gone = !self.has_reproducer && !matches!(self.saves, Saves::Steps(_));
        let found = with_causes(found, group.input, &group.rows, is_gone);
        let templates = [self.title, self.issue, self.model, self.kernel];
        Some(with_sentences(
            found,
            templates,
            self.notes,
            &self.words_of(group),
        ))
    }
}

/// Adds what the data shows, and tables before and after its own. Not generic, like the functions below: compiled once
/// for all analyses.
fn with_details(mut found: Finding, reasoning: Vec<String>, tables: [Vec<Table>; 2]) -> Finding {
    let [before, after] = tables;
    found.reasoning.extend(reasoning);
    found.tables.splice(..0, before);
    found.tables.extend(after);
    found
}

/// Adds the causes that keep the longest operation from the roofline, unless the advice is to do without it.
fn with_causes(mut found: Finding, input: &Input, rows: &[&Row], is_gone: bool) -> Finding {
    if let Some(longest) = rows.first() {
        found
            .tables
            .extend(waterfall_table(input, longest.operation));
        // First steps are not about how fast operations are, and a slower GPU is not specific to one operation.
        if !is_gone && !matches!(found.effect, Effect::FirstStep | Effect::FasterGpu) {
            found.causes = causes_of(input, longest.operation).unwrap_or_default();
        }
    }
    found
}

/// Adds the sentences: those of the templates, and the notes before the last sentence of the reasoning.
fn with_sentences(
    mut found: Finding,
    templates: [&str; 4],
    notes: &[&str],
    words: &Words,
) -> Finding {
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

/// The findings about the given subjects; each is taken by the first rule that applies to it.
pub(crate) fn find<'g, 'a, S: Subject>(
    input: &'g Input<'a>,
    rules: &[Rule<S>],
    observed: Vec<&'g S::Of<'a>>,
) -> Vec<Finding> {
    find_if(input, rules, observed, |_| true)
}

/// The same, where only operations that together are large deserve a finding: a cause that is spread over many sizes
/// matters as much as in one operation.
pub(crate) fn find_large<'g, 'a, S: Subject>(
    input: &'g Input<'a>,
    rules: &[Rule<S>],
    observed: Vec<&'g S::Of<'a>>,
    gate: &Gate,
) -> Vec<Finding> {
    find_if(input, rules, observed, |group| {
        are_large(input, &group.rows, gate)
    })
}

fn find_if<'g, 'a, S: Subject>(
    input: &'g Input<'a>,
    rules: &[Rule<S>],
    observed: Vec<&'g S::Of<'a>>,
    is_worth: impl Fn(&Group<'g, 'a, S>) -> bool,
) -> Vec<Finding> {
    let kind = |rule: usize, at: usize| {
        let (rule, observed) = (&rules[rule], observed[at]);
        (rule.applies)(input, observed).then(|| (rule.by)(observed))
    };
    let take = |rule: usize, group: &[usize]| {
        let (rule, observed) = (&rules[rule], group.iter().map(|at| observed[*at]).collect());
        let group = Group::<S>::new(input, observed);
        (rule.takes)(&group).then(|| rule.finding(&group).filter(|_| is_worth(&group)))
    };
    taken(rules.len(), observed.len(), &kind, &take)
}

/// The result of applying a rule to a group; `None` if it leaves the group to the next rule.
type Taken = Option<Option<Finding>>;

/// Applies rules to subjects, both given as indices: `kind` returns the finding of a rule that a subject belongs to, if
/// the rule applies to it; `take` evaluates a rule for all subjects of one kind, if it takes them.
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

/// The class of an operation: the classes of all rules that apply to it, in their order.
pub(crate) fn class_of<'a, S: Subject>(
    input: &Input<'a>,
    rules: &[Rule<S>],
    observed: &S::Of<'a>,
) -> String {
    let with_class = rules.iter().filter(|rule| !rule.class.is_empty());
    let applying = with_class.filter(|rule| (rule.applies)(input, observed));
    let classes: Vec<&str> = applying.map(|rule| rule.class).collect();
    classes.join(", ")
}
