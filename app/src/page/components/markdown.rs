//! Markdown that core wrote, as elements.
//!
//! The text holds names from the trace, so it never becomes HTML text: the parser's events become
//! elements and text nodes, and events of raw HTML are left out. Of links only those to a heading
//! of the same text are followed; all others stay text.

use std::collections::{HashMap, VecDeque};

use dormer_core::output::document::slug;
use leptos::prelude::*;
use pulldown_cmark::{Alignment, CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use super::prose::with_units;
use crate::page::browser;
use crate::page::state::AppState;

/// A heading of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heading {
    /// 1 is the title.
    pub level: u8,
    /// Its text.
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

/// The headings of a text, in order.
pub fn headings(text: &str) -> Vec<Heading> {
    let mut headings = Vec::new();
    let mut seen: HashMap<String, usize> = HashMap::new();
    let mut open: Option<(u8, String)> = None;
    for event in parser(text) {
        match event {
            Event::Start(Tag::Heading { level, .. }) => open = Some((level as u8, String::new())),
            Event::Text(piece) | Event::Code(piece) => {
                if let Some((_, text)) = &mut open {
                    text.push_str(&piece);
                }
            }
            Event::End(TagEnd::Heading(_)) => {
                if let Some((level, text)) = open.take() {
                    let plain = slug(&text);
                    let times = seen.entry(plain.clone()).or_default();
                    let slug = match *times {
                        0 => plain,
                        times => format!("{plain}-{times}"),
                    };
                    *times += 1;
                    headings.push(Heading { level, text, slug });
                }
            }
            _ => {}
        }
    }
    headings
}

fn parser(text: &str) -> Parser<'_> {
    Parser::new_ext(text, Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH)
}

/// Markdown as elements. Links to its headings scroll there, and leave the page's address alone.
#[component]
pub fn Markdown(
    /// The text.
    text: String,
    /// Its headings.
    headings: Vec<Heading>,
    /// Where such a link leads in another tab.
    here: Signal<String>,
    /// What stands below a heading, by its slug, that the text does not have.
    below: fn(AppState, &str) -> Option<AnyView>,
) -> AnyView {
    let mut page = Page {
        alignments: Vec::new(),
        in_head: false,
        titles: headings
            .iter()
            .map(|heading| heading.text.clone())
            .collect(),
        title: String::new(),
        n_tables: 0,
        slugs: headings.into_iter().map(|heading| heading.slug).collect(),
        next: VecDeque::new(),
        here,
        state: expect_context::<AppState>(),
        below,
    };
    page.next = page.slugs.iter().cloned().collect();
    page.children(&mut parser(&text)).into_any()
}

/// What elements need to know of those around them.
struct Page {
    /// Of the columns of the table.
    alignments: Vec<Alignment>,
    /// Inside a table's head.
    in_head: bool,
    /// Of all headings.
    slugs: Vec<String>,
    /// Of the headings that are still to come.
    next: VecDeque<String>,
    /// The texts of the headings that are still to come.
    titles: VecDeque<String>,
    /// The text of the heading that came last.
    title: String,
    /// Tables so far: two under one heading are told apart by their numbers.
    n_tables: usize,
    /// Where links to headings lead in another tab.
    here: Signal<String>,
    state: AppState,
    /// What else stands below a heading.
    below: fn(AppState, &str) -> Option<AnyView>,
}

