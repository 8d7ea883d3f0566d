//! Which calls represent the performance of a trace, so that each piece of GPU time counts once.
//!
//! The tree is walked from the outermost operators down. A call is taken if it is the first one with information: it
//! has a model, or it is a backward pass whose forward call has one, or it launches GPU activity itself and nothing
//! below it has a model. Whatever these calls do not cover gets rows of its own, kernel by kernel.
//!
//! A graph replays the kernels of a whole step, whatever is above its launch: they are not part of an operator without
//! a model and get rows of their own.
//!
//! Only the reference's models decide, so that the rows match the reference's; other models only fill cells.

#[cfg(test)]
mod tests;

pub use crate::profile::operations::binding::{Binding, Pass};

use crate::base::interval::busy;
use crate::base::map::Map;
use crate::base::sort::Arranged;
use crate::names::op_category;
use crate::perf::{PerfModel, Unit, model};
use crate::profile::Profile;
use crate::profile::cpu::autograd::{Autograd, ENGINE_CALL};
use crate::profile::cpu::tree::{Frames, NodeId};
use crate::profile::launch::{GpuId, is_graph_launch};
use crate::trace::{ByName, Category, EventId, OpArgsId, StringId};

/// A call with the GPU time that it represents.
#[derive(Debug, Clone)]
pub struct PerfRow {
    /// The call; for a kernel with its own row, the call that launched it.
    pub event: EventId,
    /// The kernel, if it has its own row.
    pub kernel: Option<StringId>,
    /// The reference's label.
    pub category: &'static str,
    /// Position of the call in the events of the trace; kernels with their own rows are numbered after the last event.
    pub uid: u64,
    /// Its GPU activity, in launch order.
    pub work: Vec<GpuId>,
    /// Time during which at least part of it runs.
    pub kernel_ns: i64,
    /// Runs during activation recomputation.
    pub is_recompute: bool,
    /// Its perf model; `None` without one.
    pub binding: Option<Binding>,
}

/// Collects the rows of a trace; each piece of GPU activity is in one of them. Collectives are excluded.
pub(crate) fn perf_rows(profile: &Profile) -> Vec<PerfRow> {
    let mut walk = Walk::new(profile);
    walk.run();
    walk.add_leftovers();
    walk.rows
}

struct Walk<'a> {
    profile: &'a Profile,
    autograd: Autograd,
    models: Map<StringId, Option<&'static PerfModel>>,
    /// For generated kernels, by name and arguments: whether their sizes were recorded.
    sized: Map<(StringId, Option<OpArgsId>), bool>,
    labels: Map<NodeId, &'static str>,
    label_of_name: ByName<&'static str>,
    /// By node: how many operators before it have a model and GPU activity.
    n_modeled_before: Vec<u32>,
    /// By node.
    visited: Vec<bool>,
    /// By GPU activity.
    covered: Vec<bool>,
    /// By GPU activity: whether a graph launched it.
    is_replayed: Vec<bool>,
    rows: Vec<PerfRow>,
}

