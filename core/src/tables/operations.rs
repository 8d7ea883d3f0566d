//! The rows of operations: those of the roofline sheet, with threads combined.

use super::Value;
use super::hash::fnv;
use crate::assess::Evaluation;
use crate::base::group::grouped;
use crate::base::interval::sum;
use crate::base::sort::{Arrange, Arranged};
use crate::base::stats::mean_of_middle_ns;
use crate::profile::Profile;
use crate::profile::operations::{Operation, with_parts};
use crate::report::sheet::Cell;
use crate::report::{Report, args_cells, has_row};

/// Identifies an operation on all machines.
pub(super) struct Key {
    pub(super) hash: u64,
    name: String,
    /// Shapes and types.
    args: [Option<String>; 2],
}

impl Key {
    pub(super) fn new(profile: &Profile, operation: &Operation) -> Key {
        let name = operation.name(profile);
        let args = args_cells(profile, operation.key.args).map(|cell| match cell {
            Cell::Text(text) => Some(text),
            _ => None,
        });
        let written = args
            .each_ref()
            .map(|text| text.as_deref().unwrap_or_default());
        let [dims, types, strides, concrete] = written;
        let recompute = if operation.key.is_recompute { "1" } else { "" };
        let hash = fnv(&[&name, dims, types, strides, concrete, recompute]);
        let [dims, types, ..] = args;
        Key {
            hash,
            name,
            args: [dims, types],
        }
    }
}

/// An operation on one thread.
struct One<'a> {
    key: Key,
    category: &'static str,
    is_recompute: bool,
    kernel_ns: Vec<i64>,
    evaluation: Option<&'a Evaluation>,
    gflops: Option<f64>,
    bytes: Option<f64>,
    us: f64,
}

pub(super) fn rows(profile: &Profile, report: &Report) -> Vec<Vec<Value>> {
    let all = report.operations(profile);
    let all = all.filter(|(operation, _)| has_row(profile, operation));
    let all = all.map(|(operation, evaluation)| {
        let operation = &*with_parts(profile, operation);
        // As in the sheet, which leaves out estimated work.
        let evaluation = operation.estimate.is_none().then_some(evaluation);
        let work = evaluation.and_then(|evaluation| evaluation.work);
        let modeled = operation.modeled.as_ref();
        let work = work.map(|work| modeled.map_or(work, |of| of.in_sheets(work)));
        let one = One {
            key: Key::new(profile, operation),
            category: operation.family.label(),
            is_recompute: operation.key.is_recompute,
            kernel_ns: operation.calls.iter().map(|call| call.kernel_ns).collect(),
            evaluation,
            gflops: work.map(|work| work.flops / 1e9),
            bytes: work.and_then(|work| work.bytes),
            us: operation.times_us.iter().sum(),
        };
        (one.key.hash, one)
    });
    let groups: Vec<(u64, Vec<One>)> = grouped(all, Vec::push);
    let rows = groups
        .into_iter()
        .filter_map(|(_, threads)| row(threads))
        .arranged_by_largest(|(ns, _)| *ns);
    rows.into_iter().map(|(_, row)| row).collect()
}

/// Combines an operation's threads: the longest thread gives its details, all give times.
fn row(mut threads: Vec<One>) -> Option<(i64, Vec<Value>)> {
    threads.arrange_by_largest(|one| sum(one.kernel_ns.iter().copied()));
    let times = threads.iter().flat_map(|one| one.kernel_ns.iter().copied());
    let times: Vec<i64> = times.collect();
    let kernel_ns = sum(times.iter().copied());
    let efficiency = efficiency(&threads);
    let first = threads.into_iter().next()?;
    let [dims, types] = first.key.args;
    let bound = first.evaluation.and_then(|evaluation| evaluation.roofline);
    let row = vec![
        Value::U64(first.key.hash),
        first.key.name.into(),
        first.category.into(),
        dims.into(),
        types.into(),
        Value::U64(times.len() as u64),
        kernel_ns.into(),
        mean_of_middle_ns(times).into(),
        first.gflops.into(),
        first.bytes.into(),
        efficiency.into(),
        bound.map(|roofline| roofline.bound.label()).into(),
        first.is_recompute.into(),
    ];
    Some((kernel_ns, row))
}

fn efficiency(threads: &[One]) -> Option<f64> {
    let achieved = threads
        .iter()
        .filter_map(|one| Some((one.evaluation?.achieved?.percent_of_roofline, one.us)));
    let achieved: Vec<(f64, f64)> = achieved.collect();
    match achieved.as_slice() {
        [(percent, _)] => Some(*percent),
        all => {
            let us: f64 = all.iter().map(|(_, us)| us).sum();
            let weighted: f64 = all.iter().map(|(percent, us)| percent * us).sum();
            (us > 0.0).then(|| weighted / us)
        }
    }
}
