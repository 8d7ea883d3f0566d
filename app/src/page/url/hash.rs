//! The keys of the hash, and how their values are written and read.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use super::{DetailsOf, KeptRange, Place, Theme};
use crate::protocol::{Align, Sort};

/// A key of the hash; its encoded value for a place, if any; and how to read the value back.
type Key = (
    &'static str,
    fn(&Place) -> Option<String>,
    fn(&mut Place, String),
);

/// The key of an address; the only one that may occur more than once.
const URL: &str = "url";

/// The keys, in the order in which they are written.
#[rustfmt::skip]
const KEYS: &[Key] = &[
    (URL, |at| each_of(URL, &at.urls).filter(|_| !at.is_of_many()), |at, value| at.urls.push(value)),
    ("find", |at| text(&at.focus.find), |at, value| at.focus.find = value),
    ("sort", |at| at.focus.sort.as_ref().map(write_sort), |at, value| at.focus.sort = parse_sort(&value)),
    ("row", |at| number(at.focus.row), |at, value| at.focus.row = value.parse().ok()),
    ("step", |at| number(at.focus.step), |at, value| at.focus.step = value.parse().ok()),
    ("top", |at| number(at.focus.top), |at, value| at.focus.top = value.parse().ok()),
    ("event", |at| number(at.focus.event), |at, value| at.focus.event = value.parse().ok()),
    ("span", |at| at.focus.span.map(write_span), |at, value| at.focus.span = parse_span(&value)),
    ("tracks", |at| text(&at.focus.tracks), |at, value| at.focus.tracks = value),
    ("kept", |at| text(&write_kept(&at.focus.kept)), |at, value| at.focus.kept = parse_kept(&value)),
    ("below", |at| at.focus.below.map(|align| align.word().to_owned()), |at, value| at.focus.below = Align::parse(&value)),
    ("table", |at| text(&at.focus.table), |at, value| at.focus.table = value),
    ("rows", |at| word("all", at.focus.all_rows), |at, value| at.focus.all_rows = value == "all"),
    ("section", |at| text(&at.focus.section), |at, value| at.focus.section = value),
    ("only", |at| text(&at.focus.only.join(".")), |at, value| at.focus.only = parse_only(&value)),
    ("group", |at| text(&at.focus.group), |at, value| at.focus.group = value),
    ("story", |at| at.focus.details.map(DetailsOf::word), |at, value| at.focus.details = DetailsOf::parse(&value)),
    ("gpu", |at| at.choice.gpu.as_deref().map(encode), |at, value| at.choice.gpu = Some(value)),
    ("reference", |at| at.choice.reference_gpu.as_deref().map(encode), |at, value| at.choice.reference_gpu = Some(value)),
    ("window", |at| at.choice.window.filter(|_| !at.is_of_many()).map(write_span), |at, value| at.choice.window = parse_span(&value)),
    ("device", |at| at.choice.device.as_deref().filter(|_| !at.is_of_many()).map(encode), |at, value| at.choice.device = Some(value)),
    ("basis", |at| word("peak", at.choice.peak), |at, value| at.choice.peak = value == "peak"),
    ("events", |at| word("all", at.choice.all_gpu_events), |at, value| at.choice.all_gpu_events = value == "all"),
    ("theme", |at| word(at.theme.word(), at.theme != Theme::System), |at, value| at.theme = Theme::parse(&value)),
    ("file", |at| text(&at.file).filter(|_| !at.is_of_many()), |at, value| at.file = value),
];

impl Place {
    /// Parses a hash. Unknown keys are ignored: links outlive versions.
    pub fn parse(hash: &str) -> Place {
        let path = hash.trim_start_matches('#').trim_start_matches('/');
        let (view, query) = path.split_once('?').unwrap_or((path, ""));
        let mut place = Place {
            view: decode(view),
            ..Place::default()
        };
        for (key, value) in query.split('&').filter_map(|pair| pair.split_once('=')) {
            let value = decode(value);
            if let Some((.., read)) = KEYS.iter().find(|(known, ..)| *known == key) {
                read(&mut place, value);
            } else if let Some(key) = key.strip_prefix(THRESHOLD)
                && let Some(value) = parse_threshold(&value)
            {
                place.choice.thresholds.insert(decode(key), value);
            }
        }
        place
    }

    /// Writes the hash. [`Place::parse`] reads it back, except what refers to the trace that is open beside.
    pub fn hash(&self) -> String {
        let known = KEYS.iter();
        let known = known.filter_map(|(key, write, _)| Some(format!("{key}={}", write(self)?)));
        let thresholds = self.choice.thresholds.iter();
        let thresholds =
            thresholds.map(|(key, value)| format!("{THRESHOLD}{}={value}", encode(key)));
        let pairs: Vec<String> = known.chain(thresholds).collect();
        let mark = if pairs.is_empty() { "" } else { "?" };
        format!("#/{}{mark}{}", encode(&self.view), pairs.join("&"))
    }
}

fn text(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| encode(text))
}

/// Several values, with the key before each except the first.
fn each_of(key: &str, values: &[String]) -> Option<String> {
    let values: Vec<String> = values.iter().map(|value| encode(value)).collect();
    (!values.is_empty()).then(|| values.join(&format!("&{key}=")))
}

fn number(number: Option<u32>) -> Option<String> {
    number.map(|number| number.to_string())
}

fn word(word: &str, is_said: bool) -> Option<String> {
    is_said.then(|| word.to_owned())
}

/// The prefix of a threshold's name.
const THRESHOLD: &str = "t.";

