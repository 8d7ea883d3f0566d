//! Collectives that never end, because a rank does not call them or calls another one.

mod transfers;

use super::network::{is_uneven, message_bytes};
use crate::base::format;
use crate::base::group::counted;
use crate::base::sort::{Arrange, Arranged, FirstMax};
use crate::job::Job;
use crate::job::digest::{Collective, Digest};
use crate::job::groups::{Group, ranks_of};
use crate::job::matching::Matched;
use crate::names::collective::CollectiveKind;

/// A kernel of a collective that one of its ranks lacks is that of a job that hangs only if it runs at least this long,
/// and so is a call of a few ranks.
const LEAST_HANG_NS: i64 = 100_000_000;

/// It must also run this many times as long as the longest other one of its group.
const LEAST_TIMES: i64 = 10;

/// A collective that ranks wait in until the recording ends.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Hang {
    /// Its group, as an index into the groups of the job.
    pub(crate) group: usize,
    pub(crate) kind: CollectiveKind,
    /// What the ranks call that wait: "all-reduce of 4 B".
    pub(crate) called: String,
    /// Its number in its group, where the trace has one.
    pub(crate) seq: Option<u64>,
    /// As an index into the steps of the job.
    pub(crate) step: Option<usize>,
    /// The ranks that wait in it, as indices into the ranks of the job.
    pub(crate) waiting: Vec<usize>,
    /// The ranks that do not call it.
    pub(crate) absent: Vec<usize>,
    /// The ranks that call something else instead, with that.
    pub(crate) others: Vec<(usize, String)>,
    /// Which part of a transfer between two ranks is missing.
    pub(crate) missing: Option<Half>,
    /// Further ranks that wait for ranks that wait.
    pub(crate) behind: Vec<usize>,
    /// How long the first of them waits at least.
    pub(crate) waits_ns: i64,
}

/// A part of a transfer between two ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Half {
    Send,
    Receive,
}

/// A call of one rank: the collective, and whether it never ended.
type Call<'a> = (&'a Collective, bool);

/// For each group the first collective that never ends, and for each pair of ranks the first transfer, if a rank is
/// known that does not take part in it. Where that rank waits itself, only what it waits for is given.
pub(crate) fn find(job: &Job) -> Vec<Hang> {
    let found = job.groups.iter().enumerate().flat_map(|(at, group)| {
        let of_all = of_calls(job, at, group).or_else(|| of_kernels(job, at, group));
        of_all
            .into_iter()
            .chain(transfers::find(job, at, group))
            .collect::<Vec<Hang>>()
    });
    let found: Vec<Hang> = found.collect();
    let is_waiting = |rank: usize| found.iter().any(|hang| hang.waiting.contains(&rank));
    let (mut first, later): (Vec<Hang>, Vec<Hang>) = found.iter().cloned().partition(|hang| {
        let others = hang.others.iter().map(|(rank, _)| *rank);
        let mut blamed = hang.absent.iter().copied().chain(others);
        blamed.any(|rank| !is_waiting(rank))
    });
    if first.is_empty() {
        first = later;
    } else {
        let mut behind = later.into_iter().flat_map(|hang| hang.waiting).distinct();
        behind.retain(|rank| first.iter().all(|hang| !hang.waiting.contains(rank)));
        if let Some(hang) = first.first_mut() {
            hang.behind = behind;
        }
    }
    first.arrange_by_cached_key(|hang| (std::cmp::Reverse(hang.waits_ns), hang.group));
    first
}

/// From calls without kernels.
fn of_calls(job: &Job, at: usize, group: &Group) -> Option<Hang> {
    let lists = group.members.iter();
    let lists: Vec<(usize, Vec<Call>)> = lists
        .map(|rank| (*rank, calls(job, *rank, group)))
        .collect();
    let (calling, absent) = first_open(&lists)?;
    // If it ended anywhere, all took part in it: the other kernels were not recorded.
    let ended = calling.iter().any(|(_, (_, is_open))| !is_open);
    if ended || absent.iter().any(|rank| is_unknown(job, *rank)) {
        return None;
    }
    let calling = calling.into_iter().filter_map(|(rank, (of, _))| {
        let digest = &job.ranks.get(rank)?.digest;
        Some((rank, of, label(digest, of)))
    });
    let calling: Vec<(usize, &Collective, String)> = calling.collect();
    let labels = counted(calling.iter().map(|(.., label)| label.as_str()));
    let most = labels.into_iter().first_max_by_key(|(_, n)| *n);
    let called = most?.0.to_owned();
    let others = calling.iter().filter(|(.., label)| *label != called);
    let others: Vec<(usize, String)> = others
        .map(|(rank, _, label)| (*rank, label.clone()))
        .collect();
    if absent.is_empty() && others.is_empty() {
        return None;
    }
    let waiting = || calling.iter().filter(|(.., label)| *label == called);
    let (rank, first, _) =
        waiting().max_by_key(|(rank, of, _)| (of.span.length(), std::cmp::Reverse(*rank)))?;
    // A recording may stop a little earlier on most ranks than on a few.
    let are_most = waiting().count() * 2 > group.members.len();
    if !are_most && first.span.length() < LEAST_HANG_NS {
        return None;
    }
    Some(Hang {
        group: at,
        kind: job.ranks.get(*rank)?.digest.kind(first),
        seq: first.seq,
        step: first.step.and_then(|own| job.step_of(*rank, own)),
        waiting: waiting().map(|(rank, ..)| *rank).collect(),
        absent,
        others,
        missing: None,
        behind: Vec::new(),
        waits_ns: first.span.length(),
        called,
    })
}

/// A rank with its call.
type CallOfRank<'a> = (usize, Call<'a>);

