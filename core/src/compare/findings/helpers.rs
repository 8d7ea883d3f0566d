//! Helper kernels that only the target launches: a transpose before a GEMM, a cast, a fill.

use super::rule::{Candidate, GapRule, GapTable, by_operator, matched, times_of};
use super::savings::of_helpers;
use crate::base::format;
use crate::base::interval::{percent_or_zero, sum};
use crate::compare::comparison::Comparison;
use crate::compare::op_side::Helper;
use crate::compare::pair::Which;
use crate::compare::words;
use crate::names::HelperKind;

pub(super) const TABLE: GapTable = GapTable {
    title: "Helper kernels that the reference does not launch",
    rules: &[
        GapRule {
            when: "the target changes a layout that the reference does not",
            applies: |comparison, candidate| is_of(comparison, candidate, HelperKind::LayoutChange),
            model: "Hand over operands in the layout that the kernel reads: store weights in it once, pass a transposed view in place of a contiguous copy, or use channels-last throughout.",
            ..HELPERS
        },
        GapRule {
            when: "the target converts types that the reference does not",
            applies: |comparison, candidate| is_of(comparison, candidate, HelperKind::Cast),
            model: "Keep operands in the type that the kernel computes in, and cast weights once, not in each step.",
            ..HELPERS
        },
        GapRule {
            when: "the target splits a GEMM along K and sums the parts in a kernel of its own, and the reference does not",
            applies: |comparison, candidate| is_of(comparison, candidate, HelperKind::SplitSum),
            model: "Let the selection of GEMM kernels be tuned on the target (`torch.compile` with `mode=\"max-autotune\"`, TunableOp): fewer splits, or a kernel that needs none, may take less time with its sum.",
            kernel: "Add the parts where they are computed (stream-K, atomic additions), or split less.",
            ..HELPERS
        },
        GapRule {
            when: "the target fills a workspace or a result that the reference does not",
            applies: |comparison, candidate| is_of(comparison, candidate, HelperKind::Fill),
            model: "Try another algorithm for it (`torch.backends.cudnn.benchmark = True`, `torch.compile` with `mode=\"max-autotune\"`): one that does not add to its result needs no fill.",
            kernel: "Write the result instead of adding to zeros.",
            ..HELPERS
        },
        HELPERS,
    ],
    candidates: |comparison| {
        by_operator(
            comparison,
            |_, op| {
                let longest = op.own_helpers(Which::Target).next()?;
                op.sides.target.is_computation().then_some(longest.kind)
            },
            candidate,
        )
    },
};

const HELPERS: GapRule = GapRule {
    key: "helper_kernels",
    when: "the target launches a kernel beside the one that does the work, and the reference none of its kind",
    applies: |_, _| true,
    title: "{subject}: {kind} on the target only",
    issue: "Within {name} the target launches {kernels} ({kind}) for {helper_time}, {share} of its {time}; the reference launches none.",
    model: "See what makes it necessary: the layout, the type or the size of the operands.",
    kernel: "Use or write a kernel that reads the operands as they are, so that no {kind} is needed.",
    notes: &[
        "Without it the target takes {rest} there, the reference {reference}{on}: {change}{hardware}.",
        "Other kernels that only the target launches there: {others}.",
    ],
    saves: "the time of these kernels",
};

fn is_of(comparison: &Comparison, candidate: &Candidate, kind: HelperKind) -> bool {
    let first = candidate.first(comparison);
    let mut helpers = first
        .into_iter()
        .flat_map(|op| op.own_helpers(Which::Target));
    helpers.next().is_some_and(|longest| longest.kind == kind)
}

