//! Steps as stacked bars: a click analyzes one of them; a Shift-click analyzes all from the first analyzed step to it.

use crate::page::prelude::*;
use crate::protocol::{StepChoice, StepTime, StepTimes, StepsQuery};

/// A bar for each step of the trace, as high as the step is long; nothing if there are fewer than two.
pub fn step_bars() -> impl IntoView {
    let facts = expect_context::<Engine>().follow(|| StepsQuery);
    move || {
        let times = facts.get().filter(|times| times.steps.len() > 1)?;
        Some(chart(times))
    }
}

fn chart(times: StepTimes) -> AnyView {
    let state = expect_context::<AppState>();
    // The bar that the Tab key reaches.
    let tabbed = RwSignal::new(0);
    let windows: Vec<(u64, u64)> = times.steps.iter().map(|step| step.line.window).collect();
    let n_slow = times.steps.iter().filter(|step| step.is_slow).count();
    let n_steps = times.steps.len();
    let choose = Callback::new(move |(at, is_range): (usize, bool)| {
        // A range starts at the first analyzed step.
        let present = state.place.with_untracked(|place| place.choice.window);
        let mut within = windows.iter();
        let first = within.position(|step| present.is_some_and(|window| holds(window, *step)));
        let from = first.filter(|_| is_range).unwrap_or(at);
        let chosen = windows.get(from.min(at)..=from.max(at));
        let chosen = chosen.unwrap_or_default().iter().copied();
        let window = chosen.reduce(|all, one| (all.0.min(one.0), all.1.max(one.1)));
        tabbed.set(at);
        state.analyze(window);
    });
    let press = move |event: KeyboardEvent| {
        let here = tabbed.get_untracked();
        let to = match event.key().as_str() {
            "ArrowLeft" => here.saturating_sub(1),
            "ArrowRight" => (here + 1).min(n_steps - 1),
            "Home" => 0,
            "End" => n_steps - 1,
            _ => return,
        };
        event.prevent_default();
        tabbed.set(to);
        browser::focus_on(&format!("step-bar-{to}"));
    };
    let keys = times.steps.first().map(|step| step.parts.clone());
    let keys = each(keys.into_iter().flatten(), |part| {
        view! { <li>{dot(part.kind.token())}{part.kind.label()}</li> }
    });
    let bars = each(times.steps.into_iter().enumerate(), |(at, step)| {
        bar(at, step, tabbed, choose)
    });
    let more = (times.n_more > 0).then(|| {
        let all = format::count((n_steps + times.n_more) as u64);
        format!(
            " The first {} of {all} steps.",
            format::count(n_steps as u64)
        )
    });
    let slow = (n_slow > 0).then(|| {
        let noun = format::counted(n_slow as u64, "outlier");
        view! { <li><i class="mark" aria-hidden="true"></i>{noun}</li> }
    });
    view! {
        <section class="card step-bars" data-testid="step-bars">
            <header>
                <h2>"Steps"</h2>
                <a href=move || state.link_to("steps")>"All steps"</a>
            </header>
            <div class="bars-row" role="group" aria-label="Steps: arrow keys move, Enter analyzes one, Shift+Enter a range" on:keydown=press>
                {bars}
            </div>
            <ul class="keys">{keys} {slow}</ul>
            <p class="fine">
                "Click a bar to analyze the step alone, Shift+click for a range."
                {more}
            </p>
            {times.median.map(median_offer)}
        </section>
    }
    .into_any()
}

fn holds(window: (u64, u64), step: (u64, u64)) -> bool {
    window.0 <= step.0 && step.1 <= window.1
}

fn bar(
    at: usize,
    step: StepTime,
    tabbed: RwSignal<usize>,
    choose: Callback<(usize, bool)>,
) -> impl IntoView {
    let state = expect_context::<AppState>();
    let of_step = step.line.window;
    // The steps of a range are within it.
    let is_analyzed = move || {
        let window = state.place.with(|place| place.choice.window);
        window.is_some_and(|window| holds(window, of_step))
    };
    let comparison = match step.of_median.is_empty() {
        true => String::new(),
        false if step.of_median.ends_with('\u{d7}') => format!(", {} the median", step.of_median),
        false => format!(", {} compared with similar steps", step.of_median),
    };
    let outlier = if step.is_slow { ", outlier" } else { "" };
    let text = format!("{}: {}{comparison}{outlier}", step.line.name, step.time);
    view! {
        <button
            type="button"
            id=format!("step-bar-{at}")
            class="bar"
            class:slow=step.is_slow
            tabindex=move || if tabbed.get() == at { "0" } else { "-1" }
            aria-pressed=move || is_analyzed().to_string()
            aria-label=text.clone()
            title=text
            on:click=move |event| choose.run((at, event.shift_key()))
        >
            <span class="stack" style:height=format!("{:.2}%", step.percent.max(1.0))>{stacked(&step.parts)}</span>
        </button>
    }
}

/// A step that represents many similar ones: it is offered, never chosen for the user.
pub fn median_offer(median: StepChoice) -> AnyView {
    let state = expect_context::<AppState>();
    let window = Some(median.window);
    let is_here = move || state.place.with(|place| place.choice.window == window);
    view! {
        <p class="median" data-testid="median-step">
            <button type="button" class="small" id="median-step" disabled=is_here on:click=move |_| state.analyze(window)>
                {format!("Analyze the {}", median.label)}
            </button>
            <span class="fine">{median.text}</span>
        </p>
    }
    .into_any()
}
