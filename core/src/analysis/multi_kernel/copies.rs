//! Memory copies: by direction, and by who asked for them.

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::exposed::{Exposed, OnGpu};
use crate::analysis::origin::is_framework;
use crate::analysis::{Input, args};
use crate::interval::{Interval, sum};
use crate::kernels::GpuWork;
use crate::launch::process;
use crate::profile::Profile;
use crate::sort::Arrange;
use crate::timeline::{GpuClass, is_rocm_fill};
use crate::trace::{Category, EventId, StringId, Trace};
use crate::tree::NodeId;

/// Where a copy goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Direction {
    DeviceToHost,
    HostToDevice,
    DeviceToDevice,
    PeerToPeer,
    HostToHost,
    /// The trace does not say.
    Unknown,
}

impl Direction {
    pub(super) const ALL: [Direction; 6] = [
        Direction::DeviceToHost,
        Direction::HostToDevice,
        Direction::DeviceToDevice,
        Direction::PeerToPeer,
        Direction::HostToHost,
        Direction::Unknown,
    ];

    /// As files write it.
    pub(super) fn key(self) -> &'static str {
        match self {
            Direction::DeviceToHost => "D2H",
            Direction::HostToDevice => "H2D",
            Direction::DeviceToDevice => "D2D",
            Direction::PeerToPeer => "P2P",
            Direction::HostToHost => "H2H",
            Direction::Unknown => "other",
        }
    }

    /// In a sentence, after "copies".
    pub(super) fn label(self) -> &'static str {
        match self {
            Direction::DeviceToHost => "from the GPU to the host",
            Direction::HostToDevice => "from the host to the GPU",
            Direction::DeviceToDevice => "within the GPU",
            Direction::PeerToPeer => "between GPUs",
            Direction::HostToHost => "within the host",
            Direction::Unknown => "in an unknown direction",
        }
    }

    /// From what a profiler calls it: "Memcpy DtoH (Device -> Pinned)", "CopyHostToDevice",
    /// "MEMORY_COPY_DEVICE_TO_HOST".
    pub(super) fn of_name(name: &str) -> Direction {
        let letters: String = name
            .chars()
            .filter(char::is_ascii_alphanumeric)
            .map(|letter| letter.to_ascii_lowercase())
            .collect();
        const WORDS: &[(&str, Direction)] = &[
            ("dtoh", Direction::DeviceToHost),
            ("htod", Direction::HostToDevice),
            ("dtod", Direction::DeviceToDevice),
            ("ptop", Direction::PeerToPeer),
            ("htoh", Direction::HostToHost),
            ("peertopeer", Direction::PeerToPeer),
            ("devicetohost", Direction::DeviceToHost),
            ("hosttodevice", Direction::HostToDevice),
            ("devicetodevice", Direction::DeviceToDevice),
            ("hosttohost", Direction::HostToHost),
        ];
        let word = WORDS.iter().find(|(word, _)| letters.contains(word));
        word.map_or(Direction::Unknown, |(_, direction)| *direction)
    }

    /// Whether one end is the host.
    fn crosses(self) -> bool {
        matches!(self, Direction::DeviceToHost | Direction::HostToDevice)
    }

    /// Whether it leaves the memory of its GPU.
    fn leaves(self) -> bool {
        self.crosses() || self == Direction::PeerToPeer
    }
}

/// Where a copy goes: what its launching call says, else its name. ROCm calls a copy to pinned memory
/// one within the GPU, and its call records the direction that was asked for.
fn direction(trace: &Trace, work: &GpuWork) -> Direction {
    let asked = work
        .launched_by
        .and_then(|call| args::arg(trace, call, "kind"));
    let named = || Direction::of_name(trace.strings.get(work.name));
    // As `hipMemcpyKind` numbers them; to the GPU itself a name says more.
    match asked {
        Some("1") => Direction::HostToDevice,
        Some("2") => Direction::DeviceToHost,
        Some("3") => match named() {
            Direction::Unknown => Direction::DeviceToDevice,
            direction => direction,
        },
        _ => named(),
    }
}

/// Whether a copy leaves the memory of its GPU.
pub(crate) fn is_over_link(trace: &Trace, work: &GpuWork) -> bool {
    direction(trace, work).leaves()
}

/// The same as far as the name of a copy tells.
pub(crate) fn is_copy_over_link(name: &str) -> bool {
    Direction::of_name(name).leaves()
}

/// Whether a copy of this name may have ordinary memory of the host at one end: nothing says that
/// it is pinned.
pub(crate) fn may_be_pageable(name: &str) -> bool {
    Direction::of_name(name).crosses() && HostMemory::of_name(name) != Some(HostMemory::Pinned)
}

/// What the host's end of a copy is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum HostMemory {
    /// Ordinary memory: the driver copies it through a buffer of its own, and the host waits.
    Pageable,
    /// Locked: the copy can run beside everything else.
    Pinned,
}

impl HostMemory {
    pub(super) fn label(self) -> &'static str {
        match self {
            HostMemory::Pageable => "pageable",
            HostMemory::Pinned => "pinned",
        }
    }

    /// Some profilers say so in the name.
    fn of_name(name: &str) -> Option<HostMemory> {
        if name.contains("Pageable") {
            Some(HostMemory::Pageable)
        } else if name.contains("Pinned") {
            Some(HostMemory::Pinned)
        } else {
            None
        }
    }
}

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
}

impl Copies {
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

/// What `DistributedDataParallel` copies within the GPU of its own accord.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum OfDdp {
    /// Gradients, out of the buckets that were reduced.
    Gradients,
    /// Buffers of the model, into messages and back.
    Buffers,
}

impl OfDdp {
    pub(super) const ALL: [OfDdp; 2] = [OfDdp::Gradients, OfDdp::Buffers];

