//! The registries: a row for each kind of file about one trace, about two, and about a job.

use super::exporter::Group::{Programs, Reports, Reproducers, Tables};
use super::xlsx::{self, workbook};
use super::{Exporter, Input, Listed, Source, categories, csv, file, job, markdown, pair};
use crate::compare::{Side, sheets};
use crate::job::Rank;
use crate::job::sheets::{JobSheet, title as job_title};
use crate::output::documents::{self, Documents};
use crate::output::json;
use crate::output::markup::{html::html, markdown as to_markdown};
use crate::output::replay::Package;
use crate::report::sheet::Sheet;
use crate::report::sheets::SHEETS;

const ISSUE: &str =
    "For an issue, a pull request, a wiki or a language model; any editor opens it.";
const PRINT: &str = "To send or to print: any browser opens it, and it loads nothing.";
const TUNE: &str = "For whoever tunes a kernel: unpack it where the GPU is and run the program; it needs PyTorch alone.";

#[rustfmt::skip]
impl Source for Input<'_> {
    fn exporters() -> Vec<Exporter<Self>> {
        vec![
            Exporter {
                format: "md", title: "Report as Markdown", group: Reports, is_quick: true, purpose: ISSUE,
                list: |_| vec![file(markdown::FAIR, "The report: what to do first, and the details"), file(markdown::ROUGH, "Working notes: every step with its raw tables")],
                write: |input, path| documents(input, [markdown::FAIR, markdown::ROUGH], path),
            },
            Exporter {
                format: "html", title: "Report as one page", group: Reports, is_quick: false, purpose: PRINT,
                list: |_| vec![file("report.html", "The report as one page, with charts, for printing")],
                write: |input, _| Some(html(&input.illustrated()).into_bytes()),
            },
            Exporter {
                format: "findings", title: "Findings for programs", group: Programs, is_quick: true, purpose: "For scripts that act on findings: a pull-request check, a dashboard, jq.",
                list: |_| vec![file("findings.json", "Findings, for programs")],
                write: |input, _| Some(json::pretty(&json::findings::findings(input.profile, input.report))),
            },
            Exporter {
                format: "analyses", title: "Files of each analysis", group: Programs, is_quick: true, purpose: "Input, metrics and findings of each analysis, for tools and language models that process them further.",
                list: categories::list,
                write: categories::write,
            },
            Exporter {
                format: "csv", title: "Tables as CSV", group: Tables, is_quick: true, purpose: "For pandas, a spreadsheet or a notebook that reads TraceLens's tables.",
                list: trace_tables,
                write: |input, path| table(sheets_of(input), path),
            },
            Exporter {
                format: "xlsx", title: "Tables as a workbook", group: Tables, is_quick: false, purpose: "For Excel, LibreOffice or pandas: a sheet for each table.",
                list: |input| listed([("perf_report.xlsx", "All tables as one workbook", sheets_of(input).len())]),
                write: |input, _| workbook(sheets_of(input)).ok(),
            },
            Exporter {
                format: "json", title: "Everything as JSON", group: Programs, is_quick: false, purpose: "For programs that read all tables at once, with units and meanings.",
                list: |_| vec![file("perf_report.json", "Everything the report says, for programs")],
                write: |input, _| Some(json::report::json(input.profile, input.report).to_string().into_bytes()),
            },
            Exporter {
                format: "replay", title: "Reproducers", group: Reproducers, is_quick: false, purpose: TUNE,
                list: reproducers,
                write: reproducer,
            },
        ]
    }
}

#[rustfmt::skip]
impl Source for pair::Input<'_> {
    fn exporters() -> Vec<Exporter<Self>> {
        vec![
            Exporter {
                format: "md", title: "Comparison as Markdown", group: Reports, is_quick: true, purpose: ISSUE,
                list: |_| vec![file(PAIR_FAIR, "The comparison: where the target falls behind, and what to do"), file(PAIR_ROUGH, "Working notes: what was expected, and what was measured")],
                write: |input, path| documents(input.comparison(), [PAIR_FAIR, PAIR_ROUGH], path),
            },
            Exporter {
                format: "html", title: "Comparison as one page", group: Reports, is_quick: false, purpose: PRINT,
                list: |_| vec![file("report.html", "The comparison as one page, with charts, for printing")],
                write: |input, _| Some(html(&input.comparison().illustrated()).into_bytes()),
            },
            Exporter {
                format: "json", title: "Comparison for programs", group: Programs, is_quick: true, purpose: "For scripts that watch for slowdowns: what differs, what of it the hardware explains.",
                list: |_| vec![file("comparison.json", "The comparison, for programs")],
                write: |input, _| Some(json::pretty(&json::comparison::comparison_json(input.comparison()))),
            },
            Exporter {
                format: "csv", title: "Compared tables as CSV", group: Tables, is_quick: true, purpose: "For pandas, a spreadsheet or a notebook that reads TraceLens's comparisons.",
                list: |input| input.sheets().iter().map(|sheet| file(csv::path("comparison_csvs", sheet), sheets::title(&sheet.name))).collect(),
                write: |input, path| table(input.sheets(), path),
            },
            Exporter {
                format: "xlsx", title: "Tables as workbooks", group: Tables, is_quick: false, purpose: "For Excel, LibreOffice or pandas: the comparison, and the tables of each trace.",
                list: pair_workbooks,
                write: pair_workbook,
            },
            Exporter {
                format: "replay", title: "Reproducers of the target", group: Reproducers, is_quick: false, purpose: TUNE,
                list: |input| reproducers(&of_target(input)).into_iter().filter(|file| file.path == PACKAGE).collect(),
                write: |input, path| reproducer(&of_target(input), path),
            },
        ]
    }
}

