//! `comparison.json`: what two traces say about each other, for programs.
//!
//! Differences are target minus reference; `change_percent` is target ÷ reference − 1, in percent;
//! ratios are target over reference.

pub mod operations;

use std::collections::BTreeMap;

use serde_json::Value as Json;

use super::shared::{Action, Replay, Window, thresholds};
use super::{record, value};
use crate::base::value::rounded;
use crate::compare::about::About;
use crate::compare::amount::{Amount as Work, AmountBy};
use crate::compare::collectives::CollectiveDelta;
use crate::compare::comparison::Comparison;
use crate::compare::findings::{Gap, Saving as Saved, Subject as Subjects};
use crate::compare::hardware::{Figure as Kind, HardwareRatio};
use crate::compare::named::{Named as Row, Tally as Counted, Timed};
use crate::compare::ops::{LoneOp, MatchedOp};
use crate::compare::pair::{Pair, Which};
use crate::compare::parts::{Part as Piece, PartKind};
use crate::hardware::Basis;
use crate::output::title::of_comparison;
use crate::profile::timeline::GpuTimeline;
use crate::report::ModuleTime;
use crate::report::overview::{Measure, QualityLine};
use operations::Operations;

/// The version of the file.
const FORMAT: u32 = 1;

/// A value of each trace.
#[derive(Debug, Clone, serde::Serialize)]
pub struct Both<T> {
    /// Of the reference.
    pub reference: T,
    /// Of the target.
    pub target: T,
}

impl<T> From<Pair<T>> for Both<T> {
    fn from(pair: Pair<T>) -> Both<T> {
        Both {
            reference: pair.reference,
            target: pair.target,
        }
    }
}

record! {
    /// The file. What stands for both traces has the keys `reference` and `target`.
    File(comparison: &Comparison) {
        /// 1; it changes when a key changes its meaning or goes.
        format: u32 = FORMAT,
        /// The title of the documents.
        title: String = of_comparison(comparison),
        /// What each trace is.
        sides: Both<Side> = comparison.sides.as_ref().map(Side::new).into(),
        /// Nothing differs.
        is_same: bool = comparison.is_same(),
        /// Both ran on the same hardware: the expected ratio of the same work is 1.
        is_same_gpu: bool = comparison.is_same_gpu,
        /// The figures that are used where they are known: achievable or peak.
        basis: &'static str = comparison.basis.label(),
        /// Figures of both GPUs that operations are judged by.
        hardware: Vec<Hardware> = comparison.hardware.iter().map(Hardware::new).collect(),
        /// Sentences to keep in mind.
        caveats: Vec<String> = comparison.caveats(),
        /// How much of the same the target does for what the reference does.
        amount: Amount = Amount::new(&comparison.amount),
        /// The time in parts that sum up to it.
        parts: Parts = Parts::new(comparison),
        /// Of all operations with a prediction, the steps from one trace to the other.
        explained: Explained = Explained::new(comparison),
        /// Operations of both traces and of one alone.
        operations: Operations = Operations::new(comparison),
        /// Time of each category.
        categories: Vec<Named> = comparison.categories.iter().map(|row| Named::new(row.key.label(), row)).collect(),
        /// GPU time of each module.
        modules: Vec<Named> = comparison.modules.iter().map(|row| Named::new(&row.key, row)).collect(),
        /// Time of each kernel by its name.
        kernels: Vec<Named> = comparison.kernels.iter().map(|row| Named::new(&row.key, row)).collect(),
        /// Time of each kind of collective.
        collectives: Vec<Collective> = comparison.collectives.iter().map(Collective::new).collect(),
        /// CPU self time of each operator.
        host: Vec<Named> = comparison.host.iter().map(|row| Named::new(&row.key, row)).collect(),
        /// Where the target falls behind, in order.
        findings: Vec<Finding> = comparison.gaps.ranked.iter().map(|gap| Finding::new(comparison, gap)).collect(),
        /// What following all of them saves.
        together_ms: f64 = ms(comparison.gaps.together_ns),
        /// It is at most that: for some nothing is predicted.
        together_is_at_most: bool = comparison.gaps.is_at_most(),
        /// Findings that are too small to be listed.
        n_small: usize = comparison.gaps.n_small,
        /// Every threshold that verdicts were made by.
        thresholds: BTreeMap<&'static str, f64> = thresholds(&comparison.thresholds),
    }

