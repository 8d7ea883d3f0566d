//! The rules for generated kernels.

use super::Observed;
use crate::findings::prelude::*;
use crate::names::LoopKind;

impl Subject for Observed<'static> {
    type Of<'a> = Observed<'a>;

    const ROW: RowOf<Self> = |observed| Some(observed.row);

    fn reasoning(group: &Group<Self>) -> Vec<String> {
        let merged = group.observed.first().and_then(|observed| merged(observed));
        let from = called_from(group.input, &group.rows);
        from.into_iter().chain(merged).collect()
    }
}

pub(super) const RULES: &[Rule<Observed>] = &[
    Rule {
        when: "many kernels are about as short as their launch, and GPU graphs replay only others",
        applies: |_, observed| observed.is_short && observed.are_others_replayed,
        model: "look for graph breaks that keep `torch.compile` from merging across them, and capture these kernels, which are launched one by one, in GPU graphs, too.",
        ..SHORT
    },
    SHORT,
    Rule {
        key: "slow_reduction_fusion",
        when: "it is a reduction below 30 % of roofline",
        applies: |input, observed| {
            let slow = input.options.thresholds.triton_slow_percent;
            let percent = observed.row.efficiency_percent;
            matches!(observed.kind, LoopKind::Reduction | LoopKind::Persistent)
                && percent.is_some_and(|percent| percent < slow)
        },
        title: "Generated norms and reductions at a low % of roofline",
        issue: "{figures}.",
        model: "write the reduction along the innermost dimension, or let `torch.compile` choose among more variants (`mode=\"max-autotune\"`).",
        kernel: "compare block sizes and the number of warps for these sizes; `TORCHINDUCTOR_BENCHMARK_KERNEL=1` adds a benchmark to each generated kernel's file.",
        notes: &[NOT_SHOWN],
        ..Rule::BASE
    },
    Rule {
        key: "template_gap",
        when: "it is a GEMM or convolution generated from a template",
        applies: |_, observed| observed.kind == LoopKind::Template && !observed.is_attention,
        by: |observed| observed.row.gap_bucket(),
        title: "Generated GEMMs at a low % of roofline",
        issue: "{figures}.",
        model: "let `torch.compile` compare more tiles, and the kernels of the library, for these sizes (`mode=\"max-autotune\"`, `torch._inductor.config.max_autotune_gemm_backends = \"ATEN,TRITON\"`).",
        kernel: "compare tile sizes, stages and the number of warps for these sizes; `TORCHINDUCTOR_BENCHMARK_KERNEL=1` adds a benchmark to each generated kernel's file.",
        notes: &[NOT_SHOWN],
        is_pattern: false,
        ..Rule::BASE
    },
    Rule {
        key: "template_gap",
        when: "it is attention generated from a template",
        applies: |_, observed| observed.kind == LoopKind::Template,
        by: |observed| observed.row.gap_bucket(),
        title: "Generated attention at a low % of roofline",
        issue: "{figures}.",
        model: "let `torch.compile` compare block sizes (`mode=\"max-autotune\"`, or `kernel_options` of `flex_attention`); where scores need no change and no mask but a causal one, compare it with `scaled_dot_product_attention`.",
        kernel: "compare block sizes, stages and the number of warps for these sizes, with the reproducer.",
        notes: &[NOT_SHOWN],
        is_pattern: false,
        ..Rule::BASE
    },
    Rule {
        key: "memory_bound_gap",
        when: "it is any other kernel",
        by: |observed| observed.row.gap_bucket(),
        title: "Generated kernels at a low % of roofline",
        issue: "{figures}.",
        model: "recompile with `mode=\"max-autotune\"`; make inputs contiguous, so that the generated loops read memory in order.",
        kernel: "compare block sizes and the number of warps for these sizes; `TORCHINDUCTOR_BENCHMARK_KERNEL=1` adds a benchmark to each generated kernel's file.",
        notes: &[NOT_SHOWN],
        is_pattern: false,
        ..Rule::BASE
    },
];

const SHORT: Rule<Observed> = Rule {
    key: "narrow_fusions",
    when: "many kernels are about as short as their launch",
    applies: |_, observed| observed.is_short,
    title: "Many short generated kernels",
    issue: "{calls} of {kernels} take {time}{at}{whole?|: each merges little}.",
    model: "look for graph breaks that keep `torch.compile` from merging across them, and replay the kernels as GPU graphs (`mode=\"reduce-overhead\"`).",
    words: |group| {
        /// A kernel that merges more operators is considered a whole norm or activation.
        const FEW_OPS: usize = 2;
        let is_whole = group.any(|observed| observed.ops.len() > FEW_OPS);
        let n_kernels = group.rows.len() as u64;
        vec![
            ("kernels", format::counted(n_kernels, "generated kernel")),
            holds("whole", is_whole),
        ]
    },
    effect: Effect::KernelTime,
    ..Rule::SMALL_KERNELS
};

/// "The longest merges `add`, `mean` and `rsqrt`."
fn merged(observed: &Observed) -> Option<String> {
    /// With more names a sentence is unreadable.
    const MAX_OPS: usize = 8;
    let n_more = observed.ops.len().saturating_sub(MAX_OPS);
    let ops = observed.ops.iter().take(MAX_OPS);
    let mut names: Vec<String> = ops.map(|op| format!("`{op}`")).collect();
    if n_more > 0 {
        names.push(format!("{n_more} more"));
    }
    match &names[..] {
        [] => None,
        [one] => Some(format!("The longest holds {one} alone.")),
        all => Some(format!("The longest merges {}.", format::listed(all))),
    }
}
