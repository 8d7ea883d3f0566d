//! Work that only the target has.

use super::{Gap, Saving, Subject, priority_of_run};
use crate::base::format;
use crate::base::interval::sum;
use crate::compare::comparison::Comparison;
use crate::compare::names::unnumbered;
use crate::compare::ops::{LoneOp, MatchedOp};
use crate::compare::pair::Which;
use crate::compare::words;
use crate::names::Family;

/// Operations and kernels named in a sentence.
const N_NAMED: usize = 3;

/// What stands without a partner, and what to do about it.
struct Kind {
    pattern: &'static str,
    title: &'static str,
    model: &'static str,
    kernel: &'static str,
}

/// The reference computes attention in one kernel, the target in several.
const UNFUSED: Kind = Kind {
    pattern: "unfused_attention",
    title: "Attention in several kernels, where the reference has a fused one",
    model: "Compute attention by `torch.nn.functional.scaled_dot_product_attention`, and check that masks, types and head sizes allow a fused kernel as they do on the reference.",
    kernel: "The fused kernel of the reference never writes the scores to memory: ask for one on the target where there is none.",
};

/// The target launches more kernels for what has no partner.
const SEVERAL: Kind = Kind {
    pattern: "no_partner",
    title: "Work that the reference does not have",
    model: "Check that both runs take the same path through the same model, and use the operator that does in one kernel what is done in several here.",
    kernel: "See which kernels stand against each other in the lists without a partner, and ask for one that does the work of several.",
};

/// All else.
const OTHER: Kind = Kind {
    pattern: "no_partner",
    title: "Work that the reference does not have",
    model: "Check that both runs take the same path through the same model.",
    kernel: "See which kernels stand against each other in the lists without a partner.",
};

/// Work of the target that the reference does not have, where it is more than the reference's own.
pub(crate) fn gap(comparison: &Comparison) -> Option<Gap> {
    let times = comparison.parts.lone();
    let amount = &comparison.amount;
    let held_ns = amount.scaled(times.reference);
    let longer_ns = times.target.saturating_sub(held_ns);
    if longer_ns <= 0 {
        return None;
    }
    let kind = kind(comparison);
    let lone = &comparison.operations.lone;
    let percent = words::percent_of(longer_ns, comparison.parts.total.target);
    let mut reasoning = vec![format!(
        "{} of the target without a partner, {} of the reference: their computation is {} and {}.",
        format::counted(lone.target.len() as u64, "operation"),
        format::count(lone.reference.len() as u64),
        format::time_ns(times.target),
        format::time_ns(times.reference)
    )];
    if !amount.is_same() {
        reasoning.push(format!(
            "The target does {}, so that its time is held against {}.",
            amount.said(),
            format::time_ns(held_ns)
        ));
    }
    for (which, sentence) in [
        (Which::Target, "Kernels that only the target runs"),
        (Which::Reference, "Kernels that only the reference runs"),
    ] {
        let named = own_kernels(comparison, which);
        if !named.is_empty() {
            reasoning.push(format!("{sentence}: {named}."));
        }
    }
    if kind.pattern == UNFUSED.pattern {
        let fused = lone.reference.iter();
        let fused = fused.filter(|op| op.family == Family::Attention);
        reasoning.push(format!(
            "The reference runs {}; the target has products and a softmax instead.",
            words::names(fused.map(|op| op.name.as_str()))
        ));
    } else if !lone.reference.is_empty() {
        reasoning.push(
            "Where one side does in one kernel what the other does in several, both are listed without a partner."
                .to_owned(),
        );
    }
    Some(Gap {
        number: 0,
        subject: Subject::Lone((0..lone.target.len()).collect()),
        pattern: kind.pattern,
        priority: priority_of_run(&comparison.thresholds, percent),
        title: kind.title.to_owned(),
        gap: format!(
            "The target computes {} in operations that the reference does not have, {} first; {}.",
            format::time_ns(times.target),
            first_named(comparison).join(", "),
            match lone.reference.is_empty() {
                true => "the reference has none that the target has not".to_owned(),
                false => format!(
                    "the reference has {} that the target has not",
                    format::time_ns(times.reference)
                ),
            }
        ),
        model: kind.model.to_owned(),
        kernel: kind.kernel.to_owned(),
        reasoning,
        times,
        saving: Some(Saving {
            matching_ns: longer_ns,
            roof_ns: None,
        }),
        replay: None,
    })
}