fn candidate(comparison: &Comparison, rows: Vec<usize>) -> Option<Candidate> {
    let ops = matched(comparison, &rows);
    let first = *ops.first()?;
    let longest = first.own_helpers(Which::Target).next()?;
    let times = times_of(&ops);
    let all = || ops.iter().flat_map(|op| op.own_helpers(Which::Target));
    let helper_ns = sum(all().map(|helper| helper.ns));
    let rest = crate::compare::pair::Pair {
        reference: sum(ops.iter().map(|op| op.scaled_ns().round() as i64)),
        target: times.target.saturating_sub(helper_ns),
    };
    let on = first.reference_name.as_deref();
    let on = on.map_or(String::new(), |name| format!(" on {}", words::quoted(name)));
    let mut words = vec![
        ("subject", words::operations(first, &ops)),
        ("name", words::quoted(&first.name)),
        ("kind", longest.kind.label().to_owned()),
        (
            "kernels",
            words::few(all().filter(|one| one.kind == longest.kind).map(name)),
        ),
        ("helper_time", format::time_ns(helper_ns)),
        (
            "share",
            format::percent(percent_or_zero(helper_ns, times.target)),
        ),
        ("time", format::time_ns(times.target)),
        ("on", on),
    ];
    let others = words::few(all().filter(|one| one.kind != longest.kind).map(|one| {
        format!(
            "{} ({}, {})",
            name(one),
            one.kind.label(),
            format::time_ns(one.ns)
        )
    }));
    words.extend((!others.is_empty()).then_some(("others", others)));
    if let Some(change) = rest.change_percent() {
        words.push(("rest", format::time_ns(rest.target)));
        words.push(("reference", format::time_ns(rest.reference)));
        words.push(("change", words::change(change)));
        let expected = first.judgment.expected.filter(|_| !comparison.is_same_gpu);
        let hardware = expected.map_or(String::new(), |ratio| {
            let change = words::change((ratio - 1.0) * 100.0);
            format!(", where the hardware predicts {change}")
        });
        words.push(("hardware", hardware));
    }
    let saved_ns = sum(ops.iter().map(|op| of_helpers(op)));
    Some(Candidate::of_operations(comparison, rows, saved_ns, words))
}

fn name(helper: &Helper) -> String {
    words::kernel(&helper.name)
}

#[cfg(test)]
mod tests {
    use crate::compare::Comparison;
    use crate::compare::testing::{H100, assert_contains, compared};
    use crate::testing::Timetable;

    const MM: &str = r#""Input Dims": [[4096, 4096], [4096, 4096]], "Input type": ["c10::BFloat16", "c10::BFloat16"]"#;

    /// One GEMM with these kernels and their microseconds.
    fn gemm(kernels: &[(&str, u32)]) -> Timetable {
        let table = Timetable::new().op("aten::mm", 0..90).args(MM);
        let mut at = 100;
        (1..).zip(kernels).fold(table, |table, (id, (name, us))| {
            let start = at;
            at += us;
            table
                .launch(id, 2 * id..2 * id + 1)
                .kernel(id, name, start..at)
        })
    }

    fn found(reference: &[(&str, u32)], target: &[(&str, u32)]) -> Comparison {
        compared(&gemm(reference), &gemm(target), H100)
    }

    const GEMM: (&str, u32) = ("gemm_bf16", 200);
    const TRANSPOSE: (&str, u32) = ("batched_transpose_32x32_half", 60);

    #[test]
    fn a_transpose_on_the_target_only_is_named_apart_from_what_is_left() {
        // 60 µs of transpose, and a GEMM that takes 240 µs longer.
        let comparison = found(&[GEMM], &[("gemm_bf16", 440), TRANSPOSE]);
        let gaps = &comparison.gaps.ranked;
        let gap = |pattern| gaps.iter().find(|gap| gap.pattern == pattern).unwrap();
        let helper = gap("helper_kernels");
        let saved_ns = |pattern| gap(pattern).saving.unwrap().matching_ns;
        assert_eq!(saved_ns("helper_kernels"), 60_000);
        assert_eq!(saved_ns("unexpected_slowdown"), 240_000);
        assert_eq!(
            helper.gap,
            "Within `aten::mm` the target launches `batched_transpose_32x32_half` (layout change) for 60.0 µs, 12.0 % of its 500 µs; the reference launches none."
        );
        let rest = "Without it the target takes 440 µs there, the reference 200 µs: 120 % more.";
        assert_contains(&helper.reasoning.join(" "), rest);
        let apart = "60.0 µs (12.0 %) are layout change";
        assert_contains(&gap("unexpected_slowdown").reasoning.join(" "), apart);
    }

    #[test]
    fn what_both_launch_or_the_reference_alone_is_no_finding() {
        let both = found(&[GEMM, TRANSPOSE], &[GEMM, TRANSPOSE]);
        let of_reference = found(&[GEMM, TRANSPOSE], &[GEMM]);
        for comparison in [both, of_reference] {
            assert!(comparison.gaps.ranked.is_empty(), "{:#?}", comparison.gaps);
        }
    }
}
