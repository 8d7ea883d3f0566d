//! The rough document: every step of the analysis with what it gave, the first rows of the sheets,
//! places in the call tree, and what stays open.

use super::{Source, percent, share};
use crate::base::format;
use crate::base::interval::sum;
use crate::base::sort::Arrange;
use crate::findings::compute::shapes;
use crate::findings::{Status, Tier};
use crate::hardware::roofline::peak_tflops;
use crate::output::document::{Block, DocTable, Document, Line, Span, code, dash, text};
use crate::output::documents::parts::{figures, more};
use crate::output::documents::{Part, part};
use crate::report::overview::Measure;
use crate::report::places::{self, Place};
use crate::report::sheet::{Cell, Sheet, Unit};

/// The nine steps, each with what it gave.
pub(super) fn steps(source: &Source) -> Vec<Part> {
    let (profile, report) = (source.profile, source.report);
    let findings = &report.analyses.findings;
    let has_gpu = profile.has_gpu_events();
    let said = |document: &mut Document, text: &str| match has_gpu {
        true => document.text(text),
        false => document.text(&source.not_analyzed()),
    };
    vec![
        part("Performance report", |document| {
            document.text(&format!(
                "{} of {} read; {}.",
                format::counted(profile.trace.n_events_read, "event"),
                format::bytes(profile.text_bytes),
                format::counted(report.sheets(profile).len() as u64, "sheet")
            ));
            let rows = report.sheets(profile).into_iter();
            let rows = rows.map(|sheet| [code(sheet.name, 80), text(count(sheet.rows.len()))]);
            document.rows(["Sheet", ">Rows"], rows);
        }),
        part("GPU utilization", |document| {
            document.text(&report.overview.headline);
            document.append(rows_of(report.sheet(profile, "gpu_timeline")));
            if report.timelines.recompute.is_some() {
                document.text(
                    "Recomputed activations have rows of their own. Each half is analyzed as if \
                     the other did not run, so its idle and exposed shares are larger than those \
                     of the whole.",
                );
            }
        }),
        part("Top operations", |document| {
            let bound = match report.options.gpu {
                Some(_) => "FLOPS/Byte against the ridge of the GPU tells what bounds it.",
                None => {
                    "Without a GPU profile FLOPS/Byte alone suggests what bounds it: above 200 \
                     likely compute, above 100 rather compute, below 50 likely memory."
                }
            };
            let text = "Each operation by its arguments, with the kernels of what it calls.";
            said(document, &format!("{text} {bound}"));
            document.table(bounds(source));
        }),
        part("Each top operation", |document| {
            said(
                document,
                "Shapes, counts, FLOPs, bytes and rates of each are in the sheet of operations by \
                 arguments; its first rows are below, under Raw Data Exploration.",
            );
        }),
        part("Call stacks", |document| {
            document.text(match profile.has_python_frames() {
                true => {
                    "Python frames were recorded: parent chains below name modules and functions."
                }
                false => "No Python frames were recorded: parent chains below end at operators.",
            });
        }),
        part("Performance models", |document| models(document, source)),
        part("Optimization paths", |document| {
            document.text(&format!(
                "{}, each with what to change in the model and what to ask of the kernel; {} too small to show.",
                format::counted(findings.ranked.len() as u64, "finding"),
                count(findings.n_small)
            ));
        }),
        part("Impact", |document| {
            let rows = findings.ranked.iter().map(|ranked| {
                let impact = ranked.finding.impact;
                let estimate = impact.map_or("not quantifiable", |impact| impact.estimate.key());
                [
                    ranked.number.to_string(),
                    ranked.finding.title.clone(),
                    dash(impact, |impact| format::time_ns(impact.low_ns)),
                    dash(impact, |impact| format::time_ns(impact.mid_ns)),
                    dash(impact, |impact| format::time_ns(impact.high_ns)),
                    estimate.to_owned(),
                ]
            });
            document.rows(
                [">Rank", "Finding", ">Low", ">Middle", ">High", "Estimate"],
                rows,
            );
            document.or_text("No findings.");
        }),
        part("Reproducers", |document| {
            let replays = findings.ranked.iter();
            let replays = replays.filter(|ranked| ranked.finding.replay.is_some());
            document.text(&format!(
                "{} with a reproducer recommended or offered; it holds operator names, shapes, types \
                 and scalars, and nothing else of the model.",
                format::counted(replays.count() as u64, "finding")
            ));
        }),
    ]
}

