//! A document: headings, sentences and tables, before it becomes Markdown or HTML.
//!
//! Reports are built in this form and written by [`markdown()`] and [`html()`](html::html), so that both have the same
//! content and a checker can read what was written. Text from a trace is in [`Span::Code`]; both writers escape
//! everything.

pub mod html;
mod markdown;
pub(crate) mod svg;
mod table;

pub use markdown::markdown;
pub use table::DocTable;
pub(crate) use table::{code, count, dash, text, time};

use serde::{Deserialize, Serialize};

use crate::base::value::Value;

/// The content of one line or cell.
pub type Line = Vec<Span>;

/// A piece of a line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Span {
    /// Plain text.
    Text(String),
    /// Bold text.
    Bold(String),
    /// A name from the trace, quoted verbatim.
    Code(String),
    /// A link to a heading of this document, by its [`slug`].
    Link {
        /// The link text.
        text: String,
        /// The slug it points to.
        slug: String,
    },
}

/// Text with names in backticks: "`aten::mm` takes 3 ms".
pub fn line(text: &str) -> Line {
    let parts = text.split('`').enumerate();
    parts
        .filter(|(_, part)| !part.is_empty())
        .map(|(at, part)| match at % 2 {
            0 => Span::Text(part.to_owned()),
            _ => Span::Code(part.to_owned()),
        })
        .collect()
}

/// A line that starts with a label: "**Issue:** …".
pub fn field(label: &str, text: &str) -> Line {
    let mut spans = vec![Span::Bold(format!("{label}:"))];
    if !text.is_empty() {
        spans.push(Span::Text(" ".to_owned()));
        spans.extend(line(text));
    }
    spans
}

/// The plain text of some spans.
pub fn plain(spans: &[Span]) -> String {
    spans
        .iter()
        .map(|span| match span {
            Span::Text(text) | Span::Bold(text) | Span::Code(text) => text.as_str(),
            Span::Link { text, .. } => text,
        })
        .collect()
}

/// A value as a cell; text quoted from a trace or a file becomes a name, as do names in backticks.
pub fn cell(value: &Value) -> Line {
    match value {
        Value::Quoted(text) => vec![Span::Code(text.clone())],
        Value::Text(text) => line(text),
        other => vec![Span::Text(other.text())],
    }
}

/// A part of a document.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Block {
    /// A heading; 1 is the title.
    Heading {
        /// 1 to 6.
        level: u8,
        /// Its text; names in backticks.
        text: String,
    },
    /// A paragraph.
    Text(Line),
    /// A list.
    Bullets(Vec<Line>),
    /// A table.
    Table(DocTable),
    /// A picture, as SVG that we generate, with a sentence that says what it shows. Markdown has only the sentence.
    Picture {
        /// The SVG.
        svg: String,
        /// What it shows.
        caption: String,
    },
}

impl Block {
    /// Its text, row by row and cell by cell: a paragraph, a list item and a caption are rows with one cell; a table
    /// starts with its column heads.
    pub(crate) fn rows(&self) -> Vec<Vec<Line>> {
        match self {
            Block::Heading { text, .. } => vec![vec![line(text)]],
            Block::Text(spans) => vec![vec![spans.clone()]],
            Block::Bullets(items) => items.iter().map(|item| vec![item.clone()]).collect(),
            Block::Table(table) => {
                let heads = table.columns.iter().map(|(head, _)| text(head.as_str()));
                let mut rows = vec![heads.collect()];
                rows.extend(table.rows.iter().cloned());
                rows
            }
            Block::Picture { caption, .. } => vec![vec![text(caption.as_str())]],
        }
    }
}

/// A document, block by block.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Document {
    /// In order; the first is the title.
    pub blocks: Vec<Block>,
}

impl Document {
    /// An empty document with its title.
    pub fn new(title: &str) -> Document {
        let mut document = Document::default();
        document.heading(1, title);
        document
    }

    /// Adds a heading; names in backticks.
    pub fn heading(&mut self, level: u8, text: &str) {
        let text = text.to_owned();
        self.blocks.push(Block::Heading { level, text });
    }

