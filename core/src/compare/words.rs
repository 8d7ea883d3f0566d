//! Wording shared by all texts about a comparison. All percentages are computed as target ÷ reference − 1.

use super::ops::{MatchedOp, label};
use crate::base::format;
use crate::hardware::roofline::Bound;
use crate::names::normalized::unnumbered;

const NAME_CHARS: usize = 60;

/// How a time compares with another: "2 697 % more than", "39.1 % less than", "the same as".
pub(crate) fn change_than(percent: f64) -> String {
    match change(percent) {
        same if percent.abs() < 0.05 => format!("{same} as"),
        differs => format!("{differs} than"),
    }
}

/// "2 697 % more", "39.1 % less", "the same".
pub(crate) fn change(percent: f64) -> String {
    let size = format::percent(percent.abs());
    if percent.abs() < 0.05 {
        "the same".to_owned()
    } else if percent > 0.0 {
        format!("{size} more")
    } else {
        format!("{size} less")
    }
}

/// A difference in percent with its sign, for cells: "+2 697 %", "−39.1 %".
pub(crate) fn signed_percent(percent: Option<f64>) -> String {
    percent.map_or("–".to_owned(), format::signed_percent)
}

/// A ratio: "28.0×".
pub(crate) fn times(ratio: f64) -> String {
    format!("{}×", format::number(ratio))
}

/// An average count: "8", "2.50".
pub(crate) fn average(count: f64) -> String {
    match (count - count.round()).abs() < 0.005 {
        true => format::count(count.round() as u64),
        false => format::number(count),
    }
}

pub(crate) fn maybe_times(ratio: Option<f64>) -> String {
    ratio.map_or("–".to_owned(), times)
}

pub(crate) fn bound(bound: Bound) -> &'static str {
    match bound {
        Bound::Compute => "compute",
        Bound::Memory => "memory",
    }
}

/// A name from a trace, quoted; long ones are shortened in the middle.
pub(crate) fn quoted(name: &str) -> String {
    let name = format::operation_name(name).replace('`', "'");
    format!("`{}`", format::middle_ellipsis(&name, NAME_CHARS))
}

/// A kernel's name without uninformative parts, quoted.
pub(crate) fn kernel(name: &str) -> String {
    quoted(&format::kernel_name(name))
}

/// How several operations of one family are referred to: `first` is the longest of them.
pub(crate) fn operations(first: &MatchedOp, ops: &[&MatchedOp]) -> String {
    let name = quoted(&first.name);
    match ops.len() {
        1 => label(&name, &first.shapes),
        n if !have_one_name(ops) => format!("{} in {n} operations", first.family.label()),
        n if ops.iter().any(|op| op.name != first.name) => {
            format!("{} in {n} kernels", quoted(unnumbered(&first.name)))
        }
        n => format!("{name} with {n} sets of arguments"),
    }
}

/// Whether all of them are of one operator.
pub(crate) fn have_one_name(ops: &[&MatchedOp]) -> bool {
    let mut names = ops.iter().map(|op| unnumbered(&op.name));
    let first = names.next();
    names.all(|name| Some(name) == first)
}

/// The names of some operations, quoted: "`aten::mm`, `aten::add`".
pub(crate) fn names<'a>(names: impl Iterator<Item = &'a str>) -> String {
    few(names.map(|name| quoted(unnumbered(name))))
}

/// The first few distinct texts.
pub(crate) fn few(texts: impl Iterator<Item = String>) -> String {
    /// Maximum number of names; the rest is not mentioned.
    const N_NAMED: usize = 3;
    let mut few: Vec<String> = Vec::new();
    for text in texts {
        if few.len() < N_NAMED && !few.contains(&text) {
            few.push(text);
        }
    }
    few.join(", ")
}

pub(crate) fn same_calls(ops: &[&MatchedOp]) -> bool {
    ops.iter()
        .all(|op| op.calls().reference == op.calls().target)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_have_their_sign() {
        let cases = [
            (Some(2697.9), "+2\u{202F}698 %"),
            (Some(-39.14), "\u{2212}39.1 %"),
            (Some(0.0), "0 %"),
            (None, "–"),
        ];
        for (percent, expected) in cases {
            assert_eq!(signed_percent(percent), expected);
        }
        assert_eq!(change(-36.8), "36.8 % less");
    }

    #[test]
    fn a_name_cannot_end_its_quotation() {
        assert_eq!(quoted("a`b"), "`a'b`");
    }
}
