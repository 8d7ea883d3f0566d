//! The process groups of a job: their names, their ranks, their labels.

use super::Rank;
use super::digest::{Digest, GroupText};
use crate::base::sort::Arrange;

/// A process group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Group {
    /// `pg_name`; another group of the job may have the same name.
    pub(crate) name: String,
    /// `pg_desc`: `mesh_tp`, `default_pg`; empty if there is none.
    pub(crate) description: String,
    /// The numbers of its ranks, in the order of the group.
    pub(crate) ranks: Vec<u32>,
    /// The ranks of these that were read, as indices into the ranks of the job, in the same order.
    pub(crate) members: Vec<usize>,
}

impl Group {
    /// The display name: "tp 0–7", "group 3".
    pub(crate) fn label(&self) -> String {
        match self.description.as_str() {
            "" | "undefined" => format!("group {}", self.name),
            description => format!("{description} {}", self.name),
        }
    }

    /// Whether its ranks are on several hosts.
    pub(crate) fn spans_hosts(&self, ranks: &[Rank]) -> bool {
        let mut hosts = self.members.iter().filter_map(|at| ranks.get(*at));
        let first = hosts.next().map(|rank| rank.host);
        hosts.any(|rank| Some(rank.host) != first)
    }
}

/// All groups that the profiler lists or collectives name.
pub(super) fn find(ranks: &[Rank]) -> Vec<Group> {
    let mut found: Vec<Group> = Vec::new();
    let mut add = |name: &str, description: &str, of: Vec<u32>| {
        let known = found
            .iter_mut()
            .find(|group| group.name == name && group.ranks == of);
        match known {
            Some(known) if known.description.is_empty() => {
                known.description = description.to_owned()
            }
            Some(_) => {}
            None => found.push(Group {
                name: name.to_owned(),
                description: description.to_owned(),
                members: Vec::new(),
                ranks: of,
            }),
        }
    };
    for rank in ranks {
        let digest = &rank.digest;
        for group in &digest.identity.groups {
            if !group.ranks.is_empty() {
                add(&group.name, &group.description, group.ranks.clone());
            }
        }
        for group in &digest.groups {
            if let Some(of) = ranks_of(ranks, digest, group) {
                add(digest.text(group.name), digest.text(group.description), of);
            }
        }
    }
    for group in &mut found {
        let at = |number: &u32| ranks.iter().position(|rank| rank.number == *number);
        group.members = group.ranks.iter().filter_map(at).collect();
    }
    // Groups without any rank that was read are useless.
    found.retain(|group| !group.members.is_empty());
    found.arrange_by_cached_key(|group| (order(&group.name), group.ranks.clone()));
    found
}

/// Sort key: numeric names sort as numbers.
fn order(name: &str) -> (u64, String) {
    (name.parse().unwrap_or(u64::MAX), name.to_owned())
}

/// The ranks of a group that a collective names. The profiler truncates this list after 30 ranks but has the full list
/// elsewhere.
pub(super) fn ranks_of(ranks: &[Rank], digest: &Digest, group: &GroupText) -> Option<Vec<u32>> {
    let text = digest.text(group.ranks);
    let list = numbers(text);
    let is_cut = text.contains("...");
    if !is_cut && !list.is_empty() {
        return Some(list);
    }
    let name = digest.text(group.name);
    let own = std::iter::once(digest).chain(ranks.iter().map(|rank| &rank.digest));
    let mut listed = own.flat_map(|digest| &digest.identity.groups);
    let fits = |ranks: &[u32]| {
        ranks.starts_with(&list) && group.size.is_none_or(|size| size as usize == ranks.len())
    };
    let known = listed.find(|of| of.name == name && !of.ranks.is_empty() && fits(&of.ranks));
    let strided = || {
        let ((start, stride), size) = (group.start_stride?, group.size?);
        let ranks = (0..size).map(|at| start.checked_add(at.checked_mul(stride)?));
        ranks.collect::<Option<Vec<u32>>>()
    };
    known.map(|of| of.ranks.clone()).or_else(strided)
}

/// The numbers of a list, `[0, 1, …]`.
fn numbers(list: &str) -> Vec<u32> {
    let list = list.trim_matches(['[', ']']).split(',');
    list.filter_map(|number| number.trim().parse().ok())
        .collect()
}
