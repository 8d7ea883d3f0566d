//! PyTorch execution traces (`ExecutionTraceObserver`, Chakra's format): operators with the shapes of their inputs,
//! without times. They add shapes to a trace of the same run that was recorded without them.

use serde::Deserialize;
use serde_json::Value;

use super::container::{Container, Gunzip};
use super::error::Unsupported;
use super::format::Head;
use super::warning::WarningKind;
use super::{Imported, unsupported};
use crate::base::map::Map;
use crate::trace::{Category, EventId, OpArgsText, event_args};

/// Kineto's name for the operator number that both traces share.
const NUMBER: &str = "Record function id";

/// The operators of an execution trace, by that number.
#[derive(Debug, Default)]
pub struct ExecutionTrace {
    nodes: Map<u64, Node>,
}

/// The result of adding an execution trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Added {
    /// Number of operators that are in both traces.
    pub n_joined: usize,
    /// Number of those whose shapes were not recorded and are now known.
    pub n_filled: usize,
}

#[derive(Debug, Deserialize)]
struct File {
    nodes: Vec<Node>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Node {
    name: String,
    inputs: Inputs,
    attrs: Vec<Attribute>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Inputs {
    values: Vec<Value>,
    shapes: Vec<Value>,
    types: Vec<String>,
    strides: Vec<Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Attribute {
    name: String,
    value: Value,
}

impl ExecutionTrace {
    /// The message for an execution trace that shares no operator with the trace.
    pub const OF_ANOTHER_RUN: &str = "no operator of this execution trace is in the trace; both must be of the same run, recorded with `profile(execution_trace_observer=…)`";

    /// Whether a file that starts with these bytes is an execution trace.
    pub fn is_file(head: &[u8]) -> bool {
        unsupported::recognize(Head::all(&inflated(head))) == Ok(Unsupported::ExecutionTrace)
    }

    /// Reads a file, which may be compressed.
    pub fn read(bytes: &[u8]) -> Result<ExecutionTrace, String> {
        let file: File =
            serde_json::from_slice(&inflated(bytes)).map_err(|error| match error.is_data() {
                true => format!(
                    "this is not an execution trace, as `ExecutionTraceObserver` writes it: {error}"
                ),
                false => format!("the execution trace cannot be read: {error}"),
            })?;
        let numbered = file.nodes.into_iter().filter_map(|node| {
            let number = node.attrs.iter().find(|one| one.name == "rf_id")?;
            let number = number.value.as_u64().filter(|number| *number > 0)?;
            (!node.inputs.types.is_empty()).then_some((number, node))
        });
        Ok(ExecutionTrace {
            nodes: numbered.collect(),
        })
    }

    /// Adds the shapes to those operators of a trace of the same run that have none.
    pub fn add_to(&self, imported: &mut Imported) -> Added {
        let trace = &imported.trace;
        let joined = trace.events.in_category(Category::CpuOp);
        let joined = joined.filter_map(|event| {
            let number = event_args::arg(trace, event, NUMBER)?.parse::<u64>().ok()?;
            let node = self.nodes.get(&number)?;
            (node.name == trace.name(event)).then_some((event, node))
        });
        let joined: Vec<(EventId, &Node)> = joined.collect();
        let n_joined = joined.len();
        let mut n_filled = 0;
        for (event, node) in joined {
            if imported.trace.events.op_args(event).is_none() {
                let args = node.inputs.args();
                let [dims, types, strides, concrete] = args.each_ref().map(String::as_str);
                let text = OpArgsText {
                    dims,
                    types,
                    strides,
                    concrete,
                };
                let (id, _) = imported.trace.intern_op_args(text);
                let events = &mut imported.trace.events;
                events.fill_in(event, (None, None), Some(id), None);
                n_filled += 1;
            }
        }
        let kind = WarningKind::ShapesOfExecutionTrace;
        imported.warnings.add_many(kind, n_filled as u64, None);
        Added { n_joined, n_filled }
    }
}

impl Inputs {
    /// Shapes, types, strides and values as Kineto writes them, in JSON.
    fn args(&self) -> [String; 4] {
        let is_tensor = |of: &str| of.contains("Tensor(");
        let known = |list: &[Value], at: usize| {
            let is_tensor = self.types.get(at).is_some_and(|of| is_tensor(of));
            let value = list.get(at).filter(|_| is_tensor);
            value.cloned().unwrap_or(Value::Array(Vec::new()))
        };
        let n = self.types.len();
        let dims = (0..n).map(|at| known(&self.shapes, at));
        let strides = (0..n).map(|at| known(&self.strides, at));
        let types = self.types.iter().map(|of| kineto_type(of).into());
        let values = self.types.iter().enumerate().map(|(at, of)| {
            let is_value = matches!(kineto_type(of), "Scalar" | "ScalarList") || of == "String";
            let value = self.values.get(at).filter(|_| is_value);
            value.map_or(String::new(), kineto_value).into()
        });
        let strides = match self.strides.is_empty() {
            true => String::new(),
            false => Value::Array(strides.collect()).to_string(),
        };
        [
            Value::Array(dims.collect()).to_string(),
            Value::Array(types.collect()).to_string(),
            strides,
            Value::Array(values.collect()).to_string(),
        ]
    }
}

/// `Tensor(float)` as `float`, a list of tensors as `TensorList`, a number as `Scalar`.
fn kineto_type(of: &str) -> &str {
    match of {
        _ if of.starts_with("Tensor(nullptr") => "",
        _ if of.starts_with("Tensor(") => of
            .strip_prefix("Tensor(")
            .and_then(|of| of.strip_suffix(')'))
            .unwrap_or(of),
        _ if of.starts_with("GenericList[Tensor(") => "TensorList",
        _ if of.starts_with("GenericList[") => "ScalarList",
        "Int" | "Double" | "Bool" => "Scalar",
        _ => "",
    }
}

/// A value as text: `True`, `[1, 1]`.
fn kineto_value(value: &Value) -> String {
    match value {
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(values) => {
            let values: Vec<String> = values.iter().map(kineto_value).collect();
            format!("[{}]", values.join(", "))
        }
        other => other.to_string(),
    }
}

/// A text without its gzip compression, as far as it can be inflated.
fn inflated(bytes: &[u8]) -> Vec<u8> {
    if !Container::is_gzip(bytes) {
        return bytes.to_vec();
    }
    let mut text = Vec::new();
    // Only the sink can fail.
    let _ = Gunzip::default().push(bytes, |more| {
        text.extend_from_slice(more);
        Ok(())
    });
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::{Imported, import};

    /// Operators with the numbers 2, 3 and 4, and their other arguments.
    fn trace(args: [&str; 3]) -> Imported {
        let names = ["aten::cat", "aten::mul", "aten::add"];
        let ops = (2..).zip(names).zip(args).map(|((number, name), args): ((u32, _), _)| {
            format!(
                r#"{{"ph": "X", "cat": "cpu_op", "name": "{name}", "pid": 1, "tid": 1, "ts": {number}0, "dur": 5, "args": {{"External id": {number}, "Record function id": {number}{args}, "Ev Idx": 0}}}}"#
            )
        });
        let ops: Vec<String> = ops.collect();
        import(format!(r#"{{"traceEvents": [{}]}}"#, ops.join(", ")).as_bytes()).unwrap()
    }

    const EXECUTION: &str = r#"{"schema": "1.1.1-chakra.0.0.4", "pid": 1, "nodes": [
        {"id": 1, "name": "[pytorch|profiler|execution_trace|thread]", "inputs": {"values": [], "shapes": [], "types": []},
            "attrs": [{"name": "rf_id", "type": "uint64", "value": 0}]},
        {"id": 5, "name": "aten::cat", "ctrl_deps": 1,
            "inputs": {"values": [[[5, 6, 0, 384, 4, "cuda:0"], [7, 6, 0, 384, 4, "cuda:0"]], 0],
                "shapes": [[[2, 3], [4, 3]], []], "types": ["GenericList[Tensor(float),Tensor(float)]", "Int"],
                "strides": [[[3, 1], [3, 1]], []]},
            "attrs": [{"name": "rf_id", "type": "uint64", "value": 2}, {"name": "op_schema", "type": "string", "value": ""}]},
        {"id": 6, "name": "aten::mul", "ctrl_deps": 1,
            "inputs": {"values": [[8, 6, 0, 384, 2, "cuda:0"], [2, 3], false, 1.5, "<None>", "cuda:0", [83, 0, 0, 0, 0, ""]],
                "shapes": [[8], [[], []], [], [], [], [], []],
                "types": ["Tensor(c10::BFloat16)", "GenericList[Int,Int]", "Bool", "Double", "None", "Device", "Tensor(nullptr (uninitialized))"],
                "strides": [[1], [[], []], [], [], [], [], []]},
            "attrs": [{"name": "rf_id", "type": "uint64", "value": 3}]},
        {"id": 7, "name": "aten::of_another", "inputs": {"values": [1], "shapes": [[]], "types": ["Int"]},
            "attrs": [{"name": "rf_id", "type": "uint64", "value": 4}]}]}"#;

    /// What Kineto writes if shapes are recorded.
    const RECORDED: [&str; 3] = [
        r#", "Input Dims": [[[2, 3], [4, 3]], []], "Input type": ["TensorList", "Scalar"], "Input Strides": [[[3, 1], [3, 1]], []], "Concrete Inputs": ["", "0"]"#,
        r#", "Input Dims": [[8], [], [], [], [], [], []], "Input type": ["c10::BFloat16", "ScalarList", "Scalar", "Scalar", "", "", ""], "Input Strides": [[1], [], [], [], [], [], []], "Concrete Inputs": ["", "[2, 3]", "False", "1.5", "", "", ""]"#,
        "",
    ];

    /// The arguments of each operator.
    fn args(imported: &Imported) -> Vec<String> {
        let trace = &imported.trace;
        let texts = |ids: &Option<Box<[crate::trace::StringId]>>| {
            let ids = ids.iter().flatten();
            ids.map(|id| trace.strings.get(*id)).collect::<Vec<_>>()
        };
        let dims = |dims: &Option<Box<[crate::trace::Dims]>>| {
            let shape = |of: &crate::trace::Dims| match of {
                crate::trace::Dims::One(id) => format!("{:?}", trace.args.shape(*id)),
                crate::trace::Dims::Many(ids) => {
                    let shapes = ids.iter().map(|id| trace.args.shape(*id));
                    format!("{:?}", shapes.collect::<Vec<_>>())
                }
            };
            dims.iter().flatten().map(shape).collect::<Vec<_>>()
        };
        let of_event = |event| {
            let args = trace.args.get(trace.events.op_args(event)?)?;
            let [one, other] = [&args.dims, &args.strides].map(dims);
            let [types, concrete] = [&args.types, &args.concrete].map(texts);
            Some(format!("{one:?} {other:?} {types:?} {concrete:?}"))
        };
        let events = trace.events.ids();
        events
            .map(|event| of_event(event).unwrap_or_default())
            .collect()
    }

    #[test]
    fn shapes_are_added_as_if_they_were_recorded() {
        let execution = ExecutionTrace::read(EXECUTION.as_bytes()).unwrap();
        let mut imported = trace(["", "", ""]);
        let added = execution.add_to(&mut imported);
        assert_eq!((added.n_joined, added.n_filled), (2, 2));
        let recorded = trace(RECORDED);
        assert_eq!(args(&imported), args(&recorded));
        assert_eq!(
            imported.warnings.count(WarningKind::ShapesOfExecutionTrace),
            2
        );
    }

    #[test]
    fn what_was_recorded_stays() {
        let execution = ExecutionTrace::read(EXECUTION.as_bytes()).unwrap();
        let own = r#", "Input Dims": [[9]]"#;
        let mut imported = trace([own, "", ""]);
        let added = execution.add_to(&mut imported);
        assert_eq!((added.n_joined, added.n_filled), (2, 1));
        assert_eq!(args(&imported)[0], args(&trace([own, "", ""]))[0]);
    }

    #[test]
    fn an_execution_trace_is_told_and_its_damage_is_said() {
        assert!(ExecutionTrace::is_file(EXECUTION.as_bytes()));
        assert!(!ExecutionTrace::is_file(b"{\"traceEvents\": []}"));
        let cut = &EXECUTION.as_bytes()[..400];
        assert!(ExecutionTrace::is_file(cut));
        let why = ExecutionTrace::read(cut).unwrap_err();
        assert!(
            why.starts_with("the execution trace cannot be read: "),
            "{why}"
        );
        assert!(ExecutionTrace::read(&[b"{\"nodes\": ", &[b'['; 10_000][..]].concat()).is_err());
    }
}
