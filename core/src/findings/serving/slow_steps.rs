//! Steps that take longer than they need to for a known reason: they run without a graph, prefill beside decodes, or
//! prefill in short chunks.

use super::launches::replays_of;
use super::{Issue, Kind, Source};
use crate::base::sort::Arranged;
use crate::base::stats::median_ns;
use crate::findings::prelude::*;
use crate::names::Family;
use crate::names::batch::{Engine, Phase};
use crate::profile::serving::{Serving, ServingStep};

/// Decode steps that run kernel by kernel, while others of the trace replay a graph.
pub(super) fn eager(source: &Source) -> Vec<Issue> {
    /// What the GPU is idle for in them, relative to their time.
    const LEAST_IDLE_PERCENT: f64 = 10.0;
    let Some(serving) = source.serving.filter(|_| source.passes.are_replays) else {
        return Vec::new();
    };
    let steps = serving.of(Some(Phase::Decode));
    let (replayed, eager): (Vec<&ServingStep>, Vec<&ServingStep>) =
        steps.partition(|step| replays_of(source, step).next().is_some());
    let lengths = || eager.iter().filter_map(|step| step.length);
    let time_ns = sum(lengths().map(|length| length.ns));
    let idle = replayed
        .iter()
        .filter_map(|step| Some(step.length?.idle_ns()));
    let Some(usual_ns) = median_ns(idle.collect()) else {
        return Vec::new();
    };
    let idle_ns = sum(lengths().map(|length| (length.idle_ns() - usual_ns).max(0)));
    if percent_of(idle_ns, time_ns).is_none_or(|percent| percent < LEAST_IDLE_PERCENT) {
        return Vec::new();
    }
    let words = vec![
        ("eager", format::counted(eager.len() as u64, "decode step")),
        ("eager_sizes", requests(&eager)),
        ("eager_time", median_time(&eager)),
        ("replayed", format::count(replayed.len() as u64)),
        ("replayed_sizes", requests(&replayed)),
        ("replayed_time", median_time(&replayed)),
        ("idle", format::time_ns(idle_ns)),
        (
            "flag",
            flag(
                source,
                Engine::graph_sizes_flags,
                "the engine's list of graph sizes",
            ),
        ),
    ];
    vec![Issue {
        events: eager.iter().take(10).map(|step| step.event).collect(),
        words,
        ..Issue::new(Kind::EagerSteps, time_ns).saving(Impact::at_most(idle_ns), [])
    }]
}

/// A step that takes far longer than a decode step, for a prefill that decodes wait for.
struct DelayedStep<'a> {
    step: &'a ServingStep,
    ns: i64,
    /// The requests that wait: of this step, or of the last one with decodes if this one only prefills.
    decodes: u64,
    /// The tokens of the prefill.
    tokens: Option<u64>,
}

/// Decodes that wait for the prefill in their step, or for a step of prefill alone between two of theirs.
pub(super) fn delayed_by_prefill(source: &Source) -> Vec<Issue> {
    /// They must delay decodes by this share of all steps: one long prefill among many steps hardly matters.
    const LEAST_PERCENT: f64 = 10.0;
    let issue = || {
        let serving = source.serving?;
        let decode_ns = serving.step_time(Some(Phase::Decode))?.ns;
        let delayed = delayed_steps(serving, decode_ns, enough_tokens(source.input));
        let delayed_ns = sum(delayed.iter().map(|one| one.ns - decode_ns));
        let steps = serving.steps.iter().filter_map(|step| step.length);
        let percent = percent_of(delayed_ns, sum(steps.map(|length| length.ns)))?;
        if percent < LEAST_PERCENT {
            return None;
        }
        let time_ns = sum(delayed.iter().map(|one| one.ns));
        Some(Issue {
            events: delayed.iter().take(10).map(|one| one.step.event).collect(),
            words: words_of_delay(source, &delayed, decode_ns)?,
            ..Issue::new(Kind::DelayedByPrefill, time_ns)
        })
    };
    issue().into_iter().collect()
}

