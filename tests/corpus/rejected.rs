//! Inputs that are not traces, and their error messages.

use dormer_core::import::{ImportErrorKind, Unsupported, import};

use super::check_rejected;
use crate::support::container::gzip;

const EXPECTED: &str = "expected a PyTorch profiler trace, the .json or .json.gz that export_chrome_trace or tensorboard_trace_handler writes";

/// A text, and the message; `…` stands for what was expected instead.
#[rustfmt::skip]
const TEXTS: &[(&str, &str)] = &[
    // Empty.
    ("", "the file is empty; …"),
    (" \n", "the file is empty; …"),
    // A web page.
    ("<!DOCTYPE html><p>404", "this is a web page, perhaps a login page saved in the trace's place; … (at byte 0)"),
    ("<html>", "this is a web page, perhaps a login page saved in the trace's place; … (at byte 0)"),
    ("\n\n  <HTML lang=en>", "this is a web page, perhaps a login page saved in the trace's place; … (at byte 4)"),
    // The text of a Python object.
    ("{'traceEvents': [{'ph': 'X'}]}", "this is the text of a Python object, with single quotes; write the trace with json.dump or export_chrome_trace (at byte 1)"),
    ("[{'ph': 'X'}]", "this is the text of a Python object, with single quotes; write the trace with json.dump or export_chrome_trace (at byte 1)"),
    // Other JSON.
    (r#"{"stackFrames": {}, "samples": []}"#, "this JSON has no traceEvents, only `stackFrames`, `samples`; …"),
    ("{}", "this is an empty JSON object without traceEvents; …"),
    ("[1, 2, 3]", "this is a JSON list, but not of trace events; … (at byte 1)"),
    (r#"[{"name": "Ada", "age": 36}]"#, "this is a JSON list, but not of trace events; …"),
    // Not JSON.
    ("epoch 1 loss 0.3\n", "this is not JSON; … (at byte 0)"),
    ("\x7fELF\x02\x01\x01", "this is not JSON; … (at byte 0)"),
    ("17", "this is not JSON; … (at byte 0)"),
    ("\"traceEvents\"", "this is not JSON; … (at byte 0)"),
    // Damage with no events after it.
    (r#"{"lr": 1, 'a': 2}"#, "this is not JSON; … (at byte 10)"),
    // Truncated before the events.
    ("{", "the text ends before its first event, as after an interrupted copy; copy the file or record it again (at byte 1)"),
    (r#"{"schemaVersi"#, "the text ends before its first event, as after an interrupted copy; copy the file or record it again (at byte 13)"),
    (r#"{"schemaVersion": 1, "deviceProperties": [{"id": 0"#, "the text ends before its first event, as after an interrupted copy; copy the file or record it again (at byte 50)"),
    (r#"{"schemaVersion": 1,"#, "the text ends before its first event, as after an interrupted copy; copy the file or record it again (at byte 20)"),
];

#[test]
fn texts_that_are_no_trace() {
    for (text, sentence) in TEXTS {
        check_rejected(text, &sentence.replace('…', EXPECTED));
    }
}

#[test]
fn zero_bytes() {
    let sentence = "the file holds only zero bytes, as after an interrupted copy; copy it again";
    check_rejected([0; 1], sentence);
    check_rejected(vec![0; 300_000], sentence);
}

#[test]
fn utf16_text() {
    let bytes: Vec<u8> = "\u{feff}{}"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    check_rejected(
        bytes,
        "this is UTF-16 or UTF-32 text; save it as UTF-8 (at byte 0)",
    );
}

/// Formats that are recognized by their first bytes but not supported.
#[test]
fn files_of_other_tools() {
    use Unsupported::*;
    let sqlite = |rest: &str| [b"SQLite format 3\0", &[0; 84][..], rest.as_bytes()].concat();
    let timeline = "[[-1, 0, 512, 4], [1700000000000000000, 1, 1024, 0]]";
    let execution = "{\n  \"schema\": \"1.1.1-chakra.0.0.4\", \"pid\": 1, \"nodes\": []}";
    #[rustfmt::skip]
    let cases: [(Unsupported, Vec<u8>); 15] = [
        (Zstd, b"\x28\xb5\x2f\xfd_____".to_vec()),
        (Xz, b"\xfd7zXZ\0____".to_vec()),
        (Bzip2, b"BZh91AY&SY".to_vec()),
        (SevenZip, b"7z\xbc\xaf\x27\x1c".to_vec()),
        (Lz4, b"\x04\x22\x4d\x18_".to_vec()),
        (Rar, b"Rar!\x1a\x07".to_vec()),
        (Rocpd, sqlite("CREATE TABLE \"rocpd_string_0001\" (id INTEGER)")),
        (NsysDatabase, sqlite("CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT)")),
        (Database, sqlite("CREATE TABLE books (title TEXT)")),
        (Pickle, b"\x80\x02}q\0.".to_vec()),
        (Pickle, b"\x80\x05\x95\0".to_vec()),
        (MemoryTimeline, timeline.into()),
        (MemoryTimeline, format!(" [ {}", &timeline[1..]).into()),
        (ExecutionTrace, execution.into()),
        (ExecutionTrace, execution.replace([' ', '\n'], "").into()),
    ];
    for (unsupported, bytes) in cases {
        let error = import(&bytes).unwrap_err();
        assert_eq!(error.kind, ImportErrorKind::Unsupported(unsupported));
        assert!(
            import(&gzip(&bytes)).unwrap_err().kind == error.kind,
            "{unsupported:?} in gzip"
        );
    }
    // JSON that starts like an execution trace but is not one.
    let config = import(br#"{"schema": "https://example.org/model"}"#).unwrap_err();
    assert_eq!(
        config.kind,
        ImportErrorKind::NoTraceEvents(vec!["schema".to_owned()])
    );
}

/// A report of Nsight Systems is recognized by its name if its bytes are not conclusive.
#[test]
fn a_report_of_nsight_systems() {
    let kind = |bytes: &[u8], name: &str| import(bytes).unwrap_err().of_file(name).kind;
    let report = ImportErrorKind::Unsupported(Unsupported::NsysReport);
    assert_eq!(kind(b"\x0bQD\0\x01", "run/report1.nsys-rep"), report);
    assert_eq!(
        kind(b"\x0bQD\0\x01", "report1.json"),
        ImportErrorKind::NotJson
    );
    assert_eq!(kind(b"", "report1.nsys-rep"), ImportErrorKind::Empty);
}
