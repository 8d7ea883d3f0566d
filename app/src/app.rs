//! The shell: header, navigation, and whatever the page is doing with a file.

use leptos::prelude::*;

use crate::browser::{self, Drag};
use crate::components::Icon;
use crate::engine::{Engine, Source};
use crate::protocol::{Choice, Progress, Step};
use crate::state::{AppState, Stage};
use crate::views::VIEWS;

/// The page. If you understand this function, you understand the page.
#[component]
pub fn App() -> impl IntoView {
    let state = AppState::new();
    let engine = Engine::new(state);
    provide_context(state);
    provide_context(engine);
    browser::on_hash_change(move |hash| state.follow(&hash));
    browser::on_drag(move |drag| {
        state.dragging.set(matches!(drag, Drag::Over));
        if let Drag::Dropped(file) = drag {
            engine.open(Source::File(file));
        }
    });
    Effect::new(move || browser::set_theme(state.theme().get()));
    Effect::new(move || browser::set_title(&title(state)));
    Effect::watch(
        move || state.choice().get(),
        move |choice, _, _| judge_anew(state, engine, choice),
        false,
    );
    let is_open = Memo::new(move |_| state.stage.with(|stage| matches!(stage, Stage::Open(_))));

    view! {
        <a class="skip" href="#main" on:click=move |event| {
            event.prevent_default();
            browser::focus_on("main");
        }>"Skip to the content"</a>
        <Header/>
        <input
            id="file-input"
            class="unseen"
            type="file"
            tabindex="-1"
            aria-label="Trace file"
            accept=".json,.gz,.zip,application/json,application/gzip,application/zip"
            on:change=move |event| {
                if let Some(file) = browser::take_file(&event) {
                    engine.open(Source::File(file));
                }
            }
        />
        <Show when=move || is_open.get()>
            <Navigation/>
        </Show>
        <main
            id="main"
            tabindex="-1"
            class:fills=move || is_open.get() && state.view().fills
            class:alone=move || !is_open.get()
            data-view=move || if is_open.get() { state.view().slug } else { "" }
        >
            <ErrorBoundary fallback=|errors| view! { <Broken errors/> }>
                <Stages/>
            </ErrorBoundary>
        </main>
        <Show when=move || state.dragging.get()>
            <div class="drop" aria-hidden="true"><p>"Drop to open"</p></div>
        </Show>
    }
}

/// What the tab is called.
fn title(state: AppState) -> String {
    let file = state.file_name.get();
    state.stage.with(|stage| match stage {
        Stage::Open(_) => format!("{file} · {} · Dormer", state.view().title),
        Stage::Loading(_) => format!("Reading {file} · Dormer"),
        Stage::Empty | Stage::Failed(_) => "Dormer".to_owned(),
    })
}

/// Another GPU or population of GPU events: the same trace, judged anew.
fn judge_anew(state: AppState, engine: Engine, choice: &Choice) {
    let is_open = state
        .stage
        .with_untracked(|stage| matches!(stage, Stage::Open(_)));
    if is_open {
        engine.ask(choice.clone(), move |overview| {
            state.overview.set(overview);
            state.report.update(|report| *report += 1);
        });
    }
}

/// What the page is doing with a file.
#[component]
fn Stages() -> impl IntoView {
    let state = expect_context::<AppState>();
    // Progress changes several times a second; only another stage redraws.
    let kind = Memo::new(move |_| {
        state.stage.with(|stage| match stage {
            Stage::Empty => 0,
            Stage::Loading(_) => 1,
            Stage::Failed(_) => 2,
            Stage::Open(_) => 3,
        })
    });
    let view = Memo::new(move |_| state.view());
    move || match kind.get() {
        1 => view! { <Loading/> }.into_any(),
        2 => view! { <Failed/> }.into_any(),
        3 => {
            // Another trace starts every view from its beginning.
            state.loads.track();
            (view.get().draw)()
        }
        _ => view! { <Empty/> }.into_any(),
    }
}

