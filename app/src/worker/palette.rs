//! What in a trace matches typed text, for the page's command palette.

use dormer_core::base::format;
use dormer_core::report::cards::detail_heading;
use dormer_core::report::sheet::Cell;

use super::Analysis;
use super::cells::number;
use super::columns::OPERATIONS;
use super::table::Table;
use crate::protocol::fuzzy;
use crate::protocol::{Found, FoundKind, SHAPES, SIZES, TIME};

/// The most operations and the most kernels in an answer.
const MOST: usize = 20;
/// The most findings, categories and modules in an answer, of each.
const FEW: usize = 6;

impl Analysis {
    /// The best matches by kind: findings, categories, modules, operations, kernels; best first. Equal matches keep the
    /// order of their lists, which is by time.
    pub fn find(&self, typed: &str) -> Vec<Found> {
        if typed.trim().is_empty() {
            return Vec::new();
        }
        let operations = self.rows_found(typed, OPERATIONS, FoundKind::Operation);
        let kernels = self.rows_found(typed, "kernel_summary", FoundKind::Kernel);
        [
            best(typed, FEW, self.findings_named()),
            best(typed, FEW, self.categories_named()),
            best(typed, FEW, self.modules_named()),
            operations,
            kernels,
        ]
        .concat()
    }

    fn findings_named(&self) -> Vec<Found> {
        let ranked = self.report.analyses.findings.ranked.iter();
        let named = ranked.map(|ranked| {
            let impact = ranked.finding.impact;
            Found {
                kind: FoundKind::Finding(detail_heading(ranked)),
                token: String::new(),
                name: ranked.finding.title.replace('`', ""),
                note: impact.map_or(String::new(), |impact| {
                    format!(
                        "saves {}",
                        format::time_range_ns(impact.low_ns, impact.high_ns)
                    )
                }),
            }
        });
        named.collect()
    }

    fn categories_named(&self) -> Vec<Found> {
        let families = self.report.overview.families.iter();
        let named = families.map(|time| Found {
            kind: FoundKind::Category(time.family.token().to_owned()),
            token: time.family.token().to_owned(),
            name: time.family.label().to_owned(),
            note: format!("{} \u{b7} {}", time.time(), time.share()),
        });
        named.collect()
    }

    fn modules_named(&self) -> Vec<Found> {
        let Some(table) = self.table("nn_module_summary") else {
            return Vec::new();
        };
        let rows = 0..table.sheet.rows.len();
        let named = rows.filter_map(|row| {
            let name = text(&table, row, "nn.Module");
            // GPU activity outside of modules is not a module.
            let class = name.strip_prefix("nn.Module: ").unwrap_or(&name);
            let time = table.cell(row, "total_subtree_kernel_time_ms");
            let time = time.and_then(|cell| number(&cell));
            (!class.starts_with('(')).then(|| Found {
                kind: FoundKind::Module(class.to_owned()),
                token: String::new(),
                name: class.to_owned(),
                note: time.map_or_else(String::new, |ms| format::time_us(ms * 1e3)),
            })
        });
        named.collect()
    }

    /// Rows of a sheet whose names and shapes match best.
    fn rows_found(&self, typed: &str, sheet: &str, kind: fn(u32) -> FoundKind) -> Vec<Found> {
        let Some(table) = self.table(sheet) else {
            return Vec::new();
        };
        let rows = 0..table.sheet.rows.len();
        let scored = rows.filter_map(|row| {
            let name = name(&table, row);
            // Text beside the name is matched as displayed.
            let sizes = format!("{} {}", text(&table, row, SHAPES), text(&table, row, SIZES));
            let plain = typed.replace('x', "×");
            let searched = format!("{name} {sizes}");
            let score =
                fuzzy::score(typed, &searched).or_else(|| fuzzy::score(&plain, &searched))?;
            Some((score, (row, name)))
        });
        let found = strongest(typed, MOST, scored).into_iter();
        found
            .map(|(row, name)| {
                let time = [TIME, "Kernel duration (µs)_sum"]
                    .iter()
                    .find_map(|label| number(&table.cell(row, label)?));
                let time = time.map(format::time_us);
                let shapes = Some(text(&table, row, SHAPES)).filter(|shapes| !shapes.is_empty());
                let parts: Vec<String> = shapes.into_iter().chain(time).collect();
                Found {
                    kind: kind(u32::try_from(row).unwrap_or(u32::MAX)),
                    token: table.family(row).token().to_owned(),
                    name: format::kernel_name(&name),
                    note: parts.join(" \u{b7} "),
                }
            })
            .collect()
    }
}

fn name(table: &Table, row: usize) -> String {
    let names = ["name", "Kernel name"].map(|label| text(table, row, label));
    names
        .into_iter()
        .find(|name| !name.is_empty())
        .unwrap_or_default()
}

fn text(table: &Table, row: usize, label: &str) -> String {
    match table.cell(row, label) {
        Some(Cell::Text(text)) => text,
        _ => String::new(),
    }
}

/// The items whose names match best.
fn best(typed: &str, most: usize, all: Vec<Found>) -> Vec<Found> {
    let scored = all
        .into_iter()
        .filter_map(|one| Some((fuzzy::score(typed, &one.name)?, one)));
    strongest(typed, most, scored)
}

/// The best matches; if some contain the typed text as a whole, only those.
fn strongest<T>(typed: &str, most: usize, scored: impl Iterator<Item = (i32, T)>) -> Vec<T> {
    let mut scored: Vec<(i32, T)> = scored.collect();
    let is_strong = |(score, _): &(i32, T)| fuzzy::is_strong(typed, *score);
    if scored.iter().any(is_strong) {
        scored.retain(is_strong);
    }
    fuzzy::best(scored.into_iter(), most)
}

#[cfg(test)]
mod tests {
    use dormer_core::testing::Timetable;

    use super::*;
    use crate::protocol::Choice;

    fn analysis() -> Analysis {
        let trace =
            Timetable::new()
                .work("aten::mm", "gemm", 100..130)
                .work("aten::bmm", "gemm", 200..250);
        Analysis::new(trace.profile(), &Choice::default())
    }

    fn rows(found: &[Found]) -> Vec<(&str, FoundKind)> {
        let found = found
            .iter()
            .filter(|one| matches!(one.kind, FoundKind::Operation(_)));
        found
            .map(|one| (one.name.as_str(), one.kind.clone()))
            .collect()
    }

    #[test]
    fn operations_are_found_by_a_part_of_their_names() {
        let analysis = analysis();
        let (mm, bmm) = (
            ("aten::mm", FoundKind::Operation(1)),
            ("aten::bmm", FoundKind::Operation(0)),
        );
        // The longer one is the first row; "mm" is a word in the other one.
        assert_eq!(rows(&analysis.find("mm")), [mm, bmm.clone()]);
        assert_eq!(rows(&analysis.find("BMM")), [bmm]);
        assert!(analysis.find("conv").is_empty());
        assert!(analysis.find(" ").is_empty());
        let found = analysis.find("bmm");
        assert!(found[0].note.ends_with("50.0 µs"), "{found:?}");
    }

    /// Categories before operations, operations before kernels.
    #[test]
    fn categories_and_kernels_are_found_in_their_order() {
        let analysis = analysis();
        let found = analysis.find("gemm");
        assert_eq!(found[0].kind, FoundKind::Category("gemm".to_owned()));
        assert!(matches!(found.last().unwrap().kind, FoundKind::Kernel(_)));
    }
}
