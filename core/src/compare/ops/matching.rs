//! Matches the operations of two traces.

use super::call_text::{CallText, Key};
use super::figures::op_side;
use super::groups::{self, Found};
use super::joined;
use super::neighbors;
use super::scaled::pair_scaled;
use super::scopes;
use super::similar::{
    Rows, pair_by_kernels, pair_by_operator, pair_renamed_kernels, pair_retyped_gemms,
};
use super::{Auxiliary, MatchLevel, MatchedOp, Operations, UnmatchedOp};
use crate::base::format;
use crate::base::map::Map;
use crate::base::sort::{Arrange, Arranged};
use crate::compare::align::{Alignment, Matched, align};
use crate::compare::expected::{Judge, Sizes};
use crate::compare::{Pair, Side, Which};
use crate::findings::engine::compute::shapes;
use crate::profile::gpu::shares::Shares;
use crate::profile::operations::Operation;
use crate::profile::operations::kinds::gemm::GemmSizes;

impl Operations {
    pub(crate) fn new(sides: Pair<Side>, shares: &Pair<Shares>, judge: &Judge) -> Operations {
        let has_gpu = sides.map(|side| side.report.timelines.whole.is_some());
        if has_gpu.reference != has_gpu.target {
            // One trace has GPU activity, the other ran on the CPU.
            return Operations::default();
        }
        let lists = sides.map(|side| counted(&side));
        let texts = sides
            .zip(lists.as_ref())
            .map(|(side, list)| CallText::all(&side, list));
        let has_shapes = texts
            .as_ref()
            .map(|texts| texts.iter().any(|text| text.dims.is_some()));
        let levels = match has_shapes.reference && has_shapes.target {
            true => &MatchLevel::BY_KEY[..4],
            false => &MatchLevel::BY_KEY[..],
        };
        let n_rows = lists.as_ref().map(Vec::len);
        let mut alignment = align(n_rows, levels, |level, which, row| {
            texts.get(which).get(row)?.key(level)
        });
        let rows = Rows {
            sides,
            lists: &lists,
            texts: &texts,
        };
        let groups = match_remaining(&mut alignment, &rows);
        let Alignment { matched, unmatched } = alignment;
        let mut operations = Operations::default();
        let paired = matched.into_iter().map(|found| Found {
            level: found.level,
            units: units_of_kernels(&rows, &found),
            rows: found.rows,
        });
        let all_tune =
            |which: Which, of: &[usize]| rows.operations(which, of).all(Operation::is_tuning);
        for found in paired.chain(groups) {
            if Which::ALL
                .iter()
                .all(|which| all_tune(*which, found.rows.get(*which)))
            {
                continue;
            }
            operations
                .matched
                .extend(matched_op(&rows, shares, judge, &found));
        }
        operations.matched.arrange_by(|a, b| {
            let times = |op: &MatchedOp| (op.sides.target.time_ns, op.sides.reference.time_ns);
            times(b).cmp(&times(a)).then_with(|| a.name.cmp(&b.name))
        });
        for which in Which::ALL {
            let others = unmatched.get(which).iter();
            let others = others.filter(|of| !all_tune(which, of));
            let ops = others.filter_map(|of| unmatched_op(&rows, shares, which, of));
            let unmatched = ops.arranged_by(|a, b| {
                let time = |op: &UnmatchedOp| op.side.time_ns;
                time(b).cmp(&time(a)).then_with(|| a.name.cmp(&b.name))
            });
            *operations.unmatched.get_mut(which) = unmatched;
        }
        operations
    }
}

/// Matches rows that differ in their keys, the most similar ones first. Returns those of which several are matched
/// together.
fn match_remaining(alignment: &mut Alignment<MatchLevel>, rows: &Rows) -> Vec<Found> {
    for level in [MatchLevel::Shapes, MatchLevel::Gemm] {
        join_split_calls(alignment, rows, level);
    }
    pair_retyped_gemms(alignment, rows);
    let mut groups = groups::attention(alignment, rows);
    groups.extend(groups::norms(alignment, rows));
    groups.extend(joined::gemms(alignment, rows));
    groups.extend(groups::optimizers(alignment, rows));
    pair_scaled(alignment, rows);
    pair_by_operator(alignment, rows);
    pair_by_kernels(alignment, rows);
    pair_renamed_kernels(alignment, rows);
    groups.extend(groups::experts(alignment, rows));
    groups.extend(scopes::places(alignment, rows));
    groups.extend(neighbors::between(alignment, rows, &groups));
    groups
}

