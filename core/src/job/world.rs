//! Which digests are of one job, and which are set apart.

use std::fmt;

use super::Rank;
use super::coordinates::{Coordinates, numbers};
use super::digest::{Digest, RankFrom, SourceFile};
use crate::base::format;
use crate::base::interval::Interval;
use crate::base::map::Map;
use crate::base::sort::Arrange;

/// Clocks of hosts may be so far apart before their times count as of different runs.
const MOST_APART_NS: i64 = 10_000_000_000;

/// Why a file takes no part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Why {
    /// The same recording was given twice.
    Duplicate(String),
    /// Another file of the same rank and time has more in it.
    SameRank(u32, String),
    /// Nothing tells its rank.
    NoRank,
    /// Its job has another number of ranks.
    OtherWorld {
        /// Of the file.
        its: u32,
        /// Of the job.
        ours: u32,
    },
    /// It lists other ranks for a process group of the same name.
    OtherGroups(String),
    /// It ran at another time, with the same steps.
    OtherRun,
    /// It cannot be read.
    Unreadable(String),
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Why::Duplicate(of) => write!(f, "the same recording as {of}"),
            Why::SameRank(rank, of) => write!(f, "rank {rank} again, of which {of} has more"),
            Why::NoRank => f.write_str("neither its metadata nor its name tells its rank"),
            Why::OtherWorld { its, ours } => {
                write!(
                    f,
                    "its job has {}, not {ours}",
                    format::counted(u64::from(*its), "rank")
                )
            }
            Why::OtherGroups(group) => write!(f, "it lists other ranks for process group {group}"),
            Why::OtherRun => f.write_str("the same steps at another time: another run"),
            Why::Unreadable(reason) => f.write_str(reason),
        }
    }
}

/// A file that takes no part in the job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetApart {
    /// Which.
    pub file: SourceFile,
    /// Why.
    pub why: Why,
}

/// The ranks that were recorded at one time: `schedule(repeat=n)` writes n files for each rank.
#[derive(Debug)]
pub struct Window {
    /// In any order, no two of one number.
    pub ranks: Vec<Rank>,
    /// The numbers of its steps, from the first to the last; `None` without numbered steps.
    pub steps: Option<(u64, u64)>,
}

/// The files of a job, told apart.
#[derive(Debug)]
pub struct World {
    /// The newest first.
    pub windows: Vec<Window>,
    /// By name of the file.
    pub set_apart: Vec<SetApart>,
}

/// A digest with what tells which job it is of.
struct Candidate {
    digest: Digest,
    number: u32,
    base_ns: i64,
    span: Interval,
    steps: Vec<u64>,
}

impl World {
    /// Tells files apart. Whatever the order in which they are given, the result is the same.
    pub fn new(mut digests: Vec<Digest>) -> World {
        digests.arrange_by(|one, other| one.file.name.cmp(&other.file.name));
        let mut set_apart = Vec::new();
        let digests = without_duplicates(digests, &mut set_apart);
        let base_ns = common(digests.iter().filter_map(|digest| digest.base_ns)).unwrap_or(0);
        let ours = common(
            digests
                .iter()
                .filter_map(|digest| digest.identity.world_size),
        );
        let digests = with_ranks(digests);
        let mut candidates: Vec<Candidate> = Vec::new();
        for digest in digests {
            if let (Some(its), Some(ours)) = (digest.identity.world_size, ours)
                && its != ours
            {
                let why = Why::OtherWorld { its, ours };
                set_apart.push(apart(&digest, why));
                continue;
            }
            let Some(number) = digest.identity.rank else {
                set_apart.push(apart(&digest, Why::NoRank));
                continue;
            };
            if let Some(group) = contradiction(&digest, number, &candidates) {
                set_apart.push(apart(&digest, Why::OtherGroups(group)));
                continue;
            }
            let base_ns = digest.base_ns.unwrap_or(base_ns);
            candidates.push(Candidate {
                number,
                base_ns,
                span: digest.span(base_ns),
                steps: digest.numbered_steps(),
                digest,
            });
        }
        let windows = windows(candidates, &mut set_apart);
        set_apart.arrange_by(|one, other| one.file.name.cmp(&other.file.name));
        World { windows, set_apart }
    }

    /// Whether these are several ranks of one job: one trace is a trace, and two without metadata are a
    /// comparison.
    pub fn is_job(&self) -> bool {
        let told = |rank: &Rank| rank.digest.identity.rank_from != RankFrom::Unknown;
        let mut windows = self.windows.iter();
        windows.any(|window| window.ranks.len() > 1 && window.ranks.iter().all(told))
    }
}

fn apart(digest: &Digest, why: Why) -> SetApart {
    SetApart {
        file: digest.file.clone(),
        why,
    }
}

