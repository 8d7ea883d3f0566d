//! The position of an operation in the call tree: its callers and what it calls.

use crate::base::format;
use crate::base::interval::sum;
use crate::profile::Profile;
use crate::profile::cpu::tree::NodeId;
use crate::profile::operations::origin::Origin;
use crate::trace::{Category, Dims, EventId, OpArgs, StringId};

/// Maximum depth shown below the operation.
const MAX_DEPTH: usize = 3;
/// Maximum number of nodes shown.
const MAX_NODES: usize = 60;

/// The position of an operation in the call tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) name: String,
    /// Position of its first call in the events of the trace.
    pub(crate) uid: u64,
    pub(crate) shapes: String,
    /// Its callers, nearest first; modules without their prefix, files without folders.
    pub(crate) parents: Vec<String>,
    /// The call itself and what it calls, in order.
    pub(crate) subtree: Vec<PlaceNode>,
}

/// A call below an operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PlaceNode {
    /// Levels below the operation.
    pub(crate) depth: usize,
    pub(crate) name: String,
    pub(crate) shapes: String,
    pub(crate) types: Vec<String>,
    /// Sum of the kernels that it launches, directly or in calls below it.
    pub(crate) kernel_ns: i64,
    pub(crate) cpu_ns: i64,
}

/// The position of the first call of an operation; `None` for a kernel without a call.
pub(crate) fn of(profile: &Profile, operation: usize) -> Option<Place> {
    let operation = profile.operations().get(operation)?;
    let event = operation.first()?.event;
    of_call(profile, event, operation.short_name(profile))
}

/// The positions of the operators with the most CPU time, the first call of each.
pub(crate) fn of_cpu_ops(profile: &Profile, n: usize) -> Vec<Place> {
    let trace = &profile.trace;
    let ops = profile.cpu_ops.iter().take(n);
    ops.filter_map(|op| {
        let name = trace.strings.get(op.name);
        let mut calls = trace.named(|of| of == Category::CpuOp, |other| other == name);
        of_call(profile, calls.next()?, name)
    })
    .collect()
}

/// The position of a call; `None` if it is not in the tree.
fn of_call(profile: &Profile, event: EventId, name: &str) -> Option<Place> {
    let (trace, tree) = (&profile.trace, profile.full_tree());
    let root = tree.node_of(event)?;
    let parents = tree
        .ancestors(root)
        .filter_map(|node| tree.event(node))
        .map(|event| Origin::short(trace.strings.get(trace.events.name(event))).to_owned())
        .collect();
    let mut subtree = Vec::new();
    let mut open: Vec<(NodeId, usize)> = vec![(root, 0)];
    while let Some((node, depth)) = open.pop() {
        if subtree.len() == MAX_NODES {
            break;
        }
        let category = tree.category(trace, node);
        if matches!(
            category,
            Category::CpuOp | Category::PythonFunction | Category::Runtime
        ) && let Some(event) = tree.event(node)
        {
            let spans = tree.gpu_work(node).iter();
            let spans = spans.filter_map(|id| profile.gpu.get(*id));
            subtree.push(PlaceNode {
                depth,
                name: Origin::short(trace.strings.get(trace.events.name(event))).to_owned(),
                shapes: shapes(profile, event),
                types: types(profile, event),
                kernel_ns: sum(spans.map(|work| work.span.length())),
                cpu_ns: trace.events.dur_ns(event).unwrap_or(0),
            });
        }
        if depth < MAX_DEPTH {
            let children: Vec<NodeId> = tree.children(node).collect();
            open.extend(children.into_iter().rev().map(|child| (child, depth + 1)));
        }
    }
    Some(Place {
        name: name.to_owned(),
        uid: u64::from(trace.events.uid(event)),
        shapes: shapes(profile, event),
        parents,
        subtree,
    })
}

/// "8 × 64, 64 × 2" for the tensors of a call.
fn shapes(profile: &Profile, event: EventId) -> String {
    let trace = &profile.trace;
    let dims = args(profile, event).and_then(|args| args.dims.as_deref());
    let dims = dims.unwrap_or_default();
    format::joined(
        dims.iter()
            .flat_map(Dims::shapes)
            .map(|shape| trace.args.shape(*shape))
            .filter(|sizes| !sizes.is_empty())
            .map(format::shape),
        ", ",
    )
}

fn types(profile: &Profile, event: EventId) -> Vec<String> {
    let types = args(profile, event).and_then(|args| args.types.as_deref());
    let types = types.unwrap_or_default().iter();
    let text = |name: &StringId| profile.trace.strings.get(*name).to_owned();
    types.map(text).collect()
}

fn args(profile: &Profile, event: EventId) -> Option<&OpArgs> {
    let trace = &profile.trace;
    trace.args.get(trace.events.op_args(event)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Timetable;

    #[test]
    fn parents_and_what_is_below() {
        let profile = Timetable::new()
            .frame("nn.Module: Linear_3", 0..100)
            .op("aten::linear", 1..90)
            .op("aten::addmm", 2..80)
            .args(
                r#""Input Dims": [[2], [4, 8], [8, 2]], "Input type": ["float", "float", "float"]"#,
            )
            .launched("gemm", 10..11, 200..230)
            .profile();
        let data = of(&profile, 0).unwrap();
        assert_eq!(data.name, "aten::addmm");
        assert_eq!(data.parents, ["aten::linear", "Linear_3"]);
        let below: Vec<(usize, &str, i64)> = data
            .subtree
            .iter()
            .map(|node| (node.depth, node.name.as_str(), node.kernel_ns))
            .collect();
        assert_eq!(
            below,
            [(0, "aten::addmm", 30_000), (1, "cudaLaunchKernel", 30_000)]
        );
        assert_eq!(data.subtree[0].cpu_ns, 78_000);
        assert_eq!(data.subtree[0].shapes, "2, 4×8, 8×2");
        assert_eq!(data.subtree[0].types, ["float", "float", "float"]);
    }

    /// `linear` has 30 µs of self time, `mm` 60.
    #[test]
    fn without_a_gpu_the_operators_of_the_cpu_have_their_places() {
        let profile = Timetable::new()
            .frame("nn.Module: Linear_3", 0..100)
            .op("aten::linear", 1..91)
            .op("aten::mm", 20..80)
            .profile();
        let places: Vec<(String, Vec<String>, i64)> = of_cpu_ops(&profile, 5)
            .into_iter()
            .map(|place| (place.name, place.parents, place.subtree[0].cpu_ns))
            .collect();
        let of = |name: &str, parents: &[&str], ns| {
            let parents = parents.iter().map(|parent| (*parent).to_owned());
            (name.to_owned(), parents.collect::<Vec<String>>(), ns)
        };
        assert_eq!(
            places,
            [
                of("aten::mm", &["aten::linear", "Linear_3"], 60_000),
                of("aten::linear", &["Linear_3"], 90_000),
            ]
        );
        assert_eq!(of_cpu_ops(&profile, 1).len(), 1);
    }
}