fn count(n: usize) -> String {
    format::count(n as u64)
}

/// Top operations by arguments, with what bounds them.
fn bounds(source: &Source) -> DocTable {
    let options = &source.report.options;
    let gpu = options.gpu.as_deref();
    let input = source.report.analysis_input(source.profile);
    let operations = source.report.operations(source.profile).take(6);
    let rows = operations.map(|(operation, judged)| {
        let intensity = judged.work.and_then(|work| work.flops_per_byte());
        let ridge = judged.work.zip(gpu).and_then(|(work, gpu)| {
            let (tflops, _) = peak_tflops(work.compute?, gpu, options.basis)?;
            Some(tflops * 1e3 / gpu.mem_bw_gbps)
        });
        let bound = match (judged.roof, gpu) {
            (Some(roof), _) => roof.bound.label().to_owned(),
            (None, Some(_)) => "–".to_owned(),
            (None, None) => dash(intensity, likely_bound),
        };
        let shapes = Some(shapes(&input, operation)).filter(|shapes| !shapes.is_empty());
        [
            code(operation.short_name(source.profile), 60),
            text(dash(shapes, |shapes| shapes)),
            text(format::time_ns(operation.kernel_ns)),
            text(source.of_compute(operation.kernel_ns)),
            text(dash(intensity, format::number)),
            text(dash(ridge, format::number)),
            text(bound),
            text(percent(
                judged.achieved.map(|achieved| achieved.roof_percent),
            )),
        ]
    });
    #[rustfmt::skip]
    let heads = ["Operation", "Shapes", ">Time", ">% of compute", ">FLOPS/Byte", ">Ridge", "Bound", ">% roofline"];
    DocTable::of(heads, rows)
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
        if judged.work.is_some_and(|work| work.bytes.is_some()) {
            with_ns = with_ns.saturating_add(ns);
            continue;
        }
        let name = operation.short_name(source.profile);
        match without.iter_mut().find(|(known, _)| *known == name) {
            Some((_, all)) => *all = all.saturating_add(ns),
            None => without.push((name, ns)),
        }
    }
    let all_ns = with_ns.saturating_add(sum(without.iter().map(|(_, ns)| *ns)));
    if all_ns == 0 {
        document.text(&match source.profile.has_gpu_events() {
            true => "No operation has GPU time.".to_owned(),
            false => source.not_analyzed(),
        });
        return;
    }
    document.text(&format!(
        "{} of kernel time has a FLOP/byte model.",
        share(with_ns, Some(all_ns))
    ));
    without.arrange_by_key(|(_, ns)| std::cmp::Reverse(*ns));
    let rows = without.into_iter().take(10);
    let rows = rows.map(|(name, ns)| [code(name, 80), text(format::time_ns(ns))]);
    document.rows(["Without a model", ">Time"], rows);
}

/// The first rows of the sheets, and the figures of each analysis.
pub(super) fn raw(source: &Source) -> Vec<Part> {
    let mut parts = Vec::new();
    if !source.profile.has_gpu_events() {
        parts.push(part("", |document| {
            let why = source.not_analyzed();
            document.text(&format!("{why} CPU times are in the sheets."));
        }));
    }
    let sheets = ["ops_summary", "unified_perf_summary", "kernel_summary"];
    let sheets = sheets.map(|name| source.report.sheet(source.profile, name));
    parts.extend(sheets.into_iter().flatten().map(|sheet| {
        let rows = rows_of(Some(sheet));
        (sheet.name.to_owned(), rows)
    }));
    let outcomes = source.report.analyses.outcomes.iter();
    let done =
        outcomes.filter(|outcome| outcome.status == Status::Done && !outcome.facts.is_empty());
    parts.extend(done.map(|outcome| {
        let title = format!("Figures of {}", outcome.kind.title);
        part(title, |document| document.table(figures(&outcome.facts)))
    }));
    parts
}

