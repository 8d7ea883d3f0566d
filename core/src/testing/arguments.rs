//! The arguments of an operator, in one line.

use std::fmt;

/// The type of tensors without an explicit type.
const HALF: &str = "c10::BFloat16";

/// The arguments of a call, each of the four lists as JSON, as the profiler writes them.
///
/// ```
/// use dormer_core::testing::Arguments;
///
/// assert_eq!(
///     Arguments::read("4x2@1x4:float, _, =1, [3 2x3]").to_string(),
///     r#""Input Dims": [[4,2],[],[],[[3],[2,3]]], "Input type": ["float","","Scalar","TensorList"], "Input Strides": [[1,4],[],[],[]], "Concrete Inputs": ["","","1",""]"#
/// );
/// ```
#[derive(Debug, Clone)]
pub struct Arguments {
    /// `Input Dims`.
    pub dims: String,
    /// `Input type`.
    pub types: String,
    /// `Input Strides`.
    pub strides: String,
    /// `Concrete Inputs`.
    pub values: String,
    has_values: bool,
}

impl Arguments {
    /// Parses arguments separated by commas. An argument is a tensor, given by its sizes (`()` has one element), of
    /// bf16 unless a type follows after `:`, and with strides after `@`; a list of tensors in brackets; a value after
    /// `=`; or `_` for nothing (`_:Scalar` is a number that was not recorded). `*3` repeats it.
    ///
    /// # Panics
    ///
    /// If there is no number after `*`.
    pub fn read(text: &str) -> Arguments {
        let list = |sizes: &[String]| format!("[{}]", sizes.join(","));
        let sizes = |sizes: &str| match sizes {
            "_" | "()" => "[]".to_owned(),
            sizes => format!("[{}]", sizes.replace('x', ",")),
        };
        let (mut dims, mut types, mut strides, mut values) = (vec![], vec![], vec![], vec![]);
        for arg in repeated(text) {
            let (tensor, of_type) = arg.split_once(':').unwrap_or((arg, HALF));
            let (shape, stride) = tensor.split_once('@').unwrap_or((tensor, ""));
            let tensors = || arg[1..arg.len() - 1].split_whitespace().map(sizes);
            let (dim, of_type, value) = match arg.as_bytes() {
                [b'=', b'[', ..] => (sizes("_"), "ScalarList", &arg[1..]),
                [b'=', ..] => (sizes("_"), "Scalar", &arg[1..]),
                b"_" => (sizes("_"), "", ""),
                [b'[', .., b']'] => (list(&tensors().collect::<Vec<_>>()), "TensorList", ""),
                _ => (sizes(shape), of_type, ""),
            };
            dims.push(dim);
            types.push(of_type);
            strides.push(sizes(stride));
            values.push(value);
        }
        let json = |texts: &[&str]| serde_json::Value::from(texts).to_string();
        Arguments {
            dims: list(&dims),
            types: json(&types),
            strides: list(if text.contains('@') { &strides } else { &[] }),
            values: json(&values),
            has_values: text.contains('='),
        }
    }
}

/// Formats the fields of an event. Strides and values are left out if none is given.
impl fmt::Display for Arguments {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        let Arguments { dims, types, .. } = self;
        write!(out, r#""Input Dims": {dims}, "Input type": {types}"#)?;
        if self.strides != "[]" {
            write!(out, r#", "Input Strides": {}"#, self.strides)?;
        }
        if self.has_values {
            write!(out, r#", "Concrete Inputs": {}"#, self.values)?;
        }
        Ok(())
    }
}

/// Repeats each argument as often as it says.
fn repeated(text: &str) -> Vec<&str> {
    let mut depth = 0;
    let parts = text.split(|letter| {
        depth += i32::from(letter == '[') - i32::from(letter == ']');
        letter == ',' && depth == 0
    });
    let parts = parts.map(str::trim).filter(|part| !part.is_empty());
    let repeated = parts.flat_map(|part| {
        let (arg, times) = part.rsplit_once('*').unwrap_or((part, "1"));
        let times = times.parse();
        let times = times.unwrap_or_else(|_| panic!("{part}: no number behind `*`"));
        std::iter::repeat_n(arg, times)
    });
    repeated.collect()
}
