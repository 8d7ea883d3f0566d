//! The work of the calls of both traces, and whether it is the same.

use super::super::op_side::OpSide;
use super::super::pair::Pair;
use super::super::side::Side;
use crate::hardware::Precision;
use crate::perf::{Unit, Work};

/// What both sides compute; the work that both do at least, if they compute the same with different operations.
#[derive(Default)]
pub(super) struct ComparedWork {
    pub(super) works: Pair<Vec<(Work, u64)>>,
    /// How often.
    pub(super) n_calls: Pair<u64>,
    /// Whether the sides compute different amounts.
    pub(super) differs: bool,
    /// It is the work of several operations, where the other side has fewer: they move more bytes, so that it tells the
    /// ratio of the times, but no roofline.
    pub(super) is_ratio_only: bool,
    /// How many times as much the target computes; `None` if unknown.
    pub(super) sizes_ratio: Option<f64>,
}

impl ComparedWork {
    /// The work of a call, if it is known for both sides and the same.
    pub(super) fn of_both(&self) -> Option<Work> {
        let first = self.works.as_ref().map(|works| works.first());
        let both = first
            .both()
            .filter(|_| !self.differs && !self.is_ratio_only)?;
        Some(both.target.0)
    }
}

/// The work per call of each operation, with its number of calls; empty unless all of it is known.
pub(super) fn works(side: &Side, op: &OpSide) -> Vec<(Work, u64)> {
    let operations = op.operations.iter();
    let works = operations.map(|at| {
        let work = side.report.evaluations.get(*at)?.work?;
        Some((work, side.profile.operations().get(*at)?.n_calls()))
    });
    works.collect::<Option<Vec<_>>>().unwrap_or_default()
}

/// Moves FP32 on matrix units to TF32.
pub(super) fn in_tf32(work: &mut Work) {
    if let Some(spec) = &mut work.compute
        && (spec.unit, spec.precision) == (Unit::Matrix, Precision::Fp32)
    {
        spec.precision = Precision::Tf32;
    }
}

pub(super) fn n_calls(works: &[(Work, u64)]) -> u64 {
    works.iter().map(|(_, calls)| *calls).sum()
}

/// The average FLOPs and bytes per call, if known in both traces.
fn means(works: &Pair<Vec<(Work, u64)>>) -> Option<Pair<[f64; 2]>> {
    let means = works.as_ref().map(|works| {
        let calls = works.iter().map(|(_, calls)| *calls).sum::<u64>().max(1) as f64;
        let mean = |amount: fn(&Work) -> f64| {
            let all = works.iter();
            all.map(|(work, calls)| amount(work) * *calls as f64)
                .sum::<f64>()
                / calls
        };
        let amounts = [
            mean(|work| work.flops),
            mean(|work| work.bytes.unwrap_or(0.0)),
        ];
        (!works.is_empty()).then_some(amounts)
    });
    means.both()
}

/// Whether the average work per call is known in both traces, and differs.
pub(super) fn works_differ(works: &Pair<Vec<(Work, u64)>>) -> bool {
    /// Rounding differences of sums in a different order are smaller.
    const ROUNDING: f64 = 1e-9;
    means(works).is_some_and(|means| {
        let mut pairs = means.reference.into_iter().zip(means.target);
        pairs.any(|(a, b)| (a - b).abs() > ROUNDING * a.abs().max(b.abs()))
    })
}

/// The ratio of FLOPs, which types do not change, or else of bytes.
pub(super) fn sizes_ratio(works: &Pair<Vec<(Work, u64)>>) -> Option<f64> {
    let means = means(works)?;
    let mut pairs = means.reference.into_iter().zip(means.target);
    let (reference, target) =
        pairs.find(|(reference, target)| *reference > 0.0 && *target > 0.0)?;
    Some(target / reference)
}
