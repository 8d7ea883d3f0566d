//! What the sentences about slower operations are filled with.

use crate::base::format;
use crate::base::interval::{percent_or_zero, sum};
use crate::compare::comparison::Comparison;
use crate::compare::expected::Judgment;
use crate::compare::findings::advice::{advice, has_other_strides, stride_words};
use crate::compare::findings::rule::times_of;
use crate::compare::findings::savings::goal_ns;
use crate::compare::ops::{MatchLevel, MatchedOp};
use crate::compare::pair::Which;
use crate::compare::words;
use crate::findings::Words;
use crate::findings::engine::run_time;
use crate::names::attention::is_backward;
use crate::names::normalized::unnumbered;

pub(super) fn sentence_words(
    comparison: &Comparison,
    first: &MatchedOp,
    ops: &[&MatchedOp],
) -> Words {
    let has_same_calls = words::same_calls(ops);
    let times = times_of(ops);
    let name = match ops.len() {
        1 => words::quoted(&first.name),
        _ if has_same_calls => words::names(ops.iter().map(|op| op.name.as_str())),
        _ => words::quoted(unnumbered(&first.name)),
    };
    let scaled_ns: f64 = ops.iter().map(|op| op.scaled_ns()).sum();
    let timed_ns = sum(ops.iter().map(|op| op.sides.target.timed.ns));
    let per_call = first.sides.as_ref().map(|side| side.ns_per_call() / 1e3);
    let (measured, a_call, change) = match has_same_calls {
        true => (times.map(format::time_ns), "", times.change_percent()),
        false => {
            let change = first.judgment.actual.map(|ratio| (ratio - 1.0) * 100.0);
            (per_call.map(format::time_us), " a call", change)
        }
    };
    let expected = match (comparison.is_same_gpu, expected_change(ops)) {
        (true, Some(change)) if change.abs() < 0.05 => {
            "on the same GPU the same time is expected".to_owned()
        }
        (_, Some(change)) => match other_expected(&first.judgment) {
            Some(other) => format!(
                "the hardware predicts {} by peaks, {} by achievable figures where they are known",
                words::change(change),
                words::change((other - 1.0) * 100.0)
            ),
            None => format!("the hardware predicts {}", words::change(change)),
        },
        (_, None) => "there is no hardware prediction".to_owned(),
    };
    // The reference's name for the same work, if it differs.
    let is_other = matches!(
        first.level,
        MatchLevel::Counterpart
            | MatchLevel::Gemm
            | MatchLevel::Operator
            | MatchLevel::Meaning
            | MatchLevel::Place
            | MatchLevel::Neighbors
    );
    let other = first.reference_name.as_deref().filter(|_| is_other);
    let on = other.map_or(String::new(), |name| format!(" on {}", words::quoted(name)));
    let change = change.map_or("another time than".to_owned(), words::change_than);
    let [model, kernel] = advice(comparison, first);
    vec![
        ("subject", words::operations(first, ops)),
        ("name", name),
        ("ratio", words::times(timed_ns as f64 / scaled_ns.max(1.0))),
        ("time", measured.target),
        ("reference", measured.reference),
        ("a_call", a_call.to_owned()),
        ("change", change),
        ("on", on),
        ("first", words::quoted(&first.name)),
        ("other", words::quoted(other_name(first))),
        ("backward", backward(first).to_owned()),
        ("expected", expected),
        ("model", model),
        ("kernel", kernel),
    ]
}

/// Names the backward pass in a title: the forward pass of the same attention may have a finding of its own.
fn backward(op: &MatchedOp) -> &'static str {
    match other_name(op).split(" + ").all(is_backward) {
        true => " (backward pass)",
        false => "",
    }
}

/// What the reference calls.
fn other_name(op: &MatchedOp) -> &str {
    op.reference_name.as_deref().unwrap_or(&op.name)
}

