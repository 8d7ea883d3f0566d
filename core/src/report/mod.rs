//! What we judge of a profile, and the sheets that say it.
//!
//! A [`Report`] depends on choices (the GPU, the population of GPU activity, thresholds) and is made
//! anew when one of them changes. Everything that does not is in the [`Profile`].

mod call_key;
mod call_stacks;
pub mod cards;
pub mod charts;
mod collectives;
mod cpu_ops;
pub mod details;
pub mod fact_table;
mod families;
mod family_columns;
mod gpu_timeline;
mod kernel_details;
mod kernel_summary;
pub(crate) mod labels;
mod modules;
mod ops_by_category;
mod ops_summary;
mod ops_unique_args;
pub mod overview;
pub(crate) mod places;
pub mod python;
mod rounded;
pub mod shapes;
pub mod sheet;
mod short_kernels;
#[cfg(test)]
mod tests;
pub mod top;
mod unified_perf;
pub(crate) mod window;

use crate::assess::judged;
pub use crate::assess::{Judged, ReportOptions, Timelines};
pub use crate::profile::kernels::GpuEvents;
pub(crate) use call_key::args_cells;
pub(crate) use collectives::collectives;
pub(crate) use modules::module_times;
pub use overview::Overview;
pub(crate) use rounded::{RoundedTime, RoundedTimes};

use std::cell::OnceCell;
use std::sync::{Arc, OnceLock};

use crate::findings::{Analyses, Input};

use crate::base::interval::percent_of;
use crate::perf::SheetFamily;
use crate::profile::operations::Operation;
use crate::profile::rows::Pass;

use crate::profile::Profile;
use families::ModelledCalls;
use labels::Labels;
use sheet::{Cell, Column, Sheet, Unit, column};

/// What we judge of a profile.
#[derive(Debug, Clone)]
pub struct Report {
    /// The choices it was made with.
    pub options: ReportOptions,
    /// How GPU time splits.
    pub timelines: Arc<Timelines>,
    /// What is read first.
    pub overview: Overview,
    /// What the GPU makes of each of [`Profile::operations`], in their order.
    pub judged: Vec<Judged>,
    /// What the numbers mean, and what to do.
    pub analyses: Analyses,
    /// Each of [`SHEETS`], made when it is first asked for.
    sheets: [OnceLock<Option<Sheet>>; SHEETS.len()],
}

impl Report {
    /// Judges a profile.
    pub fn new(profile: &Profile, options: &ReportOptions) -> Report {
        let timelines = Timelines::of(profile, options.gpu_events);
        let judged = judged::judge(profile, options, &timelines);
        let analyses = Analyses::new(&Input {
            profile,
            options,
            timelines: &timelines,
            judged: &judged,
        });
        let mut overview = Overview::new(profile, options, &timelines, &judged, &analyses);
        if let Some(mismatch) = &overview.hardware.mismatch {
            overview.quality.warn(mismatch.clone());
        }
        Report {
            options: options.clone(),
            overview,
            sheets: [const { OnceLock::new() }; SHEETS.len()],
            analyses,
            timelines,
            judged,
        }
    }

    /// The operations that count under the choices, with what the GPU makes of them, the longest
    /// first.
    pub fn operations<'a>(
        &'a self,
        profile: &'a Profile,
    ) -> impl Iterator<Item = (&'a Operation, &'a Judged)> {
        let events = profile.gpu_events(self.options.gpu_events);
        let all = profile.operations().iter().zip(&self.judged);
        all.filter(move |(operation, _)| operation.counts(events))
    }

    /// What the analyzes were made from.
    pub fn analysis_input<'a>(&'a self, profile: &'a Profile) -> Input<'a> {
        Input {
            profile,
            options: &self.options,
            timelines: &self.timelines,
            judged: &self.judged,
        }
    }

    /// The sheets that have rows, in the order of [`SHEETS`].
    pub fn sheets<'a>(&'a self, profile: &Profile) -> Vec<&'a Sheet> {
        let input = self.sheet_input(profile);
        let kinds = SHEETS.iter().zip(&self.sheets);
        kinds
            .filter_map(|(kind, made)| made.get_or_init(|| kind.make(&input)).as_ref())
            .collect()
    }

    /// A sheet by its name; `None` when it would be empty.
    pub fn sheet(&self, profile: &Profile, name: &str) -> Option<&Sheet> {
        let mut kinds = SHEETS.iter().zip(&self.sheets);
        let (kind, made) = kinds.find(|(kind, _)| kind.name == name)?;
        let make = || kind.make(&self.sheet_input(profile));
        made.get_or_init(make).as_ref()
    }

    fn sheet_input<'a>(&'a self, profile: &'a Profile) -> SheetInput<'a> {
        SheetInput {
            profile,
            judged: &self.judged,
            options: &self.options,
            timelines: &self.timelines,
            parts: Parts::of(profile, &self.options),
            labels: Labels::new(profile),
            modelled_calls: OnceCell::new(),
        }
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
    /// What the GPU makes of each of [`Profile::operations`].
    pub judged: &'a [Judged],
    /// What decides which columns sheets have.
    pub parts: Parts,
    /// What names say about GPU activity.
    pub(crate) labels: Labels<'a>,
    /// Found once for all sheets that need them.
    modelled_calls: OnceCell<ModelledCalls>,
}