    /// In a sentence: "copy …".
    pub(super) fn label(self) -> &'static str {
        match self {
            OfDdp::Gradients => "gradients out of the buckets of `DistributedDataParallel`",
            OfDdp::Buffers => {
                "buffers of the model, which `DistributedDataParallel` broadcasts before each forward pass"
            }
        }
    }

    /// By the name of an operator or a Python frame around a copy.
    fn of_name(name: &str) -> Option<OfDdp> {
        if name.starts_with("torch.distributed.ddp.reducer::copy_bucket_to_grad") {
            Some(OfDdp::Gradients)
        } else if name.ends_with(": _sync_module_buffers") || name.contains("_broadcast_coalesced")
        {
            Some(OfDdp::Buffers)
        } else {
            None
        }
    }
}

/// Who asked for copies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Asker {
    pub(super) direction: Direction,
    pub(super) memory: Option<HostMemory>,
    /// Which copies of `DistributedDataParallel` they are, if any. Their `op` or `frame` says so.
    pub(super) of_ddp: Option<OfDdp>,
    /// The operator around the launch, or the launching call where there is none.
    pub(super) op: Option<StringId>,
    /// The nearest Python function of the user's own.
    pub(super) frame: Option<StringId>,
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
    let mut spans: [Vec<OnGpu>; Direction::ALL.len()] = Default::default();
    let mut index: HashMap<Asker, usize, FxBuildHasher> = HashMap::default();
    let mut asked: Vec<Vec<OnGpu>> = Vec::new();
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
        let gpu = process(trace, work.event);
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
        spans[slot].push((gpu, work.span));
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
        if let Some(spans) = asked.get_mut(row) {
            spans.push((gpu, work.span));
        }
        if let Some((_, copies)) = summary.askers.get_mut(row) {
            copies.add(&copy);
        }
    }
    // Copies can overlap: what is exposed counts once.
    for (copies, spans) in directions.iter_mut().zip(spans) {
        copies.exposed_ns = exposed.within_all(&spans);
    }
    for ((_, copies), spans) in summary.askers.iter_mut().zip(asked) {
        copies.exposed_ns = exposed.within_all(&spans);
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

fn is_fill(name: &str, category: Category) -> bool {
    category == Category::GpuMemset || is_rocm_fill(name)
}

/// The user's Python functions above calls.
struct Frames<'a, 'b> {
    input: &'a Input<'b>,
    has_frames: bool,
    n_left: u32,
    /// By name of a frame.
    is_user: HashMap<StringId, bool, FxBuildHasher>,
}

impl<'a, 'b> Frames<'a, 'b> {
    /// Looking further than this many copies says nothing new.
    const MOST: u32 = 20_000;

    fn new(input: &'a Input<'b>) -> Frames<'a, 'b> {
        Frames {
            input,
            has_frames: input.profile.has_python_frames(),
            n_left: Self::MOST,
            is_user: HashMap::default(),
        }
    }

    fn above(&mut self, call: EventId) -> Option<StringId> {
        if !self.has_frames || self.n_left == 0 {
            return None;
        }
        self.n_left -= 1;
        let profile = self.input.profile;
        let (trace, tree) = (&profile.trace, profile.full_tree());
        let node: NodeId = tree.node_of(call)?;
        tree.ancestors(node).find_map(|above| {
            let event = tree.event(above)?;
            if trace.events.category(event) != Category::PythonFunction {
                return None;
            }
            let name = trace.events.name(event);
            let is_user = *self
                .is_user
                .entry(name)
                .or_insert_with(|| !is_framework(trace.strings.get(name)));
            is_user.then_some(name)
        })
    }
}

/// The spans of `DistributedDataParallel` above calls.
struct Ddp<'a> {
    profile: &'a Profile,
    /// By name of a span.
    names: HashMap<StringId, OfDdp, FxBuildHasher>,
}

impl<'a> Ddp<'a> {
    fn new(input: &Input<'a>) -> Ddp<'a> {
        let strings = input.profile.trace.strings.iter();
        Ddp {
            profile: input.profile,
            names: strings
                .filter_map(|(id, name)| Some((id, OfDdp::of_name(name)?)))
                .collect(),
        }
    }

    fn above(&self, call: EventId) -> Option<(OfDdp, EventId)> {
        if self.names.is_empty() {
            return None;
        }
        let profile = self.profile;
        let tree = match profile.has_python_frames() {
            true => profile.full_tree(),
            false => &profile.tree,
        };
        tree.ancestors(tree.node_of(call)?).find_map(|above| {
            let event = tree.event(above)?;
            let of_ddp = self.names.get(&profile.trace.events.name(event))?;
            Some((*of_ddp, event))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_tells_direction_and_memory() {
        use Direction::*;
        use HostMemory::{Pageable, Pinned};
        let cases = [
            (
                "Memcpy HtoD (Pageable -> Device)",
                HostToDevice,
                Some(Pageable),
            ),
            ("Memcpy DtoH (Device -> Pinned)", DeviceToHost, Some(Pinned)),
            ("Memcpy HtoD (Host -> Device)", HostToDevice, None),
            ("Memcpy DtoD (Device -> Device)", DeviceToDevice, None),
            ("Memcpy PtoP (Device -> Device)", PeerToPeer, None),
            ("MEMORY_COPY_DEVICE_TO_HOST", DeviceToHost, None),
            ("CopyHostToDevice", HostToDevice, None),
            ("__amd_rocclr_copyBuffer", Unknown, None),
        ];
        for (name, direction, memory) in cases {
            assert_eq!(Direction::of_name(name), direction, "{name}");
            assert_eq!(HostMemory::of_name(name), memory, "{name}");
        }
    }
}
