//! What a decode step has to read, and operations that are as fast as the GPU lets them be.

use super::{Kind, Seen, Source};
use crate::assess::{Judged, ReportOptions};
use crate::findings::prelude::*;
use crate::hardware::roofline::Bound;
use crate::names::Family;
use crate::names::batch::Phase;
use crate::profile::Profile;
use crate::profile::gemm::weight_bytes;
use crate::profile::operations::Operation;

/// Of less of the time with a known work nothing is said, in percent.
const LEAST_KNOWN_PERCENT: f64 = 90.0;

/// The weights of a step and what its attention moves, and the least time that reading them takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct StepMemory {
    /// Of GEMMs and experts, without their activations where sizes tell those.
    pub(crate) weights: f64,
    /// In attention: most are keys and values of its cache.
    pub(crate) cache: f64,
    /// GB/s.
    pub(crate) gbps: f64,
}

impl StepMemory {
    /// Of a step, where all of a profile's operations are those of so many of them; `None` where too much
    /// of its work is not known.
    pub(crate) fn of_step(
        profile: &Profile,
        options: &ReportOptions,
        judged: &[Judged],
        n_steps: usize,
    ) -> Option<StepMemory> {
        let gbps = options.gpu.as_deref()?.mem_bw_gbps;
        let all = computing(profile, judged);
        if known_percent(&all)? < LEAST_KNOWN_PERCENT {
            return None;
        }
        let per_step = |bytes: f64| bytes / n_steps.max(1) as f64;
        let of_it = |is: fn(Family) -> bool| all.iter().filter(move |(one, _)| is(one.family));
        let products = of_it(|family| matches!(family, Family::Gemm | Family::Moe));
        let weights = per_step(products.filter_map(weights_of).sum());
        let attention = of_it(|family| family == Family::Attention);
        let cache = per_step(attention.filter_map(bytes_of).sum());
        (weights + cache > 0.0).then_some(StepMemory {
            weights,
            cache,
            gbps,
        })
    }

    /// All of it.
    pub(crate) fn bytes(&self) -> f64 {
        self.weights + self.cache
    }

    /// In nanoseconds.
    pub(crate) fn least_ns(&self) -> f64 {
        self.bytes() / self.gbps
    }
}

type Computing<'a> = (&'a Operation, &'a Judged);

fn computing<'a>(profile: &'a Profile, judged: &'a [Judged]) -> Vec<Computing<'a>> {
    let all = profile.operations().iter().zip(judged);
    all.filter(|(one, judged)| one.family.computes() && !judged.is_over_link)
        .collect()
}

fn bytes_of((one, judged): &Computing) -> Option<f64> {
    let bytes = judged.work?.bytes.filter(|_| !judged.is_anomaly)?;
    Some(bytes * one.n_calls() as f64)
}

/// The same without the activations of a GEMM.
fn weights_of(one: &Computing) -> Option<f64> {
    let (all, (operation, judged)) = (bytes_of(one)?, one);
    let weights = judged.work.and_then(|work| weight_bytes(operation, work));
    Some(weights.map_or(all, |bytes| bytes * operation.n_calls() as f64))
}

/// Of how much of the time of what computes the bytes are known.
fn known_percent(all: &[Computing]) -> Option<f64> {
    let ns = |known: bool| {
        let of_it = all.iter().filter(|one| !known || bytes_of(one).is_some());
        sum(of_it.map(|(one, _)| one.kernel_ns))
    };
    percent_of(ns(true), ns(false))
}

/// The steps, where all decode and their KV tokens are known: how many, and the time of one.
fn decode_steps(source: &Source) -> Option<(usize, i64)> {
    let serving = source.serving?;
    let phases = serving.phases();
    let mut working = phases
        .iter()
        .filter(|(phase, _)| *phase != Some(Phase::Idle));
    let (Some((Some(Phase::Decode), n)), None) = (working.next(), working.next()) else {
        return None;
    };
    let are_counted = serving
        .of(Some(Phase::Decode))
        .all(|step| step.batch.is_some_and(|batch| batch.kv_tokens().is_some()));
    let time = serving.step_time(Some(Phase::Decode))?;
    are_counted.then_some((*n, time.ns))
}

