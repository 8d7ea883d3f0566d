//! Buttons and icons.

use gloo::timers::callback::Timeout;

use crate::page::prelude::*;

/// A 24 × 24 icon in the color of the surrounding text. It carries no meaning beyond the text beside it.
pub fn icon(name: &'static str) -> impl IntoView {
    let path = match name {
        // A roof with a dormer window.
        "dormer" => {
            "M1.5 20.5 12 4l10.5 16.5M7.5 20.5v-6.3L12 10l4.5 4.2v6.3M12 14.6v5.9M7.5 17.4h9"
        }
        "search" => "M10.5 4.5a6 6 0 1 0 0 12 6 6 0 0 0 0-12M15 15l5 5",
        "file" => "M6 3h8l4 4v14H6zM14 3v4h4",
        "download" => "M12 4v11M7.5 11 12 15.5 16.5 11M5 20h14",
        "up" => "M6 14.5 12 8.5l6 6",
        "down" => "M6 9.5l6 6 6-6",
        "plus" => "M12 5v14M5 12h14",
        "minus" => "M5 12h14",
        "light" => {
            "M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8M12 2.5v2M12 19.5v2M2.5 12h2M19.5 12h2M5.3 5.3l1.4 1.4M17.3 17.3l1.4 1.4M5.3 18.7l1.4-1.4M17.3 6.7l1.4-1.4"
        }
        "dark" => "M19.5 14.2A8 8 0 0 1 9.8 4.5a8 8 0 1 0 9.7 9.7",
        "system" => "M3.5 5h17v11h-17zM9 20h6M12 16v4",
        "close" => "M6 6l12 12M18 6 6 18",
        "check" => "M5 12.5 10 17.5 19.5 7",
        "flame" => {
            "M12 3c.5 4 5 5.5 5 10.5a5 5 0 0 1-10 0c0-2 1-3.2 2-4.2.3 1.6 1 2.4 1.8 2.7C10.500 8.500 10.800 5.500 12 3"
        }
        _ => "",
    };
    view! {
        <svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false">
            <path d=path></path>
        </svg>
    }
}

pub fn copy_button(text: String, label: &'static str) -> impl IntoView {
    copy_made(move || text.clone(), label, || {})
}

/// A button that copies a text generated when it is pressed; `then` is called after copying.
pub fn copy_made(
    make: impl Fn() -> String + 'static,
    label: &'static str,
    then: impl Fn() + Copy + 'static,
) -> impl IntoView {
    let shown = RwSignal::new(label);
    let copy = move |_| {
        browser::copy(&make(), move |copied| {
            if copied {
                then();
            }
            shown.set(if copied {
                "Copied"
            } else {
                "Select and press Ctrl+C"
            });
            Timeout::new(1600, move || {
                // The button may be gone by then.
                let _ = shown.try_set(label);
            })
            .forget();
        });
    };
    view! {
        <button type="button" class="small" on:click=copy aria-live="polite">{shown}</button>
    }
}

/// A button that closes the bar, the panel or the dialog around it.
pub fn close_button(close: impl Fn() + 'static) -> impl IntoView {
    view! { <button type="button" class="ghost square close" aria-label="Close" on:click=move |_| close()>"\u{d7}"</button> }
}

/// A button of [`one_of`]: its key, its text, and a figure in small print behind it, which may be empty.
pub type Choosable = (String, String, String);

/// A button without a figure.
pub fn choosable(key: &str, text: &str) -> Choosable {
    (key.to_owned(), text.to_owned(), String::new())
}

/// One choice of several: joined buttons (the class `seg`) or tabs (`tabs`), of which one is pressed. The id of a
/// button is `name-key`.
pub fn one_of(
    class: &'static str,
    name: &'static str,
    label: &'static str,
    options: impl IntoIterator<Item = Choosable>,
    pressed: Signal<String>,
    choose: Callback<String>,
) -> AnyView {
    let buttons = each(options, |(key, text, figure)| {
        let id = format!("{name}-{key}");
        let key = StoredValue::new(key);
        let is_pressed = move || pressed.with(|pressed| key.with_value(|key| key == pressed));
        view! {
            <button
                type="button"
                id=id
                aria-pressed=move || is_pressed().to_string()
                on:click=move |_| choose.run(key.get_value())
            >
                {text}
                {(!figure.is_empty()).then(|| view! { " " <small>{figure}</small> })}
            </button>
        }
    });
    view! { <div class=class role="group" aria-label=label>{buttons}</div> }.into_any()
}

/// [`one_of`] two: off and on.
pub fn on_or_off(
    class: &'static str,
    name: &'static str,
    label: &'static str,
    [off, on]: [(&'static str, &'static str); 2],
    is_on: Memo<bool>,
    choose: impl Fn(bool) + Send + Sync + 'static,
) -> AnyView {
    let pressed = move || (if is_on.get() { on.0 } else { off.0 }).to_owned();
    one_of(
        class,
        name,
        label,
        [off, on].map(|(key, text)| choosable(key, text)),
        Signal::derive(pressed),
        Callback::new(move |key| choose(key == on.0)),
    )
}

/// A step button: its id, its label, and its keyboard shortcut, which may be empty.
pub type StepButton = (&'static str, &'static str, &'static str);

/// Two buttons, previous and next, and the current position.
#[component]
pub fn Steps(
    /// The buttons: previous, next.
    steps: [StepButton; 2],
    /// Whether there is nowhere to go.
    #[prop(into)]
    none: Signal<bool>,
    /// Goes to the next one, or to the previous one.
    #[prop(into)]
    go: Callback<bool>,
    /// The current position: which one of how many.
    #[prop(into)]
    status: Signal<String>,
    /// The test id of that text.
    testid: &'static str,
) -> impl IntoView {
    let button = |((id, label, key), on): (StepButton, bool)| {
        let title = match key {
            "" => label.to_owned(),
            key => format!("{label} ({key})"),
        };
        view! {
            <button
                type="button"
                id=id
                aria-label=label
                title=title
                disabled=move || none.get()
                on:click=move |_| go.run(on)
            >
                {icon(if on { "down" } else { "up" })}
            </button>
        }
    };
    view! {
        <div class="steps">{steps.into_iter().zip([false, true]).map(button).collect_view()}</div>
        <p class="count" role="status" data-testid=testid>{move || status.get()}</p>
    }
}

/// How many of a list's items are shown, the first few until its button is pressed; and that button.
pub fn first_of(
    n_all: usize,
    n_first: usize,
    noun: &'static str,
) -> (impl Fn() -> usize + Copy, impl Fn() -> Option<AnyView>) {
    let n_shown = RwSignal::new(n_first.min(n_all));
    let more = move || {
        let is_cut = n_shown.get() < n_all;
        is_cut.then(|| show_all(n_all, noun, move || n_shown.set(n_all)).into_any())
    };
    (move || n_shown.get(), more)
}

/// A button to show the rest of a truncated list; `then` shows it.
pub fn show_all(n_all: usize, noun: &str, then: impl Fn() + 'static) -> impl IntoView {
    let label = format!("Show all {}", format::counted(n_all as u64, noun));
    view! { <p class="more-rows"><button type="button" class="small" on:click=move |_| then()>{label}</button></p> }
}
