//! What is shown of a job: the headline first, then the findings, then the evidence. The page, documents and the
//! command line show the same value.

mod measures;
mod quality;
mod tables;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use super::analysis::Analysis;
pub use super::cards::{CardCollective, JobCard, ShownTable};
use super::digest::Step;
use super::files::Excluded;
use super::findings;
use super::sheets;
use super::{Job, Rank};
use crate::base::format;
use crate::base::group::summed;
use crate::base::interval::sum;
use crate::base::map::Map;
use crate::base::sort::FirstMax;
use sheets::{Place, Waits};

/// The inputs of the overview.
struct Context<'a> {
    job: &'a Job,
    analysis: &'a Analysis,
    /// How long each rank waited in each step.
    waits: Map<Place, Waits>,
}

/// The unit of a measure's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum MeasureUnit {
    /// Percent.
    Percent,
    /// Milliseconds.
    Ms,
    /// A ratio: 1 is as expected.
    Ratio,
}

/// A number for each rank in each step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measure {
    /// Its name in files and links: "delay".
    pub key: String,
    /// Its display name: "Delay caused".
    pub label: String,
    /// What it means, in a sentence.
    pub doc: String,
    /// The unit of its values.
    pub unit: MeasureUnit,
    /// Indexed by rank, then by step; `None` where unknown.
    pub values: Vec<Vec<Option<f64>>>,
}

impl Measure {
    /// Formats a value.
    pub fn text(&self, value: f64) -> String {
        match self.unit {
            MeasureUnit::Percent => format::percent(value),
            MeasureUnit::Ms => format::time_ms(value),
            MeasureUnit::Ratio => format!("{value:.2}×"),
        }
    }
}

/// A rank, as views name it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RankName {
    /// Its number.
    pub number: u32,
    /// Its host.
    pub host: String,
    /// The name of its file.
    pub file: String,
}

/// The overview of a job.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct JobOverview {
    /// The main result, in a sentence or two.
    pub headline: String,
    /// Facts about the job: ranks, hosts, steps.
    pub about: Vec<(String, String)>,
    /// Names of the steps.
    pub steps: Vec<String>,
    /// Sorted by number.
    pub ranks: Vec<RankName>,
    /// The first one is shown first.
    pub measures: Vec<Measure>,
    /// Largest saving first.
    pub cards: Vec<JobCard>,
    /// The evidence: ranks, collectives, groups, clocks.
    pub tables: Vec<ShownTable>,
    /// Sentences about what is missing, damaged or excluded.
    pub quality: Vec<String>,
}

impl JobOverview {
    /// Builds the overview from a job, its analysis and the files that were excluded.
    pub fn new(job: &Job, analysis: &Analysis, excluded: &[Excluded]) -> JobOverview {
        let context = Context {
            job,
            analysis,
            waits: sheets::waits(job, analysis),
        };
        let cards = findings::find(job, analysis, excluded).into_iter();
        let cards = cards.map(|card| JobCard {
            collective: waited_for_in(&context, &card),
            ..card
        });
        let cards: Vec<JobCard> = cards.collect();
        JobOverview {
            headline: headline(&context, &cards),
            about: about(job),
            steps: (job.steps.iter())
                .map(|step| match job.has_no_marked_steps() {
                    true => "all of it".to_owned(),
                    false => format!("step {}", step.number),
                })
                .collect(),
            ranks: job.ranks.iter().map(|rank| name(job, rank)).collect(),
            measures: measures::of(&context),
            cards,
            tables: tables::of(&context),
            quality: quality::lines(job, &analysis.network, excluded),
        }
    }
}

/// The finding with the largest saving, and where others wait because of it.
fn headline(context: &Context, cards: &[JobCard]) -> String {
    let job = context.job;
    if let Some(card) = cards
        .first()
        .filter(|card| card.key == findings::UNFINISHED)
    {
        return format!("{}. {}", card.title, card.issue);
    }
    let first = cards.first().filter(|card| card.saving_ns.is_some());
    match first.filter(|card| !card.is_bound()) {
        Some(card) => {
            let saves = format!("{}. Fixing it saves {}.", card.title, card.savings);
            match others_wait_in(context, card) {
                Some(kind) => format!("{saves} The other ranks wait most in {kind}."),
                None => saves,
            }
        }
        None if job.ranks.len() < 2 => {
            "Only one rank was read, so waiting between ranks is unknown.".to_owned()
        }
        None if job.collectives.is_empty() => {
            "No collective could be matched across ranks, so waiting between ranks is unknown."
                .to_owned()
        }
        None if !job.clocks.are_comparable => {
            "The clocks of the ranks could not be aligned, so waiting between ranks is unknown."
                .to_owned()
        }
        None => no_single_rank(job, cards),
    }
}

