//! What a decode step has to read, and operations that are as fast as the GPU allows.

use super::{Issue, Kind, Source};
use crate::assess::{Evaluation, ReportOptions};
use crate::findings::Estimate;
use crate::findings::engine::outcome::weighted;
use crate::findings::prelude::*;
use crate::hardware::Basis;
use crate::hardware::roofline::{Bound, Roofline};
use crate::names::Family;
use crate::names::batch::Phase;
use crate::profile::Profile;
use crate::profile::graphs::shapes::Source as Sizes;
use crate::profile::operations::Operation;
use crate::profile::operations::kinds::gemm::weight_bytes;
use crate::profile::operations::tensors::only_moves;
use crate::trace::{EventId, TrackId};

/// With a smaller share of the time with known FLOPs and bytes, nothing is reported, in percent.
const LEAST_KNOWN_PERCENT: f64 = 90.0;

/// The weights of a step and the bytes that its attention moves, and the minimum time to read them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct StepMemory {
    /// Weights of GEMMs and experts, without activations if sizes are known.
    pub(crate) weights: f64,
    /// Bytes moved by attention, most of which are its KV cache.
    pub(crate) cache: f64,
    /// Memory bandwidth in GB/s.
    pub(crate) gbps: f64,
    /// It includes expert weights: as many as evenly distributed tokens read, which is the maximum.
    pub(crate) has_experts: bool,
}

impl StepMemory {
    /// For a step, averaged over the given steps; `None` if FLOPs and bytes are unknown for too much of their work.
    pub(crate) fn of_step(
        profile: &Profile,
        options: &ReportOptions,
        evaluations: &[Evaluation],
        steps: StepsOf,
    ) -> Option<StepMemory> {
        let gbps = options.gpu.as_deref()?.mem_bw_gbps;
        let all = computing(profile, evaluations, steps.are_some);
        if known_percent(&all)? < LEAST_KNOWN_PERCENT {
            return None;
        }
        let per_step = |bytes: f64| bytes / steps.n.max(1) as f64;
        let of_it = |is: fn(Family) -> bool| all.iter().filter(move |one| is(one.operation.family));
        let products = of_it(|family| matches!(family, Family::Gemm | Family::Moe));
        let weights = per_step(products.filter_map(Computing::weights).sum());
        let attention = of_it(|family| family == Family::Attention);
        let cache = per_step(attention.filter_map(Computing::bytes).sum());
        (weights + cache > 0.0).then_some(StepMemory {
            weights,
            cache,
            gbps,
            has_experts: all.iter().any(|one| one.operation.family == Family::Moe),
        })
    }

    /// The sum of both.
    pub(crate) fn bytes(&self) -> f64 {
        self.weights + self.cache
    }

    /// The minimum time to read them, in nanoseconds.
    pub(crate) fn least_ns(&self) -> f64 {
        self.bytes() / self.gbps
    }
}

/// The steps for which bytes are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StepsOf {
    /// Number of steps.
    pub(crate) n: usize,
    /// Only decode steps, if there are other steps; else everything that was recorded.
    pub(crate) are_some: bool,
}

/// An operation that computes, with the number and time of its calls in the counted steps.
struct Computing<'a> {
    operation: &'a Operation,
    evaluation: &'a Evaluation,
    calls: Calls,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Calls {
    n: u64,
    ns: i64,
}

/// For each operation, its calls in decode steps.
struct DecodeCalls(Vec<Calls>);

impl DecodeCalls {
    /// A call belongs to the step that started last on its thread: what follows the annotation of a step, such as
    /// sampling, belongs to it.
    fn of(profile: &Profile) -> DecodeCalls {
        let (events, operations) = (&profile.trace.events, profile.operations());
        let mut steps: Vec<(TrackId, i64, bool)> = Vec::new();
        for step in profile.serving().iter().flat_map(|serving| &serving.steps) {
            let decodes = step.phase() == Some(Phase::Decode);
            steps.push((step.track, step.on_host.start_ns, decodes));
        }
        steps.arrange();
        let decodes = |call: EventId| {
            let at = (events.track(call), events.ts_ns(call));
            let until = steps.partition_point(|(track, ns, _)| (*track, *ns) <= at);
            let step = until.checked_sub(1).and_then(|last| steps.get(last));
            step.is_some_and(|(track, _, decodes)| *track == at.0 && *decodes)
        };
        let of_operation = |operation: &Operation| {
            let calls = operation.calls.iter();
            let calls = calls.filter(|call| decodes(profile.trace.recorded_call(call.event)));
            calls.fold(Calls::default(), |all, call| Calls {
                n: all.n + 1,
                ns: all.ns.saturating_add(call.kernel_ns),
            })
        };
        DecodeCalls(operations.iter().map(of_operation).collect())
    }
}

