//! Sheet `ops_summary_by_category`: operators that launch GPU activity, by the reference's category.

use super::sheet::{Cell, Column, Unit, column};
use super::{IS_RECOMPUTE, Parts, SHARES, Shares, SheetInput, ms};
use crate::base::sort::Arrange;

#[rustfmt::skip]
const COLUMNS: [Column; 3] = [
    column("op category", Unit::Text, "The reference's category of the operator."),
    column("Count", Unit::Count, "Calls that launched GPU activity."),
    column("total_direct_kernel_time_ms", Unit::Ms, "Time during which kernels that they launched themselves run, summed over the calls."),
];

struct Group {
    category: &'static str,
    is_recompute: bool,
    n_calls: i64,
    direct_ns: i64,
}

pub(super) fn rows(input: &SheetInput) -> Vec<Vec<Cell>> {
    let profile = input.profile;
    if !profile.has_host_ops() {
        return Vec::new();
    }
    // A few dozen categories at most: no index needed.
    let mut groups: Vec<Group> = Vec::new();
    for (_, op) in profile.ops.iter() {
        let known = groups
            .iter_mut()
            .find(|group| group.category == op.category && group.is_recompute == op.is_recompute);
        match known {
            Some(group) => {
                group.n_calls += 1;
                group.direct_ns = group.direct_ns.saturating_add(op.direct_ns);
            }
            None => groups.push(Group {
                category: op.category,
                is_recompute: op.is_recompute,
                n_calls: 1,
                direct_ns: op.direct_ns,
            }),
        }
    }
    groups.arrange_by_key(|group| std::cmp::Reverse(group.direct_ns));
    let has_recompute = profile.recompute.is_some();
    let mut shares = Shares::of(profile.ops.direct_ns());
    let rows = groups.iter().map(|group| {
        let mut row = vec![
            Cell::Text(group.category.to_owned()),
            Cell::Int(group.n_calls),
            ms(group.direct_ns),
        ];
        row.extend(shares.next(group.direct_ns));
        if has_recompute {
            row.insert(1, Cell::Flag(group.is_recompute));
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
