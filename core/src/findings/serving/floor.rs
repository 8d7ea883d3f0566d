//! The minimum time of each kernel, and kernels that take no more than that.

use super::chains::spared;
use super::passes::{Kernel, Passes};
use super::{Issue, Kind, Source, pass_word};
use crate::base::interval::percent_or_zero;
use crate::base::map::Map;
use crate::base::tally::tallied;
use crate::findings::prelude::*;
use crate::names::elementwise::makes_values;
use crate::names::{Family, family_of_kernel};
use crate::profile::Profile;
use crate::trace::StringId;

/// A fixed cost below this share of the replays is not reported.
const LEAST_PERCENT: f64 = 5.0;

/// Kernels of a graph take a few microseconds each, however little they do.
pub(super) fn fixed_cost(source: &Source) -> Vec<Issue> {
    let passes = source.passes;
    let (floor_ns, all_ns) = (passes.floor_ns, passes.ns);
    if !passes.are_replays || floor_ns == 0 {
        return Vec::new();
    }
    let n = passes.kernels().count() as u64;
    let fixed_ns = floor_ns.saturating_mul(n as i64).min(all_ns);
    let percent = percent_or_zero(fixed_ns, all_ns);
    if percent < LEAST_PERCENT {
        return Vec::new();
    }
    let near_ns = passes.near_floor_ns();
    let near: Vec<&Kernel> = passes.kernels().filter(|one| one.ns < near_ns).collect();
    let near_all_ns = sum(near.iter().map(|one| one.ns));
    let (n_spared, operations) = spared(passes);
    let spared_ns = sum(operations.values().copied());
    // Kernels that do not follow another short one cannot be merged.
    if n_spared == 0 {
        return Vec::new();
    }
    let words = vec![
        ("n", format::counted(n, "kernel")),
        ("floor", format::time_ns(floor_ns)),
        ("fixed", format::time_ns(fixed_ns)),
        ("percent", format::percent(percent)),
        ("n_near", format::counted(near.len() as u64, "kernel")),
        ("near", format::time_ns(near_ns)),
        ("near_time", format::time_ns(near_all_ns)),
        (
            "near_percent",
            format::percent(percent_or_zero(near_all_ns, all_ns)),
        ),
        ("n_spared", format::counted(n_spared, "kernel")),
        ("spared", format::time_ns(spared_ns)),
    ];
    let rows = by_name(&near).into_iter().take(20);
    let rows = rows.map(|(name, n, ns)| (source.name(name), n, ns));
    let table = source.kernels_table("short_kernels", "Shortest kernels by name", rows.collect());
    let issue = Issue::new(Kind::FixedCost, fixed_ns);
    vec![Issue {
        words,
        tables: vec![table],
        ..issue.saving(Impact::at_most(spared_ns), operations)
    }]
}

/// Kernels by name: name, number, time; largest total time first.
fn by_name(kernels: &[&Kernel]) -> Vec<(StringId, u64, i64)> {
    tallied(kernels.iter().map(|one| (one.name, one.ns)))
}

/// Frequent kernels of one name that do nearly nothing.
pub(super) struct Tiny {
    pub(super) name: StringId,
    n: u64,
    ns: i64,
    operations: Vec<usize>,
    /// Elements of its largest operand; `None` if arguments are unknown.
    elements: Option<u64>,
}

/// Element-wise kernels of one name that run several times in each layer and take no longer than the minimum. If their
/// arguments are known, they have one element; otherwise, few.
pub(super) fn tiny(profile: &Profile, passes: &Passes) -> Vec<Tiny> {
    /// A smaller share of the time is not worth a finding.
    const LEAST_PERCENT: f64 = 1.0;
    /// Minimum number in each layer, or in each pass if layers are unknown.
    const LEAST_PER_LAYER: u64 = 2;
    const LEAST_PER_PASS: u64 = 100;
    let (all_ns, near_ns) = (passes.ns, passes.near_floor_ns());
    let all: Vec<&Kernel> = passes.kernels().collect();
    let mut operations_of: Map<StringId, Vec<usize>> = Map::default();
    for kernel in &all {
        let operations = operations_of.entry(kernel.name).or_default();
        let at = kernel.operation.filter(|at| !operations.contains(at));
        operations.extend(at);
    }
    let layers = passes.layers() as u64;
    let least = match layers {
        0 => LEAST_PER_PASS,
        layers => layers.saturating_mul(LEAST_PER_LAYER).min(LEAST_PER_PASS),
    };
    let least = least.saturating_mul(passes.all.len() as u64);
    let elements = |operations: &[usize]| {
        let known = operations.iter();
        let known = known.filter_map(|at| profile.operations().get(*at));
        let tensors = known.flat_map(|operation| operation.tensors(profile));
        tensors.map(|tensor| tensor.n() as u64).max()
    };
    let often = by_name(&all).into_iter().filter(|&(name, n, ns)| {
        let family = || family_of_kernel(profile.trace.strings.get(name));
        n >= least
            && ns < near_ns.saturating_mul(n as i64)
            && percent_of(ns, all_ns).is_some_and(|percent| percent >= LEAST_PERCENT)
            && matches!(family(), Family::Elementwise | Family::Triton)
    });
    let tiny = often.map(|(name, n, ns)| {
        let operations = operations_of.get(&name).cloned().unwrap_or_default();
        Tiny {
            name,
            n,
            ns,
            elements: elements(&operations),
            operations,
        }
    });
    // Without arguments, only kernels that create values without input are known to do the same in each layer.
    let makes_values = |name| makes_values(profile.trace.strings.get(name));
    tiny.filter(|one| match one.elements {
        Some(elements) => elements <= 1,
        None => makes_values(one.name),
    })
    .collect()
}

/// Kernels that are unnecessary, or could be a part of others.
pub(super) fn one_element(source: &Source) -> Vec<Issue> {
    let passes = source.passes;
    let per_pass = |n: u64| n / passes.all.len().max(1) as u64;
    let issues = source.tiny.iter().map(|one| {
        let words = vec![
            ("name", source.name(one.name)),
            ("n", format::count(one.n)),
            ("mean", format::time_ns(one.ns / (one.n as i64).max(1))),
            ("per_pass", format::count(per_pass(one.n))),
            ("pass", pass_word(passes).to_owned()),
            ("floor", format::time_ns(passes.floor_ns)),
            holds("one", one.elements == Some(1)),
        ];
        let savings = match one.operations.as_slice() {
            // A kernel of a graph may share its operation with all others of the launch.
            [at] => vec![(*at, one.ns.min(source.input.operation(*at).kernel_ns))],
            _ => Vec::new(),
        };
        Issue {
            operations: one.operations.clone(),
            words,
            ..Issue::new(Kind::OneElement, one.ns).saving(Impact::at_most(one.ns), savings)
        }
    });
    issues.collect()
}
