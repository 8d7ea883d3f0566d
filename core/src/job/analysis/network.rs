//! How fast the data moved: by group and message, compared with groups of the same kind, and from step to step.

mod figures;

use super::timing::Timing;
use crate::base::format;
use crate::base::group::grouped;
use crate::base::map::{Map, Set};
use crate::base::sort::{Arrange, Arranged};
use crate::base::stats::{median_ns, p95_ns};
use crate::job::Job;
use crate::job::digest::{Collective, Digest};
use crate::job::matching::Matched;
use crate::names::collective::CollectiveKind;
use figures::figure_gbps;

pub use figures::NetworkFigures;

/// A group or a step is slow if its median takes this many times that of the others.
const SLOW: f64 = 1.3;

/// Fewer collectives than this are not enough for a conclusion.
const LEAST: usize = 3;

/// Shorter transfers are latency-bound; bandwidth does not matter for them.
const LEAST_TRANSFER_NS: i64 = 50_000;

/// Messages below this size are latency-bound.
pub(crate) const SMALL_BYTES: u64 = 65_536;

/// Messages from this size on are bandwidth-bound.
const LARGE_BYTES: u64 = 16_000_000;

/// Bandwidth is poorly used below this share of what the link can carry.
pub(crate) const FAR_BELOW_PERCENT: f64 = 50.0;

/// No link carries a larger share of its figure, apart from inaccurate clocks.
const MOST_PERCENT: f64 = 105.0;

/// Which ranks exchange messages: a group, or two of its ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Path {
    /// As an index into the groups of the job.
    pub(crate) group: usize,
    /// For point-to-point transfers, the numbers of the two ranks, the lower one first.
    pub(crate) pair: Option<(u32, u32)>,
}

/// What is exchanged.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Message {
    pub(crate) kind: CollectiveKind,
    pub(crate) dtype: String,
    /// `None` where sizes vary, as for tokens sent to experts.
    pub(crate) bytes: Option<u64>,
}

/// The collectives with the same path and message.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Link {
    pub(crate) path: Path,
    pub(crate) message: Message,
    /// How many ranks take part.
    pub(crate) n_ranks: usize,
    /// How many of those ranks were read for each collective. Where not all were, a transfer may include waiting for the
    /// missing ones, so it is an upper bound: others are compared with it, but it is never called slow.
    pub(crate) n_read: usize,
    pub(crate) spans_hosts: bool,
    /// As indices into the collectives of the job.
    pub(crate) collectives: Vec<usize>,
    pub(crate) min_ns: i64,
    pub(crate) median_ns: i64,
    pub(crate) p95_ns: i64,
    /// Computed from the median; for messages of many sizes, the median of their bandwidths.
    pub(crate) bus_gbps: Option<f64>,
    /// What the link can carry in one direction, in the same unit; `None` where unknown.
    pub(crate) figure_gbps: Option<f64>,
    /// Median of nanoseconds per byte on the bus: comparable between sizes.
    cost: f64,
}

/// A path that is slower than others of its kind.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SlowPath {
    pub(crate) path: Path,
    /// How many times as long as the others.
    pub(crate) ratio: f64,
    /// Its slow links, as indices into [`Network::links`].
    pub(crate) links: Vec<usize>,
}

/// A step in which a path is slower than in others.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SlowStep {
    /// As an index into the steps of the job.
    pub(crate) step: usize,
    /// How many times as long as in other steps: the median over all slow links.
    pub(crate) ratio: f64,
    /// The slow collectives, with how many times as long each took.
    pub(crate) collectives: Vec<(usize, f64)>,
}

/// What the traces show about the network.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Network {
    /// Sorted by path and message.
    pub(crate) links: Vec<Link>,
    /// Slowest first.
    pub(crate) slow_paths: Vec<SlowPath>,
    /// The ranks that are on all slow paths and on no normal path of the same kind.
    pub(crate) culprits: Vec<u32>,
    /// In order of the steps.
    pub(crate) slow_steps: Vec<SlowStep>,
    /// Links with large messages, as indices into [`Network::links`], that carry far less than they can; lowest share
    /// first.
    pub(crate) below_figure: Vec<usize>,
}

