//! `findings.json`: what to do, for programs.

use serde_json::Value as Json;

use super::shared::{Action, Replay, Table, Window, facts, thresholds};
use super::{list, record, round, value};
use crate::base::interval::percent_of;
use crate::base::tally::Tally;
use crate::base::value::rounded;
use crate::findings::{Confidence, Impact as Saved, Outcome, RankedFinding, StepMemory};
use crate::output::title::of_trace;
use crate::profile::Profile;
use crate::profile::gpu::timeline::GpuTimeline;
use crate::profile::gpu::unattributed::{self, Reason};
use crate::profile::memory::{DeviceMemory as Allocator, Holder as Held};
use crate::profile::model_info::{self, ModelInfo};
use crate::profile::operations::Operation as Called;
use crate::profile::operations::recorded_flops::recorded_flops;
use crate::profile::serving::{Blocks, Shape, ShapeKind};
use crate::profile::window::begin_ns;
use crate::report::Report;
use crate::report::overview::{
    self, HardwareFigure, Limit, PhaseFigures, RepairedFigure, ServingFacts, StageLine,
    phase_of_memory, step_memory,
};

const FORMAT: u32 = 1;

fn unattributed(profile: &Profile) -> Option<Json> {
    let found = unattributed::Unattributed::of(profile);
    let reasons = found.by_reason(profile);
    (found.all.count > 0).then(|| Unattributed::of(&found, &reasons))
}

record! {
    /// The file.
    Findings(profile: &Profile, report: &Report) {
        format: "1; it changes when a key changes its meaning or is removed." = FORMAT,
        title: "The report's title." = of_trace(profile, report),
        model: "Which model ran." = Model::of(profile.model_info()),
        hardware: "The GPU and rates that the roofline is computed from." = Hardware::of(report),
        run: "How the time splits; null without GPU activity." = report.timelines.whole.as_ref().map(Run::of),
        window: "The part of the trace that is analyzed alone; null: all of it." = profile.window.as_ref().map(Window::of),
        serving: "Steps of a serving engine, or the run of a diffusion pipeline; null: the trace has none." = report.overview.serving.as_ref().map(|facts| Serving::of(profile, report, facts)),
        memory: "Memory by device; none where no allocator reported anything." = list(&profile.memory().devices, |one| DeviceMemory::of(profile, one)),
        findings: "What was found, in order." = list(&report.analyses.findings.ranked, |one| Finding::of(profile, report, one)),
        together: "What following all of them saves." = report.analyses.findings.together.as_ref().map(|all| Impact::of(all, report.overview.total_ns)),
        n_small: "Findings that are too small to be listed." = report.analyses.findings.n_small,
        analyses: "Every analysis." = list(&report.analyses.outcomes, |one| Analysis::of(report, one)),
        limits: "What limits trust in the numbers, the file's own faults first." = list(&report.overview.limits, Limits::of),
        unattributed: "GPU activity without a known launching call; null where there is none." = unattributed(profile),
        quality: "How far the numbers can be trusted." = Quality::of(&report.overview.quality),
        thresholds: "Every threshold that judgments were made by." = thresholds(&report.options.thresholds),
    }

    /// How far the numbers can be trusted.
    Quality(quality: &overview::Quality) {
        level: "The worst of the lines: good, note, warn (something was repaired), bad (something is missing from the numbers)." = quality.level.token(),
        sentence: "One sentence that sums it up." = quality.sentence,
        lines: "One for each kind of issue, worst first." = list(&quality.lines, QualityLine::of),
        repaired: "Headline numbers and top kernels as recorded and as repaired; none where no repair changes one of them by more than 0.1 %." = list(&quality.repaired, Repair::of),
    }

    /// A number that repairs change, or one that is shown next to it.
    Repair(figure: &RepairedFigure) {
        kind: "total, busy, computation, exposed_communication, exposed_copies, idle or kernel." = figure.kind.key(),
        label: "For people: the kernel's name." = figure.label,
        recorded_ns: "By what was recorded." = figure.recorded_ns,
        repaired_ns: "As all views show it." = figure.repaired_ns,
    }

    /// What limits trust.
    Limits(limit: &Limit) {
        kind: "truncated, damaged, unattributed, repaired, before_recording, unknown_durations, clocks, mixed_basis or other_gpu." = limit.kind.key(),
        label: "A few words." = limit.label,
        explanation: "What it means, with its size." = limit.explanation,
    }