impl SheetInput<'_> {
    fn modelled_calls(&self) -> &ModelledCalls {
        self.modelled_calls
            .get_or_init(|| ModelledCalls::new(self.profile))
    }
}

/// What decides which columns sheets have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parts {
    /// The trace has operators.
    pub host_ops: bool,
    /// The trace has Python frames.
    pub python: bool,
    /// The trace recomputes activations.
    pub recompute: bool,
    /// A GPU is chosen to judge by.
    pub gpu: bool,
}

impl Parts {
    /// Everything: all columns there are.
    pub const ALL: Parts = Parts {
        host_ops: true,
        python: true,
        recompute: true,
        gpu: true,
    };

    fn of(profile: &Profile, options: &ReportOptions) -> Parts {
        Parts {
            host_ops: profile.has_host_ops(),
            python: profile.has_python_frames(),
            recompute: profile.recompute.is_some(),
            gpu: options.gpu.is_some(),
        }
    }
}

/// A kind of sheet.
#[derive(Debug)]
pub struct SheetKind {
    /// The reference's name.
    pub name: &'static str,
    /// What it shows, for people.
    pub title: &'static str,
    /// Its columns, when a report has these parts.
    pub columns: fn(&Parts) -> Vec<Column>,
    /// Makes it; `None` where the trace has nothing for it.
    pub build: fn(&SheetInput) -> Option<Sheet>,
}

impl SheetKind {
    /// Makes it; `None` where it would have no rows.
    fn make(&self, input: &SheetInput) -> Option<Sheet> {
        (self.build)(input).filter(|sheet| !sheet.rows.is_empty())
    }
}