impl Network {
    /// Evaluates the timings of a job's collectives.
    pub(crate) fn new(job: &Job, timings: &[Option<Timing>], figures: NetworkFigures) -> Network {
        let links = links(job, timings, figures);
        let slow_paths = slow_paths(job, &links);
        let slow_steps = slow_steps(job, timings, &links);
        Network {
            culprits: culprits(job, &links, &slow_paths),
            below_figure: below_figure(&links, timings, &slow_steps),
            slow_steps,
            links,
            slow_paths,
        }
    }
}

/// Message size of a collective in bytes, as benchmarks of collectives count it; `None` where size or type is unknown.
pub(crate) fn message_bytes(digest: &Digest, of: &Collective) -> Option<f64> {
    let elements = match digest.kind(of) {
        CollectiveKind::AllGather => of.got,
        CollectiveKind::Barrier => None,
        _ => of.given,
    };
    Some(elements? as f64 * digest.element_bytes(of)?)
}

/// Whether ranks exchange parts of different sizes.
pub(crate) fn is_uneven(digest: &Digest, of: &Collective) -> bool {
    digest.text(of.name) == "all_to_allv"
}

/// In an all-to-all with uneven parts, the bytes that cross the links of the rank that sends or receives the most.
fn uneven_bytes(job: &Job, matched: &Matched) -> Option<f64> {
    let group = job.groups.get(matched.group?)?;
    let bytes = matched.rows(&job.ranks).map(|(rank, of)| {
        let digest = &rank.digest;
        let own = group
            .ranks
            .iter()
            .position(|number| *number == rank.number)?;
        let element = digest.element_bytes(of)?;
        let others = of.splits.map(|split| {
            let list = digest.text(split).trim_matches(['[', ']']).split(',');
            let sizes: Option<Vec<f64>> = list.map(|size| size.trim().parse().ok()).collect();
            let sizes = sizes.filter(|sizes| sizes.len() == group.ranks.len())?;
            let of_others = sizes.iter().enumerate().filter(|(at, _)| *at != own);
            Some(of_others.map(|(_, size)| size * element).sum::<f64>())
        });
        let [given, got] = others;
        Some(given?.max(got?))
    });
    let bytes: Option<Vec<f64>> = bytes.collect();
    bytes?.into_iter().reduce(f64::max)
}

/// The bytes that a collective moves over the bus.
pub(crate) fn bus_bytes(job: &Job, matched: &Matched) -> Option<f64> {
    let (rank, of) = matched.rows(&job.ranks).next()?;
    if is_uneven(&rank.digest, of) {
        return uneven_bytes(job, matched);
    }
    let factor = matched.kind.bus_factor(matched.expected as f64)?;
    Some(message_bytes(&rank.digest, of)? * factor)
}

fn path(matched: &Matched) -> Option<Path> {
    let pair = matched
        .pair
        .map(|(one, other)| (one.min(other), one.max(other)));
    Some(Path {
        group: matched.group?,
        pair,
    })
}

