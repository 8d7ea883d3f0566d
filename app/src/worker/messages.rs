//! The worker: reads the trace, owns what it means, answers the page.
//!
//! It starts once its script has the compiled module (`page/browser/worker.rs` writes that script). A message
//! is `{ id, body, files? }`, as `protocol` says. Reading awaits the file's chunks; everything else
//! runs to its end. To stop it the page ends the worker.

use std::cell::{Cell, RefCell};

use crate::protocol::wire::{error_text, from_js, is_request, message, part, to_js};
use crate::protocol::{
    AnyQuery, Choice, Failure, FileNames, Opened, OpeningStep, Progress, Reply, Request, StepsQuery,
};
use crate::worker::incoming::MOST_ASIDE_BYTES;
use crate::worker::second::{self, Piece, Second};
use crate::worker::{Added, Analysis, Content, Incoming, Traces, analysis};
use dormer_core::import::{ImportError, Importer};
use js_sys::{Array, Uint8Array};
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
    /// The same of files that are to be added.
    static ADDING: Cell<u32> = const { Cell::new(0) };
    /// Started before it is needed.
    static SECOND: RefCell<Option<Second>> = const { RefCell::new(None) };
}

/// Starts to hear the page; or, of a second worker, the first one.
pub fn start() {
    if second::serve() {
        return;
    }
    SECOND.set(Second::start());
    let hear = Closure::<dyn FnMut(MessageEvent)>::new(|event: MessageEvent| {
        let message = event.data();
        let id = part(&message, "id");
        match from_js(&part(&message, "body")) {
            Ok(Request::OpenFiles(choice, is_beside)) => {
                spawn_local(open_files(files(&message), choice, is_beside));
            }
            Ok(Request::AddFiles(choice)) => spawn_local(add_files(files(&message), choice)),
            Ok(Request::CancelAdding) => ADDING.set(ADDING.get() + 1),
            Ok(Request::OpenSample(choice)) => open_sample(&choice),
            Ok(Request::WarmUp) => warm_up(),
            Ok(Request::OpenReference(choice, names)) => {
                spawn_local(open_reference(files(&message), choice, names));
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

/// The files beside a message.
fn files(message: &JsValue) -> Vec<File> {
    let files: Array = part(message, "files").unchecked_into();
    files.iter().map(JsCast::unchecked_into).collect()
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
    /// Of the files that were read: bytes and events.
    before: [f64; 2],
    now: [f64; 2],
}

impl Teller {
    fn new(reply: fn(Progress) -> Reply, bytes_total: f64) -> Teller {
        Teller {
            reply,
            bytes_total,
            last_ms: now_ms(),
            before: [0.0; 2],
            now: [0.0; 2],
        }
    }

    fn of(reply: fn(Progress) -> Reply, files: &[File]) -> Teller {
        Teller::new(reply, files.iter().map(|file| file.size()).sum())
    }

    fn tell(&mut self, step: OpeningStep) {
        self.last_ms = now_ms();
        let [bytes, events] = [0, 1].map(|at| self.before[at] + self.now[at]);
        let progress = Progress {
            step,
            bytes_read: bytes,
            bytes_total: self.bytes_total,
            events,
        };
        send(&(self.reply)(progress), &[]);
    }

    fn push(&mut self, importer: &mut Importer, bytes: &[u8]) -> Result<(), ImportError> {
        for slice in bytes.chunks(SLICE) {
            importer.push(slice)?;
            let read = importer.progress();
            self.now = [read.bytes_read as f64, read.events as f64];
            self.tell_at_times();
        }
        Ok(())
    }

    /// Reads text of which so many bytes of the file were inflated elsewhere.
    fn push_text(
        &mut self,
        importer: &mut Importer,
        text: &[u8],
        bytes_read: f64,
    ) -> Result<(), ImportError> {
        importer.push(text)?;
        self.now = [bytes_read, importer.progress().events as f64];
        self.tell_at_times();
        Ok(())
    }

    fn tell_at_times(&mut self) {
        if now_ms() - self.last_ms >= PROGRESS_MS {
            self.tell(OpeningStep::Reading);
        }
    }

    /// Another file follows.
    fn next(&mut self) {
        self.before = [0, 1].map(|at| self.before[at] + self.now[at]);
        self.now = [0.0; 2];
    }
}

async fn open_files(files: Vec<File>, choice: Choice, is_beside: bool) {
    let mut teller = Teller::of(Reply::Progress, &files);
    if let Some(incoming) = read_all(files, &mut teller, || true).await {
        finish(incoming, &mut teller, &choice, is_beside);
    }
}

/// Reads files beside what is open, which stays where they are of no use.
async fn add_files(files: Vec<File>, choice: Choice) {
    let number = ADDING.get() + 1;
    ADDING.set(number);
    let mut teller = Teller::of(Reply::AddProgress, &files);
    let incoming = read_all(files, &mut teller, || ADDING.get() == number).await;
    let added = incoming.and_then(|incoming| {
        TRACES.with_borrow_mut(|traces| {
            let told = |step| teller.tell(step);
            Some(traces.as_mut()?.add(incoming, &choice, told))
        })
    });
    let reply = match added {
        Some(Added::Merged(opened)) => Reply::Added(with_memory(opened)),
        Some(Added::Replaced(opened)) => Reply::Replaced(with_memory(opened)),
        Some(Added::Refused(left_out)) => Reply::NotAdded(left_out),
        None => return,
    };
    send(&reply, &[]);
}

/// Reads a second file beside the one that is open, which stays whatever comes of it.
async fn open_reference(files: Vec<File>, choice: Choice, names: FileNames) {
    let number = REFERENCE.get() + 1;
    REFERENCE.set(number);
    let mut teller = Teller::of(Reply::ReferenceProgress, &files);
    let read = read_all(files, &mut teller, || REFERENCE.get() == number).await;
    let Some(files) = read else {
        return;
    };
    teller.tell(OpeningStep::Profiling);
    match Analysis::of_run(files, &choice) {
        Ok(analysis) => {
            let opened = TRACES.with_borrow_mut(|traces| {
                let traces = traces.as_mut()?;
                Some(traces.compare_with(analysis, names))
            });
            if let Some(opened) = opened {
                send(&Reply::ReferenceOpened(opened), &[]);
            }
        }
        Err(failure) => send(&Reply::ReferenceFailed(failure), &[]),
    }
}

/// Reads files one after another, as long as they are wanted.
async fn read_all(
    files: Vec<File>,
    teller: &mut Teller,
    is_wanted: impl Fn() -> bool,
) -> Option<Vec<Incoming>> {
    let mut incoming = Vec::new();
    for file in files {
        let content = match read(&file, teller, &is_wanted).await {
            Ok(content) => Ok(content?),
            Err(failure) => Err(failure),
        };
        teller.next();
        incoming.push(Incoming {
            name: file.name(),
            content,
        });
    }
    // Another one is started where more files come.
    SECOND.set(None);
    Some(incoming)
}

/// Reads a file to its end; `None` where it is no longer wanted. A second worker inflates what is large
/// enough to be worth it.
async fn read(
    file: &File,
    teller: &mut Teller,
    is_wanted: &impl Fn() -> bool,
) -> Result<Option<Content>, Failure> {
    if file.size() > MOST_ASIDE_BYTES
        && let Some(second) = SECOND.take().or_else(Second::start)
        && second.inflate(file)
    {
        match second.next().await {
            Ok(Piece::Plain) => SECOND.set(Some(second)),
            Ok(first) => return read_inflated(second, first, teller, is_wanted).await,
            // It cannot be had: nothing of the file was read yet.
            Err(_) => {}
        }
    }
    read_alone(file, teller, is_wanted).await
}

/// Reads what a second worker inflates.
async fn read_inflated(
    second: Second,
    mut piece: Piece,
    teller: &mut Teller,
    is_wanted: &impl Fn() -> bool,
) -> Result<Option<Content>, Failure> {
    let mut importer = Importer::of_inflated();
    let mut buffer = Vec::new();
    let failure = |error: ImportError| analysis::failure(&error);
    loop {
        if !is_wanted() {
            return Ok(None);
        }
        match piece {
            Piece::Text(text, bytes_read) => {
                buffer.resize(text.length() as usize, 0);
                text.copy_to(&mut buffer);
                second.give_back(&text);
                let pushed = teller.push_text(&mut importer, &buffer, bytes_read);
                pushed.map_err(failure)?;
            }
            Piece::End(inflated) => {
                SECOND.set(Some(second));
                let imported = importer.finish_inflated(&inflated).map_err(failure)?;
                return Ok(Some(Content::Recording(Box::new(imported))));
            }
            Piece::Plain => {}
        }
        let next = second.next().await;
        piece = next.map_err(|reason| unreadable(&reason.into()))?;
    }
}

/// Reads a file to its end, chunk by chunk; `None` where it is no longer wanted.
async fn read_alone(
    file: &File,
    teller: &mut Teller,
    is_wanted: &impl Fn() -> bool,
) -> Result<Option<Content>, Failure> {
    let reader: ReadableStreamDefaultReader = file.stream().get_reader().unchecked_into();
    let mut importer = Importer::new();
    let mut buffer = Vec::new();
    // What lies beside traces is small, and is told apart as a whole.
    let mut small = (file.size() <= MOST_ASIDE_BYTES).then(Vec::new);
    let failure = |error: ImportError| analysis::failure(&error);
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
        match &mut small {
            Some(small) => small.extend_from_slice(&buffer),
            None => teller.push(&mut importer, &buffer).map_err(failure)?,
        }
    }
    let small = small.unwrap_or_default();
    if let Some(aside) = Content::aside(&small) {
        return Ok(Some(aside));
    }
    teller.push(&mut importer, &small).map_err(failure)?;
    let imported = importer.finish().map_err(failure)?;
    Ok(Some(Content::Recording(Box::new(imported))))
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
    let read = read.and_then(|()| importer.finish());
    let content = read.map(|imported| Content::Recording(Box::new(imported)));
    let sample = Incoming {
        name: "sample trace".to_owned(),
        content: content.map_err(|error| analysis::failure(&error)),
    };
    finish(vec![sample], &mut teller, choice, false);
}

/// How often the sample is opened before the worker is warm.
const N_WARM_UP: usize = 24;

/// Opens the sample and asks what every trace is asked first. The page ends the worker in the middle of
/// it when a trace comes.
fn warm_up() {
    let text = dormer_core::sample::TRACE;
    for _ in 0..N_WARM_UP {
        let Ok(imported) = dormer_core::import::import(text.as_bytes()) else {
            return;
        };
        let sample = Incoming {
            name: String::new(),
            content: Ok(Content::Recording(Box::new(imported))),
        };
        let opened = Traces::open(vec![sample], &Choice::default(), false, |_| {});
        if let Ok((mut traces, opened)) = opened {
            to_js(&Reply::Opened(Box::new(opened)));
            traces.answer(StepsQuery.into());
        }
    }
    scope().close();
}

fn finish(files: Vec<Incoming>, teller: &mut Teller, choice: &Choice, is_beside: bool) {
    let opened = Traces::open(files, choice, is_beside, |step| teller.tell(step));
    let reply = match opened {
        Ok((traces, opened)) => {
            TRACES.set(Some(traces));
            Reply::Opened(with_memory(Box::new(opened)))
        }
        Err(failure) => Reply::Failed(failure),
    };
    send(&reply, &[]);
}

fn with_memory(mut opened: Box<Opened>) -> Box<Opened> {
    opened.wasm_bytes = wasm_bytes();
    opened
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
