//! The containers traces come in, whole and damaged.

use dormer_core::import::warning::WarningKind::*;

use super::{check, check_bytes, check_rejected, event_names};
use crate::support::container::{gzip, stored_zip, streamed_zip, zip};
use crate::support::text::{op, trace};

/// A trace of 2000 events with names that do not compress away.
fn long_trace() -> String {
    let events: Vec<String> = (0..2000u32)
        .map(|i| op(&format!("{:08x}", i.wrapping_mul(2_654_435_761))))
        .collect();
    trace(&events.join(","))
}

#[test]
fn gzip_in_one_member() {
    check(gzip(trace(&op("a"))), &["a"], &[]);
}

#[test]
fn gzip_in_several_members() {
    // Cut anywhere, also inside an event; an empty member changes nothing.
    let text = trace(&[op("a"), op("b")].join(","));
    let (first, second) = text.split_at(text.len() / 2);
    let bytes = [gzip(first), gzip(""), gzip(second)].concat();
    check(bytes, &["a", "b"], &[]);
}

#[test]
fn a_zip_archive_with_one_trace() {
    let text = trace(&op("a"));
    check(zip(&[("trace.json", text.as_bytes())]), &["a"], &[]);
    check(stored_zip(&[("trace.json", text.as_bytes())]), &["a"], &[]);
}

#[test]
fn a_zip_archive_written_to_a_pipe() {
    let text = trace(&op("a"));
    let members: &[(&str, &[u8])] = &[
        ("readme.txt", b"recorded on Monday"),
        ("trace.json", text.as_bytes()),
    ];
    check(streamed_zip(members), &["a"], &[]);
}

#[test]
fn a_zip_archive_with_more_than_the_trace() {
    let text = trace(&op("a"));
    let members: &[(&str, &[u8])] = &[
        ("run/", b""),
        ("__MACOSX/run/._trace.json", b"\0\x05\x16\x07"),
        ("run/readme.txt", b"recorded on Monday"),
        ("run/trace.json", text.as_bytes()),
    ];
    check(zip(members), &["a"], &[]);
}

#[test]
fn of_a_zip_archive_with_two_traces_the_first_is_read() {
    let (first, second) = (trace(&op("a")), trace(&op("b")));
    check(
        zip(&[
            ("rank0.json", first.as_bytes()),
            ("rank1.json", second.as_bytes()),
        ]),
        &["a"],
        &[(OtherZipMembers, 1)],
    );
}

#[test]
fn a_zip_archive_with_a_gzip_trace() {
    check(
        zip(&[("trace.json.gz", &gzip(trace(&op("a"))))]),
        &["a"],
        &[],
    );
}

#[test]
fn a_zip_archive_without_its_directory() {
    let text = trace(&op("a"));
    let whole = zip(&[("trace.json", text.as_bytes())]);
    let directory = whole
        .windows(4)
        .position(|bytes| bytes == b"PK\x01\x02")
        .unwrap();
    check_bytes(
        &whole[..directory],
        &["a"],
        &[(CutGzip, 1, Some(text.len() as u64))],
    );
}

#[test]
fn a_zip_archive_without_a_trace() {
    check_rejected(
        zip(&[("readme.txt", b"nothing here")]),
        "this zip archive cannot be read: it holds no .json or .json.gz file",
    );
}

#[test]
fn of_a_zip_archive_the_first_member_with_events_is_read() {
    let text = trace(&op("a"));
    let gz = gzip(r#"{"nodes": []}"#);
    check(
        zip(&[
            ("config.json", b"{\"lr\": 1}"),
            ("notes.json", b"none"),
            ("rank0.et.json.gz", &gz),
            ("trace.json", text.as_bytes()),
        ]),
        &["a"],
        &[],
    );
    check_rejected(
        zip(&[("config.json", b"{\"lr\": 1}"), ("empty.json", b"[1]")]),
        "this JSON has no traceEvents, only `lr`; expected a PyTorch profiler trace, the .json or .json.gz that export_chrome_trace or tensorboard_trace_handler writes",
    );
}

#[test]
fn containers_in_containers() {
    let text = trace(&op("a"));
    let packed = zip(&[("trace.json", text.as_bytes())]);
    check(gzip(gzip(&text)), &["a"], &[]);
    check(gzip(&packed), &["a"], &[]);
    check(zip(&[("trace.json.gz", &gzip(gzip(&text)))]), &["a"], &[]);
    let mut bomb = gzip(&text);
    for _ in 0..3 {
        bomb = gzip(bomb);
    }
    let error = dormer_core::import::import(&bomb).unwrap_err();
    assert_eq!(error.kind, dormer_core::import::ImportErrorKind::NotJson);
}

#[test]
fn another_trace_behind_the_first() {
    let text = trace(&op("a"));
    let other = trace(&op("b"));
    check(format!("{text}\n▼{other}"), &["a"], &[(AnotherTrace, 1)]);
    check_bytes(
        &[gzip(&text), gzip(&other)].concat(),
        &["a"],
        &[(AnotherTrace, 1, Some(text.len() as u64))],
    );
    check(format!("{text}▼;"), &["a"], &[(TrailingText, 1)]);
}

#[test]
fn cut_gzip_gives_everything_up_to_the_cut() {
    let text = long_trace();
    let whole = gzip(&text);
    let imported = dormer_core::import::import(&whole[..whole.len() * 7 / 10]).unwrap();
    let names = event_names(&imported).len();
    assert!((1000..1700).contains(&names), "{names} of 2000 events");
    assert_eq!(imported.warnings.count(CutGzip), 1);
}

#[test]
fn gzip_without_its_trailer() {
    let text = trace(&op("a"));
    let whole = gzip(&text);
    for n_missing in 1..=8 {
        check_bytes(
            &whole[..whole.len() - n_missing],
            &["a"],
            &[(CutGzip, 1, Some(text.len() as u64))],
        );
    }
}

#[test]
fn gzip_with_a_wrong_checksum() {
    let text = trace(&op("a"));
    let mut bytes = gzip(&text);
    let at = bytes.len() - 8;
    bytes[at] ^= 1;
    check_bytes(&bytes, &["a"], &[(CorruptGzip, 1, Some(text.len() as u64))]);
}

#[test]
fn gzip_with_damage_inside() {
    let mut bytes = gzip(long_trace());
    let middle = bytes.len() / 2;
    bytes[middle..middle + 64].fill(0xff);
    let imported = dormer_core::import::import(&bytes).unwrap();
    assert!(event_names(&imported).len() > 500);
    assert_eq!(imported.warnings.count(CorruptGzip), 1);
}

#[test]
fn gzip_followed_by_something_else() {
    let text = trace(&op("a"));
    let bytes = [gzip(&text), b"appended by mistake".to_vec()].concat();
    check_bytes(
        &bytes,
        &["a"],
        &[(TrailingGarbage, 1, Some(text.len() as u64))],
    );
}

#[test]
fn gzip_padded_with_zero_bytes_is_no_damage() {
    // Tape blocks and some object stores pad with zeros; gzip itself ignores them.
    check([gzip(trace(&op("a"))), vec![0; 512]].concat(), &["a"], &[]);
}

#[test]
fn gzip_that_breaks_at_once() {
    let whole = gzip(trace(&op("a")));
    let sentence = "this gzip file breaks before any text could be read; copy it again";
    for n_bytes in [2, 9, 10, 12] {
        check_rejected(&whole[..n_bytes], sentence);
    }
}
