//! Documents that core wrote, as elements.
//!
//! They hold names from the trace, which only ever become text nodes. Links to a heading of the same
//! document scroll there; all others stay text.

use std::collections::HashMap;

use dormer_core::output::document::{Block, DocTable, Document, Line, Span, line, plain};

use crate::page::prelude::*;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heading {
    /// 1 is the title.
    pub level: u8,
    pub text: String,
    /// Its slug; of headings with the same text, the later ones have a number at the end.
    pub slug: String,
}

impl Heading {
    /// The id of the element with a slug: no other element of the page has such an id.
    pub fn id(slug: &str) -> String {
        format!("h-{slug}")
    }
}

/// The headings of a document, in order.
pub fn headings(document: &Document) -> Vec<Heading> {
    let mut seen: HashMap<String, usize> = HashMap::new();
    let heading = |(level, text, slug): (u8, &str, String)| {
        let times = seen.entry(slug.clone()).or_default();
        *times += 1;
        Heading {
            level,
            text: plain(&line(text)),
            slug: match *times {
                1 => slug,
                times => format!("{slug}-{}", times - 1),
            },
        }
    };
    document.headings().map(heading).collect()
}

/// A document with its headings as elements. Links to them leave the page's address alone: `here` is
/// where they lead in another tab. `below` is what stands below a heading that the document does not
/// have.
pub fn document_view(
    document: Document,
    headings: &[Heading],
    here: Signal<String>,
    below: fn(AppState, &Heading) -> Option<AnyView>,
) -> AnyView {
    let state = expect_context::<AppState>();
    let words = |line: Line| -> Vec<AnyView> {
        let spans = line.into_iter();
        spans.map(|span| words(span, headings, here)).collect()
    };
    let mut next = headings.iter();
    let (mut title, mut n_tables) = ("", 0);
    let block = |block: Block| match block {
        Block::Heading { level, text } => {
            let heading = next.next()?;
            title = &heading.text;
            let element = heading_view(level, Heading::id(&heading.slug), words(line(&text)));
            Some((element, below(state, heading)).into_any())
        }
        Block::Text(spans) => Some(view! { <p>{words(spans)}</p> }.into_any()),
        Block::Bullets(items) => {
            let items = items.into_iter();
            let items = items.map(|item| view! { <li>{words(item)}</li> });
            Some(view! { <ul>{items.collect_view()}</ul> }.into_any())
        }
        Block::Table(table) => {
            n_tables += 1;
            Some(table_view(
                table,
                format!("Table {n_tables}: {title}"),
                words,
            ))
        }
        Block::Picture { caption, .. } => {
            Some(view! { <p><em>{with_lights(&caption)}</em></p> }.into_any())
        }
    };
    document
        .blocks
        .into_iter()
        .filter_map(block)
        .collect_view()
        .into_any()
}

fn heading_view(level: u8, id: String, children: Vec<AnyView>) -> AnyView {
    match level {
        1 => view! { <h1 id=id tabindex="-1">{children}</h1> }.into_any(),
        2 => view! { <h2 id=id tabindex="-1">{children}</h2> }.into_any(),
        3 => view! { <h3 id=id tabindex="-1">{children}</h3> }.into_any(),
        _ => view! { <h4 id=id tabindex="-1">{children}</h4> }.into_any(),
    }
}

fn table_view(table: DocTable, label: String, words: impl Fn(Line) -> Vec<AnyView>) -> AnyView {
    let DocTable { columns, rows } = table;
    let row = |row: Vec<Line>| {
        let cells = columns.iter().zip(row);
        let cells =
            cells.map(|((_, is_number), cell)| view! { <td class:n=*is_number>{words(cell)}</td> });
        view! { <tr>{cells.collect_view()}</tr> }
    };
    let rows = rows.into_iter().map(row).collect_view();
    let heads = columns.iter().map(|(head, is_number)| {
        view! { <th scope="col" class:n=*is_number>{with_lights(head)}</th> }
    });
    // The scroller can be reached by keyboard, so that a wide table can be read.
    view! {
        <div class="wide" tabindex="0" role="region" aria-label=label>
            <table class="list"><thead><tr>{heads.collect_view()}</tr></thead>{rows}</table>
        </div>
    }
    .into_any()
}

fn words(span: Span, headings: &[Heading], here: Signal<String>) -> AnyView {
    match span {
        Span::Code(name) if name.trim().is_empty() => "(no name)".into_any(),
        Span::Code(name) => view! { <code>{name}</code> }.into_any(),
        Span::Bold(text) => view! { <strong>{with_lights(&text)}</strong> }.into_any(),
        Span::Link { text, slug } if headings.iter().any(|known| known.slug == slug) => {
            let id = Heading::id(&slug);
            let go = move |event: leptos::ev::MouseEvent| {
                event.prevent_default();
                browser::go_to_element(&id);
            };
            view! { <a href=here on:click=go>{with_lights(&text)}</a> }.into_any()
        }
        Span::Text(text) | Span::Link { text, .. } => with_lights(&text).into_any(),
    }
}

/// Circles that say how much a finding matters, and the classes that draw them: not every system
/// has a font for them.
const LIGHTS: [(char, &str); 3] = [
    ('\u{1f534}', "light light-red"),
    ('\u{1f7e1}', "light light-yellow"),
    ('\u{1f7e2}', "light light-green"),
];

/// A text with its circles drawn.
pub fn with_lights(text: &str) -> Vec<AnyView> {
    let class = |letter: char| {
        let known = LIGHTS.iter().find(|(light, _)| *light == letter);
        known.map(|(_, class)| *class)
    };
    let mut pieces = Vec::new();
    for piece in text.split_inclusive(|letter| class(letter).is_some()) {
        let last = piece.chars().next_back();
        match last.and_then(|last| Some((last, class(last)?))) {
            Some((light, class)) => {
                let before = piece.strip_suffix(light).unwrap_or(piece);
                pieces.push(with_units(before).into_any());
                pieces.push(view! { <i class=class aria-hidden="true"></i> }.into_any());
            }
            None => pieces.push(with_units(piece).into_any()),
        }
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_have_the_slugs_that_core_links_to() {
        let mut document = Document::new("Title");
        document.heading(2, "A & `b`");
        document.text("text");
        document.heading(3, "🔴 Priority 1: x");
        document.heading(2, "A & `b`");
        let found = headings(&document).into_iter();
        let found: Vec<_> = found.map(|one| (one.level, one.text, one.slug)).collect();
        let expected = [
            (1, "Title", "title"),
            (2, "A & b", "a--b"),
            (3, "🔴 Priority 1: x", "-priority-1-x"),
            (2, "A & b", "a--b-1"),
        ];
        let owned =
            |(level, text, slug): (u8, &str, &str)| (level, text.to_owned(), slug.to_owned());
        assert_eq!(found, expected.map(owned));
    }
}
