//! Charts that are also tables: with bars, of gaps, and plain tables of figures; and the tooltip and the figures of a
//! drawn chart.

use dormer_core::names::Family;
use dormer_core::report::fact_table::{CellKind, FactRow, FactTable};
use dormer_core::report::overview::{FamilyTime, SplitKind, SplitPart};

use crate::page::prelude::*;
use crate::protocol::{BarChart, Gap, WaterfallStep};

/// A table with a bar in each row: the chart and its figures in one.
pub fn bars(chart: BarChart) -> impl IntoView {
    let mut headings = chart.columns.into_iter();
    let first = headings.next();
    let others = heads(headings.map(|heading| (heading, true)));
    let rows = each(chart.rows, |row| {
        let cells = each(row.cells, |cell| view! { <td class="n">{cell}</td> });
        view! {
            <tr class:none=row.percent <= 0.0>
                <th scope="row">{row.label}</th>
                <td class="bar" aria-hidden="true"><span style:width=format!("{:.2}%", row.percent)></span></td>
                {cells}
            </tr>
        }
    });
    view! {
        <section class="card">
            <h3>{chart.title.clone()}</h3>
            <table class="bars drawn" aria-label=chart.title>
                <thead>
                    <tr>
                        <th scope="col">{first}</th>
                        <td></td>
                        {others}
                    </tr>
                </thead>
                <tbody>{rows}</tbody>
            </table>
        </section>
    }
}

/// A table of figures; rows about an event link to it in the tree.
pub fn facts_table(table: FactTable) -> impl IntoView {
    let has_events = table.rows.iter().any(|row| row.event.is_some());
    let columns = table.columns;
    let headings = columns.iter();
    let headings = headings.map(|(label, kind)| (label.clone(), *kind == CellKind::Number));
    let headings = (
        heads(headings),
        has_events.then(|| view! { <th scope="col"><span class="unseen">"Where"</span></th> }),
    );
    let rows = each(table.rows, |row| fact_row(&columns, row, has_events));
    view! {
        <section class="card flush">
            <h3>{table.title.clone()}</h3>
            {list(table.title, headings, rows)}
        </section>
    }
}

fn fact_row(columns: &[(String, CellKind)], row: FactRow, has_events: bool) -> AnyView {
    let of = row.cells.first().cloned().unwrap_or_default();
    let mut below = (!row.below.is_empty()).then_some(row.below);
    let cells = each(columns.iter().zip(row.cells), |((_, kind), cell)| {
        let is_name = *kind == CellKind::Name;
        let is_number = *kind == CellKind::Number;
        let title = is_name.then(|| cell.clone());
        let below = below.take().map(|below| {
            view! { <span class="fine below" title=below.clone()>{below.clone()}</span> }
        });
        view! {
            <td class:n=is_number class:mono=is_name title=title>
                {match is_name {
                    true => cut_name(cell).into_any(),
                    false => view! { <span>{cell}</span> }.into_any(),
                }}
                {below}
            </td>
        }
    });
    view! {
        <tr>
            {cells}
            {has_events.then(|| view! { <td class="n">
                {event_link("tree", "Call tree", row.event, &of)}
                " "
                {event_link("timeline", "Timeline", row.event, &of)}
            </td> })}
        </tr>
    }
    .into_any()
}

fn event_link(
    view: &'static str,
    label: &'static str,
    event: Option<u32>,
    of: &str,
) -> impl IntoView + use<> {
    let spoken = format!("{label}: {of}");
    event.map(|event| {
        view! { <ViewLink view focus=Focus::at_event(event) class="to-tree" spoken>{label}</ViewLink> }
    })
}

/// The tables of a chart's figures, built when they are first shown.
pub fn chart_figures<V: IntoView + 'static>(
    testid: &'static str,
    title: &'static str,
    tables: impl Fn() -> V + Send + Sync + 'static,
) -> impl IntoView {
    let is_open = RwSignal::new(false);
    view! {
        <details class="more" data-testid=testid on:toggle=move |_| is_open.set(true)>
            <summary>{title}</summary>
            {move || is_open.get().then(&tables)}
        </details>
    }
}

/// The tooltip at a position of a chart, in pixels; to the left of it if `is_before`.
pub fn tooltip(
    (left, top): (f64, f64),
    is_before: bool,
    title: String,
    figures: impl IntoView,
) -> impl IntoView {
    view! {
        <div
            class="tip"
            class:before=is_before
            aria-hidden="true"
            style:left=format!("{left:.0}px")
            style:top=format!("{top:.0}px")
        >
            <h3>{title}</h3>
            {figures}
        </div>
    }
}

/// Gaps that are shown before "show all".
const FIRST_GAPS: usize = 5;

/// The longest gaps: what ends before, what starts after, and what the CPU did in the meantime.
pub fn gaps(gaps: Vec<Gap>) -> impl IntoView {
    let n_more = gaps.len().saturating_sub(FIRST_GAPS);
    let mut lines = gaps.into_iter().map(gap_line);
    let first = lines.by_ref().take(FIRST_GAPS).collect_view();
    let more = lines.collect_view();
    let more = (n_more > 0).then(|| {
        view! {
            <details class="more">
                <summary>{format!("{n_more} more")}</summary>
                <ol class="gaps" start=FIRST_GAPS + 1>{more}</ol>
            </details>
        }
    });
    view! {
        <section class="card" data-testid="gaps">
            <h3>"Longest gaps"</h3>
            <ol class="gaps">{first}</ol>
            {more}
        </section>
    }
}

