//! Which collectives of different ranks are the same one: by process group, then by `Seq`, else by step and order.

use super::digest::{Collective, Digest};
use super::groups::{Group, ranks_of};
use super::{JobStep, Rank};
use crate::base::group::{counted, grouped};
use crate::base::map::Map;
use crate::base::sort::{Arrange, Arranged};
use crate::names::collective::CollectiveKind;

/// Lists of two ranks may be shifted by at most this many collectives, which happens if one recording started later.
const MOST_SHIFT: i64 = 50;

/// At least this share of the pairs formed by the lists of two ranks must be alike, or their order means nothing.
const LEAST_ALIKE_PERCENT: usize = 90;

/// What one rank did in a collective.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Member {
    /// As an index into the ranks of the job.
    pub(crate) rank: usize,
    /// The collective, as an index into those of its digest.
    pub(crate) at: u32,
}

/// A collective of several ranks.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Matched {
    /// Its group, as an index into those of the job; `None` where the trace does not name it.
    pub(crate) group: Option<usize>,
    pub(crate) kind: CollectiveKind,
    /// Its step, as an index into those of the job.
    pub(crate) step: Option<usize>,
    /// The sender and the receiver of a point-to-point transfer, by number.
    pub(crate) pair: Option<(u32, u32)>,
    /// Sorted by rank; at least one.
    pub(crate) members: Vec<Member>,
    /// How many ranks took part, read or not.
    pub(crate) expected: usize,
}

impl Matched {
    /// Whether no rank can end it before all have started it.
    pub(crate) fn waits_for_all(&self) -> bool {
        let is_pair = self.kind == CollectiveKind::SendReceive && self.pair.is_some();
        self.kind.waits_for_all() || is_pair
    }

    /// Whether every rank that took part was read.
    pub(crate) fn is_complete(&self) -> bool {
        self.members.len() == self.expected
    }

    /// What each rank did in it.
    pub(crate) fn rows<'a>(
        &'a self,
        ranks: &'a [Rank],
    ) -> impl Iterator<Item = (&'a Rank, &'a Collective)> {
        self.members.iter().filter_map(|member| {
            let rank = ranks.get(member.rank)?;
            Some((rank, rank.digest.collectives.get(member.at as usize)?))
        })
    }
}

/// What could not be matched.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Unmatched {
    /// Collectives for which ranks report different types or sizes: the group and the numbers of the ranks that differ
    /// from the majority.
    pub(crate) disagreeing: Vec<(usize, Vec<u32>)>,
    /// Ranks whose collectives of a group are in another order.
    pub(crate) out_of_order: Vec<(usize, u32)>,
    /// Number of collectives without a group for which the ranks list different ones.
    pub(crate) unlabeled: usize,
}

/// What is matched together: the collectives of a group, or the transfers between two of its ranks.
type Lane = (usize, Option<(u32, u32)>);

/// What must be equal on two ranks.
type Content<'a> = (&'a str, &'a str, Option<u64>, Option<u64>);

/// One collective of one rank.
#[derive(Debug, Clone, Copy)]
struct Entry<'a> {
    member: Member,
    of: &'a Collective,
    content: Content<'a>,
    step: Option<usize>,
}

/// A collective of one rank with the key that it shares with those of other ranks: step, `Seq`, order.
type Keyed<'a> = ((Option<usize>, u64, i64), Entry<'a>);

