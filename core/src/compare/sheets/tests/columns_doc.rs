//! The part of `docs/columns.md` about two traces, from the definitions that the sheets use.

use std::fmt::Write;

use crate::compare::sheets::kinds::{KINDS, Keys, SheetKind};
use crate::compare::sheets::{diff_stats, windows};
use crate::report::sheet::Column;

const HEAD: &str = "
## Two traces

Compared sheets are CSV files in `comparison_csvs/` and sheets of `comparison.xlsx`. Each holds a sheet of both reports side by side: first
the columns that join rows, then the differences, then what else the two sheets have. REFERENCE and TARGET stand for what the traces are called.

| column | meaning |
|---|---|
| a column that joins rows | As in the sheets that are compared, from whichever side has the row. |
| `X__TARGET_diff` | X of the target minus X of the reference, in the unit of X; empty where a row has no partner. |
| `X__TARGET_pct` | That in percent of the reference; empty where the reference's is zero. |
| `REFERENCE::X`, `TARGET::X` | X of either side. |

Operators with their arguments come as three sheets: `…_intersect_TARGET` with the rows of both, `…_only_baseline_TARGET` with those of the
reference alone, `…_only_variant_TARGET` with those of the target alone. Columns without a single value are left out there.

| sheet | compares | rows are joined by | differences of | left out |
|---|---|---|---|---|
";

/// The columns of compared sheets, as Markdown; `table` writes the columns of one sheet.
pub(crate) fn columns_markdown(table: impl Fn(&mut String, &[Column])) -> String {
    let mut out = HEAD.to_owned();
    for kind in KINDS {
        // Writing to a String cannot fail.
        let _ = writeln!(
            out,
            "| {} | `{}` | {} | {} | {} |",
            names(kind),
            kind.sheet,
            keys(kind),
            quoted(kind.diffs),
            left_out(kind)
        );
    }
    let of_windows = (windows::NAME, windows::TITLE, windows::columns());
    for (name, title, columns) in diff_stats::described().into_iter().chain([of_windows]) {
        let _ = write!(out, "\n## {name}\n\n{title}.\n");
        table(&mut out, &columns);
    }
    out
}

fn names(kind: &SheetKind) -> String {
    match kind.is_split {
        false => format!("`{}`", kind.name),
        true => format!("`{}_\u{2026}_TARGET`", kind.name),
    }
}

fn keys(kind: &SheetKind) -> String {
    match kind.keys {
        Keys::Columns(labels) => quoted(labels),
        Keys::NameAndParams => "`name`, the `param: \u{2026}` columns that both have".to_owned(),
    }
}

fn left_out(kind: &SheetKind) -> String {
    let both = kind.dropped.iter().map(|label| format!("`{label}`"));
    let target = kind.dropped_of_target.iter();
    let target = target.map(|label| format!("`TARGET::{label}`"));
    both.chain(target).collect::<Vec<String>>().join(", ")
}

fn quoted(labels: &[&str]) -> String {
    let quoted = labels.iter().map(|label| format!("`{label}`"));
    quoted.collect::<Vec<String>>().join(", ")
}
