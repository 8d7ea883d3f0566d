//! The rules for operations without a model.

use super::{
    Observed, is_launched_by_operator, is_of_library, is_replayed, percent_of_all_blocks,
    saved_in_other_type,
};
use crate::base::format;
use crate::findings::Input;
use crate::findings::engine::compute::few_workgroups;
use crate::findings::engine::finding::{Effect, Impact};
use crate::findings::engine::narrower::{
    instead_of_32_bits, matrix_rate_16_bit, saved_by_matrix_units,
};
use crate::findings::engine::rule::{Group, RowOf, Rule, Saves, Subject, Words, either};
use crate::hardware::Precision;
use crate::names::gemm::is_factorization;
use crate::names::tile::is_fp32_on_vector_units;
use crate::perf::model;
use crate::profile::operations::Operation;
use crate::profile::operations::recorded_flops::recorded_flops;

impl Subject for Observed<'static> {
    type Of<'a> = Observed<'a>;

    const ROW: RowOf<Self> = |observed| Some(observed.row);

    fn words(group: &Group<Self>) -> Words {
        let observed = group.first();
        vec![
            ("name", observed.name()),
            either("take", observed.names.len() > 1, "take", "takes"),
            ("what", observed.what.to_owned()),
        ]
    }
}

/// Operators whose indices are a list, about which the profiler records nothing.
const PICKING: &[&str] = &["aten::index", "aten::_unsafe_index"];
const PLACING: &[&str] = &[
    "aten::index_put",
    "aten::index_put_",
    "aten::_index_put_impl_",
    "aten::_unsafe_index_put",
];

