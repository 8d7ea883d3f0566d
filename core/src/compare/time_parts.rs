//! Splits the whole time of each trace into parts that do not overlap, so that the difference adds up.
//!
//! Computation is split by operation; concurrent kernels share the time evenly. The rest is exposed communication,
//! exposed copies, and idle time. The parts of a trace add up to its time from the first GPU activity to the last, to
//! the nanosecond; so the differences of the parts add up to the total difference.

use super::amount::Amount;
use super::ops::Operations;
use super::pair::{Pair, Which};
use super::side::Side;
use crate::base::group::grouped;
use crate::base::interval::sum;
use crate::base::sort::{Arrange, Arranged};
use crate::names::Family;
use crate::profile::gpu::shares::Shares;
use crate::profile::gpu::timeline::GpuTimeline;
use crate::profile::operations::Operation;

/// The kind of a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PartKind {
    /// Computation of an operation of both traces: its position in [`Operations::matched`].
    Matched(usize),
    /// Computation of an operation of one trace: its position in [`Operations::unmatched`].
    Unmatched(Which, usize),
    /// Computation of [unattributed](crate::profile::gpu::unattributed) kernels.
    Unattributed,
    /// Computation of calls that choose the fastest of several kernels.
    Tuning,
    /// Communication without concurrent computation.
    ExposedCommunication,
    /// Copies without concurrent computation or communication.
    ExposedCopies,
    /// Time in which nothing runs.
    Idle,
}

impl PartKind {
    /// Whether it is computation.
    pub fn is_computation(self) -> bool {
        matches!(
            self,
            PartKind::Matched(_)
                | PartKind::Unmatched(..)
                | PartKind::Unattributed
                | PartKind::Tuning
        )
    }
}

/// A part of the time of both traces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// What it is.
    pub kind: PartKind,
    /// The label shown to users.
    pub label: String,
    /// The kind of work; `None` if it is not computation.
    pub family: Option<Family>,
    /// Its length in each trace.
    pub times: Pair<i64>,
}

/// The time of both traces, split into parts.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Parts {
    /// From the first GPU activity to the last; 0 for a trace without any.
    pub total: Pair<i64>,
    /// Time in which anything is computed.
    pub computation: Pair<i64>,
    /// All parts, those that differ most first.
    pub parts: Vec<Part>,
    /// Time that is in no part: computation that belongs to no operation, nearly always zero; all of the time if there
    /// are no parts.
    pub rest: Pair<i64>,
    /// If one of them has more steps: the target's number over that of the reference, and its label.
    pub(crate) more_steps: Option<(f64, String)>,
}

/// One step from the time of the reference to that of the target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The part; `None` for several parts together, and for the rest.
    pub kind: Option<PartKind>,
    /// The kind of work; `None` if it is not computation, or if there are several kinds.
    pub family: Option<Family>,
    /// The label shown to users.
    pub label: String,
    /// Its time in each trace.
    pub times: Pair<i64>,
    /// The running total before this step.
    pub from_ns: i64,
    /// The running total after this step: `from_ns` plus the difference.
    pub to_ns: i64,
}

impl Parts {
    pub(crate) fn new(
        sides: Pair<Side>,
        shares: &Pair<Shares>,
        operations: &Operations,
        amount: &Amount,
    ) -> Parts {
        let timelines = sides.map(|side| side.report.timelines.whole);
        let of =
            |get: fn(&GpuTimeline) -> i64| timelines.map(|whole| whole.as_ref().map_or(0, get));
        let total = of(GpuTimeline::total_ns);
        if timelines.both().is_none() {
            return Parts {
                total,
                computation: of(|whole| whole.computation_ns),
                parts: Vec::new(),
                rest: total,
                more_steps: None,
            };
        }
        let others = other_parts(sides, shares, &timelines);
        let all = operation_parts(operations).chain(others);
        let mut parts: Vec<Part> = all.filter(|part| part.times != Pair::default()).collect();
        // Stable sort: ties keep the order of time.
        parts.arrange_by_largest(|part| part.times.difference().unsigned_abs());
        let known = Pair::of(|which| sum(parts.iter().map(|part| *part.times.get(which))));
        Parts {
            total,
            computation: of(|whole| whole.computation_ns),
            rest: Pair::of(|which| total.get(which).saturating_sub(*known.get(which))),
            more_steps: amount.more_steps().map(|label| (amount.ratio, label)),
            parts,
        }
    }

