//! The columns that tell the rows of operators apart: name, category, thread and arguments.

use super::sheet::{Cell, Column, Unit};
use super::{IS_RECOMPUTE, Parts, python};
use crate::profile::Profile;
use crate::profile::operations::CallKey;
use crate::profile::rows::leftover_name;
use crate::trace::{Dims, OpArgs, OpArgsId, StringId};

/// What the reference calls a thread or process without a name.
const UNKNOWN: &str = "Unknown";

/// The columns of a key.
pub(super) fn columns(parts: &Parts) -> Vec<Column> {
    let mut columns = COLUMNS.to_vec();
    if parts.recompute {
        columns.push(IS_RECOMPUTE);
    }
    columns
}

/// Their cells.
pub(super) fn cells(profile: &Profile, key: &CallKey) -> Vec<Cell> {
    let strings = &profile.trace.strings;
    let name = strings.get(key.name);
    let name = match key.kernel {
        Some(kernel) => leftover_name(name, strings.get(kernel)),
        None => name.to_owned(),
    };
    let mut cells = vec![Cell::Text(name), Cell::Text(key.label.to_owned())];
    cells.extend(
        key.place
            .map(|name| Cell::Text(name.map_or(UNKNOWN, |name| strings.get(name)).to_owned())),
    );
    cells.extend(args_cells(profile, key.args));
    if profile.recompute.is_some() {
        cells.push(Cell::Flag(key.is_recompute));
    }
    cells
}

/// Shapes, types, strides and values of arguments; empty where they were not recorded.
pub(crate) fn args_cells(profile: &Profile, args: Option<OpArgsId>) -> [Cell; 4] {
    let trace = &profile.trace;
    let nothing = OpArgs::default();
    let args = args
        .and_then(|args| trace.args.get(args))
        .unwrap_or(&nothing);
    let dims = |dims: &Option<Box<[Dims]>>| {
        dims.as_ref().map_or(Cell::Empty, |dims| {
            Cell::Text(python::tuple_of_dims(dims, &trace.args))
        })
    };
    let texts = |texts: &Option<Box<[StringId]>>| {
        texts.as_ref().map_or(Cell::Empty, |texts| {
            Cell::Text(python::tuple_of_strings(texts, &trace.strings))
        })
    };
    [
        dims(&args.dims),
        texts(&args.types),
        dims(&args.strides),
        texts(&args.concrete),
    ]
}

const COLUMNS: [Column; 9] = [
    Column {
        label: "name",
        unit: Unit::Text,
        doc: "The operator, or the runtime call where a launch has no operator around it.",
    },
    Column {
        label: "op category",
        unit: Unit::Text,
        doc: "The reference's category of the operator.",
    },
    Column {
        label: "process_name",
        unit: Unit::Text,
        doc: "The process it was called in.",
    },
    Column {
        label: "process_label",
        unit: Unit::Text,
        doc: "The profiler's label of that process.",
    },
    Column {
        label: "thread_name",
        unit: Unit::Text,
        doc: "The thread it was called on.",
    },
    Column {
        label: "Input Dims",
        unit: Unit::Text,
        doc: "Shapes of its arguments.",
    },
    Column {
        label: "Input type",
        unit: Unit::Text,
        doc: "Types of its arguments.",
    },
    Column {
        label: "Input Strides",
        unit: Unit::Text,
        doc: "Strides of its arguments.",
    },
    Column {
        label: "Concrete Inputs",
        unit: Unit::Text,
        doc: "Values of its arguments that are no tensors.",
    },
];
