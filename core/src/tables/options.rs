//! The options that affect figures, as text and as a hash.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::hash::fnv_hex;
use crate::assess::Thresholds;
use crate::hardware::GPUS;
use crate::report::ReportOptions;

/// The options as JSON: the GPU (null for the one that each trace names), the version of the GPU table, the basis, the
/// event population, non-default thresholds, a hash of the user's models, whether names were redacted, and further
/// named options such as a part of the trace or additional files. Keys are sorted, so that the text and its hash do not
/// depend on how JSON maps are compiled.
pub fn options_text(asked: &ReportOptions, is_redacted: bool, more: &[(&str, String)]) -> String {
    let usual = Thresholds::default();
    let differ = Thresholds::ALL.iter().filter_map(|info| {
        let value = (info.get)(&asked.thresholds);
        let is_usual = value.total_cmp(&(info.get)(&usual)).is_eq();
        (!is_usual).then(|| (info.key.to_owned(), json!(value)))
    });
    let thresholds: BTreeMap<String, Value> = differ.collect();
    let gpu = asked.gpu.as_ref().map(|gpu| {
        let figures = fnv_hex(&[&format!("{gpu:?}")]);
        BTreeMap::from([("figures", figures), ("id", gpu.id.to_string())])
    });
    let known: Vec<String> = GPUS.iter().map(|gpu| format!("{gpu:?}")).collect();
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    let models = asked.perf_models.as_ref();
    let mut all = BTreeMap::from([
        ("basis", json!(asked.basis.label())),
        ("gpu", json!(gpu)),
        ("gpu_table", json!(fnv_hex(&known))),
        (
            "perf_models",
            json!(models.map(|models| fnv_hex(&[models.text()]))),
        ),
        ("redact", json!(is_redacted)),
        ("sheet_events", json!(asked.sheet_events)),
        ("thresholds", json!(thresholds)),
    ]);
    all.extend(more.iter().map(|(name, value)| (*name, json!(value))));
    json!(all).to_string()
}

/// Combines the options of several files: a list if they differ.
pub fn options_together<'a>(texts: impl IntoIterator<Item = &'a String>) -> String {
    let mut all: Vec<Value> = Vec::new();
    for text in texts {
        let of_file = match serde_json::from_str(text) {
            Ok(Value::Array(several)) => several,
            one => one.into_iter().collect(),
        };
        for options in of_file {
            if !all.contains(&options) {
                all.push(options);
            }
        }
    }
    let together = match all.len() {
        0 | 1 => all.pop().unwrap_or_else(|| Value::Object(Map::new())),
        _ => Value::Array(all),
    };
    together.to_string()
}

/// A hash of [`options_text`]: 16 hexadecimal digits.
pub fn options_hash(text: &str) -> String {
    fnv_hex(&[text])
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn choices_are_listed_in_order_of_the_alphabet() {
        let asked = ReportOptions {
            gpu: GPUS.first().cloned().map(Arc::new),
            ..ReportOptions::default()
        };
        let text = options_text(&asked, false, &[("step", "5".to_owned())]);
        let places = [
            "basis",
            "gpu",
            "figures",
            "id",
            "gpu_table",
            "redact",
            "step",
        ]
        .map(|key| text.find(&format!("\"{key}\":")).unwrap());
        assert!(places.is_sorted(), "{text}");
    }

    #[test]
    fn choices_of_several_files_are_listed_where_they_differ() {
        let [one, other] = [r#"{"redact":false}"#, r#"{"redact":true}"#];
        let both = format!("[{one},{other}]");
        let cases = [
            (vec![], "{}"),
            (vec![one, one], one),
            (vec![one, other], &both),
            (vec![&both, other], &both),
        ];
        for (texts, expected) in cases {
            let texts: Vec<String> = texts.into_iter().map(str::to_owned).collect();
            assert_eq!(options_together(&texts), expected);
        }
    }
}
