//! What is shown of a job: the sentence first, then what to do, then the evidence. Page, documents and
//! the command line show the same value.

use serde::{Deserialize, Serialize};

use super::analysis::Analysis;
use super::clocks::Clock;
use super::digest::{GpuTime, Step};
use super::findings;
use super::network::Link;
pub use super::shown::{JobCard, ShownTable};
use super::world::SetApart;
use super::{Job, Rank};
use crate::base::format;
use crate::base::interval::percent_of;
use crate::base::sort::Arrange;
use crate::base::value::{Table, Value};

/// Rows of the table of links.
const MOST_LINKS: usize = 100;

/// What a measure's numbers mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum MeasureUnit {
    /// Percent.
    Percent,
    /// Milliseconds.
    Ms,
    /// One thing over another: 1 is as expected.
    Ratio,
}

/// A number for each rank in each step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measure {
    /// Its name in files and links: "delay".
    pub key: String,
    /// For people: "Delay caused".
    pub label: String,
    /// What it means, in a sentence.
    pub doc: String,
    /// Of its numbers.
    pub unit: MeasureUnit,
    /// By rank, then by step; `None` where it is not known.
    pub values: Vec<Vec<Option<f64>>>,
}

impl Measure {
    /// A number for people.
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

/// What is shown of a job.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct JobOverview {
    /// The answer, in a sentence or two.
    pub headline: String,
    /// What it is: ranks, hosts, steps.
    pub about: Vec<(String, String)>,
    /// Names of the steps.
    pub steps: Vec<String>,
    /// By number.
    pub ranks: Vec<RankName>,
    /// The one to show first comes first.
    pub measures: Vec<Measure>,
    /// What is worth most comes first.
    pub cards: Vec<JobCard>,
    /// The evidence: ranks, collectives, groups, clocks.
    pub tables: Vec<ShownTable>,
    /// What is missing, damaged or set apart, sentence by sentence.
    pub quality: Vec<String>,
}

impl JobOverview {
    /// Of a job, what it comes to, and what took no part in it.
    pub fn new(job: &Job, analysis: &Analysis, set_apart: &[SetApart]) -> JobOverview {
        let cards = findings::find(job, analysis, set_apart);
        JobOverview {
            headline: headline(job, &cards),
            about: about(job),
            steps: (job.steps.iter())
                .map(|step| format!("step {}", step.number))
                .collect(),
            ranks: job.ranks.iter().map(|rank| name(job, rank)).collect(),
            measures: measures(job, analysis),
            cards,
            tables: vec![
                ShownTable {
                    ranks: job.ranks.iter().map(|rank| Some(rank.number)).collect(),
                    ..ShownTable::from(&ranks(job, analysis))
                },
                ShownTable::from(&links(job, analysis)),
                ShownTable::from(&layout(analysis)),
                ShownTable::from(&clocks(job)),
            ],
            quality: quality(job, set_apart),
        }
    }
}

/// The finding that is worth most.
fn headline(job: &Job, cards: &[JobCard]) -> String {
    let first = cards.first().filter(|card| card.worth_ns.is_some());
    match first.filter(|card| card.key != "no_waiting") {
        Some(card) => format!("{}. Fixing it saves {}.", card.title, card.worth),
        None if job.ranks.len() < 2 => {
            "Only one rank was read, so nothing tells who waits for whom.".to_owned()
        }
        None if job.collectives.is_empty() => {
            "No collective of several ranks could be matched, so nothing tells who waits for whom."
                .to_owned()
        }
        None => "No rank holds the others up by 1 % of a step or more.".to_owned(),
    }
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
    let device = job
        .ranks
        .first()
        .map_or("", |rank| &rank.digest.identity.device);
    let all = [
        ("Ranks", ranks),
        ("Hosts", format::count(job.hosts.len() as u64)),
        ("Steps", format::count(job.steps.len() as u64)),
        ("GPU", device.to_owned()),
        ("Collectives", format::count(job.collectives.len() as u64)),
    ];
    let told = all.into_iter().filter(|(_, text)| !text.is_empty());
    told.map(|(label, text)| (label.to_owned(), text)).collect()
}

/// The steps of a rank, by step of the job.
fn steps_of(job: &Job, at: usize) -> impl Iterator<Item = Option<&Step>> {
    job.steps.iter().map(move |step| {
        let own = step.of_rank.get(at).copied().flatten()?;
        job.ranks.get(at)?.digest.steps.get(own as usize)
    })
}

