//! The details of a row, as text.

use dormer_core::findings::RankedFinding;
use dormer_core::names::Family;
use dormer_core::output::document::slug;
use dormer_core::report::cards::{Light, detail_heading};
use dormer_core::report::details::{
    Argument, Bin, Caller, KernelUse, Part, Place, Position, Spread, Story, Subject, arguments,
};
use dormer_core::trace::EventId;
use dormer_core::{Profile, Report, base::format};

use super::findings::is_in_tree;
use super::shapes::shapes;
use crate::protocol::{
    DetailsQuery, FactColumn, FactRow, FactTable, FindingLink, OpDetails, OperationLink, PlaceLink,
    SheetRow, SpreadBar, SpreadFacts, StackLine,
};

/// Rows of a table that are shown; the longest come first.
const MAX_ROWS: usize = 12;
/// The share of the roofline that good kernels reach: what it would be worth is told.
const WORTH_PERCENT: f64 = 75.0;

/// The details of a row or an event; `None` where the sheet's rows are nothing that runs on the GPU,
/// and where there is no such event. Its fields are for others to fill in.
pub(super) fn details(
    profile: &Profile,
    report: &Report,
    query: &DetailsQuery,
) -> Option<OpDetails> {
    let subject = match query {
        DetailsQuery::Row { sheet, row } => Subject::of_row(profile, report, sheet, *row as usize)?,
        DetailsQuery::Event(uid) => Subject::of_event(profile, profile.trace.events.by_uid(*uid)?),
    };
    let details = Story::new(profile, report, subject)?;
    let noun = match subject {
        Subject::Kernel(_) => "run",
        _ => "call",
    };
    let arguments = details.args.map(|args| arguments(&profile.trace, args));
    let tables = [
        argument_table(arguments.unwrap_or_default()),
        kernel_table(profile, &details.kernels),
        caller_table(profile, &details.callers),
    ];
    let median = details.median.filter(|_| details.n_instances > 2);
    let places = [("Slowest", details.slowest), ("Median", median)];
    let places = places
        .into_iter()
        .filter_map(|(label, place)| Some(place_link(profile, label, &place?)));
    let operations = details.operations.iter().take(MAX_ROWS);
    let row = subject.row(profile, report);
    Some(OpDetails {
        kind: match subject {
            Subject::Operation(at) if is_kernel(profile, at) => "Kernel",
            Subject::Operation(_) => "Operation",
            Subject::Operator(_) => "Operator",
            Subject::Kernel(_) => "Kernel",
            Subject::Call(_) => "Call",
        }
        .to_owned(),
        token: details.family.token().to_owned(),
        family: details.family.label().to_owned(),
        figures: figures(&details, noun),
        on_roofline: matches!(details.position, Position::Known { .. }),
        row: row.map(|(sheet, row)| SheetRow {
            sheet: sheet.to_owned(),
            row: row as u32,
        }),
        fields: Vec::new(),
        findings: details
            .findings
            .iter()
            .map(|one| finding_link(one))
            .collect(),
        verdict: details.position.verdict(),
        worth: worth(&details),
        places: places.collect(),
        tables: tables.into_iter().flatten().collect(),
        operations: operations
            .filter_map(|part| operation_link(profile, part))
            .collect(),
        stack: details
            .stack
            .iter()
            .map(|frame| StackLine {
                name: frame.name.clone(),
                is_framework: frame.is_framework,
                uid: profile.trace.events.uid(frame.event),
            })
            .collect(),
        spread: details
            .spread
            .map(|spread| spread_facts(&spread, details.n_instances, noun)),
        name: details.name,
    })
}

/// Whether nothing but a kernel's name tells what an operation is.
fn is_kernel(profile: &Profile, at: usize) -> bool {
    let operation = profile.operations().get(at);
    operation.is_some_and(|operation| operation.is_kernel())
}

