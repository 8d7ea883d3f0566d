//! The drawing as elements: the roofline, the marks, and the tooltip of a mark.

use super::drawing::{Drawing, MarkPlace};
use crate::page::prelude::*;
use crate::protocol::{Mark, Note, RooflineChart};

/// At most this many marks are elements of their own; the smallest of the others are drawn as one path per category.
const SINGLE: usize = 1200;

pub(super) fn draw(drawing: &Drawing, chart: &RooflineChart) -> impl IntoView + use<> {
    let lines = drawing
        .lines
        .iter()
        .map(|[x1, y1, x2, y2]| format!("M{x1:.1} {y1:.1}L{x2:.1} {y2:.1}"))
        .collect::<String>();
    let texts = each(drawing.texts.iter(), |text| {
        view! {
            <text x=text.x y=text.y class=text.class transform=text.transform.clone()>
                {text.text.clone()}
            </text>
        }
    });
    let roofline = drawing.roofline.join("");
    let pairs = || chart.marks.iter().zip(&drawing.places);
    // The longest first: small marks are drawn on top of large ones.
    let single = pairs()
        .take(SINGLE)
        .filter_map(|(mark, place)| {
            let place = (*place)?;
            let odd = if is_odd(mark) { " odd" } else { "" };
            Some(view! {
                <circle
                    class=format!("mark c-{}{odd}", mark.family.token())
                    cx=format!("{:.1}", place.x)
                    cy=format!("{:.1}", place.y)
                    r=format!("{:.1}", place.radius)
                ></circle>
            })
        })
        .collect_view();
    let mut rest: Vec<(&str, String)> = Vec::new();
    for (mark, place) in pairs().skip(SINGLE) {
        let Some(place) = place else { continue };
        let r = place.radius;
        let dot = format!(
            "M{:.1} {:.1}a{r:.1} {r:.1} 0 1 0 {:.1} 0a{r:.1} {r:.1} 0 1 0 {:.1} 0",
            place.x - r,
            place.y,
            2.0 * r,
            -2.0 * r
        );
        match rest
            .iter_mut()
            .find(|(token, _)| *token == mark.family.token())
        {
            Some((_, path)) => path.push_str(&dot),
            None => rest.push((mark.family.token(), dot)),
        }
    }
    let rest = each(
        rest,
        |(token, path)| view! { <path class=format!("mark c-{token}") d=path></path> },
    );
    view! {
        <svg aria-hidden="true" width=drawing.width height=drawing.height>
            <path class="grid" d=lines></path>
            <path class="roofline-line" d=roofline></path>
            {single}
            {rest}
            {texts}
        </svg>
    }
}

fn is_odd(mark: &Mark) -> bool {
    matches!(mark.note, Some(Note::Odd(_)))
}

pub(super) fn ring(class: &'static str, place: Option<MarkPlace>) -> Option<impl IntoView> {
    place.map(
        |place| view! { <circle class=class cx=place.x cy=place.y r=place.radius + 3.5></circle> },
    )
}

/// What a screen reader says for a mark.
pub(super) fn spoken(mark: &Mark) -> String {
    let figures = mark
        .figures
        .iter()
        .map(|(label, value)| format!("{label} {value}"));
    let parts: Vec<String> = [mark.name.clone(), mark.shapes.clone()]
        .into_iter()
        .chain(figures)
        .filter(|part| !part.is_empty())
        .collect();
    parts.join(", ")
}

/// The tooltip of a mark, beside its position in a chart of this width.
pub(super) fn card(mark: Mark, place: MarkPlace, width: f64) -> AnyView {
    let to_the_left = place.x > width / 2.0;
    let offset = match to_the_left {
        true => width - place.x + place.radius + 10.0,
        false => place.x + place.radius + 10.0,
    };
    let offset = format!("{:.0}px", offset.min(width * 0.5));
    let (left, right) = match to_the_left {
        true => ("auto".to_owned(), offset),
        false => (offset, "auto".to_owned()),
    };
    let note = mark.note.map(|note| match note {
        Note::Odd(text) => view! { <p class="odd">{text}</p> }.into_any(),
        Note::Aside(text) | Note::Guess(text) => view! { <p class="fine">{text}</p> }.into_any(),
    });
    view! {
        <div class="tip" aria-hidden="true" style:left=left style:right=right style:top=format!("{:.0}px", (place.y - 30.0).max(0.0))>
            <h3 class=format!("c-{}", mark.family.token())>{dot("")}<span class="mono">{mark.name}</span></h3>
            {(!mark.shapes.is_empty()).then(|| view! { <p class="mono soft">{mark.shapes}</p> })}
            {pairs("pairs", mark.figures)}
            {note}
        </div>
    }
    .into_any()
}
