//! The report as one page that needs nothing else.

use super::{Input, Listed};
use crate::output::document::html::html;
use crate::output::standalone;

pub(super) fn list(_: &Input) -> Vec<Listed> {
    vec![Listed {
        path: "report.html".to_owned(),
        title: "The report as one page, with charts, for printing",
    }]
}

pub(super) fn write(input: &Input, _: &str) -> Option<Vec<u8>> {
    let document = standalone::illustrated(input.profile, input.report);
    Some(html(&document).into_bytes())
}