fn delayed_steps(serving: &Serving, decode_ns: i64, enough: Option<f64>) -> Vec<DelayedStep<'_>> {
    /// Relative to a step that only decodes.
    const FAR: i64 = 10;
    /// The same where the prefill is longer than its speed needs: chunks of a part of it would take as long in all.
    const NOTABLE: i64 = 4;
    /// The tokens that make GEMMs compute-bound, times this, are more than needed.
    const MANY_TIMES: f64 = 4.0;
    let least_ns = |step: &ServingStep, tokens: Option<u64>| {
        let is_more = |(tokens, enough): (u64, f64)| tokens as f64 >= MANY_TIMES * enough;
        // Steps of prefill alone may follow one another, so that shorter ones are no sure gain for decodes.
        let is_mixed = step.phase() == Some(Phase::Mixed);
        let times = match is_mixed && tokens.zip(enough).is_some_and(is_more) {
            true => NOTABLE,
            false => FAR,
        };
        decode_ns.saturating_mul(times)
    };
    let mut before: Option<u64> = None;
    let waiting = serving.steps.iter().filter_map(|step| {
        let batch = step.batch?;
        let own = batch.generation.requests.filter(|n| *n > 0);
        let decodes = match step.phase() {
            Some(Phase::Mixed) => own,
            Some(Phase::Prefill) => before,
            _ => None,
        };
        before = own.or(before);
        Some((step, batch.context.sq, decodes?))
    });
    let delayed = waiting.filter_map(|(step, tokens, decodes)| {
        let ns = step.length?.ns;
        (ns > least_ns(step, tokens)).then_some(DelayedStep {
            step,
            ns,
            decodes,
            tokens,
        })
    });
    delayed.collect()
}

fn words_of_delay(source: &Source, delayed: &[DelayedStep], decode_ns: i64) -> Option<Words> {
    let longest = delayed.iter().max_by_key(|one| one.ns)?;
    let (beside, of) = match longest.step.phase() {
        Some(Phase::Prefill) => ("between decodes", "steps of its own"),
        _ => ("beside decodes", "their step"),
    };
    let times = longest.ns as f64 / decode_ns.max(1) as f64;
    let tokens = |n| format!(" of {}", format::counted(n, "token"));
    let enough = |n: f64| format::counted(n.round() as u64, "token");
    let enough = enough_tokens(source.input).map(enough);
    Some(vec![
        ("steps", format::counted(delayed.len() as u64, "step")),
        ("beside", beside.to_owned()),
        ("of_prefill", of.to_owned()),
        ("longest", format::time_ns(longest.ns)),
        ("decode", format::time_ns(decode_ns)),
        ("times", format::number(times)),
        (
            "decodes",
            format::counted(longest.decodes, "decoding request"),
        ),
        ("tokens", longest.tokens.map(tokens).unwrap_or_default()),
        ("enough", enough.unwrap_or_default()),
        ("flag", prefill_tokens_flag(source)),
    ])
}

