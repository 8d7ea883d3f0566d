//! Findings of analyses that are no tables of rules yet.

use super::{
    are_many, beyond_roofline_ns, efficiency, impact, n_calls, priority, replay, without_reproducer,
};
use crate::base::interval::sum;
use crate::base::value::Table;
use crate::findings::Input;
use crate::findings::finding::{Effect, Finding, Impact};
use crate::findings::outcome::Row;

/// The words of a finding.
#[derive(Debug, Clone, Default)]
pub struct Draft {
    /// See [`Finding`].
    pub pattern: &'static str,
    /// See [`Finding`].
    pub title: String,
    /// See [`Finding`].
    pub issue: String,
    /// See [`Finding`].
    pub model: String,
    /// See [`Finding`].
    pub kernel: String,
    /// See [`Finding`].
    pub reasoning: Vec<String>,
    /// See [`Finding`].
    pub tables: Vec<Table>,
}

impl Draft {
    /// The same where there is nothing to call, and so no reproducer.
    fn without_reproducer(mut self) -> Draft {
        self.kernel = without_reproducer(&self.kernel);
        for sentence in &mut self.reasoning {
            *sentence = without_reproducer(sentence);
        }
        self
    }
}

/// A finding about some rows: its figures are theirs. `None` for no rows.
pub fn finding(input: &Input, rows: &[&Row], has_pattern: bool, draft: Draft) -> Option<Finding> {
    let first = rows.first()?;
    let (impact, savings) = impact(input, rows);
    // A finding matters as much as all its rows together.
    let together = Row {
        percent_of_compute: input
            .computation_ns()
            .map(|all| sum(rows.iter().map(|row| row.time_ns)) as f64 / all as f64 * 100.0),
        efficiency_percent: efficiency(rows),
        ..(*first).clone()
    };
    let replay = replay(
        input,
        first,
        Some("its reproducer tells more than a trace can"),
    );
    let draft = match replay {
        Some(_) => draft,
        None => draft.without_reproducer(),
    };
    Some(Finding {
        pattern: draft.pattern,
        priority: priority(input, &together, has_pattern),
        confidence: None,
        title: draft.title,
        issue: draft.issue,
        model: draft.model,
        kernel: draft.kernel,
        reasoning: draft.reasoning,
        operations: rows.iter().map(|row| row.operation).collect(),
        events: Vec::new(),
        time_ns: sum(rows.iter().map(|row| row.time_ns)),
        efficiency_percent: efficiency(rows),
        impact,
        savings,
        effect: Effect::of_pattern(draft.pattern),
        apart: Vec::new(),
        replay,
        tables: draft.tables,
    })
}

/// A finding about kernels that are about as short as launching them, when there are many. What
/// they would take inside a larger kernel is the time of their work at the roofline, so at most the
/// rest is saved; `None` for few, and for those whose work is not known nothing is promised.
pub fn small_kernels(input: &Input, rows: &[&Row], draft: Draft) -> Option<Finding> {
    if !are_many(input, rows, n_calls(rows)) {
        return None;
    }
    let mut found = finding(input, rows, true, draft)?;
    let each = rows.iter();
    let each = each.filter_map(|row| Some((row.operation, beyond_roofline_ns(row)?)));
    let each: Vec<(usize, i64)> = each.collect();
    let all_ns = sum(each.iter().map(|(_, ns)| *ns));
    found.impact = (all_ns > 0).then(|| Impact::at_most(all_ns));
    let savings = each.into_iter();
    found.savings = savings
        .map(|(operation, ns)| (operation, Impact::at_most(ns).mid_ns))
        .collect();
    found.replay = None;
    Some(found)
}
