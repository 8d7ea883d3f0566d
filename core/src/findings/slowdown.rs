//! Kernels that are slower in a part of the run, whatever they compute: their rows belong to the analyses of their
//! kinds; the remedy is the same for all.

use super::across_kinds;
use crate::findings::prelude::*;
use crate::profile::Profile;
use crate::profile::operations::Operation;
use crate::profile::operations::slowdown::{Part, Slowdown, Slowed};

pub(super) const DOCS: Docs = || rule::docs(RULES);

pub(super) fn covers(profile: &Profile, operation: &Operation) -> bool {
    let slowdown = Slowdown::of(profile);
    let slowed = slowdown.iter().flat_map(|slowdown| &slowdown.operations);
    let mut slowed = slowed.filter_map(|slowed| profile.operations().get(slowed.operation));
    slowed.any(|known| std::ptr::eq(known, operation))
}

/// The slow calls of an operation.
fn of(input: &Input, row: &Row) -> Option<Slowed> {
    let slowdown = Slowdown::of(input.profile);
    let slowdown = Option::as_ref(&slowdown)?;
    slowdown.of_operation(row.operation).cloned()
}

fn excess_ns(input: &Input, rows: &[&Row]) -> i64 {
    let slowed = rows.iter().filter_map(|row| of(input, row));
    sum(slowed.map(|slowed| slowed.excess_ns))
}

const RULES: &[Rule<Row>] = &[SLOW_AT_START, SLOW_IN_BETWEEN, SLOWER];

fn is_slow(input: &Input, holds: fn(&Part) -> bool) -> bool {
    let slowdown = Slowdown::of(input.profile);
    slowdown.iter().any(|slowdown| holds(&slowdown.slow))
}

const SLOW_AT_START: Rule<Row> = Rule {
    key: "slower_at_start",
    when: "calls with the same arguments are slower in the first part of the run, nearly all by the same factor",
    applies: |input, _| is_slow(input, |slow| slow.from_ns.is_none()),
    title: "Kernels are slower at the start of the run",
    issue: "Until {until} after the first GPU activity, calls with the same arguments take {factor}× as long as later{whatever}: {excess} more than at the later speed.",
    model: "warm up before recording and before measuring, until times are steady: clocks rise only after some time under load. If pauses let clocks fall again and again, shorten them; a fixed clock keeps measurements comparable.",
    kernel: "nothing to tune: the same kernels are faster later in the run.",
    notes: &[
        "A trace does not record clock rates. Calls that overlap with communication are excluded, and so are attention and MoE, whose time depends on more than sizes.",
        "The estimate is what calls take beyond their median after that time. A longer run has it once.",
    ],
    ..SLOWER
};

const SLOW_IN_BETWEEN: Rule<Row> = Rule {
    key: "slower_in_between",
    when: "calls with the same arguments are slower in one part of the run than before and after it, nearly all by the same factor",
    applies: |input, _| is_slow(input, |slow| slow.until_ns.is_some()),
    title: "Kernels are slower in one part of the run",
    issue: "From {since} to {until} after the first GPU activity, calls with the same arguments take {factor}× as long as before and after{whatever}: {excess} more than at the other speed.",
    model: "see what else runs at that time: another stream or process on the GPU, copies, or a clock that drops for a while with power or temperature. A fixed clock keeps measurements comparable.",
    kernel: "nothing to tune: the same kernels are faster before and after.",
    notes: &[
        "A trace does not record clock rates. Calls that overlap with communication are excluded, and so are attention and MoE, whose time depends on more than sizes.",
        "The estimate is what calls take beyond their median outside of that part.",
    ],
    ..SLOWER
};

const SLOWER: Rule<Row> = Rule {
    key: "slower_in_mid_run",
    when: "calls with the same arguments slow down during the run, nearly all by the same factor",
    title: "Kernels slow down during the run",
    issue: "Starting {since} after the first GPU activity, calls with the same arguments take {factor}× as long as before{whatever}: {excess} more than at the earlier speed.",
    model: "watch clocks, power and temperature of the GPU while it runs, and look for other processes on it: cooling and a higher power limit keep clocks up, a fixed clock keeps measurements comparable.",
    kernel: "nothing to tune: the same kernels are faster earlier in the run.",
    notes: &[
        "A trace does not record clock rates. Calls that overlap with communication are excluded, and so are attention and MoE, whose time depends on more than sizes.",
        "The estimate is what calls take beyond their median before that time. If clocks fall under any lasting load, the earlier speed cannot be kept.",
    ],
    words: |group| {
        let input = group.input;
        let slowdown = Slowdown::of(input.profile);
        let slowdown = slowdown.iter().next();
        let start_ns = input.timelines.whole.map_or(0, |whole| whole.span.start_ns);
        let slow = slowdown.map(|slowdown| slowdown.slow);
        let since_start =
            |at_ns: Option<i64>| format::time_ns(at_ns.unwrap_or(start_ns) - start_ns);
        let factor = slowdown.map_or(1.0, |slowdown| slowdown.factor);
        vec![
            ("since", since_start(slow.and_then(|slow| slow.from_ns))),
            ("until", since_start(slow.and_then(|slow| slow.until_ns))),
            ("factor", format::number(factor)),
            (
                "excess",
                time_and_share(excess_ns(input, &group.rows), input),
            ),
            either(
                "whatever",
                group.rows.len() > 1,
                ", whatever they compute",
                "",
            ),
        ]
    },
    tables: |group| vec![fast_and_slow(group.input, &group.rows)],
    saves: Saves::AtMost(|input, row| of(input, row).map(|slowed| slowed.excess_ns)),
    effect: Effect::FasterGpu,
    has_reproducer: false,
    ..Rule::BASE
};