pub(super) const RULES: &[Rule<Observed>] = &[
    Rule {
        when: "it is in BF16 or FP16 and the GPU has matrix units for the other of the two only",
        applies: |_, observed| is_16_bit(observed) == Some(true),
        model: "run it in {to}, which the GPU has them for (autocast in that type; training needs a gradient scaler).",
        saves: Saves::AtMost(|input, observed| saved_in_other_type(input, observed.row)),
        ..NO_UNITS
    },
    Rule {
        when: "it is in another type that the GPU has no matrix units for",
        applies: |_, observed| is_16_bit(observed) == Some(false),
        model: "choose {to} where it is compute-bound: on this GPU {from} saves memory alone.",
        saves: Saves::Unknown,
        ..NO_UNITS
    },
    Rule {
        when: "it is attention over a paged KV cache",
        applies: |_, observed| {
            observed.reads_cache && observed.has_shapes && !observed.all(Operation::is_kernel)
        },
        issue: "{name} {take} {time} in {calls}; the sequence lengths in its KV cache are not recorded.",
        model: "note the number of cached tokens of the requests of a step along with the trace: a custom perf model for these makes its efficiency known.",
        ..NO_MODEL
    },
    Rule {
        key: "fp32_on_vector_units",
        when: "only its kernel is known, whose name says that it computes in FP32 on vector units",
        applies: |input, observed| {
            let is_kernel_known_alone = !observed.has_shapes || observed.all(Operation::is_kernel);
            is_kernel_known_alone
                && observed.all(|operation| is_in_fp32_on_vector_units(input, operation))
        },
        title: "{name} in FP32 on vector units",
        issue: "{name} {take} {time} in {calls}; the name of the kernel says that it runs in FP32 on vector units.",
        model: "{instead}.",
        kernel: "nothing to tune until the data type is chosen.",
        notes: &[
            "FLOPs and bytes are unknown: the estimate is the difference between the rates of vector units in FP32 and of matrix units in 16-bit types.",
        ],
        words: |group| vec![("instead", instead_of_32_bits(group.input, &group.rows))],
        saves: Saves::AtMost(|input, observed| saved_by_matrix_units(input, observed.row)),
        effect: Effect::KernelTime,
        ..NO_MODEL
    },
    Rule {
        key: "few_workgroups",
        when: "its kernel, which no graph launches, has workgroups for a quarter of the compute units at most",
        applies: |input, observed| {
            let is_launched = observed.all(|operation| !is_replayed(input, operation));
            is_launched && !few_workgroups(input, observed.row).is_empty()
        },
        title: "{name} in {few}",
        issue: "{name} {take} {time} in {calls}, in {few}: most of the GPU has nothing to do meanwhile.",
        model: "give one call more to do (a larger batch, several tensors at once), or run it on a stream of its own beside other kernels.",
        kernel: "divide the work of a call among more workgroups.",
        words: |group| vec![("few", few_workgroups(group.input, group.first().row))],
        ..NO_MODEL
    },
    Rule {
        when: "it is a kernel that no recorded operator launched",
        applies: |input, observed| {
            let is_alone = || observed.all(|operation| is_replayed(input, operation));
            observed.all(Operation::is_kernel) && (!observed.has_shapes || is_alone())
        },
        issue: "{name} {take} {time} in {calls}; no operator with shapes is known to launch it.",
        model: "record operators and their shapes as well (`ProfilerActivity.CPU`, `record_shapes=True`): then its efficiency is known, and what calls it.",
        kernel: "measure it under a hardware profiler.",
        ..NO_MODEL
    },
    Rule {
        when: "it is a kernel that the model of its operator does not count",
        applies: |input, observed| {
            observed.all(Operation::is_kernel)
                && observed.all(|operation| is_launched_by_operator(input, operation))
        },
        issue: "{name} {take} {time} in {calls}; the perf model of its operator does not cover this kernel.",
        model: "a custom perf model for the operator makes its efficiency known.",
        kernel: "measure it under a hardware profiler.",
        ..NO_MODEL
    },
    Rule {
        when: "it is a kernel that is launched past the dispatcher",
        applies: |_, observed| observed.all(Operation::is_kernel),
        issue: "{name} {take} {time} in {calls}; it bypasses the PyTorch dispatcher, so no operator records its shapes.",
        model: "wrap its call in `torch.library.custom_op` (a Triton kernel in `triton_op`): then an operator records its shapes, and a custom perf model makes its efficiency known.",
        kernel: "measure it under a hardware profiler.",
        ..NO_MODEL
    },
    Rule {
        when: "no shapes were recorded",
        applies: |_, observed| !observed.has_shapes,
        issue: "{name} {take} {time} in {calls}; shapes were not recorded.",
        model: "record shapes as well (`record_shapes=True`): then its efficiency is known.",
        kernel: "measure it under a hardware profiler.",
        ..NO_MODEL
    },
    Rule {
        when: "it reads by a list of indices, whose shapes the profiler does not record",
        applies: |input, observed| observed.all_named(input, |name| PICKING.contains(&name)),
        issue: INDICES,
        model: "use a slice, `index_select` or `torch.where` where one does the same: a slice moves nothing, and the shapes of the others are recorded.",
        ..EXCHANGEABLE
    },
    Rule {
        when: "it writes by a list of indices, whose shapes the profiler does not record",
        applies: |input, observed| observed.all_named(input, |name| PLACING.contains(&name)),
        issue: INDICES,
        model: "assign to a slice, or use `masked_fill_` or `index_copy_`, where one does the same: all their shapes are recorded.",
        ..EXCHANGEABLE
    },
    Rule {
        key: "masked_attention",
        when: "it is generated attention with a block mask, below half of the roofline even if its mask kept all blocks",
        applies: |input, observed| {
            percent_of_all_blocks(input, observed.row)
                .is_some_and(|percent| percent < SURELY_SLOW_PERCENT)
        },
        title: "Generated attention at a low % of roofline",
        issue: MASKED,
        model: "let `torch.compile` compare block sizes (`mode=\"max-autotune\"`, or `kernel_options` of `flex_attention`); where the mask is causal alone, compare it with `scaled_dot_product_attention`.",
        notes: &[
            "The estimate takes the time of all blocks at the roofline as the least; where the mask skips blocks, less is needed.",
        ],
        words: of_all,
        saves: Saves::Each(|input, observed| {
            let percent = percent_of_all_blocks(input, observed.row)?;
            Some(Impact::of_efficiency(observed.row.time_ns, percent))
        }),
        effect: Effect::KernelTime,
        is_pattern: true,
        ..NO_MODEL
    },
    Rule {
        when: "it is generated attention with a block mask, whose values tell how many blocks are computed",
        applies: |input, observed| percent_of_all_blocks(input, observed.row).is_some(),
        issue: MASKED,
        model: "note the share of blocks that the mask skips (`BlockMask.sparsity()`) along with the trace: a custom perf model for it makes its efficiency known.",
        words: of_all,
        ..NO_MODEL
    },
    Rule {
        when: "it is a kernel that a compiler generated",
        applies: |input, observed| observed.all_named(input, |name| name.starts_with("triton_")),
        model: "it does the work of several operators already; a custom perf model makes its efficiency known.",
        ..NO_MODEL
    },
    Rule {
        when: "it is a fused or library operation",
        applies: |input, observed| observed.all(|operation| is_of_library(input, operation)),
        issue: UNCOUNTED,
        model: "it is a fused or library operation already; a custom perf model makes its efficiency known.",
        words: uncounted,
        ..NO_MODEL
    },
    Rule {
        when: "it factorizes matrices",
        applies: |input, observed| observed.all_named(input, is_factorization),
        issue: UNCOUNTED,
        model: "factorize less often, and several matrices of one size in one call (a batch); compare the libraries that can do it (`torch.backends.cuda.preferred_linalg_library`).",
        words: uncounted,
        ..NO_MODEL
    },
    Rule {
        when: "it is any other operation without a model",
        issue: UNCOUNTED,
        model: "see whether a fused or library operation does the same work; a custom perf model makes its efficiency known.",
        words: uncounted,
        ..EXCHANGEABLE
    },
];

