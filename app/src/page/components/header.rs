//! The frame around every view: header and navigation.

use super::gpu_picker::gpu_picker;
use super::key_sheet::keys_button;
use super::models_dialog::models_button;
use super::offline::offline_button;
use super::recent::recent_button;
use crate::page::browser::PageSource;
use crate::page::fleet::FleetStage;
use crate::page::prelude::*;
use crate::page::ranks::JobStage;
use crate::page::runs::header_facts;
use crate::page::views::{VIEWS, fleet, job};
use crate::protocol::WindowChoice;

/// Brand, file, choices and the request count.
pub fn header() -> impl IntoView {
    let state = expect_context::<AppState>();
    let engine = expect_context::<Engine>();
    let opened = move || {
        let opened = state.of_opened(|opened| Some(opened.clone()));
        opened.filter(|_| state.shows_trace())
    };
    let job = move || {
        let (name, facts) = if state.shows_runs() {
            state.runs.with(|runs| header_facts(runs.as_ref()?))?
        } else if state.shows_fleet() {
            state.fleet.with(fleet::header_facts)?
        } else {
            state.job.with(job::header_facts)?
        };
        state.shows_many().then(|| {
            view! {
                <div class="file"><b>{name}</b><span>{facts}</span></div>
                <button type="button" class="ghost" id="open-another" on:click=|_| browser::choose_file()>
                    "Open…"
                </button>
            }
        })
    };
    let back = move || {
        let can_go_back = state.job.with(JobStage::is_shown) && !state.shows_job();
        can_go_back.then(|| {
            view! {
                <button type="button" class="small" id="back-to-job" on:click=move |_| engine.back_to_job()>
                    "Back to the job"
                </button>
            }
        })
    };
    let back_to_fleet = move || {
        let can_go_back = state.fleet.with(FleetStage::is_open) && !state.shows_fleet();
        can_go_back.then(|| {
            view! {
                <button type="button" class="small" id="back-to-fleet" on:click=move |_| engine.show_fleet()>
                    "Back to the fleet"
                </button>
            }
        })
    };
    let back_to_runs = move || {
        (state.has_runs() && !state.shows_runs()).then(|| {
            view! {
                <button type="button" class="small" id="back-to-runs" on:click=|_| browser::go_to_hash("#/runs")>
                    "Back to the runs"
                </button>
            }
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
                {opened.has_gpu_events.then(|| gpu_picker(opened.gpus.clone(), opened.detected.clone()))}
            }
        })
    };
    view! {
        <header class="top">
            <a class="brand" href=move || state.link_to("overview")>
                {icon("dormer")}
                "Dormer"
            </a>
            {back_to_runs}
            {back_to_fleet}
            {back}
            {file}
            {job}
            <span class="grow"></span>
            {choices}
            {requests()}
            {theme_button()}
            {keys_button()}
        </header>
    }
}

/// The time range that the whole page is limited to, and the way back to the full trace.
pub fn window_bar() -> impl IntoView {
    let state = expect_context::<AppState>();
    let window = Memo::new(move |_| {
        let is_open = state.shows_trace();
        let window = state.overview.with(|overview| overview.window.clone());
        window.filter(|_| is_open)
    });
    move || {
        window.get().map(|window| {
            let only = if window.is_whole { "Showing " } else { "Showing only " };
            let button = |choice: Option<WindowChoice>, id: &'static str, label: &'static str| {
                choice.map(|choice| {
                    view! {
                        <button type="button" class="small" id=id on:click=move |_| state.analyze(choice.window)>
                            {label}
                        </button>
                    }
                })
            };
            view! {
                <section class="trace-bar" aria-label="Analyzed time range">
                    <p id="window">{only} <b>{window.name}</b> {format!(" ({})", window.length)}</p>
                    <span class="grow"></span>
                    {button(window.steps, "all-steps", "Show the steps")}
                    {button(window.whole, "whole-trace", "Show the whole trace")}
                </section>
            }
        })
    }
}

