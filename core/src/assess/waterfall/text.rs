//! The waterfall as text.

use super::{Cause, Detail, Fact, Step, Waterfall};
use crate::base::format;

/// Below this, the bandwidth of an operation says how short its kernel is, not how fast it reads.
const LEAST_BANDWIDTH_PERCENT: f64 = 5.0;

/// A step as text.
#[derive(Debug, Clone, PartialEq)]
pub struct StepLine {
    /// Its cause; "Roofline" and "Measured" at the ends.
    pub label: &'static str,
    /// Its name in files.
    pub key: &'static str,
    /// The time that it adds.
    pub ns: i64,
    /// By what factor the time increases.
    pub factor: f64,
    /// The sizes that it follows from; may be empty.
    pub text: String,
}

/// The steps between the roofline time and the measured time.
pub fn step_lines(waterfall: &Waterfall) -> Vec<StepLine> {
    let line = |step: &Step| StepLine {
        label: step.cause.label(),
        key: step.cause.key(),
        ns: step.ns,
        factor: step.factor,
        text: step.text(),
    };
    waterfall.steps.iter().map(line).collect()
}

impl Waterfall {
    /// The reasons for the steps, and the causes without a factor, each as a phrase.
    pub fn causes(&self) -> Vec<String> {
        let steps = self.steps.iter().map(|step| step.text());
        let facts = self.facts.iter().map(Fact::text);
        steps.chain(facts).filter(|text| !text.is_empty()).collect()
    }
}

impl Step {
    /// Whether its factor tells more than its time. Measured times have none, and that of hardly any data is any number.
    pub fn has_factor(&self) -> bool {
        let is_of_little_data = matches!(self.detail, Detail::Bandwidth { percent, .. } if percent < LEAST_BANDWIDTH_PERCENT);
        !self.cause.is_measured() && self.cause != Cause::LaunchScale && !is_of_little_data
    }

    /// The sizes that it follows from: "8×8 results in tiles of 64×112".
    pub fn text(&self) -> String {
        match self.detail {
            Detail::None if self.cause == Cause::LaunchScale => {
                "kernels below 10 µs, of which about 2 µs are their launch".to_owned()
            }
            Detail::None if self.cause == Cause::ReadAgain => {
                "a kernel of its own for the gradients of scale and shift".to_owned()
            }
            Detail::None => String::new(),
            Detail::Tile {
                result: (m, n),
                tile: (first, second),
            } => {
                let [m, n] = [m, n].map(format::count);
                format!("{m}×{n} in tiles of {first}×{second}")
            }
            Detail::Waves {
                tiles,
                workgroups,
                units,
            } => {
                let waves = format::number(workgroups as f64 / f64::from(units));
                let split = tiles
                    .filter(|tiles| *tiles < workgroups)
                    .map(|tiles| format!("{}, split along K: ", format::counted(tiles, "tile")));
                let what = match tiles == Some(workgroups) {
                    true => format::counted(workgroups, "tile"),
                    false => format::counted(workgroups, "workgroup"),
                };
                let split = split.unwrap_or_default();
                format!("{split}{what} on {units} compute units, {waves} waves")
            }
            Detail::Padded {
                dimension,
                size,
                padded,
            } => {
                let [size, padded] = [size, padded].map(format::count);
                format!("{dimension} {size} computed as {padded}")
            }
            // So little data takes no time to move: the kernel has a shortest time.
            Detail::Bandwidth { percent, least_ns } if percent < LEAST_BANDWIDTH_PERCENT => {
                format!(
                    "the fastest other operation on as little data takes {}",
                    format::time_ns(least_ns)
                )
            }
            Detail::Bandwidth { percent, .. } => {
                let percent = format::percent(percent);
                format!(
                    "the fastest other operation of about this size reaches {percent} of the bandwidth"
                )
            }
            Detail::Helper {
                kind,
                n,
                n_other_kinds,
            } => {
                let more = match n_other_kinds {
                    0 => String::new(),
                    n => format!(", and {}", format::counted(n as u64, "other kind")),
                };
                format!("{}{more}", format::counted(n, kind.label()))
            }
            Detail::Calls {
                median_ns,
                longest_ns,
            } => {
                let [median, longest] = [median_ns, longest_ns].map(format::time_ns);
                match self.cause {
                    Cause::WarmUp => format!("first call {longest}, median {median}"),
                    _ => format!("median {median}, longest {longest}"),
                }
            }
        }
    }
}
