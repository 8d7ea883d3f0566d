//! Messages from the worker to the page: replies, and reading progress.

use dormer_core::import::{ImportError, Importer};
use js_sys::Array;
use wasm_bindgen::prelude::*;
use web_sys::{DedicatedWorkerGlobalScope, File, Performance, PerformanceEntry};

use crate::protocol::wire::{is_request, message, to_js};
use crate::protocol::{OpeningStep, Progress, Reply};

/// Compressed bytes between two checks of the clock: a few milliseconds of work.
const SLICE: usize = 128 * 1024;
/// The interval between progress messages.
const PROGRESS_MS: f64 = 80.0;

pub(super) fn scope() -> DedicatedWorkerGlobalScope {
    js_sys::global().unchecked_into()
}

/// Sends a reply with the number of requests that the worker has made so far.
pub(super) fn send(reply: &Reply, parts: &[(&str, JsValue)]) {
    send_giving(reply, parts, &Array::new());
}

/// The same; transfers the listed objects instead of copying them.
pub(super) fn send_giving(reply: &Reply, parts: &[(&str, JsValue)], given: &Array) {
    let body = to_js(reply);
    let message = message(parts);
    let _ = js_sys::Reflect::set(&message, &"body".into(), &body);
    let _ = js_sys::Reflect::set(&message, &"requests".into(), &n_requests().into());
    if let Err(error) = scope().post_message_with_transfer(&message, given) {
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

/// Reports reading progress to the page, a few times a second.
pub(super) struct ProgressReporter {
    reply: fn(Progress) -> Reply,
    bytes_total: f64,
    last_ms: f64,
    /// Bytes and events of the files already read.
    before: [f64; 2],
    now: [f64; 2],
}

impl ProgressReporter {
    fn new(reply: fn(Progress) -> Reply, bytes_total: f64) -> ProgressReporter {
        ProgressReporter {
            reply,
            bytes_total,
            last_ms: now_ms(),
            before: [0.0; 2],
            now: [0.0; 2],
        }
    }

    pub(super) fn of(reply: fn(Progress) -> Reply, files: &[File]) -> ProgressReporter {
        ProgressReporter::new(reply, files.iter().map(|file| file.size()).sum())
    }

    pub(super) fn report(&mut self, step: OpeningStep) {
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

    pub(super) fn push(
        &mut self,
        importer: &mut Importer,
        bytes: &[u8],
    ) -> Result<(), ImportError> {
        for slice in bytes.chunks(SLICE) {
            importer.push(slice)?;
            let read = importer.progress();
            self.now = [read.bytes_read as f64, read.events as f64];
            self.report_at_intervals();
        }
        Ok(())
    }

    /// Text was read, up to this many bytes of the file.
    pub(super) fn has_read(&mut self, importer: &Importer, bytes_read: f64) {
        self.now = [bytes_read, importer.progress().events as f64];
        self.report_at_intervals();
    }

    fn report_at_intervals(&mut self) {
        if now_ms() - self.last_ms >= PROGRESS_MS {
            self.report(OpeningStep::Reading);
        }
    }

    /// Another file follows.
    pub(super) fn next(&mut self) {
        self.before = [0, 1].map(|at| self.before[at] + self.now[at]);
        self.now = [0.0; 2];
    }
}
