//! The pictures of the printed comparison, as SVG without scripts: how the time of both traces splits, the steps from
//! one time to the other, and a scatter plot of every operation in both.
//!
//! The numbers of each picture are also in a table of the document.

use super::tables::N_STEPS;
use crate::base::format;
use crate::base::log_scale::LogScale;
use crate::compare::comparison::Comparison;
use crate::compare::expected::Verdict;
use crate::compare::pair::{Pair, Which};
use crate::output::documents::Picture;
use crate::output::documents::parts::TIMELINE;
use crate::output::markup::svg::{IDLE, Rect, Svg, WIDTH, color};

/// Colors for parts that take longer on the target, and for parts that take less time.
const LONGER: &str = "#c8553d";
const SHORTER: &str = "#3f8f6b";
const WHOLE: &str = "#98938a";

pub(super) fn all(comparison: &Comparison) -> Vec<Picture> {
    let pictures = [
        splits(comparison),
        waterfall(comparison),
        scatter(comparison),
    ];
    pictures.into_iter().flatten().collect()
}

/// Both runs as bars on one scale: computation, communication, copies, idle time.
fn splits(comparison: &Comparison) -> Option<Picture> {
    const ROW: f64 = 46.0;
    let timelines = comparison.timelines();
    let total = comparison.parts.total;
    let most_ns = total.reference.max(total.target);
    if most_ns <= 0 {
        return None;
    }
    let fills = ["#4a7fc6", "#7274b6", "#a89880", IDLE];
    let left = 180.0;
    let scale = (WIDTH - left - 90.0) / most_ns as f64;
    let mut svg = Svg::new(2.0 * ROW + 30.0, "How the time of both traces splits");
    for (row, which) in Which::ALL.into_iter().enumerate() {
        let top = row as f64 * ROW;
        let name = format::middle_ellipsis(&comparison.sides.get(which).name, 24);
        svg.text(0.0, top + 14.0, "start", &name);
        let role = format!("({})", which.label());
        svg.text(0.0, top + 30.0, "start", &role);
        let Some(whole) = timelines.get(which) else {
            svg.text(left, top + 20.0, "start", "no GPU activity");
            continue;
        };
        let mut x = left;
        for ((label, read), fill) in TIMELINE.iter().zip(fills) {
            let ns = read(whole);
            let width = ns as f64 * scale;
            let title = format!("{label}: {}", format::time_ns(ns));
            let part = Rect {
                x,
                y: top,
                width,
                height: 32.0,
            };
            svg.rect(part, fill, &title);
            x += width;
        }
        let time = format::time_ns(whole.total_ns());
        svg.text(x + 8.0, top + 20.0, "start", &time);
    }
    let top = 2.0 * ROW + 14.0;
    for (at, ((label, _), fill)) in TIMELINE.iter().zip(fills).enumerate() {
        svg.legend((left + at as f64 * 190.0, top), fill, label, label);
    }
    Some(svg.done("How the time of both traces splits, on one scale."))
}

/// From the time of the reference to that of the target, with the parts that differ most one by one.
fn waterfall(comparison: &Comparison) -> Option<Picture> {
    const ROW: f64 = 24.0;
    let parts = &comparison.parts;
    let steps = parts.waterfall(N_STEPS);
    if steps.is_empty() {
        return None;
    }
    let total = parts.total;
    let ends = steps.iter().flat_map(|step| [step.from_ns, step.to_ns]);
    let ends = ends.chain([total.reference, total.target]);
    let low = ends.clone().min().unwrap_or_default();
    let high = ends.max().unwrap_or_default();
    // The scale starts slightly below the smallest value, so that differences are visible.
    let span = (high.saturating_sub(low)).max(1) as f64;
    let from = (low as f64 - span * 0.08).max(0.0);
    let (left, right) = (330.0, WIDTH - 110.0);
    let x = |ns: i64| left + (ns as f64 - from) / (high as f64 - from).max(1.0) * (right - left);
    let label = "From the time of the reference to that of the target";
    let mut svg = Svg::new(ROW * (steps.len() + 2) as f64 + 4.0, label);
    let mut row = 0.0;
    let mut bar = |label: &str, from_ns: Option<i64>, to_ns: i64, fill: &str, text: &str| {
        let (a, b) = (from_ns.map_or(left, x), x(to_ns));
        let label = format::middle_ellipsis(label, 46);
        svg.text(0.0, row + 15.0, "start", &label);
        let title = format!("{label}: {text}");
        let bar = Rect {
            x: a.min(b),
            y: row + 3.0,
            width: (b - a).abs().max(1.0),
            height: 16.0,
        };
        svg.rect(bar, fill, &title);
        svg.text(a.max(b) + 6.0, row + 15.0, "start", text);
        row += ROW;
    };
    let times = total.map(format::time_ns);
    bar("Reference", None, total.reference, WHOLE, &times.reference);
    for step in &steps {
        let is_longer = step.to_ns > step.from_ns;
        let fill = if is_longer { LONGER } else { SHORTER };
        let text = format::signed_time_ns(step.times.difference());
        bar(&step.label, Some(step.from_ns), step.to_ns, fill, &text);
    }
    bar("Target", None, total.target, WHOLE, &times.target);
    Some(svg.done("From the time of the reference to that of the target: what takes longer goes to the right, what takes less to the left. The scale does not begin at zero."))
}

