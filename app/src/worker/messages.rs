//! The worker: reads the trace, owns what it means, answers the page.
//!
//! It starts once its script has the compiled module (`page/browser/worker.rs` writes that script). A message
//! is `{ id, body, file? }`, as `protocol` says. Reading awaits the file's chunks; everything else
//! runs to its end. To stop it the page ends the worker.

use std::cell::{Cell, RefCell};

use crate::protocol::wire::{error_text, is_request, message, part, to_js};
use crate::protocol::{
    AnyQuery, Choice, Failure, FileNames, OpeningStep, Progress, Reply, Request,
};
use crate::worker::{Analysis, Traces, analysis};
use dormer_core::Profile;
use dormer_core::import::{ImportError, Imported, Importer};
use js_sys::Uint8Array;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::{JsFuture, spawn_local};
use web_sys::{
    DedicatedWorkerGlobalScope, File, MessageEvent, Performance, PerformanceEntry,
    ReadableStreamDefaultReader,
};

/// Compressed bytes between two looks at the clock: some milliseconds of work.
const SLICE: usize = 128 * 1024;
/// Between two messages about progress.
const PROGRESS_MS: f64 = 80.0;

thread_local! {
    static TRACES: RefCell<Option<Traces>> = const { RefCell::new(None) };
    /// Counts the references that were asked for: reading one ends when another is.
    static REFERENCE: Cell<u32> = const { Cell::new(0) };
}

/// Starts to hear the page.
pub fn start() {
    let hear = Closure::<dyn FnMut(MessageEvent)>::new(|event: MessageEvent| {
        let message = event.data();
        let id = part(&message, "id");
        match serde_wasm_bindgen::from_value(part(&message, "body")) {
            Ok(Request::OpenFile(choice)) => {
                let file: File = part(&message, "file").unchecked_into();
                spawn_local(open_file(file, choice));
            }
            Ok(Request::OpenSample(choice)) => open_sample(&choice),
            Ok(Request::OpenReference(choice, names)) => {
                let file: File = part(&message, "file").unchecked_into();
                spawn_local(open_reference(file, choice, names));
            }
            Ok(Request::CancelReference) => REFERENCE.set(REFERENCE.get() + 1),
            Ok(Request::Ask(query)) => answer(&id, query),
            Err(error) => wasm_bindgen::throw_str(&error.to_string()),
        }
    });
    scope().set_onmessage(Some(hear.as_ref().unchecked_ref()));
    // It lives as long as the worker.
    hear.forget();
}

fn scope() -> DedicatedWorkerGlobalScope {
    js_sys::global().unchecked_into()
}

/// Sends a reply with the number of requests the worker made so far.
fn send(reply: &Reply, parts: &[(&str, JsValue)]) {
    let body = to_js(reply);
    let message = message(parts);
    let _ = js_sys::Reflect::set(&message, &"body".into(), &body);
    let _ = js_sys::Reflect::set(&message, &"requests".into(), &n_requests().into());
    if let Err(error) = scope().post_message(&message) {
        wasm_bindgen::throw_val(error);
    }
}

fn clock() -> Option<Performance> {
    scope().performance()
}

fn now_ms() -> f64 {
    clock().map_or(0.0, |clock| clock.now())
}

fn n_requests() -> u32 {
    let counts = |entry: &JsValue| {
        let entry: &PerformanceEntry = entry.unchecked_ref();
        is_request(&entry.name())
    };
    let entries = clock().map(|clock| clock.get_entries_by_type("resource"));
    entries.map_or(0, |all| all.iter().filter(counts).count() as u32)
}

/// Tells the page how far reading has come, a few times a second.
struct Teller {
    reply: fn(Progress) -> Reply,
    bytes_total: f64,
    last_ms: f64,
}

impl Teller {
    fn new(reply: fn(Progress) -> Reply, bytes_total: f64) -> Teller {
        Teller {
            reply,
            bytes_total,
            last_ms: now_ms(),
        }
    }

    fn tell(&mut self, step: OpeningStep, importer: &Importer) {
        let read = importer.progress();
        self.last_ms = now_ms();
        let progress = Progress {
            step,
            bytes_read: read.bytes_read as f64,
            bytes_total: self.bytes_total,
            events: read.events as f64,
        };
        send(&(self.reply)(progress), &[]);
    }

    fn push(&mut self, importer: &mut Importer, bytes: &[u8]) -> Result<(), ImportError> {
        for slice in bytes.chunks(SLICE) {
            importer.push(slice)?;
            if now_ms() - self.last_ms >= PROGRESS_MS {
                self.tell(OpeningStep::Reading, importer);
            }
        }
        Ok(())
    }

