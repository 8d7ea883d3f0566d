//! Facts about the steps as a whole: slow steps, trends, steady load, graphs.

use super::{StepFigures, StepTrend, phase_label, step_figures, step_trends};
use crate::assess::Thresholds;
use crate::base::format;
use crate::base::stats::median_ns;
use crate::names::batch::{Batch, Phase};
use crate::profile::serving::{GraphFacts, Serving, Steady, SteadyKind};

/// Maximum number of graphs named individually.
const MOST_GRAPHS: usize = 3;

/// Label and value, if there are several steps or graphs.
pub(crate) fn facts(serving: &Serving, thresholds: &Thresholds) -> Vec<(String, String)> {
    let steps = step_figures(serving, thresholds);
    let trends = step_trends(&steps, thresholds).into_iter();
    let trends = trends.map(|trend| ("Trend".to_owned(), format::capitalized(&trend.sentence())));
    let steady = serving.steady().into_iter();
    let steady = steady.filter(|one| one.kind == SteadyKind::Decode);
    let steady = steady.map(|one| ("Steady-state steps".to_owned(), steady_text(&one, &steps)));
    let slow = slow(&steps).map(|value| ("Slow steps".to_owned(), value));
    let graphs = graphs(&serving.graphs).map(|value| ("Graphs".to_owned(), value));
    graphs
        .into_iter()
        .chain(slow)
        .chain(trends)
        .chain(steady)
        .collect()
}

/// How many steps are slow, and by how much the slowest is.
pub fn slow(steps: &[StepFigures]) -> Option<String> {
    let slow: Vec<&StepFigures> = steps.iter().filter(|step| step.is_slow).collect();
    let worst = slow.iter().max_by_key(|step| step.over_ns())?;
    let (over_ns, usual_ns) = (worst.over_ns()?, worst.usual_ns?);
    let idle = worst.length.idle_ns();
    let idle = match idle * 2 > over_ns {
        true => format!("; the GPU is idle in {} of it", format::time_ns(idle)),
        false => String::new(),
    };
    let phase = worst.step.phase();
    let phase = phase.map(|phase| format!(" ({})", phase.label()));
    Some(format!(
        "{} of {}; the slowest is step {}{}: {}, {} longer than the median of similar steps, {}{idle}",
        format::count(slow.len() as u64),
        format::count(steps.len() as u64),
        worst.number,
        phase.unwrap_or_default(),
        format::time_ns(worst.length.ns),
        format::time_ns(over_ns),
        format::time_ns(usual_ns),
    ))
}

/// "Steps 12 to 43: 32 steps of 29 to 32 requests, 10.7 ms (median)"
pub fn steady_text(steady: &Steady, steps: &[StepFigures]) -> String {
    let inside = |step: &&StepFigures| steady.steps.contains(&(step.number - 1));
    let own: Vec<&StepFigures> = steps.iter().filter(inside).collect();
    let times = own.iter().map(|step| step.length.ns).collect();
    let time = median_ns(times).map(|ns| format!(", {} (median)", format::time_ns(ns)));
    let requests = own.iter().filter_map(|step| step.step.batch?.requests());
    let range = requests.clone().min().zip(requests.max());
    let requests = range.map(|range| format!(" of {}", counted_range(range, "request")));
    let prefill = match steady.kind {
        SteadyKind::Decode => prefill_text(steps),
        _ => None,
    };
    format!(
        "steps {} to {}: {}{}{}{}",
        steady.steps.start + 1,
        steady.steps.end,
        format::counted(own.len() as u64, "step"),
        requests.unwrap_or_default(),
        time.unwrap_or_default(),
        prefill.unwrap_or_default()
    )
}

/// Steps with prefill, to compare with the decode steps of a steady load.
fn prefill_text(steps: &[StepFigures]) -> Option<String> {
    let phases = [Phase::Prefill, Phase::Mixed].into_iter();
    let texts = phases.filter_map(|phase| {
        let own = steps.iter().filter(|step| step.step.phase() == Some(phase));
        let times: Vec<i64> = own.map(|step| step.length.ns).collect();
        let n = times.len() as u64;
        let median = format::time_ns(median_ns(times)?);
        let label = phase_label(Some(phase));
        Some(format!(
            "{} of {median} (median)",
            format::counted(n, &format!("{label} step"))
        ))
    });
    let texts = format::joined(texts, " and ");
    (!texts.is_empty()).then(|| format!("; interleaved with {texts}"))
}

/// "29 to 32 requests"
fn counted_range((least, most): (u64, u64), noun: &str) -> String {
    let all = format::counted(most, noun);
    match least == most {
        true => all,
        false => format!("{} to {all}", format::count(least)),
    }
}

/// What distinguishes the graphs, if several are replayed.
fn graphs(graphs: &[GraphFacts]) -> Option<String> {
    let named = graphs.iter().take(MOST_GRAPHS).map(|graph| {
        let tokens = graph.range(Batch::tokens);
        let tokens = tokens.map(|range| format!(" for {}", counted_range(range, "token")));
        format!(
            "{}{}, {} of {}",
            format::counted(graph.n_work as u64, "kernel"),
            tokens.unwrap_or_default(),
            format::counted(graph.replays.len() as u64, "replay"),
            format::time_ns(graph.median_ns())
        )
    });
    let named = format::joined(named, "; ");
    let more = graphs.len().saturating_sub(MOST_GRAPHS);
    let more = match more {
        0 => String::new(),
        n => format!("; and {} more", format::count(n as u64)),
    };
    (graphs.len() > 1).then(|| format!("{named}{more}"))
}

/// The trend of each phase that has one, a sentence each.
pub fn trend_sentences(trends: &[StepTrend]) -> Vec<String> {
    let sentences = trends.iter().map(StepTrend::sentence);
    sentences
        .map(|sentence| format!("{}.", format::capitalized(&sentence)))
        .collect()
}