/// How often both traces compute what they match by kernels: one of them counts runs of kernels, the other one calls of
/// the operators that launch them. As each kernel runs as often in both, the smaller number is that of both.
fn units_of_kernels(all: &Rows, found: &Matched<MatchLevel>) -> Pair<Option<u64>> {
    if found.level != MatchLevel::Kernels {
        return Pair::default();
    }
    let calls = Pair::of(|which| all.n_calls(which, found.rows.get(which)));
    let least = calls.reference.min(calls.target);
    Pair::of(|_| Some(least))
}

fn unmatched_op(
    all: &Rows,
    shares: &Pair<Shares>,
    which: Which,
    rows: &[usize],
) -> Option<UnmatchedOp> {
    let side = all.sides.get(which);
    let positions = all.positions(which, rows);
    let op_side = op_side(side, shares.get(which), positions, None);
    let first = op_side.first(side)?;
    Some(UnmatchedOp {
        name: first.short_name(side.profile).to_owned(),
        shapes: shapes_of(side, first),
        is_recompute: first.key.is_recompute,
        family: first.family,
        auxiliary: auxiliary(side, first),
        side: op_side,
    })
}

/// An operation of both traces; `None` if one of them turns out not to have it. Calls that tune are part of a row, so
/// that calls count, but not their time: see [`OpSide`](super::OpSide).
fn matched_op(
    all: &Rows,
    shares: &Pair<Shares>,
    judge: &Judge,
    found: &Found,
) -> Option<MatchedOp> {
    let sides = all.sides;
    let pair = Pair::of(|which| {
        let positions = all.positions(which, found.rows.get(which));
        let units = *found.units.get(which);
        op_side(sides.get(which), shares.get(which), positions, units)
    });
    let first = Pair::of(|which| pair.get(which).first(sides.get(which))).both()?;
    let names = Pair::of(|which| match found.units.get(which) {
        Some(_) => all.name(which, found.rows.get(which)),
        None => first
            .get(which)
            .short_name(sides.get(which).profile)
            .to_owned(),
    });
    let same_name = names.reference == names.target;
    let text = |which: Which| all.text(which, found.rows.get(which));
    let has_dims = Pair::of(|which| text(which).is_some_and(|text| text.dims.is_some()));
    let (level, sizes) = level_and_sizes(found.level, has_dims);
    let types = Pair::of(|which| text(which).and_then(|text| text.first_type)).both();
    let is_one = pair.as_ref().map(|side| side.operations.len() == 1);
    let shapes = Pair::of(|which| match found.units.get(which) {
        // By name alone, a row may have calls of many sizes.
        _ if sizes == Sizes::Unknown => String::new(),
        // The shapes of one of several operations say little.
        Some(_) if !is_one.get(which) => String::new(),
        _ => shapes_of(sides.get(which), first.get(which)),
    });
    let is_other = level == MatchLevel::Operator;
    let n_operations = pair.as_ref().map(|side| side.operations.len());
    let is_fewer = n_operations.reference < n_operations.target;
    let family = match found.units.target.is_some() && is_fewer {
        true => first.reference.family,
        false => first.target.family,
    };
    Some(MatchedOp {
        judgment: judge.judge(sides, pair.as_ref(), sizes),
        reference_name: Some(names.reference).filter(|_| !same_name),
        name: names.target,
        reference_shapes: (is_other && shapes.reference != shapes.target)
            .then(|| shapes.reference.clone()),
        shapes: match shapes.target.is_empty() {
            true => shapes.reference,
            false => shapes.target,
        },
        types: types
            .filter(|types| is_other && types.reference != types.target)
            .map(|types| types.map(str::to_owned)),
        level,
        has_other_weights: is_other && has_other_weights(&first),
        is_recompute: first.target.key.is_recompute,
        family,
        sides: pair,
    })
}

