//! The rules for reductions.

use super::Observed;
use crate::findings::engine::assessment::Band;
use crate::findings::prelude::*;
use crate::names::reduction::{ReductionKind, is_softmax_of_attention, picks_element};
use crate::profile::operations::kinds::reduction::Axis;

impl Subject for Observed<'static> {
    type Of<'a> = Observed<'a>;

    const ROW: RowOf<Self> = |observed| Some(observed.row);

    fn reasoning(group: &Group<Self>) -> Vec<String> {
        let from = called_from(group.input, &group.rows).into_iter();
        from.chain([NOT_SHOWN.to_owned()]).collect()
    }
}

/// The usual efficiency of reductions and softmax.
pub(super) const USUAL: Band = Band(50.0, 70.0);

/// Added for operations that read their values several times.
const PASSES: &str = "Its efficiency is that of reading and writing once, which it cannot reach: the number of passes depends on the algorithm and the values, so the saving is a rule of thumb.";

const SORTING: Rule<Observed> = Rule {
    key: "sorting",
    title: "Sorting",
    issue: "{figures}; sorting reads its keys several times.",
    model: "where a full order is not needed, ask for the largest k (`topk`), sort once and keep the result, or use a fused sampling operation.",
    ..Rule::BASE
};

const SELECTION: Rule<Observed> = Rule {
    key: "selection",
    title: "Selecting the largest values",
    issue: "{figures}; a selection reads its values several times.",
    model: "select among fewer values where a part of them is enough, or use an operation that selects inside of what follows (sampling, MoE routing).",
    ..Rule::BASE
};

pub(super) const RULES: &[Rule<Observed>] = &[
    Rule {
        key: "strided_reduction",
        when: "the reduced dimension is not the innermost one in memory",
        applies: |_, observed| {
            observed
                .axis
                .is_some_and(|axis| axis.is_strided == Some(true))
        },
        title: "Reductions over a strided dimension",
        issue: "{figures}; it reduces a dimension that is not the innermost one in memory.",
        model: "reduce the innermost dimension where the model is free to choose, or create the tensor in the layout that is reduced.",
        kernel: "compare with a kernel for this layout (several columns at a time).",
        saves: Saves::Each(|_, observed| observed.impact()),
        ..Rule::BASE
    },
    Rule {
        key: "few_results",
        when: "there are fewer results than compute units, each of many elements",
        // A softmax has as many results as elements.
        applies: |input, observed| {
            observed.kind != ReductionKind::Softmax && has_few_results(input, observed)
        },
        title: "{few?Reductions in {few}|Reductions with fewer results than compute units}",
        issue: "{figures}; {results} for {elements} elements.",
        model: "reduce several tensors{picks?, or more rows,} in one call{picks?|, or sum up where the values are produced}.",
        kernel: "a reduction in two stages spreads few results over the whole GPU{few?: this one does not|: check that this one does}.",
        notes: &[
            "{few?|How the kernel splits its input over the GPU is not recorded; its shapes say that the results alone cannot keep all compute units busy.}",
        ],
        words: |group| {
            let first = group.first();
            let count = |of: fn(Axis) -> f64| first.axis.map_or(0, |axis| of(axis) as u64);
            let results = format::counted(count(|axis| axis.results), "result");
            vec![
                ("results", results),
                ("few", few_workgroups(group.input, first.row)),
                ("elements", format::count(count(|axis| axis.elements))),
                holds("picks", picks_element(first.name)),
            ]
        },
        saves: Saves::Each(|_, observed| observed.impact()),
        ..Rule::BASE
    },
    Rule {
        key: "softmax_in_few_workgroups",
        when: "it is a softmax with workgroups for a quarter of the compute units at most",
        applies: |input, observed| {
            observed.kind == ReductionKind::Softmax
                && !few_workgroups(input, observed.row).is_empty()
        },
        title: "Softmax in {few}",
        issue: "{figures}; each row is the work of one workgroup.",
        kernel: "split long rows among several workgroups: their maxima and sums in a first stage, the results in a second.",
        words: |group| {
            let mut words = of_softmax(group);
            words.push(("few", few_workgroups(group.input, group.first().row)));
            words
        },
        ..SOFTMAX
    },
    SOFTMAX,
    Rule {
        when: "it sorts about as fast as a radix sort does",
        applies: |_, observed| observed.is_as_usual(ReductionKind::Sorting),
        gate: |group| group.is_much(),
        kernel: "nothing to gain in a kernel: it is about as fast as sorts are.",
        notes: &[
            "Sorting reads and writes keys and indices once for each eight bits of a key: with that, it is near the memory bandwidth. What a model saves that sorts less is unknown.",
        ],
        saves: Saves::Unknown,
        effect: Effect::FirstStep,
        ..SORTING
    },
    Rule {
        when: "it sorts",
        applies: |_, observed| observed.kind == ReductionKind::Sorting,
        kernel: "compare it with other sorts for these sizes: a radix sort reads and writes keys and indices once for each eight bits of a key.",
        notes: &[PASSES],
        saves: Saves::Each(|_, observed| observed.impact_of_passes()),
        ..SORTING
    },
    Rule {
        when: "it selects the largest, k-th or middle values about as fast as a radix selection does",
        applies: |_, observed| observed.is_as_usual(ReductionKind::Selection),
        gate: |group| group.is_much(),
        kernel: "nothing to gain in a kernel of its own: it is about as fast as selections are.",
        notes: &[
            "A selection reads all values once for each eight bits of them: with that, it is near the memory bandwidth. What a model saves that selects less is unknown.",
        ],
        saves: Saves::Unknown,
        effect: Effect::FirstStep,
        ..SELECTION
    },
    Rule {
        when: "it selects the largest, k-th or middle values",
        applies: |_, observed| observed.kind == ReductionKind::Selection,
        kernel: "compare it with other selections for this row length: short rows are sorted fastest, long ones split over several blocks. A radix selection reads all values once for each eight bits of them.",
        notes: &[PASSES],
        saves: Saves::Each(|_, observed| observed.impact_of_passes()),
        ..SELECTION
    },
    Rule {
        key: "compaction",
        when: "the size of its result depends on the values (`nonzero`, `unique`, `masked_select`)",
        applies: |_, observed| observed.kind == ReductionKind::Compaction,
        title: "Data-dependent output size",
        issue: "{figures}; all values are read before the size of the result is known.",
        model: "where a mask is enough keep all positions (`torch.where`, multiplying by the mask), and keep a result that is needed again: the CPU waits to learn its size.",
        kernel: "compare it with other implementations for these sizes.",
        notes: &[PASSES],
        saves: Saves::Heuristic,
        ..Rule::BASE
    },
    Rule {
        when: "it is a mean, sum, extreme or norm of no rule above",
        applies: |_, observed| observed.kind.is_plain(),
        title: "Reductions at a low % of the memory bandwidth",
        model: "fuse it with what produces its input (`torch.compile`): the input is then reduced while it is written.",
        kernel: "reductions usually reach 50 to 70 % of the memory bandwidth: check with the reproducer how these shapes are split over the GPU.",
        saves: Saves::Usual(USUAL),
        ..GAP
    },
    Rule {
        when: "it is a loss",
        applies: |_, observed| observed.kind == ReductionKind::Loss,
        title: "Losses at a low % of the memory bandwidth",
        model: "let one kernel compute the loss from its inputs (for classes a fused cross entropy, else `torch.compile`): they are then not written and read again.",
        kernel: "check with the reproducer how its rows are split over the GPU.",
        ..GAP
    },
    Rule {
        when: "it is a pooling",
        applies: |_, observed| observed.kind == ReductionKind::Pooling,
        title: "Pooling at a low % of the memory bandwidth",
        model: "keep its input in the layout of the convolutions around it (`torch.channels_last`); where the model is free to choose, a strided convolution needs no pooling after it.",
        kernel: "compare this kernel size in other implementations with the reproducer.",
        ..GAP
    },
    Rule {
        when: "it is a running sum or product",
        applies: |_, observed| observed.kind == ReductionKind::Scan,
        title: "Scans (cumulative sums) {few?in {few}|at a low % of the memory bandwidth}",
        model: "run it along the innermost dimension, over as many rows at once as possible; where totals of blocks are enough, a sum of blocks needs no order.",
        kernel: "compare with a blocked scan for these shapes.",
        words: |group| vec![("few", few_workgroups(group.input, group.first().row))],
        ..GAP
    },
    Rule {
        when: "it is a part of a state-space layer",
        applies: |_, observed| observed.kind == ReductionKind::StateSpace,
        title: "State-space layers at a low % of roofline",
        model: "use kernels that do the short convolution, the scan and the gate of a layer together where its library has them; where the model is free to choose, the chunked form is matrix multiplication.",
        kernel: "check with the reproducer how channels and sequence are split over the GPU.",
        ..GAP
    },
    Rule {
        when: "it is any other operation along an axis",
        title: "Operations along an axis at a low % of roofline",
        model: "see whether a fused or library operation does the same work for these shapes.",
        kernel: "profile the kernel with the reproducer.",
        ..GAP
    },
];

