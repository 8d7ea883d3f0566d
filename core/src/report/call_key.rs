//! What makes two calls of an operator the same row: name, category, thread and arguments.

use super::sheet::{Cell, Column, Unit};
use super::{IS_RECOMPUTE, python};
use crate::profile::Profile;
use crate::trace::{Dims, EventId, OpArgs, OpArgsId, StringId};

/// Calls with equal keys are one row. Arguments with equal values have equal ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct CallKey {
    pub(super) name: StringId,
    /// Distinguishes the kernels that stand for themselves under one name.
    pub(super) kernel: Option<StringId>,
    pub(super) category: &'static str,
    /// Names of process, process label and thread.
    place: [Option<StringId>; 3],
    pub(super) args: Option<OpArgsId>,
    pub(super) is_recompute: bool,
}

/// What the reference calls a thread or process without a name.
const UNKNOWN: &str = "Unknown";

impl CallKey {
    pub(super) fn new(
        profile: &Profile,
        event: EventId,
        category: &'static str,
        is_recompute: bool,
    ) -> CallKey {
        let trace = &profile.trace;
        let track = trace.tracks.get(trace.events.track(event));
        CallKey {
            name: trace.events.name(event),
            kernel: None,
            category,
            place: track.map_or([None; 3], |track| {
                [track.process_name, track.process_label, track.thread_name]
            }),
            args: trace.events.op_args(event),
            is_recompute,
        }
    }

    /// The columns of the key.
    pub(super) fn columns(profile: &Profile) -> Vec<Column> {
        let mut columns = COLUMNS.to_vec();
        if profile.recompute.is_some() {
            columns.push(IS_RECOMPUTE);
        }
        columns
    }

    /// Their cells.
    pub(super) fn cells(&self, profile: &Profile) -> Vec<Cell> {
        let strings = &profile.trace.strings;
        let name = strings.get(self.name);
        let name = match self.kernel {
            Some(kernel) => format!("{name}->{} (Synthetic Op)", strings.get(kernel)),
            None => name.to_owned(),
        };
        let mut cells = vec![Cell::Text(name), Cell::Text(self.category.to_owned())];
        cells.extend(
            self.place
                .map(|name| Cell::Text(name.map_or(UNKNOWN, |name| strings.get(name)).to_owned())),
        );
        cells.extend(args_cells(profile, self.args));
        if profile.recompute.is_some() {
            cells.push(Cell::Flag(self.is_recompute));
        }
        cells
    }
}

/// Shapes, types, strides and values of arguments; empty where they were not recorded.
fn args_cells(profile: &Profile, args: Option<OpArgsId>) -> [Cell; 4] {
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
