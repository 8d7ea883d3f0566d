//! Kernels, copies and fills of both traces, side by side, by name.

use super::named::{Named, Tally, by_key};
use super::pair::Pair;
use super::side::Side;
use crate::base::group::grouped;

/// A kernel by its whole name: how often it ran, and the sum of its durations.
pub type KernelDelta = Named<String, Tally>;

/// The kernels of both traces that count under the choices of their reports, the longest first.
pub(crate) fn kernels(sides: Pair<Side>) -> Vec<KernelDelta> {
    by_key(&sides.map(|side| tallies(&side)))
}

fn tallies(side: &Side) -> Vec<(String, Tally)> {
    let work = side.profile.gpu.of(side.report.timelines.events);
    let lengths = work.map(|work| (work.name, work.span.length()));
    let tallies = grouped(lengths, |tally: &mut Tally, ns| tally.add(1, ns)).into_iter();
    let strings = &side.profile.trace.strings;
    tallies
        .map(|(name, tally)| (strings.get(name).to_owned(), tally))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::testing::sides;
    use super::*;
    use crate::testing::Timetable;

    #[test]
    fn kernels_are_told_by_their_name() {
        let reference = Timetable::new()
            .op("aten::mm", 0..10)
            .launch(1, 1..2)
            .launch(2, 3..4)
            .kernel(1, "gemm", 10..30)
            .kernel(2, "gemm", 30..50);
        let target = Timetable::new()
            .op("aten::mm", 0..10)
            .launch(1, 1..2)
            .launch(2, 3..4)
            .kernel(1, "other_gemm", 10..60)
            .kernel(2, "gemm", 60..70);
        sides(&reference, &target, None, |sides| {
            let seen: Vec<(String, Pair<i64>)> = kernels(sides)
                .iter()
                .map(|row| (row.key.clone(), row.times()))
                .collect();
            let times = |reference, target| Pair { reference, target };
            assert_eq!(
                seen,
                [
                    ("other_gemm".to_owned(), times(0, 50_000)),
                    ("gemm".to_owned(), times(40_000, 10_000)),
                ]
            );
        });
    }
}
