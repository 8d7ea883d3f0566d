//! `comparison.json`: what two traces say about each other, for programs.
//!
//! Differences are target minus reference; `change_percent` is target ÷ reference − 1, in percent;
//! ratios are target over reference.

pub mod operations;

use serde_json::Value as Json;

use super::shared::{Action, Replay, Window, thresholds};
use super::{list, ms, record, round};
use crate::base::tally::Tally as Counted;
use crate::base::value::rounded;
use crate::compare::amount::{Amount as Work, AmountBy};
use crate::compare::collectives::CollectiveDelta;
use crate::compare::comparison::Comparison;
use crate::compare::findings::{Gap, Saving as Saved};
use crate::compare::gap;
use crate::compare::gap::Waste as Lost;
use crate::compare::hardware::{Figure as Kind, HardwareRatio};
use crate::compare::matched_rows::Named as Row;
use crate::compare::memory::{MemoryPair, MemorySize};
use crate::compare::ops::{MatchedOp, UnmatchedOp};
use crate::compare::pair::{Pair, Which};
use crate::compare::properties::TraceProperties;
use crate::compare::steps::{StepPair, StepsBy};
use crate::compare::time_parts::{Part as Piece, PartKind};
use crate::hardware::Basis;
use crate::names::batch::Phase;
use crate::output::title::of_comparison;
use crate::profile::gpu::timeline::GpuTimeline;
use crate::report::ModuleTime;
use crate::report::overview::{Measure, QualityLine};
use operations::Operations;

const FORMAT: u32 = 1;

record! {
    /// The file. Values of both traces have the keys `reference` and `target`.
    File(comparison: &Comparison) {
        format: "1; it changes when a key changes its meaning or is removed." = FORMAT,
        title: "The title of the documents." = of_comparison(comparison),
        sides: "What each trace is." = comparison.sides.as_ref().map(Side::of),
        is_same: "Nothing differs." = comparison.is_same(),
        is_same_gpu: "Both ran on the same hardware: the expected ratio of the same work is 1." = comparison.is_same_gpu,
        basis: "The figures that are used where they are known: achievable or peak." = comparison.basis.label(),
        hardware: "Rates of both GPUs that the rooflines are computed from." = list(&comparison.hardware, Hardware::of),
        caveats: "Sentences to keep in mind." = comparison.caveats(),
        amount: "How much of the same the target does for what the reference does." = Amount::of(&comparison.amount),
        work_ratio: "The work of the target in as many steps, over that of the reference; null: the same, or not known." = round(comparison.work.as_ref().map(|work| work.ratio), 4),
        steps: "Steps of serving engines by phase and batch size; none where one of the traces is of none." = list(&comparison.steps, Steps::of),
        memory: "Memory of both; null: one of them has no memory events." = comparison.memory.as_ref().map(Memory::of),
        parts: "The time in parts that sum up to it." = Parts::of(comparison),
        explained: "Of all operations with a prediction, the steps from one trace to the other." = Explained::of(comparison),
        operations: "Operations of both traces and of one alone." = Operations::of(comparison),
        categories: "Time of each category." = list(&comparison.categories, |row| Named::of(row.key.label(), sides(row, Tally::of), row.times())),
        modules: "GPU time of each module." = list(&comparison.modules, |row| Named::of(&row.key, sides(row, Module::of), row.times())),
        kernels: "Time of each kernel by its name." = list(&comparison.kernels, |row| Named::of(&row.key, sides(row, Tally::of), row.times())),
        collectives: "Time of each kind of collective." = list(&comparison.collectives, Collective::of),
        host: "CPU self time of each operator." = list(&comparison.cpu_ops, |row| Named::of(&row.key, sides(row, Tally::of), row.times())),
        findings: "Where the target falls behind, in order." = list(&comparison.gaps.ranked, |gap| Finding::of(comparison, gap)),
        waste: "Inefficiencies in both traces, by their saving on the target, the largest first." = list(&comparison.waste, Waste::of),
        together_ms: "What following all of them saves." = ms(comparison.gaps.together_ns),
        together_is_at_most: "It is at most that: for some nothing is predicted." = comparison.gaps.is_at_most(),
        n_small: "Findings that are too small to be listed." = comparison.gaps.n_small,
        thresholds: "Every threshold that verdicts were made by." = thresholds(&comparison.thresholds),
    }