fn measures(job: &Job, analysis: &Analysis) -> Vec<Measure> {
    let measure =
        |key: &str, label: &str, doc: &str, unit, of: &dyn Fn(usize, usize) -> Option<f64>| {
            Measure {
                key: key.to_owned(),
                label: label.to_owned(),
                doc: doc.to_owned(),
                unit,
                values: (0..job.ranks.len())
                    .map(|rank| (0..job.steps.len()).map(|step| of(rank, step)).collect())
                    .collect(),
            }
        };
    let own = |rank: usize, step: usize| steps_of(job, rank).nth(step).flatten();
    let length_ns = |rank: usize, step: usize| match own(rank, step)?.gpu.span.length() {
        0 => Some(own(rank, step)?.host.length()),
        ns => Some(ns),
    };
    let share = |of: fn(&GpuTime) -> i64| {
        move |rank: usize, step: usize| {
            let gpu = own(rank, step)?.gpu;
            percent_of(of(&gpu), gpu.span.length())
        }
    };
    let delay = |rank, step| {
        let ns = analysis.delays.of(step, rank)?.excess.total_ns;
        percent_of(ns, length_ns(rank, step)?)
    };
    let waiting = |rank, step| {
        let known = job.clocks.are_comparable;
        let delay = analysis.delays.of(step, rank).filter(|_| known)?;
        percent_of(delay.waited_ns, length_ns(rank, step)?)
    };
    use MeasureUnit::{Percent, Ratio};
    vec![
        measure(
            "delay",
            "Delay caused",
            "How much longer than its peers the rank takes before its collectives, as a share of the step.",
            Percent,
            &delay,
        ),
        measure(
            "same_work",
            "Same kernels",
            "How many times as long the rank takes as others for the same kernels, operators and shapes.",
            Ratio,
            &|rank, step| analysis.same_work.ratio(step, rank),
        ),
        measure(
            "waiting",
            "Waiting",
            "Share of the step in which the rank waits in collectives for others.",
            Percent,
            &waiting,
        ),
        measure(
            "computation",
            "Computation",
            "Share of the step in which kernels compute.",
            Percent,
            &share(|gpu| gpu.computation_ns),
        ),
        measure(
            "exposed_communication",
            "Exposed communication",
            "Share of the step in which the rank communicates and nothing computes; waiting for other ranks is part of it.",
            Percent,
            &share(|gpu| gpu.exposed_comm_ns),
        ),
        measure(
            "idle",
            "Idle",
            "Share of the step in which nothing runs on the GPU.",
            Percent,
            &share(|gpu| gpu.idle_ns),
        ),
    ]
}

/// One row a rank.
fn ranks(job: &Job, analysis: &Analysis) -> Table {
    let mean = |at: usize, of: &dyn Fn(&Step) -> i64| {
        let all: Vec<i64> = steps_of(job, at).flatten().map(of).collect();
        match i64::try_from(all.len()) {
            Ok(n) if n > 0 => Value::Ns(all.iter().sum::<i64>() / n),
            _ => Value::NO_NS,
        }
    };
    let has_gpu = |at: usize| {
        job.ranks
            .get(at)
            .is_some_and(|rank| rank.digest.gpu.is_some())
    };
    // Without a GPU nothing is known of its time.
    let on_gpu = |at: usize, of: &dyn Fn(&GpuTime) -> i64| match has_gpu(at) {
        true => mean(at, &|step| of(&step.gpu)),
        false => Value::NO_NS,
    };
    let ranks = job.ranks.iter().enumerate();
    Table::of(
        "ranks",
        "Ranks",
        ranks,
        &[
            ("rank", "Rank", &|(_, rank)| {
                Value::Count(u64::from(rank.number))
            }),
            ("host", "Host", &|(_, rank)| {
                Value::Text(name(job, rank).host)
            }),
            ("step", "Step", &|(at, _)| match has_gpu(*at) {
                true => mean(*at, &|step| step.gpu.span.length()),
                false => mean(*at, &|step| step.host.length()),
            }),
            ("delay", "Delay caused", &|(at, _)| {
                let n = job.steps.len().max(1) as i64;
                let delay = analysis.delays.of_ranks.get(*at);
                delay.map_or(Value::NO_NS, |delay| Value::Ns(delay.excess.total_ns / n))
            }),
            ("same_work", "Same kernels", &|(at, _)| {
                let same = analysis.same_work.of_ranks.get(*at);
                let ratio = same.and_then(|same| same.ratio());
                Value::number(ratio)
            }),
            ("waiting", "Waiting", &|(at, _)| {
                let n = job.steps.len().max(1) as i64;
                let delay = analysis.delays.of_ranks.get(*at);
                let delay = delay.filter(|_| job.clocks.are_comparable);
                delay.map_or(Value::NO_NS, |delay| Value::Ns(delay.waited_ns / n))
            }),
            ("computation", "Computation", &|(at, _)| {
                on_gpu(*at, &|gpu| gpu.computation_ns)
            }),
            ("exposed", "Exposed communication", &|(at, _)| {
                on_gpu(*at, &|gpu| gpu.exposed_comm_ns)
            }),
            ("idle", "Idle", &|(at, _)| on_gpu(*at, &|gpu| gpu.idle_ns)),
            ("file", "File", &|(_, rank)| {
                Value::Quoted(rank.digest.file.name.clone())
            }),
        ],
    )
}

