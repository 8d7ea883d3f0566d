//! What changed between builds, for programs.

use serde_json::Value as Json;

use super::{list, record, round};
use crate::fleet::regressions::{Carrier, Change, Point};
use crate::fleet::{Answer, Text, words};

const FORMAT: u32 = 1;

/// The regressions as a JSON value.
pub(crate) fn json(answer: &Answer) -> Json {
    Regressions::of(answer)
}

fn text(answer: &Answer, text: Option<Text>) -> Option<String> {
    text.map(|text| answer.fleet.texts.get(text).to_owned())
}

fn of<T>(all: &[T], at: usize, place: fn(&T) -> u32) -> Vec<&T> {
    all.iter().filter(|one| place(one) as usize == at).collect()
}

record! {
    /// The file.
    Regressions(answer: &Answer) {
        format: "1; it changes when a key changes its meaning or is removed." = FORMAT,
        by: "The tag that identifies builds." = answer.by,
        newest: "The newest build that was compared; null for all builds." = text(answer, answer.newest),
        metrics: "What was compared: total, compute, exposed_comm, idle, category, op or kernel." = answer.metrics.iter().map(|metric| metric.key()).collect::<Vec<_>>(),
        builds: "The builds, in the order of their first recording." = answer.builds.list.iter().map(|at| answer.fleet.texts.get(at.build)).collect::<Vec<_>>(),
        series: "How many series have at least two builds." = answer.found.n_series,
        changes: "What changed: confirmed before alarms, slower before faster, then by time." = answer.found.changes.iter().enumerate().map(|(at, change)| Changed::of(answer, at, change)).collect::<Json>(),
        partial_runs: "Runs left out because not all of their files was read." = answer.found.left_out.partial,
        runs_without_build: "Runs left out because their build is unknown." = answer.found.left_out.without_build,
        runs_without_model: "Runs left out because their model is unknown." = answer.found.left_out.without_model,
    }

    /// A change of a series.
    Changed(answer: &Answer, at: usize, change: &Change) {
        title: "What it is, in a few words." = words::title(change, answer.fleet.texts.list()),
        evidence: "How sure it is, in a sentence." = words::evidence(change, answer.fleet.texts.list()),
        model: "The model, or the tag used in its place." = text(answer, change.model),
        gpu: "The GPU." = text(answer, change.gpu),
        world_size: "How many ranks the jobs have." = change.world_size,
        metric: "What changed." = change.metric.key(),
        name: "Its category, operation or kernel; null for times of a whole run." = text(answer, change.name),
        dims: "Shapes of its inputs, of an operation." = text(answer, change.dims),
        build: "The build that it changed with." = text(answer, Some(change.build)),
        level: "alarm, or confirmed by the next build." = change.level.key(),
        confirmed_by: "That build." = text(answer, change.confirmed_by),
        ratio: "New time over old: the median over all pairs of runs." = round(Some(change.ratio), 5),
        ratio_low: "The lower end of its 95 % interval; null where the runs are too few." = round(change.low, 5),
        ratio_high: "The upper end." = round(change.high, 5),
        p: "How likely such a difference would be by chance; null for builds with one or two runs." = change.p,
        new_runs: "Runs of the build." = change.n_new,
        base_runs: "Runs of the builds that it is compared with." = change.n_base,
        base_builds: "How many builds those are." = change.n_base_builds,
        base_first: "The first of those." = text(answer, Some(change.base_first)),
        base_last: "The last of those." = text(answer, Some(change.base_last)),
        new_ns: "Median of the runs of the build, in nanoseconds." = change.new_ns,
        base_ns: "Median of the runs of those builds, in nanoseconds." = change.base_ns,
        new_run: "The run of the build nearest to its median, to be compared." = text(answer, Some(change.new_run)),
        base_run: "The run of those builds nearest to their median." = text(answer, Some(change.base_run)),
        carriers: "What contributes most to it, at most three, the largest first." = list(&of(&answer.found.carriers, at, |of| of.regression), |carrier| Contributor::of(answer, carrier)),
        history: "Its value in each build from the first that it is compared with." = list(&of(&answer.found.history, at, |of| of.regression), |point| BuildValue::of(answer, point)),
    }

    /// What contributes to a change.
    Contributor(answer: &Answer, carrier: &Carrier) {
        part: "op or kernel." = carrier.part.key(),
        name: "Its name." = text(answer, Some(carrier.name)),
        dims: "Shapes of its inputs, of an operation." = text(answer, carrier.dims),
        base_ns: "Median of its time in runs of the builds before, in nanoseconds; 0 where it did not run." = carrier.base_ns,
        new_ns: "Median of its time in runs of the build, in nanoseconds." = carrier.new_ns,
        share_percent: "Its difference, of the difference of the whole." = round(Some(carrier.share_percent), 1),
    }

    /// The value of a series in a build.
    BuildValue(answer: &Answer, point: &Point) {
        build: "The build." = text(answer, Some(point.build)),
        runs: "Runs of it." = point.n_runs,
        median_ns: "Median of those, in nanoseconds." = point.median_ns,
    }
}
