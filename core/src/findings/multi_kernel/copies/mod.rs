//! Memory copies: by direction, and by who asked for them.

mod asker;

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::exposed::{Exposed, OnGpu};
use crate::base::interval::{Interval, sum};
use crate::base::sort::Arrange;
use crate::findings::Input;
use crate::profile::copies::direction;
pub(super) use crate::profile::copies::{Direction, HostMemory};
use crate::profile::kernels::GpuWork;
use crate::profile::launch::process;
use crate::profile::timeline::{GpuClass, is_rocm_fill};
use crate::trace::event_args as args;
use crate::trace::{Category, EventId};
use asker::{Ddp, Frames};

pub(super) use asker::{Asker, OfDdp};

/// Copies with something in common.
#[derive(Debug, Clone, Default)]
pub(super) struct Copies {
    pub(super) count: u64,
    /// Sum of the durations.
    pub(super) time_ns: i64,
    pub(super) max_ns: i64,
    /// Time in which nothing else runs.
    pub(super) exposed_ns: i64,
    /// Of the copies that say so.
    pub(super) bytes: f64,
    pub(super) n_sized: u64,
    sized_ns: i64,
    /// Duration of the calls that did not return before their copy was done.
    pub(super) wait_ns: i64,
    /// The longest.
    pub(super) longest: Option<EventId>,
    /// Of the GPU that has most of it: what the run can lose by them.
    pub(super) of_one: OfOne,
}

/// What copies take of the time of one GPU.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct OfOne {
    pub(super) time_ns: i64,
    pub(super) exposed_ns: i64,
    pub(super) wait_ns: i64,
}

impl OfOne {
    /// What they cost: nothing else runs meanwhile, or the host waits.
    pub(super) fn cost_ns(self) -> i64 {
        self.exposed_ns.max(self.wait_ns)
    }

    /// Most of their time runs beside other work, and nobody waits for it.
    pub(super) fn is_hidden(self) -> bool {
        self.cost_ns() < self.time_ns / 2
    }
}

impl Copies {
    /// Adds what is known once all copies are: the spans of each with its GPU, and what the host
    /// waited in its call.
    fn close(&mut self, ran: &[(OnGpu, i64)], exposed: &Exposed) {
        let spans: Vec<OnGpu> = ran.iter().map(|(on, _)| *on).collect();
        let most = |part: fn(&(OnGpu, i64)) -> i64| {
            let mut by_gpu: HashMap<_, i64, FxBuildHasher> = HashMap::default();
            for copy in ran {
                let ns = by_gpu.entry(copy.0.0).or_default();
                *ns = ns.saturating_add(part(copy));
            }
            by_gpu.into_values().max().unwrap_or(0)
        };
        // Copies can overlap: what is exposed counts once.
        self.exposed_ns = exposed.within_all(&spans);
        self.of_one = OfOne {
            time_ns: most(|((_, span), _)| span.length()),
            exposed_ns: exposed.within_most(&spans),
            wait_ns: most(|(_, wait_ns)| *wait_ns),
        };
    }

    fn add(&mut self, copy: &Copy) {
        let length_ns = copy.span.length();
        self.count += 1;
        self.time_ns = self.time_ns.saturating_add(length_ns);
        if length_ns > self.max_ns || self.longest.is_none() {
            self.longest = Some(copy.event);
        }
        self.max_ns = self.max_ns.max(length_ns);
        self.wait_ns = self.wait_ns.saturating_add(copy.wait_ns);
        if let Some(bytes) = copy.bytes {
            self.bytes += bytes;
            self.n_sized += 1;
            self.sized_ns = self.sized_ns.saturating_add(length_ns);
        }
    }

    pub(super) fn avg_ns(&self) -> i64 {
        self.time_ns / i64::try_from(self.count.max(1)).unwrap_or(i64::MAX)
    }

    pub(super) fn total_bytes(&self) -> Option<u64> {
        (self.n_sized > 0).then_some(self.bytes as u64)
    }

    pub(super) fn avg_bytes(&self) -> Option<u64> {
        (self.n_sized > 0).then(|| (self.bytes / self.n_sized as f64) as u64)
    }

    /// Bytes per nanosecond are GB/s.
    pub(super) fn gbps(&self) -> Option<f64> {
        (self.n_sized > 0 && self.sized_ns > 0).then(|| self.bytes / self.sized_ns as f64)
    }
}

/// The copies of a trace.
#[derive(Debug, Default)]
pub(super) struct CopySummary {
    /// Those that there are, in the order of [`Direction::ALL`].
    pub(super) directions: Vec<(Direction, Copies)>,
    /// The longest first.
    pub(super) askers: Vec<(Asker, Copies)>,
    /// Fills, which are no copies.
    pub(super) n_fills: u64,
    pub(super) fill_ns: i64,
}

impl CopySummary {
    pub(super) fn of(&self, direction: Direction) -> Option<&Copies> {
        let found = self
            .directions
            .iter()
            .find(|(known, _)| *known == direction);
        found.map(|(_, copies)| copies)
    }