/// Matches the collectives of all ranks.
pub(super) fn find(
    ranks: &[Rank],
    groups: &[Group],
    steps: &[JobStep],
    world_size: usize,
) -> (Vec<Matched>, Unmatched) {
    let mut unmatched = Unmatched::default();
    let lanes = lanes(ranks, groups, steps);
    let mut all = Vec::new();
    for ((group, pair), lists) in &lanes {
        let expected = match pair {
            Some(_) => 2,
            None => groups.get(*group).map_or(0, |group| group.ranks.len()),
        };
        for (step, entries) in together(
            lists,
            pair.is_none(),
            |rank| unmatched.out_of_order.push((*group, rank)),
            ranks,
        ) {
            let odd = disagreeing(&entries);
            if !odd.is_empty() {
                let number = |entry: &&Entry| Some(ranks.get(entry.member.rank)?.number);
                let odd = odd.iter().filter_map(number).collect();
                unmatched.disagreeing.push((*group, odd));
                continue;
            }
            all.push(matched(
                ranks,
                Some(*group),
                *pair,
                step,
                &entries,
                expected,
            ));
        }
    }
    unlabeled(ranks, steps, world_size, &mut all, &mut unmatched);
    let start_ns = |matched: &Matched| {
        let rows = matched.rows(ranks);
        rows.map(|(rank, of)| of.span.start_ns.saturating_add(rank.base_ns))
            .min()
    };
    all.arrange_by_cached_key(|matched| {
        (
            start_ns(matched),
            matched.group,
            matched.members.first().copied(),
        )
    });
    (all, unmatched)
}

fn matched(
    ranks: &[Rank],
    group: Option<usize>,
    pair: Option<(u32, u32)>,
    step: Option<usize>,
    entries: &[Entry],
    expected: usize,
) -> Matched {
    let kind = entries
        .first()
        .and_then(|entry| Some(ranks.get(entry.member.rank)?.digest.kind(entry.of)));
    let members = entries.iter().map(|entry| entry.member).arranged();
    Matched {
        group,
        kind: kind.unwrap_or(CollectiveKind::Unknown),
        step,
        pair,
        expected: expected.max(members.len()),
        members,
    }
}

/// For each lane, the lists of its ranks, each sorted by time.
fn lanes<'a>(
    ranks: &'a [Rank],
    groups: &[Group],
    steps: &[JobStep],
) -> Vec<(Lane, Vec<Vec<Entry<'a>>>)> {
    let mut found: Vec<(Lane, Vec<Vec<Entry>>)> = Vec::new();
    for (at, rank) in ranks.iter().enumerate() {
        let digest = &rank.digest;
        let known = digest.groups.iter().map(|text| {
            let name = digest.text(text.name);
            let members = ranks_of(ranks, digest, text)?;
            let mut groups = groups.iter();
            groups.position(|group| group.name == name && group.ranks == members)
        });
        let known: Vec<Option<usize>> = known.collect();
        let entries = digest.collectives.iter().zip(0..).filter_map(|(of, row)| {
            let group = known.get(of.group? as usize).copied().flatten()?;
            let pair = match pair(digest, of, rank.number, groups.get(group)?) {
                Transfer::None => None,
                Transfer::Between(pair) => Some(pair),
                Transfer::Unknown => return None,
            };
            Some(((group, pair), entry(digest, of, at, row, steps)))
        });
        for (lane, entries) in grouped(entries, Vec::push) {
            match found.iter_mut().find(|(known, _)| *known == lane) {
                Some((_, lists)) => lists.push(entries),
                None => found.push((lane, vec![entries])),
            }
        }
    }
    found.arrange_by_key(|(lane, _)| *lane);
    found
}

fn entry<'a>(
    digest: &'a Digest,
    of: &'a Collective,
    rank: usize,
    at: u32,
    steps: &[JobStep],
) -> Entry<'a> {
    let mut steps = steps.iter();
    let step = of
        .step
        .and_then(|own| steps.position(|step| step.of_rank.get(rank) == Some(&Some(own))));
    let name = match digest.text(of.name) {
        "" => digest.text(of.kernel),
        name => name,
    };
    let has_same_size = !matches!(
        digest.kind(of),
        CollectiveKind::SendReceive | CollectiveKind::Gather | CollectiveKind::Scatter
    ) && name != "all_to_allv"
        // CPU calls of all-to-alls do not show whether their parts differ in size.
        && !(digest.kind(of) == CollectiveKind::AllToAll && digest.text(of.name).is_empty());
    let [given, got] = [of.given, of.got].map(|size| size.filter(|_| has_same_size));
    let name = match digest.kind(of) {
        CollectiveKind::SendReceive => "",
        _ => name,
    };
    Entry {
        member: Member { rank, at },
        of,
        content: (name, digest.text(of.dtype), given, got),
        step,
    }
}

