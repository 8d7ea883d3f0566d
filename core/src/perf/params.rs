//! Parameters of a model as in TraceLens's sheets: each value formatted as in Python.

use super::OpInput;
use super::input::Tensor;
use crate::base::format;

/// Names and values in TraceLens's order.
pub type Params = Vec<(&'static str, Param)>;

/// A parameter of a model. It is formatted only when a sheet needs its text, which is never parsed again.
#[derive(Debug, Clone, PartialEq)]
pub enum Param {
    /// Python's `None`, an empty cell.
    None,
    /// A whole number.
    Int(f64),
    /// `0.0`, `0.125`.
    Float(f64),
    /// `True` or `False`.
    Flag(bool),
    /// `[True, False]`.
    Flags(Vec<bool>),
    /// Whether each of two operands is transposed: `(True, None)`.
    Transposed([Option<bool>; 2]),
    /// Sizes or strides: `(512, 1)`.
    Sizes(Vec<i64>),
    /// `('c10::BFloat16', None)`.
    Types(Vec<Option<String>>),
    /// Any other text.
    Text(String),
}

impl Param {
    /// Formatted as in Python, text without quotes.
    pub fn text(&self) -> String {
        match self {
            Param::None => String::new(),
            Param::Int(value) => format!("{value:.0}"),
            Param::Float(value) => format!("{value:?}"),
            Param::Flag(value) => python_flag(*value).to_owned(),
            Param::Flags(values) => {
                let values: Vec<&str> = values.iter().map(|value| python_flag(*value)).collect();
                format!("[{}]", values.join(", "))
            }
            Param::Transposed(values) => {
                let [a, b] = values.map(|value| value.map_or("None", python_flag));
                format!("({a}, {b})")
            }
            Param::Sizes(values) => tuple(values.iter().map(i64::to_string)),
            Param::Types(values) => tuple(values.iter().map(|value| match value {
                Some(dtype) => string(dtype),
                None => "None".to_owned(),
            })),
            Param::Text(text) => text.clone(),
        }
    }

    /// A size of at least one.
    pub fn size(&self) -> Option<u64> {
        match self {
            Param::Int(value) if *value >= 1.0 => Some(*value as u64),
            _ => None,
        }
    }

    /// Sizes or strides.
    pub fn sizes(&self) -> Option<&[i64]> {
        match self {
            Param::Sizes(values) => Some(values),
            _ => None,
        }
    }

    /// Whether it is `True`.
    pub(crate) fn is_true(&self) -> bool {
        matches!(self, Param::Flag(true))
    }
}

/// Parameters as a Python dictionary: `{'M': 141, 'bias': True, 'stride_A': (512, 1)}`.
pub(crate) fn python_dict(params: &Params) -> String {
    let item = |(name, value): &(&'static str, Param)| match value {
        Param::None => format!("'{name}': None"),
        Param::Text(text) => format!("'{name}': {}", string(text)),
        other => format!("'{name}': {}", other.text()),
    };
    let items = format::joined(params.iter().map(item), ", ");
    format!("{{{items}}}")
}

/// Text, such as a type; `None` if it is empty.
pub(super) fn text(value: &str) -> Param {
    match value {
        "" => Param::None,
        _ => Param::Text(value.to_owned()),
    }
}

/// Whole numbers with their names.
pub(super) fn whole<const N: usize>(values: [(&'static str, f64); N]) -> Params {
    values.map(|(name, value)| (name, Param::Int(value))).into()
}

/// Sizes or strides.
pub(super) fn sizes(values: &[i64]) -> Param {
    Param::Sizes(values.to_vec())
}

/// The same; an empty cell if there are none.
pub(super) fn opt_sizes(values: Option<&[i64]>) -> Param {
    values.map_or(Param::None, sizes)
}

/// Parameters of an op with two operands.
pub(super) fn of_two(
    input: &OpInput,
    [x, y]: [usize; 2],
    result: Option<&str>,
    strides: Option<&[i64]>,
) -> Params {
    let types = [Some(input.dtype(x)), Some(input.dtype(y)), result];
    vec![
        ("shape_in1", opt_sizes(input.shape(x))),
        ("shape_in2", opt_sizes(input.shape(y))),
        ("dtype_in1_in2_out", dtypes(&types)),
        ("stride_input1", opt_sizes(input.strides(x))),
        ("stride_input2", opt_sizes(input.strides(y))),
        ("stride_output", opt_sizes(strides)),
    ]
}

/// Parameters of an op with one relevant tensor: its shape and type.
pub(super) fn shape_and_type(x: &Tensor) -> Params {
    vec![("op_shape", sizes(x.shape)), ("dtype", text(x.dtype))]
}

/// Types of operands.
pub(super) fn dtypes(values: &[Option<&str>]) -> Param {
    let types = values.iter().map(|value| value.map(str::to_owned));
    Param::Types(types.collect())
}

/// Types of arguments.
pub(super) fn types_of<const N: usize>(input: &OpInput, at: [usize; N]) -> Param {
    dtypes(&at.map(|at| Some(input.dtype(at))))
}

/// TraceLens's parameters of an op with one operand, at position `at`.
pub(super) fn of_one(
    input: &OpInput,
    at: usize,
    result: Option<&str>,
    strides: Option<&[i64]>,
) -> Params {
    vec![
        ("op_shape", opt_sizes(input.shape(at))),
        ("dtype_in_out", dtypes(&[Some(input.dtype(at)), result])),
        ("stride_input", opt_sizes(input.strides(at))),
        ("stride_output", opt_sizes(strides)),
    ]
}

fn python_flag(value: bool) -> &'static str {
    if value { "True" } else { "False" }
}

fn tuple(items: impl Iterator<Item = String>) -> String {
    let items: Vec<String> = items.collect();
    match items.as_slice() {
        [one] => format!("({one},)"),
        _ => format!("({})", items.join(", ")),
    }
}

/// Text in quotes.
fn string(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('\'', "\\'");
    format!("'{escaped}'")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_as_python_writes_them() {
        assert_eq!(sizes(&[512, 1]).text(), "(512, 1)");
        assert_eq!(sizes(&[7]).text(), "(7,)");
        assert_eq!(sizes(&[]).text(), "()");
        assert_eq!(dtypes(&[Some("float"), None]).text(), "('float', None)");
        assert_eq!(Param::Float(0.0).text(), "0.0");
        assert_eq!(Param::Flags(vec![true, false]).text(), "[True, False]");
        let params = vec![
            ("M", Param::Int(141.0)),
            ("convNd", Param::Text("conv2d".to_owned())),
            ("bias", Param::Flag(false)),
            ("stride", Param::None),
            ("mask", Param::Flags(vec![true])),
        ];
        assert_eq!(
            python_dict(&params),
            "{'M': 141, 'convNd': 'conv2d', 'bias': False, 'stride': None, 'mask': [True]}"
        );
    }
}