/// The value of a threshold, from the hash or typed by the user: zero or more.
pub fn parse_threshold(text: &str) -> Option<f64> {
    let value: f64 = text.trim().parse().ok()?;
    // Larger thresholds are meaningless, and some are counts of allocations.
    const MOST: f64 = 1e12;
    (0.0..=MOST).contains(&value).then_some(value)
}

fn parse_only(value: &str) -> Vec<String> {
    let tokens = value.split('.').filter(|token| !token.is_empty());
    tokens.map(str::to_owned).collect()
}

fn write_span((from_ns, to_ns): (u64, u64)) -> String {
    format!("{from_ns}-{to_ns}")
}

fn parse_span(value: &str) -> Option<(u64, u64)> {
    let (from_ns, to_ns) = value.split_once('-')?;
    Some((from_ns.parse().ok()?, to_ns.parse().ok()?))
}

/// `1000-2000:a%20note;5000-6000:`
fn write_kept(kept: &[KeptRange]) -> String {
    let ranges = kept.iter();
    let ranges = ranges.map(|(span, note)| format!("{}:{}", write_span(*span), encode(note)));
    ranges.collect::<Vec<String>>().join(";")
}

fn parse_kept(value: &str) -> Vec<KeptRange> {
    let range = |range: &str| {
        let (span, note) = range.split_once(':')?;
        Some((parse_span(span)?, decode(note)))
    };
    value.split(';').filter_map(range).collect()
}

fn write_sort(sort: &Sort) -> String {
    let sign = if sort.descending { "-" } else { "" };
    format!("{sign}{}", encode(&sort.column))
}

fn parse_sort(value: &str) -> Option<Sort> {
    let (column, descending) = match value.strip_prefix('-') {
        Some(column) => (column, true),
        None => (value, false),
    };
    (!column.is_empty()).then(|| Sort {
        column: column.to_owned(),
        descending,
    })
}

/// The characters that appear in the hash as they are; all others are percent-encoded.
pub const PLAIN: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'/')
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b':');

fn encode(text: &str) -> String {
    utf8_percent_encode(text, PLAIN).to_string()
}

/// Undoes [`encode`]; a `%` that does not start a byte stays as it is.
fn decode(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::url::Focus;
    use crate::protocol::Choice;

    #[test]
    fn a_place_survives_the_hash() {
        let place = Place {
            view: "kernels".into(),
            focus: Focus {
                find: "ampere & \"µs\" 100 %?".into(),
                sort: Some(Sort {
                    column: "Kernel duration (µs)_sum".into(),
                    descending: true,
                }),
                row: Some(17),
                step: Some(2),
                top: Some(12),
                event: Some(4_711),
                span: Some((1_000, 25_000_000_000)),
                tracks: "f0.h3".into(),
                kept: vec![
                    ((1_000, 2_000), "why; so: 100 % idle?".into()),
                    ((5_000, 6_000), String::new()),
                ],
                below: Some(Align::Gpu),
                table: "operators".into(),
                all_rows: true,
                section: "p1-tiny-batched-products".into(),
                only: vec!["gemm".into(), "norm".into()],
                group: "category".into(),
                details: Some(DetailsOf::Event(4_711)),
            },
            choice: Choice {
                gpu: Some("own:AMD Instinct MI300X".into()),
                profile: None,
                reference_gpu: Some("NVIDIA H100 SXM".into()),
                reference_profile: None,
                perf_models: None,
                window: Some((2_000, 3_000_000_000)),
                device: Some("7".into()),
                peak: true,
                all_gpu_events: true,
                thresholds: [("short_kernel_us".to_owned(), 2.5)].into(),
            },
            theme: Theme::Dark,
            urls: vec!["traces/a & b.json".into(), "../c.json.gz?x=1".into()],
            file: "run 7/trace.json.gz".into(),
        };
        assert_eq!(Place::parse(&place.hash()), place);
    }

    #[test]
    fn every_address_of_a_link_is_kept() {
        let hash = "#/kernels?url=traces/rank0.json.gz&url=traces/rank1.json.gz&find=gemm";
        let place = Place::parse(hash);
        assert_eq!(place.urls, ["traces/rank0.json.gz", "traces/rank1.json.gz"]);
        assert_eq!(place.hash(), hash);
    }

    #[test]
    fn the_plain_place_has_a_plain_hash() {
        let place = Place::parse("#/tree");
        assert_eq!(place.view, "tree");
        assert_eq!(place.hash(), "#/tree");
        assert_eq!(Place::parse(""), Place::default());
        // `-` sorts the largest first.
        let hash = "#/operations?find=bmm&sort=-Count";
        let sort = Place::parse(hash).focus.sort.unwrap();
        assert_eq!((&*sort.column, sort.descending), ("Count", true));
        assert_eq!(Place::parse(hash).hash(), hash);
    }

    #[test]
    fn a_threshold_is_a_number_that_means_something() {
        let cases = [
            ("5", Some(5.0)),
            (" 0.25", Some(0.25)),
            ("0", Some(0.0)),
            ("-1", None),
            ("NaN", None),
            ("inf", None),
            ("1e99", None),
            ("", None),
        ];
        for (text, value) in cases {
            assert_eq!(parse_threshold(text), value, "{text}");
        }
        let place = Place::parse("#/?t.short_kernel_us=-3&t.gemm_gate_ms=7");
        assert_eq!(
            place.choice.thresholds,
            [("gemm_gate_ms".to_owned(), 7.0)].into()
        );
    }

    #[test]
    fn what_it_does_not_know_is_left_out() {
        let place = Place::parse("#/tree?row=many&theme=pink&zoom=3&&find=%zz%41&story=row-1");
        assert_eq!((place.focus.row, place.focus.details), (None, None));
        assert_eq!(place.theme, Theme::System);
        assert_eq!(place.focus.find, "%zzA");
    }
}
