//! Sheet `ops_summary`: operators that launch GPU activity, by name.

use std::sync::Arc;

use super::{IS_RECOMPUTE, Parts, SHARES, Shares, SheetInput, parent_modules};
use crate::base::group::grouped;
use crate::base::sort::{Arrange, Arranged};
use crate::profile::Profile;
use crate::profile::operations::op_table::{Op, OpId};
use crate::report::columns::{ms, us};
use crate::report::sheet::{Cell, Column, Unit, column};
use crate::report::{labels, python};
use crate::trace::StringId;

#[rustfmt::skip]
const COLUMNS: [Column; 7] = [
    column("name", Unit::Text, "The operator, or the runtime call where a launch has no operator around it."),
    column("total_direct_kernel_time_sum", Unit::Us, "Time during which kernels that it launched itself run, summed over its calls."),
    column("total_subtree_kernel_time_sum", Unit::Us, "Time during which kernels launched by it or below it run, summed over its calls."),
    column("total_direct_kernel_time_ms", Unit::Ms, "Direct kernel time in milliseconds."),
    column("total_subtree_kernel_time_ms", Unit::Ms, "Subtree kernel time in milliseconds."),
    column("Count", Unit::Count, "Calls that launched GPU activity."),
    column("Categories", Unit::Text, "TraceLens's categories of its calls."),
];

#[rustfmt::skip]
const SUBTREE_COUNT: Column =
    column("total_subtree_kernel_time_count", Unit::Count, "Calls that the subtree kernel time is summed over. Only with captures.");

#[rustfmt::skip]
pub(super) const STACK: Column =
    column("call_stack_first", Unit::Text, "The first call and the modules around it, the innermost first. Only with captures.");

/// Calls of one operator, in one module if calls are grouped by module.
#[derive(Debug, Default)]
pub(super) struct Group<'a> {
    pub(super) calls: Vec<(OpId, &'a Op)>,
    direct_ns: i64,
    subtree_ns: i64,
}

/// Operator, whether it is recomputed, and its module if calls are grouped by module.
type Key<'a> = (StringId, bool, Option<Option<&'a str>>);

/// Calls in row order.
pub(super) fn groups(profile: &Profile) -> Vec<(Key<'_>, Group<'_>)> {
    let captured = !profile.trace.captured.is_empty();
    let calls = profile.ops.iter().map(|(id, op)| {
        let parent = captured.then(|| parent_modules::parent(profile, op.event));
        ((op.name, op.is_recompute, parent), (id, op))
    });
    let mut groups = grouped(calls, |group: &mut Group, (id, op): (OpId, &'_ Op)| {
        group.calls.push((id, op));
        group.direct_ns = group.direct_ns.saturating_add(op.direct_ns);
        group.subtree_ns = group.subtree_ns.saturating_add(op.subtree_ns);
    });
    groups.arrange_by_largest(|(_, group)| group.direct_ns);
    groups
}

/// The calls of each row of the sheet, in its order. A row covers an operator, or with captures its calls in one
/// module.
#[derive(Debug)]
pub struct OperatorRows(pub Vec<OperatorRow>);

/// The calls of one row.
#[derive(Debug)]
pub struct OperatorRow {
    /// The operator.
    pub name: StringId,
    /// They ran while activations were recomputed.
    pub is_recompute: bool,
    /// In order of time.
    pub calls: Vec<OpId>,
}

impl OperatorRows {
    /// The rows of a profile, computed once.
    pub fn of(profile: &Profile) -> Arc<OperatorRows> {
        profile.once(|| {
            let rows = groups(profile).into_iter();
            let rows = rows.map(|((name, is_recompute, _), group)| OperatorRow {
                name,
                is_recompute,
                calls: group.calls.into_iter().map(|(id, _)| id).collect(),
            });
            OperatorRows(rows.collect())
        })
    }
}

pub(super) fn rows(input: &SheetInput) -> Vec<Vec<Cell>> {
    let profile = input.profile;
    if !profile.has_cpu_ops() {
        return Vec::new();
    }
    let Parts {
        recompute,
        captured,
        ..
    } = input.parts;
    let groups = groups(profile);
    let mut shares = Shares::of(profile.ops.direct_ns());
    let rows = groups.iter().map(|((name, is_recompute, parent), group)| {
        let text = |text: &str| Cell::Text(text.to_owned());
        let n_calls = Cell::Int(group.calls.len() as i64);
        let mut row = vec![text(profile.trace.strings.get(*name))];
        row.extend(recompute.then_some(Cell::Flag(*is_recompute)));
        row.extend(parent.map(|parent| text(parent.unwrap_or(parent_modules::NONE))));
        row.extend([us(group.direct_ns), us(group.subtree_ns)]);
        row.extend(captured.then(|| n_calls.clone()));
        row.extend([ms(group.direct_ns), ms(group.subtree_ns), n_calls]);
        let categories = group.calls.iter().map(|(_, op)| op.category).distinct();
        row.push(Cell::Text(python::list(categories)));
        let first = group.calls.first().filter(|_| captured);
        row.extend(first.map(|(_, op)| Cell::Text(parent_modules::stack(profile, op.event))));
        row.extend(shares.next(group.direct_ns));
        let calls = group.calls.iter();
        let work = calls.flat_map(|(_, op)| profile.ops.kernels(op).iter().copied());
        row.extend(input.labels.cells(work));
        row
    });
    rows.collect()
}

pub(super) fn columns(parts: &Parts) -> Vec<Column> {
    let [
        name,
        direct,
        subtree,
        direct_ms,
        subtree_ms,
        count,
        categories,
    ] = COLUMNS;
    let mut columns = vec![name];
    columns.extend(parts.recompute.then_some(IS_RECOMPUTE));
    columns.extend(parts.captured.then_some(parent_modules::PARENT));
    columns.extend([direct, subtree]);
    columns.extend(parts.captured.then_some(SUBTREE_COUNT));
    columns.extend([direct_ms, subtree_ms, count, categories]);
    columns.extend(parts.captured.then_some(STACK));
    columns.extend(SHARES);
    columns.extend(labels::COLUMNS);
    columns
}
