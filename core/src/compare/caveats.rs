//! Caveats of a comparison, one row each.

mod different_work;
#[cfg(test)]
mod tests;

use different_work::{
    FEW_PARTNERS, OTHER_WEIGHTS, few_partners, is_other_size, other_models, other_sizes,
    other_work, unnamed_other_weights,
};

use super::comparison::{Comparison, FEW_PARTNERS_PERCENT};
use super::expected::Verdict;
use super::ops::{MatchLevel, MatchedOp};
use super::pair::{Pair, Which};
use super::time_parts::PartKind;
use super::words;
use crate::base::format;
use crate::base::interval::{percent_or_zero, sum};
use crate::findings::{Words, fill};
use crate::hardware::Basis;
use crate::profile::window::WindowOf;
use crate::report::overview::QualityLine;

struct Caveat {
    /// Values of the placeholders; `None` if the caveat does not apply.
    words: fn(&Comparison) -> Option<Words>,
    text: &'static str,
}

/// Caveats besides [what the traces lost](Comparison::lost), most important first.
#[rustfmt::skip]
const CAVEATS: &[Caveat] = &[
    Caveat { words: windows, text: "The comparison covers {reference} of the reference and {target} of the target." },
    Caveat { words: |comparison| neither(has_gpu_activity(comparison)), text: "Neither trace has GPU activity: only CPU times are compared, without a prediction." },
    Caveat { words: |comparison| only_one(has_gpu_activity(comparison)), text: "The {which} has no GPU activity, so that GPU times cannot be compared; CPU times can." },
    Caveat { words: |comparison| mismatch(comparison, Which::Reference), text: MISMATCH },
    Caveat { words: |comparison| mismatch(comparison, Which::Target), text: MISMATCH },
    Caveat { words: other_models, text: "The traces are of different models: {reference} is the reference, {target} the target. What they have in common is compared." },
    Caveat { words: unnamed_other_weights, text: OTHER_WEIGHTS },
    Caveat { words: other_gpus, text: "The reference ran on {reference}, the target on {target}. With several GPUs, busy time is the time in which any GPU is busy, so totals and idle time are not comparable." },
    Caveat { words: |comparison| only_one(leaves_gaps(comparison)), text: "In the {which}, recorded on ROCm, kernel times in a busy queue include the gap before each kernel: shares of busy time, and times of kernels of a few microseconds, are not alike in both traces." },
    Caveat { words: other_parallelism, text: "The {which} communicates {among}, the {other} {other_among}: the work is split among GPUs differently, and the share of one GPU may differ." },
    Caveat { words: |comparison| only_one(has_backward(comparison)), text: "The {which} has no backward pass, the other trace has one: one of them trains, so that their totals are of different work." },
    Caveat { words: |comparison| neither(shapes_by_name(comparison)?).filter(|_| !comparison.is_same()), text: "Neither trace has shapes: operations are paired by name alone, and calls of one name count as the same work. Profile with `record_shapes=True`." },
    Caveat { words: |comparison| only_one(shapes_by_name(comparison)?), text: "The {which} has no shapes: operations are paired by name alone, without a prediction, because sizes may differ. Profile it with `record_shapes=True`." },
    Caveat { words: outside, text: "The steps of the profiler take {steps} on the target and {reference_steps} on the reference: {outside} and {reference_outside} of that are before the first GPU activity or after the last, which is not compared." },
    Caveat { words: |comparison| tuning(comparison, Which::Target), text: TUNING },
    Caveat { words: |comparison| tuning(comparison, Which::Reference), text: TUNING },
    Caveat { words: few_partners, text: FEW_PARTNERS },
    Caveat { words: other_calls, text: "Operations with {percent} of the matched kernel time were called a different number of times ({reference} on the reference, {target} on the target): verdicts compare single calls, totals do not.{lost}{amount}" },
    Caveat { words: no_expectation, text: "There is no prediction for the target, because no GPU profile is known for {whom}: choose one to see how much of each difference the hardware explains." },
    Caveat { words: mixed_basis, text: "An achievable figure of {figure} is known for one of the GPUs alone ({reference} for the reference, {target} for the target), so both use peak rates: {peak} is expected. With achievable rates where they are known it is {achievable}; {verdicts}." },
    Caveat { words: other_sizes, text: "{operations} with {percent} of the kernel time of the target {are} the same as on the reference with other sizes or types: {first} first, on {shapes} instead of {reference_shapes}. Each side is compared with the roofline for its own sizes." },
    Caveat { words: |comparison| implausible(comparison, Which::Reference), text: IMPLAUSIBLE },
    Caveat { words: |comparison| implausible(comparison, Which::Target), text: IMPLAUSIBLE },
    Caveat { words: other_work, text: "For {operations} the perf models count different FLOPs and bytes in each trace; each side is compared with its own roofline." },
];

