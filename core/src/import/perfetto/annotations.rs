//! Debug annotations: the arguments of an event, in the form of PyTorch's JSON.

use super::names::{Sequence, Table};
use crate::import::args_text::{ArgsText, push_text};
use crate::import::wire::{Fields, MOST_DEPTH, Value};
use crate::trace::{LinkId, OpArgsId, OpArgsText, StringId, TraceBuilder};

/// Maximum bytes of arguments per event. Texts are interned and referred to by number, so a few bytes of a trace can
/// expand to a lot of text.
const MOST_BYTES: usize = 1 << 20;

/// The arguments of an event.
#[derive(Debug, Default)]
pub(super) struct Annotations {
    pub(super) external_id: Option<LinkId>,
    pub(super) correlation: Option<LinkId>,
    pub(super) sequence_number: Option<i64>,
    /// Its position in PyTorch's JSON.
    pub(super) number: Option<u64>,
    /// The other arguments.
    pub(super) rest: ArgsText,
    /// `Input Dims`, `Input type`, `Input Strides`, `Concrete Inputs`, and whether any of them is present.
    op_args: [Vec<u8>; 4],
    has_op_args: bool,
    n_bytes: usize,
    scratch: Vec<u8>,
}

impl Annotations {
    /// Resets for the next event.
    pub(super) fn clear(&mut self) {
        self.external_id = None;
        self.correlation = None;
        self.sequence_number = None;
        self.number = None;
        self.rest.clear();
        self.op_args.iter_mut().for_each(Vec::clear);
        self.has_op_args = false;
        self.n_bytes = 0;
    }

    /// Whether arguments were dropped because they are too large.
    pub(super) fn are_cut(&self) -> bool {
        self.n_bytes > MOST_BYTES
    }

    /// Reads an annotation.
    pub(super) fn read(&mut self, annotation: Value, names: &Sequence, builder: &mut TraceBuilder) {
        if self.are_cut() {
            return;
        }
        let Some(name) = name(annotation.fields(), names) else {
            return;
        };
        let mut text = std::mem::take(&mut self.scratch);
        text.clear();
        push_value(annotation.fields(), names, 1, &mut text);
        self.n_bytes += name.len() + text.len();
        if self.are_cut() {
            self.scratch = text;
            return;
        }
        let written = std::str::from_utf8(&text).unwrap_or("null");
        match &*name {
            "External id" => self.external_id = link(written, builder),
            "correlation" | "corr_id" => self.correlation = link(written, builder),
            "Sequence number" => self.sequence_number = written.parse().ok(),
            "Ev Idx" => self.number = written.parse().ok(),
            "Input Dims" => self.of_op(0, &text),
            "Input type" => self.of_op(1, &text),
            "Input Strides" => self.of_op(2, &text),
            "Concrete Inputs" => self.of_op(3, &text),
            // Execution traces are joined by it; 0 means none.
            "Record function id" if !is_some_number(written) => {}
            // They differ in every event, and nothing uses them.
            "Python id" | "Python parent id" | "Python module id" | "begin_ns" | "end_ns"
            | "delta_ns" => {}
            name => self.rest.key(name).extend_from_slice(&text),
        }
        self.scratch = text;
    }

    fn of_op(&mut self, which: usize, text: &[u8]) {
        if let Some(list) = self.op_args.get_mut(which) {
            // The last one wins.
            list.clear();
            list.extend_from_slice(text);
        }
        self.has_op_args = true;
    }

    /// The arguments of an operator, and whether all were readable.
    pub(super) fn op_args(&self, builder: &mut TraceBuilder) -> Option<(OpArgsId, bool)> {
        let text = |list: &Vec<u8>| std::str::from_utf8(list).unwrap_or("").to_owned();
        let [dims, types, strides, concrete] = &self.op_args.each_ref().map(text);
        let text = OpArgsText {
            dims,
            types,
            strides,
            concrete,
        };
        self.has_op_args.then(|| builder.op_args(text))
    }

    /// The other arguments, for an event that keeps them.
    pub(super) fn rest(&self, builder: &mut TraceBuilder) -> Option<StringId> {
        self.rest.get().map(|text| builder.string(text))
    }
}

fn is_some_number(written: &str) -> bool {
    written.parse::<u64>().is_ok_and(|number| number > 0)
}

/// The id for a number or a text.
pub(super) fn link(written: &str, builder: &mut TraceBuilder) -> Option<LinkId> {
    match written.trim_matches('"') {
        "" | "null" => None,
        text => Some(match text.parse() {
            Ok(number) => builder.link(number),
            Err(_) => builder.spelled_link(text),
        }),
    }
}

fn name<'a>(fields: Fields<'a>, names: &'a Sequence) -> Option<std::borrow::Cow<'a, str>> {
    fields.into_iter().find_map(|(number, value)| match number {
        1 => names
            .text(Table::ANNOTATIONS, value.number())
            .map(Into::into),
        10 => Some(value.text()),
        _ => None,
    })
}

/// Writes the value of an annotation. One without a value is an empty list: PyTorch writes the lists in `[[1, 512], [],
/// []]` as lists of their items.
fn push_value(fields: Fields, names: &Sequence, depth: u32, out: &mut Vec<u8>) {
    if depth > MOST_DEPTH || out.len() > MOST_BYTES {
        out.extend_from_slice(b"null");
        return;
    }
    let (mut closing, mut scalar) = (None, None);
    for (number, value) in fields {
        if let 11 | 12 = number {
            let (opening, end) = if number == 11 {
                (b'{', b'}')
            } else {
                (b'[', b']')
            };
            match closing {
                None => out.push(opening),
                Some(other) if other == end => out.extend_from_slice(b", "),
                Some(_) => continue,
            }
            closing = Some(end);
            if number == 11 {
                push_text(&name(value.fields(), names).unwrap_or_default(), out);
                out.extend_from_slice(b": ");
            }
            push_value(value.fields(), names, depth + 1, out);
            continue;
        }
        // The last one wins.
        if let 2..=9 | 17 = number {
            scalar = Some((number, value));
        }
    }
    match (closing, scalar) {
        (Some(end), _) => out.push(end),
        (None, Some((number, value))) => push_scalar(number, value, names, out),
        (None, None) => out.extend_from_slice(b"[]"),
    }
}

fn push_scalar(number: u32, value: Value, names: &Sequence, out: &mut Vec<u8>) {
    let text = match number {
        2 => (value.number() != 0).to_string(),
        3 | 7 => value.number().to_string(),
        4 => value.signed().to_string(),
        5 => serde_json::to_string(&f64::from_bits(value.number())).unwrap_or_default(),
        6 => return push_text(&value.text(), out),
        17 => {
            let text = names.text(Table::TEXTS, value.number());
            return push_text(text.unwrap_or_default(), out);
        }
        // A value in an older encoding.
        8 => "null".to_owned(),
        9 => {
            let text = value.text();
            match serde_json::from_str::<serde::de::IgnoredAny>(&text) {
                Ok(_) => text.into_owned(),
                Err(_) => return push_text(&text, out),
            }
        }
        _ => return,
    };
    out.extend_from_slice(text.as_bytes());
}
