//! The state of the flame graph.

use super::paint::{Frame, ROW_PX};
use super::scene::{Direction, Scene};
use crate::page::components::canvas::{CanvasState, text_px};
use crate::page::prelude::*;
use crate::page::url::Place;
use crate::page::views::tree::state::TreeState;
use crate::protocol::{Flame as Drawing, FlameBlock, FlameQuery, TreeStep};

/// Rows that stay visible above the first branching.
const COMMON_ROWS: usize = 3;

/// The state of the flame graph. `Copy`, so pass it around.
#[derive(Clone, Copy)]
pub(super) struct Model {
    pub(super) tree: TreeState,
    engine: Engine,
    pub(super) by_cpu: Memo<bool>,
    /// The root call; `None` for all calls.
    pub(super) root: Memo<Option<u32>>,
    pub(super) drawing: RwSignal<Drawing>,
    pub(super) scene: RwSignal<Scene>,
    /// Counts the queries: an answer to an older one is ignored.
    last_request: StoredValue<u32>,
    pub(super) canvas: CanvasState,
    pub(super) hovered: RwSignal<Option<(usize, f64, f64)>>,
    pub(super) focused: RwSignal<Option<usize>>,
}

impl Model {
    pub(super) fn new(tree: TreeState, engine: Engine, by_cpu: Memo<bool>) -> Model {
        let model = Model {
            tree,
            engine,
            by_cpu,
            root: tree.list.state.of_place(|place| place.focus.top),
            drawing: RwSignal::new(Drawing::default()),
            scene: RwSignal::new(Scene::default()),
            last_request: StoredValue::new(0),
            canvas: CanvasState::default(),
            hovered: RwSignal::new(None),
            focused: RwSignal::new(None),
        };
        Effect::new(move || model.ask());
        // The selection may come from elsewhere: the search, the table, the link.
        Effect::new(move || {
            let selected = tree.list.state.place.with(|place| place.focus.row);
            let block = model
                .scene
                .with(|scene| selected.and_then(|node| scene.of_node(node)));
            model.focused.set(block);
        });
        model
    }

    fn ask(self) {
        let (width_px, _) = self.canvas.size.get();
        self.tree.settings.track();
        self.tree.rearranged.track();
        self.tree.list.state.report.track();
        let query = FlameQuery {
            root: self.root.get(),
            width_px,
            by_cpu: self.by_cpu.get(),
        };
        if width_px < 1.0 {
            return;
        }
        let number = self.last_request.get_value() + 1;
        self.last_request.set_value(number);
        self.engine.ask_for_bytes(query, move |drawing, bytes| {
            if self.last_request.try_get_value() != Some(number) {
                return;
            }
            let bytes = bytes.map(|bytes| bytes.to_vec()).unwrap_or_default();
            let scene = Scene::new(&bytes);
            let is_first = self.drawing.with_untracked(|old| old.rows == 0);
            let common_rows = scene.common_rows();
            self.hovered.set(None);
            self.scene.set(scene);
            self.drawing.set(drawing);
            if is_first {
                self.scroll_past_common(common_rows);
            }
        });
    }

    /// Scrolls to the first branching, unless something is selected: otherwise dozens of frames with a single child
    /// would fill the screen.
    fn scroll_past_common(self, common_rows: usize) {
        let has_selected = |of: &Place| of.focus.row.is_some() || of.focus.top.is_some();
        if common_rows <= COMMON_ROWS || self.tree.list.state.place.with_untracked(has_selected) {
            return;
        }
        browser::before_paint(move || {
            let rows = self.drawing.try_with_untracked(|drawing| drawing.rows);
            let hidden_px = rows.unwrap_or(0) as f64 * ROW_PX
                - self.canvas.size.try_get_untracked().unwrap_or_default().1;
            let top = (common_rows - COMMON_ROWS) as f64 * ROW_PX;
            self.canvas.top.try_set(top.min(hidden_px).max(0.0));
        });
    }

    pub(super) fn block(self, at: usize) -> Option<FlameBlock> {
        self.scene.with(|scene| scene.blocks.get(at).copied())
    }