/// Whether a collective is a transfer from one rank to another.
enum Transfer {
    None,
    Between((u32, u32)),
    /// It is one, but the trace does not say between which ranks.
    Unknown,
}

/// The sender and the receiver of a transfer between two ranks, by number.
pub(super) fn pair_of(
    digest: &Digest,
    of: &Collective,
    own: u32,
    group: &Group,
) -> Option<(u32, u32)> {
    match pair(digest, of, own, group) {
        Transfer::Between(pair) => Some(pair),
        Transfer::None | Transfer::Unknown => None,
    }
}

fn pair(digest: &Digest, of: &Collective, own: u32, group: &Group) -> Transfer {
    let name = digest.text(of.name);
    let (sends, receives) = (name.contains("send"), name.contains("recv"));
    if digest.kind(of) != CollectiveKind::SendReceive || sends == receives {
        return match digest.kind(of) {
            CollectiveKind::SendReceive => Transfer::Unknown,
            _ => Transfer::None,
        };
    }
    let peer = of.peer.and_then(|at| group.ranks.get(at as usize));
    match (peer, sends) {
        (Some(peer), true) => Transfer::Between((own, *peer)),
        (Some(peer), false) => Transfer::Between((*peer, own)),
        (None, _) => Transfer::Unknown,
    }
}

/// A collective, by its step and what each rank did.
type MatchedEntries<'a> = (Option<usize>, Vec<Entry<'a>>);

/// Matches the lists of a lane. `Seq` of point-to-point transfers counts all transfers of a rank in the group, so it
/// differs between sender and receiver.
fn together<'a>(
    lists: &[Vec<Entry<'a>>],
    has_seq: bool,
    mut leave_out: impl FnMut(u32),
    ranks: &[Rank],
) -> Vec<MatchedEntries<'a>> {
    let mut all = lists.iter().flatten();
    let keyed: Vec<Keyed> = match has_seq && all.all(|entry| entry.of.seq.is_some()) {
        true => lists.iter().flat_map(|list| by_seq(list)).collect(),
        false => {
            let mut keyed = Vec::new();
            for (step, mut lists) in by_step(lists) {
                lists.retain(|list| !list.is_empty());
                by_order(&lists, step, &mut keyed, |rank| {
                    leave_out(ranks.get(rank).map_or(0, |rank| rank.number));
                });
            }
            keyed
        }
    };
    let together = grouped(keyed, Vec::push).into_iter();
    together
        .map(|(_, entries): (_, Vec<Entry>)| (entries.iter().find_map(|entry| entry.step), entries))
        .collect()
}

/// The lists of each step, in order of the steps; empty for ranks that have nothing in it. Where one rank has no steps
/// and others do, all are matched by order alone.
fn by_step<'a>(lists: &[Vec<Entry<'a>>]) -> Vec<(Option<usize>, Vec<Vec<Entry<'a>>>)> {
    let has_step = |list: &Vec<Entry>| list.iter().any(|entry| entry.step.is_some());
    let knows_none = |list: &Vec<Entry>| !list.is_empty() && !has_step(list);
    if lists.iter().any(has_step) && lists.iter().any(knows_none) {
        return vec![(None, lists.to_vec())];
    }
    let steps = lists.iter().flatten().map(|entry| entry.step).distinct();
    let of_step = |step: Option<usize>| {
        let own = |list: &Vec<Entry<'a>>| {
            let own = list.iter().filter(|entry| entry.step == step);
            own.copied().collect()
        };
        (step, lists.iter().map(own).collect())
    };
    steps.into_iter().map(of_step).collect()
}

/// By `Seq`; parts of a coalesced call share one, so these are further distinguished by order.
fn by_seq<'a>(list: &[Entry<'a>]) -> Vec<Keyed<'a>> {
    let mut seen: Map<u64, i64> = Map::default();
    let keyed = list.iter().map(|entry| {
        let seq = entry.of.seq.unwrap_or(0);
        let nth = seen.entry(seq).or_default();
        *nth += 1;
        ((None, seq, *nth), *entry)
    });
    keyed.collect()
}