fn links(job: &Job, timings: &[Option<Timing>], figures: NetworkFigures) -> Vec<Link> {
    if !job.clocks.are_comparable {
        return Vec::new();
    }
    let timed = job.collectives.iter().zip(timings).enumerate();
    let keyed = timed.filter_map(|(at, (matched, timing))| {
        let timing = timing.as_ref().filter(|timing| !timing.is_impossible)?;
        let (rank, of) = matched.rows(&job.ranks).next()?;
        let bytes = message_bytes(&rank.digest, of).filter(|_| !is_uneven(&rank.digest, of));
        let message = Message {
            kind: matched.kind,
            dtype: rank.digest.text(of.dtype).to_owned(),
            bytes: bytes.map(|bytes| bytes as u64),
        };
        let n_read = matched.members.len();
        // A single rank is not enough to measure a transfer.
        (n_read > 1).then_some(())?;
        Some(((path(matched)?, message, n_read), (at, timing.transfer_ns)))
    });
    let links = grouped(keyed, Vec::push).into_iter();
    let links = links.filter_map(|((path, message, n_read), of): (_, Vec<(usize, i64)>)| {
        let lengths = || of.iter().map(|(_, ns)| *ns).collect::<Vec<i64>>();
        let median = median_ns(lengths())?;
        let costs = of.iter().filter_map(|(at, ns)| {
            let bytes = bus_bytes(job, job.collectives.get(*at)?)?;
            (bytes > 0.0).then(|| *ns as f64 / bytes)
        });
        let costs = costs.arranged_by(f64::total_cmp);
        let cost = costs.get(costs.len() / 2).copied();
        let group = job.groups.get(path.group)?;
        let spans_hosts = match path.pair {
            None => group.spans_hosts(&job.ranks),
            Some((one, other)) => {
                let host = |number| job.ranks.iter().find(|rank| rank.number == number);
                host(one).map(|rank| rank.host) != host(other).map(|rank| rank.host)
            }
        };
        Some(Link {
            n_ranks: path.pair.map_or(group.ranks.len(), |_| 2),
            n_read,
            spans_hosts,
            min_ns: lengths().into_iter().min()?,
            median_ns: median,
            p95_ns: p95_ns(lengths())?,
            figure_gbps: figure_gbps(job, figures, path, spans_hosts),
            bus_gbps: cost.filter(|cost| *cost > 0.0).map(|cost| 1.0 / cost),
            cost: cost.unwrap_or(median as f64),
            collectives: of.into_iter().map(|(at, _)| at).collect(),
            path,
            message,
        })
    });
    links.arranged_by(|one, other| {
        let key = |of: &'_ Link| (of.path, std::cmp::Reverse(of.n_read));
        key(one)
            .cmp(&key(other))
            .then(one.message.cmp(&other.message))
    })
}

/// Large messages that use a small part of what their link can carry, in other steps than those in which the network is
/// slow.
fn below_figure(links: &[Link], timings: &[Option<Timing>], slow: &[SlowStep]) -> Vec<usize> {
    let slow: Set<usize> = slow
        .iter()
        .flat_map(|of| of.collectives.iter().map(|(at, _)| *at))
        .collect();
    let below = links.iter().enumerate().filter_map(|(at, link)| {
        let is_large = link.message.bytes.is_some_and(|bytes| bytes >= LARGE_BYTES);
        let transfers = |is_usual: bool| {
            let all = link.collectives.iter();
            let counting = all.filter(|at| !is_usual || !slow.contains(at));
            let ns = counting.filter_map(|at| Some(timings.get(*at)?.as_ref()?.transfer_ns));
            let ns = ns.arranged();
            ns.get(ns.len() / 2).copied().filter(|ns| *ns > 0)
        };
        let (all_ns, usual_ns) = (transfers(false)?, transfers(true)?);
        let share = link.share_percent()? * all_ns as f64 / usual_ns as f64;
        let counts = link.is_complete() && link.collectives.len() >= LEAST;
        (is_large && counts && share < FAR_BELOW_PERCENT).then_some((at, share))
    });
    let below = below.arranged_by(|one, other| one.1.total_cmp(&other.1).then(one.0.cmp(&other.0)));
    below.into_iter().map(|(at, _)| at).collect()
}

