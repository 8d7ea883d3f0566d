//! The work of a rank by step, kernel, operator and shapes, to find out whether another rank does the same in less
//! time, or something else.

use super::steps::Steps;
use super::{TextId, Work};
use crate::base::format;
use crate::base::format::shape;
use crate::base::map::{Map, Set};
use crate::base::sort::Arrange;
use crate::names::Family;
use crate::profile::Profile;
use crate::profile::cpu::tree::NodeId;
use crate::profile::cpu::tree::own_cpu_ns;
use crate::profile::gpu::timeline::GpuClass;
use crate::trace::{Category, Dims, EventId, OpArgsId, StringId, Trace};

/// One rank has more rows than this only with shapes that never repeat; the rows with the least time are then dropped.
const MOST_ROWS: usize = 50_000;

pub(super) fn find(profile: &Profile, steps: &Steps, texts: &mut Set<String>) -> Vec<Work> {
    let mut rows = Rows {
        texts,
        shapes: Map::default(),
        names: Map::default(),
        rows: Map::default(),
        trace: &profile.trace,
    };
    match profile.has_gpu_events() {
        true => {
            let work = profile.gpu.iter();
            for (id, work) in work.filter(|(_, work)| work.class != GpuClass::Communication) {
                let op = work.parent_event(profile);
                rows.add(
                    steps.of(id),
                    Some((work.name, work.family)),
                    op,
                    work.span.length(),
                );
            }
        }
        false => {
            for (node, op) in operators(profile) {
                let start_ns = profile.trace.events.ts_ns(op);
                let ns = own_cpu_ns(&profile.trace, &profile.tree, node);
                rows.add(steps.at(start_ns), None, Some(op), ns);
            }
        }
    }
    let mut rows: Vec<Work> = rows.rows.into_values().collect();
    if rows.len() > MOST_ROWS {
        rows.arrange_by_key(|row| (std::cmp::Reverse(row.total_ns), key(row)));
        rows.truncate(MOST_ROWS);
    }
    rows.arrange_by_key(key);
    rows
}

fn key(row: &Work) -> (Option<u32>, TextId, TextId, TextId) {
    (row.step, row.kernel, row.op, row.shapes)
}

/// Operators that do not communicate.
pub(super) fn operators(profile: &Profile) -> impl Iterator<Item = (NodeId, EventId)> {
    let (trace, tree) = (&profile.trace, &profile.tree);
    let ops = tree
        .ids()
        .filter(|node| tree.category(trace, *node) == Category::CpuOp);
    let ops = ops.filter_map(|node| Some((node, tree.event(node)?)));
    ops.filter(|(_, op)| !is_communication(trace.name(*op)))
}

fn is_communication(op: &str) -> bool {
    op.starts_with("c10d::") || op == "record_param_comms"
}

/// Rows, while they are summed up.
struct Rows<'a> {
    trace: &'a Trace,
    texts: &'a mut Set<String>,
    shapes: Map<OpArgsId, TextId>,
    names: Map<StringId, TextId>,
    rows: Map<(Option<u32>, TextId, TextId, TextId), Work>,
}

impl Rows<'_> {
    fn add(
        &mut self,
        step: Option<u32>,
        kernel: Option<(StringId, Family)>,
        op: Option<EventId>,
        ns: i64,
    ) {
        let events = &self.trace.events;
        let name = op.map_or(0, |op| self.name(events.name(op)));
        let shapes = op.and_then(|op| events.op_args(op));
        let shapes = shapes.map_or(0, |args| self.shapes(args));
        let (kernel, category) = match kernel {
            Some((kernel, family)) => (self.name(kernel), self.texts.id(family.label())),
            None => (0, 0),
        };
        let row = self.rows.entry((step, kernel, name, shapes));
        let row = row.or_insert(Work {
            step,
            kernel,
            op: name,
            shapes,
            category,
            calls: 0,
            total_ns: 0,
        });
        row.calls = row.calls.saturating_add(1);
        row.total_ns = row.total_ns.saturating_add(ns);
    }

    fn name(&mut self, name: StringId) -> TextId {
        if let Some(id) = self.names.get(&name) {
            return *id;
        }
        let id = self.texts.id(self.trace.strings.get(name));
        self.names.insert(name, id);
        id
    }

    fn shapes(&mut self, args: OpArgsId) -> TextId {
        if let Some(id) = self.shapes.get(&args) {
            return *id;
        }
        let id = self.texts.id(&written(self.trace, args));
        self.shapes.insert(args, id);
        id
    }
}

/// Shapes of the tensors among the arguments: `2×8, 8×4`.
fn written(trace: &Trace, args: OpArgsId) -> String {
    let dims = trace.args.get(args).and_then(|args| args.dims.as_deref());
    let tensors = dims.unwrap_or_default().iter().flat_map(Dims::shapes);
    let sizes = tensors.map(|id| trace.args.shape(*id));
    format::joined(sizes.filter(|sizes| !sizes.is_empty()).map(shape), ", ")
}