    /// One of the two traces.
    Side(side: &About) {
        /// Its name.
        name: String = side.name.clone(),
        /// Its model; null: unknown.
        model: Option<String> = side.model.clone(),
        /// What it was recorded on; null: unknown.
        platform: Option<String> = side.platform.clone(),
        /// The GPU that it is judged by; null: none is chosen.
        gpu: Option<Gpu> = side.gpu.as_deref().map(Gpu::new),
        /// What times are of: gpu or host (the CPU).
        measure: &'static str = match side.measure {
            Measure::Gpu => "gpu",
            Measure::Host => "host",
        },
        /// The split of its time; null without GPU activity.
        run: Option<Run> = side.timeline.as_ref().map(Run::new),
        /// CPU time in operators.
        host_ms: f64 = ms(side.host_ns),
        /// GPUs that ran anything.
        gpus: usize = side.n_gpus,
        /// Kernels, copies and fills.
        gpu_events: u64 = side.n_gpu_events,
        /// The part of the trace that is compared; null: all of it.
        window: Option<Window> = side.window.as_ref().map(Window::new),
        /// What is missing from its numbers.
        losses: Vec<Loss> = side.losses.iter().map(Loss::new).collect(),
    }

    /// A GPU.
    Gpu(gpu: &crate::hardware::GpuSpec) {
        /// Its name.
        name: String = gpu.name.to_string(),
        /// Where its figures come from.
        source: String = gpu.source.to_string(),
    }

    /// How the time of a trace splits.
    Run(whole: &GpuTimeline) {
        /// From the first GPU activity to the last.
        total_time_ms: f64 = ms(whole.total_ns()),
        /// In which anything computes.
        computation_time_ms: f64 = ms(whole.computation_ns),
        /// Communication while nothing computes.
        exposed_comm_time_ms: f64 = ms(whole.exposed_comm_ns),
        /// Copies while nothing computes or communicates.
        exposed_memcpy_time_ms: f64 = ms(whole.exposed_memcpy_ns),
        /// In which nothing runs.
        idle_time_ms: f64 = ms(whole.idle_ns),
    }

    /// What is missing.
    Loss(line: &QualityLine) {
        /// What it is.
        sentence: String = line.sentence.to_string(),
        /// How often.
        count: u64 = line.count,
        /// Where first, in bytes.
        first_offset: Option<u64> = line.first_offset,
    }

    /// A figure of both GPUs.
    Hardware(found: &HardwareRatio) {
        /// Its name.
        figure: String = found.figure.label(),
        /// Of the reference's GPU.
        reference: Value = Value::new(found.figure, found.values.reference),
        /// Of the target's GPU.
        target: Value = Value::new(found.figure, found.values.target),
        /// Of times, target ÷ reference.
        expected_ratio: f64 = rounded(found.ratio, 4),
        /// The same by peaks.
        peak_expected_ratio: Option<f64> = four(found.peak_ratio),
    }

    /// A figure.
    Value(kind: Kind, figure: (f64, Basis)) {
        /// The number.
        value: f64 = figure.0,
        /// Its unit.
        unit: &'static str = match kind {
            Kind::Memory => "GB/s",
            Kind::Compute(_) => "TFLOPS",
        },
        /// Whether it is a peak or an achievable figure.
        basis: &'static str = figure.1.label(),
    }

    /// How much of the same the target does.
    Amount(amount: &Work) {
        /// Target over reference.
        ratio: f64 = rounded(amount.ratio, 4),
        /// What tells: steps, calls or nothing.
        by: &'static str = match amount.by {
            AmountBy::Steps(_) => "steps",
            AmountBy::Calls => "calls",
            AmountBy::Nothing => "nothing",
        },
        /// The steps of both; null: not told by steps.
        steps: Option<Both<u64>> = match amount.by {
            AmountBy::Steps(steps) => Some(steps.into()),
            AmountBy::Calls | AmountBy::Nothing => None,
        },
    }

    /// The time in parts that sum up to it.
    Parts(comparison: &Comparison) {
        /// From the first GPU activity to the last.
        total: Times = Times::new(comparison.parts.total),
        /// What is in no row.
        rest: Times = Times::new(comparison.parts.rest),
        /// Share of the difference in computation that is in operations of both traces.
        matched_percent: Option<f64> = four(comparison.parts.matched_percent()),
        /// The parts; none where one of the traces has no GPU activity.
        rows: Vec<Part> = comparison.parts.parts.iter().map(Part::new).collect(),
    }

    /// Times in whole nanoseconds.
    Times(times: Pair<i64>) {
        /// Of the reference.
        reference_ns: i64 = times.reference,
        /// Of the target.
        target_ns: i64 = times.target,
        /// Target minus reference.
        difference_ns: i64 = times.difference(),
    }

    /// A part of the time.
    Part(part: &Piece) {
        /// matched, only_reference, only_target, exposed_communication, exposed_copies or idle.
        kind: &'static str = match part.kind {
            PartKind::Matched(_) => "matched",
            PartKind::Lone(Which::Reference, _) => "only_reference",
            PartKind::Lone(Which::Target, _) => "only_target",
            PartKind::ExposedCommunication => "exposed_communication",
            PartKind::ExposedCopies => "exposed_copies",
            PartKind::Idle => "idle",
        },
        /// What it is, for people.
        label: String = part.label.clone(),
        /// Its times.
        #[serde(flatten)]
        times: Times = Times::new(part.times),
    }

    /// The steps from one trace to the other, of all operations with a prediction.
    Explained(comparison: &Comparison) {
        /// How many they are.
        operations: usize = comparison.explained.n_operations,
        /// Their time on the reference.
        reference_ms: f64 = ms(comparison.explained.times.reference),
        /// Their time on the target.
        target_ms: f64 = ms(comparison.explained.times.target),
        /// The reference's time for as many calls as the target makes.
        held_ms: f64 = ms(comparison.explained.held_ns),
        /// The time that is expected of the target.
        expected_ms: f64 = ms(comparison.explained.expected_ns),
        /// What another number of calls accounts for.
        by_calls_ms: f64 = ms(comparison.explained.by_calls_ns()),
        /// What other work of each call accounts for.
        by_work_ms: f64 = ms(comparison.explained.by_work_ns()),
        /// What the hardware accounts for.
        by_hardware_ms: f64 = ms(comparison.explained.by_hardware_ns()),
        /// What is beyond.
        beyond_ms: f64 = ms(comparison.explained.beyond_ns()),
    }

    /// What goes by a name.
    Collective(row: &CollectiveDelta) {
        /// Its row.
        #[serde(flatten)]
        row: Named = Named::new(&row.key.label(), row),
        /// The collective.
        collective: Json = value(&row.key.name),
        /// The type of its elements.
        dtype: Json = value(&row.key.dtype),
        /// Elements that go in.
        in_elements: Json = value(row.key.in_elements),
        /// Elements that come out.
        out_elements: Json = value(row.key.out_elements),
        /// Ranks in its group.
        group_size: Json = value(row.key.group_size),
        /// The name of its group.
        group: Json = value(&row.key.group),
    }

    /// How often, and how long.
    Tally(tally: &Counted) {
        /// How often.
        count: u64 = tally.count,
        /// How long.
        time_ms: f64 = ms(tally.ns),
    }

    /// A module.
    Module(tally: &ModuleTime) {
        /// Its calls.
        calls: Option<u64> = tally.n_calls,
        /// GPU self time.
        own_ms: f64 = ms(tally.direct_ns),
        /// GPU time with the modules that it calls.
        subtree_ms: f64 = ms(tally.subtree_ns),
        /// Its kernels.
        kernels: Json = value(tally.n_kernels),
    }

    /// Where the target falls behind.
    Finding(comparison: &Comparison, gap: &Gap) {
        /// Its number, from 1.
        number: usize = gap.number,
        /// Its key.
        pattern: &'static str = gap.pattern,
        /// What it is about.
        subject: Subject = Subject::new(comparison, &gap.subject),
        /// How much it matters.
        priority: &'static str = gap.priority.label(),
        /// A few words.
        title: String = gap.title.clone(),
        /// One sentence with the figures.
        gap: String = gap.gap.clone(),
        /// What to change.
        action: Action = Action::new(&gap.model, &gap.kernel),
        /// How it was found, sentence by sentence.
        reasoning: Vec<String> = gap.reasoning.clone(),
        /// The measured times that it is about.
        times: Times = Times::new(gap.times),
        /// What following it saves; null: nothing tells.
        saving: Option<Saving> = gap.saving.map(Saving::new),
        /// Its reproducer.
        replay: Option<Replay> = gap.replay.as_ref().map(Replay::new),
    }

    /// What a finding is about.
    Subject(comparison: &Comparison, subject: &Subjects) {
        /// operations, only_target, exposed_communication, exposed_copies or idle.
        kind: &'static str = match subject {
            Subjects::Operations(_) => "operations",
            Subjects::Lone(_) => "only_target",
            Subjects::ExposedCommunication => "exposed_communication",
            Subjects::ExposedCopies => "exposed_copies",
            Subjects::Idle => "idle",
        },
        /// The operations.
        operations: Vec<String> = labels(comparison, subject),
    }

    /// What following a finding saves.
    Saving(saved: Saved) {
        /// When the target takes as long as predicted.
        matching_ms: f64 = ms(saved.matching_ns),
        /// At the roofline of the target.
        roof_ms: Option<f64> = saved.roof_ns.map(ms),
    }
}