const IMPLAUSIBLE: &str = "{operations} of the {which} with {time} {take} less time than {their} own roofline allows, {first} first ({percent} of roofline): sizes, times or the figures of the GPU are off there, or data stays on the chip. Savings never go below the roofline of the target.";

const TUNING: &str = "The {which} chooses kernels while it is recorded: for {time} it runs candidates to find the fastest, which recurs in no later step. That time is a part of its own, and calls that do so are left out of the times of operations. Record after the warm-up.";

const MISMATCH: &str = "The {which}: {mismatch}";

fn other_gpus(comparison: &Comparison) -> Option<Words> {
    let n_gpus = comparison.sides.as_ref().map(|side| side.n_gpus as u64);
    let Pair { reference, target } = n_gpus;
    let differ = reference != target && reference > 0 && target > 0;
    let said = Pair {
        reference: format::counted(reference, "GPU"),
        target: format::count(target),
    };
    differ.then(|| of_both(said))
}

/// The parts of the steps before the first GPU activity and after the last, if they differ: a cold start, for example.
fn outside(comparison: &Comparison) -> Option<Words> {
    const LEAST_PERCENT: f64 = 10.0;
    let sides = comparison.sides.as_ref();
    if sides.reference.window.is_some() || sides.target.window.is_some() {
        return None;
    }
    let steps = sides.map(|side| side.steps_ns);
    let totals = comparison.parts.total;
    let outside = steps
        .zip(totals)
        .map(|(steps_ns, ns)| steps_ns.saturating_sub(ns).max(0));
    let more_ns = outside
        .target
        .saturating_sub(comparison.amount.scaled(outside.reference));
    let percent = percent_or_zero(more_ns.saturating_abs(), steps.target);
    let is_known = steps.reference > 0 && steps.target > 0 && comparison.has_gpu_times();
    let said = steps.map(format::time_ns);
    let said_outside = outside.map(format::time_ns);
    (is_known && percent >= LEAST_PERCENT).then(|| {
        vec![
            ("steps", said.target),
            ("reference_steps", said.reference),
            ("outside", said_outside.target),
            ("reference_outside", said_outside.reference),
        ]
    })
}

/// Kernel tuning of a trace, if it takes a notable time.
fn tuning(comparison: &Comparison, which: Which) -> Option<Words> {
    let parts = &comparison.parts;
    let ns = *parts.of_kind(PartKind::Tuning).get(which);
    let is_notable = parts.is_notable(Pair::only(which, ns));
    let words = || {
        vec![
            ("which", which.label().to_owned()),
            ("time", format::time_ns(ns)),
        ]
    };
    is_notable.then(words)
}

/// Operations that are implausibly fast.
fn implausible(comparison: &Comparison, which: Which) -> Option<Words> {
    let ops = comparison.operations.matched.iter();
    let judged = ops.filter(|op| !matches!(op.judgment.verdict, Verdict::TooSmallToJudge));
    let ops: Vec<&MatchedOp> = judged
        .filter(|op| *op.judgment.is_implausible.get(which))
        .collect();
    let first = ops.first()?;
    let time_ns = sum(ops.iter().map(|op| *op.times().get(which)));
    let (take, their) = match ops.len() {
        1 => ("takes", "its"),
        _ => ("take", "their"),
    };
    Some(vec![
        ("operations", format::counted(ops.len() as u64, "operation")),
        ("take", take.to_owned()),
        ("their", their.to_owned()),
        ("which", which.label().to_owned()),
        ("time", format::time_ns(time_ns)),
        ("first", words::quoted(&first.name)),
        (
            "percent",
            format::percent(first.roofline_percent(which).unwrap_or_default()),
        ),
    ])
}

