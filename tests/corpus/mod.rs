//! One small input per kind of damage, and how Dormer handles it.
//!
//! In a text, `▼` precedes the byte that a warning refers to; it is removed before the text is read. The first mark
//! belongs to the first expected warning, and so on.

mod containers;
mod damaged_text;
mod damaged_values;
mod incomplete;
mod rejected;

use dormer_core::import::warning::{Warning, WarningKind};
use dormer_core::import::{Imported, import};

use crate::support::text::{op, trace};

const MARK: &[u8] = "▼".as_bytes();

/// Imports a text with marks, and compares the names of its events and all warnings.
#[track_caller]
fn check(marked: impl AsRef<[u8]>, names: &[&str], warnings: &[(WarningKind, u64)]) -> Imported {
    let (text, offsets) = take_marks(marked.as_ref());
    assert!(offsets.len() <= warnings.len(), "a mark without a warning");
    let mut offsets = offsets.into_iter();
    let expected: Vec<_> = warnings
        .iter()
        .map(|&(kind, count)| (kind, count, offsets.next()))
        .collect();
    check_bytes(&text, names, &expected)
}

/// The same for a trace with these events; `‹a›` is an operator with that name.
#[track_caller]
fn check_events(events: &str, names: &[&str], warnings: &[(WarningKind, u64)]) -> Imported {
    check(trace(&with_ops(events)), names, warnings)
}

/// Checks cases, one a line: a text, or `events:` and the events of a trace, `=>`, the names of its events, `=>`, and
/// the expected warnings: their kinds, with a count if it is not one.
#[track_caller]
fn check_cases(cases: &str) {
    let lines = cases.lines().map(str::trim);
    for case in lines.filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let parts: Vec<&str> = case.split("=>").map(str::trim).collect();
        let [text, names, said] = parts[..] else {
            panic!("{case}")
        };
        let text = match text.strip_prefix("events:") {
            Some(events) => trace(&with_ops(events.trim())),
            None => with_ops(text),
        };
        let (bytes, marks) = take_marks(text.as_bytes());
        let imported = import(&bytes).unwrap_or_else(|error| panic!("{case}: {error}"));
        assert_eq!(event_names(&imported).join("; "), names, "{case}");
        let warnings: Vec<&Warning> = imported.warnings.iter().collect();
        let found = warnings.iter().map(|warning| match warning.count {
            1 => format!("{:?}", warning.kind),
            n => format!("{:?} {n}", warning.kind),
        });
        assert_eq!(found.collect::<Vec<_>>().join("; "), said, "{case}");
        let offsets = warnings.iter().filter_map(|warning| warning.first_offset);
        assert_eq!(offsets.collect::<Vec<_>>(), marks, "{case}");
    }
}

/// A text with `‹a›` replaced by operators.
fn with_ops(text: &str) -> String {
    let parts = text.split('‹').map(|part| match part.split_once('›') {
        Some((name, rest)) => op(name) + rest,
        None => part.to_owned(),
    });
    parts.collect()
}

/// Imports bytes, and compares the names of its events and all warnings with their offsets.
#[track_caller]
fn check_bytes(
    bytes: &[u8],
    names: &[&str],
    warnings: &[(WarningKind, u64, Option<u64>)],
) -> Imported {
    let imported = import(bytes).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(event_names(&imported), names, "events");
    let mut found: Vec<_> = imported
        .warnings
        .iter()
        .map(|warning| (warning.kind, warning.count, warning.first_offset))
        .collect();
    let mut expected = warnings.to_vec();
    found.sort_by_key(|&(kind, ..)| kind);
    expected.sort_by_key(|&(kind, ..)| kind);
    assert_eq!(found, expected, "warnings");
    imported
}

/// Imports something that is not a trace, and compares the error message.
#[track_caller]
fn check_rejected(bytes: impl AsRef<[u8]>, sentence: &str) {
    match import(bytes.as_ref()) {
        Ok(imported) => panic!("read as a trace: {:?}", event_names(&imported)),
        Err(error) => assert_eq!(error.to_string(), sentence),
    }
}

fn event_names(imported: &Imported) -> Vec<&str> {
    let trace = &imported.trace;
    trace
        .events
        .ids()
        .map(|id| trace.strings.get(trace.events.name(id)))
        .collect()
}

/// The text without its marks, and their positions.
fn take_marks(marked: &[u8]) -> (Vec<u8>, Vec<u64>) {
    let mut text = Vec::new();
    let mut offsets = Vec::new();
    let mut rest = marked;
    while let Some((&byte, after)) = rest.split_first() {
        if let Some(after) = rest.strip_prefix(MARK) {
            offsets.push(text.len() as u64);
            rest = after;
        } else {
            text.push(byte);
            rest = after;
        }
    }
    (text, offsets)
}