/// A decode step against the memory bandwidth.
pub(super) fn seen(source: &Source) -> Vec<Seen> {
    let input = source.input;
    let seen = || {
        let (n_steps, step_ns) = decode_steps(source)?;
        let memory = StepMemory::of_step(input.profile, input.options, input.judged, n_steps)?;
        let percent = memory.least_ns() / step_ns.max(1) as f64 * 100.0;
        // A rate above the peak is no measurement.
        if percent > 100.0 {
            return None;
        }
        let all_ns = step_ns.saturating_mul(n_steps as i64);
        let all_ns = all_ns.min(input.total_ns()?);
        let bytes = |bytes: f64| format::bytes(bytes as u64);
        let words = vec![
            ("steps", either("", n_steps == 1, "The step", "A step").1),
            ("bytes", bytes(memory.bytes())),
            ("weights", bytes(memory.weights)),
            ("cache", bytes(memory.cache)),
            ("least", format::time_ns(memory.least_ns() as i64)),
            ("rate", format::bandwidth_gbps(memory.gbps)),
            ("step", format::time_ns(step_ns)),
            ("percent", format::percent(percent)),
        ];
        Some(Seen {
            impact: Some(Impact::of_efficiency(all_ns, percent)),
            efficiency_percent: Some(percent),
            words,
            ..Seen::new(Kind::Memory, all_ns)
        })
    };
    seen().into_iter().collect()
}

/// What would tell how much a decode step reads, where that is not known.
pub(super) fn unknown(source: &Source) -> Option<String> {
    decode_steps(source)?;
    let input = source.input;
    input.gpu()?;
    let percent = known_percent(&computing(input.profile, input.judged))?;
    (percent < LEAST_KNOWN_PERCENT).then(|| {
        format!(
            "FLOPs and bytes are known of {} of the kernel time, too little to say how much a step has to read: the capture of its graphs (`--capture`) or the configuration of the model (`--model-config config.json`) tells more.",
            format::percent(percent)
        )
    })
}

/// Operations of serving steps that have nothing to gain: three quarters of the roofline and more is
/// what estimates count as reached.
pub(super) fn at_roofline(source: &Source) -> Vec<Seen> {
    const REACHED_PERCENT: f64 = 75.0;
    /// A smaller share of the run is not worth a word.
    const LEAST_PERCENT_OF_RUN: f64 = 1.0;
    let input = source.input;
    let Some(total_ns) = input.total_ns().filter(|_| source.serving.is_some()) else {
        return Vec::new();
    };
    let at_roofline = input.operations().filter_map(|(at, operation, judged)| {
        let percent = judged.achieved?.roof_percent;
        let share = percent_of(operation.kernel_ns, total_ns)?;
        let is_it = percent >= REACHED_PERCENT
            && !judged.is_anomaly
            && !judged.is_over_link
            && operation.family.computes()
            && share >= LEAST_PERCENT_OF_RUN;
        is_it.then_some((at, operation, judged, percent.min(100.0)))
    });
    let mut all: Vec<_> = at_roofline.collect();
    all.arrange_by_key(|(_, operation, ..)| std::cmp::Reverse(operation.kernel_ns));
    let Some((_, longest, judged, percent)) = all.first() else {
        return Vec::new();
    };
    let is_memory = judged.roof.is_some_and(|roof| roof.bound == Bound::Memory);
    let (rate, of) = match is_memory {
        true => (
            judged
                .tb_per_s
                .map(|rate| format::bandwidth_gbps(rate * 1e3)),
            "the memory bandwidth",
        ),
        false => (judged.tflops_per_s.map(format::tflops), "the peak rate"),
    };
    let shapes = match shapes(input, longest) {
        none if none.is_empty() => none,
        shapes => format!(" ({shapes})"),
    };
    let times = all.iter().map(|(_, operation, ..)| operation.kernel_ns);
    let words = vec![
        (
            "longest",
            format!("`{}`{shapes}", short_name(input, longest)),
        ),
        ("rate", rate.unwrap_or_default()),
        ("percent", format::percent(*percent)),
        ("of", of.to_owned()),
        (
            "more",
            match all.len() as u64 {
                1 => String::new(),
                n => format!("; so do {} more", format::counted(n - 1, "operation")),
            },
        ),
    ];
    let efficiency = super::super::outcome::weighted(
        all.iter()
            .map(|(_, operation, _, percent)| (*percent, operation.kernel_ns)),
    );
    vec![Seen {
        operations: all.iter().map(|(at, ..)| *at).collect(),
        efficiency_percent: efficiency,
        words,
        ..Seen::new(Kind::AtRoofline, sum(times))
    }]
}
