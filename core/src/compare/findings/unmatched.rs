//! Operations that only the target has.

use super::Subject;
use super::rule::{Candidate, GapRule, GapTable};
use crate::base::format;
use crate::base::interval::sum;
use crate::compare::comparison::Comparison;
use crate::compare::ops::MatchedOp;
use crate::compare::pair::Which;
use crate::compare::words;
use crate::names::calls::unnumbered;

pub(super) const TABLE: GapTable = GapTable {
    title: "Operations that the reference does not have",
    rules: RULES,
    candidates,
};

const RULES: &[GapRule] = &[
    GapRule {
        when: "the target launches more kernels for what has no partner",
        applies: |comparison, _| launches_more(comparison),
        model: "Check that both runs take the same path through the same model, and use the operator that does in one kernel what is done in several here.",
        kernel: "Find kernels that do the same work in the lists of unmatched kernels, and use or write a fused one.",
        ..NO_PARTNER
    },
    NO_PARTNER,
];

const NO_PARTNER: GapRule = GapRule {
    key: "no_partner",
    when: "the target computes longer without a partner than the reference does",
    applies: |_, _| true,
    title: "Work that the reference does not have",
    issue: "The target spends {time} in operations that the reference does not have, mainly {names}; the reference spends {reference} in operations that the target does not have.",
    model: "Check that both runs take the same path through the same model.",
    kernel: "Find kernels that do the same work in the lists of unmatched kernels.",
    notes: &[
        AMOUNTS,
        OTHER_AMOUNT,
        TARGET_KERNELS,
        REFERENCE_KERNELS,
        "{of_both}Where one side does in one kernel what the other does in several, both are listed without a partner.",
    ],
    saves: "what the target computes there beyond what the reference has of its own",
};

const AMOUNTS: &str = "{n_target} of the target without a partner, {n_reference} of the reference: their computation is {time} and {reference_time}.";
const OTHER_AMOUNT: &str =
    "The target does {amount}, so that its time is compared with {reference_scaled}.";
const TARGET_KERNELS: &str = "Kernels that only the target runs: {target_kernels}.";
const REFERENCE_KERNELS: &str = "Kernels that only the reference runs: {reference_kernels}.";

/// The operations of the target alone, if they take longer than those of the reference alone.
fn candidates(comparison: &Comparison) -> Vec<Candidate> {
    let times = comparison.parts.unmatched();
    let amount = &comparison.amount;
    let scaled_ns = amount.scaled(times.reference);
    let longer_ns = times.target.saturating_sub(scaled_ns);
    if longer_ns <= 0 {
        return Vec::new();
    }
    let unmatched = &comparison.operations.unmatched;
    let reference = format::time_ns(times.reference);
    let has_any = !unmatched.reference.is_empty();
    let own = match has_any {
        true => reference.clone(),
        false => "no time".to_owned(),
    };
    let n_target = unmatched.target.len() as u64;
    let mut words = vec![
        ("time", format::time_ns(times.target)),
        ("reference_time", reference),
        ("reference", own),
        ("names", first_named(comparison)),
        ("n_target", format::counted(n_target, "operation")),
        (
            "n_reference",
            format::count(unmatched.reference.len() as u64),
        ),
    ];
    if !amount.is_same() {
        words.push(("amount", amount.said()));
        words.push(("reference_scaled", format::time_ns(scaled_ns)));
    }
    if has_any {
        words.push(("of_both", String::new()));
    }
    for (word, which) in [
        ("target_kernels", Which::Target),
        ("reference_kernels", Which::Reference),
    ] {
        let named = own_kernels(comparison, which);
        words.extend((!named.is_empty()).then_some((word, named)));
    }
    let subject = Subject::Unmatched((0..unmatched.target.len()).collect());
    let candidate = Candidate::of_saved(comparison, subject, times, longer_ns, words);
    vec![candidate]
}

/// Whether both launch kernels in unmatched operations, and the target launches more.
fn launches_more(comparison: &Comparison) -> bool {
    let launches = comparison.operations.unmatched.as_ref().map(|ops| {
        let kernels = ops.iter().flat_map(|op| &op.side.kernels);
        sum(kernels.map(|kernel| kernel.count as i64))
    });
    launches.reference > 0 && launches.target > comparison.amount.scaled(launches.reference)
}

