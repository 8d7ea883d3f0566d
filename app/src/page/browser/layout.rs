//! Sizes, positions and scrolling of elements.

use std::cell::Cell;

use gloo::events::EventListener;
use leptos::html::Div;
use leptos::mount::mount_to;
use leptos::prelude::*;
use wasm_bindgen::prelude::*;
use web_sys::{HtmlElement, ResizeObserver, ScrollIntoViewOptions, ScrollLogicalPosition};

use super::{by_id, document, first, focus_on, window};

/// Watches an element's size until it is dropped.
struct ResizeWatch {
    observer: ResizeObserver,
    _callback: Closure<dyn FnMut()>,
}

impl Drop for ResizeWatch {
    fn drop(&mut self) {
        self.observer.disconnect();
    }
}

fn on_resize(element: &web_sys::Element, then: impl FnMut() + 'static) -> Option<ResizeWatch> {
    let callback = Closure::<dyn FnMut()>::new(then);
    let observer = ResizeObserver::new(callback.as_ref().unchecked_ref()).ok()?;
    observer.observe(element);
    Some(ResizeWatch {
        observer,
        _callback: callback,
    })
}

/// Calls back with the width and height of an element as soon as it exists, and whenever they change.
pub fn follow_size(element: NodeRef<Div>, then: impl Fn(f64, f64) + Clone + 'static) {
    Effect::new(move || {
        if let Some(element) = element.get() {
            let (watched, then) = (element.clone(), then.clone());
            let measure = move || {
                let (width, height) = (watched.client_width(), watched.client_height());
                then(f64::from(width), f64::from(height));
            };
            measure();
            let watch = StoredValue::new_local(on_resize(&element, measure));
            on_cleanup(move || watch.dispose());
        }
    });
}

/// Lays out a view where nobody sees it, and removes it in the same task: nothing of it is painted or read aloud.
pub fn lay_out_unseen<V: IntoView + 'static>(view: impl FnOnce() -> V + 'static) {
    let place = document().create_element("div");
    let (Ok(place), Some(body)) = (
        place.map(JsCast::unchecked_into::<HtmlElement>),
        document().body(),
    ) else {
        return;
    };
    place.set_class_name("laid-out-unseen");
    if body.append_child(&place).is_ok() {
        let drawn = mount_to(place.clone(), view);
        place.offset_height();
        drop(drawn);
    }
    place.remove();
}

/// The width of an element, updated when it changes noticeably.
pub fn width_of(element: NodeRef<Div>) -> RwSignal<f64> {
    let width = RwSignal::new(0.0_f64);
    follow_size(element, move |now, _| {
        if (width.get_untracked() - now).abs() > 0.5 {
            width.set(now);
        }
    });
    width
}

/// The pointer's position relative to an element's upper left corner; `None` if the element is gone.
pub fn pointer_at(element: NodeRef<Div>, event: &web_sys::MouseEvent) -> Option<(f64, f64)> {
    let corner = element.get_untracked()?.get_bounding_client_rect();
    Some((
        f64::from(event.client_x()) - corner.left(),
        f64::from(event.client_y()) - corner.top(),
    ))
}

/// Sends all events of a pressed pointer to the element it was pressed on, wherever it moves.
pub fn capture_pointer(event: &web_sys::PointerEvent) {
    let element = event.current_target().or_else(|| event.target());
    if let Some(element) = element.and_then(|target| target.dyn_into::<web_sys::Element>().ok()) {
        // A pointer that is gone already needs no capture.
        let _ = element.set_pointer_capture(event.pointer_id());
    }
}

/// The color and the background of the first element that matches a selector, as canvas styles.
pub fn colors_of(css: &str) -> (String, String) {
    let style = first(css).and_then(|element| window().get_computed_style(&element).ok()?);
    let color = |name: &str| {
        let value = style.as_ref().map(|style| style.get_property_value(name));
        value.and_then(Result::ok).unwrap_or_default()
    };
    (color("color"), color("background-color"))
}