/// Whether both are GEMMs that differ in their inner size and in their columns. Another batch changes the rows, and
/// splitting a GEMM among GPUs changes one of the two.
fn has_other_weights(first: &Pair<&Operation>) -> bool {
    let sizes = first.map(GemmSizes::of_params).both();
    sizes.is_some_and(|Pair { reference, target }| {
        reference.k != target.k && reference.n != target.n
    })
}

/// By what both sides match, and how their sizes relate; operations without sizes match by name alone.
fn level_and_sizes(found: MatchLevel, has_dims: Pair<bool>) -> (MatchLevel, Sizes) {
    let is_bare = !has_dims.reference && !has_dims.target;
    let level = match found {
        MatchLevel::Arguments | MatchLevel::Shapes if is_bare => MatchLevel::Name,
        level => level,
    };
    let sizes = match level {
        MatchLevel::Operator => Sizes::Other,
        MatchLevel::Meaning | MatchLevel::Place | MatchLevel::Neighbors => Sizes::Least,
        MatchLevel::Name if has_dims.reference != has_dims.target => Sizes::Unknown,
        _ => Sizes::Same,
    };
    (level, sizes)
}

/// Handles calls of an operation that one trace makes with different strides or values, a generated kernel with several
/// running numbers, or a GEMM that it runs with a different operator: they join the row with the same shapes or sizes,
/// if the other trace has at least that many more calls there.
fn join_split_calls(alignment: &mut Alignment<MatchLevel>, all: &Rows, level: MatchLevel) {
    let shapes = |which: Which, rows: &[usize]| all.text(which, rows)?.joining_key(level);
    let mut by_shapes: Map<Key, Vec<usize>> = Map::default();
    for (at, found) in alignment.matched.iter().enumerate() {
        if let Some(key) = shapes(Which::Target, &found.rows.target) {
            by_shapes.entry(key).or_default().push(at);
        }
    }
    for which in Which::ALL {
        let unmatched = std::mem::take(alignment.unmatched.get_mut(which));
        for rows in unmatched {
            let extra = all.n_calls(which, &rows);
            let known = shapes(which, &rows).and_then(|key| by_shapes.get(&key));
            let partner = known.into_iter().flatten().copied().find(|at| {
                alignment.matched.get(*at).is_some_and(|found| {
                    let own = all.n_calls(which, found.rows.get(which));
                    own + extra <= all.n_calls(which.other(), found.rows.get(which.other()))
                })
            });
            match partner.and_then(|at| alignment.matched.get_mut(at)) {
                Some(found) => {
                    found.rows.get_mut(which).extend(rows);
                    found.level = found.level.max(level);
                }
                None => alignment.unmatched.get_mut(which).push(rows),
            }
        }
    }
}

/// Whether an operation only serves others, by its name and its tensors.
fn auxiliary(side: &Side, operation: &Operation) -> Option<Auxiliary> {
    let tensors = operation.tensors(side.profile);
    let types = tensors.iter().filter_map(|one| format::dtype(one.dtype));
    let types: Vec<&str> = types.collect();
    let [first, second] = tensors.get(..2)? else {
        return None;
    };
    match operation.short_name(side.profile) {
        "aten::copy_" | "aten::_to_copy" => match types[..] {
            [one, other, ..] if one != other => Some(Auxiliary::Conversion),
            _ => Some(Auxiliary::Copy),
        },
        "aten::add" | "aten::add_" => {
            let is_row = second.shape.len() == 1 && second.shape.last() == first.shape.last();
            (is_row && first.shape.len() > 1).then_some(Auxiliary::Bias)
        }
        _ => None,
    }
}

/// Positions of the operations of a trace, without unattributed activity, which is a part of its own.
fn counted(side: &Side) -> Vec<usize> {
    let all = side.profile.operations().iter().enumerate();
    all.filter(|(_, operation)| !operation.is_unattributed())
        .map(|(at, _)| at)
        .collect()
}

fn shapes_of(side: &Side, operation: &Operation) -> String {
    shapes(&side.report.analysis_input(side.profile), operation)
}