const SOFTMAX: Rule<Observed> = Rule {
    key: "softmax_below_bandwidth",
    when: "it is a softmax",
    applies: |_, observed| observed.kind == ReductionKind::Softmax,
    title: "Softmax at a low % of the memory bandwidth",
    issue: "{figures}.",
    model: "{attention?where it belongs to attention, `torch.nn.functional.scaled_dot_product_attention` never writes its input to memory; elsewhere fuse it with the scaling and masking before it|fuse it with the loss that reads it and the GEMM before it (`torch.compile`, or a fused cross entropy)}.",
    kernel: "softmax usually reaches 50 to 70 % of the memory bandwidth: compare this row length in other implementations with the reproducer.",
    words: of_softmax,
    saves: Saves::Usual(USUAL),
    ..Rule::BASE
};

fn of_softmax(group: &Group<Observed<'static>>) -> Words {
    let is_any = group.any(|observed| is_softmax_of_attention(observed.name));
    vec![holds("attention", is_any)]
}

/// Reductions without a pattern: a finding for each bound and step of efficiency.
const GAP: Rule<Observed> = Rule {
    key: "memory_bound_gap",
    issue: "{figures}.",
    by: |observed| observed.row.gap_bucket(),
    is_pattern: false,
    ..Rule::BASE
};

fn has_few_results(input: &Input, observed: &Observed) -> bool {
    let ratio = input.options.thresholds.reduce_ratio;
    let known = observed.axis.zip(input.n_units());
    known.is_some_and(|(axis, units)| {
        axis.results < f64::from(units) && axis.elements >= ratio * axis.results
    })
}
