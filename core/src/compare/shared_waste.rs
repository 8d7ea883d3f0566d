//! What both traces waste in the same way. It causes no difference between them, so a comparison of times does not show
//! it, but it may matter more than the difference.

use super::comparison::Comparison;
use super::gap::{GapSubject, Waste};
use super::ops::{MatchedOp, OpSide};
use super::pair::{Pair, Which};
use super::properties::IdleReport;
use super::side::Side;
use super::words;
use crate::base::format;
use crate::base::group::grouped;
use crate::base::interval::{percent_or_zero, sum};
use crate::base::sort::Arrange;
use crate::findings::engine::run_time;
use crate::findings::{Finding, Impact};
use crate::names::normalized::unnumbered;

impl Comparison {
    /// Its saving on the target, with its share of the run: "46.0–62.0 ms (55–73 %)".
    pub fn savings_of(&self, waste: &Waste) -> String {
        let total_ns = self.parts.total.target;
        let (low_ns, high_ns) = waste.saves;
        let percents = [low_ns, high_ns].map(|ns| format::percent(percent_or_zero(ns, total_ns)));
        let [low, high] = percents;
        match low_ns {
            0 => format!("up to {} ({high})", format::time_ns(high_ns)),
            _ => format!(
                "{} ({})",
                format::time_range_ns(low_ns, high_ns),
                format::range(&low, &high)
            ),
        }
    }
}

/// Maximum number of entries shown.
const MOST: usize = 8;

/// What both waste in the same way, largest saving on the target first.
pub(crate) fn of_both(sides: Pair<Side>, comparison: &Comparison) -> Vec<Waste> {
    let total_ns = comparison.parts.total.target;
    if total_ns <= 0 || !comparison.has_gpu_times() {
        return Vec::new();
    }
    let mut waste = found_in_both(sides, comparison);
    waste.extend(idle(comparison));
    let known: Vec<usize> = waste
        .iter()
        .flat_map(|waste| waste.operations.iter().copied())
        .collect();
    waste.extend(low_roofline(comparison, &known));
    let least_ns = total_ns as f64 * comparison.thresholds.finding_percent_of_total / 100.0;
    waste.retain(|waste| waste.saves.1 as f64 >= least_ns);
    waste.arrange_by(|a, b| {
        let key = |waste: &Waste| (waste.saves.0 / 2 + waste.saves.1 / 2, waste.times.target);
        key(b).cmp(&key(a)).then_with(|| a.title.cmp(&b.title))
    });
    waste.truncate(MOST);
    waste
}

/// The saving on the target, for what both traces lose: no more than the reference's saving for as much work, and the
/// same share of what findings of the comparison leave of the time. Each saving is a low and a high estimate.
fn in_both(
    target: (i64, i64),
    time_ns: i64,
    reference: Option<(i64, i64)>,
    scale: f64,
    found_ns: i64,
) -> (i64, i64) {
    let left = |target_ns: i64, reference_ns: Option<i64>| {
        let scaled_ns = reference_ns.map(|ns| (ns as f64 * scale).round() as i64);
        let left = 1.0 - found_ns as f64 / time_ns.max(1) as f64;
        let left_ns = (target_ns as f64 * left.clamp(0.0, 1.0)).round() as i64;
        left_ns.min(scaled_ns.unwrap_or(left_ns))
    };
    let high_ns = left(target.1, reference.map(|(_, high)| high));
    let low_ns = left(target.0, reference.map(|(low, _)| low));
    (low_ns.min(high_ns), high_ns)
}

/// By how much the computation of the reference is expected to take longer on the target: more calls, more work, slower
/// hardware.
fn scale(comparison: &Comparison) -> f64 {
    let explained = &comparison.explained;
    let of_expected = explained.expected_ns as f64 / explained.times.reference as f64;
    match explained.times.reference > 0 && explained.expected_ns > 0 {
        true => of_expected,
        false => comparison.scaled_work(1_000_000) as f64 / 1e6,
    }
}