    /// Adds a paragraph; names in backticks.
    pub fn text(&mut self, text: &str) {
        self.blocks.push(Block::Text(line(text)));
    }

    /// Adds a paragraph that starts with a label.
    pub fn field(&mut self, label: &str, text: &str) {
        self.blocks.push(Block::Text(field(label, text)));
    }

    /// Adds a paragraph for each sentence.
    pub fn texts<S: AsRef<str>>(&mut self, texts: impl IntoIterator<Item = S>) {
        texts.into_iter().for_each(|text| self.text(text.as_ref()));
    }

    /// Adds a list, unless it is empty.
    pub(crate) fn bullets(&mut self, items: impl IntoIterator<Item = Line>) {
        let items: Vec<Line> = items.into_iter().collect();
        if !items.is_empty() {
            self.blocks.push(Block::Bullets(items));
        }
    }

    /// Adds a table, unless it has no rows.
    pub fn table(&mut self, table: impl Into<DocTable>) {
        let table = table.into();
        if !table.rows.is_empty() {
            self.blocks.push(Block::Table(table));
        }
    }

    /// Appends another document.
    pub fn append(&mut self, other: Document) {
        self.blocks.extend(other.blocks);
    }

    /// Adds a paragraph if the document is empty.
    pub(crate) fn or_text(&mut self, text: &str) {
        if self.blocks.is_empty() {
            self.text(text);
        }
    }

    /// The headings with their level and slug, in order.
    pub fn headings(&self) -> impl Iterator<Item = (u8, &str, String)> {
        self.blocks.iter().filter_map(|block| match block {
            Block::Heading { level, text } => Some((*level, text.as_str(), slug(text))),
            _ => None,
        })
    }

    /// The blocks below a heading, up to the next heading of its level or above.
    pub fn section(&self, heading: &str) -> Option<&[Block]> {
        let mut blocks = self.blocks.iter().enumerate();
        blocks.find_map(|(at, block)| match block {
            Block::Heading { text, level } if text == heading => {
                Some(below(&self.blocks, at, *level))
            }
            _ => None,
        })
    }
}

/// The blocks below the heading at a position, up to the next heading of its level or above.
pub(crate) fn below(blocks: &[Block], at: usize, level: u8) -> &[Block] {
    let rest = blocks.get(at + 1..).unwrap_or_default();
    let ends =
        |block: &Block| matches!(block, Block::Heading { level: other, .. } if *other <= level);
    let end = rest.iter().position(ends).unwrap_or(rest.len());
    rest.get(..end).unwrap_or_default()
}

/// The anchor of a heading, as common Markdown renderers make it: lower-case letters, digits and hyphens.
pub fn slug(heading: &str) -> String {
    heading
        .chars()
        .filter_map(|letter| match letter {
            ' ' => Some('-'),
            '-' | '_' => Some(letter),
            letter if letter.is_alphanumeric() => Some(letter),
            _ => None,
        })
        .flat_map(char::to_lowercase)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stand_in_backticks() {
        assert_eq!(
            line("`aten::mm` takes 3 ms"),
            [
                Span::Code("aten::mm".to_owned()),
                Span::Text(" takes 3 ms".to_owned())
            ]
        );
        assert_eq!(plain(&field("Issue", "slow")), "Issue: slow");
    }

    #[test]
    fn a_slug_is_what_renderers_make_of_a_heading() {
        assert_eq!(
            slug("2.1 Tiny batched products"),
            "21-tiny-batched-products"
        );
        assert_eq!(slug("🔴 Priority 1: FP32 & more"), "-priority-1-fp32--more");
    }

    #[test]
    fn a_section_ends_at_the_next_heading_of_its_level() {
        let mut document = Document::new("Title");
        document.heading(2, "A");
        document.text("one");
        document.heading(3, "A.1");
        document.heading(2, "B");
        assert_eq!(document.section("A").map(<[Block]>::len), Some(2));
        assert_eq!(document.section("B").map(<[Block]>::len), Some(0));
        assert_eq!(document.section("C"), None);
    }
}
