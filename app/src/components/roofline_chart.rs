//! Operations under a roof, drawn on logarithmic axes.
//!
//! Everything is placed here, in pixels; what it means was settled by the worker. The pointer finds
//! the nearest mark, the arrow keys go through the marks by time, and both show the same card.

use leptos::ev::{KeyboardEvent, MouseEvent};
use leptos::html::Div;
use leptos::prelude::*;

use super::log_scale::LogScale;
use super::story;
use crate::browser;
use crate::protocol::{Mark, Note, RooflineChart, Spot};
use crate::state::AppState;

/// Room for the numbers of the vertical axis.
const LEFT: f64 = 52.0;
/// Room right of the last number.
const RIGHT: f64 = 14.0;
/// Room above the highest number, for the axis' name.
const TOP: f64 = 30.0;
/// Room for the numbers of a horizontal axis and its name.
const BOTTOM: f64 = 40.0;
/// Height of the panel of operations without arithmetic, its numbers included.
const BAND: f64 = 118.0;
/// Between the numbers of an axis.
const APART: f64 = 44.0;
/// The smallest radius: what is smaller cannot be seen or pointed at.
const LEAST_RADIUS: f64 = 2.5;
/// How near the pointer has to come to a mark.
const REACH: f64 = 9.0;
/// Marks that are elements of their own; the smallest of more are drawn as one path a category.
const SINGLE: usize = 1200;
/// The height of a line of text.
const LINE: f64 = 15.0;
/// Where there is less room than this, the roof is named by its figures alone.
const WIDE: f64 = 520.0;
/// The axes go as far as operations of this share of the drawn time lie; a few short ones may lie
/// decades away.
const COVERED: f64 = 0.999;

/// The chart, placed.
#[derive(Debug, Clone, Default, PartialEq)]
struct Drawing {
    width: f64,
    height: f64,
    /// Where the roof's panel ends, and its axis begins.
    floor: f64,
    /// Lines at the powers of ten: coordinates and class.
    lines: Vec<[f64; 4]>,
    /// Text at a place: anchor and class.
    texts: Vec<Text>,
    /// The roof: a path for the memory, and one for each ceiling.
    roof: Vec<String>,
    /// Marks in the order of the chart, `None` for those that a filter leaves out.
    places: Vec<Option<Place>>,
}

