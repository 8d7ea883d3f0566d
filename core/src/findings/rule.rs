//! The engine: a finding is a row of a table of [`Rule`]s, and one runner makes it.
//!
//! ```text
//! what is seen of each operation ─applies→ group of one rule ─saves, words→ Finding
//! ```
//!
//! An analysis says what it knows of each operation (or copy, gap, chain of kernels) as the
//! [`Subject`] of its rules. The runner asks the rules in order; the first that applies takes the
//! operation, and all that one rule took are one finding (or one for each of [`Rule::by`]). What it
//! is worth follows from [`Rule::saves`], its sentences from the templates of the rule.
//!
//! A template holds words in braces: `{subject}`, `{time}`, `{at}`, `{calls}` and `{figures}` (the
//! first three in one) of every group of operations, and those that [`Rule::words`] adds. What cannot
//! be called has no reproducer: `{with_reproducer}` is " with the reproducer" or nothing,
//! `{reproducer}` "reproducer" or "kernel", `{a_profiler}` "a reproducer under a hardware profiler" or
//! "a hardware profiler". `docs/findings.md` is made from the same rows.

use std::collections::BTreeSet;
use std::ptr;

use super::compute::{
    are_many, at_efficiency, beyond_roofline_ns, efficiency, impact, n_calls, priority_by, replay,
    subject, subject_and_time, sum_of, time_and_share, time_ns, without_reproducer,
};
use super::finding::{Confidence, Effect, Finding, Impact, Priority, Replay};
use super::outcome::Row;
use crate::assess::Input;
use crate::base::format;
use crate::base::interval::sum;
use crate::base::value::Table;
use crate::trace::EventId;

/// What the rules of an analysis look at.
pub(crate) trait Subject: Sized + 'static {
    /// What is known of one operation, or of one part of the run.
    type Of<'a>;

    /// The operation that it is; `None` for what is none, which then says its own
    /// [evidence](Subject::evidence).
    fn row<'s>(seen: &'s Self::Of<'_>) -> Option<&'s Row>;

    /// What a finding about a group rests on: figures, operations, events.
    fn evidence(group: &Group<'_, '_, Self>, rule: &Rule<Self>) -> Option<Evidence> {
        Evidence::of_operations(group, rule)
    }

    /// Words for every rule of the analysis, beside the engine's own.
    fn words(_: &Group<'_, '_, Self>) -> Words {
        Vec::new()
    }

    /// What the data shows and what it cannot show, for every rule of the analysis.
    fn reasoning(_: &Group<'_, '_, Self>) -> Vec<String> {
        Vec::new()
    }

    /// Tables for every rule of the analysis.
    fn tables(_: &Group<'_, '_, Self>) -> Vec<Table> {
        Vec::new()
    }
}

