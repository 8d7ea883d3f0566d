//! Why an operation takes its time in each trace, starting from the roofline: the causes from each trace's own report,
//! side by side; and what the target's own report finds about work that the reference does not have.

use super::comparison::Comparison;
use super::findings::NOT_ON_REFERENCE;
use super::gap::{Gap, GapSubject};
use super::ops::{OpSide, UnmatchedOp};
use super::pair::{Pair, Which};
use super::side::Side;
use crate::assess::waterfall::{Cause, StepLine, Waterfall, step_lines};
use crate::base::format;
use crate::base::interval::{percent_or_zero, sum};
use crate::findings::{Effect, Finding};

/// Causes with a smaller share of the measured time explain little.
const LEAST_PERCENT: f64 = 5.0;

/// Adds to each finding about operations the causes for the longest of them.
pub(crate) fn add(sides: Pair<Side>, comparison: &mut Comparison) {
    for gap in &mut comparison.gaps.ranked {
        if let GapSubject::Unmatched(rows) = &gap.subject {
            let own = &comparison.operations.unmatched.target;
            let own: Vec<&UnmatchedOp> = rows.iter().filter_map(|at| own.get(*at)).collect();
            name_own_work(&sides.target, &own, gap);
            continue;
        }
        let GapSubject::Operations(rows) = &gap.subject else {
            continue;
        };
        let matched = &comparison.operations.matched;
        let first = rows.first().and_then(|at| matched.get(*at));
        let Some(op) = first.filter(|op| !op.is_group()) else {
            continue;
        };
        let said = Pair::of(|which| of_side(sides.get(which), op.sides.get(which)));
        for which in [Which::Target, Which::Reference] {
            if let Some(said) = said.get(which) {
                let which = which.label();
                gap.reasoning
                    .push(format!("From its roofline on the {which}: {said}."));
            }
        }
    }
}

/// Names work that the target alone does by what its own report finds about most of it, unless the comparison names it.
fn name_own_work(target: &Side, own: &[&UnmatchedOp], gap: &mut Gap) {
    if !gap.title.ends_with(NOT_ON_REFERENCE) {
        return;
    }
    let ns = |ops: &[&UnmatchedOp]| sum(ops.iter().map(|op| op.side.exclusive_ns));
    let is_about_most = |finding: &&Finding| {
        let is_in = |at: &usize| finding.operations.contains(at);
        let inside = own.iter().filter(|op| op.side.operations.iter().any(is_in));
        let inside: Vec<&UnmatchedOp> = inside.copied().collect();
        let saves_work = matches!(finding.effect, Effect::KernelTime | Effect::FewerLaunches);
        saves_work && finding.impact.is_some() && ns(&inside) * 2 > ns(own)
    };
    let ranked = target.report.analyses.findings.ranked.iter();
    let Some(finding) = ranked.map(|one| &one.finding).find(is_about_most) else {
        return;
    };
    gap.title = format!("{}{NOT_ON_REFERENCE}", finding.title);
    gap.model = format!("{} Otherwise, {}", gap.model, finding.model);
    gap.reasoning.push(format!(
        "The report of the target alone finds about most of it: {}",
        finding.issue
    ));
}

/// "tile padding 13.1 ms (8 × 8 in tiles of 16 × 448), unexplained 402 µs".
fn of_side(side: &Side, op: &OpSide) -> Option<String> {
    let [at] = op.operations[..] else {
        return None;
    };
    let input = side.report.analysis_input(side.profile);
    let waterfall = Waterfall::of(&input, at)?;
    let lines = step_lines(&waterfall);
    let is_large =
        |line: &&StepLine| percent_or_zero(line.ns, waterfall.measured_ns) >= LEAST_PERCENT;
    let large: Vec<&StepLine> = lines.iter().filter(is_large).collect();
    // Unexplained time alone says nothing.
    large
        .iter()
        .find(|line| line.key != Cause::Unexplained.key())?;
    let said = large.iter().map(
        |StepLine {
             label, ns, text, ..
         }| {
            let (label, time) = (format::in_sentence(label), format::time_ns(*ns));
            match text.is_empty() {
                true => format!("{label} {time}"),
                false => format!("{label} {time} ({text})"),
            }
        },
    );
    Some(format::joined(said, ", "))
}

#[cfg(test)]
mod tests {
    use crate::compare::testing::{H100, assert_contains, compared, run};

    #[test]
    fn a_finding_says_what_the_time_of_each_side_is_lost_to() {
        // Results of 8 × 8 in tiles of 256 × 256, and in tiles of 16 × 16.
        const BMM: &str = r#""Input Dims": [[37632, 8, 64], [37632, 64, 8]], "Input type": ["c10::BFloat16", "c10::BFloat16"]"#;
        let bmm = |kernel, us| run([("aten::bmm", BMM, kernel, us)]);
        let (small, large) = (
            bmm("Cijk_Ailk_Bljk_BBS_BH_MT16x16x32", 300),
            bmm("Cijk_Ailk_Bljk_BBS_BH_MT256x256x32", 3_000),
        );
        let gaps = compared(&small, &large, H100).gaps.ranked;
        let said = gaps[0].reasoning.join(" ");
        assert_contains(&said, "From its roofline on the target: tile padding ");
        assert_contains(&said, "(8×8 in tiles of 256×256)");
    }

    #[test]
    fn work_of_the_target_alone_is_named_by_its_own_finding() {
        let mm = r#""Input Dims": [[4096, 4096], [4096, 4096]], "Input type": ["c10::BFloat16", "c10::BFloat16"]"#;
        let zeros = r#""Input Dims": [[4096, 32768], []], "Input type": ["float", "Scalar"]"#;
        let both = ("aten::mm", mm, "gemm", 300);
        let reference = run([both]);
        let target = run([both, ("aten::fill_", zeros, "FillFunctor", 400)]);
        let gaps = compared(&reference, &target, H100).gaps.ranked;
        let gap = gaps.iter().find(|gap| gap.pattern == "no_partner").unwrap();
        assert_eq!(
            gap.title,
            "Tensors filled with one value: not on the reference"
        );
        assert_contains(&gap.model, "Otherwise, allocate with `torch.empty`");
    }
}