/// By order, with each list shifted so that most pairs are alike. The list that most ranks have is the reference.
fn by_order<'a>(
    lists: &[Vec<Entry<'a>>],
    step: Option<usize>,
    keyed: &mut Vec<Keyed<'a>>,
    mut leave_out: impl FnMut(usize),
) {
    let counts = counted(lists.iter().map(|list| contents(list)));
    let leading = counts.into_iter().reduce(|most, next| {
        let rank = |of: &(Vec<Content>, usize)| (of.1, of.0.len());
        if rank(&next) > rank(&most) {
            next
        } else {
            most
        }
    });
    let Some((leading, _)) = leading else {
        return;
    };
    for list in lists {
        let Some(shift) = shift(&leading, &contents(list)) else {
            if let Some(entry) = list.first() {
                leave_out(entry.member.rank);
            }
            continue;
        };
        for (entry, at) in list.iter().zip(0_i64..) {
            keyed.push(((step, 0, at + shift), *entry));
        }
    }
}

fn contents<'a>(list: &[Entry<'a>]) -> Vec<Content<'a>> {
    list.iter().map(|entry| entry.content).collect()
}

/// The shift that makes a list most similar to another: most equal pairs, then the smallest shift. `None` where the
/// lists are not similar at all.
fn shift(leading: &[Content], list: &[Content]) -> Option<i64> {
    let alike = |shift: i64| {
        let pairs = list.iter().zip(shift..);
        let pairs =
            pairs.filter_map(|(own, at)| Some((own, leading.get(usize::try_from(at).ok()?)?)));
        let pairs = pairs.fold((0, 0), |(n, same), (own, other)| {
            (n + 1, same + usize::from(own == other))
        });
        (pairs, shift)
    };
    let nearest_first =
        (0..=MOST_SHIFT).flat_map(|by| if by == 0 { vec![0] } else { vec![by, -by] });
    let best = nearest_first
        .map(alike)
        .reduce(|best, next| if next.0.1 > best.0.1 { next } else { best });
    let ((pairs, same), shift) = best?;
    (pairs > 0 && same * 100 >= pairs * LEAST_ALIKE_PERCENT).then_some(shift)
}

/// Entries that differ from the majority.
fn disagreeing<'e, 'a>(entries: &'e [Entry<'a>]) -> Vec<&'e Entry<'a>> {
    let counts = counted(entries.iter().map(|entry| entry.content));
    let most = counts
        .into_iter()
        .reduce(|most, next| if next.1 > most.1 { next } else { most });
    let odd = entries.iter().filter(|entry| {
        most.as_ref()
            .is_some_and(|(content, _)| *content != entry.content)
    });
    odd.collect()
}

/// Matches collectives that name no group, where all ranks list the same ones in a step: these are assumed to include
/// all ranks of the job, read or not. Point-to-point transfers are skipped, as their ranks are unknown.
fn unlabeled(
    ranks: &[Rank],
    steps: &[JobStep],
    world_size: usize,
    all: &mut Vec<Matched>,
    unmatched: &mut Unmatched,
) {
    if ranks.len() < 2 {
        return;
    }
    let lists = ranks.iter().enumerate().map(|(at, rank)| {
        let digest = &rank.digest;
        let own =
            digest.collectives.iter().zip(0..).filter(|(of, _)| {
                of.group.is_none() && digest.kind(of) != CollectiveKind::SendReceive
            });
        own.map(|(of, row)| entry(digest, of, at, row, steps))
            .collect()
    });
    let lists: Vec<Vec<Entry>> = lists.collect();
    for (step, lists) in by_step(&lists) {
        let first = lists.first().map_or_else(Vec::new, |list| contents(list));
        if lists.iter().any(|list| contents(list) != first) {
            unmatched.unlabeled += lists.iter().map(Vec::len).max().unwrap_or(0);
            continue;
        }
        for at in 0..first.len() {
            let entries: Vec<Entry> = lists
                .iter()
                .filter_map(|list| list.get(at).copied())
                .collect();
            let step = step.or_else(|| entries.iter().find_map(|entry| entry.step));
            all.push(matched(ranks, None, None, step, &entries, world_size));
        }
    }
}

#[cfg(test)]
mod tests;
