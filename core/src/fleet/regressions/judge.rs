//! Whether a build of a series differs from those before it.

use super::LEAST_BASE_BUILDS;
use super::series::{InBuild, Series};
use crate::base::group::grouped;
use crate::fleet::statistics::{Ratio, discoveries, median, noise, p_of_larger, ratio};

/// A build is compared with so many before it.
const BASE_BUILDS: usize = 10;
/// A smaller change is none.
const LEAST_CHANGE: f64 = 0.03;
/// From so many runs on a build is judged by its own spread.
const LEAST_RUNS: usize = 3;
/// So likely by chance is no change.
const MOST_P: f64 = 0.01;
/// Of the changes of a build so many may be by chance.
const FALSE_DISCOVERIES: f64 = 0.05;

/// A build of a series against those before it.
#[derive(Debug, Clone)]
pub(super) struct Judged {
    pub(super) ratio: Ratio,
    /// How likely by chance; `None` where the runs are too few for the test.
    pub(super) p: Option<f64>,
    /// Builds that it is compared with: so many before it.
    pub(super) n_base: usize,
    /// Whether it is more than noise.
    pub(super) is_alarm: bool,
}

impl Judged {
    pub(super) fn is_slower(&self) -> bool {
        self.ratio.ratio > 1.0
    }

    /// By what share it is slower, or the others are.
    fn change(&self) -> f64 {
        self.ratio.ratio.max(1.0 / self.ratio.ratio) - 1.0
    }
}

/// Every build of every series that has builds before it, by the place in the series; the first has none.
pub(super) fn judge(all: &[Series]) -> Vec<Vec<Option<Judged>>> {
    let judged = all.iter().map(|series| {
        let builds = 0..series.builds.len();
        builds.map(|at| compared(series, at)).collect()
    });
    let mut judged: Vec<Vec<Option<Judged>>> = judged.collect();
    // The tests of a build, each direction by itself: which stand among so many.
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
                    // In the other direction the same test would not stand: its p is near 1, and it counts as a test.
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
            let stand = discoveries(&p, FALSE_DISCOVERIES);
            for ((place, p), stands) in of_direction.into_iter().zip(stand) {
                let judged = judged.get_mut(place.0).and_then(|of| of.get_mut(place.1));
                if let Some(Some(judged)) = judged
                    && judged.is_slower() == is_slower
                {
                    judged.is_alarm = stands && p < MOST_P && judged.change() > LEAST_CHANGE;
                }
            }
        }
    }
    judged
}

/// A build of a series against those before it; whether tests stand is told later.
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