    /// One of the two traces.
    Side(side: &TraceProperties) {
        name: "Its name." = side.name,
        model: "Its model; null: unknown." = side.model,
        platform: "What it was recorded on; null: unknown." = side.platform,
        gpu: "The GPU whose roofline is used; null: none is chosen." = side.gpu.as_deref().map(Gpu::of),
        measure: "What times are of: gpu or host (the CPU)." = match side.measure {
            Measure::Gpu => "gpu",
            Measure::Cpu => "host",
        },
        run: "The split of its time; null without GPU activity." = side.timeline.as_ref().map(Run::of),
        host_ms: "CPU time in operators." = ms(side.cpu_ns),
        gpus: "GPUs that ran anything." = side.n_gpus,
        gpu_events: "Kernels, copies and fills." = side.n_gpu_events,
        window: "The part of the trace that is compared; null: all of it." = side.window.as_ref().map(Window::of),
        losses: "What is missing from its numbers." = list(&side.losses, Loss::of),
    }

    /// A GPU.
    Gpu(gpu: &crate::hardware::GpuSpec) {
        name: "Its name." = gpu.name,
        source: "Where its figures come from." = gpu.source,
    }

    /// How the time of a trace splits.
    Run(whole: &GpuTimeline) {
        total_time_ms: "From the first GPU activity to the last." = ms(whole.total_ns()),
        computation_time_ms: "In which anything computes." = ms(whole.computation_ns),
        exposed_comm_time_ms: "Communication while nothing computes." = ms(whole.exposed_comm_ns),
        exposed_memcpy_time_ms: "Copies while nothing computes or communicates." = ms(whole.exposed_memcpy_ns),
        idle_time_ms: "In which nothing runs." = ms(whole.idle_ns),
    }

    /// What is missing.
    Loss(line: &QualityLine) {
        sentence: "What it is." = line.sentence,
        count: "How often." = line.count,
        first_offset: "Where first, in bytes." = line.first_offset,
    }

    /// A figure of both GPUs.
    Hardware(found: &HardwareRatio) {
        figure: "Its name." = found.figure.label(),
        reference: "Of the reference's GPU." = Value::of(found.figure, found.values.reference),
        target: "Of the target's GPU." = Value::of(found.figure, found.values.target),
        expected_ratio: "Of times, target ÷ reference." = rounded(found.ratio, 4),
        peak_expected_ratio: "The same by peaks." = round(found.peak_ratio, 4),
    }

    /// A figure.
    Value(kind: Kind, figure: (f64, Basis)) {
        value: "The number." = figure.0,
        unit: "Its unit." = match kind {
            Kind::Memory => "GB/s",
            Kind::Compute(_) => "TFLOPS",
        },
        basis: "Whether it is a peak or an achievable figure." = figure.1.label(),
    }

    /// How much of the same the target does.
    Amount(amount: &Work) {
        ratio: "Target over reference." = rounded(amount.ratio, 4),
        by: "What the ratio is known from: steps, calls or nothing." = match amount.by {
            AmountBy::Steps(_) => "steps",
            AmountBy::Calls => "calls",
            AmountBy::Nothing => "nothing",
        },
        steps: "The steps of both; null: not compared by steps." = match amount.by {
            AmountBy::Steps(steps) => Some(steps),
            AmountBy::Calls | AmountBy::Nothing => None,
        },
    }

    /// The time in parts that sum up to it.
    Parts(comparison: &Comparison) {
        total: "From the first GPU activity to the last." = Times::of(comparison.parts.total),
        rest: "What is in no row." = Times::of(comparison.parts.rest),
        matched_percent: "Share of the difference in computation that is in operations of both traces." = round(comparison.parts.matched_percent(), 4),
        rows: "The parts; none where one of the traces has no GPU activity." = list(&comparison.parts.parts, Part::of),
    }

