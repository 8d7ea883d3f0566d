//! Performance models: the work of an operator, that is floating-point operations, bytes moved, and the units that do
//! it. Independent of the hardware; the [roofline](crate::hardware::roofline) combines the two.
//!
//! ```text
//! name ─model→ PerfModel ─forward(OpInput: shapes, types, values, kernels)→ Modeled: Work + params
//! ```
//!
//! Each formula exists once, in the file of its family under [`models`], with its derivation above it. The
//! [table](models::table) binds formulas to the names of their ops. To add an op, add its name; to add a formula, write
//! a function from [`OpInput`] to [`Modeled`] and a row.
//!
//! Bytes are lower bounds: each operand is moved once, even if a kernel reads it several times. What the trace does not
//! show (a shape, the size of an element) is `None`.
//!
//! Models that TraceLens has as well also give its parameters, with its names and values, because its sheets are
//! grouped by them. If TraceLens counts wrong, [`Work`] is correct nevertheless, and the parameters stay TraceLens's.

mod arguments;
mod dtype;
pub(crate) mod estimate;
mod input;
pub mod model_config;
pub mod models;
mod params;
pub mod user;

#[cfg(test)]
mod tests;

pub use crate::hardware::{ComputeSpec, Unit, Work};

use crate::names::moe::is_layer;

pub(crate) use dtype::{
    bytes as element_bytes, is_integer as is_integer_type, matrix as matrix_of,
};
pub use input::OpInput;
pub(crate) use input::{Tensor, are_placeholders, product};
pub use models::attention::FusedAttention;
pub(crate) use models::attention::inference::names_batch;
pub use models::gemm::sizes::GemmSizes;
pub(crate) use models::triton::fused_ops;
pub(crate) use models::{
    attention::aten::dropout_of, collective::collective_element_bytes,
    conv::of_call as convolution_of, fft::odd_size, gemm::tf32::is_tf32_kernel,
    index::dense_gradient, index::row_bytes_of_whole, moe::expert_choices, rnn::sequential_steps,
    sort::share_of_radix_selection, sort::share_of_radix_sort, triton::template::of_all_blocks,
};
pub(crate) use params::python_dict;
pub use params::{Param, Params};
pub use user::UserModels;

/// The result of a model for one call.
#[derive(Debug, Clone, PartialEq)]
pub struct Modeled {
    /// Our count.
    pub work: Work,
    /// TraceLens's parameters in its order, each formatted as in its sheets; empty text for a parameter without a
    /// value. No parameters for ops that TraceLens has no model for.
    pub params: Params,
    /// TraceLens's FLOP count, which the sheets named as in TraceLens keep, if it differs from ours and both are in
    /// use.
    pub their_flops: Option<f64>,
    /// The same for bytes.
    pub their_bytes: Option<f64>,
}

impl Modeled {
    /// Adds parameters.
    fn with(self, params: Params) -> Modeled {
        Modeled { params, ..self }
    }

    /// Converts this model's work to what sheets named as in TraceLens show; other work is unchanged.
    pub(crate) fn in_sheets(&self, work: Work) -> Work {
        let is_own = work.flops.total_cmp(&self.work.flops).is_eq();
        Work {
            flops: self.their_flops.filter(|_| is_own).unwrap_or(work.flops),
            bytes: self.their_bytes.filter(|_| is_own).or(work.bytes),
            ..work
        }
    }

    /// One of its parameters, by name.
    pub fn param(&self, wanted: &str) -> Option<&Param> {
        Some(&self.params.iter().find(|(name, _)| *name == wanted)?.1)
    }

    /// A size of at least one among them.
    pub(crate) fn size_of(&self, wanted: &str) -> Option<u64> {
        self.param(wanted)?.size()
    }
}

/// Work of an op that TraceLens has no parameters for.
pub(crate) fn bare(work: Work) -> Modeled {
    Modeled {
        work,
        params: Params::new(),
        their_flops: None,
        their_bytes: None,
    }
}

/// Arithmetic on vector units with elements of a type.
fn on_vectors(dtype: &str, flops: f64, bytes: Option<f64>) -> Modeled {
    bare(Work {
        flops,
        bytes,
        compute: dtype::vector(dtype),
    })
}

/// Arithmetic on matrix units with elements of a type.
fn on_matrices(dtype: &str, flops: f64, bytes: Option<f64>) -> Modeled {
    bare(Work {
        flops,
        bytes,
        compute: dtype::matrix(dtype),
    })
}

/// Like [`on_vectors`], with a number of moved elements of that type.
fn vectors(dtype: &str, flops: f64, elements: f64) -> Modeled {
    let bytes = dtype::bytes(dtype).map(|size| elements * size);
    on_vectors(dtype, flops, bytes)
}

/// Like [`on_matrices`], with a number of moved elements of that type.
fn matrices(dtype: &str, flops: f64, elements: f64) -> Modeled {
    let bytes = dtype::bytes(dtype).map(|size| elements * size);
    on_matrices(dtype, flops, bytes)
}

/// Work that only moves bytes.
fn moved(bytes: Option<f64>) -> Modeled {
    bare(Work {
        flops: 0.0,
        bytes,
        compute: None,
    })
}

/// Drops TraceLens's parameters, for an op that it does not know.
fn unlisted(modeled: Option<Modeled>) -> Option<Modeled> {
    Some(bare(modeled?.work))
}

/// A formula bound to an op.
#[derive(Debug, Clone, Copy)]
pub struct PerfModel {
    /// The op's name, exactly as in a trace; a prefix for Triton kernels.
    pub op: &'static str,
    /// TraceLens's sheet of such ops.
    pub sheet: SheetFamily,
    /// The work of a call; `None` if its arguments do not tell.
    pub forward: fn(&OpInput) -> Option<Modeled>,
    /// The work of its backward pass, from the arguments of the forward call.
    pub backward: Option<fn(&OpInput) -> Option<Modeled>>,
    /// The sizes of a GEMM without TraceLens's parameters, which would include them.
    pub gemm_sizes: Option<fn(&OpInput) -> Option<GemmSizes>>,
    /// TraceLens's label of the backward pass.
    pub backward_category: Option<&'static str>,
    /// Whether TraceLens has a model for this op. Only such ops become rows of its sheets.
    pub is_reference: bool,
}

/// TraceLens's sheets of ops with a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(
    missing_docs,
    reason = "the names are the reference's and say what they are"
)]
pub enum SheetFamily {
    Gemm,
    UnaryElementwise,
    BinaryElementwise,
    Elementwise,
    Normalization,
    RmsNorm,
    Reduce,
    Conv,
    Sdpa,
    InferenceAttention,
    GroupedGemm,
    MoeFused,
    MoeUnfused,
    MoeAux,
    MoeComm,
    Ssm,
    Rope,
    FusedRope,
    CrossEntropy,
    GroupQuant,
    CustomCollective,
    Mhc,
    /// No sheet: Triton kernels, and ops that TraceLens has no model for.
    Unlisted,
}

/// The model of an op: by its exact name; for kernels generated by `torch.compile`, by prefix; for MoE layers, whose
/// names differ between libraries, by the words in the name.
pub fn model(op: &str) -> Option<&'static PerfModel> {
    let by_prefix = || models::table::prefix_models().find(|model| op.starts_with(model.op));
    let by_words = || is_layer(op).then_some(&models::table::MOE_LAYER);
    models::table::exact(op)
        .or_else(by_prefix)
        .or_else(by_words)
}
