//! Findings about operations of any kind that share a cause: kernels in GPU graphs, recomputation by checkpointing, and
//! calls that take far longer than others of the same operation. Their rows belong to the analyses of their kinds; the
//! remedy is the same for all.

use super::attention;
use crate::assess::waterfall::Cause;
use crate::findings::engine::compute::cause_of;
use crate::findings::engine::run_time;
use crate::findings::prelude::*;
use crate::profile::Profile;
use crate::profile::operations::Operation;

pub(super) fn runs_in_graphs(profile: &Profile, operation: &Operation) -> bool {
    operation.family.computes() && operation.is_in_graph(profile)
}

/// Every operation that recomputes something.
pub(super) fn is_recomputed(_: &Profile, operation: &Operation) -> bool {
    operation.key.is_recompute && operation.family.computes()
}

impl Subject for Row {
    type Of<'a> = Row;

    const ROW: RowOf<Self> = |row| Some(row);

    /// Their speed is left to other findings.
    fn evidence(group: &Group<Self>, rule: &Rule<Self>) -> Option<Evidence> {
        let found = Evidence::of_operations(group, rule)?;
        Some(Evidence {
            impact: found.impact,
            savings: found.savings,
            ..Evidence::of_time(group.input, found.operations, found.time_ns)
        })
    }

    fn reasoning(_: &Group<Self>) -> Vec<String> {
        Vec::new()
    }
}

pub(super) const GRAPH_DOCS: Docs = || rule::docs(GRAPHS);
pub(super) const RECOMPUTE_DOCS: Docs = || rule::docs(&[RECOMPUTED]);
pub(super) const CALLS_DOCS: Docs = || rule::docs(&[CALLS_DIFFER]);

const GRAPHS: &[Rule<Row>] = &[IN_GRAPHS, NOT_CAPTURED];

/// How to find out the shapes of kernels in graphs, by the engine that launched them.
fn capture_flags(input: &Input) -> (&'static str, String) {
    let serving = input.profile.serving();
    let flags = serving.and_then(|serving| serving.engine).map(|engine| {
        format!(
            "write the capture of the graphs as well ({}) and open it beside this trace (`--capture`): it confirms the shapes of every kernel. Or ",
            engine.capture_flags()
        )
    });
    ("capture", flags.unwrap_or_default())
}

fn is_large_in_graphs(group: &Group<Row>) -> bool {
    let thresholds = &group.input.options.thresholds;
    let shares = group.rows.iter().filter_map(|row| row.percent_of_compute);
    group.input.gpu().is_some() && shares.sum::<f64>() > thresholds.medium_percent_of_compute
}

fn kernels_in_graphs(group: &Group<Row>) -> Words {
    let (input, longest) = (group.input, group.first());
    let kernels = |row: &&Row| input.operation(row.operation).work().count() as u64;
    let n_kernels = group.rows.iter().map(kernels).sum();
    let name = short_name(input, input.operation(longest.operation));
    vec![
        ("kernels", format::counted(n_kernels, "kernel")),
        either("take", n_kernels == 1, "takes", "take"),
        ("longest", name),
        ("longest_time", format::time_ns(longest.time_ns)),
        capture_flags(input),
    ]
}

/// Inferred shapes are only as correct as the model they come from; a capture confirms them.
const NOT_CAPTURED: Rule<Row> = Rule {
    key: "shapes_without_capture",
    when: "a good part of compute is kernels of GPU graphs whose shapes are worked out, without a capture",
    gate: is_large_in_graphs,
    title: "GPU graphs: shapes inferred, not recorded",
    issue: "{kernels} of GPU graphs {take} {time}; their shapes are inferred from the model's dimensions, not recorded.",
    model: "{capture}record one step in eager mode (for example `--enforce-eager`): its operators confirm the shapes.",
    kernel: "nothing to gain in a kernel.",
    notes: &[
        "A graph launch replays kernels that were captured before, and records no shapes of them.",
    ],
    words: kernels_in_graphs,
    saves: Saves::Unknown,
    effect: Effect::FirstStep,
    has_reproducer: false,
    ..Rule::BASE
};

