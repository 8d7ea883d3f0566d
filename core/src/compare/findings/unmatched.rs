//! Operations that only the target has.

#[cfg(test)]
mod tests;

use super::GapSubject;
use super::rule::{Candidate, GapRule, GapTable};
use super::savings::{has_lost_fusion, is_fusible, of_extra_fusible, of_fewer_calls};
use crate::base::format;
use crate::base::group::grouped;
use crate::base::interval::sum;
use crate::base::sort::Arrange;
use crate::compare::comparison::Comparison;
use crate::compare::ops::{Auxiliary, MatchedOp, UnmatchedOp};
use crate::compare::pair::{Pair, Which};
use crate::compare::words;
use crate::findings::recomputation;
use crate::names::Family;
use crate::names::normalized::unnumbered;

pub(super) const TABLE: GapTable = GapTable {
    title: "Operations that the reference does not have",
    rules: RULES,
    candidates,
};

const RULES: &[GapRule] = &[
    GapRule {
        key: "recomputation",
        when: "the target computes activations again in the backward pass, longer than the reference does",
        applies: |_, candidate| candidate.has_word("recompute_model"),
        title: "The target computes activations a second time",
        issue: "The target spends {time} on computing activations again in the backward pass, mainly in {names}; the reference spends {reference} on that.",
        model: "{recompute_model}",
        kernel: "{recompute_kernel}",
        notes: &["{recompute_notes}", OTHER_AMOUNT],
        saves: "what the target computes again beyond what the reference does",
    },
    GapRule {
        key: "lost_fusion",
        when: "the reference does in generated kernels most of what fused kernels may do and only one of the traces has, the target in other kernels, for longer",
        applies: |_, candidate| candidate.has_word("lost_fusion"),
        title: "Operations that the reference fuses in generated kernels",
        issue: "The target spends {time} in operations one after another, mainly {names}, and the reference {reference_time} in kernels that a compiler generated from several of them.",
        model: "Compile this part with `torch.compile`, as on the reference: its generated kernels do element-wise operations, normalizations and reductions in one pass over the data. If it is compiled, see what is left out of it: `TORCH_LOGS=graph_breaks` lists each graph break, and `fullgraph=True` raises an error at the first.",
        kernel: "Use or write one fused kernel for these steps, as on the reference.",
        notes: &[
            "{extra} of it is in operations that both have, in calls that the reference does without.",
            OTHER_AMOUNT,
            TARGET_KERNELS,
            REFERENCE_KERNELS,
        ],
        saves: "what the target computes in these operations, and in calls of others that the reference does without, beyond the time of the generated kernels",
    },
    GapRule {
        key: "conversions",
        when: "the target converts types for longer than the reference does",
        applies: |_, candidate| candidate.has_word("conversions"),
        title: "Type conversions that the reference does not make",
        issue: "The target spends {time} in {calls} of operators that copy a tensor to another type, mainly {names}; the reference spends {reference} on that.",
        model: "Keep tensors in the type that they are computed in, cast weights once outside the step, and let the operation that writes a tensor convert it: `torch.compile` fuses conversions with their neighbors.",
        kernel: "A kernel that reads or writes the other type makes the conversion unnecessary.",
        notes: &[AMOUNTS, OTHER_AMOUNT],
        saves: "what the target spends there beyond the reference, as far as it spends more in all operations without a partner",
    },
    GapRule {
        key: "copies_within_gpu",
        when: "the target copies tensors within the GPU for longer than the reference does",
        applies: |_, candidate| candidate.has_word("copies"),
        title: "Copies within the GPU that the reference does not make",
        issue: "The target spends {time} in {calls} of operators that copy a tensor of the same type, mainly {names}; the reference spends {reference} on that.",
        model: "See what calls for them (`contiguous()`, `clone()`, `reshape` of strided tensors, another layout, many small tensors): hand over views, write tensors in the layout that is read next, and join small copies.",
        kernel: "A kernel that reads strided operands makes the copy unnecessary.",
        notes: &[AMOUNTS, OTHER_AMOUNT],
        saves: "what the target spends there beyond the reference, as far as it spends more in all operations without a partner",
    },
    GapRule {
        key: "unfused_bias",
        when: "the target adds a bias in a kernel of its own",
        applies: |_, candidate| candidate.has_word("bias"),
        title: "A bias is added in a kernel of its own",
        issue: "The target spends {time} in {calls} of {names} that add a vector to a matrix; the reference spends {reference} on that.",
        model: "Add the bias in the GEMM, as with `torch.addmm` or the bias of `torch.nn.Linear`.",
        kernel: "Add the bias where the GEMM writes its result.",
        notes: &[AMOUNTS, OTHER_AMOUNT],
        saves: "what the target spends there beyond the reference, as far as it spends more in all operations without a partner",
    },
    GapRule {
        when: "the optimizer of the reference is fused, that of the target is not",
        applies: |comparison, candidate| has_fused_optimizer(comparison, candidate),
        title: "Optimizer in several kernels, where the reference has a fused one",
        model: "Construct the optimizer with `fused=True`, as on the reference.",
        kernel: "The fused kernel of the reference reads and writes parameters and states once: use or write one on the target.",
        ..NO_PARTNER
    },
    GapRule {
        key: "other_sizes",
        when: "most of what the target computes without a partner is in calls of operators that it calls less often on the sizes of the reference",
        applies: |_, candidate| candidate.has_word("moved"),
        title: "Calls on other sizes: {subject}",
        issue: "The target spends {time} in calls on sizes that the reference does not have, mainly {names}; it makes fewer calls of these operators on the sizes of the reference, which take {moved} there.",
        model: "Compare the sizes in the configurations of both models (hidden sizes, heads, vocabulary), and lengths and batch sizes of both inputs.",
        kernel: "More work takes longer: compare the time for each FLOP, not the totals.",
        notes: &[AMOUNTS, OTHER_AMOUNT],
        saves: "what the target computes there beyond what the reference has of its own, and beyond its own calls of these operators that the target does without",
    },
    GapRule {
        when: "the target launches more kernels for what has no partner",
        applies: |comparison, _| launches_more(comparison),
        model: "Check that both runs take the same path through the same model, and use the operator that does in one kernel what is done in several here.",
        kernel: "Find kernels that do the same work in the lists of unmatched kernels, and use or write a fused one.",
        ..NO_PARTNER
    },
    NO_PARTNER,
];

