//! Operations that no other analysis covers: lookups and writes by index, recurrent layers, and the rest.
//!
//! Communication between GPUs and memory copies belong to the pipeline as a whole; here they are only counted.

mod messages;
mod rules;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use super::{ANALYSES, Tier};
use crate::findings::engine::compute::is_wide;
use crate::findings::engine::run_time;
use crate::findings::prelude::*;
use crate::names::gemm::is_factorization;
use crate::names::{Family, OtherKind, is_sort};
use crate::perf::{OpInput, dense_gradient, odd_size, row_bytes_of_whole, sequential_steps};
use crate::profile::Profile;
use crate::profile::collectives::communication;
use crate::profile::launch::is_launched_by_graph;
use crate::profile::operations::Operation;
use messages::Messages;

struct Observed<'a> {
    row: &'a Row,
    kind: OtherKind,
    sorting_ns: i64,
    is_in_fp32: bool,
    /// It takes long and is at a low % of roofline.
    is_slow: bool,
    /// It writes the gradient of a table, nearly all of whose rows no index selects.
    table: Option<SparseTable>,
    /// It factorizes matrices.
    is_factorization: bool,
    /// It selects as many rows as its source has, and copies all of its data.
    is_of_whole: bool,
    /// The steps that a recurrent layer takes one after the other.
    sequential_steps: Option<f64>,
    /// What the roofline and the latency of its steps do not explain; `None` if these are no short steps.
    beyond_steps_ns: Option<i64>,
    /// The kernels of a call.
    n_kernels: f64,
    /// The size of a Fourier transform that has a large prime factor, that factor, and the next size without one.
    odd_size: Option<[u64; 3]>,
    /// It reads or adds a row for each edge of a graph.
    messages: Option<Messages>,
}

impl Observed<'_> {
    /// Whether it is the gradient of a lookup that sorts indices.
    fn sorts(&self) -> bool {
        self.sorting_ns > 0 && matches!(self.kind, OtherKind::LookUp | OtherKind::Scatter)
    }
}

/// A table of which a step uses few rows.
#[derive(Debug, Clone, Copy)]
struct SparseTable {
    shape: [i64; 2],
    n_indices: u64,
}

impl SparseTable {
    /// `None` if indices may select a good part of its rows, or other operations all of them.
    fn of(input: &Input, arguments: &OpInput) -> Option<SparseTable> {
        const LEAST_ROWS_PER_INDEX: u64 = 4;
        let (shape, n_indices) = dense_gradient(arguments)?;
        let table = SparseTable { shape, n_indices };
        let is_sparse = table.n_rows() >= n_indices.saturating_mul(LEAST_ROWS_PER_INDEX);
        (is_sparse && !table.may_be_multiplied(input)).then_some(table)
    }

    /// Whether a GEMM takes a matrix of this shape: an output layer may share the table, whose gradient then is dense
    /// in any case. Where an optimizer lists two parameters of this shape, they are apart.
    fn may_be_multiplied(self, input: &Input) -> bool {
        let [n_rows, width] = self.shape;
        let is_alike = |shape: &[i64]| shape == [n_rows, width] || shape == [width, n_rows];
        let all = || {
            let all = input.operations();
            all.filter_map(|(_, operation, _)| {
                Some((operation.family, operation.arguments(input.profile)?))
            })
        };
        let is_multiplied = all().any(|(family, arguments)| {
            let mut tensors = arguments.tensors();
            family == Family::Gemm && tensors.any(|tensor| is_alike(tensor.shape))
        });
        let mut lists = all().filter_map(|(_, arguments)| arguments.tensor_list(0));
        let are_apart =
            |list: Vec<&[i64]>| list.iter().filter(|one| **one == self.shape).count() > 1;
        is_multiplied && !lists.any(are_apart)
    }

    fn n_rows(self) -> u64 {
        self.shape[0].unsigned_abs()
    }

    /// The part of a time that goes to rows that no index selects.
    fn unused_ns(self, ns: i64) -> i64 {
        let used = self.n_indices as f64 / self.n_rows().max(1) as f64;
        (ns as f64 * (1.0 - used)) as i64
    }

