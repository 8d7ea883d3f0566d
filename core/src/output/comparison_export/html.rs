//! The comparison as one page that needs nothing else.

use super::Input;
use crate::output::comparison;
use crate::output::document::html::html;
use crate::output::export::Listed;

pub(super) fn list(_: &Input) -> Vec<Listed> {
    vec![Listed {
        path: "report.html".to_owned(),
        title: "The comparison as one page, with charts, for printing",
    }]
}

pub(super) fn write(input: &Input, _: &str) -> Option<Vec<u8>> {
    Some(html(&comparison::illustrated(input.comparison())).into_bytes())
}
