//! What is no trace, and the sentence that says so.

use super::check_rejected;

const EXPECTED: &str = "expected a PyTorch profiler trace, the .json or .json.gz that export_chrome_trace or tensorboard_trace_handler writes";

#[test]
fn nothing() {
    check_rejected("", &format!("the file is empty; {EXPECTED}"));
    check_rejected(" \n", &format!("the file is empty; {EXPECTED}"));
}

#[test]
fn zero_bytes() {
    let sentence = "the file holds only zero bytes, as after an interrupted copy; copy it again";
    check_rejected([0; 1], sentence);
    check_rejected(vec![0; 300_000], sentence);
}

#[test]
fn a_web_page() {
    for (page, at) in [
        ("<!DOCTYPE html><p>404", 0),
        ("<html>", 0),
        ("\n\n  <HTML lang=en>", 4),
    ] {
        check_rejected(
            page,
            &format!(
                "this is a web page, perhaps a login page saved in the trace's place; {EXPECTED} (at byte {at})"
            ),
        );
    }
}

#[test]
fn the_text_of_a_python_object() {
    for text in ["{'traceEvents': [{'ph': 'X'}]}", "[{'ph': 'X'}]"] {
        check_rejected(
            text,
            "this is the text of a Python object, with single quotes; write the trace with json.dump or export_chrome_trace (at byte 1)",
        );
    }
}

#[test]
fn another_json() {
    check_rejected(
        r#"{"stackFrames": {}, "samples": []}"#,
        &format!("this JSON has no traceEvents, only `stackFrames`, `samples`; {EXPECTED}"),
    );
    check_rejected(
        "{}",
        &format!("this is an empty JSON object without traceEvents; {EXPECTED}"),
    );
    check_rejected(
        "[1, 2, 3]",
        &format!("this is a JSON list, but not of trace events; {EXPECTED} (at byte 1)"),
    );
    check_rejected(
        r#"[{"name": "Ada", "age": 36}]"#,
        &format!("this is a JSON list, but not of trace events; {EXPECTED}"),
    );
}

#[test]
fn not_json() {
    for text in [
        "epoch 1 loss 0.3\n",
        "\x7fELF\x02\x01\x01",
        "17",
        "\"traceEvents\"",
    ] {
        check_rejected(text, &format!("this is not JSON; {EXPECTED} (at byte 0)"));
    }
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
        "this is a tar archive; unpack it and open the trace in it (at byte 0)",
    );
}

#[test]
fn cut_before_the_events() {
    for text in [
        "{",
        r#"{"schemaVersi"#,
        r#"{"schemaVersion": 1, "deviceProperties": [{"id": 0"#,
        r#"{"schemaVersion": 1,"#,
    ] {
        check_rejected(
            text,
            &format!(
                "the text ends before its first event, as after an interrupted copy; copy the file or record it again (at byte {})",
                text.len()
            ),
        );
    }
}

#[test]
fn damage_without_events_behind_it() {
    check_rejected(
        r#"{"lr": 1, 'a': 2}"#,
        &format!("this is not JSON; {EXPECTED} (at byte 10)"),
    );
}
