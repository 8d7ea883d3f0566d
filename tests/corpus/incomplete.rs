//! Good text that lacks something, or holds what cannot have happened: the profile says so.

use dormer_core::import::import;
use dormer_core::import::warning::WarningKind::{self, *};
use dormer_core::profile::Profile;

use crate::support::text::{op, trace};

/// Compares what import and profile say about a trace of these events.
#[track_caller]
fn check(events: &[&str], warnings: &[(WarningKind, u64)]) -> Profile {
    let text = trace(&events.join(","));
    let profile = Profile::new(import(text.as_bytes()).unwrap());
    let mut found: Vec<_> = profile
        .warnings
        .iter()
        .map(|warning| (warning.kind, warning.count))
        .collect();
    found.sort();
    let mut expected = warnings.to_vec();
    expected.sort();
    assert_eq!(found, expected);
    profile
}

const OP: &str =
    r#"{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 0, "dur": 50}"#;
const LAUNCH: &str = r#"{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 10, "dur": 9, "args": {"correlation": 7}}"#;
const KERNEL: &str = r#"{"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 30, "dur": 40, "args": {"correlation": 7, "stream": 7}}"#;
const ARROW: [&str; 2] = [
    r#"{"ph": "s", "cat": "ac2g", "name": "ac2g", "id": 7, "pid": 1, "tid": 1, "ts": 10}"#,
    r#"{"ph": "f", "cat": "ac2g", "name": "ac2g", "id": 7, "pid": 0, "tid": 7, "ts": 30, "bp": "e"}"#,
];

#[test]
fn a_complete_trace_has_nothing_to_say() {
    check(&[OP, LAUNCH, KERNEL, ARROW[0], ARROW[1]], &[]);
}

#[test]
fn without_arrows_correlation_links() {
    let profile = check(&[OP, LAUNCH, KERNEL], &[(LinkedByCorrelation, 1)]);
    assert_eq!(profile.launches.n_unlinked(), 0);
}

#[test]
fn a_kernel_without_a_launch() {
    let alone = KERNEL.replace(": 7", ": 8");
    check(
        &[OP, LAUNCH, KERNEL, ARROW[0], ARROW[1], &alone],
        &[(UnlinkedGpuWork, 1)],
    );
    check(&[OP, &alone], &[(NothingLinked, 1)]);
}

#[test]
fn one_side_alone() {
    check(&[OP], &[(NoGpuEvents, 1)]);
    check(&[LAUNCH, KERNEL, ARROW[0], ARROW[1]], &[(NoHostEvents, 1)]);
    let metadata = r#"{"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "python"}}"#;
    check(&[metadata], &[(NothingRecorded, 1)]);
    // GPU work may be what was left out.
    let lost = KERNEL.replace(r#""ts": 30, "#, "");
    check(&[OP, &lost], &[(MissingTime, 1), (GpuEventsLost, 1)]);
}

#[test]
fn a_call_that_ends_after_its_caller() {
    // It begins in a call that ends at 50 µs and ends after it. A microsecond is within what
    // clocks get wrong: then it is taken for the next call. More has no place in the tree.
    let outer = OP.replace("50", "90");
    let late = |start: &str| {
        op("late").replace(
            r#""ts": 10, "dur": 5"#,
            &format!(r#""ts": {start}, "dur": 20"#),
        )
    };
    let gpu = [LAUNCH, KERNEL, ARROW[0], ARROW[1]].join(",");
    check(&[&outer, OP, &late("49.5"), &gpu], &[]);
    check(&[&outer, OP, &late("45"), &gpu], &[(WrongNesting, 1)]);
}
