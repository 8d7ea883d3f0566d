//! The layout of the chart, in pixels: the marks, the grid lines and numbers at the powers of ten, and the roofline
//! with its labels.

#[cfg(test)]
mod tests;

use dormer_core::base::format;
use dormer_core::base::log_scale::LogScale;
use dormer_core::report::charts::{MemoryRoofline, Spot};

use crate::protocol::{Mark, RooflineChart};

/// Space for the numbers of the vertical axis.
const LEFT: f64 = 52.0;
/// Space right of the last number.
const RIGHT: f64 = 14.0;
/// Space above the highest number, for the axis label.
const TOP: f64 = 30.0;
/// Space for the numbers of a horizontal axis and its label.
const BOTTOM: f64 = 40.0;
/// Height of the panel of operations without FLOPs, including its numbers.
const BAND: f64 = 118.0;
/// The smallest radius: anything smaller cannot be seen or pointed at.
const LEAST_RADIUS: f64 = 2.5;
/// How near the pointer must be to a mark.
const REACH: f64 = 9.0;
/// The smallest distance between the numbers of an axis.
const TICK_DISTANCE: f64 = 44.0;
/// The height of a line of text.
const LINE: f64 = 15.0;
/// The width of a letter of the roofline's labels.
const LETTER: f64 = 7.0;
/// Below this width, the roofline's labels are only figures.
const WIDE: f64 = 520.0;
/// The axes extend to cover operations with this share of the drawn time; a few short ones may be decades away.
const COVERED: f64 = 0.99;
/// But no farther than this below the roofline: operations with almost no FLOPs are drawn at the edge.
const DEPTH: f64 = 1e-5;

/// The chart with positions.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Drawing {
    pub(super) width: f64,
    pub(super) height: f64,
    /// The bottom of the roofline's panel, where its axis is.
    pub(super) floor: f64,
    /// Grid lines at the powers of ten: their coordinates.
    pub(super) lines: Vec<[f64; 4]>,
    /// Labels: position, anchor and class.
    pub(super) texts: Vec<Text>,
    /// The roofline: a path for memory, and one for each ceiling.
    pub(super) roofline: Vec<String>,
    /// The positions of the marks, in the chart's order; `None` if a filter hides the mark.
    pub(super) places: Vec<Option<MarkPlace>>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Text {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) class: &'static str,
    pub(super) transform: String,
    pub(super) text: String,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct MarkPlace {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) radius: f64,
}

impl Drawing {
    pub(super) fn new(chart: &RooflineChart, only: &[String], width: f64) -> Drawing {
        let Some(memory) = chart.memory.as_ref().filter(|_| width > LEFT + RIGHT) else {
            return Drawing::default();
        };
        let on_roofline = |mark: &Mark| matches!(mark.spot, Spot::Roofline { .. });
        let has_roofline = chart.marks.iter().any(on_roofline);
        let has_band = chart.marks.iter().any(|mark| !on_roofline(mark));
        let floor = match has_roofline {
            true => TOP + (width * 0.5).clamp(220.0, (width * 0.33).max(400.0)),
            false => 0.0,
        };
        let mut drawing = Drawing {
            width,
            floor,
            height: match (has_roofline, has_band) {
                (true, true) => floor + BOTTOM + BAND,
                (true, false) => floor + BOTTOM,
                (false, _) => BAND,
            },
            ..Drawing::default()
        };
        let is_shown =
            |mark: &Mark| only.is_empty() || only.iter().any(|token| token == mark.family.token());
        let scales = Scales::new(chart, memory, is_shown, &drawing);
        let n_outside = drawing.place(chart, is_shown, &scales);
        if has_roofline {
            drawing.axes(&scales.across, &scales.up);
            drawing.roofline(chart, &scales.across, &scales.up);
        }
        if has_band {
            let label = drawing.name(memory.short(), memory.label());
            drawing.band(&scales.band, memory.tb_per_s(), &label);
        }
        if n_outside > 0 {
            let y = if has_roofline { floor } else { drawing.height };
            drawing.note_outside(n_outside, y);
        }
        drawing
    }

