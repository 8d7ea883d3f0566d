//! What a trace means: the [`Profile`].
//!
//! ```text
//!                 ┌→ Launches ──────┬→ GpuTable ─┬→ OpTable      who launched which kernels
//! Imported: Trace ┤  GPU ⇄ call     │            └→ GpuTimeline  how GPU time splits
//!                 └→ CallTree ──────┤
//!                    call in call   ├→ Recompute                 what ran twice
//!                                   └→ HostOp                    time on the host
//! ```
//!
//! Each part reads the ones to its left and nothing else. All of it is independent of the
//! hardware and of every threshold; what those judge is the [report](crate::report)'s.

use std::sync::OnceLock;

use crate::annotations::Annotations;
use crate::host_ops::{HostOp, host_ops};
use crate::import::Imported;
use crate::kernels::{GpuEvents, GpuTable};
use crate::launch::{GpuId, Launches};
use crate::model_info::ModelInfo;
use crate::operations::{Operation, Owner, operations, owners};
use crate::ops::OpTable;
use crate::perf::names_batch;
use crate::recompute::{self, Recompute};
use crate::trace::{Category, Trace};
use crate::tree::{CallTree, Frames};
use crate::warning::{WarningKind, Warnings};

/// A trace with all that follows from it.
#[derive(Debug)]
pub struct Profile {
    /// What was recorded.
    pub trace: Trace,
    /// What was wrong with the bytes, and what they lack.
    pub warnings: Warnings,
    /// Size of the decompressed text.
    pub text_bytes: u64,
    /// GPU work and the calls that launched it.
    pub launches: Launches,
    /// The call tree that the numbers rest on. Python frames are in it only where they decide
    /// something: in a trace that recomputes activations.
    pub tree: CallTree,
    /// What ran while activations were computed again; `None` for a trace that tells of none.
    pub recompute: Option<Recompute>,
    /// Kernels, copies and fills.
    pub gpu: GpuTable,
    /// Operators with their kernels.
    pub ops: OpTable,
    /// Operators by host time.
    pub host_ops: Vec<HostOp>,
    /// The tree with Python frames, built when a view first asks.
    full_tree: OnceLock<CallTree>,
    /// Annotations that say what a step works on, found when a model first asks.
    batches: OnceLock<Annotations>,
    /// Worked out when a report first asks.
    operations: OnceLock<Vec<Operation>>,
    /// Of each piece of GPU work, found when a story is first told.
    owners: OnceLock<Vec<Option<Owner>>>,
    /// Looked for when first asked for: that reads every event.
    has_python_frames: OnceLock<bool>,
    /// Worked out when a document first asks.
    model_info: OnceLock<ModelInfo>,
}

impl Profile {
    /// Works out what a trace means.
    pub fn new(imported: Imported) -> Profile {
        let Imported {
            trace,
            mut warnings,
            text_bytes,
        } = imported;
        let launches = Launches::new(&trace);
        let has_recompute = recompute::is_recorded(&trace);
        let frames = if has_recompute {
            Frames::With
        } else {
            Frames::Without
        };
        let tree = CallTree::new(&trace, frames, &launches);
        let recompute = has_recompute
            .then(|| Recompute::find(&trace, &tree, &launches))
            .filter(|recompute| !recompute.is_empty());
        let gpu = GpuTable::new(&trace, &launches, &tree, recompute.as_ref());
        let ops = OpTable::new(&trace, &tree, &gpu, recompute.as_ref());
        let host_ops = host_ops(&trace, &tree);
        let has_gpu_events = !gpu.is_empty();
        warn(
            &mut warnings,
            &launches,
            &tree,
            has_gpu_events,
            !host_ops.is_empty(),
        );
        Profile {
            trace,
            warnings,
            text_bytes,
            launches,
            tree,
            recompute,
            gpu,
            ops,
            host_ops,
            full_tree: OnceLock::new(),
            batches: OnceLock::new(),
            operations: OnceLock::new(),
            owners: OnceLock::new(),
            has_python_frames: OnceLock::new(),
            model_info: OnceLock::new(),
        }
    }

    /// The call tree as recorded, Python frames included.
    pub fn full_tree(&self) -> &CallTree {
        match self.tree.frames() {
            Frames::With => &self.tree,
            Frames::Without => self
                .full_tree
                .get_or_init(|| CallTree::new(&self.trace, Frames::With, &self.launches)),
        }
    }

    /// Annotations that name the lengths of the requests of a step.
    pub(crate) fn batches(&self) -> &Annotations {
        self.batches
            .get_or_init(|| Annotations::new(&self.trace, names_batch))
    }

    /// Operators by arguments, with their GPU time and their work, the longest first.
    pub fn operations(&self) -> &[Operation] {
        self.operations.get_or_init(|| operations(self))
    }

    /// The call that a piece of GPU work is counted in; `None` for collectives.
    pub fn owner_of(&self, work: GpuId) -> Option<Owner> {
        let owners = self.owners.get_or_init(|| owners(self));
        owners.get(work.index()).copied().flatten()
    }

    /// What model it is of, as far as the trace tells.
    pub fn model_info(&self) -> &ModelInfo {
        self.model_info.get_or_init(|| ModelInfo::new(self))
    }

    /// True when GPU activity was recorded.
    pub fn has_gpu_events(&self) -> bool {
        !self.gpu.is_empty()
    }

    /// True when PyTorch operators were recorded.
    pub fn has_host_ops(&self) -> bool {
        !self.host_ops.is_empty()
    }

    /// The GPU work that counts for a choice: all of it where none could be linked, because the
    /// alternative is to show nothing.
    pub fn gpu_events(&self, choice: GpuEvents) -> GpuEvents {
        if self.launches.launches.is_empty() {
            GpuEvents::All
        } else {
            choice
        }
    }

    /// True when Python frames were recorded.
    pub fn has_python_frames(&self) -> bool {
        let events = &self.trace.events;
        *self.has_python_frames.get_or_init(|| {
            let mut ids = events.ids();
            ids.any(|event| events.category(event) == Category::PythonFunction)
        })
    }
}

fn warn(
    warnings: &mut Warnings,
    launches: &Launches,
    tree: &CallTree,
    has_gpu_events: bool,
    has_host_ops: bool,
) {
    use WarningKind::*;
    warnings.add_many(WrongNesting, tree.strays().len() as u64, None);
    warnings.add_many(LinkedByCorrelation, launches.n_by_correlation, None);
    let unlinked = match launches.launches.is_empty() {
        true => NothingLinked,
        false => UnlinkedGpuWork,
    };
    warnings.add_many(unlinked, launches.n_unlinked(), None);
    if !has_gpu_events {
        warnings.add(NoGpuEvents, None);
    }
    if !has_host_ops {
        warnings.add(NoHostEvents, None);
    }
}