/// Prompts in chunks so short that their GEMMs mostly read weights, once for each chunk.
pub(super) fn small_chunks(source: &Source) -> Vec<Issue> {
    /// Shorter than this share of what makes GEMMs compute-bound.
    const SMALL: f64 = 0.5;
    let issue = || {
        let (serving, input) = (source.serving?, source.input);
        let enough = enough_tokens(input)?;
        let is_small = |tokens: u64| tokens as f64 <= SMALL * enough;
        // Only steps that continue the prompt of the step before are known to be parts of one. What is left of a prompt
        // after a long chunk is short in any case.
        let pairs = serving.steps.iter().zip(serving.steps.iter().skip(1));
        let next = pairs.filter_map(|(before, step)| {
            let tokens = chunk(before, step)?;
            let are_small = is_small(tokens) && is_small(before.batch?.context.sq?);
            are_small.then_some((step, tokens, step.activity?.span))
        });
        let small = next.arranged_by_key(|(step, _, span)| (span.start_ns, step.event));
        let most = small.iter().map(|(_, tokens, _)| *tokens).max()?;
        let work = input.profile.gpu.iter();
        let gemms = work.filter(|(_, work)| {
            let start_ns = work.span.start_ns;
            let after = small.partition_point(|(.., span)| span.start_ns <= start_ns);
            let step = after.checked_sub(1).and_then(|at| small.get(at));
            work.family == Family::Gemm && step.is_some_and(|(.., span)| span.contains(start_ns))
        });
        let times = gemms.map(|(id, work)| {
            let owner = input.profile.owner_of(id);
            (owner.map(|owner| owner.operation), work.span.length())
        });
        // Chunks that are long enough read the weights once for several of these.
        let share = 1.0 - most as f64 / enough;
        let saved = times.map(|(of, ns)| (of, (ns as f64 * share).round() as i64));
        let saved: Vec<(Option<usize>, i64)> = saved.collect();
        let saved_ns = sum(saved.iter().map(|(_, ns)| *ns));
        let by_operation = saved.iter().filter_map(|(of, ns)| Some(((*of)?, *ns)));
        let lengths = small.iter().filter_map(|(step, ..)| step.length);
        let time_ns = sum(lengths.map(|length| length.ns));
        let share = percent_of(time_ns, input.total_ns()?).map(format::percent)?;
        let words = vec![
            (
                "took",
                format!("{} ({share} of the run)", format::time_ns(time_ns)),
            ),
            ("steps", format::counted(small.len() as u64, "step")),
            ("tokens", format::counted(most, "token")),
            ("enough", format::counted(enough.round() as u64, "token")),
            ("flag", prefill_tokens_flag(source)),
        ];
        let issue = Issue::new(Kind::SmallChunks, time_ns)
            .saving(Impact::at_most(saved_ns), times_by_operation(by_operation));
        Some(Issue {
            events: small.iter().take(10).map(|(step, ..)| step.event).collect(),
            words,
            ..issue
        })
    };
    issue().into_iter().collect()
}

/// The tokens of a step that only goes on with the prompt of the step before.
fn chunk(before: &ServingStep, step: &ServingStep) -> Option<u64> {
    let of_one = |step: &ServingStep| {
        let batch = step.batch.filter(|batch| batch.phase == Phase::Prefill)?;
        let sums = batch.context;
        (sums.requests == Some(1)).then_some((sums.sq?, sums.sk?))
    };
    let ((_, known), (tokens, all)) = (of_one(before)?, of_one(step)?);
    (known > 0 && all.checked_sub(tokens) == Some(known)).then_some(tokens)
}

/// From about this many tokens on, GEMMs with weights of 16 bits are compute-bound: each token multiplies and adds once
/// with each weight, which has two bytes.
fn enough_tokens(input: &Input) -> Option<f64> {
    input.gpu()?.ridge_flops_per_byte(input.options.basis)
}

fn prefill_tokens_flag(source: &Source) -> String {
    let other = "the engine's limit of tokens in a step";
    flag(source, Engine::prefill_tokens_flag, other)
}

fn flag(source: &Source, of: fn(Engine) -> Option<&'static str>, other: &str) -> String {
    let engine = source.serving.and_then(|serving| serving.engine);
    engine.and_then(of).unwrap_or(other).to_owned()
}

/// " of 152 requests", " of 152 to 168 requests"; empty if unknown.
fn requests(steps: &[&ServingStep]) -> String {
    let all = || steps.iter().filter_map(|step| step.batch?.requests());
    match all().min().zip(all().max()) {
        None => String::new(),
        Some((one, most)) if one == most => format!(" of {}", format::counted(one, "request")),
        Some((least, most)) => {
            let most = format::counted(most, "request");
            format!(" of {} to {most}", format::count(least))
        }
    }
}

fn median_time(steps: &[&ServingStep]) -> String {
    let lengths = steps.iter().filter_map(|step| Some(step.length?.ns));
    format::time_ns(median_ns(lengths.collect()).unwrap_or(0))
}
