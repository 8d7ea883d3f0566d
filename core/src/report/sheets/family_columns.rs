//! The columns of the operator family sheets.

use super::{IS_RECOMPUTE, Parts, kernel_details};
use crate::report::labels;
use crate::report::sheet::{Column, Unit, column};

macro_rules! params {
    ($($name:literal: $doc:literal,)*) => {
        /// The parameters that models read from arguments.
        const PARAMS: &[Column] = &[
            $(column(concat!("param: ", $name), Unit::Text, $doc),)*
        ];
    };
}

params! {
    "M": "Rows of the output.",
    "N": "Columns of the output.",
    "K": "Reduction dimension of the GEMM.",
    "B": "GEMMs or sequences in the batch.",
    "bias": "Whether a bias is added.",
    "stride_A": "Strides of operand A.",
    "stride_B": "Strides of operand B.",
    "dtype_A_B": "Types of the operands.",
    "transpose": "Whether the operands are transposed, according to the kernel name.",
    "quant_scheme": "How the operands are quantized.",
    "quant_granularity": "How many elements share a scale.",
    "block_k": "Size of a quantization block along K.",
    "block_n": "Size of a quantization block along N.",
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
    "has_bias": "Whether a bias is added, as TraceLens reports it.",
    "is_affine": "Whether the result is scaled, as TraceLens reports it.",
    "is_training": "Whether statistics are computed, as TraceLens reports it.",
    "output_mask": "Which gradients are asked for.",
    "num_input_elems": "Elements of the input.",
    "num_output_elems": "Elements of the output; TraceLens always reports 1 for reductions.",
    "reduce_type": "What is done with the elements.",
    "convNd": "Dimensions of the convolution.",
    "input_shape": "Shape of the input.",
    "filter_shape": "Shape of the filter.",
    "dtype_input_weight": "Types of input and filter.",
    "input_stride": "Strides of the input.",
    "weight_stride": "Strides of the filter.",
    "stride": "Stride of the convolution.",
    "padding": "Padding of the input.",
    "dilation": "Spacing between filter elements (dilation).",
    "transposed_conv": "Whether the convolution is transposed.",
    "output_padding": "Padding of the output.",
    "groups": "Groups of channels.",
    "N_Q": "Query sequence length.",
    "H_Q": "Number of query heads.",
    "N_KV": "Key/value sequence length.",
    "H_KV": "Number of key/value heads.",
    "d_h_qk": "Head dimension of queries and keys.",
    "d_h_v": "Head dimension of values.",
    "q_stride": "Strides of the queries.",
    "k_stride": "Strides of the keys.",
    "v_stride": "Strides of the values.",
    "dropout": "Dropout probability.",
    "causal": "Whether the mask is causal.",
    "flash_impl": "Whether the backward pass recomputes the attention scores (FlashAttention).",
    "nelems": "Elements of the tensor.",
    "num_elements": "Elements of the tensors.",
    "dtype": "Type of the tensor.",
    "E": "Experts.",
    "topk": "Experts that each token goes to.",
    "gated": "Whether the MLP is gated (gate and up projections).",
    "G": "Groups of the grouped GEMM.",
    "sum_ctx_tokens": "New tokens of requests in prefill.",
    "sum_gen_tokens": "New tokens of requests in decode.",
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
    column("GFLOPS_first", Unit::Number, "Floating-point operations of one call, in units of 10⁹."),
    column("Data Moved (MB)_first", Unit::Number, "Bytes to and from memory of one call, each operand once, in units of 1024² bytes."),
    column("FLOPS/Byte_first", Unit::Number, "Arithmetic intensity: FLOPs per byte."),
    column("TB/s_mean", Unit::Number, "Bytes moved a second, in units of 10¹², mean over the calls."),
    column("TB/s_median", Unit::Number, "Bytes moved a second, in units of 10¹², median."),
    column("TB/s_std", Unit::Number, "Bytes moved a second, in units of 10¹², sample standard deviation."),
    column("TB/s_min", Unit::Number, "Bytes moved a second, in units of 10¹², least."),
    column("TB/s_max", Unit::Number, "Bytes moved a second, in units of 10¹², most."),
    column("TFLOPS/s_mean", Unit::Number, "Operations a second, in units of 10¹², mean over the calls."),
    column("TFLOPS/s_median", Unit::Number, "Operations a second, in units of 10¹², median."),
    column("TFLOPS/s_std", Unit::Number, "Operations a second, in units of 10¹², sample standard deviation."),
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
    column("Roofline Bound_first", Unit::Text, "Whether it is compute-bound or memory-bound on the chosen GPU."),
    column("Pct Roofline_mean", Unit::Percent, "The least time that the chosen GPU needs over the kernel time, mean over the calls."),
    column("Pct Roofline_median", Unit::Percent, "The least time over the kernel time, median over the calls."),
    column("Pct Roofline_std", Unit::Percent, "The least time over the kernel time, sample standard deviation over the calls."),
    column("Pct Roofline_min", Unit::Percent, "The least time over the kernel time, least of the calls."),
    column("Pct Roofline_max", Unit::Percent, "The least time over the kernel time, most of the calls."),
    column("Roofline Basis_first", Unit::Text, "Whether the figure of the GPU that the roofline follows from is a peak or an achievable one."),
];

#[rustfmt::skip]
const CALLS: [Column; 12] = [
    column("Input Dims_first", Unit::Text, "Shapes of the arguments of the first call."),
    column("Input type_first", Unit::Text, "Types of its arguments."),
    column("Input Strides_first", Unit::Text, "Strides of its arguments."),
    column("Concrete Inputs_first", Unit::Text, "Values of its non-tensor arguments."),
    column("Kernel Time (µs)_mean", Unit::Us, "Time during which kernels of a call run, mean."),
    column("Kernel Time (µs)_median", Unit::Us, "Kernel time, median."),
    column("Kernel Time (µs)_std", Unit::Us, "Kernel time, sample standard deviation; empty for a single call."),
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
