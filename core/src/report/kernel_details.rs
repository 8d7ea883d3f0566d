//! The kernels of a group of calls, position by position, as the lists of dictionaries that the
//! reference writes into one cell.

use super::python;
use super::sheet::{Cell, Column, Unit, column};
use crate::base::sort::Arrange;
use crate::base::stats::Stats;
use crate::profile::Profile;
use crate::profile::launch::GpuId;

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

/// Both cells for a group of calls, each with its kernels. The first call says which kernels there
/// are; calls that launched another number of them are left out.
pub(super) fn cells(profile: &Profile, calls: &[&[GpuId]]) -> [Cell; 2] {
    let Some(&template) = calls.first() else {
        return [Cell::Empty, Cell::Empty];
    };
    let mut kernels: Vec<(Stats, &str, Option<i64>)> = Vec::with_capacity(template.len());
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
        kernels.push((stats, profile.trace.strings.get(work.name), work.stream));
    }
    kernels.arrange_by(|a, b| a.0.sum.total_cmp(&b.0.sum).then_with(|| a.1.cmp(b.1)));
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
    // As in the reference, where there is no kernel: an empty list, and an empty cell.
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
