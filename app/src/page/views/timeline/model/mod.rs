//! What the Timeline shows and what happens to it. Drawing is `paint`'s.
//!
//! | file | what happens |
//! |---|---|
//! | `moving` | zoom, pan and scroll |
//! | `drawing` | the worker is asked for drawings; frames are painted |
//! | `pointer` | presses, drags, pinches, hovering |
//! | `selection` | a span is selected; a range is marked, and analyzed |

mod drawing;
mod moving;
mod pointer;
mod selection;

use leptos::prelude::*;

use super::layout::Layout;
use super::scene::Scene;
use super::window::Window;
use crate::page::components::canvas::Stage;
use crate::page::engine::Engine;
use crate::page::state::AppState;
use crate::protocol::{RangeCard, RangeQuery, SpanCard, StepLine, TimelineOutline, TimelineQuery};
pub use pointer::{Drag, DragKind, Hover};

/// The signals of the view. Copy: pass it around.
#[derive(Clone, Copy)]
pub struct Model {
    pub(super) state: AppState,
    engine: Engine,
    pub(super) outline: RwSignal<TimelineOutline>,
    pub(super) arrived: RwSignal<bool>,
    /// Parts of the run that the program named.
    pub(super) steps: Memo<Vec<StepLine>>,
    pub(super) layout: Memo<Layout>,
    window: RwSignal<Window>,
    pub(super) stage: Stage,
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
}

impl Model {
    /// Asks for the lanes of the open trace, and shows its GPU activity or what the hash names.
    pub(super) fn new(state: AppState, engine: Engine) -> Model {
        let outline = RwSignal::new(TimelineOutline::default());
        let model = Model {
            state,
            engine,
            outline,
            arrived: RwSignal::new(false),
            steps: Memo::new(move |_| state.of_opened(|opened| opened.steps.clone())),
            layout: Memo::new(move |_| outline.with(|outline| Layout::new(&outline.lanes))),
            window: RwSignal::new(Window::default()),
            stage: Stage::default(),
            wanted_top: RwSignal::new(None),
            scene: RwSignal::new(Scene::default()),
            is_asking: StoredValue::new(false),
            drag: RwSignal::new(None),
            hover: RwSignal::new(None),
            is_hover_asking: StoredValue::new(false),
            selected: RwSignal::new(None),
            range: RwSignal::new(None),
            totals: RwSignal::new(None),
        };
        Effect::new(move || {
            state.report.track();
            engine.ask(TimelineQuery, move |answer| model.opened(answer));
        });
        Effect::new(move || model.keep_drawn());
        Effect::new(move || {
            model.state.theme().track();
            model.scene.track();
            let tokens = move || model.outline.try_with_untracked(|of| of.tokens.clone());
            model.stage.read_colors(tokens);
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

    fn length_ns(self) -> f64 {
        self.outline.with_untracked(|outline| outline.length_ns)
    }

    fn width(self) -> f64 {
        self.stage.size.get_untracked().0.max(1.0)
    }
}
