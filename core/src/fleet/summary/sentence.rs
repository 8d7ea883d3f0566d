//! The main result of many traces, in a sentence.

use std::cmp::Reverse;

use super::Summary;
use crate::base::format;
use crate::base::group::grouped;
use crate::base::map::Set;
use crate::base::sort::Gather;
use crate::fleet::metric::Metric;
use crate::fleet::regressions::{Change, Level};
use crate::fleet::statistics::median;
use crate::fleet::texts::Text;
use crate::fleet::words;

/// "4.1 % of 9 830 GPU hours are idle; build b07 made GEMM 6.1 % slower on MI300X in 7 of 10 models".
pub(super) fn sentence(summary: &Summary) -> String {
    let totals = &summary.totals;
    let files = format::counted(u64::from(totals.n_files), "file");
    if totals.n_runs == 0 {
        return format!("{files}, none of them a trace that could be read");
    }
    let time = words::gpu_time(totals.gpu_ns);
    let idle = match totals.gpu_ns > 0 {
        true => {
            let share = totals.idle_ns as f64 / totals.gpu_ns as f64 * 100.0;
            format!("{} of {time} are idle", format::percent(share))
        }
        false => format!(
            "{}, no GPU activity",
            format::counted(u64::from(totals.n_runs), "run")
        ),
    };
    match changed(summary) {
        Some(changed) => format!("{idle}; {changed}"),
        None if summary.builds.len() > 1 => {
            let builds = format::counted(summary.builds.len() as u64, "build");
            format!("{idle}; nothing became slower in {builds}")
        }
        None => idle,
    }
}

/// The change that affects the most models, slower before faster and confirmed before unconfirmed: "build b07 made …".
fn changed(summary: &Summary) -> Option<String> {
    let changes = summary.regressions.iter();
    let of_one = changes.filter(|change| change.is_slower() || change.level == Level::Confirmed);
    let of_one = of_one.map(|change| {
        let is_alarm = change.level == Level::Alarm;
        let key = (
            !change.is_slower(),
            is_alarm,
            change.build,
            change.metric,
            change.name,
            change.dims,
        );
        (key, change)
    });
    let groups = grouped(of_one, |all: &mut Vec<&Change>, change| all.push(change));
    let models = |all: &[&Change]| -> usize {
        let models: Set<Option<Text>> = all.iter().map(|change| change.model).gather();
        models.len()
    };
    // A category is more informative than the times of whole runs.
    let (key, all) = groups.into_iter().min_by_key(|(key, all)| {
        let (is_faster, is_alarm, _, metric, ..) = key;
        (
            *is_faster,
            *is_alarm,
            Reverse(models(all)),
            *metric != Metric::Category,
        )
    })?;
    let (_, is_alarm, build, metric, ..) = key;
    let first = *all.first()?;
    let ratios: Vec<f64> = all.iter().map(|change| change.ratio).collect();
    let how_much = words::by_how_much(metric, median(&ratios)?);
    let gpus: Set<Option<Text>> = all.iter().map(|change| change.gpu).gather();
    let place = match (gpus.len(), first.gpu) {
        (1, Some(gpu)) => format!(" on {}", summary.text(gpu)),
        (1, None) => String::new(),
        (n_gpus, _) => format!(" on {}", format::counted(n_gpus as u64, "GPU type")),
    };
    // Models with runs of that build, on the same GPUs.
    let of_build = summary.medians.iter();
    let of_build = of_build.filter(|of| of.build == Some(build) && gpus.contains(&of.gpu));
    let of_build: Set<Option<Text>> = of_build.map(|of| of.model).gather();
    let models = match (models(&all), of_build.len()) {
        (_, 0 | 1) => first.model.map_or(String::new(), |model| {
            format!(" in {}", summary.text(model))
        }),
        (slower, all) => format!(" in {slower} of {all} models"),
    };
    let made = if is_alarm { "may have made" } else { "made" };
    let subject = words::subject(first, &summary.texts);
    let build = summary.text(build);
    Some(format!(
        "build {build} {made} {subject} {how_much}{place}{models}"
    ))
}
