//! Which calls the performance of a trace is told by: each piece of GPU time once.
//!
//! The tree is walked from the outermost operators down, and a call is taken when it is the first
//! that says something: it has a model, or it is a backward pass whose forward call has one, or it
//! launches GPU work itself and nothing below it has a model. What such calls leave over stands
//! for itself, kernel by kernel.
//!
//! The models that decide are the reference's alone, so that rows are its rows; models beyond it
//! fill cells.

#[cfg(test)]
mod tests;

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::{PerfModel, model};
use crate::autograd::{Autograd, ENGINE_CALL};
use crate::category::op_category;
use crate::interval::busy;
use crate::launch::GpuId;
use crate::profile::Profile;
use crate::trace::{Category, EventId, StringId};
use crate::tree::{Frames, NodeId};

/// Which formula of a model counts a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Pass {
    /// The call itself.
    Forward,
    /// The backward pass of the call.
    Backward,
}

/// A model and the call whose arguments it reads.
#[derive(Debug, Clone, Copy)]
pub struct Binding {
    /// The formulas.
    pub model: &'static PerfModel,
    /// The call; of a backward pass the forward call.
    pub call: EventId,
    /// Which formula.
    pub pass: Pass,
}

/// A call with the GPU time that it stands for.
#[derive(Debug, Clone)]
pub struct PerfRow {
    /// The call; of a kernel that stands for itself the call that launched it.
    pub event: EventId,
    /// The kernel, where it stands for itself.
    pub kernel: Option<StringId>,
    /// The reference's label.
    pub category: &'static str,
    /// Position of the call in the events of the trace; kernels that stand for themselves are
    /// numbered after the last event.
    pub uid: u64,
    /// What runs on the GPU, in order of the launches.
    pub work: Vec<GpuId>,
    /// Time during which some of it runs.
    pub kernel_ns: i64,
    /// Runs while activations are computed again.
    pub is_recompute: bool,
    /// How much work it is; `None` without a model.
    pub binding: Option<Binding>,
}

/// Collects the rows of a trace, each piece of GPU work in one of them. Collectives are left out.
pub fn perf_rows(profile: &Profile) -> Vec<PerfRow> {
    let mut walk = Walk::new(profile);
    walk.run();
    walk.add_leftovers();
    walk.rows
}

struct Walk<'a> {
    profile: &'a Profile,
    autograd: Autograd,
    models: HashMap<StringId, Option<&'static PerfModel>, FxBuildHasher>,
    labels: HashMap<NodeId, &'static str, FxBuildHasher>,
    /// By node: how many operators before it have a model and GPU work.
    n_modelled_before: Vec<u32>,
    /// By node.
    visited: Vec<bool>,
    /// By GPU work.
    covered: Vec<bool>,
    rows: Vec<PerfRow>,
}

impl<'a> Walk<'a> {
    fn new(profile: &'a Profile) -> Walk<'a> {
        let labels = profile.ops.iter().map(|(_, op)| (op.node, op.category));
        let mut walk = Walk {
            profile,
            autograd: Autograd::new(&profile.trace),
            models: HashMap::default(),
            labels: labels.collect(),
            n_modelled_before: Vec::with_capacity(profile.tree.len() + 1),
            visited: vec![false; profile.tree.len()],
            covered: vec![false; profile.gpu.len()],
            rows: Vec::new(),
        };
        let mut n_modelled = 0;
        walk.n_modelled_before.push(0);
        for node in profile.tree.ids() {
            let is_modelled = walk.is_op(node)
                && walk.reference_model(node).is_some()
                && !profile.tree.gpu_work(node).is_empty();
            n_modelled += u32::from(is_modelled);
            walk.n_modelled_before.push(n_modelled);
        }
        walk
    }

    fn run(&mut self) {
        let tree = &self.profile.tree;
        let mut roots = Vec::new();
        if tree.frames() == Frames::With {
            let is_frame =
                |node| tree.category(&self.profile.trace, node) == Category::PythonFunction;
            roots.extend(self.in_time(tree.roots().filter(|node| is_frame(*node))));
        }
        roots.extend(self.in_time(self.outermost_ops().into_iter()));
        let mut to_visit: Vec<NodeId> = roots;
        to_visit.reverse();
        while let Some(node) = to_visit.pop() {
            let children = self.visit(node);
            to_visit.extend(children.into_iter().rev());
        }
    }

    /// Takes a call as a row, or answers where to look instead.
    fn visit(&mut self, node: NodeId) -> Vec<NodeId> {
        let profile = self.profile;
        let Some(visited) = self.visited.get_mut(node.index()) else {
            return Vec::new();
        };
        if std::mem::replace(visited, true) || profile.tree.gpu_work(node).is_empty() {
            return Vec::new();
        }
        if !self.is_op(node) {
            return self.children(node);
        }
        if let (Some(model), Some(call)) = (self.reference_model(node), profile.tree.event(node)) {
            let pass = Pass::Forward;
            self.take(node, None, Some(Binding { model, call, pass }));
            return Vec::new();
        }
        if self.has_modelled_below(node) {
            return self.children(node);
        }
        if let Some((binding, category, work)) = self.backward_pass(node) {
            self.take(node, Some((category, work)), Some(binding));
            return Vec::new();
        }
        if !self.launches(node) {
            return self.children(node);
        }
        let children = self.children(node);
        if children
            .iter()
            .any(|child| self.reference_model(*child).is_some())
        {
            let modelled =
                |child: &NodeId| self.is_op(*child) && self.reference_model(*child).is_some();
            return children.into_iter().filter(modelled).collect();
        }
        let work = profile.tree.gpu_work(node);
        let is_collective = |work: &GpuId| {
            profile
                .gpu
                .get(*work)
                .is_some_and(|work| work.is_collective)
        };
        if !work.iter().any(is_collective) {
            self.take(node, None, self.own_binding(node));
        }
        Vec::new()
    }
}
