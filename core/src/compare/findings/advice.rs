//! What to do about an operation that is slower than predicted: by cause if one is visible, otherwise by kind of work.

#[cfg(test)]
mod tests;

use super::savings::AS_FAST;
use super::slower_machine::{alike_gemms, is_same_work};
use crate::compare::comparison::Comparison;
use crate::compare::expected::Verdict;
use crate::compare::ops::{MatchLevel, MatchedOp};
use crate::compare::pair::Which;
use crate::compare::words;
use crate::findings::{Words, fill};
use crate::hardware::{Precision, Vendor};
use crate::names::{Family, family_of_kernel};
use crate::perf::is_tf32_kernel;
use crate::profile::gpu::copies::may_be_pageable;

pub(crate) struct Advice {
    /// When it applies, as a clause for the docs.
    #[cfg_attr(not(test), expect(dead_code, reason = "tests make the docs"))]
    pub(crate) when: &'static str,
    applies: fn(&Comparison, &MatchedOp) -> bool,
    /// What to change in the model or in how it is run: a template.
    pub(crate) model: &'static str,
    /// What to change in the kernel: a template.
    pub(crate) kernel: &'static str,
}

/// Advice by the cause visible in the traces.
pub(crate) const CAUSES: &[Advice] = &[
    Advice {
        when: "the target computes in a wider type",
        applies: |_, op| op.wider_types().is_some(),
        model: "Compute it in {type}, as the reference does{autocast}. {usual_model}",
        kernel: "{usual_kernel}",
    },
    Advice {
        when: "it is attention whose arguments do not show how long the contexts are, with the same kernels on the same GPU",
        applies: |comparison, op| {
            op.family == Family::Attention
                && op.judgment.work.is_none()
                && runs_same(comparison, op)
        },
        model: "Its arguments do not show how long the contexts are, and longer ones take longer: compare the requests of both runs first, and record annotations with the numbers of their tokens.",
        kernel: "Both sides run the same kernel: compare it at one context length.",
    },
    Advice {
        when: "both GPUs are the same and run the same kernels on the same arguments, and other operations are as fast as on the reference",
        applies: |comparison, op| runs_same(comparison, op) && others_are_as_fast(comparison, op),
        model: "Other operations take as long as on the reference, so the machine is not at fault: see what runs beside this one, and whether strides, alignment or data of its operands differ.",
        kernel: "Both sides run the same kernel on the same work: compare its launch configuration, and hardware counters of both runs.",
    },
    Advice {
        when: "both GPUs are the same and run the same kernels on the same arguments",
        applies: runs_same,
        model: "Look at the machine before the model: clocks, power limit and temperature of the GPU, and what else runs on it at that time.",
        kernel: "Both sides run the same kernel on the same work, so its choice is not at fault: measure again at fixed clocks.",
    },
    Advice {
        when: "its operands have other strides than on the reference",
        applies: |_, op| has_other_strides(op),
        model: "Give its operands the layout that they have on the reference, strides {reference_strides} instead of {target_strides}: store a weight transposed once, or make an operand contiguous where it is created.",
        kernel: "Compare the kernels of both sides for these layouts: the one that the target takes is slower on the same work.",
    },
    Advice {
        when: "the target computes scaled dot product attention by its general implementation, the reference by a fused one",
        applies: |_, op| op.is_unfused_attention() && op.sides.target.is_in_sdpa,
        model: "`scaled_dot_product_attention` takes its general implementation (`SDPBackend.MATH`) on the target: check that masks, types, strides and head sizes allow a fused one as on the reference. Within `torch.nn.attention.sdpa_kernel(SDPBackend.FLASH_ATTENTION)` PyTorch says what does not.",
        kernel: "The fused kernel of the reference never writes the scores to memory: use or write one on the target.",
    },
    Advice {
        when: "the target computes attention in several operations, the reference in one",
        applies: |_, op| op.is_unfused_attention(),
        model: "Compute attention by `torch.nn.functional.scaled_dot_product_attention`, and check that masks, types and head sizes allow a fused kernel as they do on the reference.",
        kernel: "The fused kernel of the reference never writes the scores to memory: use or write one on the target.",
    },
    Advice {
        when: "the target multiplies one input in several GEMMs, the reference in fewer with as many columns",
        applies: |_, op| has_separate_gemms(op),
        model: "Join the projections of one input into one GEMM, as on the reference: concatenate their weights along the output dimension (query, key and value; gate and up), and split the result.",
        kernel: "One larger GEMM has more tiles to fill the GPU with and reads its input once; a grouped GEMM does the same without joining the weights.",
    },
    Advice {
        when: "the target computes expert GEMMs in several operations, the reference in fewer",
        applies: |_, op| {
            op.is_group()
                && op.family == Family::Moe
                && op.sides.target.n_runs * op.sides.reference.timed.count
                    > op.sides.reference.n_runs * op.sides.target.timed.count
        },
        model: "Compute all experts of a layer together, in a fused MoE operator or grouped GEMMs, instead of one after another; on the reference it is {reference_name}.",
        kernel: "Use or write a grouped GEMM that takes the tokens of all experts.",
    },
    Advice {
        when: "the target updates parameters in several operators, the reference in a fused one",
        applies: |_, op| is_unfused_optimizer(op),
        model: "Construct the optimizer with `fused=True`, as on the reference.",
        kernel: "The fused kernel of the reference reads and writes parameters and states once: use or write one on the target.",
    },
    Advice {
        when: "the target does in several operations what the reference does in generated kernels",
        applies: |_, op| {
            op.is_group()
                && op.sides.target.n_kernels > 0
                && is_generated(op, Which::Reference)
                && !is_generated(op, Which::Target)
        },
        model: "Compile this part with `torch.compile`, as on the reference: its generated kernels do element-wise operations, normalizations and reductions in one pass over the data.",
        kernel: "Use or write one fused kernel for these steps, as on the reference.",
    },
    Advice {
        when: "the target does in several operations what the reference does in fewer",
        applies: |_, op| op.is_group() && op.sides.target.n_kernels > op.sides.reference.n_kernels,
        model: "Use the operator that does it in one on the reference, {reference_name}, or compile this part with `torch.compile`, so that its data moves once.",
        kernel: "Use or write one fused kernel for these steps, as on the reference.",
    },
    Advice {
        when: "it is a tiny batched GEMM, far slower than predicted",
        applies: |_, op| op.judgment.verdict == Verdict::KernelIssue,
        model: "Merge the small GEMMs into fewer large ones, or use an operator that does the whole pattern in one kernel, such as fused attention.",
        kernel: "Profile the reproducer: check which kernel and which tile size are chosen for this batch of tiny matrices.",
    },
    Advice {
        when: "it is a convolution that only the reference computes in TF32",
        applies: |comparison, op| op.family == Family::Convolution && lacks_tf32(comparison, op),
        model: "Allow TF32 as on the reference, where the accuracy suffices: `torch.backends.cudnn.allow_tf32 = True`.",
        kernel: LACKS_TF32,
    },
    Advice {
        when: "it is a GEMM that only the reference computes in TF32",
        applies: |comparison, op| op.family == Family::Gemm && lacks_tf32(comparison, op),
        model: "Allow TF32 as on the reference, where the accuracy suffices: `torch.set_float32_matmul_precision(\"high\")`{environment}.",
        kernel: LACKS_TF32,
    },
    Advice {
        when: "the reference calls another implementation of attention on the same GPU",
        applies: is_other_attention,
        model: "Choose the implementation that the reference calls, {reference_name}{backend}.",
        kernel: "{usual_kernel}",
    },
    Advice {
        when: "it is a GEMM of small or odd sizes, those of the reference are regular",
        applies: |_, op| has_irregular_sizes(op),
        model: "Pad or batch it to regular sizes, as on the reference ({reference_shapes}): multiples of 16 leave no row without 16-byte alignment, and fill tiles.",
        kernel: "{usual_kernel}",
    },
    Advice {
        when: "the name of the target's kernel says that it is not made for the GPU, unlike that of the reference",
        applies: |_, op| op.outdated(Which::Target).is_some(),
        model: "{usual_model}",
        kernel: "The target's kernel is {outdated}: find out why none for this GPU is chosen for these sizes, types and layouts; update the library, or tune its selection.",
    },
    Advice {
        when: "nearly all GEMMs are slower than another GPU explains, by one factor",
        applies: |comparison, op| {
            let matched = &comparison.operations.matched;
            let mut gemms = alike_gemms(comparison).into_iter();
            gemms.any(|at| matched.get(at).is_some_and(|one| std::ptr::eq(one, op)))
        },
        model: "All GEMMs are behind by the same factor, so that none of them is at fault: see clocks and power limit of the target\u{2019}s GPU, the versions of its libraries, and whether both GPUs reach the same part of their peaks in a benchmark of GEMMs.",
        kernel: OF_GEMM,
    },
    Advice {
        when: "both GPUs are the same and run different kernels, those of the target less than twice as slow",
        applies: chooses_slower_kernels,
        model: "Find out what made the choice: versions of PyTorch and its libraries, strides and alignment of the operands, switches such as `torch.backends.cuda.preferred_blas_library`, a search for the fastest kernel on one side alone. {usual_model}",
        kernel: "{usual_kernel}",
    },
];

