//! The documents as Markdown.

use super::Listed;
use crate::document::markdown;
use crate::profile::Profile;
use crate::report::Report;
use crate::standalone;

/// For those who decide.
pub const FAIR: &str = "standalone_analysis_fair.md";
/// For those who check.
pub const ROUGH: &str = "standalone_analysis_rough.md";

pub(super) fn list(_: &Profile, _: &Report) -> Vec<Listed> {
    let listed = |path: &str, title| Listed {
        path: path.to_owned(),
        title,
    };
    vec![
        listed(FAIR, "The report: what to do first, and the details"),
        listed(ROUGH, "Working notes: every step with its raw tables"),
    ]
}

pub(super) fn write(profile: &Profile, report: &Report, path: &str) -> Option<Vec<u8>> {
    let document = match path {
        FAIR => standalone::fair(profile, report),
        ROUGH => standalone::rough(profile, report),
        _ => return None,
    };
    Some(markdown(&document).into_bytes())
}
