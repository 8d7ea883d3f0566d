//! The columns of the operator family sheets.

use super::sheet::{Column, Unit, column};
use super::{IS_RECOMPUTE, Parts, kernel_details, labels};

macro_rules! params {
    ($($name:literal: $doc:literal,)*) => {
        /// The parameters that models read from arguments.
        const PARAMS: &[Column] = &[
            $(column(concat!("param: ", $name), Unit::Text, $doc),)*
        ];
    };
}

params! {
    "M": "Rows of the product.",
    "N": "Columns of the product.",
    "K": "Length of the sums in the product.",
    "B": "GEMMs or sequences in the batch.",
    "bias": "Whether a bias is added.",
    "stride_A": "Strides of the first factor.",
    "stride_B": "Strides of the second factor.",
    "dtype_A_B": "Types of the operands.",
    "transpose": "Whether the kernel reads its factors transposed, by its name.",
    "quant_scheme": "How the factors are quantized.",
    "quant_granularity": "How many elements share a scale.",
    "block_k": "Length of a quantized block along the sums.",
    "block_n": "Length of a quantized block along the columns.",
    "scale_dtype": "Type of the scales.",
    "op_shape": "Shape of the tensor.",
    "dtype_in_out": "Types of input and output.",
    "stride_input": "Strides of the input.",
    "stride_output": "Strides of the output.",
    "shape_in1": "Shape of the first operand.",
    "shape_in2": "Shape of the second operand.",
    "dtype_in1_in2_out": "Types of the operands and the output.",
    "stride_input1": "Strides of the first operand.",
    "stride_input2": "Strides of the second operand.",
    "output_shape": "Shape of the output.",
    "output_dtype": "Type of the output.",
    "num_channels": "Elements that share statistics or weights.",
    "has_bias": "Whether a bias is added, as the reference reads it.",
    "is_affine": "Whether the result is scaled, as the reference reads it.",
    "is_training": "Whether statistics are computed, as the reference reads it.",
    "output_mask": "Which gradients are asked for.",
    "num_input_elems": "Elements of the input.",
    "num_output_elems": "Elements of the output; the reference always says one for reductions.",
    "reduce_type": "What is done with the elements.",
    "convNd": "Dimensions of the convolution.",
    "input_shape": "Shape of the input.",
    "filter_shape": "Shape of the filter.",
    "dtype_input_weight": "Types of input and filter.",
    "input_stride": "Strides of the input.",
    "weight_stride": "Strides of the filter.",
    "stride": "Steps of the filter.",
    "padding": "Padding of the input.",
    "dilation": "Distance between elements of the filter.",
    "transposed_conv": "Whether the convolution is transposed.",
    "output_padding": "Padding of the output.",
    "groups": "Groups of channels.",
    "N_Q": "Length of the queries.",
    "H_Q": "Heads of the queries.",
    "N_KV": "Length of keys and values.",
    "H_KV": "Heads of keys and values.",
    "d_h_qk": "Elements of a head of queries and keys.",
    "d_h_v": "Elements of a head of values.",
    "q_stride": "Strides of the queries.",
    "k_stride": "Strides of the keys.",
    "v_stride": "Strides of the values.",
    "dropout": "Share of scores that are dropped.",
    "causal": "Whether queries see earlier keys only.",
    "flash_impl": "Whether the backward pass computes the scores again.",
    "nelems": "Elements of the tensor.",
    "num_elements": "Elements of the tensors.",
    "dtype": "Type of the tensor.",
    "E": "Experts.",
    "topk": "Experts that each token goes to.",
    "gated": "Whether a gate stands beside the product.",
    "G": "Groups of the product.",
    "sum_ctx_tokens": "New tokens of requests that are read in.",
    "sum_gen_tokens": "New tokens of requests that grow.",
}

/// The column of a parameter.
pub(super) fn param(name: &str) -> Option<Column> {
    let is_named = |column: &&Column| column.label.strip_prefix("param: ") == Some(name);
    PARAMS.iter().find(is_named).cloned()
}

const NAME: Column = column("name", Unit::Text, "The operator.");

#[rustfmt::skip]
const KERNELS: Column =
    column("num_kernels", Unit::Count, "Kernels that a call launches. Only with captures.");