/// How many times as long each link takes as its siblings: those with the same message and number of ranks, in groups
/// created for the same purpose. `None` where it has none.
fn against_siblings(job: &Job, links: &[Link]) -> Vec<Option<f64>> {
    let keyed = links.iter().enumerate().map(|(at, link)| {
        let group = job.groups.get(link.path.group);
        let description = group.map(|group| &group.description);
        let is_pair = link.path.pair.is_some();
        let key = (&link.message, link.n_ranks, link.spans_hosts, is_pair);
        ((description, key), at)
    });
    let mut ratios = vec![None; links.len()];
    for (_, of_kind) in grouped(keyed, Vec::push) {
        let of_kind: Vec<usize> = of_kind;
        let of_kind = || {
            of_kind
                .iter()
                .filter_map(move |at| Some((*at, links.get(*at)?)))
        };
        let counting = of_kind().filter(|(_, link)| link.collectives.len() >= LEAST);
        let costs = counting
            .map(|(at, link)| (link.cost, at))
            .arranged_by(|one, other| one.0.total_cmp(&other.0).then(one.1.cmp(&other.1)));
        let places = costs.iter().enumerate();
        let places: Map<usize, usize> = places.map(|(place, (_, at))| (*at, place)).collect();
        for (at, link) in of_kind() {
            // The median of all others.
            let own = places.get(&at).copied();
            let n = costs.len() - usize::from(own.is_some());
            let middle = n / 2 + usize::from(own.is_some_and(|own| own <= n / 2));
            let median = costs.get(middle).map(|(cost, _)| *cost);
            if let Some(ratio) = ratios.get_mut(at) {
                let median = median.filter(|cost| *cost > 0.0);
                *ratio = median.map(|median| link.cost / median);
            }
        }
    }
    ratios
}

fn slow_paths(job: &Job, links: &[Link]) -> Vec<SlowPath> {
    let ratios = against_siblings(job, links);
    let slow = links.iter().zip(ratios).enumerate();
    let slow = slow.filter_map(|(at, (link, ratio))| {
        let is_long = link.median_ns >= LEAST_TRANSFER_NS;
        let counts = is_long && link.is_complete() && link.collectives.len() >= LEAST;
        let ratio = ratio.filter(|ratio| counts && *ratio > SLOW)?;
        Some((link.path, (at, ratio)))
    });
    let paths = grouped(slow, Vec::push).into_iter();
    let paths = paths.filter_map(|(path, links): (Path, Vec<(usize, f64)>)| {
        let ratios = links
            .iter()
            .map(|(_, ratio)| *ratio)
            .arranged_by(f64::total_cmp);
        Some(SlowPath {
            path,
            ratio: *ratios.get(ratios.len() / 2)?,
            links: links.into_iter().map(|(at, _)| at).collect(),
        })
    });
    paths.arranged_by(|one, other| {
        other
            .ratio
            .total_cmp(&one.ratio)
            .then(one.path.cmp(&other.path))
    })
}

/// The ranks of a path.
pub(crate) fn ranks_of(job: &Job, path: Path) -> Vec<u32> {
    match path.pair {
        Some((one, other)) => vec![one, other],
        None => job
            .groups
            .get(path.group)
            .map_or_else(Vec::new, |group| group.ranks.clone()),
    }
}

/// Ranks that are on every slow path and on no path of the same kind that is as fast as others.
fn culprits(job: &Job, links: &[Link], slow: &[SlowPath]) -> Vec<u32> {
    let Some(first) = slow.first() else {
        return Vec::new();
    };
    let is_slow = |path: Path| slow.iter().any(|of| of.path == path);
    let kind = |path: Path| {
        let group = job.groups.get(path.group);
        (group.map(|group| &group.description), path.pair.is_some())
    };
    let normal = links.iter().filter(|link| {
        let has_slow_sibling = slow.iter().any(|of| kind(of.path) == kind(link.path));
        has_slow_sibling && link.spans_hosts && link.is_complete() && !is_slow(link.path)
    });
    let normal: Vec<u32> = normal.flat_map(|link| ranks_of(job, link.path)).collect();
    let candidates = ranks_of(job, first.path).into_iter().filter(|rank| {
        slow.iter().all(|of| ranks_of(job, of.path).contains(rank)) && !normal.contains(rank)
    });
    candidates.collect()
}

/// How long a message takes in steps in which the link is not slow. Most steps may be slow, so the first quartile
/// counts as what the link can do.
fn usual_ns(mut of_steps: Vec<i64>) -> Option<i64> {
    of_steps.arrange();
    let fast_ns = *of_steps.get(of_steps.len().saturating_sub(1) / 4)?;
    of_steps.retain(|ns| *ns as f64 <= SLOW * fast_ns as f64);
    median_ns(of_steps)
}