    pub(super) fn count(&self) -> u64 {
        self.directions.iter().map(|(_, copies)| copies.count).sum()
    }

    pub(super) fn time_ns(&self) -> i64 {
        sum(self.directions.iter().map(|(_, copies)| copies.time_ns))
    }

    /// Who asked for copies in a direction, the longest first.
    pub(super) fn askers_of(&self, direction: Direction) -> impl Iterator<Item = &(Asker, Copies)> {
        let askers = self.askers.iter();
        askers.filter(move |(asker, _)| asker.direction == direction)
    }
}

/// One copy.
#[derive(Debug, Clone, Copy)]
struct Copy {
    event: EventId,
    span: Interval,
    bytes: Option<f64>,
    wait_ns: i64,
}

/// Sums up the copies among some GPU work. `exposed` is the time in which only copies run.
pub(super) fn copies<'a>(
    input: &Input,
    work: impl Iterator<Item = &'a GpuWork>,
    exposed: &Exposed,
) -> CopySummary {
    let trace = &input.profile.trace;
    let mut summary = CopySummary::default();
    let mut directions: [Copies; Direction::ALL.len()] = Default::default();
    let mut ran: [Vec<(OnGpu, i64)>; Direction::ALL.len()] = Default::default();
    let mut index: HashMap<Asker, usize, FxBuildHasher> = HashMap::default();
    let mut asked: Vec<Vec<(OnGpu, i64)>> = Vec::new();
    let mut frames = Frames::new(input);
    let ddp = Ddp::new(input);
    for work in work {
        if is_fill(trace.strings.get(work.name), work.category) {
            summary.n_fills += 1;
            summary.fill_ns = summary.fill_ns.saturating_add(work.span.length());
            continue;
        }
        if work.class != GpuClass::Memcpy {
            continue;
        }
        let direction = direction(trace, work);
        let memory = HostMemory::of_name(trace.strings.get(work.name));
        let launch = work.launched_by.map(|call| {
            let events = &trace.events;
            Interval::new(events.ts_ns(call), events.end_ns(call))
        });
        let on = (process(trace, work.event), work.span);
        let copy = Copy {
            event: work.event,
            span: work.span,
            bytes: args::number(trace, work.event, "bytes"),
            wait_ns: launch
                .filter(|launch| launch.end_ns >= work.span.end_ns)
                .map_or(0, Interval::length),
        };
        let slot = direction as usize;
        directions[slot].add(&copy);
        ran[slot].push((on, copy.wait_ns));
        let op = match work.parent_op {
            Some(op) => input.profile.tree.event(op),
            None => work.launched_by,
        };
        let mut asker = Asker {
            direction,
            memory,
            of_ddp: None,
            op: op.map(|event| trace.events.name(event)),
            frame: None,
        };
        if direction.crosses() {
            asker.frame = work.launched_by.and_then(|call| frames.above(call));
        } else if let Some((of_ddp, event)) = work.launched_by.and_then(|call| ddp.above(call)) {
            let name = trace.events.name(event);
            asker.of_ddp = Some(of_ddp);
            match trace.events.category(event) {
                Category::PythonFunction => asker.frame = Some(name),
                _ => asker.op = Some(name),
            }
        }
        let row = *index.entry(asker).or_insert(summary.askers.len());
        if row == summary.askers.len() {
            summary.askers.push((asker, Copies::default()));
            asked.push(Vec::new());
        }
        if let Some(ran) = asked.get_mut(row) {
            ran.push((on, copy.wait_ns));
        }
        if let Some((_, copies)) = summary.askers.get_mut(row) {
            copies.add(&copy);
        }
    }
    for (copies, ran) in directions.iter_mut().zip(ran) {
        copies.close(&ran, exposed);
    }
    for ((_, copies), ran) in summary.askers.iter_mut().zip(asked) {
        copies.close(&ran, exposed);
    }
    summary.directions = Direction::ALL
        .into_iter()
        .zip(directions)
        .filter(|(_, copies)| copies.count > 0)
        .collect();
    // Stable: groups of equal time stay in order of appearance.
    summary
        .askers
        .arrange_by_key(|(_, copies)| std::cmp::Reverse((copies.time_ns, copies.count)));
    summary
}

/// The share of the copies in a direction that the run does not wait for, because the host launches
/// what comes next only after them.
pub(super) fn held_share(input: &Input, wanted: Direction) -> f64 {
    let trace = &input.profile.trace;
    let (mut held_ns, mut all_ns) = (0_i64, 0_i64);
    for (_, operation, judged) in input.operations() {
        let mut work = operation.work().filter_map(|id| input.profile.gpu.get(id));
        if work.all(|work| work.class == GpuClass::Memcpy && direction(trace, work) == wanted) {
            held_ns = held_ns.saturating_add(judged.held_ns);
            all_ns = all_ns.saturating_add(operation.kernel_ns);
        }
    }
    match all_ns > 0 {
        true => (held_ns as f64 / all_ns as f64).clamp(0.0, 1.0),
        false => 0.0,
    }
}

fn is_fill(name: &str, category: Category) -> bool {
    category == Category::GpuMemset || is_rocm_fill(name)
}
