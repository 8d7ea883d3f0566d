//! Representative steps under steady load.
//!
//! The number of requests in a step shows how many run concurrently. Steps near the maximum are under full load;
//! ramp-up and drain are not.

use std::ops::Range;

use super::Serving;
use crate::base::labels::labeled;
use crate::base::sort::Arrange;
use crate::names::batch::{Batch, Phase};

labeled! {
    /// How steps are selected.
    pub enum SteadyKind {
        /// The longest run of decode steps near the maximum number of requests.
        Decode => "steady decode" as "steady",
        /// TraceLens's selection: the window whose share of prefill steps matches that of all steps under full load.
        Mixed => "TraceLens: mixed" as "tracelens-mixed",
        /// TraceLens's selection: the longest run of decode steps under full load.
        DecodeOnly => "TraceLens: decode only" as "tracelens-decode",
        /// TraceLens's selection: the longest run of prefill steps under full load.
        PrefillDecode => "TraceLens: prefill-decode" as "tracelens-prefill",
    }
}

/// A selection of consecutive steps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Steady {
    /// How they are selected.
    pub kind: SteadyKind,
    /// Positions in [`Serving::steps`].
    pub steps: Range<usize>,
}

/// Number of steps that TraceLens asks for.
const ASKED: usize = 32;
/// Number of steps near the maximum number of requests that open a region, and of other steps that close it.
const TURNS_AT: usize = 6;
/// Tolerance around the maximum number of requests, as a fraction of it.
const NEAR: f64 = 0.1;
/// Fewer steps are not a load.
const LEAST_STEPS: usize = 3;

impl Serving {
    /// Selections of steps under steady load, if annotations contain the requests of each step; empty for fewer than
    /// three steps.
    pub fn steady(&self) -> Vec<Steady> {
        let batches: Option<Vec<Batch>> = self.steps.iter().map(|step| step.batch).collect();
        let loads: Option<Vec<Load>> = batches
            .filter(|all| all.len() >= LEAST_STEPS)
            .and_then(|all| all.iter().map(Load::new).collect());
        let Some(loads) = loads else {
            return Vec::new();
        };
        let most = loads.iter().map(|load| load.requests).max().unwrap_or(0);
        let own = longest(&loads, 0..loads.len(), |load| {
            !load.has_prefill && load.requests > 0 && is_near(load, most, NEAR)
        });
        let own = own.filter(|steps| steps.len() >= LEAST_STEPS);
        let own = own.map(|steps| (SteadyKind::Decode, steps));
        let all = own.into_iter().chain(as_tracelens(&loads, ASKED));
        all.map(|(kind, steps)| Steady { kind, steps }).collect()
    }
}

/// The load of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Load {
    requests: u64,
    has_prefill: bool,
}

impl Load {
    /// `None` if the batch is not from a serving engine, or the number of requests is unknown.
    fn new(batch: &Batch) -> Option<Load> {
        let has_prefill = match batch.phase {
            Phase::Diffusion => return None,
            Phase::Prefill | Phase::Mixed => true,
            Phase::Decode | Phase::Draft | Phase::Idle => false,
        };
        Some(Load {
            requests: batch.requests()?,
            has_prefill,
        })
    }
}

fn is_near(load: &Load, most: u64, share: f64) -> bool {
    let slack = (share * most as f64).max(1.0);
    most.abs_diff(load.requests) as f64 <= slack
}

/// The longest run of matching steps; the first of several.
fn longest(
    loads: &[Load],
    within: Range<usize>,
    is_one: impl Fn(&Load) -> bool,
) -> Option<Range<usize>> {
    let mut best: Option<Range<usize>> = None;
    let mut start = within.start;
    for at in within.start..=within.end {
        let goes_on = at < within.end && loads.get(at).is_some_and(&is_one);
        if goes_on {
            continue;
        }
        let is_longer = best.as_ref().is_none_or(|best| at - start > best.len());
        if at > start && is_longer {
            best = Some(start..at);
        }
        start = at + 1;
    }
    best
}

/// The windows that TraceLens selects, with the given number of steps.
fn as_tracelens(loads: &[Load], asked: usize) -> Vec<(SteadyKind, Range<usize>)> {
    let regions = regions(loads, asked);
    let Some(region) = regions
        .iter()
        .max_by_key(|one| (one.len(), usize::MAX - one.start))
    else {
        return Vec::new();
    };
    let cut = |steps: Range<usize>| steps.start..steps.end.min(steps.start + asked);
    let decode = longest(loads, region.clone(), |load| !load.has_prefill);
    let prefill = longest(loads, region.clone(), |load| load.has_prefill);
    let picked = [
        (
            SteadyKind::Mixed,
            mixed(loads, &regions, region.clone(), asked),
        ),
        (SteadyKind::DecodeOnly, decode.map(cut)),
        (SteadyKind::PrefillDecode, prefill.map(cut)),
    ];
    let picked = picked.into_iter();
    picked
        .filter_map(|(kind, steps)| Some((kind, steps?)))
        .collect()
}

