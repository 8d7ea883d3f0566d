//! Bus bandwidth over message size: a mark for each group and size, and a line for each kind of link.

use std::sync::Arc;

use dormer_core::base::log_scale::LogScale;
use dormer_core::job::bandwidth::{BandwidthChart, BandwidthMark};
use dormer_core::report::fact_table::{CellKind, FactRow, FactTable};
use leptos::html::Div;
use web_sys::HtmlInputElement;

use super::read_of;
use crate::page::components::plot::{MarkCursor, Plot, plot};
use crate::page::prelude::*;
use crate::page::ranks::OpenJob;

/// Space for the numbers of the vertical axis.
const LEFT: f64 = 52.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 30.0;
const BOTTOM: f64 = 40.0;
const RADIUS: f64 = 5.0;
/// How near the pointer must be to a mark.
const REACH: f64 = 10.0;

/// The chart with positions, in pixels.
#[derive(Debug, Clone, Default, PartialEq)]
struct Drawing {
    width: f64,
    height: f64,
    grid: String,
    /// Link bandwidths: the height of the line, the position and anchor of its label, and the label.
    links: Vec<(f64, f64, &'static str, String)>,
    /// Numbers on the axes: position, class and text.
    ticks: Vec<(f64, f64, &'static str, String)>,
    places: Vec<(f64, f64)>,
}

impl Drawing {
    fn new(chart: &BandwidthChart, width: f64) -> Drawing {
        if width <= LEFT + RIGHT {
            return Drawing::default();
        }
        let height = (width * 0.42).clamp(240.0, 420.0);
        let (right, floor) = (width - RIGHT, height - BOTTOM);
        let inside = chart.peak.as_ref().map(|peak| peak.gbps);
        let between = chart.between_hosts_gbps;
        let sizes = chart.marks.iter().map(|mark| mark.bytes as f64);
        let across = LogScale::around(sizes, LEFT, right);
        let rates = chart.marks.iter().map(|mark| mark.gbps);
        let up = LogScale::around(rates.chain(inside).chain(between), floor, TOP);
        let mut grid = String::new();
        let mut ticks = Vec::new();
        for size in across.powers() {
            let x = across.px(size);
            grid.push_str(&format!("M{x:.1} {TOP}L{x:.1} {floor:.1}"));
        }
        // Sizes at powers of ten; if they are too close, every other one.
        let n_powers = across.powers().count().max(2);
        let every = (64.0 * (n_powers - 1) as f64 / (right - LEFT)).ceil() as usize;
        for size in across.powers().step_by(every.max(1)) {
            let text = format::bytes(size as u64);
            ticks.push((across.px(size), floor + 18.0, "tick middle", text));
        }
        for (y, text) in up.ticks(22.0) {
            grid.push_str(&format!("M{LEFT} {y:.1}L{right:.1} {y:.1}"));
            ticks.push((LEFT - 8.0, y + 4.0, "tick end", text));
        }
        ticks.push((right, floor + 34.0, "axis end", "Message size".to_owned()));
        ticks.push((4.0, 12.0, "axis", "Bus bandwidth, GB/s".to_owned()));
        // Labels are at both ends, because the lines may be close together.
        let name = |is: &str, gbps| format!("{is}, {}", format::bandwidth_gbps(gbps));
        let inside = inside.map(|gbps| {
            let text = name("link inside a host", gbps);
            (up.px(gbps), LEFT + 6.0, "name", text)
        });
        let between = between.map(|gbps| {
            let text = name("between hosts", gbps);
            (up.px(gbps), right - 6.0, "name end", text)
        });
        let places = chart
            .marks
            .iter()
            .map(|mark| (across.px(mark.bytes as f64), up.px(mark.gbps)));
        Drawing {
            width,
            height,
            grid,
            links: inside.into_iter().chain(between).collect(),
            ticks,
            places: places.collect(),
        }
    }

    fn nearest(&self, x: f64, y: f64) -> Option<usize> {
        let distances = self
            .places
            .iter()
            .map(|(left, top)| (left - x).hypot(top - y));
        let nearest = distances
            .enumerate()
            .min_by(|one, other| one.1.total_cmp(&other.1));
        nearest.filter(|(_, px)| *px <= REACH).map(|(at, _)| at)
    }
}

/// The chart with its figures; `None` if no bandwidth is known.
pub(super) fn bandwidth(job: &Arc<OpenJob>) -> Option<AnyView> {
    let chart = job.opened.bandwidth.clone();
    if chart.marks.is_empty() {
        return None;
    }
    let spans: Vec<bool> = chart.marks.iter().map(|mark| mark.spans_hosts).collect();
    let legend = [
        (false, "Ranks of one host"),
        (true, "Ranks of several hosts"),
    ];
    let legend = each(
        legend.into_iter().filter(|(of, _)| spans.contains(of)),
        |(is_filled, label)| {
            view! { <li><i class="dot c-comm" class:hollow=!is_filled aria-hidden="true"></i>{label}</li> }
        },
    );
    let mut note = match &chart.peak {
        Some(peak) => format!(
            "According to its data sheet, the links of {} carry {} per direction within a host.",
            peak.gpu,
            format::bandwidth_gbps(peak.gbps)
        ),
        None => "The bandwidth of the links within a host is unknown for this GPU.".to_owned(),
    };
    let network = spans
        .contains(&true)
        .then(|| network(chart.between_hosts_gbps));
    if chart.drawn().marks.len() < chart.marks.len() {
        note += " Messages below 64 KiB are latency-bound and listed only in the table.";
    }
    let badge = read_of(job);
    Some(
        view! {
            <section class="card" data-testid="job-bandwidth">
                <h2>"Bus bandwidth by message size" {badge}</h2>
                <p class="fine">{note}</p>
                {chart_of(chart)}
                <ul class="legend">{legend}</ul>
                {network}
            </section>
        }
        .into_any(),
    )
}

/// Asks for what traces do not contain: a rank's bandwidth to other nodes.
fn network(gbps: Option<f64>) -> impl IntoView {
    let engine = expect_context::<Engine>();
    let value = gbps.map_or_else(String::new, |gbps| gbps.to_string());
    let shown = value.clone();
    let change = move |event: leptos::ev::Event| {
        let text = event_target_value(&event);
        let number = text.trim().parse::<f64>().ok();
        match number.filter(|gbps| gbps.is_finite() && *gbps > 0.0) {
            None if !text.trim().is_empty() => {
                let input: HtmlInputElement = event_target(&event);
                input.set_value(&shown);
            }
            gbps => engine.choose_network(gbps),
        }
    };
    view! {
        <p class="network">
            <label for="network-gbps">"Bandwidth of a rank to other hosts"</label>
            <input id="network-gbps" type="number" min="0" step="any" value=value on:change=change/>
            <span class="soft">"GB/s, one way. Traces do not record it; a 400 Gbit/s NIC carries 50."</span>
        </p>
    }
}

/// The marks of the chart. `Copy`, so pass it around.
#[derive(Clone, Copy)]
struct Messages {
    chart: StoredValue<BandwidthChart>,
    drawing: Memo<Drawing>,
    marks: MarkCursor,
}

impl Messages {
    /// A title and figures of a mark.
    fn about(self, mark: usize) -> Option<(String, Vec<(String, String)>)> {
        self.chart
            .with_value(|chart| chart.marks.get(mark).map(mark_details))
    }
}

impl Plot for Messages {
    fn id(self) -> &'static str {
        "bandwidth"
    }

    fn label(self) -> String {
        "Bus bandwidth over message size, both logarithmic. Arrow keys step through the messages by size. The table below has the figures.".to_owned()
    }

    fn marks(self) -> MarkCursor {
        self.marks
    }

    fn nearest(self, x: f64, y: f64) -> Option<usize> {
        self.drawing.with_untracked(|drawing| drawing.nearest(x, y))
    }

    fn is_drawn(self) -> Vec<bool> {
        self.chart.with_value(|chart| vec![true; chart.marks.len()])
    }

    fn spoken(self, mark: usize) -> Option<String> {
        let (head, figures) = self.about(mark)?;
        let figures = each(figures, |(label, value)| format!(", {label} {value}"));
        Some(head + &figures.concat())
    }

    fn press(self, key: &str) -> bool {
        match key {
            "Escape" => self.marks.clear(),
            _ => return false,
        }
        true
    }
}

fn chart_of(chart: BandwidthChart) -> AnyView {
    let frame = NodeRef::<Div>::new();
    let width = browser::width_of(frame);
    let table = figures(&chart);
    let chart = StoredValue::new(chart.drawn());
    let drawing = Memo::new(move |_| chart.with_value(|chart| Drawing::new(chart, width.get())));
    let messages = Messages {
        chart,
        drawing,
        marks: MarkCursor::default(),
    };
    let tip = move || {
        let at = messages.marks.shown()?;
        let (head, figures) = messages.about(at)?;
        let (x, y) = drawing.with(|drawing| drawing.places.get(at).copied())?;
        let is_right = x * 2.0 > width.get();
        let left = if is_right { x - 12.0 } else { x + 12.0 };
        let figures = pairs("pairs", figures);
        Some(view! {
            <svg class="rings" aria-hidden="true" width=width.get() height=y + 20.0>
                <circle class="ring" cx=x cy=y r=RADIUS + 4.0></circle>
            </svg>
            {tooltip((left, (y - 30.0).max(0.0)), is_right, head, figures)}
        })
    };
    let inside = view! {
        {move || drawing.with(|drawing| chart.with_value(|chart| picture(drawing, chart)))}
        {tip}
    };
    view! {
        {plot(messages, frame, inside)}
        {chart_figures("bandwidth-figures", "Figures of the chart", move || facts_table(table.clone()))}
    }
    .into_any()
}

fn picture(drawing: &Drawing, chart: &BandwidthChart) -> AnyView {
    let marks = each(drawing.places.iter().zip(&chart.marks), |((x, y), mark)| {
        // Round and hollow, or square: the chart does not depend on color.
        let r = RADIUS;
        let (class, path) = match mark.spans_hosts {
            true => (
                "mark c-comm",
                format!("M{:.1} {:.1}h{d}v{d}h-{d}z", x - r, y - r, d = 2.0 * r),
            ),
            false => (
                "mark c-comm hollow",
                format!(
                    "M{:.1} {y:.1}a{r} {r} 0 1 0 {d} 0a{r} {r} 0 1 0 -{d} 0",
                    x - r,
                    d = 2.0 * r
                ),
            ),
        };
        view! { <path class=class d=path></path> }
    });
    let texts = each(drawing.ticks.iter(), |(x, y, class, text)| {
        view! { <text x=*x y=*y class=*class>{text.clone()}</text> }
    });
    let right = drawing.width - RIGHT;
    let links = each(drawing.links.iter(), |(y, x, class, name)| {
        view! {
            <path class="roofline-line" d=format!("M{LEFT} {y:.1}L{right:.1} {y:.1}")></path>
            <text class=*class x=*x y=y - 6.0>{name.clone()}</text>
        }
    });
    view! {
        <svg aria-hidden="true" width=drawing.width height=drawing.height>
            <path class="grid" d=drawing.grid.clone()></path>
            {links}
            {marks}
            {texts}
        </svg>
    }
    .into_any()
}

fn mark_details(mark: &BandwidthMark) -> (String, Vec<(String, String)>) {
    let hosts = if mark.spans_hosts {
        ", several hosts"
    } else {
        ", one host"
    };
    let figures = [
        ("Ranks", format!("{}{hosts}", mark.n_ranks)),
        ("Bus bandwidth", format::bandwidth_gbps(mark.gbps)),
        (
            "% of link",
            mark.percent.map_or_else(String::new, format::percent),
        ),
        ("Transfer, median", format::time_ns(mark.median_ns)),
        ("Count", format::count(u64::from(mark.count))),
    ];
    let known = figures.into_iter().filter(|(_, value)| !value.is_empty());
    let head = format!("{}, {}", format::capitalized(&mark.message), mark.between);
    (
        head,
        known
            .map(|(label, value)| (label.to_owned(), value))
            .collect(),
    )
}

fn figures(chart: &BandwidthChart) -> FactTable {
    let rows = chart.marks.iter().map(|mark| FactRow {
        cells: vec![
            mark.message.clone(),
            mark.between.clone(),
            mark.n_ranks.to_string(),
            if mark.spans_hosts { "yes" } else { "no" }.to_owned(),
            format::count(u64::from(mark.count)),
            format::time_ns(mark.median_ns),
            format::bandwidth_gbps(mark.gbps),
            mark.percent.map_or_else(String::new, format::percent),
        ],
        ..FactRow::default()
    });
    let columns = [
        ("Message", CellKind::Text),
        ("Between", CellKind::Text),
        ("Ranks", CellKind::Number),
        ("Across hosts", CellKind::Text),
        ("Count", CellKind::Number),
        ("Transfer, median", CellKind::Number),
        ("Bus bandwidth", CellKind::Number),
        ("% of link", CellKind::Number),
    ];
    FactTable {
        title: "Bus bandwidth by message size".to_owned(),
        columns: columns.map(|(label, kind)| (label.to_owned(), kind)).into(),
        rows: rows.collect(),
    }
}

#[cfg(test)]
mod tests {
    use dormer_core::job::bandwidth::LinkPeak;