/// The end of the title of findings about work of the target alone that has no name of its own.
pub(crate) const NOT_ON_REFERENCE: &str = ": not on the reference";

const NO_PARTNER: GapRule = GapRule {
    key: "no_partner",
    when: "the target computes longer without a partner than the reference does",
    applies: |_, _| true,
    title: "{subject}: not on the reference",
    issue: "The target spends {time} in operations that the reference does not have, mainly {names}; the reference spends {reference} in operations that the target does not have.",
    model: "Check that both runs take the same path through the same model.",
    kernel: "Find kernels that do the same work in the lists of unmatched kernels.",
    notes: &[
        AMOUNTS,
        OTHER_AMOUNT,
        TARGET_KERNELS,
        REFERENCE_KERNELS,
        "{of_both}Where one side does in one kernel what the other does in several, both are listed without a partner.",
    ],
    saves: "what the target computes there beyond what the reference has of its own",
};

const AMOUNTS: &str = "{n_target} of the target without a partner, {n_reference} of the reference: their computation is {time} and {reference_time}.";
const OTHER_AMOUNT: &str = "{amount} The time is therefore compared with {reference_scaled}.";
const TARGET_KERNELS: &str = "Kernels that only the target runs: {target_kernels}.";
const REFERENCE_KERNELS: &str = "Kernels that only the reference runs: {reference_kernels}.";

/// What operations of one trace alone have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// They compute activations again.
    Recompute,
    Auxiliary(Auxiliary),
    Other,
}

