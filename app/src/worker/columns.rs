//! Columns that tables have in addition to those of their sheet, computed from what the core crate knows about the row.
//!
//! To add one: a row in [`EXTRA_COLUMNS`].

use dormer_core::base::format;
use dormer_core::hardware::roofline::Bound;
use dormer_core::names::Certainty;
use dormer_core::report::shapes::{gemm_sizes, shapes};
use dormer_core::report::sheet::{Cell, Column, Sheet, Unit};

use super::table::{BY_KERNEL_NAME, CATEGORY_BY, Table};
use crate::protocol::{
    BLOCK, BOUND, FAMILY, GRID, MEDIAN, MODULE, OCCUPANCY, P95, REGISTERS, SHAPES, SHARE,
    SHARED_MEMORY, SIZES, TIME,
};

/// The sheet whose rows are the profile's operations, in order.
pub(super) const OPERATIONS: &str = "unified_perf_summary";
/// The sheet whose rows are the profile's operators, in order.
pub(super) const OPERATORS: &str = "ops_summary";
/// The sheet of kernels.
const KERNELS: &str = "kernel_summary";
/// The GPU time columns of sheets, with their factors to microseconds.
const GPU_TIME: &[(&str, &str, f64)] = &[
    (OPERATIONS, "Kernel Time (µs)_sum", 1.0),
    (OPERATORS, "total_direct_kernel_time_ms", 1e3),
    ("kernel_summary", "Kernel duration (µs)_sum", 1.0),
    ("kernels_by_layer", "Kernel duration (µs)_sum", 1.0),
];

/// A sheet's GPU time column: its index and its factor to microseconds.
pub(super) fn gpu_time(sheet: &Sheet) -> Option<(usize, f64)> {
    let (_, label, to_us) = GPU_TIME.iter().find(|(name, ..)| *name == sheet.name)?;
    Some((sheet.column(label)?, *to_us))
}

pub(super) struct ExtraColumn {
    /// Its label on the page.
    pub(super) label: &'static str,
    /// The unit of its cells.
    unit: Unit,
    source: ColumnSource,
    pub(super) cell: fn(&Table, usize) -> Cell,
}

