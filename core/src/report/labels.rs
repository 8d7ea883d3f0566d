//! The columns that Dormer adds to rows of GPU time: its own category, and the library the kernels come from.
//!
//! They come after TraceLens's columns.

use std::cell::RefCell;
use std::iter;
use std::sync::Arc;

use super::sheet::{Cell, Column, Unit, column};
use crate::base::map::Map;
use crate::names::{
    Certainty, Family, Library, family_of_kernel, family_of_op, library_of, library_of_kernel,
};
use crate::profile::Profile;
use crate::profile::gpu::kernels::GpuWork;
use crate::profile::launch::GpuId;
use crate::profile::operations::kinds::moe::MoeRoles;
use crate::trace::StringId;

/// The columns of a row that may cover many kernels.
#[rustfmt::skip]
pub(crate) const COLUMNS: [Column; 2] = [
    column("Dormer category", Unit::Text, "The kind of work that most of its kernel time is."),
    column("library", Unit::Text, "The library that most of its kernel time comes from; empty if names do not show it."),
];

/// The columns of a row of one kernel.
#[rustfmt::skip]
pub(crate) const OF_KERNEL: [Column; 3] = [
    column("Dormer category", Unit::Text, "The kind of work it is."),
    column("Dormer category by", Unit::Text, "What the category is known from: the operator that launched it, or its own name alone."),
    column("library", Unit::Text, "The library it comes from; empty if its name does not show it."),
];

/// What the names related to a piece of GPU activity say about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Label {
    pub(crate) family: Family,
    /// What the kind is derived from.
    pub(crate) certainty: Certainty,
    /// The library that the operator chose.
    pub(crate) library: Option<Library>,
    /// The library that made the kernel.
    kernel_library: Option<Library>,
}

