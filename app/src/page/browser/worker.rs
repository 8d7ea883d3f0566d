//! Workers: starting them, and watching the requests that the page makes.

use js_sys::{Array, Promise};
use percent_encoding::percent_decode_str;
use wasm_bindgen::prelude::*;
use web_sys::{
    Blob, BlobPropertyBag, PerformanceEntry, PerformanceObserver, PerformanceObserverEntryList,
    PerformanceObserverInit, Url, Worker, WorkerOptions,
};

use super::now_ms;
use crate::protocol::wire::{error_text, is_request, part};

/// What the loader in `index.html` fetched for the worker.
pub struct WorkerFiles {
    /// The compiled module.
    pub module: JsValue,
    /// A `blob:` URL of the script that starts the worker. A worker started from it inherits the page's policy, and
    /// starting one makes no request.
    pub script_url: String,
}

/// The part of the worker's script after wasm-bindgen's glue, which defines `wasm_bindgen`. It waits for the module;
/// from then on `worker/messages.rs` answers. A trap in the module shows up here as an error or an unhandled rejection,
/// and is passed on to the page.
const WORKER_SCRIPT_END: &str = "
const crashed = reason => postMessage({ crash: String(reason && reason.message || reason) });
addEventListener('error', event => { event.preventDefault(); crashed(event.error || event.message); });
addEventListener('unhandledrejection', event => crashed(event.reason));
onmessage = event => {
  onmessage = null;
  wasm_bindgen.initSync({ module: event.data });
};
";

/// Calls back with the worker's files as soon as the loader has them. The loader is a plain script: it fetches while
/// the page's own wasm compiles.
pub fn worker_files(
    then: impl FnOnce(WorkerFiles) + 'static,
    failed: impl FnOnce(String) + 'static,
) {
    let promise = part(&part(&js_sys::global(), "dormer"), "worker");
    let Ok(promise) = promise.dyn_into::<Promise>() else {
        failed("the page's loader did not run".to_owned());
        return;
    };
    wasm_bindgen_futures::spawn_local(async move {
        match wasm_bindgen_futures::JsFuture::from(promise).await {
            Ok(files) => match read_worker_files(&files) {
                Some(files) => then(files),
                None => failed(
                    "the page and its loader are from different builds; reload the page".to_owned(),
                ),
            },
            Err(error) => failed(error_text(&error)),
        }
    });
}

fn read_worker_files(files: &JsValue) -> Option<WorkerFiles> {
    let (module, glue) = (part(files, "module"), part(files, "glue").as_string()?);
    let options = BlobPropertyBag::new();
    options.set_type("text/javascript");
    let parts = Array::of2(&glue.into(), &WORKER_SCRIPT_END.into());
    let blob = Blob::new_with_str_sequence_and_options(&parts, &options).ok()?;
    Some(WorkerFiles {
        module,
        script_url: Url::create_object_url_with_blob(&blob).ok()?,
    })
}

/// Starts a worker, named after its purpose, and gives it the module.
pub fn start_worker(files: &WorkerFiles, name: &str) -> Result<Worker, String> {
    let options = WorkerOptions::new();
    options.set_name(name);
    let worker = Worker::new_with_options(&files.script_url, &options)
        .map_err(|error| error_text(&error))?;
    worker
        .post_message(&files.module)
        .map_err(|error| error_text(&error))?;
    Ok(worker)
}

/// Calls back with the file name of each request the page makes from now on.
pub fn watch_requests(made: impl Fn(String) + 'static) {
    let since = now_ms();
    let callback = Closure::<dyn FnMut(PerformanceObserverEntryList)>::new(
        move |list: PerformanceObserverEntryList| {
            for entry in list.get_entries() {
                let entry: PerformanceEntry = entry.unchecked_into();
                let is_made = is_request(&entry.name()) && !was_here(&entry);
                if entry.start_time() >= since && is_made {
                    // The address of a folder stands for its front page.
                    made(match file_of(&entry.name()) {
                        name if name.is_empty() => "index.html".to_owned(),
                        name => name,
                    });
                }
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

/// Whether the browser served the file itself, from its cache or from the offline copy. For other sites this is
/// unknown.
fn was_here(entry: &JsValue) -> bool {
    let number = |name: &str| part(entry, name).as_f64().map(|number| number as u32);
    (number("transferSize"), number("responseStatus")) == (Some(0), Some(200))
}

/// The name of the file that a URL ends in.
pub(super) fn file_of(url: &str) -> String {
    let path = url.split(['?', '#']).next().unwrap_or_default();
    let name = path.rsplit('/').next().unwrap_or_default();
    percent_decode_str(name).decode_utf8_lossy().into_owned()
}
