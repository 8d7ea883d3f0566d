//! What to do about an operation, by the kind of work that it is: in the model, and of the kernel.

use crate::analysis::multi_kernel::may_be_pageable;
use crate::category::Family;
use crate::compare::expected::Verdict;
use crate::compare::ops::MatchedOp;
use crate::compare::words;
use crate::format;

/// What to change in the model, and what to ask of the kernel: a sentence each.
pub(super) fn action(op: &MatchedOp, verdict: Verdict) -> (String, String) {
    if verdict == Verdict::KernelIssue {
        return (
            "Merge the small products into fewer large ones, or use an operator that does the whole pattern in one kernel, such as fused attention.".to_owned(),
            "Give the reproducer to the kernel team: check which kernel and which tile size are chosen for this batch of tiny matrices.".to_owned(),
        );
    }
    let model = match op.family {
        Family::Gemm => {
            "Batch or pad these products so that they are of a regular size, or let `torch.compile` choose among kernels."
        }
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
        Family::Normalisation | Family::Elementwise | Family::Reduction => {
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
pub(super) fn kernels_sentence(op: &MatchedOp) -> Option<String> {
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
    use crate::compare::Comparison;
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
            action(op, Verdict::UnexpectedSlowdown).0
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
}
