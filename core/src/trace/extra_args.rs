//! Event arguments that were kept as raw text, as the profiler wrote them: `"key": value, …`.

use serde_json::{Map, Value};

use super::devices::repaired;

/// The text after a key and its colon: the value and all that follows it.
pub(crate) fn behind<'a>(args: &'a str, key: &str) -> Option<&'a str> {
    let rest = args.match_indices(key).find_map(|(at, _)| {
        let before = args.get(..at)?;
        let rest = args.get(at + key.len()..)?.strip_prefix('"')?;
        let rest = rest.trim_start().strip_prefix(':')?;
        before.ends_with('"').then_some(rest)
    })?;
    Some(rest.trim_start())
}

/// The value of a key, a string without its quotes.
pub(crate) fn value<'a>(args: &'a str, key: &str) -> Option<&'a str> {
    let rest = behind(args, key)?;
    match rest.strip_prefix('"') {
        Some(text) => text.get(..text.find('"')?),
        None => {
            let end = rest.find([',', '}']).unwrap_or(rest.len());
            Some(rest.get(..end)?.trim_end()).filter(|text| !text.is_empty())
        }
    }
}

/// All arguments; invalid numbers such as `NaN` become null.
pub(crate) fn object(args: &str) -> Option<Map<String, Value>> {
    let text = format!("{{{args}}}");
    let read = serde_json::from_str(&text).or_else(|_| serde_json::from_str(&repaired(&text)));
    read.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_read_by_its_key() {
        let args = r#""device": 0, "bytes" : 38535168, "kind": "HtoD", "In msg nelems":42, "In split size": "[]""#;
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

    #[test]
    fn a_number_that_is_none_hides_no_other_argument() {
        let args = object(r#""warps per SM": NaN, "blocks per SM": -Infinity, "Group size": 8"#);
        let args = args.unwrap();
        assert_eq!(args["warps per SM"], Value::Null);
        assert_eq!(args["Group size"], 8);
        assert_eq!(object(r#""Group size": [8"#), None);
    }
}
