//! Operations of both traces, side by side.
//!
//! An operation is the calls of one operator with equal arguments. Its partner is looked for in
//! three steps, each for what the one before left: the same arguments down to strides and values;
//! the same shapes and types; and an operator that does the same under another name. Calls that one
//! trace splits by their strides, and the other does not, are one row. Where one of
//! the traces has no shapes, the name has to do. Threads do not matter: the same call made from
//! two of them is one row.

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::align::{Alignment, align};
use super::counterparts::{Counterpart, counterpart};
use super::expected::{Judge, Judgement};
use super::pair::{Pair, Which};
use super::shares::Shares;
use super::side::Side;
use crate::analysis::compute::shapes;
use crate::category::Family;
use crate::format;
use crate::interval::sum;
use crate::operations::Operation;
use crate::sort::Arrange;
use crate::trace::{Dims, StringId};

/// How two operations were found to belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum MatchLevel {
    /// The same operator with the same shapes, types, strides and values.
    Arguments,
    /// The same operator with the same shapes and types; strides or values differ.
    Shapes,
    /// Another name for the same work on the same shapes.
    Counterpart,
    /// The same name; one of the traces has no shapes.
    Name,
}

impl MatchLevel {
    const ALL: [MatchLevel; 4] = [
        MatchLevel::Arguments,
        MatchLevel::Shapes,
        MatchLevel::Counterpart,
        MatchLevel::Name,
    ];

    /// As files write it.
    pub fn key(self) -> &'static str {
        match self {
            MatchLevel::Arguments => "arguments",
            MatchLevel::Shapes => "shapes",
            MatchLevel::Counterpart => "counterpart",
            MatchLevel::Name => "name",
        }
    }

    /// For people: what is the same.
    pub fn label(self) -> &'static str {
        match self {
            MatchLevel::Arguments => "all arguments",
            MatchLevel::Shapes => "shapes and types",
            MatchLevel::Counterpart => "shapes, under another name",
            MatchLevel::Name => "name",
        }
    }
}

/// All runs of one kernel within an operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelUse {
    /// Its name, whole.
    pub name: String,
    /// How often it ran.
    pub count: u64,
    /// Sum of its durations.
    pub ns: i64,
}

/// An operation in one of the traces.
#[derive(Debug, Clone, PartialEq)]
pub struct OpSide {
    /// Positions in that trace's [`Profile::operations`](crate::Profile::operations): several
    /// where it was called from several threads, or with several strides.
    pub operations: Vec<usize>,
    /// Position of its first call in the events of that trace.
    pub uid: u64,
    /// Its calls.
    pub calls: u64,
    /// Kernel time of all calls.
    pub time_ns: i64,
    /// Its part of the time in which that trace computes: where kernels overlap, they share it.
    pub exclusive_ns: i64,
    /// Its kernel time as a share of the time in which that trace computes.
    pub percent_of_compute: Option<f64>,
    /// Its kernels, the longest first; at most [`OpSide::MAX_KERNELS`].
    pub kernels: Vec<KernelUse>,
    /// How many different kernels it has.
    pub n_kernels: usize,
}

impl OpSide {
    /// Kernels that are kept by name.
    pub const MAX_KERNELS: usize = 4;

    /// Mean kernel time of a call.
    pub fn ns_per_call(&self) -> f64 {
        self.time_ns as f64 / self.calls.max(1) as f64
    }
}

/// An operation of both traces.
#[derive(Debug, Clone, PartialEq)]
pub struct MatchedOp {
    /// Its name; of a kernel that stands for itself, the kernel.
    pub name: String,
    /// Its name in the reference, where that is another one.
    pub reference_name: Option<String>,
    /// The shapes and the type of its operands, for people; empty where they were not recorded.
    pub shapes: String,
    /// What was found to be the same.
    pub level: MatchLevel,
    /// It runs while activations are computed again.
    pub is_recompute: bool,
    /// The kind of work that it is in the target.
    pub family: Family,
    /// In each of the traces.
    pub sides: Pair<OpSide>,
    /// Whether the hardware explains the difference.
    pub judgement: Judgement,
}