    /// The number of events beside the trace.
    fn finish(&mut self, importer: Importer) -> Result<(f64, Imported), ImportError> {
        self.tell(OpeningStep::Profiling, &importer);
        let events = importer.progress().events as f64;
        Ok((events, importer.finish()?))
    }
}

async fn open_file(file: File, choice: Choice) {
    let mut teller = Teller::new(Reply::Progress, file.size());
    match read(&file, &mut teller, || true).await {
        Ok(Some((events, imported))) => finish(&teller, events, imported, &choice),
        Ok(None) => {}
        Err(failure) => send(&Reply::Failed(failure), &[]),
    }
}

/// Reads a second file beside the one that is open, which stays whatever comes of it.
async fn open_reference(file: File, choice: Choice, names: FileNames) {
    let number = REFERENCE.get() + 1;
    REFERENCE.set(number);
    let mut teller = Teller::new(Reply::ReferenceProgress, file.size());
    match read(&file, &mut teller, || REFERENCE.get() == number).await {
        Ok(Some((_, imported))) => {
            let analysis = Analysis::new(Profile::new(imported), &choice);
            let opened = TRACES.with_borrow_mut(|traces| {
                let traces = traces.as_mut()?;
                Some(traces.compare_with(analysis, names))
            });
            if let Some(opened) = opened {
                send(&Reply::ReferenceOpened(opened), &[]);
            }
        }
        Ok(None) => {}
        Err(failure) => send(&Reply::ReferenceFailed(failure), &[]),
    }
}

/// Reads a file to its end, chunk by chunk, as long as it is wanted. Gives the number of events
/// beside the trace.
async fn read(
    file: &File,
    teller: &mut Teller,
    is_wanted: impl Fn() -> bool,
) -> Result<Option<(f64, Imported)>, Failure> {
    let reader: ReadableStreamDefaultReader = file.stream().get_reader().unchecked_into();
    let mut importer = Importer::new();
    let mut buffer = Vec::new();
    loop {
        let chunk = JsFuture::from(reader.read())
            .await
            .map_err(|error| unreadable(&error))?;
        if !is_wanted() {
            return Ok(None);
        }
        if part(&chunk, "done").is_truthy() {
            break;
        }
        let bytes: Uint8Array = part(&chunk, "value").unchecked_into();
        buffer.resize(bytes.length() as usize, 0);
        bytes.copy_to(&mut buffer);
        teller
            .push(&mut importer, &buffer)
            .map_err(|error| analysis::failure(&error))?;
    }
    let read = teller.finish(importer).map(Some);
    read.map_err(|error| analysis::failure(&error))
}

fn unreadable(error: &JsValue) -> Failure {
    Failure {
        sentence: format!(
            "the browser could not read the file ({}); it may have changed or moved",
            error_text(error)
        ),
        at_byte: None,
    }
}

fn open_sample(choice: &Choice) {
    let text = dormer_core::sample::TRACE;
    let mut teller = Teller::new(Reply::Progress, text.len() as f64);
    let mut importer = Importer::new();
    let read = teller.push(&mut importer, text.as_bytes());
    match read.and_then(|()| teller.finish(importer)) {
        Ok((events, imported)) => finish(&teller, events, imported, choice),
        Err(error) => send(&Reply::Failed(analysis::failure(&error)), &[]),
    }
}

fn finish(teller: &Teller, events: f64, imported: Imported, choice: &Choice) {
    let profile = Profile::new(imported);
    send(
        &Reply::Progress(Progress {
            step: OpeningStep::Reporting,
            bytes_read: teller.bytes_total,
            bytes_total: teller.bytes_total,
            events,
        }),
        &[],
    );
    let analysis = Analysis::new(profile, choice);
    let mut opened = analysis.opened();
    opened.wasm_bytes = wasm_bytes();
    TRACES.set(Some(Traces::new(analysis)));
    send(&Reply::Opened(Box::new(opened)), &[]);
}

fn wasm_bytes() -> f64 {
    let memory = wasm_bindgen::memory();
    let buffer = part(&memory, "buffer");
    part(&buffer, "byteLength").as_f64().unwrap_or(0.0)
}

fn answer(id: &JsValue, query: AnyQuery) {
    TRACES.with_borrow_mut(|traces| {
        let Some(traces) = traces else {
            return;
        };
        let (value, bytes) = traces.answer(query);
        let mut parts = vec![("id", id.clone()), ("value", value)];
        if let Some(bytes) = bytes {
            parts.push(("bytes", Uint8Array::from(bytes.as_slice()).into()));
        }
        send(&Reply::Answer, &parts);
    });
}
