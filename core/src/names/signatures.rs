//! The signatures of the most common PyTorch operators, which give recorded arguments their names and types.
//!
//! The profiler records arguments by position, without names, and records neither the overload nor which arguments are
//! keyword-only. [`overloads`] lists the candidates.

use crate::base::labels::labeled;

/// The signatures, as text, one per line.
const ATEN: &str = include_str!("aten.txt");

/// Types of lists, numbers and absent arguments.
const NO_TENSORS: [&str; 6] = [
    "Scalar",
    "ScalarList",
    "TensorList",
    "GenericList",
    "OptionalTensorList",
    "None",
];

/// True for the type of a tensor; lists, numbers and absent arguments have other type names.
pub(crate) fn is_tensor_type(recorded: &str) -> bool {
    let is = |word: &str| recorded.eq_ignore_ascii_case(word);
    !recorded.is_empty() && !NO_TENSORS.into_iter().any(is)
}

labeled! {
    /// The kind of an argument, with PyTorch's type name, as used in the table.
    pub(crate) enum Kind {
        Tensor => "Tensor",
        Number => "Scalar",
        Int => "int",
        Float => "float",
        Bool => "bool",
        Str => "str",
        Dtype => "ScalarType",
        Layout => "Layout",
        Device => "Device",
        MemoryFormat => "MemoryFormat",
        Generator => "Generator",
    }
}

/// An argument of a signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Param {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) is_list: bool,
    /// Whether the argument, or an element of the list, may be `None`.
    pub(crate) is_optional: bool,
    /// In Python syntax.
    pub(crate) default: Option<&'static str>,
    pub(crate) is_keyword: bool,
}

impl Param {
    /// Whether it has the start offsets of sequences in a packed batch. It is an undefined tensor if the batch is not
    /// packed.
    pub(crate) fn is_sequence_starts(&self) -> bool {
        self.name.starts_with("cum_seq") || self.name.starts_with("cu_seqlens")
    }

    /// Whether it has the end offsets of the groups of a grouped GEMM.
    pub(crate) fn is_group_ends(&self) -> bool {
        self.name == "offs"
    }

    /// As PyTorch writes it: "Tensor", "int[]", "float?".
    pub(crate) fn type_name(&self) -> String {
        let list = if self.is_list { "[]" } else { "" };
        let optional = if self.is_optional { "?" } else { "" };
        format!("{}{list}{optional}", self.kind.label())
    }

    fn parse(text: &'static str, is_keyword: bool) -> Option<Param> {
        let (declared, default) = match text.split_once('=') {
            Some((declared, default)) => (declared, Some(default)),
            None => (text, None),
        };
        let (name, of_type) = declared.split_once(':')?;
        let outer = of_type.strip_suffix('?').unwrap_or(of_type);
        let list = outer.strip_suffix("[]");
        let element = list.unwrap_or(outer);
        let word = element.strip_suffix('?').unwrap_or(element);
        Some(Param {
            name,
            kind: Kind::ALL.into_iter().find(|kind| kind.label() == word)?,
            is_list: list.is_some(),
            is_optional: of_type.len() > outer.len(),
            default,
            is_keyword,
        })
    }
}

/// One overload of an operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Schema {
    /// "Tensor" in `add.Tensor`; empty for the default overload.
    pub(crate) overload: &'static str,
    pub(crate) params: Vec<Param>,
}

/// The overloads of an operator of the `aten` namespace, in the order in which they are tried; empty if the operator is
/// not in the table.
pub(crate) fn overloads(op: &str) -> Vec<Schema> {
    ATEN.lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| {
            let mut words = line.split(' ');
            let (name, overload) = split_overload(words.next()?);
            (name == op).then(|| Schema {
                overload,
                params: params(words),
            })
        })
        .collect()
}

/// Whether the last of `n_args` arguments of an operator is the output tensor, as in `mm(…, out=…)`. `op` is without
/// its namespace.
pub(crate) fn has_out_operand(op: &str, n_args: usize) -> bool {
    let overloads = overloads(op);
    let ends = |schema: &Schema| {
        let last = schema
            .params
            .last()
            .filter(|_| schema.params.len() == n_args)?;
        Some((
            last.kind == Kind::Tensor && !last.is_list,
            last.name == "out" && last.is_keyword,
        ))
    };
    let mut ends = overloads
        .iter()
        .filter_map(ends)
        .filter(|(is_tensor, _)| *is_tensor);
    ends.next().is_some_and(|(_, is_out)| is_out) && ends.all(|(_, is_out)| is_out)
}

fn split_overload(name: &'static str) -> (&'static str, &'static str) {
    name.split_once('.').unwrap_or((name, ""))
}

