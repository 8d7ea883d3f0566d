//! What canvases with named blocks share: the page's colors, the drawing context, and labels that fit.

use leptos::html::Canvas;
use wasm_bindgen::JsCast;
use web_sys::{CanvasRenderingContext2d, HtmlCanvasElement};

use crate::page::prelude::*;

/// Letters typical of block names, to measure their average width.
const LETTERS: &str = "aten::copy_ nn.Module record_params";
/// Free space on both sides of a name.
const MARGIN_PX: f64 = 4.0;
/// Fewer letters are not shown.
const LEAST_LETTERS: f64 = 4.0;
/// When a name is cut to fewer letters than this, its start says more than its end.
const SHORT: usize = 14;

/// The page's colors, as canvas styles.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Palette {
    /// By hue: the color of a block, and of the text on it.
    pub blocks: Vec<(String, String)>,
    pub ink: String,
    /// Lines.
    pub line: String,
    /// Idle time and hatching.
    pub idle: String,
    /// The selection.
    pub chosen: String,
    /// The background.
    pub ground: String,
}

impl Palette {
    /// Reads the colors of tokens from the [`probes`] of the view.
    fn read(tokens: &[String]) -> Palette {
        let block = |token: &String| browser::colors_of(&format!(".probe.c-{token}"));
        let (ink, idle) = browser::colors_of(".probe.page");
        let (line, chosen) = browser::colors_of(".probe.strokes");
        let (_, ground) = browser::colors_of(".probe.ground");
        Palette {
            blocks: tokens.iter().map(block).collect(),
            ink,
            line,
            idle,
            chosen,
            ground,
        }
    }
}

/// A canvas as large as its visible part; the content is scrolled. `Copy`, so pass it around.
#[derive(Clone, Copy, Default)]
pub struct CanvasState {
    /// Width and height of the visible part.
    pub size: RwSignal<(f64, f64)>,
    /// The scroll position.
    pub top: RwSignal<f64>,
    /// Its colors.
    pub palette: RwSignal<Palette>,
    /// Whether a repaint is scheduled.
    is_scheduled: StoredValue<bool>,
}

impl CanvasState {
    /// Sets the size.
    pub fn resize(self, width: f64, height: f64) {
        let (old_width, old_height) = self.size.get_untracked();
        if (old_width - width).abs() > 0.5 || (old_height - height).abs() > 0.5 {
            self.size.set((width, height));
        }
    }

    /// The class of a tooltip at a position: to the left of it and above it, where there is more room.
    pub fn hint_class(self, x: f64, y: f64) -> &'static str {
        const FAR: f64 = 0.5;
        let (width, height) = self.size.get_untracked();
        match (x > FAR * width, y > FAR * height) {
            (false, false) => "hint-card",
            (true, false) => "hint-card left",
            (false, true) => "hint-card above",
            (true, true) => "hint-card left above",
        }
    }

    /// Schedules a repaint of an element whenever the stage changes, or what the calling effect tracks besides.
    pub fn repaint_on(
        self,
        canvas: NodeRef<Canvas>,
        paint: impl FnOnce(&HtmlCanvasElement) + 'static,
    ) {
        self.repaint(move || {
            if let Some(canvas) = canvas.try_get_untracked().flatten() {
                paint(&canvas);
            }
        });
    }

    /// Schedules a repaint whenever the stage changes, or what the calling effect tracks besides; at most one at a
    /// time.
    pub fn repaint(self, paint: impl FnOnce() + 'static) {
        self.size.track();
        self.top.track();
        self.palette.track();
        if !self.is_scheduled.get_value() {
            self.is_scheduled.set_value(true);
            browser::before_paint(move || {
                // The view may be gone by then.
                if !self.is_scheduled.is_disposed() {
                    self.is_scheduled.set_value(false);
                    paint();
                }
            });
        }
    }
}

