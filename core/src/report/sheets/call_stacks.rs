//! Where in the program an operation is called: the columns `entry_point` and `call_stack_full`.
//!
//! Both describe the first call. Only traces with Python frames have them.

use super::kernel_details;
use crate::base::format;
use crate::names::frames::Frame;
use crate::names::words::contains_any;
use crate::profile::Profile;
use crate::profile::cpu::tree::NodeId;
use crate::profile::launch::GpuId;
use crate::profile::operations::Operation;
use crate::report::python;
use crate::report::sheet::{Cell, Column, Unit, column};
use crate::trace::Category;

/// The columns, in TraceLens's positions.
#[rustfmt::skip]
pub(super) const COLUMNS: [Column; 2] = [
    column("entry_point", Unit::Text, "The Python function that called it: one of its own name inside it, else the nearest around it that is no wrapper of the framework."),
    column("call_stack_full", Unit::Text, "What is around its first call, the outermost first, down to its kernels; where kernels have different paths, each path is a list of its own."),
];

/// What TraceLens writes for a call without an entry point.
const NOT_FOUND: &str = "Not found";

/// Frames that only forward a call, by name prefix.
const WRAPPER_STARTS: &[&str] = &["<built-in", "pybind11_builtins", "nn.Module:"];

/// Frames that only forward a call, by file.
const WRAPPER_FILES: &[&str] = &[
    "torch/_ops.py",
    "torch/nn/modules/module.py",
    "torch/utils/_contextlib.py",
    "torch/utils/_device.py",
    "torch/_tensor.py",
    "torch/functional.py",
    "torch/overrides.py",
    "torch/_inductor/",
    "torch/_functorch/",
    "torch/distributed/c10d_logger.py",
    "triton/backends/",
];

/// Frames that only forward a call, by function.
const WRAPPER_FUNCTIONS: &[&str] = &[
    "__torch_function__",
    "_call_impl",
    "_wrapped_call_impl",
    "decorate_context",
    "dispatch_wrapper",
    "handle_torch_function",
    "wrapper",
    "custom_wrapper",
    "wrapper_custom",
    "outer_wrapper",
];

/// The cells under [`COLUMNS`].
pub(super) fn cells(profile: &Profile, operation: &Operation) -> [Cell; 2] {
    let call = operation.first();
    let node = call.and_then(|call| profile.full_tree().node_of(call.event));
    let (Some(call), Some(node)) = (call, node) else {
        return [Cell::Empty, Cell::Empty];
    };
    // TraceLens's inference report does not look at the callers of a kernel that is an operation of its own.
    let is_inference = !profile.trace.captured.is_empty();
    if let Some(kernel) = call.kernel.filter(|_| is_inference) {
        let kernel = profile.trace.strings.get(kernel);
        let stack = python::list([kernel]);
        return [Cell::Text(NOT_FOUND.to_owned()), Cell::Text(stack)];
    }
    let launched: Vec<&[GpuId]> = operation.calls.iter().map(|call| &call.work[..]).collect();
    let nothing = match is_inference {
        true => Cell::Text(NOT_FOUND.to_owned()),
        false => Cell::Empty,
    };
    [
        entry_point(profile, node, &call.work).map_or(nothing, Cell::Text),
        Cell::Text(call_stack(
            profile,
            node,
            &kernel_details::in_order(profile, &launched),
        )),
    ]
}

fn name(profile: &Profile, node: NodeId) -> &str {
    let event = profile.full_tree().event(node);
    event.map_or("", |event| {
        profile.trace.strings.get(profile.trace.events.name(event))
    })
}

/// The calls between an operator and the launch of one of its kernels, outermost first; empty if the launch is not
/// inside the operator.
fn between(profile: &Profile, node: NodeId, work: GpuId) -> Vec<NodeId> {
    let tree = profile.full_tree();
    let call = profile.gpu.get(work).and_then(|work| work.launched_by);
    let Some(launch) = call.and_then(|call| tree.node_of(call)) else {
        return Vec::new();
    };
    if launch == node || !tree.subtree(node).contains(&launch.0) {
        return Vec::new();
    }
    // TraceLens does not count operators of a capture that were inserted around a launch.
    let is_part = |node: NodeId| {
        let event = tree.event(node);
        event.is_some_and(|event| profile.trace.captured.is_part(event))
    };
    let above = tree.ancestors(launch).filter(|above| !is_part(*above));
    let mut inside: Vec<NodeId> = above.take_while(|above| *above != node).collect();
    inside.reverse();
    inside
}

fn entry_point(profile: &Profile, node: NodeId, work: &[GpuId]) -> Option<String> {
    let op = name(profile, node);
    let local_name = op.rsplit("::").next().unwrap_or(op).to_lowercase();
    let inside = work.first().map(|work| between(profile, node, *work));
    let inward = inside.iter().flatten().map(|node| name(profile, *node));
    let of_its_name = inward.filter_map(python_frame).find(|(_, frame)| {
        !local_name.is_empty() && frame.function.to_lowercase().contains(&local_name)
    });
    let outward = || {
        let around = profile.full_tree().ancestors(node);
        let mut around = around.filter_map(|node| python_frame(name(profile, node)));
        around.find(|(name, frame)| !is_wrapper(name, *frame))
    };
    let (name, _) = of_its_name.or_else(outward)?;
    Some(without_numbers(name))
}

