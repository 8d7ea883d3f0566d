//! The columns that identify the rows of operator sheets: name, category, thread and arguments.

use super::{IS_RECOMPUTE, Parts};
use crate::profile::Profile;
use crate::profile::operations::CallKey;
use crate::report::python;
use crate::report::sheet::{Cell, Column, Unit, column};
use crate::trace::{Dims, OpArgs, OpArgsId, StringId};

/// TraceLens's name for a thread or process without a name.
const UNKNOWN: &str = "Unknown";

pub(super) fn columns(parts: &Parts) -> Vec<Column> {
    let mut columns = COLUMNS.to_vec();
    if parts.recompute {
        columns.push(IS_RECOMPUTE);
    }
    columns
}

pub(super) fn cells(profile: &Profile, key: &CallKey) -> Vec<Cell> {
    let strings = &profile.trace.strings;
    let mut cells = vec![
        Cell::Text(key.text(profile)),
        Cell::Text(key.label.to_owned()),
    ];
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

/// Shapes, types, strides and values of arguments; empty if they were not recorded.
pub(crate) fn args_cells(profile: &Profile, args: Option<OpArgsId>) -> [Cell; 4] {
    args_cells_as(profile, args, python::TUPLE)
}

/// The same, formatted as the given kind of sequence.
pub(super) fn args_cells_as(
    profile: &Profile,
    args: Option<OpArgsId>,
    kind: python::Sequence,
) -> [Cell; 4] {
    let trace = &profile.trace;
    let nothing = OpArgs::default();
    let args = args
        .and_then(|args| trace.args.get(args))
        .unwrap_or(&nothing);
    let text = |text: Option<String>| text.map_or(Cell::Empty, Cell::Text);
    let dims = |dims: &Option<Box<[Dims]>>| {
        text(dims.as_ref().map(|dims| kind.of_dims(dims, &trace.args)))
    };
    let texts = |texts: &Option<Box<[StringId]>>| {
        text(
            texts
                .as_ref()
                .map(|texts| kind.of_strings(texts, &trace.strings)),
        )
    };
    [
        dims(&args.dims),
        texts(&args.types),
        dims(&args.strides),
        texts(&args.concrete),
    ]
}

#[rustfmt::skip]
const COLUMNS: [Column; 9] = [
    column("name", Unit::Text, "The operator, or the runtime call where a launch has no operator around it."),
    column("op category", Unit::Text, "TraceLens's category of the operator."),
    column("process_name", Unit::Text, "The process it was called in."),
    column("process_label", Unit::Text, "The profiler's label of that process."),
    column("thread_name", Unit::Text, "The thread it was called on."),
    column("Input Dims", Unit::Text, "Shapes of its arguments."),
    column("Input type", Unit::Text, "Types of its arguments."),
    column("Input Strides", Unit::Text, "Strides of its arguments."),
    column("Concrete Inputs", Unit::Text, "Values of its non-tensor arguments."),
];
