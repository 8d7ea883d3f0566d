//! Large operations without a FLOP/byte model: the reason, and how to change it. Operations in a type that the GPU has
//! no matrix units for are reported here, too.

mod rules;
#[cfg(test)]
mod tests;

use super::{Docs, Input};
use crate::base::group::grouped;
use crate::base::sort::Arrange;
use crate::findings::engine::compute::{Gate, are_large, is_launch_scale, short_name};
use crate::findings::engine::finding::Finding;
use crate::findings::engine::narrower::{matrix_rate_16_bit, on_matrix_units};
use crate::findings::engine::one_cause::has_shapes;
use crate::findings::engine::outcome::Row;
use crate::findings::engine::rule;
use crate::hardware::Precision;
use crate::hardware::roofline::roofline;
use crate::names::gemm::is_factorization;
use crate::names::words::contains_any;
use crate::names::{Library, library_of};
use crate::perf::{Unit, of_all_blocks};
use crate::profile::operations::Operation;
use crate::trace::Category;

pub(super) const DOCS: Docs = || rule::docs(rules::RULES);

/// An operation, with data about all operations of its name.
struct Observed<'a> {
    row: &'a Row,
    /// Its name, and others of which the same is to be said.
    names: &'a [&'a str],
    /// All operations of these names.
    operations: &'a [&'a Operation],
    /// The kind of work, as used in a sentence.
    what: &'a str,
    /// It reads a paged cache, whose fill level is a value, while only shapes are recorded.
    reads_cache: bool,
    /// Whether shapes were recorded for some operators of the trace.
    has_shapes: bool,
    /// The type that the GPU has no units for, if all operations of the name have the same.
    missing: Option<Precision>,
}

impl Observed<'_> {
    /// "`a`", "`a` and 2 more".
    fn name(&self) -> String {
        let first = self.names.first().copied().unwrap_or_default();
        match self.names.len() {
            0 | 1 => format!("`{first}`"),
            n => format!("`{first}` and {} more", n - 1),
        }
    }

    fn all(&self, is: impl Fn(&Operation) -> bool) -> bool {
        self.operations.iter().all(|operation| is(operation))
    }

    fn all_named(&self, input: &Input, is: impl Fn(&str) -> bool) -> bool {
        let strings = &input.profile.trace.strings;
        self.all(|operation| is(strings.get(operation.key.name)))
    }
}

/// Findings about large rows without a model, one for each operator; `what` is the kind of work.
/// Kernels of GPU graphs have a [finding of their own](super::across_kinds).
pub(super) fn unmodeled<'r>(
    input: &Input,
    rows: impl IntoIterator<Item = &'r Row>,
    gate: &Gate,
    what: &str,
) -> Vec<Finding> {
    find(input, rows, gate, what, false)
}

/// The same for operations that read a paged cache.
pub(super) fn unmodeled_in_cache<'r>(
    input: &Input,
    rows: impl IntoIterator<Item = &'r Row>,
    gate: &Gate,
) -> Vec<Finding> {
    find(input, rows, gate, "attention", true)
}

fn find<'r>(
    input: &Input,
    rows: impl IntoIterator<Item = &'r Row>,
    gate: &Gate,
    what: &str,
    reads_cache: bool,
) -> Vec<Finding> {
    if input.gpu().is_none() {
        return Vec::new();
    }
    let unknown = rows.into_iter().filter_map(|row| {
        let operation = input.operation(row.operation);
        let is_known = row.efficiency_percent.is_some()
            || is_launch_scale(input, row)
            || operation.is_in_graph(input.profile)
            || operation.sees_window
            || input.evaluation(row.operation).reads_less;
        (!is_known).then(|| (short_name(input, operation), row))
    });
    let mut by_name: Vec<(String, Vec<&Row>)> = grouped(unknown, Vec::push);
    by_name.retain(|(_, rows)| are_large(input, rows, gate));
    let work = KindOfWork {
        what,
        reads_cache,
        has_shapes: has_shapes(input),
    };
    let of_names = by_name
        .iter()
        .map(|(name, rows)| (name, rows, find_named(input, &[name], rows, work)));
    // Where the same is to be said of several names and nothing is known to be saved, one finding says it.
    let alike = of_names.map(|(name, rows, found)| {
        let texts = found.iter().map(|one| match one.impact {
            Some(_) => vec![name.clone()],
            None => vec![
                one.pattern.to_owned(),
                one.model.clone(),
                one.kernel.clone(),
            ],
        });
        (texts.collect::<Vec<_>>(), (name.as_str(), rows, found))
    });
    let alike = grouped(alike, |all: &mut Vec<_>, one| all.push(one));
    let joined = alike.into_iter().flat_map(|(_, mut all)| {
        if let [(_, _, found)] = &mut all[..] {
            return std::mem::take(found);
        }
        let names: Vec<&str> = all.iter().map(|(name, ..)| *name).collect();
        let mut rows: Vec<&Row> = all
            .iter()
            .flat_map(|(_, rows, _)| rows.iter().copied())
            .collect();
        rows.arrange_by_key(|row| (std::cmp::Reverse(row.time_ns), row.operation));
        find_named(input, &names, &rows, work)
    });
    joined.collect()
}

