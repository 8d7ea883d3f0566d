//! Matches operations whose sizes all differ by one factor: another batch size, longer sequences, more tokens.
//!
//! ```text
//! reference  8192 × 16384 · 16384 × 4096 ─┐
//!           16384 ×  8192 ·  8192 × 4096 ─┴─ 2 ─ 16384 × 16384 · 16384 × 4096  target
//! ```
//!
//! The factor is the one that most of the unmatched time agrees on: each dimension of an argument is either the same in
//! both traces or larger by the factor. Several operations of one trace may have the same sizes in the other; they are
//! one row together, and so is everything connected by such relations.

use super::MatchLevel;
use super::similar::{Rows, drop_taken, take};
use crate::base::interval::sum;
use crate::base::map::{Map, Set};
use crate::base::sort::Arrange;
use crate::compare::align::Alignment;
use crate::compare::{Pair, Which};
use crate::profile::operations::Operation;
use crate::trace::Dims;

/// Fewer operations with the same factor may be a coincidence.
const LEAST_ROWS: usize = 3;
/// The share of the unmatched time, in percent, that has to agree on a factor.
const LEAST_PERCENT: f64 = 50.0;
/// Of each operator, the longest rows are searched for factors.
const MOST_ROWS: usize = 48;
/// GEMMs may have another factor than attention has: tokens, and the length of sequences.
const MOST_FACTORS: usize = 3;

/// An unmatched row with shapes.
struct Sized {
    /// Its position among the unmatched rows.
    place: usize,
    /// All dimensions of its arguments, one after the other.
    dims: Vec<i64>,
    ns: i64,
}

/// The unmatched rows of one operator, on arguments of the same types and numbers of dimensions.
type Kind = Pair<Vec<Sized>>;

pub(super) fn pair_scaled(alignment: &mut Alignment<MatchLevel>, all: &Rows) {
    for _ in 0..MOST_FACTORS {
        let kinds = kinds(alignment, all);
        let Some(factor) = common_factor(&kinds) else {
            return;
        };
        for kind in &kinds {
            for places in connected(kind, factor) {
                take(alignment, MatchLevel::Operator, &places);
            }
        }
        drop_taken(alignment);
    }
}

fn kinds(alignment: &Alignment<MatchLevel>, all: &Rows) -> Vec<Kind> {
    let kinds = alignment.unmatched_by(|which, place, rows| {
        let text = all.text(which, rows)?;
        let first = all.operations(which, rows).next()?;
        let key = (
            text.stem(),
            text.ranks.as_deref()?,
            text.short_types.as_str(),
            text.is_recompute,
        );
        let sized = Sized {
            place,
            dims: sizes(all, which, first),
            ns: sum(all.operations(which, rows).map(|one| one.kernel_ns)),
        };
        Some((key, sized))
    });
    let kinds = kinds.into_iter().map(|(_, mut kind)| {
        for which in Which::ALL {
            let rows = kind.get_mut(which);
            rows.arrange_by_key(|row| (std::cmp::Reverse(row.ns), row.place));
        }
        kind
    });
    kinds.collect()
}

fn sizes(all: &Rows, which: Which, operation: &Operation) -> Vec<i64> {
    let profile = all.sides.get(which).profile;
    let shapes = operation.dims(profile).iter().flat_map(Dims::shapes);
    let shapes = shapes.map(|shape| profile.trace.args.shape(*shape));
    shapes.flatten().copied().collect()
}

/// A ratio of two sizes, target over reference, in lowest terms.
type Factor = (i64, i64);

/// The factor between the sizes of two rows; `None` if they are equal, or if there is not a single one.
fn factor_of(reference: &[i64], target: &[i64]) -> Option<Factor> {
    let mut found = None;
    for (reference, target) in reference.iter().zip(target) {
        if reference == target {
            continue;
        }
        let factor = lowest(*target, *reference)?;
        if *found.get_or_insert(factor) != factor {
            return None;
        }
    }
    found.filter(|_| reference.len() == target.len())
}

