//! Which formula each op has: one line each, in the table of its kind.

mod aten;
mod aten_elementwise;
mod aten_lists;
mod libraries;
mod serving;

use super::SheetFamily;
use super::{Modelled, OpInput, PerfModel, ProductSizes};
use super::{optimizer, template, triton};

type Formula = fn(&OpInput) -> Option<Modelled>;

/// An op the reference has a model for.
const fn reference(op: &'static str, sheet: SheetFamily, forward: Formula) -> PerfModel {
    PerfModel {
        op,
        sheet,
        forward,
        backward: None,
        product: None,
        backward_category: None,
        is_reference: true,
    }
}

/// An op the reference has no model for. Such are the ops that launch kernels, never those above
/// them: time is counted where it is spent.
const fn ours(op: &'static str, forward: Formula) -> PerfModel {
    PerfModel {
        is_reference: false,
        ..reference(op, SheetFamily::Unlisted, forward)
    }
}

impl PerfModel {
    /// A product whose sizes the reference does not know.
    const fn product(self, sizes: fn(&OpInput) -> Option<ProductSizes>) -> PerfModel {
        PerfModel {
            product: Some(sizes),
            ..self
        }
    }

    const fn backward(self, formula: Formula, label: Option<&'static str>) -> PerfModel {
        PerfModel {
            backward: Some(formula),
            backward_category: label,
            ..self
        }
    }

    /// The reference labels the backward pass but cannot count it.
    const fn backward_label(self, label: &'static str) -> PerfModel {
        PerfModel {
            backward_category: Some(label),
            ..self
        }
    }
}

/// Names that begin like this have a model too.
pub const PREFIX_MODELS: &[PerfModel] = &[
    ours("aten::_foreach_", optimizer::foreach_binary),
    reference("triton_per_", SheetFamily::Unlisted, triton::reduction),
    reference("triton_poi_", SheetFamily::Unlisted, triton::pointwise),
    reference("triton_red_", SheetFamily::Unlisted, triton::reduction),
    ours("triton_tem_", template::template),
];

/// The tables, each sorted by name.
pub const TABLES: &[&[PerfModel]] = &[
    aten::ATEN,
    aten_elementwise::ATEN_ELEMENTWISE,
    aten_lists::ATEN_LISTS,
    libraries::LIBRARIES,
    serving::SERVING,
];

/// Every model that is bound to one name.
pub fn models() -> impl Iterator<Item = &'static PerfModel> {
    TABLES.iter().flat_map(|table| table.iter())
}

/// The model of exactly this op.
pub fn exact(op: &str) -> Option<&'static PerfModel> {
    TABLES.iter().find_map(|table| {
        let row = table.binary_search_by(|model| model.op.cmp(op)).ok()?;
        table.get(row)
    })
}
