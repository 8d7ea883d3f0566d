//! Text that is not quite JSON: truncated, unclosed, with misplaced bytes and brackets.

use dormer_core::import::warning::WarningKind::*;

use super::{check, check_cases, check_events, event_names, with_ops};
use crate::support::text::{op, trace};

#[test]
fn every_kind_of_damage_is_reported() {
    check_cases(
        r#"
        # Whole traces, however they are framed.
        events: ‹a›, ‹b› => a; b =>
        events: =>  =>
        [‹a›, ‹b›] => a; b =>
        {"x": {"traceEvents": 1}, "traceEvents": [‹a›, ‹b›], "y": [[], {}]} => a; b =>
        # Some writers open or end their list with nothing.
        events: {}, null, ‹a›, {} => a =>
        events: ▼{"ph": "X", "cat": null, "name": "a", "ts": 1, "dur": 1} => a => UnknownCategory
        # Cut, or not closed.
        {"traceEvents": [‹a›, ‹b›▼ => a; b => CutJson
        {"traceEvents": [‹a›, ‹b›,▼ => a; b => CutJson
        {"traceEvents": [‹a›, {"ph": "X", "name": "aten::▼ => a => CutJson
        {"traceEvents": [‹a›, ‹b›▼} => a; b => CutJson
        {"traceEvents": [‹a›]▼ => a => CutJson
        events: ‹a›, ▼{"ph": "X", "name": "b", ‹c› => a; c => UnreadableEvent
        # Commas too many; one that is missing loses nothing.
        events: ‹a›, ‹b›,▼ => a; b => StrayComma
        events: ‹a›, ▼, ‹b›, => a; b => StrayComma 2
        events: ▼{"ph": "X", "cat": "cpu_op", "name": "a",, "ts": 1, "dur": 1,}, ‹b› => a; b => StrayComma 2
        events: ‹a› ‹b› => a; b =>
        # Names that were not escaped.
        events: ‹a›, ▼‹C:\windows›, ‹c› => a; C:\windows; c => BadEscape
        events: ▼‹\uZZZZ›, ‹c› => \uZZZZ; c => BadEscape
        events: ‹a›, ▼‹f("x")›, ‹c› => a; f("x"); c => UnescapedQuote
        events: ‹a›, ▼‹say "x", then "y"›, ‹c› => a; say "x", then "y"; c => UnescapedQuote
        # What is of no known kind.
        events: ▼{"ph": "M", "name": "process_mood", "pid": 1, "args": {"mood": "good"}}, ‹a› => a => UnknownMetadata
        events: ▼{"ph": "C", "name": "x", "pid": 1, "tid": 1, "ts": 1}, ‹a› => a => UnknownPhase
        events: {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "python"}}, ‹a› => a =>
        # Beside the events: `add_metadata` writes texts as they are.
        {"v": 1, "cmd": "python -c "▼print(1)" x", "traceEvents": [‹a›]} => a => UnreadableMetadata
        {"v": 1, "dir": "D:\runs\", "▼record_shapes": 1, "traceEvents": [‹a›]} => a => UnreadableMetadata
        {"v": 1, "cfg": ▼{'a': "it's", 'b': 'say "'}, "traceEvents": [‹a›]} => a => UnreadableMetadata
        # Two lists are joined.
        {"traceEvents": [‹a›], ▼"traceEvents": [‹b›]} => a; b => DuplicateKey
        "#,
    );
}

#[test]
fn a_byte_order_mark() {
    check(format!("\u{feff}{}", trace(&op("a"))), &["a"], &[]);
}

#[test]
fn cut_inside_an_event() {
    let (a, b) = (op("a"), op("b"));
    for cut in [1, 10, b.len() / 2, b.len() - 1] {
        let part = &b[..cut];
        check(
            format!(r#"{{"traceEvents": [{a}, {part}▼"#),
            &["a"],
            &[(CutJson, 1)],
        );
    }
}

#[test]
fn bytes_that_are_no_text() {
    let mut text = trace(&format!("{}, ▼{}, {}", op("a"), op("b?"), op("c"))).into_bytes();
    let at = text.iter().position(|&byte| byte == b'?').unwrap();
    text[at] = 0xff;
    check(text, &["a", "b\u{fffd}", "c"], &[(InvalidUtf8, 1)]);
}

#[test]
fn a_raw_line_break_in_a_name() {
    check_events(
        "‹a›, ▼‹b\nb›, ‹c›",
        &["a", "b\nb", "c"],
        &[(ControlCharacter, 1)],
    );
}

#[test]
fn good_escapes_are_no_damage() {
    check(
        trace(&op(r#"\"a\" \\ \/ \n \u00e9 \ud83d\ude00"#)),
        &["\"a\" \\ / \n é 😀"],
        &[],
    );
}

#[test]
fn damage_costs_one_event_at_most_one_neighbor() {
    for damage in [
        r#"{"ph": "X", "name": "b" "ts": 1, "dur": 1}"#,
        r#"{"ph": "X", "name": b, "ts": 1, "dur": 1}"#,
        r#"{"ph": "X", "name": "b", "ts": 1 2, "dur": 1}"#,
        r#"{"ph": "X", "name": "b", "ts": , "dur": 1}"#,
        r#"{"ph": "X", "name": "b", "args": {"x": [1}, "ts": 1, "dur": 1}"#,
        r#"{"ph": "X", "name": "b, "ts": 1, "dur": 1}"#,
        r#"{"ph": "X", "name": "b", "ts": 1"#,
        r#"{"ph": "X", "name": "b"#,
        r#""text""#,
        "17",
        "[]",
        "\0\0\0\0",
    ] {
        let around: Vec<String> = ["a1", "a2", "c1", "c2", "c3"].map(op).into();
        let (before, after) = around.split_at(2);
        let text = trace(&format!(
            "{}, {damage}, {}",
            before.join(","),
            after.join(",")
        ));
        let imported = dormer_core::import::import(text.as_bytes()).unwrap();
        let names = event_names(&imported);
        let kept = ["a1", "a2", "c1", "c2", "c3"]
            .iter()
            .filter(|name| names.contains(name));
        assert!(kept.count() >= 4, "{damage}: {names:?}");
        assert_eq!(
            (names.first(), names.last()),
            (Some(&"a1"), Some(&"c3")),
            "{damage}"
        );
        assert!(!imported.warnings.is_empty(), "{damage}: nothing said");
    }
}

#[test]
fn a_name_without_end_costs_one_event() {
    let endless = format!(r#"{{"ph": "X", "name": "{}"#, "x".repeat(40 << 20));
    let events = format!("{}, ▼{endless}▼", op("a"));
    check(
        format!(r#"{{"traceEvents": [{events}"#),
        &["a"],
        &[(UnreadableEvent, 1), (CutJson, 1)],
    );
}

#[test]
fn small_keys_beside_the_events_are_kept() {
    let imported = check(
        with_ops(r#"{"a": 1, "b": {"c": [2]}, "traceEvents": [‹x›], "d": "e"}"#),
        &["x"],
        &[],
    );
    assert_eq!(
        imported.trace.metadata,
        [("a", "1"), ("b", r#"{"c": [2]}"#), ("d", "\"e\"")]
            .map(|(key, json)| (key.to_owned(), json.to_owned()))
    );
}

#[test]
fn a_large_key_beside_the_events_is_skipped() {
    let large = "1,".repeat(4 << 20);
    check(
        format!(r#"{{"x": ▼[{large}1], "traceEvents": [{}]}}"#, op("a")),
        &["a"],
        &[(LargeMetadata, 1)],
    );
}

#[test]
fn damage_behind_the_events_costs_no_event() {
    let a = op("a");
    let (text, _) = super::take_marks(
        format!(r#"{{"schemaVersion": 1, "traceEvents": [{a}], "dir": "C:\logs\"}}"#).as_bytes(),
    );
    let imported = dormer_core::import::import(&text).unwrap();
    assert_eq!(imported.warnings.count(UnreadableMetadata), 1);
    assert_eq!(imported.warnings.count(CutJson), 0);
}

/// Limits against decompression bombs; an ordinary trace nests five deep.
#[test]
fn what_is_nested_too_deep_costs_itself() {
    let deep = [&"[".repeat(70)[..], &"]".repeat(70)].concat();
    let a = op("a");
    check(
        trace(&format!(
            r#"▼{{"ph": "X", "name": "b", "args": {{"x": {deep}}}}}, {a}"#
        )),
        &["a"],
        &[(UnreadableEvent, 1)],
    );
    check(
        format!(r#"{{"x": {deep}, "traceEvents": [{a}]}}"#),
        &["a"],
        &[],
    );
    check(
        format!(
            r#"{{"x": 1, "traceEvents": [{a}, ▼{}▼"#,
            "[".repeat(1 << 20)
        ),
        &["a"],
        &[(UnreadableEvent, 1), (CutJson, 1)],
    );
}
