//! What the Timeline shows and what happens to it. Drawing is `paint`'s.

use std::ops::Range;

use leptos::prelude::*;
use web_sys::HtmlCanvasElement;

use super::layout::{Layout, ROW_PX};
use super::paint::{Frame, Palette, RULER_PX, brush};
use super::scene::Scene;
use super::window::Window;
use crate::browser;
use crate::engine::Engine;
use crate::protocol::{
    DrawQuery, RangeCard, RangeQuery, SpanCard, SpanQuery, TimelineOutline, TimelineQuery, Towards,
};
use crate::state::AppState;

/// A drawing reaches this share of the window beyond it, on either side.
const MARGIN: f64 = 0.6;
/// Rows above and below the visible ones that are drawn too.
const MARGIN_ROWS: usize = 12;
/// A press that moved less is a click.
const CLICK_PX: f64 = 4.0;
/// The pointer may miss a span by this much.
const REACH_PX: f64 = 3.0;

/// What a drag does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Moves the lanes.
    Move,
    /// Marks a range.
    Mark,
}

/// A pointer that was pressed and not yet let go.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Drag {
    pub(super) kind: Kind,
    id: i32,
    from: (f64, f64),
    last: (f64, f64),
    /// The window, and how far the lanes were scrolled, when it was pressed.
    window: Window,
    top: f64,
    /// A second finger: its pointer and where it is.
    second: Option<(i32, (f64, f64))>,
}

/// What the pointer is over.
#[derive(Debug, Clone, PartialEq)]
pub struct Hover {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) card: SpanCard,
}

/// The signals of the view. Copy: pass it around.
#[derive(Clone, Copy)]
pub struct Model {
    pub(super) state: AppState,
    engine: Engine,
    pub(super) outline: RwSignal<TimelineOutline>,
    pub(super) arrived: RwSignal<bool>,
    pub(super) layout: Memo<Layout>,
    window: RwSignal<Window>,
    size: RwSignal<(f64, f64)>,
    top: RwSignal<f64>,
    /// Where the lanes are to be scrolled to.
    pub(super) wanted_top: RwSignal<Option<f64>>,
    scene: RwSignal<Scene>,
    is_asking: StoredValue<bool>,
    pub(super) drag: RwSignal<Option<Drag>>,
    pub(super) hover: RwSignal<Option<Hover>>,
    is_hover_asking: StoredValue<bool>,
    pub(super) selected: RwSignal<Option<SpanCard>>,
    pub(super) range: RwSignal<Option<(f64, f64)>>,
    pub(super) totals: RwSignal<Option<RangeCard>>,
    palette: RwSignal<Palette>,
    /// A frame will be painted.
    is_scheduled: StoredValue<bool>,
}

impl Model {
    /// Asks for the lanes of the open trace, and shows its GPU work or what the hash names.
    pub(super) fn new(state: AppState, engine: Engine) -> Model {
        let outline = RwSignal::new(TimelineOutline::default());
        let model = Model {
            state,
            engine,
            outline,
            arrived: RwSignal::new(false),
            layout: Memo::new(move |_| outline.with(|outline| Layout::new(&outline.lanes))),
            window: RwSignal::new(Window::default()),
            size: RwSignal::new((0.0, 0.0)),
            top: RwSignal::new(0.0),
            wanted_top: RwSignal::new(None),
            scene: RwSignal::new(Scene::default()),
            is_asking: StoredValue::new(false),
            drag: RwSignal::new(None),
            hover: RwSignal::new(None),
            is_hover_asking: StoredValue::new(false),
            selected: RwSignal::new(None),
            range: RwSignal::new(None),
            totals: RwSignal::new(None),
            palette: RwSignal::new(Palette::default()),
            is_scheduled: StoredValue::new(false),
        };
        Effect::new(move || {
            state.report.track();
            engine.ask(TimelineQuery, move |answer| model.opened(answer));
        });
        Effect::new(move || model.keep_drawn());
        // The colours are read once the page has those of the theme.
        Effect::new(move || {
            model.state.theme().track();
            model.scene.track();
            browser::before_paint(move || model.read_colours());
        });
        Effect::new(move || {
            state.report.track();
            match model.range.get() {
                Some((from_ns, to_ns)) if model.drag.with(Option::is_none) => {
                    engine.ask(RangeQuery { from_ns, to_ns }, move |answer| {
                        if model.range.try_get_untracked().flatten().is_some() {
                            model.totals.set(Some(answer));
                        }
                    });
                }
                Some(_) => {}
                None => model.totals.set(None),
            }
        });
        Effect::new(move || {
            let focus = state.focus().get();
            if model.arrived.get() {
                model.follow(focus.event);
            }
        });
        model
    }