/// The frame that a call's name is, if it is in a Python file.
fn python_frame(name: &str) -> Option<(&str, Frame<'_>)> {
    let frame = Frame::of(name).filter(|frame| frame.path.ends_with(".py"))?;
    Some((name, frame))
}

fn is_wrapper(name: &str, frame: Frame) -> bool {
    WRAPPER_STARTS.iter().any(|start| name.starts_with(start))
        || contains_any(frame.path, WRAPPER_FILES)
        || WRAPPER_FUNCTIONS.contains(&frame.function)
}

/// A list in Python syntax: the frames common to all kernels, then one list for each distinct rest.
fn call_stack(profile: &Profile, node: NodeId, work: &[GpuId]) -> String {
    let mut around: Vec<NodeId> = profile.full_tree().ancestors(node).collect();
    around.reverse();
    around.push(node);
    let said = |nodes: &[NodeId]| -> Vec<String> {
        let locations = nodes.iter().filter(|node| is_location(profile, **node));
        locations
            .map(|node| without_numbers(name(profile, *node)))
            .collect()
    };
    let prefix = said(&around);
    let mut ways: Vec<Vec<String>> = Vec::new();
    for id in work {
        let Some(kernel) = profile.gpu.get(*id) else {
            continue;
        };
        let mut way = prefix.clone();
        way.extend(said(&between(profile, node, *id)));
        way.push(profile.trace.strings.get(kernel.name).to_owned());
        if !ways.contains(&way) {
            ways.push(way);
        }
    }
    fold(ways, prefix)
}

/// Whether a name says where in the program a call is: a module, file or operator.
fn is_location(profile: &Profile, node: NodeId) -> bool {
    let text = name(profile, node);
    profile.full_tree().category(&profile.trace, node) == Category::CpuOp
        || contains_any(text, &["nn.Module", "::", "/"])
}

fn fold(ways: Vec<Vec<String>>, prefix: Vec<String>) -> String {
    let Some((first, rest)) = ways.split_first() else {
        return python::list(prefix.iter().map(String::as_str));
    };
    if rest.is_empty() {
        return python::list(first.iter().map(String::as_str));
    }
    let n_common = (0..first.len())
        .take_while(|&at| rest.iter().all(|way| way.get(at) == first.get(at)))
        .count();
    let common = first.iter().take(n_common).map(|name| python::string(name));
    let tails = ways
        .iter()
        .map(|way| python::list(way.iter().skip(n_common).map(String::as_str)));
    let items = format::joined(common.chain(tails), ", ");
    format!("[{items}]")
}

/// A name without the numbers after underscores, which distinguish instances.
fn without_numbers(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(at) = rest.find('_') {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let digits = from.bytes().skip(1).take_while(u8::is_ascii_digit).count();
        if digits == 0 {
            out.push('_');
        }
        rest = from.get(1 + digits..).unwrap_or_default();
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Timetable;

    fn cells_of(timetable: Timetable) -> [String; 2] {
        let profile = timetable.profile();
        let [operation] = profile.operations() else {
            panic!("one operation")
        };
        cells(&profile, operation).map(|cell| match cell {
            Cell::Text(text) => text,
            _ => String::new(),
        })
    }

    #[test]
    fn wrappers_are_looked_through() {
        let timetable = Timetable::new()
            .frame("/home/me/train.py(9): step", 0..100)
            .frame("nn.Module: Linear_3", 1..99)
            .frame("torch/nn/modules/module.py(1751): _call_impl", 2..98)
            .frame("torch/nn/modules/linear.py(125): forward", 3..97)
            .frame("<built-in function linear>", 4..96)
            .op("aten::linear", 5..95)
            .op("aten::my_2_op", 6..94)
            .launched("gemm_kernel_4", 7..8, 110..120);
        assert_eq!(
            cells_of(timetable),
            [
                "torch/nn/modules/linear.py(125): forward",
                "['/home/me/train.py(9): step', 'nn.Module: Linear', \
                 'torch/nn/modules/module.py(1751): _call_impl', \
                 'torch/nn/modules/linear.py(125): forward', 'aten::linear', 'aten::my_op', \
                 'gemm_kernel_4']"
            ]
        );
    }

    #[test]
    fn kernels_with_different_paths_have_lists_of_their_own() {
        let timetable = Timetable::new()
            .frame("main.py(1): run", 0..100)
            .op("my::attention", 5..95)
            .frame("lib/kernels.py(4): attention_fwd", 6..50)
            .launched("a", 7..8, 110..120)
            .launched("b", 60..61, 120..130);
        assert_eq!(
            cells_of(timetable),
            [
                "lib/kernels.py(4): attention_fwd",
                "['my::attention', ['lib/kernels.py(4): attention_fwd', 'a'], ['b']]"
            ]
        );
    }

    #[test]
    fn nothing_but_wrappers_leaves_the_entry_point_open() {
        let timetable = Timetable::new()
            .frame("torch/_ops.py(1158): __call__", 0..100)
            .op("aten::mm", 5..95)
            .launched("gemm", 7..8, 110..120);
        let [entry_point, _] = cells_of(timetable);
        assert_eq!(entry_point, "");
    }

    #[test]
    fn numbers_behind_underscores_are_dropped() {
        for (name, expected) in [
            ("nn.Module: Linear_12", "nn.Module: Linear"),
            ("layer_1_norm_2", "layer_norm"),
            ("a__1b", "a_b"),
            ("conv2d", "conv2d"),
            ("_", "_"),
            ("é_3_", "é_"),
        ] {
            assert_eq!(without_numbers(name), expected);
        }
    }
}