const LACKS_TF32: &str = "The reference\u{2019}s kernel computes in TF32, the target\u{2019}s in full FP32: no kernel makes up for that.";

/// Advice by kind of work.
pub(crate) const USUAL: &[Advice] = &[
    Advice {
        when: "it is a GEMM of regular sizes",
        applies: |_, op| op.family == Family::Gemm && op.sides.target.is_regular == Some(true),
        model: "Use `torch.compile` with `mode=\"max-autotune\"`: the sizes are regular, so it can choose among all kernels.",
        kernel: OF_GEMM,
    },
    Advice {
        when: "it is another GEMM",
        applies: |_, op| op.family == Family::Gemm,
        model: "Batch or pad these GEMMs to regular sizes, or use `torch.compile` with `mode=\"max-autotune\"`.",
        kernel: OF_GEMM,
    },
    Advice {
        when: "it is attention",
        applies: |_, op| op.family == Family::Attention,
        model: "Try another implementation of fused attention for these lengths, and check that both runs choose the same one.",
        kernel: "Compare the attention kernels of both sides at this length, and tune the target's for it.",
    },
    Advice {
        when: "it is a convolution in the channels-last layout on the reference alone",
        applies: |_, op| is_convolution(op, Some(true), Some(false)),
        model: "Use the channels-last layout on the target too (`torch.channels_last`), and let the library benchmark its algorithms (`torch.backends.cudnn.benchmark = True`).",
        kernel: OF_CONVOLUTION,
    },
    Advice {
        when: "it is a convolution without the channels-last layout",
        applies: |_, op| is_convolution(op, op.sides.reference.is_channels_last, Some(false)),
        model: "Try the channels-last layout on the target (`torch.channels_last`), and let the library benchmark its algorithms (`torch.backends.cudnn.benchmark = True`).",
        kernel: OF_CONVOLUTION,
    },
    Advice {
        when: "it is another convolution",
        applies: |_, op| op.family == Family::Convolution,
        model: "Let the library benchmark its algorithms on the target (`torch.backends.cudnn.benchmark = True`).",
        kernel: OF_CONVOLUTION,
    },
    Advice {
        when: "it is element-wise, a normalization or a reduction",
        applies: |_, op| {
            use Family::{Elementwise, Normalization, Reduction};
            [Normalization, Elementwise, Reduction].contains(&op.family)
        },
        model: "Fuse it with its neighbors, for example with `torch.compile`, so that its data moves once.",
        kernel: OF_OTHERS,
    },
    Advice {
        when: "it is MoE",
        applies: |_, op| op.family == Family::Moe,
        model: "Route more tokens to each expert in a step, so that each expert GEMM is larger.",
        kernel: OF_OTHERS,
    },
    Advice {
        when: "it is a generated kernel",
        applies: |_, op| op.family == Family::Triton,
        model: "Recompile on the target with `mode=\"max-autotune\"`.",
        kernel: OF_OTHERS,
    },
    Advice {
        when: "it is a copy from memory that may be pageable",
        applies: |_, op| {
            let mut copies = op.sides.target.kernels.iter();
            op.family == Family::MemoryCopy && copies.any(|copy| may_be_pageable(&copy.name))
        },
        model: "Keep data where it is needed, and copy it from pinned memory.",
        kernel: OF_LINKS,
    },
    Advice {
        when: "it is another copy",
        applies: |_, op| op.family == Family::MemoryCopy,
        model: "Keep data where it is needed, and let copies run while something is computed.",
        kernel: OF_LINKS,
    },
    Advice {
        when: "it is communication",
        applies: |_, op| op.family == Family::Communication,
        model: "Send fewer and larger messages, and let them run while something is computed.",
        kernel: OF_LINKS,
    },
    OF_ANY,
];

