//! What is no trace, and the sentence that says so.

use super::check_rejected;

const EXPECTED: &str = "expected a PyTorch profiler trace, the .json or .json.gz that export_chrome_trace or tensorboard_trace_handler writes";

/// A text, and the sentence; `…` stands for what was expected instead.
#[rustfmt::skip]
const TEXTS: &[(&str, &str)] = &[
    // Nothing.
    ("", "the file is empty; …"),
    (" \n", "the file is empty; …"),
    // A web page.
    ("<!DOCTYPE html><p>404", "this is a web page, perhaps a login page saved in the trace's place; … (at byte 0)"),
    ("<html>", "this is a web page, perhaps a login page saved in the trace's place; … (at byte 0)"),
    ("\n\n  <HTML lang=en>", "this is a web page, perhaps a login page saved in the trace's place; … (at byte 4)"),
    // The text of a Python object.
    ("{'traceEvents': [{'ph': 'X'}]}", "this is the text of a Python object, with single quotes; write the trace with json.dump or export_chrome_trace (at byte 1)"),
    ("[{'ph': 'X'}]", "this is the text of a Python object, with single quotes; write the trace with json.dump or export_chrome_trace (at byte 1)"),
    // Another JSON.
    (r#"{"stackFrames": {}, "samples": []}"#, "this JSON has no traceEvents, only `stackFrames`, `samples`; …"),
    ("{}", "this is an empty JSON object without traceEvents; …"),
    ("[1, 2, 3]", "this is a JSON list, but not of trace events; … (at byte 1)"),
    (r#"[{"name": "Ada", "age": 36}]"#, "this is a JSON list, but not of trace events; …"),
    // No JSON.
    ("epoch 1 loss 0.3\n", "this is not JSON; … (at byte 0)"),
    ("\x7fELF\x02\x01\x01", "this is not JSON; … (at byte 0)"),
    ("17", "this is not JSON; … (at byte 0)"),
    ("\"traceEvents\"", "this is not JSON; … (at byte 0)"),
    // Damage without events behind it.
    (r#"{"lr": 1, 'a': 2}"#, "this is not JSON; … (at byte 10)"),
    // Cut before the events.
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

#[test]
fn other_compressions() {
    for (magic, name) in [
        (&b"\x28\xb5\x2f\xfd_____"[..], "zstd"),
        (b"\xfd7zXZ\0____", "xz"),
        (b"BZh91AY&SY", "bzip2"),
    ] {
        check_rejected(
            magic,
            &format!(
                "this is a {name} file; decompress it first, or compress with gzip or zip (at byte 0)"
            ),
        );
    }
}

#[test]
fn a_tar_archive() {
    let mut archive = vec![0; 1024];
    archive[..10].copy_from_slice(b"trace.json");
    archive[257..262].copy_from_slice(b"ustar");
    check_rejected(
        archive,
        "this is a tar archive; unpack it and open the trace in it, or open it as the ranks of a job (at byte 0)",
    );
}
