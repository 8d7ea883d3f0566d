//! Which operations of two traces belong together.

use super::call_text::{CallText, Key};
use super::similar::{Rows, pair_by_kernels, pair_by_operator, pair_products};
use super::{KernelUse, LoneOp, MatchLevel, MatchedOp, OpSide, Operations};
use crate::base::group::grouped;
use crate::base::interval::sum;
use crate::base::map::Map;
use crate::base::sort::Arrange;
use crate::compare::align::{Alignment, align};
use crate::compare::expected::{Judge, Sizes};
use crate::compare::named::Tally;
use crate::compare::{Pair, Side, Which};
use crate::findings::compute::shapes;
use crate::names::Family;
use crate::profile::convolution::ConvolutionShape;
use crate::profile::launch::GpuId;
use crate::profile::operations::Operation;
use crate::profile::shares::Shares;
use crate::trace::Dims;

impl Operations {
    pub(crate) fn new(sides: Pair<Side>, shares: &Pair<Shares>, judge: &Judge) -> Operations {
        let has_gpu = sides.map(|side| side.report.timelines.whole.is_some());
        if has_gpu.reference != has_gpu.target {
            // What ran on the GPU in one trace ran on the host in the other.
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
            true => &MatchLevel::BY_KEY[..3],
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
        join_split_calls(&mut alignment, &rows);
        pair_by_operator(&mut alignment, &rows);
        pair_products(&mut alignment, &rows);
        pair_by_kernels(&mut alignment, &rows);
        let Alignment { matched, lone } = alignment;
        let op_side = |which: Which, of: &[usize]| {
            let positions = rows.positions(which, of);
            op_side(sides.get(which), shares.get(which), positions)
        };
        let mut operations = Operations::default();
        for found in matched {
            let pair = Pair::of(|which| op_side(which, found.rows.get(which)));
            let firsts = Pair::of(|which| {
                let first = pair.get(which).operations.first();
                first.and_then(|at| sides.get(which).profile.operations().get(*at))
            });
            let Some(first) = firsts.both() else { continue };
            let names = sides
                .zip(first)
                .map(|(side, operation)| operation.short_name(side.profile).to_owned());
            let same_name = names.reference == names.target;
            let text = |which: Which| rows.text(which, found.rows.get(which));
            let has_dims = Pair::of(|which| text(which).is_some_and(|text| text.dims.is_some()));
            let is_bare = !has_dims.reference && !has_dims.target;
            let level = match found.level {
                MatchLevel::Arguments | MatchLevel::Shapes if is_bare => MatchLevel::Name,
                level => level,
            };
            let sizes = match level {
                MatchLevel::Operator => Sizes::Other,
                MatchLevel::Name if has_dims.reference != has_dims.target => Sizes::Unknown,
                _ => Sizes::Same,
            };
            let types = Pair::of(|which| text(which).and_then(|text| text.first_type)).both();
            let shapes = sides
                .zip(first)
                .map(|(side, first)| shapes_of(&side, first));
            let is_other = level == MatchLevel::Operator;
            operations.matched.push(MatchedOp {
                judgement: judge.judge(sides, pair.as_ref(), sizes),
                reference_name: Some(names.reference).filter(|_| !same_name),
                name: names.target,
                reference_shapes: (is_other && shapes.reference != shapes.target)
                    .then_some(shapes.reference),
                shapes: shapes.target,
                types: types
                    .filter(|types| is_other && types.reference != types.target)
                    .map(|types| types.map(str::to_owned)),
                level,
                is_recompute: first.target.key.is_recompute,
                family: first.target.family,
                sides: pair,
            });
        }
        operations.matched.arrange_by(|a, b| {
            let times = |op: &MatchedOp| (op.sides.target.time_ns, op.sides.reference.time_ns);
            times(b).cmp(&times(a)).then_with(|| a.name.cmp(&b.name))
        });
        for which in Which::ALL {
            let side = sides.get(which);
            let rows = lone.get(which).iter().filter_map(|rows| {
                let op_side = op_side(which, rows);
                let first = *op_side.operations.first()?;
                let first = side.profile.operations().get(first)?;
                Some(LoneOp {
                    name: first.short_name(side.profile).to_owned(),
                    shapes: shapes_of(side, first),
                    is_recompute: first.key.is_recompute,
                    family: first.family,
                    side: op_side,
                })
            });
            let mut rows: Vec<LoneOp> = rows.collect();
            rows.arrange_by(|a, b| {
                let time = |op: &LoneOp| op.side.time_ns;
                time(b).cmp(&time(a)).then_with(|| a.name.cmp(&b.name))
            });
            *operations.lone.get_mut(which) = rows;
        }
        operations
    }
}

/// Where one trace makes some of the calls of an operation with other strides or values: they join
/// the row of the same shapes, if the other trace has that many more calls there.
fn join_split_calls(alignment: &mut Alignment<MatchLevel>, all: &Rows) {
    let shapes = |which: Which, rows: &[usize]| all.text(which, rows)?.key(MatchLevel::Shapes);
    let mut by_shapes: Map<Key, Vec<usize>> = Map::default();
    for (at, found) in alignment.matched.iter().enumerate() {
        if let Some(key) = shapes(Which::Target, &found.rows.target) {
            by_shapes.entry(key).or_default().push(at);
        }
    }
    for which in Which::ALL {
        let lone = std::mem::take(alignment.lone.get_mut(which));
        for rows in lone {
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
                    found.level = found.level.max(MatchLevel::Shapes);
                }
                None => alignment.lone.get_mut(which).push(rows),
            }
        }
    }
}

