//! The choices that change figures, as text and as a hash.

use serde_json::{Map, Value, json};

use super::hash::fnv_hex;
use crate::assess::Thresholds;
use crate::hardware::GPUS;
use crate::report::ReportOptions;

/// The choices as JSON: the GPU (null is the one that each trace names), the version of the table of
/// GPUs, the basis, the population, thresholds that differ from the usual ones, a hash of the user's
/// models, and whether names were taken out.
pub fn options_text(asked: &ReportOptions, is_redacted: bool) -> String {
    let usual = Thresholds::default();
    let differ = Thresholds::ALL.iter().filter_map(|info| {
        let value = (info.get)(&asked.thresholds);
        let is_usual = value.total_cmp(&(info.get)(&usual)).is_eq();
        (!is_usual).then(|| (info.key.to_owned(), json!(value)))
    });
    let thresholds: Map<String, Value> = differ.collect();
    let gpu = asked
        .gpu
        .as_ref()
        .map(|gpu| json!({ "id": &*gpu.id, "figures": fnv_hex(&[&format!("{gpu:?}")]) }));
    let known: Vec<String> = GPUS.iter().map(|gpu| format!("{gpu:?}")).collect();
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    let models = asked.perf_models.as_ref();
    json!({
        "gpu": gpu,
        "gpu_table": fnv_hex(&known),
        "basis": asked.basis.label(),
        "sheet_events": asked.sheet_events,
        "thresholds": thresholds,
        "perf_models": models.map(|models| fnv_hex(&[models.text()])),
        "redact": is_redacted,
    })
    .to_string()
}

/// A hash of [`options_text`]: 16 hexadecimal digits.
pub fn options_hash(text: &str) -> String {
    fnv_hex(&[text])
}
