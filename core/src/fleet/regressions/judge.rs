//! Whether a build of a series differs from previous ones.

use super::LEAST_BASE_BUILDS;
use super::series::{InBuild, Series};
use crate::base::group::grouped;
use crate::fleet::statistics::{Ratio, discoveries, median, noise, p_of_larger, ratio};

/// A build is compared with this many previous builds.
const BASE_BUILDS: usize = 10;
/// Smaller changes are ignored.
const LEAST_CHANGE: f64 = 0.03;
/// With at least this many runs, a build is evaluated by its own spread.
const LEAST_RUNS: usize = 3;
/// The maximum p-value of a change.
const MOST_P: f64 = 0.01;
/// The false discovery rate among the changes of a build.
const FALSE_DISCOVERIES: f64 = 0.05;

/// A build of a series compared with previous ones.
#[derive(Debug, Clone)]
pub(super) struct Judged {
    pub(super) ratio: Ratio,
    /// The p-value; `None` if there are too few runs for the test.
    pub(super) p: Option<f64>,
    /// Number of previous builds that it is compared with.
    pub(super) n_base: usize,
    /// Whether the change is more than noise.
    pub(super) is_alarm: bool,
}

impl Judged {
    pub(super) fn is_slower(&self) -> bool {
        self.ratio.ratio > 1.0
    }

    /// The relative change, slower or faster, never negative.
    fn change(&self) -> f64 {
        self.ratio.ratio.max(1.0 / self.ratio.ratio) - 1.0
    }
}

/// Evaluates every build of every series, by index in the series; the first build, which has no previous ones, gives
/// `None`.
pub(super) fn judge(all: &[Series]) -> Vec<Vec<Option<Judged>>> {
    let judged = all.iter().map(|series| {
        let builds = 0..series.builds.len();
        builds.map(|at| compared(series, at)).collect()
    });
    let mut judged: Vec<Vec<Option<Judged>>> = judged.collect();
    // Which tests of a build are significant, given their number, for each direction separately.
    let tested = all.iter().enumerate().flat_map(|(of, series)| {
        let builds = series.builds.iter().enumerate();
        builds.map(move |(at, build)| (build.build, (of, at)))
    });
    for (_, places) in grouped(tested, Vec::push) {
        for is_slower in [true, false] {
            let of_direction: Vec<(&(usize, usize), f64)> = places
                .iter()
                .filter_map(|place| {
                    let judged = judged.get(place.0)?.get(place.1)?.as_ref()?;
                    // In the other direction the same test would not be significant: its p is near 1, but it still
                    // counts as a test.
                    let p = judged.p?;
                    Some((
                        place,
                        if judged.is_slower() == is_slower {
                            p
                        } else {
                            1.0
                        },
                    ))
                })
                .collect();
            let p: Vec<f64> = of_direction.iter().map(|(_, p)| *p).collect();
            let significant = discoveries(&p, FALSE_DISCOVERIES);
            for ((place, p), is_significant) in of_direction.into_iter().zip(significant) {
                let judged = judged.get_mut(place.0).and_then(|of| of.get_mut(place.1));
                if let Some(Some(judged)) = judged
                    && judged.is_slower() == is_slower
                {
                    judged.is_alarm =
                        is_significant && p < MOST_P && judged.change() > LEAST_CHANGE;
                }
            }
        }
    }
    judged
}

/// Compares a build of a series with previous ones; whether tests are significant is decided later.
fn compared(series: &Series, at: usize) -> Option<Judged> {
    let build = series.builds.get(at)?;
    let base = base(series, at);
    let new_ns = times([build]);
    let base_ns = times(base);
    let ratio = ratio(&new_ns, &base_ns)?;
    let mut judged = Judged {
        ratio,
        p: None,
        n_base: base.len(),
        is_alarm: false,
    };
    if new_ns.len() >= LEAST_RUNS {
        judged.p = Some(match judged.is_slower() {
            true => p_of_larger(&new_ns, &base_ns),
            false => p_of_larger(&base_ns, &new_ns),
        });
    } else if base.len() >= LEAST_BASE_BUILDS {
        let medians = base.iter().filter_map(|build| median(&times([build])));
        let noise = noise(&medians.collect::<Vec<f64>>())?;
        judged.is_alarm = judged.change() > LEAST_CHANGE.max(noise);
    }
    Some(judged)
}

/// The builds that a build of a series is compared with.
pub(super) fn base(series: &Series, at: usize) -> &[InBuild] {
    let builds = series.builds.get(..at).unwrap_or_default();
    &builds[builds.len().saturating_sub(BASE_BUILDS)..]
}

fn times<'a>(builds: impl IntoIterator<Item = &'a InBuild>) -> Vec<f64> {
    let builds = builds.into_iter();
    let values = builds.flat_map(|build| build.values.iter().map(|(ns, _)| *ns));
    values.collect()
}
