//! The appendix: steps of a serving engine, model, hardware, reproducers, changed thresholds, data quality.

use super::Input;
use super::summary::quality_line;
use crate::base::format;
use crate::output::documents::parts::thresholds;
use crate::output::documents::{Part, card, part};
use crate::output::markup::{DocTable, Document, Span, code, line};
use crate::output::replay::Package;
use crate::report::overview::{RepairedFigure, RepairedKind, ServingFacts};

pub(super) fn all(source: &Input) -> Vec<Part> {
    let serving = source.report.overview.serving.as_ref();
    let steps = serving.map(|serving| part("Steps", |document| steps(document, serving)));
    let parts = [
        part("Model", |document| model(document, source)),
        part("Hardware Reference", |document| hardware(document, source)),
        part("Replay Artifacts", |document| reproducers(document, source)),
        part("Method", |document| method(document, source)),
        part("How far to trust these numbers", |document| {
            let quality = &source.report.overview.quality;
            document.text(&quality.sentence);
            document.bullets(quality.lines.iter().map(quality_line));
            if !quality.repaired.is_empty() {
                document.table(repaired(&quality.repaired));
            }
        }),
    ];
    steps.into_iter().chain(parts).collect()
}

/// Headline numbers as recorded and as repaired.
fn repaired(figures: &[RepairedFigure]) -> DocTable {
    DocTable::of(figures)
        .line("Number", |figure| match figure.kind {
            RepairedKind::Kernel => code(&figure.label, 60),
            _ => line(&figure.label),
        })
        .time(">As recorded", |figure| figure.recorded_ns)
        .time(">Repaired", |figure| figure.repaired_ns)
        .time(">Change", |figure| figure.change_ns())
        .into()
}

/// The steps of a serving engine, and the stages around them.
fn steps(document: &mut Document, serving: &ServingFacts) {
    let facts = serving.all_facts();
    let facts = DocTable::of(&facts)
        .text("Steps", |(label, _)| label.clone())
        .line(">Value", |(_, value)| line(value));
    document.table(facts);
    if serving.stages.len() > 1 {
        let stages = DocTable::of(&serving.stages)
            .text("Part of the time", |stage| stage.name.clone())
            .time(">Time", |stage| stage.ns)
            .time(">GPU busy", |stage| stage.busy_ns)
            .time(">GPU idle", |stage| stage.ns.saturating_sub(stage.busy_ns));
        document.table(stages);
    }
    for note in &serving.notes {
        document.text(note);
    }
}

fn model(document: &mut Document, source: &Input) {
    let info = source.profile.model_info();
    let rows = [
        ("Model", &info.model),
        ("Architecture", &info.architecture),
        ("Scale", &info.scale),
        ("Precision", &info.precision),
    ];
    document.table(
        DocTable::of(rows)
            .text("Question", |(label, _)| *label)
            .text("Answer", |(_, answer)| answer.text())
            .line("Evidence", |(_, answer)| line(&answer.evidence)),
    );
}

fn hardware(document: &mut Document, source: &Input) {
    let hardware = &source.report.overview.hardware;
    if let Some(device) = &hardware.recorded_on {
        document.text(&format!("Recorded on {device}."));
    }
    if !source.profile.has_gpu_events() {
        let why = source.profile.without_gpu().trim_end_matches('.');
        document.text(&format!("{why}, so nothing is compared with a GPU."));
        return;
    }
    if let Some(gpu) = &hardware.gpu {
        document.text(&format!("Compared with the roofline of the {}:", gpu.name));
        document.table(
            DocTable::of(&hardware.figures)
                .line("Figure", |figure| line(&figure.label))
                .line(">Value", |figure| line(&figure.value))
                .text("Basis", |figure| {
                    figure.basis.map_or("", |basis| basis.label())
                }),
        );
    }
    document.text(&hardware.basis);
    document.texts(&hardware.caveat);
}

fn reproducers(document: &mut Document, source: &Input) {
    document.append(card::reproducers(source));
    let package = Package::new(source.profile, source.report);
    if !package.entries.is_empty() {
        document.text(&format!(
            "`replay_package.zip` has the reproducers of {} that are large or at a low % of roofline.",
            format::counted(package.entries.len() as u64, "operation")
        ));
    }
    // Operations that a reproducer would be recommended for, and why there is none.
    let mut left_out = package.left_out;
    left_out.retain(|left| left.candidate.is_recommended);
    if !left_out.is_empty() {
        document.text("Recommended, but the trace holds too little to rebuild these:");
    }
    document.bullets(left_out.iter().map(|left| {
        let mut item = code(&left.name, 80);
        let (why, reason) = (&left.candidate.reason, left.reason.label());
        item.push(Span::Text(format!(" ({why}): {reason}.")));
        item
    }));
}

fn method(document: &mut Document, source: &Input) {
    if !source.profile.has_gpu_events() {
        document.text("Times are CPU self times: without the operators that an operator calls.");
        return;
    }
    let run = match source.profile.window {
        Some(_) => "the length of the window",
        None => "the time from the first GPU activity to the last",
    };
    document.text(&format!(
        "Efficiency is the roofline time over the measured time; the roofline time is the longer \
         of arithmetic and memory traffic, with each operand read once. All GPU activity counts. Recommendations \
         are ordered by expected savings. Shares of compute divide by the sum of kernel times, \
         where kernels that overlap all count; shares of the run by {run}."
    ));
    let changed = thresholds(&source.report.options.thresholds, |_, here, usual| {
        (here - usual).abs() > 0.0
    });
    if !changed.rows.is_empty() {
        document.text("Thresholds that were changed:");
        document.table(changed);
    }
}
