//! Tables of a summary, as text.

use dormer_core::base::{calendar, format};
use dormer_core::findings::title_of;
use dormer_core::fleet::words::gpu_time_cell;
use dormer_core::fleet::{Summary, Text as TextId};
use dormer_core::report::fact_table::CellKind::{self, Name, Number, Text};
use dormer_core::report::fact_table::{FactRow, FactTable};

/// All tables that have rows, with a key each.
pub(super) fn all(of: &Summary) -> Vec<(String, FactTable)> {
    let tables = [
        ("lost", lost(of)),
        ("findings", findings(of)),
        ("ops", ops(of)),
        ("kernels", kernels(of)),
        ("slowest", slowest(of)),
        ("outliers", outliers(of)),
        ("weeks", weeks(of)),
        ("rejected", rejected(of)),
    ];
    let tables = tables
        .into_iter()
        .filter_map(|(key, table)| Some((key.to_owned(), table?)));
    tables.collect()
}

fn table(
    title: &str,
    columns: &[(&str, CellKind)],
    rows: impl Iterator<Item = Vec<String>>,
) -> Option<FactTable> {
    let rows: Vec<Vec<String>> = rows.collect();
    // A fleet without builds, or without models, has columns without text.
    let is_shown: Vec<bool> = (0..columns.len())
        .map(|at| {
            rows.iter()
                .any(|row| !row.get(at).is_none_or(String::is_empty))
        })
        .collect();
    let columns = kept(columns.iter().copied(), &is_shown);
    let rows = rows.into_iter().map(|cells| FactRow {
        cells: kept(cells, &is_shown),
        ..FactRow::default()
    });
    FactTable::new(title, &columns, rows.collect())
}

fn kept<T>(cells: impl IntoIterator<Item = T>, is_shown: &[bool]) -> Vec<T> {
    let cells = cells.into_iter().zip(is_shown);
    cells
        .filter_map(|(cell, is_shown)| is_shown.then_some(cell))
        .collect()
}

/// A text of the summary; empty if unknown.
fn text(of: &Summary, id: Option<TextId>) -> String {
    of.text_of(id).unwrap_or_default().to_owned()
}

fn count(n: u32) -> String {
    format::count(u64::from(n))
}

fn time(ns: Option<i64>) -> String {
    ns.map_or_else(String::new, format::time_ns)
}

/// The contributions to a change.
pub(super) fn carriers(of: &Summary, change: usize) -> Option<FactTable> {
    let rows = of.carriers_of(change).map(|carrier| {
        vec![
            of.text(carrier.name).to_owned(),
            text(of, carrier.dims),
            format::capitalized(carrier.part.label()),
            time(Some(carrier.base_ns)),
            time(Some(carrier.new_ns)),
            format::percent(carrier.share_percent),
        ]
    });
    let columns = [
        ("Operation or kernel", Name),
        ("Shapes", Name),
        ("What", Text),
        ("Before", Number),
        ("In this build", Number),
        ("% of change", Number),
    ];
    table("What accounts for the change", &columns, rows)
}

fn lost(of: &Summary) -> Option<FactTable> {
    let rows = of.lost.iter().map(|lost| {
        let model = of.text_of(lost.model).unwrap_or_default();
        let model = match model.is_empty() {
            true => String::new(),
            false => format!("{model}, {}", gpu_time_cell(lost.model_lost_ns)),
        };
        vec![
            lost.cause.label().to_owned(),
            gpu_time_cell(lost.lost_ns),
            format::percent(lost.share_percent),
            model,
            count(lost.n_runs),
        ]
    });
    let columns = [
        ("Cause", Text),
        ("GPU time", Number),
        ("% of GPU time", Number),
        ("Most in", Text),
        ("Runs", Number),
    ];
    table("GPU time lost", &columns, rows)
}

fn findings(of: &Summary) -> Option<FactTable> {
    let rows = of.findings.iter().map(|found| {
        let saving = match found.n_estimated {
            0 => String::new(),
            _ => gpu_time_cell(found.mid_ns),
        };
        vec![
            plain(of.text(found.title)),
            analysis(of.text(found.analysis)),
            saving,
            count(found.n_findings),
            count(found.n_runs),
        ]
    });
    let columns = [
        ("Finding", Text),
        ("Analysis", Text),
        ("Can save", Number),
        ("Findings", Number),
        ("Runs", Number),
    ];
    table("What to fix first, over all runs", &columns, rows)
}

/// The title of an analysis; its key if another version wrote the summary.
fn analysis(key: &str) -> String {
    title_of(key).unwrap_or(key).to_owned()
}

/// `15360×4096 · 24576×4096` for the list of sizes of each argument, `((15360, 4096), (24576, 4096), ())`.
fn shapes(dims: &str) -> String {
    let lists = dims.split(['(', '[', ')', ']']);
    let sizes = lists.map(|list| list.trim_matches([',', ' ']));
    let sizes = sizes.filter(|sizes| sizes.contains(|letter: char| letter.is_ascii_digit()));
    sizes
        .map(|sizes| sizes.replace(", ", "×"))
        .collect::<Vec<_>>()
        .join(" · ")
}