fn gap_line(gap: Gap) -> impl IntoView {
    let kernel = |label: &'static str, (name, stream): (String, String)| {
        let stream = (!stream.is_empty())
            .then(|| view! { <span class="soft">{format!("stream {stream}")}</span> });
        view! {
            <div>
                <dt>{label}</dt>
                <dd><span class="mono">{name}</span> " " {stream}</dd>
            </div>
        }
    };
    let cpu = each(
        gap.cpu,
        |(label, value)| view! { <div><dt>{label}</dt><dd class="mono">{value}</dd></div> },
    );
    let of = format!("gap of {}", gap.length);
    let spoken = format!("Show in timeline: {of}");
    view! {
        <li>
            <p class="what">
                <b>{gap.length}</b>
                <span>{gap.cause}</span>
                <span class="fine">{format!("{} after the first GPU activity", gap.start)}</span>
                {gap.event.map(|event| view! {
                    <ViewLink view="timeline" focus=Focus::at_gap(event) class="to-tree" spoken>"Show in timeline"</ViewLink>
                })}
                {event_link("tree", "Show in call tree", gap.event, &of)}
            </p>
            <dl>
                {kernel("After", gap.before)}
                {kernel("Before", gap.after)}
            </dl>
            <dl>{cpu}</dl>
        </li>
    }
}

/// A table of categories: name, bar, time, share. The longest bar fills its column.
pub fn bar_list(families: Vec<FamilyTime>, view: &'static str) -> impl IntoView {
    let longest = families
        .iter()
        .map(|family| family.percent)
        .fold(f64::MIN_POSITIVE, f64::max);
    let rows = each(families, |time| {
        let token = time.family.token();
        let width = format!("{:.2}%", 100.0 * time.percent / longest);
        let focus = Focus::of_category(token.to_owned());
        view! {
            <tr>
                <th scope="row">
                    {dot(token)}
                    <ViewLink view focus>{time.family.label()}</ViewLink>
                </th>
                <td class="bar" aria-hidden="true">
                    <span class=format!("c-{token}") style:width=width></span>
                </td>
                <td class="n">{time.time()}</td>
                <td class="n soft">{time.share()}</td>
            </tr>
        }
    });
    view! {
        <table class="bars" aria-label="Categories" data-testid="families">
            <thead class="unseen">
                <tr><th scope="col">"Category"</th><td></td><th scope="col">"Time"</th><th scope="col">"Share"</th></tr>
            </thead>
            <tbody>{rows}</tbody>
        </table>
    }
}

/// The square in the color of a token, or in that of the element around it.
pub fn dot(token: &str) -> impl IntoView + use<> {
    let class = match token {
        "" => "dot".to_owned(),
        token => format!("dot c-{token}"),
    };
    view! { <i class=class aria-hidden="true"></i> }
}

/// The parts of a step's bar; one part if no GPU activity was recorded.
pub fn stacked(parts: &[SplitPart]) -> impl IntoView + use<> {
    let part = |token: &str, share: f64| view! { <span class=format!("c-{token}") style:flex-grow=format!("{share:.4}")></span> };
    match parts {
        [] => vec![part("op", 1.0)],
        parts => each(parts, |one| part(one.kind.token(), one.percent)),
    }
}

/// Stacked bar of computation, exposed communication, exposed copies and idle time. Computation is drawn in the colors
/// of its categories, in proportion to their kernel time.
pub fn split_bar(mut parts: Vec<SplitPart>, families: Vec<FamilyTime>) -> impl IntoView {
    parts.retain(|part| part.ns > 0 || part.kind.is_always_shown());
    let has_categories = !families.is_empty();
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
                {dot(part.kind.token())}
                {part.kind.label()}
                <b>{part.share()}</b>
                <span>{part.time()}</span>
            </li>
        }
    });
    view! {
        <div class="split" role="img" aria-label=format!("GPU time: {label}")>{bar}</div>
        <ul class="legend" class:by-category=has_categories data-testid="legend">{legend}</ul>
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

/// One segment of the bar. The style sheet hides the text if it does not fit.
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

/// The id of the tables of a comparison.
pub const COMPARE_TABLES: &str = "compare-tables";

/// The name of a step; a button that goes to its row in a table of the comparison, if it has one.
fn row_button(row: Option<(String, u32)>, name: String) -> AnyView {
    let state = expect_context::<AppState>();
    let Some((table, row)) = row else {
        return cut_name(name).into_any();
    };
    let go = move |_| {
        state.look_at(|focus| {
            *focus = Focus {
                table: table.clone(),
                row: Some(row),
                ..Focus::default()
            }
        });
        browser::after_paint(|| browser::go_to_element(COMPARE_TABLES));
    };
    view! { <button type="button" class="link mono" on:click=go>{cut_name(name)}</button> }
        .into_any()
}

/// A waterfall chart: each row's bar starts where the previous one ended, with its figures in the row.
pub fn waterfall(steps: Vec<WaterfallStep>, scale_from: Option<String>) -> impl IntoView {
    let is_cut = scale_from.is_some();
    let rows = each(steps, |step| {
        let (from, to) = step.span;
        let (left, width) = (format!("{from:.2}%"), format!("{:.2}%", to - from));
        view! {
            <tr class=format!("step {} c-{}", step.kind, step.token)>
                <th scope="row" title=step.label.clone()>
                    <span class="line">
                        {(!step.token.is_empty()).then(|| dot(""))}
                        {row_button(step.row, step.label.clone())}
                    </span>
                </th>
                <td class="bar-cell" aria-hidden="true">
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
