//! Words that a name holds, and what they say.

/// Words in lower case by what they say. The first row of which a name holds a word decides.
pub(crate) type Words<T> = [(T, &'static [&'static str])];

/// What the words of a name say, whatever its case.
pub(crate) fn said_by<T: Copy>(words: &Words<T>, name: &str) -> Option<T> {
    let name = Lowered::new(name);
    let has = |words: &[&str]| words.iter().any(|word| name.holds(word));
    let (said, _) = words.iter().find(|(_, words)| has(words))?;
    Some(*said)
}

/// Whether a name holds one of some words in lower case, whatever its own case.
pub(crate) fn holds(name: &str, words: &[&str]) -> bool {
    let name = Lowered::new(name);
    words.iter().any(|word| name.holds(word))
}

/// A name in lower case, to be asked for many texts: `str::contains` prepares a search each time.
pub(super) struct Lowered {
    text: String,
    /// A bit for each two bytes that stand beside each other in it, by a hash of both.
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

    /// Whether it holds a text in lower case. Most texts have a pair of bytes that the name has not:
    /// that is told without a search.
    pub(super) fn holds(&self, text: &str) -> bool {
        let mut pairs = text.as_bytes().windows(2).map(Lowered::place);
        let may_hold = pairs.all(|(word, bit)| {
            let word = self.pairs.get(word);
            word.is_some_and(|word| word & bit != 0)
        });
        may_hold && self.text.contains(text)
    }

    /// Which word and bit stand for two bytes.
    fn place(pair: &[u8]) -> (usize, u64) {
        let hash = pair
            .iter()
            .fold(0, |hash, byte| hash * 37 + usize::from(*byte));
        (hash / 64 % Lowered::N_WORDS, 1 << (hash % 64))
    }
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
            // All its pairs stand there, but not one after the other.
            ("emm_gem", false),
            ("sm90", false),
            ("w", false),
        ] {
            assert_eq!(name.holds(text), expected, "{text}");
        }
    }
}
