//! What to keep in mind when two traces are compared, a sentence each.

use super::comparison::Comparison;
use super::expected::{NotJudged, Verdict};
use super::ops::{MatchLevel, MatchedOp};
use super::pair::{Pair, Which};
use super::words;
use crate::format;
use crate::gpu::Basis;
use crate::window::WindowOf;

/// Partners with less than this share of the kernel time leave more open than they tell.
const FEW_PARTNERS_PERCENT: f64 = 50.0;

impl Comparison {
    /// Whether nothing differs: no part of the time, no operation, no kernel.
    pub fn is_same(&self) -> bool {
        let parts = &self.parts;
        let lone = &self.operations.lone;
        parts.total.difference() == 0
            && parts.parts.iter().all(|part| part.times.difference() == 0)
            && {
                let timelines = self.sides.as_ref().map(|side| side.timeline.is_some());
                timelines.reference == timelines.target
            }
            && lone.reference.is_empty()
            && lone.target.is_empty()
            && self.operations.matched.iter().all(MatchedOp::is_same)
            && self
                .kernels
                .iter()
                .all(|kernel| kernel.sides.reference == kernel.sides.target)
            && self
                .host
                .iter()
                .all(|op| op.sides.reference == op.sides.target)
    }

    /// What to keep in mind, the most important first.
    pub fn caveats(&self) -> Vec<String> {
        let mut caveats = Vec::new();
        caveats.extend(self.windows());
        caveats.extend(self.missing_gpu_activity());
        caveats.extend(self.other_models());
        caveats.extend(self.missing_shapes());
        caveats.extend(self.few_partners());
        caveats.extend(self.other_calls());
        caveats.extend(self.no_expectation());
        caveats.extend(self.mixed_basis());
        caveats.extend(self.other_sizes());
        caveats.extend(self.other_work());
        caveats
    }

    /// Why nothing is found, where nothing is.
    pub fn nothing_found(&self) -> String {
        let total = self.parts.total;
        if self.is_same() {
            return "No difference, so there is nothing to recommend.".to_owned();
        }
        if !self.has_gpu_times() {
            return "GPU times cannot be compared, so there is nothing to recommend for them."
                .to_owned();
        }
        let comparable = self.judged_percent();
        if comparable >= FEW_PARTNERS_PERCENT {
            return "Nothing was found: nowhere does the target fall behind the reference by more than is expected and worth it.".to_owned();
        }
        let change = total.change_percent().filter(|_| self.amount.is_same());
        format!(
            "Too little can be compared to find anything: of {} of the kernel time of the target something is expected.{}",
            format::percent(comparable),
            change
                .filter(|change| *change > 0.0)
                .map_or(String::new(), |change| format!(
                    " Why it takes {} time stays open.",
                    words::change(change)
                ))
        )
    }

    /// The share of the kernel time of the target of which something is expected, or which is too
    /// short to matter.
    fn judged_percent(&self) -> f64 {
        let time = |ops: &mut dyn Iterator<Item = i64>| ops.map(|ns| ns as f64).sum::<f64>();
        let matched = || self.operations.matched.iter();
        let judged = matched().filter(|op| !matches!(op.judgement.verdict, Verdict::NotJudged(_)));
        let judged = time(&mut judged.map(|op| op.times().target));
        let lone = self.operations.lone.target.iter();
        let all = time(&mut matched().map(|op| op.times().target))
            + time(&mut lone.map(|op| op.side.time_ns));
        if all > 0.0 {
            judged / all * 100.0
        } else {
            100.0
        }
    }

    /// The share of the kernel time of a trace that is in operations with a partner, in percent;
    /// `None` where there is no such time.
    pub fn partners_percent(&self, which: Which) -> Option<f64> {
        let matched = self.operations.matched.iter();
        let matched: f64 = matched.map(|op| *op.times().get(which) as f64).sum();
        let lone = self.operations.lone.get(which).iter();
        let lone: f64 = lone.map(|op| op.side.time_ns as f64).sum();
        let all = matched + lone;
        (all > 0.0).then(|| matched / all * 100.0)
    }

    /// Whether most of what the target computes is in operations that the reference has not.
    pub(super) fn has_few_partners(&self) -> bool {
        let percent = self.partners_percent(Which::Target);
        percent.is_some_and(|percent| percent < FEW_PARTNERS_PERCENT)
    }

