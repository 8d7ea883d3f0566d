//! The containers of traces, intact and damaged.

use dormer_core::import::warning::WarningKind::*;
use dormer_core::import::{ImportErrorKind, import};

use super::{check, check_bytes, check_rejected, event_names};
use crate::support::container::{gzip, stored_zip, streamed_zip, tar, zip};
use crate::support::text::{op, trace};

/// A trace of 2000 events with names that compress badly.
fn long_trace() -> String {
    let events: Vec<String> = (0..2000u32)
        .map(|i| op(&format!("{:08x}", i.wrapping_mul(2_654_435_761))))
        .collect();
    trace(&events.join(","))
}

#[test]
fn a_trace_is_found_in_every_container() {
    let text = trace(&op("a"));
    let file = ("trace.json", text.as_bytes());
    let readme = ("readme.txt", &b"recorded on Monday"[..]);
    let config = ("config.json", &b"{\"lr\": 1}"[..]);
    let folder = [
        ("run/", &b""[..]),
        ("__MACOSX/run/._trace.json", b"\0\x05\x16\x07"),
        readme,
        file,
    ];
    let other_json = gzip(r#"{"nodes": []}"#);
    let several = [
        config,
        ("notes.json", b"none"),
        ("rank0.et.json.gz", &other_json),
        file,
    ];
    for (container, bytes) in [
        ("gzip", gzip(&text)),
        ("gzip in gzip", gzip(gzip(&text))),
        // Tape blocks and some object stores pad with zeros; gzip itself ignores them.
        ("padded gzip", [gzip(&text), vec![0; 512]].concat()),
        ("zip", zip(&[file])),
        ("stored zip", stored_zip(&[file])),
        ("zip written to a pipe", streamed_zip(&[readme, file])),
        ("zip with more than the trace", zip(&folder)),
        ("zip with JSON without events", zip(&several)),
        ("zip in gzip", gzip(zip(&[file]))),
        ("gzip in zip", zip(&[("trace.json.gz", &gzip(&text))])),
        (
            "gzip twice in zip",
            zip(&[("trace.json.gz", &gzip(gzip(&text)))]),
        ),
        // Under any name, also in a zip archive.
        ("zip of another name", zip(&[("run/4711", text.as_bytes())])),
        ("tar", tar(&[readme, file])),
        ("tar in gzip", gzip(tar(&[config, readme, file]))),
        ("gzip in tar", tar(&[readme, ("4711", &gzip(&text))])),
        ("zip in tar", tar(&[("trace.zip", &zip(&[readme, file]))])),
    ] {
        eprintln!("{container}");
        check(bytes, &["a"], &[]);
    }
}

#[test]
fn gzip_in_several_members() {
    // Cut anywhere, even inside an event; an empty member changes nothing.
    let text = trace(&[op("a"), op("b")].join(","));
    let (first, second) = text.split_at(text.len() / 2);
    let bytes = [gzip(first), gzip(""), gzip(second)].concat();
    check(bytes, &["a", "b"], &[]);
}

#[test]
fn a_wrong_checksum_does_not_end_a_gzip_file_of_several_members() {
    let text = trace(&[op("a"), op("b")].join(","));
    let (first, second) = text.split_at(text.len() / 2);
    let packed = gzip(first);
    // The checksum, and the length after it.
    for from_end in [8, 4] {
        let mut wrong = packed.clone();
        wrong[packed.len() - from_end] ^= 1;
        let bytes = [wrong, gzip(second)].concat();
        let at = Some(first.len() as u64);
        check_bytes(&bytes, &["a", "b"], &[(CorruptGzip, 1, at)]);
    }
}

#[test]
fn of_a_zip_archive_with_two_traces_the_first_is_read() {
    let (first, second) = (trace(&op("a")), trace(&op("b")));
    let ranks = [
        ("rank0.json", first.as_bytes()),
        ("rank1.json", second.as_bytes()),
    ];
    check(zip(&ranks), &["a"], &[(OtherZipMembers, 1)]);
}

/// Members are found one after another, and the end of some cannot be determined.
#[test]
fn what_cannot_be_read_in_a_zip_archive_behind_the_trace_loses_nothing_of_it() {
    let first = trace(&op("a"));
    let members = [
        ("rank0.json", first.as_bytes()),
        ("notes.txt", &b"recorded on Monday"[..]),
    ];
    let archive = zip(&members);
    let mut headers = archive.windows(4).enumerate();
    let header = headers
        .rfind(|(_, bytes)| bytes == b"PK\x03\x04")
        .unwrap()
        .0;
    let changed = |at: usize, byte: u8| {
        let mut changed = archive.clone();
        changed[header + at] = byte;
        changed
    };
    // An unknown method, a password, and no header at all.
    check_bytes(&changed(8, 77), &["a"], &[(OtherZipMembers, 1, None)]);
    check_bytes(&changed(6, 1), &["a"], &[(OtherZipMembers, 1, None)]);
    let whole = Some(first.len() as u64);
    check_bytes(&changed(0, b'?'), &["a"], &[(CorruptGzip, 1, whole)]);
}

#[test]
fn of_a_tar_archive_with_two_traces_the_first_is_read() {
    let (first, second) = (trace(&op("a")), trace(&op("b")));
    let ranks = [
        ("notes.txt", &b"recorded on Monday"[..]),
        ("rank0.json", first.as_bytes()),
        ("rank1.json", second.as_bytes()),
    ];
    let archive = tar(&ranks);
    check(&archive, &["a"], &[(OtherZipMembers, 1)]);
    // Damage after the trace does not affect it.
    let mut damaged = archive.clone();
    damaged[4 * 512] ^= 1;
    let whole = first.len() as u64;
    check_bytes(&damaged, &["a"], &[(CorruptGzip, 1, Some(whole))]);
    // Cut within the trace.
    let cut = &archive[..3 * 512 + first.len() - 2];
    let at = Some(whole - 2);
    check_bytes(cut, &["a"], &[(CutJson, 1, at), (CutGzip, 1, at)]);
}

#[test]
fn containers_without_a_trace() {
    check_rejected(
        tar(&[("readme.txt", b"nothing here")]),
        "this tar archive cannot be read: it holds no trace",
    );
    check_rejected(
        zip(&[("readme.txt", b"nothing here")]),
        "this zip archive cannot be read: it holds no trace",
    );
    check_rejected(
        zip(&[("config.json", b"{\"lr\": 1}"), ("empty.json", b"[1]")]),
        "this JSON has no traceEvents, only `lr`; expected a PyTorch profiler trace, the .json or .json.gz that export_chrome_trace or tensorboard_trace_handler writes",
    );
    let bomb = (0..4).fold(trace(&op("a")).into_bytes(), |inner, _| gzip(inner));
    let error = import(&bomb).unwrap_err();
    assert_eq!(error.kind, ImportErrorKind::NotJson);
    let whole = gzip(trace(&op("a")));
    for n_bytes in [2, 9, 10, 12] {
        let sentence = "this gzip file is damaged at its start; copy it again";
        check_rejected(&whole[..n_bytes], sentence);
    }
}

#[test]
fn damage_behind_the_text_loses_nothing_and_is_reported() {
    let text = trace(&op("a"));
    let (packed, archive) = (gzip(&text), zip(&[("trace.json", text.as_bytes())]));
    let mut wrong_checksum = packed.clone();
    wrong_checksum[packed.len() - 8] ^= 1;
    let mut signatures = archive.windows(4);
    let directory = signatures.position(|bytes| bytes == b"PK\x01\x02").unwrap();
    let mut cases = vec![
        (CorruptGzip, wrong_checksum),
        (TrailingGarbage, [&packed, &b"by mistake"[..]].concat()),
        (AnotherTrace, [&*packed, &gzip(trace(&op("b")))].concat()),
        // Without the list of its members.
        (CutGzip, archive[..directory].to_vec()),
    ];
    let trailer = packed.len() - 8..packed.len();
    cases.extend(trailer.map(|end| (CutGzip, packed[..end].to_vec())));
    for (kind, bytes) in cases {
        eprintln!("{kind:?}, {} bytes", bytes.len());
        check_bytes(&bytes, &["a"], &[(kind, 1, Some(text.len() as u64))]);
    }
}

#[test]
fn text_behind_the_trace_is_reported() {
    let (text, other) = (trace(&op("a")), trace(&op("b")));
    check(format!("{text}\n▼{other}"), &["a"], &[(AnotherTrace, 1)]);
    check(format!("{text}▼;"), &["a"], &[(TrailingText, 1)]);
}

#[test]
fn damaged_gzip_gives_everything_up_to_the_damage() {
    let whole = gzip(long_trace());
    let cut = whole[..whole.len() * 7 / 10].to_vec();
    let mut corrupt = whole;
    let middle = corrupt.len() / 2;
    corrupt[middle..middle + 64].fill(0xff);
    for (kind, bytes, at_least, at_most) in [
        (CutGzip, cut, 1000, 1700),
        (CorruptGzip, corrupt, 500, 2000),
    ] {
        let imported = import(&bytes).unwrap();
        let n_events = event_names(&imported).len();
        assert!(
            n_events > at_least && n_events < at_most,
            "{kind:?}: {n_events}"
        );
        assert_eq!(imported.warnings.count(kind), 1);
    }
}