/// The regions of full load.
fn regions(loads: &[Load], asked: usize) -> Vec<Range<usize>> {
    let share = if loads.len() < asked {
        2.0 * NEAR
    } else {
        NEAR
    };
    let most = loads.iter().map(|load| load.requests).max().unwrap_or(0);
    let mut regions = Vec::new();
    let (mut open, mut n_seen) = (None, 0);
    for (at, load) in loads.iter().enumerate() {
        if is_near(load, most, share) == open.is_some() {
            continue;
        }
        n_seen += 1;
        if n_seen < TURNS_AT {
            continue;
        }
        n_seen = 0;
        open = match open {
            None => Some((at + 1).saturating_sub(TURNS_AT)),
            Some(start) => {
                regions.push(start..at);
                None
            }
        };
    }
    // A region that is still open at the end loses its last step.
    let last = loads.len().saturating_sub(1);
    regions.extend(open.map(|start| start..last));
    regions.retain(|region| !region.is_empty());
    if regions.is_empty() {
        let dropped = loads.len().min(asked.saturating_sub(loads.len()).max(8)) / 2;
        let all = dropped..loads.len().saturating_sub(dropped);
        regions.extend((!all.is_empty()).then_some(all));
    }
    regions
}

/// The window whose share of prefill steps is closest to that of all regions; among equals the one with more requests.
fn mixed(
    loads: &[Load],
    regions: &[Range<usize>],
    region: Range<usize>,
    asked: usize,
) -> Option<Range<usize>> {
    let share = |steps: &[Range<usize>]| {
        let all = || {
            steps
                .iter()
                .flat_map(|one| loads.get(one.clone()).unwrap_or_default())
        };
        all().filter(|load| load.has_prefill).count() as f64 / all().count().max(1) as f64
    };
    let wanted = share(regions);
    let stride = (asked / (asked / 2).clamp(1, 10)).max(1);
    let last = region.end.saturating_sub(asked).max(region.start);
    let starts = (region.start..=last).step_by(stride);
    let windows = starts.map(|start| start..region.end.min(start + asked));
    let mut windows: Vec<Range<usize>> = windows
        .filter(|steps| {
            let mut own = loads.get(steps.clone()).unwrap_or_default().iter();
            own.any(|load| load.has_prefill)
        })
        .collect();
    windows.arrange_by(|one, other| {
        let away = |steps: &Range<usize>| (share(std::slice::from_ref(steps)) - wanted).abs();
        let requests = |steps: &Range<usize>| -> u64 {
            let own = loads.get(steps.clone()).unwrap_or_default().iter();
            own.map(|load| load.requests).sum()
        };
        let by_share = away(one).total_cmp(&away(other));
        by_share.then_with(|| requests(other).cmp(&requests(one)))
    });
    windows.into_iter().next()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A digit is a decode step with ten times as many requests; a letter is a step with prefill.
    fn loads(steps: &str) -> Vec<Load> {
        let load = |step: char| Load {
            requests: match step.to_digit(36) {
                Some(n @ 0..=9) => u64::from(n) * 10,
                n => u64::from(n.unwrap_or(0) - 9) * 10,
            },
            has_prefill: step.is_alphabetic(),
        };
        steps.chars().map(load).collect()
    }

    #[test]
    fn regions_of_full_load() {
        #[rustfmt::skip]
        let cases: [(&str, usize, &[[usize; 2]]); 5] = [
            // The sixth step near the peak opens a region that starts five steps earlier; it stays open to the end,
            // except for the last step.
            ("1234999999999", 4, &[[4, 12]]),
            // Other steps in between do not reset the count, so the region may start among them.
            ("99919919", 4, &[[2, 7]]),
            // The sixth other step closes it.
            ("9999999111111", 4, &[[0, 12]]),
            // No region: all steps except four at each end.
            ("1234567891", 4, &[[4, 6]]),
            // Nothing is left.
            ("19", 32, &[]),
        ];
        for (steps, asked, expected) in cases {
            let found = regions(&loads(steps), asked).into_iter();
            let found: Vec<[usize; 2]> = found.map(|region| [region.start, region.end]).collect();
            assert_eq!(found, expected, "{steps}");
        }
    }

    #[test]
    fn runs_and_windows() {
        let all = loads("123999i999999i99999999");
        let kinds: Vec<_> = as_tracelens(&all, 4);
        let expected = [
            (SteadyKind::Mixed, 3..7),
            (SteadyKind::DecodeOnly, 14..18),
            (SteadyKind::PrefillDecode, 6..7),
        ];
        assert_eq!(kinds, expected);
        let decode = |load: &Load| !load.has_prefill && is_near(load, 90, NEAR);
        assert_eq!(longest(&all, 0..all.len(), decode), Some(14..22));
        assert_eq!(longest(&[], 0..0, decode), None);
    }
}