/// What the words of templates stand for.
pub(crate) type Words = Vec<(&'static str, String)>;

/// A condition on one operation.
pub(crate) type Applies<S> = for<'a> fn(&Input<'a>, &<S as Subject>::Of<'a>) -> bool;

/// One thing that Dormer can find.
pub(crate) struct Rule<S: Subject> {
    /// Its name in files: "tiny_batched".
    pub(crate) key: &'static str,
    /// What it calls an operation in the column of types, see [`class_of`]; empty for nothing.
    pub(crate) class: &'static str,
    /// When it applies, as a clause for the docs: "M or N is 1".
    pub(crate) when: &'static str,
    /// The same as a condition.
    pub(crate) applies: Applies<S>,
    /// What of a group must hold as well for the rule to take it; the rules below are asked about
    /// others.
    pub(crate) takes: for<'g, 'a> fn(&Group<'g, 'a, S>) -> bool,
    /// Whether a group is worth a finding; [`always`] where the candidates are chosen already.
    pub(crate) gate: for<'g, 'a> fn(&Group<'g, 'a, S>) -> bool,
    /// How what it took is divided into findings.
    pub(crate) by: By<S>,
    /// The cause, in a few words. Like the following ones a template.
    pub(crate) title: &'static str,
    /// One sentence with the operation, its time and its share.
    pub(crate) issue: &'static str,
    /// What to change in the model or in how it is run: one sentence without its subject.
    pub(crate) model: &'static str,
    /// What to ask of the kernel: one sentence.
    pub(crate) kernel: &'static str,
    /// What the data shows beyond what is said of every finding of the analysis. A note that its words
    /// leave empty is left out.
    pub(crate) notes: &'static [&'static str],
    /// What the other words of the templates stand for.
    pub(crate) words: for<'g, 'a> fn(&Group<'g, 'a, S>) -> Words,
    /// Tables that come before those of every finding of the analysis.
    pub(crate) tables: for<'g, 'a> fn(&Group<'g, 'a, S>) -> Vec<Table>,
    /// What following it saves.
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
        by: By::Rule,
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

    /// What the words of its templates stand for.
    pub(crate) fn words_of(&self, group: &Group<S>) -> Words {
        let mut words = group.words();
        words.extend(S::words(group));
        words.extend((self.words)(group));
        words
    }

    /// Kernels about as short as their launch, where they are many: what they take beyond their work at
    /// the roofline is saved at most, and the CPU launches in time. For the rest of a literal.
    pub(crate) const SMALL_KERNELS: Rule<S> = Rule {
        key: "many_small_kernels",
        gate: |group| are_many(group.input, &group.rows, n_calls(&group.rows)),
        saves: Saves::AtMost(|_, seen| beyond_roofline_ns(S::row(seen)?)),
        effect: Effect::FewerLaunches,
        has_reproducer: false,
        ..Rule::BASE
    };

    /// The finding about what the rule took.
    fn finding(&self, group: &Group<S>) -> Option<Finding> {
        if !(self.gate)(group) {
            return None;
        }
        let evidence = S::evidence(group, self)?;
        let mut words = self.words_of(group);
        let (with, reproducer, profiler) = match evidence.replay {
            Some(_) => (
                " with the reproducer",
                "reproducer",
                "a reproducer under a hardware profiler",
            ),
            None => ("", "kernel", "a hardware profiler"),
        };
        words.push(("with_reproducer", with.to_owned()));
        words.push(("reproducer", reproducer.to_owned()));
        words.push(("a_profiler", profiler.to_owned()));
        let say = |template: &str| {
            let text = fill(template, &words);
            match evidence.replay {
                Some(_) => text,
                None => without_reproducer(&text),
            }
        };
        let mut reasoning = S::reasoning(group);
        let at = reasoning.len().saturating_sub(1);
        reasoning.splice(at..at, self.notes.iter().map(|note| (*note).to_owned()));
        let reasoning = reasoning.iter().map(|sentence| say(sentence));
        let mut tables = (self.tables)(group);
        tables.extend(S::tables(group));
        Some(Finding {
            pattern: self.key,
            effect: self.effect,
            priority: (self.priority)(group, evidence.priority),
            confidence: evidence.confidence,
            title: say(self.title),
            issue: say(self.issue),
            model: say(self.model),
            kernel: say(self.kernel),
            reasoning: reasoning.filter(|sentence| !sentence.is_empty()).collect(),
            operations: evidence.operations,
            events: evidence.events,
            time_ns: evidence.time_ns,
            efficiency_percent: evidence.efficiency_percent,
            impact: evidence.impact,
            savings: evidence.savings,
            apart: evidence.apart,
            replay: evidence.replay,
            tables,
        })
    }
}