fn kind(comparison: &Comparison) -> Kind {
    let lone = &comparison.operations.lone;
    let has = |which: Which, is_it: fn(&LoneOp) -> bool| lone.get(which).iter().any(is_it);
    let is_attention = |op: &LoneOp| op.family == Family::Attention;
    let is_softmax = |op: &LoneOp| op.name.contains("softmax");
    let is_product = |op: &LoneOp| op.family == Family::Gemm && op.name.contains("bmm");
    if has(Which::Reference, is_attention)
        && !has(Which::Target, is_attention)
        && has(Which::Target, is_softmax)
        && has(Which::Target, is_product)
    {
        return UNFUSED;
    }
    let launches = lone.as_ref().map(|ops| {
        let kernels = ops.iter().flat_map(|op| &op.side.kernels);
        sum(kernels.map(|kernel| kernel.count as i64))
    });
    match launches.target > comparison.amount.scaled(launches.reference) {
        true if launches.reference > 0 => SEVERAL,
        _ => OTHER,
    }
}

/// The longest of what the target has alone; an operator that the reference calls too, with its sizes.
fn first_named(comparison: &Comparison) -> Vec<String> {
    let operations = &comparison.operations;
    let of_both = |op: &MatchedOp| op.reference_name.as_deref().unwrap_or(&op.name).to_owned();
    let mut known: Vec<String> = operations.matched.iter().map(of_both).collect();
    known.extend(operations.lone.reference.iter().map(|op| op.name.clone()));
    let mut named: Vec<String> = Vec::new();
    for op in &operations.lone.target {
        let name = words::quoted(unnumbered(&op.name));
        let text = match known.contains(&op.name) && !op.shapes.is_empty() {
            true => format!("{name} on {}", op.shapes),
            false => name,
        };
        if !named.contains(&text) && named.len() < N_NAMED {
            named.push(text);
        }
    }
    named
}

/// The longest kernels of what is alone in a trace that the other one never runs.
fn own_kernels(comparison: &Comparison, which: Which) -> String {
    let is_own = |name: &str| {
        let row = comparison.kernels.iter().find(|row| row.key == name);
        row.is_some_and(|row| row.sides.get(which.other()).is_none())
    };
    let ops = comparison.operations.lone.get(which).iter();
    let kernels = ops.filter_map(|op| op.side.kernels.first());
    let mut named: Vec<String> = Vec::new();
    for kernel in kernels.filter(|kernel| is_own(&kernel.name)) {
        let name = words::kernel(&kernel.name);
        if !named.contains(&name) && named.len() < N_NAMED {
            named.push(name);
        }
    }
    named.join(", ")
}

#[cfg(test)]
mod tests {
    use crate::compare::comparison::Comparison;
    use crate::compare::findings::Gap;
    use crate::compare::testing::sides;
    use crate::testing::Timetable;

    /// Calls one after another, each with one kernel of so many microseconds.
    fn run(calls: &[(&str, &str, &str, u32)]) -> Timetable {
        let mut table = Timetable::new();
        let mut gpu = 1_000;
        for (at, (op, args, kernel, us)) in (1_u32..).zip(calls) {
            table = table
                .op(op, at * 10..at * 10 + 9)
                .args(args)
                .launch(at, at * 10 + 1..at * 10 + 2)
                .kernel(at, kernel, gpu..gpu + us);
            gpu += us;
        }
        table
    }

