//! The calls of an operation as text, which operations of two traces are matched by.

use super::MatchLevel;
use crate::base::format;
use crate::base::map::Map;
use crate::base::sort::Arranged;
use crate::compare::Side;
use crate::names::Family;
use crate::names::counterparts::{Counterpart, counterpart};
use crate::names::normalized::unnumbered;
use crate::names::signatures::has_out_operand;
use crate::profile::operations::kinds::gemm::GemmSizes;
use crate::trace::{Dims, StringId};

#[derive(Debug)]
pub(crate) struct CallText {
    /// Without a running number. If several are then equal, their position among them is added.
    name: String,
    /// The shapes of the arguments; `None` if they were not recorded.
    pub(crate) dims: Option<String>,
    /// The same without the output operand.
    dims_in: Option<String>,
    types: String,
    /// The types in `dims_in`, in short form: vendors spell some differently.
    pub(crate) short_types: String,
    strides: String,
    concrete: String,
    /// The number of dimensions of each argument in `dims_in`; `None` if they were not recorded.
    pub(crate) ranks: Option<String>,
    /// The type of the first tensor, in short form.
    pub(crate) first_type: Option<&'static str>,
    /// For a GEMM, its sizes, independent of the operator, and the type of its first operand, in short form.
    pub(crate) gemm: Option<(String, &'static str)>,
    /// The common name for equivalent operators, and the operands they share.
    counterpart: Option<(&'static str, String)>,
    pub(crate) is_recompute: bool,
    /// The first call, for sorting.
    pub(crate) uid: u64,
}

/// The key of matching rows: texts, and whether activations are recomputed.
pub(crate) type Key<'a> = ([&'a str; 5], bool);

impl CallText {
    /// The texts of the operations of a trace at these positions.
    pub(crate) fn all(side: &Side, positions: &[usize]) -> Vec<CallText> {
        let texts = positions.iter().map(|at| CallText::new(side, *at));
        let mut texts: Vec<CallText> = texts.collect();
        number_in_order(side, positions, &mut texts);
        texts
    }

    fn new(side: &Side, at: usize) -> CallText {
        let profile = side.profile;
        let operation = profile.operations().get(at);
        let name = operation.map_or("", |operation| operation.short_name(profile));
        let args = operation.and_then(|operation| operation.args(profile));
        let strings = &profile.trace.strings;
        let texts = |ids: Option<&[StringId]>| -> Vec<&str> {
            let ids = ids.unwrap_or_default().iter();
            ids.map(|id| strings.get(*id)).collect()
        };
        let spellings = texts(args.and_then(|args| args.types.as_deref()));
        let short: Vec<&str> = spellings
            .iter()
            .map(|spelling| format::dtype(spelling).unwrap_or(spelling))
            .collect();
        let dims = args.and_then(|args| args.dims.as_deref());
        let operands = |counterpart: Counterpart, dims: &[Dims]| {
            let n = counterpart.n_operands;
            let dims = dims_text(side, dims.get(..n).unwrap_or(dims));
            let types = short.get(..n).unwrap_or(&short).join("\n");
            (counterpart.what, format!("{dims}\n{types}"))
        };
        let is_tensor = spellings
            .last()
            .is_some_and(|last| format::dtype(last).is_some());
        let op = name.strip_prefix("aten::").filter(|_| is_tensor);
        let n_args = spellings.len();
        let n_in = match op.is_some_and(|op| has_out_operand(op, n_args)) {
            true => n_args - 1,
            false => n_args,
        };
        let dims_in = dims.map(|dims| dims.get(..n_in).unwrap_or(dims));
        CallText {
            name: unnumbered(name).to_owned(),
            dims: dims.map(|dims| dims_text(side, dims)),
            dims_in: dims_in.map(|dims| dims_text(side, dims)),
            types: spellings.join("\n"),
            short_types: short.get(..n_in).unwrap_or(&short).join("\n"),
            strides: args
                .and_then(|args| args.strides.as_deref())
                .map_or(String::new(), |strides| dims_text(side, strides)),
            concrete: texts(args.and_then(|args| args.concrete.as_deref())).join("\n"),
            ranks: dims_in.map(|dims| ranks_text(side, dims)),
            first_type: spellings
                .iter()
                .find_map(|spelling| format::dtype(spelling)),
            gemm: operation
                .filter(|operation| operation.family == Family::Gemm)
                .and_then(|operation| GemmSizes::of(profile, operation))
                .filter(|sizes| !sizes.is_grouped)
                .zip(first_matrix_type(&spellings))
                .map(|(sizes, of_type)| (sizes.text(), of_type)),
            counterpart: counterpart(name)
                .zip(dims)
                .map(|(counterpart, dims)| operands(counterpart, dims)),
            is_recompute: operation.is_some_and(|operation| operation.key.is_recompute),
            uid: operation.map_or(0, |operation| operation.uid()),
        }
    }