/// How what a rule took is divided into findings.
pub(crate) enum By<S: Subject> {
    /// One finding.
    Rule,
    /// One for each answer, in the order in which the answers come up.
    Key(for<'a> fn(&Input<'a>, &S::Of<'a>) -> String),
}

/// What following a rule saves.
pub(crate) enum Saves<S: Subject> {
    /// The gap to the roofline, closed to 75, 87.5 and 100 % of it; by rule of thumb where no model
    /// counts the work.
    Gap,
    /// The gap to what such kernels usually reach, from and to so many percent of the roofline.
    Usual(f64, f64),
    /// Measured time that would not be spent.
    Measured(for<'a> fn(&Input<'a>, &S::Of<'a>) -> i64),
    /// At most so much of each; `None` where it cannot be told.
    AtMost(for<'a> fn(&Input<'a>, &S::Of<'a>) -> Option<i64>),
    /// At most all of the time.
    All,
    /// A share of the time by rule of thumb.
    Heuristic,
    /// What is said of each.
    Each(for<'a> fn(&Input<'a>, &S::Of<'a>) -> Option<Impact>),
    /// What the [evidence](Subject::evidence) says; for what is no operation.
    Evidence,
    /// Nothing that a trace could tell.
    Nothing,
}

impl<S: Subject> Saves<S> {
    /// For the docs.
    pub(crate) fn label(&self) -> &'static str {
        match self {
            Saves::Gap => "the gap to 75–100 % of the roofline",
            Saves::Usual(..) => "the gap to the efficiency that such kernels usually reach",
            Saves::Measured(_) => "the measured time of kernels that would not run",
            Saves::AtMost(_) | Saves::Evidence => "up to the time that the cause takes",
            Saves::All => "up to all of its time",
            Saves::Heuristic => "15–45 % of its time, a rule of thumb",
            Saves::Each(_) => "what each operation can save",
            Saves::Nothing => "not quantifiable from a trace",
        }
    }

    /// Of a group together, and how much of the middle of it comes from which operation.
    fn of<'a>(&self, group: &Group<'_, 'a, S>) -> (Option<Impact>, Vec<(usize, i64)>) {
        let input = group.input;
        match self {
            Saves::Gap => impact(input, &group.rows),
            Saves::Evidence | Saves::Nothing => (None, Vec::new()),
            Saves::Usual(low, high) => group.impacts(|_, row| Impact::of_usual(row, (*low, *high))),
            Saves::Heuristic => group.impacts(|_, row| Some(Impact::heuristic(row.time_ns))),
            Saves::Each(impact) => group.impacts(|seen, _| impact(input, seen)),
            Saves::Measured(ns) => group.times(Impact::measured, |seen, _| Some(ns(input, seen))),
            Saves::AtMost(ns) => group.times(Impact::at_most, |seen, _| ns(input, seen)),
            Saves::All => group.times(Impact::at_most, |_, row| Some(row.time_ns)),
        }
    }
}

/// What a finding rests on.
#[derive(Debug, Clone)]
pub(crate) struct Evidence {
    pub(crate) priority: Priority,
    pub(crate) confidence: Option<Confidence>,
    pub(crate) operations: Vec<usize>,
    pub(crate) events: Vec<EventId>,
    pub(crate) time_ns: i64,
    pub(crate) efficiency_percent: Option<f64>,
    pub(crate) impact: Option<Impact>,
    pub(crate) savings: Vec<(usize, i64)>,
    pub(crate) apart: Vec<usize>,
    pub(crate) replay: Option<Replay>,
}

impl Evidence {
    /// Of a measured time; for the rest of a literal.
    pub(crate) fn new(priority: Priority, time_ns: i64) -> Evidence {
        Evidence {
            priority,
            confidence: None,
            operations: Vec::new(),
            events: Vec::new(),
            time_ns,
            efficiency_percent: None,
            impact: None,
            savings: Vec::new(),
            apart: Vec::new(),
            replay: None,
        }
    }

    /// Of a measured time in or beside operations, whatever their efficiency: it matters by its share
    /// of the computation.
    pub(crate) fn of_time(input: &Input, operations: Vec<usize>, time_ns: i64) -> Evidence {
        let share = percent_of_compute(input, time_ns);
        Evidence {
            operations,
            ..Evidence::new(priority_by(input, share, None, true), time_ns)
        }
    }

