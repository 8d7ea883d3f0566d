//! `docs/columns.md`: every column that a sheet can have, from the definitions that sheets use.

use std::fmt::Write;

use super::assert_page;
use crate::compare::sheets::tests::columns_doc;
use crate::job::sheets as job;
use crate::report::labels;
use crate::report::sheet::{Column, Unit};
use crate::report::sheets::{Parts, SHEETS, SheetKind, gpu_timeline, layer_kernels, steps, window};

const HEAD: &str = "\
# Columns

<!-- Made from the definitions in core/src/report/sheets, core/src/compare/sheets and core/src/job/sheets. After a change there: UPDATE=1 cargo test -p dormer-core --lib columns_doc -->

Every sheet is a CSV file in `perf_report_csvs/`, a sheet of `perf_report.xlsx` and an entry of `perf_report.json`, with the same
cells. Sheets without rows are left out. If only a step, a range of time or one of several GPUs is analyzed, all sheets cover
that part, and the sheet `window` names it. Some columns need something in the trace: `is_recompute` activations that are computed
again, `entry_point` and `call_stack_full` Python frames, roofline columns a GPU for the roofline, and `param: …` columns operators
with that parameter. An empty cell is an unknown, never a zero.

Names, units and order are TraceLens's. What is marked \u{2726} is Dormer's own, and comes after them.
";

const OWN_SHEETS: [&str; 8] = [
    window::NAME,
    gpu_timeline::BY_GPU,
    steps::STEPS,
    steps::BATCHES,
    steps::GRAPHS,
    layer_kernels::NAME,
    "nn_module_summary",
    "cpu_ops_summary",
];

/// The columns of all sheets as Markdown. Sheets with the same columns share a table.
fn columns_markdown() -> String {
    let mut out = HEAD.to_owned();
    let mut tables: Vec<(Vec<Column>, Vec<&SheetKind>)> = Vec::new();
    for kind in SHEETS {
        let columns = (kind.columns)(&Parts::ALL);
        match tables.iter_mut().find(|(known, _)| *known == columns) {
            Some((_, kinds)) => kinds.push(kind),
            None => tables.push((columns, vec![kind])),
        }
    }
    for (columns, kinds) in &tables {
        // Writing to a String cannot fail.
        let _ = match kinds.as_slice() {
            [kind] => {
                let is_own = OWN_SHEETS.contains(&kind.name);
                let mark = if is_own { " \u{2726}" } else { "" };
                write!(out, "\n## {}{mark}\n\n{}.\n", kind.name, kind.title)
            }
            kinds => {
                let _ = write!(out, "\n## Sheets of one kind of operator\n\n");
                kinds
                    .iter()
                    .try_for_each(|kind| writeln!(out, "- `{}`: {}", kind.name, kind.title))
            }
        };
        table(&mut out, columns);
    }
    out.push_str(&columns_doc::columns_markdown(table));
    out.push_str(OF_JOBS);
    for kind in job::SHEETS {
        let mark = if kind.origin == job::Origin::Dormer {
            " \u{2726}"
        } else {
            ""
        };
        let _ = write!(out, "\n## {}{mark}\n\n{}.\n", kind.name, kind.title);
        table(&mut out, &(kind.columns)());
    }
    out
}

const OF_JOBS: &str = "
## A job

Sheets of `dormer job` are CSV files in `job_csvs/`, sheets of `job.xlsx` and entries of `job.json`. Those without a mark have TraceLens's names, columns
and order of rows, on the clocks that the traces were recorded with; `_corrected` are the same on one common clock. R stands for the
number of a rank: such columns are there for each rank that takes part in a row, in the order in which rows need them. Sheets with
such columns are left out of the workbook where they have more columns than it can hold.
";

fn table(out: &mut String, columns: &[Column]) {
    out.push_str("\n| column | unit | meaning |\n|---|---|---|\n");
    for column in columns {
        let mark = if is_own(column) { " \u{2726}" } else { "" };
        // Writing to a String cannot fail.
        let _ = writeln!(
            out,
            "| `{}`{mark} | {} | {} |",
            column.label,
            unit(column.unit),
            column.doc
        );
    }
}

fn is_own(column: &Column) -> bool {
    let own = labels::COLUMNS.iter().chain(&labels::OF_KERNEL);
    own.into_iter().any(|own| own.label == column.label)
}

fn unit(unit: Unit) -> &'static str {
    match unit {
        Unit::Text => "text",
        Unit::Count => "count",
        Unit::Ms => "ms",
        Unit::Us => "µs",
        Unit::Percent => "%",
        Unit::Number => "number",
        Unit::Flag => "True or False",
    }
}

#[test]
fn the_page_says_what_the_code_does() {
    assert_page("columns.md", &columns_markdown(), "columns_doc");
}

/// Each meaning has to stand alone: readers see one row at a time, for example in a tooltip.
#[test]
fn every_meaning_is_a_sentence_of_its_own() {
    let traces = SHEETS
        .iter()
        .map(|kind| (kind.name, (kind.columns)(&Parts::ALL)));
    let jobs = job::SHEETS.iter().map(|kind| (kind.name, (kind.columns)()));
    for (name, columns) in traces.chain(jobs) {
        for (row, column) in columns.iter().enumerate() {
            let place = format!("{name}: {}", column.label);
            assert!(column.doc.ends_with('.'), "{place}");
            assert!(!column.doc.starts_with("The same"), "{place}");
            assert!(!column.doc.contains('|'), "{place}");
            let rest = &columns[row + 1..];
            assert!(
                rest.iter().all(|other| other.label != column.label),
                "{place}"
            );
        }
    }
}
