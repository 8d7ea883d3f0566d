//! Analysis of kernels whose launch is unknown.

use crate::findings::engine::compute::short_name;
use crate::findings::prelude::*;
use crate::profile::gpu::unattributed::{Reason, Unattributed};

pub(super) const DOCS: Docs = || rule::docs(&[UNATTRIBUTED]);

pub(super) fn run(input: &Input, rows: &[Row], outcome: &mut Outcome) {
    let unattributed = Unattributed::of(input.profile);
    let all: Vec<&Row> = rows.iter().collect();
    outcome.facts([
        (
            "unattributed_count",
            "Unattributed kernels, copies and fills",
            Value::Count(unattributed.all.count),
        ),
        (
            "unattributed",
            "Sum of their durations",
            Value::Ns(unattributed.all.ns),
        ),
        (
            "unattributed_alone",
            "Time in which nothing else runs",
            Value::Ns(unattributed.alone_ns),
        ),
    ]);
    for (reason, tally) in unattributed.by_reason(input.profile) {
        outcome.fact(reason.key(), reason.label(), Value::Ns(tally.ns));
    }
    outcome
        .findings
        .extend(rule::find(input, &[UNATTRIBUTED], all));
}

/// This section of the report is about missing calls; what they would save is unknown.
const UNATTRIBUTED: Rule<Row> = Rule {
    key: "unattributed",
    when: "a good part of compute is kernels whose launching calls are unknown",
    gate: |group| {
        let thresholds = &group.input.options.thresholds;
        let shares = group.rows.iter().filter_map(|row| row.percent_of_compute);
        shares.sum::<f64>() > thresholds.medium_percent_of_compute
    },
    title: "Kernels whose launching calls are unknown",
    issue: "{kernels} {take} {time} and {are} in no operator: {why}.",
    model: "{how}.",
    kernel: "nothing to tune before their operators are known.",
    notes: &["The longest are those of `{longest}` ({longest_time})."],
    words: |group| {
        let (input, longest) = (group.input, group.first());
        let unattributed = Unattributed::of(input.profile);
        let kernels = |row: &&Row| input.operation(row.operation).work().count() as u64;
        let n_kernels = group.rows.iter().map(kernels).sum();
        let main = unattributed.by_reason(input.profile);
        let (why, how) = main.first().map_or(("", ""), |(reason, _)| advice(*reason));
        vec![
            ("kernels", format::counted(n_kernels, "kernel")),
            either("take", n_kernels == 1, "takes", "take"),
            either("are", n_kernels == 1, "is", "are"),
            ("why", why.to_owned()),
            ("how", how.to_owned()),
            (
                "longest",
                short_name(input, input.operation(longest.operation)),
            ),
            ("longest_time", format::time_ns(longest.time_ns)),
        ]
    },
    saves: Saves::Unknown,
    effect: Effect::FirstStep,
    has_reproducer: false,
    ..Rule::BASE
};

/// The reason, and how to record a trace that has the calls.
fn advice(reason: Reason) -> (&'static str, &'static str) {
    match reason {
        Reason::BeforeRecording => (
            "most were launched before the recording",
            "start to record while the GPU is idle: after `torch.cuda.synchronize()`, or with a warmup step in the schedule of the profiler",
        ),
        Reason::Graph => (
            "most belong to GPU graphs whose launches were not recorded",
            "record with CPU activity, too, from before the graphs are replayed",
        ),
        Reason::Ambiguous => (
            "several calls carry the correlation ids of most",
            "record each process to a file of its own",
        ),
        Reason::SharedId => (
            "most carry the correlation id of other activity, which has the call",
            "record again: repeated correlation ids come from a damaged trace, or from merged files",
        ),
        Reason::NotRecorded => (
            "the calls that launched most were not recorded",
            "record with CPU activity, too, and with buffers large enough that no events are dropped",
        ),
    }
}