impl MatchedOp {
    /// Kernel time of all calls.
    pub fn times(&self) -> Pair<i64> {
        self.sides.as_ref().map(|side| side.time_ns)
    }

    /// Number of calls.
    pub fn calls(&self) -> Pair<u64> {
        self.sides.as_ref().map(|side| side.calls)
    }

    /// Its name with its shapes.
    pub fn label(&self) -> String {
        label(&self.name, &self.shapes)
    }
}

/// An operation of one of the traces.
#[derive(Debug, Clone, PartialEq)]
pub struct LoneOp {
    /// Its name; of a kernel that stands for itself, the kernel.
    pub name: String,
    /// The shapes and the type of its operands, for people.
    pub shapes: String,
    /// It runs while activations are computed again.
    pub is_recompute: bool,
    /// The kind of work that it is.
    pub family: Family,
    /// What is known of it.
    pub side: OpSide,
}

impl LoneOp {
    /// Its name with its shapes.
    pub fn label(&self) -> String {
        label(&self.name, &self.shapes)
    }
}

fn label(name: &str, shapes: &str) -> String {
    match shapes.is_empty() {
        true => name.to_owned(),
        false => format!("{name} {shapes}"),
    }
}

/// The operations of both traces.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Operations {
    /// What both have, the longest in the target first.
    pub matched: Vec<MatchedOp>,
    /// What only one has, the longest first.
    pub lone: Pair<Vec<LoneOp>>,
}