    /// GPU activity without a known launching call.
    Unattributed(found: &unattributed::Unattributed, reasons: &[(Reason, Tally)]) {
        count: "Kernels, copies and fills." = found.all.count,
        ns: "Sum of their durations." = found.all.ns,
        percent: "Share of the durations of all GPU activity." = found.percent().map(|percent| rounded(percent, 2)),
        alone_ns: "Time in which nothing else runs." = found.alone_ns,
        reasons: "Why, the longest first." = list(reasons, UnattributedReason::of),
    }

    /// Unattributed GPU activity of one reason.
    UnattributedReason(one: &(Reason, Tally)) {
        reason: "before_recording, graph, ambiguous, shared_id or not_recorded." = one.0.key(),
        count: "Kernels, copies and fills." = one.1.count,
        ns: "Sum of their durations." = one.1.ns,
    }

    /// A kind of issue.
    QualityLine(line: &overview::QualityLine) {
        level: "How bad it is." = line.level.token(),
        sentence: "What it means and what was done." = line.sentence,
        count: "How often." = line.count,
        first_offset: "Where first: a byte of the decompressed text; null: it has no place." = line.first_offset,
    }

    /// Which model ran.
    Model(info: &ModelInfo) {
        model: "Its name." = Inferred::of(&info.model),
        architecture: "What kind of model it is." = Inferred::of(&info.architecture),
        scale: "How large it is." = Inferred::of(&info.scale),
        precision: "What it computes in." = Inferred::of(&info.precision),
    }

    /// An answer that was inferred.
    Inferred(answer: &model_info::Inferred) {
        value: "The answer; null: unknown." = answer.value,
        evidence: "What it follows from." = answer.evidence,
    }

    /// What the run was judged by.
    Hardware(report: &Report) {
        gpu: "The GPU that was chosen; null: none." = report.overview.hardware.gpu.as_ref().map(|gpu| gpu.name.to_string()),
        recorded_on: "The GPU that the trace names." = report.overview.hardware.recorded_on,
        basis: "Which figures were used, in a sentence." = report.overview.hardware.basis,
        figures: "The figures." = list(&report.overview.hardware.figures, Figure::of),
    }

    /// A figure of a GPU.
    Figure(figure: &HardwareFigure) {
        label: "Its name." = figure.label,
        value: "With its unit." = figure.value,
        basis: "Whether it is a peak or an achievable figure." = figure.basis.map(|basis| basis.label()),
    }

    /// The time breakdown. Exposed time is not overlapped by computation.
    Run(whole: &GpuTimeline) {
        total_time_ms: "From the first GPU activity to the last." = ms(whole.total_ns()),
        computation_time_ms: "In which anything computes." = ms(whole.computation_ns),
        computation_time_percent: "Its share." = of_whole(whole, whole.computation_ns),
        exposed_comm_time_ms: "Communication while nothing computes." = ms(whole.exposed_comm_ns),
        exposed_comm_time_percent: "Its share." = of_whole(whole, whole.exposed_comm_ns),
        exposed_memcpy_time_ms: "Copies while nothing computes or communicates." = ms(whole.exposed_memcpy_ns),
        exposed_memcpy_time_percent: "Its share." = of_whole(whole, whole.exposed_memcpy_ns),
        idle_time_ms: "In which nothing runs." = ms(whole.idle_ns),
        idle_time_percent: "Its share." = of_whole(whole, whole.idle_ns),
    }

    /// Steps of a serving engine, or the run of a diffusion pipeline.
    Serving(profile: &Profile, report: &Report, facts: &ServingFacts) {
        engine: "Who ran them; null if unknown." = profile.serving().and_then(|serving| Some(serving.engine?.key())),
        phases: "Steps by what their requests do; medians where there are several." = list(&facts.phases, Phase::of),
        stages: "Parts of the time: before, in, between and after steps or denoising steps." = list(&facts.stages, Stage::of),
        launches: "How GPU activity was launched." = profile.serving().map(|serving| Launches::of(&serving.shape)),
        layers: "What repeats in a step; null: nothing does." = profile.serving().and_then(|serving| serving.blocks.as_ref()).map(Layers::of),
        memory: "What a step has to read, of several phases one that decodes; null: not known." = step_memory(profile, &report.options, &report.evaluations, &facts.phases).map(|memory| Memory::of(&memory, &facts.phases)),
    }

