//! Everything the page asks of the browser.

use std::cell::{Cell, RefCell};

use gloo::events::{EventListener, EventListenerOptions};
use gloo::timers::callback::Timeout;
use js_sys::{Array, Object, Promise, Reflect, Uint8Array};
use wasm_bindgen::prelude::*;
use web_sys::{
    Blob, BlobPropertyBag, Document, DragEvent, File, HtmlAnchorElement, HtmlElement,
    HtmlInputElement, KeyboardEvent, PerformanceEntry, PerformanceObserver,
    PerformanceObserverEntryList, PerformanceObserverInit, ResizeObserver, ScrollIntoViewOptions,
    ScrollLogicalPosition, Url, Window, Worker,
};

use crate::url::Theme;

thread_local! {
    /// Listeners that live as long as the page.
    static LISTENERS: RefCell<Vec<EventListener>> = const { RefCell::new(Vec::new()) };
    /// When the hash was last written.
    static LAST_HASH_MS: Cell<f64> = const { Cell::new(f64::NEG_INFINITY) };
    /// A hash that waits to be written.
    static LATE_HASH: RefCell<Option<Timeout>> = const { RefCell::new(None) };
    /// What had the keyboard focus before it went into a panel.
    static FOCUS: RefCell<Option<HtmlElement>> = const { RefCell::new(None) };
}

/// What the loader in `index.html` fetched for the worker.
pub struct WorkerFiles {
    /// The compiled module.
    pub module: JsValue,
    /// A `blob:` URL of the script that starts it. A worker started from it inherits the page's
    /// policy, and starting one makes no request.
    pub script_url: String,
}

/// Lines of the worker's script after wasm-bindgen's glue, which defines `wasm_bindgen`. They wait
/// for the module; from then on `bin/worker.rs` answers. A trap of the module shows up here, as an
/// error or as a promise nobody caught, and is passed on to the page.
const WORKER_SCRIPT_END: &str = "
const crashed = reason => postMessage({ crash: String(reason && reason.message || reason) });
addEventListener('error', event => { event.preventDefault(); crashed(event.error || event.message); });
addEventListener('unhandledrejection', event => crashed(event.reason));
onmessage = event => {
  onmessage = null;
  wasm_bindgen.initSync({ module: event.data });
};
";

fn window() -> Window {
    web_sys::window().expect("the page runs in a window")
}

fn document() -> Document {
    window().document().expect("a window has a document")
}

fn root() -> HtmlElement {
    document()
        .document_element()
        .and_then(|element| element.dyn_into().ok())
        .expect("an HTML document has a root element")
}

/// Milliseconds since the page was opened.
pub fn now_ms() -> f64 {
    window().performance().map_or(0.0, |clock| clock.now())
}

/// The URL's hash, `#` included.
pub fn hash() -> String {
    window().location().hash().unwrap_or_default()
}

/// Changes the hash without a new entry in the history and without a `hashchange` event.
///
/// Browsers refuse more than a few changes a second, and a held arrow key makes thirty: the last
/// one of a burst is written when the burst is over.
pub fn replace_hash(hash: String) {
    const PAUSE_MS: f64 = 400.0;
    let write = move || {
        LAST_HASH_MS.set(now_ms());
        if let Ok(history) = window().history() {
            let _ = history.replace_state_with_url(&JsValue::NULL, "", Some(&hash));
        }
    };
    let waited = now_ms() - LAST_HASH_MS.get();
    if waited >= PAUSE_MS {
        LATE_HASH.set(None);
        write();
    } else {
        let rest = (PAUSE_MS - waited) as u32;
        LATE_HASH.set(Some(Timeout::new(rest, write)));
    }
}

/// Calls back whenever the browser went to another hash: a link, back, forward.
pub fn on_hash_change(mut then: impl FnMut(String) + 'static) {
    keep(EventListener::new(&window(), "hashchange", move |_| {
        // It was about the place that is left.
        LATE_HASH.set(None);
        then(hash());
    }));
}

