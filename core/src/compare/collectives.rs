//! Collectives of both traces, side by side: by kind, size and number of ranks.

use super::align::align;
use super::matched_rows::{Named, side_by_side};
use super::pair::{Pair, Which};
use super::side::Side;
use crate::base::format;
use crate::base::group::grouped;
use crate::base::interval::sum;
use crate::base::tally::Tally;
use crate::report::sheets::collectives as of_profile;

/// Collectives of the same kind and size: their number, and the sum of their durations, including the wait for other
/// ranks.
pub type CollectiveDelta = Named<CollectiveKey, Tally>;

/// What makes collectives of two traces equal. Rank and stream numbers are not part of it, as they depend on how a run
/// was set up. The group name is ignored too, unless it is needed to distinguish otherwise equal collectives.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CollectiveKey {
    /// Its kind: "allreduce".
    pub name: String,
    /// Type of the elements: "BFloat16".
    pub dtype: String,
    /// Elements that each contributes.
    pub in_elements: u64,
    /// Elements that each receives.
    pub out_elements: u64,
    /// Number of ranks.
    pub group_size: u64,
    /// The name of the group, or a list of several.
    pub group: String,
}

impl CollectiveKey {
    /// For people: "allreduce of 1 048 576 bf16 among 8 (default_pg)".
    pub fn label(&self) -> String {
        let dtype = format::dtype(&self.dtype).unwrap_or(&self.dtype);
        format!(
            "{} of {} {dtype} among {} ({})",
            self.name,
            format::count(self.in_elements.max(self.out_elements)),
            format::count(self.group_size),
            self.group
        )
    }

    /// The same without the name of the group.
    fn of_any_group(&self) -> CollectiveKey {
        CollectiveKey {
            group: String::new(),
            ..self.clone()
        }
    }
}

/// The collectives of both traces, longest first: those of groups with equal names, then those of groups with different
/// names in the other trace.
pub(crate) fn collectives(sides: Pair<Side>) -> Vec<CollectiveDelta> {
    let lists = sides.map(|side| tallies(&side));
    let n_rows = lists.as_ref().map(Vec::len);
    let alignment = align(n_rows, &[true, false], |by_group, which, row| {
        let (key, _) = lists.get(which).get(row)?;
        Some(match by_group {
            true => key.clone(),
            false => key.of_any_group(),
        })
    });
    let together = |which: Which, rows: &[usize]| -> Option<(CollectiveKey, Tally)> {
        let list = lists.get(which);
        let mut rows = rows.iter().filter_map(|row| list.get(*row));
        let (mut key, mut tally) = rows.next().cloned()?;
        for (other, more) in rows {
            tally.add_many(more.count, more.ns);
            key.group.push_str(", ");
            key.group.push_str(&other.group);
        }
        Some((key, tally))
    };
    side_by_side(&alignment, together)
}

/// The collectives of a trace by key, in order of appearance. Streams are ignored: the same collective on two streams
/// is one row.
fn tallies(side: &Side) -> Vec<(CollectiveKey, Tally)> {
    let found = of_profile(side.profile).into_iter();
    let found = found.map(|(found, durations_ns)| {
        let key = CollectiveKey {
            name: found.name().to_owned(),
            dtype: found.dtype().to_owned(),
            in_elements: found.in_elements as u64,
            out_elements: found.out_elements as u64,
            group_size: found.group_size as u64,
            group: found.group().to_owned(),
        };
        (key, durations_ns)
    });
    grouped(found, |tally: &mut Tally, durations_ns| {
        let count = durations_ns.len() as u64;
        tally.add_many(count, sum(durations_ns.iter().copied()));
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{compared, pair};
    use crate::testing::Timetable;

    /// A reduction in each group, with the given number of microseconds.
    fn reductions(groups: &[(&str, u32)]) -> Timetable {
        let events = groups.iter().zip(1..).map(|((group, us), at)| {
            format!(
                r#"{{"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce", "pid": 0, "tid": 20, "ts": {}, "dur": {us}, "args": {{"External id": {at}, "device": 0, "stream": 20, "correlation": {at}, "Collective name": "allreduce", "dtype": "BFloat16", "In msg nelems": 1024, "Out msg nelems": 1024, "Group size": 8, "In split size": "[]", "Out split size": "[]", "Process Group Name": "{group}", "Process Group Ranks": "[0, 1]"}}}}"#,
                1_000 * at
            )
        });
        events.fold(Timetable::new(), |table, event| table.raw(&event))
    }

    #[test]
    fn the_name_of_the_group_only_distinguishes_equal_ones() {
        let two = [("dp", 100), ("tp", 40)];
        let both = [("dp", pair(100, 90)), ("tp", pair(40, 60))];
        for (reference, target, expected) in [
            // A different name for the only group.
            (
                &[("0", 150)][..],
                &[("61", 500)][..],
                &[("61", pair(150, 500))][..],
            ),
            // Two groups that both traces have.
            (&two, &[("dp", 90), ("tp", 60)], &both),
            // Two groups with different names.
            (&two, &[("1", 90), ("2", 60)], &[("1, 2", pair(140, 150))]),
        ] {
            let rows = compared(&reductions(reference), &reductions(target), None).collectives;
            let rows = rows.iter();
            let rows = rows.map(|row| (&*row.key.group, row.times().map(|ns| ns / 1_000)));
            assert_eq!(rows.collect::<Vec<_>>(), expected);
        }
    }
}
