//! What to do about an operation, by the kind of work that it is: in the model, and of the kernel.

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
            "Use the channels-last layout on the target too, and let the library search for its fastest algorithm."
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
        Family::MemoryCopy => "Keep data where it is needed, and copy it from pinned memory.",
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
