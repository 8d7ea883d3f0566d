//! Files that come in by drop or file dialog, and go out as downloads and copies.

use std::cell::RefCell;

use dormer_core::base::sort::Arrange;
use gloo::events::{EventListener, EventListenerOptions};
use gloo::timers::callback::Timeout;
use js_sys::{Array, Function, Promise, Reflect, Uint8Array};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;
use web_sys::{
    Blob, BlobPropertyBag, DragEvent, File, HtmlAnchorElement, HtmlElement, HtmlInputElement, Url,
};

use super::{by_id, document, keep, window};
use crate::protocol::wire::{error_text, part};

/// A drag over the window.
pub enum Drag {
    /// A file hovers over the window.
    Over(Half),
    /// It left.
    Gone,
    Dropped(Dropped, Half),
}

/// What was dropped.
pub struct Dropped {
    /// Files, with the folders they came in.
    pub files: Vec<(String, File)>,
    /// The name of the first folder, if any.
    pub folder: Option<String>,
}

/// Up to this many files belong together: a trace with its captures, or two traces to compare.
const FEW: usize = 4;

impl Dropped {
    /// Whether the user is asked to choose among the files: they come from a folder or an archive, or are many.
    pub fn is_to_choose(&self) -> bool {
        self.folder.is_some() || self.files.len() > FEW
    }
}

/// A half of the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Half {
    Left,
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
    // `dragleave` also fires when the pointer moves between elements; it has left the window only when it leaves the
    // innermost element that it entered.
    let innermost: std::rc::Rc<RefCell<Option<web_sys::EventTarget>>> = Default::default();
    for kind in ["dragenter", "dragover", "dragleave", "drop"] {
        let (innermost, then) = (innermost.clone(), then.clone());
        let on_event = move |event: &web_sys::Event| {
            let Some(event) = event.dyn_ref().filter(|event| has_files(event)) else {
                return;
            };
            event.prevent_default();
            let half = Half::of(event);
            match kind {
                "dragenter" => {
                    innermost.replace(event.target());
                    then(Drag::Over(half));
                }
                "dragover" => then(Drag::Over(half)),
                "dragleave" if *innermost.borrow() == event.target() => then(Drag::Gone),
                "drop" => {
                    let then = then.clone();
                    take(event, move |dropped| {
                        then(match dropped.files.is_empty() && dropped.folder.is_none() {
                            true => Drag::Gone,
                            false => Drag::Dropped(dropped, half),
                        });
                    });
                }
                _ => {}
            }
        };
        let options = EventListenerOptions::enable_prevent_default();
        let listener = EventListener::new_with_options(&window(), kind, options, on_event);
        keep(listener);
    }
}

/// Takes the files of an event.
fn take(event: &DragEvent, then: impl FnOnce(Dropped) + 'static) {
    let Some(data) = event.data_transfer() else {
        return;
    };
    // The entries are only available while the event is being handled.
    let items = part(&data, "items");
    let n_items = part(&items, "length").as_f64().unwrap_or(0.0) as u32;
    let item = |at| js_sys::Reflect::get_u32(&items, at).ok();
    let entries = (0..n_items).filter_map(|at| call(&item(at)?, "webkitGetAsEntry", &[]));
    let entries = entries.filter(|entry| !entry.is_null()).collect();
    take_entries(
        entries,
        data.files().map(all_files).unwrap_or_default(),
        then,
    );
}

/// Takes what was dropped before the app was loaded; the loader in `boot.js` has kept it.
pub fn take_waiting_drop(then: impl FnOnce(Dropped) + 'static) {
    let held = part(&part(&js_sys::global(), "dormer"), "dropped");
    let list = |name| part(&held, name).dyn_into::<Array>().unwrap_or_default();
    let files: Vec<File> = list("files").iter().map(JsCast::unchecked_into).collect();
    if !files.is_empty() {
        take_entries(list("entries").iter().collect(), files, then);
    }
}

/// Takes files; folders are read recursively.
fn take_entries(entries: Vec<JsValue>, files: Vec<File>, then: impl FnOnce(Dropped) + 'static) {
    let is_folder = |entry: &&JsValue| part(entry, "isDirectory").is_truthy();
    let folder = entries.iter().find(is_folder);
    let folder = folder.and_then(|entry| part(entry, "name").as_string());
    if folder.is_none() {
        let files = files.into_iter().map(|file| (file.name(), file)).collect();
        then(Dropped { files, folder });
        return;
    }
    wasm_bindgen_futures::spawn_local(async move {
        let files = files_below(entries).await;
        then(Dropped { files, folder });
    });
}

/// All files below the given entries, in order of their paths.
async fn files_below(entries: Vec<JsValue>) -> Vec<(String, File)> {
    /// A folder with more files than this is not a folder of traces.
    const MOST: usize = 5_000;
    let mut files: Vec<(String, File)> = Vec::new();
    let mut open = entries;
    while let Some(entry) = open.pop() {
        if files.len() + open.len() > MOST {
            break;
        }
        if part(&entry, "isFile").is_truthy() {
            let path = part(&entry, "fullPath").as_string().unwrap_or_default();
            if let Some(file) = called_back(&entry, "file").await {
                files.push((
                    path.trim_start_matches('/').to_owned(),
                    file.unchecked_into(),
                ));
            }
            continue;
        }
        let Some(reader) = call(&entry, "createReader", &[]) else {
            continue;
        };
        // A folder is read in batches; the last one is empty.
        while let Some(some) = called_back(&reader, "readEntries").await {
            let some: Array = some.unchecked_into();
            if some.length() == 0 {
                break;
            }
            open.extend(some.iter());
        }
    }
    files.arrange_by(|(one, _), (other, _)| one.cmp(other));
    files
}