/// Calls back for every key that no element took for itself.
pub fn on_key(then: impl Fn(&KeyboardEvent) + 'static) {
    let options = EventListenerOptions::enable_prevent_default();
    keep(EventListener::new_with_options(
        &window(),
        "keydown",
        options,
        move |event| {
            if let Some(event) = event.dyn_ref::<KeyboardEvent>()
                && !event.default_prevented()
            {
                then(event);
            }
        },
    ));
}

/// Whether an event comes from an element that takes what is typed.
pub fn types_text(event: &web_sys::Event) -> bool {
    let element = event.target().and_then(|target| target.dyn_into().ok());
    element.is_some_and(|element: web_sys::Element| {
        let field = element.closest("input, select, textarea, [contenteditable]");
        field.is_ok_and(|field| field.is_some())
    })
}

/// Whether a dialog stands before the page.
pub fn has_open_dialog() -> bool {
    let dialog = document().query_selector("dialog[open]");
    dialog.is_ok_and(|dialog| dialog.is_some())
}

/// Goes to another hash, as a link does.
pub fn go_to_hash(hash: &str) {
    let _ = window().location().set_hash(hash);
}

fn keep(listener: EventListener) {
    LISTENERS.with_borrow_mut(|listeners| listeners.push(listener));
}

/// Puts the theme on the root element, where the tokens see it.
pub fn set_theme(theme: Theme) {
    let _ = root().dataset().set("theme", theme.word());
}

/// Names the page in the browser's tab.
pub fn set_title(title: &str) {
    document().set_title(title);
}

/// Tells tests and benchmarks that a report is on screen: how many traces were opened so far, how
/// long the last one took, and the wasm memory its worker holds.
pub fn mark_ready(loads: u32, opened_in_ms: f64, wasm_bytes: f64) {
    let marks = root().dataset();
    let _ = marks.set("wasmBytes", &wasm_bytes.to_string());
    let _ = marks.set("openedMs", &format!("{opened_in_ms:.1}"));
    let _ = marks.set("ready", &loads.to_string());
}

/// Calls back after the next frame was drawn.
pub fn after_paint(then: impl FnOnce() + 'static) {
    let next_task = Closure::once_into_js(move || {
        Timeout::new(0, then).forget();
    });
    let _ = window().request_animation_frame(next_task.unchecked_ref());
}

/// Calls back right before the next frame is drawn.
pub fn before_paint(then: impl FnOnce() + 'static) {
    let then = Closure::once_into_js(then);
    let _ = window().request_animation_frame(then.unchecked_ref());
}

/// The worker's files, as soon as the loader has them. The loader is a plain script: it fetches
/// while the page's own wasm compiles.
pub fn worker_files(
    then: impl FnOnce(WorkerFiles) + 'static,
    failed: impl FnOnce(String) + 'static,
) {
    let promise = Reflect::get(&js_sys::global(), &"dormer".into())
        .and_then(|dormer| Reflect::get(&dormer, &"worker".into()))
        .ok()
        .and_then(|promise| promise.dyn_into::<Promise>().ok());
    let Some(promise) = promise else {
        failed("the page's loader did not run".to_owned());
        return;
    };
    wasm_bindgen_futures::spawn_local(async move {
        match wasm_bindgen_futures::JsFuture::from(promise).await {
            Ok(files) => match read_worker_files(&files) {
                Some(files) => then(files),
                None => failed("the page's loader and the page do not fit together".to_owned()),
            },
            Err(error) => failed(error_text(&error)),
        }
    });
}

fn read_worker_files(files: &JsValue) -> Option<WorkerFiles> {
    let module = Reflect::get(files, &"module".into()).ok()?;
    let glue = Reflect::get(files, &"glue".into()).ok()?.as_string()?;
    let options = BlobPropertyBag::new();
    options.set_type("text/javascript");
    let parts = Array::of2(&glue.into(), &WORKER_SCRIPT_END.into());
    let blob = Blob::new_with_str_sequence_and_options(&parts, &options).ok()?;
    Some(WorkerFiles {
        module,
        script_url: Url::create_object_url_with_blob(&blob).ok()?,
    })
}