    /// Steps of one phase.
    Phase(phase: &PhaseFigures) {
        phase: "prefill, decode, mixed, draft, diffusion, or unknown phase." = phase.phase,
        steps: "How many have GPU activity." = phase.n_steps,
        requests: "Requests of a step; null: not known." = phase.requests,
        padded_to: "Requests that its graph was captured for; null: not known." = phase.padded_to,
        tokens: "Tokens that a step computes; null: not known." = phase.tokens,
        kv_tokens: "Tokens that a step attends to; null: not known." = phase.kv_tokens,
        step_time_ms: "The time of a step." = ms(phase.step_ns),
        step_time_basis: "What that time is." = phase.basis,
        tokens_per_s: "Tokens computed in a second; null: not known, or not all are put out." = round(phase.tokens_per_s, 1),
        is_at_most: "The true rate may be lower: the time is of the GPU activity of the step alone." = phase.is_at_most,
    }

    /// A part of the time.
    Stage(stage: &StageLine) {
        name: "What it is." = stage.name,
        time_ms: "How long it is." = ms(stage.ns),
        busy_time_ms: "In which the GPU is busy." = ms(stage.busy_ns),
        idle_time_ms: "In which it is idle." = ms(stage.ns.saturating_sub(stage.busy_ns)),
        median_ms: "Of steps: the median; null: it has none." = stage.median_ns.map(ms),
    }

    /// How GPU activity was launched.
    Launches(shape: &Shape) {
        kind: "eager, full_graph or piecewise_graph." = match shape.kind {
            ShapeKind::Eager => "eager",
            ShapeKind::FullGraph => "full_graph",
            ShapeKind::PiecewiseGraph => "piecewise_graph",
        },
        graph_launches: "Launches of graphs." = shape.launches,
        graphs: "Graphs that differ." = shape.graphs,
        kernels_in_graphs: "Kernels, copies and fills that graphs replay." = shape.n_work,
        kernels_outside: "Those that no graph replays." = shape.n_outside,
        replay_time_ms: "From the first to the last GPU activity of each replay, added up." = ms(shape.replay_ns),
    }

    /// What repeats in a step.
    Layers(blocks: &Blocks) {
        layers: "Layers, where both ways of counting agree; null: they do not." = blocks.layers,
        attention_kernels: "Attention kernels, one of each layer." = blocks.attention,
        alike: "The same in groups of layers that follow each other and are alike." = blocks.alike,
        kernels_per_block: "Kernels of a block that repeats, on average." = rounded(blocks.period, 2),
        blocks: "How often it repeats." = rounded(blocks.blocks, 2),
        layers_per_block: "Layers of a block." = blocks.layers_per_block,
        block_time_ms: "The mean time of a block." = rounded(blocks.ns as f64 / blocks.blocks.max(1.0) / 1e6, 6),
    }

    /// What a step has to read.
    Memory(memory: &StepMemory, phases: &[PhaseFigures]) {
        bytes: "In GEMMs, experts and attention." = memory.bytes(),
        weight_bytes: "Weights of GEMMs and experts." = memory.weights,
        cache_bytes: "In attention with its KV cache." = memory.cache,
        least_time_ms: "Reading them at the memory bandwidth." = rounded(memory.least_ns() / 1e6, 6),
        percent_of_step: "Its share of the time of a step." = phase_of_memory(phases).map(|phase| rounded(memory.least_ns() / phase.step_ns.max(1) as f64 * 100.0, 2)),
    }

    /// Memory of one device.
    DeviceMemory(profile: &Profile, device: &Allocator) {
        device: "Its name." = device.label,
        peak_bytes: "Peak memory in use." = device.peak.allocated,
        peak_ms: "When, after the first event of the trace." = ms(device.peak.ts_ns.saturating_sub(begin_ns(&profile.trace))),
        before_bytes: "What of it was allocated before the recording, or before the part that is analyzed." = device.before_at_peak,
        reserved_bytes: "What the allocator holds then, in use or not; null: it reserves nothing." = Some(device.peak.reserved).filter(|bytes| *bytes > 0),
        allocations: "Blocks that were allocated." = device.n_allocations,
        allocated_bytes: "Their total size." = device.allocated_bytes,
        is_checked: "Totals and blocks agree; where not, only totals are given." = device.check.holds(),
        at_peak: "What operators hold at the peak, the most first." = list(&device.peak_by_operator(&profile.trace), |one| Holder::of(profile, one)),
    }

