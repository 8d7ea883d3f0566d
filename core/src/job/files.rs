//! Which digests belong to one job, and which are excluded.

pub mod head;
pub(super) mod merged;

use std::fmt;

use super::Rank;
use super::digest::coordinates::{Coordinates, numbers};
use super::digest::{Digest, NamedGroup, RankFrom, SourceFile};
use crate::base::format;
use crate::base::interval::Interval;
use crate::base::map::Map;
use crate::base::sort::Arrange;

/// Hosts' clocks may differ by at most this much before their times count as different runs.
const MOST_APART_NS: i64 = 10_000_000_000;

/// Why a file is excluded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExclusionReason {
    /// The same recording was given twice.
    Duplicate(String),
    /// Another file of the same rank and time contains more.
    SameRank(u32, String),
    /// Its rank is unknown.
    NoRank,
    /// Its job has another number of ranks.
    OtherWorld {
        /// World size in the file.
        its: u32,
        /// World size of the job.
        ours: u32,
    },
    /// It lists other ranks or another purpose for a process group with the same name.
    OtherGroups(String),
    /// It has the same steps, but ran at another time.
    OtherRun,
    /// It cannot be read.
    Unreadable(String),
}

impl fmt::Display for ExclusionReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ExclusionReason::Duplicate(of) => write!(f, "the same recording as {of}"),
            ExclusionReason::SameRank(rank, of) => {
                write!(f, "rank {rank} again, of which {of} has more")
            }
            ExclusionReason::NoRank => {
                f.write_str("neither its metadata nor its name tells its rank")
            }
            ExclusionReason::OtherWorld { its, ours } => {
                write!(
                    f,
                    "its job has {}, not {ours}",
                    format::counted(u64::from(*its), "rank")
                )
            }
            ExclusionReason::OtherGroups(group) => {
                write!(
                    f,
                    "it lists other ranks or another purpose for process group {group}"
                )
            }
            ExclusionReason::OtherRun => f.write_str("the same steps at another time: another run"),
            ExclusionReason::Unreadable(reason) => f.write_str(reason),
        }
    }
}

/// A file that is excluded from the job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Excluded {
    /// The file.
    pub file: SourceFile,
    /// The reason.
    pub why: ExclusionReason,
}

/// The ranks that were recorded at one time: `schedule(repeat=n)` writes n files for each rank.
#[derive(Debug)]
pub struct Window {
    /// In any order; numbers are unique.
    pub ranks: Vec<Rank>,
    /// The numbers of its steps, from the first to the last; `None` without numbered steps.
    pub steps: Option<(u64, u64)>,
}

/// The files of a job, sorted into windows.
#[derive(Debug)]
pub struct JobFiles {
    /// Newest first, those that at most half as many ranks recorded as another after them.
    pub windows: Vec<Window>,
    /// Sorted by file name.
    pub excluded: Vec<Excluded>,
}

/// A digest with the data that decides which job it belongs to.
struct Candidate {
    digest: Digest,
    number: u32,
    base_ns: i64,
    span: Interval,
    steps: Vec<u64>,
}

impl JobFiles {
    /// Sorts files into windows. The result does not depend on their order.
    pub fn new(mut digests: Vec<Digest>) -> JobFiles {
        digests.arrange_by(|one, other| one.file.name.cmp(&other.file.name));
        let mut excluded = Vec::new();
        let digests = without_duplicates(digests, &mut excluded);
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
                let why = ExclusionReason::OtherWorld { its, ours };
                excluded.push(exclude(&digest, why));
                continue;
            }
            let Some(number) = digest.identity.rank else {
                excluded.push(exclude(&digest, ExclusionReason::NoRank));
                continue;
            };
            let base_ns = digest.base_ns.unwrap_or(base_ns);
            candidates.push(Candidate {
                number,
                base_ns,
                span: digest.span(base_ns),
                steps: digest.numbered_steps(),
                digest,
            });
        }
        let windows = windows(candidates, &mut excluded);
        excluded.arrange_by(|one, other| one.file.name.cmp(&other.file.name));
        JobFiles { windows, excluded }
    }

    /// Whether these are several ranks of one job. A single trace is just a trace, and two without metadata are a
    /// comparison.
    pub fn is_job(&self) -> bool {
        let is_rank_known = |rank: &Rank| rank.digest.identity.rank_from != RankFrom::Unknown;
        let mut windows = self.windows.iter();
        windows.any(|window| window.ranks.len() > 1 && window.ranks.iter().all(is_rank_known))
    }
}

fn exclude(digest: &Digest, why: ExclusionReason) -> Excluded {
    Excluded {
        file: digest.file.clone(),
        why,
    }
}

/// Finds the ranks that are missing in metadata: from collectives, else from the coordinates in names, where no two
/// ranks have the same ones.
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

/// Drops recordings that were given more than once.
fn without_duplicates(digests: Vec<Digest>, excluded: &mut Vec<Excluded>) -> Vec<Digest> {
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
                let why = ExclusionReason::Duplicate(first.file.name.clone());
                excluded.push(exclude(&digest, why));
            }
            None => known.push(digest),
        }
    }
    known
}

/// The most frequent value; on a tie, the largest.
fn common<T: Copy + Ord + std::hash::Hash>(values: impl Iterator<Item = T>) -> Option<T> {
    let mut counts: Map<T, usize> = Map::default();
    for value in values {
        *counts.entry(value).or_default() += 1;
    }
    let counts = counts.into_iter().map(|(value, n)| (n, value));
    counts.max().map(|(_, value)| value)
}

