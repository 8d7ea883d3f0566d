//! Steps: the time of each step, side by side.

use dormer_core::report::steps::StepChart;

use crate::page::components::step_bars::median_offer;
use crate::page::prelude::*;
use crate::protocol::{StepChoice, StepTime, StepTimes, StepsQuery};

/// A row for each step of the trace; clicking its name analyzes only that step. For a serving engine, also a chart of
/// the steps, and its batches and graphs.
pub fn steps() -> impl IntoView {
    let facts = expect_context::<Engine>().follow(|| StepsQuery);
    move || {
        let StepTimes {
            headline,
            how,
            notes,
            choices,
            median,
            chart,
            tables,
            columns,
            steps,
            n_more,
        } = facts.get()?;
        let lead = match how {
            Some(how) => nothing_shown("missing", &headline, how).into_any(),
            None => {
                let notes = each(notes, |note| view! { <p>{note}</p> });
                view! { <section class="lead"><h1>{title_line(&headline)}</h1>{notes}</section> }
                    .into_any()
            }
        };
        let has_tables = !(choices.is_empty() && tables.is_empty());
        let tables = tables.into_iter().map(facts_table).collect_view();
        let more = (n_more > 0).then(|| {
            let more = format::counted(n_more as u64, "more step");
            let whole = if chart.is_some() {
                "the chart and the"
            } else {
                "the"
            };
            view! { <p class="fine">{format!("{more}: {whole} exported tables have all.")}</p> }
        });
        Some(view! {
            <article class="overview step-times" data-testid="steps">
                {lead}
                {median.map(median_offer)}
                {chart.map(step_chart)}
                {has_tables.then(|| view! { <h2 class="unseen">"Loads, batches and graphs"</h2> })}
                {(!choices.is_empty()).then(|| loads(choices))}
                {tables}
                {(!steps.is_empty()).then(|| table(columns, steps))}
                {more}
            </article>
        })
    }
}

/// A bar for each step, with its time above and its tokens below; the table has the figures.
fn step_chart(chart: StepChart) -> impl IntoView {
    const HEIGHT: f64 = 100.0;
    const TOKENS: f64 = 36.0;
    let n = chart.bars.len();
    let bars = each(chart.bars.into_iter().enumerate(), |(at, bar)| {
        let height = (bar.percent * HEIGHT / 100.0).max(1.0);
        let tokens = bar.tokens_percent * TOKENS / 100.0;
        view! {
            <g class=format!("p-{}", bar.token) class:cut=bar.is_cut class:slow=bar.is_slow>
                <rect x=at.to_string() y=format!("{:.2}", HEIGHT - height) width="0.84" height=format!("{height:.2}")></rect>
                <rect class="tokens" x=at.to_string() y=format!("{:.2}", HEIGHT + 6.0) width="0.84" height=format!("{tokens:.2}")></rect>
                <title>{bar.text}</title>
            </g>
        }
    });
    let phases = each(chart.phases, |(token, text)| {
        view! { <li class=format!("p-{token}")>{dot("")}{text}</li> }
    });
    let has_tokens = !chart.tokens_top.is_empty();
    let (width, bottom) = (
        n.max(24),
        if has_tokens {
            HEIGHT + 6.0 + TOKENS
        } else {
            HEIGHT
        },
    );
    let tokens = has_tokens.then(|| format!("; below, tokens: up to {}", chart.tokens_top));
    let shared =
        (chart.per_bar > 1).then(|| format!(" A bar is the longest of {} steps.", chart.per_bar));
    view! {
        <section class="card step-chart" data-testid="step-chart">
            <h2>"Step time"</h2>
            <svg viewBox=format!("0 0 {width} {bottom}") preserveAspectRatio="none" role="img" aria-label="Step times; the tables have the figures">
                {bars}
            </svg>
            <ul class="keys">{phases}</ul>
            <p class="fine">
                {format!("Full height: {}{}.", chart.top, tokens.unwrap_or_default())}
                {shared}
            </p>
        </section>
    }
}