    /// What an operator holds at the peak.
    Holder(profile: &Profile, holder: &Held) {
        operator: "The innermost operator that asked; null: none did." = holder.operator.map(|name| profile.trace.strings.get(name)),
        blocks: "Its blocks." = holder.n_blocks,
        bytes: "Their total size." = holder.bytes,
    }

    /// What following a finding saves of the run; of a finding null if it cannot be estimated from a trace, or is no time.
    Impact(saved: &Saved, total_ns: Option<i64>) {
        low_ms: "The low end of the range." = ms(saved.low_ns),
        mid_ms: "What findings are ranked by." = ms(saved.mid_ns),
        high_ms: "The high end." = ms(saved.high_ns),
        low_percent: "Its share of the run." = of_run(saved.low_ns, total_ns),
        mid_percent: "Its share of the run." = of_run(saved.mid_ns, total_ns),
        high_percent: "Its share of the run." = of_run(saved.high_ns, total_ns),
        estimate: "What it is estimated from." = saved.estimate.key(),
    }

    /// What was found.
    Finding(profile: &Profile, report: &Report, ranked: &RankedFinding) {
        number: "Its number, from 1." = ranked.number,
        analysis: "The key of its analysis." = ranked.analysis.key,
        tier: "Whether it is about kernels, fusion or the system." = ranked.analysis.tier.key(),
        pattern: "Its key, as in docs/findings.md." = ranked.finding.pattern,
        priority: "How much it matters." = ranked.finding.priority.label(),
        confidence: "How sure it is; null where nothing is left to guess." = ranked.finding.confidence.map(Confidence::label),
        title: "The cause, in a few words." = ranked.finding.title,
        issue: "What is wrong, and why: one sentence." = ranked.finding.issue_with_causes(),
        action: "What to change." = Action::of(&ranked.finding.model, &ranked.finding.kernel),
        reasoning: "What the data shows and what it cannot show, sentence by sentence." = ranked.finding.reasoning,
        time_ms: "The measured time that it is about." = ms(ranked.finding.time_ns),
        efficiency_percent: "In percent of roofline." = round(ranked.finding.efficiency_percent, 2),
        impact: "What following it saves; null: a trace cannot tell, or it saves no time." = ranked.finding.impact.as_ref().map(|saved| Impact::of(saved, report.overview.total_ns)),
        saves_nothing: "Whether it is known to save no time, as at roofline." = ranked.finding.saves_nothing,
        memory_bytes: "The GPU memory that it is about; null: it is about time alone." = ranked.finding.memory_bytes,
        overlaps: "Numbers of findings about some of the same operations." = ranked.overlaps,
        replay: "Its reproducer." = ranked.finding.replay.as_ref().map(Replay::of),
        operations: "The operations that it is about." = ranked.finding.operations.iter().filter_map(|at| Some(Operation::of(profile, profile.operations().get(*at)?))).collect::<Json>(),
        events: "Positions of the events that it is about." = list(&ranked.finding.events, |event| profile.trace.events.uid(*event).into()),
        tables: "Its tables." = list(&ranked.finding.tables, Table::of),
    }

    /// An operation with its arguments.
    Operation(profile: &Profile, operation: &Called) {
        uid: "Position of its first call in the events of the trace." = operation.uid(),
        name: "Its name." = operation.name(profile),
        calls: "How often it is called." = operation.n_calls(),
        time_ms: "Its time in kernels." = ms(operation.kernel_ns),
        profiler_gflop: "The profiler's own count for a call, of recordings with_flops; null: it counted none." = recorded_flops(profile, operation).map(|flops| rounded(flops / 1e9, 6)),
    }

    /// An analysis.
    Analysis(report: &Report, outcome: &Outcome) {
        key: "Its key." = outcome.kind.key,
        title: "Its title." = outcome.kind.title,
        tier: "Whether it is about kernels, fusion or the system." = outcome.kind.tier.key(),
        status: "OK or NO_DATA." = outcome.status.key(),
        time_ms: "The time that it is about." = ms(outcome.time_ns),
        percent_of_compute: "Share of the sum of kernel times of all that computes." = percent_of_compute(report, outcome),
        average_efficiency_percent: "In percent of roofline, weighted by time." = round(outcome.efficiency_percent(), 2),
        efficiency_known_percent: "Share of its time with a FLOP/byte model." = round(outcome.known_percent(), 2),
        figures: "Its figures; keys end in their unit." = facts(&outcome.facts),
        notes: "What it could not do." = outcome.note_texts().collect::<Json>(),
    }
}

