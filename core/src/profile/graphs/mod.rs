//! Kernels that a GPU graph replays: no operator of theirs is in the trace.
//!
//! | module | contents |
//! |---|---|
//! | [`capture`] | merges the recording of a graph's capture with the trace of its replays |
//! | [`shapes`] | without a capture: sizes from the model, from an eager trace, or from kernel names |

pub mod capture;
pub mod shapes;