/// How long, how often, and what that is of the whole.
fn figures(details: &Story, noun: &str) -> Vec<(String, String)> {
    let share = details.percent.map(format::percent);
    let runs = format::counted(details.n_instances, noun);
    let figures = [
        ("GPU time", Some(format::time_ns(details.gpu_ns))),
        ("% of GPU time", share),
        ("Calls", Some(runs)),
    ];
    let figures = figures.into_iter();
    let figures = figures.filter_map(|(label, value)| Some((label.to_owned(), value?)));
    figures.collect()
}

fn finding_link(ranked: &RankedFinding) -> FindingLink {
    FindingLink {
        number: ranked.number,
        light: Light::of(ranked.number).key().to_owned(),
        title: ranked.finding.title.clone(),
        section: slug(&detail_heading(ranked)),
    }
}

/// What the first efficiency that good kernels reach, and this one does not, would be worth. What
/// attention and convolutions can reach depends on their sizes: their findings tell it.
fn worth(details: &Story) -> String {
    if matches!(details.family, Family::Attention | Family::Convolution) {
        return String::new();
    }
    let reached = details.projection.iter().find_map(|one| {
        let outcome = one
            .outcome
            .filter(|_| one.target_percent >= WORTH_PERCENT)?;
        (outcome.0 > 0).then_some((one.target_percent, outcome))
    });
    reached.map_or_else(String::new, |(target, (left_ns, gain))| {
        format!(
            "At {} of roofline it would take {} instead of {}: saves {} of the run.",
            format::percent(target),
            format::time_ns(left_ns),
            format::time_ns(details.gpu_ns),
            format::percent(gain)
        )
    })
}

fn spread_facts(spread: &Spread, n_runs: u64, noun: &str) -> SpreadFacts {
    let mut warning = String::new();
    if spread.is_wide {
        warning = match spread.ratio {
            Some(ratio) => format!(
                "The times vary widely: the longest is {} × the median.",
                format::number(ratio)
            ),
            None => "The times vary widely.".to_owned(),
        };
        if spread.slowest_is_first {
            warning += &format!(" The slowest {noun} is the first: it may be a warm-up.");
        }
    }
    let figures = match n_runs {
        1 => vec![("Only", spread.max_ns)],
        _ => vec![
            ("Shortest", spread.min_ns),
            ("Median", spread.median_ns),
            ("95 % within", spread.p95_ns),
            ("Longest", spread.max_ns),
        ],
    };
    let figure = |(label, ns): (&str, i64)| (label.to_owned(), format::time_ns(ns));
    let tallest = spread.bins.iter().map(|bin| bin.count).max().unwrap_or(0);
    let bar = |bin: &Bin| SpreadBar {
        height: bin.count as f64 / tallest.max(1) as f64,
        label: format!(
            "{} to {}: {}",
            format::time_ns(bin.from_ns),
            format::time_ns(bin.to_ns),
            format::counted(bin.count, noun)
        ),
    };
    let width = |bin: Option<&Bin>| bin.map_or(0, |bin| bin.to_ns - bin.from_ns);
    SpreadFacts {
        n_runs: format::counted(n_runs, noun),
        figures: figures.into_iter().map(figure).collect(),
        warning,
        bars: spread.bins.iter().map(bar).collect(),
        // Equal steps are rounded to nanoseconds, so that one may be some longer than another.
        is_logarithmic: width(spread.bins.last())
            > width(spread.bins.first()).saturating_mul(2) + 2,
    }
}

fn place_link(profile: &Profile, label: &str, place: &Place) -> PlaceLink {
    PlaceLink {
        label: label.to_owned(),
        time: format::time_ns(place.gpu_ns),
        in_tree: in_tree(profile, place.call),
        in_timeline: profile.trace.events.uid(place.work.unwrap_or(place.call)),
    }
}

/// The event, if the tree knows it or what launched it.
fn in_tree(profile: &Profile, event: EventId) -> Option<u32> {
    is_in_tree(profile, event).then(|| profile.trace.events.uid(event))
}

