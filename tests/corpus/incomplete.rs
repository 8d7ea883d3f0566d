//! Valid text that lacks something, or contains impossible events: the profile reports it.

use dormer_core::import::warning::WarningKind::{self, *};
use dormer_core::profile::Profile;
use dormer_core::testing::Timetable;

/// Compares the warnings of import and profile for a trace.
#[track_caller]
fn check(timetable: Timetable, warnings: &[(WarningKind, u64)]) -> Profile {
    let profile = timetable.profile();
    let all = profile.warnings.iter();
    let mut found: Vec<_> = all.map(|warning| (warning.kind, warning.count)).collect();
    found.sort();
    let mut expected = warnings.to_vec();
    expected.sort();
    assert_eq!(found, expected);
    profile
}

fn op() -> Timetable {
    Timetable::new().op("aten::mm", 0..50)
}

fn launched(timetable: Timetable) -> Timetable {
    timetable.launched("gemm", 10..19, 30..70)
}

#[test]
fn a_complete_trace_has_nothing_to_say() {
    check(launched(op()), &[]);
}

#[test]
fn without_arrows_correlation_links() {
    let profile = check(launched(op().without_flows()), &[(LinkedByCorrelation, 1)]);
    assert_eq!(profile.launches.n_unlinked(), 0);
}

#[test]
fn a_kernel_without_a_launch() {
    let alone = |timetable: Timetable| timetable.without_flows().kernel(8, "gemm", 30..70);
    check(alone(launched(op())), &[(UnlinkedGpuWork, 1)]);
    check(alone(op()), &[(NothingLinked, 1)]);
}

#[test]
fn one_side_alone() {
    check(op(), &[(NoGpuEvents, 1)]);
    check(launched(Timetable::new()), &[(NoHostEvents, 1)]);
    let metadata = r#"{"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "python"}}"#;
    check(Timetable::new().raw(metadata), &[(NothingRecorded, 1)]);
    // The dropped event may have been GPU activity.
    let lost = r#"{"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "dur": 40, "args": {"stream": 7}}"#;
    check(op().raw(lost), &[(MissingTime, 1), (GpuEventsLost, 1)]);
}

#[test]
fn a_call_that_ends_after_its_caller() {
    // It starts in a call that ends at 50 µs and ends after it. A microsecond is within the inaccuracy of clocks: then
    // it counts as the next call. Beyond that, it has no place in the tree.
    let late = |start: f64| {
        let outer = Timetable::new().op("aten::linear", 0..90);
        let inner = outer.op("aten::mm", 0..50).op("late", start..start + 20.0);
        launched(inner)
    };
    check(late(49.5), &[]);
    check(late(45.0), &[(WrongNesting, 1)]);
}
