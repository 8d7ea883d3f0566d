//! What an operation computes, by its name, its arguments and its kernels: one module for each kind.

pub(crate) mod attention;
pub(crate) mod convolution;
pub(crate) mod elementwise;
pub(crate) mod gemm;
pub(crate) mod moe;
pub(crate) mod norm;
pub(crate) mod optimizer;
pub(crate) mod reduction;
pub(crate) mod unfused_attention;