impl Operations {
    pub(super) fn new(sides: Pair<Side>, shares: &Pair<Shares>, judge: &Judge) -> Operations {
        let lists = sides.map(|side| counted(&side));
        let texts = sides.zip(lists.as_ref()).map(|(side, list)| {
            let texts = list.iter().map(|at| CallText::new(&side, *at));
            texts.collect::<Vec<CallText>>()
        });
        let has_shapes = texts
            .as_ref()
            .map(|texts| texts.iter().any(|text| text.dims.is_some()));
        let levels = match has_shapes.reference && has_shapes.target {
            true => &MatchLevel::ALL[..3],
            false => &MatchLevel::ALL[..],
        };
        let n_rows = lists.as_ref().map(Vec::len);
        let mut alignment = align(n_rows, levels, |level, which, row| {
            texts.get(which).get(row)?.key(level)
        });
        join_split_calls(&mut alignment, sides, &lists, &texts);
        let Alignment { matched, lone } = alignment;
        let positions = |which: Which, rows: &[usize]| -> Vec<usize> {
            let list = lists.get(which);
            rows.iter()
                .filter_map(|row| list.get(*row).copied())
                .collect()
        };
        let op_side = |which: Which, rows: &[usize]| {
            let side = sides.get(which);
            op_side(side, shares.get(which), positions(which, rows))
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
            operations.matched.push(MatchedOp {
                judgement: judge.judge(sides, pair.as_ref()),
                reference_name: Some(names.reference).filter(|_| !same_name),
                name: names.target,
                shapes: shapes_of(&sides.target, first.target),
                level: found.level,
                is_recompute: first.target.key.is_recompute,
                family: first.target.family,
                sides: pair,
            });
        }
        operations.matched.arrange_by(|a, b| {
            let times = |op: &MatchedOp| (op.sides.target.time_ns, op.sides.reference.time_ns);
            times(b).cmp(&times(a)).then_with(|| a.name.cmp(&b.name))
        });
        for which in [Which::Reference, Which::Target] {
            let side = sides.get(which);
            let rows = lone.get(which).iter().filter_map(|rows| {
                let op_side = op_side(which, rows);
                let first = side
                    .profile
                    .operations()
                    .get(*op_side.operations.first()?)?;
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
fn join_split_calls(
    alignment: &mut Alignment<MatchLevel>,
    sides: Pair<Side>,
    lists: &Pair<Vec<usize>>,
    texts: &Pair<Vec<CallText>>,
) {
    let n_calls = |which: Which, rows: &[usize]| -> u64 {
        let operations = sides.get(which).profile.operations();
        let positions = rows.iter().filter_map(|row| lists.get(which).get(*row));
        let calls = positions.filter_map(|at| operations.get(*at));
        calls.map(Operation::n_calls).sum()
    };
    let shapes = |which: Which, rows: &[usize]| {
        let text = rows.first().and_then(|row| texts.get(which).get(*row));
        text.and_then(|text| text.key(MatchLevel::Shapes))
    };
    let mut by_shapes: HashMap<Key, Vec<usize>, FxBuildHasher> = HashMap::default();
    for (at, found) in alignment.matched.iter().enumerate() {
        if let Some(key) = shapes(Which::Target, &found.rows.target) {
            by_shapes.entry(key).or_default().push(at);
        }
    }
    for which in [Which::Reference, Which::Target] {
        let lone = std::mem::take(alignment.lone.get_mut(which));
        for rows in lone {
            let extra = n_calls(which, &rows);
            let known = shapes(which, &rows).and_then(|key| by_shapes.get(&key));
            let partner = known.into_iter().flatten().copied().find(|at| {
                alignment.matched.get(*at).is_some_and(|found| {
                    let own = n_calls(which, found.rows.get(which));
                    own + extra <= n_calls(which.other(), found.rows.get(which.other()))
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
    let mut kernels: Vec<(StringId, u64, i64)> = Vec::new();
    for (name, count, ns) in operations().flat_map(|operation| operation.kernels(side.profile)) {
        match kernels.iter_mut().find(|(known, ..)| *known == name) {
            Some(kernel) => {
                kernel.1 += count;
                kernel.2 = kernel.2.saturating_add(ns);
            }
            None => kernels.push((name, count, ns)),
        }
    }
    kernels.arrange_by_key(|(.., ns)| std::cmp::Reverse(*ns));
    let named = kernels.iter().take(OpSide::MAX_KERNELS);
    let computation = side.report.timelines.whole.as_ref();
    let computation_ns = computation.map_or(0, |whole| whole.computation_ns);
    OpSide {
        uid: operations().map(Operation::uid).min().unwrap_or(0),
        calls: operations().map(Operation::n_calls).sum(),
        time_ns,
        exclusive_ns: sum(positions
            .iter()
            .filter_map(|at| shares.operations_ns.get(*at).copied())),
        percent_of_compute: (computation_ns > 0)
            .then(|| time_ns as f64 / computation_ns as f64 * 100.0),
        n_kernels: kernels.len(),
        kernels: named
            .map(|&(name, count, ns)| KernelUse {
                name: side.profile.trace.strings.get(name).to_owned(),
                count,
                ns,
            })
            .collect(),
        operations: positions,
    }
}

/// The text of a call.
#[derive(Debug)]
struct CallText {
    name: String,
    /// The shapes of the arguments; `None` where they were not recorded.
    dims: Option<String>,
    types: String,
    /// The types as people say them: vendors spell some differently.
    short_types: String,
    strides: String,
    concrete: String,
    /// What others do under another name, and the operands they have in common.
    counterpart: Option<(&'static str, String)>,
    is_recompute: bool,
}

/// What rows have in common: texts, and whether activations are computed again.
type Key<'a> = ([&'a str; 5], bool);

impl CallText {
    fn new(side: &Side, at: usize) -> CallText {
        let profile = side.profile;
        let operation = profile.operations().get(at);
        let name = operation.map_or("", |operation| operation.short_name(profile));
        let args = operation.and_then(|operation| operation.args(profile));
        let strings = &profile.trace.strings;
        let texts = |ids: Option<&[StringId]>| {
            let ids = ids.unwrap_or_default().iter();
            let texts: Vec<&str> = ids.map(|id| strings.get(*id)).collect();
            texts.join("\n")
        };
        let types = args.and_then(|args| args.types.as_deref());
        let short: Vec<&str> = types
            .unwrap_or_default()
            .iter()
            .map(|id| strings.get(*id))
            .map(|spelling| format::dtype(spelling).unwrap_or(spelling))
            .collect();
        let dims = args.and_then(|args| args.dims.as_deref());
        let operands = |counterpart: Counterpart, dims: &[Dims]| {
            let n = counterpart.n_operands;
            let dims = dims_text(side, dims.get(..n).unwrap_or(dims));
            let types = short.get(..n).unwrap_or(&short).join("\n");
            (counterpart.what, format!("{dims}\n{types}"))
        };
        CallText {
            name: name.to_owned(),
            dims: dims.map(|dims| dims_text(side, dims)),
            types: texts(types),
            short_types: short.join("\n"),
            strides: args
                .and_then(|args| args.strides.as_deref())
                .map_or(String::new(), |strides| dims_text(side, strides)),
            concrete: texts(args.and_then(|args| args.concrete.as_deref())),
            counterpart: counterpart(name)
                .zip(dims)
                .map(|(counterpart, dims)| operands(counterpart, dims)),
            is_recompute: operation.is_some_and(|operation| operation.key.is_recompute),
        }
    }

    fn key(&self, level: MatchLevel) -> Option<Key<'_>> {
        let dims = self.dims.as_deref().unwrap_or("no shapes");
        let texts = match level {
            MatchLevel::Arguments => [&self.name, dims, &self.types, &self.strides, &self.concrete],
            MatchLevel::Shapes => [&self.name, dims, &self.short_types, "", ""],
            MatchLevel::Counterpart => {
                let (what, operands) = self.counterpart.as_ref()?;
                [*what, operands.as_str(), "", "", ""]
            }
            MatchLevel::Name => [&self.name, "", "", "", ""],
        };
        Some((texts, self.is_recompute))
    }
}

fn dims_text(side: &Side, dims: &[Dims]) -> String {
    use std::fmt::Write;
    let args = &side.profile.trace.args;
    let mut text = String::new();
    for dims in dims {
        // Writing to a String cannot fail.
        let _ = match dims {
            Dims::One(shape) => write!(text, "{:?};", args.shape(*shape)),
            Dims::Many(shapes) => {
                let shapes: Vec<&[i64]> = shapes.iter().map(|shape| args.shape(*shape)).collect();
                write!(text, "{shapes:?};")
            }
        };
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::Comparison;
    use super::super::testing::sides;
    use super::*;
    use crate::testing::Timetable;

    const MM: &str = r#""Input Dims": [[512, 256], [256, 128]], "Input type": ["float", "float"], "Input Strides": [[256, 1], [128, 1]], "Concrete Inputs": ["", ""]"#;
    const MM_TRANSPOSED: &str = r#""Input Dims": [[512, 256], [256, 128]], "Input type": ["float", "float"], "Input Strides": [[256, 1], [1, 256]], "Concrete Inputs": ["", ""]"#;

    fn one_op(name: &str, args: &str, us: i32) -> Timetable {
        Timetable::new()
            .op(name, 0..10)
            .args(args)
            .launch(1, 1..2)
            .kernel(1, "k", 100..100 + us)
    }

    fn compared(reference: &Timetable, target: &Timetable) -> Comparison {
        sides(reference, target, None, |sides| {
            Comparison::new(sides.reference, sides.target)
        })
    }

    #[test]
    fn equal_arguments_are_a_match_of_all_arguments() {
        let comparison = compared(&one_op("aten::mm", MM, 40), &one_op("aten::mm", MM, 50));
        let [op] = &comparison.operations.matched[..] else {
            panic!("one operation")
        };
        assert_eq!(op.level, MatchLevel::Arguments);
        assert_eq!(op.times().difference(), 10_000);
        assert_eq!(op.label(), "aten::mm 512 × 256, 256 × 128 fp32");
        assert_eq!(op.reference_name, None);
    }

    #[test]
    fn other_strides_are_a_match_of_shapes() {
        let comparison = compared(
            &one_op("aten::mm", MM, 40),
            &one_op("aten::mm", MM_TRANSPOSED, 50),
        );
        assert_eq!(comparison.operations.matched[0].level, MatchLevel::Shapes);
    }

    #[test]
    fn calls_that_one_trace_splits_by_strides_stay_together() {
        let again = |run: Timetable, args: &str| {
            run.op("aten::mm", 20..30)
                .args(args)
                .launch(2, 21..22)
                .kernel(2, "k", 200..230)
        };
        let reference = again(one_op("aten::mm", MM, 40), MM);
        let target = again(one_op("aten::mm", MM, 50), MM_TRANSPOSED);
        for (reference, target) in [(&reference, &target), (&target, &reference)] {
            let operations = compared(reference, target).operations;
            let [op] = &operations.matched[..] else {
                panic!("one operation")
            };
            assert_eq!(op.level, MatchLevel::Shapes);
            assert_eq!(
                op.calls(),
                Pair {
                    reference: 2,
                    target: 2
                }
            );
            assert_eq!(op.times().difference().abs(), 10_000);
            assert!(operations.lone.reference.is_empty() && operations.lone.target.is_empty());
        }
        // Of a call that only one trace makes there is no partner to join.
        let more = compared(&one_op("aten::mm", MM, 40), &target).operations;
        assert_eq!((more.matched.len(), more.lone.target.len()), (1, 1));
        assert_eq!(more.matched[0].level, MatchLevel::Arguments);
    }

    #[test]
    fn another_name_for_the_same_is_a_match() {
        let dims = r#""Input Dims": [[8, 3, 64, 64], [16, 3, 3, 3], []], "Input type": ["float", "float", ""]"#;
        let longer = r#""Input Dims": [[8, 3, 64, 64], [16, 3, 3, 3], [16], []], "Input type": ["float", "float", "float", ""]"#;
        let comparison = compared(
            &one_op("aten::cudnn_convolution", dims, 40),
            &one_op("aten::miopen_convolution", longer, 50),
        );
        let op = &comparison.operations.matched[0];
        assert_eq!(op.level, MatchLevel::Counterpart);
        assert_eq!(op.name, "aten::miopen_convolution");
        assert_eq!(
            op.reference_name.as_deref(),
            Some("aten::cudnn_convolution")
        );
    }

    #[test]
    fn without_shapes_the_name_has_to_do() {
        let bare = Timetable::new()
            .op("aten::mm", 0..10)
            .launch(1, 1..2)
            .kernel(1, "k", 100..120);
        let comparison = compared(&bare, &one_op("aten::mm", MM, 50));
        assert_eq!(comparison.operations.matched[0].level, MatchLevel::Name);
    }

    #[test]
    fn what_has_no_partner_is_listed_on_its_side() {
        let other = r#""Input Dims": [[9, 9], [9, 9]], "Input type": ["float", "float"]"#;
        let comparison = compared(&one_op("aten::mm", MM, 40), &one_op("aten::mm", other, 50));
        let operations = &comparison.operations;
        assert!(operations.matched.is_empty());
        let names = operations.lone.as_ref().map(|ops| ops[0].label());
        assert_eq!(names.reference, "aten::mm 512 × 256, 256 × 128 fp32");
        assert_eq!(names.target, "aten::mm 9 × 9, 9 × 9 fp32");
    }

    #[test]
    fn the_same_call_from_two_threads_is_one_row() {
        let two = one_op("aten::mm", MM, 50)
            .thread(2)
            .op("aten::mm", 20..30)
            .args(MM)
            .launch(2, 21..22)
            .kernel(2, "k", 200..230);
        let comparison = compared(&one_op("aten::mm", MM, 40), &two);
        let [op] = &comparison.operations.matched[..] else {
            panic!("one operation")
        };
        assert_eq!(
            op.calls(),
            Pair {
                reference: 1,
                target: 2
            }
        );
        assert_eq!(
            op.times(),
            Pair {
                reference: 40_000,
                target: 80_000
            }
        );
        // 40 µs a call in both.
        assert_eq!(op.judgement.actual, Some(1.0));
    }
}