/// Removes the code marks.
fn plain(words: &str) -> String {
    words.replace('`', "")
}

fn ops(of: &Summary) -> Option<FactTable> {
    let rows = of.ops.iter().map(|op| {
        vec![
            of.text(op.name).to_owned(),
            shapes(of.text_of(op.dims).unwrap_or_default()),
            text(of, op.category),
            gpu_time_cell(op.kernel_ns),
            format::percent(op.share_percent),
            format::count(op.calls.unsigned_abs()),
            count(op.n_runs),
        ]
    });
    let columns = [
        ("Operation", Name),
        ("Shapes", Name),
        ("Category", Text),
        ("Kernel time", Number),
        ("Share", Number),
        ("Calls", Number),
        ("Runs", Number),
    ];
    table("Operations with most GPU time", &columns, rows)
}

fn kernels(of: &Summary) -> Option<FactTable> {
    let rows = of.kernels.iter().map(|kernel| {
        vec![
            of.text(kernel.name).to_owned(),
            text(of, kernel.category),
            text(of, kernel.library),
            gpu_time_cell(kernel.kernel_ns),
            format::percent(kernel.share_percent),
            format::count(kernel.calls.unsigned_abs()),
            count(kernel.n_runs),
        ]
    });
    let columns = [
        ("Kernel", Name),
        ("Category", Text),
        ("Library", Text),
        ("GPU time", Number),
        ("Share", Number),
        ("Calls", Number),
        ("Runs", Number),
    ];
    table("Kernels with most GPU time", &columns, rows)
}

fn slowest(of: &Summary) -> Option<FactTable> {
    let rows = of.slowest.iter().map(|job| {
        let run = of.text(job.run).to_owned();
        vec![
            of.text_of(job.job).map_or(run, str::to_owned),
            text(of, job.model),
            text(of, job.gpu),
            text(of, job.build),
            time(Some(job.total_ns)),
            time(job.idle_ns),
            times(job.ratio),
            count(job.n_runs),
        ]
    });
    let columns = [
        ("Job or run", Name),
        ("Model", Text),
        ("GPU", Text),
        ("Build", Text),
        ("Total", Number),
        ("Idle", Number),
        ("vs. model median", Number),
        ("Runs", Number),
    ];
    table("Slowest jobs", &columns, rows)
}

fn times(ratio: Option<f64>) -> String {
    ratio.map_or_else(String::new, |ratio| format!("{ratio:.2}\u{d7}"))
}

fn outliers(of: &Summary) -> Option<FactTable> {
    let rows = of.outliers.iter().map(|machine| {
        let interval = machine.low.zip(machine.high);
        let interval = interval.map(|(low, high)| format!("{low:.2}\u{2013}{high:.2}\u{d7}"));
        vec![
            of.text(machine.host).to_owned(),
            text(of, machine.gpu),
            times(Some(machine.ratio)),
            interval.unwrap_or_default(),
            count(machine.n_runs),
            count(machine.n_models),
        ]
    });
    let columns = [
        ("Machine", Name),
        ("GPU", Text),
        ("Time vs. other machines", Number),
        ("95 % interval", Number),
        ("Runs", Number),
        ("Models", Number),
    ];
    table("Machines slower than others", &columns, rows)
}

fn weeks(of: &Summary) -> Option<FactTable> {
    let rows = of.weeks.iter().map(|week| {
        vec![
            week.week_ns.map_or_else(String::new, calendar::date_of),
            text(of, week.model),
            text(of, week.gpu),
            text(of, week.build),
            count(week.n_runs),
            time(week.total_ns),
            time(week.idle_ns),
        ]
    });
    let columns = [
        ("Week", Text),
        ("Model", Text),
        ("GPU", Text),
        ("Build", Text),
        ("Runs", Number),
        ("Total, median", Number),
        ("Idle, median", Number),
    ];
    table("Older runs, by week", &columns, rows)
}

fn rejected(of: &Summary) -> Option<FactTable> {
    let rows = of.rejected.iter().map(|rejected| {
        let reason = rejected.reason.or(rejected.reason_kind);
        vec![
            rejected.status.label().to_owned(),
            plain(of.text_of(reason).unwrap_or_default()),
            count(rejected.count),
            text(of, rejected.uri),
        ]
    });
    let columns = [
        ("Status", Text),
        ("Reason", Text),
        ("Files", Number),
        ("First file", Name),
    ];
    table("Files that were not read", &columns, rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_sizes_are_shown_as_elsewhere() {
        assert_eq!(analysis("sdpa_fwd"), "Attention, forward");
        assert_eq!(analysis("of_later"), "of_later");
        let cases = [
            (
                "((15360, 4096), (24576, 4096), (), ())",
                "15360×4096 · 24576×4096",
            ),
            ("((2432,), (8192, 2432))", "2432 · 8192×2432"),
            ("[[4096, 4096]]", "4096×4096"),
            ("((), ())", ""),
        ];
        for (dims, shown) in cases {
            assert_eq!(shapes(dims), shown);
        }
    }
}
