//! What to do about an operation, by the kind of work that it is: in the model, and of the kernel.

use super::machine::runs_same_kernels;
use super::other_types::{how, is_wider};
use crate::base::format;
use crate::compare::comparison::Comparison;
use crate::compare::expected::Verdict;
use crate::compare::ops::{MatchLevel, MatchedOp};
use crate::compare::words;
use crate::hardware::Precision;
use crate::names::Family;
use crate::perf::is_tf32_kernel;
use crate::profile::copies::may_be_pageable;

/// What to change in the model, and what to ask of the kernel: a sentence or two each.
pub(crate) fn action(
    comparison: &Comparison,
    op: &MatchedOp,
    verdict: Verdict,
) -> (String, String) {
    let of = |model: &str, kernel: &str| (model.to_owned(), kernel.to_owned());
    if let Some(types) = op.types.as_ref().filter(|_| is_wider(op)) {
        let (model, kernel) = usual(op);
        let narrow = &types.reference;
        return (
            format!(
                "Compute it in {narrow}, as the reference does{}. {model}",
                how(narrow)
            ),
            kernel,
        );
    }
    if is_same_work(comparison, op) {
        return of(
            "Look at the machine before the model: clocks, power limit and temperature of the GPU, and what else runs on it at that time.",
            "Both sides run the same kernel on the same work, so its choice is not at fault: measure again at fixed clocks.",
        );
    }
    if verdict == Verdict::KernelIssue {
        return of(
            "Merge the small products into fewer large ones, or use an operator that does the whole pattern in one kernel, such as fused attention.",
            "Give the reproducer to the kernel team: check which kernel and which tile size are chosen for this batch of tiny matrices.",
        );
    }
    if lacks_tf32(comparison, op) {
        return of(
            match op.family {
                Family::Convolution => {
                    "Allow TF32 as on the reference, where the accuracy suffices: `torch.backends.cudnn.allow_tf32 = True`."
                }
                _ => {
                    "Allow TF32 as on the reference, where the accuracy suffices: `torch.set_float32_matmul_precision(\"high\")`."
                }
            },
            "The reference\u{2019}s kernel computes in TF32, the target\u{2019}s in full single precision: no kernel makes up for that.",
        );
    }
    if let Some(model) = other_attention(comparison, op) {
        return (model, usual(op).1);
    }
    usual(op)
}

/// Whether both sides do the same work by the same kernels on the same GPU.
fn is_same_work(comparison: &Comparison, op: &MatchedOp) -> bool {
    comparison.is_same_gpu
        && matches!(op.level, MatchLevel::Arguments | MatchLevel::Shapes)
        && !op.judgement.work_differs
        && runs_same_kernels(op)
}

/// Whether the reference computes in TF32 what the target computes in full single precision, though
/// its GPU could do the same.
fn lacks_tf32(comparison: &Comparison, op: &MatchedOp) -> bool {
    let runs_tf32 = op.sides.as_ref().map(|side| {
        let mut kernels = side.kernels.iter();
        kernels.any(|kernel| is_tf32_kernel(&kernel.name))
    });
    let has_units = comparison.sides.target.gpu.as_deref().is_none_or(|gpu| {
        let basis = comparison.basis;
        gpu.matrix_rate(Precision::Tf32, basis).is_some()
    });
    matches!(op.family, Family::Gemm | Family::Convolution)
        && op.types.is_none()
        && runs_tf32.reference
        && !runs_tf32.target
        && has_units
}

/// Another implementation of attention, which the reference calls on the same GPU.
fn other_attention(comparison: &Comparison, op: &MatchedOp) -> Option<String> {
    const BACKENDS: [(&str, &str); 3] = [
        ("_flash_attention", "FLASH_ATTENTION"),
        ("_efficient_attention", "EFFICIENT_ATTENTION"),
        ("_cudnn_attention", "CUDNN_ATTENTION"),
    ];
    let is_one = op.family == Family::Attention
        && op.level == MatchLevel::Counterpart
        && comparison.is_same_gpu;
    let name = op.reference_name.as_deref().filter(|_| is_one)?;
    let backend = BACKENDS.iter().find(|(part, _)| name.contains(part));
    let how = backend.map_or(String::new(), |(_, backend)| {
        format!(": `torch.nn.attention.sdpa_kernel(SDPBackend.{backend})`")
    });
    Some(format!(
        "Choose the implementation that the reference calls, {}{how}.",
        words::quoted(name)
    ))
}