const AUXILIARY: [Kind; 3] = [
    Kind::Auxiliary(Auxiliary::Conversion),
    Kind::Auxiliary(Auxiliary::Copy),
    Kind::Auxiliary(Auxiliary::Bias),
];

fn kind(op: &UnmatchedOp) -> Kind {
    match op.auxiliary {
        _ if op.is_recompute => Kind::Recompute,
        Some(what) => Kind::Auxiliary(what),
        None => Kind::Other,
    }
}

/// The operations of the target alone, if they take longer than those of the reference alone: those that compute
/// activations again, those that only serve others, and the rest. As one trace may do in one kernel what the other does
/// in several, the latter save no more than all of them take longer; if those of a kind take less than a rest does, they
/// are part of the rest.
fn candidates(comparison: &Comparison) -> Vec<Candidate> {
    let longer_ns = |kinds: &[Kind]| {
        let times = Pair::of(|which| {
            sum(lone(comparison, which, kinds).map(|(_, op)| op.side.exclusive_ns))
        });
        let scaled_ns = comparison.scaled_work(times.reference);
        times.target.saturating_sub(scaled_ns)
    };
    let all = [&AUXILIARY[..], &[Kind::Other]].concat();
    let mut left_ns = longer_ns(&all).saturating_sub(of_calls_not_made(comparison));
    let mut rest = vec![Kind::Other];
    let mut found = Vec::from_iter(candidate(comparison, &[Kind::Recompute], i64::MAX));
    if has_lost_fusion(comparison) {
        found.extend(lost_fusion(comparison, &all, left_ns));
        return found;
    }
    for kind in AUXILIARY {
        let own_ns = longer_ns(&[kind]);
        match own_ns > 0 && own_ns <= left_ns {
            true => {
                found.extend(candidate(comparison, &[kind], left_ns));
                left_ns -= own_ns;
            }
            false => rest.push(kind),
        }
    }
    found.extend(candidate(comparison, &rest, left_ns));
    found
}

/// All operations of the target alone, where the reference has generated kernels for most of what they do: with the
/// calls of others that those do, too, they take longer by this much and the time of these calls.
fn lost_fusion(comparison: &Comparison, kinds: &[Kind], longer_ns: i64) -> Option<Candidate> {
    let extra_ns = of_extra_fusible(comparison);
    let saved_ns = longer_ns.saturating_add(extra_ns);
    if saved_ns <= 0 {
        return None;
    }
    let lone = Pair::of(|which| lone(comparison, which, kinds).collect::<Vec<_>>());
    let mut times = lone
        .as_ref()
        .map(|ops| sum(ops.iter().map(|(_, op)| op.side.exclusive_ns)));
    times.target = times.target.saturating_add(extra_ns);
    let mut words = candidate_words(comparison, kinds, &lone, times);
    words.push(("lost_fusion", String::new()));
    if extra_ns > 0 {
        words.push(("extra", format::time_ns(extra_ns)));
    }
    let subject = GapSubject::Unmatched(lone.target.iter().map(|(at, _)| *at).collect());
    Some(Candidate::of_saved(
        comparison, subject, times, saved_ns, words,
    ))
}

/// The time of calls of matched operations that only the reference makes: a fused kernel of the target may do what
/// memory-bound ones do, and calls on other sizes what others do.
fn of_calls_not_made(comparison: &Comparison) -> i64 {
    let matched = comparison.operations.matched.iter();
    let fusible = matched.filter(|op| is_fusible(op.family) || op.family == Family::Triton);
    sum(fusible.map(|op| of_fewer_calls(comparison, op))).saturating_add(of_moved_calls(comparison))
}

/// The time of calls of other matched operations that only the reference makes, of operators that the target alone
/// calls on other sizes.
fn of_moved_calls(comparison: &Comparison) -> i64 {
    let Pair { target, .. } = &comparison.operations.unmatched;
    let is_moved = |name: &str| {
        target
            .iter()
            .any(|op| op.name == name && !op.shapes.is_empty())
    };
    let matched = comparison.operations.matched.iter();
    let moved = matched
        .filter(|op| !is_fusible(op.family) && op.family != Family::Triton && is_moved(&op.name));
    sum(moved.map(|op| of_fewer_calls(comparison, op)))
}

