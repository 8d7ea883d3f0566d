//! The sheets of a report, with the names, columns and row order of AMD's TraceLens. [`SHEETS`] has a row for each.
//!
//! A file whose name is that of a sheet has its columns and its rows; other files have columns that several sheets
//! share. Cells are made by the functions of `columns`.

mod call_key;
mod call_stacks;
mod collectives;
mod cpu_ops;
mod families;
mod family_columns;
mod gap_waterfall;
mod gpu_activity;
pub(crate) mod gpu_timeline;
mod kernel_details;
mod kernel_summary;
pub(crate) mod layer_kernels;
mod memory;
mod modules;
mod ops_by_category;
pub mod ops_summary;
mod ops_unique_args;
mod parent_modules;
mod rounded;
mod short_kernels;
pub(crate) mod steps;
mod unified_perf;
pub(crate) mod window;

use std::cell::OnceCell;

use super::columns::{described, percent};
use super::labels::Labels;
use super::sheet::{Cell, Column, Sheet, Unit, column};
use super::{Evaluation, Report, ReportOptions, Timelines};
use crate::perf::SheetFamily;
use crate::profile::Profile;
use crate::profile::gpu::timelines::SheetTimelines;
use crate::profile::operations::perf_rows::Pass;
pub(crate) use call_key::args_cells;
pub(crate) use collectives::collectives;
use families::ModeledCalls;
pub(crate) use kernel_summary::{KernelTotal, totals as kernel_totals};
pub use modules::ModuleTime;
pub(crate) use modules::module_times;
pub use parent_modules::parent as module_of;
pub(crate) use rounded::{RoundedTime, RoundedTimes};
pub use unified_perf::has_row;

/// The data a sheet is made from.
pub struct SheetInput<'a> {
    /// The profile.
    pub profile: &'a Profile,
    /// The choices.
    pub options: &'a ReportOptions,
    /// How GPU time splits.
    pub timelines: &'a Timelines,
    /// How each of [`Profile::operations`] performs on the GPU.
    pub evaluations: &'a [Evaluation],
    /// The parts of a report, which determine the columns of its sheets.
    pub parts: Parts,
    /// The labels of GPU activity.
    pub(crate) labels: Labels<'a>,
    /// Computed once for all sheets that need them.
    modeled_calls: OnceCell<ModeledCalls>,
    sheet_timelines: OnceCell<SheetTimelines>,
}

impl<'a> SheetInput<'a> {
    pub(super) fn new(report: &'a Report, profile: &'a Profile) -> SheetInput<'a> {
        SheetInput {
            profile,
            evaluations: &report.evaluations,
            options: &report.options,
            timelines: &report.timelines,
            parts: Parts::of(profile, &report.options),
            labels: Labels::new(profile),
            modeled_calls: OnceCell::new(),
            sheet_timelines: OnceCell::new(),
        }
    }

    fn modeled_calls(&self) -> &ModeledCalls {
        self.modeled_calls
            .get_or_init(|| ModeledCalls::new(self.profile))
    }

    /// How time splits for the GPU activity that sheets with TraceLens's names count.
    pub(super) fn sheet_timelines(&self) -> &SheetTimelines {
        let events = self.options.sheet_events;
        self.sheet_timelines
            .get_or_init(|| SheetTimelines::new(self.profile, events))
    }
}

/// The parts of a report, which determine the columns of its sheets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parts {
    /// The trace has operators.
    pub cpu_ops: bool,
    /// The trace has Python frames.
    pub python: bool,
    /// The trace recomputes activations.
    pub recompute: bool,
    /// A GPU is chosen to compare with.
    pub gpu: bool,
    /// Graph replays are merged with their captures. The sheets then follow TraceLens's inference report, which also
    /// groups by module and number of kernels.
    pub captured: bool,
}

impl Parts {
    /// Everything: all columns there are.
    pub const ALL: Parts = Parts {
        cpu_ops: true,
        python: true,
        recompute: true,
        gpu: true,
        captured: true,
    };

    fn of(profile: &Profile, options: &ReportOptions) -> Parts {
        Parts {
            cpu_ops: profile.has_cpu_ops(),
            python: profile.has_python_frames(),
            recompute: profile.recompute.is_some(),
            gpu: options.gpu.is_some(),
            captured: !profile.trace.captured.is_empty(),
        }
    }
}

/// A kind of sheet.
#[derive(Debug)]
pub struct SheetKind {
    /// TraceLens's name.
    pub name: &'static str,
    /// A readable title.
    pub title: &'static str,
    /// Its columns, for a report with these parts.
    pub columns: fn(&Parts) -> Vec<Column>,
    rows: Rows,
    made_for: MadeFor,
}

/// The traces that a sheet is made for: where captures are merged, TraceLens has another name for some.
#[derive(Debug, Clone, Copy)]
enum MadeFor {
    All,
    WithCaptures,
    WithoutCaptures,
}