/// How fast the data moved, the longest first.
fn links(job: &Job, analysis: &Analysis) -> Table {
    let mut links: Vec<&Link> = analysis.network.links.iter().collect();
    let all_ns = |link: &Link| link.median_ns.saturating_mul(link.collectives.len() as i64);
    links.arrange_by_key(|link| std::cmp::Reverse(all_ns(link)));
    links.truncate(MOST_LINKS);
    Table::of(
        "links",
        "Collectives by group and size",
        links,
        &[
            ("what", "Message", &|link| Value::Text(link.label())),
            ("between", "Between", &|link| {
                Value::Text(link.ranks_label(job))
            }),
            ("ranks", "Ranks", &|link| Value::Count(link.n_ranks as u64)),
            ("spans_hosts", "Over hosts", &|link| {
                Value::Flag(link.spans_hosts)
            }),
            ("count", "Count", &|link| {
                Value::Count(link.collectives.len() as u64)
            }),
            ("median", "Transfer, median", &|link| {
                Value::Ns(link.median_ns)
            }),
            ("p95", "95th percentile", &|link| Value::Ns(link.p95_ns)),
            ("bus", "Bus bandwidth", &|link| Value::gbps(link.bus_gbps)),
            ("share", "Share of the link", &|link| {
                Value::percent(link.share_percent())
            }),
        ],
    )
}

fn layout(analysis: &Analysis) -> Table {
    Table::of(
        "layout",
        "Layout",
        &analysis.layout.dimensions,
        &[
            ("role", "Dimension", &|of| {
                Value::Text(of.role.label().to_owned())
            }),
            ("size", "Ranks in a group", &|of| {
                Value::Count(of.size as u64)
            }),
            ("groups", "Groups", &|of| Value::Count(of.n_groups as u64)),
            ("stride", "Distance of neighbors", &|of| {
                of.stride
                    .map_or(Value::Empty, |stride| Value::Count(u64::from(stride)))
            }),
            ("spans_hosts", "Over hosts", &|of| {
                Value::Flag(of.spans_hosts)
            }),
        ],
    )
}

/// One row a host: ranks of a host share a clock.
fn clocks(job: &Job) -> Table {
    let hosts = job.hosts.iter().enumerate().map(|(host, name)| {
        let ranks = job.ranks.iter().zip(&job.clocks.of_rank);
        let own = ranks.filter(move |(rank, _)| rank.host == host);
        (name, own.map(|(_, clock)| *clock).collect::<Vec<Clock>>())
    });
    let first = |clocks: &[Clock], of: fn(&Clock) -> f64| {
        clocks
            .first()
            .map_or(Value::NO_NS, |clock| Value::Ns(of(clock).round() as i64))
    };
    Table::of(
        "clocks",
        "Clocks",
        hosts,
        &[
            ("host", "Host", &|(name, _)| Value::Text((*name).clone())),
            ("ranks", "Ranks", &|(_, clocks)| {
                Value::Count(clocks.len() as u64)
            }),
            ("offset", "Ahead of the first rank", &|(_, clocks)| {
                first(clocks, |clock| clock.offset_ns)
            }),
            ("spread", "Scatter", &|(_, clocks)| {
                first(clocks, |clock| clock.spread_ns)
            }),
        ],
    )
}

fn quality(job: &Job, set_apart: &[SetApart]) -> Vec<String> {
    let missing: Vec<String> = job.missing().iter().map(u32::to_string).collect();
    let mut notes = Vec::new();
    if !missing.is_empty() {
        let noun = if missing.len() == 1 { "Rank" } else { "Ranks" };
        notes.push(format!(
            "{noun} {} of {} not given: waiting and skew are lower bounds.",
            format::listed(&missing),
            job.world_size
        ));
    }
    let apart = set_apart
        .iter()
        .map(|apart| format!("{}: {}.", apart.file.name, apart.why));
    notes.extend(apart);
    for rank in &job.ranks {
        let lost = rank.digest.warnings.iter();
        let lost = lost.filter(|warning| {
            warning.kind.severity() == crate::import::warning::Severity::DataLoss
        });
        notes.extend(lost.map(|warning| format!("Rank {}: {}", rank.number, warning.sentence())));
    }
    notes
}