/// Invisible elements with the colors of tokens. A canvas reads its palette from them, again whenever the colors of the
/// page or of the system change.
pub fn probes(canvas: CanvasState, tokens: Signal<Vec<String>>) -> impl IntoView {
    let state = expect_context::<AppState>();
    Effect::new(move || {
        state.track_colors();
        let tokens = tokens.get();
        // By then, the elements exist and have the new colors.
        browser::before_paint(move || {
            let palette = Palette::read(&tokens);
            if canvas.palette.try_with_untracked(|old| *old != palette) == Some(true) {
                canvas.palette.set(palette);
            }
        });
    });
    let blocks = move || {
        let tokens = tokens.get().into_iter();
        let probe = |token: String| view! { <i class=format!("probe c-{token}")></i> };
        tokens.map(probe).collect_view()
    };
    view! {
        <div class="probes" aria-hidden="true">
            {blocks}
            <i class="probe page"></i>
            <i class="probe strokes"></i>
            <i class="probe ground"></i>
        </div>
    }
}

/// A name shortened to this many letters. A number at the end, as in "layer 12", is kept, because it distinguishes the
/// name from its neighbors.
fn shortened(name: &str, letters: usize) -> String {
    if letters >= SHORT {
        return format::middle_ellipsis(name, letters);
    }
    let number = name
        .rsplit_once(' ')
        .map(|(_, last)| last)
        .filter(|last| last.len() <= letters && last.bytes().all(|letter| letter.is_ascii_digit()));
    if let Some(number) = number.filter(|_| name.chars().count() > letters) {
        return number.to_owned();
    }
    match name.char_indices().nth(letters) {
        None => name.to_owned(),
        Some(_) => {
            let kept = name.chars().take(letters.saturating_sub(1));
            kept.chain(['…']).collect()
        }
    }
}

/// The text size on a canvas: it scales with the page, as far as the row height allows.
pub fn text_px() -> f64 {
    (11.0 * browser::design_px()).min(14.0)
}

/// The average width of a letter in the context's font.
pub fn letter_px(context: &CanvasRenderingContext2d) -> f64 {
    let wide = context
        .measure_text(LETTERS)
        .map_or(0.0, |text| text.width());
    (wide / LETTERS.len() as f64).max(1.0)
}

/// Writes as much of a name as fits a block; nothing if too few letters fit. Text wider than average is condensed.
pub fn write(
    context: &CanvasRenderingContext2d,
    name: &str,
    (left, right): (f64, f64),
    y: f64,
    letter_px: f64,
) {
    let room_px = right - left - 2.0 * MARGIN_PX;
    let letters = (room_px / letter_px).floor();
    if letters >= LEAST_LETTERS {
        let name = shortened(name, letters as usize);
        // If the canvas cannot draw text, the block has no name.
        let _ = context.fill_text_with_max_width(&name, left + MARGIN_PX, y, room_px);
    }
}

/// Writes a text from `x` on, unless it would end beyond `right`: a cut number reads as another one.
pub fn write_whole(context: &CanvasRenderingContext2d, text: &str, x: f64, right: f64, y: f64) {
    let wide = context.measure_text(text).map_or(0.0, |text| text.width());
    if x + wide <= right {
        let _ = context.fill_text(text, x, y);
    }
}

/// Sizes and clears a canvas and returns its drawing context; the sizes are in CSS pixels.
pub fn context_of(
    canvas: &HtmlCanvasElement,
    width: f64,
    height: f64,
    text_px: f64,
) -> Option<CanvasRenderingContext2d> {
    let dense = web_sys::window()?.device_pixel_ratio().max(1.0);
    let (wide, high) = (
        (width * dense).round() as u32,
        (height * dense).round() as u32,
    );
    if canvas.width() != wide {
        canvas.set_width(wide);
    }
    if canvas.height() != high {
        canvas.set_height(high);
    }
    let context: CanvasRenderingContext2d = canvas.get_context("2d").ok()??.dyn_into().ok()?;
    context
        .set_transform(dense, 0.0, 0.0, dense, 0.0, 0.0)
        .ok()?;
    context.clear_rect(0.0, 0.0, width, height);
    context.set_font(&format!("{text_px}px system-ui, sans-serif"));
    Some(context)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_name_keeps_its_beginning_and_a_longer_one_its_end_too() {
        assert_eq!(shortened("aten::addmm", 11), "aten::addmm");
        assert_eq!(shortened("aten::addmm", 8), "aten::a…");
        assert_eq!(shortened("layer 12", 8), "layer 12");
        assert_eq!(shortened("layer 12", 7), "12");
        let long = shortened("ncclDevKernel_AllReduce_RING_LL", 16);
        assert!(long.starts_with("nccl") && long.ends_with("LL"), "{long}");
        assert!(long.chars().count() <= 16, "{long}");
    }
}