    fn opened(self, outline: TimelineOutline) {
        if self.outline.try_set(outline).is_some() {
            return;
        }
        self.scene.set(Scene::default());
        if !self.arrived.get_untracked() {
            match self.state.place.with_untracked(|place| place.focus.span) {
                Some((from_ns, to_ns)) => self.go(from_ns as f64, to_ns as f64),
                None => self.show_gpu(),
            }
            self.arrived.set(true);
        }
    }

    fn length_ns(self) -> f64 {
        self.outline.with_untracked(|outline| outline.length_ns)
    }

    fn width(self) -> f64 {
        self.size.get_untracked().0.max(1.0)
    }

    // ---- the window ----

    fn set_window(self, window: Window) {
        if self.window.get_untracked() != window {
            self.window.set(window);
            self.hover.set(None);
        }
    }

    fn go(self, from_ns: f64, to_ns: f64) {
        self.set_window(Window::new(from_ns, to_ns, self.length_ns()));
    }

    /// Writes the window into the hash; of a burst of changes the last one gets there.
    fn remember(self) {
        let window = self.window.get_untracked();
        let is_all = window.length_ns() >= self.length_ns();
        let span =
            (!is_all).then_some((window.from_ns.round() as u64, window.to_ns.round() as u64));
        self.state.look_at(|focus| focus.span = span);
    }

    /// The whole trace.
    pub(super) fn show_all(self) {
        self.range.set(None);
        self.go(0.0, self.length_ns());
        self.remember();
    }

    /// From the first to the last of the GPU work.
    pub(super) fn show_gpu(self) {
        let length_ns = self.length_ns();
        let (from_ns, to_ns) = self
            .outline
            .with_untracked(|outline| outline.gpu)
            .unwrap_or((0.0, length_ns));
        let room = (to_ns - from_ns) * 0.02;
        self.go(from_ns - room, to_ns + room);
        self.remember();
    }

    /// A part of the time, marked.
    pub(super) fn show_range(self, from_ns: f64, to_ns: f64) {
        self.range.set(Some((from_ns, to_ns)));
        let room = (to_ns - from_ns) * 0.05;
        self.go(from_ns - room, to_ns + room);
        self.remember();
    }

    /// The selected span with what is around it.
    pub(super) fn show_selected(self) {
        if let Some(card) = self.selected.get_untracked() {
            self.set_window(Window::around(card.from_ns, card.to_ns, self.length_ns()));
            self.scroll_to(card.row);
            self.remember();
        }
    }

    /// Nearer or further around a pixel.
    pub(super) fn zoom_at(self, x: f64, factor: f64) {
        let window = self.window.get_untracked();
        let at_ns = window.ns(x, self.width());
        self.set_window(window.zoom(at_ns, factor, self.length_ns()));
        self.remember();
    }

    /// Nearer or further around the middle.
    pub(super) fn zoom_middle(self, factor: f64) {
        self.zoom_at(self.width() / 2.0, factor);
    }

    /// Nearer or further around what is selected, if it can be seen, else the middle.
    pub(super) fn zoom_pointed(self, factor: f64) {
        let (window, width) = (self.window.get_untracked(), self.width());
        let middle = self.selected.with_untracked(|card| {
            let card = card.as_ref()?;
            let x = window.px((card.from_ns + card.to_ns) / 2.0, width);
            (0.0..=width).contains(&x).then_some(x)
        });
        self.zoom_at(middle.unwrap_or(width / 2.0), factor);
    }

