//! The steps of a serving engine: what each computes and how long it takes.

use serde::{Deserialize, Serialize};

use crate::base::format;
use crate::base::stats::median_ns;
use crate::names::batch::{Batch, Phase};
use crate::profile::Profile;
use crate::profile::collectives::of_steps;
use crate::profile::launch::runtime_calls::records_busy_queues;
use crate::profile::serving::{Basis, Blocks, NamedBy, Serving, Shape, ShapeKind, StepTime};
use crate::report::steps::phase_label;

/// Facts about a serving engine or a diffusion pipeline.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ServingFacts {
    /// The result, in a sentence.
    pub sentence: String,
    /// Steps by phase of their requests.
    pub phases: Vec<PhaseFigures>,
    /// The figures of each phase, short enough to show side by side: label and value.
    pub key_facts: Vec<Vec<(String, String)>>,
    /// The engine, the model and how GPU activity is launched: label and value.
    pub facts: Vec<(String, String)>,
    /// Stages of the run, in time order.
    pub stages: Vec<StageLine>,
    /// How the recording affects the times, a sentence each.
    pub notes: Vec<String>,
}

/// Steps of one phase: medians if there are several.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PhaseFigures {
    /// The phase of their requests: "decode".
    pub phase: String,
    /// Number of steps with GPU activity.
    pub n_steps: usize,
    /// Requests per step.
    pub requests: Option<u64>,
    /// Tokens computed per step.
    pub tokens: Option<u64>,
    /// Tokens attended to per step.
    pub kv_tokens: Option<u64>,
    /// Number of requests that the step was padded to.
    pub padded_to: Option<u64>,
    /// The time of a step, in nanoseconds.
    pub step_ns: i64,
    /// How that time is measured.
    pub basis: String,
    /// Tokens computed per second; `None` if they are unknown or not all of them are output.
    pub tokens_per_s: Option<f64>,
    /// The true rate may be lower: the time covers only the step's GPU activity.
    pub is_at_most: bool,
}

/// A stage of the run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct StageLine {
    /// What it is.
    pub name: String,
    /// How long it is, in nanoseconds.
    pub ns: i64,
    /// The part of it with the GPU busy, in nanoseconds.
    pub busy_ns: i64,
    /// The median of its steps, in nanoseconds.
    pub median_ns: Option<i64>,
}

impl StageLine {
    /// Its time, its busy time and its idle time, as text.
    pub fn texts(&self) -> [String; 3] {
        let idle_ns = self.ns.saturating_sub(self.busy_ns);
        [self.ns, self.busy_ns, idle_ns].map(format::time_ns)
    }
}

impl ServingFacts {
    /// `None` if the trace is not from a serving engine.
    pub(super) fn new(profile: &Profile) -> Option<ServingFacts> {
        let serving = profile.serving()?;
        let phases = serving.phases().into_iter();
        let phases: Vec<PhaseFigures> = phases
            .filter(|(phase, _)| *phase != Some(Phase::Idle))
            .filter_map(|(phase, n)| PhaseFigures::new(serving, phase, n))
            .collect();
        let is_diffusion = is_diffusion(serving);
        let stages = serving.stages.iter().map(|stage| StageLine {
            name: stage.name(is_diffusion),
            ns: stage.ns,
            busy_ns: stage.busy_ns,
            median_ns: stage.median_ns(),
        });
        Some(ServingFacts {
            sentence: sentence(serving, &phases),
            key_facts: phases.iter().map(|phase| phase.facts(serving)).collect(),
            facts: facts(profile, serving),
            stages: stages.collect(),
            notes: notes(profile, serving, &phases),
            phases,
        })
    }

    /// All facts, prefixed with the phase if there are several: label and value.
    pub fn all_facts(&self) -> Vec<(String, String)> {
        let of_phases = self.phases.iter().zip(&self.key_facts);
        let of_phases = of_phases.flat_map(|(phase, facts)| {
            facts.iter().map(|(label, value)| match self.phases.len() {
                1 => (label.clone(), value.clone()),
                _ => (format!("{label}, {}", phase.phase), value.clone()),
            })
        });
        of_phases.chain(self.facts.iter().cloned()).collect()
    }
}

fn is_diffusion(serving: &Serving) -> bool {
    serving.of(Some(Phase::Diffusion)).next().is_some()
}