/// What findings of the comparison save in these operations of the target.
fn found_ns(comparison: &Comparison, operations: &[usize]) -> i64 {
    let all = &comparison.operations;
    let found = comparison.gaps.ranked.iter().filter_map(|gap| {
        let sides: Vec<&OpSide> = match &gap.subject {
            GapSubject::Operations(rows) => rows
                .iter()
                .filter_map(|at| Some(&all.matched.get(*at)?.sides.target))
                .collect(),
            GapSubject::Unmatched(rows) => rows
                .iter()
                .filter_map(|at| Some(&all.unmatched.target.get(*at)?.side))
                .collect(),
            _ => return None,
        };
        let is_one = |side: &OpSide| side.operations.iter().any(|at| operations.contains(at));
        let time_ns = |sides: &mut dyn Iterator<Item = &&OpSide>| sum(sides.map(|one| one.time_ns));
        let common_ns = time_ns(&mut sides.iter().filter(|side| is_one(side)));
        let share = percent_or_zero(common_ns, time_ns(&mut sides.iter())) / 100.0;
        Some((gap.saving?.matching_ns as f64 * share).round() as i64)
    });
    sum(found)
}

/// Sum of the findings of one rule in one trace.
#[derive(Default)]
struct OfRule<'a> {
    first: Option<&'a Finding>,
    n: usize,
    time_ns: i64,
    impact: Option<Impact>,
    operations: Vec<usize>,
}

impl<'a> OfRule<'a> {
    fn add(&mut self, finding: &'a Finding) {
        self.first = self.first.or(Some(finding));
        self.n += 1;
        self.time_ns = self.time_ns.saturating_add(finding.time_ns);
        self.impact = match (self.impact, finding.impact) {
            (Some(one), Some(other)) => Some(one.plus(other)),
            (one, other) => one.or(other),
        };
        self.operations.extend(&finding.operations);
    }
}

/// What the reports of both find with the same rule, except for causes of idle time, which is compared as a whole.
fn found_in_both(sides: Pair<Side>, comparison: &Comparison) -> Vec<Waste> {
    let scale = scale(comparison);
    let found = sides.map(|side| {
        let ranked = side.report.analyses.findings.ranked.iter();
        let counts =
            ranked.filter(|one| one.analysis.key != "cpu_idle" && one.finding.says_what_to_do());
        let keyed = counts.map(|one| ((one.analysis.key, one.finding.pattern), &one.finding));
        grouped(keyed, OfRule::add)
    });
    let both = found.target.into_iter().filter_map(|(rule, target)| {
        let mut others = found.reference.iter();
        let (_, reference) = others.find(|(other, _)| *other == rule)?;
        let (first, impact) = (target.first?, target.impact?);
        let times = Pair {
            reference: reference.time_ns,
            target: target.time_ns,
        };
        let Pair {
            reference: on_reference,
            target: on_target,
        } = times.map(format::time_ns);
        let more = match target.n {
            1 => String::new(),
            n => format!(", in {} findings", format::count(n as u64)),
        };
        // If one of the titles says more than the other, only the less specific one holds for both.
        let other = reference.first.filter(|other| {
            let (own, other) = (first.title.as_str(), other.title.as_str());
            own.starts_with(other) && own != other
        });
        let said = other.unwrap_or(first);
        Some(Waste {
            key: first.pattern,
            title: said.title.clone(),
            sentence: format!(
                "Takes {on_target} on the target{more}, and {on_reference} on the reference."
            ),
            advice: format::capitalized(&said.model),
            times,
            saves: in_both(
                ends(impact),
                times.target,
                reference.impact.map(ends),
                scale,
                found_ns(comparison, &target.operations),
            ),
            operations: target.operations,
        })
    });
    both.collect()
}

fn ends(impact: Impact) -> (i64, i64) {
    (impact.low_ns, impact.high_ns)
}