fn lowest(over: i64, under: i64) -> Option<Factor> {
    if over <= 0 || under <= 0 {
        return None;
    }
    let (mut a, mut b) = (over, under);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    Some((over / a, under / a))
}

/// The factor that most of the unmatched time agrees on, among enough operations.
fn common_factor(kinds: &[Kind]) -> Option<Factor> {
    /// The rows of a trace that have a counterpart by a factor, and their time.
    #[derive(Default)]
    struct Votes(Pair<usize>, Pair<i64>);
    let mut votes: Map<Factor, Votes> = Map::default();
    let mut all_ns = Pair::<i64>::default();
    for kind in kinds {
        for which in Which::ALL {
            let ns = all_ns.get_mut(which);
            *ns = ns.saturating_add(sum(kind.get(which).iter().map(|row| row.ns)));
        }
        let mut seen: Set<(Factor, Which, usize)> = Set::default();
        for reference in kind.reference.iter().take(MOST_ROWS) {
            for target in kind.target.iter().take(MOST_ROWS) {
                let Some(factor) = factor_of(&reference.dims, &target.dims) else {
                    continue;
                };
                let Votes(rows, ns) = votes.entry(factor).or_default();
                for (which, row) in [(Which::Reference, reference), (Which::Target, target)] {
                    if seen.insert((factor, which, row.place)) {
                        *rows.get_mut(which) += 1;
                        let ns = ns.get_mut(which);
                        *ns = ns.saturating_add(row.ns);
                    }
                }
            }
        }
    }
    let percent = |ns: i64, all: i64| ns as f64 / all.max(1) as f64 * 100.0;
    let mut common: Vec<(f64, Factor)> = votes
        .into_iter()
        .filter(|(_, Votes(rows, _))| rows.reference.max(rows.target) >= LEAST_ROWS)
        .map(|(factor, Votes(_, ns))| {
            let percents = ns.zip(all_ns).map(|(ns, all)| percent(ns, all));
            (percents.reference.min(percents.target), factor)
        })
        .filter(|(percent, _)| *percent >= LEAST_PERCENT)
        .collect();
    common.arrange_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    common.first().map(|(_, factor)| *factor)
}

/// The groups of rows that are connected by a factor, each with rows of both traces.
fn connected(kind: &Kind, factor: Factor) -> Vec<Pair<Vec<usize>>> {
    // For each row of the target, its group.
    let mut group_of: Vec<Option<usize>> = vec![None; kind.target.len()];
    let mut groups: Vec<Pair<Vec<usize>>> = Vec::new();
    for reference in &kind.reference {
        let of_factor = |row: &Sized| factor_of(&reference.dims, &row.dims) == Some(factor);
        let targets = kind.target.iter().enumerate();
        let targets: Vec<usize> = targets
            .filter(|(_, row)| of_factor(row))
            .map(|(at, _)| at)
            .collect();
        if targets.is_empty() {
            continue;
        }
        let into = groups.len();
        let mut group = Pair {
            reference: vec![reference.place],
            target: Vec::new(),
        };
        for at in targets {
            match group_of.get(at).copied().flatten() {
                Some(other) if other != into => {
                    let known = groups
                        .get_mut(other)
                        .map(std::mem::take)
                        .unwrap_or_default();
                    group.reference.extend(known.reference);
                    group.target.extend(known.target);
                    for of in group_of.iter_mut().filter(|of| **of == Some(other)) {
                        *of = Some(into);
                    }
                }
                Some(_) => {}
                None => {
                    group
                        .target
                        .extend(kind.target.get(at).map(|row| row.place));
                    if let Some(of) = group_of.get_mut(at) {
                        *of = Some(into);
                    }
                }
            }
        }
        groups.push(group);
    }
    groups.retain(|group| !group.reference.is_empty());
    groups
}
