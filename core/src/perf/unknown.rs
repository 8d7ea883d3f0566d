//! Ops that the reference knows and whose work cannot be told from the trace: the decode steps of
//! DeepSeek-V4, which are no ops of a trace but kernels that an option of the reference gives a name;
//! how many keys each query sees is in the values of index tensors.

use super::{Modelled, OpInput};

/// Nothing is known.
pub(super) fn model(_: &OpInput) -> Option<Modelled> {
    None
}