impl<'a> Walk<'a> {
    fn new(profile: &'a Profile) -> Walk<'a> {
        let labels = profile.ops.iter().map(|(_, op)| (op.node, op.category));
        let mut graph_launches = ByName::new(is_graph_launch);
        let mut is_replayed = |call| graph_launches.of(&profile.trace, call);
        let work = profile.gpu.iter();
        let is_replayed = work.map(|(_, work)| work.launched_by.is_some_and(&mut is_replayed));
        let mut walk = Walk {
            profile,
            autograd: Autograd::new(&profile.trace),
            models: Map::default(),
            sized: Map::default(),
            labels: labels.collect(),
            label_of_name: ByName::new(|name| op_category(name, None)),
            n_modeled_before: Vec::with_capacity(profile.tree.len() + 1),
            visited: vec![false; profile.tree.len()],
            covered: vec![false; profile.gpu.len()],
            is_replayed: is_replayed.collect(),
            rows: Vec::new(),
        };
        let mut n_modeled = 0;
        walk.n_modeled_before.push(0);
        for node in profile.tree.ids() {
            let is_modeled = walk.is_op(node)
                && walk.reference_model(node).is_some()
                && !profile.tree.gpu_work(node).is_empty();
            n_modeled += u32::from(is_modeled);
            walk.n_modeled_before.push(n_modeled);
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

    /// Takes a call as a row, or returns where to look instead.
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
        if self.reference_model(node).is_some() {
            let binding = self.own_binding(node);
            self.take(node, None, binding);
            return Vec::new();
        }
        if self.has_modeled_below(node) {
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
            let modeled =
                |child: &NodeId| self.is_op(*child) && self.reference_model(*child).is_some();
            return children.into_iter().filter(modeled).collect();
        }
        let work = profile.tree.gpu_work(node);
        let is_collective = |work: &GpuId| {
            profile
                .gpu
                .get(*work)
                .is_some_and(|work| work.is_collective)
        };
        if !work.iter().any(is_collective) {
            let binding = self.leaf_binding(node);
            self.take(node, None, binding);
        }
        Vec::new()
    }
}

impl Walk<'_> {
    fn take(
        &mut self,
        node: NodeId,
        backward: Option<(&'static str, Vec<GpuId>)>,
        binding: Option<Binding>,
    ) {
        let profile = self.profile;
        let Some(event) = profile.tree.event(node) else {
            return;
        };
        let is_whole = binding.is_some();
        let work = profile.tree.gpu_work(node).iter().copied();
        let work = work.filter(|id| is_whole || !self.is_replayed(*id));
        let work: Vec<GpuId> = work.collect();
        for id in &work {
            if let Some(covered) = self.covered.get_mut(id.index()) {
                *covered = true;
            }
        }
        let (category, kernel_ns) = match backward {
            Some((category, all_passes)) => (category, profile.gpu.busy_ns(&all_passes)),
            None => (self.label(node, event), profile.gpu.busy_ns(&work)),
        };
        self.rows.push(PerfRow {
            event,
            kernel: None,
            category,
            uid: u64::from(profile.trace.events.uid(event)),
            work,
            kernel_ns,
            is_recompute: self.is_recompute(node),
            binding,
        });
    }

    /// Adds rows for kernels, copies and fills that no call covers.
    fn add_leftovers(&mut self) {
        let profile = self.profile;
        let strings = &profile.trace.strings;
        let mut labels: Map<(StringId, StringId), &'static str> = Map::default();
        let mut uid = profile.trace.next_uid();
        let alone = self.leftovers_by_op();
        for (id, work) in profile.gpu.iter() {
            let is_covered = self.covered.get(id.index()).copied().unwrap_or(true);
            let Some(call) = work.launched_by.filter(|_| !is_covered) else {
                continue;
            };
            if work.is_collective {
                continue;
            }
            let op = work.parent_event(profile);
            let event = op.unwrap_or(call);
            let name = profile.trace.events.name(event);
            let category = *labels.entry((name, work.name)).or_insert_with(|| {
                let kernel = strings.get(work.name);
                op_category(&leftover_name(strings.get(name), kernel), Some(kernel))
            });
            let binding = work
                .parent_op
                .and_then(|op| self.leftover_binding(op, id, &alone));
            self.rows.push(PerfRow {
                event,
                kernel: Some(work.name),
                category,
                uid,
                work: vec![id],
                kernel_ns: busy([work.span]),
                is_recompute: work.is_recompute,
                binding,
            });
            uid += 1;
        }
    }

    /// Kernels with their own rows, by the operator that launched them; excludes copies and fills.
    fn leftovers_by_op(&self) -> Map<NodeId, Vec<GpuId>> {
        let mut leftovers: Map<NodeId, Vec<GpuId>> = Map::default();
        for (id, work) in self.profile.gpu.iter() {
            let is_covered = self.covered.get(id.index()).copied().unwrap_or(true);
            if let Some(op) = work.parent_op
                && !is_covered
                && !work.is_collective
                && self.profile.trace.events.category(work.event) == Category::Kernel
            {
                leftovers.entry(op).or_default().push(id);
            }
        }
        leftovers
    }

    /// The binding of a kernel with its own row: the model of its operator, if it is the only kernel that the operator
    /// launches. Several kernels with the same name share the operator's work evenly: the GEMMs of an MoE layer. A GEMM
    /// does not get the model of its operator if other operators below have a model, because one of these may be the
    /// GEMM.
    fn leftover_binding(
        &mut self,
        op: NodeId,
        id: GpuId,
        leftovers: &Map<NodeId, Vec<GpuId>>,
    ) -> Option<Binding> {
        let profile = self.profile;
        let name = profile.gpu.get(id)?.name;
        let siblings = leftovers.get(&op)?;
        let is_same = |other: &&GpuId| profile.gpu.get(**other).is_some_and(|o| o.name == name);
        let n_same = siblings.iter().filter(is_same).count() as u32;
        let binding = Binding {
            shares: n_same,
            ..self.own_binding(op)?
        };
        let is_experts = n_same > 1 && profile.trace.strings.get(name).contains("fused_moe");
        if is_experts {
            return Some(binding);
        }
        let work = binding.own_work(profile, &[id])?.work;
        let is_gemm = work.compute.is_some_and(|spec| spec.unit == Unit::Matrix);
        let is_free = !(is_gemm && self.has_modeled_below(op));
        (siblings.len() == 1 && is_free).then_some(binding)
    }

    /// The model that decides rows.
    fn reference_model(&mut self, node: NodeId) -> Option<&'static PerfModel> {
        Some(self.own_binding(node)?.model).filter(|model| model.is_reference)
    }

    fn any_model(&mut self, node: NodeId) -> Option<&'static PerfModel> {
        let trace = &self.profile.trace;
        let name = trace.events.name(self.profile.tree.event(node)?);
        let of_name = || model(trace.strings.get(name));
        *self.models.entry(name).or_insert_with(of_name)
    }