fn params(words: impl Iterator<Item = &'static str>) -> Vec<Param> {
    let mut is_keyword = false;
    let mut params = Vec::new();
    for word in words {
        match word {
            "*" => is_keyword = true,
            _ => params.extend(Param::parse(word, is_keyword)),
        }
    }
    params
}

/// Guesses the type of an argument of an operator that is not in the table.
pub(crate) fn guessed_type(recorded: &str, value: &str) -> &'static str {
    let first = value.trim_start_matches('[').split([',', ']']).next();
    let kind = match first.unwrap_or_default().trim() {
        "True" | "False" | "true" | "false" => Kind::Bool,
        number if number.parse::<i64>().is_ok() => Kind::Int,
        _ => Kind::Float,
    };
    match (recorded, kind) {
        ("Scalar", Kind::Bool) => "bool",
        ("Scalar", Kind::Int) => "int",
        ("Scalar", _) => "float",
        ("ScalarList", Kind::Bool) => "bool[]",
        ("ScalarList", Kind::Int) => "int[]",
        ("ScalarList", _) if value.trim() == "[]" => "int[]",
        ("ScalarList", _) => "float[]",
        ("TensorList", _) => "Tensor[]",
        _ if is_tensor_type(recorded) => "Tensor",
        _ => "None",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_table_is_read_whole() {
        for line in ATEN.lines().filter(|line| !line.starts_with('#')) {
            let (name, rest) = line.split_once(' ').unwrap();
            let (op, overload) = split_overload(name);
            let known = overloads(op);
            let schema = known.iter().find(|schema| schema.overload == overload);
            let n_written = rest.split(' ').filter(|word| *word != "*").count();
            assert_eq!(schema.unwrap().params.len(), n_written, "{line}");
            let twice = known.iter().filter(|schema| schema.overload == overload);
            assert_eq!(twice.count(), 1, "{line}");
        }
    }

    #[test]
    fn the_common_operators_are_there() {
        let ops: std::collections::BTreeSet<&str> = ATEN
            .lines()
            .filter(|line| !line.starts_with('#'))
            .map(|line| split_overload(line.split(' ').next().unwrap()).0)
            .collect();
        assert!(ops.len() >= 150, "{}", ops.len());
        for op in [
            "mm",
            "convolution",
            "_softmax",
            "native_layer_norm",
            "copy_",
        ] {
            assert!(ops.contains(op), "{op}");
        }
    }

    #[test]
    fn a_signature_has_names_types_and_defaults() {
        let addmm = &overloads("addmm")[0];
        let written: Vec<(&str, String, Option<&str>, bool)> = addmm
            .params
            .iter()
            .map(|param| {
                let type_name = param.type_name();
                (param.name, type_name, param.default, param.is_keyword)
            })
            .collect();
        let tensor = || "Tensor".to_owned();
        assert_eq!(
            written,
            [
                ("self", tensor(), None, false),
                ("mat1", tensor(), None, false),
                ("mat2", tensor(), None, false),
                ("beta", "Scalar".to_owned(), Some("1"), true),
                ("alpha", "Scalar".to_owned(), Some("1"), true),
            ]
        );
        let mean = overloads("mean");
        let dim = mean.iter().find(|schema| schema.overload == "dim").unwrap();
        assert_eq!(dim.params[1].type_name(), "int[]?");
        assert_eq!(overloads("no_such_operator"), []);
    }

    #[test]
    fn the_tensor_that_a_result_is_written_to_is_told_from_operands() {
        for (op, n_args, expected) in [
            ("mm", 2, false),
            ("mm", 3, true),
            ("addmm", 5, false),
            ("addmm", 6, true),
            ("convolution", 9, false),
            ("no_such_operator", 3, false),
        ] {
            assert_eq!(has_out_operand(op, n_args), expected, "{op} of {n_args}");
        }
    }

    #[test]
    fn types_are_guessed_from_values() {
        let cases = [
            ("c10::BFloat16", "", "Tensor"),
            ("Scalar", "True", "bool"),
            ("Scalar", "-1", "int"),
            ("Scalar", "0.5", "float"),
            ("Scalar", "0.", "float"),
            ("ScalarList", "[1, 2]", "int[]"),
            ("ScalarList", "[2., 2.]", "float[]"),
            ("ScalarList", "[True, False]", "bool[]"),
            ("ScalarList", "[]", "int[]"),
            ("TensorList", "", "Tensor[]"),
            ("", "", "None"),
        ];
        for (recorded, value, expected) in cases {
            assert_eq!(
                guessed_type(recorded, value),
                expected,
                "{recorded} {value}"
            );
        }
    }
}
