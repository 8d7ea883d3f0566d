//! `findings.json`: what to do, for programs.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json};

use super::shared::{Action, Replay, Table, Window, facts, thresholds};
use super::{record, value};
use crate::base::interval::percent_of;
use crate::base::value::rounded;
use crate::findings::{Confidence, Impact as Saved, Outcome, RankedFinding, Status};
use crate::output::title::of_trace;
use crate::profile::Profile;
use crate::profile::model_info::{Inferred, ModelInfo};
use crate::profile::operations::Operation as Called;
use crate::profile::timeline::GpuTimeline;
use crate::report::Report;
use crate::report::overview::HardwareFigure;

/// The version of the file.
const FORMAT: u32 = 1;

record! {
    /// The file.
    Findings(profile: &Profile, report: &Report) {
        /// 1; it changes when a key changes its meaning or goes.
        format: u32 = FORMAT,
        /// The report's title.
        title: String = of_trace(profile, report),
        /// Which model ran.
        model: Model = Model::new(profile.model_info()),
        /// What it was judged by.
        hardware: Hardware = Hardware::new(report),
        /// How the time splits; null without GPU activity.
        run: Option<Run> = report.timelines.whole.as_ref().map(Run::new),
        /// The part of the trace that is analyzed alone; null: all of it.
        window: Option<Window> = profile.window.as_ref().map(Window::new),
        /// What was found, in order.
        findings: Vec<Finding> = report.analyses.findings.ranked.iter().map(|one| Finding::new(profile, report, one)).collect(),
        /// What following all of them saves.
        together: Option<Impact> = report.analyses.findings.together.as_ref().map(|all| Impact::new(all, report.overview.total_ns)),
        /// Findings that are too small to be listed.
        n_small: usize = report.analyses.findings.n_small,
        /// Every analysis.
        analyses: Vec<Analysis> = report.analyses.outcomes.iter().map(|one| Analysis::new(report, one)).collect(),
        /// Every threshold that judgments were made by.
        thresholds: BTreeMap<&'static str, f64> = thresholds(&report.options.thresholds),
    }

    /// Which model ran.
    Model(info: &ModelInfo) {
        /// Its name.
        model: Answer = Answer::new(&info.model),
        /// What kind of model it is.
        architecture: Answer = Answer::new(&info.architecture),
        /// How large it is.
        scale: Answer = Answer::new(&info.scale),
        /// What it computes in.
        precision: Answer = Answer::new(&info.precision),
    }

    /// An answer that was inferred.
    Answer(answer: &Inferred) {
        /// The answer; null: unknown.
        value: Option<String> = answer.value.clone(),
        /// What it follows from.
        evidence: String = answer.evidence.clone(),
    }

    /// What the run was judged by.
    Hardware(report: &Report) {
        /// The GPU that was chosen; null: none.
        gpu: Option<String> = report.overview.hardware.gpu.as_ref().map(|gpu| gpu.name.to_string()),
        /// The GPU that the trace names.
        recorded_on: Option<String> = report.overview.hardware.recorded_on.clone(),
        /// Which figures were used, in a sentence.
        basis: String = report.overview.hardware.basis.clone(),
        /// The figures.
        figures: Vec<Figure> = report.overview.hardware.figures.iter().map(Figure::new).collect(),
    }

    /// A figure of a GPU.
    Figure(figure: &HardwareFigure) {
        /// Its name.
        label: String = figure.label.clone(),
        /// With its unit.
        value: String = figure.value.clone(),
        /// Whether it is a peak or an achievable figure.
        basis: Option<&'static str> = figure.basis.map(|basis| basis.label()),
    }

