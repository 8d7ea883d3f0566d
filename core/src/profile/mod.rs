//! What a trace means: the [`Profile`].
//!
//! ```text
//!                 ┌→ Launches ──────┬→ GpuTable ─┬→ OpTable      who launched which kernels
//! Imported: Trace ┤  GPU ⇄ call     │            └→ GpuTimeline  how GPU time splits
//!                 └→ CallTree ──────┤
//!                    call in call   ├→ Recompute                 what ran twice
//!                                   └→ CpuOp                     time on the CPU
//! ```
//!
//! Each part reads only the parts to its left. None of it depends on the hardware or on thresholds; applying those is
//! the job of the [report](crate::report).
//!
//! Two lists are easily confused: [`op_table`](operations::op_table) has each call that launches GPU activity,
//! [`operations`] the calls with equal arguments together, with their FLOPs and bytes.
//!
//! A [window] of a profile is itself a profile of the same trace: its launches and its call tree are subsets of the
//! full ones, and everything else is derived from them.
//!
//! # Where to look
//!
//! Each module uses only those above it.
//!
//! | module | contents |
//! |---|---|
//! | [`launch`] | which CPU call launched which GPU activity; runtime calls |
//! | [`cpu`] | what ran on the CPU: call tree, autograd, recomputation, operators by CPU time, data loading and compilation |
//! | [`gpu`] | what ran on the GPUs: kernels and copies; how GPU time splits: timeline, exposed communication, gaps |
//! | [`window`] | steps and other parts of the recording that are analyzed alone |
//! | [`memory`] | allocations over time, by step, by holder |
//! | [`operations`] | calls with equal arguments, with their kernels, FLOPs and bytes; what each computes (`operations/kinds`), where it is called, what is unusual about it; as a call that can be run again |
//! | [`model_info`] | the model of a trace: architecture, modules, precision, scale |
//! | [`serving`] | the steps of serving engines and diffusion pipelines, and the GPU activity of each |
//! | [`graphs`] | kernels that a GPU graph replays: merged with their capture, or their sizes without one |
//! | [`lanes`] | the timeline's rows, ready to draw |
//! | `collectives` | collectives: kinds, message sizes, bandwidth |
//! | `repair`, `build`, `missing`, `memo` | impossible times; how a profile is made; what a trace lacks; values computed once |

mod build;
pub(crate) mod collectives;
pub mod cpu;
pub mod gpu;
pub mod graphs;
pub mod lanes;
pub mod launch;
mod memo;
pub mod memory;
mod missing;
pub mod model_info;
pub mod operations;
pub(crate) mod repair;
pub mod serving;
pub mod window;

pub use missing::NoGpu;

use std::any::Any;
use std::sync::{Arc, OnceLock};

use crate::base::interval::{Interval, sum};
use crate::import::warning::Warnings;
use crate::perf::names_batch;
use crate::profile::cpu::ops::{CpuOp, cpu_ops};
use crate::profile::cpu::recompute::Recompute;
use crate::profile::cpu::tree::{CallTree, Frames};
use crate::profile::gpu::kernels::{GpuTable, Running};
use crate::profile::graphs::capture::Coverage;
use crate::profile::graphs::shapes::{KnownModel, ShapeSources};
use crate::profile::launch::{GpuId, Launches};
use crate::profile::memo::Memo;
use crate::profile::model_info::ModelInfo;
use crate::profile::operations::op_table::OpTable;
use crate::profile::operations::perf_rows::PerfRow;
use crate::profile::operations::{Operation, Owner, operations, owners};
use crate::profile::repair::AsRecorded;
use crate::profile::serving::Serving;
use crate::profile::window::{Window, WindowOf};
use crate::trace::Trace;
use crate::trace::annotations::Annotations;

/// A trace and everything derived from it.
#[derive(Debug)]
pub struct Profile {
    /// Everything that was recorded, even when the profile covers only a window.
    pub trace: Arc<Trace>,
    /// The part of the time that the profile covers; `None` for the whole trace.
    pub window: Option<WindowOf>,
    /// Problems found during import, and what the events lack.
    pub warnings: Warnings,
    /// What was recorded besides the trace.
    pub(crate) recording: Arc<Recording>,
    /// How much of the graph replays the captures explain; `None` where no capture was given.
    pub coverage: Option<Arc<Coverage>>,
    /// Sources for the shapes of replayed kernels besides the trace.
    pub sources: ShapeSources,
    /// GPU activity and the calls that launched it.
    pub launches: Launches,
    /// The call tree that the numbers are based on. It contains Python frames only where they matter: in a trace with
    /// activation recomputation.
    pub tree: CallTree,
    /// What ran during activation recomputation; `None` if the trace shows none.
    pub recompute: Option<Recompute>,
    /// Kernels, copies and fills.
    pub gpu: GpuTable,
    /// Operators with their kernels.
    pub ops: OpTable,
    /// Operators by CPU time.
    pub cpu_ops: Vec<CpuOp>,
    /// Computed on first use from the trace alone.
    scanned: Scanned,
    /// Computed on first use with the shapes from the sources.
    derived: Derived,
}

