//! Classification of names by the words they contain.

/// Lowercase words by their meaning. The first row with a word that the name contains decides.
pub(crate) type Words<T> = [(T, &'static [&'static str])];

/// The meaning of the words of a name, ignoring case.
pub(crate) fn classify<T: Copy>(words: &Words<T>, name: &str) -> Option<T> {
    let name = Lowered::new(name);
    let has = |words: &[&str]| words.iter().any(|word| name.holds(word));
    let (class, _) = words.iter().find(|(_, words)| has(words))?;
    Some(*class)
}

/// Whether a name contains one of some lowercase words, ignoring its case.
pub(crate) fn holds(name: &str, words: &[&str]) -> bool {
    let name = Lowered::new(name);
    words.iter().any(|word| name.holds(word))
}

/// Whether a text contains one of some parts, as they are written.
pub(crate) fn contains_any(text: &str, parts: &[&str]) -> bool {
    parts.iter().any(|part| text.contains(part))
}

/// A lowercased name for many substring searches: `str::contains` has a setup cost for each.
pub(super) struct Lowered {
    text: String,
    /// A set of bits by hash of each pair of adjacent bytes.
    pairs: [u64; Lowered::N_WORDS],
}

impl Lowered {
    const N_WORDS: usize = 16;

    pub(super) fn new(name: &str) -> Lowered {
        let text = name.to_ascii_lowercase();
        let mut pairs = [0; Lowered::N_WORDS];
        for (word, bit) in text.as_bytes().windows(2).map(Lowered::place) {
            if let Some(word) = pairs.get_mut(word) {
                *word |= bit;
            }
        }
        Lowered { text, pairs }
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Whether it contains a lowercase text. Most texts have a pair of bytes that the name does not, which is detected
    /// without a search.
    pub(super) fn holds(&self, text: &str) -> bool {
        let mut pairs = text.as_bytes().windows(2).map(Lowered::place);
        let may_hold = pairs.all(|(word, bit)| {
            let word = self.pairs.get(word);
            word.is_some_and(|word| word & bit != 0)
        });
        may_hold && self.text.contains(text)
    }

    /// The word and bit for two bytes.
    fn place(pair: &[u8]) -> (usize, u64) {
        let hash = pair
            .iter()
            .fold(0, |hash, byte| hash * 37 + usize::from(*byte));
        (hash / 64 % Lowered::N_WORDS, 1 << (hash % 64))
    }
}

/// The letters and digits of a name: `allreduce` for `all_reduce`.
pub(crate) fn letters(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).collect()
}

/// A name without its namespace: `mm` for `aten::mm`.
pub(crate) fn without_namespace(name: &str) -> &str {
    name.rsplit("::").next().unwrap_or(name)
}

/// The digits that a text begins with.
pub(crate) fn leading_digits(text: &str) -> &str {
    let end = text.find(|letter: char| !letter.is_ascii_digit());
    text.get(..end.unwrap_or(text.len())).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_holds_what_a_search_finds() {
        let name = Lowered::new("void Cutlass::Kernel<sm80_gemm_ǵ>(int)");
        for (text, expected) in [
            ("cutlass::kernel", true),
            ("sm80_gemm", true),
            ("ǵ", true),
            ("v", true),
            ("", true),
            // The name has all its pairs, but not in sequence.
            ("emm_gem", false),
            ("sm90", false),
            ("w", false),
        ] {
            assert_eq!(name.holds(text), expected, "{text}");
        }
    }
}
