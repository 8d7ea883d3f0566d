//! Kernels of GPU graphs: a graph records no operators, so that their work is not known. One finding
//! for all of them, whatever they do: what helps is the same.

use super::compute::{self, Draft, finding};
use super::in_use::is_in_graph;
use super::memory_bound::{operations_table, short_name, time_ns};
use super::outcome::{Outcome, Row, Status};
use super::{AnalysisKind, Input};
use crate::base::format;
use crate::base::value::Value;
use crate::names::Family;
use crate::profile::Profile;
use crate::profile::operations::Operation;

/// Every operation that computes and that graphs launch.
pub(super) fn covers(profile: &Profile, operation: &Operation) -> bool {
    let is_computing = !matches!(operation.family, Family::MemoryCopy | Family::Communication);
    is_computing && is_in_graph(profile, operation)
}

pub(super) fn run(input: &Input, kind: &'static AnalysisKind) -> Result<Outcome, String> {
    // The rows themselves belong to the analyses of their kinds of work.
    let rows = compute::outcome(input, kind).rows;
    let unknown = rows.iter().filter(|row| row.efficiency_percent.is_none());
    let unknown: Vec<&Row> = unknown.collect();
    if rows.is_empty() {
        return Ok(Outcome::new(kind, Status::NoData));
    }
    let mut outcome = Outcome::new(kind, Status::Done);
    outcome.time_ns = time_ns(&rows.iter().collect::<Vec<&Row>>());
    outcome.fact(
        "graph_time",
        "Time of kernels in graphs",
        Value::Ns(outcome.time_ns),
    );
    outcome.fact(
        "graph_unknown",
        "Of unknown work",
        Value::Ns(time_ns(&unknown)),
    );
    outcome.findings.extend(unknown_work(input, &unknown));
    Ok(outcome)
}

/// What a step without graphs would tell saves nothing by itself, so nothing is promised.
fn unknown_work(input: &Input, rows: &[&Row]) -> Option<super::Finding> {
    let thresholds = &input.options.thresholds;
    let share: f64 = rows.iter().filter_map(|row| row.percent_of_compute).sum();
    if input.gpu().is_none() || share <= thresholds.medium_percent_of_compute {
        return None;
    }
    let operations = input.profile.operations();
    let operations = || rows.iter().filter_map(|row| operations.get(row.operation));
    let n_kernels = operations().map(|operation| operation.work().count() as u64);
    let n_kernels = n_kernels.fold(0, u64::saturating_add);
    let longest = operations().next()?;
    let longest = format!(
        "`{}` ({})",
        short_name(input, longest),
        format::time_ns(rows.first()?.time_ns)
    );
    let mut found = finding(
        input,
        rows,
        false,
        Draft {
            pattern: "unknown_in_graphs",
            title: "GPU graphs: how much work their kernels are, is not known".to_owned(),
            issue: format!(
                "{} of GPU graphs that compute {} {}, and a graph records no operators, whose shapes would tell how much work that is.",
                format::counted(n_kernels, "kernel"),
                if n_kernels == 1 { "takes" } else { "take" },
                compute::time_and_share(time_ns(rows), input)
            ),
            model: "record one step without graphs as well (eager execution, which serving engines have a switch for): the shapes of its operators tell how much work it is.".to_owned(),
            kernel: "measure the longest under a hardware profiler.".to_owned(),
            reasoning: vec![
                "The launch of a graph replays kernels that were captured before: names alone tell \
                 what they are. What stands above the launch takes the tensors of all of it."
                    .to_owned(),
                format!("The longest are those of {longest}."),
            ],
            tables: vec![operations_table(input, rows)],
        },
    )?;
    found.impact = None;
    found.savings = Vec::new();
    found.replay = None;
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::super::samples::{Calls, found, patterns, tensors};
    use super::*;

    /// A graph under a compiled function, whose arguments are those of the whole.
    #[test]
    fn kernels_of_graphs_are_one_finding_whatever_they_do() {
        let tokens = tensors(&[("[1, 2048]", "long int", "[2048, 1]")]);
        let calls = Calls::new()
            .with(|table| table.op("CompiledFunction", 0..10).args(&tokens))
            .graph("triton_poi_fused_mul_silu_2", 150, 3)
            .graph("my_gemm", 10, 100);
        let outcome = calls.outcome("graphs");
        assert_eq!(patterns(&outcome), ["unknown_in_graphs"]);
        let finding = found(&outcome, "unknown_in_graphs");
        assert_eq!(
            finding.issue,
            "160 kernels of GPU graphs that compute take 1.45 ms (100 % of compute), and a graph \
             records no operators, whose shapes would tell how much work that is."
        );
        assert_eq!(
            finding.reasoning[1],
            "The longest are those of `my_gemm` (1.00 ms)."
        );
        assert_eq!((finding.impact, &finding.replay), (None, &None));
        // The shape of a step's tokens is none of a kernel's.
        let shapes: Vec<String> = finding.tables[0]
            .rows
            .iter()
            .map(|row| row[2].text())
            .collect();
        assert!(
            shapes.iter().all(|shape| !shape.contains("2048")),
            "{shapes:?}"
        );
        for key in ["triton", "gemm"] {
            assert_eq!(patterns(&calls.outcome(key)), [""; 0], "{key}");
        }
        assert_eq!(patterns(&calls.outcome_without_gpu("graphs")), [""; 0]);
    }

    #[test]
    fn without_graphs_there_is_no_data() {
        let outcome = Calls::new()
            .call("aten::mm", "", "gemm", 10)
            .outcome("graphs");
        assert_eq!(outcome.status, Status::NoData);
    }
}
