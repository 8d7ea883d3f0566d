//! Sheet `ops_summary_by_category`: operators that launch GPU activity, by the reference's category.

use super::sheet::{Cell, Column, Unit, column};
use super::{IS_RECOMPUTE, Parts, SHARES, Shares, SheetInput, ms};
use crate::base::group::grouped;
use crate::base::sort::Arrange;

#[rustfmt::skip]
const COLUMNS: [Column; 3] = [
    column("op category", Unit::Text, "The reference's category of the operator."),
    column("Count", Unit::Count, "Calls that launched GPU activity."),
    column("total_direct_kernel_time_ms", Unit::Ms, "Time during which kernels that they launched themselves run, summed over the calls."),
];

pub(super) fn rows(input: &SheetInput) -> Vec<Vec<Cell>> {
    let profile = input.profile;
    if !profile.has_host_ops() {
        return Vec::new();
    }
    let calls = profile.ops.iter();
    let calls = calls.map(|(_, op)| ((op.category, op.is_recompute), op.direct_ns));
    let mut groups = grouped(calls, |(n_calls, all_ns): &mut (i64, i64), direct_ns| {
        *n_calls += 1;
        *all_ns = all_ns.saturating_add(direct_ns);
    });
    groups.arrange_by_key(|(_, (_, direct_ns))| std::cmp::Reverse(*direct_ns));
    let has_recompute = profile.recompute.is_some();
    let mut shares = Shares::of(profile.ops.direct_ns());
    let rows = groups.into_iter();
    let rows = rows.map(|((category, is_recompute), (n_calls, direct_ns))| {
        let mut row = vec![
            Cell::Text(category.to_owned()),
            Cell::Int(n_calls),
            ms(direct_ns),
        ];
        row.extend(shares.next(direct_ns));
        if has_recompute {
            row.insert(1, Cell::Flag(is_recompute));
        }
        row
    });
    rows.collect()
}

pub(super) fn columns(parts: &Parts) -> Vec<Column> {
    let mut columns = [&COLUMNS[..], &SHARES].concat();
    if parts.recompute {
        columns.insert(1, IS_RECOMPUTE);
    }
    columns
}