    /// How the time splits. Exposed is what nothing hides.
    Run(whole: &GpuTimeline) {
        /// From the first GPU activity to the last.
        total_time_ms: f64 = ms(whole.total_ns()),
        /// In which anything computes.
        computation_time_ms: f64 = ms(whole.computation_ns),
        /// Its share.
        computation_time_percent: Option<f64> = of_whole(whole, whole.computation_ns),
        /// Communication while nothing computes.
        exposed_comm_time_ms: f64 = ms(whole.exposed_comm_ns),
        /// Its share.
        exposed_comm_time_percent: Option<f64> = of_whole(whole, whole.exposed_comm_ns),
        /// Copies while nothing computes or communicates.
        exposed_memcpy_time_ms: f64 = ms(whole.exposed_memcpy_ns),
        /// Its share.
        exposed_memcpy_time_percent: Option<f64> = of_whole(whole, whole.exposed_memcpy_ns),
        /// In which nothing runs.
        idle_time_ms: f64 = ms(whole.idle_ns),
        /// Its share.
        idle_time_percent: Option<f64> = of_whole(whole, whole.idle_ns),
    }

    /// What following a finding saves of the run; of a finding null where a trace cannot tell.
    Impact(saved: &Saved, total_ns: Option<i64>) {
        /// The low end of the range.
        low_ms: f64 = ms(saved.low_ns),
        /// What findings are ranked by.
        mid_ms: f64 = ms(saved.mid_ns),
        /// The high end.
        high_ms: f64 = ms(saved.high_ns),
        /// Its share of the run.
        low_percent: Option<f64> = of_run(saved.low_ns, total_ns),
        /// Its share of the run.
        mid_percent: Option<f64> = of_run(saved.mid_ns, total_ns),
        /// Its share of the run.
        high_percent: Option<f64> = of_run(saved.high_ns, total_ns),
        /// What it is estimated from.
        estimate: &'static str = saved.estimate.key(),
    }

    /// What was found.
    Finding(profile: &Profile, report: &Report, ranked: &RankedFinding) {
        /// Its number, from 1.
        number: usize = ranked.number,
        /// The key of its analysis.
        analysis: &'static str = ranked.analysis.key,
        /// Whether it is about kernels, fusion or the system.
        tier: &'static str = ranked.analysis.tier.key(),
        /// Its key, as in docs/findings.md.
        pattern: &'static str = ranked.finding.pattern,
        /// How much it matters.
        priority: &'static str = ranked.finding.priority.label(),
        /// How sure it is; null where nothing is left to guess.
        confidence: Option<&'static str> = ranked.finding.confidence.map(Confidence::label),
        /// The cause, in a few words.
        title: String = ranked.finding.title.clone(),
        /// What is wrong: one sentence.
        issue: String = ranked.finding.issue.clone(),
        /// What to change.
        action: Action = Action::new(&ranked.finding.model, &ranked.finding.kernel),
        /// What the data shows and what it cannot show, sentence by sentence.
        reasoning: Vec<String> = ranked.finding.reasoning.clone(),
        /// The measured time that it is about.
        time_ms: f64 = ms(ranked.finding.time_ns),
        /// In percent of roofline.
        efficiency_percent: Option<f64> = two(ranked.finding.efficiency_percent),
        /// What following it saves; null: a trace cannot tell.
        impact: Option<Impact> = ranked.finding.impact.as_ref().map(|saved| Impact::new(saved, report.overview.total_ns)),
        /// Numbers of findings about some of the same operations.
        overlaps: Vec<usize> = ranked.overlaps.clone(),
        /// Its reproducer.
        replay: Option<Replay> = ranked.finding.replay.as_ref().map(Replay::new),
        /// The operations that it is about.
        operations: Vec<Operation> = ranked.finding.operations.iter().filter_map(|at| Some(Operation::new(profile, profile.operations().get(*at)?))).collect(),
        /// Positions of the events that it is about.
        events: Vec<u32> = ranked.finding.events.iter().map(|event| profile.trace.events.uid(*event)).collect(),
        /// Its tables.
        tables: Vec<Table> = ranked.finding.tables.iter().map(Table::new).collect(),
    }

    /// An operation with its arguments.
    Operation(profile: &Profile, operation: &Called) {
        /// Position of its first call in the events of the trace.
        uid: Json = value(operation.uid()),
        /// Its name.
        name: String = operation.name(profile),
        /// How often it is called.
        calls: u64 = operation.n_calls(),
        /// Its time in kernels.
        time_ms: f64 = ms(operation.kernel_ns),
    }