/// The choices carried over from the previous trace; nothing if there are none.
pub fn carried_bar() -> impl IntoView {
    let state = expect_context::<AppState>();
    let is_open = Memo::new(move |_| state.shows_trace());
    move || {
        let carried = state.carried.get();
        (is_open.get() && !carried.is_empty()).then(|| {
            view! {
                <section class="trace-bar" aria-label="Kept choices" data-testid="carried">
                    <p role="status">{format!("Kept from the previous trace: {}.", carried.join(", "))}</p>
                    <span class="grow"></span>
                    <button type="button" class="small" id="drop-carried" on:click=move |_| state.drop_carried()>"Use the defaults"</button>
                    {close_button(move || state.carried.set(Vec::new()))}
                </section>
            }
        })
    }
}

/// The trace that a link refers to, if it is not open.
pub fn linked_trace_bar() -> impl IntoView {
    let state = expect_context::<AppState>();
    move || {
        let wanted = state.linked_trace.get()?;
        Some(view! {
            <section class="trace-bar" aria-label="The trace of this link" data-testid="wanted">
                <p role="status">"This link belongs to " <b>{wanted}</b> ", which is not open. Choose or drop that file to go to the linked place."</p>
                <span class="grow"></span>
                <button type="button" class="small" on:click=|_| browser::choose_file()>"Choose the file"</button>
                {close_button(move || state.linked_trace.set(None))}
            </section>
        })
    }
}

/// The number of requests that page and workers have made since they loaded.
fn requests() -> impl IntoView {
    let state = expect_context::<AppState>();
    let count = Memo::new(move |_| {
        let n_page = state.requested.with(Vec::len) as u32;
        n_page + state.worker_requests.get()
    });
    // Files fetched for a link are named; a long list is in the tooltip.
    let names = move || {
        let names = state.requested.get();
        match names.as_slice() {
            [] => String::new(),
            [one] => format!(": {one}"),
            [first, ..] => format!(": {first}, \u{2026}"),
        }
    };
    let hint = move || {
        let names = state.requested.get().join(", ");
        let names = match names.as_str() {
            "" => String::new(),
            names => format!(" They were for {names}."),
        };
        let blocked = match browser::page_source() {
            PageSource::Site => "requests to any server but its own",
            PageSource::Command => "requests to anything but dormer open",
            PageSource::OneFile => "all requests",
        };
        format!(
            "Network requests made by this page since it loaded. Its content security policy blocks {blocked}.{names}"
        )
    };
    view! {
        <p
            id="requests"
            class="requests"
            class:some=move || count.get() != 0
            data-count=move || count.get()
            title=hint
        >
            <i aria-hidden="true"></i>
            <span class="said">
                {move || format::counted(u64::from(count.get()), "request")}
                <span class="names">{names}</span>
            </span>
            <span class="unseen">" since the page loaded"</span>
            {browser::is_opened_as_file().then_some("\u{b7} opened as a file")}
        </p>
    }
}

/// Cycles through the themes: system, light, dark.
fn theme_button() -> impl IntoView {
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
            {move || icon(theme.get().word())}
        </button>
    }
}

/// Links to the views.
pub fn navigation() -> impl IntoView {
    let state = expect_context::<AppState>();
    let links = each(VIEWS.iter(), |view| {
        let here = move || (state.view().slug == view.slug).then_some("page");
        view! {
            {view.starts_group.then(|| view! { <hr/> })}
            <a href=move || state.link_to(view.slug) aria-current=here data-nav=view.slug>
                {view.title}
            </a>
        }
    });
    // On a narrow screen the links scroll.
    Effect::new(move || {
        state.place.track();
        browser::after_paint(|| browser::bring_into_view(".side [aria-current]"));
    });
    view! { <nav class="side" aria-label="Views">{links}{thresholds_button()}{models_button()}{recent_button()}{offline_button()}</nav> }
}