impl PhaseFigures {
    fn new(serving: &Serving, phase: Option<Phase>, n_steps: usize) -> Option<PhaseFigures> {
        let StepTime { ns, basis, .. } = serving.step_time(phase)?;
        let batches = || serving.of(phase).filter_map(|step| step.batch);
        let median = |of: fn(&Batch) -> Option<u64>| {
            let all: Option<Vec<i64>> = batches().map(|one| Some(of(&one)? as i64)).collect();
            Some(median_ns(all?)? as u64)
        };
        let tokens = median(Batch::tokens);
        let speculates = batches().any(|batch| batch.speculates());
        let rate = tokens.filter(|_| ns > 0 && !speculates);
        Some(PhaseFigures {
            phase: match phase {
                None if serving.named_by.is_inferred() => "inferred".to_owned(),
                phase => phase_label(phase).to_owned(),
            },
            n_steps,
            requests: median(Batch::requests),
            tokens,
            kv_tokens: median(Batch::kv_tokens),
            padded_to: median(|batch| batch.padded_to),
            step_ns: ns,
            basis: basis.label().to_owned(),
            tokens_per_s: rate.map(|tokens| tokens as f64 / ns as f64 * 1e9),
            is_at_most: basis == Basis::GpuSpan,
        })
    }

    /// Its figures side by side: label and value.
    fn facts(&self, serving: &Serving) -> Vec<(String, String)> {
        let count = |n: Option<u64>| n.map(format::count);
        let mean = serving
            .of(Some(Phase::Decode))
            .next()
            .and_then(|step| step.batch?.mean_context())
            .filter(|_| serving.steps.len() == 1)
            .map(|mean| format::count(mean.round() as u64));
        let denoising = denoising(serving).filter(|_| is_diffusion(serving));
        let (n_iterations, iteration_ns) = denoising.unzip();
        let time = format!("Time per step ({})", self.basis);
        let rows = [
            (
                "Steps",
                Some(
                    format!("{} {}", self.n_steps, self.word())
                        .trim_end()
                        .to_owned(),
                ),
            ),
            ("Requests", count(self.requests)),
            ("Padded to", count(self.padded_to)),
            ("Tokens", count(self.tokens)),
            ("KV tokens", count(self.kv_tokens)),
            ("Mean context", mean),
            (&time, Some(format::time_ns(self.step_ns))),
            ("Rate", self.rate()),
            ("Denoising steps", n_iterations.map(|n| n.to_string())),
            (
                "Time per denoising step (median)",
                iteration_ns.map(format::time_ns),
            ),
        ];
        let rows = rows.into_iter();
        rows.filter_map(|(label, value)| Some((label.to_owned(), value?)))
            .collect()
    }

    /// The phase of its requests, to put before the word "step"; empty if unknown.
    fn word(&self) -> &str {
        match self.phase.as_str() {
            phase if phase == phase_label(None) => "",
            phase => phase,
        }
    }

    /// "2,979 tokens/s at most".
    fn rate(&self) -> Option<String> {
        let rate = format::count(self.tokens_per_s?.round() as u64);
        Some(match self.is_at_most {
            true => format!("at most {rate} tokens/s"),
            false => format!("{rate} tokens/s"),
        })
    }

    /// "decode step of 32 requests takes 10.7 ms, at most 2,979 tokens/s"
    fn clause(&self) -> String {
        let requests = self
            .requests
            .map(|n| format!(" of {}", format::counted(n, "request")));
        let rate = self.rate().map(|rate| format!(", {rate}"));
        let word = self.word();
        let separator = if word.is_empty() { "" } else { " " };
        format!(
            "{word}{separator}step{} takes {}{}",
            requests.unwrap_or_default(),
            format::time_ns(self.step_ns),
            rate.unwrap_or_default()
        )
    }
}

fn sentence(serving: &Serving, phases: &[PhaseFigures]) -> String {
    if is_diffusion(serving) {
        return diffusion(serving);
    }
    let (article, many) = match phases.iter().any(|phase| phase.n_steps > 1) {
        true => ("A", " (median)"),
        false => ("The", ""),
    };
    let article = match phases
        .first()
        .is_some_and(|phase| phase.phase.starts_with('i'))
    {
        true if article == "A" => "An",
        _ => article,
    };
    let clauses: Vec<String> = phases.iter().map(PhaseFigures::clause).collect();
    match clauses.as_slice() {
        [] => "No step of the engine has GPU activity.".to_owned(),
        all => format!("{article} {}{many}.", all.join("; a ")),
    }
}

/// Denoising steps of a pipeline: how many, and the median of their times in nanoseconds.
fn denoising(serving: &Serving) -> Option<(usize, i64)> {
    let steps = serving.stages.iter().find(|stage| stage.parts.len() > 1)?;
    Some((steps.parts.len(), steps.median_ns()?))
}

fn diffusion(serving: &Serving) -> String {
    let all = serving.span().map_or(0, |span| span.length());
    let images = serving.steps.iter().find_map(|step| step.batch?.images);
    let what = match images {
        Some(images) => format!(
            "{} of {}\u{d7}{} pixels",
            format::counted(images.batch, "image"),
            images.height,
            images.width
        ),
        None => "The pipeline".to_owned(),
    };
    let (takes, all) = match images.is_some_and(|images| images.batch > 1) {
        true => ("take", format::time_ns(all)),
        false => ("takes", format::time_ns(all)),
    };
    let steps = denoising(serving).map(|(n, median_ns)| {
        let median = format::time_ns(median_ns);
        format!(", in {n} denoising steps of {median} each")
    });
    format!("{what} {takes} {all}{}.", steps.unwrap_or_default())
}