/// Where the rows of a sheet come from.
#[derive(Debug)]
enum Rows {
    /// Rows under all of its columns; empty if the trace has no data for it.
    Of(fn(&SheetInput) -> Vec<Vec<Cell>>),
    /// Calls of a family of operators; the parameter columns depend on the operators.
    Calls(SheetFamily, Pass),
}

impl SheetKind {
    const fn made_for(self, made_for: MadeFor) -> SheetKind {
        SheetKind { made_for, ..self }
    }

    /// Makes the sheet; `None` if it would have no rows.
    pub(super) fn make(&self, input: &SheetInput) -> Option<Sheet> {
        match (self.made_for, input.parts.captured) {
            (MadeFor::WithCaptures, false) | (MadeFor::WithoutCaptures, true) => return None,
            _ => {}
        }
        let (columns, rows) = match self.rows {
            Rows::Of(rows) => ((self.columns)(&input.parts), rows(input)),
            Rows::Calls(family, pass) => families::table(input, family, pass),
        };
        (!rows.is_empty()).then_some(Sheet {
            name: self.name,
            columns,
            rows,
        })
    }
}

const fn of(
    name: &'static str,
    title: &'static str,
    columns: fn(&Parts) -> Vec<Column>,
    rows: fn(&SheetInput) -> Vec<Vec<Cell>>,
) -> SheetKind {
    SheetKind {
        name,
        title,
        columns,
        rows: Rows::Of(rows),
        made_for: MadeFor::All,
    }
}

const fn calls(
    name: &'static str,
    title: &'static str,
    family: SheetFamily,
    pass: Pass,
) -> SheetKind {
    SheetKind {
        name,
        title,
        columns: family_columns::every,
        rows: Rows::Calls(family, pass),
        made_for: MadeFor::All,
    }
}

