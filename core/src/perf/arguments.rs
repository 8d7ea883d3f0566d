//! Values of non-tensor arguments: numbers, flags and lists, in every format that profilers use.
//!
//! | value | spellings |
//! |---|---|
//! | number | `2`, `2.`, `1e-05`; a list of one if it has a default |
//! | flag | `True`, `true`, `1` |
//! | list | `[2, 2]`, `(2, 2)`, `2, 2`, nested; a number instead of a list of one |
//! | absent | nothing, `None`, `null` |
//!
//! For an absent argument the operator uses its default, and so does its model. A value that was recorded but cannot be
//! read is `None`, and the model gives no result. The same holds for models that depend heavily on values if the
//! profiler did not record any: convolution, and attention with its mask.

use super::OpInput;
use crate::names::signatures::{Kind, Param, overloads};
use crate::trace::list_items;

impl OpInput<'_> {
    /// Whether the values of non-tensor arguments were recorded; older profilers leave them out.
    pub(crate) fn has_values(&self) -> bool {
        self.args.concrete.is_some()
    }

    /// Whether a non-tensor argument was left out, or is Python's `None`.
    pub(super) fn is_absent(&self, position: usize) -> bool {
        is_absent(self.value(position))
    }

    /// A value that is a number and not a list, which identifies the overload of some operators.
    pub(super) fn number(&self, position: usize) -> Option<f64> {
        number(self.value(position))
    }

    /// A value that is a flag.
    pub(crate) fn flag(&self, position: usize) -> Option<bool> {
        flag(self.value(position))
    }

    /// Whether a value is a flag and not a number, which identifies the overload of some operators.
    pub(super) fn is_flag(&self, position: usize) -> bool {
        word(self.value(position)).is_some()
    }

    /// A value that is a list of integers, `[1, 1]`; a number counts as a list of one.
    pub(crate) fn integers(&self, position: usize) -> Option<Vec<i64>> {
        self.list(position, integer)
    }

    /// A value that is a list of numbers.
    pub(super) fn numbers(&self, position: usize) -> Option<Vec<f64>> {
        self.list(position, number)
    }

    /// A value that is a list of flags, `[True, False]`.
    pub(super) fn flags(&self, position: usize) -> Option<Vec<bool>> {
        self.list(position, flag)
    }

    fn list<T>(&self, position: usize, item: fn(&str) -> Option<T>) -> Option<Vec<T>> {
        list(self.value(position), item)
    }

    /// A number, or the operator's default if it is absent.
    pub(super) fn number_or(&self, position: usize, default: f64) -> Option<f64> {
        self.or(
            position,
            default,
            |input, at| match &input.numbers(at)?[..] {
                [one] => Some(*one),
                _ => None,
            },
        )
    }

    /// A flag, or the operator's default if it is absent.
    pub(super) fn flag_or(&self, position: usize, default: bool) -> Option<bool> {
        self.or(position, default, Self::flag)
    }

    /// Integers; empty if the argument is absent.
    pub(super) fn integers_or_none(&self, position: usize) -> Option<Vec<i64>> {
        self.or(position, Vec::new(), Self::integers)
    }

    /// Which of three gradients are requested; all if the argument is absent.
    pub(super) fn asked_gradients(&self, position: usize) -> Option<[bool; 3]> {
        let flags = self.or(position, vec![true; 3], Self::flags)?;
        flags.try_into().ok()
    }

    fn or<T>(
        &self,
        position: usize,
        default: T,
        read: impl FnOnce(&Self, usize) -> Option<T>,
    ) -> Option<T> {
        match self.is_absent(position) {
            true => Some(default),
            false => read(self, position),
        }
    }

    /// The name of the first argument whose value cannot be parsed as its type: "stride". An argument that is text in
    /// the operator's signature may be anything.
    pub(crate) fn misread(&self) -> Option<String> {
        let op = self.name.strip_prefix("aten::");
        let mut schemas = op.map_or(Vec::new(), overloads);
        schemas.retain(|schema| schema.params.len() >= self.n_args());
        let wrong = |at: usize| {
            let value = self.value(at);
            let is_wrong = |param: Option<&Param>| !is_absent(value) && !reads_as(value, param);
            let params = schemas.iter().map(|schema| schema.params.get(at));
            match schemas.is_empty() {
                true => is_wrong(None),
                false => params.into_iter().all(is_wrong),
            }
        };
        let at = (0..self.n_args()).find(|at| wrong(*at))?;
        let param = schemas.first().and_then(|schema| schema.params.get(at));
        Some(match param {
            Some(param) => param.name.to_owned(),
            None => format!("argument {}", at + 1),
        })
    }
}

