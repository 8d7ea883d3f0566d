//! Chains of kernels that are hardly longer than the shortest, and repeat in each layer.

use std::collections::BTreeMap;

use super::passes::{Kernel, Pass, Passes, Role};
use crate::base::interval::sum;
use crate::base::sort::Arranged;
use crate::trace::{EventId, StringId};

/// The purpose of a chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Topic {
    /// Chooses experts and sorts tokens by expert.
    Routing,
    /// Prepares queries and keys and stores them.
    BeforeAttention,
    /// Anything between two GEMMs.
    Between,
}

/// Chains with the same topic; for those between GEMMs, also with the same kernels.
#[derive(Debug, Clone)]
pub(super) struct Chain {
    pub(super) topic: Topic,
    /// Kernels of the first one, in order.
    pub(super) names: Vec<StringId>,
    pub(super) first: Vec<EventId>,
    /// Number of chains.
    pub(super) n: u64,
    pub(super) n_kernels: u64,
    pub(super) ns: i64,
    /// The time without the minimum time of one kernel per chain.
    pub(super) saved_ns: i64,
    /// The time of each operation.
    pub(super) operations: BTreeMap<usize, i64>,
}

/// Fewer kernels are not a chain.
const LEAST_KERNELS: usize = 4;
/// A kernel of a chain is shorter than this multiple of the floor.
const SHORT: i64 = 3;
/// A chain that occurs less often in a pass does not belong to layers.
const LEAST_PER_PASS: u64 = 3;

/// Whether a kernel takes little more than the minimum.
pub(super) fn is_short(passes: &Passes, kernel: &Kernel) -> bool {
    kernel.ns < passes.floor_ns.saturating_mul(SHORT)
}

/// The chains that repeat in each layer, longest first; without kernels with the given names.
pub(super) fn chains(passes: &Passes, without: &[StringId]) -> Vec<Chain> {
    let mut all: BTreeMap<(Topic, Vec<StringId>), Chain> = BTreeMap::new();
    if passes.floor_ns > 0 {
        for pass in &passes.all {
            for (topic, kernels) in of_pass(passes, pass, without) {
                let names = kernels.iter().map(|kernel| kernel.name);
                let signature = match topic {
                    Topic::Between => names.clone().collect(),
                    _ => Vec::new(),
                };
                let chain = all.entry((topic, signature)).or_insert_with(|| Chain {
                    topic,
                    names: names.collect(),
                    first: kernels.iter().map(|kernel| kernel.event).collect(),
                    n: 0,
                    n_kernels: 0,
                    ns: 0,
                    saved_ns: 0,
                    operations: BTreeMap::new(),
                });
                chain.add(passes, &kernels);
            }
        }
    }
    let least = LEAST_PER_PASS * passes.all.len() as u64;
    all.into_values()
        .filter(|chain| chain.n >= least)
        .arranged_by_largest(|chain| chain.saved_ns)
}

impl Chain {
    fn add(&mut self, passes: &Passes, kernels: &[Kernel]) {
        let ns = sum(kernels.iter().map(|kernel| kernel.ns));
        self.n += 1;
        self.n_kernels += kernels.len() as u64;
        self.ns = self.ns.saturating_add(ns);
        self.saved_ns = self
            .saved_ns
            .saturating_add(ns.saturating_sub(passes.floor_ns));
        for kernel in kernels {
            if let Some(at) = kernel.operation {
                let of_it = self.operations.entry(at).or_default();
                *of_it = of_it.saturating_add(kernel.ns);
            }
        }
    }

    /// What fusing each chain into one kernel saves of each operation.
    pub(super) fn savings(&self) -> Vec<(usize, i64)> {
        let share = self.saved_ns as f64 / self.ns.max(1) as f64;
        let operations = self.operations.iter();
        operations
            .map(|(at, ns)| (*at, (*ns as f64 * share).round() as i64))
            .collect()
    }
}

/// The chains of a pass: the kernels between two that are not short or are GEMMs.
fn of_pass(passes: &Passes, pass: &Pass, without: &[StringId]) -> Vec<(Topic, Vec<Kernel>)> {
    let mut found: Vec<(Topic, Vec<Kernel>)> = Vec::new();
    let mut run: Vec<Kernel> = Vec::new();
    let mut track = None;
    for kernel in &pass.kernels {
        if track.replace(kernel.track) != Some(kernel.track) {
            end(&mut found, &mut run, None);
        }
        let computes = matches!(kernel.role, Role::Gemm | Role::Attention | Role::Experts);
        match computes || !is_short(passes, kernel) {
            true => end(&mut found, &mut run, Some(kernel.role)),
            false if without.contains(&kernel.name) => {}
            false => run.push(*kernel),
        }
    }
    end(&mut found, &mut run, None);
    found
}

/// Ends a run of short kernels, before a kernel with the given role.
fn end(found: &mut Vec<(Topic, Vec<Kernel>)>, run: &mut Vec<Kernel>, before: Option<Role>) {
    let (routing, others): (Vec<Kernel>, Vec<Kernel>) = run
        .drain(..)
        .partition(|kernel| kernel.role == Role::Routing);
    if others.len() >= LEAST_KERNELS {
        let topic = match before {
            Some(Role::Attention) => Topic::BeforeAttention,
            _ => Topic::Between,
        };
        found.push((topic, others));
    }
    // Summing up the results of experts follows their GEMMs, and belongs to their routing.
    let open = found
        .iter_mut()
        .rfind(|(topic, _)| *topic == Topic::Routing);
    match open {
        _ if routing.len() >= LEAST_KERNELS => found.push((Topic::Routing, routing)),
        Some((_, kernels)) => kernels.extend(routing),
        None => {}
    }
}

/// Launches that fusing can save: all but one of each run of short kernels. Returns their number, and their minimum
/// time by operation.
pub(super) fn spared(passes: &Passes) -> (u64, BTreeMap<usize, i64>) {
    let (mut n, mut operations) = (0, BTreeMap::new());
    for pass in &passes.all {
        let mut last: Option<&Kernel> = None;
        for kernel in &pass.kernels {
            let is_after = last.is_some_and(|last| last.track == kernel.track);
            let computes = matches!(kernel.role, Role::Gemm | Role::Attention | Role::Experts);
            if computes || !is_short(passes, kernel) {
                last = None;
                continue;
            }
            if is_after {
                n += 1;
                if let Some(at) = kernel.operation {
                    let ns: &mut i64 = operations.entry(at).or_default();
                    *ns = ns.saturating_add(passes.floor_ns.min(kernel.ns));
                }
            }
            last = Some(kernel);
        }
    }
    (n, operations)
}