/// Operation and its label, kernel name, and whether an operator is known above it.
type Key = (Option<(StringId, &'static str)>, StringId, bool);

/// Finds labels; each pair of operation and kernel is resolved once.
#[derive(Debug)]
pub(crate) struct Labels<'a> {
    profile: &'a Profile,
    moe_roles: Arc<MoeRoles>,
    known: RefCell<Map<Key, Label>>,
}

impl<'a> Labels<'a> {
    pub(crate) fn new(profile: &'a Profile) -> Labels<'a> {
        Labels {
            profile,
            moe_roles: MoeRoles::of(profile),
            known: RefCell::default(),
        }
    }

    /// The label of a piece of GPU activity.
    pub(crate) fn of(&self, id: GpuId, work: &GpuWork) -> Label {
        let ops = &self.profile.ops;
        let op = ops.op_of(id).and_then(|op| ops.get(op));
        let op = op.map(|op| (op.name, op.category));
        let key = (op, work.name, work.parent_op.is_some());
        let mut known = self.known.borrow_mut();
        let label = *known.entry(key).or_insert_with(|| self.find(op, work));
        Label {
            family: self.moe_roles.family(label.family, iter::once(id)),
            ..label
        }
    }

    fn find(&self, op: Option<(StringId, &'static str)>, work: &GpuWork) -> Label {
        let strings = &self.profile.trace.strings;
        let kernel = strings.get(work.name);
        let op = op.map(|(name, label)| (strings.get(name), label));
        let library = library_of(op.map(|(name, _)| name), Some(kernel));
        Label {
            family: match op {
                Some((name, label)) => family_of_op(label, name, Some(kernel)),
                None => family_of_kernel(kernel),
            },
            certainty: match work.parent_op {
                Some(_) => Certainty::ByOperator,
                None => Certainty::ByKernelName,
            },
            library,
            kernel_library: library_of_kernel(kernel).or(library),
        }
    }

    /// The cells under [`COLUMNS`]. Ties go to the first in list order.
    pub(super) fn cells(&self, work: impl Iterator<Item = GpuId>) -> [Cell; 2] {
        let mut families: Vec<(Family, i64)> = Vec::new();
        let mut libraries: Vec<(Library, i64)> = Vec::new();
        for id in work {
            let Some(work) = self.profile.gpu.get(id) else {
                continue;
            };
            let label = self.of(id, work);
            // A kernel with zero duration still counts.
            let weight = work.span.length().max(1);
            add(&mut families, label.family, weight);
            if let Some(library) = label.library {
                add(&mut libraries, library, weight);
            }
        }
        [
            text(main(&families).map(Family::label)),
            text(main(&libraries).map(Library::label)),
        ]
    }

    /// The cells under [`OF_KERNEL`].
    pub(super) fn kernel_cells(&self, id: GpuId, work: &GpuWork) -> [Cell; 3] {
        let label = self.of(id, work);
        [
            text(Some(label.family.label())),
            text(Some(label.certainty.label())),
            text(label.kernel_library.map(Library::label)),
        ]
    }
}

fn add<T: PartialEq>(times: &mut Vec<(T, i64)>, kind: T, ns: i64) {
    match times.iter_mut().find(|(known, _)| *known == kind) {
        Some((_, time)) => *time = time.saturating_add(ns),
        None => times.push((kind, ns)),
    }
}

fn main<T: Copy + Ord>(times: &[(T, i64)]) -> Option<T> {
    let most = times
        .iter()
        .max_by_key(|(kind, ns)| (*ns, std::cmp::Reverse(*kind)));
    most.map(|(kind, _)| *kind)
}

fn text(label: Option<&str>) -> Cell {
    label.map_or(Cell::Empty, |label| Cell::Text(label.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Timetable;

    #[test]
    fn an_operator_a_graph_launch_and_nothing_above_the_kernel() {
        let profile = Timetable::new()
            .work(
                "aten::miopen_convolution",
                "Cijk_Ailk_Bljk_BBS_BH",
                100..110,
            )
            .runtime("hipGraphLaunch", 2, 20..30)
            .kernel(2, "void flash_fwd_kernel<128>()", 110..120)
            .kernel(9, "nvjet_tst_192x192", 120..130)
            .kernel(8, "ncclDevKernel_AllReduce", 130..140)
            .profile();
        let labels = Labels::new(&profile);
        let seen: Vec<_> = profile
            .gpu
            .iter()
            .map(|(id, work)| {
                let label = labels.of(id, work);
                let library = |library: Option<Library>| library.map(Library::label);
                (
                    label.family,
                    label.certainty,
                    library(label.library),
                    library(label.kernel_library),
                )
            })
            .collect();
        use Certainty::{ByKernelName, ByOperator};
        #[rustfmt::skip]
        assert_eq!(seen, [
            // The operator's choice, and the library of the resulting kernel.
            (Family::Convolution, ByOperator, Some("MIOpen"), Some("Tensile")),
            (Family::Attention, ByKernelName, Some("FlashAttention"), Some("FlashAttention")),
            (Family::Gemm, ByKernelName, Some("cuBLAS"), Some("cuBLAS")),
            (Family::Communication, ByKernelName, Some("NCCL/RCCL"), Some("NCCL/RCCL")),
        ]);
    }

    #[test]
    fn most_of_the_time_decides() {
        let profile = Timetable::new()
            .op("my::op", 0..10)
            .launched("my_unknown", 1..2, 100..120)
            .launched("Cijk_Ailk_Bljk", 3..4, 120..145)
            .launch(3, 5..6)
            .kernel(3, "Memset (Device)", 145..146)
            .profile();
        let labels = Labels::new(&profile);
        let all: Vec<GpuId> = profile.gpu.iter().map(|(id, _)| id).collect();
        let text = |text: &str| Cell::Text(text.to_owned());
        assert_eq!(
            labels.cells(all.iter().copied()),
            [text("GEMM"), text("Tensile")]
        );
        assert_eq!(
            labels.cells(all.into_iter().take(1)),
            [text("Other"), Cell::Empty]
        );
        assert_eq!(labels.cells(std::iter::empty()), [Cell::Empty, Cell::Empty]);
    }
}
