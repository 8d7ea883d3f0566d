//! The worker: reads the trace, owns its analysis, answers the page.
//!
//! It starts once its script has the compiled module (`page/browser/worker.rs` has that script). A message is `{ id,
//! body, files? }`, as `protocol` defines. Reading awaits the file's chunks; everything else runs to completion. To
//! stop it, the page ends the worker.

use std::cell::{Cell, RefCell};

use dormer_core::import::import;
use dormer_core::sample;
use js_sys::{Array, Uint8Array};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::spawn_local;
use web_sys::{File, MessageEvent};

use super::chunks::ask_page;
use super::reading::{self, read_all};
use super::replies::{ProgressReporter, scope, send};
use super::{
    Added, Analysis, Content, Incoming, OpeningEvent, Traces, analysis, fleet, inflater, job,
    warm_up,
};
use crate::protocol::wire::{from_js, part, to_js};
use crate::protocol::{
    Analyzed, AnyQuery, BelowRequest, Choice, FileNames, OF_FLEET, OF_JOB, ONE_FILE, Opened,
    OpeningStep, Reply, Request,
};

thread_local! {
    static TRACES: RefCell<Option<Traces>> = const { RefCell::new(None) };
    /// Counts the requested references: reading one ends when another is requested.
    static REFERENCE: Cell<u32> = const { Cell::new(0) };
    /// The same for files that are to be added.
    static ADDING: Cell<u32> = const { Cell::new(0) };
}

/// Starts as the worker's name says: handles the page's messages, unless the name says otherwise.
pub fn start() {
    match scope().name().as_str() {
        inflater::NAME => return inflater::serve(),
        warm_up::NAME => return warm_up::run(),
        ONE_FILE | OF_JOB | OF_FLEET => {}
        _ => reading::prepare(),
    }
    let on_message =
        Closure::<dyn FnMut(MessageEvent)>::new(|event: MessageEvent| take(&event.data()));
    scope().set_onmessage(Some(on_message.as_ref().unchecked_ref()));
    // It lives as long as the worker.
    on_message.forget();
}

/// Handles a message of the page.
pub(super) fn take(message: &JsValue) {
    let id = part(message, "id");
    match from_js(&part(message, "body")) {
        Ok(Request::OpenFiles(choice, is_another_open)) => {
            spawn_local(open_files(files(message), choice, is_another_open));
        }
        Ok(Request::AddFiles(choice)) => spawn_local(add_files(files(message), choice)),
        Ok(Request::CancelAdding) => ADDING.set(ADDING.get() + 1),
        Ok(Request::OpenSample(choice)) => open_sample(&choice),
        Ok(Request::OpenReference(choice, names)) => {
            spawn_local(open_reference(files(message), choice, names));
        }
        Ok(Request::OpenBelow(choice, request)) => {
            spawn_local(open_below(files(message), choice, request));
        }
        Ok(Request::CancelReference) => REFERENCE.set(REFERENCE.get() + 1),
        Ok(Request::Digest(request)) => {
            let file = files(message).into_iter().next();
            spawn_local(job::digest(file, request));
        }
        Ok(Request::OpenJob(request)) => job::open(&part(message, "digests"), request),
        Ok(Request::JobStep(request)) => job::step(request),
        Ok(Request::OpenFleet) => {
            spawn_local(fleet::open(files(message).into_iter().next()));
        }
        Ok(Request::FleetRuns(query)) => {
            let runs = to_js(&fleet::runs(&query));
            send(&Reply::Answer, &[("id", id), ("value", runs)]);
        }
        Ok(Request::Ask(query)) => answer(&id, query),
        Err(error) => wasm_bindgen::throw_str(&error.to_string()),
    }
}

/// The files in a message.
fn files(message: &JsValue) -> Vec<File> {
    let files: Array = part(message, "files").unchecked_into();
    let files: Vec<File> = files.iter().map(JsCast::unchecked_into).collect();
    if let Ok(ports) = part(message, "ports").dyn_into::<Array>() {
        for (file, port) in files.iter().zip(ports.iter()) {
            ask_page(file, &port);
        }
    }
    files
}

pub(super) async fn open_files(files: Vec<File>, choice: Choice, is_another_open: bool) {
    let mut reporter = ProgressReporter::of(Reply::Progress, &files);
    let Some(mut incoming) = read_all(files, &mut reporter, || true).await else {
        return;
    };
    match job::select_named_ranks(&mut incoming) {
        true => finish(incoming, &mut reporter, &choice, is_another_open),
        false => send(&Reply::IsJob, &[]),
    }
}

/// Reads files to add to what is open, which stays unchanged if they cannot be used.
async fn add_files(files: Vec<File>, choice: Choice) {
    let number = ADDING.get() + 1;
    ADDING.set(number);
    let mut reporter = ProgressReporter::of(Reply::AddProgress, &files);
    let incoming = read_all(files, &mut reporter, || ADDING.get() == number).await;
    let added = incoming.and_then(|incoming| {
        TRACES.with_borrow_mut(|traces| {
            let on_step = |step| reporter.report(step);
            Some(traces.as_mut()?.add(incoming, &choice, on_step))
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

/// Reads a second file beside the open one, which stays open in any case.
async fn open_reference(files: Vec<File>, choice: Choice, names: FileNames) {
    let number = REFERENCE.get() + 1;
    REFERENCE.set(number);
    let mut reporter = ProgressReporter::of(Reply::ReferenceProgress, &files);
    let read = read_all(files, &mut reporter, || REFERENCE.get() == number).await;
    let Some(files) = read else {
        return;
    };
    reporter.report(OpeningStep::Profiling);
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

/// Reads a further rank of a job, to show its timeline below the two that are open.
async fn open_below(files: Vec<File>, choice: Choice, request: BelowRequest) {
    let mut reporter = ProgressReporter::of(Reply::ReferenceProgress, &files);
    let Some(mut incoming) = read_all(files, &mut reporter, || true).await else {
        return;
    };
    job::select_named_ranks(&mut incoming);
    let failure = match Analysis::of_run(incoming, &choice) {
        Ok(analysis) => {
            TRACES.with_borrow_mut(|traces| {
                if let Some(traces) = traces {
                    traces.show_below(analysis, request);
                }
            });
            None
        }
        Err(failure) => Some(failure),
    };
    send(&Reply::BelowOpened(failure), &[]);
}

fn open_sample(choice: &Choice) {
    let mut reporter = ProgressReporter::of(Reply::Progress, &[]);
    let imported = import(sample::TRACE.as_bytes());
    let content = imported.map(|imported| Content::Recording(Box::new(imported)));
    let sample = Incoming {
        name: "sample trace".to_owned(),
        content: content.map_err(|error| analysis::failure(&error)),
    };
    finish(vec![sample], &mut reporter, choice, false);
}

fn finish(
    files: Vec<Incoming>,
    reporter: &mut ProgressReporter,
    choice: &Choice,
    is_another_open: bool,
) {
    let mut has_preview = false;
    let opened = Traces::open(files, choice, is_another_open, |event| match event {
        OpeningEvent::Step(step) => reporter.report(step),
        OpeningEvent::First(opened) => {
            has_preview = true;
            send(&Reply::Opened(with_memory(opened)), &[]);
        }
    });
    let reply = match opened {
        Ok((traces, opened)) => {
            TRACES.set(Some(traces));
            match has_preview {
                true => Reply::Analyzed(Box::new(Analyzed {
                    overview: opened.overview,
                    wasm_bytes: wasm_bytes(),
                })),
                false => Reply::Opened(with_memory(Box::new(opened))),
            }
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