/// Columns that would be wider than a page.
const WIDE: [&str; 6] = [
    "kernel_details_summary",
    "trunc_kernel_details",
    "process_label",
    "process_name",
    "thread_name",
    "Input Strides",
];

/// The first rows of a sheet, as a table that fits a page; all are in the sheet.
fn rows_of(sheet: Option<&Sheet>) -> Document {
    const MAX_ROWS: usize = 15;
    /// Longer texts are cut in the middle.
    const MAX_CHARS: usize = 48;
    const MAX_COLUMNS: usize = 12;
    let mut document = Document::default();
    let Some(sheet) = sheet else {
        return document;
    };
    let columns = sheet.columns.iter().enumerate();
    let columns = columns.filter(|(_, column)| !WIDE.contains(&column.label));
    let columns: Vec<_> = columns.take(MAX_COLUMNS).collect();
    let is_number = |unit: Unit| !matches!(unit, Unit::Text | Unit::Flag);
    let cell = |cell: &Cell| -> Line {
        match cell {
            Cell::Empty => text("–"),
            Cell::Text(text) => code(text, MAX_CHARS),
            Cell::Int(number) => text(number.to_string()),
            Cell::Float(number) => text(format::number(*number)),
            Cell::Flag(flag) => text(if *flag { "yes" } else { "no" }),
        }
    };
    let row = |row: &Vec<Cell>| {
        let cells = columns.iter().filter_map(|(at, _)| row.get(*at));
        cells.map(cell).collect()
    };
    document.table(DocTable {
        columns: columns
            .iter()
            .map(|(_, column)| (column.label.to_owned(), is_number(column.unit)))
            .collect(),
        rows: sheet.rows.iter().take(MAX_ROWS).map(row).collect(),
    });
    document.texts(more(sheet.rows.len(), MAX_ROWS, "in the sheet"));
    document
}

/// Where the operations that matter stand in the call tree.
pub(super) fn places(source: &Source) -> Vec<Part> {
    /// Operations whose place is shown.
    const N_PLACES: usize = 5;
    let findings = source.report.analyses.findings.ranked.iter();
    let firsts = findings.filter_map(|ranked| ranked.finding.operations.first().copied());
    let mut shown: Vec<usize> = Vec::new();
    for at in firsts.chain(0..source.profile.operations().len()) {
        if shown.len() < N_PLACES && !shown.contains(&at) {
            shown.push(at);
        }
    }
    let of_operation = |at| places::of(source.profile, at);
    let (places, measure): (Vec<Place>, _) = match source.profile.has_gpu_events() {
        true => (
            shown.into_iter().filter_map(of_operation).collect(),
            Measure::Gpu,
        ),
        false => (places::of_host_ops(source.profile, N_PLACES), Measure::Host),
    };
    let mut parts: Vec<Part> = places.iter().map(|place| in_tree(place, measure)).collect();
    if parts.is_empty() {
        parts.push(part("", |document| {
            document
                .text("No operation has a place in the call tree: no CPU activity was recorded.");
        }));
    }
    parts
}

/// The place of an operation, with times of kernels or of the CPU.
fn in_tree(place: &Place, measure: Measure) -> Part {
    // The name of the trace is quoted, so it stands below the heading.
    part(format!("Operation of event {}", place.uid), |document| {
        let mut line = code(&place.name, 60);
        line.push(Span::Text(", called by ".to_owned()));
        for (at, parent) in place.parents.iter().enumerate() {
            if at > 0 {
                line.push(Span::Text(" ← ".to_owned()));
            }
            line.extend(code(parent, 60));
        }
        if place.parents.is_empty() {
            line.push(Span::Text("nothing: it is outermost".to_owned()));
        }
        document.blocks.push(Block::Text(line));
        let head = match measure {
            Measure::Gpu => ">Kernel time",
            Measure::Host => ">CPU time",
        };
        let rows = place.subtree.iter().map(|node| {
            let ns = match measure {
                Measure::Gpu => node.kernel_ns,
                Measure::Host => node.host_ns,
            };
            let mut name = text("\u{2003}".repeat(node.depth));
            name.extend(code(&node.name, 60));
            [name, text(node.shapes.clone()), text(format::time_ns(ns))]
        });
        document.rows(["Calls", "Shapes", head], rows);
    })
}