/// States that a trace is compared with a different GPU than the recorded one.
fn mismatch(comparison: &Comparison, which: Which) -> Option<Words> {
    let mismatch = comparison.sides.get(which).mismatch.clone()?;
    let which = which.label().to_owned();
    Some(vec![("which", which), ("mismatch", mismatch)])
}

const BOTH_WASTE: &str =
    " Inefficiencies in both traces are listed separately, with their saving on the target.";

impl Comparison {
    /// The caveats, most important first.
    pub fn caveats(&self) -> Vec<String> {
        let of_both = self.caveats_of_both();
        self.lost().into_iter().chain(of_both).collect()
    }

    /// How far the traces can be compared, whatever each of them lost.
    pub fn caveats_of_both(&self) -> Vec<String> {
        let said = CAVEATS.iter().filter_map(|caveat| {
            let words = (caveat.words)(self)?;
            Some(fill(caveat.text, &words))
        });
        said.collect()
    }

    /// Why there are no findings, if there are none.
    pub fn nothing_found(&self) -> String {
        if self.is_same() {
            return match self.waste.is_empty() {
                true => "No difference, so there is nothing to recommend.".to_owned(),
                false => format!("No difference.{BOTH_WASTE}"),
            };
        }
        if !self.has_gpu_times() {
            return "GPU times cannot be compared, so there is nothing to recommend for them."
                .to_owned();
        }
        if self.misses_calls() {
            return "No findings in the recorded part; the data that the traces lost may change that."
                .to_owned();
        }
        let comparable = self.judged_percent();
        if comparable >= FEW_PARTNERS_PERCENT {
            let waste = if self.waste.is_empty() {
                ""
            } else {
                BOTH_WASTE
            };
            let work = self.work.as_ref();
            let work = work.map_or(String::new(), |work| format!(" {}", work.sentence()));
            return format!(
                "No findings: no part of the target is slower than predicted by more than the threshold.{work}{waste}"
            );
        }
        let change = self.parts.total.change_percent();
        let slower = change.filter(|change| self.amount.is_same() && *change > 0.0);
        let open = slower.map_or(String::new(), |change| {
            let first = self
                .parts
                .parts
                .iter()
                .find(|part| part.kind.is_computation());
            let first = first.filter(|part| part.times.difference() > 0);
            let mainly = first.map_or(String::new(), |part| {
                let more = format::signed_time_ns(part.times.difference());
                format!("; it is mainly in {} ({more})", words::quoted(&part.label))
            });
            format!(
                " Why it takes {} time is unknown{mainly}.",
                words::change(change)
            )
        });
        format!(
            "Too little can be compared to find anything: only {} of the kernel time of the target has a prediction.{open}",
            format::percent(comparable)
        )
    }

    fn misses_calls(&self) -> bool {
        self.sides.reference.misses_calls || self.sides.target.misses_calls
    }

    /// Data losses of one trace or of both.
    pub fn lost(&self) -> Vec<String> {
        let said = |who: &str, line: &QualityLine| format!("{who}: {}", line.with_detail());
        let losses = self.sides.as_ref().map(|side| &side.losses);
        let both = |line: &&QualityLine| losses.target.contains(line);
        let common = losses.reference.iter().filter(both);
        let mut sentences: Vec<String> = common.map(|line| said("Both traces", line)).collect();
        for which in [Which::Target, Which::Reference] {
            let own = losses.get(which).iter();
            let own = own.filter(|line| !losses.get(which.other()).contains(line));
            let who = format!("The {}", which.label());
            sentences.extend(own.map(|line| said(&who, line)));
        }
        sentences
    }
}