fn fast_and_slow(input: &Input, rows: &[&Row]) -> Table {
    let slowed = rows.iter().filter_map(|row| of(input, row));
    let name = |slowed: &Slowed| short_name(input, input.operation(slowed.operation));
    #[rustfmt::skip]
    let columns: &[CellColumn<Slowed>] = &[
        ("operation", "Operation", &|slowed| Value::Quoted(name(slowed))),
        ("fast", "Median of fast calls", &|slowed| Value::Ns(slowed.fast_ns)),
        ("slow", "Median of slow calls", &|slowed| Value::Ns(slowed.slow_ns)),
        ("excess", "Beyond the faster median", &|slowed| Value::Ns(slowed.excess_ns)),
    ];
    Table::of("slower_in_mid_run", "Fast and slow calls", slowed, columns)
}

pub(super) fn run(input: &Input, rows: &[Row], outcome: &mut Outcome) {
    across_kinds::run(input, rows, outcome, RULES, |rows| {
        let (count, excess) = (n_calls(rows), excess_ns(input, rows));
        [
            (
                "slower_calls",
                "Calls of operations that change their speed",
                Value::Count(count),
            ),
            (
                "slower_excess",
                "Beyond the faster medians",
                Value::Ns(excess),
            ),
        ]
    });
}

#[cfg(test)]
mod tests {
    use crate::findings::samples::{Calls, assert_contains, only, patterns};

    /// GEMMs of 100 µs and additions of 20: from the fifth of ten on they take 50 % longer.
    #[test]
    fn all_kernels_that_become_slower_are_one_finding() {
        let run = |slow: f64| {
            (0..10).fold(Calls::new(), |calls, nth| {
                let factor = if nth < 4 { 1.0 } else { slow };
                calls
                    .call("aten::mm", "4096x4096*2", "gemm", 100.0 * factor)
                    .call("aten::add", "4096x4096*2", "add", 20.0 * factor)
            })
        };
        let outcome = run(1.5).outcome("slowdown");
        let finding = only(&outcome, "slower_in_mid_run");
        let said = [
            "480 µs after the first",
            "1.50×",
            "whatever they compute",
            "360 µs",
        ];
        assert_contains(&finding.issue, &said);
        assert_eq!(finding.impact.unwrap().high_ns, 360_000);
        assert_eq!(finding.tables[0].rows.len(), 2);
        assert_eq!(patterns(&run(1.0).outcome("slowdown")), [""; 0]);
        // The other way round: the first four take twice as long.
        let outcome = run(0.5).outcome("slowdown");
        let finding = only(&outcome, "slower_at_start");
        assert_contains(&finding.issue, &["Until 480 µs after the first", "2.00×"]);
        assert_eq!(finding.impact.unwrap().high_ns, 240_000);
    }

    /// The middle one of three steps takes twice as long.
    #[test]
    fn kernels_that_are_slower_for_a_while_are_one_finding() {
        let calls = (0..12).fold(Calls::new(), |calls, nth| {
            let factor = if (4..8).contains(&nth) { 2.0 } else { 1.0 };
            calls
                .call("aten::mm", "4096x4096*2", "gemm", 100.0 * factor)
                .call("aten::add", "4096x4096*2", "add", 20.0 * factor)
        });
        let outcome = calls.outcome("slowdown");
        let finding = only(&outcome, "slower_in_between");
        assert_contains(&finding.issue, &["From 480 µs to 1.44 ms after", "2.00×"]);
        assert_eq!(finding.impact.unwrap().high_ns, 480_000);
    }

    /// A GEMM at a quarter of the roofline, in a run whose first four of twelve steps take three times as long.
    #[test]
    fn what_is_slow_throughout_is_found_in_a_run_that_starts_slowly() {
        let run = |us: f64| {
            let calls = (0..12).fold(Calls::new(), |calls, nth| {
                let us = if nth < 4 { us * 3.0 } else { us };
                calls.call("aten::mm", "4096x4096*2", "gemm", us)
            });
            calls.outcome("gemm")
        };
        let slow = run(776.0);
        let gap = only(&slow, "compute_bound_gap").impact.unwrap();
        // 776 µs instead of 194 at most, not the time that the start takes beyond it.
        assert!(gap.high_ns < 12 * 600_000, "{gap:?}");
        assert_eq!(patterns(&run(250.0)), [""; 0]);
    }
}
