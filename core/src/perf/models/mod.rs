//! The formulas: FLOPs and bytes of each family of operators, one file or folder each. The [`table`] binds them to the
//! names of operators.

pub(super) mod attention;
pub(super) mod collective;
pub(super) mod conv;
pub(super) mod elementwise;
pub(super) mod fft;
pub(super) mod gemm;
pub(super) mod index;
pub(super) mod linalg;
pub(super) mod loss;
pub(super) mod mhc;
pub(super) mod moe;
pub(super) mod norm;
pub(super) mod optimizer;
pub(super) mod pool;
pub(super) mod quant;
pub(super) mod reduce;
pub(super) mod resample;
pub(super) mod rnn;
pub(super) mod rope;
pub(super) mod shard;
pub(super) mod softmax;
pub(super) mod sort;
pub(super) mod ssm;
pub mod table;
pub(super) mod triton;