/// Looks for the ranks that metadata do not tell: in collectives, else in the coordinates that names tell,
/// where no two ranks have the same ones.
fn with_ranks(mut digests: Vec<Digest>) -> Vec<Digest> {
    for digest in &mut digests {
        digest.find_rank();
    }
    let is_open = |digest: &Digest| digest.identity.rank.is_none();
    let open = digests.iter().filter(|digest| is_open(digest));
    let at: Vec<Coordinates> = open
        .filter_map(|digest| digest.identity.coordinates)
        .collect();
    // Files of several windows have the same coordinates.
    let mut different = at;
    different.arrange();
    different.dedup();
    let numbers = numbers(&different);
    for digest in digests.iter_mut().filter(|digest| is_open(digest)) {
        let identity = &mut digest.identity;
        let own = identity
            .coordinates
            .and_then(|own| different.binary_search(&own).ok());
        if let Some(rank) = own.and_then(|at| numbers.get(at).copied().flatten()) {
            (identity.rank, identity.rank_from) = (Some(rank), RankFrom::Coordinates);
        }
    }
    digests
}

/// Leaves out recordings that were given before.
fn without_duplicates(digests: Vec<Digest>, set_apart: &mut Vec<SetApart>) -> Vec<Digest> {
    let mut known: Vec<Digest> = Vec::new();
    for digest in digests {
        let id = |of: &Digest| {
            (
                of.identity.trace_id.clone(),
                of.text_bytes,
                of.collectives.len(),
            )
        };
        let is_same = |of: &&Digest| {
            let are_named = !of.identity.trace_id.is_empty();
            are_named && id(of) == id(&digest) && of.collectives == digest.collectives
        };
        match known.iter().find(is_same) {
            Some(first) => {
                let why = Why::Duplicate(first.file.name.clone());
                set_apart.push(apart(&digest, why));
            }
            None => known.push(digest),
        }
    }
    known
}

/// What most have; of equal counts the largest.
fn common<T: Copy + Ord + std::hash::Hash>(values: impl Iterator<Item = T>) -> Option<T> {
    let mut counts: Map<T, usize> = Map::default();
    for value in values {
        *counts.entry(value).or_default() += 1;
    }
    let counts = counts.into_iter().map(|(value, n)| (n, value));
    counts.max().map(|(_, value)| value)
}

/// The name of a group that both list with different ranks, though one of the two is in both lists.
fn contradiction(digest: &Digest, number: u32, others: &[Candidate]) -> Option<String> {
    let of_same_name = others.iter().flat_map(|other| {
        let groups = other.digest.identity.groups.iter();
        groups.map(move |group| (other.number, group))
    });
    let mut pairs = of_same_name.flat_map(|(other, theirs)| {
        let groups = digest.identity.groups.iter();
        let groups = groups.filter(move |own| own.name == theirs.name);
        groups.map(move |own| (other, own, theirs))
    });
    let found = pairs.find(|(other, own, theirs)| {
        let in_both = |rank: &u32| own.ranks.contains(rank) && theirs.ranks.contains(rank);
        own.ranks != theirs.ranks && (in_both(&number) || in_both(other))
    });
    found.map(|(_, own, _)| own.name.clone())
}

/// Puts together what ran at one time.
fn windows(candidates: Vec<Candidate>, set_apart: &mut Vec<SetApart>) -> Vec<Window> {
    let mut windows: Vec<Vec<Candidate>> = Vec::new();
    for candidate in candidates {
        // A file may join what was two windows until now.
        let (mut joined, others): (Vec<_>, Vec<_>) = windows
            .into_iter()
            .partition(|window| window.iter().any(|other| together(&candidate, other)));
        windows = others;
        let mut window: Vec<Candidate> = joined.drain(..).flatten().collect();
        window.push(candidate);
        windows.push(window);
    }
    let mut windows: Vec<Vec<Candidate>> = (windows.into_iter())
        .map(|window| one_of_each(window, set_apart))
        .collect();
    let start_ns = |window: &[Candidate]| window.iter().map(|one| one.span.start_ns).max();
    // The one with most ranks tells what the job is; of equal ones the newest.
    windows.arrange_by_key(|window| std::cmp::Reverse((window.len(), start_ns(window))));
    let mut accepted: Vec<Vec<Candidate>> = Vec::new();
    for window in windows {
        let has_steps_of = |other: &Vec<Candidate>| {
            let known = |step: &u64| other.iter().any(|one| one.steps.contains(step));
            window.iter().any(|one| one.steps.is_empty())
                || window.iter().flat_map(|one| &one.steps).any(known)
        };
        match accepted.iter().any(has_steps_of) {
            true => set_apart.extend(window.iter().map(|one| apart(&one.digest, Why::OtherRun))),
            false => accepted.push(window),
        }
    }
    accepted.arrange_by_key(|window| std::cmp::Reverse(start_ns(window)));
    let windows = accepted.into_iter().map(|window| {
        let steps = || window.iter().flat_map(|one| &one.steps).copied();
        Window {
            steps: steps().min().zip(steps().max()),
            ranks: window.into_iter().map(rank).collect(),
        }
    });
    windows.collect()
}