/// The findings as a JSON value.
pub fn findings(profile: &Profile, report: &Report) -> Json {
    Findings::of(profile, report)
}

/// The split of the run; null without GPU activity.
pub(crate) fn run(report: &Report) -> Json {
    value(report.timelines.whole.as_ref().map(Run::of))
}

/// Nanoseconds as milliseconds with three decimals.
pub(crate) fn ms(ns: i64) -> f64 {
    rounded(ns as f64 / 1e6, 3)
}

fn of_whole(whole: &GpuTimeline, ns: i64) -> Option<f64> {
    of_run(ns, Some(whole.total_ns()))
}

fn of_run(ns: i64, total_ns: Option<i64>) -> Option<f64> {
    let total_ns = total_ns.filter(|total_ns| *total_ns > 0)?;
    Some(rounded(ns as f64 / total_ns as f64 * 100.0, 2))
}

/// Share of the kernel time of all computation.
pub(crate) fn percent_of_compute(report: &Report, outcome: &Outcome) -> Option<f64> {
    let compute_ns = report.timelines.compute_ns()?;
    round(percent_of(outcome.time_ns, compute_ns), 2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Timetable, options_on};

    #[test]
    fn a_finding_is_written_with_its_numbers_and_its_evidence() {
        let args = r#""Input Dims": [[37632, 8, 64], [37632, 64, 8]], "Input type": ["c10::BFloat16", "c10::BFloat16"]"#;
        let profile = Timetable::new()
            .call("aten::bmm", args, "Cijk_MT16x16x32", 100..10_100)
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
        // No strides were recorded.
        assert_eq!(json["quality"]["level"], "note");
        assert_eq!(json["analyses"][0]["status"], "OK");
        assert_eq!(json["model"]["model"]["value"], Json::Null);
    }

    #[test]
    fn memory_is_written_by_device() {
        let profile = Timetable::new()
            .memory(1_000_000, 8_000_000)
            .op("aten::mul", 10..20)
            .block(1, 3_000_000, 15)
            .profile();
        let report = Report::new(&profile, &options_on("MI300X"));
        let json = findings(&profile, &report);
        let device = &json["memory"][0];
        assert_eq!(device["device"], "GPU 0");
        assert_eq!(device["peak_bytes"], 4_000_000);
        assert_eq!(device["before_bytes"], 1_000_000);
        assert_eq!(device["peak_ms"], 0.005);
        let held = &device["at_peak"][0];
        assert_eq!(
            (&held["operator"], &held["bytes"]),
            (&"aten::mul".into(), &3_000_000.into())
        );
        let none = Timetable::new().work("aten::mm", "gemm", 10..20).profile();
        let report = Report::new(&none, &options_on("MI300X"));
        assert_eq!(findings(&none, &report)["memory"], Json::Array(Vec::new()));
    }

    #[test]
    fn steps_of_an_engine_are_written_with_their_figures() {
        let step = "execute_32_context_0(sq0sk0sqsq0sqsk0)_generation_32(sq32sk3200sqsq32sqsk3200)";
        let profile = Timetable::new()
            .call(
                "aten::mm",
                "32x8192, 8192x8192",
                "Cijk_MT16x16x32",
                100..200,
            )
            .annotation(step, 0..50)
            .profile();
        let report = Report::new(&profile, &options_on("MI300X"));
        let json = findings(&profile, &report);
        let serving = &json["serving"];
        assert_eq!(serving["engine"], "vllm");
        let phase = &serving["phases"][0];
        assert_eq!(phase["phase"], "decode");
        assert_eq!([&phase["requests"], &phase["kv_tokens"]], [32, 3200]);
        assert_eq!(
            (&phase["step_time_ms"], &phase["is_at_most"]),
            (&0.1.into(), &true.into())
        );
        // 32 tokens in 0.1 ms.
        assert_eq!(phase["tokens_per_s"], 320_000.0);
        assert_eq!(serving["launches"]["kind"], "eager");
        assert_eq!(serving["layers"], Json::Null);
        // 8 192² weights of two bytes each.
        assert_eq!(serving["memory"]["bytes"], 134_217_728.0);
        assert_eq!(serving["memory"]["cache_bytes"], 0.0);
        let none = Timetable::new().work("aten::mm", "gemm", 10..20).profile();
        let report = Report::new(&none, &options_on("MI300X"));
        assert_eq!(findings(&none, &report)["serving"], Json::Null);
    }
}
