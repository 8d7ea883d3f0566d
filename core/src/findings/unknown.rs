//! Why it is not known how much work an operation is, and what would make it known.

use super::Input;
use super::in_use::is_in_graph;
use super::outcome::Row;
use crate::names::{Library, library_of};
use crate::perf::model;
use crate::profile::operations::Operation;
use crate::trace::Category;

/// The words of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unknown {
    /// Half a sentence: "no model counts how much work this reduction is".
    pub(super) why: String,
    /// What to change in how it is run or recorded.
    pub(super) model: &'static str,
    /// What to ask of the kernel.
    pub(super) kernel: &'static str,
    /// Whether something else in its place may win time, by rule of thumb: what only makes its work
    /// known wins none.
    pub(super) may_win: bool,
}

const WITH_REPRODUCER: &str = "measure it with a reproducer under a hardware profiler.";
const ALONE: &str = "measure it under a hardware profiler.";

/// Of rows of one operator over a paged cache, whose fill is a value, and only shapes are recorded.
pub(super) fn of_cache(input: &Input, rows: &[&Row]) -> Unknown {
    let is_kernel = |row: &&Row| {
        let operation = input.profile.operations().get(row.operation);
        operation.is_some_and(Operation::is_kernel)
    };
    if !has_shapes(input) || rows.iter().all(is_kernel) {
        return of(input, rows, "");
    }
    Unknown {
        why: "how long the sequences in its cache are is not recorded".to_owned(),
        model: "write down beside the trace how many tokens the requests of a step have in the cache: a model of its work for these, in a user's file, makes its efficiency known.",
        kernel: WITH_REPRODUCER,
        may_win: false,
    }
}

/// Operators whose indices are a list of which the profiler records nothing.
const PICKING: &[&str] = &["aten::index", "aten::_unsafe_index"];
const PLACING: &[&str] = &[
    "aten::index_put",
    "aten::index_put_",
    "aten::_index_put_impl_",
    "aten::_unsafe_index_put",
];
const UNRECORDED_INDICES: &str =
    "the profiler does not record the shapes of its indices, which would tell how much work it is";

/// Of rows of one operator or kernel. `why` is said of an operator that none of the reasons here fits.
pub(super) fn of(input: &Input, rows: &[&Row], why: &str) -> Unknown {
    let operations: Vec<&Operation> = rows
        .iter()
        .filter_map(|row| input.profile.operations().get(row.operation))
        .collect();
    let all = |is: &dyn Fn(&Operation) -> bool| operations.iter().all(|operation| is(operation));
    let strings = &input.profile.trace.strings;
    let name = |operation: &Operation| strings.get(operation.key.name);
    const EXCHANGE: &str = "see whether a fused or library operation does the same work; a model of its work in a user's file makes its efficiency known.";
    let mut may_win = false;
    let (why, model, kernel) = if all(&Operation::is_kernel) {
        let (why, model) = if !has_shapes(input) || all(&|operation| is_replayed(input, operation))
        {
            (
                "no operator above it is known, whose shapes would tell how much work it is",
                "record operators with their shapes as well (`ProfilerActivity.CPU`, `record_shapes=True`): then its efficiency is known, and what calls it.",
            )
        } else if all(&|operation| is_launched_by_operator(input, operation)) {
            (
                "the models of the operator that launches it do not count this part of it",
                "a model of the operator's work in a user's file makes its efficiency known.",
            )
        } else {
            (
                "it is launched past the dispatcher, so that no operator tells its shapes",
                "wrap its call in `torch.library.custom_op` (a kernel of Triton in `triton_op`): an operator with its shapes then stands above it, and a model of its work in a user's file makes its efficiency known.",
            )
        };
        (why, model, ALONE)
    } else if !has_shapes(input) {
        (
            "shapes, which would tell how much work it is, were not recorded",
            "record shapes as well (`record_shapes=True`): then its efficiency is known.",
            ALONE,
        )
    } else if all(&|operation| PICKING.contains(&name(operation))) {
        may_win = true;
        (
            UNRECORDED_INDICES,
            "see whether a slice, `index_select` or `torch.where` does the same: a slice moves nothing, and the shapes of the others are recorded.",
            WITH_REPRODUCER,
        )
    } else if all(&|operation| PLACING.contains(&name(operation))) {
        may_win = true;
        (
            UNRECORDED_INDICES,
            "see whether assigning to a slice, `masked_fill_` or `index_copy_` does the same: all their shapes are recorded.",
            WITH_REPRODUCER,
        )
    } else if all(&|operation| name(operation).starts_with("triton_")) {
        (
            why,
            "it does the work of several operators already; a model of its work in a user's file makes its efficiency known.",
            WITH_REPRODUCER,
        )
    } else {
        let why = match all(&|operation| model(name(operation)).is_some()) {
            true => "what is recorded of its arguments does not tell how much work it is",
            false => why,
        };
        may_win = !all(&|operation| is_of_library(input, operation));
        let model = match may_win {
            true => EXCHANGE,
            false => {
                "it is a fused or library operation already; a model of its work in a user's file makes its efficiency known."
            }
        };
        (why, model, WITH_REPRODUCER)
    };
    Unknown {
        why: why.to_owned(),
        model,
        kernel,
        may_win,
    }
}

/// Whether a library or a serving engine has the operator or its longest kernel, or its name says
/// that it is fused: it is what would be taken in place of others.
fn is_of_library(input: &Input, operation: &Operation) -> bool {
    const WORDS: &[&str] = &["fused", "flash", "efficient"];
    const ENGINES: &[&str] = &["_C", "_moe_C", "sgl_kernel::", "trtllm::", "vllm::"];
    let strings = &input.profile.trace.strings;
    let name = strings.get(operation.key.name);
    let kernels = operation.kernels(input.profile);
    let longest = kernels.first().map(|(kernel, ..)| strings.get(*kernel));
    let library = library_of(Some(name), longest).filter(|library| {
        use Library::{Cub, FlyDsl, GpuRuntime, PyTorch, RocPrim, TileLang, Triton};
        // Compilers, and parts that anything is made of.
        let others = [Cub, FlyDsl, GpuRuntime, PyTorch, RocPrim, TileLang, Triton];
        !others.contains(library)
    });
    library.is_some()
        || WORDS.iter().any(|word| name.contains(word))
        || ENGINES.iter().any(|engine| name.starts_with(engine))
}

/// Whether shapes of operators were recorded at all.
fn has_shapes(input: &Input) -> bool {
    let mut operations = input.operations();
    operations.any(|(_, operation, _)| !operation.dims(input.profile).is_empty())
}

/// Whether it is not known what launched it, or a GPU graph did.
fn is_replayed(input: &Input, operation: &Operation) -> bool {
    !operation.is_linked || is_in_graph(input.profile, operation)
}

/// Whether an operator launches it, and not a call of the runtime by itself.
fn is_launched_by_operator(input: &Input, operation: &Operation) -> bool {
    let events = &input.profile.trace.events;
    let call = operation.first();
    call.is_some_and(|call| events.category(call.event) == Category::CpuOp)
}
