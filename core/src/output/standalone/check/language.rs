//! Checks of what is said, and how.

use hashbrown::HashSet;
use rustc_hash::FxBuildHasher;

use super::read::{lines_of, prose, sentences};
use super::structure::{pairs, short};
use super::{Verdict, Written};
use crate::base::format;
use crate::output::document::{Block, Document, Span, plain};
use crate::trace::StringId;

/// V12.
pub(super) fn names(written: &Written) -> Verdict {
    let profile = written.source.profile;
    let operations = profile.operations().iter();
    let mut ids: HashSet<StringId, FxBuildHasher> = HashSet::default();
    ids.extend(operations.map(|operation| operation.key.name));
    ids.extend(profile.ops.groups().iter().map(|group| group.name));
    ids.extend(profile.host_ops.iter().map(|op| op.name));
    ids.extend(profile.gpu.iter().map(|(_, work)| work.name));
    let mut known: HashSet<String, FxBuildHasher> = HashSet::default();
    for id in ids {
        let name = profile.trace.strings.get(id);
        known.insert(format::kernel_name(name));
        known.insert(name.to_owned());
    }
    let is_known = |quoted: &str| {
        known.contains(quoted)
            || quoted.split_once('…').is_some_and(|(head, tail)| {
                known
                    .iter()
                    .any(|name| name.starts_with(head) && name.ends_with(tail))
            })
    };
    let mut defects = Vec::new();
    for (document, written) in written.stakeholders() {
        let tables = written.blocks.iter().filter_map(|block| match block {
            Block::Table(table) => Some(table),
            _ => None,
        });
        for table in tables {
            for row in &table.rows {
                let cells = table.columns.iter().zip(row);
                let named = cells.filter(|((head, _), _)| head == "Operation" || head == "Kernel");
                for span in named.flat_map(|(_, cell)| cell) {
                    if let Span::Code(quoted) = span
                        && !is_known(quoted)
                    {
                        defects.push(format!("{document}: the trace has no “{}”", short(quoted)));
                    }
                }
            }
        }
    }
    Verdict::of(defects)
}

/// Products that have a word of their own here, and words of contests. In small letters; what
/// begins like it counts too.
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

/// V14.
pub(super) fn neutral(written: &Written) -> Verdict {
    let names = written.names();
    let documents = written.documents();
    Verdict::of(
        documents
            .flat_map(|(name, document)| neutral_defects(name, document, &names))
            .collect(),
    )
}

/// Where a document names products or has words of contests; names of the trace may.
pub(crate) fn neutral_defects(name: &str, document: &Document, names: &[&str]) -> Vec<String> {
    let mut defects = Vec::new();
    for text in prose(document, names) {
        let small = text.to_lowercase();
        if let Some(word) = FORBIDDEN.iter().find(|word| has_word(&small, word)) {
            defects.push(format!("{name}: “{word}” in “{}”", short(&text)));
        }
    }
    defects
}

/// Whether a word of a text begins like this.
fn has_word(text: &str, start: &str) -> bool {
    text.match_indices(start).any(|(at, _)| {
        let before = text.get(..at).and_then(|head| head.chars().next_back());
        !before.is_some_and(char::is_alphanumeric)
    })
}

/// What only hardware counters tell, and what follows from the meaning of a roof. In small letters.
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

/// A sentence with one of these says that a trace does not tell.
const DISCLAIMERS: &[&str] = &[
    "visible in a trace",
    "a trace does not",
    "a trace cannot",
    "cannot be seen in a trace",
];

/// V15.
pub(super) fn claims(written: &Written) -> Verdict {
    let names = written.names();
    let documents = written.documents();
    let mut defects: Vec<String> = documents
        .flat_map(|(name, document)| claim_defects(name, document, &names))
        .collect();
    for (document, written_text) in written.stakeholders() {
        for text in prose(written_text, &names) {
            if let Some(key) = text.split(is_no_key).find(|word| is_key(word)) {
                defects.push(format!("{document}: the key “{key}” in “{}”", short(&text)));
            }
        }
    }
    Verdict::of(defects)
}

/// Where a document claims what a trace cannot carry.
pub(crate) fn claim_defects(name: &str, document: &Document, names: &[&str]) -> Vec<String> {
    let mut defects = Vec::new();
    for text in prose(document, names) {
        for sentence in sentences(&text) {
            let small = sentence.to_lowercase();
            let is_disclaimer = DISCLAIMERS.iter().any(|words| small.contains(words));
            let claim = CLAIMS.iter().find(|claim| has_word(&small, claim));
            if let Some(claim) = claim
                && !is_disclaimer
            {
                defects.push(format!("{name}: “{claim}” in “{}”", short(sentence)));
            }
        }
    }
    defects
}

fn is_no_key(letter: char) -> bool {
    !letter.is_alphanumeric() && letter != '_'
}

/// "exposed_comm_time": small letters and digits with underscores between.
fn is_key(word: &str) -> bool {
    let is_small = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit();
    word.contains('_')
        && word
            .split('_')
            .all(|part| !part.is_empty() && part.chars().all(is_small))
}

/// Lines of the summary.
pub(crate) const MAX_SUMMARY: usize = 20;
/// Lines of a recommendation, its heading not counted.
pub(crate) const MAX_CARD: usize = 10;
/// Letters of a line, as a page is wide.
const LINE: usize = 110;

/// V16.
pub(super) fn lengths(written: &Written) -> Verdict {
    let mut defects = Vec::new();
    let summary = written
        .fair
        .section("Executive Summary")
        .unwrap_or_default();
    let n = n_lines(summary);
    if n > MAX_SUMMARY {
        defects.push(format!("the summary has {n} lines"));
    }
    for (card, one) in pairs(written) {
        let n = n_lines(card.blocks.get(..CARD_BLOCKS).unwrap_or(card.blocks));
        if n > MAX_CARD {
            defects.push(format!("P{} has {n} lines", one.number));
        }
        let issue = card.spans("Issue").map(without_names).unwrap_or_default();
        if sentences(&issue).len() > 1 {
            defects.push(format!(
                "the issue of P{} is more than one sentence",
                one.number
            ));
        }
    }
    Verdict::of(defects)
}

/// Issue, action, impact. What follows the last recommendation belongs to none.
const CARD_BLOCKS: usize = 3;

fn without_names(spans: &[Span]) -> String {
    let no_names = spans.iter().map(|span| match span {
        Span::Code(_) => "“…”".to_owned(),
        other => plain(std::slice::from_ref(other)),
    });
    no_names.collect()
}

/// How many lines some blocks take on a page; a row of a table takes one.
pub(crate) fn n_lines(blocks: &[Block]) -> usize {
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

    #[test]
    fn keys_of_files_are_told_from_words() {
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
        let mut document = crate::output::document::Document::default();
        document.text(&"x".repeat(111));
        let mut table = crate::output::document::DocTable::new(&["A"]);
        table.row(&["1"]);
        document.table(table);
        assert_eq!(n_lines(&document.blocks), 4);
    }
}