enum ColumnSource {
    /// Every sheet has it; with its description.
    Everywhere(&'static str),
    /// The sheet of operations has it; with its description.
    Operations(&'static str),
    /// The sheets of operations and of operators have it; with its description.
    Operators(&'static str),
    /// The sheet of kernels has it; with its description.
    Kernels(&'static str),
    /// The sheet of operations has it in place of this column, with the same description.
    Instead(&'static str),
    /// Sheets with a GPU time column have it instead of a share of the sheet's own sum; with its description.
    GpuWork(&'static str),
}

pub(super) const EXTRA_COLUMNS: &[ExtraColumn] = &[
    ExtraColumn {
        label: FAMILY,
        unit: Unit::Text,
        source: ColumnSource::Everywhere("The category of the operation."),
        cell: |table, row| Cell::Text(table.family(row).label().to_owned()),
    },
    ExtraColumn {
        label: "category from",
        unit: Unit::Text,
        source: ColumnSource::Everywhere("How the category was determined."),
        cell: |table, row| match table.certainty(row) {
            // The sheet has this column itself.
            _ if table.sheet.column(CATEGORY_BY).is_some() => Cell::Empty,
            Certainty::ByOperator => Cell::Empty,
            Certainty::ByKernelName => Cell::Text(BY_KERNEL_NAME.to_owned()),
        },
    },
    ExtraColumn {
        label: SHAPES,
        unit: Unit::Text,
        source: ColumnSource::Operations("Shapes and types of the tensor arguments."),
        cell: |table, row| {
            let shapes = table
                .profile()
                .zip(table.operation(row))
                .map(|(profile, operation)| shapes(profile, operation));
            shapes.map_or(Cell::Empty, Cell::Text)
        },
    },
    ExtraColumn {
        label: SIZES,
        unit: Unit::Text,
        source: ColumnSource::Operations("Sizes of a GEMM: M×K times K×N."),
        cell: |table, row| {
            let sizes = table
                .profile()
                .zip(table.operation(row))
                .and_then(|(profile, operation)| gemm_sizes(profile, operation));
            sizes.map_or(Cell::Empty, Cell::Text)
        },
    },
    ExtraColumn {
        label: MODULE,
        unit: Unit::Text,
        source: ColumnSource::Operators("The class of the innermost module around its first call."),
        cell: |table, row| table.module(row).map_or(Cell::Empty, Cell::Text),
    },
    ExtraColumn {
        label: GRID,
        unit: Unit::Text,
        source: ColumnSource::Kernels(
            "Grid size (thread blocks) of its longest run; for some launches on AMD GPUs the profiler records threads instead.",
        ),
        cell: |table, row| {
            let runs = table
                .runs(row)
                .and_then(|runs| Some((runs.size?.0, runs.n_other_sizes)));
            runs.map_or(Cell::Empty, |(grid, n_others)| {
                let others = match n_others {
                    0 => String::new(),
                    n => format!(" ({} others)", format::count(n)),
                };
                Cell::Text(three(grid) + &others)
            })
        },
    },
    ExtraColumn {
        label: BLOCK,
        unit: Unit::Text,
        source: ColumnSource::Kernels("Block size (threads per block) of its longest run."),
        cell: |table, row| {
            let size = table.runs(row).and_then(|runs| runs.size);
            size.map_or(Cell::Empty, |(_, block)| Cell::Text(three(block)))
        },
    },
    ExtraColumn {
        label: REGISTERS,
        unit: Unit::Count,
        source: ColumnSource::Kernels("Registers per thread, as recorded by the profiler."),
        cell: |table, row| whole(table.runs(row).and_then(|runs| runs.registers)),
    },
    ExtraColumn {
        label: SHARED_MEMORY,
        unit: Unit::Count,
        source: ColumnSource::Kernels(
            "Shared memory per block in bytes, as recorded by the profiler.",
        ),
        cell: |table, row| whole(table.runs(row).and_then(|runs| runs.shared_bytes)),
    },
    ExtraColumn {
        label: OCCUPANCY,
        unit: Unit::Percent,
        source: ColumnSource::Kernels(
            "The profiler's estimate from grid, block, registers and shared memory of the longest run. Not measured.",
        ),
        cell: |table, row| known(table.runs(row).and_then(|runs| runs.occupancy_percent)),
    },
    ExtraColumn {
        label: MEDIAN,
        unit: Unit::Us,
        source: ColumnSource::Kernels("Median duration."),
        cell: |table, row| known_us(table.runs(row).and_then(|runs| runs.median_ns)),
    },
    ExtraColumn {
        label: P95,
        unit: Unit::Us,
        source: ColumnSource::Kernels("The duration that 95 % of its runs do not exceed."),
        cell: |table, row| known_us(table.runs(row).and_then(|runs| runs.p95_ns)),
    },
    ExtraColumn {
        label: TIME,
        unit: Unit::Us,
        source: ColumnSource::Instead("Kernel Time (µs)_sum"),
        cell: |table, row| {
            let parts = table.parts(row);
            let ns: i64 = parts.iter().map(|(one, _)| one.kernel_ns).sum();
            match parts.is_empty() {
                true => Cell::Empty,
                false => Cell::Float(ns as f64 / 1e3),
            }
        },
    },
    ExtraColumn {
        label: SHARE,
        unit: Unit::Percent,
        source: ColumnSource::GpuWork("Share of GPU busy time. Concurrent kernels count in full."),
        cell: |table, row| table.share(row).map_or(Cell::Empty, Cell::Float),
    },
    ExtraColumn {
        label: BOUND,
        unit: Unit::Text,
        source: ColumnSource::Instead("Roofline Bound"),
        cell: |table, row| {
            let evaluation = table
                .evaluation(row)
                .filter(|evaluation| !evaluation.is_over_link);
            let roofline = evaluation.and_then(|evaluation| evaluation.roofline);
            roofline.map_or(Cell::Empty, |roofline| {
                Cell::Text(bound(roofline.bound).to_owned())
            })
        },
    },
];

fn three(size: [u64; 3]) -> String {
    size.map(|n| n.to_string()).join("×")
}

fn known(number: Option<f64>) -> Cell {
    number.map_or(Cell::Empty, Cell::Float)
}

fn whole(number: Option<f64>) -> Cell {
    number.map_or(Cell::Empty, |number| Cell::Int(number as i64))
}

fn known_us(ns: Option<i64>) -> Cell {
    known(ns.map(|ns| ns as f64 / 1e3))
}

impl ExtraColumn {
    /// The column in this sheet; `None` if the sheet does not have it.
    pub(super) fn column(&self, sheet: &Sheet) -> Option<Column> {
        let doc = match self.source {
            ColumnSource::Everywhere(doc) => doc,
            ColumnSource::Operations(doc) => (sheet.name == OPERATIONS).then_some(doc)?,
            ColumnSource::Operators(doc) => [OPERATIONS, OPERATORS]
                .contains(&sheet.name)
                .then_some(doc)?,
            ColumnSource::Kernels(doc) => (sheet.name == KERNELS).then_some(doc)?,
            ColumnSource::GpuWork(doc) => gpu_time(sheet).map(|_| doc)?,
            ColumnSource::Instead(column) => {
                let column = sheet.column(column).filter(|_| sheet.name == OPERATIONS)?;
                sheet.columns.get(column)?.doc
            }
        };
        Some(Column {
            label: self.label,
            unit: self.unit,
            doc,
        })
    }

    /// No column of the sheet has the same content.
    pub(super) fn adds(&self) -> bool {
        !matches!(
            self.source,
            ColumnSource::Instead(_) | ColumnSource::GpuWork(_)
        )
    }
}

/// What limits an operation's speed, in a word.
pub(super) fn bound(bound: Bound) -> &'static str {
    match bound {
        Bound::Compute => "compute",
        Bound::Memory => "memory",
    }
}

/// The additional columns of a sheet, with their definitions.
pub(super) fn extra_columns(sheet: &Sheet) -> impl Iterator<Item = (&'static ExtraColumn, Column)> {
    let columns = EXTRA_COLUMNS
        .iter()
        .map(|extra| Some((extra, extra.column(sheet)?)));
    columns.flatten()
}
