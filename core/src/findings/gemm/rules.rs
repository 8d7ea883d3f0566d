//! The rules for GEMMs.

use super::advice::{
    alignment, fewer_bytes, fill_units, in_cache, less_work, more_tiles, odd_dimensions, padded,
    sizes, subject, tile_sentences, tiles_on_units, weights_in, wider,
};
use super::conditions::{
    accumulates_slowly, beyond_arithmetic_ns, copies_summand, in_16_bits, is_gemv, is_of_split,
    is_outer, is_skinny, of_full_units, shares_matrix,
};
use super::short::PER_EXPERT;
use super::{Observed, is_tiny};
use crate::assess::waterfall::Cause;
use crate::findings::engine::compute::{impact_of_gap, impact_of_steps};
use crate::findings::engine::finding::Impact;
use crate::findings::engine::narrower::{
    instead_of_32_bits, is_in_32_bits, less_arithmetic, narrower_types, saved_by_16_bit, width,
};
use crate::findings::prelude::*;
use crate::hardware::roofline::Bound;
use crate::names::gemm::packed_bits;

impl Subject for Observed<'static> {
    type Of<'a> = Observed<'a>;

    const ROW: RowOf<Self> = |observed| Some(observed.row);

    fn words(group: &Group<Self>) -> Words {
        let is_split = group.first().kernels.is_split;
        vec![("subject", subject(group)), holds("split", is_split)]
    }

    fn reasoning(group: &Group<Self>) -> Vec<String> {
        let from = called_from(group.input, &group.rows).into_iter();
        from.chain(tile_sentences(group.input, group.first()))
            .chain([NOT_SHOWN.to_owned()])
            .collect()
    }

    fn tables(group: &Group<Self>) -> Vec<Table> {
        vec![sizes(group)]
    }
}

