//! Opens traces like the command line.

use std::sync::Arc;

use dormer_core::compare::Side;
use dormer_core::hardware::{self, GpuSpec};
use dormer_core::import::import;
use dormer_core::output::documents::{Documents, check::Verdict};
use dormer_core::profile::Profile;
use dormer_core::report::{Report, ReportOptions};

/// No GPU is chosen.
pub(crate) const NO_GPU: Option<&GpuSpec> = None;

/// The profile of a trace.
pub(crate) fn profile(trace: impl AsRef<[u8]>) -> Profile {
    Profile::new(import(trace.as_ref()).unwrap())
}

pub(crate) fn report_on(profile: &Profile, gpu: Option<impl Into<Arc<GpuSpec>>>) -> Report {
    let options = ReportOptions {
        gpu: gpu.map(Into::into),
        ..ReportOptions::default()
    };
    Report::new(profile, &options)
}

/// Its report on the GPU that it was recorded on.
pub(crate) fn report(profile: &Profile) -> Report {
    report_on(profile, hardware::detect(&profile.trace.devices))
}

/// A trace and its report.
pub(crate) struct Opened {
    pub(crate) name: String,
    pub(crate) profile: Profile,
    pub(crate) report: Report,
}

impl Opened {
    /// With the GPU that it was recorded on.
    pub(crate) fn new(name: &str, trace: impl AsRef<[u8]>) -> Opened {
        let profile = profile(trace);
        let gpu = hardware::detect(&profile.trace.devices);
        Opened {
            name: name.to_owned(),
            report: report_on(&profile, gpu),
            profile,
        }
    }

    /// With another GPU, or none.
    pub(crate) fn on(
        name: &str,
        trace: impl AsRef<[u8]>,
        gpu: Option<impl Into<Arc<GpuSpec>>>,
    ) -> Opened {
        let profile = profile(trace);
        Opened {
            name: name.to_owned(),
            report: report_on(&profile, gpu),
            profile,
        }
    }

    pub(crate) fn side(&self) -> Side<'_> {
        Side::new(&self.name, &self.profile, &self.report)
    }
}

/// The rules that documents violate, and how.
pub(crate) fn broken_rules(documents: &impl Documents) -> Vec<String> {
    let checks = documents.checks().into_iter();
    let broken = checks.filter_map(|check| match check.verdict {
        Verdict::Fail(defects) => Some(format!("{}: {defects}", check.id)),
        _ => None,
    });
    broken.collect()
}
