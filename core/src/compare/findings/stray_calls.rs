//! Operations of which single calls take far longer on the target, where the typical call is as fast as on the
//! reference.

use super::rule::{Candidate, GapRule, GapTable, by_key, matched};
use super::savings::of_stray_calls;
use super::{operations, slower_machine};
use crate::base::format;
use crate::base::interval::sum;
use crate::compare::comparison::Comparison;
use crate::compare::ops::MatchedOp;
use crate::compare::words;

pub(super) const TABLE: GapTable = GapTable {
    title: "Single long calls",
    rules: &[GapRule {
        key: "stray_calls",
        when: "single calls of an operation take far longer than its median on the target, for longer than on the reference",
        applies: |_, _| true,
        title: "{subject}: single calls take far longer",
        issue: "Of {calls} of {name} on the target, {stray_calls} {take} far longer than the median of {median}, up to {longest}: {stray} beyond it in all, {reference_stray} on the reference.",
        model: "See what runs beside these calls (other streams and processes, copies, communication) and what their data is; a clock that drops for a while slows the calls of other operations at that time, too.",
        kernel: "The typical call is as fast as expected: the kernel is not at fault.",
        notes: &["The first call of each operation is left out, as it may have to warm up."],
        saves: "what these calls take beyond the median, less that on the reference",
    }],
    candidates: |comparison| {
        // What all calls of an operation take longer has a finding of its own.
        let machine = slower_machine::rows(comparison);
        let is_found = |at, op: &MatchedOp| {
            machine.contains(&at) || operations::kind(comparison, op).is_some()
        };
        let is_stray = |at, op: &MatchedOp| {
            (of_stray_calls(comparison, op) > 0 && !is_found(at, op)).then(|| op.family.label())
        };
        by_key(comparison, is_stray, candidate)
    },
};

fn candidate(comparison: &Comparison, rows: Vec<usize>) -> Option<Candidate> {
    let ops = matched(comparison, &rows);
    let first = *ops.first()?;
    let (median_ns, longest_ns) = first.sides.target.call_ns?;
    let target = |of: fn(&MatchedOp) -> u64| ops.iter().map(|op| of(op)).sum::<u64>();
    let n_stray = target(|op| op.sides.target.stray.count);
    let stray_ns = sum(ops.iter().map(|op| op.sides.target.stray.ns));
    let reference_ns = sum(ops.iter().map(|op| op.sides.reference.stray.ns));
    let words = vec![
        ("subject", words::operations(first, &ops)),
        ("name", words::names(ops.iter().map(|op| op.name.as_str()))),
        (
            "calls",
            format::counted(target(|op| op.sides.target.calls), "call"),
        ),
        ("stray_calls", format::count(n_stray)),
        (
            "take",
            if n_stray == 1 { "takes" } else { "take" }.to_owned(),
        ),
        ("median", format::time_ns(median_ns)),
        ("longest", format::time_ns(longest_ns)),
        ("stray", format::time_ns(stray_ns)),
        ("reference_stray", format::time_ns(reference_ns)),
    ];
    let saved_ns = sum(ops.iter().map(|op| of_stray_calls(comparison, op)));
    Some(Candidate::of_operations(comparison, rows, saved_ns, words))
}

#[cfg(test)]
mod tests {
    use crate::compare::testing::{H100, compared, run, savings};
    use crate::testing::Timetable;

    /// Ten GEMMs of 100 µs, of which one takes this long.
    fn gemms(at: usize, us: u32) -> Timetable {
        run((0..10).map(|call| ("aten::mm", "", "gemm", if call == at { us } else { 100 })))
    }

    #[test]
    fn a_single_long_call_is_found_where_the_typical_one_is_not_slower() {
        let ranked = compared(&gemms(4, 100), &gemms(4, 250), H100).gaps.ranked;
        assert_eq!(savings(&ranked), [("stray_calls", Some(150_000))]);
        assert_eq!(
            ranked[0].gap,
            "Of 10 calls of `aten::mm` on the target, 1 takes far longer than the median of 100 µs, up to 250 µs: 150 µs beyond it in all, 0 µs on the reference."
        );
    }

    #[test]
    fn calls_that_make_it_slower_on_average_are_found_too() {
        // 900 µs more in one of ten calls: on average they are nearly twice as slow.
        let ranked = compared(&gemms(4, 100), &gemms(4, 1_000), H100).gaps.ranked;
        assert_eq!(savings(&ranked), [("stray_calls", Some(900_000))]);
    }

    #[test]
    fn long_calls_of_other_sizes_are_slower_by_the_factor_of_all() {
        let gemms = |times: u32| {
            let us = (0..12).map(|at| if at % 4 == 3 { 30 } else { 10 });
            run(us.map(|us| ("aten::mm", "", "gemm", us * times)))
        };
        let ranked = compared(&gemms(10), &gemms(12), H100).gaps.ranked;
        assert_eq!(savings(&ranked), [("same_kernels", Some(360_000))]);
    }

    #[test]
    fn the_first_call_and_what_both_have_are_none() {
        for (reference, target) in [
            (gemms(4, 100), gemms(0, 250)),
            (gemms(4, 250), gemms(7, 250)),
        ] {
            let ranked = compared(&reference, &target, H100).gaps.ranked;
            assert!(ranked.is_empty(), "{ranked:#?}");
        }
    }
}