    /// Whether times differ by more than how exactly they are measured, relative to the run.
    pub fn is_notable(&self, times: Pair<i64>) -> bool {
        const PARTS: u64 = 1_000;
        let run_ns = self.total.reference.max(self.total.target);
        let ns = times.difference().unsigned_abs();
        ns > 0 && ns.saturating_mul(PARTS) >= run_ns.unsigned_abs()
    }

    /// The parts with the times of the reference for as many steps as the target has, and the rest likewise; those that
    /// differ most first.
    pub fn for_as_many_steps(&self) -> (Vec<Part>, Pair<i64>) {
        let Some((ratio, _)) = self.more_steps else {
            return (self.parts.clone(), self.rest);
        };
        let scaled = |times: Pair<i64>| Pair {
            reference: (times.reference as f64 * ratio).round() as i64,
            ..times
        };
        // Kernels are tuned once, in however many steps.
        let parts = self.parts.iter().map(|part| Part {
            times: match part.kind {
                PartKind::Tuning => part.times,
                _ => scaled(part.times),
            },
            ..part.clone()
        });
        let parts = parts.arranged_by_largest(|part| part.times.difference().unsigned_abs());
        (parts, scaled(self.rest))
    }

    /// The steps from the time of the reference to that of the target: the time of more or fewer steps of the profiler,
    /// the `n` parts that differ most for as many of them, then the other parts by kind of work, then the rest. Parts
    /// that differ by next to nothing are only among the others. The steps add up to the difference. Empty if one of
    /// the traces has no GPU activity.
    pub fn waterfall(&self, n: usize) -> Vec<Step> {
        let mut steps = Vec::new();
        if self.total.reference == 0 || self.total.target == 0 {
            return steps;
        }
        let mut at_ns = self.total.reference;
        let mut step = |kind, family, label: String, times: Pair<i64>| {
            let from_ns = at_ns;
            at_ns = at_ns.saturating_add(times.difference());
            steps.push(Step {
                kind,
                family,
                label,
                times,
                from_ns,
                to_ns: at_ns,
            });
        };
        let (parts, rest) = self.for_as_many_steps();
        if let Some((_, label)) = &self.more_steps {
            let scaled = parts.iter().map(|part| part.times.reference);
            let scaled_ns = sum(scaled).saturating_add(rest.reference);
            let times = Pair {
                reference: self.total.reference,
                target: scaled_ns,
            };
            step(None, None, label.clone(), times);
        }
        let differ = |part: &&Part| part.times.difference() != 0;
        let shown: Vec<&Part> = parts.iter().filter(differ).collect();
        // A single remaining part takes no more room than a line for the others.
        let n = if shown.len() == n + 1 { n + 1 } else { n };
        let n_differ = shown
            .iter()
            .filter(|part| self.is_notable(part.times))
            .count();
        let n = n.min(n_differ);
        for part in shown.iter().take(n) {
            step(Some(part.kind), part.family, part.label.clone(), part.times);
        }
        for group in by_family(shown.get(n..).unwrap_or_default()) {
            step(group.kind, group.family, group.label, group.times);
        }
        if rest.difference() != 0 {
            step(None, None, "Rest".to_owned(), rest);
        }
        steps
    }

    /// The parts of computation that both traces have, summed.
    pub fn matched(&self) -> Pair<i64> {
        self.sum_of(|kind| matches!(kind, PartKind::Matched(_)))
    }

    /// The parts of computation that only one trace has, summed.
    pub fn unmatched(&self) -> Pair<i64> {
        self.sum_of(|kind| matches!(kind, PartKind::Unmatched(..)))
    }

    /// The time of a part that is not computation.
    pub fn of_kind(&self, kind: PartKind) -> Pair<i64> {
        self.sum_of(|other| other == kind)
    }

    /// The percentage of the differences in computation that is in matched operations: the sum of their absolute
    /// differences over that of all operations. `None` if nothing differs.
    pub fn matched_percent(&self) -> Option<f64> {
        let differ = |is_it: fn(PartKind) -> bool| {
            let parts = self.parts.iter().filter(|part| is_it(part.kind));
            let sizes = parts.map(|part| part.times.difference().unsigned_abs());
            sizes.fold(0, u64::saturating_add)
        };
        let matched = differ(|kind| matches!(kind, PartKind::Matched(_)));
        let rest = self.rest.difference().unsigned_abs();
        let all = differ(PartKind::is_computation).saturating_add(rest);
        (all > 0).then(|| matched as f64 / all as f64 * 100.0)
    }

