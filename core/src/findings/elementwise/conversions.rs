//! Conversions to another type.

use super::Observed;
use super::base::COPY;
use crate::findings::engine::narrower::sixteen_bit;
use crate::findings::prelude::*;
use crate::names::elementwise::ElementwiseKind;
use crate::names::words::contains_any;
use crate::perf::element_bytes;

const CONVERSION: Rule<Observed> = Rule {
    key: "type_conversions",
    issue: "{figures}; it only converts elements to another type.",
    notes: &[
        "Source and target differ in type alone; the same elements are read and written again.",
    ],
    ..COPY
};

pub(super) const INTEGERS: Rule<Observed> = Rule {
    when: "it converts integers or flags, or converts to them",
    applies: |_, observed| observed.is_long(ElementwiseKind::Cast) && observed.converts_integers(),
    title: "Conversions of integers or flags",
    model: "{narrowed?let `torch.compile` merge the conversion with its neighbors, or keep the result where the same elements are converted again|leave the data narrow and convert where it is used: with `torch.compile` the operation that follows reads the narrow type itself. What is used several times is converted once and kept}.",
    kernel: "let the consumer read the type as it is; the conversion then costs nothing of its own.",
    words: |group| {
        vec![holds(
            "narrowed",
            group.any(|observed| !is_widened(observed)),
        )]
    },
    ..CONVERSION
};

/// Whether a type has 8 bits or fewer.
fn is_narrow(dtype: &str) -> bool {
    contains_any(dtype, &["Float8", "Float4"])
}

pub(super) const QUANTIZATION: Rule<Observed> = Rule {
    when: "it converts to 8 bits or fewer",
    applies: |_, observed| {
        observed.is_long(ElementwiseKind::Cast)
            && observed.types.is_some_and(|[to, _]| is_narrow(to))
    },
    title: "Quantization in kernels of its own",
    model: "let the operation that makes the operand scale and convert it as it writes (`torch.compile`, or a norm or activation that quantizes), and quantize weights that do not change once.",
    kernel: "scale and convert in the kernel that produces the operand.",
    ..CONVERSION
};

pub(super) const DEQUANTIZATION: Rule<Observed> = Rule {
    when: "it converts from 8 bits or fewer",
    applies: |_, observed| {
        observed.is_long(ElementwiseKind::Cast)
            && observed.types.is_some_and(|[_, from]| is_narrow(from))
    },
    title: "Dequantization in kernels of its own",
    model: "multiply in the quantized type (`torch._scaled_mm`, or the quantized linear layer of a library), which reads the narrow operands and applies the scales itself; where the GPU has no such units, convert weights once and keep them, or take a weight-only kernel.",
    kernel: "convert in the kernel that multiplies, as it loads its operands.",
    ..CONVERSION
};

pub(super) const LOGITS: Rule<Observed> = Rule {
    key: "logit_conversions",
    when: "it converts between floating-point types, and its elements are as many, in rows as long, as those that a log-softmax reads",
    applies: |_, observed| observed.is_long(ElementwiseKind::Cast) && observed.is_of_logits,
    title: "Logits converted for the loss",
    issue: "{figures}; it only converts logits, or their gradients, for the loss.",
    model: "let one kernel compute the loss from the logits as the output layer writes them (a fused cross entropy, which computes in FP32 inside; in chunks of tokens the logits need not all be kept), or compile conversion and loss together (`torch.compile`).",
    kernel: "let the loss read the type that the output layer writes, and write gradients in that type.",
    notes: &[
        "Logits are recognized by the size of what the log-softmax of the loss reads.",
        "The saving is the time of the conversions; the loss itself then moves fewer bytes, too, which is not counted.",
    ],
    ..CONVERSION
};

pub(super) const FLOATS: Rule<Observed> = Rule {
    when: "it converts between floating-point types",
    applies: |_, observed| observed.is_long(ElementwiseKind::Cast),
    title: "Conversions between types",
    model: "keep tensors in the type that their consumer wants (weights in {narrow}, autocast around whole blocks), or let `torch.compile` merge the conversion with its neighbors.",
    kernel: "let the producer write the wanted type; the conversion then costs nothing of its own.",
    words: |group| vec![("narrow", sixteen_bit(group.input))],
    ..CONVERSION
};

fn is_widened(observed: &Observed) -> bool {
    let sizes = observed.types.map(|types| types.map(element_bytes));
    sizes.is_some_and(|[to, from]| to > from)
}
