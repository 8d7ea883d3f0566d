//! Two small traces to compare, for tests.

use super::pair::Pair;
use super::side::Side;
use crate::profile::Profile;
use crate::report::{Report, ReportOptions};
use crate::testing::{Timetable, options_on};

/// Judges two timetables, each on its GPU (`""` for one that is not known), and hands them over as
/// the two sides.
pub(crate) fn sides<T>(
    reference: &Timetable,
    target: &Timetable,
    gpus: Option<(&str, &str)>,
    then: impl FnOnce(Pair<Side>) -> T,
) -> T {
    profiles(&reference.profile(), &target.profile(), gpus, then)
}

/// The same of profiles.
pub(crate) fn profiles<T>(
    reference: &Profile,
    target: &Profile,
    gpus: Option<(&str, &str)>,
    then: impl FnOnce(Pair<Side>) -> T,
) -> T {
    let options = |gpu: Option<&str>| match gpu {
        None | Some("") => ReportOptions::default(),
        Some(gpu) => options_on(gpu),
    };
    let reports = Pair {
        reference: Report::new(reference, &options(gpus.map(|(gpu, _)| gpu))),
        target: Report::new(target, &options(gpus.map(|(_, gpu)| gpu))),
    };
    then(Pair {
        reference: Side {
            name: "before",
            profile: reference,
            report: &reports.reference,
        },
        target: Side {
            name: "after",
            profile: target,
            report: &reports.target,
        },
    })
}