#[rustfmt::skip]
const WORK: [Column; 16] = [
    column("GFLOPS_first", Unit::Number, "Floating-point operations of one call, in thousand millions."),
    column("Data Moved (MB)_first", Unit::Number, "Bytes to and from memory of one call, each operand once, in units of 1024² bytes."),
    column("FLOPS/Byte_first", Unit::Number, "Operations for each byte."),
    column("TB/s_mean", Unit::Number, "Bytes moved a second, in units of 10¹², mean over the calls."),
    column("TB/s_median", Unit::Number, "Bytes moved a second, in units of 10¹², median."),
    column("TB/s_std", Unit::Number, "Bytes moved a second, in units of 10¹², sample deviation."),
    column("TB/s_min", Unit::Number, "Bytes moved a second, in units of 10¹², least."),
    column("TB/s_max", Unit::Number, "Bytes moved a second, in units of 10¹², most."),
    column("TFLOPS/s_mean", Unit::Number, "Operations a second, in units of 10¹², mean over the calls."),
    column("TFLOPS/s_median", Unit::Number, "Operations a second, in units of 10¹², median."),
    column("TFLOPS/s_std", Unit::Number, "Operations a second, in units of 10¹², sample deviation."),
    column("TFLOPS/s_min", Unit::Number, "Operations a second, in units of 10¹², least."),
    column("TFLOPS/s_max", Unit::Number, "Operations a second, in units of 10¹², most."),
    column("process_name_first", Unit::Text, "The process of the first call."),
    column("process_label_first", Unit::Text, "The profiler's label of that process."),
    column("thread_name_first", Unit::Text, "The thread of the first call."),
];

const SPEC: Column = column(
    "Compute Spec",
    Unit::Text,
    "The units that do the operations, and their precision.",
);

#[rustfmt::skip]
const ROOF: [Column; 8] = [
    column("Roofline Time (µs)_first", Unit::Us, "The least time that the chosen GPU needs for one call."),
    column("Roofline Bound_first", Unit::Text, "What keeps the chosen GPU from being faster: arithmetic or memory."),
    column("Pct Roofline_mean", Unit::Percent, "The least time that the chosen GPU needs over the kernel time, mean over the calls."),
    column("Pct Roofline_median", Unit::Percent, "The least time over the kernel time, median over the calls."),
    column("Pct Roofline_std", Unit::Percent, "The least time over the kernel time, sample deviation over the calls."),
    column("Pct Roofline_min", Unit::Percent, "The least time over the kernel time, least of the calls."),
    column("Pct Roofline_max", Unit::Percent, "The least time over the kernel time, most of the calls."),
    column("Roofline Basis_first", Unit::Text, "Whether the figure of the GPU that the roofline follows from is a peak or an achievable one."),
];

#[rustfmt::skip]
const CALLS: [Column; 12] = [
    column("Input Dims_first", Unit::Text, "Shapes of the arguments of the first call."),
    column("Input type_first", Unit::Text, "Types of its arguments."),
    column("Input Strides_first", Unit::Text, "Strides of its arguments."),
    column("Concrete Inputs_first", Unit::Text, "Values of its arguments that are no tensors."),
    column("Kernel Time (µs)_mean", Unit::Us, "Time during which kernels of a call run, mean."),
    column("Kernel Time (µs)_median", Unit::Us, "Kernel time, median."),
    column("Kernel Time (µs)_std", Unit::Us, "Kernel time, sample deviation; empty for a single call."),
    column("Kernel Time (µs)_min", Unit::Us, "Kernel time, shortest."),
    column("Kernel Time (µs)_max", Unit::Us, "Kernel time, longest."),
    column("Kernel Time (µs)_sum", Unit::Us, "Kernel time, sum over the calls."),
    column("name_count", Unit::Count, "Calls, also those without GPU activity."),
    column("UID_first", Unit::Number, "The first call: its position in the events of the trace."),
];

/// All columns of a sheet with these parameters.
pub(super) fn all(params: impl Iterator<Item = Column>, parts: &Parts) -> Vec<Column> {
    let mut columns = vec![NAME];
    columns.extend(params);
    columns.extend(parts.captured.then_some(KERNELS));
    columns.extend(parts.recompute.then_some(IS_RECOMPUTE));
    columns.extend(WORK);
    columns.push(SPEC);
    columns.extend(ROOF.into_iter().filter(|_| parts.gpu));
    columns.push(Column {
        label: "kernel_details__summarize_kernel_stats",
        ..kernel_details::SUMMARY
    });
    columns.push(kernel_details::TRUNCATED);
    columns.extend(CALLS);
    columns.extend(labels::COLUMNS);
    columns
}

/// The columns that a family's sheet can have: which parameters occur depends on the operators.
pub(super) fn every(parts: &Parts) -> Vec<Column> {
    all(PARAMS.iter().cloned(), parts)
}
