//! The places where the call trees of both traces differ.

use dormer_core::base::format;
use dormer_core::compare::tree::{Place, TreeDiff};
use dormer_core::names::{Family, family_of_kernel};
use dormer_core::report::sheet::Unit;

use super::tables::{CompareTable, DIFFERENCE, REFERENCE, TARGET, TableColumn, integer, ms, words};
use crate::protocol::{column, sheet};

/// A place, and the nearest call that both traces have.
type Row<'a> = (&'a str, &'a Place);

/// The places, largest difference first.
pub(super) fn table(trees: &TreeDiff) -> CompareTable {
    #[rustfmt::skip]
    let columns: &[TableColumn<Row>] = &[
        (column::NAME, Unit::Text, "The nearest call that both traces have.", |(common, _)| words(*common)),
        (column::REFERENCE_CALLS, Unit::Text, "What only the reference calls there; empty if the same calls launch different kernels.", |(_, place)| words(place.calls.reference.join(", "))),
        (column::TARGET_CALLS, Unit::Text, "What only the target calls there; empty if the same calls launch different kernels.", |(_, place)| words(place.calls.target.join(", "))),
        (column::COUNT, Unit::Count, "How many places differ this way.", |(_, place)| integer(place.occurrences.len() as u64)),
        (column::REFERENCE, Unit::Ms, REFERENCE, |(_, place)| ms(place.busy_ns.reference)),
        (column::TARGET, Unit::Ms, TARGET, |(_, place)| ms(place.busy_ns.target)),
        (column::DIFFERENCE, Unit::Ms, DIFFERENCE, |(_, place)| ms(place.busy_ns.difference())),
        ("kernels in the reference", Unit::Text, "What the reference launches at one such place.", |(_, place)| words(kernels(&place.kernels.reference))),
        ("kernels in the target", Unit::Text, "What the target launches at one such place.", |(_, place)| words(kernels(&place.kernels.target))),
    ];
    let row = |place: &'_ Place| {
        let first = place.occurrences.first();
        first.map_or("", |first| trees.name(first.common))
    };
    let rows: Vec<Row> = trees
        .places
        .iter()
        .map(|place| (row(place), place))
        .collect();
    CompareTable::new(sheet::PLACES, columns, &rows, |(_, place)| {
        (family(place), "")
    })
}

fn kernels(names: &[String]) -> String {
    let names = names.iter().map(|name| format::kernel_name(name));
    names.collect::<Vec<String>>().join(", ")
}

/// A place has the color of the first kernel that the target launches there, or else the reference.
fn family(place: &Place) -> Family {
    let mut kernels = place.kernels.target.iter().chain(&place.kernels.reference);
    let first = kernels.next();
    first.map_or(Family::Other, |name| family_of_kernel(name))
}
