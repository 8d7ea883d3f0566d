//! What the GPUs spend their time on.

use super::{TopKernel, TopOp};
use crate::base::group::grouped;
use crate::base::interval::{percent_or_zero, sum};
use crate::base::map::Set;
use crate::base::sort::Arrange;
use crate::fleet::numbers::count;
use crate::fleet::rows::{Fleet, KernelRow, OpRow};

/// At most this many are listed.
const MOST: usize = 200;

/// The total over rows of the same operation or kernel.
struct Total<'a, R> {
    first: Option<&'a R>,
    runs: Set<u32>,
    calls: i64,
    ns: i64,
}

impl<R> Default for Total<'_, R> {
    fn default() -> Self {
        Total {
            first: None,
            runs: Set::default(),
            calls: 0,
            ns: 0,
        }
    }
}

impl<'a, R> Total<'a, R> {
    fn add(&mut self, row: &'a R, run: u32, calls: i64, ns: i64) {
        self.first.get_or_insert(row);
        self.runs.insert(run);
        self.calls = self.calls.saturating_add(calls);
        self.ns = self.ns.saturating_add(ns);
    }
}

/// The longest first.
fn longest<K, R>(mut totals: Vec<(K, Total<R>)>) -> Vec<(K, Total<R>)> {
    totals.arrange_by_largest(|(_, total)| total.ns);
    totals.truncate(MOST);
    totals
}

pub(super) fn ops(fleet: &Fleet) -> Vec<TopOp> {
    let all = sum(fleet.ops.iter().map(|op| op.kernel_ns));
    let rows = fleet.ops.iter().map(|op| (op.key, op));
    let totals = grouped(rows, |total: &mut Total<OpRow>, op| {
        total.add(op, op.run, op.calls, op.kernel_ns);
    });
    let rows = longest(totals).into_iter().filter_map(|(_, total)| {
        let first = total.first?;
        Some(TopOp {
            name: first.name,
            dims: first.dims,
            category: first.category,
            n_runs: count(total.runs.len()),
            calls: total.calls,
            kernel_ns: total.ns,
            share_percent: percent_or_zero(total.ns, all),
        })
    });
    rows.collect()
}

pub(super) fn kernels(fleet: &Fleet) -> Vec<TopKernel> {
    let all = sum(fleet.kernels.iter().map(|kernel| kernel.total_ns));
    let rows = fleet.kernels.iter().map(|kernel| (kernel.name, kernel));
    let totals = grouped(rows, |total: &mut Total<KernelRow>, kernel| {
        total.add(kernel, kernel.run, kernel.calls, kernel.total_ns);
    });
    let rows = longest(totals).into_iter().filter_map(|(name, total)| {
        let first = total.first?;
        Some(TopKernel {
            name,
            category: first.category,
            library: first.library,
            n_runs: count(total.runs.len()),
            calls: total.calls,
            kernel_ns: total.ns,
            share_percent: percent_or_zero(total.ns, all),
        })
    });
    rows.collect()
}