    /// Positions the marks. Those farther out are drawn at the edge, and counted.
    fn place(
        &mut self,
        chart: &RooflineChart,
        is_shown: impl Fn(&Mark) -> bool,
        scales: &Scales,
    ) -> u64 {
        let right = self.width - RIGHT;
        let band_middle = self.height - BOTTOM - (BAND - BOTTOM - 14.0) / 2.0;
        let most = chart.marks.iter().map(|mark| mark.percent);
        let most = most.fold(f64::MIN_POSITIVE, f64::max);
        let greatest = (self.width * 0.028).clamp(12.0, 26.0);
        let mut n_outside = 0;
        self.places.reserve(chart.marks.len());
        for mark in &chart.marks {
            if !is_shown(mark) {
                self.places.push(None);
                continue;
            }
            let ((x, y), inside) = match mark.spot {
                Spot::Roofline {
                    intensity,
                    tflops_per_s,
                } => {
                    let (x, y) = (scales.across.px(intensity), scales.up.px(tflops_per_s));
                    ((x, y), (x.clamp(LEFT, right), y.clamp(TOP, self.floor)))
                }
                Spot::Bandwidth { tb_per_s } => {
                    let x = scales.band.px(tb_per_s);
                    ((x, band_middle), (x.clamp(LEFT, right), band_middle))
                }
            };
            if (inside.0 - x).abs() + (inside.1 - y).abs() > 0.5 {
                n_outside += 1;
            }
            self.places.push(Some(MarkPlace {
                x: inside.0,
                y: inside.1,
                radius: ((mark.percent / most).sqrt() * greatest).max(LEAST_RADIUS),
            }));
        }
        n_outside
    }

    /// How many operations are drawn at the edge, below the axis at `y`.
    fn note_outside(&mut self, n_outside: u64, y: f64) {
        let text = match self.width < WIDE {
            true => format!("{} at the edge", format::count(n_outside)),
            false => {
                let operations = format::counted(n_outside, "operation");
                format!("{operations} outside the chart, drawn at the edge")
            }
        };
        self.text(LEFT, y + 2.0 * LINE + 2.0, "axis note", text);
    }

    fn text(&mut self, x: f64, y: f64, class: &'static str, text: impl Into<String>) {
        self.texts.push(Text {
            x,
            y,
            class,
            transform: String::new(),
            text: text.into(),
        });
    }

    /// The label of a part of the roofline, long if there is space.
    fn name(&self, short: String, label: String) -> String {
        match self.width < WIDE {
            true => short,
            false => label,
        }
    }

    /// Whether a text that ends at a position touches a mark.
    fn hides_mark(&self, text: &str, (x, y): (f64, f64)) -> bool {
        let left = x - text.chars().count() as f64 * LETTER;
        self.places.iter().flatten().any(|mark| {
            let across = mark.x - mark.x.clamp(left, x);
            let up = mark.y - mark.y.clamp(y - LINE, y);
            across.hypot(up) < mark.radius
        })
    }

    /// The mark at a position: if there are several, the smallest, which is drawn on top.
    pub(super) fn nearest(&self, x: f64, y: f64) -> Option<usize> {
        let mut best: Option<(f64, usize)> = None;
        for (index, place) in self.places.iter().enumerate() {
            let Some(place) = place else { continue };
            let distance = (place.x - x).hypot(place.y - y);
            let reach = place.radius.max(REACH);
            let score = place.radius + distance;
            if distance <= reach && best.is_none_or(|(least, _)| score < least) {
                best = Some((score, index));
            }
        }
        best.map(|(_, index)| index)
    }
}

/// The axes: FLOP/byte and TFLOPS of the roofline, TB/s of the panel below it.
struct Scales {
    across: LogScale,
    up: LogScale,
    band: LogScale,
}

impl Scales {
    /// Axes that cover the roofline and the shown operations; hidden ones do not affect them.
    fn new(
        chart: &RooflineChart,
        memory: &MemoryRoofline,
        is_shown: impl Fn(&Mark) -> bool,
        drawing: &Drawing,
    ) -> Scales {
        let right = drawing.width - RIGHT;
        let ridges = chart.ceilings.iter().map(|ceiling| ceiling.ridge);
        let least_intensity = ridges.clone().fold(0.0, f64::max) * DEPTH;
        let ceilings = chart.ceilings.iter().map(|ceiling| ceiling.tflops);
        let least_rate = ceilings.clone().fold(0.0, f64::max) * DEPTH;
        let least_bandwidth = memory.tb_per_s() * DEPTH;
        let (mut intensities, mut rates, mut bandwidths) = (Vec::new(), Vec::new(), Vec::new());
        for mark in covered(chart.marks.iter().filter(|mark| is_shown(mark))) {
            match mark.spot {
                Spot::Roofline {
                    intensity,
                    tflops_per_s,
                } => {
                    intensities.push(intensity.max(least_intensity));
                    rates.push(tflops_per_s.max(least_rate));
                }
                Spot::Bandwidth { tb_per_s } => bandwidths.push(tb_per_s.max(least_bandwidth)),
            }
        }
        // The bend of the roofline is in view, with a part of its horizontal line.
        intensities.extend(ridges.flat_map(|ridge| [ridge / 4.0, ridge * 3.0]));
        rates.extend(ceilings);
        bandwidths.push(memory.tb_per_s());
        Scales {
            across: LogScale::around(intensities.into_iter(), LEFT, right),
            up: LogScale::around(rates.into_iter(), drawing.floor, TOP),
            band: LogScale::around(bandwidths.into_iter(), LEFT, right),
        }
    }
}

