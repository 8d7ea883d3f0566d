//! Collectives: their kinds, message sizes, and bandwidth.
//!
//! ```text
//! GPU events ─key→ kind, type, size and ranks of each ─collectives→ groups of equal ones, their kinds, the longest
//! ```

mod fastest;
mod key;
mod micro_batches;
mod purpose;
mod ranks;
mod staging;
mod steps;
mod together;

use crate::base::group::grouped;
use crate::base::interval::sum;
use crate::base::map::Map;
use crate::base::sort::{Arrange, Arranged, FirstMax};
use crate::base::stats::median_ns;
use crate::names::Family;
use crate::names::collective::{CollectiveKind, Purpose};
use crate::profile::Profile;
use crate::profile::gpu::exposed::{Exposed, OnGpu};
use crate::profile::gpu::kernels::GpuWork;
use crate::profile::gpu::timeline::GpuClass;
use crate::profile::launch::{is_graph_call, process};
use crate::trace::{EventId, StringId};
use fastest::beyond_fastest;
use key::{group, key};
use purpose::Purposes;
use ranks::Ranks;
use staging::{Staged, Staging};
use together::{RankPart, waits};

pub(crate) use key::{Key, described_by, ops_above};
pub(crate) use micro_batches::repeated;
pub(crate) use ranks::linked_gpus;
pub(crate) use staging::StagedTime;
pub(crate) use steps::{OfSteps, of_steps};
pub(crate) use together::Waits;

/// Collectives of one kind, of any size.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct OfKind {
    pub(crate) kind: CollectiveKind,
    pub(crate) count: u64,
    /// Number of groups with the same type, size and ranks.
    pub(crate) n_groups: u64,
    /// The message size, if all have the same.
    pub(crate) message_bytes: Option<f64>,
    time_ns: i64,
    /// Time in which one of them runs and nothing computes.
    pub(crate) exposed_ns: i64,
}

/// Collectives of one kind and size.
#[derive(Debug, Clone)]
pub(crate) struct Collectives {
    pub(crate) key: Key,
    pub(crate) count: u64,
    /// Sum of the durations, including the time spent waiting for other ranks.
    pub(crate) time_ns: i64,
    min_ns: i64,
    /// Median duration.
    pub(crate) median_ns: i64,
    /// Total time beyond the median of those that take longer: waiting for other ranks, or skew.
    pub(crate) excess_ns: i64,
    /// Time of the copies into and out of their buffers.
    pub(crate) staging_ns: i64,
    /// Time in which one of them runs and nothing computes.
    pub(crate) exposed_ns: i64,
}

impl Collectives {
    /// The full message size, as benchmarks of collectives count it.
    pub(crate) fn message_bytes(&self) -> Option<f64> {
        self.key.message_bytes()
    }

    /// Bytes that all of them move over the links; `None` if size or ranks are unknown.
    pub(crate) fn bus_bytes(&self) -> Option<f64> {
        Some(self.message_bytes()? * self.bus_factor()? * self.count as f64)
    }

    /// Message bytes divided by a duration; bytes per nanosecond are GB/s.
    fn algorithm_gbps(&self, ns: i64) -> Option<f64> {
        let bytes = self.message_bytes().filter(|bytes| *bytes > 0.0)?;
        (ns > 0).then(|| bytes / ns as f64)
    }

    /// From the median duration, which a few collectives that wait for other ranks do not affect.
    pub(crate) fn algorithm_bandwidth(&self) -> Option<f64> {
        self.algorithm_gbps(self.median_ns)
    }

    /// From the median duration.
    pub(crate) fn bus_bandwidth(&self) -> Option<f64> {
        self.bus_gbps(self.median_ns)
    }

    /// From the shortest duration, which includes the least waiting for other ranks.
    pub(crate) fn best_bus_bandwidth(&self) -> Option<f64> {
        self.bus_gbps(self.min_ns)
    }

    fn bus_gbps(&self, ns: i64) -> Option<f64> {
        Some(self.algorithm_gbps(ns)? * self.bus_factor()?)
    }

    fn bus_factor(&self) -> Option<f64> {
        match self.key.is_uneven {
            true => None,
            false => self.key.kind.bus_factor(self.key.group_size?),
        }
    }
}