/// A row of what goes by a name.
#[derive(Debug, Clone, serde::Serialize)]
pub struct Named {
    /// The name.
    pub name: String,
    /// On the reference; null: does not occur.
    pub reference: Option<Timing>,
    /// On the target; null: does not occur.
    pub target: Option<Timing>,
    /// Target minus reference.
    pub difference_ms: f64,
    /// Target ÷ reference − 1, in percent.
    pub change_percent: Option<f64>,
}

/// How long something took.
#[derive(Debug, Clone, serde::Serialize)]
#[serde(untagged)]
pub enum Timing {
    /// Of most.
    Tally(Tally),
    /// Of a module.
    Module(Module),
}

impl From<&Counted> for Timing {
    fn from(tally: &Counted) -> Timing {
        Timing::Tally(Tally::new(tally))
    }
}

impl From<&ModuleTime> for Timing {
    fn from(tally: &ModuleTime) -> Timing {
        Timing::Module(Module::new(tally))
    }
}

impl Named {
    fn new<K, T: Timed>(name: &str, row: &Row<K, T>) -> Named
    where
        for<'a> Timing: From<&'a T>,
    {
        let times = row.times();
        let change = times.change_percent().filter(|_| row.is_matched());
        Named {
            name: name.to_owned(),
            reference: row.sides.reference.as_ref().map(Timing::from),
            target: row.sides.target.as_ref().map(Timing::from),
            difference_ms: ms(times.difference()),
            change_percent: four(change),
        }
    }
}

/// The comparison as a JSON value.
pub fn comparison_json(comparison: &Comparison) -> Json {
    value(File::new(comparison))
}

/// Nanoseconds as milliseconds, exactly.
fn ms(ns: i64) -> f64 {
    rounded(ns as f64 / 1e6, 6)
}

fn four(number: Option<f64>) -> Option<f64> {
    number.map(|number| rounded(number, 4))
}

fn labels(comparison: &Comparison, subject: &Subjects) -> Vec<String> {
    let (matched, lone) = (
        &comparison.operations.matched,
        &comparison.operations.lone.target,
    );
    match subject {
        Subjects::Operations(rows) => {
            let ops = rows.iter().filter_map(|at| matched.get(*at));
            ops.map(MatchedOp::label).collect()
        }
        Subjects::Lone(rows) => {
            let ops = rows.iter().filter_map(|at| lone.get(*at));
            ops.map(LoneOp::label).collect()
        }
        _ => Vec::new(),
    }
}
