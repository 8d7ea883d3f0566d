//! Kernels of GPU graphs: a graph records no operators, so that no model counts their FLOPs. One
//! finding for all of them, whatever they do: what helps is the same.

use super::compute;
use super::compute::{operations_table, short_name, time_ns};
use super::in_use::is_in_graph;
use super::outcome::{Outcome, Row, Status};
use super::rule::{self, Group, Rule, RuleDoc, Saves, Subject, Words};
use super::{AnalysisKind, Input};
use crate::base::format;
use crate::base::value::{Table, Value};
use crate::profile::Profile;
use crate::profile::operations::Operation;

/// Every operation that computes and that graphs launch.
pub(super) fn covers(profile: &Profile, operation: &Operation) -> bool {
    operation.family.computes() && is_in_graph(profile, operation)
}

/// Kernels of graphs, as the rule looks at them.
struct InGraphs;

impl Subject for InGraphs {
    type Of<'a> = Row;

    fn row(row: &Row) -> Option<&Row> {
        Some(row)
    }

    fn words(group: &Group<InGraphs>) -> Words {
        let input = group.input;
        let n_kernels = group.rows.iter();
        let n_kernels = n_kernels.map(|row| input.operation(row.operation).work().count() as u64);
        let n_kernels = n_kernels.fold(0, u64::saturating_add);
        let longest = group.first();
        let name = short_name(input, input.operation(longest.operation));
        let takes = if n_kernels == 1 { "takes" } else { "take" };
        vec![
            ("kernels", format::counted(n_kernels, "kernel")),
            ("take", takes.to_owned()),
            ("longest", name),
            ("longest_time", format::time_ns(longest.time_ns)),
        ]
    }

    fn tables(group: &Group<InGraphs>) -> Vec<Table> {
        vec![operations_table(group.input, &group.rows)]
    }
}

/// What can be found.
pub(super) fn docs() -> Vec<RuleDoc> {
    RULES.iter().map(Rule::doc).collect()
}

const RULES: &[Rule<InGraphs>] = &[Rule {
    key: "unknown_in_graphs",
    when: "a good part of compute is kernels of GPU graphs without a FLOP/byte model",
    applies: |_, row| row.efficiency_percent.is_none(),
    gate: |group| {
        let thresholds = &group.input.options.thresholds;
        let share: f64 = group
            .rows
            .iter()
            .filter_map(|row| row.percent_of_compute)
            .sum();
        group.input.gpu().is_some() && share > thresholds.medium_percent_of_compute
    },
    title: "GPU graphs: no FLOP/byte model for their kernels",
    issue: "{kernels} of GPU graphs {take} {time}; a graph records no operators, whose shapes would tell FLOPs and bytes.",
    model: "record one step without graphs as well (eager execution, which serving engines have a switch for): the shapes of its operators tell FLOPs and bytes.",
    kernel: "measure the longest under a hardware profiler.",
    notes: &[
        "A graph launch replays kernels that were captured before: names alone tell what they do. The operator that calls it takes the tensors of all of it.",
        "The longest are those of `{longest}` ({longest_time}).",
    ],
    // What a step without graphs would tell saves nothing by itself.
    saves: Saves::Nothing,
    is_pattern: false,
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
    let unknown = all.iter().filter(|row| row.efficiency_percent.is_none());
    let unknown_ns = time_ns(&unknown.copied().collect::<Vec<&Row>>());
    let mut outcome = Outcome::new(kind, Status::Done);
    outcome.time_ns = time_ns(&all);
    let time = Value::Ns(outcome.time_ns);
    outcome.fact("graph_time", "Time of kernels in graphs", time);
    let time = Value::Ns(unknown_ns);
    outcome.fact("graph_unknown", "Without a FLOP/byte model", time);
    outcome.findings = rule::find(input, RULES, all);
    Ok(outcome)
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
        assert!(
            finding
                .issue
                .starts_with("160 kernels of GPU graphs take 1.45 ms")
        );
        assert!(finding.reasoning[1].contains("`my_gemm` (1.00 ms)"));
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
