//! Collectives: what they do, how large their messages are, how fast they move them.
//!
//! ```text
//! GPU work ─key→ kind, type, size and members of each ─collectives→ rows of equal ones, their kinds, the longest
//! ```

mod key;
mod kind;
mod purpose;
mod together;

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::exposed::{Exposed, OnGpu};
use crate::base::interval::sum;
use crate::base::sort::Arrange;
use crate::findings::Input;
use crate::perf::collective_element_bytes;
use crate::profile::kernels::GpuWork;
use crate::profile::launch::process;
use crate::profile::timeline::GpuClass;
use crate::trace::EventId;
use key::{group, key};
use purpose::Purposes;
use together::{Attended, waits};

pub(super) use key::Key;
pub(super) use kind::Kind;
pub(super) use purpose::Purpose;
pub(super) use together::Waits;

/// All collectives of one kind.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct OfKind {
    pub(super) kind: Kind,
    pub(super) count: u64,
    /// How many groups of equal type, size and members they are.
    pub(super) n_groups: u64,
    /// The size of the messages, where all have the same.
    pub(super) message_bytes: Option<f64>,
    pub(super) time_ns: i64,
    /// Time in which nothing computes beside one of them.
    pub(super) exposed_ns: i64,
}

/// Collectives of one kind and size.
#[derive(Debug, Clone)]
pub(super) struct Collectives {
    pub(super) key: Key,
    pub(super) count: u64,
    /// Sum of the durations; waiting for the other members counts.
    pub(super) time_ns: i64,
    pub(super) min_ns: i64,
    /// Time in which nothing computes beside one of them.
    pub(super) exposed_ns: i64,
}

impl Collectives {
    /// The size of the message: the whole of it, as benchmarks of collectives count it.
    pub(super) fn message_bytes(&self) -> Option<f64> {
        let dtype = self.key.dtype.as_deref()?;
        let element =
            collective_element_bytes(dtype).or_else(|| crate::perf::element_bytes(dtype))?;
        Some(self.key.elements? * element)
    }

    /// What all of them move over the links; `None` where size or members are not told.
    fn bus_bytes(&self) -> Option<f64> {
        Some(self.message_bytes()? * self.bus_factor()? * self.count as f64)
    }

    /// Bytes of the message over a duration; bytes per nanosecond are GB/s.
    fn algorithm_gbps(&self, ns: i64) -> Option<f64> {
        let bytes = self.message_bytes().filter(|bytes| *bytes > 0.0)?;
        (ns > 0).then(|| bytes / ns as f64)
    }

    pub(super) fn mean_ns(&self) -> i64 {
        self.time_ns / i64::try_from(self.count.max(1)).unwrap_or(i64::MAX)
    }

    /// In the mean.
    pub(super) fn algorithm_bandwidth(&self) -> Option<f64> {
        self.algorithm_gbps(self.mean_ns())
    }

    /// In the mean.
    pub(super) fn bus_bandwidth(&self) -> Option<f64> {
        self.bus_gbps(self.mean_ns())
    }