    /// Later by pixels.
    pub(super) fn pan_px(self, px: f64) {
        let window = self.window.get_untracked();
        let by_ns = px * window.ns_per_px(self.width());
        self.set_window(window.pan(by_ns, self.length_ns()));
        self.remember();
    }

    /// Later by a share of the window.
    pub(super) fn pan_share(self, share: f64) {
        self.pan_px(share * self.width());
    }

    /// The stage got another size.
    pub(super) fn resize(self, width: f64, height: f64) {
        let (old_width, old_height) = self.size.get_untracked();
        if (old_width - width).abs() > 0.5 || (old_height - height).abs() > 0.5 {
            self.size.set((width, height));
        }
    }

    /// The lanes were scrolled.
    pub(super) fn scrolled(self, top: f64) {
        self.top.set(top);
        self.hover.set(None);
    }

    fn scroll_to(self, row: usize) {
        let height = self.size.get_untracked().1;
        let top = self.top.get_untracked();
        let Some(y) = self.layout.with_untracked(|layout| layout.top(row)) else {
            return;
        };
        if y < top || y + ROW_PX > top + height {
            self.wanted_top.set(Some((y - height / 3.0).max(0.0)));
        }
    }

    // ---- the drawing ----

    fn visible_rows(self) -> Range<usize> {
        let (top, height) = (self.top.get(), self.size.get().1);
        self.layout
            .with(|layout| layout.rows_between(top, top + height))
    }

    /// Asks for another drawing where the present one does not serve; one at a time.
    fn keep_drawn(self) {
        let (window, (width, _)) = (self.window.get(), self.size.get());
        let rows = self.visible_rows();
        if !self.arrived.get() || width < 1.0 || rows.is_empty() {
            return;
        }
        let ns_per_px = window.ns_per_px(width);
        let serves = self
            .scene
            .with(|scene| scene.serves(window, ns_per_px, &rows));
        if serves || self.is_asking.get_value() {
            return;
        }
        self.is_asking.set_value(true);
        let margin_ns = (window.length_ns() * MARGIN).max(0.0);
        let from_ns = window.from_ns - margin_ns;
        let covered = Window {
            from_ns,
            to_ns: window.to_ns + margin_ns,
        };
        let n_rows = self.layout.with_untracked(|layout| layout.rows.len());
        let rows = rows.start.saturating_sub(MARGIN_ROWS)..(rows.end + MARGIN_ROWS).min(n_rows);
        let query = DrawQuery {
            from_ns,
            ns_per_px,
            width_px: covered.length_ns() / ns_per_px,
            first_row: rows.start,
            end_row: rows.end,
        };
        self.engine.ask_for_bytes(query, move |drawn, bytes| {
            self.is_asking.try_set_value(false);
            let bytes = bytes.map(|bytes| bytes.to_vec()).unwrap_or_default();
            let scene = Scene::new(covered, ns_per_px, rows, drawn, &bytes);
            let _ = self.scene.try_set(scene);
        });
    }

    fn read_colours(self) {
        let tokens = self
            .outline
            .try_with_untracked(|outline| outline.tokens.clone());
        let Some(tokens) = tokens else {
            return;
        };
        let palette = colours(&tokens);
        if self.palette.with_untracked(|old| *old != palette) {
            self.palette.set(palette);
        }
    }

    /// Has a frame painted whenever something changes that it depends on; one at a time.
    pub(super) fn on_change(self, paint: impl FnOnce() + 'static) {
        self.window.track();
        self.size.track();
        self.top.track();
        self.scene.track();
        self.selected.track();
        self.range.track();
        self.layout.track();
        self.palette.track();
        if !self.is_scheduled.get_value() {
            self.is_scheduled.set_value(true);
            browser::before_paint(move || {
                self.is_scheduled.try_set_value(false);
                paint();
            });
        }
    }

    /// Height of the stage, for the canvas.
    pub(super) fn height(self) -> f64 {
        self.size.get().1
    }

