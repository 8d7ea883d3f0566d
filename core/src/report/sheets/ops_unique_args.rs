//! Sheet `ops_unique_args`: operators that launch GPU activity, one row for each set of arguments.

use super::{Parts, SHARES, Shares, SheetInput, call_key, kernel_details, parent_modules};
use crate::base::group::grouped;
use crate::base::interval::sum;
use crate::base::sort::Arranged;
use crate::base::stats::Stats;
use crate::profile::Profile;
use crate::profile::operations::CallKey;
use crate::profile::operations::op_table::Op;
use crate::report::columns::{float, int};
use crate::report::labels;
use crate::report::sheet::{Cell, Column, Unit, column};

/// The time columns come in pairs: direct kernel time, subtree kernel time.
#[rustfmt::skip]
const TIMES: [Column; 12] = [
    column("total_direct_kernel_time_mean", Unit::Us, "Time during which kernels that a call launched itself run, mean over the calls."),
    column("total_subtree_kernel_time_mean", Unit::Us, "Time during which kernels launched by a call or below it run, mean over the calls."),
    column("total_direct_kernel_time_median", Unit::Us, "Direct kernel time, median."),
    column("total_subtree_kernel_time_median", Unit::Us, "Subtree kernel time, median."),
    column("total_direct_kernel_time_std", Unit::Us, "Direct kernel time, sample standard deviation; empty for a single call."),
    column("total_subtree_kernel_time_std", Unit::Us, "Subtree kernel time, sample standard deviation; empty for a single call."),
    column("total_direct_kernel_time_min", Unit::Us, "Direct kernel time, shortest."),
    column("total_subtree_kernel_time_min", Unit::Us, "Subtree kernel time, shortest."),
    column("total_direct_kernel_time_max", Unit::Us, "Direct kernel time, longest."),
    column("total_subtree_kernel_time_max", Unit::Us, "Subtree kernel time, longest."),
    column("total_direct_kernel_time_sum", Unit::Us, "Direct kernel time, sum."),
    column("total_subtree_kernel_time_sum", Unit::Us, "Subtree kernel time, sum."),
];

const COUNT: Column = column(
    "operation_count",
    Unit::Count,
    "Calls with these arguments.",
);

const EXAMPLE: Column = column(
    "ex_UID",
    Unit::Number,
    "The first such call: its position in the events of the trace.",
);

#[rustfmt::skip]
const KERNELS: Column =
    column("num_kernels", Unit::Count, "Kernels that a call launched itself. Only with captures.");

#[rustfmt::skip]
const STACK: Column =
    column("call_stack", Unit::Text, "The first call and the modules around it, the innermost first. Only with captures.");

/// What TraceLens's inference report groups calls by besides their arguments: the module around them and how many
/// kernels they launch.
type ExtraKey<'a> = Option<(Option<&'a str>, usize)>;

pub(super) struct Group<'a> {
    key: CallKey,
    extra_key: ExtraKey<'a>,
    pub(super) calls: Vec<&'a Op>,
    direct_ns: i64,
    /// Position of the first call in the events of the trace.
    uid: u32,
}

pub(super) fn rows(input: &SheetInput) -> Vec<Vec<Cell>> {
    let profile = input.profile;
    if !profile.has_cpu_ops() {
        return Vec::new();
    }
    let captured = input.parts.captured;
    let groups = groups(profile);
    let mut shares = Shares::of(sum(groups.iter().map(|group| group.direct_ns)));
    let rows = groups.iter().map(|group| {
        let mut row = call_key::cells(profile, &group.key);
        if let Some((parent, n_kernels)) = group.extra_key {
            let parent = parent.unwrap_or(parent_modules::NONE);
            row.insert(PARENT_AT, Cell::Text(parent.to_owned()));
            row.push(int(n_kernels));
        }
        row.push(int(group.calls.len()));
        row.extend(times(&group.calls));
        row.push(int(group.uid));
        let first = group.calls.first().filter(|_| captured);
        row.extend(first.map(|op| Cell::Text(parent_modules::stack(profile, op.event))));
        let kernels: Vec<_> = group
            .calls
            .iter()
            .map(|op| profile.ops.kernels(op))
            .collect();
        row.extend(kernel_details::cells(profile, &kernels));
        row.extend(shares.next(group.direct_ns));
        let work = kernels.iter().flat_map(|work| work.iter().copied());
        row.extend(input.labels.cells(work));
        row
    });
    rows.collect()
}

pub(super) fn columns(parts: &Parts) -> Vec<Column> {
    let mut columns = call_key::columns(parts);
    if parts.captured {
        columns.insert(PARENT_AT, parent_modules::PARENT);
        columns.push(KERNELS);
    }
    columns.push(COUNT);
    columns.extend(TIMES);
    columns.push(EXAMPLE);
    columns.extend(parts.captured.then_some(STACK));
    columns.extend([kernel_details::SUMMARY, kernel_details::TRUNCATED]);
    columns.extend(SHARES);
    columns.extend(labels::COLUMNS);
    columns
}

/// Position of the module column: after name and category.
const PARENT_AT: usize = 2;

/// Calls by key, in row order.
pub(super) fn groups(profile: &Profile) -> Vec<Group<'_>> {
    let captured = !profile.trace.captured.is_empty();
    let calls = profile.ops.iter().map(|(_, op)| {
        let key = CallKey::new(profile, op.event, op.category, op.is_recompute);
        let parent = || parent_modules::parent(profile, op.event);
        let extra_key = captured.then(|| (parent(), profile.ops.kernels(op).len()));
        ((key, extra_key), op)
    });
    let groups: Vec<((CallKey, ExtraKey), Vec<&Op>)> = grouped(calls, Vec::push);
    let groups = groups.into_iter().map(|((key, extra_key), calls)| Group {
        key,
        extra_key,
        direct_ns: sum(calls.iter().map(|op| op.direct_ns)),
        uid: calls
            .first()
            .map_or(0, |op| profile.trace.events.uid(op.event)),
        calls,
    });
    groups.arranged_by_key(|group| (std::cmp::Reverse(group.direct_ns), group.uid))
}

/// The cells under [`TIMES`].
fn times(calls: &[&Op]) -> Vec<Cell> {
    let direct: Vec<i64> = calls.iter().map(|op| op.direct_ns).collect();
    let subtree: Vec<i64> = calls.iter().map(|op| op.subtree_ns).collect();
    let (Some(direct), Some(subtree)) = (Stats::of_ns(&direct), Stats::of_ns(&subtree)) else {
        return vec![Cell::Empty; TIMES.len()];
    };
    let both = [direct, subtree];
    let of = |value: fn(&Stats) -> Cell| both.iter().map(value);
    of(|stats| Cell::Float(stats.mean))
        .chain(of(|stats| Cell::Float(stats.median)))
        .chain(of(|stats| float(stats.std)))
        .chain(of(|stats| Cell::Float(stats.min)))
        .chain(of(|stats| Cell::Float(stats.max)))
        .chain(of(|stats| Cell::Float(stats.sum)))
        .collect()
}
