//! Why an operation cannot be run again, starting with names that cannot be called.

use crate::profile::launch::is_graph_launch;

/// Why an operation cannot be run again from the contents of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// The operator of a kernel is unknown.
    KernelOnly,
    /// A kernel that a compiler generated.
    Generated,
    /// A recorded graph of kernels.
    Graph,
    /// An autograd step.
    Autograd,
    /// It needs other ranks.
    Collective,
    /// No operator that can be called by name.
    NoOperator,
    /// Arguments were not recorded.
    NoArguments,
    /// A list of tensors without shapes.
    TensorList,
    /// A string or another value that was not recorded, with the name of its argument if it has one.
    Value(Option<&'static str>),
    /// A shape or stride that no tensor can have.
    Shape,
}

impl Reason {
    /// The reason as a clause, for display.
    pub fn label(self) -> String {
        let words = match self {
            Reason::Value(Some(name)) => return format!("the value of {name} is not recorded"),
            Reason::KernelOnly => "a kernel whose operator is not known",
            Reason::Generated => "a kernel that a compiler generated: its source is not in a trace",
            Reason::Graph => "a GPU graph: its operators are not in the trace",
            Reason::Autograd => "an autograd node, not an operator",
            Reason::Collective => "communication: it needs the other ranks",
            Reason::NoOperator => "no operator that can be called by its name",
            Reason::NoArguments => {
                "its arguments were not recorded; profile with record_shapes=True"
            }
            Reason::TensorList => "it takes a list of tensors whose shapes were not recorded",
            Reason::Value(None) => "it takes a string or another value that was not recorded",
            Reason::Shape => "a recorded shape or stride is invalid",
        };
        words.to_owned()
    }
}

/// Prefixes of kernels that `torch.compile` and similar compilers generate.
const GENERATED: [&str; 3] = ["triton_", "triton::", "inductor::"];
/// Namespaces of collectives.
const COLLECTIVE: [&str; 5] = ["c10d", "_c10d_functional", "_dtensor", "nccl", "rccl"];

/// The name of an operator without its namespace, if it can be called by name.
pub(crate) fn operator(op: &str) -> Result<&str, Reason> {
    if is_graph_launch(op) {
        return Err(Reason::Graph);
    }
    if GENERATED.iter().any(|prefix| op.starts_with(prefix)) {
        return Err(Reason::Generated);
    }
    if op.starts_with("torch::autograd") || op.starts_with("autograd::") {
        return Err(Reason::Autograd);
    }
    if op == "record_param_comms" {
        return Err(Reason::Collective);
    }
    let is_word = |word: &str| {
        let mut letters = word.bytes();
        !word.is_empty() && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == b'_')
    };
    match op.split_once("::") {
        Some((namespace, name)) if is_word(namespace) && is_word(name) => {
            match COLLECTIVE.contains(&namespace) {
                true => Err(Reason::Collective),
                false => Ok(name),
            }
        }
        None if op
            .trim_end_matches(|digit: char| digit.is_ascii_digit())
            .ends_with("Backward") =>
        {
            Err(Reason::Autograd)
        }
        _ => Err(Reason::NoOperator),
    }
}
