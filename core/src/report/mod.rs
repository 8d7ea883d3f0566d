//! What we judge of a profile, and the sheets that say it.
//!
//! A [`Report`] depends on choices (the GPU, the population of GPU work, thresholds) and is made
//! anew when one of them changes. Everything that does not is in the [`Profile`].

mod call_key;
mod cpu_ops;
mod gpu_timeline;
mod kernel_details;
mod kernel_summary;
mod ops_by_category;
mod ops_summary;
mod ops_unique_args;
pub mod overview;
pub mod python;
pub mod sheet;
mod short_kernels;
mod stats;
#[cfg(test)]
mod tests;
mod thresholds;
mod unified_perf;

pub use crate::kernels::GpuEvents;
pub use gpu_timeline::Timelines;
pub use overview::Overview;
pub use thresholds::Thresholds;

use crate::gpu::GpuSpec;
use crate::profile::Profile;
use sheet::{Cell, Column, Sheet, Unit};

/// The choices a report is made with.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ReportOptions {
    /// The hardware to judge by; `None` when it is not known.
    pub gpu: Option<&'static GpuSpec>,
    /// Which GPU work the timeline counts.
    pub gpu_events: GpuEvents,
    /// Where the lines are drawn.
    pub thresholds: Thresholds,
}

/// What we judge of a profile.
#[derive(Debug, Clone)]
pub struct Report {
    /// The choices it was made with.
    pub options: ReportOptions,
    /// How GPU time splits.
    pub timelines: Timelines,
    /// What is read first.
    pub overview: Overview,
    /// The sheets that have rows, in the order of [`SHEETS`].
    pub sheets: Vec<Sheet>,
}

impl Report {
    /// Judges a profile.
    pub fn new(profile: &Profile, options: &ReportOptions) -> Report {
        let timelines = Timelines::new(profile, options.gpu_events);
        let input = SheetInput {
            profile,
            options,
            timelines: &timelines,
        };
        let sheets = SHEETS.iter().filter_map(|kind| (kind.build)(&input));
        Report {
            options: *options,
            overview: Overview::new(profile, options, &timelines),
            sheets: sheets.filter(|sheet| !sheet.rows.is_empty()).collect(),
            timelines,
        }
    }

    /// A sheet by its name; `None` when it would be empty.
    pub fn sheet(&self, name: &str) -> Option<&Sheet> {
        self.sheets.iter().find(|sheet| sheet.name == name)
    }
}

/// What a sheet is made from.
pub struct SheetInput<'a> {
    /// The trace and what it means.
    pub profile: &'a Profile,
    /// The choices.
    pub options: &'a ReportOptions,
    /// How GPU time splits under these choices.
    pub timelines: &'a Timelines,
}

/// A kind of sheet.
#[derive(Debug)]
pub struct SheetKind {
    /// The reference's name.
    pub name: &'static str,
    /// What it shows, for people.
    pub title: &'static str,
    /// Makes it; `None` where the trace has nothing for it.
    pub build: fn(&SheetInput) -> Option<Sheet>,
}

/// Every kind of sheet, in the order in which they are written. To add one: a file here, a row
/// there.
#[rustfmt::skip]
pub const SHEETS: &[SheetKind] = &[
    SheetKind { name: "gpu_timeline", title: "How GPU time splits", build: gpu_timeline::sheet },
    SheetKind { name: "ops_summary_by_category", title: "Categories by GPU time", build: ops_by_category::sheet },
    SheetKind { name: "ops_summary", title: "Operators by GPU time", build: ops_summary::sheet },
    SheetKind { name: "ops_unique_args", title: "Operators by arguments", build: ops_unique_args::sheet },
    SheetKind { name: "unified_perf_summary", title: "Work and rates", build: unified_perf::sheet },
    SheetKind { name: "kernel_summary", title: "Kernels", build: kernel_summary::sheet },
    SheetKind { name: "short_kernel_histogram", title: "Durations of short kernels", build: short_kernels::histogram },
    SheetKind { name: "short_kernels_summary", title: "Short kernels", build: short_kernels::summary },
    SheetKind { name: "cpu_ops_summary", title: "Operators by host time", build: cpu_ops::sheet },
];

/// The column that sheets of a trace with recomputed activations have.
const IS_RECOMPUTE: Column = Column {
    label: "is_recompute",
    unit: Unit::Flag,
    doc: "True for what ran while activations were computed again.",
};

/// Nanoseconds as a cell of a column in microseconds.
fn us(ns: i64) -> Cell {
    Cell::Float(ns as f64 / 1e3)
}

/// Nanoseconds as a cell of a column in milliseconds.
fn ms(ns: i64) -> Cell {
    Cell::Float(ns as f64 / 1e6)
}

/// A share of a whole; empty when the whole is unknown or nothing.
fn percent(part_ns: i64, whole_ns: Option<i64>) -> Cell {
    match whole_ns {
        Some(whole_ns) if whole_ns > 0 => Cell::Float(part_ns as f64 * 100.0 / whole_ns as f64),
        _ => Cell::Empty,
    }
}