/// Idle time of both, if each would be flagged for it on its own, or its report has a finding about it.
fn idle(comparison: &Comparison) -> Option<Waste> {
    let sides = comparison.sides.as_ref().map(|side| &side.idle);
    let shares = sides.map(|idle| idle.sure.1);
    let is_idle = |which| {
        let mut findings = sides.get(which).findings.iter();
        *shares.get(which) > comparison.thresholds.idle_flag_percent
            || findings.any(|finding| finding.impact.is_some())
    };
    if !is_idle(Which::Reference) || !is_idle(Which::Target) {
        return None;
    }
    let times = sides.map(|idle| idle.sure.0);
    let said = Pair::of(|which| {
        let (time, share) = (
            format::time_ns(*times.get(which)),
            format::percent(*shares.get(which)),
        );
        let mut causes = sides.get(which).causes.iter();
        let cause = causes.find(|(cause, _)| !cause.is_unsure());
        let cause = cause.map_or(String::new(), |(cause, ns)| {
            let percent = format::percent(percent_or_zero(*ns, *times.get(which)));
            format!(", {percent} of it {}", format::in_sentence(cause.label()))
        });
        format!("{time} ({share} of the run{cause})")
    });
    let main = sides
        .target
        .causes
        .iter()
        .find(|(cause, _)| !cause.is_unsure())?;
    let in_code = shared_idle_code(sides);
    let advice = in_code
        .map(|(_, finding)| finding)
        .or_else(|| sides.target.finding(main.0))
        .map(|finding| format::capitalized(&finding.model));
    let saves = idle_savings(comparison, sides);
    Some(Waste {
        key: "idle",
        title: in_code.map_or("Idle GPU".to_owned(), |(place, _)| {
            format!("Idle GPU: {place}")
        }),
        sentence: format!(
            "The GPU is idle for {} on the target, and for {} on the reference.",
            said.target, said.reference
        ),
        advice: advice.unwrap_or_else(|| {
            "See in the report of the target alone what the CPU does in this time.".to_owned()
        }),
        times,
        saves,
        operations: Vec::new(),
    })
}

/// The code in which most of the idle time is spent, if that is the same in both, with what its finding on the target
/// says.
fn shared_idle_code(sides: Pair<&IdleReport>) -> Option<(&str, &Finding)> {
    let code = sides.map(|idle| {
        let longest = idle.code.first()?;
        let finding = longest.finding.as_ref()?;
        (longest.ns > idle.sure.0 / 2).then_some((longest.place.as_str(), finding))
    });
    code.target.filter(|(place, _)| {
        let on_reference = code.reference;
        on_reference.is_some_and(|(other, _)| other == *place)
    })
}

/// What following the findings about idle time saves in both.
fn idle_savings(comparison: &Comparison, sides: Pair<&IdleReport>) -> (i64, i64) {
    // Each finding is about one cause. Without any, up to all of it can be saved.
    let savings = sides.map(|idle| {
        let impacts = idle.findings.iter().filter_map(|finding| finding.impact);
        let (low_ns, high_ns) = impacts.reduce(Impact::plus).map_or((0, idle.sure.0), ends);
        (low_ns.min(idle.sure.0), high_ns.min(idle.sure.0))
    });
    let times = sides.map(|idle| idle.sure.0);
    let of_idle = comparison.gaps.ranked.iter();
    let of_idle = of_idle.filter(|gap| gap.subject == GapSubject::Idle);
    let found_ns = sum(of_idle.filter_map(|gap| Some(gap.saving?.matching_ns)));
    let pieces = comparison.sides.reference.n_gpu_events;
    let scaled_ns = comparison.amount.scaled_idle(times.reference, pieces);
    let scale = scaled_ns as f64 / times.reference.max(1) as f64;
    in_both(
        savings.target,
        times.target,
        Some(savings.reference),
        scale,
        found_ns,
    )
}

