//! Text that is not quite JSON: cut, unclosed, with bytes and brackets that do not belong.

use dormer_core::import::warning::WarningKind::*;

use super::{check, check_events, check_text, event_names};
use crate::support::text::{event, op, trace};

#[test]
fn a_whole_trace_has_nothing_to_say() {
    check(trace(&[op("a"), op("b")].join(",\n")), &["a", "b"], &[]);
}

#[test]
fn the_events_may_stand_anywhere_among_the_keys() {
    check_text(
        r#"{"x": {"traceEvents": 1}, "traceEvents": [‹a›, ‹b›], "y": [[], {}]}"#,
        &["a", "b"],
        &[],
    );
}

#[test]
fn a_bare_list_of_events() {
    check_text("[‹a›, ‹b›]", &["a", "b"], &[]);
}

#[test]
fn a_byte_order_mark() {
    check(format!("\u{feff}{}", trace(&op("a"))), &["a"], &[]);
}

#[test]
fn no_events() {
    check(trace(""), &[], &[]);
}

#[test]
fn cut_between_events() {
    check_text(
        r#"{"traceEvents": [‹a›, ‹b›▼"#,
        &["a", "b"],
        &[(CutJson, 1)],
    );
    check_text(
        r#"{"traceEvents": [‹a›, ‹b›,▼"#,
        &["a", "b"],
        &[(CutJson, 1)],
    );
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
fn cut_inside_a_name() {
    let (a, b) = (op("a"), r#"{"ph": "X", "name": "aten::"#);
    check(
        format!(r#"{{"traceEvents": [{a}, {b}▼"#),
        &["a"],
        &[(CutJson, 1)],
    );
}

#[test]
fn an_unclosed_array() {
    check_text(
        r#"{"traceEvents": [‹a›, ‹b›▼}"#,
        &["a", "b"],
        &[(CutJson, 1)],
    );
}

#[test]
fn an_unclosed_object() {
    check_text(r#"{"traceEvents": [‹a›]▼"#, &["a"], &[(CutJson, 1)]);
}

#[test]
fn commas_too_many() {
    check_events("‹a›, ‹b›,▼", &["a", "b"], &[(StrayComma, 1)]);
    check_events("‹a›, ▼, ‹b›,", &["a", "b"], &[(StrayComma, 2)]);
    check_events(
        r#"▼{"ph": "X", "cat": "cpu_op", "name": "a",, "ts": 1, "dur": 1,}, ‹b›"#,
        &["a", "b"],
        &[(StrayComma, 2)],
    );
}

#[test]
fn a_missing_comma_loses_nothing() {
    check_events("‹a› ‹b›", &["a", "b"], &[]);
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
fn a_bad_escape_in_a_name() {
    check_events(
        r#"‹a›, ▼‹C:\windows›, ‹c›"#,
        &["a", r"C:\windows", "c"],
        &[(BadEscape, 1)],
    );
    check_events(r#"▼‹\uZZZZ›, ‹c›"#, &[r"\uZZZZ", "c"], &[(BadEscape, 1)]);
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
fn quotes_that_were_not_escaped() {
    check_events(
        r#"‹a›, ▼‹f("x")›, ‹c›"#,
        &["a", r#"f("x")"#, "c"],
        &[(UnescapedQuote, 1)],
    );
    check_events(
        r#"‹a›, ▼‹say "x", then "y"›, ‹c›"#,
        &["a", r#"say "x", then "y""#, "c"],
        &[(UnescapedQuote, 1)],
    );
}

#[test]
fn damage_costs_one_event_at_most_one_neighbour() {
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
fn an_event_that_lost_its_end_is_counted() {
    check_events(
        r#"‹a›, ▼{"ph": "X", "name": "b", ‹c›"#,
        &["a", "c"],
        &[(UnreadableEvent, 1)],
    );
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
    let imported = check_text(
        r#"{"a": 1, "b": {"c": [2]}, "traceEvents": [‹x›], "d": "e"}"#,
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

/// Some writers open or end their list with nothing.
#[test]
fn nothing_among_the_events_is_no_damage() {
    let a = op("a");
    check(trace(&format!("{{}}, null, {a}, {{}}")), &["a"], &[]);
    let without_category = a.replace(r#""cpu_op""#, "null");
    check(
        trace(&format!("▼{without_category}")),
        &["a"],
        &[(UnknownCategory, 1)],
    );
}

/// `add_metadata` writes texts as they are.
#[test]
fn damage_beside_the_events_costs_no_event() {
    let a = op("a");
    for damage in [
        r#""cmd": "python -c "▼print(1)" x","#,
        r#""dir": "D:\runs\", "▼record_shapes": 1,"#,
        r#""cfg": ▼{'a': "it's", 'b': 'say "'},"#,
    ] {
        let text = format!(r#"{{"schemaVersion": 1, {damage} "traceEvents": [{a}]}}"#);
        check(text, &["a"], &[(UnreadableMetadata, 1)]);
    }
    let (text, _) = super::take_marks(
        format!(r#"{{"schemaVersion": 1, "traceEvents": [{a}], "dir": "C:\logs\"}}"#).as_bytes(),
    );
    let imported = dormer_core::import::import(&text).unwrap();
    assert_eq!(imported.warnings.count(UnreadableMetadata), 1);
    assert_eq!(imported.warnings.count(CutJson), 0);
}

/// Limits against bombs; an ordinary trace nests five deep.
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

#[test]
fn events_of_two_lists_are_joined() {
    let (a, b) = (op("a"), event(r#""name": "b""#));
    check(
        format!(r#"{{"traceEvents": [{a}], ▼"traceEvents": [{b}]}}"#),
        &["a", "b"],
        &[(DuplicateKey, 1)],
    );
}
