//! The registry: a row for each format, with what it is of one trace and of two.

use super::exporter::Group::{self, Programs, Reports, Reproducers, Tables};
use super::xlsx::workbook;
use super::{Exporter, Input, Listed, Source, categories, csv, markdown, pair};
use crate::compare::{Side, sheets};
use crate::output::document::{html::html, markdown as to_markdown};
use crate::output::documents::{compared, single};
use crate::output::json;
use crate::output::replay::Package;
use crate::report::SHEETS;
use crate::report::sheet::Sheet;

/// A format.
pub(super) struct Format {
    /// What `--format` takes.
    key: &'static str,
    group: Group,
    is_quick: bool,
    trace: Option<OfTrace>,
    pair: Option<OfPair>,
}

/// The files of a format.
struct Files<L, W> {
    title: &'static str,
    purpose: &'static str,
    list: L,
    write: W,
}

type OfTrace =
    Files<for<'a> fn(&Input<'a>) -> Vec<Listed>, for<'a> fn(&Input<'a>, &str) -> Option<Vec<u8>>>;
type OfPair = Files<
    for<'a> fn(&pair::Input<'a>) -> Vec<Listed>,
    for<'a> fn(&pair::Input<'a>, &str) -> Option<Vec<u8>>,
>;

const ISSUE: &str =
    "For an issue, a pull request, a wiki or a language model; any editor opens it.";
const PRINT: &str = "To send or to print: any browser opens it, and it loads nothing.";
const TUNE: &str = "For whoever tunes a kernel: unpack it where the GPU is and run the program; it needs PyTorch alone.";

/// Every format, in the order in which they are offered.
#[rustfmt::skip]
pub(super) const FORMATS: &[Format] = &[
    Format {
        key: "md", group: Reports, is_quick: true,
        trace: Some(Files { title: "Report as Markdown", purpose: ISSUE, list: |_| vec![file(markdown::FAIR, "The report: what to do first, and the details"), file(markdown::ROUGH, "Working notes: every step with its raw tables")], write: trace_markdown }),
        pair: Some(Files { title: "Comparison as Markdown", purpose: ISSUE, list: |_| vec![file(PAIR_FAIR, "The comparison: where the target falls behind, and what to do"), file(PAIR_ROUGH, "Working notes: what was expected, and what was measured")], write: pair_markdown }),
    },
    Format {
        key: "html", group: Reports, is_quick: false,
        trace: Some(Files { title: "Report as one page", purpose: PRINT, list: |_| vec![file("report.html", "The report as one page, with charts, for printing")], write: |input, _| Some(html(&single::illustrated(input.profile, input.report)).into_bytes()) }),
        pair: Some(Files { title: "Comparison as one page", purpose: PRINT, list: |_| vec![file("report.html", "The comparison as one page, with charts, for printing")], write: |input, _| Some(html(&compared::illustrated(input.comparison())).into_bytes()) }),
    },
    Format {
        key: "findings", group: Programs, is_quick: true,
        trace: Some(Files { title: "Findings for programs", purpose: "For scripts that act on findings: a pull-request check, a dashboard, jq.", list: |_| vec![file("findings.json", "Findings, for programs")], write: |input, _| pretty(&json::findings::findings(input.profile, input.report)) }),
        pair: None,
    },
    Format {
        key: "analyses", group: Programs, is_quick: true,
        trace: Some(Files { title: "Files of each analysis", purpose: "What each analysis looked at, measured and found, for tools and language models that go on from there.", list: categories::list, write: categories::write }),
        pair: None,
    },
    Format {
        key: "json", group: Programs, is_quick: true,
        trace: None,
        pair: Some(Files { title: "Comparison for programs", purpose: "For scripts that watch for slowdowns: what differs, what of it the hardware explains.", list: |_| vec![file("comparison.json", "The comparison, for programs")], write: |input, _| pretty(&json::comparison::comparison_json(input.comparison())) }),
    },
    Format {
        key: "csv", group: Tables, is_quick: true,
        trace: Some(Files { title: "Tables as CSV", purpose: "For pandas, a spreadsheet or a notebook that reads TraceLens's tables.", list: trace_tables, write: trace_table }),
        pair: Some(Files { title: "Compared tables as CSV", purpose: "For pandas, a spreadsheet or a notebook that reads TraceLens's comparisons.", list: pair_tables, write: pair_table }),
    },
    Format {
        key: "xlsx", group: Tables, is_quick: false,
        trace: Some(Files { title: "Tables as a workbook", purpose: "For Excel, LibreOffice or pandas: a sheet for each table.", list: |input| listed([("perf_report.xlsx", "All tables as one workbook", input.report.sheets(input.profile).len())]), write: |input, _| workbook(input.report.sheets(input.profile)).ok() }),
        pair: Some(Files { title: "Tables as workbooks", purpose: "For Excel, LibreOffice or pandas: the comparison, and the tables of each trace.", list: pair_workbooks, write: pair_workbook }),
    },
    Format {
        key: "json", group: Programs, is_quick: false,
        trace: Some(Files { title: "Everything as JSON", purpose: "For programs that read all tables at once, with units and meanings.", list: |_| vec![file("perf_report.json", "Everything the report says, for programs")], write: |input, _| Some(json::report::json(input.profile, input.report).to_string().into_bytes()) }),
        pair: None,
    },
    Format {
        key: "replay", group: Reproducers, is_quick: false,
        trace: Some(Files { title: "Reproducers", purpose: TUNE, list: reproducers, write: reproducer }),
        pair: Some(Files { title: "Reproducers of the target", purpose: TUNE, list: |input| reproducers(&of_target(input)).into_iter().filter(|file| file.path == PACKAGE).collect(), write: |input, path| reproducer(&of_target(input), path) }),
    },
];

