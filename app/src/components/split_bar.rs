//! The recorded GPU time as one bar, with its legend.

use leptos::prelude::*;

use crate::protocol::{FamilyTime, SplitPart};

/// Parts narrower than this many percent carry no text; the legend names them.
const LABELLED_PERCENT: f64 = 14.0;

/// Computation, exposed communication, exposed copies and idle time side by side. Computation is
/// drawn in the colours of its categories, in proportion to their kernel time.
#[component]
pub fn SplitBar(
    /// The parts; they add up to the recorded time.
    parts: Vec<SplitPart>,
    /// Kernel time by category.
    families: Vec<FamilyTime>,
) -> impl IntoView {
    let label = parts
        .iter()
        .map(|part| format!("{} {}", part.label, part.share))
        .collect::<Vec<_>>()
        .join(", ");
    let bar = parts
        .iter()
        .filter(|part| part.percent > 0.0)
        .map(|part| part_view(part, &families))
        .collect_view();
    let legend = parts
        .iter()
        .map(|part| {
            view! {
                <li>
                    <i class=format!("dot c-{}", part.token) aria-hidden="true"></i>
                    {part.label.clone()}
                    <b>{part.share.clone()}</b>
                    <span>{part.time.clone()}</span>
                </li>
            }
        })
        .collect_view();
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
    if part.token == "computation" && !inner.is_empty() {
        let whole: f64 = inner.iter().map(|family| family.percent).sum();
        let families = inner
            .into_iter()
            .map(|family| {
                let of_bar = part.percent * family.percent / whole.max(f64::MIN_POSITIVE);
                let text = (of_bar >= LABELLED_PERCENT)
                    .then(|| view! { <b>{family.label.clone()}</b>{family.time.clone()} });
                view! {
                    <span
                        class=format!("piece c-{}", family.token)
                        title=format!("{}: {} of kernel time", family.label, family.time)
                        style:flex-grow=format!("{:.4}", family.percent)
                    >
                        {text}
                    </span>
                }
            })
            .collect_view();
        return view! {
            <span class="part" style:flex-grow=format!("{:.4}", part.percent)>{families}</span>
        }
        .into_any();
    }
    let text = (part.percent >= LABELLED_PERCENT)
        .then(|| view! { <b>{part.label.clone()}</b>{part.time.clone()} });
    view! {
        <span class="part" style:flex-grow=format!("{:.4}", part.percent)>
            <span
                class=format!("piece c-{}", part.token)
                title=format!("{}: {}", part.label, part.time)
                style:flex-grow="1"
            >
                {text}
            </span>
        </span>
    }
    .into_any()
}
