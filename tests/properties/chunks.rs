//! The imported trace does not depend on how the bytes arrive.

use dormer_core::import::{
    Cutter, ImportError, Imported, Importer, Inflater, Part, PartReader, Piece, import,
};
use proptest::prelude::*;

use super::cases;
use crate::support::container::{gzip, stored_zip, tar, zip};
use crate::support::rocprof;
use crate::support::text::{event, op, trace};

/// A small trace with every construct that a chunk boundary can split.
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

/// A longer one, whose events share names, threads, ids and arguments over some distance, in every way in which events
/// depend on others: halves of events, allocators, names of threads, ids as text.
fn many() -> String {
    let events = (0..150u32).map(|n| match n % 15 {
        0 => event(&format!(
            r#""name": "op {}", "args": {{"External id": {n}, "Sequence number": {n}, "Input Dims": [[{}, 3], [[2], [{}]]], "Input type": ["float {}", ""], "Concrete Inputs": ["", "{}"]}}"#,
            n % 45, n % 4, n % 5, n % 7, n % 3
        )),
        1 => format!(r#"{{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": {}, "ts": {n}, "dur": 1, "args": {{"correlation": "0x{}", "stream": {}, "key {}": 1}}}}"#, n % 6, n % 8, n % 3, n % 40),
        2 => format!(r#"{{"ph": "s", "id": {}, "pid": 1, "tid": 1, "ts": {n}, "cat": "ac2g", "name": "ac2g"}}"#, u64::from(n) << 30),
        3 => format!(r#"{{"ph": "f", "id": "{n}", "pid": 0, "tid": 7, "ts": {n}, "cat": "ac2g", "name": "ac2g"}}"#),
        4 => format!(r#"{{"ph": "M", "name": "thread_name", "pid": 0, "tid": {}, "args": {{"name": "stream {n}"}}}}"#, n % 6),
        5 => format!(r#"{{"ph": "M", "name": "process_labels", "pid": {}, "args": {{"labels": "GPU {n}"}}}}"#, n % 2),
        6 => format!(r#"{{"ph": "i", "name": "[memory]", "pid": {}, "tid": 2, "ts": {n}, "args": {{"Device Type": 1, "Device Id": {}, "Addr": {n}, "Bytes": 512, "Total Allocated": 1536, "Total Reserved": 4096}}}}"#, n % 2, n % 3),
        7 => format!(r#"{{"ph": "X", "cat": "Acme {}", "name": "mine", "pid": 1, "tid": 1, "ts": {n}, "dur": 2}}"#, n % 4),
        8 if n > 100 => format!(r#"{{"ph": "B", "name": "half {n}", "pid": 1, "tid": 1, "ts": {n}, "args": {{"Sequence number": {n}}}}}"#),
        9 if n > 100 => format!(r#"{{"ph": "E", "name": "half {}", "pid": 1, "tid": 1, "ts": {n}, "args": {{"note": {n}, "Sequence number": 4}}}}"#, n - 1),
        10 => format!(r#"{{"ph": "X", "cat": "cpu_op", "name": "list", "pid": "a", "tid": 1, "ts": {n}, "dur": -2, "args": {{"of": [{{"name": 1}}, {{"name": 2}}]}}}}"#),
        11 => format!(r#"{{"ph": "X", "cat": "python_function", "name": "f {}", "pid": 1, "tid": 1, "ts": "{n}", "dur": 2}}"#, n % 9),
        12 => r#"{"ph": "M", "name": "process_name", "pid": 7, "args": {"name": "CANN"}}"#.to_owned(),
        _ => op(&format!("grüße \\u00e9 {n}")),
    });
    trace(&events.collect::<Vec<_>>().join(",\n  "))
}

/// The small one with several kinds of damage.
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

/// Every kind of input, by name.
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
        ("perfetto", crate::formats::small_perfetto()),
        ("gzip of xplane", gzip(crate::formats::small_xplane())),
        ("tar", tar(&[("readme.txt", b"hello"), ("trace", &text)])),
        ("tar in gzip", gzip(tar(&[("trace.json.gz", &gzip(&text))]))),
        (
            "cut rocprofv3",
            rocprof::whole().into_bytes()[..3000].to_vec(),
        ),
        (
            "damaged rocprofv3",
            rocprof::whole()
                .replacen("\"size\": 184", "\"size: 184", 1)
                .into_bytes(),
        ),
        (
            "a database",
            [b"SQLite format 3\0", &[0; 600][..], b"rocpd_string"].concat(),
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

/// The same with separate inflating, unless it is an archive. Of the pieces between events, each is parsed by the
/// reader that `readers` names in its turn, or in order with the rest; `n_joined` counts the joined parts.
fn import_apart(
    bytes: &[u8],
    cuts: &[usize],
    piece_bytes: usize,
    readers: &[Option<u32>],
    n_joined: &mut usize,
) -> Option<Result<Imported, ImportError>> {
    let mut inflater = Inflater::of(bytes)?;
    let mut cutter = Cutter::new(piece_bytes);
    let mut pieces = Vec::new();
    let mut start = 0;
    for cut in cuts.iter().copied().chain([bytes.len()]) {
        inflater.push(&bytes[start..cut], cutter.text());
        pieces.extend(cutter.next(Vec::new()));
        start = cut;
    }
    pieces.push(cutter.finish());
    let inflated = inflater.finish();
    let mut part_readers = [0, 1].map(PartReader::new);
    let mut turns = readers.iter().cycle();
    let mut part = |piece: &Piece| {
        let reader = turns
            .next()
            .copied()
            .flatten()
            .filter(|_| piece.is_of_events)?;
        sent(part_readers[reader as usize].read(&piece.text, piece.offset)?)
    };
    let mut importer = Importer::of_inflated();
    let pushed = pieces.iter().try_for_each(|piece| match part(piece) {
        Some(part) if importer.join(&part) => {
            *n_joined += 1;
            Ok(())
        }
        _ => importer.push(&piece.text),
    });
    Some(pushed.and_then(|()| importer.finish_inflated(&inflated)))
}

/// As received from another worker.
fn sent(part: Part) -> Option<Part> {
    postcard::from_bytes(&postcard::to_allocvec(&part).ok()?).ok()
}

/// Everything an import reports, for comparison.
fn outcome(result: &Result<Imported, ImportError>) -> String {
    match result {
        Ok(imported) => format!("{imported:#?}"),
        Err(error) => error.to_string(),
    }
}

/// The first lines that differ, with the preceding ones.
fn difference(one: &str, other: &str) -> String {
    let mut lines = one.lines().zip(other.lines());
    let same = lines
        .by_ref()
        .take_while(|(one, other)| one == other)
        .count();
    let from = |text: &str| {
        let lines: Vec<&str> = text.lines().skip(same.saturating_sub(8)).take(16).collect();
        lines.join("\n")
    };
    format!("{}\n\nin place of:\n{}", from(one), from(other))
}

#[test]
fn a_cut_at_any_byte_changes_nothing() {
    for (name, bytes) in inputs() {
        let whole = outcome(&import(&bytes));
        for cut in 0..=bytes.len() {
            for readers in [[None, None], [Some(0), None], [Some(1), Some(0)]] {
                if let Some(apart) = import_apart(&bytes, &[cut], 200, &readers, &mut 0) {
                    let apart = outcome(&apart);
                    assert!(
                        apart == whole,
                        "{name}, inflated apart in two at {cut}, {readers:?}:\n{apart}\n\nwhole:\n{whole}"
                    );
                }
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

/// Separately parsed pieces are joined, not parsed again.
#[test]
fn pieces_between_events_are_joined() {
    let text = many().into_bytes();
    for (least, bytes) in [(2, gzip(&text)), (8, text)] {
        let cuts: Vec<usize> = (0..bytes.len()).step_by(100).collect();
        let mut n_joined = 0;
        let apart = import_apart(
            &bytes,
            &cuts,
            1000,
            &[Some(0), Some(1), None],
            &mut n_joined,
        );
        assert!(outcome(&apart.unwrap()) == outcome(&import(&bytes)));
        assert!(n_joined >= least, "{n_joined} joined");
    }
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn parts_in_any_order_of_readers_change_nothing(
        damage in prop::collection::vec((0.0..1.0f64, any::<u8>()), 0..3),
        piece_bytes in 60..4000usize,
        step in 1..600usize,
        readers in prop::collection::vec(prop::option::of(0..2u32), 1..7),
    ) {
        let mut bytes = many().into_bytes();
        for (place, byte) in damage {
            let at = (place * bytes.len() as f64) as usize;
            if let Some(slot) = bytes.get_mut(at) {
                *slot = byte;
            }
        }
        let cuts: Vec<usize> = (0..bytes.len()).step_by(step).collect();
        if let Some(apart) = import_apart(&bytes, &cuts, piece_bytes, &readers, &mut 0) {
            let (apart, whole) = (outcome(&apart), outcome(&import(&bytes)));
            prop_assert!(apart == whole, "{}", difference(&apart, &whole));
        }
    }

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
