//! The working notes (`…_rough.md`): every step of the analysis with its result, the first rows of the sheets,
//! positions in the call tree, and open questions.

use super::details::{name_of, shapes_of};
use super::{Input, percent, share};
use crate::assess::Evaluation;
use crate::base::format;
use crate::base::interval::sum;
use crate::base::sort::Arrange;
use crate::findings::{Finding, Impact, Status, Tier};
use crate::hardware::roofline::peak_tflops;
use crate::output::documents::parts::{figures, more};
use crate::output::documents::{Part, part};
use crate::output::markup::{Block, DocTable, Document, Line, Span, code, dash, line, text};
use crate::profile::gpu::unattributed::Unattributed;
use crate::report::overview::Measure;
use crate::report::places::{self, Place, PlaceNode};
use crate::report::sheet::{Cell, Column, Sheet, Unit};

pub(super) fn steps(source: &Input) -> Vec<Part> {
    vec![
        part("Performance report", |document| sheets(document, source)),
        part("GPU utilization", |document| utilization(document, source)),
        part("Top operations", |document| {
            top_operations(document, source)
        }),
        part("Each top operation", |document| {
            say_of_gpu(
                document,
                source,
                "Shapes, counts, FLOPs, bytes and rates of each are in the sheet of operations by \
                 arguments; its first rows are below, under Raw Data Exploration.",
            );
        }),
        part("Call stacks", |document| {
            document.text(match source.profile.has_python_frames() {
                true => {
                    "Python frames were recorded: parent chains below name modules and functions."
                }
                false => "No Python frames were recorded: parent chains below end at operators.",
            });
        }),
        part("Performance models", |document| models(document, source)),
        part("Optimization paths", |document| {
            let findings = &source.report.analyses.findings;
            document.text(&format!(
                "{}, each with what to change in the model and in the kernel; {} too small to show.",
                format::counted(findings.ranked.len() as u64, "finding"),
                format::count(findings.n_small as u64)
            ));
        }),
        part("Impact", |document| impacts(document, source)),
        part("Reproducers", |document| {
            let replays = source.report.analyses.findings.ranked.iter();
            let replays = replays.filter(|ranked| ranked.finding.replay.is_some());
            document.text(&format!(
                "{} with a reproducer recommended or offered; it holds operator names, shapes, types \
                 and scalars, and nothing else of the model.",
                format::counted(replays.count() as u64, "finding")
            ));
        }),
    ]
}

/// A text about GPU activity; without any, why nothing was analyzed.
fn say_of_gpu(document: &mut Document, source: &Input, text: &str) {
    match source.profile.has_gpu_events() {
        true => document.text(text),
        false => document.text(&source.not_analyzed()),
    };
}

/// What was read, and the sheets that were made.
fn sheets(document: &mut Document, source: &Input) {
    let (profile, report) = (source.profile, source.report);
    let events = format::counted(profile.trace.n_events_read, "event");
    let sheets = format::counted(report.sheets(profile).len() as u64, "sheet");
    let bytes = format::bytes(profile.recording.text_bytes);
    document.text(&format!("{events} of {bytes} read; {sheets}."));
    document.table(
        DocTable::of(report.sheets(profile))
            .line("Sheet", |sheet| code(sheet.name, 80))
            .count(">Rows", |sheet| sheet.rows.len()),
    );
}

fn utilization(document: &mut Document, source: &Input) {
    document.text(&source.report.overview.headline);
    document.append(rows_of(source.report.sheet(source.profile, "gpu_timeline")));
    let counts_unattributed = source
        .report
        .options
        .sheet_events
        .counts(source.profile, false);
    if !counts_unattributed && Unattributed::of(source.profile).all.count > 0 {
        document.text(
            "This sheet only counts GPU activity of known launching calls; the sheet \
             `gpu_activity` has all of it.",
        );
    }
    if source.profile.recompute.is_some() {
        document.text(
            "Recomputed activations have rows of their own. Each half is analyzed as if \
             the other did not run, so its idle and exposed shares are larger than those \
             of the whole.",
        );
    }
}

