//! What a trace does already against the cost of launches: what is in use is no advice.

use super::Input;
use super::outcome::Row;
use crate::category::Family;
use crate::operations::Operation;
use crate::profile::Profile;

/// How many of some rows run as part of GPU graphs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum InGraphs {
    None,
    Some,
    All,
}

impl InGraphs {
    pub(super) fn of(input: &Input, rows: &[&Row]) -> InGraphs {
        let is_in_graph = |row: &&&Row| {
            let operation = input.profile.operations().get(row.operation);
            operation.is_some_and(|operation| is_graph_launch(input.profile, operation))
        };
        match rows.iter().filter(is_in_graph).count() {
            0 => InGraphs::None,
            n if n == rows.len() => InGraphs::All,
            _ => InGraphs::Some,
        }
    }
}

/// Whether a launch of a GPU graph stands for an operation: its kernels have no operators.
pub(super) fn is_graph_launch(profile: &Profile, operation: &Operation) -> bool {
    crate::launch::is_graph_launch(profile.trace.strings.get(operation.key.name))
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
