//! Words in sentences.

use std::fmt::Display;

/// Joins items: "a, b and c".
pub fn listed(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [others @ .., last] => format!("{} and {last}", others.join(", ")),
    }
}

/// Joins items with a separator.
pub(crate) fn joined(items: impl IntoIterator<Item: Display>, separator: &str) -> String {
    let items = items.into_iter().map(|item| item.to_string());
    items.collect::<Vec<String>>().join(separator)
}

/// Capitalizes the first letter of a sentence or label.
pub fn capitalized(text: &str) -> String {
    with_first(text, |first| first.to_ascii_uppercase())
}

/// Names that are not written in lower case, and have no other capital.
const NAMES: &[&str] = &["Adam", "Python", "Triton"];

/// A label or title for use within a sentence: "tiny batched GEMMs" for "Tiny batched GEMMs". Abbreviations and names
/// stay.
pub(crate) fn in_sentence(label: &str) -> String {
    let is_letter = |letter: char| letter.is_alphanumeric();
    let word = label.split(|letter| !is_letter(letter)).next();
    let mut rest = word.unwrap_or_default().chars().skip(1).peekable();
    let is_word = match rest.peek() {
        Some(_) => rest.all(char::is_lowercase),
        None => label.starts_with("A "),
    };
    match is_word && !word.is_some_and(|word| NAMES.contains(&word)) {
        true => with_first(label, |first| first.to_ascii_lowercase()),
        false => label.to_owned(),
    }
}

fn with_first(text: &str, change: impl Fn(char) -> char) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| {
        format!("{}{}", change(first), letters.as_str())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_begin_with_a_capital_and_names_stay() {
        for (text, expected) in [
            ("pad the dimension.", "Pad the dimension."),
            ("`model.to()` once.", "`model.to()` once."),
            ("", ""),
        ] {
            assert_eq!(capitalized(text), expected);
        }
    }

    #[test]
    fn labels_in_sentences_are_lower_case_except_names() {
        for (label, expected) in [
            ("Tiny batched GEMMs", "tiny batched GEMMs"),
            ("A step of its own", "a step of its own"),
            ("GPU graph", "GPU graph"),
            ("GEMMs", "GEMMs"),
            ("GPU-bound", "GPU-bound"),
            ("Warm-up", "warm-up"),
            ("M or N is 1", "M or N is 1"),
            ("Adam, one kernel per tensor", "Adam, one kernel per tensor"),
            ("PyTorch's caching allocator", "PyTorch's caching allocator"),
            ("`aten::mm` is slow", "`aten::mm` is slow"),
            ("", ""),
        ] {
            assert_eq!(in_sentence(label), expected);
        }
    }
}