    /// Paints a frame.
    pub(super) fn paint(self, canvas: &HtmlCanvasElement, ruler: &HtmlCanvasElement) {
        let Some((width, height)) = self.size.try_get_untracked() else {
            return;
        };
        self.palette.with_untracked(|palette| {
            self.layout.with_untracked(|layout| {
                self.scene.with_untracked(|scene| {
                    self.selected.with_untracked(|selected| {
                        let frame = Frame {
                            palette,
                            layout,
                            scene: Some(scene),
                            window: self.window.get_untracked(),
                            width,
                            height,
                            top: self.top.get_untracked(),
                            selected: selected.as_ref(),
                            range: self.range.get_untracked(),
                        };
                        if let Some(brush) = brush(canvas, width, height) {
                            frame.paint(&brush);
                        }
                        if let Some(brush) = brush(ruler, width, RULER_PX) {
                            frame.paint_ruler(&brush);
                        }
                    });
                });
            });
        });
    }

    // ---- the pointer ----

    /// A pointer was pressed at a place of the stage.
    pub(super) fn press(self, id: i32, x: f64, y: f64, marks: bool) {
        let window = self.window.get_untracked();
        let pressed = self.drag.get_untracked();
        self.hover.set(None);
        self.drag.set(Some(match pressed {
            Some(drag) if drag.id != id => Drag {
                second: Some((id, (x, y))),
                window,
                ..drag
            },
            _ => Drag {
                kind: if marks { Kind::Mark } else { Kind::Move },
                id,
                from: (x, y),
                last: (x, y),
                window,
                top: self.top.get_untracked(),
                second: None,
            },
        }));
    }

    /// A pointer moved to a place of the stage.
    pub(super) fn pointer_moved(self, id: i32, x: f64, y: f64) {
        let Some(drag) = self.drag.get_untracked() else {
            self.look_at(x, y);
            return;
        };
        match drag.second {
            Some((second, other)) => self.pinch(drag, (second, other), id, (x, y)),
            None if drag.id == id => self.dragged(drag, x, y),
            None => {}
        }
    }

    fn dragged(self, drag: Drag, x: f64, y: f64) {
        let width = self.width();
        match drag.kind {
            Kind::Move => {
                let by_ns = (drag.from.0 - x) * drag.window.ns_per_px(width);
                self.set_window(drag.window.pan(by_ns, self.length_ns()));
                let wanted = (drag.top + drag.from.1 - y).max(0.0);
                if (wanted - self.top.get_untracked()).abs() >= 1.0 {
                    self.wanted_top.set(Some(wanted));
                }
            }
            Kind::Mark => {
                let ns = |x: f64| drag.window.ns(x, width).clamp(0.0, self.length_ns());
                let (one, other) = (ns(drag.from.0), ns(x));
                self.range.set(Some((one.min(other), one.max(other))));
            }
        }
        self.drag.set(Some(Drag {
            last: (x, y),
            ..drag
        }));
    }

    /// Two fingers: their distance zooms, what is between them stays there.
    fn pinch(self, drag: Drag, second: (i32, (f64, f64)), id: i32, at: (f64, f64)) {
        let (second, other) = second;
        let (before, now) = match id {
            id if id == drag.id => ((drag.last.0, other.0), (at.0, other.0)),
            id if id == second => ((drag.last.0, other.0), (drag.last.0, at.0)),
            _ => return,
        };
        let apart = |(one, two): (f64, f64)| (one - two).abs().max(8.0);
        let middle = (now.0 + now.1) / 2.0;
        self.zoom_at(middle, apart(before) / apart(now));
        self.drag.set(Some(match id == drag.id {
            true => Drag { last: at, ..drag },
            false => Drag {
                second: Some((second, at)),
                ..drag
            },
        }));
    }

    /// A pointer was let go.
    pub(super) fn release(self, id: i32, x: f64, y: f64) {
        let Some(drag) = self.drag.get_untracked() else {
            return;
        };
        if drag.id != id && drag.second.is_none_or(|(second, _)| second != id) {
            return;
        }
        self.drag.set(None);
        let is_click = (x - drag.from.0).hypot(y - drag.from.1) < CLICK_PX;
        if drag.second.is_some() {
            return;
        }
        if is_click {
            if drag.kind == Kind::Mark {
                self.range.set(None);
            }
            self.pick(x, y);
        } else {
            self.remember();
        }
    }

