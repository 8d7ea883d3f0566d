//! The places where two trees differ, and the time of each.
//!
//! Consecutive calls of one side alone, between two calls that both make, are one place. Within an operator, all
//! differences are one place, so one fused kernel compared with four kernels is one place, too. The same call that
//! launches different kernels is also a place. Similar places, such as those of the layers of a model, are merged into
//! one with several occurrences.

use super::{DiffId, DiffNode, Presence, TreeDiff};
use crate::base::group::grouped;
use crate::base::map::Map;
use crate::base::sort::Arrange;
use crate::compare::{Pair, Which};
use crate::profile::Profile;
use crate::profile::launch::GpuId;
use crate::trace::{StringId, StringTable};

/// A difference of two call trees, with all its occurrences.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The names of the outermost calls that only one side makes there; empty if the same calls launch different
    /// kernels.
    pub calls: Pair<Vec<String>>,
    /// The kernels of one occurrence, in launch order.
    pub kernels: Pair<Vec<String>>,
    /// Time in which they run, summed over the occurrences.
    pub busy_ns: Pair<i64>,
    /// Its occurrences, in order; at least one.
    pub occurrences: Vec<PlaceWork>,
}

/// One occurrence of a [`Place`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PlaceWork {
    /// The nearest enclosing call that both sides make.
    pub common: DiffId,
    /// The calls that only one side makes.
    pub calls: Pair<Vec<DiffId>>,
    /// The GPU activity on each side.
    pub work: Pair<Vec<GpuId>>,
    /// Time in which it runs.
    pub busy_ns: Pair<i64>,
}

/// All places, largest time difference first.
pub(crate) fn places(diff: &TreeDiff, profiles: Pair<&Profile>) -> Vec<Place> {
    let mut finder = Finder {
        diff,
        profiles,
        found: Vec::new(),
        of_op: Map::default(),
    };
    for (id, node) in diff.iter() {
        finder.look_at(id, node);
    }
    let mut places = group(diff, profiles, finder.found);
    places.arrange_by_key(|place| {
        let first = place.occurrences.first().map(|work| work.common);
        (
            std::cmp::Reverse(place.busy_ns.difference().unsigned_abs()),
            first,
        )
    });
    places
}

struct Finder<'a> {
    diff: &'a TreeDiff,
    profiles: Pair<&'a Profile>,
    found: Vec<PlaceWork>,
    /// The only place of each operator.
    of_op: Map<DiffId, usize>,
}

impl Finder<'_> {
    fn look_at(&mut self, id: DiffId, node: &DiffNode) {
        if node.is_whole {
            return;
        }
        let is_wrapper = node.presence != Presence::Both;
        if is_wrapper || self.diff.launches_others(id, self.profiles) {
            self.take_own(id);
        }
        let mut run: Vec<DiffId> = Vec::new();
        for child in self.diff.children(id) {
            match self.diff.get(child) {
                Some(node) if node.is_whole => run.push(child),
                _ => self.take_calls(id, std::mem::take(&mut run)),
            }
        }
        self.take_calls(id, run);
    }

    fn take_own(&mut self, id: DiffId) {
        let diff = self.diff;
        if Which::ALL
            .iter()
            .all(|which| diff.own_work(id, *which).is_empty())
        {
            return;
        }
        let place = self.place(id);
        for which in Which::ALL {
            place.work.get_mut(which).extend(diff.own_work(id, which));
        }
    }

    fn take_calls(&mut self, around: DiffId, run: Vec<DiffId>) {
        if run.is_empty() {
            return;
        }
        let diff = self.diff;
        let place = self.place(around);
        for call in run {
            let Some(Presence::Only(which)) = diff.get(call).map(|node| node.presence) else {
                continue;
            };
            place.calls.get_mut(which).push(call);
            place.work.get_mut(which).extend(diff.gpu_work(call, which));
        }
    }

    fn place(&mut self, around: DiffId) -> &mut PlaceWork {
        let common = self.diff.common(around);
        let next = self.found.len();
        let is_op = self.diff.get(common).is_some_and(|node| node.is_op);
        let at = match is_op {
            true => *self.of_op.entry(common).or_insert(next),
            false => next,
        };
        if at == next {
            self.found.push(PlaceWork {
                common,
                ..PlaceWork::default()
            });
        }
        &mut self.found[at]
    }
}

/// Merges occurrences with the same common call, and the same calls and kernels on each side.
fn group(diff: &TreeDiff, profiles: Pair<&Profile>, found: Vec<PlaceWork>) -> Vec<Place> {
    let key = |id: &DiffId| diff.get(*id).map_or(StringTable::EMPTY, |node| node.name);
    let alike = found.into_iter().map(|mut found| {
        let gpus = profiles.map(|profile| &profile.gpu);
        let work = gpus.zip(found.work.as_ref());
        found.busy_ns = work.map(|(gpu, work)| gpu.busy_ns(work));
        let calls = found.calls.as_ref();
        let calls = calls.map(|calls| calls.iter().map(key).collect::<Vec<StringId>>());
        let kernels = profiles.zip(found.work.as_ref()).map(|(profile, work)| {
            let names = work.iter().map(|id| kernel(profile, *id));
            names.collect::<Vec<&str>>()
        });
        ((key(&found.common), calls, kernels), found)
    });
    let texts = |keys: Vec<StringId>| -> Vec<String> {
        let texts = keys.into_iter().map(|key| diff.names.get(key));
        texts.map(str::to_owned).collect()
    };
    let groups = grouped(alike, Vec::push).into_iter();
    let places = groups.map(|((_, calls, kernels), occurrences)| Place {
        calls: calls.map(texts),
        kernels: kernels.map(|names| names.into_iter().map(str::to_owned).collect()),
        busy_ns: occurrences
            .iter()
            .fold(Pair::default(), |all, one| all.plus(one.busy_ns)),
        occurrences,
    });
    places.collect()
}

pub(crate) fn kernel(profile: &Profile, id: GpuId) -> &str {
    let work = profile.gpu.get(id);
    work.map_or("", |work| profile.trace.strings.get(work.name))
}
