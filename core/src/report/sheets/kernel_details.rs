//! The kernels of a group of calls, position by position, as the lists of dictionaries that TraceLens writes into one
//! cell.

use crate::base::sort::Arrange;
use crate::base::stats::Stats;
use crate::profile::Profile;
use crate::profile::launch::GpuId;
use crate::report::python;
use crate::report::sheet::{Cell, Column, Unit, column};

pub(super) const SUMMARY: Column = column(
    "kernel_details_summary",
    Unit::Text,
    "Kernels of one call, the shortest first, each with its durations in microseconds over all calls that launched as many kernels.",
);

pub(super) const TRUNCATED: Column = column(
    "trunc_kernel_details",
    Unit::Text,
    "Kernels of one call in short: names cut to 64 characters, mean durations in microseconds.",
);

/// Longest name in the short form.
const MAX_NAME: usize = 64;

/// A kernel of the first call, with its durations over all calls.
struct Position<'a> {
    work: GpuId,
    stats: Stats,
    name: &'a str,
    stream: Option<i64>,
}

/// The kernels of the first call of a group, by their total time over all calls, shortest first.
pub(super) fn in_order(profile: &Profile, calls: &[&[GpuId]]) -> Vec<GpuId> {
    let positions = positions(profile, calls).into_iter();
    positions.map(|position| position.work).collect()
}

/// The first call determines the kernels; calls that launched a different number of them are left out.
fn positions<'a>(profile: &'a Profile, calls: &[&[GpuId]]) -> Vec<Position<'a>> {
    let Some(&template) = calls.first() else {
        return Vec::new();
    };
    let mut positions: Vec<Position> = Vec::with_capacity(template.len());
    for (position, first) in template.iter().enumerate() {
        let durations_ns: Vec<i64> = calls
            .iter()
            .filter(|call| call.len() == template.len())
            .filter_map(|call| profile.gpu.get(*call.get(position)?))
            .filter_map(|work| profile.trace.events.dur_ns(work.event))
            .collect();
        let (Some(work), Some(stats)) = (profile.gpu.get(*first), Stats::of_ns(&durations_ns))
        else {
            continue;
        };
        positions.push(Position {
            work: *first,
            stats,
            name: profile.trace.strings.get(work.name),
            stream: work.stream,
        });
    }
    positions.arrange_by(|a, b| {
        let by_time = a.stats.sum.total_cmp(&b.stats.sum);
        by_time.then_with(|| a.name.cmp(b.name))
    });
    positions
}

/// Both cells for a group of calls, each with its kernels.
pub(super) fn cells(profile: &Profile, calls: &[&[GpuId]]) -> [Cell; 2] {
    if calls.is_empty() {
        return [Cell::Empty, Cell::Empty];
    }
    let kernels = positions(profile, calls);
    let kernels = kernels
        .iter()
        .map(|kernel| (&kernel.stats, kernel.name, kernel.stream));
    let kernels: Vec<(&Stats, &str, Option<i64>)> = kernels.collect();
    let summary = kernels.iter().map(|(stats, name, stream)| {
        format!(
            "{{'name': {}, 'stream': {}, 'count': {}, 'total_duration_us': {:?}, \
             'mean_duration_us': {:?}, 'median_duration_us': {:?}, 'std_dev_duration_us': {:?}, \
             'min_duration_us': {:?}, 'max_duration_us': {:?}}}",
            python::string(name),
            number(*stream),
            stats.n,
            stats.sum,
            stats.mean,
            stats.median,
            stats.population_std(),
            stats.min,
            stats.max,
        )
    });
    let truncated = kernels.iter().map(|(stats, name, stream)| {
        format!(
            "{{'name': {}, 'stream': {}, 'mean_duration_us': {:?}}}",
            python::string(&shortened(name)),
            number(*stream),
            (stats.mean * 100.0).round() / 100.0,
        )
    });
    let (summary, truncated) = (summary.collect::<Vec<_>>(), truncated.collect::<Vec<_>>());
    // As in TraceLens, if there is no kernel: an empty list, and an empty cell.
    match kernels.is_empty() {
        true => [list(&summary), Cell::Empty],
        false => [list(&summary), list(&truncated)],
    }
}

fn list(items: &[String]) -> Cell {
    Cell::Text(format!("[{}]", items.join(", ")))
}

fn number(stream: Option<i64>) -> String {
    stream.map_or("None".to_owned(), |stream| stream.to_string())
}

fn shortened(name: &str) -> String {
    match name.char_indices().nth(MAX_NAME) {
        Some((end, _)) => format!("{}...", name.get(..end).unwrap_or(name)),
        None => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Timetable;

    #[test]
    fn kernels_are_compared_position_by_position() {
        let long = "k".repeat(70);
        let profile = Timetable::new()
            .op("two", 0..10)
            .launched(&long, 1..2, 100..104)
            .launched("it's", 3..4, 110..111)
            .op("two", 10..20)
            .launched(&long, 11..12, 120..126)
            .launched("it's", 13..14, 130..131)
            .work("one", "it's", 140..150)
            .profile();
        let calls: Vec<&[GpuId]> = profile
            .ops
            .iter()
            .map(|(_, op)| profile.ops.kernels(op))
            .collect();
        let [summary, truncated] = cells(&profile, &calls);
        let Cell::Text(summary) = summary else {
            panic!("text")
        };
        assert!(
            summary.starts_with(
                "[{'name': \"it's\", 'stream': 7, 'count': 2, 'total_duration_us': 2.0, \
                 'mean_duration_us': 1.0, 'median_duration_us': 1.0, 'std_dev_duration_us': 0.0, \
                 'min_duration_us': 1.0, 'max_duration_us': 1.0}, {'name': 'kkk"
            ),
            "{summary}"
        );
        assert!(summary.ends_with("'min_duration_us': 4.0, 'max_duration_us': 6.0}]"));
        let short = format!(
            "[{{'name': \"it's\", 'stream': 7, 'mean_duration_us': 1.0}}, \
             {{'name': '{}...', 'stream': 7, 'mean_duration_us': 5.0}}]",
            "k".repeat(64)
        );
        assert_eq!(truncated, Cell::Text(short));
    }

    #[test]
    fn without_kernels_the_short_form_is_empty() {
        let profile = Timetable::new().profile();
        let none: &[GpuId] = &[];
        assert_eq!(
            cells(&profile, &[none]),
            [Cell::Text("[]".to_owned()), Cell::Empty]
        );
    }
}