/// What is computed on first use from the trace alone.
#[derive(Debug, Default)]
struct Scanned {
    /// The tree with Python frames.
    full_tree: OnceLock<CallTree>,
    /// Annotations that describe the batch of a step.
    batches: OnceLock<Annotations>,
    /// Requires a scan of every event.
    has_python_frames: OnceLock<bool>,
    /// The steps of a serving engine.
    serving: OnceLock<Option<Arc<Serving>>>,
}

/// What is computed on first use with the shapes from the sources.
#[derive(Debug, Default)]
struct Derived {
    operations: OnceLock<Vec<Operation>>,
    /// The model that the replayed kernels belong to, found together with the operations.
    known_model: OnceLock<Result<Option<KnownModel>, String>>,
    /// How much an eager trace explains of the replays, in a sentence.
    eager_coverage: OnceLock<String>,
    /// The owner of each piece of GPU activity.
    owners: OnceLock<Vec<Option<Owner>>>,
    model_info: OnceLock<ModelInfo>,
    /// Values that later stages compute once.
    memo: Memo,
}

impl Profile {
    /// The same profile with additional sources for the shapes of replayed kernels.
    pub fn with_sources(mut self, sources: ShapeSources) -> Profile {
        self.sources = sources;
        self.derived = Derived::default();
        self
    }

    /// The CPU self time of all operators.
    pub(crate) fn cpu_self_ns(&self) -> i64 {
        sum(self.cpu_ops.iter().map(|op| op.self_ns))
    }

    /// The time that is analyzed, on the CPU.
    pub(crate) fn cpu_span(&self) -> Interval {
        let window = self.window.as_ref();
        window.map_or(Interval::ALL, |of| of.window.cpu_span())
    }

    /// The profile of a window; see [`crate::profile::window`] for what belongs to it. A window that covers everything
    /// recorded gives the whole profile.
    pub fn window(&self, window: &Window) -> Profile {
        let trace = &self.trace;
        let window = WindowOf::new(window, self);
        let part = window.as_ref().map(|of| &of.window);
        let span = part.map_or(Interval::ALL, Window::cpu_span);
        let launches = self
            .launches
            .part(|work, call| part.is_none_or(|part| part.has(trace, work, call)));
        // For a window of a single GPU, the steps are found again from the activity on that GPU.
        let is_of_gpu = part.is_some_and(|part| part.device.is_some());
        let serving = (!is_of_gpu).then(|| {
            let serving = self.serving().and_then(|all| match &window {
                Some(of) => all.within(of.gpu, of.window.on_host.map(|on_host| on_host.span)),
                None => Some(all.clone()),
            });
            OnceLock::from(serving.map(Arc::new))
        });
        let tree = self.tree.within(trace, &launches, span);
        let cpu_ops = cpu_ops(trace, &self.tree, Some(span));
        let (trace, recording) = (Arc::clone(trace), Arc::clone(&self.recording));
        let profile = Profile::of(trace, recording, window, launches, tree, cpu_ops);
        Profile {
            coverage: self.coverage.clone(),
            sources: self.sources.clone(),
            scanned: Scanned {
                serving: serving.unwrap_or_default(),
                ..Scanned::default()
            },
            ..profile
        }
    }

    /// The steps of a serving engine or a diffusion pipeline; `None` for any other trace. For a window, only the steps
    /// inside it.
    pub fn serving(&self) -> Option<&Serving> {
        let serving = &self.scanned.serving;
        let serving = serving.get_or_init(|| Serving::find(self).map(Arc::new));
        serving.as_deref()
    }

    /// Derives everything else; nothing explains replays yet.
    fn of(
        trace: Arc<Trace>,
        recording: Arc<Recording>,
        window: Option<WindowOf>,
        launches: Launches,
        tree: CallTree,
        cpu_ops: Vec<CpuOp>,
    ) -> Profile {
        let recompute = Recompute::find(&trace, &tree, &launches);
        let recompute = (!recompute.is_empty()).then_some(recompute);
        let gpu = GpuTable::new(&trace, &launches, &tree, recompute.as_ref());
        let ops = OpTable::new(&trace, &tree, &gpu, recompute.as_ref());
        let mut profile = Profile {
            trace,
            window,
            warnings: recording.imported.clone(),
            recording,
            coverage: None,
            sources: ShapeSources::default(),
            launches,
            tree,
            recompute,
            gpu,
            ops,
            cpu_ops,
            scanned: Scanned::default(),
            derived: Derived::default(),
        };
        profile.warn();
        profile
    }

