//! The effects of truncation, flipped bytes and wrong sizes on traces in binary formats.

use std::io::Write;

use dormer_core::import::warning::WarningKind;
use dormer_core::import::{ImportError, Imported, Importer, import};
use flate2::Compression;
use flate2::write::GzEncoder;

use crate::support::protobuf::Message;
use crate::support::shared;

/// Available samples of all formats.
fn samples() -> Vec<(&'static str, Vec<u8>)> {
    let names = ["h100_qwen.pftrace", "jax_conv.xplane.pb"];
    let samples = names.into_iter().filter_map(|name| {
        let bytes = shared::format(name)?;
        Some((name, unpacked(&bytes)))
    });
    samples.collect()
}

fn unpacked(bytes: &[u8]) -> Vec<u8> {
    let mut text = Vec::new();
    let mut inflater = flate2::write::GzDecoder::new(&mut text);
    if inflater.write_all(bytes).is_err() || inflater.finish().is_err() {
        return bytes.to_vec();
    }
    text
}

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(bytes).unwrap();
    packed.finish().unwrap()
}

/// Everything that was imported and reported.
fn debug_text(imported: Result<Imported, ImportError>) -> String {
    format!("{:?}", imported.map(|all| (all.trace, all.warnings)))
}

fn in_chunks(bytes: &[u8], size: usize) -> Result<Imported, ImportError> {
    let mut importer = Importer::new();
    for chunk in bytes.chunks(size) {
        importer.push(chunk)?;
    }
    importer.finish()
}

#[test]
fn any_split_and_gzip_give_the_same() {
    for (name, bytes) in samples() {
        let whole = debug_text(import(&bytes));
        assert!(
            debug_text(import(&packed(&bytes))) == whole,
            "{name} in gzip"
        );
        for size in [1, 7, 4_093, 65_536, 1 << 20] {
            assert!(
                debug_text(in_chunks(&bytes, size)) == whole,
                "{name} in chunks of {size}"
            );
        }
        let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
        let options = zip::write::SimpleFileOptions::default();
        zip.start_file(format!("out/{name}"), options).unwrap();
        zip.write_all(&bytes).unwrap();
        let zip = zip.finish().unwrap().into_inner();
        assert!(debug_text(import(&zip)) == whole, "{name} in zip");
    }
}

#[test]
fn a_cut_is_named_and_what_is_before_it_is_read() {
    for (name, bytes) in samples() {
        let cut = import(&bytes[..bytes.len() * 7 / 10]).unwrap();
        assert_eq!(cut.warnings.count(WarningKind::CutJson), 1, "{name}");
        assert!(!cut.trace.events.is_empty(), "{name}");
    }
}

/// Flips one byte at each of 200 positions: nothing panics, and if more is missing than a changed field number can
/// hide, that is reported.
///
/// A changed varint is still a valid varint: nothing in the format (no checksum, no packet count) reveals that a time,
/// a name's number or a field differs from what was written. So a few events may be lost silently.
#[test]
fn flipped_bytes_are_survived() {
    const FEW: usize = 30;
    for (name, bytes) in samples() {
        let whole = import(&bytes).unwrap();
        for nth in 0..200 {
            let at = bytes.len() * nth / 200 + 11;
            let mut damaged = bytes.clone();
            damaged[at] ^= 0xff;
            let Ok(read) = import(&damaged) else { continue };
            let n_lost = whole
                .trace
                .events
                .len()
                .saturating_sub(read.trace.events.len());
            let is_said = read.warnings != whole.warnings;
            assert!(n_lost < FEW || is_said, "{name} at {at}: {n_lost} lost");
        }
    }
}

/// The same for a sample that takes long to read, at fewer positions.
#[test]
fn a_large_sample_is_read_in_any_split_and_survives_flipped_bytes() {
    let Some(bytes) = shared::format("rocprofv3_train.json.gz") else {
        return;
    };
    let bytes = unpacked(&bytes);
    let whole = import(&bytes).unwrap();
    let (n_events, warnings) = (whole.trace.events.len(), whole.warnings.clone());
    let whole = debug_text(Ok(whole));
    for size in [4_093, 1 << 20] {
        assert!(
            debug_text(in_chunks(&bytes, size)) == whole,
            "chunks of {size}"
        );
    }
    for nth in 0..20 {
        let at = bytes.len() * nth / 20 + 11;
        let mut damaged = bytes.clone();
        damaged[at] ^= 0xff;
        let Ok(read) = import(&damaged) else { continue };
        let n_lost = n_events.saturating_sub(read.trace.events.len());
        let is_said = read.warnings != warnings;
        assert!(n_lost == 0 || is_said, "at {at}: {n_lost} lost");
    }
}