/// A graph records no operators, so no model counts the FLOPs of its kernels.
const IN_GRAPHS: Rule<Row> = Rule {
    key: "unknown_in_graphs",
    when: "a good part of compute is kernels of GPU graphs without a FLOP/byte model",
    applies: |_, row| row.efficiency_percent.is_none(),
    gate: is_large_in_graphs,
    title: "GPU graphs: no FLOP/byte model for their kernels",
    issue: "{kernels} of GPU graphs {take} {time}; a graph records no operators, whose shapes would tell FLOPs and bytes.",
    model: "{capture}also record one step in eager mode (for example `--enforce-eager`): FLOPs and bytes follow from the shapes of its operators.",
    kernel: "measure the longest under a hardware profiler.",
    notes: &[
        "A graph launch replays captured kernels: only their names tell what they do. The operator that launches the graph records the tensors of the whole graph.",
        "The longest are those of `{longest}` ({longest_time}).",
    ],
    words: kernels_in_graphs,
    // Recording a step without graphs saves nothing by itself.
    saves: Saves::Unknown,
    has_reproducer: false,
    ..Rule::BASE
};

const RECOMPUTED: Rule<Row> = Rule {
    key: "recomputation",
    when: "checkpointed modules compute their activations again in the backward pass",
    title: "Activation recomputation (checkpointing)",
    issue: "{calls} of checkpointed modules {run} again in the backward pass: {time}.",
    model: "checkpoint fewer blocks, as far as memory allows, or save the outputs of GEMMs and attention and recompute only cheap operations (selective activation checkpointing, `torch.utils.checkpoint.create_selective_checkpoint_contexts`).",
    kernel: "nothing extra to tune: the forward pass runs the same kernels.",
    notes: &[
        "These calls are in the second forward pass of a checkpoint.",
        "All of their time is the most it can save. A trace of times does not show how much memory the activations would take, and how much is free.",
    ],
    words: |group| vec![either("run", n_calls(&group.rows) == 1, "runs", "run")],
    saves: Saves::All,
    has_reproducer: false,
    ..Rule::BASE
};

/// What to do about activations that are computed again, in the model and in the kernel, and what limits the saving.
pub(crate) fn recomputation() -> [String; 3] {
    let Rule {
        model,
        kernel,
        notes,
        ..
    } = RECOMPUTED;
    [model.to_owned(), kernel.to_owned(), notes.join(" ")]
}

const CALLS_DIFFER: Rule<Row> = Rule {
    when: "calls take far longer than the median of the same operation, which nothing else is found of",
    issue: "{subject}: {time}{at}.",
    ..Rule::CALLS_DIFFER
};

/// What an analysis finds about calls that differ, for operations without any other finding.
pub(super) fn calls_that_differ(input: &Input, outcome: &Outcome) -> Vec<Finding> {
    let has_finding = |row: &Row| {
        let findings = outcome.findings.iter();
        findings
            .flat_map(|finding| &finding.operations)
            .any(|at| *at == row.operation)
    };
    let has_same_data = |row: &Row| {
        let operation = input.operation(row.operation);
        !attention::depends_on_context(input.profile, operation)
    };
    let differ = |row: &&Row| {
        cause_of(input, row, None) == Some(Cause::Spread) && !has_finding(row) && has_same_data(row)
    };
    let rows = outcome.rows.iter().filter(differ).collect();
    rule::find(input, &[CALLS_DIFFER], rows)
}

pub(super) fn run_graphs(input: &Input, rows: &[Row], outcome: &mut Outcome) {
    run(input, rows, outcome, GRAPHS, |rows| {
        let mut unknown = rows.to_vec();
        unknown.retain(|row| row.efficiency_percent.is_none());
        let (time, unknown) = (Value::Ns(time_ns(rows)), Value::Ns(time_ns(&unknown)));
        [
            ("graph_time", "Time of kernels in graphs", time),
            ("graph_unknown", "Without a FLOP/byte model", unknown),
        ]
    });
}

pub(super) fn run_recompute(input: &Input, rows: &[Row], outcome: &mut Outcome) {
    run(input, rows, outcome, &[RECOMPUTED], |rows| {
        let (count, time) = (Value::Count(n_calls(rows)), Value::Ns(time_ns(rows)));
        [
            ("recompute_count", "Recomputed calls", count),
            ("recompute", "Time of recomputation", time),
        ]
    });
}

