//! Valid JSON with values that a trace cannot have.

use dormer_core::import::Imported;
use dormer_core::import::warning::WarningKind::{self, *};
use dormer_core::trace::EventId;

use super::{check, check_events};
use crate::support::text::{event, trace};

const FIRST: EventId = EventId(0);

/// Checks an event named "a" with these fields besides its phase and category, before one named "b". All warnings refer
/// to it; without a start it is dropped.
#[track_caller]
fn check_with(fields: &str, warnings: &[(WarningKind, u64)]) -> Imported {
    let marks = "▼".repeat(warnings.len());
    let has_start = warnings.iter().all(|(kind, _)| *kind != MissingTime);
    let names = if has_start { &["a", "b"][..] } else { &["b"] };
    let event = format!(r#"{marks}{{"ph": "X", "cat": "kernel", "name": "a", {fields}}}, ‹b›"#);
    check_events(&event, names, warnings)
}

/// Fields, and the expected warnings with their counts.
type Case = (&'static str, &'static [(WarningKind, u64)]);

#[test]
fn numbers_that_cannot_be_are_reported() {
    #[rustfmt::skip]
    let cases: [Case; 13] = [
        // Not a number where one is expected.
        (r#""ts": 1, "dur": 2, "args": {"x": NaN}"#, &[(NotANumber, 1)]),
        (r#""ts": 1, "dur": 2, "args": {"x": -nan}"#, &[(NotANumber, 1)]),
        (r#""ts": 1, "dur": 2, "args": {"x": nan}"#, &[(NotANumber, 1)]),
        (r#""ts": 1, "dur": 2, "args": {"x": Infinity}"#, &[(NotANumber, 1)]),
        (r#""ts": 1, "dur": 2, "args": {"x": -Infinity}"#, &[(NotANumber, 1)]),
        (r#""ts": 1, "dur": 2, "args": {"x": inf}"#, &[(NotANumber, 1)]),
        (r#""ts": 1, "dur": 2, "args": {"x": [[1, NaN], Infinity]}"#, &[(NotANumber, 2)]),
        // Beyond 64 bits: 2⁷⁰. The largest ids are not damage.
        (r#""ts": 1, "dur": 2, "args": {"x": 1180591620717411303424}"#, &[(HugeInteger, 1)]),
        (r#""ts": 1, "dur": 2, "args": {"correlation": 18446744073709551615}"#, &[]),
        // Without a start, an event is dropped.
        (r#""dur": 2"#, &[(MissingTime, 1)]),
        (r#""dur": 2, "ts": "soon""#, &[(MissingTime, 1), (TextNumber, 1)]),
        (r#""dur": 2, "ts": 1e300"#, &[(MissingTime, 1)]),
        (r#""ts": 1, "dur": 2, "args": {"x": 1, "x": 2}"#, &[(DuplicateKey, 1)]),
    ];
    for (fields, warnings) in cases {
        check_with(fields, warnings);
    }
}

#[test]
fn a_duration_that_cannot_be_is_unknown() {
    #[rustfmt::skip]
    let cases: [Case; 6] = [
        (r#""ts": 1"#, &[(MissingDuration, 1)]),
        (r#""ts": 1, "dur": null"#, &[(MissingDuration, 1)]),
        (r#""ts": 1, "dur": NaN"#, &[(NotANumber, 1), (MissingDuration, 1)]),
        (r#""ts": 1, "dur": -2"#, &[(NegativeDuration, 1)]),
        // A month, and 2⁷⁰.
        (r#""ts": 1, "dur": 2592000000000"#, &[(ImpossibleDuration, 1)]),
        (r#""ts": 1, "dur": 1180591620717411303424"#, &[(HugeInteger, 1), (MissingDuration, 1)]),
    ];
    for (fields, warnings) in cases {
        let imported = check_with(fields, warnings);
        assert_eq!(imported.trace.events.dur_ns(FIRST), None, "{fields}");
    }
}

#[test]
fn ids_beyond_64_bits_can_be_compared() {
    let imported = check_with(
        r#""ts": 1, "dur": 2, "args": {"correlation": 1180591620717411303424}"#,
        &[(HugeInteger, 1)],
    );
    assert!(imported.trace.events.correlation(FIRST).is_some());
}

#[test]
fn times_as_text() {
    let imported = check_with(r#""ts": "1.5", "dur": "2""#, &[(TextNumber, 2)]);
    assert_eq!(imported.trace.events.ts_ns(FIRST), 1_500);
    assert_eq!(imported.trace.events.dur_ns(FIRST), Some(2_000));
}

#[test]
fn times_in_every_notation() {
    for (text, ns) in [
        ("7", 7_000),
        ("7.25", 7_250),
        ("1428625731896.179", 1_428_625_731_896_179),
        ("1.4286257318961787e15", 1_428_625_731_896_178_700),
        ("-3", -3_000),
    ] {
        let imported = check_with(&format!(r#""ts": {text}, "dur": 1"#), &[]);
        assert_eq!(imported.trace.events.ts_ns(FIRST), ns, "{text}");
    }
}

#[test]
fn the_last_of_two_equal_keys_counts() {
    let imported = check_with(r#""ts": 1, "dur": 2, "dur": 3"#, &[(DuplicateKey, 1)]);
    assert_eq!(imported.trace.events.dur_ns(FIRST), Some(3_000));
}

#[test]
fn pids_may_be_names() {
    let imported = check(
        trace(
            r#"{"ph": "X", "cat": "cpu_op", "name": "a", "pid": "Spans", "tid": "PyTorch Profiler", "ts": 1, "dur": 1}"#,
        ),
        &["a"],
        &[],
    );
    let trace = &imported.trace;
    let track = trace.tracks.get(trace.events.track(FIRST)).unwrap();
    assert_eq!(trace.strings.get(track.pid), "Spans");
    assert_eq!(trace.strings.get(track.tid), "PyTorch Profiler");
}

#[test]
fn white_space_may_change_from_event_to_event() {
    let texts = [
        r#"{"ph":"X","cat":"cpu_op","name":"a","ts":1,"dur":1}"#,
        r#"{"ph": "X", "cat": "cpu_op", "name": "b", "ts": 1, "dur": 1}"#,
        "{ \"ph\" :  \"X\" ,\n\t\"cat\":\"cpu_op\",\"name\"  :   \"c\",\r\n\"ts\":    1 , \"dur\":\n1 }",
        r#"{"ph":"X","cat":"cpu_op","name":"d","ts":1,"dur":1}"#,
        r#"{"ph":  "X",  "cat":  "cpu_op",  "name":  "e",  "ts":  1,  "dur":  1  }"#,
        r#"{"dur": 1, "ts": 1, "name": "f", "cat": "cpu_op", "ph": "X"}"#,
    ];
    check(
        trace(&texts.join(" ,\n ")),
        &["a", "b", "c", "d", "e", "f"],
        &[],
    );
}

#[test]
fn arguments_of_a_foreign_form_are_unknown_and_reported() {
    let event = event(r#""name": "a", "args": {"Input Dims": "soon", "Input type": 3}"#);
    let imported = check(
        trace(&format!("▼{event}")),
        &["a"],
        &[(UnreadableArguments, 1)],
    );
    let trace = &imported.trace;
    let args = trace
        .args
        .get(trace.events.op_args(FIRST).unwrap())
        .unwrap();
    assert_eq!((args.dims.as_ref(), args.types.as_ref()), (None, None));
}