fn slow_steps(job: &Job, timings: &[Option<Timing>], links: &[Link]) -> Vec<SlowStep> {
    // For each step, the collectives that are slow in it, each with its link; and how many links have any in it.
    let mut slow: Vec<Vec<(usize, usize, f64)>> = vec![Vec::new(); job.steps.len()];
    let mut n_links = vec![0; job.steps.len()];
    for (at_link, link) in links.iter().enumerate() {
        let of_steps = link.collectives.iter().filter_map(|at| {
            let step = job.collectives.get(*at)?.step?;
            Some((step, (*at, timings.get(*at)?.as_ref()?.transfer_ns)))
        });
        let of_steps: Vec<(usize, Vec<(usize, i64)>)> = grouped(of_steps, Vec::push);
        let median = |of: &[(usize, i64)]| median_ns(of.iter().map(|(_, ns)| *ns).collect());
        let usual_ns = usual_ns(of_steps.iter().filter_map(|(_, of)| median(of)).collect());
        let usual_ns = usual_ns.filter(|_| link.message.bytes.is_some());
        for (step, own) in &of_steps {
            if let Some(n) = n_links.get_mut(*step) {
                *n += usize::from(link.median_ns >= LEAST_TRANSFER_NS);
            }
            let (Some(own_ns), Some(usual_ns)) = (median(own), usual_ns) else {
                continue;
            };
            let is_long = own_ns >= LEAST_TRANSFER_NS && of_steps.len() >= LEAST;
            if is_long && usual_ns > 0 && own_ns as f64 > SLOW * usual_ns as f64 {
                let ratio = |ns: i64| (ns as f64 / usual_ns as f64).max(1.0);
                if let Some(slow) = slow.get_mut(*step) {
                    slow.extend(own.iter().map(|(at, ns)| (at_link, *at, ratio(*ns))));
                }
            }
        }
    }
    let steps = slow.into_iter().zip(n_links).enumerate();
    let steps = steps.filter_map(|(step, (of_step, n_links))| {
        let ratios = of_step
            .iter()
            .map(|(.., ratio)| *ratio)
            .arranged_by(f64::total_cmp);
        let ratio = *ratios.get(ratios.len() / 2)?;
        // A single slow link of many says nothing about the step.
        (of_step.chunk_by(|one, other| one.0 == other.0).count() * 2 >= n_links).then(|| SlowStep {
            step,
            ratio,
            collectives: of_step.iter().map(|(_, at, ratio)| (*at, *ratio)).collect(),
        })
    });
    steps.collect()
}

impl Link {
    /// Whether every rank of its collectives was read.
    pub(crate) fn is_complete(&self) -> bool {
        self.n_read == self.n_ranks
    }

    /// What it carries, in percent of what it can carry; `None` where that cannot be.
    pub(crate) fn share_percent(&self) -> Option<f64> {
        self.share().filter(|share| *share <= MOST_PERCENT)
    }

    /// Whether it would carry more than its link can: times, sizes or the figure of the link are off.
    pub(crate) fn exceeds_figure(&self) -> bool {
        self.share().is_some_and(|share| share > MOST_PERCENT)
    }

    fn share(&self) -> Option<f64> {
        Some(self.bus_gbps? * 100.0 / self.figure_gbps?)
    }

    /// The display name of the message: "all-reduce of 16.8 MB", "all-to-all".
    pub(crate) fn label(&self) -> String {
        let kind = self.message.kind.label();
        match self.message.bytes {
            Some(bytes) => format!("{kind} of {}", format::bytes(bytes)),
            None => kind.to_owned(),
        }
    }

    /// The display name of its ranks: "3–7", or the group.
    pub(crate) fn ranks_label(&self, job: &Job) -> String {
        match self.path.pair {
            Some((one, other)) => format!("ranks {one} and {other}"),
            None => job
                .groups
                .get(self.path.group)
                .map_or_else(String::new, |group| group.label()),
        }
    }
}
