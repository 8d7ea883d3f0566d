//! How checks read a document: its parts, its prose and its numbers.

use crate::base::format;
use crate::base::format::is_digits;
use crate::output::markup::{Block, DocTable, Document, Span, below, plain};

/// A heading and the blocks below it.
pub(super) struct Part<'a> {
    pub(super) heading: &'a str,
    pub(super) blocks: &'a [Block],
}

impl Part<'_> {
    /// Its whole text, including the heading.
    pub(super) fn text(&self) -> String {
        let mut lines = vec![self.heading.to_owned()];
        lines.extend(self.blocks.iter().flat_map(lines_of));
        lines.join("\n")
    }

    /// The text after a label: "…" in "**Issue:** …".
    pub(super) fn field(&self, name: &str) -> Option<String> {
        self.spans(name).map(|spans| plain(spans).trim().to_owned())
    }

    /// The same with its names and links.
    pub(super) fn spans(&self, name: &str) -> Option<&[Span]> {
        self.blocks.iter().find_map(|block| match block {
            Block::Text(spans) => match spans.split_first() {
                Some((Span::Bold(label), rest)) if label.strip_suffix(':') == Some(name) => {
                    Some(rest)
                }
                _ => None,
            },
            _ => None,
        })
    }
}

/// The parts of some blocks that start with a heading of this level.
pub(super) fn parts(blocks: &[Block], level: u8) -> Vec<Part<'_>> {
    let parts = blocks.iter().enumerate();
    let parts = parts.filter_map(|(at, block)| match block {
        Block::Heading { level: own, text } if *own == level => Some(Part {
            heading: text,
            blocks: below(blocks, at, level),
        }),
        _ => None,
    });
    parts.collect()
}

pub(super) fn headings(blocks: &[Block], level: u8) -> Vec<&str> {
    let parts = parts(blocks, level).into_iter();
    parts.map(|part| part.heading).collect()
}

/// The lines of a block: one per paragraph, table row or list item.
pub(super) fn lines_of(block: &Block) -> Vec<String> {
    let rows = block.rows().into_iter();
    rows.map(|cells| format::joined(cells.iter().map(|cell| plain(cell)), " | "))
        .collect()
}

/// Replaces a quoted name in prose.
const QUOTED: &str = "“…”";

/// Our own wording, paragraph by paragraph and cell by cell: without quoted names, and without the title and `names`,
/// the trace's names of model and device.
pub(super) fn prose(document: &Document, names: &[&str]) -> Vec<String> {
    let is_title = |block: &&Block| matches!(block, Block::Heading { level: 1, .. });
    let blocks = document.blocks.iter().filter(|block| !is_title(block));
    let cells = blocks.flat_map(Block::rows).flatten();
    let names = names.iter().filter(|name| !name.trim().is_empty());
    cells
        .map(|cell| {
            let text = without_names(&cell);
            let names = names.clone();
            names.fold(text, |text, name| text.replace(*name, QUOTED))
        })
        .collect()
}

/// The text of some spans, with names replaced.
pub(super) fn without_names(spans: &[Span]) -> String {
    let text = spans.iter().map(|span| match span {
        Span::Code(_) => QUOTED,
        Span::Text(text) | Span::Bold(text) | Span::Link { text, .. } => text,
    });
    text.collect()
}

/// Splits a text into sentences.
pub(super) fn sentences(text: &str) -> Vec<&str> {
    let mut sentences = Vec::new();
    let mut rest = text;
    let mut from = 0;
    while let Some(at) = rest.get(from..).and_then(|tail| tail.find(". ")) {
        let end = from + at + 1;
        let next = rest.get(end + 1..).unwrap_or_default();
        // "1. GEMM", "e.g. this": no new sentence starts with a lower-case letter or after a number.
        let is_end = next.starts_with(|letter: char| letter.is_uppercase() || letter == '“')
            && !rest.get(..end).is_some_and(is_number_with_stop);
        if is_end {
            sentences.push(rest.get(..end).unwrap_or_default());
            rest = next;
            from = 0;
        } else {
            from = end;
        }
    }
    if !rest.trim().is_empty() {
        sentences.push(rest);
    }
    sentences
}

fn is_number_with_stop(text: &str) -> bool {
    is_digits(text.trim_end_matches('.').trim())
}

/// A number as written, and the text after it: "3.41" and " ms".
pub(super) struct Number<'a> {
    /// Without the spaces between groups of digits.
    pub(super) digits: String,
    pub(super) rest: &'a str,
}

impl Number<'_> {
    pub(super) fn value(&self) -> Option<f64> {
        self.digits.parse().ok()
    }

    /// Its value in percent, if it is a share.
    pub(super) fn percent(&self) -> Option<f64> {
        self.rest.starts_with(" %").then(|| self.value())?
    }
}

pub(super) fn numbers(text: &str) -> Vec<Number<'_>> {
    let mut numbers = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find(|letter: char| letter.is_ascii_digit()) {
        let tail = rest.get(start..).unwrap_or_default();
        let end = tail
            .find(|letter: char| !letter.is_ascii_digit() && !matches!(letter, '.' | '\u{202F}'))
            .unwrap_or(tail.len());
        let written = tail.get(..end).unwrap_or_default();
        // The full stop of the sentence is not part of it.
        let written = written.trim_end_matches(['.', '\u{202F}']);
        let after = tail.get(written.len()..).unwrap_or_default();
        numbers.push(Number {
            digits: written.replace('\u{202F}', ""),
            rest: after,
        });
        rest = after;
    }
    numbers
}

pub(super) fn table(blocks: &[Block]) -> Option<&DocTable> {
    blocks.iter().find_map(|block| match block {
        Block::Table(table) => Some(table),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_they_are_written() {
        let numbers = numbers("0.9 ms to 1\u{202F}234 µs, 3.2 % of 128×64, P2.");
        let digits: Vec<&str> = numbers.iter().map(|one| one.digits.as_str()).collect();
        assert_eq!(digits, ["0.9", "1234", "3.2", "128", "64", "2"]);
        assert_eq!(numbers[2].percent(), Some(3.2));
        assert_eq!(numbers[3].percent(), None);
    }

    #[test]
    fn a_sentence_ends_before_a_capital_letter() {
        let cases: &[(&str, &[&str])] = &[
            ("One. Two.", &["One.", "Two."]),
            (
                "It takes 3.41 ms, e.g. here.",
                &["It takes 3.41 ms, e.g. here."],
            ),
            ("2. GEMM", &["2. GEMM"]),
            ("A is slow. “…” too", &["A is slow.", "“…” too"]),
            ("", &[]),
        ];
        for (text, expected) in cases {
            assert_eq!(sentences(text), *expected, "{text}");
        }
    }

    #[test]
    fn prose_is_without_names_of_the_trace() {
        let mut document = Document::new("MyNet - GPU");
        document.text("`ncclKernel` of MyNet takes long.");
        assert_eq!(prose(&document, &["MyNet"]), ["“…” of “…” takes long."]);
    }

    #[test]
    fn a_part_ends_at_the_next_heading_of_its_level() {
        let mut document = Document::new("T");
        document.heading(3, "A");
        document.field("Issue", "`k` is slow");
        document.heading(4, "A.1");
        document.heading(3, "B");
        let parts = parts(&document.blocks, 3);
        assert_eq!(parts.len(), 2);
        assert_eq!(parts[0].field("Issue").as_deref(), Some("k is slow"));
        assert_eq!(parts[0].field("Action"), None);
        assert_eq!(parts[0].text(), "A\nIssue: k is slow\nA.1");
        assert!(parts[1].blocks.is_empty());
    }
}
