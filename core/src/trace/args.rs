//! The arguments of ops, each distinct set once.

use std::ops::Range;

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{StringId, StringTable};

/// A row of the [`ArgsTable`]. Equal arguments have equal ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OpArgsId(pub u32);

/// A shape or stride vector in the pool. Equal vectors have equal ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ShapeId(pub u32);

/// The shape (or strides) of one argument.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Dims {
    /// A tensor; empty for a scalar tensor and for a non-tensor argument.
    One(ShapeId),
    /// A list of tensors.
    Many(Box<[ShapeId]>),
}

impl Dims {
    /// The shapes of all tensors of the argument.
    pub fn shapes(&self) -> &[ShapeId] {
        match self {
            Dims::One(shape) => std::slice::from_ref(shape),
            Dims::Many(shapes) => shapes,
        }
    }
}

/// The arguments of one op call as the profiler wrote them. `None`: the key is missing, or its value is malformed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct OpArgs {
    /// `Input Dims`.
    pub dims: Option<Box<[Dims]>>,
    /// `Input type`: "float", "c10::BFloat16", "long int", …
    pub types: Option<Box<[StringId]>>,
    /// `Input Strides`, parallel to the shapes.
    pub strides: Option<Box<[Dims]>>,
    /// `Concrete Inputs`: values of non-tensor arguments, as text.
    pub concrete: Option<Box<[StringId]>>,
}

/// Distinct op arguments, with one pool for all their shapes.
#[derive(Debug, Clone, Default)]
pub struct ArgsTable {
    rows: Vec<OpArgs>,
    by_value: HashMap<OpArgs, OpArgsId, FxBuildHasher>,
    pool: Vec<i64>,
    shapes: Vec<Range<u32>>,
    shape_index: HashMap<Box<[i64]>, ShapeId, FxBuildHasher>,
}

impl ArgsTable {
    /// The arguments of a row; `None` for an id of another table.
    pub fn get(&self, id: OpArgsId) -> Option<&OpArgs> {
        self.rows.get(id.0 as usize)
    }

    /// The sizes of a shape.
    pub fn shape(&self, id: ShapeId) -> &[i64] {
        self.shapes
            .get(id.0 as usize)
            .and_then(|range| self.pool.get(range.start as usize..range.end as usize))
            .unwrap_or(&[])
    }

    /// The rows from `row` on.
    pub(super) fn rows_from(&self, row: usize) -> &[OpArgs] {
        self.rows.get(row..).unwrap_or(&[])
    }

    /// The shapes from `row` on.
    pub(super) fn shapes_from(&self, row: usize) -> impl Iterator<Item = &[i64]> {
        (row..self.shapes.len()).map(|row| self.shape(ShapeId(row as u32)))
    }

    /// The id of a set of arguments, adding it when it is new.
    pub(crate) fn intern(&mut self, args: OpArgs) -> OpArgsId {
        if let Some(id) = self.by_value.get(&args) {
            return *id;
        }
        let id = OpArgsId(self.rows.len() as u32);
        self.rows.push(args.clone());
        self.by_value.insert(args, id);
        id
    }

    /// The id of a shape, adding it when it is new.
    pub(crate) fn intern_shape(&mut self, sizes: &[i64]) -> ShapeId {
        if let Some(id) = self.shape_index.get(sizes) {
            return *id;
        }
        let id = ShapeId(self.shapes.len() as u32);
        let start = self.pool.len() as u32;
        self.pool.extend_from_slice(sizes);
        self.shapes.push(start..self.pool.len() as u32);
        self.shape_index.insert(sizes.into(), id);
        id
    }

    /// Parses `Input Dims` such as `[[16, 559], [], [[2], [3]]]`, including tuples and lists written as text.
    pub(crate) fn parse_dims(&mut self, json: &str) -> Option<Box<[Dims]>> {
        let items = list_of(json)?;
        items.iter().map(|item| self.dims(item)).collect()
    }

    fn dims(&mut self, value: &Value) -> Option<Dims> {
        let is_list = |item: &Value| item.is_array() || item.is_string() || item.is_null();
        match value {
            Value::Array(items) if items.iter().any(is_list) => {
                let shapes = items.iter().map(|item| self.one_shape(item));
                shapes.collect::<Option<_>>().map(Dims::Many)
            }
            Value::String(text) if !is_nothing(text) => {
                let items = respelled(text)?;
                let is_list = items.iter().any(Value::is_array);
                // A nested list with a single inner list is one shape.
                match (is_list, items.as_slice()) {
                    (true, [one]) => self.one_shape(one).map(Dims::One),
                    _ => self.dims(&Value::Array(items)),
                }
            }
            other => self.one_shape(other).map(Dims::One),
        }
    }

    /// Numbers and absent arguments have no sizes.
    fn one_shape(&mut self, value: &Value) -> Option<ShapeId> {
        let sizes = match value {
            Value::Array(items) => items.iter().map(size).collect::<Option<Vec<i64>>>()?,
            Value::String(text) if !is_nothing(text) => {
                respelled(text)?.iter().map(size).collect::<Option<_>>()?
            }
            _ => Vec::new(),
        };
        Some(self.intern_shape(&sizes))
    }
}

