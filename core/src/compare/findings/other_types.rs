//! Work that the target does in a wider type than the reference.

use super::{Gap, Saving, Subject, priority_of_run};
use crate::base::format;
use crate::base::interval::sum;
use crate::compare::comparison::Comparison;
use crate::compare::explained::held_ns;
use crate::compare::ops::MatchedOp;
use crate::compare::pair::Pair;
use crate::compare::words;
use crate::findings::run_time;

/// Operations that compute in a wider type, and take longer for it. What is slower than its type
/// explains has a finding of its own about the rest.
pub(crate) fn gap(comparison: &Comparison) -> Option<Gap> {
    let all = comparison.operations.matched.iter().enumerate();
    let wider = all.filter(|(_, op)| is_wider(op) && saved_ns(op) > 0);
    let (rows, ops): (Vec<usize>, Vec<&MatchedOp>) = wider.unzip();
    let types = ops.first()?.types.as_ref()?;
    let n_slower = ops
        .iter()
        .filter(|op| op.judgement.verdict.is_slower_than_expected());
    let n_slower = n_slower.count() as u64;
    let mut reasoning = vec![format!(
        "{} of both traces do the same as often, on as many dimensions, in another type.",
        format::counted(ops.len() as u64, "operation")
    )];
    if n_slower > 0 {
        reasoning.push(format!(
            "Slower than the type explains: {} of them. That part is in findings of its own.",
            format::count(n_slower)
        ));
    }
    let times = ops
        .iter()
        .map(|op| op.times())
        .fold(Pair::default(), Pair::plus);
    let saved_ns = sum(ops.iter().map(|op| saved_ns(op)));
    let percent = words::percent_of(saved_ns, comparison.parts.total.target);
    Some(Gap {
        number: 0,
        pattern: "wider_type",
        priority: priority_of_run(&comparison.thresholds, percent),
        title: format!(
            "Computes in {} what the reference computes in {}",
            types.target, types.reference
        ),
        gap: format!(
            "The target takes {} on {} in {}, the reference {} in {}.",
            format::time_ns(times.target),
            words::names(ops.iter().map(|op| op.name.as_str())),
            types.target,
            format::time_ns(times.reference),
            types.reference
        ),
        model: format!(
            "Compute in {} where its precision suffices{}.",
            types.reference,
            how(&types.reference)
        ),
        kernel: "A wider type moves more bytes and has slower units: no kernel makes up for that."
            .to_owned(),
        reasoning,
        times,
        saving: Some(Saving {
            matching_ns: saved_ns,
            roof_ns: None,
        }),
        replay: None,
        subject: Subject::Operations(rows),
    })
}

/// How PyTorch is told to compute in a type, where there is one way.
pub(crate) fn how(label: &str) -> &'static str {
    match label {
        "bf16" | "fp16" => ", for example under `torch.autocast`",
        _ => "",
    }
}

/// Whether the target computes in a wider type.
pub(crate) fn is_wider(op: &MatchedOp) -> bool {
    let bits = op
        .types
        .as_ref()
        .map(|types| types.as_ref().map(|label| float_bits(label)));
    let bits = bits.and_then(Pair::both);
    bits.is_some_and(|bits| bits.target > bits.reference)
}

/// 16 of "bf16", 8 of "fp8 e4m3"; `None` for what is no floating-point type.
fn float_bits(label: &str) -> Option<u32> {
    let rest = label
        .strip_prefix("fp")
        .or_else(|| label.strip_prefix("bf"))?;
    let n_digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    rest.get(..n_digits)?.parse().ok()
}

/// What the run is shorter by when the target takes as long as the reference; of what is slower than
/// expected, the part of what is expected that follows from the work in the wider type.
fn saved_ns(op: &MatchedOp) -> i64 {
    let target = &op.sides.target;
    if !target.is_computation() {
        return 0;
    }
    let held_ns = held_ns(op);
    let judgement = &op.judgement;
    let won_ns = match judgement.expected {
        Some(expected) if judgement.verdict.is_slower_than_expected() => {
            held_ns * expected * (1.0 - 1.0 / judgement.work_ratio)
        }
        _ => target.timed.ns as f64 - held_ns,
    };
    let won_ns = (won_ns.max(0.0).round() as i64).min(target.time_ns);
    run_time::part(won_ns, target.run_ns, target.time_ns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::testing::sides;
    use crate::testing::Timetable;

    fn product(of_type: &str, us: u32) -> Timetable {
        Timetable::new()
            .op("aten::mm", 0..10)
            .args(&format!(
                r#""Input Dims": [[4096, 4096], [4096, 4096]], "Input type": ["{of_type}", "{of_type}"]"#
            ))
            .launch(1, 1..2)
            .kernel(1, "gemm", 1_000..1_000 + us)
    }

    #[test]
    fn a_wider_type_is_named_and_a_narrower_one_is_none() {
        let (bf16, fp32) = (product("c10::BFloat16", 200), product("float", 400));
        let gaps = |reference, target| {
            sides(reference, target, Some(("H100", "H100")), |sides| {
                Comparison::new(sides.reference, sides.target).gaps.ranked
            })
        };
        let wider = gaps(&bf16, &fp32);
        assert_eq!(wider[0].pattern, "wider_type");
        assert_eq!(
            wider[0].title,
            "Computes in fp32 what the reference computes in bf16"
        );
        assert!(wider[0].model.contains("torch.autocast"));
        assert_eq!(
            wider[0].saving.map(|saving| saving.matching_ns),
            Some(200_000)
        );
        let narrower = gaps(&fp32, &product("c10::BFloat16", 500));
        assert!(narrower.iter().all(|gap| gap.pattern != "wider_type"));
    }

    #[test]
    fn types_have_their_width() {
        for (label, expected) in [("fp32", Some(32)), ("bf16", Some(16)), ("int64", None)] {
            assert_eq!(float_bits(label), expected);
        }
    }

    #[test]
    fn what_is_slower_than_its_type_explains_counts_by_what_the_type_explains() {
        let (bf16, fp32) = (product("c10::BFloat16", 200), product("float", 2_000));
        let ranked = sides(&bf16, &fp32, Some(("H100", "H100")), |sides| {
            Comparison::new(sides.reference, sides.target).gaps.ranked
        });
        let found: Vec<(&str, Option<i64>)> = ranked
            .iter()
            .map(|gap| (gap.pattern, gap.saving.map(|saving| saving.matching_ns)))
            .collect();
        // Half the rate: 400 µs are expected, 200 of them for the type.
        assert_eq!(
            found,
            [
                ("unexpected_slowdown", Some(1_600_000)),
                ("wider_type", Some(200_000))
            ]
        );
        let model = &ranked[0].model;
        assert!(
            model.starts_with(
                "Compute it in bf16, as the reference does, for example under `torch.autocast`."
            ),
            "{model}"
        );
    }
}
