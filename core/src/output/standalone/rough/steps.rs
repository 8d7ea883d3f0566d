//! The nine steps, each with what it gave.

use super::super::Source;
use super::super::words::{not_analysed, percent, share};
use super::sheet::{SHEET_ROWS, sheet};
use crate::base::format;
use crate::base::sort::Arrange;
use crate::findings::compute::shapes;
use crate::output::document::{DocTable, Document, Span};

pub(super) fn write(document: &mut Document, source: &Source) {
    let (profile, report) = (source.profile, source.report);
    let overview = &report.overview;
    let findings = &report.analyses.findings;

    let no_gpu = not_analysed(profile);

    let sheets = report.sheets(profile);
    document.heading(3, "Step 1: Performance report");
    document.text(&format!(
        "{} of {} read; {}.",
        format::counted(profile.trace.n_events_read, "event"),
        format::bytes(profile.text_bytes),
        format::counted(sheets.len() as u64, "sheet")
    ));
    let mut table = DocTable::new(&["Sheet", ">Rows"]);
    for sheet in sheets {
        table.row(&[
            &format!("`{}`", sheet.name),
            &format::count(sheet.rows.len() as u64),
        ]);
    }
    document.table(table);

    document.heading(3, "Step 2: GPU utilisation");
    document.text(&overview.headline);
    sheet(document, report.sheet(profile, "gpu_timeline"), SHEET_ROWS);
    if report.timelines.recompute.is_some() {
        document.text(
            "Work that computes activations again has rows of its own. Each half is looked at as if the \
             other did not run, so that shares of idling and of what is exposed are larger here than \
             of the whole.",
        );
    }

    document.heading(3, "Step 3: Top operations");
    document.text(match source.report.options.gpu {
        _ if !profile.has_gpu_events() => &no_gpu,
        Some(_) => {
            "Each operation with its arguments, and with the kernels of what it calls; FLOPS/Byte \
             against the ridge of the GPU tells what bounds it."
        }
        None => {
            "Each operation with its arguments, and with the kernels of what it calls. Without a GPU \
             profile FLOPS/Byte alone suggests what bounds it: above 200 likely, above 100 rather arithmetic, below \
             50 likely the memory."
        }
    });
    document.table(bounds(source));

    document.heading(3, "Step 4: Each top operation");
    document.text(match profile.has_gpu_events() {
        false => &no_gpu,
        true => "Shapes, counts, work and rates of each are in the sheet of operations by arguments; the \
         first rows are copied below, under Raw Data Exploration.",
    });

    document.heading(3, "Step 5: Call stacks");
    document.text(match profile.has_python_frames() {
        true => "Python frames were recorded: parent chains below name modules and functions.",
        false => "No Python frames were recorded: parent chains below end at operators.",
    });

    document.heading(3, "Step 6: Performance models");
    models(document, source);

    document.heading(3, "Step 7: Optimisation paths");
    document.text(&format!(
        "{}, each with what to change in the model and what to ask of the kernel; {} too small to show.",
        format::counted(findings.ranked.len() as u64, "finding"),
        format::count(findings.n_small as u64)
    ));

    document.heading(3, "Step 8: Impact");
    let mut table = DocTable::new(&[">Rank", "Finding", ">Low", ">Middle", ">High", "Estimate"]);
    for ranked in &findings.ranked {
        let time = |ns: Option<i64>| ns.map_or("–".to_owned(), format::time_ns);
        let impact = ranked.finding.impact;
        table.row(&[
            &ranked.number.to_string(),
            &ranked.finding.title,
            &time(impact.map(|impact| impact.low_ns)),
            &time(impact.map(|impact| impact.mid_ns)),
            &time(impact.map(|impact| impact.high_ns)),
            impact.map_or("not quantifiable", |impact| impact.estimate.key()),
        ]);
    }
    match findings.ranked.is_empty() {
        true => document.text("No finding."),
        false => document.table(table),
    }

    document.heading(3, "Step 9: Reproducers");
    let replays = findings.ranked.iter();
    let n = replays
        .filter(|ranked| ranked.finding.replay.is_some())
        .count() as u64;
    document.text(&format!(
        "{} with a reproducer recommended or offered; it holds names of operations, shapes, types \
         and scalars, and nothing else of the model.",
        format::counted(n, "finding")
    ));
}