    /// Steps of both traces that can be compared.
    Steps(row: &StepPair) {
        label: "What they are, for people." = row.label(),
        phase: "What their requests do; null if unknown." = row.phase.map(Phase::label),
        by: "What the times are of: batch (a step of one batch size, the median), token (a token that is computed, the mean), step (the median) or denoising step." = row.by.key(),
        requests: "Requests of each step; null: of several numbers, or not known." = match row.by {
            StepsBy::Batch(requests, _) => requests,
            _ => None,
        },
        tokens: "Tokens that each step computes; null: as above." = match row.by {
            StepsBy::Batch(_, tokens) => tokens,
            _ => None,
        },
        steps: "How many steps they are." = row.n_steps,
        kv_tokens: "Tokens that a step attends to, the median; null: not known." = row.kv_tokens,
        times_ms: "The times." = row.ns.map(|ns| rounded(ns / 1e6, 6)),
        ratio: "Target over reference." = round(row.ratio(), 4),
    }

    /// Memory of the device with the highest peak of each trace.
    Memory(memory: &MemoryPair) {
        sizes: "The peak in use, what of it was allocated before, what is reserved then, and all that is allocated." = list(&memory.sizes, Size::of),
        at_peak: "What operators hold at the peak, the most first." = list(&memory.at_peak, Size::of),
        allocated: "What operators allocate in all, the most first." = list(&memory.allocated, Size::of),
    }

    /// A size in both traces.
    Size(size: &MemorySize) {
        label: "What it is: an operator, or a word for people." = size.label,
        bytes: "Of each; null in a trace that has no such operator." = size.bytes,
        difference_bytes: "Target minus reference." = size.difference(),
        ratio: "Target over reference." = round(size.ratio(), 4),
    }

    /// Times in whole nanoseconds.
    Times(times: Pair<i64>) {
        reference_ns: "Of the reference." = times.reference,
        target_ns: "Of the target." = times.target,
        difference_ns: "Target minus reference." = times.difference(),
    }

    /// A part of the time.
    Part(part: &Piece) {
        kind: "matched, only_reference, only_target, unattributed, exposed_communication, exposed_copies or idle." = match part.kind {
            PartKind::Matched(_) => "matched",
            PartKind::Unmatched(Which::Reference, _) => "only_reference",
            PartKind::Unmatched(Which::Target, _) => "only_target",
            PartKind::Unattributed => "unattributed",
            PartKind::Tuning => "kernel_tuning",
            PartKind::ExposedCommunication => "exposed_communication",
            PartKind::ExposedCopies => "exposed_copies",
            PartKind::Idle => "idle",
        },
        label: "What it is, for people." = part.label,
        ..Times(part.times),
    }

    /// The steps from one trace to the other, of all operations with a prediction.
    Explained(comparison: &Comparison) {
        operations: "Number of ranks." = comparison.explained.n_operations,
        reference_ms: "Their time on the reference." = ms(comparison.explained.times.reference),
        target_ms: "Their time on the target." = ms(comparison.explained.times.target),
        held_ms: "The reference's time for as many calls as the target makes." = ms(comparison.explained.scaled_ns),
        expected_ms: "The time that is expected of the target." = ms(comparison.explained.expected_ns),
        by_calls_ms: "What another number of calls accounts for." = ms(comparison.explained.by_calls_ns()),
        by_work_ms: "What other work of each call accounts for." = ms(comparison.explained.by_work_ns()),
        by_hardware_ms: "What the hardware accounts for." = ms(comparison.explained.by_hardware_ns()),
        beyond_ms: "What is beyond." = ms(comparison.explained.beyond_ns()),
    }

    /// What goes by a name.
    Collective(row: &CollectiveDelta) {
        collective: "The collective." = row.key.name,
        dtype: "The type of its elements." = row.key.dtype,
        in_elements: "Elements that go in." = row.key.in_elements,
        out_elements: "Elements that come out." = row.key.out_elements,
        group_size: "Ranks in its group." = row.key.group_size,
        group: "The name of its group." = row.key.group,
        ..Named(&row.key.label(), sides(row, Tally::of), row.times()),
    }

