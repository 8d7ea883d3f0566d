//! Sheet `ops_summary_by_category`: operators that launch GPU activity, by TraceLens's category.

use super::ops_summary::STACK;
use super::{IS_RECOMPUTE, Parts, SHARES, Shares, SheetInput, parent_modules};
use crate::base::group::grouped;
use crate::base::sort::Arrange;
use crate::report::columns::{int, ms};
use crate::report::sheet::{Cell, Column, Unit, column};
use crate::trace::EventId;

#[rustfmt::skip]
const COLUMNS: [Column; 3] = [
    column("op category", Unit::Text, "TraceLens's category of the operator."),
    column("Count", Unit::Count, "Calls that launched GPU activity."),
    column("total_direct_kernel_time_ms", Unit::Ms, "Time during which kernels that they launched themselves run, summed over the calls."),
];

/// Calls of the operators of a category.
#[derive(Debug, Default)]
struct Group {
    n_calls: u64,
    direct_ns: i64,
    first: Option<EventId>,
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
    let calls = profile.ops.iter().map(|(_, op)| {
        let parent = captured.then(|| parent_modules::parent(profile, op.event));
        ((op.category, op.is_recompute, parent), op)
    });
    let mut groups = grouped(calls, |group: &mut Group, op| {
        group.n_calls += 1;
        group.direct_ns = group.direct_ns.saturating_add(op.direct_ns);
        group.first = group.first.or(Some(op.event));
    });
    groups.arrange_by_largest(|(_, group)| group.direct_ns);
    let mut shares = Shares::of(profile.ops.direct_ns());
    let rows = groups
        .into_iter()
        .map(|((category, is_recompute, parent), group)| {
            let mut row = vec![Cell::Text(category.to_owned())];
            row.extend(recompute.then_some(Cell::Flag(is_recompute)));
            let parent = parent.map(|parent| parent.unwrap_or(parent_modules::NONE).to_owned());
            row.extend(parent.map(Cell::Text));
            row.push(int(group.n_calls));
            let first = group.first.filter(|_| captured);
            row.extend(first.map(|first| Cell::Text(parent_modules::stack(profile, first))));
            row.push(ms(group.direct_ns));
            row.extend(shares.next(group.direct_ns));
            row
        });
    rows.collect()
}

pub(super) fn columns(parts: &Parts) -> Vec<Column> {
    let [category, count, direct] = COLUMNS;
    let mut columns = vec![category];
    columns.extend(parts.recompute.then_some(IS_RECOMPUTE));
    columns.extend(parts.captured.then_some(parent_modules::PARENT));
    columns.push(count);
    columns.extend(parts.captured.then_some(STACK));
    columns.push(direct);
    columns.extend(SHARES);
    columns
}
