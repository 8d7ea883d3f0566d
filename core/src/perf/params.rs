//! Parameters of a model as the reference's sheets write them: Python's text of each value.

/// Names and values in the reference's order. An empty value stands for Python's `None`.
pub type Params = Vec<(&'static str, String)>;

/// Parameters as a Python dictionary: `{'M': 141, 'bias': True, 'stride_A': (512, 1)}`.
pub fn python_dict(params: &Params) -> String {
    let items: Vec<String> = params
        .iter()
        .map(|(name, value)| format!("'{name}': {}", literal(value)))
        .collect();
    format!("{{{}}}", items.join(", "))
}

/// Numbers, flags, tuples and lists stand for themselves, other text is quoted.
fn literal(value: &str) -> String {
    let is_literal = value.starts_with(['(', '['])
        || matches!(value, "True" | "False")
        || value.parse::<f64>().is_ok_and(f64::is_finite);
    match value {
        "" => "None".to_owned(),
        _ if is_literal => value.to_owned(),
        _ => string(value),
    }
}

/// `True` or `False`.
pub(super) fn flag(value: bool) -> String {
    if value { "True" } else { "False" }.to_owned()
}

/// A whole number.
pub(super) fn int(value: f64) -> String {
    format!("{value:.0}")
}

/// A Python float: `0.0`, `0.125`.
pub(super) fn float(value: f64) -> String {
    format!("{value:?}")
}

/// Sizes or strides: `(512, 1)`; a tuple of one keeps its comma.
pub(super) fn sizes(values: &[i64]) -> String {
    tuple(values.iter().map(i64::to_string))
}

/// The same, empty where there are none.
pub(super) fn opt_sizes(values: Option<&[i64]>) -> String {
    values.map(sizes).unwrap_or_default()
}

/// Types: `('c10::BFloat16', None)`.
pub(super) fn dtypes(values: &[Option<&str>]) -> String {
    tuple(values.iter().map(|value| match value {
        Some(dtype) => string(dtype),
        None => "None".to_owned(),
    }))
}

/// Flags as a list: `[True, False]`.
pub(super) fn flags(values: &[bool]) -> String {
    let values: Vec<String> = values.iter().map(|value| flag(*value)).collect();
    format!("[{}]", values.join(", "))
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
        assert_eq!(sizes(&[512, 1]), "(512, 1)");
        assert_eq!(sizes(&[7]), "(7,)");
        assert_eq!(sizes(&[]), "()");
        assert_eq!(dtypes(&[Some("float"), None]), "('float', None)");
        assert_eq!(float(0.0), "0.0");
        assert_eq!(flags(&[true, false]), "[True, False]");
        let params = vec![
            ("M", int(141.0)),
            ("convNd", "conv2d".to_owned()),
            ("bias", flag(false)),
            ("stride", String::new()),
            ("mask", "[True]".to_owned()),
        ];
        assert_eq!(
            python_dict(&params),
            "{'M': 141, 'convNd': 'conv2d', 'bias': False, 'stride': None, 'mask': [True]}"
        );
    }
}