impl Computing<'_> {
    fn bytes(&self) -> Option<f64> {
        let bytes = self
            .evaluation
            .work?
            .bytes
            .filter(|_| !self.evaluation.is_anomaly)?;
        Some(bytes * self.calls.n as f64)
    }

    /// The same without the activations of a GEMM; `None` for routing.
    fn weights(&self) -> Option<f64> {
        let estimate = self.operation.estimate.as_ref();
        if estimate.is_some_and(|estimate| estimate.role.is_routing()) {
            return None;
        }
        let all = self.bytes()?;
        let work = self.evaluation.work;
        let weights = work.and_then(|work| weight_bytes(self.operation, work));
        Some(weights.map_or(all, |bytes| bytes * self.calls.n as f64))
    }
}

fn computing<'a>(
    profile: &'a Profile,
    evaluations: &'a [Evaluation],
    decoding_only: bool,
) -> Vec<Computing<'a>> {
    let decoding = decoding_only.then(|| profile.once(|| DecodeCalls::of(profile)));
    let all = profile.operations().iter().zip(evaluations).enumerate();
    let all = all.map(|(at, (operation, evaluation))| Computing {
        operation,
        evaluation,
        calls: match &decoding {
            Some(calls) => calls.0.get(at).copied().unwrap_or_default(),
            None => Calls {
                n: operation.n_calls(),
                ns: operation.kernel_ns,
            },
        },
    });
    all.filter(|one| one.operation.family.computes() && !one.evaluation.is_over_link)
        .collect()
}

/// The share of computation time for which bytes are known.
fn known_percent(all: &[Computing]) -> Option<f64> {
    let ns = |known: bool| {
        let of_it = all.iter().filter(|one| !known || one.bytes().is_some());
        sum(of_it.map(|one| one.calls.ns))
    };
    percent_of(ns(true), ns(false))
}

/// The decode steps, if their KV tokens are known, and the time of one.
fn decode_steps(source: &Source) -> Option<(StepsOf, i64)> {
    let serving = source.serving?;
    let phases = serving.phases();
    let working = phases
        .iter()
        .filter(|(phase, _)| *phase != Some(Phase::Idle));
    let (_, n) = phases
        .iter()
        .find(|(phase, _)| *phase == Some(Phase::Decode))?;
    let are_counted = serving
        .of(Some(Phase::Decode))
        .all(|step| step.batch.is_some_and(|batch| batch.kv_tokens().is_some()));
    let time = serving.step_time(Some(Phase::Decode))?;
    let steps = StepsOf {
        n: *n,
        are_some: working.count() > 1,
    };
    are_counted.then_some((steps, time.ns))
}

/// Compares a decode step with the memory bandwidth.
pub(super) fn issues(source: &Source) -> Vec<Issue> {
    let input = source.input;
    let issues = || {
        let (steps, step_ns) = decode_steps(source)?;
        let memory = StepMemory::of_step(input.profile, input.options, input.evaluations, steps)?;
        let percent = memory.least_ns() / step_ns.max(1) as f64 * 100.0;
        // A rate above the peak cannot be right.
        if percent > 100.0 {
            return None;
        }
        let all_ns = step_ns.saturating_mul(steps.n as i64);
        let all_ns = all_ns.min(input.total_ns()?);
        let bytes = |bytes: f64| format::bytes(bytes as u64);
        let words = vec![
            (
                "steps",
                match (steps.are_some, steps.n) {
                    (false, 1) => "The step",
                    (false, _) => "A step",
                    (true, 1) => "The decode step",
                    (true, _) => "A decode step",
                }
                .to_owned(),
            ),
            ("bytes", bytes(memory.bytes())),
            ("weights", bytes(memory.weights)),
            ("cache", bytes(memory.cache)),
            ("source", sources(input, steps)),
            ("least", format::time_ns(memory.least_ns() as i64)),
            ("rate", format::bandwidth_gbps(memory.gbps)),
            ("step", format::time_ns(step_ns)),
            ("percent", format::percent(percent)),
            holds("experts", memory.has_experts),
        ];
        Some(Issue {
            impact: Some(Impact {
                estimate: Estimate::UpperBound,
                ..Impact::of_efficiency(all_ns, percent)
            }),
            efficiency_percent: Some(percent),
            words,
            ..Issue::new(Kind::Memory, all_ns)
        })
    };
    issues().into_iter().collect()
}