/// Every kind of sheet, in output order. To add one: add a file here and a row there.
#[rustfmt::skip]
pub const SHEETS: &[SheetKind] = &[
    of(window::NAME, "The part of the trace that is analyzed alone", |_| window::COLUMNS.to_vec(), window::rows),
    of("gpu_timeline", "How GPU time splits", gpu_timeline::columns, gpu_timeline::rows),
    of(gpu_timeline::BY_GPU, "How the time of each GPU splits, of a trace of several", gpu_timeline::columns_by_gpu, gpu_timeline::rows_by_gpu),
    of(gpu_activity::NAME, "GPU activity, attributed and unattributed", |_| described(gpu_activity::columns()), gpu_activity::rows),
    of(gpu_activity::KERNELS, "Unattributed GPU activity and the reasons", |_| described(gpu_activity::kernel_columns()), gpu_activity::kernel_rows),
    of(steps::STEPS, "Steps of a serving engine", |_| described(steps::step_columns()), steps::step_rows),
    of(steps::BATCHES, "Steps of a serving engine by phase and batch size", |_| described(steps::batch_columns()), steps::batch_rows),
    of(steps::GRAPHS, "GPU graphs that are replayed", |_| described(steps::graph_columns()), steps::graph_rows),
    of("ops_summary_by_category", "Categories by GPU time", ops_by_category::columns, ops_by_category::rows),
    of("ops_summary", "Operators by GPU time", ops_summary::columns, ops_summary::rows),
    of("ops_unique_args", "Operators by arguments", ops_unique_args::columns, ops_unique_args::rows),
    of("unified_perf_summary", "FLOPs, bytes and achieved rates", unified_perf::columns, unified_perf::rows),
    of("gap_waterfall", "Why operations take longer than their roofline time", gap_waterfall::columns, gap_waterfall::rows),
    calls("GEMM", "GEMM", SheetFamily::Gemm, Pass::Forward),
    calls("CONV_fwd", "Convolutions", SheetFamily::Conv, Pass::Forward),
    calls("CONV_bwd", "Convolutions, backward", SheetFamily::Conv, Pass::Backward),
    calls("SDPA_fwd", "Attention", SheetFamily::Sdpa, Pass::Forward),
    calls("SDPA_bwd", "Attention, backward", SheetFamily::Sdpa, Pass::Backward),
    calls("UnaryElementwise", "Element-wise operators of one tensor", SheetFamily::UnaryElementwise, Pass::Forward),
    calls("BinaryElementwise", "Element-wise operators of two tensors", SheetFamily::BinaryElementwise, Pass::Forward),
    calls("Normalization", "Normalization", SheetFamily::Normalization, Pass::Forward).made_for(MadeFor::WithoutCaptures),
    calls("Normalization_fwd", "Normalization", SheetFamily::Normalization, Pass::Forward).made_for(MadeFor::WithCaptures),
    calls("Reduce_fwd", "Reductions", SheetFamily::Reduce, Pass::Forward),
    calls("Reduce_bwd", "Reductions, backward", SheetFamily::Reduce, Pass::Backward),
    calls("RMSNorm_fwd", "RMS normalization", SheetFamily::RmsNorm, Pass::Forward),
    calls("RMSNorm_bwd", "RMS normalization, backward", SheetFamily::RmsNorm, Pass::Backward),
    calls("InferenceAttention_fwd", "Attention of serving engines", SheetFamily::InferenceAttention, Pass::Forward),
    calls("InferenceAttention_bwd", "Attention of serving engines, backward", SheetFamily::InferenceAttention, Pass::Backward),
    calls("RoPE_fwd", "Rotary embeddings", SheetFamily::Rope, Pass::Forward),
    calls("RoPE_bwd", "Rotary embeddings, backward", SheetFamily::Rope, Pass::Backward),
    calls("FusedRoPE_fwd", "Fused rotary embeddings", SheetFamily::FusedRope, Pass::Forward),
    calls("FusedRoPE_bwd", "Fused rotary embeddings, backward", SheetFamily::FusedRope, Pass::Backward),
    calls("GroupedGEMM_fwd", "Grouped GEMM", SheetFamily::GroupedGemm, Pass::Forward),
    calls("GroupedGEMM_bwd", "Grouped GEMM, backward", SheetFamily::GroupedGemm, Pass::Backward),
    calls("MoE_fused_fwd", "Fused MoE", SheetFamily::MoeFused, Pass::Forward),
    calls("MoE_fused_bwd", "Fused MoE, backward", SheetFamily::MoeFused, Pass::Backward),
    calls("MoE_unfused_fwd", "Unfused MoE (expert GEMMs)", SheetFamily::MoeUnfused, Pass::Forward),
    calls("MoE_unfused_bwd", "Unfused MoE (expert GEMMs), backward", SheetFamily::MoeUnfused, Pass::Backward),
    calls("MoE_aux_fwd", "MoE routing", SheetFamily::MoeAux, Pass::Forward),
    calls("MoE_aux_bwd", "MoE routing, backward", SheetFamily::MoeAux, Pass::Backward),
    calls("MoE_comm_fwd", "MoE communication (expert parallelism)", SheetFamily::MoeComm, Pass::Forward),
    calls("MoE_comm_bwd", "MoE communication (expert parallelism), backward", SheetFamily::MoeComm, Pass::Backward),
    calls("SSM_fwd", "State-space models", SheetFamily::Ssm, Pass::Forward),
    calls("SSM_bwd", "State-space models, backward", SheetFamily::Ssm, Pass::Backward),
    calls("CrossEntropy_fwd", "Cross-entropy", SheetFamily::CrossEntropy, Pass::Forward),
    calls("CrossEntropy_bwd", "Cross-entropy, backward", SheetFamily::CrossEntropy, Pass::Backward),
    calls("GroupQuant_fwd", "Quantization by groups", SheetFamily::GroupQuant, Pass::Forward),
    calls("GroupQuant_bwd", "Quantization by groups, backward", SheetFamily::GroupQuant, Pass::Backward),
    calls("CustomCollective_fwd", "Collectives of serving engines", SheetFamily::CustomCollective, Pass::Forward),
    calls("CustomCollective_bwd", "Collectives of serving engines, backward", SheetFamily::CustomCollective, Pass::Backward),
    calls("mHC_fwd", "Hyper-connections", SheetFamily::Mhc, Pass::Forward),
    calls("mHC_bwd", "Hyper-connections, backward", SheetFamily::Mhc, Pass::Backward),
    calls("elementwise_fwd", "Other element-wise operators", SheetFamily::Elementwise, Pass::Forward),
    calls("elementwise_bwd", "Other element-wise operators, backward", SheetFamily::Elementwise, Pass::Backward),
    of("kernel_summary", "Kernels", kernel_summary::columns, kernel_summary::rows),
    of(layer_kernels::NAME, "Kernels of GPU graphs by layer", layer_kernels::columns, layer_kernels::rows),
    of("short_kernel_histogram", "Durations of short kernels", |_| short_kernels::HISTOGRAM_COLUMNS.to_vec(), short_kernels::histogram),
    of("short_kernels_summary", "Short kernels", short_kernels::summary_columns, short_kernels::summary),
    of("nn_module_summary", "Modules by GPU time", modules::columns, modules::rows),
    of("coll_analysis", "Collectives", |_| described(collectives::columns()), collectives::rows),
    of(memory::SUMMARY, "Memory by device", |_| described(memory::summary_columns()), memory::summary_rows),
    of(memory::PEAK, "What holds the memory peak", |_| described(memory::peak_columns()), memory::peak_rows),
    of(memory::BY_OPERATOR, "Memory by operator", |_| described(memory::operator_columns()), memory::operator_rows),
    of(memory::BY_STEP, "Memory by step", |_| described(memory::step_columns()), memory::step_rows),
    of(memory::DRIVER_CALLS, "Memory taken from the driver", |_| described(memory::driver_columns()), memory::driver_rows),
    of("cpu_ops_summary", "Operators by CPU time", |_| described(cpu_ops::columns()), cpu_ops::rows),
];

/// The extra column in sheets of a trace with recomputed activations.
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