fn facts(profile: &Profile, serving: &Serving) -> Vec<(String, String)> {
    let mut facts = Vec::new();
    let mut add = |label: &str, value: Option<String>| {
        facts.extend(value.map(|value| (label.to_owned(), value)));
    };
    add(
        "Engine",
        serving.engine.map(|engine| engine.label().to_owned()),
    );
    add("Model", profile.model_info().model.value.clone());
    add(
        "TP size",
        crate::trace::distributed::layer_ranks(&profile.trace).map(|size| size.to_string()),
    );
    add("Launches", Some(shape(&serving.shape)));
    add("Layers", serving.blocks.as_ref().map(layers));
    add(
        "All-reduces",
        of_steps(profile).map(|steps| {
            let each = format::time_ns(match steps.n {
                1 => steps.first_ns,
                _ => steps.other_ns,
            });
            format!("{} in a step, {each} each (medians)", steps.n)
        }),
    );
    facts
}

/// How GPU activity is launched: "1 graph replay of 421 kernels; 13 outside".
fn shape(shape: &Shape) -> String {
    let replays = format::counted(shape.launches as u64, "graph replay");
    match shape.kind {
        ShapeKind::Eager => "eager: no graph is replayed".to_owned(),
        kind => format!(
            "{}: {replays} of {} with {} in {}; {} outside",
            match kind {
                ShapeKind::PiecewiseGraph => "piecewise graphs",
                _ => "full graph",
            },
            format::counted(shape.graphs as u64, "graph"),
            format::counted(shape.n_work as u64, "kernel"),
            format::time_ns(shape.replay_ns),
            format::count(shape.n_outside as u64)
        ),
    }
}

/// The layers if both ways of counting agree, otherwise only what repeats.
fn layers(blocks: &Blocks) -> String {
    /// More groups of layers are not a plausible model structure.
    const MOST_GROUPS: usize = 4;
    // A whole number, unless the first or the last layer was recorded in part.
    let is_whole = (blocks.blocks - blocks.blocks.round()).abs() < 0.05;
    let decimals = usize::from(!is_whole);
    let repeats = format!(
        "{:.0} kernels repeat {:.decimals$} times",
        blocks.period, blocks.blocks
    );
    if let Some(layers) = blocks.layers {
        return match blocks.layers_per_block {
            1 => format!("{layers} ({repeats})"),
            n => format!("{layers} ({repeats}, {n} layers in each)"),
        };
    }
    let alike: Vec<String> = blocks.alike.iter().map(usize::to_string).collect();
    match blocks.attention {
        0 => repeats,
        n if (2..=MOST_GROUPS).contains(&alike.len()) && alike.len() < n => {
            format!("{n} attention kernels ({}); {repeats}", alike.join(" + "))
        }
        n => format!("{n} attention kernels; {repeats}"),
    }
}

fn notes(profile: &Profile, serving: &Serving, phases: &[PhaseFigures]) -> Vec<String> {
    let mut notes = Vec::new();
    if serving.named_by == NamedBy::Frames {
        notes.push("No annotation names the steps: they are calls of the engine's Python function, and their requests and tokens are not known.".to_owned());
    }
    match serving.named_by {
        NamedBy::Replays => notes.push("Nothing in the trace names the steps: each is inferred from the replay of a graph that recurs, and its requests and tokens are not known.".to_owned()),
        NamedBy::Kernels => notes.push("Nothing in the trace names the steps: they are inferred from the sequence of kernels, which repeats, and their requests and tokens are not known.".to_owned()),
        NamedBy::Annotations | NamedBy::Frames => {}
    }
    let has_tokens = phases.iter().any(|phase| phase.tokens.is_some());
    if has_tokens && phases.iter().all(|phase| phase.kv_tokens.is_none()) {
        notes.push(
            "The annotations count no KV tokens, so the work of attention is not known.".to_owned(),
        );
    }
    if phases
        .iter()
        .any(|phase| phase.is_at_most && phase.tokens_per_s.is_some())
    {
        notes.push("Tokens per second are an upper limit: work between steps, such as sampling, is not in the time of a single step.".to_owned());
    }
    let cut_ns: i64 = serving
        .steps
        .iter()
        .filter_map(|step| Some(step.activity?.cut_ns))
        .sum();
    if cut_ns > 0 {
        notes.push(format!(
            "{} at the start of a step are left out of its time: the step waits for a batch that was launched before the recording.",
            format::time_ns(cut_ns)
        ));
    }
    notes.extend(of_steps(profile).and_then(|steps| steps.unexpected()));
    if records_busy_queues(&profile.trace) {
        notes.push(BUSY_QUEUES.to_owned());
    }
    notes
}

const BUSY_QUEUES: &str = "On ROCm the recorded start of a kernel in a busy queue is the end of the one before it: kernel times include the gap before them, and idle time inside a graph replay is not seen.";
