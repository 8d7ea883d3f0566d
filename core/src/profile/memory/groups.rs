//! Blocks by operator, by module and by size.

use super::{Block, DeviceMemory, requester};
use crate::base::format::without_number;
use crate::base::group;
use crate::base::map::Map;
use crate::base::sort::{Arrange, Arranged};
use crate::base::stats::median_ns;
use crate::names::{MODULE, is_module};
use crate::profile::Profile;
use crate::trace::{EventId, StringId, Trace};

/// Modules that only contain others in sequence.
const CONTAINERS: [&str; 3] = ["Sequential", "ModuleList", "ModuleDict"];

/// What an operator holds at the peak.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Holder {
    /// Its name; `None` for allocations outside of operators.
    pub operator: Option<StringId>,
    /// Number of blocks.
    pub n_blocks: u64,
    /// Their total bytes.
    pub bytes: u64,
    /// The largest of them.
    pub largest_bytes: u64,
    /// The call that allocated the largest block.
    pub call: Option<EventId>,
}

/// What modules of a class hold at the peak.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModuleHolder {
    /// The class, after that of the enclosing module: "Block › Linear"; `None` outside of modules.
    pub module: Option<String>,
    /// Number of blocks.
    pub n_blocks: u64,
    /// Their total bytes.
    pub bytes: u64,
    /// The call that allocated the largest block.
    pub call: Option<EventId>,
}

/// Blocks of one size that are live at the peak.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SizeHolder {
    /// The size of each.
    pub each_bytes: u64,
    /// Number of blocks.
    pub n_blocks: u64,
    /// Their total bytes.
    pub bytes: u64,
}

/// What an operator allocated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OperatorMemory {
    /// Its name; `None` for allocations outside of operators.
    pub operator: Option<StringId>,
    /// The operator that most of it was allocated for, if this one only allocates.
    pub requested_by: Option<StringId>,
    /// Number of allocations.
    pub n_allocations: u64,
    /// Their total bytes.
    pub bytes: u64,
    /// Bytes that are not released by the end.
    pub net_bytes: u64,
    /// The largest block.
    pub largest_bytes: u64,
    /// Median lifetime of the blocks that were released; `None` if none was.
    pub median_life_ns: Option<i64>,
    /// Bytes that are in use at the peak.
    pub peak_bytes: u64,
    /// The call that allocated the largest block.
    pub call: Option<EventId>,
}

/// Groups blocks, in order of first appearance.
fn grouped<'b, K: std::hash::Hash + Eq>(
    blocks: impl Iterator<Item = &'b Block>,
    mut key: impl FnMut(&Block) -> K,
) -> Vec<(K, Vec<&'b Block>)> {
    group::grouped(blocks.map(|block| (key(block), block)), Vec::push)
}

fn bytes_of(blocks: &[&Block]) -> u64 {
    let bytes = blocks.iter().map(|block| block.bytes);
    bytes.fold(0, u64::saturating_add)
}

/// The largest block; the first of equal ones.
fn largest<'b>(blocks: &[&'b Block]) -> Option<&'b Block> {
    blocks.iter().rev().max_by_key(|block| block.bytes).copied()
}

impl DeviceMemory {
    /// What operators hold at the peak, largest first, by the innermost operator that allocated.
    pub fn peak_by_operator(&self, trace: &Trace) -> Vec<Holder> {
        self.holders(|block| block.call.map(|call| trace.events.name(call)))
    }

    /// The same by the operators that memory was allocated for.
    pub(crate) fn peak_by_requester(&self, profile: &Profile) -> Vec<Holder> {
        let trace = &profile.trace;
        self.holders(|block| {
            let requested_by = |call| requester(profile, call);
            block.call.map(|call| trace.events.name(requested_by(call)))
        })
    }

    fn holders(&self, operator: impl Fn(&Block) -> Option<StringId>) -> Vec<Holder> {
        let groups = grouped(self.live_at_peak(), operator).into_iter();
        let mut holders: Vec<Holder> = groups
            .map(|(operator, blocks)| Holder {
                operator,
                n_blocks: blocks.len() as u64,
                bytes: bytes_of(&blocks),
                largest_bytes: largest(&blocks).map_or(0, |block| block.bytes),
                call: largest(&blocks).and_then(|block| block.call),
            })
            .collect();
        // Stable sort: equal sizes stay in order of appearance.
        holders.arrange_by_largest(|one| one.bytes);
        holders
    }

