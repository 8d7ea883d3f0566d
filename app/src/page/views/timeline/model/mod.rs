//! The state of the Timeline view: requests drawings from the worker, and triggers painting.
//!
//! | file | what happens |
//! |---|---|
//! | `moving` | zoom, pan and scroll |
//! | `pointer` | presses, drags, pinches, hovering |
//! | `selection` | selects a span; marks and analyzes a range |
//! | `search` | finds events by name |

mod moving;
mod pointer;
mod search;
mod selection;

use web_sys::HtmlCanvasElement;

use super::layout::Layout;
use super::paint::{Frame, RULER_PX};
use super::scene::Scene;
use super::window::Window;
use crate::page::components::canvas::{CanvasState, context_of, text_px};
use crate::page::prelude::*;
use crate::page::state::Stage;
use crate::page::views::timeline::tracks::{Kept, Tracks};
use crate::protocol::{
    Align, DrawQuery, FoundEvents, RangeCard, RangeQuery, SpanCard, StepLine, TimelineOutline,
    TimelineQuery, TraceSide,
};

pub use pointer::{Drag, DragKind, Hover};

/// The signals of the view. `Copy`, so pass it around.
#[derive(Clone, Copy)]
pub struct Model {
    pub(super) state: AppState,
    engine: Engine,
    pub(super) outline: RwSignal<TimelineOutline>,
    pub(super) arrived: RwSignal<bool>,
    /// A reference trace is open.
    pub(super) has_reference: Memo<bool>,
    /// If set, its lanes are shown below, aligned this way.
    pub(super) below: Memo<Option<Align>>,
    /// The steps: parts of the run that the program named.
    pub(super) steps: Memo<Vec<StepLine>>,
    pub(super) layout: Memo<Layout>,
    window: RwSignal<Window>,
    pub(super) canvas: CanvasState,
    /// The requested vertical scroll position.
    pub(super) wanted_top: RwSignal<Option<f64>>,
    scene: RwSignal<Scene>,
    is_asking: StoredValue<bool>,
    pub(super) drag: RwSignal<Option<Drag>>,
    pub(super) hover: RwSignal<Option<Hover>>,
    is_hover_asking: StoredValue<bool>,
    pub(super) selected: RwSignal<Option<SpanCard>>,
    pub(super) range: RwSignal<Option<(f64, f64)>>,
    pub(super) totals: RwSignal<Option<RangeCard>>,
    /// The user's changes to the lanes.
    pub(super) tracks: Memo<Tracks>,
    /// Lanes whose names do not match are hidden.
    pub(super) filter: RwSignal<String>,
    pub(super) kept: Memo<Vec<Kept>>,
    /// The search results; `None` without a search.
    pub(super) found: RwSignal<Option<FoundEvents>>,
    /// The last searched text.
    searched: StoredValue<String>,
}

impl Model {
    /// Requests the lanes of the open trace, and shows its GPU activity or what the hash names.
    pub(super) fn new(state: AppState, engine: Engine) -> Model {
        let outline = RwSignal::new(TimelineOutline::default());
        let tracks = state.of_place(|place| Tracks::parse(&place.focus.tracks));
        let filter = RwSignal::new(String::new());
        let canvas = CanvasState::default();
        let kept = |((from_ns, to_ns), note): &((u64, u64), String)| Kept {
            from_ns: *from_ns as f64,
            to_ns: *to_ns as f64,
            note: note.clone(),
        };
        let model = Model {
            state,
            engine,
            outline,
            arrived: RwSignal::new(false),
            has_reference: Memo::new(move |_| state.reference.with(Stage::is_open)),
            below: state.of_place(|place| place.focus.below),
            steps: Memo::new(move |_| state.of_opened(|opened| opened.steps.clone())),
            layout: Memo::new(move |_| {
                // Another device may have been attached.
                canvas.size.track();
                let title_px = browser::token_px("--lane-title").unwrap_or(TITLE_PX);
                let filter = filter.get();
                tracks.with(|tracks| {
                    outline.with(|outline| Layout::new(&outline.lanes, tracks, &filter, title_px))
                })
            }),
            window: RwSignal::new(Window::default()),
            canvas,
            wanted_top: RwSignal::new(None),
            scene: RwSignal::new(Scene::default()),
            is_asking: StoredValue::new(false),
            drag: RwSignal::new(None),
            hover: RwSignal::new(None),
            is_hover_asking: StoredValue::new(false),
            selected: RwSignal::new(None),
            range: RwSignal::new(None),
            totals: RwSignal::new(None),
            tracks,
            filter,
            kept: state.of_place(move |place| place.focus.kept.iter().map(kept).collect()),
            found: RwSignal::new(None),
            searched: StoredValue::new(String::new()),
        };
        model.follow_page();
        model
    }

