//! The appendix: the hardware behind what is expected, verdicts by peaks alone, how it was done,
//! and the lines that were drawn.

use crate::assess::Thresholds;
use crate::base::format;
use crate::compare::comparison::Comparison;
use crate::compare::hardware::Figure;
use crate::compare::ops::MatchedOp;
use crate::compare::pair::Which;
use crate::compare::words;
use crate::hardware::Basis;
use crate::output::document::{DocTable, Document, Span};

/// Operations in the table of verdicts by peaks.
const MAX_ROWS: usize = 20;

pub(super) fn write(document: &mut Document, comparison: &Comparison) {
    document.heading(2, "Appendix");
    hardware(document, comparison);
    peaks(document, comparison);
    method(document, comparison);
    reproducers(document, comparison);
}

fn hardware(document: &mut Document, comparison: &Comparison) {
    document.heading(3, "Hardware Reference");
    for which in [Which::Reference, Which::Target] {
        let side = comparison.sides.get(which);
        let label = match which {
            Which::Reference => "Reference",
            Which::Target => "Target",
        };
        let platform = side.platform.as_deref().unwrap_or("an unknown device");
        document.text(&match &side.gpu {
            Some(gpu) => format!(
                "{label}: recorded on {platform}, judged by the figures of the {} ({}).",
                gpu.name, gpu.source
            ),
            None => format!("{label}: recorded on {platform}; no GPU profile is chosen."),
        });
    }
    let mut table = DocTable::new(&[
        "Figure",
        ">Reference",
        "Basis",
        ">Target",
        "Basis",
        ">Expected ratio of times",
        ">By peaks",
    ]);
    for ratio in &comparison.hardware {
        let value = |(value, _): (f64, Basis)| match ratio.figure {
            Figure::Memory => format::bandwidth_gbps(value),
            Figure::Compute(_) => format::tflops(value),
        };
        let values = ratio.values;
        table.row(&[
            &ratio.figure.label(),
            &value(values.reference),
            values.reference.1.label(),
            &value(values.target),
            values.target.1.label(),
            &words::times(ratio.ratio),
            &words::maybe_times(ratio.peak_ratio),
        ]);
    }
    document.table(table);
}

/// What would be said if both GPUs were judged by peaks: the operations for which that is another
/// expectation.
fn peaks(document: &mut Document, comparison: &Comparison) {
    let differs = |op: &&MatchedOp| {
        let judgement = &op.judgement;
        let both = judgement.expected.zip(judgement.peak_expected);
        both.is_some_and(|(own, peak)| (own - peak).abs() > 1e-9 * own)
    };
    let ops: Vec<&MatchedOp> = comparison
        .operations
        .matched
        .iter()
        .filter(differs)
        .collect();
    if ops.is_empty() {
        return;
    }
    document.heading(3, "Verdicts by peaks");
    document.text(
        "Achievable figures are not known for every GPU. By peaks on both sides these operations \
         are judged otherwise:",
    );
    let mut table = DocTable::new(&[
        "Operation",
        "Shapes",
        ">Actual",
        ">Expected",
        ">Excess",
        ">Expected by peaks",
        ">Excess by peaks",
        "Verdict",
        "Verdict by peaks",
    ]);
    for op in ops.iter().take(MAX_ROWS) {
        let judgement = &op.judgement;
        let text = |text: String| vec![Span::Text(text)];
        table.rows.push(vec![
            vec![Span::Code(format::middle_ellipsis(&op.name, 60))],
            text(op.shapes.clone()),
            text(words::maybe_times(judgement.actual)),
            text(words::maybe_times(judgement.expected)),
            text(words::maybe_times(judgement.excess)),
            text(words::maybe_times(judgement.peak_expected)),
            text(words::maybe_times(judgement.peak_excess)),
            text(judgement.verdict.label().to_owned()),
            text(judgement.peak_verdict.label().to_owned()),
        ]);
    }
    document.table(table);
}

fn method(document: &mut Document, comparison: &Comparison) {
    document.heading(3, "Methodology");
    document.text(&format!(
        "Operations are matched by name, shapes, types, strides and values; what that leaves by name, \
         shapes and types, and then by what does the same under another name. What is alone then is \
         matched by operator, number of dimensions and of calls, on other sizes or types; and by equal \
         kernels where one trace does not tell their operator. Every Δ is target ÷ \
         reference − 1, or target minus reference. The expected ratio is the least time that the \
         roof of the target's GPU allows for the work of a call over that of the reference's GPU, by \
         {} figures where they are known; the excess is the measured ratio over it.{}",
        comparison.basis.label(),
        match comparison.is_same_gpu {
            true => " Both traces ran on the same hardware, so the expected ratio of the same work is 1.",
            false => "",
        }
    ));
    let mut table = DocTable::new(&["Line", ">Here", "Meaning"]);
    let lines = Thresholds::ALL.iter();
    for line in lines.filter(|line| line.group == "Comparison") {
        let number = format::number((line.get)(&comparison.thresholds));
        let number = format!("{number} {}", line.unit.label());
        table.row(&[&format!("`{}`", line.key), number.trim(), line.doc]);
    }
    document.table(table);
}

fn reproducers(document: &mut Document, comparison: &Comparison) {
    document.heading(3, "Replay Artifacts");
    let mut table = DocTable::new(&["Finding", "Reproducer", "Reason"]);
    for gap in &comparison.gaps.ranked {
        if let Some(replay) = &gap.replay {
            let word = match replay.is_recommended {
                true => "recommended",
                false => "offered",
            };
            table.row(&[&format!("P{}", gap.number), word, &replay.reason]);
        }
    }
    match table.rows.is_empty() {
        true => document.text("No finding asks for a reproducer."),
        false => document.table(table),
    }
}
