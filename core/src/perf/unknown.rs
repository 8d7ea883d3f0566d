//! Ops that the reference knows and whose work cannot be told from the trace.

use super::{Modelled, OpInput};

/// Nothing is known.
pub(super) fn model(_: &OpInput) -> Option<Modelled> {
    None
}