/// The fallback.
const OF_ANY: Advice = Advice {
    when: "it is anything else",
    applies: |_, _| true,
    model: "See whether a fused or a library operator does the same.",
    kernel: OF_OTHERS,
};

const OF_GEMM: &str = "Compare the kernels and tile sizes that both sides choose for these shapes, and tune the selection on the target.";
const OF_CONVOLUTION: &str = "Compare the algorithms that both sides choose, and look for layout changes around the target's.";
const OF_LINKS: &str =
    "Compare sizes and links of both machines: topology and settings decide here, not a kernel.";
const OF_OTHERS: &str =
    "Tune the target's kernel for this shape: vector width, work per thread, launch configuration.";

/// What to change in the model and in the kernel.
pub(crate) fn advice(comparison: &Comparison, op: &MatchedOp) -> [String; 2] {
    let row = |rows: &'static [Advice]| rows.iter().find(|row| (row.applies)(comparison, op));
    let usual = row(USUAL).unwrap_or(&OF_ANY);
    let narrow = op.wider_types().map_or("", |types| &types.reference);
    let name = op.reference_name.as_deref().unwrap_or(&op.name);
    let mut words: Words = vec![
        ("usual_model", usual.model.to_owned()),
        ("usual_kernel", usual.kernel.to_owned()),
        ("type", narrow.to_owned()),
        ("autocast", autocast(narrow).to_owned()),
        ("reference_name", words::quoted(name)),
        ("backend", backend(name)),
        (
            "environment",
            match is_on_amd(comparison) {
                true => ", with `HIPBLASLT_ALLOW_TF32=1` in the environment".to_owned(),
                false => String::new(),
            },
        ),
        (
            "reference_shapes",
            op.reference_shapes.clone().unwrap_or_default(),
        ),
        (
            "outdated",
            op.outdated(Which::Target).unwrap_or_default().to_owned(),
        ),
    ];
    words.extend(stride_words(op));
    let Advice { model, kernel, .. } = row(CAUSES).unwrap_or(usual);
    [model, kernel].map(|template| fill(template, &words))
}