/// One long collective.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Longest {
    pub(crate) event: EventId,
    pub(crate) length_ns: i64,
    pub(crate) stream: Option<i64>,
}

/// The collectives of a trace.
#[derive(Debug, Default)]
pub(crate) struct CollectiveSummary {
    /// Most exposed time first.
    pub(crate) groups: Vec<Collectives>,
    /// Most exposed time first.
    pub(crate) kinds: Vec<OfKind>,
    pub(crate) count: u64,
    /// Sum of the durations.
    pub(crate) time_ns: i64,
    pub(crate) max_ns: i64,
    /// At most ten, longest first.
    pub(crate) longest: Vec<Longest>,
    /// The purpose with the most exposed time.
    pub(crate) purpose: Option<Purpose>,
    /// Total time beyond the fastest collectives of the same kind, size and ranks: mostly waiting for ranks that arrive
    /// later.
    pub(crate) beyond_fastest_ns: i64,
    /// How long GPUs of the trace wait for each other; `None` if no collective includes several of them.
    pub(crate) waits: Option<Waits>,
    /// All-reduces in the steps of a serving engine.
    pub(crate) steps: Option<OfSteps>,
    /// Reductions of gradients after micro-batches that are not the last of their step; `None` if there are none.
    pub(crate) repeated: Option<RepeatedTime>,
}

/// Reductions of gradients that one at the end of the step would replace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RepeatedTime {
    /// The largest number of micro-batches in a step.
    pub(crate) n_micro_batches: usize,
    /// Whether parameters are sharded, so that gradients that are not reduced need more memory.
    pub(crate) are_sharded: bool,
    pub(crate) count: u64,
    pub(crate) time_ns: i64,
    /// Time in which one of them runs and nothing computes.
    pub(crate) exposed_ns: i64,
    /// In order.
    pub(crate) events: Vec<EventId>,
}

impl CollectiveSummary {
    /// The bytes moved over links and the time this takes, over the collectives with known size and ranks, within a host
    /// or across hosts; `None` if those take less than half of the time.
    pub(crate) fn on_bus(&self, spans_hosts: bool) -> Option<(f64, i64)> {
        let measured = || {
            let groups = self.groups.iter();
            let groups = groups.filter(|group| group.key.spans_hosts == spans_hosts);
            groups.filter_map(|group| Some((group.bus_bytes()?, group.time_ns)))
        };
        let bytes = measured().map(|(bytes, _)| bytes).sum();
        let ns = sum(measured().map(|(_, ns)| ns));
        (ns > 0 && ns >= self.time_ns / 2).then_some((bytes, ns))
    }

    fn add(&mut self, work: &GpuWork) {
        const N_LONGEST: usize = 10;
        let length_ns = work.span.length();
        self.count += 1;
        self.time_ns = self.time_ns.saturating_add(length_ns);
        self.max_ns = self.max_ns.max(length_ns);
        let longest = &mut self.longest;
        let place = longest.partition_point(|longer| longer.length_ns >= length_ns);
        let one = Longest {
            event: work.event,
            length_ns,
            stream: work.stream,
        };
        longest.insert(place, one);
        longest.truncate(N_LONGEST);
    }
}

/// One collective.
struct One {
    key: Key,
    /// Name and ranks of its process group.
    group: String,
    purpose: Purpose,
    on: OnGpu,
    /// The launch of the graph that it belongs to, and its kernel.
    of_graph: Option<(EventId, StringId)>,
    staging_ns: i64,
}