    fn sum_of(&self, is_it: impl Fn(PartKind) -> bool) -> Pair<i64> {
        let parts = self.parts.iter().filter(|part| is_it(part.kind));
        parts
            .map(|part| part.times)
            .fold(Pair::default(), Pair::plus)
    }
}

/// The parts that operations take.
fn operation_parts(operations: &Operations) -> impl Iterator<Item = Part> {
    let matched = operations.matched.iter().enumerate().map(|(at, op)| Part {
        kind: PartKind::Matched(at),
        label: op.label(),
        family: Some(op.family),
        times: op.sides.as_ref().map(|side| side.exclusive_ns),
    });
    let unmatched = Which::ALL.into_iter().flat_map(|which| {
        let ops = operations.unmatched.get(which).iter().enumerate();
        ops.map(move |(at, op)| Part {
            kind: PartKind::Unmatched(which, at),
            label: op.label(),
            family: Some(op.family),
            times: Pair::only(which, op.side.exclusive_ns),
        })
    });
    matched.chain(unmatched)
}

/// The parts that are of no compared operation.
fn other_parts(
    sides: Pair<Side>,
    shares: &Pair<Shares>,
    timelines: &Pair<Option<GpuTimeline>>,
) -> impl Iterator<Item = Part> {
    let of = |get: fn(&GpuTimeline) -> i64| {
        let timelines = timelines.as_ref();
        timelines.map(|whole| whole.as_ref().map_or(0, get))
    };
    let tuning = exclusive_ns(sides, shares, |one| {
        one.is_tuning() && !one.is_unattributed()
    });
    #[rustfmt::skip]
    let parts = [
        (PartKind::Unattributed, "Unattributed kernels", exclusive_ns(sides, shares, Operation::is_unattributed)),
        (PartKind::Tuning, "Kernel tuning", tuning),
        (PartKind::ExposedCommunication, "Exposed communication", of(|whole| whole.exposed_comm_ns)),
        (PartKind::ExposedCopies, "Exposed copies", of(|whole| whole.exposed_memcpy_ns)),
        (PartKind::Idle, "Idle", of(|whole| whole.idle_ns)),
    ];
    parts.into_iter().map(|(kind, label, times)| Part {
        kind,
        label: label.to_owned(),
        family: None,
        times,
    })
}

/// The time of some operations, divided evenly among kernels that run at the same time.
fn exclusive_ns(
    sides: Pair<Side>,
    shares: &Pair<Shares>,
    is_one: fn(&Operation) -> bool,
) -> Pair<i64> {
    Pair::of(|which| {
        let operations = sides.get(which).profile.operations().iter();
        let all = operations.zip(&shares.get(which).operations_ns);
        let own = all.filter(|(operation, _)| is_one(operation));
        sum(own.map(|(_, ns)| *ns))
    })
}

/// Up to this many others are shown together: a line for each kind of work would be longer.
const FEW_OTHERS: usize = 6;
/// Maximum number of kinds of work distinguished among the others.
const FAMILIES: usize = 6;

/// Several parts as one step.
struct Group {
    kind: Option<PartKind>,
    family: Option<Family>,
    label: String,
    times: Pair<i64>,
}

impl Group {
    /// Parts of one kind of work; a single one keeps its own label.
    fn new(family: Option<Family>, parts: &[&Part]) -> Group {
        let times = parts.iter().map(|part| part.times);
        let times = times.fold(Pair::default(), Pair::plus);
        let (kind, label) = match (parts, family) {
            ([one], _) => (Some(one.kind), one.label.clone()),
            (_, Some(family)) => (None, format!("{}: {} others", family.label(), parts.len())),
            (_, None) => (None, format!("{} others", parts.len())),
        };
        Group {
            kind,
            family,
            label,
            times,
        }
    }
}