/// The first collective of a group that has not ended on some rank: the ranks that call it, and those that do not.
/// Collectives are told by their numbers, or by their order where as many ended on all ranks; `None` if neither is
/// possible, or if all ended.
fn first_open<'a>(lists: &[(usize, Vec<Call<'a>>)]) -> Option<(Vec<CallOfRank<'a>>, Vec<usize>)> {
    let mut calls = lists.iter().flat_map(|(_, calls)| calls);
    let have_seq = calls.all(|(of, _)| of.seq.is_some());
    let n_ended = |calls: &[Call]| calls.iter().filter(|(_, is_open)| !is_open).count();
    let mut counts = lists.iter().map(|(_, calls)| n_ended(calls));
    let first = counts.next()?;
    if !have_seq && !counts.all(|n| n == first) {
        return None;
    }
    let key = |nth: usize, of: &Collective| match of.seq.filter(|_| have_seq) {
        Some(seq) => seq,
        None => nth as u64,
    };
    let open = lists.iter().flat_map(|(_, calls)| {
        let calls = calls.iter().enumerate();
        let open = calls.filter(|(_, (_, is_open))| *is_open);
        open.map(|(nth, (of, _))| key(nth, of))
    });
    let first_open = open.min()?;
    let (mut calling, mut absent) = (Vec::new(), Vec::new());
    for (rank, calls) in lists {
        let mut calls = calls.iter().enumerate();
        match calls.find(|(nth, (of, _))| key(*nth, of) == first_open) {
            Some((_, call)) => calling.push((*rank, *call)),
            None => absent.push(*rank),
        }
    }
    Some((calling, absent))
}

/// From kernels that run very long and that a rank lacks.
fn of_kernels(job: &Job, at: usize, group: &Group) -> Option<Hang> {
    let of_group = || {
        let of = job.collectives.iter();
        of.filter(|of| of.group == Some(at) && of.pair.is_none())
    };
    let length_ns = |of: &Matched| {
        let rows = of.rows(&job.ranks);
        rows.map(|(_, own)| own.span.length()).min().unwrap_or(0)
    };
    let last = of_group().next_back()?;
    let is_in = |rank: usize| last.members.iter().any(|member| member.rank == rank);
    let absent: Vec<usize> = group
        .members
        .iter()
        .copied()
        .filter(|rank| !is_in(*rank))
        .collect();
    let others = of_group()
        .filter(|of| !std::ptr::eq(*of, last))
        .map(length_ns);
    let longest_ns = others.max().unwrap_or(0);
    let waits_ns = length_ns(last);
    // If ranks without the kernel called it, kernels are missing in their traces.
    let called = |rank: &usize| calls(job, *rank, group).iter().any(|(_, is_open)| *is_open);
    let is_stuck = !absent.is_empty()
        && !absent.iter().any(called)
        && absent.iter().all(|rank| !is_unknown(job, *rank))
        && waits_ns >= LEAST_HANG_NS.max(longest_ns.saturating_mul(LEAST_TIMES));
    if !is_stuck {
        return None;
    }
    let (rank, own) = last.rows(&job.ranks).next()?;
    Some(Hang {
        group: at,
        kind: last.kind,
        called: label(&rank.digest, own),
        seq: own.seq,
        step: last.step,
        waiting: last.members.iter().map(|member| member.rank).collect(),
        absent,
        others: Vec::new(),
        missing: None,
        behind: Vec::new(),
        waits_ns,
    })
}

/// Whether a part of a rank's trace is missing, so that it may have called what its trace lacks.
fn is_unknown(job: &Job, rank: usize) -> bool {
    let digest = job.ranks.get(rank).map(|rank| &rank.digest);
    // Without any collectives, the recording of a rank lacks them all.
    digest.is_none_or(|digest| digest.is_damaged() || digest.collectives.is_empty())
}

/// What a rank calls: "all-reduce of 4 B".
fn label(digest: &Digest, of: &Collective) -> String {
    sized(digest, of, digest.kind(of).label())
}

/// The same with another noun: "receive of 33.6 MB".
pub(crate) fn sized(digest: &Digest, of: &Collective, kind: &str) -> String {
    match message_bytes(digest, of).filter(|_| !is_uneven(digest, of)) {
        Some(bytes) => format!("{kind} of {}", format::bytes(bytes as u64)),
        None => kind.to_owned(),
    }
}

/// The collectives that a rank calls in a group, in order: those that ended first.
fn calls<'a>(job: &'a Job, rank: usize, group: &Group) -> Vec<Call<'a>> {
    of_group(job, rank, group, |_, of| of.peer.is_none())
}

/// The calls of a rank in a group for which a condition holds, in order: those that ended first.
fn of_group<'a>(
    job: &'a Job,
    rank: usize,
    group: &Group,
    is_asked: impl Fn(&Digest, &Collective) -> bool,
) -> Vec<Call<'a>> {
    let Some(digest) = job.ranks.get(rank).map(|rank| &rank.digest) else {
        return Vec::new();
    };
    let is_group = digest.groups.iter().map(|named| {
        digest.text(named.name) == group.name
            && ranks_of(&job.ranks, digest, named).as_ref() == Some(&group.ranks)
    });
    let is_group: Vec<bool> = is_group.collect();
    let is_own = |of: &&Collective| {
        of.group.and_then(|at| is_group.get(at as usize)) == Some(&true) && is_asked(digest, of)
    };
    let ended = digest
        .collectives
        .iter()
        .filter(is_own)
        .map(|of| (of, false));
    let open = digest.unfinished.iter().filter(is_own).map(|of| (of, true));
    ended.chain(open).collect()
}