#[rustfmt::skip]
impl Source for job::Input<'_> {
    fn is_streamed(&self, path: &str) -> bool {
        self.is_long(path)
    }

    fn stream(&self, path: &str, sink: &mut dyn FnMut(&[u8])) {
        self.stream_csv(path, sink);
    }

    fn exporters() -> Vec<Exporter<Self>> {
        vec![
            Exporter {
                format: "md", title: "Report as Markdown", group: Reports, is_quick: true, purpose: ISSUE,
                list: |_| vec![file("job_report.md", "The report: which rank delays the others, and what to do")],
                write: |input, _| Some(to_markdown(&documents::job::report(input.overview())).into_bytes()),
            },
            Exporter {
                format: "html", title: "Report as one page", group: Reports, is_quick: false, purpose: PRINT,
                list: |_| vec![file("job_report.html", "The report as one page, for printing")],
                write: |input, _| Some(html(&documents::job::report(input.overview())).into_bytes()),
            },
            Exporter {
                format: "json", title: "The job for programs", group: Programs, is_quick: true, purpose: "For scripts and dashboards: who the ranks are, their groups and steps, and all tables with units and meanings.",
                list: |_| vec![file("job.json", "The job, for programs")],
                write: |input, _| Some(json::job::json(input.job, input.overview(), input.excluded, input.sheets()).to_string().into_bytes()),
            },
            Exporter {
                format: "csv", title: "Tables as CSV", group: Tables, is_quick: true, purpose: "For pandas, a spreadsheet or a notebook that reads TraceLens's tables of collectives.",
                list: |input| input.sheets().iter().map(|made| file(csv::path(job::FOLDER, &made.sheet), job_title(&made.sheet.name))).collect(),
                write: |input, path| input.csv(path),
            },
            Exporter {
                format: "xlsx", title: "Tables as a workbook", group: Tables, is_quick: false, purpose: "For Excel, LibreOffice or pandas: a sheet for each table.",
                list: |input| listed([("job.xlsx", "All tables as one workbook", fitting(input).count())]),
                write: |input, _| workbook(fitting(input)).ok(),
            },
            Exporter {
                format: "digests", title: "Digests of the ranks", group: Programs, is_quick: false, purpose: "To open the job again without its traces: a folder of digests opens like a folder of traces.",
                list: |input| input.job.ranks.iter().map(|rank| file(digest_path(rank), "What is kept of a rank")).collect(),
                write: |input, path| input.job.ranks.iter().find(|rank| digest_path(rank) == path).map(|rank| rank.digest.to_file()),
            },
        ]
    }
}

fn digest_path(rank: &Rank) -> String {
    format!("digests/rank{:05}.json.gz", rank.number)
}

/// The sheets that fit in a workbook. Sheets of a very large job that have too many columns (one per rank), or more
/// rows than are kept, are only in the CSV files.
fn fitting<'a>(input: &'a job::Input) -> impl Iterator<Item = &'a JobSheet> {
    let whole = input.sheets().iter().filter(|made| made.is_whole());
    let sheets = whole.map(|made| &made.sheet);
    sheets.filter(|sheet| sheet.columns.len() <= xlsx::MOST_COLUMNS)
}

/// The workbooks that have sheets; a workbook without any is left out.
fn listed<const N: usize>(books: [(&str, &'static str, usize); N]) -> Vec<Listed> {
    let books = books.into_iter().filter(|(.., n_sheets)| *n_sheets > 0);
    books.map(|(path, title, _)| file(path, title)).collect()
}

const PAIR_FAIR: &str = "comparative_analysis_fair.md";
const PAIR_ROUGH: &str = "comparative_analysis_rough.md";

fn documents(about: &impl Documents, [fair, rough]: [&str; 2], path: &str) -> Option<Vec<u8>> {
    let document = match path {
        _ if path == fair => about.fair(),
        _ if path == rough => about.rough(),
        _ => return None,
    };
    Some(to_markdown(&document).into_bytes())
}

fn sheets_of<'a>(input: &Input<'a>) -> Vec<&'a Sheet> {
    let (profile, report) = input.tables;
    report.sheets(profile)
}

fn trace_tables(input: &Input) -> Vec<Listed> {
    let title = |sheet: &Sheet| {
        let kind = SHEETS.iter().find(|kind| kind.name == sheet.name);
        kind.map_or("", |kind| kind.title)
    };
    let sheets = sheets_of(input).into_iter();
    sheets
        .map(|sheet| file(csv::path("perf_report_csvs", sheet), title(sheet)))
        .collect()
}

/// The CSV file with this path among those of some sheets.
fn table<'a, S: AsRef<str> + 'a>(
    sheets: impl IntoIterator<Item = &'a Sheet<S>>,
    path: &str,
) -> Option<Vec<u8>> {
    let (folder, _) = path.split_once('/')?;
    let mut sheets = sheets.into_iter();
    let sheet = sheets.find(|sheet| csv::path(folder, sheet) == path);
    sheet.map(csv::csv)
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
