//! One of the two traces.

use crate::profile::Profile;
use crate::report::Report;

/// One of the two traces that are compared, as it was read and judged on its own GPU.
#[derive(Debug, Clone, Copy)]
pub struct Side<'a> {
    /// What it is called in tables and prose; the two names differ.
    pub name: &'a str,
    /// What the trace means.
    pub profile: &'a Profile,
    /// How it was judged: [`Report::options`] has the GPU, the basis and the events that count.
    pub report: &'a Report,
}

impl<'a> Side<'a> {
    /// Of a trace and what is said about it.
    pub fn new(name: &'a str, profile: &'a Profile, report: &'a Report) -> Side<'a> {
        Side {
            name,
            profile,
            report,
        }
    }
}