    pub(crate) fn key(&self, level: MatchLevel) -> Option<Key<'_>> {
        let dims = self.dims.as_deref().unwrap_or("no shapes");
        let dims_in = self.dims_in.as_deref().unwrap_or("no shapes");
        let texts = match level {
            MatchLevel::Arguments => [&self.name, dims, &self.types, &self.strides, &self.concrete],
            MatchLevel::Shapes => [&self.name, dims_in, &self.short_types, "", ""],
            MatchLevel::Counterpart => {
                let (what, operands) = self.counterpart.as_ref()?;
                [*what, operands.as_str(), "", "", ""]
            }
            MatchLevel::Gemm => {
                let (sizes, of_type) = self.gemm.as_ref()?;
                ["GEMM", sizes.as_str(), *of_type, "", ""]
            }
            MatchLevel::Name => [self.stem(), "", "", "", ""],
            MatchLevel::Operator
            | MatchLevel::Kernels
            | MatchLevel::Renamed
            | MatchLevel::Meaning
            | MatchLevel::Place
            | MatchLevel::Neighbors => return None,
        };
        Some((texts, self.is_recompute))
    }

    /// The key without the position among equal names: calls of one generated kernel in one trace may be those of
    /// several, with other running numbers, in the other.
    pub(super) fn joining_key(&self, level: MatchLevel) -> Option<Key<'_>> {
        let (mut texts, is_recompute) = self.key(level)?;
        if texts[0] == self.name {
            texts[0] = self.stem();
        }
        Some((texts, is_recompute))
    }

    /// Its name without its position among equal names.
    pub(crate) fn stem(&self) -> &str {
        self.name.split(PLACE).next().unwrap_or_default()
    }
}

/// The type of the operands that a GEMM multiplies: a bias before them may have a wider type.
fn first_matrix_type(spellings: &[&str]) -> Option<&'static str> {
    let mut types = spellings.iter().filter_map(|one| format::dtype(one));
    let first = types.next()?;
    Some(types.next().unwrap_or(first))
}

/// Precedes the position of a generated kernel among equal names: it occurs in no name.
const PLACE: char = '\u{1}';

/// Generated kernels that differ only in running numbers are matched in the order of their first launch.
fn number_in_order(side: &Side, positions: &[usize], texts: &mut [CallText]) {
    let operations = side.profile.operations();
    let is_numbered = |at: &usize| {
        let operation = operations.get(*at);
        let name = operation.map_or("", |operation| operation.short_name(side.profile));
        unnumbered(name).len() < name.len()
    };
    let rows = positions
        .iter()
        .enumerate()
        .filter(|(_, at)| is_numbered(at));
    let rows = rows
        .map(|(row, _)| row)
        .arranged_by_key(|row| texts.get(*row).map_or(0, |text| text.uid));
    let mut places: Map<String, usize> = Map::default();
    for row in rows {
        let Some(text) = texts.get_mut(row) else {
            continue;
        };
        let alike = format!(
            "{}\n{}\n{}\n{}",
            text.name,
            text.is_recompute,
            text.dims_in.as_deref().unwrap_or_default(),
            text.short_types
        );
        let place = places.entry(alike).or_insert(0);
        text.name.push(PLACE);
        text.name.push_str(&place.to_string());
        *place += 1;
    }
}

fn dims_text(side: &Side, dims: &[Dims]) -> String {
    use std::fmt::Write;
    let args = &side.profile.trace.args;
    let mut text = String::new();
    for dims in dims {
        // Writing to a String cannot fail.
        let _ = match dims {
            Dims::One(shape) => write!(text, "{:?};", args.shape(*shape)),
            Dims::Many(shapes) => {
                let shapes: Vec<&[i64]> = shapes.iter().map(|shape| args.shape(*shape)).collect();
                write!(text, "{shapes:?};")
            }
        };
    }
    text
}

/// "2;2;0;": the number of dimensions of each argument, and the length of each list.
fn ranks_text(side: &Side, dims: &[Dims]) -> String {
    let args = &side.profile.trace.args;
    let ranks = dims.iter().map(|dims| match dims {
        Dims::One(shape) => format!("{};", args.shape(*shape).len()),
        Dims::Many(shapes) => format!("[{}];", shapes.len()),
    });
    ranks.collect()
}

#[cfg(test)]
mod tests {
    use crate::compare::testing::{compared, pair, run};

    /// The compiler numbers the kernels of a graph: two graphs of equal layers, or one.
    #[test]
    fn calls_of_a_generated_kernel_with_several_numbers_stay_together() {
        const X: &str = r#""Input Dims": [[4096, 4096]], "Input type": ["float"]"#;
        let of = |numbers: [u32; 3]| {
            let names =
                numbers.map(|number| format!("triton_red_fused_native_layer_norm_{number}"));
            run(names
                .iter()
                .map(|name| (name.as_str(), X, name.as_str(), 50)))
        };
        let operations = compared(&of([0, 4, 4]), &of([0, 0, 0]), None).operations;
        assert_eq!(operations.unmatched.map(|rows| rows.len()), pair(0, 0));
        assert_eq!(operations.matched[0].calls(), pair(3, 3));
    }
}