fn operation_link(profile: &Profile, part: &Part) -> Option<OperationLink> {
    let operation = profile.operations().get(part.operation)?;
    Some(OperationLink {
        row: part.operation as u32,
        name: format::kernel_name(operation.short_name(profile)),
        shapes: shapes(profile, operation),
        time: format!(
            "{} in {}",
            format::time_ns(part.gpu_ns),
            format::counted(part.n_calls, "call")
        ),
    })
}

/// What the cells of a column are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CellKind {
    Name,
    Text,
    Number,
}
use CellKind::{Name, Number, Text};

fn argument_table(arguments: Vec<Argument>) -> Option<FactTable> {
    let columns = [
        ("Argument", Number),
        ("Type", Text),
        ("Shape", Text),
        ("Strides", Text),
        ("Value", Name),
    ];
    let rows = arguments
        .into_iter()
        .zip(1..)
        .map(|(argument, number)| FactRow {
            cells: vec![
                format::count(number),
                argument.kind,
                argument.shape,
                argument.strides,
                argument.value,
            ],
            below: String::new(),
            event: None,
        });
    table("Arguments", &columns, rows.collect(), usize::MAX)
}

fn kernel_table(profile: &Profile, kernels: &[KernelUse]) -> Option<FactTable> {
    let columns = [
        ("Kernel", Name),
        ("Count", Number),
        ("GPU time", Number),
        ("Mean", Number),
        ("Library", Text),
        ("Stream", Number),
        ("Grid", Text),
        ("Block", Text),
    ];
    let row = |kernel: &KernelUse| {
        let first = kernel.sizes.first();
        let others = match kernel.sizes.len() {
            0 | 1 => String::new(),
            n => format!(" and {} more", n - 1),
        };
        let streams: Vec<String> = kernel.streams.iter().map(i64::to_string).collect();
        FactRow {
            cells: vec![
                format::kernel_name(profile.trace.strings.get(kernel.name)),
                format::count(kernel.count),
                format::time_ns(kernel.gpu_ns),
                format::time_ns(kernel.mean_ns()),
                kernel
                    .library
                    .map_or("", |library| library.label())
                    .to_owned(),
                streams.join(", "),
                first.map_or(String::new(), |size| three(size.grid) + &others),
                first.map_or(String::new(), |size| three(size.block)),
            ],
            below: String::new(),
            event: in_tree(profile, kernel.longest),
        }
    };
    let rows = kernels.iter().map(row).collect();
    table("Kernels", &columns, rows, MAX_ROWS)
}

fn caller_table(profile: &Profile, callers: &[Caller]) -> Option<FactTable> {
    let columns = [("From", Name), ("Calls", Number), ("GPU time", Number)];
    let row = |caller: &Caller| {
        let ops = Some(caller.ops.join(" > ")).filter(|ops| !ops.is_empty());
        let parts = [caller.modules.clone(), caller.frame.clone(), ops];
        let mut parts = parts.into_iter().flatten();
        FactRow {
            cells: vec![
                parts.next().unwrap_or_default(),
                format::count(caller.count),
                format::time_ns(caller.gpu_ns),
            ],
            below: parts.collect::<Vec<_>>().join(" · "),
            event: in_tree(profile, caller.slowest.call),
        }
    };
    let rows = callers.iter().map(row).collect();
    table("Called from", &columns, rows, MAX_ROWS)
}

/// `8 × 4 × 1`.
fn three(size: [u64; 3]) -> String {
    size.map(|n| n.to_string()).join(" × ")
}