/// Starts a worker and gives it the module.
pub fn start_worker(files: &WorkerFiles) -> Result<Worker, String> {
    let worker = Worker::new(&files.script_url).map_err(|error| error_text(&error))?;
    worker
        .post_message(&files.module)
        .map_err(|error| error_text(&error))?;
    Ok(worker)
}

/// What an exception says.
pub fn error_text(error: &JsValue) -> String {
    error
        .dyn_ref::<js_sys::Error>()
        .map(|error| String::from(error.message()))
        .or_else(|| error.as_string())
        .unwrap_or_else(|| format!("{error:?}"))
}

/// A message to the worker, or one part of a message from it.
pub fn message(parts: &[(&str, JsValue)]) -> Object {
    let message = Object::new();
    for (name, value) in parts {
        let _ = Reflect::set(&message, &(*name).into(), value);
    }
    message
}

/// A part of a message; undefined when it is missing.
pub fn part(message: &JsValue, name: &str) -> JsValue {
    Reflect::get(message, &name.into()).unwrap_or(JsValue::UNDEFINED)
}

/// Calls back with the number of requests the page made from now on.
pub fn count_requests(mut changed: impl FnMut(u32) + 'static) {
    let since = now_ms();
    let mut count = 0;
    let callback = Closure::<dyn FnMut(PerformanceObserverEntryList)>::new(
        move |list: PerformanceObserverEntryList| {
            let before = count;
            for entry in list.get_entries() {
                let entry: PerformanceEntry = entry.unchecked_into();
                if entry.start_time() >= since && is_request(&entry.name()) {
                    count += 1;
                }
            }
            if count != before {
                changed(count);
            }
        },
    );
    let observer = PerformanceObserver::new(callback.as_ref().unchecked_ref());
    if let Ok(observer) = observer {
        let options = PerformanceObserverInit::new(&Array::of1(&"resource".into()));
        observer.observe(&options);
        // Both live as long as the page.
        std::mem::forget(observer);
        callback.forget();
    }
}

/// A resource that came over the network: blobs and data URLs never leave the page.
pub fn is_request(url: &str) -> bool {
    !url.starts_with("blob:") && !url.starts_with("data:")
}

/// What a drag over the window does.
pub enum Drag {
    /// A file hovers over the window.
    Over(Half),
    /// It left.
    Gone,
    /// Files were dropped.
    Dropped(Vec<File>, Half),
}

/// Half of the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Half {
    /// The left one.
    Left,
    /// The right one.
    Right,
}

impl Half {
    fn of(event: &DragEvent) -> Half {
        let width = window().inner_width().ok().and_then(|width| width.as_f64());
        match width.is_some_and(|width| f64::from(event.client_x()) > width / 2.0) {
            true => Half::Right,
            false => Half::Left,
        }
    }
}

/// Makes the whole window a drop zone.
pub fn on_drag(then: impl Fn(Drag) + Clone + 'static) {
    // `dragleave` also fires on the way from one element to the next; only when the innermost
    // element that was entered is left has the pointer gone from the window.
    let innermost: std::rc::Rc<RefCell<Option<web_sys::EventTarget>>> = Default::default();
    let listen = |kind: &'static str, handle: Box<dyn Fn(&DragEvent)>| {
        let options = EventListenerOptions::enable_prevent_default();
        keep(EventListener::new_with_options(
            &window(),
            kind,
            options,
            move |event| {
                if let Some(event) = event.dyn_ref::<DragEvent>()
                    && carries_files(event)
                {
                    event.prevent_default();
                    handle(event);
                }
            },
        ));
    };
    let (entered, over) = (innermost.clone(), then.clone());
    listen(
        "dragenter",
        Box::new(move |event| {
            entered.replace(event.target());
            over(Drag::Over(Half::of(event)));
        }),
    );
    let over = then.clone();
    listen(
        "dragover",
        Box::new(move |event| over(Drag::Over(Half::of(event)))),
    );
    let gone = then.clone();
    listen(
        "dragleave",
        Box::new(move |event| {
            if *innermost.borrow() == event.target() {
                gone(Drag::Gone);
            }
        }),
    );
    listen(
        "drop",
        Box::new(move |event| {
            let files = event.data_transfer().and_then(|data| data.files());
            let files = files.map(all_files).unwrap_or_default();
            then(match files.is_empty() {
                true => Drag::Gone,
                false => Drag::Dropped(files, Half::of(event)),
            });
        }),
    );
}