    /// Of operations: their figures together.
    pub(crate) fn of_operations<S: Subject>(group: &Group<S>, rule: &Rule<S>) -> Option<Evidence> {
        let (input, rows) = (group.input, &group.rows[..]);
        let first = rows.first()?;
        let (time_ns, efficiency_percent) = (group.time_ns(), efficiency(rows));
        // A finding matters as much as all its operations together.
        let share = percent_of_compute(input, time_ns);
        let priority = priority_by(input, share, efficiency_percent, rule.is_pattern);
        let (impact, savings) = rule.saves.of(group);
        let why = "its reproducer tells more than a trace can";
        let replay = || replay(input, first, Some(why));
        Some(Evidence {
            operations: rows.iter().map(|row| row.operation).collect(),
            efficiency_percent,
            impact,
            savings,
            replay: rule.has_reproducer.then(replay).flatten(),
            ..Evidence::new(priority, time_ns)
        })
    }
}

/// What one rule took, the longest first.
pub(crate) struct Group<'g, 'a, S: Subject> {
    /// The profile and what the user chose.
    pub(crate) input: &'g Input<'a>,
    /// What is known of each.
    pub(crate) seen: Vec<&'g S::Of<'a>>,
    /// The operations that they are.
    pub(crate) rows: Vec<&'g Row>,
}

impl<'g, 'a, S: Subject> Group<'g, 'a, S> {
    /// Of what was seen.
    pub(crate) fn new(input: &'g Input<'a>, seen: Vec<&'g S::Of<'a>>) -> Group<'g, 'a, S> {
        let rows = seen.iter().filter_map(|seen| S::row(seen)).collect();
        Group { input, seen, rows }
    }

    /// The longest.
    pub(crate) fn first(&self) -> &'g S::Of<'a> {
        self.seen.first().expect("no rule makes a group of nothing")
    }

    /// Kernel time.
    pub(crate) fn time_ns(&self) -> i64 {
        time_ns(&self.rows)
    }