    /// The binding of a call. A generated kernel has one only if its sizes were recorded, because its name says nothing
    /// about the work.
    fn own_binding(&mut self, node: NodeId) -> Option<Binding> {
        let model = self.any_model(node)?;
        let call = self.profile.tree.event(node)?;
        let binding = Binding::new(model, call, Pass::Forward);
        let is_generated = model.is_reference && model.op.starts_with("triton_");
        let has_known_work = !is_generated || {
            let (profile, events) = (self.profile, &self.profile.trace.events);
            let key = (events.name(call), events.op_args(call));
            let is_sized = self.sized.entry(key);
            *is_sized.or_insert_with(|| binding.own_work(profile, &[]).is_some())
        };
        has_known_work.then_some(binding)
    }

    /// The binding of an operator that launches work itself. A backward function without a model uses that of its
    /// forward call.
    fn leaf_binding(&mut self, node: NodeId) -> Option<Binding> {
        self.own_binding(node)
            .or_else(|| self.backward_binding(node))
    }

    fn backward_binding(&mut self, node: NodeId) -> Option<Binding> {
        let (forward_node, forward) = self.forward_of_only_call(node)?;
        let model = self.any_model(forward_node)?;
        model.backward?;
        Some(Binding::new(model, forward, Pass::Backward))
    }

    fn has_modeled_below(&self, node: NodeId) -> bool {
        let subtree = self.profile.tree.subtree(node);
        let before = |at: u32| self.n_modeled_before.get(at as usize);
        before(subtree.start + 1) < before(subtree.end)
    }

    /// For the only backward function in an autograd engine call: the model of the forward call, the label, and the GPU
    /// activity of every backward pass of that call.
    fn backward_pass(&mut self, node: NodeId) -> Option<(Binding, &'static str, Vec<GpuId>)> {
        let (forward_node, forward) = self.forward_of_only_call(node)?;
        let model = self.reference_model(forward_node)?;
        let category = model.backward_category?;
        let binding = Binding::new(model, forward, Pass::Backward);
        binding.work(self.profile, &[])?;
        let work = backward_work(self.profile, &self.autograd, forward_node)?;
        Some((binding, category, work))
    }

    /// The forward call of a backward function that its autograd engine call calls exactly once.
    fn forward_of_only_call(&self, node: NodeId) -> Option<(NodeId, EventId)> {
        /// How far above the backward function the engine call may be.
        const MAX_LEVELS: usize = 5;
        let (trace, tree) = (&self.profile.trace, &self.profile.tree);
        let name_of = |node| Some(trace.name(tree.event(node)?));
        let name = name_of(node)?;
        let (engine, forward) = tree
            .ancestors(node)
            .take(MAX_LEVELS)
            .find_map(|above| Some((above, self.autograd.forward_of(tree.event(above)?)?)))?;
        if name_of(engine)?.strip_prefix(ENGINE_CALL) != Some(name) {
            return None;
        }
        let n_calls = tree
            .subtree(engine)
            .skip(1)
            .map(NodeId)
            .filter(|below| name_of(*below) == Some(name) && !tree.gpu_work(*below).is_empty())
            .count();
        (n_calls == 1).then_some((tree.node_of(forward)?, forward))
    }