#[derive(Debug, Clone, PartialEq)]
struct Text {
    x: f64,
    y: f64,
    class: &'static str,
    transform: String,
    text: String,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Place {
    x: f64,
    y: f64,
    radius: f64,
}

/// The chart of operations under the roof.
#[component]
pub fn RoofChart(
    /// What is drawn.
    chart: RwSignal<RooflineChart>,
    /// The colour tokens of the categories that are shown; empty for all.
    #[prop(into)]
    only: Signal<Vec<String>>,
    /// The row of the selected mark.
    #[prop(into)]
    selected: Signal<Option<u32>>,
    /// To be called when a mark is selected, or let go.
    on_pick: impl Fn(Option<u32>) + Copy + Send + Sync + 'static,
) -> impl IntoView {
    let state = expect_context::<AppState>();
    let frame = NodeRef::<Div>::new();
    let width = RwSignal::new(0.0_f64);
    Effect::new(move || {
        if let Some(element) = frame.get() {
            let watched = element.clone();
            let measure = move || {
                let now = f64::from(watched.client_width());
                if (width.get_untracked() - now).abs() > 0.5 {
                    width.set(now);
                }
            };
            measure();
            let watch = StoredValue::new_local(browser::on_resize(&element, measure));
            on_cleanup(move || watch.dispose());
        }
    });
    let drawing = Memo::new(move |_| {
        chart.with(|chart| only.with(|only| Drawing::new(chart, only, width.get())))
    });
    let pointed = RwSignal::new(None::<usize>);
    let cursor = RwSignal::new(None::<usize>);
    let has_focus = RwSignal::new(false);
    // Another report has other marks.
    Effect::watch(
        move || chart.track(),
        move |_, _, _| {
            pointed.set(None);
            cursor.set(None);
        },
        false,
    );
    let picked = Memo::new(move |_| {
        let row = selected.get()?;
        chart.with(|chart| chart.marks.iter().position(|mark| mark.row == row))
    });
    let place_of = move |index: Option<usize>| {
        drawing.with(|drawing| drawing.places.get(index?).copied().flatten())
    };
    let shown = Memo::new(move |_| {
        let cursor = cursor.get().filter(|_| has_focus.get());
        pointed.get().or(cursor)
    });

    let moved = move |event: MouseEvent| {
        let Some(element) = frame.get_untracked() else {
            return;
        };
        let (x, y) = browser::pointer_in(&element, &event);
        let nearest = drawing.with_untracked(|drawing| drawing.nearest(x, y));
        if pointed.get_untracked() != nearest {
            pointed.set(nearest);
        }
    };
    let pick = move |index: Option<usize>| {
        let row = chart.with_untracked(|chart| Some(chart.marks.get(index?)?.row));
        let is_again = row.is_some() && row == selected.get_untracked();
        on_pick(row.filter(|_| !is_again));
    };
    let clicked = move |_| {
        if let Some(index) = pointed.get_untracked() {
            cursor.set(Some(index));
            pick(Some(index));
        }
    };
    let on_key = move |event: KeyboardEvent| {
        if event.ctrl_key() || event.meta_key() || event.alt_key() {
            return;
        }
        let here = cursor.get_untracked();
        let target = match event.key().as_str() {
            "ArrowRight" | "ArrowDown" => Step::Next,
            "ArrowLeft" | "ArrowUp" => Step::Previous,
            "Home" => Step::First,
            "End" => Step::Last,
            "Enter" | " " => {
                event.prevent_default();
                pick(here);
                if selected.get_untracked().is_some() {
                    story::go_in(state);
                }
                return;
            }
            "Escape" => {
                cursor.set(None);
                on_pick(None);
                return;
            }
            _ => return,
        };
        event.prevent_default();
        pointed.set(None);
        let next = drawing.with_untracked(|drawing| step(&drawing.places, here, target));
        if next.is_some() {
            cursor.set(next);
        }
    };
    let label = move || {
        chart.with(|chart| {
            format!(
                "{} Arrow keys go through the operations by time, Enter selects.",
                chart.lead
            )
        })
    };
    view! {
        <div
            class="roof"
            node_ref=frame
            id="roof"
            tabindex="0"
            role="group"
            aria-roledescription="chart"
            aria-label=label
            on:mousemove=moved
            on:mouseleave=move |_| pointed.set(None)
            on:click=clicked
            on:keydown=on_key
            on:focus=move |_| has_focus.set(true)
            on:blur=move |_| has_focus.set(false)
        >
            {move || drawing.with(|drawing| chart.with(|chart| draw(drawing, chart)))}
            <svg class="rings" aria-hidden="true" width=move || width.get() height=move || drawing.with(|drawing| drawing.height)>
                {move || ring("ring chosen", place_of(picked.get()))}
                {move || ring("ring", place_of(shown.get()))}
            </svg>
            {move || {
                let index = shown.get()?;
                let place = place_of(Some(index))?;
                let mark = chart.with(|chart| chart.marks.get(index).cloned())?;
                Some(view! { <Card mark place width=width.get_untracked()/> })
            }}
            <p class="unseen" role="status">
                {move || {
                    let index = cursor.get()?;
                    chart.with(|chart| chart.marks.get(index).map(spoken))
                }}
            </p>
        </div>
    }
}

/// Which mark an arrow key goes to.
#[derive(Debug, Clone, Copy)]
enum Step {
    First,
    Previous,
    Next,
    Last,
}

/// The next mark that is drawn.
fn step(places: &[Option<Place>], here: Option<usize>, step: Step) -> Option<usize> {
    let is_drawn = |index: &usize| places.get(*index).is_some_and(Option::is_some);
    let mut all = 0..places.len();
    match (step, here) {
        (Step::First, _) | (Step::Next | Step::Previous, None) => all.find(is_drawn),
        (Step::Last, _) => all.rev().find(is_drawn),
        (Step::Next, Some(here)) => (here + 1..places.len()).find(is_drawn),
        (Step::Previous, Some(here)) => (0..here).rev().find(is_drawn),
    }
}

impl Drawing {
    fn new(chart: &RooflineChart, only: &[String], width: f64) -> Drawing {
        let Some(memory) = chart.memory.as_ref().filter(|_| width > LEFT + RIGHT) else {
            return Drawing::default();
        };
        let on_roof = |mark: &Mark| matches!(mark.spot, Spot::Roof { .. });
        let has_roof = chart.marks.iter().any(on_roof);
        let has_band = chart.marks.iter().any(|mark| !on_roof(mark));
        let floor = match has_roof {
            true => TOP + (width * 0.5).clamp(220.0, 400.0),
            false => 0.0,
        };
        let mut drawing = Drawing {
            width,
            floor,
            height: match (has_roof, has_band) {
                (true, true) => floor + BOTTOM + BAND,
                (true, false) => floor + BOTTOM,
                (false, _) => BAND,
            },
            ..Drawing::default()
        };
        let covered = covered(&chart.marks);
        let spots = || covered.iter().map(|mark| mark.spot);
        let roof_spot = |spot| match spot {
            Spot::Roof {
                intensity,
                tflops_per_s,
            } => Some((intensity, tflops_per_s)),
            Spot::Bandwidth { .. } => None,
        };
        let across = LogScale::around(
            spots()
                .filter_map(|spot| Some(roof_spot(spot)?.0))
                // The level part of the roof is as long as it needs to be named.
                .chain(chart.ceilings.iter().map(|ceiling| ceiling.ridge * 8.0)),
            LEFT,
            width - RIGHT,
        );
        let up = LogScale::around(
            spots()
                .filter_map(|spot| Some(roof_spot(spot)?.1))
                .chain(chart.ceilings.iter().map(|ceiling| ceiling.tflops)),
            floor,
            TOP,
        );
        let band = LogScale::around(
            spots()
                .filter_map(|spot| match spot {
                    Spot::Bandwidth { tb_per_s } => Some(tb_per_s),
                    Spot::Roof { .. } => None,
                })
                .chain([memory.tb_per_s]),
            LEFT,
            width - RIGHT,
        );
        let band_middle = drawing.height - BOTTOM - (BAND - BOTTOM - 14.0) / 2.0;
        if has_roof {
            drawing.axes(&across, &up);
            drawing.roof(chart, &across, &up);
        }
        if has_band {
            drawing.band(
                &band,
                memory.tb_per_s,
                if width < WIDE {
                    &memory.short
                } else {
                    &memory.label
                },
            );
        }
        let most = chart.marks.iter().map(|mark| mark.percent);
        let most = most.fold(f64::MIN_POSITIVE, f64::max);
        let greatest = (width * 0.028).clamp(12.0, 26.0);
        let radius = |mark: &Mark| (mark.percent / most).sqrt() * greatest;
        let mut n_outside = 0_u64;
        drawing.places = chart
            .marks
            .iter()
            .map(|mark| {
                let is_shown = only.is_empty() || only.contains(&mark.token);
                let (x, y) = match mark.spot {
                    Spot::Roof {
                        intensity,
                        tflops_per_s,
                    } => (across.px(intensity), up.px(tflops_per_s)),
                    Spot::Bandwidth { tb_per_s } => (band.px(tb_per_s), band_middle),
                };
                // What lies farther out stands at the edge.
                let x_inside = x.clamp(LEFT, width - RIGHT);
                let y_inside = match on_roof(mark) {
                    true => y.clamp(TOP, floor),
                    false => y,
                };
                if is_shown && (x_inside - x).abs() + (y_inside - y).abs() > 0.5 {
                    n_outside += 1;
                }
                let (x, y) = (x_inside, y_inside);
                is_shown.then(|| Place {
                    x,
                    y,
                    radius: radius(mark).max(LEAST_RADIUS),
                })
            })
            .collect();
        if n_outside > 0 {
            let text = match width < WIDE {
                true => format!("{} at the edge", dormer_core::format::count(n_outside)),
                false => {
                    let edge = dormer_core::format::counted(n_outside, "short operation");
                    format!("{edge} farther out, at the edge")
                }
            };
            let y = if has_roof { floor } else { drawing.height };
            drawing.text(LEFT, y + 2.0 * LINE + 2.0, "axis note", text);
        }
        drawing
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

    /// Lines and numbers at the powers of ten.
    fn axes(&mut self, across: &LogScale, up: &LogScale) {
        let (floor, right) = (self.floor, self.width - RIGHT);
        for (x, text) in across.ticks(APART) {
            self.lines.push([x, TOP, x, floor]);
            self.text(x, floor + LINE, "tick middle", text);
        }
        for (y, text) in up.ticks(APART / 2.0) {
            self.lines.push([LEFT, y, right, y]);
            self.text(LEFT - 8.0, y + 4.0, "tick end", text);
        }
        self.text(right, floor + 2.0 * LINE + 2.0, "axis end", "FLOPS/Byte");
        self.text(4.0, LINE - 3.0, "axis", "TFLOPS/s");
    }

    /// The slope of the memory up to the farthest ridge, and the ceilings from their ridges on.
    fn roof(&mut self, chart: &RooflineChart, across: &LogScale, up: &LogScale) {
        let Some(memory) = &chart.memory else {
            return;
        };
        let (first, last) = across.ends();
        let (lowest, _) = up.ends();
        // The slope enters the picture at its left edge or at its floor.
        let start = first.max(lowest / memory.tb_per_s);
        let ridge = chart.ceilings.iter().map(|ceiling| ceiling.ridge);
        let ridge = ridge.fold(f64::NEG_INFINITY, f64::max);
        let end = if ridge.is_finite() {
            ridge.min(last)
        } else {
            last
        };
        let at = |intensity: f64| (across.px(intensity), up.px(intensity * memory.tb_per_s));
        let ((x1, y1), (x2, y2)) = (at(start), at(end));
        self.roof.push(format!("M{x1:.1} {y1:.1}L{x2:.1} {y2:.1}"));
        let angle = (y2 - y1).atan2(x2 - x1).to_degrees();
        // Where the slope has room for its name: at its lower end.
        let (x, y) = (x1 + (x2 - x1) * 0.06, y1 + (y2 - y1) * 0.06);
        self.texts.push(Text {
            x,
            y: y - 7.0,
            class: "name",
            transform: format!("rotate({angle:.1} {x:.1} {y:.1})"),
            text: match self.width < WIDE {
                true => memory.short.clone(),
                false => memory.label.clone(),
            },
        });
        let right = self.width - RIGHT;
        let mut lowest_name = f64::NEG_INFINITY;
        for ceiling in &chart.ceilings {
            let (x, y) = (across.px(ceiling.ridge), up.px(ceiling.tflops));
            self.roof.push(format!("M{x:.1} {y:.1}L{right:.1} {y:.1}"));
            // Names of ceilings that lie close together stand below each other.
            let name_y = (y - 6.0).max(lowest_name + LINE);
            lowest_name = name_y;
            let name = match self.width < WIDE {
                true => &ceiling.short,
                false => &ceiling.label,
            };
            self.text(right, name_y, "name end", name);
        }
    }

    /// The panel of those that have a bandwidth alone.
    fn band(&mut self, band: &LogScale, tb_per_s: f64, label: &str) {
        let (top, floor) = (self.height - BAND + 14.0, self.height - BOTTOM);
        for (x, text) in band.ticks(APART) {
            self.lines.push([x, top, x, floor]);
            self.text(x, floor + LINE, "tick middle", text);
        }
        let right = self.width - RIGHT;
        self.text(
            right,
            floor + 2.0 * LINE + 2.0,
            "axis end",
            "TB/s, no arithmetic",
        );
        let x = band.px(tb_per_s);
        self.roof
            .push(format!("M{x:.1} {top:.1}L{x:.1} {floor:.1}"));
        self.text(x - 6.0, top + 10.0, "name end", label);
    }

    /// The mark at a place: of several that lie there the smallest, which is drawn on top.
    fn nearest(&self, x: f64, y: f64) -> Option<usize> {
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

/// The longest operations, up to nearly all of the drawn time; the marks come in that order.
fn covered(marks: &[Mark]) -> &[Mark] {
    let all: f64 = marks.iter().map(|mark| mark.percent).sum();
    let mut so_far = 0.0;
    let n_covered = marks
        .iter()
        .take_while(|mark| {
            let is_needed = so_far < COVERED * all;
            so_far += mark.percent;
            is_needed
        })
        .count();
    marks.get(..n_covered).unwrap_or(marks)
}

fn draw(drawing: &Drawing, chart: &RooflineChart) -> impl IntoView + use<> {
    let lines = drawing
        .lines
        .iter()
        .map(|[x1, y1, x2, y2]| format!("M{x1:.1} {y1:.1}L{x2:.1} {y2:.1}"))
        .collect::<String>();
    let texts = drawing
        .texts
        .iter()
        .map(|text| {
            view! {
                <text x=text.x y=text.y class=text.class transform=text.transform.clone()>
                    {text.text.clone()}
                </text>
            }
        })
        .collect_view();
    let roof = drawing.roof.join("");
    let pairs = || chart.marks.iter().zip(&drawing.places);
    // The longest first: what is small lies on what is large.
    let single = pairs()
        .take(SINGLE)
        .filter_map(|(mark, place)| {
            let place = (*place)?;
            let odd = if is_odd(mark) { " odd" } else { "" };
            Some(view! {
                <circle
                    class=format!("mark c-{}{odd}", mark.token)
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
        match rest.iter_mut().find(|(token, _)| *token == mark.token) {
            Some((_, path)) => path.push_str(&dot),
            None => rest.push((&mark.token, dot)),
        }
    }
    let rest = rest
        .into_iter()
        .map(|(token, path)| view! { <path class=format!("mark c-{token}") d=path></path> })
        .collect_view();
    view! {
        <svg aria-hidden="true" width=drawing.width height=drawing.height>
            <path class="grid" d=lines></path>
            <path class="eaves" d=roof></path>
            {single}
            {rest}
            {texts}
        </svg>
    }
}

fn is_odd(mark: &Mark) -> bool {
    matches!(mark.note, Some(Note::Odd(_)))
}

fn ring(class: &'static str, place: Option<Place>) -> Option<impl IntoView> {
    place.map(
        |place| view! { <circle class=class cx=place.x cy=place.y r=place.radius + 3.5></circle> },
    )
}

/// What a listener hears of a mark.
fn spoken(mark: &Mark) -> String {
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

/// What a mark stands for.
#[component]
fn Card(
    /// The mark.
    mark: Mark,
    /// Where it is.
    place: Place,
    /// How wide the chart is.
    width: f64,
) -> impl IntoView {
    let to_the_left = place.x > width / 2.0;
    let beside = match to_the_left {
        true => width - place.x + place.radius + 10.0,
        false => place.x + place.radius + 10.0,
    };
    let beside = format!("{:.0}px", beside.min(width * 0.5));
    let (left, right) = match to_the_left {
        true => ("auto".to_owned(), beside),
        false => (beside, "auto".to_owned()),
    };
    let note = mark.note.map(|note| match note {
        Note::Odd(text) => view! { <p class="odd">{text}</p> }.into_any(),
        Note::Aside(text) | Note::Guess(text) => view! { <p class="fine">{text}</p> }.into_any(),
    });
    view! {
        <div class="tip" aria-hidden="true" style:left=left style:right=right style:top=format!("{:.0}px", (place.y - 30.0).max(0.0))>
            <h3 class=format!("c-{}", mark.token)><i class="dot"></i><span class="mono">{mark.name}</span></h3>
            {(!mark.shapes.is_empty()).then(|| view! { <p class="mono soft">{mark.shapes}</p> })}
            <dl class="pairs">
                {mark.figures
                    .into_iter()
                    .map(|(label, value)| view! { <div><dt>{label}</dt><dd>{value}</dd></div> })
                    .collect_view()}
            </dl>
            {note}
        </div>
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{Ceiling, MemoryRoof};

    fn mark(row: u32, token: &str, percent: f64, spot: Spot) -> Mark {
        Mark {
            row,
            name: format!("op {row}"),
            shapes: String::new(),
            token: token.to_owned(),
            family: String::new(),
            spot,
            percent,
            figures: Vec::new(),
            note: None,
        }
    }

    /// A roof of 1 TB/s and 100 TFLOPS with its ridge at 100, and three operations.
    fn chart() -> RooflineChart {
        let on_roof = |intensity, tflops_per_s| Spot::Roof {
            intensity,
            tflops_per_s,
        };
        RooflineChart {
            memory: Some(MemoryRoof {
                label: "memory".into(),
                short: String::new(),
                tb_per_s: 1.0,
            }),
            ceilings: vec![Ceiling {
                label: "matrix".into(),
                short: String::new(),
                tflops: 100.0,
                ridge: 100.0,
            }],
            marks: vec![
                mark(0, "gemm", 64.0, on_roof(100.0, 100.0)),
                mark(1, "norm", 16.0, on_roof(1.0, 1.0)),
                mark(2, "copy", 0.01, Spot::Bandwidth { tb_per_s: 0.5 }),
            ],
            ..RooflineChart::default()
        }
    }

    #[test]
    fn area_is_time_and_what_is_on_the_roof_lies_on_it() {
        let drawing = Drawing::new(&chart(), &[], 1000.0);
        let places: Vec<Place> = drawing.places.iter().flatten().copied().collect();
        // A quarter of the time has half of the radius.
        assert!((places[0].radius / places[1].radius - 2.0).abs() < 1e-9);
        assert!((places[2].radius - LEAST_RADIUS).abs() < 1e-9);
        // Both stand on the roof: one at the ridge, one on the slope.
        let ridge = format!("{:.1} {:.1}", places[0].x, places[0].y);
        assert!(drawing.roof[0].ends_with(&ridge), "{:?}", drawing.roof);
        assert!(drawing.roof[1].starts_with(&format!("M{ridge}")));
        let slope = format!("M{:.1} {:.1}", places[1].x, places[1].y);
        assert!(drawing.roof[0].starts_with(&slope), "{:?}", drawing.roof);
        assert!(places[2].y > drawing.floor);
    }

    #[test]
    fn what_is_short_and_far_out_stands_at_the_edge() {
        let mut chart = chart();
        chart.marks.push(mark(
            3,
            "norm",
            0.005,
            Spot::Roof {
                intensity: 1.0,
                tflops_per_s: 1e-9,
            },
        ));
        let drawing = Drawing::new(&chart, &[], 1000.0);
        let place = drawing.places[3].unwrap();
        assert!((place.y - drawing.floor).abs() < 1e-9);
        let said = |drawing: &Drawing| drawing.texts.iter().any(|text| text.text.contains("edge"));
        assert!(said(&drawing));
        assert!(!said(&Drawing::new(&chart, &["gemm".to_owned()], 1000.0)));
        // One that takes time has its place.
        chart.marks.swap(0, 3);
        chart.marks[0].percent = 64.0;
        let drawing = Drawing::new(&chart, &[], 1000.0);
        assert!(drawing.places[0].unwrap().y <= drawing.floor + 1e-9);
        assert!(!said(&drawing));
    }

    #[test]
    fn the_pointer_finds_the_nearest_mark() {
        let drawing = Drawing::new(&chart(), &[], 1000.0);
        let first = drawing.places[0].unwrap();
        assert_eq!(drawing.nearest(first.x + 3.0, first.y), Some(0));
        assert_eq!(drawing.nearest(first.x + 200.0, first.y), None);
        let filtered = Drawing::new(&chart(), &["norm".to_owned()], 1000.0);
        assert_eq!(filtered.nearest(first.x, first.y), None);
    }

    #[test]
    fn arrow_keys_go_through_what_is_drawn() {
        let places = Drawing::new(&chart(), &["gemm".to_owned(), "copy".to_owned()], 1000.0).places;
        assert_eq!(step(&places, None, Step::Next), Some(0));
        assert_eq!(step(&places, Some(0), Step::Next), Some(2));
        assert_eq!(step(&places, Some(2), Step::Next), None);
        assert_eq!(step(&places, Some(2), Step::Previous), Some(0));
        assert_eq!(step(&places, None, Step::Last), Some(2));
        assert_eq!(step(&[], None, Step::First), None);
    }

    #[test]
    fn nothing_is_drawn_without_a_roof_or_a_window() {
        assert_eq!(
            Drawing::new(&RooflineChart::default(), &[], 900.0),
            Drawing::default()
        );
        assert_eq!(Drawing::new(&chart(), &[], 0.0), Drawing::default());
    }
}