macro_rules! exporters {
    ($input:ty, $of:ident) => {
        impl Source for $input {
            fn exporters() -> Vec<Exporter<Self>> {
                let rows = FORMATS.iter().filter_map(|format| {
                    let files = format.$of.as_ref()?;
                    Some(Exporter {
                        format: format.key,
                        title: files.title,
                        group: format.group,
                        purpose: files.purpose,
                        is_quick: format.is_quick,
                        list: files.list,
                        write: files.write,
                    })
                });
                rows.collect()
            }
        }
    };
}

exporters!(Input<'_>, trace);
exporters!(pair::Input<'_>, pair);

fn file(path: impl Into<String>, title: &'static str) -> Listed {
    Listed {
        path: path.into(),
        title,
    }
}

/// Workbooks that have sheets: one without any is none.
fn listed<const N: usize>(books: [(&str, &'static str, usize); N]) -> Vec<Listed> {
    let books = books.into_iter().filter(|(.., n_sheets)| *n_sheets > 0);
    books.map(|(path, title, _)| file(path, title)).collect()
}

fn pretty(json: &serde_json::Value) -> Option<Vec<u8>> {
    let text = serde_json::to_string_pretty(json).ok()?;
    Some(text.into_bytes())
}

fn trace_markdown(input: &Input, path: &str) -> Option<Vec<u8>> {
    let Input { profile, report } = *input;
    let document = match path {
        markdown::FAIR => single::fair(profile, report),
        markdown::ROUGH => single::rough(profile, report),
        _ => return None,
    };
    Some(to_markdown(&document).into_bytes())
}

const PAIR_FAIR: &str = "comparative_analysis_fair.md";
const PAIR_ROUGH: &str = "comparative_analysis_rough.md";

fn pair_markdown(input: &pair::Input, path: &str) -> Option<Vec<u8>> {
    let document = match path {
        PAIR_FAIR => compared::fair(input.comparison()),
        PAIR_ROUGH => compared::rough(input.comparison()),
        _ => return None,
    };
    Some(to_markdown(&document).into_bytes())
}

/// Where the CSV file of a sheet belongs.
fn trace_csv(sheet: &str) -> String {
    format!("perf_report_csvs/{sheet}.csv")
}

fn trace_tables(input: &Input) -> Vec<Listed> {
    let sheets = input.report.sheets(input.profile).into_iter();
    let title = |name: &str| {
        let kind = SHEETS.iter().find(|kind| kind.name == name);
        kind.map_or("", |kind| kind.title)
    };
    sheets
        .map(|sheet| file(trace_csv(sheet.name), title(sheet.name)))
        .collect()
}

fn trace_table(input: &Input, path: &str) -> Option<Vec<u8>> {
    let mut sheets = input.report.sheets(input.profile).into_iter();
    sheets
        .find(|sheet| trace_csv(sheet.name) == path)
        .map(csv::csv)
}

fn pair_csv(sheet: &str) -> String {
    format!("comparison_csvs/{sheet}.csv")
}

fn pair_tables(input: &pair::Input) -> Vec<Listed> {
    let sheets = input.sheets().iter();
    sheets
        .map(|sheet| file(pair_csv(&sheet.name), sheets::title(&sheet.name)))
        .collect()
}

fn pair_table(input: &pair::Input, path: &str) -> Option<Vec<u8>> {
    let mut sheets = input.sheets().iter();
    sheets
        .find(|sheet| pair_csv(&sheet.name) == path)
        .map(csv::csv)
}

const COMPARISON: &str = "comparison.xlsx";
const REFERENCE: &str = "reference_perf_report.xlsx";
const TARGET: &str = "target_perf_report.xlsx";

fn of_side<'a>(side: Side<'a>) -> Vec<&'a Sheet> {
    side.report.sheets(side.profile)
}

#[rustfmt::skip]
fn pair_workbooks(input: &pair::Input) -> Vec<Listed> {
    listed([
        (COMPARISON, "All compared tables as one workbook", input.sheets().len()),
        (REFERENCE, "All tables of the reference as one workbook", of_side(input.reference).len()),
        (TARGET, "All tables of the target as one workbook", of_side(input.target).len()),
    ])
}

fn pair_workbook(input: &pair::Input, path: &str) -> Option<Vec<u8>> {
    let written = match path {
        COMPARISON => workbook(input.sheets()),
        REFERENCE => workbook(of_side(input.reference)),
        TARGET => workbook(of_side(input.target)),
        _ => return None,
    };
    written.ok()
}

const PACKAGE: &str = "replay_package.zip";

fn reproducers(input: &Input) -> Vec<Listed> {
    match input.profile.operations().is_empty() {
        true => Vec::new(),
        false => vec![
            file(PACKAGE, "Reproducers with the program that runs them"),
            file("replay_ir.json", "Reproducers, the calls alone"),
        ],
    }
}

fn reproducer(input: &Input, path: &str) -> Option<Vec<u8>> {
    let package = Package::new(input.profile, input.report);
    match path {
        PACKAGE => package.zip(),
        _ => Some(package.ir()),
    }
}

fn of_target<'a>(input: &pair::Input<'a>) -> Input<'a> {
    Input::new(input.target.profile, input.target.report)
}