    /// An analysis.
    Analysis(report: &Report, outcome: &Outcome) {
        /// Its key.
        key: &'static str = outcome.kind.key,
        /// Its title.
        title: &'static str = outcome.kind.title,
        /// Whether it is about kernels, fusion or the system.
        tier: &'static str = outcome.kind.tier.key(),
        /// OK, NO_DATA or ERROR.
        status: &'static str = outcome.status.key(),
        /// Why it failed.
        error: Option<String> = match &outcome.status {
            Status::Error(why) => Some(why.clone()),
            Status::Done | Status::NoData => None,
        },
        /// The time that it is about.
        time_ms: f64 = ms(outcome.time_ns),
        /// Share of the sum of kernel times of all that computes.
        percent_of_compute: Option<f64> = percent_of_compute(report, outcome),
        /// In percent of roofline, weighted by time.
        average_efficiency_percent: Option<f64> = two(outcome.efficiency_percent()),
        /// Share of its time with a FLOP/byte model.
        efficiency_known_percent: Option<f64> = two(outcome.known_percent()),
        /// Its figures; keys end in their unit.
        figures: Map<String, Json> = facts(&outcome.facts),
        /// What it could not do.
        notes: Vec<String> = outcome.notes.clone(),
    }
}

/// What to do, as a JSON value.
pub fn findings(profile: &Profile, report: &Report) -> Json {
    value(Findings::new(profile, report))
}

/// The split of the run; null without GPU activity.
pub(crate) fn run(report: &Report) -> Json {
    value(report.timelines.whole.as_ref().map(Run::new))
}

/// Nanoseconds as milliseconds with three decimals.
pub(crate) fn ms(ns: i64) -> f64 {
    rounded(ns as f64 / 1e6, 3)
}

fn two(number: Option<f64>) -> Option<f64> {
    number.map(|number| rounded(number, 2))
}

fn of_whole(whole: &GpuTimeline, ns: i64) -> Option<f64> {
    of_run(ns, Some(whole.total_ns()))
}

fn of_run(ns: i64, total_ns: Option<i64>) -> Option<f64> {
    let total_ns = total_ns.filter(|total_ns| *total_ns > 0)?;
    Some(rounded(ns as f64 / total_ns as f64 * 100.0, 2))
}

/// Share of the kernel time of all that computes.
pub(crate) fn percent_of_compute(report: &Report, outcome: &Outcome) -> Option<f64> {
    let compute_ns = report.timelines.compute_ns()?;
    two(percent_of(outcome.time_ns, compute_ns))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Timetable, options_on};

    #[test]
    fn a_finding_is_written_with_its_numbers_and_its_evidence() {
        let profile = Timetable::new()
            .op("aten::bmm", 0..10)
            .args(r#""Input Dims": [[37632, 8, 64], [37632, 64, 8]], "Input type": ["c10::BFloat16", "c10::BFloat16"]"#)
            .launch(1, 1..2)
            .kernel(1, "Cijk_MT16x16x32", 100..10_100)
            .profile();
        let report = Report::new(&profile, &options_on("MI300X"));
        let json = findings(&profile, &report);
        let finding = &json["findings"][0];
        assert_eq!(finding["number"], 1);
        assert_eq!(finding["pattern"], "tiny_batched");
        assert_eq!(finding["time_ms"], 10.0);
        // 81.9 MB at 5.3 TB/s take 15.45 µs of 10 ms.
        assert_eq!(finding["efficiency_percent"], 0.15);
        assert_eq!(finding["impact"]["high_ms"], 9.985);
        assert_eq!(finding["operations"][0]["name"], "aten::bmm");
        assert_eq!(finding["replay"]["recommended"], true);
        assert_eq!(json["run"]["computation_time_percent"], 100.0);
        assert_eq!(json["analyses"][0]["status"], "OK");
        assert_eq!(json["model"]["model"]["value"], Json::Null);
    }
}
