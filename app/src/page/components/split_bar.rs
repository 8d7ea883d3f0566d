//! The recorded GPU time as one bar, with its legend.

use leptos::prelude::*;

use super::each;
use crate::protocol::{FamilyTime, SplitPart};

/// Computation, exposed communication, exposed copies and idle time side by side. Computation is
/// drawn in the colors of its categories, in proportion to their kernel time.
pub fn split_bar(parts: Vec<SplitPart>, families: Vec<FamilyTime>) -> impl IntoView {
    let label = parts
        .iter()
        .map(|part| format!("{} {}", part.label, part.share))
        .collect::<Vec<_>>()
        .join(", ");
    let bar = each(parts.iter().filter(|part| part.percent > 0.0), |part| {
        part_view(part, &families)
    });
    let legend = each(parts.iter(), |part| {
        view! {
            <li>
                <i class=format!("dot c-{}", part.token) aria-hidden="true"></i>
                {part.label.clone()}
                <b>{part.share.clone()}</b>
                <span>{part.time.clone()}</span>
            </li>
        }
    });
    view! {
        <div class="split" role="img" aria-label=format!("GPU time: {label}")>{bar}</div>
        <ul class="legend" data-testid="legend">{legend}</ul>
    }
}

fn part_view(part: &SplitPart, families: &[FamilyTime]) -> AnyView {
    let inner: Vec<&FamilyTime> = families
        .iter()
        .filter(|family| !matches!(family.token.as_str(), "comm" | "copy"))
        .collect();
    let pieces = if part.token == "computation" && !inner.is_empty() {
        each(inner, |family| {
            piece(&family.token, &family.label, &family.time, family.percent)
        })
    } else {
        vec![piece(&part.token, &part.label, &part.time, 1.0)]
    };
    view! {
        <span class="part" style:flex-grow=format!("{:.4}", part.percent)>{pieces}</span>
    }
    .into_any()
}

/// One color of the bar. The style sheet hides the text where it does not fit.
fn piece(token: &str, label: &str, time: &str, weight: f64) -> AnyView {
    view! {
        <span
            class=format!("piece c-{token}")
            title=format!("{label}: {time}")
            style:flex-grow=format!("{weight:.4}")
        >
            <span><b>{label.to_owned()}</b>{time.to_owned()}</span>
        </span>
    }
    .into_any()
}
