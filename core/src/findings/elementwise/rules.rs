//! The rules for element-wise operations.

use super::base::{AT_MOST, COPY, ELEMENTWISE, GAP, MOVED, SLOW};
use super::{InGraphs, Observed, conversions, dropout, lists, slices};
use crate::findings::engine::run_time::are_off_critical_path;
use crate::findings::loops::steps::advice_for_short;
use crate::findings::prelude::*;
use crate::names::Family;
use crate::names::elementwise::{ElementwiseKind, Movement, is_random, is_resampling};
use crate::names::words;
use crate::profile::operations::kinds::elementwise::could_be_dense;

const OTHERS_IN_GRAPHS: &str = ", or also capture in GPU graphs those that are launched one by one";
const IN_GRAPHS: &str = "They run as part of GPU graphs, which launch them as cheaply as can be: they are short because there is little data.";

pub(super) const RULES: &[Rule<Observed>] = &[
    Rule {
        key: "gradient_buffers_set_to_zero",
        when: "most of its time is that of calls in functions that set buffers of gradients to zero",
        applies: |_, observed| {
            !observed.is_short && observed.zero_buffer_ns > observed.row.time_ns / 2
        },
        title: "Gradient buffers set to zero by kernels",
        issue: "{figures}; it fills buffers of gradients with zeros, to which the backward pass adds.",
        model: "let the first micro-batch write its gradients into the buffer instead of adding to it: the buffer then needs no zeros. Gradients in BF16 (`grad_reduce_in_fp32=False`) halve what is filled, and more micro-batches in a step fill it less often.",
        kernel: "nothing to gain in a kernel: a fill is as fast as the memory.",
        saves: Saves::AtMost(|_, observed| Some(observed.zero_buffer_ns)),
        has_reproducer: false,
        ..COPY
    },
    Rule {
        key: "gradients_set_to_zero",
        when: "most of its time is that of calls in `zero_grad`, of an optimizer or a module",
        applies: |_, observed| observed.zero_grad_ns > observed.row.time_ns / 2,
        title: "Gradients set to zero by kernels",
        issue: "{figures}; it fills gradients with zeros, to which the next backward pass adds.",
        model: "set gradients to `None` instead, with `zero_grad(set_to_none=True)`, the default since PyTorch 2.0: nothing is launched, and the backward pass writes gradients without reading them.",
        kernel: "nothing to gain in a kernel: it does not have to run.",
        saves: Saves::Measured(|_, observed| observed.zero_grad_ns),
        effect: Effect::FewerLaunches,
        has_reproducer: false,
        ..COPY
    },
    Rule {
        key: "new_tensors_filled",
        when: "it fills tensors as they are allocated, which deterministic algorithms do",
        applies: |_, observed| observed.fills_new,
        title: "New tensors filled for deterministic algorithms",
        issue: "{figures}; it fills each new tensor before anything is written to it.",
        model: "set `torch.utils.deterministic.fill_uninitialized_memory = False`, where no code reads memory that it has not written: `torch.use_deterministic_algorithms(True)` fills new tensors only to make such reads reproducible.",
        kernel: "nothing to gain in a kernel: it does not have to run.",
        saves: Saves::AtMost(|_, observed| Some(observed.row.time_ns)),
        effect: Effect::FewerLaunches,
        has_reproducer: false,
        ..COPY
    },
    slices::RULE,
    dropout::RULE,
    Rule {
        key: "masks_made_again",
        when: "it is a part of making a triangular mask from a constant, at least three times with equal arguments",
        applies: |_, observed| !observed.is_short && observed.masks.n >= 3,
        title: "The same mask made again and again",
        issue: "{figures}; {made} they make the same mask from a constant.",
        model: "make the mask once and keep it (`register_buffer`); causal attention needs none (`is_causal=True`).",
        kernel: "nothing to gain in a kernel: it has to run once.",
        notes: &[
            "A constant, its triangle and conversions of that follow each other, with equal arguments each time; no other tensor is read.",
            "The saving is the time of all calls but one.",
        ],
        words: |group| {
            let n = group.observed.iter().map(|observed| observed.masks.n).max();
            vec![("made", format::counted(n.unwrap_or(0), "time"))]
        },
        saves: Saves::Measured(|_, observed| observed.masks.repeated_ns()),
        has_reproducer: false,
        ..COPY
    },
    Rule {
        key: "large_input_concatenated",
        when: "it concatenates tensors of which one has at least 90 % of the elements",
        applies: |_, observed| !observed.is_short && observed.copied_ns > 0,
        title: "Concatenation that copies one large tensor",
        issue: "{figures}; {share} of what it writes is a copy of its largest input.",
        model: "{grows?allocate the tensor once at its largest size and write new elements in place (a static KV cache, `index_copy_`), instead of `torch.cat` in each step|allocate the result once, and let what computes its inputs write into slices of it (`out=`)}.",
        kernel: "nothing to gain in a kernel: the large input need not be copied.",
        notes: &[
            "What it saves is the share of its time that its largest input has of the result.",
        ],
        words: |group| {
            let copied_ns = sum(group.observed.iter().map(|observed| observed.copied_ns));
            let percent = copied_ns as f64 * 100.0 / group.time_ns().max(1) as f64;
            let grows = group.any(|observed| observed.appends);
            vec![("share", format::percent(percent)), holds("grows", grows)]
        },
        saves: Saves::Measured(|_, observed| observed.copied_ns),
        has_reproducer: false,
        ..COPY
    },
    Rule {
        key: "concatenations",
        when: "it concatenates tensors, in 5 % of the computation or more",
        applies: |_, observed| observed.moves(Movement::Concatenation),
        title: "Concatenation in kernels of its own",
        model: "let `torch.compile` merge it with its neighbors, or allocate the result once and let its producers write into slices of it (`out=`).",
        saves: Saves::Each(|_, observed| Some(Impact::possible(observed.row.time_ns))),
        ..MOVED
    },
    Rule {
        key: "shifts",
        when: "it shifts, flips or rotates a tensor, in 5 % of the computation or more",
        applies: |_, observed| observed.moves(Movement::Shift),
        title: "Tensors shifted or flipped in memory",
        model: "let `torch.compile` merge it with the copy, norm or addition next to it, or read the source at shifted indices.",
        ..MOVED
    },
    Rule {
        key: "repetitions",
        when: "it repeats elements of a tensor in memory, in 5 % of the computation or more",
        applies: |_, observed| observed.moves(Movement::Repetition),
        title: "Tensors repeated in memory",
        model: "use `expand` without `contiguous()` or `reshape` instead of `repeat`: a view repeats elements without a copy. Element-wise operations broadcast it, and attention shares key heads (`enable_gqa=True`).",
        ..MOVED
    },
    Rule {
        key: "paddings",
        when: "it pads a tensor, in 5 % of the computation or more",
        applies: |_, observed| observed.moves(Movement::Padding),
        title: "Tensors padded by kernels of their own",
        model: "pad once where the data is made, or choose sizes that need no padding; convolutions pad by themselves (`padding=`).",
        ..MOVED
    },
    Rule {
        key: "fills",
        when: "it fills a tensor with one value, in 5 % of the computation or more",
        applies: |_, observed| observed.is_fill && !observed.is_short,
        title: "Tensors filled with one value",
        issue: "{figures}; it writes one value and computes nothing.",
        model: "allocate with `torch.empty` what is written completely before it is read, and keep what stays constant; in place of adding to zeros write the first summand.",
        kernel: "nothing to gain in a kernel: a fill is as fast as the memory.",
        saves: Saves::Each(|_, observed| Some(Impact::possible(observed.row.time_ns))),
        has_reproducer: false,
        ..MOVED
    },
    Rule {
        key: "layout_copies",
        when: "it copies a tensor into another order of dimensions in memory",
        applies: |_, observed| observed.is_long(ElementwiseKind::Layout) && observed.keeps_type(),
        title: "Copies into another layout",
        issue: "{figures}; it only changes the memory layout (strides).",
        model: "drop `contiguous()` and `permute` where the consumer takes strides, or keep one layout{convolutions? (for convolutions channels-last)} from end to end.",
        kernel: "where the copy must stay, compare a tiled transpose kernel with this one.",
        notes: &[
            "The strides of source and target order their dimensions differently: each element is moved, none is computed.",
            "The trace does not record what needs the new layout; check the next operation that reads the result.",
        ],
        words: |group| vec![holds("convolutions", group.input.has(Family::Convolution))],
        ..COPY
    },
    Rule {
        key: "layout_and_type_copies",
        when: "it copies a tensor into another order of dimensions and another type",
        applies: |_, observed| observed.is_long(ElementwiseKind::Layout),
        title: "Copies into another layout and type",
        issue: "{figures}; it changes memory layout (strides) and data type at once.",
        model: "keep one layout from end to end, and the type that the consumer wants from the first: `contiguous()` and `permute` are not needed where the consumer takes strides.",
        kernel: "compare a tiled transpose kernel that converts as it writes with this one.",
        // A conversion without reordering is as fast as the memory.
        notes: &[
            "The saving is their time beyond a type conversion without layout change at roofline; if the type can stay, too, no copy is needed.",
        ],
        saves: Saves::Gap,
        ..COPY
    },
    conversions::INTEGERS,
    conversions::QUANTIZATION,
    conversions::DEQUANTIZATION,
    conversions::LOGITS,
    conversions::FLOATS,
    lists::FUSED_STEP,
    lists::OTHER,
    Rule {
        key: "double_precision",
        when: "it reads or writes FP64, where other floating-point work of the trace is narrower",
        applies: |_, observed| observed.is_double && !observed.is_short && !observed.is_copy(),
        gate: |group| group.is_large(|lines| lines.elementwise_gate_ms),
        title: "Element-wise operations in FP64",
        issue: "{figures}; it computes in FP64, while other operations of this trace are narrower.",
        model: "compute in FP32 or the type of the model: a tensor of FP64, as made from a NumPy array, promotes what it is combined with. Convert it once, where it is made (`torch.from_numpy(x).float()`, `torch.tensor(x, dtype=torch.float32)`); Python numbers promote nothing.",
        kernel: "nothing to tune until the data type is chosen.",
        notes: &[
            "The saving is half of their time: FP32 moves half of the bytes, and GPUs compute it at twice the rate or more.",
        ],
        saves: Saves::AtMost(|_, observed| Some(observed.row.time_ns / 2)),
        has_reproducer: false,
        ..ELEMENTWISE
    },
    Rule {
        key: "random_numbers",
        when: "it draws random numbers, below 40 % of the memory bandwidth",
        applies: |_, observed| is_slow(observed) && is_random(observed.name),
        title: "Random numbers in kernels of their own",
        issue: "{figures}; it draws random numbers and writes them to memory.",
        model: "draw them in the kernel that uses them (`torch.nn.functional.dropout` for dropout from `bernoulli_`; `torch.compile` merges `rand` and `randn` with what follows), in BF16 or FP16, and only as many as a step needs.",
        kernel: "a generator computes for each number: compare it with other generators at this size.",
        ..GAP
    },
    Rule {
        key: "resampling",
        when: "it resizes images or samples them at given points, below 40 % of the memory bandwidth",
        applies: |_, observed| is_slow(observed) && is_resampling(observed.name),
        title: "Interpolation at a low % of the memory bandwidth",
        issue: "{figures}; each result is a weighted sum of neighbors.",
        model: "keep images in `torch.channels_last`, so that a position holds all channels next to each other; resize before channels are added, in BF16 or FP16, and not more often than the model needs.",
        kernel: "compare this kernel with one for the other layout, with the reproducer.",
        ..GAP
    },
    Rule {
        key: "slow_quantization",
        when: "it quantizes, below 40 % of the memory bandwidth",
        applies: |_, observed| is_slow(observed) && is_quantizing(observed.name),
        title: "Quantization at a low % of the memory bandwidth",
        issue: "{figures}; it scales and converts to a narrower type.",
        model: "use the operations of the engine or library that quantize in the norm or the activation before (RMSNorm and quantization, SiLU and quantization in one kernel), or let `torch.compile` merge them; scales that are known ahead (static quantization) need no pass to find the largest value.",
        kernel: "compare it with a kernel that keeps a row on chip between finding its scale and converting it.",
        ..GAP
    },
    Rule {
        key: "mixed_types",
        when: "its operands have several floating-point types, below 40 % of the memory bandwidth",
        applies: |input, observed| is_slow(observed) && float_types(input, observed).len() > 1,
        title: "Operands of several types",
        issue: "{figures}; its operands are {types}, and the result has the widest of these types.",
        words: |group| {
            vec![(
                "types",
                format::listed(&float_types(group.input, group.first())),
            )]
        },
        model: "give its operands one type where they are made, the narrow one where the accuracy allows: less is then read and written, and in vectors.",
        kernel: "operands of several types are read element by element: a kernel for these types, as `torch.compile` writes one, reads them in vectors.",
        ..SLOW
    },
    Rule {
        key: "slow_baseline",
        when: "it is a plain addition, multiplication, copy or fill, and all large ones are below half of the memory bandwidth",
        applies: |input, observed| {
            is_slow(observed)
                && observed.kind == ElementwiseKind::Baseline
                && is_baseline_slow(input, observed)
        },
        title: "Even plain copies and sums are slow",
        issue: "{figures}, though it does nothing but read and write.",
        model: "fuse it with its neighbors (`torch.compile`): less is then read and written.",
        kernel: "check clocks, power limit and what else uses the memory, then the kernel: nothing simpler exists to compare with.",
        ..SLOW
    },
    Rule {
        key: "uneven_operands",
        when: "it adds or multiplies operands of which one is broadcast or strided",
        applies: |_, observed| is_slow(observed) && observed.kind == ElementwiseKind::Uneven,
        title: "Broadcast or strided operands",
        issue: "{figures}; {strided?its operands lie in memory in different orders|an operand is broadcast to the shape of the result}.",
        words: |group| {
            let is_one_shape = |observed: &Observed| {
                let tensors = observed.operation.tensors(group.input.profile).into_iter();
                let mut large = tensors.filter(|tensor| tensor.n() > 1.0);
                let first = large.next();
                first.is_some_and(|first| large.all(|other| other.shape == first.shape))
            };
            vec![holds("strided", is_one_shape(group.first()))]
        },
        model: "bring the operand into the layout of the others once, where it is made, or let `torch.compile` write one kernel for the chain.",
        kernel: "operands that differ are read element by element: try a kernel that reads them in tiles.",
        ..SLOW
    },
    Rule {
        key: "slow_elementwise_kernel",
        when: "it reaches less than 30 % of the memory bandwidth",
        applies: |input, observed| {
            let most = input.options.thresholds.elementwise_slow_percent;
            is_slow(observed) && is_below(observed.row.efficiency_percent, most)
        },
        title: "Element-wise kernels far below the memory bandwidth",
        model: "{mixed?make operands contiguous and of one type, or }let `torch.compile` write one kernel for the chain.",
        kernel: "an element-wise kernel should come near the memory bandwidth: compare it with the fastest one of this trace, and try wider loads.",
        words: |group| {
            let is_any = group.any(|observed| is_strided_or_mixed(group.input, observed));
            vec![holds("mixed", is_any)]
        },
        ..GAP
    },
    Rule {
        key: "memory_bound_gap",
        when: "it reaches more, yet less than 40 %",
        applies: |_, observed| is_slow(observed),
        title: "Element-wise operations that fusion would save",
        model: "fuse it with its producer or consumer (`torch.compile`, or a fused operation): fusing usually halves what is read and written.",
        kernel: "compare it with the fastest element-wise kernel of this trace.",
        ..GAP
    },
    lists::MANY_SHORT,
    lists::STEP_NOT_FUSED,
    lists::CLIPPING_NOT_FUSED,
    Rule {
        when: "there are many short kernels of other operations",
        applies: |input, observed| observed.is_short && observed.could_be_merged(input),
        title: "Many short element-wise kernels",
        issue: "{calls} of element-wise operations take {each} each on average: {time}{at}.",
        model: "{loop}merge neighbors into fewer kernels (`torch.compile`, operations on lists of tensors, larger batches){or_graphs}.",
        notes: &["{short}"],
        words: |group| {
            let operations = group.rows.iter().map(|row| row.operation);
            let (or_graphs, short) = match InGraphs::of(group.input, &group.rows) {
                InGraphs::None if are_off_critical_path(group.input, operations) => {
                    (", or replay them as one GPU graph", AT_MOST)
                }
                // A graph only makes launches cheap, and these are already on time.
                InGraphs::None => ("", AT_MOST),
                InGraphs::Some => (OTHERS_IN_GRAPHS, AT_MOST),
                InGraphs::All => ("", IN_GRAPHS),
            };
            vec![
                ("loop", advice_for_short(group.input)),
                ("or_graphs", or_graphs.to_owned()),
                ("short", short.to_owned()),
            ]
        },
        priority: |group, priority| match InGraphs::of(group.input, &group.rows) {
            InGraphs::All => Priority::Low,
            _ => priority,
        },
        ..Rule::SMALL_KERNELS
    },
];