pub(super) const RULES: &[Rule<Observed>] = &[
    super::growing::RULE,
    super::projected_again::RULE,
    Rule {
        class: "calls differ",
        when: "most of its gap is a warm-up, or calls that take longer than the median",
        applies: |_, observed| matches!(observed.cause, Some(Cause::WarmUp | Cause::Spread)),
        ..Rule::CALLS_DIFFER
    },
    Rule {
        key: "slow_norm_inside",
        class: "slow norm inside",
        when: "its operator runs a norm before it, at a low % of the memory bandwidth and in a tenth of its time or more",
        applies: |_, observed| observed.norm.is_some(),
        title: "Slow norms inside of GEMM operators",
        issue: "{subject} takes {time}{at}; the norm that it runs first takes {norm} of it, at {reached} of the memory bandwidth.",
        model: "try another norm before this layer, apart from it or from another library: check its type, its hidden size and the version of the library.",
        kernel: "the norm should come near the memory bandwidth: compare it with other implementations for these sizes.",
        notes: &[
            "The time of the norm is compared with what reading and writing its input once takes.",
        ],
        words: |group| {
            let norms = || group.observed.iter().filter_map(|observed| observed.norm);
            let first = group.first().norm.map(|norm| norm.percent);
            let first = first.map_or(String::new(), format::percent);
            let ns = sum(norms().map(|norm| norm.ns));
            vec![("norm", format::time_ns(ns)), ("reached", first)]
        },
        saves: Saves::Each(|_, observed| {
            let norm = observed.norm?;
            Some(Impact::of_efficiency(norm.ns, norm.percent))
        }),
        has_reproducer: false,
        ..Rule::BASE
    },
    Rule {
        key: "gemm_per_expert",
        when: "a loop over the experts of an MoE layer launches it for one of them, at a low % of roofline",
        applies: |_, observed| observed.is_of_expert && observed.is_low,
        ..PER_EXPERT
    },
    Rule {
        key: "gemm_per_chunk",
        class: "chunk of a loss",
        when: "a loss that contains the output layer launches it for a chunk of its rows, and it is memory-bound",
        applies: |_, observed| observed.is_of_chunk,
        title: "Output layer and loss in small chunks",
        issue: "{calls} of GEMMs take {rows} of a loss at a time: {time}{at}; they are memory-bound, because each reads the weights of the output layer, or reads and writes their gradient.",
        model: "give each chunk more rows (1,024 or more) as far as memory allows: set the size or the number of chunks, or pass more tokens to the loss at once where it derives the size from their number.",
        kernel: "a loss that keeps its logits on chip (such as `cut_cross_entropy`) needs no chunks.",
        notes: &["The estimate is the time of these GEMMs beyond that of their arithmetic."],
        words: |group| {
            let sizes = group.first().sizes;
            let rows = sizes.map_or(0, |sizes| sizes.m.min(sizes.n).min(sizes.k));
            vec![("rows", format::counted(rows, "row"))]
        },
        saves: Saves::AtMost(|input, observed| beyond_arithmetic_ns(input, observed.row)),
        ..Rule::BASE
    },
    Rule {
        key: "shared_matrix",
        class: "batched by one matrix",
        when: "all entries of a batch are multiplied by the same matrix, and each has few rows",
        applies: |input, observed| {
            let is_slow = observed.is_low || observed.cause == Some(Cause::TilePadding);
            is_slow && shares_matrix(input, observed)
        },
        title: "Batched GEMM by one matrix",
        issue: "{subject} multiplies each entry of its batch by the same matrix, whose batch stride is zero: {time}{at}.",
        model: "multiply once, with the batch folded into the rows of the other operand (`reshape` to two dimensions, then `mm` or `linear`, in place of `expand` and `bmm`): its tiles are then full, and the matrix is read once.",
        kernel: "nothing to tune in this kernel: one GEMM with all rows does the same.",
        saves: Saves::Each(|_, observed| match observed.cause {
            Some(Cause::TilePadding) => {
                impact_of_steps(observed.waterfall.as_ref()?, &[Cause::TilePadding])
            }
            _ => impact_of_gap(observed.row),
        }),
        ..Rule::BASE
    },
    Rule {
        key: "tiny_batched",
        class: "tiny batched",
        when: "very many matrices are multiplied, and two of M, N and K are small",
        applies: |input, observed| {
            let is_tiny = |sizes| is_tiny(sizes, &input.options.thresholds);
            !is_gemv(observed) && !is_outer(observed) && observed.sizes.is_some_and(is_tiny)
        },
        title: "{padded}",
        issue: "{subject} multiplies many tiny matrices: {time}{at}.",
        model: "merge the batch into fewer, larger GEMMs, or use a fused operation instead (for attention over short axes a fused attention kernel); `torch.compile` may do it.",
        kernel: "profile the batched kernel at these sizes with the reproducer; each GEMM fills a small part of one tile.",
        words: |group| vec![("padded", padded(group.first()))],
        ..Rule::BASE
    },
    Rule {
        key: "gemv_of_one_input",
        class: "matrix × vector of one input",
        when: "M or N is 1 in each layer of a step that has many tokens",
        applies: |_, observed| observed.is_of_one_input,
        title: "GEMV with the same input in each layer",
        issue: "{subject} multiplies one row by a matrix of each layer, {calls} in all, while the other GEMMs have many rows: {time}{at}.",
        model: "compute it for all layers in one GEMM per step, with their weights joined: the row does not depend on the tokens (modulation by the time step).",
        kernel: "a matrix-vector kernel should come close to the memory bandwidth; one launch over all weights reaches it more easily.",
        notes: &[
            "Shapes suggest that all layers take the same row, because it is not one of the tokens; they do not prove it.",
            "The weights are read all the same: the estimate is the gap to the memory bandwidth.",
        ],
        ..Rule::BASE
    },
    Rule {
        key: "gemv",
        class: "matrix × vector",
        when: "M or N is 1",
        // Near the memory bandwidth only a narrower type is left, which other rules advise.
        applies: |_, observed| is_gemv(observed) && (observed.is_low || !observed.is_wide),
        title: "Matrix-vector multiplications (GEMV)",
        issue: "{subject} has one row or column{batched? in each entry of a batch with a matrix of its own|, so the matrix is read for a single vector}: {time}{at}.",
        model: "{advice}: reading the operands is what takes the time.",
        kernel: "a matrix-vector kernel should come close to the memory bandwidth; compare it with the best element-wise operation of this trace.",
        words: |group| {
            let is_batched = group.is_mostly(Observed::is_batched);
            let advice = if is_batched { in_cache } else { weights_in };
            vec![
                holds("batched", is_batched),
                ("advice", advice(group.input, &group.rows)),
            ]
        },
        ..Rule::BASE
    },
    Rule {
        key: "outer_product",
        class: "outer product",
        when: "K is 1",
        applies: |_, observed| is_outer(observed),
        title: "Outer products",
        issue: "{subject} multiplies a column by a row, and does little but write the result: {time}{at}.",
        model: "write it as a multiplication with broadcasting, fused with what follows (`torch.compile`), or compute it once and keep it (position tables).",
        kernel: "an element-wise kernel does the same, and should come close to the memory bandwidth.",
        ..Rule::BASE
    },
    Rule {
        key: "layout_change_inside",
        class: "layout change inside",
        when: "it runs kernels that change the layout of its operands",
        applies: |_, observed| observed.changes_layout(),
        title: "Layout changes inside GEMMs",
        issue: "{subject} spends {layout} of its {total} in kernels that change the layout of its operands.",
        model: "keep the operand in the layout that the GEMM kernel takes (make it contiguous once, where it is created).",
        kernel: "a GEMM kernel that reads this layout makes the copy unnecessary.",
        words: |group| {
            let layout_ns = group.sum(|observed| observed.kernels.layout_ns);
            vec![
                ("layout", format::time_ns(layout_ns)),
                ("total", format::time_ns(group.time_ns())),
            ]
        },
        saves: Saves::Measured(|_, observed| observed.kernels.layout_ns),
        ..Rule::BASE
    },
    super::layouts::RULE,
    Rule {
        key: "few_output_tiles",
        class: "partly filled GPU",
        when: "most of its gap is that its workgroups do not fill the compute units, or they are few and nothing else explains it",
        applies: |input, observed| {
            let is_cause = match observed.cause {
                None => {
                    observed.is_short_of_workgroups()
                        && (observed.odd.is_empty() || observed.is_nearly_idle())
                }
                Some(cause) => cause == Cause::WaveQuantization,
            };
            is_cause && !saves_more_in_16_bits(input, observed)
        },
        title: "{tiles}",
        model: "{more}.",
        kernel: "{kernel}.",
        words: |group| {
            let first = group.first();
            vec![
                ("tiles", tiles_on_units(first)),
                ("more", more_or_narrower(group)),
                ("kernel", fill_units(first).to_owned()),
            ]
        },
        saves: Saves::Each(|_, observed| of_full_units(observed)),
        ..Rule::BASE
    },
    Rule {
        key: "tile_padding",
        class: "padded tiles",
        when: "most of its gap is that its tiles reach beyond the result",
        applies: |_, observed| {
            matches!(
                observed.cause,
                Some(Cause::TilePadding | Cause::PaddedDimension)
            )
        },
        title: "{padded}",
        model: "sizes that are multiples of the tile do more in the same time; pack or batch small matrices into larger ones rather than padding them.",
        kernel: "a smaller tile, or one with another aspect ratio, wastes less computation on padding.",
        words: |group| vec![("padded", padded(group.first()))],
        saves: Saves::Steps(&[Cause::TilePadding, Cause::PaddedDimension]),
        ..Rule::BASE
    },
    Rule {
        when: "most of its gap is the reductions of a split along K",
        applies: |input, observed| {
            observed.cause == Some(Cause::Helpers) && is_of_split(input, observed)
        },
        title: "Split-K reductions beside GEMMs",
        model: "give the GEMM more output tiles, so that it needs fewer splits along K: fuse projections of the same input, and batch weight gradients of equal shapes; let `torch.compile(mode=\"max-autotune\")` try kernels with other splits.",
        kernel: "fewer splits along K, a stream-K kernel, or parts that are added up in the result itself instead of a workspace make the reduction shorter or unnecessary.",
        // Fewer splits leave more of the GPU without work.
        saves: Saves::AtMost(|_, observed| Some(observed.waterfall.as_ref()?.ns(Cause::Helpers))),
        ..HELPERS
    },
    HELPERS,
    Rule {
        key: "wide_precision",
        class: "FP32",
        when: "it runs in FP32, TF32 or FP64 where most GEMMs are narrower, or where 16 bits save time and the memory is not what it waits for",
        // Far from what the memory allows in its own type, it is slow for another reason.
        applies: |_, observed| is_for_its_type(observed),
        title: "GEMMs in {width}{among? among 16-bit ones}",
        issue: "{subject} runs in {width} {among?although most GEMMs of this trace are narrower|on a GPU with 16-bit matrix units}: {time}{at}.",
        model: "{instead}.",
        kernel: "nothing to tune until the data type is chosen.",
        words: |group| {
            vec![
                ("width", width(group.input, &group.rows).to_owned()),
                holds("among", group.first().among_narrow),
                ("instead", instead_of_32_bits(group.input, &group.rows)),
            ]
        },
        saves: Saves::AtMost(|input, observed| saved_by_16_bit(input, observed.row)),
        ..Rule::BASE
    },
    Rule {
        key: "slower_unit",
        class: "vector units",
        when: "its kernel runs on vector units although the matrix units take its type",
        applies: |_, observed| observed.cause == Some(Cause::SlowerUnit),
        title: "GEMMs on vector units",
        model: "{narrower?{narrower}|sizes and row strides that are multiples of 16 bytes let the library select a kernel for matrix units}.",
        kernel: "check why the library takes this kernel: alignment, layout or an unsupported type.",
        words: |group| {
            // FP32 runs on vector units unless a narrower type is allowed, however well it is aligned.
            let is_wide = is_in_32_bits(group.input, &group.rows);
            let narrower = less_arithmetic(group.input, &group.rows).filter(|_| is_wide);
            vec![("narrower", narrower.unwrap_or_default())]
        },
        saves: Saves::Steps(&[Cause::SlowerUnit]),
        ..Rule::BASE
    },
    // After padding, a GEMM may still be skinny, but is faster.
    Rule {
        key: "misaligned",
        class: "misaligned",
        when: "a dimension along memory is not 16-byte aligned",
        applies: |_, observed| !observed.odd.is_empty(),
        title: "{odd}: not 16-byte aligned",
        model: "{alignment}.",
        kernel: "check which kernel is chosen for the padded size; an aligned one is often several times faster.",
        words: |group| {
            vec![
                ("odd", odd_dimensions(group.first())),
                ("alignment", alignment(group.first())),
            ]
        },
        ..Rule::BASE
    },
    Rule {
        key: "old_generation",
        class: "older kernel",
        when: "it is compute-bound, and its kernel was built for an older generation of GPUs",
        applies: |_, observed| observed.is_of_older_generation(),
        title: "Kernels built for {built}, on {gpu}",
        model: "update the framework and its GPU libraries, and let them tune for these sizes ({tuning}).",
        kernel: "a kernel built for an older generation does not use the newer matrix instructions of this GPU: check why the library selects no kernel built for it (type, layout, alignment, version).",
        words: |group| {
            let (built, gpu) = group.first().generations().unwrap_or_default();
            vec![
                ("built", built.to_owned()),
                ("gpu", gpu.to_owned()),
                ("tuning", TUNING.to_owned()),
            ]
        },
        ..Rule::BASE
    },
    Rule {
        key: "tall_skinny",
        class: "tall and skinny",
        when: "one of M and N is many times the other",
        applies: is_skinny,
        title: "Tall and skinny GEMMs",
        issue: "{subject} is far longer than wide: {time}{at}.",
        model: "{wider}.",
        kernel: "try {tried} for these sizes.",
        words: |group| {
            let first = group.first();
            let tried = match (first.few_k_steps(), first.kernels.is_split) {
                (Some(_), _) => "other tile sizes",
                (None, true) => "smaller tiles, or another split along K,",
                (None, false) => "tile sizes and split-K",
            };
            vec![
                ("wider", wider(group.input, first, &group.rows)),
                ("tried", tried.to_owned()),
            ]
        },
        ..Rule::BASE
    },
    Rule {
        key: "few_k_steps",
        class: "short K",
        when: "its sums over K take the kernel at most four steps",
        applies: |_, observed| observed.few_k_steps().is_some(),
        title: "K = {k}: too small for its kernel",
        model: "fuse it with what precedes or follows it, or join GEMMs so that K grows.",
        kernel: "a kernel with a short prologue and epilogue suits a K this small; split-K makes it slower.",
        words: |group| {
            let k = group.first().few_k_steps().unwrap_or_default();
            vec![("k", format::count(k))]
        },
        ..Rule::BASE
    },
    Rule {
        key: "small_tiles",
        class: "small tiles",
        when: "its tiles are so small that they read the operands faster than the memory could",
        applies: |_, observed| observed.small_tile().is_some(),
        title: "{tile} tiles read the operands too often",
        model: "let the library choose its kernel again for these sizes ({tuning}).",
        kernel: "larger tiles read each operand fewer times.",
        words: |group| {
            let (first, second) = group.first().small_tile().unwrap_or_default();
            vec![
                ("tile", format!("{first}×{second}")),
                ("tuning", TUNING.to_owned()),
            ]
        },
        ..Rule::BASE
    },
    Rule {
        key: QUANTIZED,
        class: "quantized",
        when: "it computes in FP8, INT8 or narrower types",
        applies: |_, observed| observed.is_quantized,
        title: "Quantized GEMMs at a low % of roofline",
        issue: "{subject} is quantized: {time}{at}.",
        model: "{memory_bound?larger batches reuse each weight more often, and the epilogue can be fused; weight quantization is the right choice for a memory-bound GEMM|{weight_only?weights of fewer bits only save reading, which is not what takes the time with this many rows: dequantize them once and use a 16-bit GEMM{narrower}|{slow_accum?let it accumulate faster where the accuracy allows it (`use_fast_accum=True`); |}compare granularities of scales and libraries for these sizes: one scale for each tensor is applied once, scales of rows or blocks inside of the GEMM; in {wide} these GEMMs would take {wide_time} at roofline}}.",
        kernel: "tune the quantized kernel for these sizes with the reproducer.",
        words: |group| {
            let first = group.first();
            let name = first.operation.short_name(group.input.profile);
            let narrower = narrower_types(group.input, &group.rows);
            let narrower =
                narrower.map(|types| format!(", or quantize activations, too ({types})"));
            let (wide, wide_ns) = in_16_bits(group).unwrap_or(("16 bits", 0));
            vec![
                holds("memory_bound", first.row.bound == Some(Bound::Memory)),
                holds("weight_only", packed_bits(name).is_some()),
                ("narrower", narrower.unwrap_or_default()),
                holds("slow_accum", accumulates_slowly(group)),
                ("wide", wide.to_owned()),
                ("wide_time", format::time_ns(wide_ns)),
            ]
        },
        ..Rule::BASE
    },
    Rule {
        key: "compute_bound_gap",
        when: "it is compute-bound and of no rule above",
        applies: |_, observed| observed.row.bound == Some(Bound::Compute),
        title: "Compute-bound GEMMs at a low % of roofline",
        model: "{advice}; let the library tune for these sizes ({tuning}).",
        kernel: "tune tile sizes{split? and split-K} for these shapes with the reproducer, and check that the library chose its best kernel.",
        words: |group| vec![("tuning", TUNING.to_owned()), ("advice", less_work(group))],
        ..GAP
    },
    Rule {
        key: "memory_bound_gap",
        when: "it is memory-bound and of no rule above",
        title: "Memory-bound GEMMs at a low % of roofline",
        model: "{advice}.",
        kernel: "the kernel does not reach the memory bandwidth: try {split?smaller tiles, another split along K and }other kernels of the library for these shapes.",
        words: |group| vec![("advice", fewer_bytes(group))],
        ..GAP
    },
];