    /// True if a call launches GPU activity itself, or through runtime calls and Python frames. Driver calls do not
    /// count, a rule of the reference that decides rows. Neither do graphs.
    fn launches(&self, node: NodeId) -> bool {
        let (trace, tree) = (&self.profile.trace, &self.profile.tree);
        let mut inside: Vec<NodeId> = vec![node];
        while let Some(node) = inside.pop() {
            for child in tree.children(node) {
                match tree.category(trace, child) {
                    Category::Runtime if self.has_capture(child) => inside.push(child),
                    Category::Runtime
                        if tree.gpu_work(child).iter().any(|id| !self.is_replayed(*id)) =>
                    {
                        return true;
                    }
                    Category::PythonFunction => inside.push(child),
                    _ => {}
                }
            }
        }
        false
    }

    fn is_replayed(&self, id: GpuId) -> bool {
        self.is_replayed.get(id.index()).copied().unwrap_or(false)
    }

    /// The label of the operator as a launcher; kernels further down do not affect it.
    fn label(&mut self, node: NodeId, event: EventId) -> &'static str {
        let by_name = || self.label_of_name.of(&self.profile.trace, event);
        self.labels.get(&node).copied().unwrap_or_else(by_name)
    }

    fn is_recompute(&self, node: NodeId) -> bool {
        let recompute = self.profile.recompute.as_ref();
        recompute.is_some_and(|recompute| recompute.has_node(node))
    }

    fn is_op(&self, node: NodeId) -> bool {
        self.profile.tree.category(&self.profile.trace, node) == Category::CpuOp
    }

    /// Whether a capture shows what a graph launch replays.
    fn has_capture(&self, node: NodeId) -> bool {
        let event = self.profile.tree.event(node);
        event.is_some_and(|event| self.profile.trace.captured.is_below(event))
    }

    /// Operators and Python frames called from here, and graph launches with a capture.
    fn children(&self, node: NodeId) -> Vec<NodeId> {
        let (trace, tree) = (&self.profile.trace, &self.profile.tree);
        let is_followed = |child: &NodeId| {
            let category = tree.category(trace, *child);
            matches!(category, Category::CpuOp | Category::PythonFunction)
                || self.has_capture(*child)
        };
        tree.children(node).filter(is_followed).collect()
    }

    /// Operators outside of any operator, excluding strays.
    fn outermost_ops(&self) -> Vec<NodeId> {
        let tree = &self.profile.tree;
        let n_strays = tree.strays().len();
        let mut outermost = Vec::new();
        let mut end = 0;
        for node in tree.ids().take(tree.len() - n_strays) {
            if node.0 >= end && self.is_op(node) {
                outermost.push(node);
                end = tree.subtree(node).end;
            }
        }
        outermost
    }

    fn in_time(&self, nodes: impl Iterator<Item = NodeId>) -> Vec<NodeId> {
        nodes.arranged_by_key(|node| {
            let event = self.profile.tree.event(*node);
            event.map(|event| (self.profile.trace.events.ts_ns(event), event))
        })
    }
}

/// The reference's name for a kernel with its own row.
pub(crate) fn leftover_name(caller: &str, kernel: &str) -> String {
    format!("{caller}->{kernel} (Synthetic Op)")
}

/// The GPU activity of the backward passes of a call and of everything below it; `None` if no backward pass is linked.
pub(crate) fn backward_work(
    profile: &Profile,
    autograd: &Autograd,
    forward: NodeId,
) -> Option<Vec<GpuId>> {
    let tree = &profile.tree;
    let engine_calls = tree
        .subtree(forward)
        .filter_map(|node| tree.event(NodeId(node)))
        .filter_map(|event| autograd.backward_of(event))
        .filter_map(|event| tree.node_of(event))
        .distinct();
    let work = engine_calls.iter().flat_map(|node| tree.gpu_work(*node));
    (!engine_calls.is_empty()).then(|| work.copied().collect())
}
