//! Words that a name holds, and what they say.

/// Words in lower case by what they say. The first row of which a name holds a word decides.
pub(crate) type Words<T> = [(T, &'static [&'static str])];

/// What the words of a name say, whatever its case.
pub(crate) fn said_by<T: Copy>(words: &Words<T>, name: &str) -> Option<T> {
    let name = name.to_ascii_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| name.contains(word));
    let (said, _) = words.iter().find(|(_, words)| has(words))?;
    Some(*said)
}

/// Whether a name holds one of some words in lower case, whatever its own case.
pub(crate) fn holds(name: &str, words: &[&str]) -> bool {
    let name = name.to_ascii_lowercase();
    words.iter().any(|word| name.contains(word))
}

/// The letters and digits of a name: `allreduce` of `all_reduce`.
pub(crate) fn letters(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).collect()
}

/// A name without its namespace: `mm` of `aten::mm`.
pub(crate) fn without_namespace(name: &str) -> &str {
    name.rsplit("::").next().unwrap_or(name)
}

/// The digits that a text begins with.
pub(crate) fn leading_digits(text: &str) -> &str {
    let end = text.find(|letter: char| !letter.is_ascii_digit());
    text.get(..end.unwrap_or(text.len())).unwrap_or_default()
}
