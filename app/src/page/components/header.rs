//! What stands around every view: header and navigation.

use leptos::prelude::*;

use super::{GpuPicker, Icon, KeysButton, ModelsButton, Switch, ThresholdsButton};
use crate::page::browser;
use crate::page::state::{AppState, Stage};
use crate::page::views::VIEWS;

/// Brand, file, choices and the count of requests.
#[component]
pub fn Header() -> impl IntoView {
    let state = expect_context::<AppState>();
    let opened = move || {
        state.stage.with(|stage| match stage {
            Stage::Open(opened) => Some(opened.clone()),
            _ => None,
        })
    };
    let file = move || {
        opened().map(|opened| {
            let seconds = format!("{:.2} s", state.opened_in_ms.get() / 1000.0);
            view! {
                <div class="file">
                    <b title=state.file_name.get()>{state.file_name.get()}</b>
                    <span>{format!("{} events · {seconds}", opened.events)}</span>
                </div>
                <button type="button" class="ghost" id="open-another" on:click=|_| browser::choose_file()>
                    "Open…"
                </button>
                <button type="button" class="ghost" id="compare-with" on:click=|_| browser::choose_reference()>
                    "Compare with…"
                </button>
            }
        })
    };
    let choices = move || {
        opened().map(|opened| {
            view! {
                {opened.unlinked.clone().map(|unlinked| view! { <EventsSwitch unlinked/> })}
                {opened.has_gpu_events.then(|| view! {
                    <GpuPicker names=opened.gpus.clone() detected=opened.detected.clone()/>
                })}
            }
        })
    };
    view! {
        <header class="top">
            <a class="brand" href=move || state.link_to("overview")>
                <Icon name="dormer"/>
                "Dormer"
            </a>
            {file}
            <span class="grow"></span>
            {choices}
            <Requests/>
            <ThemeButton/>
            <KeysButton/>
        </header>
    }
}

/// What part of the time everything on the page is of, and the way back to all of it.
#[component]
pub fn WindowBar() -> impl IntoView {
    let state = expect_context::<AppState>();
    let window = Memo::new(move |_| {
        let is_open = state.is_open();
        let window = state.overview.with(|overview| overview.window.clone());
        window.filter(|_| is_open)
    });
    move || {
        window.get().map(|window| {
            view! {
                <section class="versus" aria-label="Analyzed time range">
                    <p id="window">
                        "Showing only " <b>{window.name}</b> {format!(" ({})", window.length)}
                    </p>
                    <span class="grow"></span>
                    <button type="button" class="small" id="whole-trace" on:click=move |_| state.analyze(None)>
                        <Icon name="close"/>
                        "Show the whole trace"
                    </button>
                </section>
            }
        })
    }
}

/// Which GPU events count: those a launching CPU call was found for, or all.
#[component]
fn EventsSwitch(
    /// How many GPU events no launching CPU call was found for.
    unlinked: String,
) -> impl IntoView {
    let state = expect_context::<AppState>();
    let all = Memo::new(move |_| state.choice().get().all_gpu_events);
    view! {
        <Switch
            label="GPU events to count"
            title=format!("{unlinked} GPU events have no launching CPU call")
            options=[("events-linked", "Linked"), ("events-all", "All GPU events")]
            on=all
            choose=move |all| state.go(|place| place.choice.all_gpu_events = all)
        />
    }
}

/// How many requests page and workers made since they loaded.
#[component]
fn Requests() -> impl IntoView {
    let state = expect_context::<AppState>();
    let count = Memo::new(move |_| state.page_requests.get() + state.worker_requests.get());
    view! {
        <p
            id="requests"
            class="requests"
            class:some=move || count.get() != 0
            data-count=move || count.get()
            title="Network requests made by this page since it loaded. Its content security policy blocks requests to any other server."
        >
            <i aria-hidden="true"></i>
            {move || match count.get() {
                1 => "1 request".to_owned(),
                count => format!("{count} requests"),
            }}
            <span class="unseen">" since the page loaded"</span>
        </p>
    }
}

/// Goes from the system's colors to light to dark.
#[component]
fn ThemeButton() -> impl IntoView {
    let state = expect_context::<AppState>();
    let theme = state.theme();
    view! {
        <button
            type="button"
            id="theme"
            class="ghost square"
            aria-label=move || format!("Colors: {}", theme.get().word())
            title=move || format!("Colors: {}", theme.get().word())
            on:click=move |_| state.go(|place| place.theme = place.theme.next())
        >
            {move || view! { <Icon name=theme.get().word()/> }}
        </button>
    }
}

/// Links to the views.
#[component]
pub fn Navigation() -> impl IntoView {
    let state = expect_context::<AppState>();
    let links = VIEWS
        .iter()
        .map(|view| {
            let here = move || (state.view().slug == view.slug).then_some("page");
            view! {
                {view.starts_group.then(|| view! { <hr/> })}
                <a href=move || state.link_to(view.slug) aria-current=here data-nav=view.slug>
                    {view.title}
                </a>
            }
        })
        .collect_view();
    // On a narrow screen the links scroll.
    Effect::new(move || {
        state.place.track();
        browser::after_paint(|| browser::bring_into_view(".side [aria-current]"));
    });
    view! { <nav class="side" aria-label="Views">{links}<ThresholdsButton/><ModelsButton/></nav> }
}