/// `aria-current` of the row whose steps are analyzed.
fn current(state: AppState, window: Option<(u64, u64)>) -> impl Fn() -> Option<&'static str> {
    move || {
        let is_analyzed = state.place.with(|place| place.choice.window == window);
        is_analyzed.then_some("true")
    }
}

/// Steps under a steady load, which can be analyzed together.
fn loads(choices: Vec<StepChoice>) -> impl IntoView {
    let state = expect_context::<AppState>();
    let rows = each(choices, |choice| {
        let window = Some(choice.window);
        view! {
            <tr aria-current=current(state, window)>
                <th scope="row">
                    <button type="button" class="link" title="Analyze these steps alone" on:click=move |_| state.analyze(window)>
                        {choice.label}
                    </button>
                </th>
                <td class="text">{choice.text}</td>
            </tr>
        }
    });
    view! {
        <section class="card flush" data-testid="loads">
            <h3>"Steady-state steps"</h3>
            <table class="list" aria-label="Steady-state steps">
                <thead class="unseen"><tr><th scope="col">"Choice"</th><th scope="col">"Steps"</th></tr></thead>
                <tbody>{rows}</tbody>
            </table>
        </section>
    }
}

fn table(columns: Vec<String>, steps: Vec<StepTime>) -> impl IntoView {
    let is_compared = steps.iter().any(|step| !step.of_median.is_empty());
    // The chart of a serving engine has its bars.
    let has_bars = columns.is_empty();
    let parts = steps.first().map(|step| step.parts.clone());
    let parts = each(parts.into_iter().flatten(), |part| {
        let label = part.kind.label();
        let (first, rest) = label.split_at(label.find(' ').unwrap_or(label.len()));
        // The dot stays beside the first word where the label takes two lines.
        let dot = has_bars.then(|| dot(part.kind.token()));
        view! { <th scope="col" class="n"><span class="dotted-word">{dot}{first}</span>{rest}</th> }
    });
    let comparison = match has_bars {
        true => "vs. median",
        false => "Over similar steps",
    };
    let columns = columns.into_iter().map(|column| {
        let is_number = column != "Phase";
        (column, is_number)
    });
    let head = view! {
        {heads([("Step", false), ("Step time", true)])}
        {heads(is_compared.then_some((comparison, true)))}
        {heads(columns)}
        {has_bars.then(|| view! { <td></td> })}
        {parts}
    };
    view! {
        <section class="card flush">
            {list("Steps", head, each(steps, |step| row(step, is_compared, has_bars)))}
        </section>
    }
}

fn row(step: StepTime, is_compared: bool, has_bar: bool) -> AnyView {
    let state = expect_context::<AppState>();
    let window = Some(step.line.window);
    let name = match step.line.name.split_once(": ") {
        // Columns have the rest.
        Some((number, _)) if !has_bar => number.to_owned(),
        _ => step.line.name,
    };
    let batch = each(step.cells.into_iter().enumerate(), |(at, cell)| {
        view! { <td class:n=at != 0>{cell}</td> }
    });
    let cells = each(step.parts.iter(), |part| {
        view! { <td class="n" title=part.share()>{part.time()}</td> }
    });
    view! {
        <tr aria-current=current(state, window)>
            <th scope="row">
                <button type="button" class="link" title="Analyze this step alone" on:click=move |_| state.analyze(window)>
                    {name}
                </button>
            </th>
            <td class="n"><b>{step.time}</b></td>
            {is_compared.then(|| view! { <td class="n" class:odd=step.is_slow>{step.of_median}</td> })}
            {batch}
            {has_bar.then(|| view! {
                <td class="bar-cell" aria-hidden="true">
                    <div style:width=format!("{:.2}%", step.percent)>{stacked(&step.parts)}</div>
                </td>
            })}
            {cells}
        </tr>
    }
    .into_any()
}