/// Parts that are not shown individually: together if they are few, otherwise by kind of work, with the kinds that
/// differ most first and the remaining ones last.
fn by_family(parts: &[&Part]) -> Vec<Group> {
    if parts.is_empty() {
        return Vec::new();
    }
    if parts.len() <= FEW_OTHERS {
        return vec![Group::new(None, parts)];
    }
    // Parts that are not computation are not grouped: each is its own kind.
    let keyed = parts.iter().map(|part| {
        let own = part.family.is_none().then_some(part.kind);
        ((part.family, own), *part)
    });
    let mut kinds: Vec<(Option<Family>, Vec<&Part>)> = grouped(keyed, Vec::push)
        .into_iter()
        .map(|((family, _), parts)| (family, parts))
        .collect();
    let differs = |parts: &[&Part]| sum(parts.iter().map(|part| part.times.difference()));
    kinds.arrange_by_largest(|(_, parts)| differs(parts).unsigned_abs());
    let rest = kinds.split_off(kinds.len().min(FAMILIES));
    let rest: Vec<&Part> = rest.into_iter().flat_map(|(_, parts)| parts).collect();
    let mut groups: Vec<Group> = kinds
        .iter()
        .map(|(family, parts)| Group::new(*family, parts))
        .collect();
    if !rest.is_empty() {
        groups.push(Group::new(None, &rest));
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::super::testing::{compared, pair};
    use crate::testing::Timetable;

    /// ```text
    /// µs          100  110  120  130  140  150  160
    /// reference   [mm  =====)[add)    [copy)
    /// target      [mm  ==========)         [gelu)
    ///                  [add  )
    /// ```
    #[test]
    fn the_difference_can_be_read_off_the_drawing() {
        let reference = Timetable::new()
            .work("aten::mm", "mm", 100..120)
            .work("aten::add", "add", 120..130)
            .work("aten::to", "Memcpy DtoH", 140..150);
        let target = Timetable::new()
            .work("aten::mm", "mm", 100..130)
            .work("aten::gelu", "gelu", 150..160)
            .stream(8)
            .work("aten::add", "add", 110..120);
        let parts = compared(&reference, &target, None).parts;
        assert_eq!(parts.total, pair(50_000, 60_000));
        assert_eq!(parts.computation, pair(30_000, 40_000));
        assert_eq!(parts.rest, pair(0, 0));
        let seen = parts.parts.iter();
        let seen = seen.map(|part| (part.label.as_str(), part.times));
        // mm and add run concurrently for 10 µs: 5 µs each.
        assert!(seen.eq([
            ("aten::gelu", pair(0, 10_000)),
            ("Exposed copies", pair(10_000, 0)),
            ("Idle", pair(10_000, 20_000)),
            ("aten::mm", pair(20_000, 25_000)),
            ("aten::add", pair(10_000, 5_000)),
        ]));
        // Of 20 µs of computation that differ, 10 are in matched operations.
        assert_eq!(parts.matched_percent(), Some(50.0));
        let steps = parts.waterfall(2);
        let steps = steps.iter();
        let steps = steps.map(|step| (step.label.as_str(), step.from_ns, step.to_ns));
        assert!(steps.eq([
            ("aten::gelu", 50_000, 60_000),
            ("Exposed copies", 60_000, 50_000),
            ("3 others", 50_000, 60_000),
        ]));
        // A single remaining part takes no more room than a line for the others.
        assert_eq!(parts.waterfall(4).len(), 5);
    }

    /// Eight GEMMs and a copy that differ, after the one that differs most.
    #[test]
    fn many_others_are_listed_by_the_kind_of_work() {
        let trace = |us: u32| {
            let gemms = (0..9).fold(Timetable::new(), |all, at| {
                let start = 100 + 100 * at;
                let longer = if at == 0 { 10 * us } else { us };
                all.work(&format!("my{at}::mm"), "gemm", start..start + longer)
            });
            gemms.work("aten::add", "elementwise_kernel", 1_000..1_000 + us)
        };
        let parts = compared(&trace(2), &trace(4), None).parts;
        let steps = parts.waterfall(2);
        let labels = steps.iter().map(|step| step.label.as_str());
        let labels: Vec<&str> = labels.collect();
        assert_eq!(labels[..2], ["Idle", "my0::mm"]);
        assert!(labels.contains(&"GEMM: 8 others"), "{labels:?}");
        assert!(labels.contains(&"aten::add"), "{labels:?}");
        assert_eq!(steps.last().unwrap().to_ns, parts.total.target);
    }
}
