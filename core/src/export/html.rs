//! The report as one page that needs nothing else.

use super::Listed;
use crate::document::html::html;
use crate::profile::Profile;
use crate::report::Report;
use crate::standalone;

pub(super) fn list(_: &Profile, _: &Report) -> Vec<Listed> {
    vec![Listed {
        path: "report.html".to_owned(),
        title: "The report as one page, with charts, for printing",
    }]
}

pub(super) fn write(profile: &Profile, report: &Report, _: &str) -> Option<Vec<u8>> {
    Some(html(&standalone::illustrated(profile, report)).into_bytes())
}
