//! What the strip shows, and its hovered and its selected collective.

use std::sync::Arc;

use dormer_core::job::strip::StepStrip;
use web_sys::HtmlCanvasElement;

use super::figures::collective_details;
use super::paint::Picture;
use super::scene::{Cell, Stretch, members, nearest_in_lane, part};
use crate::page::components::canvas::{CanvasState, text_px};
use crate::page::prelude::*;
use crate::page::ranks::OpenJob;

/// A pointer that moves farther than this selects a time range.
const DRAG_PX: f64 = 5.0;

/// A step as received; the same step is never drawn twice.
#[derive(Clone, Default)]
pub(super) struct ReceivedStep(pub(super) Arc<StepStrip>);

impl PartialEq for ReceivedStep {
    fn eq(&self, other: &ReceivedStep) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// The signals of the strip. `Copy`, so pass it around.
#[derive(Clone, Copy)]
pub(super) struct Strip {
    pub(super) state: AppState,
    engine: Engine,
    pub(super) job: StoredValue<Arc<OpenJob>>,
    shown: Memo<ReceivedStep>,
    /// The position of the step.
    pub(super) step: Memo<usize>,
    /// The rank numbers of the lanes.
    pub(super) labels: Memo<Vec<String>>,
    /// The cells of each collective.
    members: Memo<Vec<Vec<Cell>>>,
    /// The visible time range; `None` for the whole step.
    pub(super) span: Memo<Option<(u64, u64)>>,
    pub(super) stretch: Memo<Stretch>,
    pub(super) canvas: CanvasState,
    /// The collective under the pointer.
    pub(super) hovered: RwSignal<Option<Cell>>,
    pub(super) chosen: RwSignal<Option<Cell>>,
    /// Where the pointer was pressed, and where it is now.
    pub(super) drag: RwSignal<Option<(f64, f64)>>,
}

impl Strip {
    pub(super) fn new(
        job: StoredValue<Arc<OpenJob>>,
        shown: Memo<ReceivedStep>,
        step: Memo<usize>,
    ) -> Strip {
        let state = expect_context::<AppState>();
        let canvas = CanvasState::default();
        let span = state.of_place(|place| place.focus.span);
        let labels = Memo::new(move |_| {
            shown.with(|ReceivedStep(strip)| {
                job.with_value(|job| {
                    each(&strip.lanes, |lane| {
                        let rank = job.opened.overview.ranks.get(lane.rank as usize);
                        rank.map_or(0, |rank| rank.number).to_string()
                    })
                })
            })
        });
        let stretch = Memo::new(move |_| {
            let letters = labels.with(|labels| labels.iter().map(String::len).max());
            let gutter_px = letters.unwrap_or(0).max(2) as f64 * 0.62 * text_px() + 10.0;
            let (width, _) = canvas.size.get();
            shown.with(|ReceivedStep(strip)| {
                let n_lanes = strip.lanes.len();
                Stretch::new((width, gutter_px), n_lanes, strip.length_ns, span.get())
            })
        });
        let (hovered, chosen) = (RwSignal::new(None), RwSignal::new(None));
        Effect::watch(
            move || shown.track(),
            move |(), _, _| {
                hovered.set(None);
                chosen.set(None);
            },
            false,
        );
        Strip {
            state,
            engine: expect_context::<Engine>(),
            job,
            shown,
            step,
            labels,
            members: Memo::new(move |_| shown.with(|ReceivedStep(strip)| members(strip))),
            span,
            stretch,
            canvas,
            hovered,
            chosen,
            drag: RwSignal::new(None),
        }
    }

    /// A value from the step.
    pub(super) fn with<T>(self, read: impl FnOnce(&StepStrip) -> T) -> T {
        self.shown.with(|ReceivedStep(strip)| read(strip))
    }

    /// The position of a lane's rank.
    pub(super) fn rank_of(self, lane: usize) -> Option<usize> {
        self.with(|strip| strip.lanes.get(lane).map(|lane| lane.rank as usize))
    }

    pub(super) fn has_trace(self, rank: usize) -> bool {
        self.job
            .with_value(|job| job.has_trace.get(rank) == Some(&true))
    }

    pub(super) fn start_ns(self, cell: Cell) -> Option<i64> {
        self.with(|strip| part(strip, cell).map(|part| part.start_ns))
    }

    /// The position of a cell's collective.
    pub(super) fn collective_of(self, cell: Cell) -> Option<usize> {
        self.with(|strip| part(strip, cell).map(|part| part.collective as usize))
    }

    /// A rank in a collective: a title and figures.
    pub(super) fn describe(self, cell: Cell) -> Option<(String, Vec<(String, String)>)> {
        let rank = self.labels.with(|labels| labels.get(cell.0).cloned())?;
        self.with(|strip| collective_details(strip, cell, rank))
    }

    pub(super) fn paint(self, canvas: &HtmlCanvasElement, marked: [Option<usize>; 2]) {
        let (labels, members) = (self.labels.get_untracked(), self.members.get_untracked());
        let palette = self.canvas.palette.get_untracked();
        untrack(|| {
            self.with(|strip| {
                let picture = Picture {
                    strip,
                    members: &members,
                    labels: &labels,
                    stretch: self.stretch.get_untracked(),
                    palette: &palette,
                    marked,
                };
                picture.paint(canvas);
            });
        });
    }

