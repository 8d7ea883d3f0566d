//! Activations that checkpointing computes a second time, in the backward pass: memory saved is paid
//! with this time.

use super::compute::{self, Draft, finding};
use super::finding::Impact;
use super::memory_bound::{n_calls, operations_table, time_ns};
use super::outcome::{Outcome, Row, Status};
use super::{AnalysisKind, Input, run_time};
use crate::base::format;
use crate::base::value::Value;
use crate::names::Family;
use crate::profile::Profile;
use crate::profile::operations::Operation;

/// Every operation that computes what was computed before.
pub(super) fn covers(_: &Profile, operation: &Operation) -> bool {
    let is_computing = !matches!(operation.family, Family::MemoryCopy | Family::Communication);
    operation.key.is_recompute && is_computing
}

pub(super) fn run(input: &Input, kind: &'static AnalysisKind) -> Result<Outcome, String> {
    // The rows themselves belong to the analyses of their kinds of work.
    let rows = compute::outcome(input, kind).rows;
    let rows: Vec<&Row> = rows.iter().collect();
    if rows.is_empty() {
        return Ok(Outcome::new(kind, Status::NoData));
    }
    let mut outcome = Outcome::new(kind, Status::Done);
    outcome.time_ns = time_ns(&rows);
    outcome.fact(
        "recompute_count",
        "Calls that run again",
        Value::Count(n_calls(&rows)),
    );
    outcome.fact(
        "recompute",
        "Time of what runs again",
        Value::Ns(outcome.time_ns),
    );
    let found = finding(
        input,
        &rows,
        true,
        Draft {
            pattern: "recomputation",
            title: "Activations are computed a second time".to_owned(),
            issue: format!(
                "{} of checkpointed modules {} again in the backward pass: {}.",
                format::counted(n_calls(&rows), "call"),
                if n_calls(&rows) == 1 { "runs" } else { "run" },
                compute::time_and_share(outcome.time_ns, input)
            ),
            model: "checkpoint fewer blocks, as far as memory allows, or keep the results of products and attention and compute only what is cheap a second time (selective checkpointing).".to_owned(),
            kernel: "nothing to tune that the forward pass does not have as well.".to_owned(),
            reasoning: vec![
                "The second forward pass of a checkpoint stands above these calls.".to_owned(),
                "What is won at most is all of their time. How much memory the activations would \
                 take, and how much is free, a trace of times does not show."
                    .to_owned(),
            ],
            tables: vec![operations_table(input, &rows)],
        },
    );
    if let Some(mut found) = found {
        found.impact = Some(Impact::at_most(found.time_ns));
        found.savings = rows
            .iter()
            .map(|row| (row.operation, Impact::at_most(row.time_ns).mid_ns))
            .collect();
        // How fast it runs is for others to say.
        found.efficiency_percent = None;
        let share = rows.iter().filter_map(|row| row.percent_of_compute).sum();
        let together = rows.first().map(|row| Row {
            percent_of_compute: Some(share),
            efficiency_percent: None,
            ..(*row).clone()
        });
        let priority = together.map(|row| compute::priority(input, &row, true));
        found.priority = priority.unwrap_or(found.priority);
        found.replay = None;
        run_time::turn(input, &mut found);
        outcome.findings.push(found);
    }
    Ok(outcome)
}

#[cfg(test)]
mod tests {
    use super::super::finding::Priority;
    use super::super::samples::{Calls, found};
    use super::*;

    /// A checkpointed product runs twice, 300 µs each, among 1 000 µs of others.
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
        assert_eq!(
            finding.issue,
            "1 call of checkpointed modules runs again in the backward pass: 300 µs \
             (18.8 % of compute)."
        );
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