    /// A row of what goes by a name.
    Named(name: &str, sides: Pair<Option<Json>>, times: Pair<i64>) {
        name: "The name." = name,
        reference: "On the reference; null: does not occur." = sides.reference,
        target: "On the target; null: does not occur." = sides.target,
        difference_ms: "Target minus reference." = ms(times.difference()),
        change_percent: "Target ÷ reference − 1, in percent." = round(times.change_percent().filter(|_| sides.reference.is_some() && sides.target.is_some()), 4),
    }

    /// How often, and how long.
    Tally(tally: &Counted) {
        count: "How often." = tally.count,
        time_ms: "How long." = ms(tally.ns),
    }

    /// A module.
    Module(tally: &ModuleTime) {
        calls: "Its calls." = tally.n_calls,
        own_ms: "GPU self time." = ms(tally.direct_ns),
        subtree_ms: "GPU time with the modules that it calls." = ms(tally.subtree_ns),
        kernels: "Its kernels." = tally.n_kernels,
    }

    /// Where the target falls behind.
    Finding(comparison: &Comparison, gap: &Gap) {
        number: "Its number, from 1." = gap.number,
        pattern: "Its key." = gap.pattern,
        subject: "What it is about." = GapSubject::of(comparison, &gap.subject),
        priority: "How much it matters." = gap.priority.label(),
        title: "A few words." = gap.title,
        gap: "One sentence with the figures." = gap.gap,
        action: "What to change." = Action::of(&gap.model, &gap.kernel),
        reasoning: "How it was found, sentence by sentence." = gap.reasoning,
        times: "The measured times that it is about." = Times::of(gap.times),
        saving: "What following it saves; null if unknown." = gap.saving.map(Saving::of),
        floor_ms: "The least time on the target by its own roofline, where the reference takes less; else null." = gap.floor_ns.map(ms),
        replay: "Its reproducer." = gap.replay.as_ref().map(Replay::of),
    }

    /// What a finding is about.
    GapSubject(comparison: &Comparison, subject: &gap::GapSubject) {
        kind: "operations, only_target, unattributed, exposed_communication, exposed_copies or idle." = match subject {
            gap::GapSubject::Operations(_) => "operations",
            gap::GapSubject::Unmatched(_) => "only_target",
            gap::GapSubject::ExposedCommunication => "exposed_communication",
            gap::GapSubject::ExposedCopies => "exposed_copies",
            gap::GapSubject::Idle => "idle",
        },
        operations: "The operations." = labels(comparison, subject),
    }

    /// What following a finding saves.
    Saving(saved: Saved) {
        matching_ms: "When the target takes as long as predicted." = ms(saved.matching_ns),
        roof_ms: "At the roofline of the target." = saved.roofline_ns.map(ms),
        is_predicted: "The hardware predicts it; false: matching_ms is when the target takes as long as the reference." = saved.is_predicted,
    }

    /// What both traces lose in the same way.
    Waste(waste: &Lost) {
        key: "The key of a rule of both reports, low_roofline or idle." = waste.key,
        title: "A few words." = waste.title,
        sentence: "One sentence with the figures of both." = waste.sentence,
        advice: "What to do about it on the target." = waste.advice,
        times: "The measured times that it is about." = Times::of(waste.times),
        saves_low_ms: "What it saves on the target, the cautious end." = ms(waste.saves.0),
        saves_high_ms: "The hopeful end." = ms(waste.saves.1),
    }
}

/// The comparison as a JSON value.
pub fn comparison_json(comparison: &Comparison) -> Json {
    File::of(comparison)
}

/// The measurements of a row.
fn sides<K, T>(row: &Row<K, T>, record: fn(&T) -> Json) -> Pair<Option<Json>> {
    row.sides.as_ref().map(|side| side.as_ref().map(record))
}

fn labels(comparison: &Comparison, subject: &gap::GapSubject) -> Vec<String> {
    let operations = &comparison.operations;
    let matched = |at: &usize| operations.matched.get(*at).map(MatchedOp::label);
    let unmatched = |at: &usize| operations.unmatched.target.get(*at).map(UnmatchedOp::label);
    match subject {
        gap::GapSubject::Operations(rows) => rows.iter().filter_map(matched).collect(),
        gap::GapSubject::Unmatched(rows) => rows.iter().filter_map(unmatched).collect(),
        _ => Vec::new(),
    }
}