    /// The call tree as recorded, Python frames included.
    pub fn full_tree(&self) -> &CallTree {
        match self.tree.frames() {
            Frames::With => &self.tree,
            Frames::Without if !self.has_python_frames() => &self.tree,
            Frames::Without => self.scanned.full_tree.get_or_init(|| {
                let tree = CallTree::with_frames(&self.trace, &self.launches);
                match &self.window {
                    Some(window) => {
                        let span = window.window.cpu_span();
                        tree.within(&self.trace, &self.launches, span)
                    }
                    None => tree,
                }
            }),
        }
    }

    /// The time span that GPU metrics refer to, given the hull of the GPU activity that counts. For a window, the whole
    /// window, even if the GPU is idle at its ends; for a single GPU, the given hull.
    pub(crate) fn gpu_span(&self, worked: Interval) -> Interval {
        match &self.window {
            Some(of) if of.window.device.is_none() => of.gpu.hull(worked),
            _ => worked,
        }
    }

    /// When the GPUs are occupied: by the profile's own activity and, for a window, by activity of other windows as far
    /// as it runs inside this one.
    pub(crate) fn running(&self) -> impl Iterator<Item = Running> {
        let own = self.gpu.all().map(|work| work.running(&self.trace));
        let own = own.filter_map(|work| {
            let span = self.counted(work.span)?;
            Some(Running { span, ..work })
        });
        own.chain(self.overlapping_work())
    }

    /// The part of a time span that lies in the span that GPU metrics refer to. Activity launched by a step may run
    /// before its window.
    pub(crate) fn counted(&self, work: Interval) -> Option<Interval> {
        match &self.window {
            Some(window) => work.overlap(window.gpu),
            None => Some(work),
        }
    }

    /// Activity of other windows that runs inside this one; nothing if the profile covers the whole trace.
    pub(crate) fn overlapping_work(&self) -> impl Iterator<Item = Running> {
        let overlapping = self
            .window
            .iter()
            .flat_map(|window| &window.overlapping_work);
        overlapping.copied()
    }

    /// Annotations that contain the request lengths of a step.
    pub(crate) fn batches(&self) -> &Annotations {
        self.scanned
            .batches
            .get_or_init(|| Annotations::new(&self.trace, names_batch))
    }

    /// Operators by arguments, with their GPU time and FLOP/byte models, longest first.
    pub fn operations(&self) -> &[Operation] {
        self.derived.operations.get_or_init(|| {
            let mut all = operations(self);
            graphs::shapes::add(self, &mut all);
            all
        })
    }

    /// The model that the sizes of replayed kernels are derived from; `None` where it is unknown.
    pub(crate) fn known_model(&self) -> Option<&KnownModel> {
        self.model_of_replays()?.as_ref().ok()?.as_ref()
    }

    /// Why the given model configuration could not be used, in a sentence; `None` if it is used or none was given.
    pub(crate) fn config_mismatch(&self) -> Option<&str> {
        Some(self.model_of_replays()?.as_ref().err()?)
    }

    /// How much an eager trace explains of the graph replays, in a sentence; `None` without such a trace.
    pub fn eager_coverage(&self) -> Option<&str> {
        self.operations();
        self.derived.eager_coverage.get().map(String::as_str)
    }

    fn model_of_replays(&self) -> Option<&Result<Option<KnownModel>, String>> {
        // The model is found together with the operations.
        self.operations();
        self.derived.known_model.get()
    }

    /// The call that a piece of GPU activity is attributed to; `None` for collectives.
    pub(crate) fn owner_of(&self, work: GpuId) -> Option<Owner> {
        let owners = self.derived.owners.get_or_init(|| owners(self));
        owners.get(work.index()).copied().flatten()
    }

    /// The call that an owner refers to.
    pub(crate) fn call_of(&self, owner: Owner) -> Option<&PerfRow> {
        self.operations()
            .get(owner.operation)?
            .calls
            .get(owner.call)
    }

    /// A value that a later stage computes once, whatever GPU and thresholds are chosen.
    pub(crate) fn once<T: Any + Send + Sync>(&self, make: impl FnOnce() -> T) -> Arc<T> {
        self.derived.memo.get(make)
    }

    /// What is known about the model from the trace.
    pub fn model_info(&self) -> &ModelInfo {
        self.derived.model_info.get_or_init(|| ModelInfo::new(self))
    }
}

/// What was recorded besides the trace.
#[derive(Debug)]
pub(crate) struct Recording {
    /// Problems found during import.
    pub(crate) imported: Warnings,
    /// Size of the decompressed text.
    pub(crate) text_bytes: u64,
    /// Offset between the GPU and CPU clocks, where they disagree.
    pub(crate) clocks_ns: Option<i64>,
    /// Number of kernels that were launched while others were recorded, and are not in the trace.
    pub(crate) n_unrecorded: u64,
    /// GPU activity whose recorded times are not used.
    pub(crate) as_recorded: Vec<AsRecorded>,
}