/// By the kind of work alone.
fn usual(op: &MatchedOp) -> (String, String) {
    let model = match op.family {
        Family::Gemm => match op.sides.target.is_regular {
            Some(true) => {
                "Let `torch.compile` choose among kernels: the sizes are regular, and suit any of them."
            }
            _ => {
                "Batch or pad these products so that they are of a regular size, or let `torch.compile` choose among kernels."
            }
        },
        Family::Attention => {
            "Try another implementation of fused attention for these lengths, and check that both runs choose the same one."
        }
        Family::Convolution => {
            let layouts = op.sides.as_ref().map(|side| side.is_channels_last);
            match (layouts.reference, layouts.target) {
                (Some(true), Some(false)) => {
                    "Use the channels-last layout on the target too, and let the library search for its fastest algorithm."
                }
                (_, Some(false)) => {
                    "Try the channels-last layout on the target, and let the library search for its fastest algorithm."
                }
                _ => "Let the library search for its fastest algorithm on the target.",
            }
        }
        Family::Normalization | Family::Elementwise | Family::Reduction => {
            "Fuse it with its neighbours, for example with `torch.compile`, so that its data moves once."
        }
        Family::Moe => {
            "Route more tokens to each expert in a step, so that each product is larger."
        }
        Family::Triton => {
            "Compile again on the target with the search for the best configuration switched on."
        }
        Family::MemoryCopy => {
            let mut copies = op.sides.target.kernels.iter();
            match copies.any(|copy| may_be_pageable(&copy.name)) {
                true => "Keep data where it is needed, and copy it from pinned memory.",
                false => {
                    "Keep data where it is needed, and let copies run while something is computed."
                }
            }
        }
        Family::Communication => {
            "Send fewer and larger messages, and let them run while something is computed."
        }
        Family::Other => "See whether a fused or a library operator does the same.",
    };
    let kernel = match op.family {
        Family::Gemm => {
            "Compare the kernels and tile sizes that both sides choose for these shapes, and have the target's selection tuned."
        }
        Family::Attention => {
            "Compare the attention kernels of both sides at this length, and have the target's tuned for it."
        }
        Family::Convolution => {
            "Compare the algorithms that both sides choose, and look for layout changes around the target's."
        }
        Family::MemoryCopy | Family::Communication => {
            "Compare sizes and links of both machines: topology and settings decide here, not a kernel."
        }
        _ => {
            "Have the target's kernel tuned for this shape: vector width, work per thread, launch size."
        }
    };
    (model.to_owned(), kernel.to_owned())
}