    use super::*;

    #[test]
    fn a_decade_is_as_long_everywhere_and_the_links_are_on_the_axis() {
        let mark = |bytes, gbps| BandwidthMark {
            message: String::new(),
            between: String::new(),
            n_ranks: 2,
            spans_hosts: false,
            bytes,
            count: 1,
            median_ns: 1,
            gbps,
            percent: None,
        };
        let chart = BandwidthChart {
            marks: vec![mark(1_000, 1.0), mark(10_000, 10.0), mark(100_000, 100.0)],
            peak: Some(LinkPeak {
                gpu: String::new(),
                gbps: 100.0,
            }),
            between_hosts_gbps: Some(10.0),
        };
        let drawing = Drawing::new(&chart, 1000.0);
        let [first, second, third] = [0, 1, 2].map(|at| drawing.places[at]);
        assert!((second.0 - first.0 - (third.0 - second.0)).abs() < 1e-9);
        assert!((first.1 - second.1 - (second.1 - third.1)).abs() < 1e-9);
        let links: Vec<f64> = drawing.links.iter().map(|link| link.0).collect();
        assert_eq!(links, [third.1, second.1]);
        assert_eq!(drawing.nearest(second.0 + 3.0, second.1), Some(1));
        assert_eq!(drawing.nearest(second.0 + 30.0, second.1), None);
        assert_eq!(Drawing::new(&chart, 10.0), Drawing::default());
    }
}