/// Whether a value matches its type in the signature; without a signature, any number, flag, list of these, or word.
fn reads_as(value: &str, param: Option<&Param>) -> bool {
    let is_list = |is_item: fn(&str) -> bool| {
        list(value, |item| {
            (is_absent(item) || is_item(item)).then_some(())
        })
        .is_some()
    };
    let is_number: fn(&str) -> bool = |text| number(text).is_some() || text.contains("inf");
    let is_flag: fn(&str) -> bool = |text| flag(text).is_some();
    match param.map(|param| param.kind) {
        Some(Kind::Int | Kind::Float | Kind::Number) => {
            is_list(is_number) || is_list(is_flag) || value.contains("nan")
        }
        Some(Kind::Bool) => is_list(is_flag),
        Some(_) => true,
        // Text of other libraries: names, devices, types. Lists contain numbers and flags.
        None => {
            let is_text = |text: &str| text.starts_with(|first: char| first.is_alphabetic());
            let starts = |mark: char| value.trim_start().starts_with(mark);
            is_list(is_number) || is_list(is_flag) || (is_text(value) && !starts('['))
        }
    }
}

fn is_absent(text: &str) -> bool {
    matches!(text.trim(), "" | "None" | "none" | "null")
}

fn number(text: &str) -> Option<f64> {
    let number: f64 = text.trim().parse().ok()?;
    number.is_finite().then_some(number)
}

fn integer(text: &str) -> Option<i64> {
    let whole = |number: f64| (number.fract().abs() <= 0.0).then_some(number as i64);
    text.parse().ok().or_else(|| number(text).and_then(whole))
}

fn flag(text: &str) -> Option<bool> {
    match text.trim() {
        "1" => Some(true),
        "0" => Some(false),
        text => word(text),
    }
}

fn word(text: &str) -> Option<bool> {
    let is = |word: &str| text.trim().eq_ignore_ascii_case(word);
    match (is("true"), is("false")) {
        (true, _) => Some(true),
        (_, true) => Some(false),
        _ => None,
    }
}

fn list<T>(text: &str, item: impl Fn(&str) -> Option<T>) -> Option<Vec<T>> {
    let text = text.trim();
    let items = match list_items(text) {
        Some(items) => items,
        None if is_absent(text) => return None,
        None => vec![text],
    };
    items.into_iter().map(item).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_in_every_spelling() {
        for (text, expected) in [
            ("2", Some(2.0)),
            (" 2. ", Some(2.0)),
            ("1e-05", Some(1e-5)),
            ("(2,)", None),
            ("[2, 2]", None),
            ("inf", None),
            ("two", None),
            ("", None),
        ] {
            assert_eq!(number(text), expected, "{text}");
        }
        for (text, expected) in [
            ("True", Some(true)),
            ("true", Some(true)),
            ("1", Some(true)),
            ("FALSE", Some(false)),
            ("0", Some(false)),
            ("2", None),
            ("None", None),
        ] {
            assert_eq!(flag(text), expected, "{text}");
        }
        for text in [
            "[2, 3]",
            "(2,3)",
            "2, 3",
            " [ 2. , 3 ] ",
            "[[2, 3]]",
            "((2), (3))",
        ] {
            assert_eq!(list(text, integer), Some(vec![2, 3]), "{text}");
        }
        assert_eq!(list("2", integer), Some(vec![2]));
        assert_eq!(list("()", integer), Some(Vec::new()));
        for text in ["", "None", "[2, x]", "[2, 2.5]", "same"] {
            assert_eq!(list(text, integer), None, "{text}");
        }
    }
}