    /// Shows a time range; `None` for the whole step.
    pub(super) fn show(self, span: Option<(u64, u64)>) {
        self.state.look_at(|focus| focus.span = span);
    }

    fn length_ns(self) -> i64 {
        untrack(|| self.with(|strip| strip.length_ns))
    }

    /// Changes the length of the time range by a factor, around the selection or the middle.
    pub(super) fn zoom(self, factor: f64) {
        let now = self.stretch.get_untracked();
        let chosen = self.chosen.get_untracked();
        let around = untrack(|| self.start_ns(chosen?));
        let around = around.map_or((now.from_ns + now.to_ns) / 2.0, |ns| ns as f64);
        self.show(now.zoomed(factor, around, self.length_ns()));
    }

    /// Selects a collective and brings it into view; `None` clears the selection.
    fn choose(self, cell: Option<Cell>) {
        self.chosen.set(cell);
        if let Some(ns) = untrack(|| self.start_ns(cell?))
            && let Some(span) = self.stretch.get_untracked().showing(ns, self.length_ns())
        {
            self.show(Some(span));
        }
    }

    /// Opens the trace of a rank at a collective.
    pub(super) fn open(self, cell: Cell) {
        let event = untrack(|| {
            self.with(|strip| {
                let of = part(strip, cell)?;
                let collective = strip.collectives.get(of.collective as usize)?;
                Some((collective.kernel.clone(), of.at_ns))
            })
        });
        let rank = untrack(|| self.rank_of(cell.0));
        if let Some((rank, event)) = rank.zip(event)
            && self.has_trace(rank)
        {
            let step = self.step.get_untracked();
            self.engine.open_rank_at(rank, Some(step), Some(event));
        }
    }

    fn cell_at(self, (x, y): (f64, f64)) -> Option<Cell> {
        let stretch = self.stretch.get_untracked();
        untrack(|| self.with(|strip| stretch.at(strip, x, y)))
    }

    pub(super) fn pointer_moved(self, point: (f64, f64), is_pressed: bool) {
        if let Some((from, _)) = self.drag.get_untracked() {
            self.drag.set(is_pressed.then_some((from, point.0)));
        }
        let cell = self.cell_at(point);
        if self.hovered.get_untracked() != cell {
            self.hovered.set(cell);
        }
    }

    /// The ends of the dragged range, if the pointer moved far enough.
    pub(super) fn dragged_px(self) -> Option<(f64, f64)> {
        let (from, to) = self.drag.get()?;
        ((to - from).abs() > DRAG_PX).then_some((from.min(to), from.max(to)))
    }

    /// The pointer was released: shows the dragged range, or selects and opens a collective.
    pub(super) fn release(self, point: (f64, f64)) {
        let Some((from, _)) = self.drag.get_untracked() else {
            return;
        };
        self.drag.set(Some((from, point.0)));
        let dragged = untrack(|| self.dragged_px());
        self.drag.set(None);
        if let Some((from, to)) = dragged {
            let stretch = self.stretch.get_untracked();
            self.show(Some((stretch.ns_at(from) as u64, stretch.ns_at(to) as u64)));
            return;
        }
        let cell = self.cell_at(point);
        self.choose(cell);
        cell.into_iter().for_each(|cell| self.open(cell));
    }

    /// The cell to which a key moves; the outer `None` for other keys.
    fn next(self, key: &str) -> Option<Option<Cell>> {
        let here = self.chosen.get_untracked();
        let (lane, at) = here.unwrap_or((0, 0));
        untrack(|| {
            self.with(|strip| {
                let n_parts = strip.lanes.get(lane).map_or(0, |lane| lane.parts.len());
                let last = n_parts.saturating_sub(1);
                let in_lane = |to: usize| nearest_in_lane(strip, (lane, at), to);
                Some(match key {
                    "ArrowDown" => in_lane(lane + usize::from(here.is_some())),
                    "ArrowUp" => in_lane(lane.saturating_sub(1)),
                    "ArrowRight" => here.map_or(Some((0, 0)), |_| Some((lane, (at + 1).min(last)))),
                    "ArrowLeft" => Some((lane, at.saturating_sub(1))),
                    "Home" => Some((lane, 0)),
                    "End" => Some((lane, last)),
                    _ => return None,
                })
            })
        })
    }

    pub(super) fn press(self, event: &KeyboardEvent) {
        if browser::has_modifier(event) {
            return;
        }
        let key = event.key();
        match (self.next(&key), key.as_str()) {
            (Some(None), _) => {}
            (Some(next), _) => self.choose(next),
            (None, "Enter" | " ") => {
                let here = self.chosen.get_untracked();
                here.into_iter().for_each(|cell| self.open(cell));
            }
            (None, "Escape") => self.choose(None),
            (None, "+" | "=") => self.zoom(0.5),
            (None, "-") => self.zoom(2.0),
            (None, "0") => self.show(None),
            _ => return,
        }
        event.prevent_default();
    }
}