    /// Element-wise operations on all rows, and their times: the step of an optimizer, fills with zeros. Of operations
    /// on lists only the part of such tables counts.
    fn whole(self, input: &Input) -> Vec<(usize, i64)> {
        let share = |operation: &Operation| {
            let arguments = operation.arguments(input.profile)?;
            let all = arguments.tensor_list(0)?;
            let size = |shape: &[i64]| shape.iter().map(|n| *n as f64).product::<f64>();
            let tables = all.iter().filter(|shape| ***shape == self.shape);
            let tables: f64 = tables.map(|shape| size(shape)).sum();
            let whole: f64 = all.iter().map(|shape| size(shape)).sum();
            Some(tables / whole).filter(|share| *share > 0.0)
        };
        let all = input.operations();
        let all = all.filter(|(_, operation, _)| operation.family == Family::Elementwise);
        all.filter_map(|(at, operation, _)| {
            let ns = operation.kernel_ns as f64 * share(operation)?;
            Some((at, run_time::of_operation(input, at, ns as i64)))
        })
        .collect()
    }
}

/// A step multiplies and then applies its gates, so it takes as long as two short kernels.
const LAUNCHES_OF_STEP: f64 = 2.0;

pub(super) const DOCS: Docs = || [rules::RULES, rules::SMALL].map(rule::docs).concat();

/// All operations that compute and that no other analysis of its tier covers.
pub(super) fn covers(profile: &Profile, operation: &Operation) -> bool {
    let is_computing = !matches!(operation.family, Family::MemoryCopy | Family::Communication);
    let is_taken = || {
        ANALYSES
            .iter()
            .filter(|kind| kind.tier == Tier::Compute && kind.key != "other")
            .any(|kind| (kind.covers)(profile, operation))
    };
    is_computing && !is_taken()
}

/// Whether this analysis covers an operation because of its name, whatever its family.
pub(super) fn claims(profile: &Profile, operation: &Operation) -> bool {
    kind_of(profile, operation) != OtherKind::Miscellaneous
}

pub(super) fn kind_of(profile: &Profile, operation: &Operation) -> OtherKind {
    OtherKind::of(operation.short_name(profile), operation.family)
}

pub(super) fn run(input: &Input, rows: &[Row], outcome: &mut Outcome) {
    let profile = input.profile;
    let gate = Gate::of(input, input.options.thresholds.other_gate_ms);
    let mut observed: Vec<Observed> = rows
        .iter()
        .map(|row| {
            let operation = input.operation(row.operation);
            let work = input.evaluation(row.operation).work;
            let arguments = operation.arguments(profile);
            let steps = arguments.as_ref().and_then(sequential_steps);
            let n_calls = row.n_calls.max(1) as f64;
            let n_kernels = operation.work().count() as f64 / n_calls;
            let beyond_steps_ns = |steps: f64| {
                let most_ns = LAUNCHES_OF_STEP * input.options.thresholds.short_kernel_us * 1e3;
                let beyond_ns = row.time_ns as f64 - n_calls * steps * most_ns;
                // Where a step has kernels of its own, each of them waits for the one before it.
                let each_ns = row.time_ns as f64 / n_calls / steps.max(n_kernels);
                (each_ns < most_ns).then(|| beyond_ns.max(0.0) as i64)
            };
            Observed {
                row,
                kind: kind_of(profile, operation),
                sorting_ns: sorting_ns(profile, operation),
                is_in_fp32: work.and_then(|work| work.compute).is_some_and(is_wide),
                is_slow: is_bottleneck(input, row, &gate),
                table: (arguments.as_ref()).and_then(|arguments| SparseTable::of(input, arguments)),
                is_factorization: is_factorization(operation.short_name(profile)),
                is_of_whole: selects_whole(profile, operation),
                sequential_steps: steps,
                beyond_steps_ns: steps.and_then(beyond_steps_ns),
                n_kernels,
                odd_size: arguments.as_ref().and_then(odd_size),
                messages: None,
            }
        })
        .collect();
    messages::mark(input, &mut observed);
    add_facts(input, outcome, &observed);
    if outcome.status != Status::Done {
        return;
    }
    observed.retain(|observed| !observed.row.is_anomaly);
    let (small, observed): (Vec<Observed>, Vec<Observed>) = observed
        .into_iter()
        .partition(|observed| is_launch_scale(input, observed.row));
    outcome.findings = rule::find(input, rules::RULES, observed.iter().collect());
    let of_small = rule::find(input, rules::SMALL, small.iter().collect());
    outcome.findings.extend(of_small);
    // Sorting indices has its own finding, whatever else the operation does.
    let rest = observed
        .iter()
        .filter(|observed| !rules::is_for_sorting(observed));
    let rest: Vec<&Row> = rest.map(|observed| observed.row).collect();
    let unknown = unmodeled(input, rest, &gate, "operation");
    outcome.findings.extend(unknown);
}

