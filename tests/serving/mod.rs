//! Steps of serving engines and diffusion pipelines, in real traces.

mod steps;
mod with_capture;
mod without_capture;

use dormer_core::import::import;
use dormer_core::profile::Profile;
use dormer_core::profile::graphs::capture::CaptureFile;
use dormer_core::report::overview::ServingFacts;

use crate::support::opened::{profile, report};
use crate::support::shared;

/// A trace of a serving engine, and the facts about its steps.
fn steps_of(trace: Option<Vec<u8>>) -> Option<(Profile, ServingFacts)> {
    let profile = profile(trace?);
    let serving = report(&profile).overview.serving?;
    Some((profile, serving))
}

/// A trace of a serving engine merged with its capture.
pub(crate) fn captured(name: &str) -> Option<Profile> {
    let trace = import(&shared::serving(name)?).unwrap();
    let file = format!("{name}.capture");
    let capture = CaptureFile::new(&file, import(&shared::serving(&file)?), &[]);
    Some(Profile::with_captures(trace, &[capture]))
}

/// The value of a fact, or an empty text.
fn fact(serving: &ServingFacts, label: &str) -> String {
    let mut facts = serving.all_facts().into_iter();
    let found = facts.find(|(known, _)| known == label);
    found.map_or(String::new(), |(_, value)| value)
}

/// The percentage of busy time whose work is known.
fn known_percent(profile: &Profile) -> f64 {
    let report = report(profile);
    let known = fact(report.overview.serving.as_ref().unwrap(), "Known work");
    known.split_once(' ').unwrap().0.parse().unwrap()
}

/// Means of rates are close to the rate of the mean time.
fn is_near(seen: f64, expected: f64) -> bool {
    (seen / expected - 1.0).abs() < 0.006
}
