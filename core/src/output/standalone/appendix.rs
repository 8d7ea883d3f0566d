//! The appendix: model, hardware, reproducers, thresholds that were changed, data quality.

use super::Source;
use crate::assess::Thresholds;
use crate::base::format;
use crate::output::document::{DocTable, Document, Span, line};
use crate::output::replay::{Package, candidates};
use crate::report::GpuEvents;

pub(super) fn write(document: &mut Document, source: &Source) {
    document.heading(2, "Appendix");
    model(document, source);
    hardware(document, source);
    reproducers(document, source);
    method(document, source);
    quality(document, source);
}

fn model(document: &mut Document, source: &Source) {
    document.heading(3, "Model");
    let info = source.model;
    let mut table = DocTable::new(&["Question", "Answer", "Evidence"]);
    for (label, answer) in [
        ("Model", &info.model),
        ("Architecture", &info.architecture),
        ("Scale", &info.scale),
        ("Precision", &info.precision),
    ] {
        table.rows.push(vec![
            vec![Span::Text(label.to_owned())],
            vec![Span::Text(answer.text().to_owned())],
            line(&answer.evidence),
        ]);
    }
    document.table(table);
}

fn hardware(document: &mut Document, source: &Source) {
    document.heading(3, "Hardware Reference");
    let hardware = &source.report.overview.hardware;
    if let Some(device) = &hardware.recorded_on {
        document.text(&format!("Recorded on {device}."));
    }
    if !source.profile.has_gpu_events() {
        let why = source.profile.without_gpu().trim_end_matches('.');
        document.text(&format!("{why}, so nothing is held against a GPU."));
        return;
    }
    if let Some(gpu) = &hardware.gpu {
        document.text(&format!("Judged by the figures of the {}:", gpu.name));
        let mut table = DocTable::new(&["Figure", ">Value", "Basis"]);
        for figure in &hardware.figures {
            let basis = figure.basis.map_or("", |basis| basis.label());
            table.row(&[&figure.label, &figure.value, basis]);
        }
        document.table(table);
    }
    document.text(&hardware.basis);
    if let Some(caveat) = &hardware.caveat {
        document.text(caveat);
    }
}

fn reproducers(document: &mut Document, source: &Source) {
    document.heading(3, "Replay Artifacts");
    let findings = source.report.analyses.findings.ranked.iter();
    let mut table = DocTable::new(&["Finding", "Reproducer", "Reason"]);
    for ranked in findings {
        if let Some(replay) = &ranked.finding.replay {
            let word = match replay.is_recommended {
                true => "recommended",
                false => "offered",
            };
            table.row(&[&format!("P{}", ranked.number), word, &replay.reason]);
        }
    }
    match table.rows.is_empty() {
        true => document.text("No finding asks for a reproducer."),
        false => document.table(table),
    }
    not_rebuilt(document, source);
}

/// What a reproducer would be recommended for, and why there is none.
fn not_rebuilt(document: &mut Document, source: &Source) {
    let mut recommended = candidates(source.profile, source.report);
    recommended.retain(|candidate| candidate.is_recommended);
    let package = Package::with(source.profile, source.report, recommended);
    let items: Vec<Vec<Span>> = package
        .left_out
        .iter()
        .map(|left| {
            vec![
                Span::Code(format::middle_ellipsis(&left.name, 80)),
                Span::Text(format!(
                    " ({}): {}.",
                    left.candidate.reason,
                    left.reason.label()
                )),
            ]
        })
        .collect();
    if !items.is_empty() {
        document
            .text("One would be recommended for these, which a trace does not let one rebuild:");
        document.bullets(items);
    }
}

fn method(document: &mut Document, source: &Source) {
    document.heading(3, "Method");
    let counted = match source.report.timelines.events {
        GpuEvents::Linked => "GPU work counts where the call that launched it is known.",
        GpuEvents::All => "All GPU work counts, also where the call that launched it is unknown.",
    };
    let run = match source.profile.window {
        Some(_) => "the length of the window",
        None => "the time from the first GPU activity to the last",
    };
    if !source.profile.has_gpu_events() {
        document.text(
            "Times are those of the host: in each operator itself, without the operators that it calls.",
        );
        return;
    }
    document.text(&format!(
        "Efficiency is the least time that the roof allows over the measured time; the roof is the \
         longer of arithmetic and memory traffic, each operand once. {counted} Recommendations are \
         in the order of what they are expected to save. Shares of compute divide by the kernel \
         time of all that computes, where kernels that run at once all count; shares of the run by \
         {run}."
    ));
    let thresholds = &source.report.options.thresholds;
    let usual = Thresholds::default();
    let mut table = DocTable::new(&["Threshold", ">Usual", ">Here", "Meaning"]);
    for threshold in Thresholds::ALL {
        let (here, usual) = ((threshold.get)(thresholds), (threshold.get)(&usual));
        if (here - usual).abs() > 0.0 {
            let number =
                |value: f64| format!("{} {}", format::number(value), threshold.unit.label());
            table.row(&[
                &format!("`{}`", threshold.key),
                number(usual).trim(),
                number(here).trim(),
                threshold.doc,
            ]);
        }
    }
    if !table.rows.is_empty() {
        document.text("Thresholds that were changed:");
        document.table(table);
    }
}

fn quality(document: &mut Document, source: &Source) {
    document.heading(3, "How far to trust these numbers");
    let quality = &source.report.overview.quality;
    document.text(&quality.sentence);
    let items = quality.lines.iter().map(|quality| {
        let detail = match quality.detail() {
            detail if detail.is_empty() => detail,
            detail => format!(" ({detail})"),
        };
        line(&format!("{}{detail}", quality.sentence))
    });
    document.bullets(items.collect());
}