fn size(value: &Value) -> Option<i64> {
    let whole = |number: &f64| number.fract().abs() <= 0.0 && number.abs() < 1e15;
    let of_float = || value.as_f64().filter(whole).map(|number| number as i64);
    value.as_i64().or_else(of_float)
}

/// Whether the text denotes an absent argument.
fn is_nothing(text: &str) -> bool {
    matches!(text.trim(), "" | "None")
}

/// Parses a list, including one written as text.
fn list_of(json: &str) -> Option<Vec<Value>> {
    match serde_json::from_str(json).ok()? {
        Value::Array(items) => Some(items),
        Value::String(text) => respelled(&text),
        _ => None,
    }
}

/// Parses a list in Python syntax: `[(2, 3), None]`, `('Float', 'Float')`, `2, 3`.
fn respelled(text: &str) -> Option<Vec<Value>> {
    let text = text.trim();
    let text = text.replace('(', "[").replace(')', "]").replace('\'', "\"");
    let text = text
        .replace("None", "null")
        .replace("True", "true")
        .replace("False", "false");
    let text = text.replace(", ]", "]").replace(",]", "]");
    let listed = match text.starts_with('[') && text.ends_with(']') {
        true => serde_json::from_str(&text).ok(),
        false => None,
    };
    listed.or_else(|| serde_json::from_str(&format!("[{text}]")).ok())
}

/// Reads a list of texts such as `["", "[1, 1]", "False"]`; other values keep their JSON text.
pub(crate) fn parse_texts(json: &str, strings: &mut StringTable) -> Option<Box<[StringId]>> {
    let items = list_of(json)?;
    let texts = items.iter().map(|item| match item {
        Value::String(text) => strings.intern(text),
        Value::Null => strings.intern(""),
        other => strings.intern(&other.to_string()),
    });
    Some(texts.collect())
}

/// The items of `[2, 2]`, `(2, 2)`, `(2,)`, `2, 2` and `[[2, 2]]`.
pub(crate) fn list_items(text: &str) -> Option<Vec<&str>> {
    let is_bracket = |letter| matches!(letter, '[' | ']' | '(' | ')');
    if !text.contains(is_bracket) && !text.contains(',') {
        return None;
    }
    let items = text.split(|letter| is_bracket(letter) || letter == ',');
    let items = items.map(str::trim);
    Some(items.filter(|item| !item.is_empty()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_share_one_pool() {
        let mut args = ArgsTable::default();
        let dims = args
            .parse_dims("[[16, 559], [], [[16, 559], [3]]]")
            .unwrap();
        let Dims::One(first) = dims[0] else {
            panic!("a tensor")
        };
        assert_eq!(args.shape(first), [16, 559]);
        assert_eq!(dims[2], Dims::Many([first, args.intern_shape(&[3])].into()));
        assert_eq!(args.parse_dims("[\"x\"]"), None);
    }

    #[test]
    fn equal_arguments_share_an_id() {
        let mut args = ArgsTable::default();
        let [one, two] = ["[[1, 2]]", "[[1,2]]"].map(|dims| {
            let dims = args.parse_dims(dims);
            args.intern(OpArgs {
                dims,
                ..OpArgs::default()
            })
        });
        assert_eq!(one, two);
    }

    #[test]
    fn shapes_are_read_in_every_spelling() {
        let mut args = ArgsTable::default();
        let expected = args.parse_dims("[[2, 3], [], [5]]");
        assert!(expected.is_some());
        for json in [
            "[[2,3],[],[5]]",
            "[[2.0, 3.0], null, [5]]",
            r#"["(2, 3)", "()", "(5,)"]"#,
            r#"["[2, 3]", "", "[5]"]"#,
            r#"["2, 3", "None", "5"]"#,
            r#""[(2, 3), (), (5,)]""#,
            r#""[[2, 3], None, [5]]""#,
            "[[2, 3], 7, [5]]",
        ] {
            assert_eq!(args.parse_dims(json), expected, "{json}");
        }
        let list = args.parse_dims("[[[2], [3]], [1]]");
        assert_eq!(args.parse_dims(r#"["[(2,), (3,)]", "1"]"#), list);
        for json in [r#"["x"]"#, "[[2, 2.5]]", "{}", "", r#"[["a"]]"#] {
            assert_eq!(args.parse_dims(json), None, "{json}");
        }
        let mut strings = StringTable::default();
        let types = parse_texts(r#"["Float", "", "Float"]"#, &mut strings);
        assert!(types.is_some());
        assert_eq!(
            parse_texts(r#""('Float', None, 'Float')""#, &mut strings),
            types
        );
    }

    #[test]
    fn lists_are_read_in_every_spelling() {
        for text in [
            "[2, 3]",
            "(2, 3)",
            "2, 3",
            "[2,3]",
            " ( 2 , 3 , ) ",
            "[[2, 3]]",
        ] {
            assert_eq!(list_items(text), Some(vec!["2", "3"]), "{text}");
        }
        assert_eq!(list_items("[]"), Some(Vec::new()));
        assert_eq!(list_items("2"), None);
        assert_eq!(list_items("None"), None);
    }
}