fn top_operations(document: &mut Document, source: &Input) {
    let bound = match source.report.options.gpu {
        Some(_) => {
            "Its FLOPs per byte, compared with the ridge point of the GPU, show whether it is compute-bound or memory-bound."
        }
        None => {
            "Without a GPU profile FLOPS/Byte alone suggests what bounds it: above 200 \
             likely compute, above 100 rather compute, below 50 likely memory."
        }
    };
    let text = "Each operation by its arguments, with the kernels of what it calls.";
    say_of_gpu(document, source, &format!("{text} {bound}"));
    document.table(bounds(source));
}

fn impacts(document: &mut Document, source: &Input) {
    let findings = source.report.analyses.findings.ranked.iter();
    let findings = findings.map(|one| (one.number, &one.finding));
    let saves =
        |finding: &Finding, end: fn(Impact) -> i64| dash(finding.impact.map(end), format::time_ns);
    let estimate = |finding: &Finding| match (finding.impact, finding.memory_bytes) {
        (Some(impact), _) => impact.estimate.key().to_owned(),
        (None, Some(bytes)) => format!("{} of memory", format::bytes(bytes)),
        (None, None) if finding.saves_nothing => "no savings".to_owned(),
        (None, None) => "not quantifiable".to_owned(),
    };
    document.table(
        DocTable::of(findings)
            .text(">Rank", |(number, _)| number.to_string())
            .line("Finding", |(_, one)| line(&one.title))
            .line(">Low", |(_, one)| saves(one, |impact| impact.low_ns))
            .line(">Middle", |(_, one)| saves(one, |impact| impact.mid_ns))
            .line(">High", |(_, one)| saves(one, |impact| impact.high_ns))
            .text("Estimate", |(_, one)| estimate(one)),
    );
    document.or_text("No findings.");
}

/// Top operations by arguments, with what bounds them.
fn bounds(source: &Input) -> DocTable {
    let options = &source.report.options;
    let gpu = options.gpu.as_deref();
    let input = source.report.analysis_input(source.profile);
    let operations = source.report.operations(source.profile).take(6);
    let intensity = |evaluation: &Evaluation| evaluation.work?.flops_per_byte();
    let ridge = |evaluation: &Evaluation| {
        let (tflops, _) = peak_tflops(evaluation.work?.compute?, gpu?, options.basis)?;
        Some(tflops * 1e3 / gpu?.mem_bw_gbps)
    };
    let bound = |evaluation: &Evaluation| match (evaluation.roofline, gpu) {
        (Some(roofline), _) => text(roofline.bound.label()),
        (None, Some(_)) => text("–"),
        (None, None) => dash(intensity(evaluation), likely_bound),
    };
    let roofline = |evaluation: &Evaluation| {
        percent(
            evaluation
                .achieved
                .map(|achieved| achieved.percent_of_roofline),
        )
    };
    DocTable::of(operations)
        .line("Operation", |(one, _)| code(&name_of(source, one), 60))
        .line("Shapes", |(one, _)| shapes_of(&input, one))
        .time(">Time", |(one, _)| one.kernel_ns)
        .text(">% of compute", |(one, _)| source.of_compute(one.kernel_ns))
        .line(">FLOPS/Byte", |(_, evaluation)| {
            dash(intensity(evaluation), format::number)
        })
        .line(">Ridge", |(_, evaluation)| {
            dash(ridge(evaluation), format::number)
        })
        .line("Bound", |(_, evaluation)| bound(evaluation))
        .text(">% roofline", |(_, evaluation)| roofline(evaluation))
        .into()
}

/// What probably bounds an operation on any current GPU, judged by intensity alone.
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