/// Operations far below the roofline in both, by operator; those in `known` are already counted.
fn low_roofline(comparison: &Comparison, known: &[usize]) -> Vec<Waste> {
    let least = comparison.thresholds.compare_waste_percent;
    let small_ns = comparison.thresholds.compare_small_us * 1e3;
    let is_low = |op: &&MatchedOp| {
        let is_low = |which| {
            op.roofline_percent(which)
                .is_some_and(|percent| percent < least)
        };
        let sides = op.sides.as_ref();
        // A group has other operations in each trace, so that they do not waste time in the same way.
        !op.is_group()
            && is_low(Which::Reference)
            && is_low(Which::Target)
            && op.sides.target.is_computation()
            && sides.target.ns_per_call() >= small_ns
            && sides.reference.ns_per_call() >= small_ns
            && !sides.target.operations.iter().any(|at| known.contains(at))
    };
    let low = comparison.operations.matched.iter().filter(is_low);
    let by_name: Vec<(&str, Vec<&MatchedOp>)> =
        grouped(low.map(|op| (unnumbered(&op.name), op)), Vec::push);
    let by_name = by_name.into_iter();
    let waste = by_name.filter_map(|(_, ops)| low_roofline_of(comparison, &ops));
    waste.collect()
}

/// The operations of one name.
fn low_roofline_of(comparison: &Comparison, ops: &[&MatchedOp]) -> Option<Waste> {
    let first = *ops.first()?;
    let times = ops.iter().map(|op| op.times());
    let times = times.fold(Pair::default(), Pair::plus);
    // Over all of them together, weighted by time.
    let percents = Pair::of(|which| {
        let rooflines = ops.iter().filter_map(|op| {
            let roofline = (*op.judgment.rooflines.get(which))?;
            Some(roofline.us_per_call * 1e3 * op.sides.get(which).timed.count as f64)
        });
        let timed = sum(ops.iter().map(|op| op.sides.get(which).timed.ns));
        format::percent(rooflines.sum::<f64>() / timed.max(1) as f64 * 100.0)
    });
    let impact = |which: Which| {
        let impacts = ops.iter().filter_map(|op| {
            let side = op.sides.get(which);
            let percent = op.roofline_percent(which)?;
            let run_ns = run_time::part(side.time_ns, side.run_ns, side.time_ns);
            Some(Impact::of_efficiency(run_ns, percent))
        });
        impacts.reduce(Impact::plus).map(ends)
    };
    let operations: Vec<usize> = ops
        .iter()
        .flat_map(|op| op.sides.target.operations.iter().copied())
        .collect();
    let saves = in_both(
        impact(Which::Target)?,
        times.target,
        impact(Which::Reference),
        scale(comparison),
        found_ns(comparison, &operations),
    );
    let bound = first
        .judgment
        .rooflines
        .target
        .map_or("", |roofline| words::bound(roofline.bound));
    let Pair { reference, target } = times.map(format::time_ns);
    let shapes = match (ops.len(), first.shapes.as_str()) {
        (_, "") => String::new(),
        (1, shapes) => format!(", on {shapes}"),
        (n, shapes) => format!(", on {shapes} first of {n} sets of arguments"),
    };
    Some(Waste {
        key: "low_roofline",
        title: format!(
            "{} at a low % of roofline in both",
            words::quoted(unnumbered(&first.name))
        ),
        sentence: format!(
            "It reaches {} of its {bound} roofline on the target ({target}), and {} on the reference ({reference}){shapes}.",
            percents.target, percents.reference
        ),
        advice: super::findings::usual_advice(comparison, first),
        times,
        saves,
        operations,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::testing::{H100, assert_contains, compared, pair, run, unfused_attention};
    use crate::testing::Timetable;

    fn keys(comparison: &Comparison) -> Vec<&'static str> {
        comparison.waste.iter().map(|waste| waste.key).collect()
    }

    #[test]
    fn no_difference_is_not_nothing_to_do() {
        let unfused = run(unfused_attention(400));
        let comparison = compared(&unfused, &unfused, H100);
        assert!(comparison.is_same());
        assert!(comparison.gaps.ranked.is_empty());
        let [waste] = &comparison.waste[..] else {
            panic!("{:#?}", comparison.waste);
        };
        assert_eq!(waste.key, "unfused_attention");
        assert_eq!(waste.times, pair(1_200_000, 1_200_000));
        // One kernel takes 3 % of that.
        assert!(
            waste.saves.0 > 1_000_000 && waste.saves.1 < 1_200_000,
            "{waste:?}"
        );
        assert_contains(&waste.advice, "scaled_dot_product_attention");
        assert_contains(
            &comparison.nothing_found(),
            "Inefficiencies in both traces are listed",
        );
    }

    #[test]
    fn what_is_far_from_the_roofline_in_both_is_listed() {
        // 64 MiB to read and to write: 40.1 µs at 3.35 TB/s.
        const X: &str = r#""Input Dims": [[8192, 4096], [], []], "Input type": ["c10::Half", "Scalar", "Scalar"], "Concrete Inputs": ["", "-1", "False"]"#;
        let softmax = |us| run([("aten::_softmax", X, "softmax", us)]);
        let both = compared(&softmax(160), &softmax(200), H100);
        let [waste] = &low_roofline(&both, &[])[..] else {
            panic!("{:#?}", both.operations);
        };
        // At 75 and at 100 % of roofline, 53.4 and 40.1 µs are left of the 160 on the reference: both lose that.
        assert_eq!((waste.saves.0 / 1_000, waste.saves.1 / 1_000), (106, 119));
        let words = "It reaches 20.0 % of its memory roofline on the target (200 µs), and 25.0 % on the reference (160 µs), on 8192×4096 fp16.";
        assert_eq!(waste.sentence, words);
        // Operations in a finding of both reports are not counted again.
        assert!(low_roofline(&both, &[0]).is_empty());
        // Only in one of them, it is a difference.
        let one = compared(&softmax(50), &softmax(200), H100);
        assert!(low_roofline(&one, &[]).is_empty());
    }

    #[test]
    fn an_idle_gpu_in_both_is_listed_with_its_share() {
        let idle = |us: u32| {
            (0..10).fold(Timetable::new(), |table, at| {
                let (host, gpu) = (at * (us + 50), at * (us + 50) + 20);
                let table = table.op("aten::mm", host..host + 10);
                table.launched("gemm", host + 1..host + 2, gpu..gpu + 50)
            })
        };
        let comparison = compared(&idle(100), &idle(150), H100);
        assert!(
            keys(&comparison).contains(&"idle"),
            "{:#?}",
            comparison.waste
        );
        let waste = comparison
            .waste
            .iter()
            .find(|one| one.key == "idle")
            .unwrap();
        // Nine gaps.
        assert_eq!(waste.times, pair(900_000, 1_350_000));
        assert_contains(&waste.sentence, "1.35 ms (73");
        let busy = compared(&idle(1), &idle(150), H100);
        assert!(!keys(&busy).contains(&"idle"));
    }

    /// Ten gaps of 100 µs, 98 of them in one function, between kernels of 900 µs: 9 % of the run, which both reports find.
    #[test]
    fn code_that_keeps_the_gpu_idle_in_both_is_named() {
        let logged = |frame: &str| {
            (0..11).fold(Timetable::new(), |table, at| {
                let from = at * 1_000;
                let table = table.frame(frame, from + 910..from + 1_008);
                let table = table.op("aten::mm", from + 4..from + 9);
                table.launched("gemm", from + 5..from + 8, from + 10..from + 910)
            })
        };
        let [info, save] = [
            "logging/__init__.py(1467): info",
            "torch/serialization.py(943): save",
        ];
        let title = |reference: &str| {
            let comparison = compared(&logged(reference), &logged(info), H100);
            let mut waste = comparison.waste.iter();
            let idle = waste.find(|one| one.key == "idle").unwrap();
            (idle.title.clone(), idle.times)
        };
        let times = pair(1_000_000, 1_000_000);
        let named = "Idle GPU: `info` in `__init__.py:1467`".to_owned();
        assert_eq!(title(info), (named, times));
        assert_eq!(title(save), ("Idle GPU".to_owned(), times));
    }

    #[test]
    fn a_finding_of_the_comparison_is_not_counted_again() {
        // Of 400, 200 to 300 can be saved on the target, 20 on the reference; a finding saves three quarters.
        assert_eq!(in_both((200, 300), 400, Some((10, 20)), 1.0, 300), (10, 20));
        // Twice the work on the reference's hardware.
        assert_eq!(in_both((200, 300), 400, Some((10, 20)), 2.0, 0), (20, 40));
        assert_eq!(in_both((200, 300), 400, None, 1.0, 300), (50, 75));
    }
}
