//! The documents as Markdown.

use super::{Input, Listed};
use crate::output::document::markdown;
use crate::output::standalone;

/// For those who decide.
pub const FAIR: &str = "standalone_analysis_fair.md";
/// For those who check.
pub const ROUGH: &str = "standalone_analysis_rough.md";

pub(super) fn list(_: &Input) -> Vec<Listed> {
    let listed = |path: &str, title| Listed {
        path: path.to_owned(),
        title,
    };
    vec![
        listed(FAIR, "The report: what to do first, and the details"),
        listed(ROUGH, "Working notes: every step with its raw tables"),
    ]
}

pub(super) fn write(input: &Input, path: &str) -> Option<Vec<u8>> {
    let Input { profile, report } = *input;
    let document = match path {
        FAIR => standalone::fair(profile, report),
        ROUGH => standalone::rough(profile, report),
        _ => return None,
    };
    Some(markdown(&document).into_bytes())
}
