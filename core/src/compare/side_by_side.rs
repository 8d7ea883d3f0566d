//! Kernels, modules, CPU operators and kinds of work of both traces, side by side, by name.

use super::matched_rows::{Named, Timed, by_key};
use super::pair::Pair;
use super::side::Side;
use crate::base::group::grouped;
use crate::base::tally::Tally;
use crate::names::Family;
use crate::report::overview::Measure;
use crate::report::{ModuleTime, module_times};

/// The kernels, copies and fills of both traces that count under the options of their reports, longest first.
pub(crate) fn kernels(sides: Pair<Side>) -> Vec<Named<String, Tally>> {
    by_key(&sides.map(|side| {
        let work = side.profile.gpu.all();
        let lengths = work.map(|work| (work.name, work.span.length()));
        let tallies = grouped(lengths, |tally: &mut Tally, ns| tally.add(ns)).into_iter();
        let strings = &side.profile.trace.strings;
        let named = tallies.map(|(name, tally)| (strings.get(name).to_owned(), tally));
        named.collect()
    }))
}

impl Timed for ModuleTime {
    fn ns(&self) -> i64 {
        self.direct_ns
    }
}

/// The module classes of both traces, longest first; empty if neither was recorded with Python frames.
pub(crate) fn modules(sides: Pair<Side>) -> Vec<Named<String, ModuleTime>> {
    by_key(&sides.map(|side| {
        let times = module_times(side.profile).into_iter();
        times.map(|time| (time.name.clone(), time)).collect()
    }))
}

/// The operators of both traces by CPU time, longest first. For traces without GPU activity, there is nothing else to
/// compare.
pub(crate) fn cpu_ops(sides: Pair<Side>) -> Vec<Named<String, Tally>> {
    by_key(&sides.map(|side| {
        let strings = &side.profile.trace.strings;
        let tallies = side.profile.cpu_ops.iter().map(|op| {
            let (count, ns) = (op.n_calls, op.self_ns);
            (strings.get(op.name).to_owned(), Tally { count, ns })
        });
        tallies.collect()
    }))
}

/// The kinds of work of both traces from their overviews, longest first. Empty if only one trace has GPU times, as they
/// would measure different things.
pub(crate) fn categories(sides: Pair<Side>) -> Vec<Named<Family, Tally>> {
    let measures = sides.map(|side| side.report.overview.measure);
    if measures.reference != measures.target {
        return Vec::new();
    }
    by_key(&sides.map(|side| {
        let tallies = side.report.overview.families.iter().map(|family| {
            let (count, ns) = (calls(&side, family.family), family.ns);
            (family.family, Tally { count, ns })
        });
        tallies.collect()
    }))
}

fn calls(side: &Side, family: Family) -> u64 {
    if side.report.overview.measure == Measure::Cpu {
        return 0;
    }
    let operations = side.report.operations(side.profile);
    let of_family = operations.filter(|(operation, _)| operation.family == family);
    of_family.map(|(operation, _)| operation.n_calls()).sum()
}

#[cfg(test)]
mod tests {
    use super::super::testing::{compared, pair, run};

    #[test]
    fn kernels_are_identified_by_their_name() {
        let two = |one, other| run([("aten::mm", "", one, 20), ("aten::mm", "", other, 10)]);
        let rows = compared(&two("gemm", "gemm"), &two("other_gemm", "gemm"), None).kernels;
        let seen = rows.iter().map(|row| (row.key.as_str(), row.times()));
        assert!(seen.eq([
            ("gemm", pair(30_000, 10_000)),
            ("other_gemm", pair(0, 20_000)),
        ]));
    }
}