fn carries_files(event: &DragEvent) -> bool {
    event
        .data_transfer()
        .is_some_and(|data| data.types().includes(&"Files".into(), 0))
}

/// Watches an element's size until it is dropped.
pub struct ResizeWatch {
    observer: ResizeObserver,
    _callback: Closure<dyn FnMut()>,
}

impl Drop for ResizeWatch {
    fn drop(&mut self) {
        self.observer.disconnect();
    }
}

/// Calls back whenever an element changes its size.
pub fn on_resize(element: &web_sys::Element, then: impl FnMut() + 'static) -> Option<ResizeWatch> {
    let callback = Closure::<dyn FnMut()>::new(then);
    let observer = ResizeObserver::new(callback.as_ref().unchecked_ref()).ok()?;
    observer.observe(element);
    Some(ResizeWatch {
        observer,
        _callback: callback,
    })
}

fn all_files(list: web_sys::FileList) -> Vec<File> {
    (0..list.length()).filter_map(|at| list.get(at)).collect()
}

/// The files a file input holds. The input is emptied, so that they can be chosen again.
pub fn take_files(event: &web_sys::Event) -> Vec<File> {
    let input = event
        .target()
        .and_then(|target| target.dyn_into::<HtmlInputElement>().ok());
    let Some(input) = input else {
        return Vec::new();
    };
    let files = input.files().map(all_files).unwrap_or_default();
    input.set_value("");
    files
}

/// The file a file input holds. The input is emptied, so that the same file can be chosen again.
pub fn take_file(event: &web_sys::Event) -> Option<File> {
    let input: HtmlInputElement = event.target()?.dyn_into().ok()?;
    let file = input.files()?.get(0);
    input.set_value("");
    file
}

/// Reads a small file as text; `then` hears `None` where that fails.
pub fn read_text(file: &File, then: impl FnOnce(Option<String>) + 'static) {
    let text = file.text();
    wasm_bindgen_futures::spawn_local(async move {
        let text = wasm_bindgen_futures::JsFuture::from(text).await;
        then(text.ok().and_then(|text| text.as_string()));
    });
}

/// What stands in a text field; empty where there is none.
pub fn input_value(id: &str) -> String {
    input(id).map_or(String::new(), |input| input.value())
}

/// Whether a box or a radio button is ticked.
pub fn is_checked(id: &str) -> bool {
    input(id).is_some_and(|input| input.checked())
}

fn input(id: &str) -> Option<HtmlInputElement> {
    document().get_element_by_id(id)?.dyn_into().ok()
}

/// A text as JSON writes it, quotes included.
pub fn json_text(text: &str) -> String {
    let json = js_sys::JSON::stringify(&JsValue::from_str(text));
    json.map_or_else(|_| "\"\"".to_owned(), String::from)
}

/// A text that the user asked this browser to keep. Browsers may forbid all keeping.
pub fn kept(key: &str) -> Option<String> {
    window().local_storage().ok()??.get_item(key).ok()?
}

/// Keeps a text in this browser, or forgets it.
pub fn keep_text(key: &str, text: Option<&str>) {
    if let Ok(Some(storage)) = window().local_storage() {
        let _ = match text {
            Some(text) => storage.set_item(key, text),
            None => storage.remove_item(key),
        };
    }
}