/// The name of a group that both list with different ranks or another description, although one of the two ranks is in
/// both lists.
fn contradiction(one: &Candidate, other: &Candidate) -> Option<String> {
    let differs = |own: &&NamedGroup| {
        let mut theirs = other.digest.identity.groups.iter();
        theirs.any(|theirs| {
            let in_both = |rank: u32| own.ranks.contains(&rank) && theirs.ranks.contains(&rank);
            let is_described = !own.description.is_empty() && !theirs.description.is_empty();
            let differ =
                own.ranks != theirs.ranks || is_described && own.description != theirs.description;
            own.name == theirs.name && differ && (in_both(one.number) || in_both(other.number))
        })
    };
    let mut own = one.digest.identity.groups.iter();
    own.find(differs).map(|group| group.name.clone())
}

/// Sets apart the file that contradicts the most others, until none does; on a tie, the last by name.
fn without_contradictions(
    mut window: Vec<Candidate>,
    excluded: &mut Vec<Excluded>,
) -> Vec<Candidate> {
    window.arrange_by(|one, other| one.digest.file.name.cmp(&other.digest.file.name));
    // For each candidate, those that it contradicts, each with the group.
    let mut contradicts: Vec<Vec<(usize, String)>> = vec![Vec::new(); window.len()];
    for (at, one) in window.iter().enumerate() {
        for (behind, other) in window.iter().enumerate().skip(at + 1) {
            let Some(group) = contradiction(one, other) else {
                continue;
            };
            for (own, other) in [(at, behind), (behind, at)] {
                if let Some(of) = contradicts.get_mut(own) {
                    of.push((other, group.clone()));
                }
            }
        }
    }
    let mut is_apart = vec![false; window.len()];
    loop {
        let counts = contradicts.iter().map(Vec::len).enumerate();
        let most = counts.max_by_key(|(at, n)| (*n, *at));
        let Some((most, _)) = most.filter(|(_, n)| *n > 0) else {
            break;
        };
        let group = contradicts.get(most).and_then(|of| of.first());
        let group = group.map_or_else(String::new, |(_, group)| group.clone());
        if let (Some(one), Some(is_apart)) = (window.get(most), is_apart.get_mut(most)) {
            excluded.push(exclude(&one.digest, ExclusionReason::OtherGroups(group)));
            *is_apart = true;
        }
        for (at, of) in contradicts.iter_mut().enumerate() {
            of.retain(|(other, _)| at != most && *other != most);
        }
    }
    let kept = window.into_iter().zip(is_apart);
    kept.filter_map(|(one, is_apart)| (!is_apart).then_some(one))
        .collect()
}

/// Groups files that ran at the same time.
fn windows(candidates: Vec<Candidate>, excluded: &mut Vec<Excluded>) -> Vec<Window> {
    let mut windows: Vec<Vec<Candidate>> = Vec::new();
    for candidate in candidates {
        // A file may merge two windows.
        let (mut joined, others): (Vec<_>, Vec<_>) = windows
            .into_iter()
            .partition(|window| window.iter().any(|other| together(&candidate, other)));
        windows = others;
        let mut window: Vec<Candidate> = joined.drain(..).flatten().collect();
        window.push(candidate);
        windows.push(window);
    }
    let mut windows: Vec<Vec<Candidate>> = (windows.into_iter())
        .map(|window| one_of_each(without_contradictions(window, excluded), excluded))
        .collect();
    let start_ns = |window: &[Candidate]| window.iter().map(|one| one.span.start_ns).max();
    // The window with the most ranks defines the job; on a tie, the newest.
    windows.arrange_by_largest(|window| (window.len(), start_ns(window)));
    let mut accepted: Vec<Vec<Candidate>> = Vec::new();
    for mut window in windows {
        window.retain(|one| {
            let mut others = accepted.iter().flatten();
            let group = others.find_map(|other| contradiction(one, other));
            let is_other = group.is_some();
            excluded.extend(
                group.map(|group| exclude(&one.digest, ExclusionReason::OtherGroups(group))),
            );
            !is_other
        });
        if window.is_empty() {
            continue;
        }
        let has_steps_of = |other: &Vec<Candidate>| {
            let known = |step: &u64| other.iter().any(|one| one.steps.contains(step));
            // Ranks without steps cannot be distinguished from those of another run.
            window.iter().all(|one| one.steps.is_empty())
                || window.iter().flat_map(|one| &one.steps).any(known)
        };
        match accepted.iter().any(has_steps_of) {
            true => excluded.extend(
                window
                    .iter()
                    .map(|one| exclude(&one.digest, ExclusionReason::OtherRun)),
            ),
            false => accepted.push(window),
        }
    }
    // Without most ranks, nothing is known about waiting.
    let most = accepted.iter().map(Vec::len).max().unwrap_or(0);
    accepted.arrange_by_largest(|window| (window.len() * 2 > most, start_ns(window)));
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

/// Whether two files belong to one window: at the same time, and with common steps where both number them.
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

/// Of several files of one rank, keeps the one with the most collectives.
fn one_of_each(mut window: Vec<Candidate>, excluded: &mut Vec<Excluded>) -> Vec<Candidate> {
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
                let why = ExclusionReason::SameRank(last.number, last.digest.file.name.clone());
                excluded.push(exclude(&candidate.digest, why));
            }
            None => kept.push(candidate),
        }
    }
    kept
}

#[cfg(test)]
mod tests;
