//! The comparison for programs.

use super::Input;
use crate::output::comparison_json;
use crate::output::export::Listed;

pub(super) fn list(_: &Input) -> Vec<Listed> {
    vec![Listed {
        path: "comparison.json".to_owned(),
        title: "The comparison, for programs",
    }]
}

pub(super) fn write(input: &Input, _: &str) -> Option<Vec<u8>> {
    let text = serde_json::to_string_pretty(&comparison_json(input.comparison())).ok()?;
    Some(text.into_bytes())
}
