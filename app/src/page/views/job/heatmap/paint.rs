//! Paints the heatmap on its canvas.

use dormer_core::job::overview::Measure;
use web_sys::{CanvasRenderingContext2d, HtmlCanvasElement};

use super::AXIS_PX;
use super::model::Heatmap;
use super::scene::{Grid, Row, Scale, value};
use crate::page::components::canvas::{Palette, context_of, letter_px, text_px, write_whole};
use crate::page::prelude::*;

impl Heatmap {
    pub(super) fn paint(self, canvas: &HtmlCanvasElement) {
        let (grid, width) = (
            self.grid.get_untracked(),
            self.canvas.size.get_untracked().0,
        );
        let height = grid.height_px() + AXIS_PX;
        let Some(context) = context_of(canvas, width, height, text_px()) else {
            return;
        };
        let palette = self.canvas.palette.get_untracked();
        untrack(|| {
            self.with_measure(|overview, measure| {
                self.rows.with(|rows| {
                    cells(&context, measure, rows, &palette, &grid);
                    context.set_fill_style_str(&palette.ink);
                    row_labels(&context, rows, &grid);
                });
                step_labels(&context, &overview.steps, &grid, width);
                Some(())
            })
        });
    }
}

fn cells(
    context: &CanvasRenderingContext2d,
    measure: &Measure,
    rows: &[Row],
    palette: &Palette,
    grid: &Grid,
) {
    let scale = Scale::new(measure);
    let seam = |px: f64| if px > 5.0 { 1.0 } else { 0.0 };
    let [wide, high] = [grid.step_px, grid.row_px].map(|px| (px - seam(px)).max(0.5));
    for (at, row) in rows.iter().enumerate() {
        for step in 0..grid.n_steps {
            let color = scale.zip(value(measure, row, step));
            let color = color.and_then(|(scale, number)| palette.blocks.get(scale.level(number)));
            if let Some((color, _)) = color {
                let (left, top) = grid.corner(at, step);
                context.set_fill_style_str(color);
                context.fill_rect(left, top, wide, high);
            }
        }
    }
}

/// Labels that do not fit are left to the table.
fn row_labels(context: &CanvasRenderingContext2d, rows: &[Row], grid: &Grid) {
    let text_px = text_px();
    let mut written_to = 0.0;
    for (at, row) in rows.iter().enumerate() {
        let (_, top) = grid.corner(at, 0);
        let y = (top + grid.row_px / 2.0 + text_px / 3.0).max(text_px);
        if y - text_px >= written_to {
            let _ = context.fill_text_with_max_width(&row.label(), 0.0, y, grid.gutter_px - 6.0);
            written_to = y + 0.2 * text_px;
        }
    }
}

fn step_labels(context: &CanvasRenderingContext2d, steps: &[String], grid: &Grid, width: f64) {
    let longest = steps.iter().map(|step| step.chars().count()).max();
    let needed = (longest.unwrap_or(0) as f64 + 1.0) * letter_px(context);
    let every = (needed / grid.step_px.max(0.1)).ceil().max(1.0) as usize;
    for (at, step) in steps.iter().enumerate().step_by(every) {
        let (left, _) = grid.corner(0, at);
        write_whole(context, step, left, width, grid.height_px() + AXIS_PX - 5.0);
    }
}
