//! The callers of a subject: modules, Python functions and operators around it.

use serde::{Deserialize, Serialize};

use super::{Instance, in_tree, longest};
use crate::base::format;
use crate::base::interval::sum;
use crate::base::map::Map;
use crate::base::sort::Arrange;
use crate::base::value::cell_columns;
use crate::findings::Input;
use crate::names::frames::is_framework;
use crate::profile::Profile;
use crate::profile::cpu::tree::NodeId;
use crate::profile::operations::origin::Origin;
use crate::report::Report;
use crate::report::fact_table::CellKind::{Name, Number};
use crate::report::fact_table::{FactRow, FactTable};
use crate::trace::{Category, EventId, StringId};

/// Number of enclosing operators in the name of a caller.
const NAMED_OPS: usize = 2;

/// A place in the program that calls the subject.
struct Caller {
    /// The nearest modules, outermost first: "Qwen2DecoderLayer > Qwen2MLP > Linear"; `None` without modules or Python
    /// frames.
    modules: Option<String>,
    /// The nearest Python function outside the frameworks.
    frame: Option<String>,
    /// The nearest operators around it, outermost first; empty if there are none.
    ops: String,
    /// Number of calls.
    count: u64,
    /// GPU time of these calls.
    gpu_ns: i64,
    /// The slowest of them.
    slowest: (EventId, i64),
}

/// A call or frame around the slowest run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StackLine {
    /// Its full name.
    pub name: String,
    /// Whether it is framework code; the user's code is further out.
    pub is_framework: bool,
    /// The event to look for in the tree.
    pub uid: u32,
}

/// The distinct callers of some runs, by GPU time; `None` if nothing is recorded around them.
pub(super) fn table(
    profile: &Profile,
    report: &Report,
    instances: &[Instance],
) -> Option<FactTable> {
    // The first that is known is the cell, the others are below it.
    let from = |caller: &Caller| {
        let ops = Some(&caller.ops).filter(|ops| !ops.is_empty());
        let parts = [caller.modules.as_ref(), caller.frame.as_ref(), ops];
        parts
            .into_iter()
            .flatten()
            .cloned()
            .collect::<Vec<String>>()
    };
    longest(
        "Called from",
        callers(profile, report, instances),
        cell_columns![
            "From", Name, |caller| from(caller).into_iter().next().unwrap_or_default();
            "Calls", Number, |caller| format::count(caller.count);
            "GPU time", Number, |caller| format::time_ns(caller.gpu_ns);
        ],
        |caller| FactRow {
            below: format::joined(from(caller).iter().skip(1), " · "),
            event: in_tree(profile, caller.slowest.0),
            ..FactRow::default()
        },
    )
}

fn callers(profile: &Profile, report: &Report, instances: &[Instance]) -> Vec<Caller> {
    let (input, tree) = (report.analysis_input(profile), super::tree(profile));
    // Most calls of a loop have the same names around them: each distinct path is resolved once.
    let mut ways: Map<Vec<StringId>, Option<usize>> = Map::default();
    let mut callers: Vec<Caller> = Vec::new();
    for instance in instances {
        let Some(node) = tree.node_of(instance.event) else {
            continue;
        };
        let names = tree.ancestors(node).filter_map(|above| tree.event(above));
        let way: Vec<StringId> = names
            .map(|event| profile.trace.events.name(event))
            .collect();
        let row = *ways
            .entry(way)
            .or_insert_with(|| row_of(&input, node, &mut callers));
        let Some(caller) = row.and_then(|row| callers.get_mut(row)) else {
            continue;
        };
        let is_slower = caller.count == 0 || instance.gpu_ns > caller.slowest.1;
        caller.count += 1;
        caller.gpu_ns = sum([caller.gpu_ns, instance.gpu_ns]);
        if is_slower {
            caller.slowest = (instance.event, instance.gpu_ns);
        }
    }
    callers.arrange_by_largest(|caller| caller.gpu_ns);
    callers
}

/// The row of a caller, created if needed; `None` for a call with nothing around it.
fn row_of(input: &Input, node: NodeId, callers: &mut Vec<Caller>) -> Option<usize> {
    let profile = input.profile;
    let (trace, tree) = (&profile.trace, super::tree(profile));
    let origin = match profile.has_python_frames() {
        true => Origin::of_node(input.profile, node),
        false => Origin::default(),
    };
    let around = tree
        .ancestors(node)
        .filter(|above| tree.category(trace, *above) == Category::CpuOp)
        .take(NAMED_OPS);
    let mut ops: Vec<String> = around
        .filter_map(|above| tree.event(above))
        .map(|event| trace.strings.get(trace.events.name(event)).to_owned())
        .collect();
    ops.reverse();
    let ops = ops.join(" > ");
    let modules = origin.path().filter(|_| !origin.modules.is_empty());
    if modules.is_none() && origin.frame.is_none() && ops.is_empty() {
        return None;
    }
    let known = callers.iter().position(|caller| {
        caller.modules == modules && caller.frame == origin.frame && caller.ops == ops
    });
    known.or_else(|| {
        callers.push(Caller {
            modules,
            frame: origin.frame,
            ops,
            count: 0,
            gpu_ns: 0,
            slowest: (tree.event(node)?, 0),
        });
        Some(callers.len() - 1)
    })
}

/// The calls around an instance, outermost first.
pub(super) fn stack(profile: &Profile, instance: &Instance) -> Vec<StackLine> {
    let (trace, tree) = (&profile.trace, super::tree(profile));
    let frames = tree.calls_around(instance.event).map(|event| {
        let name = trace.name(event);
        StackLine {
            name: name.to_owned(),
            is_framework: trace.events.category(event) == Category::PythonFunction
                && is_framework(name)
                && !name.starts_with(crate::names::MODULE),
            uid: trace.events.uid(event),
        }
    });
    let mut frames: Vec<StackLine> = frames.collect();
    frames.reverse();
    frames
}