const INDICES: &str =
    "{name} {take} {time} in {calls}; the profiler does not record the shapes of its indices.";
const MASKED: &str =
    "{name} {take} {time} in {calls}; how many blocks its mask keeps is not recorded{all}.";
const UNCOUNTED: &str = "{name} {take} {time} in {calls}; {why}.";

/// Below this, attention is slow whatever its mask skips.
const SURELY_SLOW_PERCENT: f64 = 50.0;

/// What the efficiency would be with all blocks, if that is possible.
fn of_all(group: &Group<Observed<'static>>) -> Words {
    let percent = percent_of_all_blocks(group.input, group.first().row);
    let percent = percent.filter(|percent| *percent <= 100.0);
    let all = percent.map(|percent| {
        let percent = format::percent(percent);
        format!("; with all of them it would be at {percent} of roofline")
    });
    vec![("all", all.unwrap_or_default())]
}

/// Finding out FLOPs and bytes saves nothing by itself.
const NO_MODEL: Rule<Observed> = Rule {
    key: "unmodeled_significant",
    title: "{name}: no FLOP/byte model",
    issue: "{name} {take} {time} in {calls}; no perf model counts FLOPs and bytes of this {what}.",
    kernel: "measure it with a reproducer under a hardware profiler.",
    notes: &["Nothing in the trace tells its FLOPs and bytes, so its efficiency is unknown."],
    saves: Saves::Unknown,
    effect: Effect::FirstStep,
    is_pattern: false,
    ..Rule::BASE
};

/// Replacing it by another operation may save time.
const EXCHANGEABLE: Rule<Observed> = Rule {
    notes: &[
        "Nothing in the trace tells its FLOPs and bytes, so its efficiency is unknown and the saving a rule of thumb.",
    ],
    saves: Saves::Heuristic,
    ..NO_MODEL
};

/// The framework computes it without matrix units.
const NO_UNITS: Rule<Observed> = Rule {
    key: "no_units_for_type",
    gate: |group| matrix_rate_16_bit(group.input).is_some(),
    title: "No matrix units for {from}",
    issue: "{name} {take} {time} in {calls}, in {from}, which the GPU has no matrix units for.",
    kernel: "nothing to tune until the data type is chosen.",
    notes: &[
        "The {gpu} has matrix units for {to} and none for {from}, so there is no roofline to compare with.",
    ],
    words: |group| {
        let missing = group.first().missing;
        let instead = matrix_rate_16_bit(group.input).map(|(precision, _)| precision);
        let label = |precision: Option<Precision>| precision.map_or("", Precision::label);
        let gpu = group.input.gpu().map_or("", |gpu| &gpu.name);
        vec![
            ("from", label(missing).to_owned()),
            ("to", label(instead).to_owned()),
            ("gpu", gpu.to_owned()),
        ]
    },
    ..Rule::BASE
};

/// Whether the type without units is a 16-bit type; `None` if missing units are not the reason.
fn is_16_bit(observed: &Observed) -> Option<bool> {
    let missing = observed.missing?;
    Some(matches!(missing, Precision::Bf16 | Precision::Fp16))
}

/// Whether the kernel that does most of its work says so.
fn is_in_fp32_on_vector_units(input: &Input, operation: &Operation) -> bool {
    let kernels = operation.kernels(input.profile);
    let longest = kernels.first();
    longest
        .is_some_and(|(name, ..)| is_fp32_on_vector_units(input.profile.trace.strings.get(*name)))
}

/// The reason for unknown FLOPs and bytes: a model without recorded arguments, or no model.
fn uncounted(group: &Group<Observed<'static>>) -> Words {
    let observed = group.first();
    let why = match observed.all_named(group.input, |name| model(name).is_some()) {
        true => "its recorded arguments do not tell its FLOPs and bytes".to_owned(),
        false => format!(
            "no perf model counts FLOPs and bytes of this {}",
            observed.what
        ),
    };
    let counted = group.input.operation(observed.row.operation);
    let counted = recorded_flops(group.input.profile, counted).map(format::flops);
    let counted = counted.map_or(String::new(), |flops| {
        format!("; the profiler itself counted {flops} a call")
    });
    vec![("why", format!("{why}{counted}"))]
}