/// Calls a method of an object; `None` if there is no such method or it throws.
pub(super) fn call(object: &JsValue, method: &str, arguments: &[JsValue]) -> Option<JsValue> {
    let method: Function = part(object, method).dyn_into().ok()?;
    method.apply(object, &arguments.iter().collect()).ok()
}

/// The result of a method that returns a promise.
pub(super) async fn later(
    object: &JsValue,
    method: &str,
    arguments: &[JsValue],
) -> Result<JsValue, String> {
    let promise =
        call(object, method, arguments).ok_or_else(|| format!("this browser has no {method}"))?;
    let answer = JsFuture::from(Promise::resolve(&promise)).await;
    answer.map_err(|error| error_text(&error))
}

/// A new object of one of the browser's classes.
pub(super) fn made(class: &str, from: JsValue) -> Result<JsValue, String> {
    let known = part(&js_sys::global(), class).dyn_into::<Function>();
    let known = known.map_err(|_| format!("this browser has no {class}"))?;
    Reflect::construct(&known, &Array::of1(&from)).map_err(|error| error_text(&error))
}

/// Pipes a stream of bytes through the browser's `CompressionStream` or `DecompressionStream`.
pub(super) fn through_gzip(stream: &JsValue, class: &str) -> Result<JsValue, String> {
    let gzip = made(class, "gzip".into())?;
    call(stream, "pipeThrough", &[gzip]).ok_or_else(|| format!("{class} takes no such stream"))
}

/// What a method passes to its first callback; `None` if it calls the second, for errors.
async fn called_back(object: &JsValue, method: &str) -> Option<JsValue> {
    let promise = Promise::new(&mut |resolve, reject| {
        call(object, method, &[resolve.into(), reject.into()]);
    });
    JsFuture::from(promise).await.ok()
}

/// The files of a chosen folder, with their folders.
pub fn take_folder(event: &web_sys::Event) -> Dropped {
    let path = |file: &File| {
        let path = part(file, "webkitRelativePath").as_string();
        path.filter(|path| !path.is_empty())
            .unwrap_or_else(|| file.name())
    };
    let files = take_files(event).into_iter();
    let files: Vec<(String, File)> = files.map(|file| (path(&file), file)).collect();
    let folder = files.first().and_then(|(path, _)| path.split_once('/'));
    Dropped {
        folder: Some(folder.map_or(String::new(), |(folder, _)| folder.to_owned())),
        files,
    }
}

/// Opens the dialog to choose a folder.
pub fn choose_folder() {
    click("folder-input");
}

fn has_files(event: &DragEvent) -> bool {
    event
        .data_transfer()
        .is_some_and(|data| data.types().includes(&"Files".into(), 0))
}

fn all_files(list: web_sys::FileList) -> Vec<File> {
    (0..list.length()).filter_map(|at| list.get(at)).collect()
}

/// The files in a file input. The input is then cleared, so that the same files can be chosen again.
pub fn take_files(event: &web_sys::Event) -> Vec<File> {
    let input = event.target().and_then(|target| target.dyn_into().ok());
    input.map_or_else(Vec::new, |input: HtmlInputElement| {
        let files = input.files().map(all_files).unwrap_or_default();
        input.set_value("");
        files
    })
}

/// Reads a small file as text; `then` receives `None` on failure.
pub fn read_text(file: &File, then: impl FnOnce(Option<String>) + 'static) {
    let text = file.text();
    wasm_bindgen_futures::spawn_local(async move {
        let text = JsFuture::from(text).await;
        then(text.ok().and_then(|text| text.as_string()));
    });
}

/// Opens the file dialog of the page's file input.
pub fn choose_file() {
    click("file-input");
}

/// Opens the file dialog for the reference trace.
pub fn choose_reference() {
    click("reference-input");
}

/// Clicks an element.
pub fn click(id: &str) {
    if let Some(element) = by_id::<HtmlElement>(id) {
        element.click();
    }
}

/// Offers bytes to the user as a download.
pub fn download(file_name: &str, mime: &str, bytes: &Uint8Array) {
    let options = BlobPropertyBag::new();
    options.set_type(mime);
    if let Ok(file) = Blob::new_with_u8_array_sequence_and_options(&Array::of1(bytes), &options) {
        download_file(file_name, &file);
    }
}

/// Offers a file to the user as a download.
pub fn download_file(file_name: &str, file: &Blob) {
    let Ok(url) = Url::create_object_url_with_blob(file) else {
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

/// Copies text to the clipboard; `done` receives whether it worked.
pub fn copy(text: &str, done: impl FnOnce(bool) + 'static) {
    let navigator = window().navigator();
    // Without a secure context (plain HTTP from another machine) there is no clipboard.
    if part(&navigator, "clipboard").is_undefined() {
        done(false);
        return;
    }
    let promise = navigator.clipboard().write_text(text);
    wasm_bindgen_futures::spawn_local(async move {
        done(JsFuture::from(promise).await.is_ok());
    });
}
