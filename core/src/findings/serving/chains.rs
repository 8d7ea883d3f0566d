//! Chains of kernels that are hardly longer than the shortest, and come back in each layer.

use std::collections::BTreeMap;

use super::passes::{Kernel, Pass, Passes, Role};
use crate::base::interval::sum;
use crate::base::sort::Arrange;
use crate::trace::{EventId, StringId};

/// What a chain is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Topic {
    /// Chooses experts and sorts tokens by them.
    Routing,
    /// Makes queries and keys ready and stores them.
    BeforeAttention,
    /// Anything between two GEMMs.
    Between,
}

/// Chains of the same topic; those between GEMMs of the same kernels.
#[derive(Debug, Clone)]
pub(super) struct Chain {
    pub(super) topic: Topic,
    /// Kernels of the first one, in their order.
    pub(super) names: Vec<StringId>,
    pub(super) first: Vec<EventId>,
    /// How often.
    pub(super) n: u64,
    pub(super) n_kernels: u64,
    pub(super) ns: i64,
    /// Less what one kernel takes at least, for each.
    pub(super) saved_ns: i64,
    /// By operation.
    pub(super) operations: BTreeMap<usize, i64>,
}

/// Fewer kernels are no chain.
const LEAST_KERNELS: usize = 4;
/// A kernel of a chain is shorter than so many times the floor.
const SHORT: i64 = 3;
/// What comes back less often in a pass is no matter of layers.
const LEAST_PER_PASS: u64 = 3;

/// Whether a kernel takes little more than any kernel does.
pub(super) fn is_short(passes: &Passes, kernel: &Kernel) -> bool {
    kernel.ns < passes.floor_ns.saturating_mul(SHORT)
}

/// Those that come back in each layer, the longest first; without kernels of some names.
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
    let mut chains: Vec<Chain> = all.into_values().filter(|chain| chain.n >= least).collect();
    chains.arrange_by_key(|chain| std::cmp::Reverse(chain.saved_ns));
    chains
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

    /// What fusing each into one kernel saves of which operation.
    pub(super) fn savings(&self) -> Vec<(usize, i64)> {
        let share = self.saved_ns as f64 / self.ns.max(1) as f64;
        let operations = self.operations.iter();
        operations
            .map(|(at, ns)| (*at, (*ns as f64 * share).round() as i64))
            .collect()
    }
}

/// The chains of a pass: what lies between two kernels that are no short ones, or multiply.
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

/// Ends a run of short kernels before one of a role.
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
    // What adds up the results of experts follows their GEMMs, and goes with their routing.
    let open = found
        .iter_mut()
        .rfind(|(topic, _)| *topic == Topic::Routing);
    match open {
        _ if routing.len() >= LEAST_KERNELS => found.push((Topic::Routing, routing)),
        Some((_, kernels)) => kernels.extend(routing),
        None => {}
    }
}

/// Launches that fusing can spare: of each run of short kernels all but one, by operation; how many there
/// are, and what they take at least.
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