fn rank(candidate: Candidate) -> Rank {
    Rank {
        number: candidate.number,
        base_ns: candidate.base_ns,
        digest: candidate.digest,
        host: 0,
    }
}

/// Whether two files are of one window: at one time, and with common steps where both number them.
fn together(one: &Candidate, other: &Candidate) -> bool {
    let near = Interval {
        start_ns: other.span.start_ns.saturating_sub(MOST_APART_NS),
        end_ns: other.span.end_ns.saturating_add(MOST_APART_NS),
    };
    let at_one_time = one.span.overlap(near).is_some();
    let are_numbered = !one.steps.is_empty() && !other.steps.is_empty();
    match are_numbered {
        true => at_one_time && one.steps.iter().any(|step| other.steps.contains(step)),
        false => one.span.overlap(other.span).is_some(),
    }
}

/// Of several files of one rank the one with the most collectives.
fn one_of_each(mut window: Vec<Candidate>, set_apart: &mut Vec<SetApart>) -> Vec<Candidate> {
    window.arrange_by(|one, other| {
        let key = |of: &Candidate| {
            (
                of.number,
                std::cmp::Reverse((of.digest.collectives.len(), of.digest.text_bytes)),
            )
        };
        key(one)
            .cmp(&key(other))
            .then_with(|| one.digest.file.name.cmp(&other.digest.file.name))
    });
    let mut kept: Vec<Candidate> = Vec::new();
    for candidate in window {
        match kept.last().filter(|last| last.number == candidate.number) {
            Some(last) => {
                let why = Why::SameRank(last.number, last.digest.file.name.clone());
                set_apart.push(apart(&candidate.digest, why));
            }
            None => kept.push(candidate),
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::testing::TestJob;

    /// Ranks of a job of three whose files are called so, and which say nothing of themselves.
    fn named(names: [&str; 3]) -> Vec<(u32, RankFrom)> {
        let mut job = TestJob::new(3);
        job.step(1, 0, 100);
        let digests = job.digests().into_iter().zip(names);
        let digests = digests.map(|(mut digest, name)| {
            digest.file.name = name.to_owned();
            digest.identity.rank = None;
            digest.identity.rank_from = RankFrom::Unknown;
            digest.identity.coordinates = Coordinates::of(name);
            digest
        });
        let world = World::new(digests.collect());
        let ranks = world.windows.iter().flat_map(|window| &window.ranks);
        let mut ranks: Vec<(u32, RankFrom)> = ranks
            .map(|rank| (rank.number, rank.digest.identity.rank_from))
            .collect();
        ranks.arrange_by_key(|(number, _)| *number);
        ranks
    }

    #[test]
    fn coordinates_tell_the_rank_where_nothing_else_does() {
        let names = ["7-TP-0-DP-0.json", "7-TP-1-DP-0.json", "7-TP-2-DP-0.json"];
        let expected = [0, 1, 2].map(|rank| (rank, RankFrom::Coordinates));
        assert_eq!(named(names), expected);
        // Names that tell nothing give no rank, whatever their order.
        assert_eq!(named(["a.json", "b.json", "c.json"]), []);
    }

    /// A file that says `{"rank": 1}` and nothing of its job is of the job of the others.
    #[test]
    fn a_rank_alone_is_enough() {
        let mut job = TestJob::new(2);
        job.step(1, 0, 100);
        let mut digests = job.digests();
        digests[1].identity.world_size = None;
        let world = World::new(digests);
        assert_eq!(world.set_apart, []);
        assert_eq!(world.windows[0].ranks.len(), 2);
    }

    #[test]
    fn the_same_recording_counts_once() {
        let digests = || {
            let mut job = TestJob::new(2);
            job.step(1, 0, 100);
            let mut digests = job.digests();
            for digest in &mut digests {
                digest.identity.trace_id = format!("id of {:?}", digest.identity.rank);
            }
            digests
        };
        let copies = digests().into_iter().map(|mut digest| {
            digest.file.name = format!("copy of {}", digest.file.name);
            digest
        });
        let world = World::new(digests().into_iter().chain(copies).collect());
        let apart = world.set_apart.iter().map(|apart| apart.file.name.as_str());
        assert_eq!(apart.collect::<Vec<_>>(), ["rank0.json", "rank1.json"]);
        assert_eq!(world.windows[0].ranks.len(), 2);
    }
}