/// Positions of the operations of a trace that count under the choices of its report.
fn counted(side: &Side) -> Vec<usize> {
    let events = side.report.timelines.events;
    let all = side.profile.operations().iter().enumerate();
    all.filter(|(_, operation)| operation.counts(events))
        .map(|(at, _)| at)
        .collect()
}

fn shapes_of(side: &Side, operation: &Operation) -> String {
    shapes(&side.report.analysis_input(side.profile), operation)
}

fn op_side(side: &Side, shares: &Shares, positions: Vec<usize>) -> OpSide {
    let all = side.profile.operations();
    let operations = || positions.iter().filter_map(|at| all.get(*at));
    let time_ns = sum(operations().map(|operation| operation.kernel_ns));
    let runs = operations().flat_map(|operation| operation.kernels(side.profile));
    let runs = runs.map(|(name, count, ns)| (name, (count, ns)));
    let mut kernels = grouped(runs, |tally: &mut Tally, (count, ns)| tally.add(count, ns));
    kernels.arrange_by_key(|(_, tally)| std::cmp::Reverse(tally.ns));
    let named = kernels.iter().take(OpSide::MAX_KERNELS);
    let compute_ns = side.report.timelines.compute_ns();
    let judged = positions
        .iter()
        .filter_map(|at| side.report.judged.get(*at));
    let mut convolutions = operations().filter(|operation| operation.family == Family::Convolution);
    OpSide {
        uid: operations().map(Operation::uid).min().unwrap_or(0),
        calls: operations().map(Operation::n_calls).sum(),
        time_ns,
        timed: timed(side, operations()),
        exclusive_ns: sum(positions
            .iter()
            .filter_map(|at| shares.operations_ns.get(*at).copied())),
        run_ns: sum(judged.map(|judged| judged.run_ns)),
        percent_of_compute: compute_ns.map(|compute_ns| time_ns as f64 / compute_ns as f64 * 100.0),
        n_kernels: kernels.len(),
        is_channels_last: convolutions
            .find_map(|one| ConvolutionShape::has_channels_last(side.profile, one)),
        is_regular: operations()
            .next()
            .filter(|first| first.family == Family::Gemm)
            .and_then(|first| has_regular_sizes(side, first)),
        kernels: named
            .map(|&(name, Tally { count, ns })| KernelUse {
                name: side.profile.trace.strings.get(name).to_owned(),
                count,
                ns,
            })
            .collect(),
        operations: positions,
    }
}

/// The calls all of whose work has a duration.
fn timed<'a>(side: &Side, operations: impl Iterator<Item = &'a Operation>) -> Tally {
    let profile = side.profile;
    let is_known = |id: &GpuId| {
        let work = profile.gpu.get(*id);
        work.is_some_and(|work| profile.trace.events.dur_ns(work.event).is_some())
    };
    let calls = operations.flat_map(|operation| &operation.calls);
    let mut timed = Tally::default();
    for call in calls.filter(|call| call.work.iter().all(is_known)) {
        timed.add(1, call.kernel_ns);
    }
    timed
}

/// Whether the matrices of a product are large, and whole numbers of the tiles that kernels are made
/// of; `None` without shapes.
fn has_regular_sizes(side: &Side, product: &Operation) -> Option<bool> {
    /// Fewer rows or columns fill no tile.
    const LEAST: i64 = 128;
    const MULTIPLE: i64 = 16;
    let dims = product.dims(side.profile).iter();
    let shapes = dims.filter_map(|dims| match dims {
        Dims::One(shape) => Some(side.profile.trace.args.shape(*shape)),
        Dims::Many(_) => None,
    });
    let mut matrices = shapes.filter(|shape| shape.len() >= 2).peekable();
    matrices.peek()?;
    let mut sizes = matrices.flat_map(|shape| shape.iter().rev().take(2));
    Some(sizes.all(|size| *size >= LEAST && size % MULTIPLE == 0))
}
