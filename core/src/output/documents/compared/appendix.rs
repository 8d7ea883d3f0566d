//! The appendix: the hardware figures behind the predictions, verdicts based on peaks alone, the method, and the
//! thresholds.

use super::tables::times;
use crate::base::format;
use crate::compare::comparison::Comparison;
use crate::compare::hardware::Figure;
use crate::compare::pair::Which;
use crate::compare::words;
use crate::hardware::Basis;
use crate::output::documents::parts::thresholds;
use crate::output::documents::{Part, card, part};
use crate::output::markup::{DocTable, Document, code, text};

const MAX_ROWS: usize = 20;

pub(super) fn all(comparison: &Comparison) -> Vec<Part> {
    let mut parts = vec![part("Hardware Reference", |document| {
        hardware(document, comparison);
    })];
    parts.extend(by_basis(comparison));
    parts.push(part("Replay Artifacts", |document| {
        document.append(card::reproducers(comparison));
    }));
    parts.push(part("Method", |document| method(document, comparison)));
    parts
}

fn hardware(document: &mut Document, comparison: &Comparison) {
    for which in Which::ALL {
        let side = comparison.sides.get(which);
        let label = if which == Which::Reference {
            "Reference"
        } else {
            "Target"
        };
        let platform = side.platform.as_deref().unwrap_or("an unknown device");
        document.text(&match &side.gpu {
            Some(gpu) => format!(
                "{label}: recorded on {platform}, compared with the roofline of the {} ({}).",
                gpu.name, gpu.source
            ),
            None => format!("{label}: recorded on {platform}; no GPU profile is chosen."),
        });
    }
    let value = |figure: Figure, (value, _): (f64, Basis)| {
        text(match figure {
            Figure::Memory => format::bandwidth_gbps(value),
            Figure::Compute(_) => format::tflops(value),
        })
    };
    document.table(
        DocTable::of(&comparison.hardware)
            .text("Figure", |row| row.figure.label())
            .line(">Reference", |row| value(row.figure, row.values.reference))
            .text("Basis", |row| row.values.reference.1.label())
            .line(">Target", |row| value(row.figure, row.values.target))
            .text("Basis", |row| row.values.target.1.label())
            .text(">Expected ratio of times", |row| words::times(row.ratio))
            .line(">By peaks", |row| times(row.peak_ratio)),
    );
}

/// The verdicts that depend on the basis.
fn by_basis(comparison: &Comparison) -> Option<Part> {
    let matched = comparison.operations.matched.iter();
    let ops = matched.filter(|op| op.judgment.depends_on_basis());
    let table: DocTable = DocTable::of(ops.take(MAX_ROWS))
        .line("Operation", |op| code(&op.name, 60))
        .text("Shapes", |op| op.shapes.as_str())
        .line(">Actual", |op| times(op.judgment.actual))
        .line(">Expected by peaks", |op| {
            times(op.judgment.by_peaks.expected)
        })
        .line(">Excess by peaks", |op| times(op.judgment.by_peaks.excess))
        .line(">Expected, achievable", |op| {
            times(op.judgment.by_achievable.expected)
        })
        .line(">Excess, achievable", |op| {
            times(op.judgment.by_achievable.excess)
        })
        .text("Verdict by peaks", |op| {
            op.judgment.by_peaks.verdict.label()
        })
        .text("Verdict, achievable", |op| {
            op.judgment.by_achievable.verdict.label()
        })
        .into();
    (!table.rows.is_empty()).then(|| {
        part("Verdicts by basis", |document| {
            document.text(
                "By peaks on both sides these operations are judged otherwise than by achievable \
                 figures wherever those are known:",
            );
            document.table(table);
        })
    })
}

fn method(document: &mut Document, comparison: &Comparison) {
    document.text(&format!(
        "Operations are matched by name, shapes, types, strides and values; the rest by name, \
         shapes and types, by what does the same under another name, and GEMMs by their sizes. \
         Attention that is fused in one trace only, norms of equal tensors and MoE layers are matched \
         as a whole. What is left is matched by operator, number of dimensions and of calls, on other \
         sizes or types; by equal kernels where one trace does not name their operator; by the \
         module or operator around it; and by the operations before and after it. Every Δ is target ÷ reference \
         − 1, or target minus reference. The expected ratio is the roofline time of a call on the \
         target's GPU over that on the reference's GPU, by {} figures where they are known; the \
         excess is the measured ratio over it.{}",
        comparison.basis.label(),
        match comparison.is_same_gpu {
            true => {
                " Both traces ran on the same hardware, so the expected ratio of the same work is 1."
            }
            false => "",
        }
    ));
    document.table(thresholds(&comparison.thresholds, |threshold, _, _| {
        threshold.group == "Comparison"
    }));
}
