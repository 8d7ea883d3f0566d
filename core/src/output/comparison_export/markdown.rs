//! The documents as Markdown.

use super::Input;
use crate::output::comparison;
use crate::output::document::markdown;
use crate::output::export::Listed;

/// For those who decide.
const FAIR: &str = "comparative_analysis_fair.md";
/// For those who check.
const ROUGH: &str = "comparative_analysis_rough.md";

pub(super) fn list(_: &Input) -> Vec<Listed> {
    let listed = |path: &str, title| Listed {
        path: path.to_owned(),
        title,
    };
    vec![
        listed(
            FAIR,
            "The comparison: where the target falls behind, and what to do",
        ),
        listed(
            ROUGH,
            "Working notes: what was expected, and what was measured",
        ),
    ]
}

pub(super) fn write(input: &Input, path: &str) -> Option<Vec<u8>> {
    let document = match path {
        FAIR => comparison::fair(input.comparison()),
        ROUGH => comparison::rough(input.comparison()),
        _ => return None,
    };
    Some(markdown(&document).into_bytes())
}
