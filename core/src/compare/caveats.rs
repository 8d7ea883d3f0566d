//! What to keep in mind when two traces are compared, a sentence each.

use super::comparison::Comparison;
use super::expected::{NotJudged, Verdict};
use super::ops::{MatchLevel, MatchedOp};
use super::pair::{Pair, Which};
use super::words;
use crate::base::format;
use crate::hardware::Basis;
use crate::profile::window::WindowOf;
use crate::report::overview::QualityLine;

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
        let mut caveats = self.lost();
        caveats.extend(self.windows());
        caveats.extend(self.missing_gpu_activity());
        caveats.extend(self.other_gpus_judged());
        caveats.extend(self.other_numbers_of_gpus());
        caveats.extend(self.other_parallelism());
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
        if self.sides.reference.misses_calls || self.sides.target.misses_calls {
            return "Nothing was found in what is there; what the traces lost may tell otherwise."
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
    pub(crate) fn has_few_partners(&self) -> bool {
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

    /// What is missing from the numbers, of one trace or of both.
    fn lost(&self) -> Vec<String> {
        let said = |who: &str, line: &QualityLine| match line.detail().as_str() {
            "" => format!("{who}: {}", line.sentence),
            detail => format!("{who}: {} ({detail})", line.sentence),
        };
        let losses = self.sides.as_ref().map(|side| &side.losses);
        let both = |line: &&QualityLine| losses.target.contains(line);
        let common = losses.reference.iter().filter(both);
        let mut sentences: Vec<String> = common.map(|line| said("Both traces", line)).collect();
        for (which, who) in [
            (Which::Target, "The target"),
            (Which::Reference, "The reference"),
        ] {
            let own = losses.get(which).iter();
            let own = own.filter(|line| !losses.get(which.other()).contains(line));
            sentences.extend(own.map(|line| said(who, line)));
        }
        sentences
    }

    /// A trace that is judged by another GPU than it was recorded on.
    fn other_gpus_judged(&self) -> Vec<String> {
        let said = |which: Which| {
            let mismatch = self.sides.get(which).mismatch.as_deref()?;
            Some(format!("The {}: {mismatch}", which.label()))
        };
        let both = [Which::Reference, Which::Target].into_iter();
        both.filter_map(said).collect()
    }

    fn other_numbers_of_gpus(&self) -> Option<String> {
        let n = self.sides.as_ref().map(|side| side.n_gpus);
        let differ = n.reference != n.target && n.reference > 0 && n.target > 0;
        differ.then(|| {
            format!(
                "The reference ran on {}, the target on {}. The time of several is that in which any of them works, so that totals and idle time are not alike.",
                format::counted(n.reference as u64, "GPU"),
                format::count(n.target as u64)
            )
        })
    }

    /// Traces that communicate among another number of GPUs, or of which one does not at all.
    fn other_parallelism(&self) -> Option<String> {
        let members = Pair::of(|which| self.most_members(which));
        let among = |members: Option<u64>| match members {
            Some(members) => format!("among {} GPUs", format::count(members)),
            None => "with other GPUs".to_owned(),
        };
        let communicates = Pair::of(|which| self.communicates(which));
        let differ = match communicates.both()? {
            Pair {
                reference: true,
                target: true,
            } => {
                let members = members.both()?;
                (members.reference != members.target).then(|| {
                    format!(
                        "The target communicates {}, the reference {}",
                        among(Some(members.target)),
                        among(Some(members.reference))
                    )
                })?
            }
            Pair {
                reference: false,
                target: false,
            } => return None,
            Pair { target: true, .. } => format!(
                "The target communicates {}, the reference with none",
                among(members.target)
            ),
            Pair { target: false, .. } => format!(
                "The reference communicates {}, the target with none",
                among(members.reference)
            ),
        };
        Some(format!(
            "{differ}: the work is split among GPUs in another way, and the share of one of them may be another."
        ))
    }

    /// Whether a trace has communication between GPUs; `None` without GPU activity.
    pub(crate) fn communicates(&self, which: Which) -> Option<bool> {
        let timeline = self.sides.get(which).timeline.as_ref();
        Some(timeline?.comm_ns > 0)
    }

    /// The most GPUs among which a collective of a trace ran; `None` where nothing tells.
    fn most_members(&self, which: Which) -> Option<u64> {
        let rows = self.collectives.iter();
        let own = rows.filter(|row| row.sides.get(which).is_some());
        own.map(|row| row.key.group_size).max()
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
        let sides = [&self.sides.reference, &self.sides.target];
        let because = match sides.iter().any(|side| side.misses_calls) {
            true => " Calls were lost, and that may be all of it.",
            false => "",
        };
        (other > 0.0 && all > 0.0).then(|| {
            format!(
                "Operations with {} of the matched kernel time were called another number of times ({} on the reference, {} on the target): verdicts compare single calls, totals do not.{because}{}",
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
pub(crate) fn verdict_sentence(op: &MatchedOp) -> String {
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

#[cfg(test)]
mod tests {
    use super::super::testing::{profiles, sides};
    use super::*;
    use crate::import::import;
    use crate::profile::Profile;
    use crate::testing::Timetable;

    fn compared(reference: &Timetable, target: &Timetable) -> Comparison {
        sides(reference, target, Some(("H100", "H100")), |sides| {
            Comparison::new(sides.reference, sides.target)
        })
    }

    #[test]
    fn another_number_of_gpus_is_said_and_idling_not_held_against_it() {
        let one = Timetable::new().work("aten::mm", "gemm", 100..300);
        let two = one.clone().gpu(1).work("aten::mm", "gemm", 900..1_100);
        let comparison = compared(&one, &two);
        assert!(comparison.is_same_gpu);
        let said = comparison.caveats().join(" ");
        let words = "The reference ran on 1 GPU, the target on 2.";
        assert!(said.contains(words), "{said}");
        assert!(comparison.gaps.ranked.is_empty(), "{:#?}", comparison.gaps);
    }

    #[test]
    fn another_way_of_working_in_parallel_is_said() {
        let alone = Timetable::new().work("aten::mm", "gemm", 100..300);
        let parallel = alone
            .clone()
            .work("c10d::allreduce_", "ncclDevKernel_AllReduce", 300..500);
        let comparison = compared(&alone, &parallel);
        let said = comparison.caveats().join(" ");
        let words = "The target communicates with other GPUs, the reference with none: ";
        assert!(said.contains(words), "{said}");
        let gap = &comparison.gaps.ranked[0];
        assert_eq!(gap.pattern, "more_exposed_communication");
        assert!(
            gap.kernel
                .starts_with("The reference communicates with no other GPU")
        );
        let again = compared(&parallel, &parallel).caveats().join(" ");
        assert!(!again.contains("communicates"), "{again}");
    }

    #[test]
    fn one_profile_for_two_devices_makes_them_no_same_hardware() {
        let on = |device: &str| {
            let events = Timetable::new().work("aten::mm", "gemm", 100..300).json();
            let text = events.replacen(
                '{',
                &format!(r#"{{"deviceProperties": [{{"id": 0, "name": "{device}"}}], "#),
                1,
            );
            Profile::new(import(text.as_bytes()).unwrap())
        };
        let (one, other) = (on("NVIDIA H100 80GB HBM3"), on("AMD Instinct MI300X"));
        let compared = |reference, target| {
            profiles(reference, target, Some(("H100", "H100")), |sides| {
                Comparison::new(sides.reference, sides.target)
            })
        };
        assert!(compared(&one, &one).is_same_gpu);
        let comparison = compared(&one, &other);
        assert!(!comparison.is_same_gpu);
        let said = &comparison.caveats()[0];
        let words = "The target: Recorded on the AMD Instinct MI300X, judged by the figures of the NVIDIA H100";
        assert!(said.starts_with(words), "{said}");
    }
}