fn is_slow(observed: &Observed) -> bool {
    let is_list = observed.kind == ElementwiseKind::Optimizer;
    !observed.is_short && observed.is_bottleneck && !observed.is_copy() && !is_list
}

/// Whether even the simplest operations of the trace are slow. What some of them reach, others could, too.
fn is_baseline_slow(input: &Input, observed: &Observed) -> bool {
    let most = input.options.thresholds.baseline_slow_percent;
    let baseline = observed.baseline;
    let demonstrated = baseline.demonstrated.map(|one| one.gbps);
    let mut both = [baseline.mean_gbps, demonstrated].into_iter();
    both.all(|gbps| is_below(gbps.and_then(|gbps| baseline.percent(gbps)), most))
}

fn is_below(percent: Option<f64>, most: f64) -> bool {
    percent.is_some_and(|percent| percent < most)
}

/// The floating-point types of its operands of more than one element, each once.
/// Whether an operator converts to a narrower type with scales.
fn is_quantizing(name: &str) -> bool {
    words::holds(name, &["quant"]) && !words::holds(name, &["dequant"])
}

fn float_types(input: &Input, observed: &Observed) -> Vec<String> {
    let tensors = observed.operation.tensors(input.profile).into_iter();
    let large = tensors.filter(|tensor| tensor.n() > 1.0);
    let mut found: Vec<String> = Vec::new();
    for dtype in large.filter_map(|tensor| format::dtype(tensor.dtype)) {
        let is_float = dtype.starts_with("fp") || dtype.starts_with("bf");
        if is_float && !found.iter().any(|known| known == dtype) {
            found.push(dtype.to_owned());
        }
    }
    found
}

/// Whether operands have several types or are not dense, or this is unknown.
fn is_strided_or_mixed(input: &Input, observed: &Observed) -> bool {
    let arguments = observed.operation.arguments(input.profile);
    arguments.is_none_or(|arguments| could_be_dense(&arguments))
}