/// Summarizes the collectives. `exposed` is the time in which collectives run and nothing computes.
pub(crate) fn collectives(profile: &Profile, exposed: &Exposed) -> CollectiveSummary {
    let mut summary = CollectiveSummary::default();
    let mut purposes = Purposes::new(profile);
    let mut all: Vec<(String, One)> = Vec::new();
    let mut parts: Vec<RankPart> = Vec::new();
    let mut numbers: Map<String, usize> = Map::default();
    let (ranks, staging) = (Ranks::new(&profile.trace), Staging::of(profile));
    let work = profile.gpu.iter();
    for (id, work) in work.filter(|(_, work)| work.class == GpuClass::Communication) {
        summary.add(work);
        let on = (process(&profile.trace, work.event), work.span);
        let staged = staging.get(id);
        let bytes = staged.map(|staged| staged.bytes);
        let (key, group) = (key(profile, work, &ranks, bytes), group(profile, work));
        let purpose = purposes.of(work, key.kind, group);
        let spelled = format!("{key:?}");
        let of_group = format!("{:?} {:?}", group.name, group.ranks);
        if exposed.is_of_several_gpus() {
            let collective = format!("{spelled} {of_group}");
            let next = numbers.len();
            parts.push(RankPart {
                collective: *numbers.entry(collective).or_insert(next),
                n_ranks: key.group_size,
                on,
            });
        }
        let copies = staged.iter().flat_map(Staged::copies);
        let copies = copies.filter_map(|id| profile.gpu.get(id));
        let one = One {
            staging_ns: sum(copies.map(|copy| copy.span.length())),
            key,
            group: of_group,
            purpose,
            on,
            of_graph: launch_of_graph(profile, work).map(|launch| (launch, work.name)),
        };
        all.push((spelled, one));
    }
    summary.beyond_fastest_ns = beyond_fastest(&all);
    let of_purposes = all.iter().map(|(_, one)| (one.purpose, one.on));
    let of_purposes = grouped(of_purposes, Vec::push).into_iter();
    summary.purpose = of_purposes
        .map(|(purpose, spans)| (exposed.within_all(&spans), purpose))
        .first_max_by_key(|one| one.0)
        .map(|(_, purpose)| purpose);
    let alike = grouped(all, Vec::push).into_iter();
    let groups = alike.filter_map(|(_, alike)| summary_of(alike, exposed));
    let groups: Vec<(Collectives, Vec<OnGpu>)> = groups.collect();
    summary.kinds = by_kind(&groups, exposed);
    summary.waits = waits(parts, exposed);
    summary.steps = of_steps(profile);
    summary.repeated = repeated_time(profile, exposed);
    summary.groups = groups.into_iter().map(|(group, _)| group).collect();
    summary
        .groups
        .arrange_by_largest(|group| (group.exposed_ns, group.time_ns));
    summary
}

fn launch_of_graph(profile: &Profile, work: &GpuWork) -> Option<EventId> {
    let launch = work.launched_by?;
    is_graph_call(&profile.trace, launch).then_some(launch)
}

fn repeated_time(profile: &Profile, exposed: &Exposed) -> Option<RepeatedTime> {
    let repeated = repeated(profile);
    let all = profile.gpu.all();
    let all = all.filter(|work| repeated.events.binary_search(&work.event).is_ok());
    let spans: Vec<OnGpu> = all
        .map(|work| (process(&profile.trace, work.event), work.span))
        .collect();
    (!spans.is_empty()).then(|| RepeatedTime {
        n_micro_batches: repeated.n_micro_batches,
        are_sharded: repeated.are_sharded,
        count: spans.len() as u64,
        time_ns: sum(spans.iter().map(|(_, span)| span.length())),
        exposed_ns: exposed.within_all(&spans),
        events: repeated.events.clone(),
    })
}

/// Time of the copies into and out of the buffers of collectives; `None` if there are none.
pub(crate) fn staged_time(profile: &Profile, exposed: &Exposed) -> Option<StagedTime> {
    Staging::of(profile).time(profile, exposed)
}

/// Summarizes collectives with the same key; also when each of them runs.
fn summary_of(alike: Vec<One>, exposed: &Exposed) -> Option<(Collectives, Vec<OnGpu>)> {
    let lengths = || alike.iter().map(|one| one.on.1.length());
    let median_ns = median_ns(lengths().collect())?;
    let spans: Vec<OnGpu> = alike.iter().map(|one| one.on).collect();
    let group = Collectives {
        count: spans.len() as u64,
        time_ns: sum(lengths()),
        min_ns: lengths().min()?,
        median_ns,
        excess_ns: sum(lengths().map(|ns| (ns - median_ns).max(0))),
        staging_ns: sum(alike.iter().map(|one| one.staging_ns)),
        exposed_ns: exposed.within_all(&spans),
        key: alike.into_iter().next()?.key,
    };
    Some((group, spans))
}