/// What to change in the model, by kind of work alone.
pub(crate) fn usual_advice(comparison: &Comparison, op: &MatchedOp) -> String {
    let usual = USUAL.iter().find(|row| (row.applies)(comparison, op));
    usual.unwrap_or(&OF_ANY).model.to_owned()
}

/// Whether it is a GEMM of sizes that few kernels suit, unlike those of the reference.
pub(super) fn has_irregular_sizes(op: &MatchedOp) -> bool {
    let regular = op.sides.as_ref().map(|side| side.is_regular);
    (regular.reference, regular.target) == (Some(true), Some(false))
        && op.reference_shapes.is_some()
}

/// Whether the target multiplies one input in several GEMMs that the reference joins.
pub(super) fn has_separate_gemms(op: &MatchedOp) -> bool {
    let runs = op.sides.as_ref().map(|side| side.n_runs);
    op.level == MatchLevel::Meaning && op.family == Family::Gemm && runs.target > runs.reference
}

/// Whether only the reference updates all parameters in a fused kernel.
pub(super) fn is_unfused_optimizer(op: &MatchedOp) -> bool {
    // The number of steps is counted in an operator of its own.
    let is_fused = |name: &str| {
        name.split(" + ")
            .any(|one| one.starts_with("aten::_fused_"))
    };
    op.level == MatchLevel::Meaning
        && op.reference_name.as_deref().is_some_and(is_fused)
        && !is_fused(&op.name)
}

