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

/// Brand, file, choices and the request count.
pub fn header() -> impl IntoView {
    let state = expect_context::<AppState>();
    let opened = move || {
        let opened = state.of_opened(|opened| Some(opened.clone()));
        opened.filter(|_| state.shows_trace())
    };
    let open = || {
        view! {
            <button type="button" class="ghost" id="open-another" on:click=|_| browser::choose_file()>
                "Open…"
            </button>
        }
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
                {open()}
            }
        })
    };
    let file = move || {
        opened().map(|opened| {
            let file = state.file_name.get();
            let rank = opened.rank.map(|rank| format!("rank {rank} · "));
            let seconds = state.opened_in_ms.get() / 1000.0;
            view! {
                <div class="file">
                    <b title=file.clone()>{file.clone()}</b>
                    <span>{rank}{format!("{} events · read in {seconds:.2} s", opened.events)}</span>
                </div>
                {open()}
                <button type="button" class="ghost" id="compare-with" on:click=|_| browser::choose_reference()>
                    "Compare with…"
                </button>
            }
        })
    };
    let choices = move || {
        let opened = opened().filter(|opened| opened.has_gpu_events)?;
        Some(gpu_picker(opened.gpus, opened.detected))
    };
    view! {
        <header class="top">
            <a class="brand" href=move || state.link_to("overview")>
                {icon("dormer")}
                "Dormer"
            </a>
            {ways_back()}
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

/// Buttons that lead from a trace back to the runs, the fleet or the job that it is one of.
fn ways_back() -> impl IntoView {
    let state = expect_context::<AppState>();
    let engine = expect_context::<Engine>();
    let button = move |id: &'static str, text: &'static str, go: fn(Engine)| {
        view! { <button type="button" class="small" id=id on:click=move |_| go(engine)>{text}</button> }
    };
    let to_runs = move || state.has_runs() && !state.shows_runs();
    let to_fleet = move || state.fleet.with(FleetStage::is_open) && !state.shows_fleet();
    let to_job = move || state.job.with(JobStage::is_shown) && !state.shows_job();
    view! {
        <Show when=to_runs>{button("back-to-runs", "Back to the runs", |_| browser::go_to_hash("#/runs"))}</Show>
        <Show when=to_fleet>{button("back-to-fleet", "Back to the fleet", Engine::show_fleet)}</Show>
        <Show when=to_job>{button("back-to-job", "Back to the job", Engine::back_to_job)}</Show>
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
            title=move || format!("Switch to {} colors", theme.get().next().word())
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
    view! { <nav class="side" aria-label="Views">{links}<hr/>{thresholds_button()}{models_button()}{recent_button()}{offline_button()}</nav> }
}