/// Top operations by arguments, with what bounds them.
fn bounds(source: &Source) -> DocTable {
    let mut table = DocTable::new(&[
        "Operation",
        "Shapes",
        ">Time",
        ">% of compute",
        ">FLOPS/Byte",
        ">Ridge",
        "Bound",
        ">Of the roof",
    ]);
    let options = &source.report.options;
    let compute_ns = source.report.timelines.compute_ns();
    let input = source.report.analysis_input(source.profile);
    for (operation, judged) in source.report.operations(source.profile).take(6) {
        let work = judged.work;
        let ridge = work.and_then(|work| {
            let (tflops, _) = crate::hardware::roofline::peak_tflops(
                work.compute?,
                options.gpu.as_deref()?,
                options.basis,
            )?;
            Some(tflops * 1e3 / options.gpu.as_deref()?.mem_bw_gbps)
        });
        let number = |number: Option<f64>| number.map_or("–".to_owned(), format::number);
        let name = operation.short_name(source.profile);
        let text = |text: String| vec![Span::Text(text)];
        table.rows.push(vec![
            vec![Span::Code(format::middle_ellipsis(name, 60))],
            text(match shapes(&input, operation) {
                shapes if shapes.is_empty() => "–".to_owned(),
                shapes => shapes,
            }),
            text(format::time_ns(operation.kernel_ns)),
            text(percent(share(operation.kernel_ns, compute_ns))),
            text(number(work.and_then(|work| work.flops_per_byte()))),
            text(number(ridge)),
            text(match (judged.roof, options.gpu.is_some()) {
                (Some(roof), _) => roof.bound.label().to_owned(),
                (None, true) => "–".to_owned(),
                (None, false) => work
                    .and_then(|work| work.flops_per_byte())
                    .map_or("–", likely_bound)
                    .to_owned(),
            }),
            text(percent(
                judged.achieved.map(|achieved| achieved.roof_percent),
            )),
        ]);
    }
    table
}

/// What probably bounds an operation on any GPU of today: all that intensity alone can tell.
fn likely_bound(flops_per_byte: f64) -> &'static str {
    if flops_per_byte > 200.0 {
        "likely compute"
    } else if flops_per_byte > 100.0 {
        "rather compute"
    } else if flops_per_byte < 50.0 {
        "likely memory"
    } else {
        "either"
    }
}

fn models(document: &mut Document, source: &Source) {
    let (mut with_ns, mut without): (i64, Vec<(&str, i64)>) = (0, Vec::new());
    for (operation, judged) in source.report.operations(source.profile) {
        let ns = operation.kernel_ns;
        match judged.work.and_then(|work| work.bytes) {
            Some(_) => with_ns = with_ns.saturating_add(ns),
            None => {
                let name = operation.short_name(source.profile);
                match without.iter_mut().find(|(known, _)| *known == name) {
                    Some((_, all)) => *all = all.saturating_add(ns),
                    None => without.push((name, ns)),
                }
            }
        }
    }
    let without_ns: i64 = without
        .iter()
        .map(|(_, ns)| *ns)
        .fold(0, i64::saturating_add);
    let all_ns = with_ns.saturating_add(without_ns);
    if all_ns == 0 {
        document.text(&match source.profile.has_gpu_events() {
            true => "No operation has a time on the GPU.".to_owned(),
            false => not_analysed(source.profile),
        });
        return;
    }
    document.text(&format!(
        "Of the kernel time of all operations, {} has a model of its work.",
        percent(share(with_ns, Some(all_ns)))
    ));
    without.arrange_by_key(|(_, ns)| std::cmp::Reverse(*ns));
    let mut table = DocTable::new(&["Without a model", ">Time"]);
    for (name, ns) in without.into_iter().take(10) {
        table.rows.push(vec![
            vec![Span::Code(format::middle_ellipsis(name, 80))],
            vec![Span::Text(format::time_ns(ns))],
        ]);
    }
    document.table(table);
}