    /// Of the shortest, which waits least for the other members.
    pub(super) fn best_bus_bandwidth(&self) -> Option<f64> {
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
pub(super) struct Longest {
    pub(super) event: EventId,
    pub(super) length_ns: i64,
    pub(super) stream: Option<i64>,
}

/// The collectives of a trace.
#[derive(Debug, Default)]
pub(super) struct CollectiveSummary {
    /// What is exposed longest first.
    pub(super) groups: Vec<Collectives>,
    /// What is exposed longest first.
    pub(super) kinds: Vec<OfKind>,
    pub(super) count: u64,
    /// Sum of the durations.
    pub(super) time_ns: i64,
    pub(super) max_ns: i64,
    /// At most ten, the longest first.
    pub(super) longest: Vec<Longest>,
    /// What most of what is exposed is for.
    pub(super) purpose: Option<Purpose>,
    /// What GPUs of the trace wait for each other; `None` where no collective of several is in it.
    pub(super) waits: Option<Waits>,
}

impl CollectiveSummary {
    /// The bytes that links move, and the time in which they do, of the collectives that tell it;
    /// `None` where those are less than half of the time.
    pub(super) fn on_bus(&self) -> Option<(f64, i64)> {
        let told = || {
            let groups = self.groups.iter();
            groups.filter_map(|group| Some((group.bus_bytes()?, group.time_ns)))
        };
        let bytes = told().map(|(bytes, _)| bytes).sum();
        let ns = sum(told().map(|(_, ns)| ns));
        (ns > 0 && ns >= self.time_ns / 2).then_some((bytes, ns))
    }
}

/// Sums up the collectives among some GPU work. `exposed` is the time in which collectives run and
/// nothing computes.
pub(super) fn collectives<'a>(
    input: &Input,
    work: impl Iterator<Item = &'a GpuWork>,
    exposed: &Exposed,
) -> CollectiveSummary {
    const N_LONGEST: usize = 10;
    let mut summary = CollectiveSummary::default();
    let mut index: HashMap<String, usize, FxBuildHasher> = HashMap::default();
    // On several streams they run at once.
    let mut spans: Vec<Vec<OnGpu>> = Vec::new();
    let mut of_kinds: HashMap<Kind, Vec<OnGpu>, FxBuildHasher> = HashMap::default();
    let mut purposes = Purposes::new(input);
    let mut of_purposes: Vec<(Purpose, Vec<OnGpu>)> = Vec::new();
    let mut attended: Vec<Attended> = Vec::new();
    let mut numbers: HashMap<String, usize, FxBuildHasher> = HashMap::default();
    for work in work.filter(|work| work.class == GpuClass::Communication) {
        let length_ns = work.span.length();
        let key = key(input, work);
        let span = (process(&input.profile.trace, work.event), work.span);
        of_kinds.entry(key.kind).or_default().push(span);
        let group = group(input, work);
        let purpose = purposes.of(work, key.kind, group);
        match of_purposes.iter_mut().find(|(known, _)| *known == purpose) {
            Some((_, spans)) => spans.push(span),
            None => of_purposes.push((purpose, vec![span])),
        }
        let spelled = format!("{key:?}");
        if exposed.is_of_several_gpus() {
            let collective = format!("{spelled} {:?} {:?}", group.name, group.ranks);
            let next = numbers.len();
            attended.push(Attended {
                collective: *numbers.entry(collective).or_insert(next),
                n_members: key.group_size,
                on: span,
            });
        }
        let row = *index.entry(spelled).or_insert(summary.groups.len());
        if row == summary.groups.len() {
            summary.groups.push(Collectives {
                key,
                count: 0,
                time_ns: 0,
                min_ns: length_ns,
                exposed_ns: 0,
            });
            spans.push(Vec::new());
        }
        if let Some(spans) = spans.get_mut(row) {
            spans.push(span);
        }
        if let Some(group) = summary.groups.get_mut(row) {
            group.count += 1;
            group.time_ns = group.time_ns.saturating_add(length_ns);
            group.min_ns = group.min_ns.min(length_ns);
        }
        summary.count += 1;
        summary.time_ns = summary.time_ns.saturating_add(length_ns);
        summary.max_ns = summary.max_ns.max(length_ns);
        let place = summary
            .longest
            .partition_point(|longer| longer.length_ns >= length_ns);
        if place < N_LONGEST {
            let longest = Longest {
                event: work.event,
                length_ns,
                stream: work.stream,
            };
            summary.longest.insert(place, longest);
            summary.longest.truncate(N_LONGEST);
        }
    }
    for (group, spans) in summary.groups.iter_mut().zip(spans) {
        group.exposed_ns = exposed.within_all(&spans);
    }
    summary.kinds = by_kind(&summary.groups, of_kinds, exposed);
    let of_purposes = of_purposes
        .into_iter()
        .map(|(purpose, spans)| (exposed.within_all(&spans), purpose));
    // Of equal ones the first.
    summary.purpose = of_purposes
        .reduce(|most, next| if next.0 > most.0 { next } else { most })
        .map(|(_, purpose)| purpose);
    summary.waits = waits(attended, exposed);
    summary
        .groups
        .arrange_by_key(|group| std::cmp::Reverse((group.exposed_ns, group.time_ns)));
    summary
}

/// Sums up groups by kind, given when those of each kind ran. `exposed` as above.
fn by_kind(
    groups: &[Collectives],
    mut spans: HashMap<Kind, Vec<OnGpu>, FxBuildHasher>,
    exposed: &Exposed,
) -> Vec<OfKind> {
    let mut kinds: Vec<OfKind> = Vec::new();
    for group in groups {
        let bytes = group.message_bytes();
        match kinds.iter_mut().find(|known| known.kind == group.key.kind) {
            Some(known) => {
                known.count += group.count;
                known.n_groups += 1;
                known.message_bytes = known.message_bytes.filter(|known| Some(*known) == bytes);
                known.time_ns = known.time_ns.saturating_add(group.time_ns);
            }
            None => kinds.push(OfKind {
                kind: group.key.kind,
                count: group.count,
                n_groups: 1,
                message_bytes: bytes,
                time_ns: group.time_ns,
                exposed_ns: exposed.within_all(&spans.remove(&group.key.kind).unwrap_or_default()),
            }),
        }
    }
    kinds.arrange_by_key(|of_kind| std::cmp::Reverse((of_kind.exposed_ns, of_kind.time_ns)));
    kinds
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 8 members, 4 000 000 floats of 4 bytes in 100 µs: 16 MB / 100 µs = 160 GB/s. An all-reduce
    /// moves 2 · 7 / 8 = 1.75 of that, 280 GB/s, a gathering 7 / 8, 140 GB/s.
    #[test]
    fn bandwidth_by_hand() {
        let of = |kind, group_size| Collectives {
            key: Key {
                kind,
                dtype: Some("Float".to_owned()),
                elements: Some(4e6),
                group_size: Some(group_size),
                is_uneven: false,
            },
            count: 2,
            time_ns: 200_000,
            min_ns: 80_000,
            exposed_ns: 0,
        };
        let reduce = of(Kind::AllReduce, 8.0);
        assert_eq!(reduce.message_bytes(), Some(16e6));
        assert_eq!(reduce.algorithm_bandwidth(), Some(160.0));
        assert_eq!(reduce.bus_bandwidth(), Some(280.0));
        assert_eq!(reduce.best_bus_bandwidth(), Some(350.0));
        assert_eq!(of(Kind::AllGather, 8.0).bus_bandwidth(), Some(140.0));
        assert_eq!(of(Kind::Broadcast, 8.0).bus_bandwidth(), Some(160.0));
        assert_eq!(of(Kind::AllReduce, 1.0).bus_bandwidth(), None);
        assert_eq!(of(Kind::Barrier, 8.0).bus_bandwidth(), None);
        // Of uneven parts nobody knows what leaves.
        let mut uneven = of(Kind::AllToAll, 8.0);
        assert_eq!(uneven.bus_bandwidth(), Some(140.0));
        uneven.key.is_uneven = true;
        assert_eq!(uneven.algorithm_bandwidth(), Some(160.0));
        assert_eq!(uneven.bus_bandwidth(), None);
    }
}