/// The part of each trace that is compared, if that is not all of it.
fn windows(comparison: &Comparison) -> Option<Words> {
    let windows = comparison.sides.as_ref().map(|side| side.window.as_ref());
    let said = |window: Option<&WindowOf>| match window {
        Some(window) => {
            let name = words::quoted(&window.name());
            format!("{name} alone ({})", window.length())
        }
        None => "all of it".to_owned(),
    };
    let is_any = windows.reference.is_some() || windows.target.is_some();
    is_any.then(|| of_both(windows.map(said)))
}

fn of_both(Pair { reference, target }: Pair<String>) -> Words {
    vec![("reference", reference), ("target", target)]
}

/// Applies if both lack something.
fn neither(has: Pair<bool>) -> Option<Words> {
    (!has.reference && !has.target).then(Words::new)
}

/// The trace that lacks something the other has.
fn only_one(has: Pair<bool>) -> Option<Words> {
    let without = Which::ALL.into_iter().find(|which| !has.get(*which))?;
    let words = vec![("which", without.label().to_owned())];
    (has.reference != has.target).then_some(words)
}

/// Whether gaps between kernels are recorded.
fn leaves_gaps(comparison: &Comparison) -> Pair<bool> {
    comparison.sides.as_ref().map(|side| !side.has_busy_queues)
}

fn has_backward(comparison: &Comparison) -> Pair<bool> {
    comparison.sides.as_ref().map(|side| side.has_backward)
}

fn has_gpu_activity(comparison: &Comparison) -> Pair<bool> {
    comparison.sides.as_ref().map(|side| side.n_gpu_events > 0)
}

/// Traces whose collectives run on different numbers of GPUs, or of which only one communicates.
fn other_parallelism(comparison: &Comparison) -> Option<Words> {
    let communicates = Pair::of(|which| comparison.communicates(which)).both()?;
    let ranks = Pair::of(|which| most_ranks(comparison, which));
    let which = match (communicates.reference, communicates.target) {
        (false, false) => return None,
        (true, true) if ranks.both().is_none() || ranks.reference == ranks.target => return None,
        (true, false) => Which::Reference,
        (_, true) => Which::Target,
    };
    let among = |which: Which| match (communicates.get(which), ranks.get(which)) {
        (false, _) => "with none".to_owned(),
        (_, Some(ranks)) => format!("among {} GPUs", format::count(*ranks)),
        (_, None) => "with other GPUs".to_owned(),
    };
    Some(vec![
        ("which", which.label().to_owned()),
        ("among", among(which)),
        ("other", which.other().label().to_owned()),
        ("other_among", among(which.other())),
    ])
}

/// The largest number of GPUs in a collective of a trace; `None` if unknown.
fn most_ranks(comparison: &Comparison, which: Which) -> Option<u64> {
    let rows = comparison.collectives.iter();
    let own = rows.filter(|row| row.sides.get(which).is_some());
    own.map(|row| row.key.group_size).max()
}

/// Which traces have shapes, if operations are matched by name: then it is unknown whether calls with the same name do
/// the same work.
fn shapes_by_name(comparison: &Comparison) -> Option<Pair<bool>> {
    // Kernels without an operator never have any.
    let is_by_name = |op: &MatchedOp| {
        let mut kernels = op.sides.target.kernels.iter();
        op.level == MatchLevel::Name && kernels.all(|kernel| kernel.name != op.name)
    };
    let is_any = comparison.operations.matched.iter().any(is_by_name);
    is_any.then(|| comparison.sides.as_ref().map(|side| side.has_shapes))
}

fn other_calls(comparison: &Comparison) -> Option<Words> {
    let (mut other_ns, mut all_ns) = (0.0, 0.0);
    let mut all_calls = Pair::<u64>::default();
    for op in &comparison.operations.matched {
        let ns = op.times().target as f64;
        let calls = op.calls();
        all_ns += ns;
        if calls.reference != calls.target {
            other_ns += ns;
            all_calls.reference += calls.reference;
            all_calls.target += calls.target;
        }
    }
    let lost = match comparison.misses_calls() {
        true => " Calls were lost, and that may be all of it.",
        false => "",
    };
    let amount = &comparison.amount;
    let said = match amount.is_same() {
        true => String::new(),
        false => format!(
            " The target does {}: idle time, copies, communication and unmatched operations of the reference are scaled by that.",
            amount.text()
        ),
    };
    (other_ns > 0.0 && all_ns > 0.0).then(|| {
        let mut words = of_both(all_calls.map(format::count));
        words.push(("percent", format::percent(other_ns / all_ns * 100.0)));
        words.extend([("lost", lost.to_owned()), ("amount", said)]);
        words
    })
}