/// Opens the file dialog of the page's file input.
pub fn choose_file() {
    click("file-input");
}

/// Opens the file dialog for the trace that the open one is held against.
pub fn choose_reference() {
    click("reference-input");
}

fn click(id: &str) {
    if let Some(element) = document().get_element_by_id(id) {
        let _ = element
            .dyn_into::<HtmlElement>()
            .map(|element| element.click());
    }
}

/// Puts the keyboard focus on an element.
pub fn focus_on(id: &str) {
    if let Some(element) = document().get_element_by_id(id) {
        let _ = element
            .dyn_into::<HtmlElement>()
            .map(|element| element.focus());
    }
}

/// What has the keyboard focus; `None` where nothing has.
fn focused() -> Option<HtmlElement> {
    let element: HtmlElement = document().active_element()?.dyn_into().ok()?;
    let is_body = document().body().is_some_and(|body| body == element);
    (!is_body).then_some(element)
}

/// Remembers what has the keyboard focus, for [`return_focus`].
pub fn remember_focus() {
    FOCUS.set(focused());
}

/// Puts the keyboard focus back on what was remembered; where that is gone, on the first of these
/// that is there.
pub fn return_focus(others: &[&str]) {
    let before = FOCUS.take().filter(|element| element.is_connected());
    let first = |css: &&str| document().query_selector(css).ok().flatten();
    let before = before.or_else(|| others.iter().find_map(first)?.dyn_into().ok());
    if let Some(element) = before {
        let _ = element.focus();
    }
}

/// Where the keyboard focus is lost, or in an element of a view that was left: puts it on the first
/// of the wanted ones as soon as that is there, or in the end on the element of an id.
pub fn catch_focus(left: Option<&'static str>, wanted: &'static [&'static str], id: &'static str) {
    const TRIES: u32 = 8;
    fn attempt(
        left: Option<&'static str>,
        wanted: &'static [&'static str],
        id: &'static str,
        tries: u32,
    ) {
        let is_left = |focused: &HtmlElement| {
            let around = left.map(|css| focused.closest(css));
            matches!(around, Some(Ok(Some(_))))
        };
        if focused().is_some_and(|focused| !is_left(&focused)) {
            return;
        }
        let first = |css: &&str| document().query_selector(css).ok().flatten();
        let found = wanted.iter().find_map(first);
        match found.and_then(|element| element.dyn_into::<HtmlElement>().ok()) {
            Some(element) => drop(element.focus()),
            None if tries == TRIES => focus_on(id),
            None => {
                let again = move || attempt(left, wanted, id, tries + 1);
                Timeout::new(60, again).forget();
            }
        }
    }
    after_paint(move || attempt(left, wanted, id, 0));
}

/// Whether the keyboard focus goes from an element to one outside it.
pub fn focus_leaves(element: &web_sys::Element, event: &web_sys::FocusEvent) -> bool {
    event
        .related_target()
        .and_then(|to| to.dyn_into::<web_sys::Node>().ok())
        .is_some_and(|to| !element.contains(Some(&to)))
}

/// Where the pointer is, from an element's upper left corner.
pub fn pointer_in(element: &web_sys::Element, event: &web_sys::MouseEvent) -> (f64, f64) {
    let corner = element.get_bounding_client_rect();
    (
        f64::from(event.client_x()) - corner.left(),
        f64::from(event.client_y()) - corner.top(),
    )
}

/// Sends everything of a pressed pointer to the element it was pressed on, wherever it goes.
pub fn capture_pointer(event: &web_sys::PointerEvent) {
    let element = event.current_target().or_else(|| event.target());
    if let Some(element) = element.and_then(|target| target.dyn_into::<web_sys::Element>().ok()) {
        // A pointer that is gone already needs no capture.
        let _ = element.set_pointer_capture(event.pointer_id());
    }
}