pub(super) fn note_words(first: &MatchedOp, ops: &[&MatchedOp]) -> Words {
    let mut words = Words::new();
    let targets = || ops.iter().map(|op| &op.sides.target);
    let time_ns = sum(targets().map(|side| side.time_ns));
    let note = run_time::overlap_sentence(time_ns, sum(targets().map(|side| side.run_ns)));
    words.extend(note.map(|note| ("beside", note)));
    let judgment = &first.judgment;
    let other_excess = judgment.on_other_basis().excess;
    let other = other_expected(judgment);
    let ratios = [
        ("actual", judgment.actual),
        ("predicted", judgment.expected),
        ("excess", judgment.excess),
        ("by_achievable", other),
        ("other_excess", other_excess),
    ];
    let known = ratios.into_iter();
    words.extend(known.filter_map(|(word, ratio)| Some((word, words::times(ratio?)))));
    if let Some(rooflines) = judgment.rooflines.both() {
        let bounds = rooflines.map(|roofline| {
            let bound = words::bound(roofline.bound);
            format!("{bound} ({} figure)", roofline.basis.label())
        });
        words.push(("target_bound", bounds.target));
        words.push(("reference_bound", bounds.reference));
    }
    if judgment.work_differs {
        words.push(("other_work", String::new()));
    }
    if first.judgment.is_implausible.reference {
        let percent = first.roofline_percent(Which::Reference).unwrap_or_default();
        words.push(("above_roofline", format::percent(percent)));
    }
    if let Some(floor_ns) = floor_ns(ops) {
        let scaled_ns = sum(ops.iter().map(|op| op.scaled_ns().round() as i64));
        let because = match scaled_ns < floor_ns {
            true => format!(
                "The {} of the reference are out of reach.",
                format::time_ns(scaled_ns)
            ),
            false => "The predicted time is out of reach.".to_owned(),
        };
        words.push(("floor_because", because));
        words.push(("floor", format::time_ns(floor_ns)));
    }
    let outdated = |which| first.outdated(which).map(str::to_owned);
    words.extend(outdated(Which::Target).map(|why| ("outdated", why)));
    words.extend(outdated(Which::Reference).map(|why| ("reference_outdated", why)));
    words.extend(helpers(first, Which::Target).map(|said| ("helpers", said)));
    words.extend(helpers(first, Which::Reference).map(|said| ("reference_helpers", said)));
    if has_other_strides(first) {
        words.extend(stride_words(first));
    }
    words.extend(kernel_words(first));
    words
}

/// The ratio that achievable figures predict, if the verdict is by peaks and depends on that.
fn other_expected(judgment: &Judgment) -> Option<f64> {
    let other = judgment.on_other_basis().expected;
    other.filter(|_| judgment.is_by_peaks() && judgment.depends_on_basis())
}

/// The minimum time on the target, if the reference takes less, or if less is predicted.
pub(super) fn floor_ns(ops: &[&MatchedOp]) -> Option<i64> {
    let floors: Option<Vec<f64>> = ops.iter().map(|op| op.floor_ns()).collect();
    let floor_ns: f64 = floors?.iter().sum();
    let goal_ns = |op: &&MatchedOp| goal_ns(op).min(op.scaled_ns());
    let goal_ns: f64 = ops.iter().map(goal_ns).sum();
    (goal_ns < floor_ns).then_some(floor_ns.round() as i64)
}

/// "80.0 µs (11 %) are a layout change (`batched_transpose`)".
fn helpers(op: &MatchedOp, which: Which) -> Option<String> {
    let all_ns = op.sides.get(which).time_ns;
    let helpers = op.own_helpers(which).map(|helper| {
        let share = format::percent(percent_or_zero(helper.ns, all_ns));
        let (time, kind) = (format::time_ns(helper.ns), helper.kind.label());
        format!(
            "{time} ({share}) are {kind} ({})",
            words::kernel(&helper.name)
        )
    });
    let said = words::few(helpers);
    (!said.is_empty()).then_some(said)
}

/// The kernels that both sides run for it, and how many.
fn kernel_words(op: &MatchedOp) -> Words {
    let longest = op.sides.as_ref().map(|side| side.kernels.first());
    let Some(longest) = longest.both() else {
        return Words::new();
    };
    let per_call = op
        .sides
        .as_ref()
        .map(|side| side.n_runs as f64 / side.timed.count.max(1) as f64);
    let launches = match (per_call.reference - per_call.target).abs() > 0.5 {
        true => format!(
            "; a call launches {} kernels on the target and {} on the reference",
            words::average(per_call.target),
            words::average(per_call.reference)
        ),
        false => String::new(),
    };
    let mut words = vec![("launches", launches)];
    let names = longest.map(|kernel| words::kernel(&kernel.name));
    if longest.reference.name == longest.target.name {
        words.push(("same_kernel", names.target));
    } else {
        words.push(("target_kernel", names.target));
        words.push(("reference_kernel", names.reference));
    }
    words
}

/// The change that the hardware predicts for several operations together, weighted by time on the reference, in
/// percent.
fn expected_change(ops: &[&MatchedOp]) -> Option<f64> {
    let (mut expected, mut reference) = (0.0, 0.0);
    for op in ops {
        let ns = op.scaled_ns();
        expected += ns * op.judgment.expected?;
        reference += ns;
    }
    (reference > 0.0).then(|| (expected / reference - 1.0) * 100.0)
}