/// Brand, file, choices and the count of requests.
#[component]
fn Header() -> impl IntoView {
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
            }
        })
    };
    let choices = move || {
        opened().map(|opened| {
            view! {
                {opened.unlinked.clone().map(|unlinked| view! { <EventsSwitch unlinked/> })}
                <GpuPicker names=opened.gpus.clone() detected=opened.detected.clone()/>
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
        </header>
    }
}

/// The GPU the report is judged against.
#[component]
fn GpuPicker(
    /// The GPUs Dormer knows.
    names: Vec<String>,
    /// The one the trace names.
    detected: Option<String>,
) -> impl IntoView {
    let state = expect_context::<AppState>();
    let chosen = Memo::new(move |_| state.choice().get().gpu.unwrap_or_default());
    let automatic = match &detected {
        Some(name) => format!("{name} · detected"),
        None => "Choose a GPU".to_owned(),
    };
    let pick = move |event| {
        let name = event_target_value(&event);
        state.go(|place| place.choice.gpu = (!name.is_empty()).then_some(name));
    };
    view! {
        <label class="pick">
            <span>"GPU"</span>
            <select id="gpu" on:change=pick prop:value=move || chosen.get()>
                <option value="">{automatic}</option>
                {names
                    .into_iter()
                    .map(|name| {
                        let value = name.clone();
                        let is_chosen = chosen.get_untracked() == name;
                        view! { <option value=value selected=is_chosen>{name}</option> }
                    })
                    .collect_view()}
            </select>
        </label>
    }
}

/// Which GPU events count: those a host call was found for, or all.
#[component]
fn EventsSwitch(
    /// How many GPU events no host call was found for.
    unlinked: String,
) -> impl IntoView {
    let state = expect_context::<AppState>();
    let all = Memo::new(move |_| state.choice().get().all_gpu_events);
    let choose = move |all: bool| move |_| state.go(|place| place.choice.all_gpu_events = all);
    view! {
        <div
            class="seg"
            role="group"
            aria-label="GPU events that count"
            title=format!("No host call was found for {unlinked} GPU events")
        >
            <button type="button" id="events-linked" aria-pressed=move || (!all.get()).to_string() on:click=choose(false)>
                "Linked"
            </button>
            <button type="button" id="events-all" aria-pressed=move || all.get().to_string() on:click=choose(true)>
                "All GPU events"
            </button>
        </div>
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
            title="Requests that this page and its worker made since they loaded. Its own policy forbids any to another server."
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

/// Goes from the system's colours to light to dark.
#[component]
fn ThemeButton() -> impl IntoView {
    let state = expect_context::<AppState>();
    let theme = state.theme();
    view! {
        <button
            type="button"
            id="theme"
            class="ghost square"
            aria-label=move || format!("Colours: {}", theme.get().word())
            title=move || format!("Colours: {}", theme.get().word())
            on:click=move |_| state.go(|place| place.theme = place.theme.next())
        >
            {move || view! { <Icon name=theme.get().word()/> }}
        </button>
    }
}

/// Links to the views.
#[component]
fn Navigation() -> impl IntoView {
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
    view! { <nav class="side" aria-label="Views">{links}</nav> }
}

/// Nothing was opened yet.
#[component]
fn Empty() -> impl IntoView {
    view! {
        <section class="start" data-testid="empty">
            <p class="mark"><Icon name="dormer"/></p>
            <h1>"See where the GPU time went."</h1>
            <p class="lede">
                "Drop a PyTorch profiler trace anywhere on this page. Dormer reads it here, in seconds: how busy the GPU was, which operations took the time, and how far to trust the numbers."
            </p>
            <OpenButtons/>
            <ul class="promises">
                <li>
                    <b>"Nothing leaves this machine"</b>
                    "There is no server behind this page, and its own policy forbids requests to any other. The count above is the proof."
                </li>
                <li>
                    <b>"Reads what the profiler writes"</b>
                    <span>
                        <code>".json"</code> ", " <code>".json.gz"</code> " or " <code>".zip"</code>
                        ", however large; cut or damaged files too, and says what is missing."
                    </span>
                </li>
                <li>
                    <b>"No trace at hand?"</b>
                    <span>
                        "Record one with " <code>"torch.profiler.profile()"</code> " and "
                        <code>"export_chrome_trace(\"trace.json.gz\")"</code> ", or open the sample."
                    </span>
                </li>
            </ul>
        </section>
    }
}

/// The two ways in beside dropping.
#[component]
fn OpenButtons() -> impl IntoView {
    let engine = expect_context::<Engine>();
    view! {
        <div class="ways">
            <button type="button" class="main" id="choose-file" on:click=|_| browser::choose_file()>
                <Icon name="file"/>
                "Choose a file"
            </button>
            <button type="button" id="open-sample" on:click=move |_| engine.open(Source::Sample)>
                "Open the sample"
            </button>
        </div>
    }
}

/// A file is being read.
#[component]
fn Loading() -> impl IntoView {
    let state = expect_context::<AppState>();
    let engine = expect_context::<Engine>();
    let progress = Memo::new(move |old: Option<&Progress>| {
        state.stage.with(|stage| match stage {
            Stage::Loading(progress) => *progress,
            _ => old.copied().unwrap_or(NOTHING_READ),
        })
    });
    let share = move || {
        let progress = progress.get();
        match progress.step {
            Step::Reading if progress.bytes_total > 0.0 => {
                Some(progress.bytes_read / progress.bytes_total)
            }
            Step::Reading => None,
            Step::Profiling | Step::Reporting => Some(1.0),
        }
    };
    view! {
        <section class="start loading" data-testid="loading" aria-busy="true">
            <h1>{move || progress.get().step.label()}</h1>
            <p class="what">{move || state.file_name.get()}</p>
            <progress
                aria-label="Bytes read"
                max="1"
                value=move || share().map(|share| format!("{share:.4}"))
            ></progress>
            <dl class="read">
                <div><dt>"Read"</dt><dd data-testid="bytes">{move || bytes_of_bytes(&progress.get())}</dd></div>
                <div><dt>"Events"</dt><dd data-testid="events">{move || dormer_core::format::count(progress.get().events as u64)}</dd></div>
            </dl>
            <button type="button" id="cancel" on:click=move |_| engine.cancel()>"Cancel"</button>
        </section>
    }
}

const NOTHING_READ: Progress = Progress {
    step: Step::Reading,
    bytes_read: 0.0,
    bytes_total: 0.0,
    events: 0.0,
};

fn bytes_of_bytes(progress: &Progress) -> String {
    let bytes = |number: f64| dormer_core::format::bytes(number as u64);
    if progress.bytes_total > 0.0 {
        format!(
            "{} of {}",
            bytes(progress.bytes_read),
            bytes(progress.bytes_total)
        )
    } else {
        bytes(progress.bytes_read)
    }
}

/// A file could not be analysed.
#[component]
fn Failed() -> impl IntoView {
    let state = expect_context::<AppState>();
    let reason = move || {
        state.stage.with(|stage| match stage {
            Stage::Failed(failure) => sentence(&failure.sentence),
            _ => String::new(),
        })
    };
    let at_byte = move || {
        state.stage.with(|stage| match stage {
            Stage::Failed(failure) => failure.at_byte.clone(),
            _ => None,
        })
    };
    view! {
        <section class="start" id="error" role="alert">
            <p class="what">{move || state.file_name.get()}</p>
            <h1>"This file cannot be analysed."</h1>
            <p class="lede" data-testid="reason">{reason}</p>
            {move || {
                at_byte().map(|byte| view! {
                    <p class="fine" data-testid="at-byte">
                        {format!("At byte {byte} of the decompressed text.")}
                    </p>
                })
            }}
            <OpenButtons/>
        </section>
    }
}

/// A message that starts with a small letter and has no full stop, as a sentence.
fn sentence(message: &str) -> String {
    let mut letters = message.chars();
    let first: String = letters
        .next()
        .map(|letter| letter.to_uppercase().collect())
        .unwrap_or_default();
    let end = if message.ends_with(['.', '!', '?']) {
        ""
    } else {
        "."
    };
    format!("{first}{}{end}", letters.as_str())
}

/// A view failed; the rest of the page still works.
#[component]
fn Broken(
    /// What went wrong.
    errors: ArcRwSignal<Errors>,
) -> impl IntoView {
    let text = move || {
        errors
            .get()
            .into_iter()
            .map(|(_, error)| error.to_string())
            .collect::<Vec<_>>()
            .join("; ")
    };
    view! {
        <section class="start" role="alert">
            <h1>"This view cannot be shown."</h1>
            <p class="lede">{text}</p>
        </section>
    }
}