/// What is known about all rows without a model of an analysis.
#[derive(Clone, Copy)]
struct KindOfWork<'a> {
    what: &'a str,
    reads_cache: bool,
    /// Whether any shapes were recorded.
    has_shapes: bool,
}

/// The findings about the rows with some names, as one.
fn find_named(input: &Input, names: &[&str], rows: &[&Row], work: KindOfWork) -> Vec<Finding> {
    let operations = rows.iter().map(|row| input.operation(row.operation));
    let operations: Vec<&Operation> = operations.collect();
    let missing = rows.first().and_then(|row| missing_units(input, row));
    let missing = missing.filter(|_| rows.iter().all(|row| missing_units(input, row) == missing));
    let mut short_names = operations.iter().map(|one| one.short_name(input.profile));
    let what = match short_names.all(is_factorization) {
        true => "matrix factorization",
        false => work.what,
    };
    let observed = rows.iter().map(|row| Observed {
        row,
        names,
        operations: &operations,
        what,
        reads_cache: work.reads_cache,
        has_shapes: work.has_shapes,
        missing,
    });
    let observed: Vec<Observed> = observed.collect();
    rule::find(input, rules::RULES, observed.iter().collect())
}

/// The type of matrix work that the chosen GPU has no units for: it is unknown how fast the framework could compute it.
pub(super) fn missing_units(input: &Input, row: &Row) -> Option<Precision> {
    let gpu = input.gpu()?;
    let work = input.evaluation(row.operation).work?;
    work.bytes.filter(|bytes| *bytes > 0.0)?;
    let spec = work.compute.filter(|spec| spec.unit == Unit::Matrix)?;
    let rate = gpu.matrix_rate(spec.precision, input.options.basis);
    (work.flops > 0.0 && rate.is_none()).then_some(spec.precision)
}

/// The % of roofline of attention with a compiled mask if that kept all blocks, which is the most that it can reach.
fn percent_of_all_blocks(input: &Input, row: &Row) -> Option<f64> {
    let work = of_all_blocks(&input.operation(row.operation).arguments(input.profile)?)?.work;
    let roofline = roofline(&work, input.gpu()?, input.options.basis)?;
    let all_ns = roofline.time_us * 1e3 * row.n_calls as f64;
    (row.time_ns > 0).then(|| all_ns / row.time_ns as f64 * 100.0)
}

/// What an operation saves at the roofline of the other 16-bit type.
fn saved_in_other_type(input: &Input, row: &Row) -> Option<i64> {
    let (precision, _) = matrix_rate_16_bit(input)?;
    let then = on_matrix_units(input.evaluation(row.operation).work?, precision);
    let roofline = roofline(&then, input.gpu()?, input.options.basis)?;
    let left_ns = (roofline.time_us * 1e3 * row.n_calls as f64).round() as i64;
    Some(row.time_ns.saturating_sub(left_ns)).filter(|ns| *ns > 0)
}

/// Whether the operator or its longest kernel belongs to a library or a serving engine, or is fused.
fn is_of_library(input: &Input, operation: &Operation) -> bool {
    // Sparse matrices are left to libraries. The last ones are scans of linear attention.
    #[rustfmt::skip]
    const WORDS: &[&str] = &[
        "fused", "flash", "efficient", "sparse", "Chunk", "chunk_", "delta_rule", "wkv", "WKV",
    ];
    const ENGINES: &[&str] = &["_C", "_moe_C", "sgl_kernel::", "trtllm::", "vllm::"];
    let strings = &input.profile.trace.strings;
    let name = strings.get(operation.key.name);
    let kernels = operation.kernels(input.profile);
    let longest = kernels.first().map(|(kernel, ..)| strings.get(*kernel));
    let library = library_of(Some(name), longest).filter(|library| {
        use Library::{Cub, FlyDsl, GpuRuntime, PyTorch, RocPrim, TileLang, Triton};
        // Compilers, and general building blocks.
        ![Cub, FlyDsl, GpuRuntime, PyTorch, RocPrim, TileLang, Triton].contains(library)
    });
    library.is_some()
        || contains_any(name, WORDS)
        || ENGINES.iter().any(|engine| name.starts_with(engine))
}

/// Whether its launch is unknown, or was done by a GPU graph.
fn is_replayed(input: &Input, operation: &Operation) -> bool {
    !operation.is_linked || operation.is_in_graph(input.profile)
}

/// Whether an operator launches it, rather than a runtime call outside operators.
fn is_launched_by_operator(input: &Input, operation: &Operation) -> bool {
    let events = &input.profile.trace.events;
    let call = operation.first();
    call.is_some_and(|call| events.category(call.event) == Category::CpuOp)
}