/// What this trace does not let one analyze.
pub(super) fn gaps(source: &Source) -> Document {
    let profile = source.profile;
    let has_gpu = profile.has_gpu_events();
    let mut items: Vec<String> = Vec::new();
    let mut say = |is_so: bool, text: &str| {
        if is_so {
            items.push(text.to_owned());
        }
    };
    let why = profile.without_gpu().trim_end_matches('.').to_owned();
    say(
        !has_gpu,
        &format!("{why}: no kernel is known, and no GPU activity is analyzed."),
    );
    say(
        !profile.has_host_ops(),
        "No operators were recorded: kernels are told apart by their names.",
    );
    say(
        !profile.has_python_frames(),
        "No Python frames were recorded: modules and lines of code are not known (`with_stack=True` records them).",
    );
    say(
        has_gpu && source.report.overview.hardware.gpu.is_none(),
        "No GPU profile: efficiencies are not known.",
    );
    let operations = profile.operations().iter();
    let without_shapes = operations
        .filter(|operation| operation.is_linked && operation.key.args.is_none())
        .count() as u64;
    say(
        without_shapes > 0,
        &format!(
            "{} without recorded shapes: FLOPs and bytes unknown (`record_shapes=True` records them).",
            format::counted(without_shapes, "operation")
        ),
    );
    let unlinked = profile.launches.n_unlinked();
    let some = match unlinked {
        1 => "1 kernel or copy has".to_owned(),
        n => format!("{} kernels and copies have", format::count(n)),
    };
    say(unlinked > 0, &format!("{some} no known launching call."));
    let mut absent = Vec::new();
    for outcome in &source.report.analyses.outcomes {
        let kind = outcome.kind;
        match &outcome.status {
            Status::NoData if !has_gpu => {}
            Status::NoData if kind.tier == Tier::Compute => absent.push(kind.subject),
            Status::NoData => items.push(format!("No {} in this trace.", kind.subject)),
            Status::Error(why) => items.push(format!("{} failed: {why}", kind.title)),
            Status::Done => items.extend(outcome.notes.iter().cloned()),
        }
    }
    if !absent.is_empty() {
        items.push(format!(
            "Without operations of their own in this trace: {}.",
            absent.join(", ")
        ));
    }
    items.push(
        "Never visible in a trace: memory bank conflicts, memory access patterns, cache hits, \
         resident waves, and why a kernel is slow. A reproducer under a hardware profiler shows \
         them."
            .to_owned(),
    );
    let mut document = Document::default();
    document.bullets(items);
    document
}

/// What somebody with the model at hand can answer.
pub(super) fn questions(source: &Source) -> Vec<String> {
    let mut items: Vec<String> = Vec::new();
    for ranked in source.report.analyses.findings.ranked.iter().take(5) {
        let question = match (ranked.analysis.tier, ranked.finding.impact) {
            (Tier::System, _) => {
                "is the waiting inherent to the workload, or a matter of how it is run?"
            }
            (Tier::Fusion, _) => "may the module be replaced by a fused one, or compiled?",
            (Tier::Compute, None) => "how many FLOPs and bytes? A custom perf model answers that.",
            (Tier::Compute, Some(_)) if ranked.finding.replay.is_some() => {
                "does the reproducer show the same time outside the model?"
            }
            (Tier::Compute, Some(_)) => "which part of it does the model need?",
        };
        let (number, title) = (ranked.number, &ranked.finding.title);
        items.push(format!("P{number} ({title}): {question}"));
    }
    if source.model.model.value.is_none() {
        items.push(match source.profile.has_python_frames() {
            true => "Which model is it? Neither modules nor operators tell.".to_owned(),
            false => "Which model is it? Recording Python frames tells.".to_owned(),
        });
    }
    let has_gpu = source.profile.has_gpu_events();
    if has_gpu && source.report.overview.hardware.gpu.is_none() {
        items.push("Which GPU is it? Choosing its profile gives efficiencies.".to_owned());
    }
    items
}