/// Every kind of sheet, in the order in which they are written. To add one: a file here, a row
/// there.
#[rustfmt::skip]
pub const SHEETS: &[SheetKind] = &[
    SheetKind { name: window::NAME, title: "The part of the trace that is analyzed alone", columns: window::columns, build: window::sheet },
    SheetKind { name: "gpu_timeline", title: "How GPU time splits", columns: gpu_timeline::columns, build: gpu_timeline::sheet },
    SheetKind { name: "ops_summary_by_category", title: "Categories by GPU time", columns: ops_by_category::columns, build: ops_by_category::sheet },
    SheetKind { name: "ops_summary", title: "Operators by GPU time", columns: ops_summary::columns, build: ops_summary::sheet },
    SheetKind { name: "ops_unique_args", title: "Operators by arguments", columns: ops_unique_args::columns, build: ops_unique_args::sheet },
    SheetKind { name: "unified_perf_summary", title: "Work and rates", columns: unified_perf::columns, build: unified_perf::sheet },
    SheetKind { name: "GEMM", title: "GEMM", columns: family_columns::every, build: |input| families::sheet(input, "GEMM", SheetFamily::Gemm, Pass::Forward) },
    SheetKind { name: "CONV_fwd", title: "Convolutions", columns: family_columns::every, build: |input| families::sheet(input, "CONV_fwd", SheetFamily::Conv, Pass::Forward) },
    SheetKind { name: "CONV_bwd", title: "Convolutions, backward", columns: family_columns::every, build: |input| families::sheet(input, "CONV_bwd", SheetFamily::Conv, Pass::Backward) },
    SheetKind { name: "SDPA_fwd", title: "Attention", columns: family_columns::every, build: |input| families::sheet(input, "SDPA_fwd", SheetFamily::Sdpa, Pass::Forward) },
    SheetKind { name: "SDPA_bwd", title: "Attention, backward", columns: family_columns::every, build: |input| families::sheet(input, "SDPA_bwd", SheetFamily::Sdpa, Pass::Backward) },
    SheetKind { name: "UnaryElementwise", title: "Element-wise operators of one tensor", columns: family_columns::every, build: |input| families::sheet(input, "UnaryElementwise", SheetFamily::UnaryElementwise, Pass::Forward) },
    SheetKind { name: "BinaryElementwise", title: "Element-wise operators of two tensors", columns: family_columns::every, build: |input| families::sheet(input, "BinaryElementwise", SheetFamily::BinaryElementwise, Pass::Forward) },
    SheetKind { name: "Normalization", title: "Normalization", columns: family_columns::every, build: |input| families::sheet(input, "Normalization", SheetFamily::Normalization, Pass::Forward) },
    SheetKind { name: "Reduce_fwd", title: "Reductions", columns: family_columns::every, build: |input| families::sheet(input, "Reduce_fwd", SheetFamily::Reduce, Pass::Forward) },
    SheetKind { name: "Reduce_bwd", title: "Reductions, backward", columns: family_columns::every, build: |input| families::sheet(input, "Reduce_bwd", SheetFamily::Reduce, Pass::Backward) },
    SheetKind { name: "RMSNorm_fwd", title: "RMS normalization", columns: family_columns::every, build: |input| families::sheet(input, "RMSNorm_fwd", SheetFamily::RmsNorm, Pass::Forward) },
    SheetKind { name: "RMSNorm_bwd", title: "RMS normalization, backward", columns: family_columns::every, build: |input| families::sheet(input, "RMSNorm_bwd", SheetFamily::RmsNorm, Pass::Backward) },
    SheetKind { name: "InferenceAttention_fwd", title: "Attention of serving engines", columns: family_columns::every, build: |input| families::sheet(input, "InferenceAttention_fwd", SheetFamily::InferenceAttention, Pass::Forward) },
    SheetKind { name: "InferenceAttention_bwd", title: "Attention of serving engines, backward", columns: family_columns::every, build: |input| families::sheet(input, "InferenceAttention_bwd", SheetFamily::InferenceAttention, Pass::Backward) },
    SheetKind { name: "RoPE_fwd", title: "Rotary embeddings", columns: family_columns::every, build: |input| families::sheet(input, "RoPE_fwd", SheetFamily::Rope, Pass::Forward) },
    SheetKind { name: "RoPE_bwd", title: "Rotary embeddings, backward", columns: family_columns::every, build: |input| families::sheet(input, "RoPE_bwd", SheetFamily::Rope, Pass::Backward) },
    SheetKind { name: "FusedRoPE_fwd", title: "Fused rotary embeddings", columns: family_columns::every, build: |input| families::sheet(input, "FusedRoPE_fwd", SheetFamily::FusedRope, Pass::Forward) },
    SheetKind { name: "FusedRoPE_bwd", title: "Fused rotary embeddings, backward", columns: family_columns::every, build: |input| families::sheet(input, "FusedRoPE_bwd", SheetFamily::FusedRope, Pass::Backward) },
    SheetKind { name: "GroupedGEMM_fwd", title: "Grouped GEMM", columns: family_columns::every, build: |input| families::sheet(input, "GroupedGEMM_fwd", SheetFamily::GroupedGemm, Pass::Forward) },
    SheetKind { name: "GroupedGEMM_bwd", title: "Grouped GEMM, backward", columns: family_columns::every, build: |input| families::sheet(input, "GroupedGEMM_bwd", SheetFamily::GroupedGemm, Pass::Backward) },
    SheetKind { name: "MoE_fused_fwd", title: "Fused experts", columns: family_columns::every, build: |input| families::sheet(input, "MoE_fused_fwd", SheetFamily::MoeFused, Pass::Forward) },
    SheetKind { name: "MoE_fused_bwd", title: "Fused experts, backward", columns: family_columns::every, build: |input| families::sheet(input, "MoE_fused_bwd", SheetFamily::MoeFused, Pass::Backward) },
    SheetKind { name: "MoE_unfused_fwd", title: "Experts", columns: family_columns::every, build: |input| families::sheet(input, "MoE_unfused_fwd", SheetFamily::MoeUnfused, Pass::Forward) },
    SheetKind { name: "MoE_unfused_bwd", title: "Experts, backward", columns: family_columns::every, build: |input| families::sheet(input, "MoE_unfused_bwd", SheetFamily::MoeUnfused, Pass::Backward) },
    SheetKind { name: "MoE_aux_fwd", title: "Routing of experts", columns: family_columns::every, build: |input| families::sheet(input, "MoE_aux_fwd", SheetFamily::MoeAux, Pass::Forward) },
    SheetKind { name: "MoE_aux_bwd", title: "Routing of experts, backward", columns: family_columns::every, build: |input| families::sheet(input, "MoE_aux_bwd", SheetFamily::MoeAux, Pass::Backward) },
    SheetKind { name: "MoE_comm_fwd", title: "Communication of experts", columns: family_columns::every, build: |input| families::sheet(input, "MoE_comm_fwd", SheetFamily::MoeComm, Pass::Forward) },
    SheetKind { name: "MoE_comm_bwd", title: "Communication of experts, backward", columns: family_columns::every, build: |input| families::sheet(input, "MoE_comm_bwd", SheetFamily::MoeComm, Pass::Backward) },
    SheetKind { name: "SSM_fwd", title: "State-space models", columns: family_columns::every, build: |input| families::sheet(input, "SSM_fwd", SheetFamily::Ssm, Pass::Forward) },
    SheetKind { name: "SSM_bwd", title: "State-space models, backward", columns: family_columns::every, build: |input| families::sheet(input, "SSM_bwd", SheetFamily::Ssm, Pass::Backward) },
    SheetKind { name: "CrossEntropy_fwd", title: "Cross-entropy", columns: family_columns::every, build: |input| families::sheet(input, "CrossEntropy_fwd", SheetFamily::CrossEntropy, Pass::Forward) },
    SheetKind { name: "CrossEntropy_bwd", title: "Cross-entropy, backward", columns: family_columns::every, build: |input| families::sheet(input, "CrossEntropy_bwd", SheetFamily::CrossEntropy, Pass::Backward) },
    SheetKind { name: "GroupQuant_fwd", title: "Quantization by groups", columns: family_columns::every, build: |input| families::sheet(input, "GroupQuant_fwd", SheetFamily::GroupQuant, Pass::Forward) },
    SheetKind { name: "GroupQuant_bwd", title: "Quantization by groups, backward", columns: family_columns::every, build: |input| families::sheet(input, "GroupQuant_bwd", SheetFamily::GroupQuant, Pass::Backward) },
    SheetKind { name: "CustomCollective_fwd", title: "Collectives of serving engines", columns: family_columns::every, build: |input| families::sheet(input, "CustomCollective_fwd", SheetFamily::CustomCollective, Pass::Forward) },
    SheetKind { name: "CustomCollective_bwd", title: "Collectives of serving engines, backward", columns: family_columns::every, build: |input| families::sheet(input, "CustomCollective_bwd", SheetFamily::CustomCollective, Pass::Backward) },
    SheetKind { name: "mHC_fwd", title: "Hyper-connections", columns: family_columns::every, build: |input| families::sheet(input, "mHC_fwd", SheetFamily::Mhc, Pass::Forward) },
    SheetKind { name: "mHC_bwd", title: "Hyper-connections, backward", columns: family_columns::every, build: |input| families::sheet(input, "mHC_bwd", SheetFamily::Mhc, Pass::Backward) },
    SheetKind { name: "elementwise_fwd", title: "Other element-wise operators", columns: family_columns::every, build: |input| families::sheet(input, "elementwise_fwd", SheetFamily::Elementwise, Pass::Forward) },
    SheetKind { name: "elementwise_bwd", title: "Other element-wise operators, backward", columns: family_columns::every, build: |input| families::sheet(input, "elementwise_bwd", SheetFamily::Elementwise, Pass::Backward) },
    SheetKind { name: "kernel_summary", title: "Kernels", columns: kernel_summary::columns, build: kernel_summary::sheet },
    SheetKind { name: "short_kernel_histogram", title: "Durations of short kernels", columns: short_kernels::histogram_columns, build: short_kernels::histogram },
    SheetKind { name: "short_kernels_summary", title: "Short kernels", columns: short_kernels::summary_columns, build: short_kernels::summary },
    SheetKind { name: "nn_module_summary", title: "Modules by GPU time", columns: modules::columns, build: modules::sheet },
    SheetKind { name: "coll_analysis", title: "Collectives", columns: collectives::columns, build: collectives::sheet },
    SheetKind { name: "cpu_ops_summary", title: "Operators by host time", columns: cpu_ops::columns, build: cpu_ops::sheet },
];

/// The column that sheets of a trace with recomputed activations have.
const IS_RECOMPUTE: Column = column(
    "is_recompute",
    Unit::Flag,
    "True for what ran while activations were computed again.",
);

/// The last two columns of sheets that split a time.
#[rustfmt::skip]
const SHARES: [Column; 2] = [
    column("Percentage (%)", Unit::Percent, "Share of the time of all rows."),
    column("Cumulative Percentage (%)", Unit::Percent, "Share of this row and all above it."),
];

/// Makes the cells under [`SHARES`], row after row.
struct Shares {
    whole_ns: i64,
    so_far_ns: i64,
}

impl Shares {
    fn of(whole_ns: i64) -> Shares {
        Shares {
            whole_ns,
            so_far_ns: 0,
        }
    }

    fn next(&mut self, part_ns: i64) -> [Cell; 2] {
        self.so_far_ns = self.so_far_ns.saturating_add(part_ns);
        [part_ns, self.so_far_ns].map(|ns| percent(ns, Some(self.whole_ns)))
    }
}

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
    let percent = whole_ns.and_then(|whole_ns| percent_of(part_ns, whole_ns));
    percent.map_or(Cell::Empty, Cell::Float)
}
