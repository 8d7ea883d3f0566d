//! Truncated and damaged files in rocprofv3's format.

use dormer_core::import::warning::WarningKind::{CutJson, MissingTime, UnreadableEvent};
use dormer_core::import::{ImportErrorKind, import};

use super::{counts, events};
use crate::support::container::gunzip;
use crate::support::rocprof::whole;
use crate::support::shared;

#[test]
fn a_cut_file_is_read_as_far_as_it_goes() {
    let text = whole();
    let end = text.find(r#""memory_copy""#).unwrap();
    let imported = import(&text.as_bytes()[..end]).unwrap();
    assert_eq!(imported.trace.events.len(), 6);
    assert_eq!(counts(&imported), [(CutJson, 1)]);
    let before = text.find(r#""kernel_dispatch""#).unwrap();
    let error = import(&text.as_bytes()[..before]).unwrap_err();
    assert_eq!(error.kind, ImportErrorKind::CutBeforeEvents);
}

#[test]
fn a_real_file_is_read_up_to_its_cut() {
    let Some(bytes) = shared::format("rocprofv3_train.json.gz") else {
        return;
    };
    let text = gunzip(&bytes);
    let cut = import(&text[..text.len() * 7 / 10]).unwrap();
    assert_eq!(counts(&cut), [(CutJson, 1)]);
    assert_eq!(cut.trace.events.len(), 18_074);
}

#[test]
fn a_damaged_record_is_skipped() {
    let text = whole();
    for (from, to, kind) in [
        (
            r#""start_timestamp": 2600"#,
            r#""start_timestamp": ?"#,
            UnreadableEvent,
        ),
        (r#""start_timestamp": 2600, "#, "", MissingTime),
        // A bracket of an object in it, and the quote that ends a key.
        (
            r#""correlation_id": {"internal": 6"#,
            r#""correlation_id": ["internal": 6"#,
            UnreadableEvent,
        ),
        (
            r#"end_timestamp": 2700"#,
            r#"end_timestamp: 2700"#,
            UnreadableEvent,
        ),
    ] {
        assert!(text.contains(from));
        let imported = import(text.replacen(from, to, 1).as_bytes()).unwrap();
        assert_eq!(imported.trace.events.len(), 6, "{to}");
        assert_eq!(counts(&imported), [(kind, 1)], "{to}");
    }
}

/// Names are referred to by index: those after a damaged one keep theirs.
#[test]
fn a_damaged_list_of_names_moves_no_other() {
    let text = whole();
    let whole = import(text.as_bytes()).unwrap();
    let unnamed = |event: &String| event.replace("MEMORY_COPY_HOST_TO_DEVICE", "operation_2_1");
    let expected: Vec<String> = events(&whole.trace).iter().map(unnamed).collect();
    for (from, to) in [
        (r#""MEMORY_COPY_NONE""#, r#"MEMORY_COPY_NONE"#),
        // Its end cannot be found.
        (
            r#""MEMORY_COPY_HOST_TO_DEVICE"]}"#,
            r#""MEMORY_COPY_HOST_TO_DEVICE"}}"#,
        ),
    ] {
        let damaged = text.replacen(from, to, 1);
        assert_ne!(damaged, text);
        let imported = import(damaged.as_bytes()).unwrap();
        assert_eq!(counts(&imported), [(UnreadableEvent, 1)], "{to}");
        assert_eq!(events(&imported.trace), expected, "{to}");
        assert_eq!(imported.trace.memory.len(), whole.trace.memory.len());
    }
}

/// Wherever a byte is flipped, distant parts are still read.
#[test]
fn a_flipped_byte_costs_what_it_is_in() {
    let text = whole();
    let records = text.find(r#""kernel_dispatch""#).unwrap();
    for n in 0..200 {
        let mut bytes = text.clone().into_bytes();
        let at = records + n * (bytes.len() - records) / 200;
        bytes[at] ^= 0x10;
        if let Ok(imported) = import(&bytes) {
            // A list whose key is damaged has at most three entries.
            let n_events = imported.trace.events.len() + imported.trace.memory.len();
            assert!(n_events >= 10 - 3, "at {at}: {:?}", counts(&imported));
        }
    }
}

#[test]
fn nothing_grows_without_bounds() {
    let deep = whole().replacen(
        r#""operation": 2"#,
        &format!(r#""operation": {}"#, "[".repeat(10_000)),
        1,
    );
    let imported = import(deep.as_bytes()).unwrap();
    assert_eq!(counts(&imported), [(UnreadableEvent, 1)]);
    assert_eq!(imported.trace.events.len(), 6);
    let endless = format!(
        r#"{{"rocprofiler-sdk-tool": [{{"metadata": {{"command": "{}"#,
        "a".repeat(9 << 20)
    );
    assert_eq!(
        import(endless.as_bytes()).unwrap_err().kind,
        ImportErrorKind::CutBeforeEvents
    );
    let huge = whole().replacen(r#""x": 1000"#, r#""x": 18446744073709551615"#, 1);
    assert_eq!(import(huge.as_bytes()).unwrap().trace.events.len(), 7);
}
