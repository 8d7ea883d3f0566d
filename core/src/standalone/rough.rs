//! The rough document: every step of the analysis with what it gave, for those who check.

use super::Source;
use super::check::{Check, Verdict};
use super::tree_data::{self, TreeData};
use super::words::{more, not_analysed, percent, share};
use crate::analysis::{Status, Tier};
use crate::document::{DocTable, Document, Span, line};
use crate::format;
use crate::report::overview::Measure;
use crate::report::sheet::{Cell, Sheet, Unit};
use crate::sort::Arrange;

/// Rows of a sheet that are copied here; all are in the sheet.
const SHEET_ROWS: usize = 15;
/// Operations whose place in the call tree is shown.
const N_TREES: usize = 5;

/// All but what checks say, which need the document; up to their heading.
pub(super) fn notes(source: &Source) -> Document {
    let mut document = Document::new(&format!("{} (Rough)", source.title()));
    source.say_window(&mut document);
    document.heading(2, "Analysis Process Summary");
    steps(&mut document, source);
    document.heading(2, "Raw Data Exploration");
    raw(&mut document, source);
    document.heading(2, "Tree Analysis");
    trees(&mut document, source);
    document.heading(2, "Analysis Gaps");
    gaps(&mut document, source);
    document.heading(2, "Questions for Further Investigation");
    questions(&mut document, source);
    document.heading(2, "Checks");
    document
}

/// What checks say, in a table.
pub(super) fn checks(document: &mut Document, checks: &[Check]) {
    document.text(
        "The documents and the findings files, read again and held against what they were written \
         from.",
    );
    document.table(checks_table(checks));
}

/// What holds, and what does not.
pub(crate) fn checks_table(checks: &[Check]) -> DocTable {
    let mut table = DocTable::new(&["Check", "What it holds", "Result"]);
    for check in checks {
        let result = match &check.verdict {
            Verdict::Pass => "pass".to_owned(),
            Verdict::Fail(where_) => format!("FAIL: {where_}"),
            Verdict::NotApplicable(why) => format!("not applicable: {why}"),
        };
        table.row(&[check.id, check.what, &result]);
    }
    table
}

