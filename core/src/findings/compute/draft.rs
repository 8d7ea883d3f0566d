//! How a finding is made of some rows: what they are worth, whether they go to kernel engineers, and
//! the words of it.

use super::{efficiency, priority};
use crate::base::format;
use crate::base::interval::sum;
use crate::base::value::Table;
use crate::findings::Input;
use crate::findings::finding::{Effect, Finding, Impact, Replay};
use crate::findings::outcome::Row;
use crate::profile::call::is_callable;

/// What some rows are worth together: by their gap to the roof, and by rule of thumb where a GPU
/// is known but not how much work they are. Anomalies are worth nothing.
pub fn impact(input: &Input, rows: &[&Row]) -> (Option<Impact>, Vec<(usize, i64)>) {
    let mut all: Option<Impact> = None;
    let mut savings = Vec::new();
    for row in rows {
        let impact = match impact_of_gap(row) {
            _ if row.is_anomaly => continue,
            Some(impact) => impact,
            None if input.gpu().is_some() => Impact::heuristic(row.time_ns),
            None => continue,
        };
        savings.push((row.operation, impact.mid_ns));
        all = Some(all.map_or(impact, |all| all.plus(impact)));
    }
    (all, savings)
}

/// What an operation saves by its gap to the roofline; `None` without a model.
pub fn impact_of_gap(row: &Row) -> Option<Impact> {
    let gap = Impact::of_efficiency(row.time_ns, row.efficiency_percent?);
    Some(gap.at_most_of(row.time_ns - least_ns(row)))
}

/// No kernel takes less than this to start and end, however little it does.
const LEAST_KERNEL_NS: i64 = 2_000;

/// What is left of the calls of a row at least.
pub fn least_ns(row: &Row) -> i64 {
    let n_calls = i64::try_from(row.n_calls).unwrap_or(i64::MAX);
    n_calls.saturating_mul(LEAST_KERNEL_NS).min(row.time_ns)
}

/// Whether the first of these rows should go to kernel engineers. It is recommended for what is
/// both large and slow, and offered for `reason`; neither where there is nothing to call.
pub fn replay(input: &Input, row: &Row, reason: Option<&str>) -> Option<Replay> {
    let operation = input.profile.operations().get(row.operation)?;
    if !is_callable(input.profile, operation) {
        return None;
    }
    let thresholds = &input.options.thresholds;
    let share = row.percent_of_compute?;
    let efficiency = row.efficiency_percent.filter(|_| !row.is_anomaly);
    let is_large = share > thresholds.replay_percent_of_compute;
    let is_slow = efficiency.is_some_and(|percent| percent < thresholds.replay_efficiency_percent);
    let figures = match efficiency {
        Some(efficiency) => format!(
            "{} of compute at {} of its roof",
            format::percent(share),
            format::percent(efficiency)
        ),
        None => format!("{} of compute", format::percent(share)),
    };
    match (is_large && is_slow, reason) {
        (true, _) => Some(Replay {
            is_recommended: true,
            reason: figures,
        }),
        (false, Some(reason)) => Some(Replay {
            is_recommended: false,
            reason: reason.to_owned(),
        }),
        (false, None) => None,
    }
}

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

/// Advice without what needs a reproducer.
pub fn without_reproducer(text: &str) -> String {
    const PHRASES: &[(&str, &str)] = &[
        (", with the reproducer", ""),
        (" with the reproducer", ""),
        ("have the reproducer looked at", "have the kernel looked at"),
        (
            "with a reproducer under a hardware profiler",
            "under a hardware profiler",
        ),
        (
            "a reproducer under a hardware profiler",
            "a hardware profiler",
        ),
    ];
    PHRASES
        .iter()
        .fold(text.to_owned(), |text, (phrase, instead)| {
            text.replace(phrase, instead)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_called_has_no_reproducer() {
        let cases = [
            (
                "tune tile sizes for these shapes with the reproducer, and check the choice.",
                "tune tile sizes for these shapes, and check the choice.",
            ),
            (
                "have it compared for these shapes, with the reproducer.",
                "have it compared for these shapes.",
            ),
            (
                "use more of the GPU: have the reproducer looked at.",
                "use more of the GPU: have the kernel looked at.",
            ),
            (
                "measure it with a reproducer under a hardware profiler.",
                "measure it under a hardware profiler.",
            ),
            (
                crate::findings::memory_bound::NOT_SHOWN,
                "A trace does not show why a kernel is slow: a hardware profiler does.",
            ),
        ];
        for (with, without) in cases {
            assert_eq!(without_reproducer(with), without);
        }
    }
}
