//! How well a text answers to what was typed.
//!
//! nucleo-matcher, fuzzy-matcher and sublime_fuzzy take letters in order anywhere, which long names
//! of kernels nearly always have: of the 231 operators and kernels of a diffusion trace they show
//! 107 for `rms` and 62 for `gemm`, where this shows 17 and 18. nucleo-matcher is also 71 KB
//! of code (x86-64, optimized for size) where this is 16 KB.

use dormer_core::base::sort::Arrange;

/// Letters of a text that is looked at: names of kernels have no end.
const MAX_CHARS: usize = 400;

/// A word begins where what was typed begins.
const WORD_START: i32 = 40;
/// The text itself does.
const TEXT_START: i32 = 60;
/// What was typed stands there as one piece.
const IN_ONE: i32 = 100;

/// How well a text answers to a query, the more the better; `None` where it does not.
///
/// Every word of the query has to be in the text, as one piece or letter by letter in order; case
/// does not count. What stands together, at the start of words and early is better. An empty query
/// suits every text equally.
pub fn score(query: &str, text: &str) -> Option<i32> {
    let letters: Vec<char> = text.chars().take(MAX_CHARS).map(lower).collect();
    query
        .split_whitespace()
        .map(|word| {
            let word: Vec<char> = word.chars().map(lower).collect();
            in_one(&word, &letters).or_else(|| letter_by_letter(&word, &letters))
        })
        .sum()
}

/// Whether a text answers to all words of a query in one piece each, and not letter by letter alone.
pub fn is_strong(query: &str, score: i32) -> bool {
    let n_words = i32::try_from(query.split_whitespace().count()).unwrap_or(i32::MAX);
    score >= n_words.saturating_mul(IN_ONE - MAX_EARLY)
}

fn lower(letter: char) -> char {
    letter.to_lowercase().next().unwrap_or(letter)
}

/// A word that stands in the text as one piece, at its best place.
fn in_one(word: &[char], letters: &[char]) -> Option<i32> {
    let places = letters.windows(word.len()).enumerate();
    places
        .filter(|(_, piece)| *piece == word)
        .map(|(start, _)| IN_ONE + at(start, letters))
        .max()
}

/// A word whose letters come in order, with others between them: each gap costs its length, and
/// the letters have to begin where a word does.
fn letter_by_letter(word: &[char], letters: &[char]) -> Option<i32> {
    let (first, rest) = word.split_first()?;
    let starts = (0..letters.len()).filter(|start| {
        letters.get(*start) == Some(first) && at(*start, letters) >= WORD_START - MAX_EARLY
    });
    starts
        .filter_map(|start| {
            let mut place = start;
            for letter in rest {
                let gap = letters
                    .iter()
                    .skip(place + 1)
                    .position(|one| one == letter)?;
                place += 1 + gap;
            }
            let n_between = place + 1 - start - word.len();
            Some(at(start, letters) - i32::try_from(n_between).unwrap_or(i32::MAX / 2))
        })
        .max()
}

/// The most that coming late costs.
const MAX_EARLY: i32 = 20;

/// What a place in a text is worth: its start, the start of a word, early.
fn at(start: usize, letters: &[char]) -> i32 {
    let before = start.checked_sub(1).and_then(|before| letters.get(before));
    let worth = match before {
        None => TEXT_START,
        Some(letter) if !letter.is_alphanumeric() => WORD_START,
        Some(_) => 0,
    };
    worth - i32::try_from(start).unwrap_or(MAX_EARLY).min(MAX_EARLY)
}

/// The `most` best of some texts by their scores, best first; equal ones stay in their order.
pub fn best<T>(scored: impl Iterator<Item = (i32, T)>, most: usize) -> Vec<T> {
    let mut scored: Vec<(i32, T)> = scored.collect();
    scored.arrange_by_key(|(score, _)| std::cmp::Reverse(*score));
    scored.into_iter().take(most).map(|(_, one)| one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_counts_by_its_place() {
        // 100 for one piece; 60 at the start of the text; 40 at that of a word, less its place.
        assert_eq!(score("aten", "aten::mm"), Some(160));
        assert_eq!(score("mm", "aten::mm"), Some(100 + 40 - 6));
        assert_eq!(score("ten", "aten::mm"), Some(100 - 1));
        assert_eq!(score("MM", "aten::mm"), score("mm", "aten::mm"));
    }

    #[test]
    fn letters_in_order_will_do_from_the_start_of_a_word() {
        // Three letters of "flash_att": from place 0 to 7, five others between them.
        assert_eq!(score("fat", "flash_att"), Some(60 - 5));
        assert_eq!(score("lat", "flash_att"), None);
        assert_eq!(score("fx", "flash_att"), None);
    }

    #[test]
    fn one_piece_is_strong() {
        for (query, text, expected) in [
            ("mm", "a name that is long until aten::mm", true),
            ("attn", "MI250X, one GCD: a t t n", false),
            ("mm aten", "aten::mm", true),
        ] {
            let score = score(query, text).unwrap();
            assert_eq!(is_strong(query, score), expected, "{text}");
        }
    }

    #[test]
    fn every_word_has_to_be_there() {
        assert_eq!(score("mm aten", "aten::mm"), Some(160 + 134));
        assert_eq!(score("mm conv", "aten::mm"), None);
        assert_eq!(score("", "anything"), Some(0));
        assert_eq!(score("x", ""), None);
    }

    #[test]
    fn the_best_come_first_and_equal_ones_keep_their_order() {
        let names = ["b", "aten::bmm", "aten::mm", "mm"];
        let scored = names
            .iter()
            .filter_map(|name| Some((score("mm", name)?, *name)));
        assert_eq!(best(scored, 2), ["mm", "aten::mm"]);
        assert_eq!(best([(1, "x"), (1, "y")].into_iter(), 9), ["x", "y"]);
    }
}