/// The operations of one trace alone of some kinds, with their positions.
fn lone<'c>(
    comparison: &'c Comparison,
    which: Which,
    kinds: &'c [Kind],
) -> impl Iterator<Item = (usize, &'c UnmatchedOp)> {
    let all = comparison.operations.unmatched.get(which).iter();
    all.enumerate()
        .filter(move |(_, op)| kinds.contains(&kind(op)))
}

fn candidate(comparison: &Comparison, kinds: &[Kind], most_ns: i64) -> Option<Candidate> {
    let lone =
        Pair::of(|which| lone(comparison, which, kinds).collect::<Vec<(usize, &UnmatchedOp)>>());
    let times = lone
        .as_ref()
        .map(|ops| sum(ops.iter().map(|(_, op)| op.side.exclusive_ns)));
    let scaled_ns = comparison.scaled_work(times.reference);
    let longer_ns = times.target.saturating_sub(scaled_ns).min(most_ns);
    if longer_ns <= 0 {
        return None;
    }
    let words = candidate_words(comparison, kinds, &lone, times);
    let subject = GapSubject::Unmatched(lone.target.iter().map(|(at, _)| *at).collect());
    Some(Candidate::of_saved(
        comparison, subject, times, longer_ns, words,
    ))
}

/// The words of the rules: which operations there are, and how long they take.
fn candidate_words(
    comparison: &Comparison,
    kinds: &[Kind],
    lone: &Pair<Vec<(usize, &UnmatchedOp)>>,
    times: Pair<i64>,
) -> Vec<(&'static str, String)> {
    let scaled_ns = comparison.scaled_work(times.reference);
    let reference = format::time_ns(times.reference);
    let has_any = !lone.reference.is_empty();
    let own = match has_any {
        true => reference.clone(),
        false => "no time".to_owned(),
    };
    let targets = lone.target.iter().map(|(_, op)| *op);
    let mut words = vec![
        ("time", format::time_ns(times.target)),
        ("reference_time", reference),
        ("reference", own),
        ("names", first_named(comparison, targets)),
        (
            "n_target",
            format::counted(lone.target.len() as u64, "operation"),
        ),
        ("n_reference", format::count(lone.reference.len() as u64)),
    ];
    if scaled_ns != times.reference {
        let amount = &comparison.amount;
        let steps = (!amount.is_same()).then(|| format!("The target does {}.", amount.text()));
        let work = comparison.work.as_ref().map(|work| work.sentence());
        let said = format::joined(steps.into_iter().chain(work), " ");
        words.push(("amount", said));
        words.push(("reference_scaled", format::time_ns(scaled_ns)));
    }
    words.push(("subject", subject(&lone.target)));
    let moved_ns = of_moved_calls(comparison);
    if kinds.contains(&Kind::Other) && moved_ns.saturating_mul(2) > times.target {
        words.push(("moved", format::time_ns(moved_ns)));
    }
    if has_any {
        words.push(("of_both", String::new()));
    }
    let calls = lone.target.iter().map(|(_, op)| op.side.calls);
    words.push(("calls", format::counted(calls.sum(), "call")));
    let of_kind = match kinds {
        [Kind::Auxiliary(Auxiliary::Conversion)] => Some("conversions"),
        [Kind::Auxiliary(Auxiliary::Copy)] => Some("copies"),
        [Kind::Auxiliary(Auxiliary::Bias)] => Some("bias"),
        _ => None,
    };
    words.extend(of_kind.map(|word| (word, String::new())));
    if kinds == [Kind::Recompute] {
        let [model, kernel, notes] = recomputation();
        words.push(("recompute_model", format::capitalized(&model)));
        words.push(("recompute_kernel", format::capitalized(&kernel)));
        words.push(("recompute_notes", notes));
    }
    for (word, which) in [
        ("target_kernels", Which::Target),
        ("reference_kernels", Which::Reference),
    ] {
        let ops = lone.get(which).iter().map(|(_, op)| *op);
        let named = own_kernels(comparison, which, ops);
        words.extend((!named.is_empty()).then_some((word, named)));
    }
    words
}

