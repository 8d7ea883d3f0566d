//! Each check catches a defect that is planted for it, and finds none in correct documents.

mod compared;
mod single;

use super::*;
use crate::output::markup::{Block, Span};

/// The check that has to catch it, its description, the change before the documents are written, and the change after.
type Defect<T> = (&'static str, &'static str, fn(&mut T), fn(&mut Written));

fn as_found<T>(_: &mut T) {}
fn as_written(_: &mut Written) {}

fn failed(checks: &[Check]) -> Vec<&Check> {
    let checks = checks.iter();
    checks
        .filter(|check| matches!(check.verdict, Verdict::Fail(_)))
        .collect()
}

fn assert_caught(checks: &[Check], id: &str, name: &str) {
    let is_caught = failed(checks).iter().any(|check| check.id == id);
    assert!(is_caught, "{id}: {name} is not caught");
}

fn replace(document: &mut Document, from: &str, to: &str) {
    let mut n = 0;
    for text in document.blocks.iter_mut().flat_map(texts) {
        n += usize::from(text.contains(from));
        *text = text.replace(from, to);
    }
    assert!(n > 0, "there is no “{from}”");
}

fn texts(block: &mut Block) -> Vec<&mut String> {
    let spans: Vec<&mut Span> = match block {
        Block::Heading { text, .. } => return vec![text],
        Block::Text(spans) => spans.iter_mut().collect(),
        Block::Bullets(items) => items.iter_mut().flatten().collect(),
        Block::Table(table) => table.rows.iter_mut().flatten().flatten().collect(),
        Block::Picture { .. } => Vec::new(),
    };
    let texts = spans.into_iter().flat_map(|span| match span {
        Span::Text(text) | Span::Bold(text) | Span::Code(text) => vec![text],
        Span::Link { text, slug } => vec![text, slug],
    });
    texts.collect()
}
