//! The edge of a column header, for resizing the column by dragging or with the arrow keys.

use leptos::ev::PointerEvent;

use super::table_layout::{LEAST_PX, MOST_PX};
use crate::page::prelude::*;

/// How far an arrow key moves the edge, in design pixels.
const KEY_PX: f64 = 16.0;
/// A pointer that moves less than this is a click.
const LEAST_DRAG_PX: f64 = 2.0;

/// A drag: its start, and the column width at the start.
#[derive(Debug, Clone, Copy)]
struct Drag {
    from_x: f64,
    from_px: f64,
    /// Whether it went far enough to be a drag.
    is_meant: bool,
}

/// The right edge of the header of a column with this width. `set` receives the new width, `None` for the default.
pub fn grip(
    heading: &'static str,
    px: Signal<f64>,
    is_own: Signal<bool>,
    set: impl Fn(Option<f64>) + Copy + 'static,
) -> AnyView {
    let drag = StoredValue::new(None::<Drag>);
    let press = move |event: PointerEvent| {
        if event.button() != 0 {
            return;
        }
        // Prevents text selection while dragging.
        event.prevent_default();
        browser::capture_pointer(&event);
        drag.set_value(Some(Drag {
            from_x: f64::from(event.client_x()),
            from_px: px.get_untracked(),
            is_meant: false,
        }));
    };
    let pull = move |event: PointerEvent| {
        let Some(mut now) = drag.get_value() else {
            return;
        };
        let by_px = (f64::from(event.client_x()) - now.from_x) / browser::design_px();
        now.is_meant |= by_px.abs() >= LEAST_DRAG_PX;
        drag.set_value(Some(now));
        if now.is_meant {
            set(Some(now.from_px + by_px));
        }
    };
    let release = move |_: PointerEvent| drag.set_value(None);
    let on_key = move |event: KeyboardEvent| {
        let wanted = resized_by_key(&event.key(), px.get_untracked());
        if let Some(wanted) = wanted.filter(|_| !browser::has_modifier(&event)) {
            // The table around it handles these keys differently.
            event.prevent_default();
            event.stop_propagation();
            set(wanted);
        }
    };
    let value_text = move || {
        let automatic = if is_own.get() { "" } else { ", automatic" };
        format!("{:.0} px{automatic}", px.get())
    };
    view! {
        <span
            class="grip"
            class:own=move || is_own.get()
            role="separator"
            tabindex="0"
            aria-orientation="vertical"
            aria-label=format!("Width of {heading}")
            aria-valuemin=LEAST_PX.to_string()
            aria-valuemax=MOST_PX.to_string()
            aria-valuenow=move || format!("{:.0}", px.get())
            aria-valuetext=value_text
            title="Drag to resize, double click to fit. Keys: arrows resize, Enter fits"
            on:pointerdown=press
            on:pointermove=pull
            on:pointerup=release
            on:pointercancel=release
            on:dblclick=move |event: MouseEvent| {
                event.stop_propagation();
                set(None);
            }
            on:keydown=on_key
        ></span>
    }
    .into_any()
}

/// The width that a key sets, `None` for the default; nothing for a key with another meaning.
fn resized_by_key(key: &str, now_px: f64) -> Option<Option<f64>> {
    Some(match key {
        "ArrowLeft" => Some(now_px - KEY_PX),
        "ArrowRight" => Some(now_px + KEY_PX),
        "Home" => Some(LEAST_PX),
        "End" => Some(MOST_PX),
        "Enter" | "Delete" | "Backspace" => None,
        _ => return None,
    })
}
