//! Kinds of work of both traces, side by side: Dormer's own families, as the overview of each
//! trace has them.

use super::named::{Named, Tally, by_key};
use super::pair::Pair;
use super::side::Side;
use crate::names::Family;
use crate::report::overview::Measure;

/// A kind of work: the time in which such work runs. Kinds that run at once both count.
pub type CategoryDelta = Named<Family, Tally>;

/// The kinds of work of both traces, the longest first. Nothing where one trace has GPU times and
/// the other has not: they measure different things.
pub(crate) fn categories(sides: Pair<Side>) -> Vec<CategoryDelta> {
    let measures = sides.map(|side| side.report.overview.measure);
    if measures.reference != measures.target {
        return Vec::new();
    }
    let lists = sides.map(|side| {
        let families = side.report.overview.families.iter();
        let tallies = families.map(|family| {
            let tally = Tally {
                count: calls(&side, family.family),
                ns: family.ns,
            };
            (family.family, tally)
        });
        tallies.collect::<Vec<(Family, Tally)>>()
    });
    by_key(&lists)
}

/// Calls of operations that are mostly of a kind.
fn calls(side: &Side, family: Family) -> u64 {
    if side.report.overview.measure == Measure::Host {
        return 0;
    }
    let operations = side.report.operations(side.profile);
    operations
        .filter(|(operation, _)| operation.family == family)
        .map(|(operation, _)| operation.n_calls())
        .sum()
}