/// The longest operations, which cover nearly all of the drawn time; the marks are sorted that way.
fn covered<'a>(marks: impl Iterator<Item = &'a Mark> + Clone) -> Vec<&'a Mark> {
    let all: f64 = marks.clone().map(|mark| mark.percent).sum();
    let mut so_far = 0.0;
    marks
        .take_while(|mark| {
            let is_needed = so_far < COVERED * all;
            so_far += mark.percent;
            is_needed
        })
        .collect()
}

impl Drawing {
    /// Grid lines and numbers at the powers of ten.
    fn axes(&mut self, across: &LogScale, up: &LogScale) {
        let (floor, right) = (self.floor, self.width - RIGHT);
        for (x, text) in across.ticks(TICK_DISTANCE) {
            self.lines.push([x, TOP, x, floor]);
            self.text(x, floor + LINE + 3.0, "tick middle", text);
        }
        for (y, text) in up.ticks(TICK_DISTANCE / 2.0) {
            self.lines.push([LEFT, y, right, y]);
            self.text(LEFT - 8.0, y + 4.0, "tick end", text);
        }
        self.text(right, floor + 2.0 * LINE + 2.0, "axis end", "FLOP/byte");
        self.text(4.0, LINE - 3.0, "axis", "TFLOPS");
    }

    /// The panel of operations that only have a bandwidth.
    fn band(&mut self, band: &LogScale, tb_per_s: f64, label: &str) {
        let (top, floor) = (self.height - BAND + 14.0, self.height - BOTTOM);
        for (x, text) in band.ticks(TICK_DISTANCE) {
            self.lines.push([x, top, x, floor]);
            self.text(x, floor + LINE + 3.0, "tick middle", text);
        }
        let right = self.width - RIGHT;
        self.text(
            right,
            floor + 2.0 * LINE + 2.0,
            "axis end",
            "TB/s, no FLOPs",
        );
        let x = band.px(tb_per_s);
        self.roofline
            .push(format!("M{x:.1} {top:.1}L{x:.1} {floor:.1}"));
        self.text(x - 6.0, top + 10.0, "name end", label);
    }

    /// The memory slope up to the farthest ridge point, and the ceilings from their ridge points on.
    fn roofline(&mut self, chart: &RooflineChart, across: &LogScale, up: &LogScale) {
        let Some(memory) = &chart.memory else {
            return;
        };
        let (first, last) = across.ends();
        let (lowest, _) = up.ends();
        // The slope enters the chart at its left edge or at its bottom.
        let start = first.max(lowest / memory.tb_per_s());
        let ridge = chart.ceilings.iter().map(|ceiling| ceiling.ridge);
        let ridge = ridge.fold(f64::NEG_INFINITY, f64::max);
        let end = if ridge.is_finite() {
            ridge.min(last)
        } else {
            last
        };
        let at = |intensity: f64| (across.px(intensity), up.px(intensity * memory.tb_per_s()));
        let ((x1, y1), (x2, y2)) = (at(start), at(end));
        self.roofline
            .push(format!("M{x1:.1} {y1:.1}L{x2:.1} {y2:.1}"));
        let angle = (y2 - y1).atan2(x2 - x1).to_degrees();
        // The label of the slope is between the operations of memory and those of computation, most of which are at its
        // ends.
        let (x, y) = (x1 + (x2 - x1) * 0.36, y1 + (y2 - y1) * 0.36);
        let text = self.name(memory.short(), memory.label());
        self.texts.push(Text {
            x,
            y: y - 7.0,
            class: "name",
            transform: format!("rotate({angle:.1} {x:.1} {y:.1})"),
            text,
        });
        let right = self.width - RIGHT;
        let mut lowest_name = f64::NEG_INFINITY;
        for ceiling in &chart.ceilings {
            let (x, y) = (across.px(ceiling.ridge), up.px(ceiling.tflops));
            self.roofline
                .push(format!("M{x:.1} {y:.1}L{right:.1} {y:.1}"));
            // Labels of ceilings that are close together go below each other.
            let name_y = (y - 6.0).max(lowest_name + LINE);
            // Where it would hide a mark, it goes below the line, or loses a word.
            let basis = ceiling.basis.label();
            let name = self.name(ceiling.short(), ceiling.label());
            let shorter = name.replacen(&format!(" {basis} "), " ", 1);
            let below_y = (y + LINE).max(name_y);
            let places = [
                (&name, name_y),
                (&name, below_y),
                (&shorter, name_y),
                (&shorter, below_y),
            ];
            let is_free = |(text, y): &(&String, f64)| !self.hides_mark(text, (right, *y));
            let (text, y) = places.into_iter().find(is_free).unwrap_or((&name, name_y));
            let text = text.clone();
            lowest_name = y;
            self.text(right, y, "name end", text);
        }
    }
}