/// The longest operations of the target alone; with sizes if the reference calls the same operator.
fn first_named(comparison: &Comparison) -> String {
    let operations = &comparison.operations;
    let of_both = |op: &MatchedOp| op.reference_name.as_deref().unwrap_or(&op.name).to_owned();
    let mut known: Vec<String> = operations.matched.iter().map(of_both).collect();
    known.extend(
        operations
            .unmatched
            .reference
            .iter()
            .map(|op| op.name.clone()),
    );
    words::few(operations.unmatched.target.iter().map(|op| {
        let name = words::quoted(unnumbered(&op.name));
        match known.contains(&op.name) && !op.shapes.is_empty() {
            true => format!("{name} on {}", op.shapes),
            false => name,
        }
    }))
}

/// The longest kernels of the operations of one trace alone that the other trace never runs.
fn own_kernels(comparison: &Comparison, which: Which) -> String {
    let is_own = |name: &str| {
        let row = comparison.kernels.iter().find(|row| row.key == name);
        row.is_some_and(|row| row.sides.get(which.other()).is_none())
    };
    let ops = comparison.operations.unmatched.get(which).iter();
    let kernels = ops.filter_map(|op| op.side.kernels.first());
    let own = kernels.filter(|kernel| is_own(&kernel.name));
    words::few(own.map(|kernel| words::kernel(&kernel.name)))
}

#[cfg(test)]
mod tests {
    use crate::compare::Gap;
    use crate::compare::testing::{H100, compared, run, says};

    type Calls<'a> = &'a [(&'a str, &'a str, &'a str, u32)];

    fn only_gap(reference: Calls, target: Calls) -> Gap {
        let [reference, target] = [reference, target].map(|calls| run(calls.iter().copied()));
        let ranked = compared(&reference, &target, H100).gaps.ranked;
        let [gap] = &ranked[..] else {
            panic!("{ranked:#?}");
        };
        gap.clone()
    }

    const ONE: &str = r#""Input Dims": [[64, 64]], "Input type": ["float"]"#;

    #[test]
    fn only_kernels_that_the_other_trace_never_runs_are_named() {
        let both = ("aten::mm", ONE, "gemm", 100);
        let gap = only_gap(
            &[both, ("aten::relu", ONE, "shared", 10)],
            &[
                both,
                ("aten::gelu", ONE, "shared", 40),
                ("aten::tanh", ONE, "tanh_kernel", 30),
            ],
        );
        assert_eq!(gap.pattern, "no_partner");
        let said = gap.reasoning.join(" ");
        says(&said, "Kernels that only the target runs: `tanh_kernel`.");
        let others = "Kernels that only the reference runs";
        assert!(!said.contains(others), "{said}");
        // Two kernels instead of one.
        let model = &gap.model;
        assert!(model.contains("what is done in several"), "{model}");
        // 40 + 30 − 10 µs.
        assert_eq!(gap.saving.map(|saving| saving.matching_ns), Some(60_000));
    }

    #[test]
    fn one_kernel_against_one_is_not_called_several() {
        let gap = only_gap(
            &[("my::old", ONE, "old", 100)],
            &[("my::new", ONE, "new", 200)],
        );
        assert!(!gap.model.contains("several"), "{}", gap.model);
    }

    #[test]
    fn an_operator_that_the_reference_calls_too_is_named_with_its_sizes() {
        let square = |n: u32| {
            format!(r#""Input Dims": [[{n}, {n}], [{n}, {n}]], "Input type": ["float", "float"]"#)
        };
        let (small, large) = (square(512), square(1024));
        let both = ("aten::mm", small.as_str(), "gemm", 100);
        let more = ("aten::mm", large.as_str(), "gemm", 500);
        let gap = only_gap(&[both], &[both, more]);
        assert_eq!(
            gap.gap,
            "The target spends 500 µs in operations that the reference does not have, mainly `aten::mm` on 1024 × 1024, 1024 × 1024 fp32; the reference spends no time in operations that the target does not have."
        );
        let said = gap.reasoning.join(" ");
        assert!(!said.contains("what the other does in several"), "{said}");
    }
}
