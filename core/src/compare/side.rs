//! One of the two traces.

use crate::profile::Profile;
use crate::report::Report;

/// One of the two compared traces, as read and analyzed with its own GPU.
#[derive(Debug, Clone, Copy)]
pub struct Side<'a> {
    /// Its name in tables and prose; the two names differ.
    pub name: &'a str,
    /// The profile of the trace.
    pub profile: &'a Profile,
    /// Its report: [`Report::options`] has the GPU, the basis and the events that count.
    pub report: &'a Report,
}

impl<'a> Side<'a> {
    /// From a profile and its report.
    pub fn new(name: &'a str, profile: &'a Profile, report: &'a Report) -> Side<'a> {
        Side {
            name,
            profile,
            report,
        }
    }
}