    /// What part of each trace is compared, where that is not all of it.
    fn windows(&self) -> Option<String> {
        let parts = self.sides.as_ref().map(|side| side.window.as_ref());
        if parts.reference.is_none() && parts.target.is_none() {
            return None;
        }
        let said = |part: Option<&WindowOf>| match part {
            Some(part) => format!("{} alone ({})", words::quoted(&part.name()), part.length()),
            None => "all of it".to_owned(),
        };
        Some(format!(
            "Of the reference {} is compared, of the target {}.",
            said(parts.reference),
            said(parts.target)
        ))
    }

    fn missing_gpu_activity(&self) -> Option<String> {
        let has_any = self.sides.as_ref().map(|side| side.n_gpu_events > 0);
        Some(match (has_any.reference, has_any.target) {
            (true, true) => return None,
            (false, false) => "Neither trace has GPU activity: only times on the host are compared, and nothing is expected of them.".to_owned(),
            (reference, _) => {
                let which = if reference { Which::Target } else { Which::Reference };
                format!(
                    "The {} has no GPU activity, so that GPU times cannot be compared; what both traces have is times on the host.",
                    which.label()
                )
            }
        })
    }

    fn other_models(&self) -> Option<String> {
        let models = self.sides.as_ref().map(|side| side.model.as_deref());
        let models = models.both()?;
        (models.reference != models.target).then(|| {
            format!(
                "The traces are of different models: {} is the reference, {} the target. What they have in common is compared.",
                models.reference, models.target
            )
        })
    }

    /// A trace without shapes: whether calls of one name are the same work, nothing tells.
    fn missing_shapes(&self) -> Option<String> {
        // Kernels that stand for themselves never have any.
        let is_by_name = |op: &MatchedOp| {
            let mut kernels = op.sides.target.kernels.iter();
            op.level == MatchLevel::Name && kernels.all(|kernel| kernel.name != op.name)
        };
        if !self.operations.matched.iter().any(is_by_name) {
            return None;
        }
        let has_shapes = self.sides.as_ref().map(|side| side.has_shapes);
        let which = match (has_shapes.reference, has_shapes.target) {
            (true, true) => return None,
            (false, false) if self.is_same() => return None,
            (false, false) => {
                return Some(
                    "Neither trace has shapes: operations are paired by name alone, and calls of one name count as the same work. Profile with record_shapes=True."
                        .to_owned(),
                );
            }
            (true, false) => Which::Target,
            (false, true) => Which::Reference,
        };
        Some(format!(
            "The {} has no shapes: operations are paired by name alone, and nothing is expected of them, for sizes may be other ones. Profile it with record_shapes=True.",
            which.label()
        ))
    }

    fn few_partners(&self) -> Option<String> {
        let percent = self.partners_percent(Which::Target)?;
        self.has_few_partners().then(|| {
            format!(
                "Only {} of the kernel time of the target is in operations that the reference has too: kinds of work tell more than single operations.",
                format::percent(percent)
            )
        })
    }

    fn other_calls(&self) -> Option<String> {
        let (mut other, mut all) = (0.0, 0.0);
        let mut calls = Pair::<u64>::default();
        for op in &self.operations.matched {
            let ns = op.times().target as f64;
            all += ns;
            if op.calls().reference != op.calls().target {
                other += ns;
                calls.reference += op.calls().reference;
                calls.target += op.calls().target;
            }
        }
        (other > 0.0 && all > 0.0).then(|| {
            format!(
                "Operations with {} of the matched kernel time were called another number of times ({} on the reference, {} on the target): verdicts compare single calls, totals do not.{}",
                format::percent(other / all * 100.0),
                format::count(calls.reference),
                format::count(calls.target),
                match self.amount.is_same() {
                    true => String::new(),
                    false => format!(
                        " The target does {}: what the reference idles, copies, communicates and does without a partner counts by that, and what is more is held against the target.",
                        self.amount.said()
                    ),
                }
            )
        })
    }

    fn no_expectation(&self) -> Option<String> {
        if self.is_same_gpu || !self.has_gpu_times() {
            return None;
        }
        let missing = self.sides.as_ref().map(|side| side.gpu.is_none());
        let why = match (missing.reference, missing.target) {
            (true, true) => NotJudged::NoProfiles,
            (true, false) => NotJudged::NoProfile(Which::Reference),
            (false, true) => NotJudged::NoProfile(Which::Target),
            (false, false) => return None,
        };
        Some(format!(
            "Nothing is expected of the target, because {}: choose one, and the hardware's share in each difference is told.",
            match why {
                NotJudged::NoProfiles => "no GPU profile is known for either trace",
                NotJudged::NoProfile(Which::Reference) =>
                    "no GPU profile is known for the reference",
                _ => "no GPU profile is known for the target",
            }
        ))
    }