/// What one rule finds about the operations that an analysis covers, whose rows belong to other analyses.
pub(super) fn run(
    input: &Input,
    rows: &[Row],
    outcome: &mut Outcome,
    rules: &[Rule<Row>],
    facts: impl Fn(&[&Row]) -> [(&'static str, &'static str, Value); 2],
) {
    let rows: Vec<&Row> = rows.iter().collect();
    *outcome = Outcome {
        time_ns: outcome.time_ns,
        ..Outcome::new(outcome.kind, Status::Done)
    };
    outcome.facts(facts(&rows));
    outcome.findings = rule::find(input, rules, rows);
    for finding in &mut outcome.findings {
        run_time::to_run_time(input, finding);
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples::{Calls, assert_contains_none, found, only, patterns};
    use super::*;
    use crate::findings::engine::finding::{Impact, Priority};

    /// A graph launched by a compiled function, whose arguments are those of the whole function.
    #[test]
    fn kernels_of_graphs_are_one_finding_whatever_they_do() {
        let calls = Calls::new()
            .with(|table| {
                table
                    .op("CompiledFunction", 0..10)
                    .args("1x2048@2048x1:long int")
            })
            .graph("triton_poi_fused_mul_silu_2", 150, 3)
            .graph("my_gemm", 10, 100);
        let outcome = calls.outcome("graphs");
        let finding = only(&outcome, "unknown_in_graphs");
        let said = "160 kernels of GPU graphs take 1.45 ms";
        assert!(finding.issue.starts_with(said));
        assert!(finding.reasoning[1].contains("`my_gemm` (1.00 ms)"));
        assert_eq!((finding.impact, &finding.replay), (None, &None));
        // The shape of a step's tokens is not the shape of any kernel.
        for row in &finding.tables[0].rows {
            assert_contains_none(&row[2].text(), &["2048"]);
        }
        for key in ["triton", "gemm"] {
            assert_eq!(patterns(&calls.outcome(key)), [""; 0], "{key}");
        }
        assert_eq!(patterns(&calls.outcome_without_gpu("graphs")), [""; 0]);
    }

    /// A checkpointed GEMM runs twice, 300 µs each, next to 1 000 µs of others.
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
        // Why they are slow does not matter if they do not run.
        assert_eq!(finding.causes, "");
        assert_eq!(finding.priority, Priority::High);
        assert!(finding.issue.contains("300 µs (18.8 % of compute)"));
        assert_eq!(outcome.get("recompute_count"), Some(&Value::Count(1)));
    }

    /// Fifteen multiplications of 100 µs at 60 % of roofline, and one that takes 400 µs more.
    #[test]
    fn one_slow_call_is_found_whatever_it_computes() {
        let add = |calls: Calls, us| calls.call("aten::mul", "8192x8192*2", "mul", us);
        let calls = (0..8).fold(Calls::new(), |calls, _| add(calls, 100));
        let calls = (0..7).fold(add(calls, 500), |calls, _| add(calls, 100));
        let outcome = calls.outcome("elementwise");
        let finding = only(&outcome, "calls_differ");
        assert_eq!(finding.impact, Some(Impact::measured(400_000)));
        assert!(
            finding.issue_with_causes().contains("spread"),
            "{}",
            finding.issue_with_causes()
        );
    }

    /// The calls of paged attention do not show how long the contexts are.
    #[test]
    fn calls_of_paged_attention_may_differ() {
        let name = "vllm::unified_attention_with_output";
        let add = |calls: Calls, us| calls.call(name, "256x16x128", "flash_fwd", us);
        let calls = (0..16_u32).fold(Calls::new(), |calls, at| add(calls, 100 + 100 * at));
        let outcome = calls.outcome("sdpa_fwd");
        assert_eq!(outcome.rows.len(), 1);
        let keys = outcome.findings.iter().map(|found| found.pattern);
        assert!(
            keys.collect::<Vec<_>>()
                .iter()
                .all(|key| *key != "calls_differ")
        );
    }

    #[test]
    fn without_graphs_and_checkpoints_there_is_no_data() {
        let calls = Calls::new().call("aten::mm", "", "gemm", 10);
        for key in ["graphs", "recompute"] {
            assert_eq!(calls.outcome(key).status, Status::NoData, "{key}");
        }
    }
}