/// The colour and the background of the first element of a selector, as a canvas takes them.
pub fn colours_of(css: &str) -> (String, String) {
    let style = document()
        .query_selector(css)
        .ok()
        .flatten()
        .and_then(|element| window().get_computed_style(&element).ok().flatten());
    let colour = |name: &str| {
        let value = style.as_ref().map(|style| style.get_property_value(name));
        value.and_then(Result::ok).unwrap_or_default()
    };
    (colour("color"), colour("background-color"))
}

/// How many CSS pixels a pixel of the design takes: `--u` of `app/style/tokens.css`.
pub fn design_px() -> f64 {
    let style = document()
        .document_element()
        .and_then(|root| window().get_computed_style(&root).ok().flatten());
    let unit = style.and_then(|style| style.get_property_value("--u").ok());
    unit.and_then(|unit| unit.trim().strip_suffix("px")?.parse().ok())
        .filter(|unit| *unit > 0.0)
        .unwrap_or(1.0)
}

/// Scrolls as little as it takes to show an element.
pub fn bring_into_view(css: &str) {
    if let Ok(Some(element)) = document().query_selector(css) {
        let options = ScrollIntoViewOptions::new();
        options.set_block(ScrollLogicalPosition::Nearest);
        options.set_inline(ScrollLogicalPosition::Nearest);
        element.scroll_into_view_with_scroll_into_view_options(&options);
    }
}

/// Scrolls an element to the top and puts the keyboard focus on it.
pub fn go_to_element(id: &str) {
    if let Some(element) = document().get_element_by_id(id) {
        element.scroll_into_view();
        focus_on(id);
    }
}

/// Scrolls what stands in an element back to its beginning.
pub fn scroll_to_top(id: &str) {
    if let Some(element) = document().get_element_by_id(id) {
        element.set_scroll_top(0);
    }
}

/// Calls back whenever an element scrolls, until what it returns is dropped.
pub fn on_scroll(id: &str, then: impl Fn() + 'static) -> Option<EventListener> {
    let element = document().get_element_by_id(id)?;
    Some(EventListener::new(&element, "scroll", move |_| then()))
}

/// The last of some elements, in order, that has come near the top of the one that scrolls.
pub fn last_passed(scroller: &str, ids: &[String]) -> Option<String> {
    /// What stands in this part of its height is being read already.
    const PASSED: f64 = 0.25;
    let place = |id: &str| -> Option<(f64, f64)> {
        let place = document().get_element_by_id(id)?.get_bounding_client_rect();
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

/// Hands bytes to the user as a file.
pub fn download(file_name: &str, mime: &str, bytes: &Uint8Array) {
    let options = BlobPropertyBag::new();
    options.set_type(mime);
    let Ok(blob) = Blob::new_with_u8_array_sequence_and_options(&Array::of1(bytes), &options)
    else {
        return;
    };
    let Ok(url) = Url::create_object_url_with_blob(&blob) else {
        return;
    };
    let link = document()
        .create_element("a")
        .ok()
        .and_then(|element| element.dyn_into::<HtmlAnchorElement>().ok());
    if let Some(link) = link {
        link.set_href(&url);
        link.set_download(file_name);
        link.click();
    }
    // The browser reads the blob after this task.
    Timeout::new(60_000, move || {
        let _ = Url::revoke_object_url(&url);
    })
    .forget();
}

/// Copies text to the clipboard; `done` hears whether it went well.
pub fn copy(text: &str, done: impl FnOnce(bool) + 'static) {
    let navigator = window().navigator();
    // Without a secure context (plain HTTP from another machine) there is no clipboard.
    if part(&navigator, "clipboard").is_undefined() {
        done(false);
        return;
    }
    let promise = navigator.clipboard().write_text(text);
    wasm_bindgen_futures::spawn_local(async move {
        done(wasm_bindgen_futures::JsFuture::from(promise).await.is_ok());
    });
}
