//! Binds formulas to ops: one row per formula, with the names of its ops.

mod aten;
mod aten_elementwise;
mod aten_lists;
mod libraries;
mod serving;

use crate::base::sort::Arranged;
use std::sync::LazyLock;

use super::{attention, index, moe, optimizer, triton};
use crate::perf::{GemmSizes, Modeled, OpInput, PerfModel, SheetFamily};

type Formula = fn(&OpInput) -> Option<Modeled>;

/// A formula with its ops.
struct Row {
    /// Separated by whitespace.
    ops: &'static str,
    /// Their model, except for the op.
    model: PerfModel,
}

/// Ops that TraceLens has a model for.
const fn reference(sheet: SheetFamily, forward: Formula, ops: &'static str) -> Row {
    Row {
        ops,
        model: PerfModel {
            op: "",
            sheet,
            forward,
            backward: None,
            gemm_sizes: None,
            backward_category: None,
            is_reference: true,
        },
    }
}

/// Ops that TraceLens has no model for. These are only ops that launch kernels, never their callers: time is counted
/// where it is spent.
const fn ours(forward: Formula, ops: &'static str) -> Row {
    let mut row = reference(SheetFamily::Unlisted, forward, ops);
    row.model.is_reference = false;
    row
}

impl Row {
    /// Adds the sizes of a GEMM that TraceLens does not know.
    const fn gemm_sizes(mut self, sizes: fn(&OpInput) -> Option<GemmSizes>) -> Row {
        self.model.gemm_sizes = Some(sizes);
        self
    }

    /// Adds the formula of the backward pass, and TraceLens's label for it.
    const fn backward(mut self, formula: Formula, label: Option<&'static str>) -> Row {
        self.model.backward = Some(formula);
        self.model.backward_category = label;
        self
    }

    /// Adds TraceLens's label of a backward pass for which it has no formula.
    const fn backward_label(mut self, label: &'static str) -> Row {
        self.model.backward_category = Some(label);
        self
    }

    /// A model for each of its ops.
    fn models(&self) -> impl Iterator<Item = PerfModel> {
        let ops = self.ops.split_whitespace();
        ops.map(|op| PerfModel { op, ..self.model })
    }
}

/// MoE layers of libraries, identified by the shapes of their operands.
pub(crate) static MOE_LAYER: PerfModel = ours(moe::layer::layer, "").model;

/// Models for all names with one of these prefixes.
const PREFIXES: &[Row] = &[
    ours(optimizer::foreach_binary, "aten::_foreach_"),
    reference(
        SheetFamily::Unlisted,
        |call| triton::fused(call, 2),
        "triton_per_ triton_red_",
    ),
    reference(
        SheetFamily::Unlisted,
        |call| triton::fused(call, 1),
        "triton_poi_",
    ),
    ours(triton::template::template, "triton_flex_ triton_tem_"),
    ours(
        index::table_batched,
        "fbgemm::split_embedding_codegen_lookup_",
    ),
    ours(attention::flash::sage, "sage_fwd"),
];

/// All models with an exact name, sorted by name.
static MODELS: LazyLock<Vec<PerfModel>> = LazyLock::new(|| {
    let tables = [
        aten::ATEN,
        aten_elementwise::ATEN_ELEMENTWISE,
        aten_lists::ATEN_LISTS,
        libraries::LIBRARIES,
        serving::SERVING,
    ];
    tables
        .into_iter()
        .flatten()
        .flat_map(Row::models)
        .arranged_by_key(|model| model.op)
});

/// All models with a prefix.
static PREFIX_MODELS: LazyLock<Vec<PerfModel>> =
    LazyLock::new(|| PREFIXES.iter().flat_map(Row::models).collect());

/// All models with an exact name.
pub fn models() -> impl Iterator<Item = &'static PerfModel> {
    MODELS.iter()
}

/// All models with a prefix.
pub(crate) fn prefix_models() -> impl Iterator<Item = &'static PerfModel> {
    PREFIX_MODELS.iter()
}

/// The model of exactly this op.
pub fn exact(op: &str) -> Option<&'static PerfModel> {
    let row = MODELS.binary_search_by(|model| model.op.cmp(op)).ok()?;
    MODELS.get(row)
}