/// Every operation of both traces: time per call on the reference on the x axis, on the target on the y axis, both
/// logarithmic. On the diagonal, both take the same time.
fn scatter(comparison: &Comparison) -> Option<Picture> {
    const SIZE: f64 = 460.0;
    let mut marks: Vec<(Pair<f64>, f64, Verdict, &str, String)> = Vec::new();
    let total = comparison.parts.total.target.max(1) as f64;
    for op in &comparison.operations.matched {
        let us = op.sides.as_ref().map(|side| side.ns_per_call() / 1e3);
        if us.reference > 0.0 && us.target > 0.0 {
            let share = op.times().target as f64 / total;
            let title = format!(
                "{}: {} and {}",
                format::middle_ellipsis(&op.label(), 80),
                format::time_us(us.reference),
                format::time_us(us.target)
            );
            marks.push((us, share, op.judgment.verdict, color(op.family), title));
        }
    }
    if marks.is_empty() {
        return None;
    }
    let (left, top) = (90.0, 30.0);
    let all = || marks.iter().flat_map(|(us, ..)| [us.reference, us.target]);
    let x = LogScale::around(all(), left, left + SIZE);
    let y = LogScale::around(all(), top + SIZE, top);
    let mut svg = Svg::new(SIZE + 74.0, "Calls of both traces against each other");
    for us in x.powers() {
        let (x, y) = (x.px(us), y.px(us));
        svg.line((x, top), (x, top + SIZE), "1 3");
        svg.line((left, y), (left + SIZE, y), "1 3");
        svg.text(x, top + SIZE + 18.0, "middle", &format::time_us(us));
        svg.text(left - 8.0, y + 4.0, "end", &format::time_us(us));
    }
    let (low, high) = x.ends();
    let diagonal = [low, high].map(|us| (x.px(us), y.px(us)));
    svg.line(diagonal[0], diagonal[1], "");
    let below = top + SIZE + 38.0;
    svg.text(left + SIZE, below, "end", "time of a call on the reference");
    svg.text(0.0, 12.0, "start", "on the target");
    for (us, share, verdict, fill, title) in &marks {
        let radius = (share * 900.0).sqrt().clamp(2.5, 24.0);
        let at = (x.px(us.reference), y.px(us.target));
        svg.circle(at, radius, fill, title);
        if verdict.is_slower_than_expected() {
            svg.ring(at, radius + 2.5, LONGER);
        }
    }
    let legend = left + SIZE + 40.0;
    svg.ring((legend, top + 8.0), 7.0, LONGER);
    let words = legend + 16.0;
    let slower = "slower than the hardware explains";
    svg.text(words, top + 12.0, "start", slower);
    svg.line((legend - 8.0, top + 32.0), (legend + 8.0, top + 32.0), "");
    svg.text(words, top + 36.0, "start", "the same time");
    Some(svg.done("Calls of the operations of both traces: above the line the target takes longer. Area is the time of all calls, color the category; a ring marks what is slower than the hardware explains."))
}
