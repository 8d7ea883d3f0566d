//! Activations that checkpointing computes a second time, in the backward pass: memory saved is paid
//! with this time.

use super::compute;
use super::compute::{n_calls, operations_table};
use super::outcome::{Outcome, Row, Status};
use super::rule::{self, Evidence, Group, Rule, RuleDoc, Saves, Subject, Words};
use super::{AnalysisKind, Input, run_time};
use crate::base::interval::sum;
use crate::base::value::{Table, Value};
use crate::profile::Profile;
use crate::profile::operations::Operation;

/// Every operation that computes what was computed before.
pub(super) fn covers(_: &Profile, operation: &Operation) -> bool {
    operation.key.is_recompute && operation.family.computes()
}

/// Recomputed operations, as the rule looks at them.
struct Recomputed;

impl Subject for Recomputed {
    type Of<'a> = Row;

    fn row(row: &Row) -> Option<&Row> {
        Some(row)
    }

    /// How fast it runs is for others to say.
    fn evidence(group: &Group<Recomputed>, rule: &Rule<Recomputed>) -> Option<Evidence> {
        let found = Evidence::of_operations(group, rule)?;
        Some(Evidence {
            impact: found.impact,
            savings: found.savings,
            ..Evidence::of_time(group.input, found.operations, found.time_ns)
        })
    }

    fn words(group: &Group<Recomputed>) -> Words {
        let runs = if n_calls(&group.rows) == 1 {
            "runs"
        } else {
            "run"
        };
        vec![("run", runs.to_owned())]
    }

    fn tables(group: &Group<Recomputed>) -> Vec<Table> {
        vec![operations_table(group.input, &group.rows)]
    }
}

/// What can be found.
pub(super) fn docs() -> Vec<RuleDoc> {
    RULES.iter().map(Rule::doc).collect()
}

const RULES: &[Rule<Recomputed>] = &[Rule {
    key: "recomputation",
    when: "checkpointed modules compute their activations again in the backward pass",
    title: "Activations are computed a second time",
    issue: "{calls} of checkpointed modules {run} again in the backward pass: {time}.",
    model: "checkpoint fewer blocks, as far as memory allows, or keep the results of GEMMs and attention and compute only what is cheap a second time (selective checkpointing).",
    kernel: "nothing to tune that the forward pass does not have as well.",
    notes: &[
        "These calls are in the second forward pass of a checkpoint.",
        "All of their time is the most it can save. A trace of times does not show how much memory the activations would take, and how much is free.",
    ],
    saves: Saves::All,
    has_reproducer: false,
    ..Rule::BASE
}];

pub(super) fn run(input: &Input, kind: &'static AnalysisKind) -> Result<Outcome, String> {
    // The rows themselves belong to the analyses of their kinds of work.
    let rows = compute::outcome(input, kind).rows;
    if rows.is_empty() {
        return Ok(Outcome::new(kind, Status::NoData));
    }
    let all: Vec<&Row> = rows.iter().collect();
    let mut outcome = Outcome::new(kind, Status::Done);
    outcome.time_ns = sum(rows.iter().map(|row| row.time_ns));
    let count = Value::Count(n_calls(&all));
    outcome.fact("recompute_count", "Recomputed calls", count);
    let time = Value::Ns(outcome.time_ns);
    outcome.fact("recompute", "Time of recomputation", time);
    outcome.findings = rule::find(input, RULES, all);
    for finding in &mut outcome.findings {
        run_time::turn(input, finding);
    }
    Ok(outcome)
}

#[cfg(test)]
mod tests {
    use super::super::finding::{Impact, Priority};
    use super::super::samples::{Calls, found};
    use super::*;

    /// A checkpointed GEMM runs twice, 300 µs each, among 1 000 µs of others.
    #[test]
    fn what_runs_again_could_at_most_be_spared() {
        let calls = Calls::new()
            .call("aten::mm", "", "gemm", 1000)
            .call("aten::mul", "", "mul", 300)
            .with(|table| table.frame("torch/utils/checkpoint.py(1400): recompute_fn", 24.0..100.0))
            .call("aten::mul", "", "mul", 300);
        let outcome = calls.outcome("recompute");
        let finding = found(&outcome, "recomputation");
        assert_eq!(finding.time_ns, 300_000);
        assert_eq!(finding.impact, Some(Impact::at_most(300_000)));
        assert_eq!(finding.replay, None);
        assert_eq!(finding.priority, Priority::High);
        assert!(finding.issue.contains("300 µs (18.8 % of compute)"));
        assert_eq!(outcome.get("recompute_count"), Some(&Value::Count(1)));
    }

    #[test]
    fn without_checkpoints_there_is_no_data() {
        let outcome = Calls::new()
            .call("aten::mm", "", "gemm", 10)
            .outcome("recompute");
        assert_eq!(outcome.status, Status::NoData);
    }
}
