//! Values as Python prints them: the form of list-valued cells in TraceLens's sheets, which notebooks parse with
//! `ast.literal_eval`.

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
            c if c.is_ascii_control() => out.push_str(&format!("\\x{:02x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push(quote);
    out
}

/// A list of strings: `['GEMM', 'other']`.
pub fn list<'a>(items: impl IntoIterator<Item = &'a str>) -> String {
    LIST.of(items.into_iter().map(string))
}

/// How a sequence is written.
#[derive(Debug, Clone, Copy)]
pub struct Sequence {
    open: char,
    close: char,
    /// Written after a single item.
    after_one: &'static str,
}

/// `[16, 559]`
pub const LIST: Sequence = Sequence {
    open: '[',
    close: ']',
    after_one: "",
};

/// `(16, 559)`, `(2,)`
pub(crate) const TUPLE: Sequence = Sequence {
    open: '(',
    close: ')',
    after_one: ",",
};

impl Sequence {
    fn of(self, items: impl Iterator<Item = String>) -> String {
        let items: Vec<String> = items.collect();
        let after = match items.len() {
            1 => self.after_one,
            _ => "",
        };
        format!("{}{}{after}{}", self.open, items.join(", "), self.close)
    }

    /// Strings: `('', '1')`.
    pub(crate) fn of_strings(self, items: &[StringId], strings: &StringTable) -> String {
        self.of(items.iter().map(|item| string(strings.get(*item))))
    }

    /// Shapes or strides, nested: `((16, 559), (), ((2,), (3,)))`.
    pub(crate) fn of_dims(self, dims: &[Dims], args: &ArgsTable) -> String {
        let shape = |id: &ShapeId| self.of(args.shape(*id).iter().map(i64::to_string));
        self.of(dims.iter().map(|dims| match dims {
            Dims::One(id) => shape(id),
            Dims::Many(ids) => self.of(ids.iter().map(shape)),
        }))
    }
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
            TUPLE.of_dims(&dims.unwrap(), &args),
            "((16, 559), (), (7,), ((2,), (3, 4)))"
        );
        let dims = args.parse_dims("[[16, 559], [], [[2], [3, 4]]]");
        assert_eq!(
            LIST.of_dims(&dims.unwrap(), &args),
            "[[16, 559], [], [[2], [3, 4]]]"
        );
        let mut strings = StringTable::default();
        let items = ["", "[1, 1]"].map(|text| strings.intern(text));
        assert_eq!(TUPLE.of_strings(&items, &strings), "('', '[1, 1]')");
        assert_eq!(TUPLE.of_strings(&[], &strings), "()");
    }
}