/// Whether a look-up selects as many large rows as its source has.
fn selects_whole(profile: &Profile, operation: &Operation) -> bool {
    /// Rows of tokens, vertices or tables are smaller. Of larger ones the index alone could be reordered.
    const LEAST_ROW_BYTES: f64 = 65_536.0;
    let arguments = operation.arguments(profile);
    let row_bytes = arguments.and_then(|input| row_bytes_of_whole(&input));
    row_bytes.is_some_and(|bytes| bytes >= LEAST_ROW_BYTES)
}

struct GraphKernels {
    n: u64,
    ns: i64,
}

impl GraphKernels {
    fn of(input: &Input) -> Arc<GraphKernels> {
        let profile = input.profile;
        profile.once(|| {
            let operations = input.operations();
            let work = operations.flat_map(|(_, operation, _)| operation.work());
            let work = work.filter(|id| is_launched_by_graph(profile, *id));
            let work = work.filter_map(|id| profile.gpu.get(id));
            let lengths: Vec<i64> = work.map(|work| work.span.length()).collect();
            GraphKernels {
                n: lengths.len() as u64,
                ns: sum(lengths),
            }
        })
    }
}

fn add_facts(input: &Input, outcome: &mut Outcome, observed: &[Observed]) {
    use OtherKind::{LookUp, Miscellaneous, Recurrent, Scatter};
    #[rustfmt::skip]
    outcome.counts(observed, &[
        ("look_up_count", "Look-ups by index", &|observed| observed.kind == LookUp),
        ("scatter_count", "Writes by index", &|observed| observed.kind == Scatter),
        ("recurrent_count", "Recurrent layers", &|observed| observed.kind == Recurrent),
        ("miscellaneous_count", "Operations without an analysis of their own", &|observed| observed.kind == Miscellaneous),
    ]);
    let (n_collectives, collectives_ns) = communication(input.profile);
    let of_graphs = GraphKernels::of(input);
    let (n, ns) = (of_graphs.n, of_graphs.ns);
    #[rustfmt::skip]
    outcome.facts([
        ("communication_count", "Kernels of collective communication (not analyzed here)", Value::Count(n_collectives)),
        ("communication", "Time of kernels of collective communication", Value::Ns(collectives_ns)),
        ("graph_count", "Kernels launched as part of GPU graphs", Value::Count(n)),
        ("graph", "Time of kernels of GPU graphs", Value::Ns(ns)),
    ]);
    if n > 0 {
        outcome.note(format!(
            "{} ({}) ran as part of GPU graphs: a graph launch records no operators, so their \
             shapes and FLOPs are unknown, and only their names tell what they are.",
            format::counted(n, "kernel"),
            format::time_ns(ns)
        ));
    }
}

fn sorting_ns(profile: &Profile, operation: &Operation) -> i64 {
    let strings = &profile.trace.strings;
    let kernels = operation.kernels(profile).into_iter();
    let sorting = kernels.filter(|(name, ..)| is_sort(strings.get(*name)));
    sum(sorting.map(|(.., ns)| ns))
}