/// Whether separate GEMMs take clearly longer than the joined one on the same GPU: for the same work in fewer kernels
/// even a small difference has this cause.
pub(super) fn loses_by_separate_gemms(comparison: &Comparison, op: &MatchedOp) -> bool {
    let is_slower = op.judgment.excess.is_some_and(|excess| excess >= AS_FAST);
    comparison.is_same_gpu && has_separate_gemms(op) && is_slower
}

/// Whether the same operator runs on the same sizes and types, in other kernels, with operands in another layout.
pub(super) fn has_other_strides(op: &MatchedOp) -> bool {
    let strides = op.sides.as_ref().map(|side| side.strides.as_ref());
    let differ = strides
        .both()
        .is_some_and(|strides| strides.reference != strides.target);
    // Convolutions have advice of their own for their layouts.
    op.level == MatchLevel::Shapes
        && differ
        && op.family != Family::Convolution
        && !op.is_group()
        && !op.judgment.work_differs
        && !op.runs_same_kernels()
}

/// The strides of the operands on both sides.
pub(super) fn stride_words(op: &MatchedOp) -> Words {
    let strides = |which| op.sides.get(which).strides.clone().unwrap_or_default();
    vec![
        ("target_strides", strides(Which::Target)),
        ("reference_strides", strides(Which::Reference)),
    ]
}

fn runs_same(comparison: &Comparison, op: &MatchedOp) -> bool {
    comparison.is_same_gpu
        && matches!(
            op.level,
            MatchLevel::Arguments | MatchLevel::Shapes | MatchLevel::Name
        )
        && !op.judgment.work_differs
        && op.runs_same_kernels()
}

/// Whether an operation takes somewhat longer on the same GPU, with other kernels: the same ones would vary by less.
pub(super) fn chooses_slower_kernels(comparison: &Comparison, op: &MatchedOp) -> bool {
    let is_same = matches!(
        op.level,
        MatchLevel::Arguments
            | MatchLevel::Shapes
            | MatchLevel::Counterpart
            | MatchLevel::Gemm
            | MatchLevel::Renamed
    );
    let n_operations = op.sides.as_ref().map(|side| side.operations.len());
    let is_one_each = n_operations.reference == 1 && n_operations.target == 1;
    let verdicts = [Verdict::ExplainedByHardware, Verdict::ModeratelyBeyond];
    comparison.is_same_gpu
        && (is_same || op.is_group() && is_one_each)
        && op.sides.target.is_computation()
        && !op.judgment.work_differs
        && verdicts.contains(&op.judgment.verdict)
        && op.judgment.excess.is_some_and(|excess| excess >= AS_FAST)
        && !op.runs_same_kernels()
}