fn no_expectation(comparison: &Comparison) -> Option<Words> {
    let is_missing = comparison.sides.as_ref().map(|side| side.gpu.is_none());
    let whom = match (is_missing.reference, is_missing.target) {
        _ if comparison.is_same_gpu || !comparison.has_gpu_times() => return None,
        (true, true) => "either trace",
        (true, false) => "the reference",
        (false, true) => "the target",
        (false, false) => return None,
    };
    Some(vec![("whom", whom.to_owned())])
}

fn mixed_basis(comparison: &Comparison) -> Option<Words> {
    let mixed = comparison.hardware.iter().find(|ratio| ratio.is_mixed())?;
    let named = |(tflops, basis): (f64, Basis)| {
        let article = match basis {
            Basis::Peak => "a",
            Basis::Achievable => "an",
        };
        let label = basis.label();
        format!("{article} {label} figure ({})", format::tflops(tflops))
    };
    // Without a peak for both GPUs, there is no common basis.
    let peak = mixed.peak_ratio?;
    let achievable = mixed.achievable.reference.0 / mixed.achievable.target.0;
    let matched = &comparison.operations.matched;
    let depends = matched.iter().filter(|op| op.judgment.depends_on_basis());
    let verdicts = match depends.count() as u64 {
        0 => "no verdict depends on it".to_owned(),
        1 => "1 verdict depends on it and is marked *".to_owned(),
        n => format!(
            "{} verdicts depend on it and are marked *",
            format::count(n)
        ),
    };
    let mut words = of_both(mixed.achievable.map(named));
    words.extend([
        ("figure", mixed.figure.label()),
        ("peak", words::times(peak)),
        ("achievable", words::times(achievable)),
        ("verdicts", verdicts),
    ]);
    Some(words)
}

/// Calls whose times differ by less take the same time.
const SAME_CALL: f64 = 0.0005;

/// Below this percentage of roofline, the ratio of two times says little about the hardware.
const LOW_ROOFLINE_PERCENT: f64 = 25.0;

/// The verdict about an operation in a sentence, and how its calls differ.
pub(crate) fn verdict_sentence(op: &MatchedOp) -> String {
    let calls = op.calls();
    let ratio = op.judgment.actual;
    let is_same_call = ratio.is_some_and(|actual| (actual - 1.0).abs() < SAME_CALL);
    let mut sentence = match op.judgment.verdict {
        _ if op.is_same() => "No difference.".to_owned(),
        Verdict::ExplainedByHardware if is_same_call => {
            "A call takes the same time on both.".to_owned()
        }
        Verdict::ExplainedByHardware if op.judgment.is_same_gpu => {
            match op.has_other_sizes() || op.types.is_some() {
                true => "Sizes or types explain the difference.".to_owned(),
                false => format!(
                    "{} on the same hardware.",
                    format::capitalized(op.verdict_label())
                ),
            }
        }
        Verdict::NotJudged(why) => format!("Not judged: {}.", why.label()),
        verdict => verdict.sentence().to_owned(),
    };
    let lines = LOW_ROOFLINE_PERCENT;
    let percents = Pair::of(|which| op.roofline_percent(which)).both();
    if let Some(percents) = percents.filter(|both| both.reference < lines && both.target < lines) {
        let Pair { reference, target } = percents.map(format::percent);
        sentence.push_str(&format!(
            " Both reach a low % of roofline: {target} on the target, {reference} on the reference."
        ));
    }
    if is_other_size(op) {
        sentence.push_str(
            " Sizes or types differ: each side is compared with the roofline for its own sizes.",
        );
    }
    if calls.reference != calls.target {
        sentence.push_str(&format!(
            " The target makes {} calls against {}.",
            format::count(calls.target),
            format::count(calls.reference)
        ));
    }
    sentence
}
