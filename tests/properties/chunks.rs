//! However the bytes arrive, the same trace comes out.

use dormer_core::import::{ImportError, Imported, Importer, Inflater, import};
use proptest::prelude::*;

use super::cases;
use crate::support::container::{gzip, stored_zip, zip};
use crate::support::text::{event, op, trace};

/// A small trace with something of everything whose middle a chunk can end in.
fn text() -> String {
    let events = [
        op("grüße 😀"),
        op(r#"\"quoted\" \u00e9\ud83d\ude00 \\"#),
        event(
            r#""name": "mm", "args": {"External id": 12, "Input Dims": [[16, 559], []], "x": -1.5e-3}"#,
        ),
        r#"{"ph":"X","name":"compact","ts":1428625731896.179,"dur":18.112,"pid":"a","tid":-1}"#
            .to_owned(),
        r#"{"ph": "s", "id": 7, "pid": 0, "tid": 7, "ts": 1, "cat": "ac2g", "name": "ac2g"}"#
            .to_owned(),
        r#"{"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "python"}}"#.to_owned(),
    ];
    trace(&events.join(",\n  "))
}

/// The same with damage of several kinds.
fn damaged_text() -> Vec<u8> {
    let events = [
        op("a\nb"),
        op(r"C:\windows"),
        op(r#"f("x")"#),
        r#"{"ph": "X", "name": "lost" "ts": 1}"#.to_owned(),
        r#"{"ph": "X", "name": "late", "ts": "17.5", "dur": -nan, "dur": 1180591620717411303424,,}"#.to_owned(),
        op("bad ?"),
        op("last"),
    ];
    let mut bytes = trace(&events.join(", ,")).into_bytes();
    let at = bytes.iter().position(|&byte| byte == b'?').unwrap();
    bytes[at] = 0xff;
    bytes
}

/// Every kind of input there is, by name.
fn inputs() -> Vec<(&'static str, Vec<u8>)> {
    let text = text().into_bytes();
    let (first, second) = text.split_at(text.len() / 3);
    let two_members = [gzip(first), gzip(second)].concat();
    let mut wrong_checksum = gzip(&text);
    let at = wrong_checksum.len() - 6;
    wrong_checksum[at] ^= 1;
    vec![
        ("json", text.clone()),
        (
            "json with a byte order mark",
            [b"\xef\xbb\xbf", text.as_slice()].concat(),
        ),
        ("damaged json", damaged_text()),
        ("cut json", text[..text.len() * 4 / 5].to_vec()),
        ("gzip in two members", two_members.clone()),
        ("cut gzip", two_members[..two_members.len() - 20].to_vec()),
        ("gzip with a wrong checksum", wrong_checksum),
        (
            "gzip with a tail",
            [two_members.as_slice(), b"tail"].concat(),
        ),
        ("gzip in gzip", gzip(gzip(&text))),
        ("gzip of nothing", gzip(b"")),
        ("zip in gzip", gzip(zip(&[("trace.json", &text)]))),
        ("zip", zip(&[("trace.json", &text)])),
        (
            "stored zip",
            stored_zip(&[("readme.txt", b"hello"), ("trace.json", &text)]),
        ),
        ("no trace", b"<html>not found</html>".to_vec()),
        (
            "another json",
            br#"{"stackFrames": {"1": {"name": "x"}}, "samples": []}"#.to_vec(),
        ),
        ("nothing", Vec::new()),
    ]
}

/// Imports the pieces between the cuts, which need not be sorted.
fn import_in_pieces(bytes: &[u8], cuts: &[usize]) -> Result<Imported, ImportError> {
    let mut cuts = cuts.to_vec();
    cuts.sort_unstable();
    let mut importer = Importer::new();
    let mut start = 0;
    for cut in cuts {
        importer.push(&bytes[start..cut])?;
        start = cut;
    }
    importer.push(&bytes[start..])?;
    importer.finish()
}

/// The same, inflated apart from reading where it is a gzip file.
fn import_apart(bytes: &[u8], cuts: &[usize]) -> Option<Result<Imported, ImportError>> {
    let mut inflater = Inflater::of(bytes)?;
    let mut texts = Vec::new();
    let mut start = 0;
    for cut in cuts.iter().copied().chain([bytes.len()]) {
        inflater.push(&bytes[start..cut], |text| texts.push(text.to_vec()));
        start = cut;
    }
    let inflated = inflater.finish();
    let mut importer = Importer::of_inflated();
    let pushed = texts.iter().try_for_each(|text| importer.push(text));
    Some(pushed.and_then(|()| importer.finish_inflated(&inflated)))
}

/// Everything an import says, to be compared.
fn outcome(result: &Result<Imported, ImportError>) -> String {
    match result {
        Ok(imported) => format!("{imported:#?}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn a_cut_at_any_byte_changes_nothing() {
    for (name, bytes) in inputs() {
        let whole = outcome(&import(&bytes));
        for cut in 0..=bytes.len() {
            if let Some(apart) = import_apart(&bytes, &[cut]) {
                let apart = outcome(&apart);
                assert!(apart == whole, "{name}, inflated apart in two at {cut}");
            }
            let pieces = outcome(&import_in_pieces(&bytes, &[cut]));
            assert!(
                pieces == whole,
                "{name}, cut at {cut}:\n{pieces}\n\nwhole:\n{whole}"
            );
        }
    }
}

#[test]
fn one_byte_at_a_time_changes_nothing() {
    for (name, bytes) in inputs() {
        let cuts: Vec<usize> = (0..bytes.len()).collect();
        let pieces = outcome(&import_in_pieces(&bytes, &cuts));
        assert!(pieces == outcome(&import(&bytes)), "{name}:\n{pieces}");
    }
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn any_cuts_change_nothing(
        which in 0..inputs().len(),
        places in prop::collection::vec(0.0..=1.0f64, 0..8),
    ) {
        let (name, bytes) = inputs().swap_remove(which);
        let cuts: Vec<usize> = places.iter().map(|place| (place * bytes.len() as f64) as usize).collect();
        let pieces = outcome(&import_in_pieces(&bytes, &cuts));
        prop_assert_eq!(pieces, outcome(&import(&bytes)), "{}", name);
    }

    #[test]
    fn noise_is_survived_and_cut_alike(
        which in 0..inputs().len(),
        noise in prop::collection::vec((0.0..1.0f64, any::<u8>()), 1..6),
        place in 0.0..=1.0f64,
    ) {
        let (name, mut bytes) = inputs().swap_remove(which);
        for (place, byte) in noise {
            let at = (place * bytes.len() as f64) as usize;
            if let Some(slot) = bytes.get_mut(at) {
                *slot = byte;
            }
        }
        let cut = (place * bytes.len() as f64) as usize;
        let pieces = outcome(&import_in_pieces(&bytes, &[cut]));
        prop_assert_eq!(pieces, outcome(&import(&bytes)), "{}", name);
    }
}