/// A table without the columns that no row has something in; `None` without rows. Where rows are
/// left out, the title says so.
fn table(
    title: &str,
    columns: &[(&str, CellKind)],
    mut rows: Vec<FactRow>,
    max_rows: usize,
) -> Option<FactTable> {
    let n_rows = rows.len();
    rows.truncate(max_rows);
    let is_shown = |at: usize| {
        let mut cells = rows.iter().filter_map(|row| row.cells.get(at));
        cells.any(|cell| !cell.is_empty())
    };
    let shown: Vec<bool> = (0..columns.len()).map(is_shown).collect();
    for row in &mut rows {
        let mut is_shown = shown.iter();
        row.cells.retain(|_| is_shown.next() == Some(&true));
    }
    let columns = columns.iter().zip(&shown).filter(|(_, shown)| **shown);
    (n_rows > 0).then(|| FactTable {
        title: match n_rows > rows.len() {
            true => format!("{title}: the longest {} of {n_rows}", rows.len()),
            false => title.to_owned(),
        },
        columns: columns
            .map(|((label, kind), _)| FactColumn {
                label: (*label).to_owned(),
                is_number: *kind == Number,
                is_name: *kind == Name,
            })
            .collect(),
        rows,
    })
}

#[cfg(test)]
mod tests {
    use dormer_core::import::import;
    use dormer_core::testing::Timetable;

    use crate::protocol::{Choice, DetailsQuery, SheetRow};
    use crate::worker::Analysis;

    #[test]
    fn an_operation_is_told_with_its_runs_and_what_ran_on_the_gpu() {
        let trace = Timetable::new()
            .op("aten::mm", 0..10)
            .launch(1, 1..2)
            .kernel(1, "gemm", 100..130)
            .op("aten::mm", 20..30)
            .launch(2, 21..22)
            .kernel(2, "gemm", 200..250);
        let imported = import(trace.json().as_bytes()).unwrap();
        let analysis = Analysis::new(Analysis::profile(imported), &Choice::default());
        let query = |sheet: &str, row| DetailsQuery::Row {
            sheet: sheet.to_owned(),
            row,
        };
        let details = analysis.details(&query("ops_summary", 0)).unwrap();
        assert_eq!(
            (details.kind.as_str(), details.name.as_str()),
            ("Operator", "aten::mm")
        );
        assert_eq!(details.figures[0].1, "80.0 µs");
        assert_eq!(
            details.row,
            Some(SheetRow {
                sheet: "ops_summary".to_owned(),
                row: 0
            })
        );
        // Every figure of the row comes along.
        assert!(
            details
                .fields
                .iter()
                .any(|field| field.label == "Count" && field.value == "2")
        );
        let spread = details.spread.unwrap();
        let figure = |label: &str, value: &str| (label.to_owned(), value.to_owned());
        assert_eq!(
            spread.figures,
            [
                figure("Shortest", "30.0 µs"),
                figure("Median", "40.0 µs"),
                figure("95 % within", "50.0 µs"),
                figure("Longest", "50.0 µs"),
            ]
        );
        let slowest = details.places.first().unwrap();
        assert_eq!(
            (slowest.label.as_str(), slowest.time.as_str()),
            ("Slowest", "50.0 µs")
        );
        assert!(details.tables.iter().any(|table| table.title == "Kernels"));
        // There is no such row.
        assert!(analysis.details(&query("ops_summary", 9)).is_none());
    }

    #[test]
    fn an_event_is_told_as_the_operation_it_is_part_of() {
        // The call, the call that launches and its arrow, and the kernel: events 0 to 3.
        let trace = Timetable::new()
            .op("aten::mm", 0..10)
            .launch(1, 1..2)
            .kernel(1, "gemm", 100..130);
        let imported = import(trace.json().as_bytes()).unwrap();
        let analysis = Analysis::new(Analysis::profile(imported), &Choice::default());
        let row = DetailsQuery::Row {
            sheet: "unified_perf_summary".to_owned(),
            row: 0,
        };
        let operation = analysis.details(&row).unwrap();
        assert_eq!(operation.kind, "Operation");
        for uid in [0, 1, 3] {
            assert_eq!(
                analysis.details(&DetailsQuery::Event(uid)).as_ref(),
                Some(&operation)
            );
        }
        assert!(analysis.details(&DetailsQuery::Event(99)).is_none());
    }
}