    fn at(self, x: f64, y: f64) -> Option<SpanQuery> {
        let y = y + self.top.get_untracked();
        let row = self.layout.with_untracked(|layout| layout.row_at(y))?;
        let (window, width) = (self.window.get_untracked(), self.width());
        Some(SpanQuery::At {
            row,
            ns: window.ns(x, width),
            within_ns: REACH_PX * window.ns_per_px(width),
        })
    }

    fn look_at(self, x: f64, y: f64) {
        let Some(query) = self.at(x, y) else {
            self.hover.set(None);
            return;
        };
        if self.is_hover_asking.get_value() {
            return;
        }
        self.is_hover_asking.set_value(true);
        self.engine.ask(query, move |card| {
            self.is_hover_asking.try_set_value(false);
            let _ = self.hover.try_set(card.map(|card| Hover { x, y, card }));
        });
    }

    // ---- the selection ----

    fn pick(self, x: f64, y: f64) {
        match self.at(x, y) {
            Some(query) => self.engine.ask(query, move |card| self.select(card, false)),
            None => self.select(None, false),
        }
    }

    fn select(self, card: Option<SpanCard>, shows: bool) {
        let uid = card.as_ref().map(|card| card.uid);
        if self.selected.try_set(card).is_some() {
            return;
        }
        if shows {
            self.reveal();
        }
        self.state.look_at(|focus| focus.event = uid);
    }

    /// Moves as little as it takes to see the selected span.
    fn reveal(self) {
        let Some(card) = self.selected.get_untracked() else {
            return;
        };
        let window = self.window.get_untracked();
        let length_ns = card.to_ns - card.from_ns;
        let is_seen = card.from_ns >= window.from_ns && card.to_ns <= window.to_ns;
        let fits = length_ns < window.length_ns();
        if !is_seen && fits {
            let middle = (card.from_ns + card.to_ns) / 2.0;
            let half = window.length_ns() / 2.0;
            self.go(middle - half, middle + half);
        }
        self.scroll_to(card.row);
    }

    /// Selects what stands beside the selected span; without one, what is in the middle.
    pub(super) fn go_beside(self, towards: Towards) {
        let query = match self
            .selected
            .with_untracked(|card| card.as_ref().map(|card| card.uid))
        {
            Some(uid) => SpanQuery::Beside(uid, towards),
            None => {
                let rows = untrack(|| self.visible_rows());
                let (window, width) = (self.window.get_untracked(), self.width());
                SpanQuery::At {
                    row: rows.start,
                    ns: window.ns(width / 2.0, width),
                    within_ns: self.length_ns(),
                }
            }
        };
        self.engine.ask(query, move |card| {
            if card.is_some() {
                self.select(card, true);
            }
        });
    }

    /// Shows the event that the hash names.
    fn follow(self, event: Option<u32>) {
        let known = self
            .selected
            .with_untracked(|card| card.as_ref().map(|card| card.uid));
        match event {
            Some(uid) if known != Some(uid) => {
                self.engine.ask(SpanQuery::Event(uid), move |card| {
                    let is_found = card.is_some();
                    if self.selected.try_set(card).is_none() && is_found {
                        self.show_selected();
                    }
                });
            }
            None if known.is_some() => self.selected.set(None),
            _ => {}
        }
    }

    /// Lets go of the range, then of the selection.
    pub(super) fn clear(self) {
        if self.range.get_untracked().is_some() {
            self.range.set(None);
        } else {
            self.select(None, false);
        }
    }
}

/// The page's colours under its present theme.
fn colours(tokens: &[String]) -> Palette {
    let block = |token: &String| browser::colours_of(&format!(".probe.c-{token}"));
    let (ink, idle) = browser::colours_of(".probe.page");
    let (line, chosen) = browser::colours_of(".probe.strokes");
    Palette {
        blocks: tokens.iter().map(block).collect(),
        ink,
        line,
        idle,
        chosen,
    }
}