impl Page {
    /// The elements up to the end of the element the events are in.
    fn children<'a>(&mut self, events: &mut impl Iterator<Item = Event<'a>>) -> Vec<AnyView> {
        let mut children = Vec::new();
        let mut column = 0;
        while let Some(event) = events.next() {
            match event {
                Event::End(_) => break,
                Event::Start(Tag::TableCell) => {
                    children.push(self.cell(column, events));
                    column += 1;
                }
                Event::Start(tag) => children.push(self.element(tag, events)),
                Event::Text(text) => children.extend(with_lights(&text)),
                Event::Code(text) => {
                    children.push(view! { <code>{text.into_string()}</code> }.into_any());
                }
                Event::SoftBreak => children.push(" ".into_any()),
                Event::HardBreak => children.push(view! { <br/> }.into_any()),
                Event::Rule => children.push(view! { <hr/> }.into_any()),
                Event::Html(_)
                | Event::InlineHtml(_)
                | Event::InlineMath(_)
                | Event::DisplayMath(_)
                | Event::FootnoteReference(_)
                | Event::TaskListMarker(_) => {}
            }
        }
        children
    }

    fn element<'a>(
        &mut self,
        tag: Tag<'a>,
        events: &mut impl Iterator<Item = Event<'a>>,
    ) -> AnyView {
        match tag {
            Tag::Table(alignments) => {
                self.alignments = alignments;
                let rows = self.children(events);
                self.n_tables += 1;
                let label = format!("Table {}: {}", self.n_tables, self.title);
                // The scroller can be reached by keyboard, so that a wide table can be read.
                view! {
                    <div class="wide" tabindex="0" role="region" aria-label=label>
                        <table class="list">{rows}</table>
                    </div>
                }
                .into_any()
            }
            Tag::TableHead => {
                self.in_head = true;
                let cells = self.children(events);
                self.in_head = false;
                view! { <thead><tr>{cells}</tr></thead> }.into_any()
            }
            Tag::TableRow => view! { <tr>{self.children(events)}</tr> }.into_any(),
            Tag::Heading { level, .. } => {
                let slug = self.next.pop_front().unwrap_or_default();
                self.title = self.titles.pop_front().unwrap_or_default();
                let heading = heading(level, Heading::id(&slug), self.children(events));
                match (self.below)(self.state, &slug) {
                    Some(below) => (heading, below).into_any(),
                    None => heading,
                }
            }
            Tag::Link { dest_url, .. } => {
                let children = self.children(events);
                let target = dest_url.strip_prefix('#');
                match target.filter(|slug| self.slugs.iter().any(|known| known == slug)) {
                    Some(slug) => {
                        let (id, here) = (Heading::id(slug), self.here);
                        let go = move |event: leptos::ev::MouseEvent| {
                            event.prevent_default();
                            browser::go_to_element(&id);
                        };
                        view! { <a href=here on:click=go>{children}</a> }.into_any()
                    }
                    // Whoever named a kernel could have written it.
                    None => children.into_any(),
                }
            }
            Tag::Paragraph => view! { <p>{self.children(events)}</p> }.into_any(),
            Tag::BlockQuote(_) => {
                view! { <blockquote>{self.children(events)}</blockquote> }.into_any()
            }
            Tag::CodeBlock(CodeBlockKind::Fenced(_) | CodeBlockKind::Indented) => {
                view! { <pre tabindex="0"><code>{self.children(events)}</code></pre> }.into_any()
            }
            Tag::List(None) => view! { <ul>{self.children(events)}</ul> }.into_any(),
            Tag::List(Some(_)) => view! { <ol>{self.children(events)}</ol> }.into_any(),
            Tag::Item => view! { <li>{self.children(events)}</li> }.into_any(),
            Tag::Emphasis => view! { <em>{self.children(events)}</em> }.into_any(),
            Tag::Strong => view! { <strong>{self.children(events)}</strong> }.into_any(),
            Tag::Strikethrough => view! { <s>{self.children(events)}</s> }.into_any(),
            // Images would be requests. The rest does not occur in our own text.
            _ => self.children(events).into_any(),
        }
    }

    fn cell<'a>(&mut self, column: usize, events: &mut impl Iterator<Item = Event<'a>>) -> AnyView {
        let numeric = matches!(self.alignments.get(column), Some(Alignment::Right));
        let in_head = self.in_head;
        let children = self.children(events);
        if in_head {
            view! { <th scope="col" class:n=numeric>{children}</th> }.into_any()
        } else {
            view! { <td class:n=numeric>{children}</td> }.into_any()
        }
    }
}

fn heading(level: HeadingLevel, id: String, children: Vec<AnyView>) -> AnyView {
    match level {
        HeadingLevel::H1 => view! { <h1 id=id tabindex="-1">{children}</h1> }.into_any(),
        HeadingLevel::H2 => view! { <h2 id=id tabindex="-1">{children}</h2> }.into_any(),
        HeadingLevel::H3 => view! { <h3 id=id tabindex="-1">{children}</h3> }.into_any(),
        _ => view! { <h4 id=id tabindex="-1">{children}</h4> }.into_any(),
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
        let text = "# Title\n\n## A & `b`\n\ntext\n\n### 🔴 Priority 1: x\n\n## A & `b`\n";
        let found: Vec<(u8, String, String)> = headings(text)
            .into_iter()
            .map(|heading| (heading.level, heading.text, heading.slug))
            .collect();
        let expected = [
            (1, "Title", "title"),
            (2, "A & b", "a--b"),
            (3, "🔴 Priority 1: x", "-priority-1-x"),
            (2, "A & b", "a--b-1"),
        ];
        assert_eq!(
            found,
            expected.map(|(level, text, slug)| (level, text.to_owned(), slug.to_owned()))
        );
    }
}