/// A packet with a time, followed by other bytes.
fn with_packet(rest: &[u8]) -> Vec<u8> {
    let packet = Message::new().number(8, 1).number(10, 1);
    [&Message::new().message(1, &packet).0, rest].concat()
}

#[test]
fn lengths_that_cannot_be_end_nothing() {
    let op = Message::new()
        .number(9, 1)
        .number(11, 1)
        .bytes(22, "cpu_op")
        .bytes(23, "a");
    let packet = Message::new().number(8, 5).number(10, 1).message(11, &op);
    let good = Message::new().message(1, &packet).0;
    // 2⁶³ bytes, a varint that never ends, and a group, which no writer uses.
    for bad in [
        &b"\x0a\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"[..],
        b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
        b"\x0b\x08\x01",
    ] {
        let imported = import(&with_packet(&[bad, &good].concat())).unwrap();
        assert_eq!(imported.trace.events.len(), 1, "{bad:x?}");
        assert!(!imported.warnings.is_empty());
    }
}

#[test]
fn deep_nesting_is_passed_over() {
    let mut deep = Message::new().number(4, 1);
    for _ in 0..10_000 {
        deep = Message::new().message(12, &deep);
    }
    let annotation = Message([Message::new().bytes(10, "deep").0, deep.0].concat());
    let op = Message::new()
        .number(9, 1)
        .number(11, 1)
        .bytes(22, "cpu_op")
        .bytes(23, "a")
        .message(4, &annotation);
    let packet = Message::new().number(8, 5).number(10, 1).message(11, &op);
    let imported = import(&Message::new().message(1, &packet).0).unwrap();
    let event = imported.trace.events.ids().next().unwrap();
    let extra = imported
        .trace
        .strings
        .get(imported.trace.events.extra_args(event).unwrap());
    assert!(extra.contains("null") && extra.len() < 100, "{extra}");
}

#[test]
fn names_that_nothing_uses_cost_nothing_in_the_trace() {
    let mut names = Message::new();
    for iid in 1..=1_000_000 {
        names = names.message(
            2,
            &Message::new()
                .number(1, iid)
                .bytes(2, format!("name {iid}")),
        );
    }
    let packet = Message::new()
        .number(10, 1)
        .number(13, 1)
        .message(12, &names);
    let imported = import(&Message::new().message(1, &packet).0).unwrap();
    assert!(imported.trace.strings.bytes() < 1_000);
}

/// Texts have numbers: a few bytes can repeat a long one.
#[test]
fn a_text_that_is_said_often_is_bounded() {
    let text = Message::new().number(1, 1).bytes(2, vec![b'a'; 100_000]);
    let names = Message::new().message(29, &text);
    let said = Message::new().number(17, 1);
    let list = Message(
        [
            Message::new().bytes(10, "list").0,
            Message::new().messages(12, &vec![said.clone(); 10_000]).0,
        ]
        .concat(),
    );
    let alone = |nth: usize| {
        let name = Message::new().bytes(10, format!("alone {nth}"));
        Message([name.0, said.0.clone()].concat())
    };
    let annotations: Vec<Message> = (0..10_000).map(alone).chain([list]).collect();
    let op = Message::new()
        .number(9, 1)
        .number(11, 1)
        .bytes(22, "cpu_op")
        .bytes(23, "a")
        .messages(4, &annotations);
    let packet = Message::new()
        .number(8, 5)
        .number(10, 1)
        .message(12, &names)
        .message(11, &op);
    let imported = import(&Message::new().message(1, &packet).0).unwrap();
    assert_eq!(imported.trace.events.len(), 1);
    assert!(imported.trace.strings.bytes() < 8 << 20);
    assert_eq!(imported.warnings.count(WarningKind::LargeMetadata), 1);
}

#[test]
fn a_text_behind_a_blank_line_is_json() {
    let text = "\n{\"traceEvents\": [{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"a\", \"pid\": 1, \"tid\": 1, \"ts\": 1, \"dur\": 2}]}";
    let imported = import(text.as_bytes()).unwrap();
    assert_eq!(imported.trace.events.len(), 1);
}
