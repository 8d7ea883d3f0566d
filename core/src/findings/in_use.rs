//! What a trace does already against the cost of launches: what is in use is no advice.

use super::Input;
use super::row::Row;
use crate::names::Family;
pub(super) use crate::profile::launch::is_launched_by_graph;

/// How many of some rows run as part of GPU graphs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum InGraphs {
    None,
    Some,
    All,
}

impl InGraphs {
    pub(super) fn of(input: &Input, rows: &[&Row]) -> InGraphs {
        let is_in_graph = |row: &&&Row| input.operation(row.operation).is_in_graph(input.profile);
        match rows.iter().filter(is_in_graph).count() {
            0 => InGraphs::None,
            n if n == rows.len() => InGraphs::All,
            _ => InGraphs::Some,
        }
    }
}

/// Whether kernels run that a compiler of the model wrote.
pub(super) fn is_compiled(input: &Input) -> bool {
    input
        .operations()
        .any(|(_, operation, _)| operation.family == Family::Triton)
}

/// Whether there are convolutions, whose layout others could keep.
pub(super) fn has_convolutions(input: &Input) -> bool {
    input
        .operations()
        .any(|(_, operation, _)| operation.family == Family::Convolution)
}
