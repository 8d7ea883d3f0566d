//! The places where the call trees of both traces differ.

use dormer_core::base::format;
use dormer_core::compare::tree::{Place, TreeDiff};
use dormer_core::names::Family;
use dormer_core::report::sheet::Sheet;

use super::tables::{CompareTable, DIFFERENCE, REFERENCE, TARGET, count, integer, ms, text, words};
use crate::protocol::{column, sheet};
use crate::worker::columns::RowKind;

/// The places, those with the largest difference first.
pub(super) fn table(trees: &TreeDiff) -> CompareTable {
    let columns = vec![
        text(column::NAME, "The nearest call that both traces have."),
        text(
            column::REFERENCE_CALLS,
            "What only the reference calls there; empty if the same calls launch different kernels.",
        ),
        text(
            column::TARGET_CALLS,
            "What only the target calls there; empty if the same calls launch different kernels.",
        ),
        count(column::COUNT, "How many places differ this way."),
        REFERENCE,
        TARGET,
        DIFFERENCE,
        text(
            "kernels in the reference",
            "What the reference launches at one such place.",
        ),
        text(
            "kernels in the target",
            "What the target launches at one such place.",
        ),
    ];
    let rows = trees.places.iter().map(|place| {
        vec![
            words(common(trees, place)),
            words(place.calls.reference.join(", ")),
            words(place.calls.target.join(", ")),
            integer(place.occurrences.len() as u64),
            ms(place.busy_ns.reference),
            ms(place.busy_ns.target),
            ms(place.busy_ns.difference()),
            words(kernels(&place.kernels.reference)),
            words(kernels(&place.kernels.target)),
        ]
    });
    CompareTable {
        kinds: trees.places.iter().map(kind).collect(),
        sheet: Sheet {
            name: sheet::PLACES,
            columns,
            rows: rows.collect(),
        },
    }
}

fn common<'a>(trees: &'a TreeDiff, place: &Place) -> &'a str {
    let first = place.occurrences.first();
    first.map_or("", |first| trees.name(first.common))
}

fn kernels(names: &[String]) -> String {
    let names = names.iter().map(|name| format::kernel_name(name));
    names.collect::<Vec<String>>().join(", ")
}

/// A place has the color of the first kernel that the target launches there, else the reference.
fn kind(place: &Place) -> RowKind {
    let kernels = place.kernels.target.iter().chain(&place.kernels.reference);
    let family = kernels
        .map(|name| dormer_core::names::family_of_kernel(name))
        .next();
    RowKind {
        family: family.unwrap_or(Family::Other),
        class: "",
    }
}