const HELPERS: Rule<Observed> = Rule {
    key: "helper_kernels",
    class: "helper kernels",
    when: "most of its gap is kernels beside the one that multiplies",
    applies: |_, observed| observed.cause == Some(Cause::Helpers),
    title: "Helper kernels beside GEMMs",
    model: "{summand?the summand is copied into the result before the GEMM adds to it: pass a bias as a contiguous vector (`torch.nn.functional.linear`), which the GEMM adds as it writes the result|keep operands in the layout and type that the kernel takes, and results where they are needed}.",
    kernel: "a kernel that fuses these steps, or needs no workspace, saves their time.",
    words: |group| vec![holds("summand", copies_summand(group.input, group.first()))],
    saves: Saves::Steps(&[Cause::Helpers]),
    ..Rule::BASE
};

/// GEMMs without a pattern: a finding for each bound and step of efficiency.
const GAP: Rule<Observed> = Rule {
    by: |observed| observed.row.gap_bucket(),
    is_pattern: false,
    ..Rule::BASE
};

const QUANTIZED: &str = "quantized";

/// How to tune kernels for sizes.
const TUNING: &str =
    "`torch.compile` with `mode=\"max-autotune\"`, or on ROCm `PYTORCH_TUNABLEOP_ENABLED=1`";

