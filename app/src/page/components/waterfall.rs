//! The way from one time to another, step by step.

use leptos::prelude::*;

use super::{cut_name, each};
use crate::protocol::WaterfallStep;

/// A table whose bars stand where the step before them ended: the chart and its figures in one.
pub fn waterfall(steps: Vec<WaterfallStep>, scale_from: Option<String>) -> impl IntoView {
    let is_cut = scale_from.is_some();
    let rows = each(steps, |step| {
        let (from, to) = step.span;
        let (left, width) = (format!("{from:.2}%"), format!("{:.2}%", to - from));
        view! {
            <tr class=format!("step {} c-{}", step.kind, step.token)>
                <th scope="row" title=step.label.clone()>
                    <span class="line">
                        {(!step.token.is_empty()).then(|| view! { <i class="dot" aria-hidden="true"></i> })}
                        {cut_name(step.label.clone())}
                    </span>
                </th>
                <td class="way" aria-hidden="true">
                    <span class:cut=is_cut && step.kind == "total" style:left=left style:width=width></span>
                </td>
                <td class="n wide-only">{step.reference}</td>
                <td class="n wide-only">{step.target}</td>
                <td class="n"><b>{step.difference}</b></td>
            </tr>
        }
    });
    view! {
        <section class="card" data-testid="waterfall">
            <h2>"Where the difference comes from"</h2>
            <table class="waterfall">
                <thead>
                    <tr>
                        <th scope="col">"Part of the time"</th>
                        <td></td>
                        <th scope="col" class="n wide-only">"Reference"</th>
                        <th scope="col" class="n wide-only">"Target"</th>
                        <th scope="col" class="n">"Difference"</th>
                    </tr>
                </thead>
                <tbody>{rows}</tbody>
            </table>
            <p class="fine">
                "Kernels that run concurrently share the time, so the steps add up. "
                {scale_from.map(|from| format!("The scale starts at {from}."))}
            </p>
        </section>
    }
}