fn steps(document: &mut Document, source: &Source) {
    let (profile, report) = (source.profile, source.report);
    let overview = &report.overview;
    let findings = &report.analyses.findings;

    let no_gpu = not_analysed(profile);

    document.heading(3, "Step 1: Performance report");
    document.text(&format!(
        "{} of {} read; {}.",
        format::counted(profile.trace.n_events_read, "event"),
        format::bytes(profile.text_bytes),
        format::counted(report.sheets.len() as u64, "sheet")
    ));
    let mut table = DocTable::new(&["Sheet", ">Rows"]);
    for sheet in &report.sheets {
        table.row(&[
            &format!("`{}`", sheet.name),
            &format::count(sheet.rows.len() as u64),
        ]);
    }
    document.table(table);

    document.heading(3, "Step 2: GPU utilisation");
    document.text(&overview.headline);
    sheet(document, report.sheet("gpu_timeline"), SHEET_ROWS);
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
            "By the kernels that an operation launches itself; FLOPS/Byte against the ridge of the \
             GPU tells what bounds it."
        }
        None => {
            "By the kernels that an operation launches itself. Without a GPU profile FLOPS/Byte \
             alone suggests what bounds it: above 200 likely, above 100 rather arithmetic, below \
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
    document.table(table);

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
        ">Time",
        ">% of compute",
        ">FLOPS/Byte",
        ">Ridge",
        "Bound",
        ">Of the roof",
    ]);
    let options = &source.report.options;
    let compute_ns = source.report.timelines.compute_ns();
    for (operation, judged) in source.report.operations(source.profile).take(6) {
        let work = judged.work;
        let ridge = work.and_then(|work| {
            let (tflops, _) = crate::roofline::peak_tflops(
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

fn raw(document: &mut Document, source: &Source) {
    if !source.profile.has_gpu_events() {
        document.text(&format!(
            "{} What was recorded of the host is in the sheets.",
            not_analysed(source.profile)
        ));
    }
    for name in ["ops_summary", "unified_perf_summary", "kernel_summary"] {
        if let Some(found) = source.report.sheet(name) {
            document.heading(3, name);
            sheet(document, Some(found), SHEET_ROWS);
        }
    }
    for outcome in &source.report.analyses.outcomes {
        if outcome.status == Status::Done && !outcome.facts.is_empty() {
            document.heading(3, &format!("Figures of {}", outcome.kind.title));
            let mut table = DocTable::new(&["Figure", ">Value"]);
            for fact in &outcome.facts {
                table.rows.push(vec![
                    vec![Span::Text(fact.label.to_owned())],
                    crate::document::cell(&fact.value),
                ]);
            }
            document.table(table);
        }
    }
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

/// The first rows of a sheet.
fn sheet(document: &mut Document, sheet: Option<&Sheet>, max_rows: usize) {
    /// Longer texts are cut in the middle.
    const MAX_CHARS: usize = 48;
    /// More columns than this are in the sheet.
    const MAX_COLUMNS: usize = 12;
    let Some(sheet) = sheet else {
        return;
    };
    let columns: Vec<usize> = (0..sheet.columns.len())
        .filter(|at| {
            let column = sheet.columns.get(*at);
            column.is_some_and(|column| !WIDE.contains(&column.label))
        })
        .take(MAX_COLUMNS)
        .collect();
    let mut table = DocTable::default();
    for at in &columns {
        if let Some(column) = sheet.columns.get(*at) {
            let is_number = !matches!(column.unit, Unit::Text | Unit::Flag);
            table.columns.push((column.label.to_owned(), is_number));
        }
    }
    for row in sheet.rows.iter().take(max_rows) {
        let cell = |cell: &Cell| match cell {
            Cell::Empty => Span::Text("–".to_owned()),
            Cell::Text(text) => Span::Code(format::middle_ellipsis(text, MAX_CHARS)),
            Cell::Int(number) => Span::Text(number.to_string()),
            Cell::Float(number) => Span::Text(format::number(*number)),
            Cell::Flag(flag) => Span::Text(if *flag { "yes" } else { "no" }.to_owned()),
        };
        let cells = columns.iter().filter_map(|at| row.get(*at));
        table
            .rows
            .push(cells.map(|value| vec![cell(value)]).collect());
    }
    document.table(table);
    if sheet.rows.len() > max_rows {
        document.text(&more(sheet.rows.len() - max_rows, "in the sheet"));
    }
}

fn trees(document: &mut Document, source: &Source) {
    let operations = source.profile.operations();
    let mut shown: Vec<usize> = Vec::new();
    for ranked in &source.report.analyses.findings.ranked {
        if let Some(first) = ranked.finding.operations.first()
            && !shown.contains(first)
        {
            shown.push(*first);
        }
    }
    for (at, _) in operations.iter().enumerate() {
        if shown.len() < N_TREES && !shown.contains(&at) {
            shown.push(at);
        }
    }
    shown.truncate(N_TREES);
    let of_operation = |at| tree_data::of(source.profile, at);
    let (places, measure) = match source.profile.has_gpu_events() {
        true => (
            shown.into_iter().filter_map(of_operation).collect(),
            Measure::Gpu,
        ),
        false => (
            tree_data::of_host_ops(source.profile, N_TREES),
            Measure::Host,
        ),
    };
    for data in &places {
        tree(document, data, measure);
    }
    if places.is_empty() {
        document.text("No operation has a place in the call tree: no host activity was recorded.");
    }
}

/// The place of an operation, with times of kernels or of the host.
fn tree(document: &mut Document, data: &TreeData, measure: Measure) {
    // The name of the trace is quoted, so it stands below the heading.
    document.heading(3, &format!("Operation of event {}", data.uid));
    let mut chain = Vec::new();
    for parent in &data.parents {
        if !chain.is_empty() {
            chain.push(Span::Text(" ← ".to_owned()));
        }
        chain.push(Span::Code(format::middle_ellipsis(parent, 60)));
    }
    if chain.is_empty() {
        chain.push(Span::Text("nothing: it is outermost".to_owned()));
    }
    let mut parents = vec![
        Span::Code(format::middle_ellipsis(&data.name, 60)),
        Span::Text(", called by ".to_owned()),
    ];
    parents.extend(chain);
    document.blocks.push(crate::document::Block::Text(parents));
    let head = match measure {
        Measure::Gpu => ">Kernel time",
        Measure::Host => ">Time on the host",
    };
    let mut table = DocTable::new(&["Below it", "Shapes", head]);
    for node in &data.subtree {
        let ns = match measure {
            Measure::Gpu => node.kernel_ns,
            Measure::Host => node.host_ns,
        };
        let indent = "\u{2003}".repeat(node.depth);
        table.rows.push(vec![
            vec![
                Span::Text(indent),
                Span::Code(format::middle_ellipsis(&node.name, 60)),
            ],
            vec![Span::Text(node.shapes.clone())],
            vec![Span::Text(format::time_ns(ns))],
        ]);
    }
    document.table(table);
}

/// What this trace does not let one analyse.
fn gaps(document: &mut Document, source: &Source) {
    let profile = source.profile;
    let mut items: Vec<String> = Vec::new();
    if !profile.has_gpu_events() {
        let why = profile.without_gpu().trim_end_matches('.');
        items.push(format!(
            "{why}: nothing is known of kernels, and no kind of work on the GPU is analysed."
        ));
    }
    if !profile.has_host_ops() {
        items.push("No operators were recorded: kernels are told apart by their names.".to_owned());
    }
    if !profile.has_python_frames() {
        items.push("No Python frames were recorded: modules and lines of code are not known (`with_stack=True` records them).".to_owned());
    }
    if profile.has_gpu_events() && source.report.overview.hardware.gpu.is_none() {
        items.push("No GPU profile: distances from the roof are not known.".to_owned());
    }
    let without_shapes = profile
        .operations()
        .iter()
        .filter(|operation| operation.is_linked && operation.key.args.is_none())
        .count();
    if without_shapes > 0 {
        items.push(format!(
            "{} without recorded shapes: their work is not known (`record_shapes=True` records them).",
            format::counted(without_shapes as u64, "operation")
        ));
    }
    let unlinked = profile.launches.n_unlinked();
    if unlinked > 0 {
        let pieces = match unlinked {
            1 => "1 piece of GPU work is".to_owned(),
            n => format!("{} pieces of GPU work are", format::count(n)),
        };
        items.push(format!("{pieces} without a known launching call."));
    }
    let mut absent = Vec::new();
    for outcome in &source.report.analyses.outcomes {
        match &outcome.status {
            Status::NoData if !profile.has_gpu_events() => {}
            Status::NoData if outcome.kind.tier == Tier::Compute => {
                absent.push(outcome.kind.subject);
            }
            Status::NoData => items.push(format!("No {} in this trace.", outcome.kind.subject)),
            Status::Error(why) => items.push(format!("{} failed: {why}", outcome.kind.title)),
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
        "Never visible in a trace: memory bank conflicts, the pattern of memory access, cache hits, \
         how many waves are resident, and why a kernel is slow. A reproducer under a hardware \
         profiler shows them."
            .to_owned(),
    );
    document.bullets(items.iter().map(|item| line(item)).collect());
}

/// What somebody with the model at hand can answer.
fn questions(document: &mut Document, source: &Source) {
    let mut items: Vec<String> = Vec::new();
    let findings = &source.report.analyses.findings.ranked;
    for ranked in findings.iter().take(5) {
        let subject = format!("P{} ({})", ranked.number, ranked.finding.title);
        items.push(match (ranked.analysis.tier, ranked.finding.impact) {
            (Tier::System, _) => format!(
                "{subject}: is the waiting inherent to the workload, or a matter of how it is run?"
            ),
            (Tier::Fusion, _) => {
                format!("{subject}: may the module be replaced by a fused one, or compiled?")
            }
            (Tier::Compute, None) => format!(
                "{subject}: how much work is it? A performance model of your own answers that."
            ),
            (Tier::Compute, Some(_)) if ranked.finding.replay.is_some() => {
                format!("{subject}: does the reproducer show the same time outside the model?")
            }
            (Tier::Compute, Some(_)) => format!("{subject}: what of it does the model need?"),
        });
    }
    if source.model.model.value.is_none() {
        items.push("Which model is it? Recording Python frames tells.".to_owned());
    }
    let has_gpu = source.profile.has_gpu_events();
    if has_gpu && source.report.overview.hardware.gpu.is_none() {
        items.push("Which GPU is it? Choosing its profile gives efficiencies.".to_owned());
    }
    if items.is_empty() {
        document.text("None.");
    }
    document.bullets(items.iter().map(|item| line(item)).collect());
}
