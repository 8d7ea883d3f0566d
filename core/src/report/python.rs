//! Values as Python would print them: the form that list-valued cells have in the reference's
//! sheets, and that people's notebooks read back with `ast.literal_eval`.

use std::fmt::Write;

use crate::trace::{ArgsTable, Dims, ShapeId, StringId, StringTable};

/// A string as Python's `repr` writes it.
pub fn string(text: &str) -> String {
    let quote = if text.contains('\'') && !text.contains('"') {
        '"'
    } else {
        '\''
    };
    let mut out = String::with_capacity(text.len() + 2);
    out.push(quote);
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c == quote => {
                out.push('\\');
                out.push(c);
            }
            c if c.is_ascii_control() => push(&mut out, format_args!("\\x{:02x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push(quote);
    out
}

/// A list of strings: `['GEMM', 'other']`.
pub fn list<'a>(items: impl IntoIterator<Item = &'a str>) -> String {
    let items: Vec<String> = items.into_iter().map(string).collect();
    format!("[{}]", items.join(", "))
}

/// Strings as a tuple: `('', '1')`.
pub fn tuple_of_strings(items: &[StringId], strings: &StringTable) -> String {
    tuple(items.iter().map(|item| string(strings.get(*item))))
}

/// Shapes or strides as nested tuples: `((16, 559), (), ((2,), (3,)))`.
pub fn tuple_of_dims(dims: &[Dims], args: &ArgsTable) -> String {
    let shape = |id: &ShapeId| tuple(args.shape(*id).iter().map(i64::to_string));
    tuple(dims.iter().map(|dims| match dims {
        Dims::One(id) => shape(id),
        Dims::Many(ids) => tuple(ids.iter().map(shape)),
    }))
}

/// Strings as a list: `['', '1']`.
pub fn list_of_strings(items: &[StringId], strings: &StringTable) -> String {
    list(items.iter().map(|item| strings.get(*item)))
}

/// Shapes or strides as nested lists: `[[16, 559], [], [[2], [3]]]`.
pub fn list_of_dims(dims: &[Dims], args: &ArgsTable) -> String {
    let joined = |items: Vec<String>| format!("[{}]", items.join(", "));
    let shape = |id: &ShapeId| joined(args.shape(*id).iter().map(i64::to_string).collect());
    joined(
        dims.iter()
            .map(|dims| match dims {
                Dims::One(id) => shape(id),
                Dims::Many(ids) => joined(ids.iter().map(shape).collect()),
            })
            .collect(),
    )
}

fn tuple(items: impl Iterator<Item = String>) -> String {
    let mut out = String::from("(");
    let mut n_items = 0;
    for item in items {
        if n_items > 0 {
            out.push_str(", ");
        }
        out.push_str(&item);
        n_items += 1;
    }
    if n_items == 1 {
        out.push(',');
    }
    out.push(')');
    out
}

fn push(out: &mut String, text: std::fmt::Arguments) {
    // Writing to a String cannot fail.
    let _ = out.write_fmt(text);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_quoted_like_python() {
        assert_eq!(string("aten::mm"), "'aten::mm'");
        assert_eq!(string("it's"), "\"it's\"");
        assert_eq!(string("it's \"x\""), "'it\\'s \"x\"'");
        assert_eq!(string("a\\b\n\u{1}é"), "'a\\\\b\\n\\x01é'");
        assert_eq!(list(["GEMM", "other"]), "['GEMM', 'other']");
        assert_eq!(list([]), "[]");
    }

    #[test]
    fn tuples_of_one_carry_a_comma() {
        let mut args = ArgsTable::default();
        let dims = args.parse_dims("[[16, 559], [], [7], [[2], [3, 4]]]");
        assert_eq!(
            tuple_of_dims(&dims.unwrap(), &args),
            "((16, 559), (), (7,), ((2,), (3, 4)))"
        );
        let dims = args.parse_dims("[[16, 559], [], [[2], [3, 4]]]");
        assert_eq!(
            list_of_dims(&dims.unwrap(), &args),
            "[[16, 559], [], [[2], [3, 4]]]"
        );
        let mut strings = StringTable::default();
        let items = ["", "[1, 1]"].map(|text| strings.intern(text));
        assert_eq!(tuple_of_strings(&items, &strings), "('', '[1, 1]')");
        assert_eq!(tuple_of_strings(&[], &strings), "()");
    }
}
