//! The recorded GPU time as one bar, with its legend.

use dormer_core::names::Family;
use dormer_core::report::overview::{FamilyTime, SplitKind, SplitPart};
use leptos::prelude::*;

use super::each;

/// Computation, exposed communication, exposed copies and idle time side by side. Computation is
/// drawn in the colors of its categories, in proportion to their kernel time.
pub fn split_bar(parts: Vec<SplitPart>, families: Vec<FamilyTime>) -> impl IntoView {
    let label = parts
        .iter()
        .map(|part| format!("{} {}", part.kind.label(), part.share()))
        .collect::<Vec<_>>()
        .join(", ");
    let bar = each(parts.iter().filter(|part| part.percent > 0.0), |part| {
        part_view(part, &families)
    });
    let legend = each(parts.iter(), |part| {
        view! {
            <li>
                <i class=format!("dot c-{}", part.kind.token()) aria-hidden="true"></i>
                {part.kind.label()}
                <b>{part.share()}</b>
                <span>{part.time()}</span>
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
        .filter(|time| !matches!(time.family, Family::Communication | Family::MemoryCopy))
        .collect();
    let pieces = if part.kind == SplitKind::Computation && !inner.is_empty() {
        each(inner, |time| {
            let family = time.family;
            piece(family.token(), family.label(), &time.time(), time.percent)
        })
    } else {
        let kind = part.kind;
        vec![piece(kind.token(), kind.label(), &part.time(), 1.0)]
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