    /// Asks for what is shown, and draws it again, whenever the page changes.
    fn follow_page(self) {
        let (model, state, engine) = (self, self.state, self.engine);
        Effect::new(move || {
            state.report.track();
            let has_reference = model.has_reference.get();
            let below = model.below.get().filter(|_| has_reference);
            engine.ask(TimelineQuery { below }, move |answer| model.opened(answer));
        });
        Effect::new(move || model.keep_drawn());
        Effect::new(move || {
            model.outline.track();
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
                model.search_again(&focus.find);
            }
        });
    }

    fn opened(self, outline: TimelineOutline) {
        if self.outline.try_set(outline).is_some() {
            return;
        }
        self.scene.set(Scene::default());
        if self.arrived.get_untracked() {
            self.settle();
        } else {
            let span = self.state.place.with_untracked(|place| place.focus.span);
            let analyzed = self.outline.with_untracked(|outline| outline.window);
            match (span, analyzed) {
                (Some((from_ns, to_ns)), _) => self.go(from_ns as f64, to_ns as f64),
                (None, Some(analyzed)) => self.go_around(analyzed),
                (None, None) => self.show_gpu(),
            }
            self.arrived.set(true);
        }
    }

    /// Lanes were added or removed: resets the state of those below the target.
    fn settle(self) {
        let is_gone = self.selected.with_untracked(|card| {
            let side = card.as_ref().map(|card| card.side);
            side.is_some_and(|side| side != TraceSide::Target)
        });
        if is_gone {
            self.selected.set(None);
        }
        self.hover.set(None);
        let window = self.shown_window();
        self.go(window.from_ns, window.to_ns);
        let place = self.state.place;
        let text = place.with_untracked(|place| place.focus.find.clone());
        self.searched.set_value(String::new());
        self.search_again(&text);
    }

    /// The visible time range.
    pub(super) fn shown_window(self) -> Window {
        self.window.get_untracked()
    }

    pub(super) fn length_ns(self) -> f64 {
        self.outline.with_untracked(|outline| outline.length_ns)
    }

    fn width(self) -> f64 {
        self.canvas.size.get_untracked().0.max(1.0)
    }
}

/// The height of a lane's title, unless the style sheet has another.
const TITLE_PX: f64 = 22.0;
/// A drawing extends beyond the window by this share of it, on either side.
const MARGIN: f64 = 0.6;
/// And by this much above and below the visible part.
const MARGIN_PX: f64 = 216.0;

impl Model {
    /// The visible rows, and the numbers of the visible counters.
    fn visible(self) -> (Vec<usize>, Vec<u32>) {
        let (top, height) = (self.canvas.top.get(), self.canvas.size.get().1);
        self.layout.with(|layout| {
            let rows = layout.rows_between(top, top + height);
            (rows, layout.counters_between(top, top + height))
        })
    }

    /// Requests a new drawing if the current one no longer fits; one at a time.
    fn keep_drawn(self) {
        let (window, (width, _)) = (self.window.get(), self.canvas.size.get());
        let (rows, counters) = self.visible();
        let is_nothing = rows.is_empty() && counters.is_empty();
        if !self.arrived.get() || width < 1.0 || is_nothing {
            return;
        }
        let ns_per_px = window.ns_per_px(width);
        let serves = self
            .scene
            .with(|scene| scene.serves(window, ns_per_px, &rows, &counters));
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
        let top = self.canvas.top.get_untracked();
        let bottom = top + self.canvas.size.get_untracked().1 + MARGIN_PX;
        let (rows, counters) = self.layout.with_untracked(|layout| {
            let rows = layout.rows_between(top - MARGIN_PX, bottom);
            (rows, layout.counters_between(top - MARGIN_PX, bottom))
        });
        let query = DrawQuery {
            from_ns,
            ns_per_px,
            width_px: covered.length_ns() / ns_per_px,
            rows: rows.clone(),
            counters,
        };
        self.engine.ask_for_bytes(query, move |drawn, bytes| {
            self.is_asking.try_set_value(false);
            let bytes = bytes.map(|bytes| bytes.to_vec()).unwrap_or_default();
            let scene = Scene::new(covered, ns_per_px, rows, drawn, &bytes);
            let _ = self.scene.try_set(scene);
        });
    }

    /// Schedules a repaint whenever something changes that a frame depends on.
    pub(crate) fn on_change(self, paint: impl FnOnce() + 'static) {
        self.track();
        self.canvas.repaint(paint);
    }

    /// Tracks what a frame depends on.
    pub(crate) fn track(self) {
        self.window.track();
        self.scene.track();
        self.selected.track();
        self.range.track();
        self.kept.track();
        self.found.track();
        self.layout.track();
        self.outline.track();
    }

    /// Height of the canvas, for the canvas.
    pub(crate) fn height(self) -> f64 {
        self.canvas.size.get().1
    }

    pub(crate) fn paint(self, canvas: &HtmlCanvasElement, ruler: &HtmlCanvasElement) {
        let Some((width, height)) = self.canvas.size.try_get_untracked() else {
            return;
        };
        let text_px = text_px();
        let selected = self.selected.read_untracked();
        let outline = self.outline.read_untracked();
        let kept = self.kept.read_untracked();
        let frame = Frame {
            palette: &self.canvas.palette.read_untracked(),
            layout: &self.layout.read_untracked(),
            scene: &self.scene.read_untracked(),
            window: self.window.get_untracked(),
            width,
            height,
            top: self.canvas.top.get_untracked(),
            text_px,
            selected: selected.as_ref(),
            range: self.range.get_untracked(),
            kept: &kept,
            lanes: &outline.lanes,
            analyzed: outline.window,
            below: {
                let below = outline.below.iter();
                below.map(|below| (below.side, below.window)).collect()
            },
        };
        if let Some(context) = context_of(canvas, width, height, text_px) {
            frame.paint(&context);
        }
        if let Some(context) = context_of(ruler, width, RULER_PX, text_px) {
            frame.paint_ruler(&context);
        }
    }
}
