//! Parameters of a model as the reference's sheets write them: Python's text of each value.

/// Names and values in the reference's order.
pub type Params = Vec<(&'static str, Param)>;

/// A parameter of a model. Its text is written where a sheet needs it, and never read again.
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
    /// As Python writes it, text without quotes.
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
    pub fn is_true(&self) -> bool {
        matches!(self, Param::Flag(true))
    }
}

/// Parameters as a Python dictionary: `{'M': 141, 'bias': True, 'stride_A': (512, 1)}`.
pub fn python_dict(params: &Params) -> String {
    let item = |(name, value): &(&'static str, Param)| match value {
        Param::None => format!("'{name}': None"),
        Param::Text(text) => format!("'{name}': {}", string(text)),
        other => format!("'{name}': {}", other.text()),
    };
    let items: Vec<String> = params.iter().map(item).collect();
    format!("{{{}}}", items.join(", "))
}

/// `True` or `False`.
pub(super) fn flag(value: bool) -> Param {
    Param::Flag(value)
}

/// Text, such as a type; none where it is empty.
pub(super) fn text(value: &str) -> Param {
    match value {
        "" => Param::None,
        _ => Param::Text(value.to_owned()),
    }
}

/// A whole number.
pub(super) fn int(value: f64) -> Param {
    Param::Int(value)
}

/// A Python float.
pub(super) fn float(value: f64) -> Param {
    Param::Float(value)
}

/// Sizes or strides.
pub(super) fn sizes(values: &[i64]) -> Param {
    Param::Sizes(values.to_vec())
}

/// The same, empty where there are none.
pub(super) fn opt_sizes(values: Option<&[i64]>) -> Param {
    values.map_or(Param::None, sizes)
}

/// Types of operands.
pub(super) fn dtypes(values: &[Option<&str>]) -> Param {
    let types = values.iter().map(|value| value.map(str::to_owned));
    Param::Types(types.collect())
}

/// Flags as a list.
pub(super) fn flags(values: &[bool]) -> Param {
    Param::Flags(values.to_vec())
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
        assert_eq!(float(0.0).text(), "0.0");
        assert_eq!(flags(&[true, false]).text(), "[True, False]");
        let params = vec![
            ("M", int(141.0)),
            ("convNd", Param::Text("conv2d".to_owned())),
            ("bias", flag(false)),
            ("stride", Param::None),
            ("mask", flags(&[true])),
        ];
        assert_eq!(
            python_dict(&params),
            "{'M': 141, 'convNd': 'conv2d', 'bias': False, 'stride': None, 'mask': [True]}"
        );
    }
}
