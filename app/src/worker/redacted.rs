//! The open traces with their names replaced, for files to share.

use dormer_core::compare::Side;
use dormer_core::output::export::pair::{Cache, Input};
use dormer_core::output::redact::redact;
use dormer_core::{Profile, Report, output::export};

use super::Analysis;
use super::files::Files;

/// The open traces without their names.
pub(super) struct Redacted {
    target: RedactedTrace,
    reference: Option<RedactedTrace>,
    cache: Cache,
}

/// A trace and its report.
struct RedactedTrace {
    profile: Profile,
    report: Report,
}

impl RedactedTrace {
    fn new(analysis: &Analysis) -> RedactedTrace {
        let profile = redact(analysis.analyzed());
        RedactedTrace {
            report: Report::new(&profile, &analysis.report.options),
            profile,
        }
    }
}

impl Redacted {
    /// Analyzes everything again, which takes as long as opening the traces, except for reading them.
    pub(super) fn new(target: &Analysis, reference: Option<&Analysis>) -> Redacted {
        Redacted {
            target: RedactedTrace::new(target),
            reference: reference.map(RedactedTrace::new),
            cache: Cache::default(),
        }
    }

    /// The input of their files.
    pub(super) fn files(&self) -> Files<'_> {
        Files {
            target: export::Input::new(&self.target.profile, &self.target.report),
            comparison: self.comparison(),
            is_redacted: true,
        }
    }

    fn comparison(&self) -> Option<Input<'_>> {
        let (reference, target) = (self.reference.as_ref()?, &self.target);
        // The names of their files could reveal what they are.
        let reference = Side::new("reference", &reference.profile, &reference.report);
        let target = Side::new("target", &target.profile, &target.report);
        Some(Input::new(reference, target, &self.cache))
    }
}