/// The source of bytes that are not from operators of the trace: "; captured, from config".
fn sources(input: &Input, steps: StepsOf) -> String {
    let profile = input.profile;
    let counted = computing(profile, input.evaluations, steps.are_some).into_iter();
    let counted: Vec<Sizes> = counted
        .filter(|one| one.bytes().is_some_and(|bytes| bytes > 0.0))
        .map(|one| one.operation.source(profile))
        .collect();
    let others = Sizes::ALL
        .iter()
        .filter(|source| **source != Sizes::Recorded);
    let others = others.filter(|source| counted.contains(source));
    let labels: Vec<&str> = others.map(|source| source.label()).collect();
    match labels.is_empty() {
        true => String::new(),
        false => format!("; {}", labels.join(", ")),
    }
}

/// How to find out what a decode step reads, if it is unknown.
pub(super) fn unknown(source: &Source) -> Option<String> {
    let (steps, _) = decode_steps(source)?;
    let input = source.input;
    input.gpu()?;
    let percent = known_percent(&computing(input.profile, input.evaluations, steps.are_some))?;
    (percent < LEAST_KNOWN_PERCENT).then(|| {
        format!(
            "FLOPs and bytes are known of {} of the kernel time, too little to say how much a step has to read: the capture of its graphs (`--capture`) or the configuration of the model (`--model-config config.json`) tells more.",
            format::percent(percent)
        )
    })
}

/// An operation of serving steps that has nothing to gain.
struct AtRoofline<'a> {
    /// Its index among the operations.
    at: usize,
    operation: &'a Operation,
    evaluation: &'a Evaluation,
    /// At most 100.
    percent: f64,
}

/// Operations of serving steps that have nothing to gain: estimates consider 75 % of roofline as reached.
pub(super) fn at_roofline(source: &Source) -> Vec<Issue> {
    const REACHED_PERCENT: f64 = 75.0;
    /// A smaller share of the run is not reported.
    const LEAST_PERCENT_OF_RUN: f64 = 1.0;
    let input = source.input;
    let Some(total_ns) = input.total_ns().filter(|_| source.serving.is_some()) else {
        return Vec::new();
    };
    let reached = input
        .operations()
        .filter_map(|(at, operation, evaluation)| {
            let percent = evaluation.plausible()?.percent_of_roofline;
            let share = percent_of(operation.kernel_ns, total_ns)?;
            let is_it = percent >= REACHED_PERCENT
                && !evaluation.is_over_link
                && operation.family.computes()
                // What only moves data could be left out, however fast it is.
                && !only_moves(input.profile, operation)
                && share >= LEAST_PERCENT_OF_RUN;
            is_it.then_some(AtRoofline {
                at,
                operation,
                evaluation,
                percent: percent.min(100.0),
            })
        });
    let all = reached.arranged_by_largest(|one| one.operation.kernel_ns);
    let Some((longest, others)) = all.split_first() else {
        return Vec::new();
    };
    let times = all.iter().map(|one| one.operation.kernel_ns);
    let percents = all.iter().map(|one| (one.percent, one.operation.kernel_ns));
    vec![Issue {
        operations: all.iter().map(|one| one.at).collect(),
        efficiency_percent: weighted(percents),
        words: words_at_roofline(input, longest, others.len() as u64),
        ..Issue::new(Kind::AtRoofline, sum(times))
    }]
}

fn words_at_roofline(input: &Input, longest: &AtRoofline, n_others: u64) -> Words {
    let evaluation = longest.evaluation;
    let is_achievable = |roofline: Roofline| roofline.basis == Basis::Achievable;
    let basis = match evaluation.roofline.is_some_and(is_achievable) {
        true => "achievable",
        false => "peak",
    };
    let bandwidth = |rate: f64| format::bandwidth_gbps(rate * 1e3);
    let (rate, of) = match evaluation.roofline.map(|roofline| roofline.bound) {
        Some(Bound::Memory) => (evaluation.tb_per_s.map(bandwidth), "memory bandwidth"),
        _ => (evaluation.tflops_per_s.map(format::tflops), "rate"),
    };
    let more = match n_others {
        0 => String::new(),
        1 => "; so does 1 more operation".to_owned(),
        n => format!("; so do {} more operations", format::count(n)),
    };
    let name = format!("`{}`", short_name(input, longest.operation));
    let shapes = match shapes(input, longest.operation) {
        none if none.is_empty() => none,
        shapes => format!(" ({shapes})"),
    };
    let named = match n_others {
        0 => name.clone(),
        n => format!("{name} and {n} more"),
    };
    vec![
        ("longest", format!("{name}{shapes}")),
        ("rate", rate.unwrap_or_default()),
        ("percent", format::percent(longest.percent)),
        ("of", format!("the {basis} {of}")),
        ("more", more),
        ("named", named),
    ]
}