    /// What modules hold at the peak, largest first; empty if no modules were recorded.
    pub(crate) fn peak_by_module(&self, profile: &Profile) -> Vec<ModuleHolder> {
        let trace = &profile.trace;
        let mut names = trace.strings.iter();
        if !names.any(|(_, name)| is_module(name)) {
            return Vec::new();
        }
        let mut known: Map<EventId, Option<(StringId, Option<StringId>)>> = Map::default();
        let groups = grouped(self.live_at_peak(), |block| {
            let call = block.call?;
            *known.entry(call).or_insert_with(|| modules(profile, call))
        });
        // Instances of a class differ only by their number.
        let mut holders: Map<Option<String>, ModuleHolder> = Map::default();
        for (modules, blocks) in groups {
            let class = |name: StringId| {
                let name = trace.strings.get(name);
                without_number(name.strip_prefix(MODULE).unwrap_or(name)).to_owned()
            };
            let module = modules.map(|(inner, outer)| match outer.map(class) {
                Some(outer) => format!("{outer} › {}", class(inner)),
                None => class(inner),
            });
            let holder = holders.entry(module.clone());
            let holder = holder.or_insert_with(|| ModuleHolder {
                module,
                n_blocks: 0,
                bytes: 0,
                call: largest(&blocks).and_then(|block| block.call),
            });
            holder.n_blocks += blocks.len() as u64;
            holder.bytes = holder.bytes.saturating_add(bytes_of(&blocks));
        }
        holders.into_values().arranged_by_largest(|one| one.bytes)
    }

    /// Memory in use at the peak by block size, largest first.
    pub(crate) fn peak_by_size(&self) -> Vec<SizeHolder> {
        let groups = grouped(self.live_at_peak(), |block| block.bytes).into_iter();
        groups
            .map(|(each_bytes, blocks)| SizeHolder {
                each_bytes,
                n_blocks: blocks.len() as u64,
                bytes: bytes_of(&blocks),
            })
            .arranged_by_largest(|one| (one.bytes, one.each_bytes))
    }

    /// What operators allocated, largest first, by the innermost operator that allocated.
    pub fn by_operator(&self, profile: &Profile) -> Vec<OperatorMemory> {
        let trace = &profile.trace;
        let name = |block: &Block| block.call.map(|call| trace.events.name(call));
        let groups = grouped(self.blocks.iter(), name).into_iter();
        let mut operators: Vec<OperatorMemory> = groups
            .map(|(operator, blocks)| {
                let live = blocks.iter().filter(|block| block.freed.is_none());
                let at_peak = |at: usize| {
                    let live = blocks.iter().filter(|block| block.lives_at(at));
                    bytes_of(&live.copied().collect::<Vec<_>>())
                };
                let lives = blocks.iter().filter_map(|block| self.life_ns(block));
                OperatorMemory {
                    operator,
                    requested_by: self
                        .requested_by(profile, &blocks)
                        .filter(|_| operator.is_some()),
                    n_allocations: blocks.len() as u64,
                    bytes: bytes_of(&blocks),
                    net_bytes: bytes_of(&live.copied().collect::<Vec<_>>()),
                    largest_bytes: largest(&blocks).map_or(0, |block| block.bytes),
                    median_life_ns: median_ns(lives.collect()),
                    peak_bytes: self.peak_at.map_or(0, at_peak),
                    call: largest(&blocks).and_then(|block| block.call),
                }
            })
            .collect();
        operators.arrange_by_largest(|one| one.bytes);
        operators
    }

    /// The operator that most of some blocks was allocated for, if it is a different one.
    fn requested_by(&self, profile: &Profile, blocks: &[&Block]) -> Option<StringId> {
        let trace = &profile.trace;
        let requested_by = grouped(blocks.iter().copied(), |block| {
            let call = block.call?;
            let requested_by = requester(profile, call);
            (requested_by != call).then(|| trace.events.name(requested_by))
        });
        let most = requested_by.into_iter().rev();
        let (name, _) = most.max_by_key(|(_, blocks)| bytes_of(blocks))?;
        name
    }
}

/// The module around a call, and the next module around that which is not a container.
fn modules(profile: &Profile, call: EventId) -> Option<(StringId, Option<StringId>)> {
    let trace = &profile.trace;
    let calls = profile.full_tree().calls_around(call);
    let mut modules = calls
        .map(|call| trace.events.name(call))
        .filter(|name| is_module(trace.strings.get(*name)));
    let inner = modules.next()?;
    let mut around = modules.filter(|name| {
        let name = trace.strings.get(*name);
        let class = without_number(name.strip_prefix(MODULE).unwrap_or(name));
        !CONTAINERS.contains(&class)
    });
    Some((inner, around.next()))
}