    fn mixed_basis(&self) -> Option<String> {
        let mixed = self.hardware.iter().find(|ratio| ratio.is_mixed())?;
        let values = mixed.values;
        let named = |(tflops, basis): (f64, Basis)| {
            format!(
                "{} {} figure ({})",
                article(basis),
                basis.label(),
                format::tflops(tflops)
            )
        };
        let peak = mixed.peak_ratio.map_or(String::new(), |peak| {
            format!(
                " By peaks on both sides {} would be expected instead of {}; verdicts by peaks stand beside.",
                words::times(peak),
                words::times(mixed.ratio)
            )
        });
        Some(format!(
            "{} is judged by {} on the reference and by {} on the target, so that verdicts on operations that it binds depend on this choice.{peak}",
            mixed.figure.label(),
            named(values.reference),
            named(values.target)
        ))
    }

    /// Operations on other sizes or types than on the reference.
    fn other_sizes(&self) -> Option<String> {
        let ops = self.operations.matched.iter();
        let others: Vec<&MatchedOp> = ops.filter(|op| op.level == MatchLevel::Operator).collect();
        let first = others.first()?;
        let ns = |which: Which| others.iter().map(move |op| *op.times().get(which) as f64);
        let all: f64 = self
            .operations
            .matched
            .iter()
            .map(|op| op.times().target as f64)
            .sum();
        let lone: f64 = self
            .operations
            .lone
            .target
            .iter()
            .map(|op| op.side.time_ns as f64)
            .sum();
        let percent = ns(Which::Target).sum::<f64>() / (all + lone).max(1.0) * 100.0;
        Some(format!(
            "{} with {} of the kernel time of the target {} the same as on the reference with other sizes or types: {} first, on {} instead of {}. Each is judged by the roof of its own work.",
            format::counted(others.len() as u64, "operation"),
            format::percent(percent),
            if others.len() == 1 { "is" } else { "are" },
            words::quoted(&first.name),
            first.shapes,
            first.reference_shapes.as_deref().unwrap_or("other types"),
        ))
    }

    fn other_work(&self) -> Option<String> {
        let ops = self.operations.matched.iter();
        let other = ops
            .filter(|op| op.judgement.work_differs && op.level != MatchLevel::Operator)
            .count() as u64;
        (other > 0).then(|| {
            format!(
                "Of {} the models count another amount of work in each trace; they are judged by their own.",
                format::counted(other, "operation")
            )
        })
    }
}

fn article(basis: Basis) -> &'static str {
    match basis {
        Basis::Peak => "a",
        Basis::Achievable => "an",
    }
}

/// What is to be said of an operation: its verdict in a sentence, and how its calls differ.
pub(super) fn verdict_sentence(op: &MatchedOp) -> String {
    let calls = op.calls();
    let is_same_call = op
        .judgement
        .actual
        .is_some_and(|actual| (actual - 1.0).abs() < SAME_CALL);
    let mut sentence = match op.judgement.verdict {
        _ if op.is_same() => "No difference.".to_owned(),
        Verdict::ExplainedByHardware if is_same_call => {
            "A call takes the same time on both.".to_owned()
        }
        verdict => said(verdict).to_owned(),
    };
    if let Verdict::NotJudged(why) = op.judgement.verdict
        && !op.is_same()
    {
        sentence = format!("Not judged: {}.", why.label());
    }
    if op.level == MatchLevel::Operator {
        sentence
            .push_str(" Sizes or types differ: each side is judged by the roof of its own work.");
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

/// Calls whose times differ by less take the same time.
const SAME_CALL: f64 = 0.0005;

/// What a verdict on a call says.
fn said(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::ExplainedByHardware => {
            "The hardware explains the time of a call; it is no defect."
        }
        Verdict::ModeratelyBeyond => {
            "A call is slower than the hardware explains, though by less than twice."
        }
        Verdict::UnexpectedSlowdown => {
            "The hardware does not explain the time of a call: something else than the printed figures does."
        }
        Verdict::KernelIssue => {
            "Far from what the hardware explains, on tiny batched products: very likely the choice of the kernel."
        }
        Verdict::BetterThanPredicted => {
            "Faster than the hardware predicts from the reference, which may be slow here."
        }
        Verdict::TooSmallToJudge => {
            "So short on both sides that launching it takes as long: the ratio means nothing."
        }
        Verdict::NotJudged(_) => "Not judged.",
    }
}