/// The operators of some operations, the one with the most time first; kernels without an operator by their kind.
fn subject(ops: &[(usize, &UnmatchedOp)]) -> String {
    const N_NAMED: usize = 2;
    let name = |op: &UnmatchedOp| {
        let mut kernels = op.side.kernels.iter();
        match kernels.any(|kernel| kernel.name == op.name) {
            true => format!("{} kernels", op.family.label()),
            false => words::quoted(unnumbered(&op.name)),
        }
    };
    let named = ops.iter().map(|(_, op)| (name(op), *op));
    let mut names: Vec<(String, Vec<&UnmatchedOp>)> = grouped(named, Vec::push);
    names.arrange_by_largest(|(_, ops)| sum(ops.iter().map(|op| op.side.exclusive_ns)));
    let n_others = names.len().saturating_sub(N_NAMED);
    let shown = names.into_iter().take(N_NAMED).map(|(name, _)| name);
    match n_others {
        0 => format::joined(shown, " and "),
        _ => format!(
            "{} and {}",
            format::joined(shown, ", "),
            format::counted(n_others as u64, "other")
        ),
    }
}

/// Whether the longest operation of the reference alone is a fused step of an optimizer, and the target alone does the
/// division at its end.
fn has_fused_optimizer(comparison: &Comparison, candidate: &Candidate) -> bool {
    let Pair { reference, target } = &comparison.operations.unmatched;
    let GapSubject::Unmatched(rows) = &candidate.subject else {
        return false;
    };
    let mut own = rows.iter().filter_map(|at| target.get(*at));
    let is_fused = |name: &str| name.starts_with("aten::_fused_ada");
    reference.first().is_some_and(|op| is_fused(&op.name))
        && own.any(|op| op.name.contains("addcdiv_"))
}

/// Whether both launch kernels in unmatched operations, and the target launches more.
fn launches_more(comparison: &Comparison) -> bool {
    let kinds = [&AUXILIARY[..], &[Kind::Other]].concat();
    let launches =
        Pair::of(|which| sum(lone(comparison, which, &kinds).map(|(_, op)| op.side.n_runs as i64)));
    launches.reference > 0 && launches.target > comparison.amount.scaled(launches.reference)
}

/// The longest of these operations of the target alone; with sizes if the reference calls the same operator.
fn first_named<'c>(
    comparison: &'c Comparison,
    targets: impl Iterator<Item = &'c UnmatchedOp>,
) -> String {
    let operations = &comparison.operations;
    let of_both = |op: &MatchedOp| op.reference_name.as_deref().unwrap_or(&op.name).to_owned();
    let mut known: Vec<String> = operations.matched.iter().map(of_both).collect();
    known.extend(
        operations
            .unmatched
            .reference
            .iter()
            .map(|op| op.name.clone()),
    );
    words::few(targets.map(|op| {
        let name = words::quoted(unnumbered(&op.name));
        match known.contains(&op.name) && !op.shapes.is_empty() {
            true => format!("{name} on {}", op.shapes),
            false => name,
        }
    }))
}

/// The longest kernels of these operations of one trace alone that the other trace never runs.
fn own_kernels<'c>(
    comparison: &'c Comparison,
    which: Which,
    ops: impl Iterator<Item = &'c UnmatchedOp>,
) -> String {
    let is_own = |name: &str| {
        let row = comparison.kernels.iter().find(|row| row.key == name);
        row.is_some_and(|row| row.sides.get(which.other()).is_none())
    };
    let kernels = ops.filter_map(|op| op.side.kernels.first());
    let own = kernels.filter(|kernel| is_own(&kernel.name));
    words::few(own.map(|kernel| words::kernel(&kernel.name)))
}
