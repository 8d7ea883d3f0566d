//! Handles presses, drags and pinches, and hovering.

use leptos::prelude::*;

use super::Model;
use crate::page::views::timeline::window::Window;
use crate::protocol::{GlanceQuery, SpanCard};

/// A press that moves less than this is a click.
const CLICK_PX: f64 = 4.0;
/// The tolerance of the pointer around a span.
const REACH_PX: f64 = 3.0;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DragKind {
    /// Moves the lanes.
    Move,
    /// Marks a range.
    Mark,
}

/// A pressed pointer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Drag {
    pub(crate) kind: DragKind,
    id: i32,
    from: (f64, f64),
    last: (f64, f64),
    /// The window and the vertical scroll position when it was pressed.
    window: Window,
    top: f64,
    /// A second finger: its pointer id and position.
    second: Option<(i32, (f64, f64))>,
}

/// What the pointer hovers over.
#[derive(Debug, Clone, PartialEq)]
pub struct Hover {
    /// Distance from the left edge of the canvas.
    pub(crate) x: f64,
    /// Distance from its top.
    pub(crate) y: f64,
    pub(crate) glance: SpanCard,
}

impl Model {
    /// Handles a press at a position on the canvas.
    pub(crate) fn press(self, id: i32, x: f64, y: f64, marks: bool) {
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
                kind: if marks {
                    DragKind::Mark
                } else {
                    DragKind::Move
                },
                id,
                from: (x, y),
                last: (x, y),
                window,
                top: self.canvas.top.get_untracked(),
                second: None,
            },
        }));
    }

    /// Handles a pointer move to a position on the canvas.
    pub(crate) fn pointer_moved(self, id: i32, x: f64, y: f64) {
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

    pub(super) fn dragged(self, drag: Drag, x: f64, y: f64) {
        let width = self.width();
        match drag.kind {
            DragKind::Move => {
                let by_ns = (drag.from.0 - x) * drag.window.ns_per_px(width);
                self.set_window(drag.window.pan(by_ns, self.length_ns()));
                let wanted = (drag.top + drag.from.1 - y).max(0.0);
                if (wanted - self.canvas.top.get_untracked()).abs() >= 1.0 {
                    self.wanted_top.set(Some(wanted));
                }
            }
            DragKind::Mark => {
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

    /// Handles two fingers: their distance zooms, and the point between them stays fixed.
    pub(super) fn pinch(self, drag: Drag, second: (i32, (f64, f64)), id: i32, at: (f64, f64)) {
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

    pub(crate) fn release(self, id: i32, x: f64, y: f64) {
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
            if drag.kind == DragKind::Mark {
                self.range.set(None);
            }
            self.pick(x, y);
        } else {
            self.remember();
        }
    }

    /// The row and the time at a position on the canvas, and the pointer's tolerance.
    pub(super) fn place(self, x: f64, y: f64) -> Option<GlanceQuery> {
        let y = y + self.canvas.top.get_untracked();
        let row = self.layout.with_untracked(|layout| layout.row_at(y))?;
        let (window, width) = (self.window.get_untracked(), self.width());
        Some(GlanceQuery {
            row,
            ns: window.ns(x, width),
            within_ns: REACH_PX * window.ns_per_px(width),
        })
    }

    /// The pointer hovers over a position on the canvas. The worker is queried once for each span.
    pub(super) fn look_at(self, x: f64, y: f64) {
        let Some(query) = self.place(x, y) else {
            self.hover.set(None);
            return;
        };
        let known = self.hover.with_untracked(|hover| {
            let glance = &hover.as_ref()?.glance;
            let is_row = glance.row == query.row;
            let is_inside = is_row && (glance.from_ns..glance.to_ns).contains(&query.ns);
            is_inside.then(|| glance.clone())
        });
        if let Some(glance) = known {
            self.hover.set(Some(Hover { x, y, glance }));
            return;
        }
        if self.is_hover_asking.get_value() {
            return;
        }
        self.is_hover_asking.set_value(true);
        self.engine.ask(query, move |glance| {
            self.is_hover_asking.try_set_value(false);
            let hover = glance.map(|glance| Hover { x, y, glance });
            let _ = self.hover.try_set(hover);
        });
    }
}