    fn only_gap(reference: &Timetable, target: &Timetable) -> Gap {
        sides(reference, target, Some(("H100", "H100")), |sides| {
            let comparison = Comparison::new(sides.reference, sides.target);
            let [gap] = &comparison.gaps.ranked[..] else {
                panic!("{:#?}", comparison.gaps.ranked);
            };
            gap.clone()
        })
    }

    const ONE: &str = r#""Input Dims": [[64, 64]], "Input type": ["float"]"#;

    #[test]
    fn only_kernels_that_the_other_trace_never_runs_are_named() {
        let both = ("aten::mm", ONE, "gemm", 100);
        let reference = run(&[both, ("aten::relu", ONE, "shared", 10)]);
        let target = run(&[
            both,
            ("aten::gelu", ONE, "shared", 40),
            ("aten::tanh", ONE, "tanh_kernel", 30),
        ]);
        let gap = only_gap(&reference, &target);
        assert_eq!(gap.pattern, "no_partner");
        let said = gap.reasoning.join(" ");
        assert!(
            said.contains("Kernels that only the target runs: `tanh_kernel`."),
            "{said}"
        );
        assert!(
            !said.contains("Kernels that only the reference runs"),
            "{said}"
        );
        // Two kernels stand against one.
        assert!(
            gap.model.contains("what is done in several"),
            "{}",
            gap.model
        );
        // 40 + 30 − 10 µs.
        assert_eq!(gap.saving.map(|saving| saving.matching_ns), Some(60_000));
    }

    #[test]
    fn one_kernel_against_one_is_not_called_several() {
        let reference = run(&[("my::old", ONE, "old", 100)]);
        let target = run(&[("my::new", ONE, "new", 200)]);
        let gap = only_gap(&reference, &target);
        assert!(!gap.model.contains("several"), "{}", gap.model);
    }

    #[test]
    fn attention_in_several_kernels_is_named() {
        let qkv = r#""Input Dims": [[4, 16, 1024, 64], [4, 16, 1024, 64], [4, 16, 1024, 64]], "Input type": ["c10::Half", "c10::Half", "c10::Half"]"#;
        let two = r#""Input Dims": [[64, 1024, 64], [64, 64, 1024]], "Input type": ["c10::Half", "c10::Half"]"#;
        let scores = r#""Input Dims": [[64, 1024, 1024], [], []], "Input type": ["c10::Half", "Scalar", "Scalar"]"#;
        let flash = "aten::_scaled_dot_product_flash_attention";
        let gap = only_gap(
            &run(&[(flash, qkv, "flash_fwd", 100)]),
            &run(&[
                ("aten::bmm", two, "gemm", 60),
                ("aten::_softmax", scores, "softmax", 110),
                ("aten::bmm", two, "gemm", 60),
            ]),
        );
        assert_eq!(gap.pattern, "unfused_attention");
        assert!(gap.model.contains("scaled_dot_product_attention"));
        assert!(gap.reasoning.join(" ").contains(flash));
    }

    #[test]
    fn an_operator_that_the_reference_calls_too_is_named_with_its_sizes() {
        let square = |n: u32| {
            format!(r#""Input Dims": [[{n}, {n}], [{n}, {n}]], "Input type": ["float", "float"]"#)
        };
        let (small, large) = (square(512), square(1024));
        let both = ("aten::mm", small.as_str(), "gemm", 100);
        let more = ("aten::mm", large.as_str(), "gemm", 500);
        let gap = only_gap(&run(&[both]), &run(&[both, more]));
        assert_eq!(
            gap.gap,
            "The target computes 500 µs in operations that the reference does not have, `aten::mm` on 1024 × 1024, 1024 × 1024 fp32 first; the reference has none that the target has not."
        );
        let said = gap.reasoning.join(" ");
        assert!(!said.contains("what the other does in several"), "{said}");
    }
}