/// Which kernels both sides run for it, and how many.
pub(crate) fn kernels_sentence(op: &MatchedOp) -> Option<String> {
    let longest = op.sides.as_ref().map(|side| side.kernels.first()).both()?;
    let launches = op.sides.as_ref().map(|side| {
        let kernels = side.kernels.iter();
        kernels.map(|kernel| kernel.count).sum::<u64>() as f64 / side.calls.max(1) as f64
    });
    let mut sentence = match longest.reference.name == longest.target.name {
        true => format!("Both run {}", words::kernel(&longest.target.name)),
        false => format!(
            "The target runs {}, the reference {}",
            words::kernel(&longest.target.name),
            words::kernel(&longest.reference.name)
        ),
    };
    if (launches.reference - launches.target).abs() > 0.5 {
        sentence.push_str(&format!(
            "; a call launches {} kernels on the target and {} on the reference",
            format::number(launches.target),
            format::number(launches.reference)
        ));
    }
    sentence.push('.');
    Some(sentence)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::testing::sides;
    use crate::testing::Timetable;

    /// A convolution whose input has these strides.
    fn convolution(strides: &str) -> Timetable {
        let none = "[], [], [], [], [], [], []";
        Timetable::new()
            .op("aten::convolution", 0..10)
            .args(&format!(
                r#""Input Dims": [[8, 64, 56, 56], [64, 64, 3, 3], {none}], "Input type": ["float", "float", "", "", "", "", "", "", ""], "Input Strides": [{strides}, [576, 9, 3, 1], {none}]"#
            ))
            .launch(1, 1..2)
            .kernel(1, "implicit_gemm", 100..200)
    }

    fn copy(name: &str) -> Timetable {
        Timetable::new().launch(1, 1..2).copy(1, name, 100..200)
    }

    /// What to change in the model for the one operation of both.
    fn model(reference: &Timetable, target: &Timetable) -> String {
        sides(reference, target, None, |sides| {
            let comparison = Comparison::new(sides.reference, sides.target);
            let [op] = &comparison.operations.matched[..] else {
                panic!("one operation");
            };
            action(&comparison, op, Verdict::UnexpectedSlowdown).0
        })
    }

    #[test]
    fn channels_last_is_advised_where_the_target_does_without() {
        let last = convolution("[200704, 1, 3584, 64]");
        let apart = convolution("[200704, 3136, 56, 1]");
        assert!(model(&last, &apart).starts_with("Use the channels-last layout on the target too"));
        assert!(model(&apart, &apart).starts_with("Try the channels-last layout"));
        let neither = "Let the library search for its fastest algorithm on the target.";
        assert_eq!(model(&last, &last), neither);
        assert_eq!(model(&apart, &last), neither);
    }

    #[test]
    fn pinned_memory_is_advised_for_copies_from_elsewhere() {
        let from = |memory: &str| copy(&format!("Memcpy HtoD ({memory} -> Device)"));
        let (pageable, pinned) = (from("Pageable"), from("Pinned"));
        assert!(model(&pageable, &pageable).contains("pinned"));
        assert!(!model(&pinned, &pinned).contains("pinned"));
        let within = copy("Memcpy DtoD (Device -> Device)");
        assert!(!model(&within, &within).contains("pinned"));
    }

    const SQUARE: &str =
        r#""Input Dims": [[4096, 4096], [4096, 4096]], "Input type": ["float", "float"]"#;
    const QKV: &str = r#""Input Dims": [[8, 16, 2048, 64], [8, 16, 2048, 64], [8, 16, 2048, 64]], "Input type": ["c10::Half", "c10::Half", "c10::Half"]"#;

    /// What to do on an H100 about the one operation of both: 200 µs on the reference, 500 on the
    /// target, each with an operator and a kernel.
    fn advice(args: &str, reference: [&str; 2], target: [&str; 2]) -> (String, String, String) {
        let run = |[op, kernel]: [&str; 2], us: u32| {
            Timetable::new()
                .op(op, 0..10)
                .args(args)
                .launch(1, 1..2)
                .kernel(1, kernel, 100..100 + us)
        };
        let h100 = Some(("H100", "H100"));
        sides(&run(reference, 200), &run(target, 500), h100, |sides| {
            let comparison = Comparison::new(sides.reference, sides.target);
            let gap = &comparison.gaps.ranked[0];
            (gap.gap.clone(), gap.model.clone(), gap.kernel.clone())
        })
    }

    #[test]
    fn a_product_without_tf32_is_to_use_it_as_the_reference_does() {
        let tf32 = ["aten::mm", "sm90_xmma_gemm_f32f32_tf32f32_f32_nn_n"];
        let (_, model, kernel) = advice(SQUARE, tf32, ["aten::mm", "ampere_sgemm_128x64_nn"]);
        assert!(
            model.contains("torch.set_float32_matmul_precision"),
            "{model}"
        );
        assert!(kernel.contains("TF32"), "{kernel}");
        // Another kernel in TF32 is another matter; the sizes suit any.
        let (_, model, _) = advice(SQUARE, tf32, ["aten::mm", "ampere_tf32_s1688gemm"]);
        assert!(model.starts_with("Let `torch.compile` choose"), "{model}");
        let odd = SQUARE.replace("[4096, 4096]]", "[4096, 37]]");
        let (_, model, _) = advice(&odd, tf32, ["aten::mm", "ampere_tf32_s1688gemm"]);
        assert!(model.starts_with("Batch or pad"), "{model}");
    }

    #[test]
    fn a_kernel_that_is_slower_on_the_same_work_is_no_matter_of_the_kernel() {
        let (_, model, kernel) = advice(SQUARE, ["aten::mm", "gemm"], ["aten::mm", "gemm"]);
        assert!(model.starts_with("Look at the machine before the model: clocks"));
        assert!(
            kernel.starts_with("Both sides run the same kernel"),
            "{kernel}"
        );
    }

    #[test]
    fn the_attention_that_the_reference_calls_is_named() {
        let flash = ["aten::_scaled_dot_product_flash_attention", "flash_fwd"];
        let other = ["aten::_scaled_dot_product_cudnn_attention", "sdpa_fprop"];
        let (gap, model, _) = advice(QKV, other, flash);
        assert!(
            gap.contains(
                "than the reference's 200 µs on `aten::_scaled_dot_product_cudnn_attention`"
            ),
            "{gap}"
        );
        assert_eq!(
            model,
            "Choose the implementation that the reference calls, `aten::_scaled_dot_product_cudnn_attention`: `torch.nn.attention.sdpa_kernel(SDPBackend.CUDNN_ATTENTION)`."
        );
    }
}