    /// Selects the call of a block, here and in the table.
    pub(super) fn go_to(self, at: usize) {
        let Some(block) = untrack(|| self.block(at)) else {
            return;
        };
        self.focused.set(Some(at));
        self.tree.list.step(TreeStep::Reveal(block.node));
        let (y, (_, height)) = (block.row as f64 * ROW_PX, self.canvas.size.get_untracked());
        let top = self.canvas.top.get_untracked();
        if y < top || y + ROW_PX > top + height {
            self.canvas.top.set((y - height / 3.0).max(0.0));
        }
    }

    /// Makes a call the root; `None` for all calls.
    pub(super) fn zoom(self, node: Option<u32>) {
        self.make_top(node);
        if let Some(node) = node {
            self.tree.list.step(TreeStep::Reveal(node));
        }
    }

    /// Makes the root's caller the root; the former root stays selected.
    pub(super) fn zoom_out(self) {
        let above = self.drawing.with_untracked(|drawing| {
            let path = drawing.path.iter().rev();
            path.map(|(node, _)| *node).nth(1)
        });
        self.make_top(above);
    }

    fn make_top(self, node: Option<u32>) {
        self.canvas.top.set(0.0);
        self.tree.list.state.look_at(|focus| focus.top = node);
    }

    pub(super) fn press(self, event: &KeyboardEvent) {
        if browser::has_modifier(event) {
            return;
        }
        let here = self.focused.get_untracked();
        let go = |direction| {
            let to = match here {
                Some(here) => self
                    .scene
                    .with_untracked(|scene| scene.neighbor(here, direction)),
                None => Some(0),
            };
            if let Some(to) = to {
                self.go_to(to);
            }
        };
        match event.key().as_str() {
            "ArrowUp" => go(Direction::Caller),
            "ArrowDown" => go(Direction::Called),
            "ArrowLeft" => go(Direction::Before),
            "ArrowRight" => go(Direction::After),
            "Home" => self.go_to(0),
            "Enter" | " " => {
                let block = here.and_then(|here| untrack(|| self.block(here)));
                self.zoom(block.map(|block| block.node));
            }
            "Escape" | "Backspace" => self.zoom_out(),
            "/" => browser::focus_on("search"),
            _ => return,
        }
        event.prevent_default();
    }

    /// A click selects a block and zooms in; a click on the root zooms out again.
    pub(super) fn click(self, at: usize) {
        let Some(block) = untrack(|| self.block(at)) else {
            return;
        };
        match self.root.get_untracked() == Some(block.node) && block.n_calls == 1 {
            true => self.zoom_out(),
            false => self.zoom(Some(block.node)),
        }
    }

    /// The text for a block: name, times, share.
    pub(super) fn describe(self, at: usize) -> Option<(String, String)> {
        let block = self.block(at)?;
        let by_cpu = self.by_cpu.get();
        self.drawing.with(|drawing| {
            let name = drawing.names.get(block.name)?.clone();
            let name = match block.n_calls {
                1 => name,
                n => format!(
                    "{} calls too narrow to draw, mostly {name}",
                    format::count(u64::from(n))
                ),
            };
            let ns = if by_cpu { block.cpu_ns } else { block.gpu_ns };
            let share = |all_ns: f64| format::percent(100.0 * ns / all_ns.max(1.0));
            let mut times = format!(
                "GPU {}, CPU {}, {} of all",
                format::time_ns(block.gpu_ns as i64),
                format::time_ns(block.cpu_ns as i64),
                share(drawing.all_ns)
            );
            if drawing.root.is_some() {
                times += &format!(", {} of what is shown", share(drawing.shown_ns));
            }
            Some((name, times))
        })
    }

    pub(super) fn paint(self, canvas: &web_sys::HtmlCanvasElement) {
        let Some((width, height)) = self.canvas.size.try_get_untracked() else {
            return;
        };
        Frame {
            palette: &self.canvas.palette.read_untracked(),
            scene: &self.scene.read_untracked(),
            names: &self.drawing.read_untracked().names,
            width,
            height,
            top: self.canvas.top.get_untracked(),
            text_px: text_px(),
            hovered: self.hovered.get_untracked().map(|(at, ..)| at),
            focused: self.focused.get_untracked(),
        }
        .paint(canvas);
    }
}
