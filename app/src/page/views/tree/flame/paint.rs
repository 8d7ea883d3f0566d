//! Paints the blocks on their canvas.

use web_sys::{CanvasRenderingContext2d, HtmlCanvasElement};

use super::scene::Scene;
use crate::page::components::canvas::{Palette, context_of, letter_px, write};
use crate::protocol::FlameBlock;

pub(super) const ROW_PX: f64 = 20.0;
/// Narrower blocks have no line between them.
const SEAM_PX: f64 = 3.0;
/// The distance between lines of the hatching.
const HATCH_PX: f64 = 5.0;

pub(super) struct Frame<'a> {
    pub(super) palette: &'a Palette,
    pub(super) scene: &'a Scene,
    pub(super) names: &'a [String],
    pub(super) width: f64,
    pub(super) height: f64,
    /// The vertical scroll position.
    pub(super) top: f64,
    pub(super) text_px: f64,
    pub(super) hovered: Option<usize>,
    pub(super) focused: Option<usize>,
}

impl Frame<'_> {
    pub(super) fn paint(&self, canvas: &HtmlCanvasElement) {
        let Some(context) = context_of(canvas, self.width, self.height, self.text_px) else {
            return;
        };
        let letter_px = letter_px(&context);
        for (at, block) in self.scene.blocks.iter().enumerate() {
            let y = block.row as f64 * ROW_PX - self.top;
            if y > self.height || y + ROW_PX < 0.0 {
                continue;
            }
            let is_hovered = self.hovered == Some(at);
            match block.n_calls > 1 {
                true => self.hatched(&context, block, y),
                false => self.filled(&context, block, y, letter_px),
            }
            if is_hovered {
                context.set_global_alpha(0.22);
                context.set_fill_style_str(&self.palette.ink);
                context.fill_rect(block.left_px, y + 1.0, block.wide_px, ROW_PX - 2.0);
                context.set_global_alpha(1.0);
            }
        }
        let focused = self.focused.and_then(|at| self.scene.blocks.get(at));
        if let Some(block) = focused {
            let y = block.row as f64 * ROW_PX - self.top;
            context.set_stroke_style_str(&self.palette.chosen);
            context.set_line_width(2.0);
            let wide = (block.wide_px - 2.0).max(2.0);
            context.stroke_rect(block.left_px + 1.0, y + 1.5, wide, ROW_PX - 3.0);
        }
    }

    fn filled(
        &self,
        context: &CanvasRenderingContext2d,
        block: &FlameBlock,
        y: f64,
        letter_px: f64,
    ) {
        let Some((color, ink)) = self.palette.blocks.get(block.hue) else {
            return;
        };
        context.set_fill_style_str(color);
        let seam = if block.wide_px > SEAM_PX { 1.0 } else { 0.0 };
        let wide = (block.wide_px - seam).max(0.75);
        context.fill_rect(block.left_px, y + 1.0, wide, ROW_PX - 2.0);
        if let Some(name) = self.names.get(block.name) {
            context.set_fill_style_str(ink);
            let y = (y + ROW_PX / 2.0 + self.text_px / 3.0).round();
            let room = (block.left_px, block.left_px + block.wide_px);
            write(context, name, room, y, letter_px);
        }
    }

    /// Calls that are drawn as one block.
    fn hatched(&self, context: &CanvasRenderingContext2d, block: &FlameBlock, y: f64) {
        let (left, top) = (block.left_px, y + 1.0);
        let (wide, high) = (block.wide_px.max(0.75), ROW_PX - 2.0);
        context.set_fill_style_str(&self.palette.idle);
        context.fill_rect(left, top, wide, high);
        context.save();
        context.begin_path();
        context.rect(left, top, wide, high);
        context.clip();
        context.set_stroke_style_str(&self.palette.ink);
        context.set_line_width(1.0);
        context.set_global_alpha(0.55);
        context.begin_path();
        let mut x = left - high;
        while x < left + wide {
            context.move_to(x, top + high);
            context.line_to(x + high, top);
            x += HATCH_PX;
        }
        context.stroke();
        context.restore();
    }
}