/// How many CSS pixels one design pixel takes: `--u` of `app/style/tokens.css`.
pub fn design_px() -> f64 {
    token_px("--u").unwrap_or(1.0)
}

/// A length of `app/style/tokens.css` that is written in pixels.
pub fn token_px(token: &str) -> Option<f64> {
    let root = document().document_element()?;
    let style = window().get_computed_style(&root).ok()??;
    let px = style.get_property_value(token).ok()?;
    let px: f64 = px.trim().strip_suffix("px")?.parse().ok()?;
    (px > 0.0).then_some(px)
}

/// The width of a letter of the page's monospaced font, as a share of the font size. Measured once.
pub fn mono_letter() -> f64 {
    /// True of most monospaced fonts.
    const USUAL: f64 = 0.602;
    thread_local! {
        static SHARE: Cell<Option<f64>> = const { Cell::new(None) };
    }
    SHARE.get().unwrap_or_else(|| {
        let share = measured_mono_letter().filter(|share| (0.3..1.0).contains(share));
        let share = share.unwrap_or(USUAL);
        SHARE.set(Some(share));
        share
    })
}

fn measured_mono_letter() -> Option<f64> {
    const SIZE_PX: f64 = 100.0;
    let root = document().document_element()?;
    let style = window().get_computed_style(&root).ok()??;
    let family = style.get_property_value("--mono").ok()?;
    let canvas = document().create_element("canvas").ok()?;
    let canvas: web_sys::HtmlCanvasElement = canvas.dyn_into().ok()?;
    let context = canvas.get_context("2d").ok()??;
    let context: web_sys::CanvasRenderingContext2d = context.dyn_into().ok()?;
    context.set_font(&format!("{SIZE_PX}px {family}"));
    Some(context.measure_text("0").ok()?.width() / SIZE_PX)
}

/// Scrolls an element into view, as little as needed.
pub fn bring_into_view(css: &str) {
    if let Some(element) = first(css) {
        let options = ScrollIntoViewOptions::new();
        options.set_block(ScrollLogicalPosition::Nearest);
        options.set_inline(ScrollLogicalPosition::Nearest);
        element.scroll_into_view_with_scroll_into_view_options(&options);
    }
}

/// Scrolls an element to the top and puts the keyboard focus on it.
pub fn go_to_element(id: &str) {
    if let Some(element) = by_id::<web_sys::Element>(id) {
        element.scroll_into_view();
        focus_on(id);
    }
}

/// Scrolls the content of an element back to its start.
pub fn scroll_to_top(id: &str) {
    if let Some(element) = by_id::<web_sys::Element>(id) {
        element.set_scroll_top(0);
    }
}

/// Calls back whenever an element scrolls, until the returned listener is dropped.
pub fn on_scroll(id: &str, then: impl Fn() + 'static) -> Option<EventListener> {
    let element: web_sys::Element = by_id(id)?;
    Some(EventListener::new(&element, "scroll", move |_| then()))
}

/// The last of the given elements, in order, that has come near the top of the scrolling one.
pub fn last_passed(scroller: &str, ids: &[String]) -> Option<String> {
    /// What is in this upper part of its height counts as being read.
    const PASSED: f64 = 0.25;
    let place = |id: &str| -> Option<(f64, f64)> {
        let place = by_id::<web_sys::Element>(id)?.get_bounding_client_rect();
        Some((place.top(), place.height()))
    };
    let (top, height) = place(scroller)?;
    let line = top + PASSED * height;
    let is_passed = |id: &&String| place(id).is_some_and(|(top, _)| top <= line);
    let passed = ids.iter().take_while(is_passed);
    passed.last().cloned()
}

/// Whether the window is at least this wide, in CSS pixels.
pub fn is_wider_than(px: f64) -> bool {
    let width = window().inner_width().ok().and_then(|width| width.as_f64());
    width.is_some_and(|width| width > px)
}