/// The headline if no finding is worth naming: what is known, and what is not.
fn no_single_rank(job: &Job, cards: &[JobCard]) -> String {
    let bound = cards.iter().find(|card| card.is_bound());
    let single = if bound.is_some() { "single " } else { "" };
    let n_read = job.ranks.len();
    let of_read = match job.missing().is_empty() {
        true => String::new(),
        false => format!(
            " of the {n_read} that were read, out of {},",
            job.world_size
        ),
    };
    let mut all = format!("No {single}rank{of_read} delays the others by 1 % of a step or more.");
    if let Some(card) = bound {
        let waiting = format!(" All waiting between ranks costs at most {}.", card.savings);
        all.push_str(&waiting);
    }
    // What takes the time instead.
    let instead = [findings::FEW_MICRO_BATCHES, findings::EXPOSED];
    for card in cards
        .iter()
        .filter(|card| instead.contains(&card.key.as_str()))
    {
        all.push(' ');
        all.push_str(&card.issue);
    }
    all
}

/// The collectives in which the ranks that a card does not blame wait the most, in the step that shows it best; `None`
/// if the card blames no rank.
fn others_wait_in(context: &Context, card: &JobCard) -> Option<&'static str> {
    let Context { job, analysis, .. } = context;
    let is_blamed = |rank: usize| (job.number(rank)).is_some_and(|of| card.ranks.contains(&of));
    if !analysis.causes.iter().any(|cause| is_blamed(cause.rank)) {
        return None;
    }
    let nodes = analysis.flow.nodes.iter();
    let nodes = nodes.filter(|node| card.step.is_none() || node.step == card.step);
    let waits = nodes.filter_map(|node| {
        let kind = node.collective(job)?.kind.label();
        let parts = analysis.flow.parts_of(node).iter();
        let waits = parts.zip(sheets::waits_in(job, analysis, node));
        let of_others = waits.filter(|(part, _)| !is_blamed(part.rank));
        let ns = sum(of_others.filter_map(|(_, ns)| ns));
        Some((kind, ns))
    });
    let by_kind = summed(waits).into_iter();
    let most = by_kind.first_max_by_key(|one| one.1);
    most.filter(|(_, ns)| *ns > 0).map(|(kind, _)| kind)
}

/// The collective in which others wait the longest for a rank of a card, in the step that shows it best.
fn waited_for_in(context: &Context, card: &JobCard) -> Option<CardCollective> {
    let Context { job, analysis, .. } = context;
    let nodes = analysis.flow.nodes.iter();
    let nodes = nodes.filter(|node| card.step.is_some() && node.step == card.step);
    let waited = nodes.filter_map(|node| {
        let part = analysis.flow.parts.get(node.last)?;
        let rank = job.number(part.rank)?;
        let kind = node.collective(job)?.kind;
        let ns = sum(sheets::waits_in(job, analysis, node).into_iter().flatten());
        let is_of_card = card.ranks.contains(&rank) && ns > 0;
        is_of_card.then_some((ns, rank, part, kind))
    });
    let (_, rank, part, kind) = waited.first_max_by_key(|one| one.0)?;
    let (digest, own) = part.recorded(job)?;
    Some(CardCollective {
        rank,
        kind: kind.label().to_owned(),
        kernel: digest.text(own.kernel).to_owned(),
        start_ns: own.span.start_ns,
    })
}

fn name(job: &Job, rank: &Rank) -> RankName {
    RankName {
        number: rank.number,
        host: job.hosts.get(rank.host).cloned().unwrap_or_default(),
        file: rank.digest.file.name.clone(),
    }
}

fn about(job: &Job) -> Vec<(String, String)> {
    let n_read = job.ranks.len();
    let ranks = match u32::try_from(n_read) == Ok(job.world_size) {
        true => format::count(u64::from(job.world_size)),
        false => format!("{n_read} of {}", job.world_size),
    };
    let mut devices: Vec<&str> = Vec::new();
    for rank in &job.ranks {
        let device = rank.digest.identity.device.as_str();
        if !device.is_empty() && !devices.contains(&device) {
            devices.push(device);
        }
    }
    let all = [
        ("Ranks", ranks),
        ("Hosts", format::count(job.hosts.len() as u64)),
        ("Steps", format::count(job.steps.len() as u64)),
        ("GPU", devices.join(", ")),
        ("Collectives", format::count(job.collectives.len() as u64)),
    ];
    let non_empty = all.into_iter().filter(|(_, text)| !text.is_empty());
    non_empty
        .map(|(label, text)| (label.to_owned(), text))
        .collect()
}

/// The steps of a rank, for each step of the job.
fn steps_of(job: &Job, at: usize) -> impl Iterator<Item = Option<&Step>> {
    job.steps.iter().map(move |step| {
        let own = step.of_rank.get(at).copied().flatten()?;
        job.ranks.get(at)?.digest.steps.get(own as usize)
    })
}
