//! Checks of the wording.

use super::read::{lines_of, sentences, without_names};
use super::structure::{pairs, short};
use super::{Verdict, Written};
use crate::names::words::contains_any;
use crate::output::markup::{Block, Span};

pub(super) fn names(written: &Written) -> Verdict {
    let Some(known) = written.subject.quotable() else {
        return Verdict::NotApplicable("names are those of two reports".to_owned());
    };
    let is_known = |quoted: &str| {
        known.contains(quoted)
            || quoted.split_once('…').is_some_and(|(head, tail)| {
                let mut known = known.iter();
                known.any(|name| name.starts_with(head) && name.ends_with(tail))
            })
    };
    let mut defects = Vec::new();
    for (document, text) in written.stakeholders() {
        let tables = text.blocks.iter().filter_map(|block| match block {
            Block::Table(table) => Some(table),
            _ => None,
        });
        let cells = tables.flat_map(|table| {
            let rows = table.rows.iter();
            rows.flat_map(|row| table.columns.iter().zip(row))
        });
        let named = cells.filter(|((head, _), _)| head == "Operation" || head == "Kernel");
        for span in named.flat_map(|(_, cell)| cell) {
            if let Span::Code(quoted) = span
                && !is_known(quoted)
            {
                defects.push(format!("{document}: the trace has no “{}”", short(quoted)));
            }
        }
    }
    defects.into()
}

/// Libraries and tools of vendors, and words of competition. Lower case; words that start with an entry match too.
const FORBIDDEN: &[&str] = &[
    "cuda kernel",
    "hip kernel",
    "nccl",
    "rccl",
    "cublas",
    "cudnn",
    "miopen",
    "cutlass",
    "cuda graph",
    "hip graph",
    "winner",
    "outperform",
    "beats",
    "is superior",
    "loses to",
    "defeat",
    "crushes",
];

/// V14. Names from the trace may contain such words.
pub(super) fn neutral(written: &Written) -> Verdict {
    let defects = written.prose().filter_map(|(name, text)| {
        let small = text.to_lowercase();
        let word = FORBIDDEN.iter().find(|word| has_word(&small, word))?;
        Some(format!("{name}: “{word}” in “{}”", short(&text)))
    });
    defects.collect::<Vec<_>>().into()
}

/// Whether any word of a text starts with this.
fn has_word(text: &str, start: &str) -> bool {
    text.match_indices(start).any(|(at, _)| {
        let before = text.get(..at).and_then(|head| head.chars().next_back());
        !before.is_some_and(char::is_alphanumeric)
    })
}

/// Claims that need hardware counters, and things that a roofline implies anyway. Lower case.
const CLAIMS: &[&str] = &[
    "cache hit",
    "cache miss",
    "hit rate",
    "bank conflict",
    "coalesc",
    "uncoalesc",
    "occupancy",
    "closer to the roof",
    "closer to roofline",
];

/// A sentence with one of these says that the trace does not contain something.
const DISCLAIMERS: &[&str] = &[
    "visible in a trace",
    "a trace does not",
    "a trace cannot",
    "cannot be seen in a trace",
];

pub(super) fn claims(written: &Written) -> Verdict {
    let names = written.subject.names();
    let mut defects = Vec::new();
    for (name, text) in written.prose() {
        for sentence in sentences(&text) {
            let small = sentence.to_lowercase();
            let is_disclaimer = contains_any(&small, DISCLAIMERS);
            let claim = CLAIMS.iter().find(|claim| has_word(&small, claim));
            if let Some(claim) = claim.filter(|_| !is_disclaimer) {
                defects.push(format!("{name}: “{claim}” in “{}”", short(sentence)));
            }
        }
        // The rough document may mention keys; a long name may be shortened in the middle.
        let is_named = |word: &str| names.iter().any(|name| name.contains(word));
        let mut words = text.split(is_no_key);
        let key = words.find(|word| is_key(word) && !is_named(word));
        if let Some(key) = key.filter(|_| name != "rough") {
            defects.push(format!("{name}: the key “{key}” in “{}”", short(&text)));
        }
    }
    defects.into()
}

fn is_no_key(letter: char) -> bool {
    !letter.is_alphanumeric() && letter != '_'
}

/// "exposed_comm_time": lower-case letters and digits separated by underscores.
fn is_key(word: &str) -> bool {
    let is_small = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit();
    word.contains('_')
        && word
            .split('_')
            .all(|part| !part.is_empty() && part.chars().all(is_small))
}

/// Maximum lines of the summary.
const MAX_SUMMARY: usize = 20;
/// Maximum lines of a recommendation, without its heading.
const MAX_CARD: usize = 10;
/// Characters per line of a page.
const LINE: usize = 110;

pub(super) fn lengths(written: &Written) -> Verdict {
    let mut defects = Vec::new();
    let summary = written.fair.section("Executive Summary");
    let n = n_lines(summary.unwrap_or_default());
    if n > MAX_SUMMARY {
        defects.push(format!("the summary has {n} lines"));
    }
    for (part, card) in pairs(written) {
        let n = n_lines(part.blocks.get(..CARD_BLOCKS).unwrap_or(part.blocks));
        if n > MAX_CARD {
            defects.push(format!("P{} has {n} lines", card.number));
        }
        let problem = written.subject.words().problem;
        if sentences(&part.spans(problem).map(without_names).unwrap_or_default()).len() > 1 {
            let number = card.number;
            defects.push(format!(
                "“{problem}” of P{number} is more than one sentence"
            ));
        }
    }
    defects.into()
}

/// Issue, action, impact. What follows the last recommendation does not belong to it.
const CARD_BLOCKS: usize = 3;

/// How many lines some blocks take on a page; a table row takes one.
fn n_lines(blocks: &[Block]) -> usize {
    let lines = blocks.iter().map(|block| {
        let lines = lines_of(block);
        match block {
            Block::Table(_) => lines.len(),
            _ => lines
                .iter()
                .map(|line| line.chars().count().div_ceil(LINE))
                .sum(),
        }
    });
    lines.sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::markup::{DocTable, Document};

    #[test]
    fn keys_of_files_are_distinguished_from_words() {
        for (word, expected) in [
            ("exposed_comm_time", true),
            ("top_2", true),
            ("GPU_name", false),
            ("_", false),
            ("time", false),
        ] {
            assert_eq!(is_key(word), expected, "{word}");
        }
    }

    #[test]
    fn a_word_begins_where_no_letter_is_before() {
        assert!(has_word("an nccl kernel", "nccl"));
        assert!(!has_word("thinnccl", "nccl"));
    }

    #[test]
    fn a_line_is_as_long_as_a_page_is_wide() {
        let mut document = Document::default();
        document.text(&"x".repeat(111));
        document.table(DocTable::of(["1"]).text("A", |one| *one));
        assert_eq!(n_lines(&document.blocks), 4);
    }
}
