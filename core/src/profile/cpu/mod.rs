//! What ran on the CPU.
//!
//! | module | contents |
//! |---|---|
//! | [`tree`] | the call tree: which call ran inside which, and the GPU activity that each led to |
//! | [`autograd`] | which backward call belongs to which forward call |
//! | [`recompute`] | what activation checkpointing runs a second time |
//! | `training` | whether the trace was recorded in training |
//! | [`ops`] | operators by CPU time |
//! | `activity` | data loading, compilation, graph capture and the profiler, by the names of their spans |

pub(crate) mod activity;
pub mod autograd;
pub mod ops;
pub mod recompute;
mod training;
pub mod tree;
