//! Report: the Markdown that core wrote, as a page.
//!
//! The text holds names from the trace, so it never becomes HTML text: the parser's events become
//! elements and text nodes, and events of raw HTML are left out.

use leptos::prelude::*;
use pulldown_cmark::{Alignment, CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag};

use super::export::download;
use crate::components::Icon;
use crate::engine::Engine;
use crate::protocol::MarkdownQuery;
use crate::state::AppState;

/// The file name the report is downloaded under, as the command line writes it.
pub const REPORT_FILE: &str = "standalone_analysis_fair.md";

/// The Markdown report.
#[component]
pub fn Report() -> impl IntoView {
    let state = expect_context::<AppState>();
    let engine = expect_context::<Engine>();
    let text = RwSignal::new(String::new());
    Effect::new(move || {
        state.report.track();
        engine.ask(MarkdownQuery, move |answer| {
            let _ = text.try_set(answer);
        });
    });
    let save = move |_| download(engine, REPORT_FILE, |_| {});
    view! {
        <article class="page report" data-testid="report">
            <div class="actions">
                <button type="button" id="download-report" on:click=save>
                    <Icon name="download"/>
                    "Download Markdown"
                </button>
            </div>
            {move || markdown(&text.get())}
        </article>
    }
}

/// Markdown as elements.
fn markdown(text: &str) -> AnyView {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH;
    let mut page = Page {
        alignments: Vec::new(),
        in_head: false,
    };
    let mut events = Parser::new_ext(text, options);
    page.children(&mut events).into_any()
}

/// What the elements inside a table need to know of it.
struct Page {
    alignments: Vec<Alignment>,
    in_head: bool,
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
                Event::Text(text) => children.push(text.into_string().into_any()),
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
                // The scroller can be reached by keyboard, so that a wide table can be read.
                view! {
                    <div class="wide" tabindex="0" role="region" aria-label="Table">
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
            Tag::Heading { level, .. } => heading(level, self.children(events)),
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
            // A link could be written by a name in the trace: its text is shown, its target not
            // followed. Images would be requests. The rest does not occur in our own text.
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

fn heading(level: HeadingLevel, children: Vec<AnyView>) -> AnyView {
    match level {
        HeadingLevel::H1 => view! { <h1>{children}</h1> }.into_any(),
        HeadingLevel::H2 => view! { <h2>{children}</h2> }.into_any(),
        HeadingLevel::H3 => view! { <h3>{children}</h3> }.into_any(),
        _ => view! { <h4>{children}</h4> }.into_any(),
    }
}
