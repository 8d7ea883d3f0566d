//! Reports in time order: totals, blocks, and whether they agree.

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::{Block, Check, DeviceMemory, Point};
use crate::base::interval::Interval;
use crate::base::sort::Arrange;
use crate::trace::{MemoryDevice, MemoryEvent, Trace};

/// A device, with the reports that its blocks come from.
pub(super) struct Reported {
    pub(super) memory: DeviceMemory,
    /// In time order, like the curve.
    pub(super) events: Vec<MemoryEvent>,
}

/// The devices with reports in a time span, in order of appearance.
pub(super) fn devices(trace: &Trace, span: Interval) -> Vec<Reported> {
    let n_devices = trace.memory.devices().len();
    let mut events: Vec<Vec<MemoryEvent>> = vec![Vec::new(); n_devices];
    for event in trace.memory.iter().filter(|one| span.contains(one.ts_ns)) {
        if let Some(of_device) = events.get_mut(usize::from(event.device)) {
            of_device.push(event);
        }
    }
    let devices = trace.memory.devices().iter().zip(events);
    let reported = devices.filter(|(_, events)| !events.is_empty());
    reported
        .map(|(device, mut events)| {
            // Stable sort: reports with the same time stay in file order.
            if !events.is_sorted_by_key(|event| event.ts_ns) {
                events.arrange_by_key(|event| event.ts_ns);
            }
            Reported {
                memory: memory(*device, &events),
                events,
            }
        })
        .collect()
}

/// The total before a report.
fn before(event: &MemoryEvent) -> u64 {
    match event.bytes {
        bytes @ ..0 => event.allocated.saturating_add(bytes.unsigned_abs()),
        bytes => event.allocated.saturating_sub(bytes.unsigned_abs()),
    }
}

/// The first of the points with the most memory, and its index; `start` has none.
fn peak(start: Point, curve: &[Point]) -> (Point, Option<usize>) {
    let (mut peak, mut peak_at) = (start, None);
    for (at, point) in curve.iter().enumerate() {
        if point.allocated > peak.allocated {
            (peak, peak_at) = (*point, Some(at));
        }
    }
    (peak, peak_at)
}

/// How many reports are counted, and their bytes.
fn total(events: &[MemoryEvent], is_counted: fn(i64) -> bool) -> (u64, u64) {
    let counted = events.iter().filter(|event| is_counted(event.bytes));
    let bytes = counted.map(|event| event.bytes.unsigned_abs());
    bytes.fold((0, 0), |(n, all), bytes| (n + 1, all.saturating_add(bytes)))
}

fn memory(device: MemoryDevice, events: &[MemoryEvent]) -> DeviceMemory {
    let point = |event: &MemoryEvent| Point {
        ts_ns: event.ts_ns,
        allocated: event.allocated,
        reserved: event.reserved,
    };
    let curve: Vec<Point> = events.iter().map(point).collect();
    let first = events.first();
    let before_bytes = first.map_or(0, before);
    let start = Point {
        ts_ns: first.map_or(0, |first| first.ts_ns),
        allocated: before_bytes,
        reserved: first.map_or(0, |first| first.reserved),
    };
    let (peak, peak_at) = peak(start, &curve);
    let (n_allocations, allocated_bytes) = total(events, |bytes| bytes > 0);
    let (n_frees, freed_bytes) = total(events, |bytes| bytes < 0);
    let mut live_blocks = LiveBlocks::default();
    for (at, event) in events.iter().enumerate() {
        live_blocks.add(at, event, peak_at.is_some_and(|peak| at <= peak));
    }
    let mut check = live_blocks.check;
    let pairs = events.iter().zip(events.iter().skip(1));
    let jumps = pairs.filter(|(one, next)| before(next) != one.allocated);
    check.n_jumps = jumps.count() as u64;
    let before_at_peak = before_bytes.saturating_sub(live_blocks.freed_before_peak);
    let live = live_blocks.blocks.iter();
    let live = live.filter(|block| peak_at.is_some_and(|at| block.lives_at(at)));
    let live_bytes = live.fold(0_u64, |all, block| all.saturating_add(block.bytes));
    check.is_peak_explained = before_at_peak.saturating_add(live_bytes) == peak.allocated;
    DeviceMemory {
        device,
        label: String::new(),
        before_bytes,
        peak,
        peak_at,
        before_at_peak,
        most_reserved: curve.iter().map(|point| point.reserved).max().unwrap_or(0),
        n_allocations,
        allocated_bytes,
        n_frees,
        freed_bytes,
        blocks: match check.holds() {
            true => live_blocks.blocks,
            false => Vec::new(),
        },
        check,
        curve,
    }
}

/// Blocks, matched by address.
#[derive(Default)]
struct LiveBlocks {
    blocks: Vec<Block>,
    /// By address: positions of live blocks.
    live: HashMap<u64, usize, FxBuildHasher>,
    check: Check,
    /// Memory from before the recording that was released up to the peak.
    freed_before_peak: u64,
}

impl LiveBlocks {
    fn add(&mut self, at: usize, event: &MemoryEvent, is_until_peak: bool) {
        let position = u32::try_from(at).unwrap_or(u32::MAX);
        let bytes = event.bytes.unsigned_abs();
        if event.bytes > 0 {
            self.blocks.push(Block {
                bytes,
                call: None,
                born: position,
                freed: None,
            });
            let before = self.live.insert(event.addr, self.blocks.len() - 1);
            self.check.n_reused += u64::from(before.is_some());
            return;
        }
        if event.bytes == 0 {
            return;
        }
        let block = self.live.remove(&event.addr);
        match block.and_then(|block| self.blocks.get_mut(block)) {
            Some(block) => {
                block.freed = Some(position);
                self.check.n_wrong_sizes += u64::from(block.bytes != bytes);
            }
            // If all totals agree, no report is missing, so the block is from before the recording.
            None => {
                self.check.n_freed_before += 1;
                if is_until_peak {
                    self.freed_before_peak = self.freed_before_peak.saturating_add(bytes);
                }
            }
        }
    }
}
