//! Single arguments of events, read from the raw text that the profiler wrote.

use crate::trace::{EventId, Trace};

/// An argument of an event as text, strings without their quotes; `None` where the event has no
/// such argument.
pub(super) fn arg<'a>(trace: &'a Trace, event: EventId, key: &str) -> Option<&'a str> {
    let args = trace.strings.get(trace.events.extra_args(event)?);
    value(args, key)
}

/// An argument that is a number, never negative.
pub(super) fn number(trace: &Trace, event: EventId, key: &str) -> Option<f64> {
    let number: f64 = arg(trace, event, key)?.parse().ok()?;
    (number.is_finite() && number >= 0.0).then_some(number)
}

/// The value of a key in `"key": value, …`.
fn value<'a>(args: &'a str, key: &str) -> Option<&'a str> {
    let rest = args.match_indices(key).find_map(|(at, _)| {
        let before = args.get(..at)?;
        let rest = args.get(at + key.len()..)?.strip_prefix('"')?;
        let rest = rest.trim_start().strip_prefix(':')?;
        before.ends_with('"').then_some(rest)
    })?;
    let rest = rest.trim_start();
    match rest.strip_prefix('"') {
        Some(text) => text.get(..text.find('"')?),
        None => {
            let end = rest.find([',', '}']).unwrap_or(rest.len());
            Some(rest.get(..end)?.trim_end()).filter(|text| !text.is_empty())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_read_by_its_key() {
        let args = r#""device": 0, "bytes": 38535168, "kind": "HtoD", "In msg nelems":42, "In split size": "[]""#;
        let cases = [
            ("bytes", Some("38535168")),
            ("kind", Some("HtoD")),
            ("In msg nelems", Some("42")),
            ("In split size", Some("[]")),
            ("device", Some("0")),
            ("HtoD", None),
            ("split size", None),
            ("", None),
        ];
        for (key, expected) in cases {
            assert_eq!(value(args, key), expected, "{key}");
        }
    }
}
