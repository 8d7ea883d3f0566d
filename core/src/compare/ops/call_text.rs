//! What the calls of an operation say, as text: what operations of two traces are matched by.

use super::MatchLevel;
use crate::compare::Side;
use crate::compare::counterparts::{Counterpart, counterpart};
use crate::format;
use crate::trace::{Dims, StringId};

/// The text of a call.
#[derive(Debug)]
pub(super) struct CallText {
    name: String,
    /// The shapes of the arguments; `None` where they were not recorded.
    pub(super) dims: Option<String>,
    types: String,
    /// The types as people say them: vendors spell some differently.
    short_types: String,
    strides: String,
    concrete: String,
    /// What others do under another name, and the operands they have in common.
    counterpart: Option<(&'static str, String)>,
    is_recompute: bool,
}

/// What rows have in common: texts, and whether activations are computed again.
pub(super) type Key<'a> = ([&'a str; 5], bool);

impl CallText {
    pub(super) fn new(side: &Side, at: usize) -> CallText {
        let profile = side.profile;
        let operation = profile.operations().get(at);
        let name = operation.map_or("", |operation| operation.short_name(profile));
        let args = operation.and_then(|operation| operation.args(profile));
        let strings = &profile.trace.strings;
        let texts = |ids: Option<&[StringId]>| {
            let ids = ids.unwrap_or_default().iter();
            let texts: Vec<&str> = ids.map(|id| strings.get(*id)).collect();
            texts.join("\n")
        };
        let types = args.and_then(|args| args.types.as_deref());
        let short: Vec<&str> = types
            .unwrap_or_default()
            .iter()
            .map(|id| strings.get(*id))
            .map(|spelling| format::dtype(spelling).unwrap_or(spelling))
            .collect();
        let dims = args.and_then(|args| args.dims.as_deref());
        let operands = |counterpart: Counterpart, dims: &[Dims]| {
            let n = counterpart.n_operands;
            let dims = dims_text(side, dims.get(..n).unwrap_or(dims));
            let types = short.get(..n).unwrap_or(&short).join("\n");
            (counterpart.what, format!("{dims}\n{types}"))
        };
        CallText {
            name: name.to_owned(),
            dims: dims.map(|dims| dims_text(side, dims)),
            types: texts(types),
            short_types: short.join("\n"),
            strides: args
                .and_then(|args| args.strides.as_deref())
                .map_or(String::new(), |strides| dims_text(side, strides)),
            concrete: texts(args.and_then(|args| args.concrete.as_deref())),
            counterpart: counterpart(name)
                .zip(dims)
                .map(|(counterpart, dims)| operands(counterpart, dims)),
            is_recompute: operation.is_some_and(|operation| operation.key.is_recompute),
        }
    }

    pub(super) fn key(&self, level: MatchLevel) -> Option<Key<'_>> {
        let dims = self.dims.as_deref().unwrap_or("no shapes");
        let texts = match level {
            MatchLevel::Arguments => [&self.name, dims, &self.types, &self.strides, &self.concrete],
            MatchLevel::Shapes => [&self.name, dims, &self.short_types, "", ""],
            MatchLevel::Counterpart => {
                let (what, operands) = self.counterpart.as_ref()?;
                [*what, operands.as_str(), "", "", ""]
            }
            MatchLevel::Name => [&self.name, "", "", "", ""],
        };
        Some((texts, self.is_recompute))
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