/// Whether its type of 32 bits or more is what to change.
fn is_for_its_type(observed: &Observed) -> bool {
    let is_short_of_memory = observed.row.bound == Some(Bound::Memory);
    observed.is_wide && (observed.among_narrow || !(observed.is_low && is_short_of_memory))
}

/// Whether 16 bits save more than work for all units would.
fn saves_more_in_16_bits(input: &Input, observed: &Observed) -> bool {
    let of_units_ns = of_full_units(observed).map_or(0, |impact| impact.high_ns);
    let of_type = saved_by_16_bit(input, observed.row);
    is_for_its_type(observed) && of_type.is_some_and(|ns| ns > of_units_ns)
}

/// What gives more units work; in FP32 a narrower type first, which pays whatever the units have to do.
fn more_or_narrower(group: &Group<Observed<'static>>) -> String {
    let (input, rows) = (group.input, &group.rows);
    let first = group.first();
    let is_slower = saved_by_16_bit(input, first.row).is_some_and(|ns| ns > 0);
    match is_in_32_bits(input, rows) && is_slower {
        true => instead_of_32_bits(input, rows),
        false => more_tiles(input, first),
    }
}

/// Whether a named rule applies. That weights are quantized does not count.
pub(super) fn is_odd(input: &Input, observed: &Observed) -> bool {
    let mut named = RULES
        .iter()
        .filter(|rule| rule.is_pattern && rule.key != QUANTIZED);
    named.any(|rule| (rule.applies)(input, observed))
}