/// Summarizes groups by kind.
fn by_kind(groups: &[(Collectives, Vec<OnGpu>)], exposed: &Exposed) -> Vec<OfKind> {
    let groups = groups
        .iter()
        .map(|(group, spans)| (group.key.kind, (group, spans)));
    let kinds = grouped(groups, Vec::push).into_iter();
    let kinds = kinds.map(|(kind, groups): (_, Vec<(&Collectives, &Vec<OnGpu>)>)| {
        let spans: Vec<OnGpu> = groups
            .iter()
            .flat_map(|(_, spans)| *spans)
            .copied()
            .collect();
        let mut bytes = groups.iter().map(|(group, _)| group.message_bytes());
        let first = bytes.next().flatten();
        OfKind {
            kind,
            count: spans.len() as u64,
            n_groups: groups.len() as u64,
            message_bytes: first.filter(|_| bytes.all(|bytes| bytes == first)),
            time_ns: sum(groups.iter().map(|(group, _)| group.time_ns)),
            exposed_ns: exposed.within_all(&spans),
        }
    });
    kinds.arranged_by_largest(|of_kind| (of_kind.exposed_ns, of_kind.time_ns))
}

/// Number and total time of kernels that communicate, by their names or their operators.
pub(crate) fn communication(profile: &Profile) -> (u64, i64) {
    let collectives = profile.gpu.all().filter(|work| work.is_collective);
    let by_name = collectives.map(|work| (1, work.span.length()));
    let by_operator = profile
        .operations()
        .iter()
        .filter(|operation| operation.family == Family::Communication)
        .map(|operation| (operation.n_calls(), operation.kernel_ns));
    by_name
        .chain(by_operator)
        .fold((0, 0), |(n, all_ns): (u64, i64), (calls, ns)| {
            (n.saturating_add(calls), all_ns.saturating_add(ns))
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use CollectiveKind::*;

    /// 8 ranks, 4 000 000 floats of 4 bytes, 100 µs as the median of 80, 100 and 220: 16 MB / 100 µs = 160 GB/s. An
    /// all-reduce moves 2 · 7 / 8 = 1.75 times that, 280 GB/s; an all-gather 7 / 8, 140 GB/s.
    #[test]
    fn bandwidth_by_hand() {
        let of = |kind, group_size| Collectives {
            key: Key {
                kind,
                dtype: Some("Float".to_owned()),
                elements: Some(4e6),
                bytes: None,
                source: None,
                group_size: Some(group_size),
                spans_hosts: false,
                is_uneven: false,
            },
            count: 3,
            time_ns: 400_000,
            min_ns: 80_000,
            median_ns: 100_000,
            excess_ns: 120_000,
            staging_ns: 0,
            exposed_ns: 0,
        };
        let reduce = of(AllReduce, 8.0);
        assert_eq!(reduce.message_bytes(), Some(16e6));
        assert_eq!(reduce.algorithm_bandwidth(), Some(160.0));
        assert_eq!(reduce.bus_bandwidth(), Some(280.0));
        assert_eq!(reduce.best_bus_bandwidth(), Some(350.0));
        assert_eq!(of(AllGather, 8.0).bus_bandwidth(), Some(140.0));
        assert_eq!(of(Broadcast, 8.0).bus_bandwidth(), Some(160.0));
        assert_eq!(of(AllReduce, 1.0).bus_bandwidth(), None);
        assert_eq!(of(Barrier, 8.0).bus_bandwidth(), None);
        // A message of which only the size is known.
        let mut sized = of(AllReduce, 8.0);
        (sized.key.dtype, sized.key.bytes) = (None, Some(8_000_000));
        assert_eq!(sized.algorithm_bandwidth(), Some(80.0));
        // With uneven parts, the bus traffic is unknown.
        let mut uneven = of(AllToAll, 8.0);
        assert_eq!(uneven.bus_bandwidth(), Some(140.0));
        uneven.key.is_uneven = true;
        assert_eq!(uneven.algorithm_bandwidth(), Some(160.0));
        assert_eq!(uneven.bus_bandwidth(), None);
    }
}
