//! Memory: usage over time, what makes up the peak, and who allocates.

use dormer_core::report::memory::{ChartPoint, DeviceView, MemoryChart, MemoryView};

use crate::page::prelude::*;
use crate::protocol::MemoryQuery;

/// The peak in a sentence, then for each device its curve, and the tables behind it.
pub fn memory() -> impl IntoView {
    let facts = expect_context::<Engine>().follow(|| MemoryQuery);
    move || {
        let MemoryView {
            headline,
            how,
            notes,
            devices,
        } = facts.get()?;
        let lead = match how {
            Some(how) => nothing_shown("missing", &headline, how).into_any(),
            None => view! { <section class="lead"><h1 data-testid="memory-headline">{title_line(&headline)}</h1></section> }.into_any(),
        };
        let notes = each(
            notes,
            |note| view! { <p class="fine">{with_units(&note)}</p> },
        );
        let devices = each(devices.into_iter().enumerate(), |(at, one)| device(at, one));
        Some(view! {
            <article class="overview memory" data-testid="memory">
                {lead}
                {devices}
                <div class="sentences">{notes}</div>
            </article>
        })
    }
}

fn device(at: usize, device: DeviceView) -> impl IntoView {
    let title_id = format!("memory-{at}");
    let labeled_by = title_id.clone();
    let notes = each(
        device.notes,
        |note| view! { <p class="fine">{with_units(&note)}</p> },
    );
    let tables = device.tables.into_iter().map(facts_table).collect_view();
    let table = device.twin.map(|table| {
        let figures = move || facts_table(table.clone());
        chart_figures("memory-figures", "Figures of the curve", figures)
    });
    view! {
        <section class="kind" data-testid="memory-device" aria-labelledby=labeled_by>
            <h2 id=title_id>{device.label}</h2>
            {pairs("facts", device.figures)}
            {notes}
            <section class="card memory-chart" data-testid="memory-chart">
                {curve(device.chart)}
                {table}
            </section>
            {tables}
        </section>
    }
}

/// Allocated memory as an area, reserved memory as a line above it, steps as bands behind.
fn curve(chart: MemoryChart) -> impl IntoView {
    /// Height of the drawing; the page scales it.
    const HEIGHT: f64 = 100.0;
    let in_use = steps_path(&chart.points, |point| point.allocated);
    let area = format!("{in_use}V{HEIGHT}H0Z");
    let reserved = steps_path(&chart.points, |point| point.reserved);
    let (peak_at, peak) = chart.peak;
    let bands = each(chart.steps.iter().enumerate(), |(at, step)| {
        let width = (step.to - step.from).max(0.5);
        view! {
            <rect class="step" class:odd=at % 2 == 1 x=format!("{:.2}", step.from) y="0" width=format!("{width:.2}") height=HEIGHT.to_string()>
                <title>{step.name.clone()}</title>
            </rect>
        }
    });
    let ticks = each(
        chart.ticks,
        |(at, text)| view! { <li style:left=format!("{:.1}%", at / 10.0)>{with_units(&text)}</li> },
    );
    let n_steps = chart.steps.len() as u64;
    let legend = [
        ("in-use", "In use".to_owned(), true),
        ("reserved", "Reserved".to_owned(), chart.has_reserved),
        ("at-peak", format!("Peak: {peak}"), true),
        ("step", format::counted(n_steps, "step"), n_steps > 0),
    ];
    let legend = legend.into_iter().filter(|(.., is_shown)| *is_shown);
    let legend = each(legend, |(key, text, _)| {
        view! { <li class=format!("m-{key}")>{dot("")}{with_units(&text)}</li> }
    });
    let label = format!("Memory over time: {peak}; the figures are in the table below");
    view! {
        <h3>"Memory over time"</h3>
        <ul class="keys" data-testid="memory-legend">{legend}</ul>
        <p class="fine most">{with_units(&chart.top)}</p>
        <svg viewBox=format!("0 0 1000 {HEIGHT}") preserveAspectRatio="none" role="img" aria-label=label>
            {bands}
            <path class="area" d=area></path>
            <path class="in-use" d=in_use></path>
            {chart.has_reserved.then(|| view! { <path class="reserved" d=reserved></path> })}
            <path class="at-peak" d=format!("M{peak_at:.2} 0V{HEIGHT}")></path>
        </svg>
        <ol class="axis" aria-hidden="true">{ticks}</ol>
    }
}

/// A step line: each value stays constant until the next point.
fn steps_path(points: &[ChartPoint], of: fn(&ChartPoint) -> f64) -> String {
    let mut path = String::new();
    for (at, point) in points.iter().enumerate() {
        let y = 100.0 - of(point).clamp(0.0, 100.0);
        path += &match at {
            0 => format!("M{:.2} {y:.2}", point.at),
            _ => format!("H{:.2}V{y:.2}", point.at),
        };
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_stays_where_it_is_until_the_next_report() {
        let point = |at, allocated| ChartPoint {
            at,
            allocated,
            reserved: 100.0,
        };
        let points = [point(0.0, 0.0), point(500.0, 25.0), point(1000.0, 25.0)];
        assert_eq!(
            steps_path(&points, |point| point.allocated),
            "M0.00 100.00H500.00V75.00H1000.00V75.00"
        );
    }
}
