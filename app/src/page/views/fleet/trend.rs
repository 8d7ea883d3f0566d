//! Medians over builds: a line for each pair of model and GPU.

use crate::page::prelude::*;
use crate::protocol::{FleetPoint, FleetTrend};

/// The size of a small line chart, in design pixels.
const SMALL: (f64, f64) = (180.0, 34.0);
/// The size of a large one.
const LARGE: (f64, f64) = (560.0, 96.0);
/// The margin around it for its points.
const MARGIN: f64 = 5.0;

/// The positions of the points: the axis starts near the smallest value, so that changes of a few percent are visible.
fn places(points: &[FleetPoint], (width, height): (f64, f64)) -> Vec<(f64, f64)> {
    let values = || points.iter().map(|point| point.ns as f64);
    let (least, most) = (
        values().fold(f64::INFINITY, f64::min),
        values().fold(f64::NEG_INFINITY, f64::max),
    );
    // Noise alone is not drawn as a slope.
    let range = (most - least).max(0.04 * most).max(1.0);
    let middle = f64::midpoint(least, most);
    let step = (width - 2.0 * MARGIN) / (points.len().max(2) - 1) as f64;
    let places = values().enumerate().map(|(at, value)| {
        let share = 0.5 - (value - middle) / range;
        let y = MARGIN + share * (height - 2.0 * MARGIN);
        (MARGIN + at as f64 * step, y)
    });
    places.collect()
}

/// The line chart of some builds; `at` is the highlighted one. The text beside it says the same.
pub(super) fn spark(points: &[FleetPoint], at: Option<usize>, is_large: bool) -> Option<AnyView> {
    if points.len() < 2 {
        return None;
    }
    let size = if is_large { LARGE } else { SMALL };
    let places = places(points, size);
    let path = places.iter().enumerate().map(|(index, (x, y))| {
        let letter = if index == 0 { 'M' } else { 'L' };
        format!("{letter}{x:.1} {y:.1}")
    });
    let path: String = path.collect();
    let dots = each(places.iter().enumerate(), |(index, (x, y))| {
        let (class, radius) = match at == Some(index) {
            true => ("dot-at", 4.0),
            false => ("dot-of", 2.5),
        };
        view! { <circle class=class cx=*x cy=*y r=radius></circle> }
    });
    let values = points.iter().map(|point| {
        let runs = format::counted(u64::from(point.n_runs), "run");
        format!("{}: {}, {runs}", point.build, format::time_ns(point.ns))
    });
    let values = values.collect::<Vec<String>>().join("; ");
    let ends = is_large.then(|| {
        let name = |point: Option<&FleetPoint>| {
            point.map(|point| format!("{} {}", point.build, format::time_ns(point.ns)))
        };
        view! { <figcaption class="fine"><span>{name(points.first())}</span><span>{name(points.last())}</span></figcaption> }
    });
    let (width, height) = size;
    Some(
        view! {
            <figure class="spark" title=values.clone()>
                <svg viewBox=format!("0 0 {width} {height}") width=width height=height aria-hidden="true">
                    <path d=path></path>
                    {dots}
                </svg>
                <span class="unseen">{values.clone()}</span>
                {ends}
            </figure>
        }
        .into_any(),
    )
}

/// A row for each pair of model and GPU, with its line chart if there are several builds.
pub(super) fn trends(trends: Vec<FleetTrend>, has_builds: bool) -> Option<AnyView> {
    if trends.is_empty() {
        return None;
    }
    let rows = each(trends, |trend| {
        let (first, last) = (trend.points.first().cloned(), trend.points.last().cloned());
        let (first, last) = (first.unwrap_or_default(), last.unwrap_or_default());
        let change = match first.ns {
            ns if ns > 0 && trend.points.len() > 1 => {
                format::signed_percent(100.0 * (last.ns as f64 / ns as f64 - 1.0))
            }
            _ => String::new(),
        };
        view! {
            <tr>
                <th scope="row">{if trend.model.is_empty() { "Unknown".to_owned() } else { trend.model }}</th>
                <td>{trend.gpu}</td>
                {has_builds.then(|| view! { <td>{spark(&trend.points, None, false)}</td> })}
                <td class="n">{format::time_ns(last.ns)}</td>
                {has_builds.then(|| view! { <td>{last.build}</td> <td class="n">{change}</td> })}
                <td class="n">{trend.idle}</td>
            </tr>
        }
    });
    let (title, total, idle) = match has_builds {
        true => ("Medians over builds", "Total, last", "Idle, last"),
        false => ("Medians by model", "Total", "Idle"),
    };
    let columns = [
        Some(("Model", false)),
        Some(("GPU", false)),
        has_builds.then_some(("Total, over builds", false)),
        Some((total, true)),
        has_builds.then_some(("Last build", false)),
        has_builds.then_some(("Since the first", true)),
        Some((idle, true)),
    ];
    Some(
        view! {
            <section class="card flush" data-testid="fleet-trends">
                <h3>{title}</h3>
                {list(title, heads(columns.into_iter().flatten()), rows)}
            </section>
        }
        .into_any(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slower_build_is_higher_and_noise_is_nearly_level() {
        let point = |ns| FleetPoint {
            ns,
            ..FleetPoint::default()
        };
        let ys = |points: &[FleetPoint]| -> Vec<i64> {
            let places = places(points, (110.0, 110.0));
            places.into_iter().map(|(_, y)| y as i64).collect()
        };
        assert_eq!(ys(&[point(100), point(200)]), [105, 5]);
        assert_eq!(ys(&[point(1000), point(1001)]), [56, 53]);
    }
}
