//! How much work an operator does: floating-point operations, bytes moved, and which units of the
//! GPU do it. Independent of the hardware; the [roofline](crate::hardware::roofline) puts the two together.
//!
//! ```text
//! name ─model→ PerfModel ─forward(OpInput: shapes, types, values, kernels)→ Modelled: Work + params
//! ```
//!
//! A formula stands once, in the file of its family, with its derivation above it. The
//! [table] binds formulas to the names of their ops. To add an op, add its name; to add a formula,
//! write a function from [`OpInput`] to [`Modelled`] and a row.
//!
//! Bytes are lower bounds: each operand is moved once, however often a kernel reads it again.
//! What cannot be told from the trace (a shape, the size of an element) is `None`.
//!
//! Models of the reference also give its parameters, under its names and with its values, because
//! its sheets are grouped by them. Where it counts wrong, [`Work`] is right all the same, and the
//! parameters stay the reference's.

mod aten_attention;
mod attention;
mod cache;
mod collective;
mod conv;
mod dtype;
mod elementwise;
pub(crate) mod estimate;
mod fft;
mod flash_attention;
mod gemm;
mod index;
mod inference_attention;
mod input;
mod linalg;
mod loss;
mod mask;
mod mhc;
pub mod model_config;
mod moe;
mod moe_layer;
mod norm;
mod optimizer;
mod packed_attention;
mod params;
mod pool;
mod quant;
mod reduce;
mod resample;
mod rms_norm;
mod rnn;
mod rope;
mod scaled_gemm;
mod serving_gemm;
mod shard;
mod sizes;
mod softmax;
mod sort;
mod ssm;
pub mod table;
mod template;
mod tf32;
mod transpose;
mod triton;
pub mod user;
mod value;

#[cfg(test)]
mod tests;

pub use crate::hardware::{ComputeSpec, Unit, Work};

use crate::names::moe::is_layer;

pub use attention::FusedAttention;
pub(crate) use collective::collective_element_bytes;
pub(crate) use dtype::{
    bytes as element_bytes, is_integer as is_integer_type, matrix as matrix_of,
};
pub use inference_attention::names_batch;
pub use input::OpInput;
pub(crate) use input::{Tensor, are_placeholders};
pub use params::{Param, Params, python_dict};
pub use sizes::ProductSizes;
pub(crate) use tf32::is_tf32_kernel;
pub use triton::fused_ops;
pub use user::UserModels;

/// What a model says about one call.
#[derive(Debug, Clone, PartialEq)]
pub struct Modelled {
    /// Our count.
    pub work: Work,
    /// The reference's parameters in its order, each as its sheets write it; empty text for a
    /// parameter without a value. No parameters for ops that the reference has no model for.
    pub params: Params,
    /// The reference's count of operations, which its sheets keep, where ours is another one and both are
    /// in use.
    pub their_flops: Option<f64>,
}

impl Modelled {
    /// The same with parameters.
    fn with(self, params: Params) -> Modelled {
        Modelled { params, ..self }
    }

    /// Work that is this model's as the sheets of the reference have it.
    pub(crate) fn in_sheets(&self, work: Work) -> Work {
        let is_own = work.flops.total_cmp(&self.work.flops).is_eq();
        Work {
            flops: self.their_flops.filter(|_| is_own).unwrap_or(work.flops),
            ..work
        }
    }

    /// One of its parameters.
    pub fn param(&self, wanted: &str) -> Option<&Param> {
        let found = self.params.iter().find(|(name, _)| *name == wanted)?;
        Some(&found.1)
    }
}

/// Work of an op that the reference has no parameters for.
pub(crate) fn bare(work: Work) -> Modelled {
    Modelled {
        work,
        params: Params::new(),
        their_flops: None,
    }
}

/// Arithmetic of the vector units on elements of a type.
fn on_vectors(dtype: &str, flops: f64, bytes: Option<f64>) -> Modelled {
    bare(Work {
        flops,
        bytes,
        compute: dtype::vector(dtype),
    })
}

/// Arithmetic of the matrix units on elements of a type.
fn on_matrices(dtype: &str, flops: f64, bytes: Option<f64>) -> Modelled {
    bare(Work {
        flops,
        bytes,
        compute: dtype::matrix(dtype),
    })
}

/// The same where all that moves is so many elements of the type.
fn vectors(dtype: &str, flops: f64, elements: f64) -> Modelled {
    let bytes = dtype::bytes(dtype).map(|size| elements * size);
    on_vectors(dtype, flops, bytes)
}

/// Matrix units, and elements of their type.
fn matrices(dtype: &str, flops: f64, elements: f64) -> Modelled {
    let bytes = dtype::bytes(dtype).map(|size| elements * size);
    on_matrices(dtype, flops, bytes)
}

/// Work that only moves bytes.
fn moved(bytes: Option<f64>) -> Modelled {
    bare(Work {
        flops: 0.0,
        bytes,
        compute: None,
    })
}

/// A model of the reference's without its parameters, for an op that it does not know.
fn unlisted(modelled: Option<Modelled>) -> Option<Modelled> {
    Some(bare(modelled?.work))
}

/// A formula bound to an op.
#[derive(Debug, Clone, Copy)]
pub struct PerfModel {
    /// The op's name, exactly as in a trace; a prefix for Triton kernels.
    pub op: &'static str,
    /// The reference's sheet of such ops.
    pub sheet: SheetFamily,
    /// The work of a call; `None` where its arguments do not say.
    pub forward: fn(&OpInput) -> Option<Modelled>,
    /// The work of its backward pass, from the arguments of the forward call.
    pub backward: Option<fn(&OpInput) -> Option<Modelled>>,
    /// The sizes of a product that has no parameters of the reference's, which would tell them.
    pub product: Option<fn(&OpInput) -> Option<ProductSizes>>,
    /// The reference's label of the backward pass.
    pub backward_category: Option<&'static str>,
    /// Whether the reference has a model for this op. Only such ops choose rows of its sheets.
    pub is_reference: bool,
}

/// The reference's sheets of ops with a model.
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
    /// No sheet of its own: Triton kernels, and ops the reference has no model for.
    Unlisted,
}

/// The model of an op, by its exact name or, for the kernels that `torch.compile` writes, by the
/// beginning of it; of MoE layers, whose operators every library names anew, by what it holds.
pub fn model(op: &str) -> Option<&'static PerfModel> {
    let by_prefix = || table::prefix_models().find(|model| op.starts_with(model.op));
    let by_words = || is_layer(op).then_some(&table::MOE_LAYER);
    table::exact(op).or_else(by_prefix).or_else(by_words)
}
