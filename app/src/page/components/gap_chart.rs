//! From the roofline time of an operation to its measured time, cause by cause.

use dormer_core::report::gap_chart::{GapChart, GapPart};

use crate::page::prelude::*;

/// A row for each part, with a bar at its position within the measured time.
pub fn gap_chart(chart: GapChart) -> impl IntoView {
    let rows = each(chart.parts, row);
    let facts = (!chart.facts.is_empty()).then(|| {
        let items = each(chart.facts, |fact| view! { <li>{with_units(&fact)}</li> });
        view! { <ul class="gap-facts" aria-label="What is known of the rest">{items}</ul> }
    });
    view! {
        <section class="gap" data-testid="gap">
            <table class="gap-parts">
                <caption>"From roofline to measured time"</caption>
                <tbody>{rows}</tbody>
            </table>
            {facts}
        </section>
    }
}

fn row(part: GapPart) -> impl IntoView {
    let (from, to) = part.span;
    let (left, width) = (format!("{from:.2}%"), format!("{:.2}%", to - from));
    view! {
        <tr class=format!("gap-{}", part.key) title=part.why.clone()>
            <th scope="row">{part.label}</th>
            <td class="bar-cell" aria-hidden="true"><span style:left=left style:width=width></span></td>
            <td class="n">{part.factor}</td>
            <td class="n"><b>{with_units(&part.time)}</b></td>
            <td class="n soft">{with_units(&part.share)}</td>
        </tr>
        {(!part.why.is_empty()).then(|| view! { <tr class="why"><td colspan="5">{prose(part.why)}</td></tr> })}
    }
}