/// Whether other operations with the same bound that run the same kernels on both sides take as long as on the
/// reference, by most of their time there: a lower clock would slow them down, too.
fn others_are_as_fast(comparison: &Comparison, op: &MatchedOp) -> bool {
    let bound = |op: &MatchedOp| op.judgment.rooflines.target.map(|roofline| roofline.bound);
    let is_alike = |other: &&MatchedOp| {
        is_same_work(other) && !std::ptr::eq(*other, op) && bound(other) == bound(op)
    };
    let matched = comparison.operations.matched.iter();
    let same: Vec<&MatchedOp> = matched.filter(is_alike).collect();
    let scaled_ns =
        |ops: &mut dyn Iterator<Item = &&MatchedOp>| ops.map(|op| op.scaled_ns()).sum::<f64>();
    let is_fast = |op: &&&MatchedOp| {
        let excess = op.judgment.excess;
        excess.is_some_and(|excess| excess < AS_FAST)
    };
    scaled_ns(&mut same.iter().filter(is_fast)) * 2.0 > scaled_ns(&mut same.iter())
}

/// Fused attention that the reference computes with another operator on the same GPU.
pub(super) fn is_other_attention(comparison: &Comparison, op: &MatchedOp) -> bool {
    op.family == Family::Attention
        && op.level == MatchLevel::Counterpart
        && comparison.is_same_gpu
        && op.reference_name.is_some()
}

/// Whether a trace computes it in kernels that a compiler generated.
fn is_generated(op: &MatchedOp, which: Which) -> bool {
    let kernels = &op.sides.get(which).kernels;
    let is_one = |name: &str| family_of_kernel(name) == Family::Triton;
    kernels.first().is_some_and(|kernel| is_one(&kernel.name))
}

fn is_convolution(op: &MatchedOp, reference: Option<bool>, target: Option<bool>) -> bool {
    let layouts = op.sides.as_ref().map(|side| side.is_channels_last);
    op.family == Family::Convolution && (layouts.reference, layouts.target) == (reference, target)
}

/// How to make PyTorch compute in a type, if there is a single way.
pub(crate) fn autocast(of_type: &str) -> &'static str {
    match of_type {
        "bf16" | "fp16" => ", for example under `torch.autocast`",
        _ => "",
    }
}

/// Whether the reference computes in TF32 and the target in full FP32, although its GPU supports TF32 too.
pub(super) fn lacks_tf32(comparison: &Comparison, op: &MatchedOp) -> bool {
    let runs_tf32 = op.sides.as_ref().map(|side| {
        let mut kernels = side.kernels.iter();
        kernels.any(|kernel| is_tf32_kernel(&kernel.name))
    });
    let has_units = comparison.sides.target.gpu.as_deref().is_none_or(|gpu| {
        let basis = comparison.basis;
        gpu.matrix_rate(Precision::Tf32, basis).is_some()
    });
    // AMD's convolutions have no TF32, whatever the units can do.
    let can_use = op.family != Family::Convolution || !is_on_amd(comparison);
    op.types.is_none() && runs_tf32.reference && !runs_tf32.target && has_units && can_use
}

fn is_on_amd(comparison: &Comparison) -> bool {
    let target = &comparison.sides.target;
    target.vendor == Some(Vendor::Amd)
}

/// How to make PyTorch call a particular attention operator.
fn backend(name: &str) -> String {
    const BACKENDS: [(&str, &str); 3] = [
        ("_flash_attention", "FLASH_ATTENTION"),
        ("_efficient_attention", "EFFICIENT_ATTENTION"),
        ("_cudnn_attention", "CUDNN_ATTENTION"),
    ];
    let backend = BACKENDS.iter().find(|(part, _)| name.contains(part));
    backend.map_or(String::new(), |(_, backend)| {
        format!(": `torch.nn.attention.sdpa_kernel(SDPBackend.{backend})`")
    })
}
