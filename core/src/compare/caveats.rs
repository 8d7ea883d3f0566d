//! What to keep in mind when two traces are compared, a sentence each.

use super::comparison::Comparison;
use super::expected::{NotJudged, Verdict};
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
            && lone.reference.is_empty()
            && lone.target.is_empty()
            && self.operations.matched.iter().all(|op| {
                let calls = op.calls();
                op.times().difference() == 0 && calls.reference == calls.target
            })
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
        caveats.extend(self.few_partners());
        caveats.extend(self.other_calls());
        caveats.extend(self.no_expectation());
        caveats.extend(self.mixed_basis());
        caveats.extend(self.other_work());
        caveats
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

    /// Whether the target does more of the same: most of the matched kernel time is in operations
    /// that it calls more often. Then it has more of everything, and what is no operation of both
    /// traces cannot be held against it.
    pub fn has_more_calls(&self) -> bool {
        let (mut more, mut all) = (0_i64, 0_i64);
        for op in &self.operations.matched {
            let (ns, calls) = (op.times().target, op.calls());
            all = all.saturating_add(ns);
            if calls.target > calls.reference {
                more = more.saturating_add(ns);
            }
        }
        more > all / 2
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

    fn few_partners(&self) -> Option<String> {
        let percent = self.partners_percent(Which::Target)?;
        (percent < FEW_PARTNERS_PERCENT).then(|| {
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
                match self.has_more_calls() {
                    true => " So that the target idles, copies or communicates for longer, or does more that has no partner, is not held against it: compare as many steps of each.",
                    false => "",
                }
            )
        })
    }

    fn no_expectation(&self) -> Option<String> {
        if self.is_same_gpu {
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

    fn other_work(&self) -> Option<String> {
        let ops = self.operations.matched.iter();
        let other = ops.filter(|op| op.judgement.work_differs).count() as u64;
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

/// What a verdict says, in a sentence.
pub(super) fn verdict_sentence(verdict: Verdict) -> String {
    match verdict {
        Verdict::ExplainedByHardware => {
            "The hardware explains the difference; this is no defect.".to_owned()
        }
        Verdict::ModeratelyBeyond => {
            "Slower than the hardware explains, though by less than twice.".to_owned()
        }
        Verdict::UnexpectedSlowdown => {
            "The hardware does not explain the difference: the kernel or the software is at fault."
                .to_owned()
        }
        Verdict::KernelIssue => {
            "Far from what the hardware explains, on tiny batched products: very likely the choice of the kernel."
                .to_owned()
        }
        Verdict::BetterThanPredicted => {
            "Faster than the hardware predicts from the reference, which may be slow here."
                .to_owned()
        }
        Verdict::TooSmallToJudge => {
            "So short on both sides that launching it takes as long: the ratio means nothing."
                .to_owned()
        }
        Verdict::NotJudged(why) => format!("Not judged: {}.", why.label()),
    }
}
