//! Report: the documents that the core crate generates, with a table of contents beside them.

use dormer_core::output::markup::{Document, markdown};

use super::export::{download, saved_name};
use crate::page::components::document::{Heading, document_view, headings, with_lights};
use crate::page::prelude::*;
use crate::protocol::{About, ArtifactQuery, DocumentQuery};

struct Choice {
    /// Its name in the URL.
    slug: &'static str,
    title: &'static str,
    hint: &'static str,
    query: DocumentQuery,
    /// Its file name when downloaded, the same as on the command line.
    file: &'static str,
}

#[rustfmt::skip]
const DOCUMENTS: [Choice; 2] = [
    Choice { slug: "", title: "Report", hint: "Prioritized recommendations with details", query: DocumentQuery::Report, file: "standalone_analysis_fair.md" },
    Choice { slug: "rough", title: "Working notes", hint: "Every analysis step with its raw tables", query: DocumentQuery::Notes, file: "standalone_analysis_rough.md" },
];

/// The report with its charts, the same file as on the command line.
const WEB_PAGE: &str = "report.html";

/// In a narrower window, the table of contents is folded above the text.
const WIDE_PX: f64 = 1080.0;

/// A document from the worker.
#[derive(Clone, Default, PartialEq)]
struct Text {
    document: Document,
    headings: Vec<Heading>,
}

/// The report, and the detailed notes behind it.
pub fn report() -> impl IntoView {
    let state = expect_context::<AppState>();
    let engine = expect_context::<Engine>();
    let document = state.of_place(|place| {
        let mut documents = DOCUMENTS.iter();
        let named = documents.position(|document| document.slug == place.focus.table);
        named.unwrap_or(0)
    });
    let text = RwSignal::new(Text::default());
    Effect::new(move |before: Option<usize>| {
        state.report.track();
        let now = document.get();
        engine.ask(DOCUMENTS[now].query, move |document| {
            let headings = headings(&document);
            if text.try_set(Text { document, headings }).is_some() {
                return;
            }
            if before.is_some_and(|before| before != now) {
                browser::scroll_to_top("main");
            }
            start_at_section(state);
        });
        now
    });
    let here = Signal::derive(move || state.link_to("report"));
    let save = move |file: &str| {
        download(
            engine,
            ArtifactQuery::new(About::Target, Some(file), false),
            saved_name(state, About::Target, false, file),
            |_| {},
        );
    };
    view! {
        <div class="reading">
            <div class="bar">
                {switch(document)}
                <span class="grow"></span>
                {move || text.with(|text| copy_button(markdown(&text.document), "Copy Markdown"))}
                <button type="button" class="small" id="download-report" title="Download the document as Markdown" on:click=move |_| save(DOCUMENTS[document.get_untracked()].file)>
                    {icon("download")}
                    "Markdown"
                </button>
                <button type="button" class="small" id="download-page" title="Download the report with its charts as a web page" on:click=move |_| save(WEB_PAGE)>
                    {icon("download")}
                    "Web page"
                </button>
            </div>
            {contents(text)}
            {move || {
                let Text { document, headings } = text.get();
                (!headings.is_empty()).then(|| {
                    let written = document_view(document, &headings, here, below);
                    view! { <article class="page report" data-testid="report">{written}</article> }
                })
            }}
        </div>
    }
}

/// Below the title, what limits trust; below the heading of a finding, its evidence.
fn below(state: AppState, heading: &Heading) -> Option<AnyView> {
    match heading.level {
        1 => {
            let known = state.overview.with_untracked(|of| of.limits.clone());
            Some(limits(known).into_any())
        }
        _ => evidence(state, &heading.slug),
    }
}

/// The evidence of the finding under a heading, as links to details.
fn evidence(state: AppState, slug: &str) -> Option<AnyView> {
    let card = state.overview.with_untracked(|overview| {
        let mut cards = overview.findings.iter().flat_map(|found| &found.cards);
        cards.find(|card| card.details == slug).cloned()
    })?;
    Some(evidence_list(card.evidence, card.n_more).into_any())
}

/// Scrolls to the heading that the URL names, once.
fn start_at_section(state: AppState) {
    let section = state
        .place
        .with_untracked(|place| place.focus.section.clone());
    if !section.is_empty() {
        state.look_at(|focus| focus.section.clear());
        browser::after_paint(move || browser::go_to_element(&Heading::id(&section)));
    }
}

fn switch(document: Memo<usize>) -> impl IntoView {
    let state = expect_context::<AppState>();
    let choose = move |slug| state.look_at(|focus| focus.table = slug);
    let shown = move || DOCUMENTS[document.get()].slug.to_owned();
    view! {
        {one_of(
            "seg",
            "report",
            "Report",
            DOCUMENTS.map(|one| choosable(one.slug, one.title)),
            Signal::derive(shown),
            Callback::new(choose),
        )}
        <p class="fine hint">{move || DOCUMENTS.get(document.get()).map(|document| document.hint)}</p>
    }
}

/// The headings, as links.
fn contents(text: RwSignal<Text>) -> impl IntoView {
    let is_wide = browser::is_wider_than(WIDE_PX);
    // The heading that was scrolled past last is the current section.
    let current = RwSignal::new(None::<String>);
    let look = move || {
        let now = text.with_untracked(|text| {
            let ids = text.headings.iter().filter(|heading| heading.level <= 3);
            let ids: Vec<String> = ids.map(|heading| Heading::id(&heading.slug)).collect();
            browser::last_passed("main", &ids)
        });
        if current.with_untracked(|current| *current != now) {
            current.set(now);
        }
    };
    let listener = StoredValue::new_local(browser::on_scroll("main", look));
    on_cleanup(move || listener.dispose());
    Effect::new(move || {
        text.track();
        browser::after_paint(move || {
            if text.try_with_untracked(|_| ()).is_some() {
                look();
            }
        });
    });
    let links = move || {
        let shown = text.with(|text| {
            let levels = text.headings.iter().filter(|heading| heading.level <= 3);
            levels.cloned().collect::<Vec<Heading>>()
        });
        each(shown.into_iter().skip(1), |heading| {
            let id = Heading::id(&heading.slug);
            let own = id.clone();
            let is_here = move || current.with(|current| current.as_ref() == Some(&own));
            let mark = move || is_here().then_some("location");
            view! {
                <li class=format!("level-{}", heading.level)>
                    <button type="button" class="link" data-slug=heading.slug aria-current=mark on:click=move |_| browser::go_to_element(&id)>
                        {with_lights(&heading.text)}
                    </button>
                </li>
            }
        })
    };
    view! {
        <nav class="contents" aria-label="Contents of the report">
            <details open=is_wide>
                <summary>"Contents"</summary>
                <ul>{links}</ul>
            </details>
        </nav>
    }
}