    /// What each saves, and all of them together.
    fn impacts(
        &self,
        of: impl Fn(&S::Of<'a>, &Row) -> Option<Impact>,
    ) -> (Option<Impact>, Vec<(usize, i64)>) {
        let each = self.seen.iter().zip(&self.rows);
        sum_of(each.filter_map(|(seen, row)| Some((row.operation, of(seen, row)?))))
    }

    /// The same of what is saved of the time of each.
    fn times(
        &self,
        impact: fn(i64) -> Impact,
        of: impl Fn(&S::Of<'a>, &Row) -> Option<i64>,
    ) -> (Option<Impact>, Vec<(usize, i64)>) {
        let each = self.seen.iter().zip(&self.rows);
        let each = each.filter_map(|(seen, row)| Some((row.operation, of(seen, row)?)));
        let each: Vec<(usize, i64)> = each.collect();
        let all_ns = sum(each.iter().map(|(_, ns)| *ns));
        let savings = each.iter().map(|(at, ns)| (*at, impact(*ns).mid_ns));
        (
            (!each.is_empty()).then(|| impact(all_ns)),
            savings.collect(),
        )
    }

    /// The sum of a time of each.
    pub(crate) fn sum(&self, ns: impl Fn(&S::Of<'a>) -> i64) -> i64 {
        sum(self.seen.iter().map(|seen| ns(seen)))
    }

    /// Whether something holds for any of them.
    pub(crate) fn any(&self, is: impl Fn(&S::Of<'a>) -> bool) -> bool {
        self.seen.iter().any(|seen| is(seen))
    }

    /// Whether something holds for more than half of their time.
    pub(crate) fn is_mostly(&self, is: impl Fn(&S::Of<'a>) -> bool) -> bool {
        let of_it = self
            .seen
            .iter()
            .zip(&self.rows)
            .filter(|(seen, _)| is(seen));
        sum(of_it.map(|(_, row)| row.time_ns)) > self.time_ns() / 2
    }

    /// The words of every template.
    fn words(&self) -> Words {
        if self.rows.is_empty() {
            return Vec::new();
        }
        vec![
            ("subject", subject(self.input, &self.rows)),
            ("time", time_and_share(self.time_ns(), self.input)),
            ("at", at_efficiency(efficiency(&self.rows))),
            ("figures", subject_and_time(self.input, &self.rows)),
            ("calls", format::counted(n_calls(&self.rows), "call")),
        ]
    }
}

/// The findings about what was seen: each is taken by the first rule that applies to it.
pub(crate) fn find<'g, 'a, S: Subject>(
    input: &'g Input<'a>,
    rules: &[Rule<S>],
    mut left: Vec<&'g S::Of<'a>>,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    for rule in rules {
        let asked = left.iter().copied();
        let asked = asked.filter(|seen| (rule.applies)(input, seen));
        let groups = divide(input, &rule.by, asked.collect()).into_iter();
        for group in groups.map(|seen| Group::new(input, seen)) {
            if (rule.takes)(&group) {
                let taken = group.seen.iter().map(|seen| ptr::from_ref(*seen));
                let taken: BTreeSet<_> = taken.collect();
                left.retain(|seen| !taken.contains(&ptr::from_ref(*seen)));
                findings.extend(rule.finding(&group));
            }
        }
    }
    findings
}

/// The groups of what one rule took; none for nothing.
fn divide<'g, 'a, S: Subject>(
    input: &Input<'a>,
    by: &By<S>,
    taken: Vec<&'g S::Of<'a>>,
) -> Vec<Vec<&'g S::Of<'a>>> {
    match by {
        _ if taken.is_empty() => Vec::new(),
        By::Rule => vec![taken],
        By::Key(key) => {
            let mut groups: Vec<(String, Vec<&S::Of<'a>>)> = Vec::new();
            for seen in taken {
                let key = key(input, seen);
                match groups.iter_mut().find(|(known, _)| *known == key) {
                    Some((_, group)) => group.push(seen),
                    None => groups.push((key, vec![seen])),
                }
            }
            groups.into_iter().map(|(_, group)| group).collect()
        }
    }
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

/// A template with its words; a later word goes before an earlier one of its name.
pub(crate) fn fill(template: &str, words: &Words) -> String {
    let mut text = String::new();
    let mut left = template;
    while let Some((before, after)) = left.split_once('{') {
        text.push_str(before);
        let Some((name, rest)) = after.split_once('}') else {
            text.push('{');
            left = after;
            continue;
        };
        match words.iter().rev().find(|(word, _)| *word == name) {
            Some((_, value)) => text.push_str(value),
            None => text.push_str(&format!("{{{name}}}")),
        }
        left = rest;
    }
    text.push_str(left);
    text
}

/// A time as a share of the kernel time of all that computes, in percent.
pub(crate) fn percent_of_compute(input: &Input, time_ns: i64) -> Option<f64> {
    let all = input.computation_ns()?;
    Some(time_ns as f64 / all as f64 * 100.0)
}

/// What a rule says, for the docs: whatever it looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RuleDoc {
    /// Its name in files.
    pub key: &'static str,
    /// When it applies.
    pub when: &'static str,
    /// Its templates.
    pub title: &'static str,
    /// See [`Finding::issue`].
    pub issue: &'static str,
    /// See [`Finding::model`].
    pub model: &'static str,
    /// See [`Finding::kernel`].
    pub kernel: &'static str,
    /// What it is worth.
    pub saves: &'static str,
}

impl<S: Subject> Rule<S> {
    /// For the docs.
    pub(crate) fn doc(&self) -> RuleDoc {
        RuleDoc {
            key: self.key,
            when: self.when,
            title: self.title,
            issue: self.issue,
            model: self.model,
            kernel: self.kernel,
            saves: self.saves.label(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_fill_templates() {
        let words = vec![("time", "3 ms".to_owned()), ("at", String::new())];
        assert_eq!(fill("It takes {time}{at}.", &words), "It takes 3 ms.");
        // Braces of a trace's own names are no words.
        let words = vec![
            ("subject", "`f{time}`".to_owned()),
            ("time", "3 ms".to_owned()),
        ];
        assert_eq!(fill("{subject}: {time}", &words), "`f{time}`: 3 ms");
    }
}
