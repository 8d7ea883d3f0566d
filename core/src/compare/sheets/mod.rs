//! The sheets of two reports side by side, with TraceLens's names and columns.
//!
//! A sheet has the columns that identify its rows; then for each important number the difference (target minus
//! reference), absolute and in percent of the reference; then all other columns of the reference as `<its name>::…` and
//! all of the target. Unmatched rows keep their own half and leave the other empty. Sheets of operators with arguments
//! are split in three: rows of both, of the reference alone, of the target alone.

mod diff_stats;
mod join;
mod kinds;
mod layout;
#[cfg(test)]
pub(crate) mod tests;
mod windows;

use crate::compare::tree::TreeDiff;
use crate::compare::{Pair, Side};
use crate::report::RoundedTimes;
use crate::report::sheet::Sheet;
use join::{Half, Joined};
use kinds::{KINDS, SheetKind, Subset};

/// A sheet whose name and columns contain the names of the two sides.
pub type ComparisonSheet = Sheet<String>;

/// Maximum length of a side's name in the name of a sheet, which is also a file name.
const MAX_TAG: usize = 60;

/// All sheets that have rows; `tree` has to belong to the same two sides.
pub fn sheets(reference: Side, target: Side, tree: &TreeDiff) -> Vec<ComparisonSheet> {
    let sides = Pair { reference, target };
    let with_times = sides.map(|side| (side, RoundedTimes::new(side.profile)));
    let sheets = KINDS.iter().flat_map(|kind| of_kind(kind, &with_times));
    let windows = windows::sheet(sides).into_iter();
    let sheets = windows.chain(sheets).chain(diff_stats::sheets(sides, tree));
    sheets.filter(|sheet| !sheet.rows.is_empty()).collect()
}

fn of_kind(kind: &SheetKind, sides: &Pair<(Side, RoundedTimes)>) -> Vec<ComparisonSheet> {
    let halves = sides.as_ref().map(|(side, times)| {
        let sheet = side.report.sheet(side.profile, kind.sheet)?;
        let times = times.of_sheet(kind.sheet);
        Some(Half { sheet, times })
    });
    let Some(joined) = Joined::new(kind, halves) else {
        return Vec::new();
    };
    let names = sides.as_ref().map(|(side, _)| side.name);
    if !kind.is_split {
        return vec![layout::sheet(kind.name.to_owned(), &joined, None, names)];
    }
    let subsets = Subset::ALL.into_iter();
    subsets
        .map(|subset| {
            let name = format!("{}_{}_{}", kind.name, subset.label(), tag(names.target));
            layout::sheet(name, &joined, Some(subset), names)
        })
        .collect()
}

/// A name for use in a file name: characters other than letters and digits of any script become `_`.
fn tag(name: &str) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || matches!(letter, '.' | '-');
    let letters = name.chars().take(MAX_TAG);
    letters
        .map(|letter| if is_plain(letter) { letter } else { '_' })
        .collect()
}

/// The readable title of a sheet, by name.
pub fn title(name: &str) -> &'static str {
    let title = KINDS.iter().find_map(|kind| {
        let [whole, of_subsets @ ..] = kind.titles;
        let rest = name.strip_prefix(kind.name)?;
        if rest.is_empty() {
            return Some(whole);
        }
        let rest = rest.strip_prefix('_')?;
        let mut subsets = Subset::ALL.into_iter().zip(of_subsets);
        let found = subsets.find(|(subset, _)| rest.starts_with(subset.label()));
        found.map(|(_, title)| title)
    });
    title
        .or_else(|| diff_stats::title(name))
        .or_else(|| (name == windows::NAME).then_some(windows::TITLE))
        .unwrap_or_default()
}