fn models(document: &mut Document, source: &Input) {
    let (mut with_ns, mut without): (i64, Vec<(&str, i64)>) = (0, Vec::new());
    for (operation, evaluation) in source.report.operations(source.profile) {
        let ns = operation.kernel_ns;
        if evaluation.work.is_some_and(|work| work.bytes.is_some()) {
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
    let share = share(with_ns, Some(all_ns));
    document.text(&format!("{share} of kernel time has a FLOP/byte model."));
    without.arrange_by_largest(|(_, ns)| *ns);
    document.table(
        DocTable::of(without.into_iter().take(10))
            .line("Without a model", |(name, _)| {
                code(&format::kernel_name(name), 80)
            })
            .time(">Time", |(_, ns)| *ns),
    );
}

/// The first rows of the sheets, and the figures of each analysis.
pub(super) fn raw(source: &Input) -> Vec<Part> {
    let mut parts = Vec::new();
    if !source.profile.has_gpu_events() {
        parts.push(part("", |document| {
            let why = source.not_analyzed();
            document.text(&format!("{why} CPU times are in the sheets."));
        }));
    }
    let sheets = ["ops_summary", "unified_perf_summary", "kernel_summary"];
    let sheets = sheets.map(|name| source.report.sheet(source.profile, name));
    let sheets = sheets.into_iter().flatten();
    parts.extend(sheets.map(|sheet| (sheet.name.to_owned(), rows_of(Some(sheet)))));
    let outcomes = source.report.analyses.outcomes.iter();
    let done =
        outcomes.filter(|outcome| outcome.status == Status::Done && !outcome.facts.is_empty());
    parts.extend(done.map(|outcome| {
        let title = format!("Figures of {}", outcome.kind.title);
        part(title, |document| document.table(figures(&outcome.facts)))
    }));
    parts
}

const WIDE: [&str; 6] = [
    "kernel_details_summary",
    "trunc_kernel_details",
    "process_label",
    "process_name",
    "thread_name",
    "Input Strides",
];

/// The first rows of a sheet, as a table that fits on a page; the sheet has all rows.
fn rows_of(sheet: Option<&Sheet>) -> Document {
    const MAX_ROWS: usize = 15;
    /// Longer texts are shortened in the middle.
    const MAX_CHARS: usize = 48;
    const MAX_COLUMNS: usize = 12;
    let mut document = Document::default();
    let Some(sheet) = sheet else {
        return document;
    };
    let columns = sheet.columns.iter().enumerate();
    let columns = columns.filter(|(_, column)| !WIDE.contains(&column.label));
    let columns: Vec<_> = columns.take(MAX_COLUMNS).collect();
    let cell = |cell: &Cell| match cell {
        Cell::Empty => text("–"),
        Cell::Text(text) => code(text, MAX_CHARS),
        Cell::Int(number) => text(number.to_string()),
        Cell::Float(number) => text(format::number(*number)),
        Cell::Flag(flag) => text(if *flag { "yes" } else { "no" }),
    };
    let row = |row: &Vec<Cell>| {
        let cells = columns.iter().filter_map(|(at, _)| row.get(*at));
        cells.map(cell).collect()
    };
    let head = |column: &Column| {
        let is_number = !matches!(column.unit, Unit::Text | Unit::Flag);
        (column.label.to_owned(), is_number)
    };
    document.table(DocTable {
        columns: columns.iter().map(|(_, column)| head(column)).collect(),
        rows: sheet.rows.iter().take(MAX_ROWS).map(row).collect(),
    });
    document.texts(more(sheet.rows.len(), MAX_ROWS, "in the sheet"));
    document
}

/// The positions of the most important operations in the call tree.
pub(super) fn places(source: &Input) -> Vec<Part> {
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
        false => (places::of_cpu_ops(source.profile, N_PLACES), Measure::Cpu),
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

/// The position of an operation, with kernel times or CPU times.
fn in_tree(place: &Place, measure: Measure) -> Part {
    // A name from the trace has to be quoted, so it is below the heading.
    part(format!("Operation of event {}", place.uid), |document| {
        let parents = place.parents.iter().map(|parent| code(parent, 60));
        let parents: Vec<Line> = parents.collect();
        let callers = match parents.is_empty() {
            true => text("nothing: it is outermost"),
            false => parents.join(&Span::Text(" ← ".to_owned())),
        };
        let called = [code(&place.name, 60), text(", called by "), callers];
        document.blocks.push(Block::Text(called.concat()));
        let name = |node: &PlaceNode| {
            let indent = text("\u{2003}".repeat(node.depth));
            [indent, code(&node.name, 60)].concat()
        };
        let (head, ns): (&str, fn(&PlaceNode) -> i64) = match measure {
            Measure::Gpu => (">Kernel time", |node| node.kernel_ns),
            Measure::Cpu => (">CPU time", |node| node.cpu_ns),
        };
        document.table(
            DocTable::of(&place.subtree)
                .line("Calls", |node| name(node))
                .text("Shapes", |node| node.shapes.as_str())
                .time(head, |node| ns(node)),
        );
    })
}

/// What cannot be analyzed with this trace.
pub(super) fn gaps(source: &Input) -> Document {
    let profile = source.profile;
    let has_gpu = profile.has_gpu_events();
    let why = profile.without_gpu().trim_end_matches('.');
    let operations = profile.operations().iter();
    let shapeless = operations.filter(|one| one.is_linked && one.key.args.is_none());
    let shapeless = shapeless.count() as u64;
    let shapeless_operations = format::counted(shapeless, "operation");
    let unlinked = profile.launches.n_unlinked();
    let unlinked_work = match unlinked {
        1 => "1 kernel or copy has".to_owned(),
        n => format!("{} kernels and copies have", format::count(n)),
    };
    let without_gpu_profile = source.report.overview.hardware.gpu.is_none();
    let missing = [
        (!has_gpu, format!("{why}: no kernel is known, and no GPU activity is analyzed.")),
        (!profile.has_cpu_ops(), "No operators were recorded: kernels are told apart by their names.".to_owned()),
        (!profile.has_python_frames(), "No Python frames were recorded: modules and lines of code are not known (`with_stack=True` records them).".to_owned()),
        (has_gpu && without_gpu_profile, "No GPU profile: efficiencies are not known.".to_owned()),
        (shapeless > 0, format!("{shapeless_operations} without recorded shapes: FLOPs and bytes unknown (`record_shapes=True` records them).")),
        (unlinked > 0, format!("{unlinked_work} no known launching call.")),
    ];
    let missing = missing.into_iter().filter(|(is_missing, _)| *is_missing);
    let mut items: Vec<String> = missing.map(|(_, text)| text).collect();
    let mut absent = Vec::new();
    for outcome in &source.report.analyses.outcomes {
        let kind = outcome.kind;
        match outcome.status {
            Status::NoData if !has_gpu => {}
            Status::NoData if kind.tier == Tier::Compute => absent.push(kind.subject),
            Status::NoData => items.push(format!("No {} in this trace.", kind.subject)),
            Status::Done => items.extend(outcome.note_texts().map(str::to_owned)),
        }
    }
    if !absent.is_empty() {
        let absent = absent.join(", ");
        items.push(format!(
            "Without operations of their own in this trace: {absent}."
        ));
    }
    items.push(
        "Never visible in a trace: memory bank conflicts, memory access patterns, cache hits, \
         resident waves, and why a kernel is slow. A reproducer under a hardware profiler shows \
         them."
            .to_owned(),
    );
    let mut document = Document::default();
    document.bullets(items.iter().map(|item| line(item)));
    document
}

/// Questions that somebody who knows the model can answer.
pub(super) fn questions(source: &Input) -> Vec<String> {
    let mut items: Vec<String> = Vec::new();
    for ranked in source.report.analyses.findings.ranked.iter().take(5) {
        let question = match (ranked.analysis.tier, ranked.finding.impact) {
            (Tier::System, None) if ranked.finding.memory_bytes.is_some() => {
                "is memory what limits the batch size or the sequence length?"
            }
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
    if source.profile.model_info().model.value.is_none() {
        items.push(match source.profile.has_python_frames() {
            true => "Which model is it? Neither modules nor operators show it.".to_owned(),
            false => "Which model is it? Python frames would show it.".to_owned(),
        });
    }
    let has_gpu = source.profile.has_gpu_events();
    if has_gpu && source.report.overview.hardware.gpu.is_none() {
        items.push("Which GPU is it? Choosing its profile gives efficiencies.".to_owned());
    }
    items
}
