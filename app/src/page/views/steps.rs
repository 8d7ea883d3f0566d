//! Steps: what each step took, side by side.

use crate::page::prelude::*;
use crate::protocol::{StepTime, StepTimes, StepsQuery};

/// A row for each step of the trace; its name analyzes the step alone.
pub fn steps() -> impl IntoView {
    let facts = expect_context::<Engine>().follow(|| StepsQuery);
    move || {
        let StepTimes { headline, steps } = facts.get()?;
        let parts = steps.first().map(|step| step.parts.clone());
        let parts = each(parts.into_iter().flatten(), |part| {
            view! {
                <th scope="col" class="n">
                    <i class=format!("dot c-{}", part.kind.token()) aria-hidden="true"></i>
                    {part.kind.label()}
                </th>
            }
        });
        let table = (!steps.is_empty()).then(|| {
            view! {
                <section class="card flush">
                    <div class="wide" tabindex="0" role="region" aria-label="Steps">
                        <table class="list">
                            <thead>
                                <tr>
                                    <th scope="col">"Step"</th>
                                    <th scope="col" class="n">"Step time"</th>
                                    <th scope="col" class="n">"Of the median"</th>
                                    <td></td>
                                    {parts}
                                </tr>
                            </thead>
                            <tbody>{each(steps, row)}</tbody>
                        </table>
                    </div>
                </section>
            }
        });
        Some(view! {
            <article class="overview step-times" data-testid="steps">
                <section class="lead"><h1>{prose(headline)}</h1></section>
                {table}
            </article>
        })
    }
}

fn row(step: StepTime) -> AnyView {
    let state = expect_context::<AppState>();
    let window = Some(step.line.window);
    let here = move || {
        let is_analyzed = state.place.with(|place| place.choice.window == window);
        is_analyzed.then_some("true")
    };
    let bar = each(step.parts.iter(), |part| {
        view! { <span class=format!("c-{}", part.kind.token()) style:flex-grow=format!("{:.4}", part.percent)></span> }
    });
    let cells = each(step.parts.iter(), |part| {
        view! { <td class="n" title=part.share()>{part.time()}</td> }
    });
    view! {
        <tr aria-current=here>
            <th scope="row">
                <button type="button" class="link" title="Analyze this step alone" on:click=move |_| state.analyze(window)>
                    {step.line.name}
                </button>
            </th>
            <td class="n"><b>{step.line.window_length}</b></td>
            <td class="n" class:odd=step.is_slow>{step.of_median}</td>
            <td class="way" aria-hidden="true">
                <div style:width=format!("{:.2}%", step.percent)>{bar}</div>
            </td>
            {cells}
        </tr>
    }
    .into_any()
}
